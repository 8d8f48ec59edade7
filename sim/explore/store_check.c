/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, before anybody takes it for a database of ours. */
#define _POSIX_C_SOURCE 200809L

#include "sim/explore/store.h"

#include "sim/explore/database.h"
#include "tracer/base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static enum ll_status try_reading(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    errno = 0;
    getc(file);
    enum ll_status status = ferror(file) ? ll_status_of(errno, LL_CANNOT_READ) : LL_OK;
    fclose(file);
    return status;
}

/* How many of our names there are; and whether they are ordinary tables, each with its key, and nothing runs
 * beside what is asked: then every question ends, in a time that follows from the size of the file. */
#define LL_TABLES                                                                                            \
    "('provenance', 'workloads', 'parameters', 'choices', 'objectives', 'points', 'results', 'base')"
static const char tables_sql[] =
    "SELECT (SELECT count(*) FROM sqlite_master WHERE name IN " LL_TABLES "),"
    " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name IN " LL_TABLES
    ") = 8"
    " AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger')"
    " AND (SELECT count(*) FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    " AND (m.name, c.name, c.pk) IN (VALUES ('provenance', 'name', 1), ('workloads', 'id', 1),"
    " ('parameters', 'id', 1), ('choices', 'parameter', 1), ('choices', 'id', 2), ('objectives', 'id', 1),"
    " ('points', 'number', 1), ('results', 'point', 1), ('results', 'workload', 2), ('base', 'workload', 1)))"
    " = 10";

bool ll_store_check(const char *path, struct ll_diags *diags)
{
    enum { TABLES = 8 };
    struct ll_place place = {.file = path};
    enum ll_status status = try_reading(path);
    if (status != LL_OK)
        return ll_complain(diags, place, "%s", ll_status_text(status));
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query = database ? ll_query_new(database, tables_sql) : NULL;
    bool read = query && ll_query_next(query);
    bool ours = read && ll_cell_count(query, 0) == TABLES, right = ours && ll_cell_count(query, 1);
    bool kept_out = !database || ll_database_keeps_out(database);
    const char *trouble = database ? ll_database_trouble(database) : "memory ran out";
    if (!read && kept_out)
        ll_complain(diags, place, "%s", trouble);
    else if (!ours)
        ll_complain(diags, place, "this is not the database of a sweep%s%s", trouble ? ": " : "",
                    trouble ? trouble : "");
    else if (!right)
        ll_complain(diags, place, "the database is damaged: its tables are not those that a sweep makes");
    ll_database_close(database);
    return right;
}

bool ll_store_discardable(const char *path, struct ll_diags *diags)
{
    struct stat there;
    if (lstat(path, &there) != 0)
        return true;
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query =
        database ? ll_query_new(database, "SELECT count(*) = 0 OR total(name = 'provenance') > 0"
                                          " FROM sqlite_master")
                 : NULL;
    bool discardable = query && ll_query_next(query) && ll_cell_count(query, 0) == 1;
    const char *trouble = !database                         ? "memory ran out"
                          : ll_database_keeps_out(database) ? ll_database_trouble(database)
                                                            : NULL;
    if (!discardable)
        ll_complain(diags, (struct ll_place){.file = path}, "%s",
                    trouble ? trouble
                            : "no database of a sweep, and nothing else is discarded; -o names another file");
    ll_database_close(database);
    return discardable;
}
