/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's records lie in its ring in the order in which they ended; inner calls before the one that made
 * them. A new item goes in from the end of the list, past those that began after it. */
#include "tracer/interpose/ring_stream.h"

#include "tracer/base/arena.h"

#include <stdlib.h>
#include <string.h>

void ll_ring_stream_begin(struct ll_ring_stream *stream, struct ll_ring *ring, uint64_t bytes,
                          uint32_t process)
{
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
