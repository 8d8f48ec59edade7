/* SPDX-License-Identifier: Apache-2.0 */
/* Where a sweep keeps its results: one SQLite file.
 *
 *   provenance (name, value)                   version, hashes of code, space and base machine, rules, seed
 *   workloads  (id, name, hash)                the traces, in the order of the space
 *   parameters (id, path, target)              the axes
 *   choices    (parameter, id, text, number)   and their values
 *   objectives (id, text, name, most, base)    and what the base machine reaches
 *   points     (number, key, verdict, why, violation, a column for each parameter, by its path, and one for
 *              each objective, by its text)
 *   results    (point, workload, a column for each measure and each share of the time, by name)
 *   designs    a view of both together, a row for each point and workload
 *
 * Rows come in batches of a transaction each, in write-ahead mode: what was committed survives a kill, what
 * was not is not there at all. Numbers of points are primary keys, so the same sweep gives the same rows
 * whatever happened on the way. Other programs may read at any time. A store belongs to one thread. */
#ifndef LL_SIM_EXPLORE_STORE_H
#define LL_SIM_EXPLORE_STORE_H

#include "sim/explore/evaluate.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

#include <signal.h>

struct ll_store;

/* The fact of provenance that tells spaces apart. */
#define LL_FACT_SPACE "space"

/* Those that say which parts of the sweep have ended: finished.2of8 is `yes` or `no`. */
#define LL_FACT_FINISHED "finished."

/* What sweep, pareto and the page warn of (ll_evaluator_warn). */
#define LL_FACT_WARNING "warning"

/* In which types the workloads are simulated. */
#define LL_FACT_DTYPE "dtype"

/* Facts that all results of a database rest on, with what a complaint calls them; the hashes of the workloads
 * are the others. The store writes them itself. Rules stand there as written. */
#define LL_BASIS_LIST(X)                                                                                     \
    X("version", "the version of leadline")                                                                  \
    X("code", "the code of leadline")                                                                        \
    X("base.hash", "the base machine")                                                                       \
    X(LL_FACT_DTYPE, "the dtype")                                                                            \
    X("couplings", "couplings")                                                                              \
    X("definitions", "definitions")                                                                          \
    X("constraints", "constraints")

/* What else a database says of itself: facts are those of the last sweep that wrote to it. */
struct ll_store_facts {
    const struct ll_fact *facts;
    size_t count;
    const uint64_t *workload_hashes;
    const struct ll_evaluation *base; /* of the base machine as it is */
};

/* Opens the database of a space for writing, and makes it when it is not there; one that holds the results of
 * another space, or such as rest on something else than now, is refused, and stays as it was, and one that
 * another store has open for writing, in this process or another. fresh: what is there is thrown away, if it
 * may be discarded. NULL after a complaint; then *status is LL_OK where what is there is refused, and else
 * says what trouble there was. */
struct ll_store *ll_store_open(const char *path, const struct ll_space *space,
                               const struct ll_store_facts *facts, bool fresh, enum ll_status *status,
                               struct ll_diags *diags);

/* Whether nothing but the results of a sweep, of any space, is lost with this file; one that is empty or not
 * there is fine too. False after a complaint. */
bool ll_store_discardable(const char *path, struct ll_diags *diags);

/* Whether a file is there and is the database of a sweep, of any space. False after a complaint. */
bool ll_store_check(const char *path, struct ll_diags *diags);

/* Closes; then all is in the one file, unless somebody reads it for long. False after a complaint. NULL is
 * fine. */
bool ll_store_close(struct ll_store *store, struct ll_diags *diags);

/* Whether the point is there with this key; then its outcome is too. */
bool ll_store_find(struct ll_store *store, uint64_t number, uint64_t key, struct ll_answer *outcome);

/* Adds points in one transaction. False after a complaint (a full disk); then none of them is there. */
bool ll_store_add(struct ll_store *store, const struct ll_evaluation *evaluations, size_t count,
                  struct ll_diags *diags);

/* Writes down that this part of so many parts of a sweep (shards, or processes that work together) has
 * begun, or that it has ended, all of its points being there; what was written down before is forgotten.
 * False after a complaint. */
bool ll_store_mark(struct ll_store *store, uint64_t part, uint64_t parts, bool finished,
                   struct ll_diags *diags);

/* Joins databases of one space into a file, written beside and then moved to its place, where it may
 * replace one of them. False after complaints: they are of different spaces, their results rest on different
 * things, two have different results of one point, or *stop (NULL: nobody stops it) was set on the way; then
 * all is as it was. *points is how many there are. */
bool ll_store_join(const char *path, const char *const *parts, size_t count,
                   const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags);

/* The same, into a file that must not be there yet. */
bool ll_store_merge(const char *path, const char *const *parts, size_t count,
                    const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags);

/* What a database lacks of its sweep, as the rest of a sentence that begins with its name; NULL when
 * nothing is known to be missing, as of one that was written before that was told. In the arena. */
const char *ll_store_missing(const char *path, struct ll_arena *arena);

/* Why points are not valid: the commonest reasons, the most frequent first; how many reasons they are. In
 * the arena. */
struct ll_store_trouble {
    const char *why;
    uint64_t count; /* points */
};
size_t ll_store_troubles(const char *path, struct ll_arena *arena, size_t most,
                         struct ll_store_trouble *troubles);

/* All of a finished or unfinished sweep in memory, column by column: for fronts, sensitivities and figures.
 */
struct ll_data_column {
    const char *name; /* a path of an axis, or of a result: time_s, share.hbm, or alexnet.time_s */
    bool is_axis;
    const double *numbers;              /* by row; NaN for what is no number */
    const uint32_t *choices;            /* of an axis, by row: index in values */
    const struct ll_axis_value *values; /* of an axis */
    uint32_t value_count;
    double base; /* the same of the base machine as it is; NaN when that has none */
};

struct ll_data_frame {
    uint64_t row_count;      /* points, by number */
    const uint64_t *numbers; /* of the points */
    const uint8_t *verdicts; /* enum ll_point_verdict */
    const struct ll_data_column *columns;
    size_t column_count;
    size_t axis_count; /* the first columns */
    const struct ll_fact *facts;
    size_t fact_count;
    struct {
        const char *text, *name;
        bool most;
    } objectives[LL_MOST_OBJECTIVES];
    size_t objective_count;
};

/* Reads a database, everything in the arena. Results of several workloads have a column for their geometric
 * mean under the plain name, and one each under the workload's. NULL after a complaint. */
const struct ll_data_frame *ll_data_frame_read(const char *path, struct ll_arena *arena,
                                               struct ll_diags *diags);

/* Whether it can be read so, row by row. False after a complaint. */
bool ll_store_is_sound(const char *path, struct ll_diags *diags);

/* What the database says of itself under a name, or NULL. */
const char *ll_data_frame_fact(const struct ll_data_frame *frame, const char *key);

/* The column of this name, or NULL. */
const struct ll_data_column *ll_data_frame_column(const struct ll_data_frame *frame, const char *name);

/* The same frame with the rows for which an expression over its columns is true. In the arena; NULL after a
 * complaint. */
const struct ll_data_frame *ll_data_frame_where(const struct ll_data_frame *frame, const char *condition,
                                                struct ll_arena *arena, struct ll_diags *diags);

/* The same frame with another objective, an expression over its columns, which becomes one of them; the first
 * takes the place of those that the sweep had. In the arena; NULL after a complaint. */
const struct ll_data_frame *ll_data_frame_want(const struct ll_data_frame *frame, const char *name, bool most,
                                               bool first, struct ll_arena *arena, struct ll_diags *diags);

#endif
