/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/interpose/ring_form.h"

#include "tracer/interpose/decode.h"
#include "tracer/interpose/ring.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A program of ever new shapes must not fill the memory: a form takes some kilobytes. */
enum { FORMS_MOST = 8192, PLACE_BITS = 56 };

struct ll_ring_form {
    uint32_t next; /* the form that followed it the last time; 0: none has */
    uint32_t process, count, mapping;
    uint64_t *key, *mask; /* bits of the words that are equal in all such records, which bits */
    uint8_t address_word[LL_MAX_OPERANDS]; /* of the operands; 0: none */
    struct ll_call call;                   /* its addresses are how far behind that word's */
};

/* Where a record's times stand, and its addresses. An address of zero is no address: operands may be missing.
 */
static void mask_of(const uint64_t *words, unsigned count, uint64_t *mask)
{
    uint64_t arguments = ll_ring_kind_of(words[0]) == LL_RING_EXECUTE
                             ? UINT64_C(0x5555555555555554) /* a description's place, then pairs */
                             : ll_address_words(ll_ring_symbol_of(words[0]));
    for (unsigned i = 0; i < count; i++)
        mask[i] = UINT64_MAX;
    mask[LL_RING_START_WORD] = mask[LL_RING_DURATION_WORD] = 0;
    for (unsigned i = LL_RING_CALL_WORDS; i < count && i < LL_RING_CALL_WORDS + 64; i++)
        if (arguments >> (i - LL_RING_CALL_WORDS) & 1 && words[i])
            mask[i] = 0;
}

static bool is_of(const struct ll_ring_form *form, const struct ll_ring_record *record)
{
    uint64_t different = 0;
    if (form->process != record->process || form->count != record->count || form->mapping != record->mapping)
        return false;
    for (unsigned i = 0; i < record->count; i++)
        different |= (record->words[i] ^ form->key[i]) & form->mask[i];
    return !different;
}

static bool decode(const struct ll_ring_forms *forms, const struct ll_ring_record *record,
                   struct ll_call *call)
{
    call->depth = ll_ring_depth_of(record->words[0]);
    call->symbol = ll_ring_symbol_of(record->words[0]);
    call->caller = record->words[LL_RING_CALLER_WORD];
    call->mapping = record->mapping;
    return forms->decode(forms->context, record, call);
}

/* Decodes a record in which each address is its own place, far from the others, which says where operands
 * have theirs from. */
static bool decode_places(const struct ll_ring_forms *forms, struct ll_ring_form *form)
{
    uint64_t words[LL_RING_RECORD_WORDS];
    struct ll_call *call = &form->call;
    for (unsigned i = 0; i < form->count; i++)
        words[i] = form->mask[i] ? form->key[i] : (uint64_t)i << PLACE_BITS;
    if (!decode(forms, &(struct ll_ring_record){form->process, form->count, words, form->mapping}, call))
        return false;
    for (uint32_t i = 0; i < call->operand_count && i < LL_MAX_OPERANDS; i++) {
        form->address_word[i] = (uint8_t)(call->operand[i].address >> PLACE_BITS);
        call->operand[i].address &= (UINT64_C(1) << PLACE_BITS) - 1;
    }
    return true;
}

/* NULL when memory ran out or the record is nonsense; then its key stays, without a form. */
static struct ll_ring_form *new_form(struct ll_ring_forms *forms, const struct ll_ring_record *key,
                                     const uint64_t *mask)
{
    struct ll_ring_form *form = ll_alloc(&forms->arena, 1, sizeof *form);
    uint64_t *words = ll_copy(&forms->arena, key->words, key->count * sizeof *key->words);
    uint64_t *bits = ll_copy(&forms->arena, mask, key->count * sizeof *mask);
    if (!form || !words || !bits)
        return NULL;
    *form = (struct ll_ring_form){
        .process = key->process, .count = key->count, .mapping = key->mapping, .key = words, .mask = bits};
    return decode_places(forms, form) ? form : NULL;
}

/* The number of a record's form, from 1 on; 0 when it has none. */
static uint32_t look_up(struct ll_ring_forms *forms, const struct ll_ring_record *record)
{
    uint64_t mask[LL_RING_RECORD_WORDS], key[LL_RING_RECORD_WORDS + 1];
    unsigned count = record->count;
    bool is_new = false;
    mask_of(record->words, count, mask);
    for (unsigned i = 0; i < count; i++)
        key[i] = mask[i] ? record->words[i] : 1; /* an address that is none is 0 */
    key[count] = (uint64_t)record->mapping << 32 | record->process;
    size_t bytes = (count + 1) * sizeof *key;
    if (!ll_grow(&forms->forms, &forms->capacity, forms->keys.count + 1u, sizeof *forms->forms))
        return 0;
    uint32_t id = forms->keys.count < FORMS_MOST ? ll_map_intern(&forms->keys, key, bytes, &is_new)
                                                 : ll_map_find(&forms->keys, key, bytes);
    if (id == LL_NO_ID)
        return 0;
    if (is_new)
        forms->forms[id] =
            new_form(forms, &(struct ll_ring_record){record->process, count, key, record->mapping}, mask);
    return forms->forms[id] ? id + 1 : 0;
}

/* As the record before it lets expect, or by looking up. */
static uint32_t find(struct ll_ring_forms *forms, uint32_t before, const struct ll_ring_record *record)
{
    uint32_t guess = before ? forms->forms[before - 1]->next : 0;
    if (guess && is_of(forms->forms[guess - 1], record))
        return guess;
    uint32_t number = look_up(forms, record);
    if (before && number)
        forms->forms[before - 1]->next = number;
    return number;
}

/* What is used of a call, and no more. */
static void copy_call(struct ll_call *to, const struct ll_call *from)
{
    memcpy(to, from, offsetof(struct ll_call, operand) + from->operand_count * sizeof *from->operand);
    memcpy(to->number, from->number, from->number_count * sizeof *from->number);
}

bool ll_ring_form_call(struct ll_ring_forms *forms, uint32_t *before, const struct ll_ring_record *record,
                       struct ll_call *call)
{
    uint32_t number = find(forms, *before, record);
    *before = number;
    if (number) {
        const struct ll_ring_form *form = forms->forms[number - 1];
        copy_call(call, &form->call);
        for (uint32_t i = 0; i < call->operand_count; i++)
            call->operand[i].address =
                form->address_word[i] ? call->operand[i].address + record->words[form->address_word[i]] : 0;
    } else if (!decode(forms, record, call)) {
        return false;
    }
    call->form = number;
    return true;
}

void ll_ring_forms_release(struct ll_ring_forms *forms)
{
    ll_arena_release(&forms->arena);
    ll_map_release(&forms->keys);
    free(forms->forms);
    *forms = (struct ll_ring_forms){.decode = forms->decode, .context = forms->context};
}
