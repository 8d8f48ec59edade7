/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the room: keys and database, variants of workloads, bounds, reading of sweep files.
 *
 * Hashes by which results are known again, the lock of a sweep's only writer, and the part
 * of SQLite that the room needs. */
#ifndef LL_SIM_EXPLORE_DATABASE_H
#define LL_SIM_EXPLORE_DATABASE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/explore/findings.h"
#include "sim/explore/space.h"
#include "sim/explore/sweep.h"
#include "sim/machine/design.h"
#include "sim/machine/path.h"
#include "sim/machine/schema.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/replay.h"
#include "tracer/base/diag.h"
#include "tracer/base/hash.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

/* Of the sources of all that results come out of, 16 hex digits (cmake/mark.cmake): the same in every program
 * of these sources. */
extern const char ll_code_mark[];

/* Of everything that results depend on beside the values of a point: code, base machine, workloads (by their
 * own hashes), coupled parameters, definitions, constraints and objectives. False when memory ran out. */
bool ll_base_key(const struct ll_space *space, const uint64_t *workload_hashes, uint64_t *key);

/* That and the values of a point. Pure. */
uint64_t ll_point_key(const struct ll_space *space, uint64_t base_key, uint64_t number);

/* Of what points mean: axes and their values with what parts say, names of workloads, objectives, the kind of
 * search and its seed. Pure. */
uint64_t ll_space_hash(const struct ll_space *space);

/* One sweep at a time writes to a database; others may read it. */

struct ll_lock;

/* Takes what only one can have of this path at a time; the system gives it back when the process ends,
 * however that is. NULL after a complaint: another has it, then *status is LL_OK, or its file
 * PATH.lock cannot be made, then it says why. */
struct ll_lock *ll_lock_take(const char *path, enum ll_status *status, struct ll_diags *diags);

/* NULL is fine. */
void ll_lock_release(struct ll_lock *lock);

/* Inside the room: as much of SQLite as is needed. database.c is the one file that includes it. A database
 * and its queries belong to one thread. */

struct ll_database;
struct ll_query;

/* Opens a file, to be made when it is not there if it is for writing. NULL when memory ran out; whether it
 * could be opened, ll_database_trouble says. */
struct ll_database *ll_database_open(const char *path, bool writing);

/* Statements still open are finished. False when what was written did not all reach the file. */
bool ll_database_close(struct ll_database *database);

/* Removes a file with what SQLite keeps beside a database that was not closed. */
void ll_database_remove(const char *path);

/* What went wrong first since the database was opened or this was asked last; NULL: nothing. Good until the
 * next call. */
const char *ll_database_trouble(struct ll_database *database);

/* Whether the last call failed because others read or write; or else for what the world does (no memory, a
 * disk that cannot be read), not for what stands in the file. */
bool ll_database_busy(struct ll_database *database);

/* Runs statements without results. False on trouble; those before it stay done, but for a transaction. */
bool ll_database_run(struct ll_database *database, const char *sql);

/* A statement with parameters ?1, ?2, ...; NULL on trouble. Lives as long as the database. */
struct ll_query *ll_query_new(struct ll_database *database, const char *sql);

/* Values of parameters, counted from 1. A text must last until the query is run; NULL and NaN are NULL. */
void ll_query_text(struct ll_query *query, int parameter, const char *text);
void ll_query_number(struct ll_query *query, int parameter, double number);
void ll_query_count(struct ll_query *query, int parameter, uint64_t count);

/* The next row of the results: false at the end and on trouble; the query can then be run again. */
bool ll_query_next(struct ll_query *query);

/* Runs a query without results, to its end; it can then be run again. False on trouble. */
bool ll_query_run(struct ll_query *query);

/* Ends a query before all its rows were seen, so that it can be run again. */
void ll_query_reset(struct ll_query *query);

/* How many columns its rows have, and what they are called, from 0; a name lives as long as the query. */
int ll_query_columns(const struct ll_query *query);
const char *ll_query_name(const struct ll_query *query, int column);

/* Of the row, columns counted from 0. A text is good until the next row; NULL of NULL. A number is NaN of
 * NULL, a count is 0 of it; of anything else that is none they make trouble. */
const char *ll_cell_text(const struct ll_query *query, int column);
double ll_cell_number(const struct ll_query *query, int column);
uint64_t ll_cell_count(const struct ll_query *query, int column);

/* The least that a step can take, without replaying it.
 *
 * From a trace alone: how many FLOPs there are of each type, and how many bytes cannot be on chip, however
 * the ops are blocked, for every capacity that a chip may have. A machine then gives
 *
 *     time >= FLOPs / the highest rate at which their type can be computed
 *     time >= bytes that a chip of this capacity must fetch / bandwidth of the outermost memory
 *
 * and energy is at least that of the arithmetic, of those bytes, and of what flows during that time. Replayed
 * results are never below (tests/property/prop_least.c). It takes a hundred nanoseconds or so a machine.
 *
 * Convolutions count neither way on machines whose software convolves in a transformed domain: that needs
 * fewer products. */

