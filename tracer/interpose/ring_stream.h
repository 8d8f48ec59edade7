/* SPDX-License-Identifier: Apache-2.0 */
/* One ring, seen from the reader: what was in it, in the order in which it began. Inner to this room.
 *
 * Records are copied out of the ring as soon as they are seen, so that the writer has its room back however
 * long they wait for others that began before them. */
#ifndef LL_TRACER_INTERPOSE_RING_STREAM_H
#define LL_TRACER_INTERPOSE_RING_STREAM_H

#include <stdbool.h>

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"

struct ll_ring_stream_item {
    uint64_t start_ticks;
    uint64_t position; /* of the record among the kept words */
    uint64_t lost;     /* not 0: no record, but so many lost ones */
    uint32_t thread;
};

struct ll_ring_stream {
    struct ll_ring *ring; /* mapped; its words follow a page later */
    const uint64_t *words;
    uint64_t size_words;   /* a power of two */
    uint64_t scanned;      /* up to this position records were looked at */
    uint64_t bound_ticks;  /* what was not looked at began then or later */
    uint64_t lost, nested; /* nested: calls within others that were counted here alone */
    uint32_t thread;
    uint32_t process;
    uint32_t form;                     /* of the call taken last: what the reader keeps of it */
    bool damaged;                      /* it held nonsense; nothing more is read */
    struct ll_ring_stream_item *items; /* [first, end) wait */
    uint64_t first, end, capacity;
    uint64_t *kept; /* words of records; those of `waiting_words` wait */
    uint64_t kept_count, kept_capacity, waiting_words;
};

/* Gives a thread of this process a number, for the number that its ring says. */
typedef uint32_t ll_ring_stream_thread(void *context, uint32_t process, uint64_t number);

/* Begins to follow a ring of so many bytes of words, which is mapped and stays so. */
void ll_ring_stream_begin(struct ll_ring_stream *stream, struct ll_ring *ring, uint64_t bytes,
                          uint32_t process);
void ll_ring_stream_release(struct ll_ring_stream *stream);

/* Looks at what the writer added, and gives it its room back; leaves the rest where more than so many words
 * wait. The result is a moment, `now_ticks` at most: whatever comes later began then or later. */
uint64_t ll_ring_stream_scan(struct ll_ring_stream *stream, uint64_t now_ticks, uint64_t most_words,
                             ll_ring_stream_thread *thread, void *context);

/* The first item, taken; its record's words are copied, at most LL_RING_RECORD_WORDS, their number is the
 * result: 0 for lost ones. There is an item. */
unsigned ll_ring_stream_take(struct ll_ring_stream *stream, struct ll_ring_stream_item *item,
                             uint64_t *words);

/* Whether some item waits to be taken. */
static inline bool ll_ring_stream_has_items(const struct ll_ring_stream *stream)
{
    return stream->first < stream->end;
}

/* Whether so much waits that the writer will soon have no room. */
static inline bool ll_ring_stream_is_full(const struct ll_ring_stream *stream, uint64_t most_words)
{
    return stream->waiting_words > most_words / 2;
}

/* Forms of records: what a call's record says but for its times and addresses.
 *
 * A program in a loop makes the same calls in the same order, so the record after one is probably of the form
 * that came after it the time before. Then nothing is decoded: the record's times and addresses go into the
 * call that was decoded then. Inner to this room; one thread at a time; {.decode = ...}
 * to begin with. */

/* The words of a call's record, at least LL_RING_CALL_WORDS, and the process that wrote them. */
struct ll_ring_record {
    uint32_t process;
    unsigned count;
    const uint64_t *words;
    uint32_t mapping; /* of the place that calls: see struct ll_call */
};

/* Decodes a record. False when it is nonsense. */
typedef bool ll_ring_decode(void *context, const struct ll_ring_record *record, struct ll_call *call);

struct ll_ring_form;
struct ll_ring_forms {
    ll_ring_decode *decode;
    void *context; /* of decode */
    struct ll_arena arena;
    struct ll_map keys;
    struct ll_ring_form **forms; /* by id of their key */
    uint64_t capacity;
};

/* The call of a record. `before` is the form of the record before it in its ring, 0 at first; it becomes this
 * one's. Decodes what has no form yet; what finds no room keeps none. All of the call but its duration is
 * set. False when the record is nonsense. */
bool ll_ring_form_call(struct ll_ring_forms *forms, uint32_t *before, const struct ll_ring_record *record,
                       struct ll_call *call);

/* Forgets all forms; empty and usable afterwards, with the same decoder. */
void ll_ring_forms_release(struct ll_ring_forms *forms);

#endif
