/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over a trace, by our count rules and by Catamount's.
 *
 * What a trace holds, summed: totals a step, and a row for each op kind and phase. */
#ifndef LL_TRACER_IR_PROFILE_H
#define LL_TRACER_IR_PROFILE_H

#include "tracer/ir/trace.h"

struct ll_kind_total {
    const char *kind;
    enum ll_op_kind op_kind; /* LL_OP_NONE for a kind this program does not know */
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

/* Other ways of counting what ops do, to compare with those who count so.
 *
 * catamount: as Catamount (Hestness et al., "Beyond Human-Level Accuracy", PPoPP 2019) counts TensorFlow's
 * graphs. FLOPs and bytes are algorithmic as ours are, but every view is a copy, a sum counts an operation
 * for each element that comes, a softmax three and a second read, half the sum of squares three in all (it
 * looks at the size of the result), a gather reads its rows beside writing them, and what loops read and
 * write step by step (stack, unstack: TensorFlow's arrays of tensors) costs nothing. The footprint of an op
 * is what it writes, and nothing where it writes in place. */

/* Of one op; LL_NO_FIT past 64 bits. */
struct ll_account {
    uint64_t flops, bytes, footprint_bytes;
};

/* The op of a phase as Catamount counts it, for views that ll_op_infer accepts; nothing for a kind that this
 * program does not know. Pure. */
struct ll_account ll_catamount_op(const struct ll_op_view *op, enum ll_phase phase);

/* Of a step: the sums over its ops; parameters are elements of all weights; the footprint has each weight
 * and state of an optimizer once; io_bytes is what comes from the host. LL_NO_FIT past 64 bits. */
struct ll_accounts {
    uint64_t parameters, flops, bytes, footprint_bytes, io_bytes;
};

/* Of the typical step of a trace (tracer/ir/profile.h). False when memory ran out. Pure, thread-safe. */
bool ll_catamount(const struct ll_trace *trace, struct ll_accounts *accounts);

#endif
