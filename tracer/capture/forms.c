/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/forms.h"

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

static bool same_form(const struct ll_call *a, const struct ll_call *b)
{
    if (a->caller != b->caller || a->routine != b->routine || a->dtype != b->dtype ||
        a->operand_count != b->operand_count || a->number_count != b->number_count ||
        memcmp(a->number, b->number, a->number_count * sizeof *a->number) != 0)
        return false;
    for (uint32_t i = 0; i < a->operand_count; i++)
        if (memcmp(looks_of(&a->operand[i]), looks_of(&b->operand[i]), OPERAND_BYTES) != 0)
            return false;
    return true;
}

/* All that same_form compares, as bytes in a row. */
struct key {
    unsigned char bytes[32 + LL_MAX_NUMBERS * sizeof(int64_t) + LL_MAX_OPERANDS * OPERAND_BYTES];
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
    key->size = 0;
    put(key, head, sizeof head);
    put(key, call->number, call->number_count * sizeof *call->number);
    for (uint32_t i = 0; i < call->operand_count; i++)
        put(key, looks_of(&call->operand[i]), OPERAND_BYTES);
}

static bool new_form(struct ll_call_forms *forms, uint32_t number, const struct ll_call *call)
{
    struct ll_call_form *form = ll_alloc(&forms->arena, 1, sizeof *form);
    struct ll_call *like = ll_copy(&forms->arena, call, sizeof *call);
    if (!form || !like || !ll_grow(&forms->forms, &forms->capacity, number + 1u, sizeof *forms->forms))
        return false;
    form->like = like;
    forms->forms[number] = form;
    return true;
}

struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct ll_call_form *before = forms->keys.count ? forms->forms[forms->last] : NULL;
    if (before && same_form(forms->forms[before->next]->like, call)) {
        forms->last = before->next;
        return forms->forms[before->next];
    }
    struct key key;
    bool is_new;
    make_key(call, &key);
    uint32_t number = ll_map_intern(&forms->keys, key.bytes, key.size, &is_new);
    forms->failed |= number == LL_NO_ID || (is_new && !new_form(forms, number, call));
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
