/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a program that marks none: what it repeats.
 *
 * A training loop calls the same routines with the same shapes from the same places, again and again, and its
 * steps read some of the same tensors (a network's layers may be alike too, but each has weights of its own).
 * Looked for is the smallest distance p at which the longest stretch of calls repeats: p such that call i is
 * call i - p, all along. Where no such steps share a tensor, those count too that ops have updated in place:
 * the weights of a training loop that makes its updates by such calls, but also what goes through all layers
 * of a network and is added to in each, hence only then. Only the last LL_REPEAT_WINDOW calls are remembered;
 * time is linear in them. */
#ifndef LL_TRACER_CAPTURE_STEPS_H
#define LL_TRACER_CAPTURE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/record/recorder.h"

enum {
    LL_REPEAT_BROUGHT = 3,
    LL_REPEAT_WINDOW = 1 << 20,
    LL_REPEAT_LEAST_CALLS = 2, /* of a step */
    LL_REPEAT_LEAST_TIMES = 3  /* that it comes */
};

/* A call as it is compared. */
struct ll_repeat_call {
    uint32_t look; /* equal for calls that do the same */
    /* Tensors that no call made, and that this one reads; LL_NONE for none. Whether calls have updated it. */
    uint32_t brought[LL_REPEAT_BROUGHT];
    bool updated[LL_REPEAT_BROUGHT];
    uint32_t op; /* its first op */
};

/* Steps of `period` calls each, the first beginning with call `first`; `count` of them; whole ones. */
struct ll_repetition {
    uint64_t first, period, count;
};

/* Where the steps of a program are: at its marks, or at what it repeats (below).
 *
 * What is before the first step and behind the last one is a step that is not complete; so is that of the
 * last mark, of which nobody has said where it ends. Times are ns from the process's start. One thread at a
 * time; {0} to begin with. */

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
