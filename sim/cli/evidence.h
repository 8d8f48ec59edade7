/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing what the plan of a study lists: workloads recorded, machines read.
 *
 * Recordings are kept until the end, so that what several studies want is recorded once. */
#ifndef LL_SIM_CLI_EVIDENCE_H
#define LL_SIM_CLI_EVIDENCE_H

#include "sim/study/study.h"

struct ll_library_entry {
    struct ll_recording recording;
    struct ll_trace *trace; /* NULL: there is no such workload */
    double *losses;         /* by step; NULL in a dry run */
};

struct ll_experiment_entry {
    struct ll_experiment experiment;
    struct ll_experiment_result *result; /* NULL: there is no such workload */
};

/* All recordings and experiments of a run of the program; {0} to begin with. One thread. */
struct ll_library {
    struct ll_library_entry *entries;
    uint64_t entry_count, capacity;
    struct ll_experiment_entry *experiments;
    uint64_t experiment_count, experiment_capacity;
};

/* Frees all traces and results. */
void ll_library_release(struct ll_library *library);

/* The trace of a recording, made when it is new; NULL for a workload that there is not. An exit status, after
 * saying what is wrong. What the recording points to outlives the library. */
int ll_bring_one(struct ll_library *library, const struct ll_recording *recording,
                 const struct ll_trace **trace);

/* What a plan was answered with; {0} to begin with. */
struct ll_brought {
    const struct ll_trace **traces;
    struct ll_losses *losses;
    struct ll_machine **machines;
    uint64_t machine_count;
    const struct ll_experiment_result **experiments;
};

/* Records what is missing, telling so on standard error, and reads the machines. An exit status, after saying
 * what is wrong. The arrays live in the arena, traces and losses in the library; machines are freed by the
 * next. */
int ll_trace_source(struct ll_library *library, const struct ll_study_plan *plan, struct ll_arena *arena,
                    struct ll_brought *brought);
void ll_brought_release(struct ll_brought *brought);

#endif
