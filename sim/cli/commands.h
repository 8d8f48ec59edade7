/* SPDX-License-Identifier: Apache-2.0 */
/* What commands offer each other: running a reference workload, a sweep, bringing what a study asks for. */
#ifndef LL_SIM_CLI_COMMANDS_H
#define LL_SIM_CLI_COMMANDS_H

#include <pthread.h>

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

/* `leadline record` of a reference workload, into memory: as args of ll_command_record say. *trace is the
 * caller's to free. An exit status. */
struct ll_trace;
int ll_record_in_memory(const struct ll_args *args, struct ll_trace **trace);
extern const struct ll_command ll_command_record, ll_command_import;

/* `leadline plan` for a trace and a machine in memory: as args of ll_command_plan say, args->words[0] names
 * the trace. The trace may be changed, or another be in its place; the caller frees it. With `devices`, the
 * machine is one of several. An exit status, what was found printed. */
int ll_plan_in_memory(const struct ll_args *args, const struct ll_machine *machine, struct ll_trace **trace);
extern const struct ll_command ll_command_plan;

/* A sweep as `leadline sweep` runs it, alone or with other processes. */

/* Everything from the command line to the exit status. With a crew every process keeps what it finds in a
 * database beside the output (sim/explore/database.h), and the first of them joins these at the end and
 * reports. crew NULL: alone. */
int ll_run_sweep(const struct ll_args *args, const struct ll_sweep_crew *crew);

/* Its page and options. */
extern const struct ll_command ll_command_sweep;

/* Whether the models take all values that a space has for their parameters, each by itself; a complaint
 * stands where the value does. What values may not be together is for the points to find. */
bool ll_sweep_check_values(const struct ll_space *space, struct ll_diags *diags);

/* The same of servings: their models and options are known. */
bool ll_sweep_check_servings(const struct ll_space *space, struct ll_diags *diags);

/* The ll_serving_source of the evaluator, for any number of threads; the context is a struct
 * ll_sweep_servings. It keeps traces of models from one serving to the next, a thread at a time, so that no
 * result depends on which thread it was. */
struct ll_readings;
struct ll_served_traces;
struct ll_sweep_servings {
    pthread_mutex_t lock;
    struct ll_kept_traces *idle; /* that no serving has at the moment */
};
void ll_sweep_servings_begin(struct ll_sweep_servings *servings);
void ll_sweep_servings_end(struct ll_sweep_servings *servings);
bool ll_sweep_serve(void *context, const struct ll_space_workload *workload,
                    const struct ll_space_setting *settings, size_t count, const struct ll_machine *machine,
                    struct ll_readings *measured, struct ll_diags *diags);

/* Reads a trace, or records a model dry: the ll_trace_source of the evaluator. The context is not used. */
struct ll_trace *ll_sweep_bring(void *context, const struct ll_space_workload *workload,
                                const struct ll_space_setting *settings, size_t count,
                                struct ll_diags *diags);

/* A sweep file whose points somebody else chooses; {0} to begin with. One thread at a time. */
struct ll_sweep_points {
    struct ll_arena arena;
    struct ll_space *space;
    struct ll_pool *pool;
    struct ll_evaluator *evaluator; /* NULL: servings have not begun */
    struct ll_sweep_servings servings;
    const char *warning; /* ll_evaluator_warn; NULL: nothing */
};

/* Reads the file and its workloads. An exit status, other than LL_DONE after saying why; to be closed in any
 * case. */
int ll_sweep_points_open(const char *path, struct ll_sweep_points *points);
void ll_sweep_points_close(struct ll_sweep_points *points);

/* What varies: the parameters with their values, as they make up the number of a point (the last one turning
 * fastest), and the objectives. */
void ll_sweep_points_json(const struct ll_sweep_points *points, struct ll_json *json);

/* A point that was evaluated: the document of `leadline sweep --point`. */
void ll_sweep_point_json(const struct ll_space *space, const struct ll_evaluation *point, const char *warning,
                         struct ll_json *json);

/* Evaluates a point and writes its document; an exit status. */
int ll_sweep_points_evaluate(struct ll_sweep_points *points, uint64_t number, struct ll_json *json);

/* What the commands that explore have in common: bringing traces, shards. */

/* Why points of a database are not valid: a line for each of the commonest reasons. */
void ll_add_troubles(const char *path, struct ll_arena *arena, struct ll_str *out);

/* What ll_evaluator_warn says, as a line, and as the list `warnings`; NULL: nothing, an empty list. */
void ll_add_warning(const char *warning, struct ll_str *out);
void ll_put_warning(const char *warning, struct ll_json *json);

/* Files that people write whose schema `leadline schema` prints; NULL behind the last. Static storage. */
const char *ll_file_schema_name(size_t i);

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
