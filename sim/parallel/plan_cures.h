/* SPDX-License-Identifier: Apache-2.0 */
/* What would make a step on many devices fit into their memories, and what that costs: each way is another
 * plan for the same batch, whose programs are made and whose step is simulated. */
#ifndef LL_SIM_PARALLEL_PLAN_CURES_H
#define LL_SIM_PARALLEL_PLAN_CURES_H

#include "sim/parallel/cures.h"
#include "sim/parallel/step.h"

enum ll_plan_cure_kind {
#define LL_PLAN_CURE(word, ...) LL_PLAN_CURE_##word,
#include "sim/parallel/plan_cures.def"
#undef LL_PLAN_CURE
    LL_PLAN_CURE_COUNT
};

/* LL_PLAN_CURE_COUNT of them, in the order of plan_cures.def, of a step that `trace` was spread for; the
 * arena owns all. A smaller micro-batch is the largest divisor that fits. More ways to share products, and
 * more stages, are taken from the replicas where these are even, else devices are added. NULL when memory ran
 * out.
 */
const struct ll_cure *ll_plan_cures(const struct ll_trace *trace, const struct ll_parallel_result *step,
                                    struct ll_arena *arena);

#endif
