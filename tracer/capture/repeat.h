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
#ifndef LL_TRACER_CAPTURE_REPEAT_H
#define LL_TRACER_CAPTURE_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

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

/* False when these calls do not repeat, or memory ran out. Pure. */
bool ll_find_repetition(const struct ll_repeat_call *calls, uint64_t count, struct ll_repetition *repetition);

#endif
