/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of whole workloads, spread over devices: what a measured row asks to be recorded, and the plan by
 * which its system ran it.
 *
 * A validation has no workloads of its own. It says which recordings its rows want, and whoever calls it
 * brings them (sim/cli). Rows of recorded.def's models become steps, all others work (measured.h). */
#ifndef LL_SIM_VALIDATE_STEP_H
#define LL_SIM_VALIDATE_STEP_H

#include "sim/machine/machine.h"
#include "sim/parallel/parallel.h"
#include "tracer/convert/csv/csv.h"
#include "tracer/ir/trace.h"

enum { LL_MOST_DRY_SETTINGS = 8, LL_DRY_TEXT = 24 };

/* A workload to be recorded without computing, one step of it: plain data, zeroed where unused, compared as
 * bytes. */
struct ll_dry_workload {
    char model[LL_DRY_TEXT];
    uint64_t batch;
    uint64_t train;             /* 1 or 0 */
    char products[LL_DRY_TEXT]; /* the type that products of weights read (tracer/transform/dtype.h) */
    struct {
        char key[LL_DRY_TEXT], value[LL_DRY_TEXT];
    } settings[LL_MOST_DRY_SETTINGS]; /* ended by an empty key */
};

struct ll_measured_step {
    struct ll_dry_workload wanted;
    struct ll_parallel plan;
    uint64_t devices;
    bool without_update; /* forward and backward alone were timed */
    const char *family;
};

/* Whether the row speaks of a step that is to be recorded; then *trouble is NULL and the step filled, or a
 * static sentence says why it cannot be scored. Pure. */
bool ll_measured_step(const struct ll_measured *row, struct ll_measured_step *step, const char **trouble);

/* How long a step takes on a machine, and what a roofline goes by and says: FLOPs, bytes, and for each op of
 * the recording the larger of FLOPs over the datasheet's peak and bytes over its bandwidth, shared by the
 * devices of a replica. */
struct ll_step_times {
    double time_s, flops, bytes, roofline_s;
};

/* The programs of the step that was timed last, for steps on the same trace that differ in their batch alone.
 * {0} to begin with; belongs to one thread. */
struct ll_last_spread {
    const struct ll_trace *trace;
    struct ll_spread *spread;
};
void ll_last_spread_release(struct ll_last_spread *last);

/* False when it cannot be predicted: `trouble`, of `size` bytes, then says why. What is `last` saves work and
 * changes no time. Thread-safe. */
bool ll_measured_step_times(const struct ll_measured_step *step, const struct ll_trace *trace,
                            const struct ll_machine *machine, struct ll_last_spread *last,
                            struct ll_step_times *times, char *trouble, size_t size);

#endif
