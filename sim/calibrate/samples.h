/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace of models/micro says of a kind of op: how long it took, and what was on chip then. */
#ifndef LL_SIM_CALIBRATE_SAMPLES_H
#define LL_SIM_CALIBRATE_SAMPLES_H

#include "sim/memory/residency.h"
#include "tracer/ir/trace.h"
#include "tracer/ir/work.h"

struct ll_sample {
    enum ll_op_kind kind;
    struct ll_work work;
    uint64_t most_rows; /* of the kernel that is to run it, if that is one for products of few rows; else 0 */
    bool transposed;    /* whether that kernel is for transposed right operands */
    uint64_t most_terms; /* of the kernel that is to run it, if that is one for sums of few terms; else 0 */
    bool folds;          /* whether it is for reductions along lines, where the kind has others, too */
    /* How that kernel deals it to threads, where the header says so; 0: unknown. */
    struct ll_cut {
        uint64_t slice, slice_elements, slice_step, slice_most, small, grain;
    } cut;
    uint32_t op;               /* in the trace */
    double time_s;             /* the mean over the steps, without the extremes */
    double spread;             /* between the quartiles, over the median */
    struct ll_leftovers found; /* of the ops before it (ll_residency_saved) */
};

/* Input that came from the host: how large, how long it took. */
struct ll_arrival {
    double bytes, time_s;
};

struct ll_samples {
    /* By kind, those with most_terms first, of the others those with most_rows and fewest first of them,
     * transposed ones and those that fold before others, then in the order of the trace. */
    struct ll_sample *at;
    uint64_t count;
    struct ll_arrival *arrivals;
    uint64_t arrival_count;
    double library_share; /* of a unit's peak that a large product by the library reached */
    double gap_s;         /* between the end of an op and the start of the next, where little is in between */
    double view_s;        /* of an op that does nothing, in the mean */
    uint64_t view_count;  /* of which there were so many */
};

/* Of all complete steps, which repeat the same ops, on a machine with these levels of memory. NULL when
 * memory ran out, or after complaining that there are none. Lives in the arena. */
const struct ll_samples *ll_samples_of(const struct ll_trace *micro, const struct ll_machine *machine,
                                       struct ll_arena *arena, struct ll_diags *diags);

#endif
