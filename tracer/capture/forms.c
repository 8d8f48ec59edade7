/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/forms.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An operand without its address. */
enum {
    OPERAND_FROM = offsetof(struct ll_operand, rows),
    OPERAND_BYTES = offsetof(struct ll_operand, role) + 1 - OPERAND_FROM
};

static const unsigned char *looks_of(const struct ll_operand *operand)
{
    return (const unsigned char *)operand + OPERAND_FROM;
}

static bool has_form(const struct ll_call *call, const struct ll_call_form *form)
{
    uint64_t number_bytes = form->number_count * sizeof *call->number;
    if (call->caller != form->caller || call->routine != form->routine || call->dtype != form->dtype ||
        call->operand_count != form->operand_count || call->number_count != form->number_count ||
        memcmp(call->number, form->looks, number_bytes) != 0)
        return false;
    const unsigned char *looks = form->looks + number_bytes;
    for (uint32_t i = 0; i < form->operand_count; i++, looks += OPERAND_BYTES)
        if (memcmp(looks_of(&call->operand[i]), looks, OPERAND_BYTES) != 0)
            return false;
    return true;
}

/* All that has_form compares, as bytes in a row. */
enum { KEY_HEAD_BYTES = 4 * sizeof(uint64_t) };
struct key {
    unsigned char bytes[KEY_HEAD_BYTES + LL_MAX_NUMBERS * sizeof(int64_t) + LL_MAX_OPERANDS * OPERAND_BYTES];
    size_t size;
};

static void put(struct key *key, const void *bytes, size_t size)
{
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

static void make_key(const struct ll_call *call, struct key *key)
{
    const uint64_t head[] = {call->caller, call->routine, call->dtype,
                             (uint64_t)call->operand_count << 32 | call->number_count};
    static_assert(sizeof head == KEY_HEAD_BYTES, "what goes before the looks");
    key->size = 0;
    put(key, head, sizeof head);
    put(key, call->number, call->number_count * sizeof *call->number);
    for (uint32_t i = 0; i < call->operand_count; i++)
        put(key, looks_of(&call->operand[i]), OPERAND_BYTES);
}

static bool new_form(struct ll_call_forms *forms, uint32_t number, const struct ll_call *call,
                     const struct key *key)
{
    struct ll_call_form *form = ll_alloc(&forms->arena, 1, sizeof *form);
    const unsigned char *looks =
        ll_copy(&forms->arena, key->bytes + KEY_HEAD_BYTES, key->size - KEY_HEAD_BYTES);
    if (!form || !looks || !ll_grow(&forms->forms, &forms->capacity, number + 1u, sizeof *forms->forms))
        return false;
    *form = (struct ll_call_form){.caller = call->caller,
                                  .routine = call->routine,
                                  .dtype = call->dtype,
                                  .operand_count = call->operand_count,
                                  .number_count = call->number_count,
                                  .looks = looks};
    forms->forms[number] = form;
    return true;
}

struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct ll_call_form *before = forms->keys.count ? forms->forms[forms->last] : NULL;
    if (before && has_form(call, forms->forms[before->next])) {
        forms->last = before->next;
        return forms->forms[before->next];
    }
    struct key key;
    bool is_new;
    make_key(call, &key);
    uint32_t number = ll_map_intern(&forms->keys, key.bytes, key.size, &is_new);
    forms->failed |= number == LL_NO_ID || (is_new && !new_form(forms, number, call, &key));
    if (forms->failed)
        return NULL;
    if (before)
        before->next = number;
    forms->last = number;
    return forms->forms[number];
}

void ll_call_forms_release(struct ll_call_forms *forms)
{
    ll_arena_release(&forms->arena);
    ll_map_release(&forms->keys);
    free(forms->forms);
    *forms = (struct ll_call_forms){0};
}
