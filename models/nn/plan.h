/* SPDX-License-Identifier: Apache-2.0 */
/* Where each value lies in memory.
 *
 * Variables and kept values have a place of their own. Other values share: a value's place is free again
 * after the last op that reads it, and the next value that fits takes it over, so that a step needs little
 * memory and finds it warm. Planned once, before the first step. */
#ifndef LL_NN_PLAN_H
#define LL_NN_PLAN_H

#include "models/nn/nn.h"

enum { LL_MEMORY_PLAN_ALIGN = 64 };

struct ll_memory_plan {
    uint64_t *offset; /* by value index, in bytes; views and in-place results have their root's */
    uint64_t total_bytes;
    uint64_t shared_bytes; /* of them, what values take turns in */
};

/* False when memory ran out or a size does not fit in 64 bits. The arrays live in the arena. */
bool ll_memory_plan_make(const struct ll_nn *nn, struct ll_arena *arena, struct ll_memory_plan *plan);

#endif
