/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: hashes by which results are known again, the lock of a sweep's only writer, and the part
 * of SQLite that the room needs. */
#ifndef LL_SIM_EXPLORE_DATABASE_H
#define LL_SIM_EXPLORE_DATABASE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/explore/space.h"
#include "tracer/base/diag.h"
#include "tracer/base/hash.h"

/* Of the whole content of a file; false when it cannot be read. */
bool ll_hash_file(const char *path, uint64_t *hash);

/* Of the sources of all that results come out of, 16 hex digits (cmake/mark.cmake): the same in every program
 * of these sources. */
extern const char ll_code_mark[];

/* Of everything that results depend on beside the values of a point: code, base machine, workloads (by
 * their own hashes), couplings, definitions, constraints and objectives. False when memory ran out. */
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

/* What runs from now on ends in trouble soon after *stop was set, as by the handler of a signal. */
void ll_database_heed(struct ll_database *database, const volatile sig_atomic_t *stop);

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

#endif