struct ll_lower_bounds;

/* What all machines share; lives in the arena, immutable, may be shared by threads. NULL when memory ran out.
 */
const struct ll_lower_bounds *ll_lower_bounds_new(const struct ll_prepared *prepared, struct ll_arena *arena);

/* Bounds from below on time_s and energy_j of ll_replay (energy: NaN when the machine does not say).
 * Thread-safe. */
double ll_lower_bound_time_s(const struct ll_lower_bounds *least, const struct ll_machine *machine);
double ll_lower_bound_energy_j(const struct ll_lower_bounds *least, const struct ll_machine *machine);

/* Inside the room: the workloads of a space as they are replayed. A workload has a variant for each
 * combination of the model's parameters and of the plan; it is recorded and spread when a batch needs it. */

/* One of prepared, spread and trouble. */
struct ll_workload_variant {
    const struct ll_prepared *prepared;  /* of one device, or of ranks that wait for one another */
    const struct ll_lower_bounds *least; /* what one device takes at least; NULL of several, and of ranks */
    const struct ll_spread *spread;      /* of several */
    const struct ll_space_setting *settings; /* of a serving: its options; NULL: it is none */
    size_t setting_count;
    const char *trouble; /* such a model, or such a plan for it, cannot be */
};

struct ll_variants;

/* Whether an axis is an option of servings, not a parameter of models that are recorded. */
bool ll_is_of_serving(const struct ll_space_axis *axis);

/* The workload as a point has it, which was brought. Thread-safe. */
const struct ll_workload_variant *ll_variants_get(const struct ll_variants *variants, size_t workload,
                                                  const uint32_t *point);

/* Inside the room: points that need not be evaluated, because what is known beats whatever they could be.
 *
 * A point's bound (above, area as it is) is compared with the front of the points known before its batch
 * (findings.h). Objectives that have a bound are time_s, energy_j, edp, area_mm2 and price_usd, to be least;
 * a space with another one cannot be pruned. Steps that are spread over devices have no bound, nor have
 * traces of several ranks, and none of them is left out. */

/* A file by its bytes, a model by its name and its settings: what it records follows from the code. Either
 * with the types of numbers that it is taken to, and the zeros of its weights. */
bool ll_workload_hash(const struct ll_space_workload *workload, uint64_t *hash);

/* Whether some point of the front dominates the point whatever it is; the machine is that of the point. False
 * where objectives have no bound. Thread-safe as long as nobody adds to the front. */
bool ll_is_dominated(const struct ll_space *space, const struct ll_archive *front,
                     const struct ll_variants *variants, const struct ll_machine *machine,
                     const uint32_t *point);

/* Whether all objectives of the space have a bound. */
bool ll_has_bounds(const struct ll_space *space);

/* Inside the room: the steps of reading a sweep file. space.c walks them in this order. */

struct ll_space_reading {
    struct ll_space *space;
    struct ll_arena *arena; /* the space's */
    struct ll_diags *diags;
    const struct ll_node *root;
    /* Types for all workloads: of tensors, of GEMMs with weights, of stored weights; LL_DTYPE_COUNT: as
     * recorded. */
    enum ll_dtype dtype;
    enum ll_numeric products, weights;
    struct ll_pattern pruned;                /* weights of all workloads; 0 of 0: none are */
    double gaps;                             /* factor of the time in gaps of all workloads */
    struct ll_design *design;                /* of the base; NULL when that could not be read */
    const struct ll_machine_number *numbers; /* of the base: names that may have been meant */
    size_t number_count;
    struct ll_map definition_names; /* in the order of the space's definitions */
};

/* Items of which there is room for one more, in the arena; they move when their number is a power of two.
 * NULL when memory ran out. */
void *ll_space_one_more(struct ll_space_reading *reading, void *items, size_t count, size_t size);

/* Complains that memory ran out, with a place in the file; false. */
bool ll_space_no_memory(struct ll_space_reading *reading, struct ll_place place);

/* "`key: value`: expected ..."; false. */
bool ll_space_expected(struct ll_space_reading *reading, const struct ll_node *node, const char *what);

/* "no key `x` here; did you mean ..."; false. */
bool ll_space_unknown_key(struct ll_space_reading *reading, const struct ll_node *child, const char *where,
                          const char *const *keys, size_t count);

/* axes.c: the section `vary`: axes, and coupled parameters, whose expressions are read later. False after
 * complaints. */
bool ll_space_read_axes(struct ll_space_reading *reading, const struct ll_node *vary);

/* axes.c: reads an expression of the section; `until` rules of the coupled parameters or definitions may be
 * named. NULL after complaints. */
struct ll_expression *ll_space_expression(struct ll_space_reading *reading, const char *text,
                                          struct ll_place place, bool is_coupled, size_t until);

/* axes.c: what a name stands for already, in words: an axis, a coupled parameter or a result; NULL: for none
 * of them. */
const char *ll_space_meaning(const struct ll_space_reading *reading, const char *name);

#endif
