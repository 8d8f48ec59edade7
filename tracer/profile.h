/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, summed: totals a step, and a row for each op kind and phase. */
#ifndef LL_TRACER_PROFILE_H
#define LL_TRACER_PROFILE_H

#include "tracer/trace.h"

struct ll_kind_total {
    const char *kind;
    enum ll_op_kind op_kind; /* LL_OP_COUNT for a kind this program does not know */
    enum ll_phase phase;
    double count, flops, bytes, time_s; /* a step */
    double share;                       /* of ops_time_s; 0 in a dry run */
    uint32_t order;                     /* of first appearance */
};

/* All totals are per step: sums over the complete steps divided by their number, or over whatever there is
 * when no step is complete (then steps is 0). */
struct ll_profile {
    uint64_t steps; /* complete */
    double ops, flops, bytes, wall_s, ops_time_s;
    double recording_s;                /* spent inside the recorder while steps ran, in the whole trace */
    double record_ns_per_op;           /* the same for one op of the median step; 0 in a dry run */
    uint64_t parameters;               /* elements of the distinct weight storages */
    const struct ll_kind_total *kinds; /* by time, then FLOPs, largest first; ties by first appearance */
    uint64_t kind_count;
};

/* The first and the last-plus-one op of what a profile or a simulation counts: the complete steps, or all. */
void ll_trace_range(const struct ll_trace *trace, uint32_t *first_op, uint32_t *end_op, uint64_t *steps);

/* The first complete step, or the first when none is; of no ops when there is none. */
struct ll_step ll_trace_typical_step(const struct ll_trace *trace);

/* NULL when memory ran out; lives in the arena. Pure otherwise. */
const struct ll_profile *ll_profile(const struct ll_trace *trace, struct ll_arena *arena);

#endif
