/* SPDX-License-Identifier: Apache-2.0 */
/* Where the steps of a program are: at its marks, or at what it repeats (repeat.h).
 *
 * What is before the first step and behind the last one is a step that is not complete; so is that of the
 * last mark, of which nobody has said where it ends. Times are ns from the process's start. One thread at a
 * time; {0} to begin with. */
#ifndef LL_TRACER_CAPTURE_CUTS_H
#define LL_TRACER_CAPTURE_CUTS_H

#include "tracer/capture/repeat.h"
#include "tracer/record/recorder.h"

struct ll_cuts {
    struct ll_step *marks; /* the steps that they begin, behind the one that ends with the first */
    uint64_t mark_count, mark_capacity, calls_marked; /* the last: calls before the last mark */
    struct ll_cut_call *calls;                        /* a ring of the last LL_REPEAT_WINDOW ones */
    uint64_t call_count, call_capacity;
    uint64_t period, whole; /* when they are cut: calls in one that was found by repetition; complete ones */
};

/* Where the calls end and where the program does: what is between the two belongs to no step. */
struct ll_cuts_end {
    uint32_t calls_op, op; /* the op behind */
    uint64_t calls_ns, ns;
};

/* Room for what is remembered; false when memory ran out. */
bool ll_cuts_prepare(struct ll_cuts *cuts);
void ll_cuts_release(struct ll_cuts *cuts);

/* The program's next call, and when it began. */
void ll_cuts_call(struct ll_cuts *cuts, const struct ll_repeat_call *call, uint64_t start_ns);

/* A mark: the next op is `op`. One behind another without calls between them takes its place. False when
 * memory ran out. */
bool ll_cuts_mark(struct ll_cuts *cuts, uint32_t op, uint64_t ns);

/* Finds the steps, if there are any, and writes them (ll_recorder_cut). */
void ll_cuts_cut(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end);

#endif
