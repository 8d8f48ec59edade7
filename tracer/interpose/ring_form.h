/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of records: what a call's record says but for its times and addresses.
 *
 * A program in a loop makes the same calls in the same order, so the record after one is probably of the form
 * that came after it the time before. Then nothing is decoded: the record's times and addresses go into the
 * call that was decoded then. Inner to this room; one thread at a time; {0} to begin with. */
#ifndef LL_INTERPOSE_RING_FORM_H
#define LL_INTERPOSE_RING_FORM_H

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/capture/call.h"

struct ll_ring_form;
struct ll_ring_forms {
    struct ll_arena arena;
    struct ll_map keys;
    struct ll_ring_form **forms; /* by id of their key */
    uint64_t capacity;
};

/* Decodes a record of a call. False when it is nonsense. */
typedef bool ll_ring_decode(void *context, uint32_t process, const uint64_t *words, unsigned count,
                            struct ll_call *call);

/* The call of a record of `count` words, at least LL_RING_CALL_WORDS. `before` is the form of the record
 * before it in its ring, 0 at first; it becomes this one's. Decodes what has no form yet; what finds no room
 * keeps none. All but its duration is set. False when the record is nonsense. */
bool ll_ring_form_call(struct ll_ring_forms *forms, uint32_t *before, uint32_t process, const uint64_t *words,
                       unsigned count, ll_ring_decode *decode, void *context, struct ll_call *call);

void ll_ring_forms_release(struct ll_ring_forms *forms);

#endif
