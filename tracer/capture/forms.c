/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/forms.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An operand without its address. */
enum {
    OPERAND_FROM = offsetof(struct ll_call_operand, rows),
    OPERAND_BYTES = offsetof(struct ll_call_operand, role) + 1 - OPERAND_FROM
};

static const unsigned char *looks_of(const struct ll_call_operand *operand)
{
    return (const unsigned char *)operand + OPERAND_FROM;
}

/* All that makes a form, as bytes in a row. */
struct key {
    unsigned char bytes[40 + LL_MAX_CALL_NUMBERS * sizeof(int64_t) + LL_MAX_OPERANDS * OPERAND_BYTES];
    size_t size;
};

static void put(struct key *key, const void *bytes, size_t size)
{
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

static void make_key(const struct ll_call *call, struct key *key)
{
    const uint64_t head[] = {call->caller, call->mapping, call->routine, call->dtype,
                             (uint64_t)call->operand_count << 32 | call->number_count};
    key->size = 0;
    put(key, head, sizeof head);
    put(key, call->number, call->number_count * sizeof *call->number);
    for (uint32_t i = 0; i < call->operand_count; i++)
        put(key, looks_of(&call->operand[i]), OPERAND_BYTES);
}

static struct ll_call_form *look_up(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct key key;
    bool is_new;
    make_key(call, &key);
    if (!ll_grow(&forms->forms, &forms->capacity, forms->keys.count + 1u, sizeof *forms->forms))
        return NULL;
    uint32_t id = ll_map_intern(&forms->keys, key.bytes, key.size, &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (is_new)
        forms->forms[id] = ll_alloc(&forms->arena, 1, sizeof **forms->forms);
    return forms->forms[id];
}

/* From now on calls of this number have this form. */
static bool number_form(struct ll_call_forms *forms, uint32_t number, struct ll_call_form *form)
{
    if (!ll_grow(&forms->numbered, &forms->numbered_capacity, number + UINT64_C(1), sizeof *forms->numbered))
        return false;
    while (forms->numbered_count <= number)
        forms->numbered[forms->numbered_count++] = NULL;
    forms->numbered[number] = form;
    return true;
}

struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct ll_call_form *form = call->form < forms->numbered_count ? forms->numbered[call->form] : NULL;
    if (form)
        return form;
    form = look_up(forms, call);
    return form && (!call->form || number_form(forms, call->form, form)) ? form : NULL;
}

void ll_call_forms_release(struct ll_call_forms *forms)
{
    ll_arena_release(&forms->arena);
    ll_map_release(&forms->keys);
    free(forms->forms);
    free(forms->numbered);
    *forms = (struct ll_call_forms){0};
}
