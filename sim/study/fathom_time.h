/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded run as op kinds over steps: how long all ops of a kind took together, in each step. */
#ifndef LL_SIM_STUDY_FATHOM_TIME_H
#define LL_SIM_STUDY_FATHOM_TIME_H

#include "tracer/ir/trace.h"

struct ll_timeline_kind {
    const char *name;
    enum ll_op_kind kind; /* LL_OP_COUNT for one that this program does not know */
    const double *time_s; /* by step */
    double quiet_s;       /* the time below which a tenth of the steps lie: little else ran meanwhile */
    double share;         /* of quiet_s in the sum of those of all kinds */
};

/* Complete steps only, the first `skipped` of them left out: caches and page tables are cold there. What the
 * host brings (class input) is no op type of a profile and left out of `kinds`, not of ops_s. */
struct ll_timeline {
    struct ll_timeline_kind *kinds; /* by share, largest first, then by name */
    size_t kind_count;
    size_t step_count;
    double *wall_s, *ops_s, *recording_s; /* by step: in all, in ops, in the recorder */
};

/* In the arena; NULL when memory ran out. Pure otherwise. */
const struct ll_timeline *ll_timeline(const struct ll_trace *trace, size_t skipped, struct ll_arena *arena);

#endif
