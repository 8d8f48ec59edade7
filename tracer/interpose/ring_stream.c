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
    stream->scanned = stream->freed = atomic_load(&ring->tail);
}

void ll_ring_stream_release(struct ll_ring_stream *stream)
{
    free(stream->items);
    stream->items = NULL;
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

static bool scan_record(struct ll_ring_stream *stream, uint64_t head, ll_ring_stream_thread *thread,
                        void *context)
{
    const uint64_t *record = stream->words + (stream->scanned & (stream->size_words - 1));
    uint64_t header = record[0];
    unsigned kind = ll_ring_kind_of(header), count = ll_ring_words_of(header);
    if (!is_sound(stream, kind, count, head))
        return false;
    if (kind == LL_RING_THREAD)
        stream->thread = thread(context, stream->process, record[1]);
    struct ll_ring_stream_item item = {.position = stream->scanned, .thread = stream->thread};
    if (kind != LL_RING_FILL && kind != LL_RING_THREAD) {
        item.start_ticks = record[1];
        if (!add(stream, item))
            return false;
    }
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

uint64_t ll_ring_stream_scan(struct ll_ring_stream *stream, uint64_t now_ticks, ll_ring_stream_thread *thread,
                             void *context)
{
    if (stream->damaged)
        return now_ticks;
    uint64_t open = atomic_load_explicit(&stream->ring->open_ticks, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&stream->ring->head, memory_order_acquire);
    if (head < stream->scanned || head - stream->freed > stream->size_words)
        stream->damaged = true;
    while (!stream->damaged && stream->scanned < head)
        stream->damaged = !scan_record(stream, head, thread, context);
    add_lost(stream, now_ticks);
    return open && open < now_ticks ? open : now_ticks;
}

bool ll_ring_stream_is_full(const struct ll_ring_stream *stream)
{
    return stream->scanned - stream->freed > stream->size_words / 2;
}

/* Gives the writer back what lies before the first record that still waits. */
static void free_words(struct ll_ring_stream *stream)
{
    uint64_t least = stream->scanned;
    for (uint64_t i = stream->first; i < stream->end; i++)
        if (stream->items[i].position < least)
            least = stream->items[i].position;
    stream->freed = least;
    atomic_store_explicit(&stream->ring->tail, least, memory_order_release);
}

unsigned ll_ring_stream_take(struct ll_ring_stream *stream, struct ll_ring_stream_item *item, uint64_t *words)
{
    *item = stream->items[stream->first++];
    unsigned count = 0;
    if (!item->lost) {
        const uint64_t *record = stream->words + (item->position & (stream->size_words - 1));
        count = ll_ring_words_of(record[0]);
        uint64_t left = stream->size_words - (item->position & (stream->size_words - 1));
        count = count > LL_RING_RECORD_WORDS ? LL_RING_RECORD_WORDS : count;
        count = count > left ? (unsigned)left : count;
        memcpy(words, record, count * sizeof *words);
    }
    if (stream->first == stream->end)
        stream->first = stream->end = 0;
    if (stream->first == stream->end || item->position - stream->freed > stream->size_words / 16)
        free_words(stream);
    return count;
}
