/* SPDX-License-Identifier: Apache-2.0 */
/* What would make a step fit into a machine's memory, and what that costs: each way is tried, its footprint
 * taken and the step replayed. */
#ifndef LL_SIM_PARALLEL_MITIGATIONS_H
#define LL_SIM_PARALLEL_MITIGATIONS_H

#include "sim/parallel/step.h"
#include "sim/replay/replay.h"

enum ll_cure_kind {
#define LL_CURE(word, ...) LL_CURE_##word,
#include "sim/parallel/cures.def"
#undef LL_CURE
    LL_CURE_COUNT
};

struct ll_cure {
    const char *name, *help; /* static storage */
    const char *with;        /* the options that do it, as --offload optimizer */
    const char *trouble;     /* why it cannot be done or its time is not known; NULL: nothing */
    bool done;               /* the footprint is known */
    bool fits;
    uint64_t peak_bytes;
    double time_s;   /* a step; NaN when it is not known */
    double slowdown; /* of a sample, over the step as it is; NaN as well */
};

/* LL_CURE_COUNT of them, in the order of cures.def; the arena owns all. A smaller batch is the largest that
 * fits. Replicas are the machine's devices, eight where it has no network. NULL when memory ran out. */
const struct ll_cure *ll_cures(const struct ll_result *result, struct ll_arena *arena);

/* What would make a step on many devices fit into their memories, and what that costs: each way is another
 * plan for the same batch, whose programs are made and whose step is simulated. */

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
