/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of records: what a call's record says but for its times and addresses.
 *
 * A program in a loop makes the same calls in the same order, so the record after one is probably of the form
 * that came after it the time before. Then nothing is decoded: the record's times and addresses go into the
 * call that was decoded then. Inner to this room; one thread at a time; {.decode = ...}
 * to begin with. */
#ifndef LL_INTERPOSE_RING_FORM_H
#define LL_INTERPOSE_RING_FORM_H

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"

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
