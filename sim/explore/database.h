/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: as much of SQLite as is needed. database.c is the one file that includes it. A database
 * and its queries belong to one thread. */
#ifndef LL_SIM_EXPLORE_DATABASE_H
#define LL_SIM_EXPLORE_DATABASE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
bool ll_database_keeps_out(struct ll_database *database);

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
