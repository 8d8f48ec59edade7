/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's records lie in its ring in the order in which they ended; inner calls before the one that made
 * them. A new item goes in from the end of the list, past those that began after it. */
#define _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "tracer/interpose/ring_stream.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/arena.h"
#include "tracer/base/clock.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_reader.h"

void ll_ring_stream_begin(struct ll_ring_stream *stream, struct ll_ring *ring, uint64_t bytes,
                          uint32_t process)
{
    assert(bytes >= sizeof(uint64_t) && (bytes & (bytes - 1)) == 0); /* positions are taken modulo the size */
    *stream =
        (struct ll_ring_stream){.ring = ring, .size_words = bytes / sizeof(uint64_t), .process = process};
    stream->words = (const uint64_t *)((const char *)ring + LL_RING_PAGE);
    stream->scanned = atomic_load(&ring->tail);
}

void ll_ring_stream_release(struct ll_ring_stream *stream)
{
    free(stream->items);
    free(stream->kept);
    stream->items = NULL;
    stream->kept = NULL;
}

/* Moves waiting items to the front where that makes room, else takes more memory. */
static bool make_room(struct ll_ring_stream *stream)
{
    if (stream->end < stream->capacity)
        return true;
    if (stream->first > stream->capacity / 2) {
        memmove(stream->items, stream->items + stream->first,
                (stream->end - stream->first) * sizeof *stream->items);
        stream->end -= stream->first;
        stream->first = 0;
        return true;
    }
    return ll_grow(&stream->items, &stream->capacity, stream->end + 1, sizeof *stream->items);
}

static bool add(struct ll_ring_stream *stream, struct ll_ring_stream_item item)
{
    if (!make_room(stream))
        return false;
    uint64_t at = stream->end++;
    for (; at > stream->first && stream->items[at - 1].start_ticks > item.start_ticks; at--)
        stream->items[at] = stream->items[at - 1];
    stream->items[at] = item;
    return true;
}

/* Whether a record of `count` words may lie here. */
static bool is_sound(const struct ll_ring_stream *stream, unsigned kind, unsigned count, uint64_t head)
{
    uint64_t offset = stream->scanned & (stream->size_words - 1);
    return kind < LL_RING_KINDS && count >= 1 && count <= head - stream->scanned &&
           count <= stream->size_words - offset &&
           (kind == LL_RING_FILL || (count >= 2 && count <= LL_RING_RECORD_WORDS));
}

/* Room for so many more words: more memory, or the same without the words that were taken. */
static bool make_room_for_words(struct ll_ring_stream *stream, unsigned count)
{
    if (stream->kept_count + count <= stream->kept_capacity)
        return true;
    if (stream->waiting_words > stream->kept_capacity / 2)
        return ll_grow(&stream->kept, &stream->kept_capacity, stream->kept_count + count,
                       sizeof *stream->kept);
    uint64_t *kept = NULL, capacity = 0, end = 0;
    if (!ll_grow(&kept, &capacity, stream->waiting_words + count, sizeof *kept))
        return false;
    for (uint64_t i = stream->first; i < stream->end; i++) {
        struct ll_ring_stream_item *item = &stream->items[i];
        unsigned words = item->lost ? 0 : ll_ring_words_of(stream->kept[item->position]);
        memcpy(kept + end, stream->kept + item->position, words * sizeof *kept);
        item->position = end;
        end += words;
    }
    free(stream->kept);
    stream->kept = kept;
    stream->kept_capacity = capacity;
    stream->kept_count = end;
    return true;
}

/* False when memory ran out. */
static bool keep(struct ll_ring_stream *stream, const uint64_t *record, unsigned count)
{
    if (!make_room_for_words(stream, count))
        return false;
    uint64_t *kept = stream->kept + stream->kept_count;
    memcpy(kept, record, count * sizeof *record);
    kept[0] = (kept[0] & ~UINT64_C(0xffff)) | count; /* whatever the program has made of it by now */
    if (!add(stream, (struct ll_ring_stream_item){
                         .start_ticks = kept[1], .position = stream->kept_count, .thread = stream->thread}))
        return false;
    stream->kept_count += count;
    stream->waiting_words += count;
    return true;
}

/* False when the record is nonsense or memory ran out. */
static bool scan_record(struct ll_ring_stream *stream, uint64_t head, uint64_t most_words,
                        ll_ring_stream_thread *thread, void *context)
{
    const uint64_t *record = stream->words + (stream->scanned & (stream->size_words - 1));
    uint64_t header = record[0];
    unsigned kind = ll_ring_kind_of(header), count = ll_ring_words_of(header);
    if (!is_sound(stream, kind, count, head))
        return false;
    /* What a driver of LAPACK calls is only counted, and its own record comes behind all of that. */
    bool is_counted = kind == LL_RING_CALL && ll_ring_depth_of(header) > 0 &&
                      ll_ring_stream_is_full(stream, most_words / 2);
    stream->nested += is_counted;
    if (kind == LL_RING_THREAD)
        stream->thread = thread(context, stream->process, record[1]);
    else if (kind != LL_RING_FILL && !is_counted && !keep(stream, record, count))
        return false;
    stream->scanned += count;
    return true;
}

static void add_lost(struct ll_ring_stream *stream, uint64_t now_ticks)
{
    uint64_t lost = atomic_load(&stream->ring->lost);
    if (lost <= stream->lost)
        return;
    struct ll_ring_stream_item item = {now_ticks, stream->scanned, lost - stream->lost, stream->thread};
    if (add(stream, item))
        stream->lost = lost;
}

uint64_t ll_ring_stream_scan(struct ll_ring_stream *stream, uint64_t now_ticks, uint64_t most_words,
                             ll_ring_stream_thread *thread, void *context)
{
    uint64_t open = atomic_load_explicit(&stream->ring->open_ticks, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&stream->ring->head, memory_order_acquire);
    if (head < stream->scanned || head - stream->scanned > stream->size_words)
        stream->damaged = true;
    while (!stream->damaged && stream->scanned < head && stream->waiting_words < most_words)
        stream->damaged = !scan_record(stream, head, most_words, thread, context);
    if (stream->damaged) { /* nobody shall wait for us */
        atomic_store_explicit(&stream->ring->tail, head, memory_order_release);
        return now_ticks;
    }
    atomic_store_explicit(&stream->ring->tail, stream->scanned, memory_order_release);
    add_lost(stream, now_ticks);
    if (stream->scanned == head)
        stream->bound_ticks = open && open < now_ticks ? open : now_ticks;
    return stream->bound_ticks;
}

unsigned ll_ring_stream_take(struct ll_ring_stream *stream, struct ll_ring_stream_item *item, uint64_t *words)
{
    assert(ll_ring_stream_has_items(stream));
    assert(stream->end <= stream->capacity);
    *item = stream->items[stream->first++];
    unsigned count = 0;
    if (!item->lost) {
        const uint64_t *record = stream->kept + item->position;
        count = ll_ring_words_of(record[0]);
        memcpy(words, record, count * sizeof *words);
        stream->waiting_words -= count;
    }
    if (stream->first == stream->end)
        stream->first = stream->end = stream->kept_count = 0;
    return count;
}

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
    assert(record->count >= LL_RING_CALL_WORDS && record->count <= LL_RING_RECORD_WORDS);
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
