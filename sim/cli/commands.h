/* SPDX-License-Identifier: Apache-2.0 */
/* What commands offer each other: running a reference workload, a sweep, bringing what a study asks for. */
#ifndef LL_SIM_CLI_COMMANDS_H
#define LL_SIM_CLI_COMMANDS_H

#include "models/model.h"
#include "sim/cli/command.h"
#include "sim/explore/sweep.h"
#include "sim/study/study.h"
#include "tracer/base/json.h"

/* Running a reference workload: options, progress, complaints. */

/* Reads --batch, --seed, --threads and every --param. False after printing what is wrong. */
bool ll_read_run_options(const struct ll_args *args, struct ll_run_options *options);

/* Checks the settings, makes the folder for samples, runs, prints complaints and what there is to say about
 * OpenBLAS; an exit status. */
int ll_run_workload(const struct ll_model *model, const struct ll_run_options *options,
                    struct ll_run_report *report);

/* A sweep as `leadline sweep` runs it, alone or with other processes. */

/* Everything from the command line to the exit status. With a crew every process keeps what it finds in a
 * database beside the output (sim/explore/database.h), and the first of them joins these at the end and
 * reports. crew NULL: alone. */
int ll_run_sweep(const struct ll_args *args, const struct ll_sweep_crew *crew);

/* Its page and options. */
extern const struct ll_command ll_command_sweep;

/* What the commands that explore have in common: bringing traces, shards. */

/* Why points of a database are not valid: a line for each of the commonest reasons. */
void ll_add_troubles(const char *path, struct ll_arena *arena, struct ll_str *out);

/* What ll_evaluator_warn says, as a line, and as the list `warnings`; NULL: nothing, an empty list. */
void ll_add_warning(const char *warning, struct ll_str *out);
void ll_put_warning(const char *warning, struct ll_json *json);

/* Bringing what the plan of a study lists: workloads recorded, machines read.
 *
 * Recordings are kept until the end, so that what several studies want is recorded once. */

struct ll_library_entry {
    struct ll_recording recording;
    struct ll_trace *trace;        /* NULL: there is no such workload */
    double *losses;                /* by step; NULL in a dry run */
    struct ll_study_score *scores; /* of a scored recording; NULL: none */
    size_t score_count;
    bool quiet;   /* nothing else ran meanwhile; true of a dry run */
    double noise; /* how much the time of fixed work varied during the recording; 0 of a dry run */
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
    double patience_s; /* how long recordings still wait, all together, for other programs to stop */
};

/* Frees all traces and results. */
void ll_library_release(struct ll_library *library);

/* The trace of a recording, made when it is new; NULL for a workload that there is not. An exit status, after
 * saying what is wrong. What the recording points to outlives the library. */
int ll_bring_one(struct ll_library *library, const struct ll_recording *recording,
                 const struct ll_trace **trace);

#endif
