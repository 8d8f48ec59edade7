/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, before anybody takes it for a database of ours. */
#define _POSIX_C_SOURCE 200809L

#include "sim/explore/store.h"

#include "sim/explore/database.h"
#include "tracer/base/status.h"

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

bool ll_store_check(const char *path, struct ll_diags *diags)
{
    static const char sql[] = "SELECT count(*) FROM sqlite_master WHERE name IN ('provenance', 'workloads', "
                              "'parameters', 'choices', 'objectives', 'points', 'results', 'base')";
    enum { TABLES = 8 };
    struct ll_place place = {.file = path};
    enum ll_status status = try_reading(path);
    if (status != LL_OK)
        return ll_complain(diags, place, "%s", ll_status_text(status));
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query = database ? ll_query_new(database, sql) : NULL;
    bool right = query && ll_query_next(query) && ll_cell_count(query, 0) == TABLES;
    const char *trouble = database ? ll_database_trouble(database) : "memory ran out";
    if (!right)
        ll_complain(diags, place, "this is not the database of a sweep%s%s", trouble ? ": " : "",
                    trouble ? trouble : "");
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
    ll_database_close(database);
    return discardable ||
           ll_complain(diags, (struct ll_place){.file = path},
                       "no database of a sweep, and nothing else is discarded; -o names another file");
}
