/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted against measured: every row that can be turned into work is costed on the machine that answers to
 * the row's hardware, and errors are summed up by hardware and family of op, and also by machine: one
 * hardware may have been measured under software for which other machines answer.
 *
 * A row of so many devices, "8x NVIDIA T4", means a machine that answers to all of it, or else to what
 * follows the number, and whose network joins that many. A row with devices=N, N above 1, that names a device
 * without network means that device's default system (ll_machine_system), where it is among the machines.
 *
 * The error of a row is (predicted - measured) / measured. Beside it stands that of a plain roofline: the
 * larger of FLOPs over the datasheet's peak and bytes over its bandwidth. The predictions never look at the
 * measured times, but for a machine's table of measured kernels, of which a row is never predicted by points
 * of its own shape; with table_leaves = LL_LEAVE_OWN_FOLD of the machine not by any of its own fold
 * (ll_measured_fold). A validation lives in the arena given; pure, thread-safe. */
#ifndef LL_SIM_VALIDATE_VALIDATE_H
#define LL_SIM_VALIDATE_VALIDATE_H

#include "sim/machine/machine.h"
#include "sim/validate/errors.h"
#include "sim/validate/row.h"
#include "sim/validate/step.h"
#include "tracer/base/json.h"
#include "tracer/base/pool.h"

/* Ours, a plain roofline's, and ours again by whether starting the ops is most of it; and of the rows on
 * machines that have a residual table (`overlay`) or a table of measured kernels (`measured`) ours and what
 * the model says without them. */
struct ll_score_set {
    struct ll_errors ours, roofline, launch_bound, large, with_table, model_alone;
};

struct ll_prediction {
    const struct ll_measured *row;
    const struct ll_machine *machine; /* NULL: not scored */
    const char *unscored;             /* then why */
    const char *family;
    const char *workload; /* that a server served; NULL: errors are not summed up by workloads */
    double time_s, roofline_s;
    double model_s;      /* the time without the machine's tables; 0 where it has none */
    double flops, bytes; /* what a roofline goes by */
    bool launch_bound;   /* the roofline is below what starting the ops costs */
};

struct ll_family_errors {
    const char *hardware, *family;
    const char *workload; /* NULL: of all */
    const struct ll_machine *machine;
    struct ll_score_set errors;
};

struct ll_unscored {
    const char *reason; /* of rows, with what they name: "no machine answers to NVIDIA T4" */
    uint64_t points;
};

struct ll_validation {
    const struct ll_prediction *predictions; /* by row */
    size_t count;
    const struct ll_family_errors
        *families; /* by hardware and family, in the order of their first rows, whose
                                              * machine is told */
    size_t family_count;
    const struct ll_family_errors *machines; /* and by machine */
    size_t machine_count;
    const struct ll_family_errors *workloads; /* and by workload, of rows that have one */
    size_t workload_count;
    struct ll_score_set overall;
    const struct ll_unscored *unscored;
    size_t unscored_count;
};

/* Who records: the trace of a workload, NULL where there is none of that name or settings. Traces live as
 * long as the context. */
struct ll_recordings {
    const struct ll_trace *(*bring)(void *context, const struct ll_dry_workload *wanted);
    void *context;
};

/* NULL when memory ran out. Recordings are asked for before anything is predicted, by this thread; NULL:
 * there are none, and rows that want some are not scored. The table (NULL: none) says which of the machines a
 * row was measured on. The rows, machines and table outlive the validation; the
 * pool (NULL: none) predicts rows side by side, with the same bits at any number of threads. */
const struct ll_validation *ll_validate(const struct ll_measured *rows, size_t count,
                                        const struct ll_machine *const *machines, size_t machine_count,
                                        const struct ll_aliases *aliases,
                                        const struct ll_recordings *recordings, struct ll_pool *pool,
                                        struct ll_arena *arena);

/* The same of predictions that somebody else made: rows with machines, families and times, or with what keeps
 * them from being scored. Predictions outlive the validation. NULL when memory ran out. */
const struct ll_validation *ll_validation_of(struct ll_prediction *predictions, size_t count,
                                             struct ll_arena *arena);

/* One object: the scored rows as columns, `rows` with a list each for hardware, machine, family, op, dtype,
 * dims, source, measured_s, predicted_s and roofline_s. Pure but for what it writes. */
void ll_validation_rows_json(const struct ll_validation *validation, struct ll_json *json);

/* Whether data that names this hardware means the machine: the table says that it does, or that it means the
 * machine that this one's file inherits; or, where the table (NULL: there is none) says nothing of it, it is
 * what -c calls the machine, its name or one of the aliases in its file, in any case of letters. */
bool ll_machine_answers(const struct ll_machine *machine, const struct ll_aliases *aliases,
                        const char *hardware);

/* The names under which a table may know a row's machine, the most special first: "source, software:
 * hardware", "source: hardware", hardware; of "8x hardware" also without the number. The i-th, copied to
 * name; NULL past the last. */
const char *ll_measured_name(const struct ll_measured *row, size_t i, char name[LL_MOST_HARDWARE]);

/* Whether a row was measured on such a machine: it answers to the first of these names to which any does. */
bool ll_machine_measured(const struct ll_machine *machine, const struct ll_aliases *aliases,
                         const struct ll_measured *row);

/* Why the row's op is no work for the machine that it was measured on: of several devices it is one, and
 * nobody knows how they shared the op, or it says that others did. NULL when it is; else static storage. */
const char *ll_machine_cannot_share(const struct ll_machine *machine, const struct ll_aliases *aliases,
                                    const struct ll_measured *row);

/* How well does a roofline do that was fitted to the measured times themselves? A prediction by datasheets is
 * worth something where it is no worse.
 *
 *       time = start + max(FLOPs / rate, bytes / bandwidth)
 *
 * The three figures are those that make the mean error, |predicted - measured| / measured, of every second
 * row of a group least; a group has source, hardware, op and dtype in common. The other rows are predicted by
 * them. So the fit has seen, of the same device, software and op, what is nearest to what it is asked for. */

enum { LL_LEAST_FITTED = 8 }; /* rows of a group: four for three figures, four to be predicted */

/* Over the same rows. */
struct ll_compared {
    const char *hardware; /* NULL: all */
    const char *family;   /* NULL: all */
    const struct ll_machine *machine;
    struct ll_errors ours, fitted;
};

struct ll_fitted_rooflines {
    const struct ll_compared
        *machines; /* by hardware, machine and family, in the order of their first rows */
    size_t machine_count;
    const struct ll_compared *families; /* by family */
    size_t family_count;
    struct ll_compared overall;
    uint64_t left_out; /* scored rows of groups that have too few for a fit */
};

/* Lives in the arena, as does what it refers to; NULL when memory ran out. Thread-safe. */
const struct ll_fitted_rooflines *ll_fit_rooflines(const struct ll_validation *validation,
                                                   struct ll_arena *arena);

#endif
