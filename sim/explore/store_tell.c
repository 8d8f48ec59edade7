/* SPDX-License-Identifier: Apache-2.0 */
/* What a database says of itself beside its points. */
#include "sim/explore/store.h"

#include "sim/explore/database.h"
#include "tracer/base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 4096 };

/* Which parts of how many have ended. */
struct parts {
    uint64_t count, finished;
    bool has[MOST_PARTS];
};

/* The next cut of the sweep into parts of which the database has one, those of more parts first. */
static bool next_cut(struct ll_query *query, uint64_t below, struct parts *parts)
{
    *parts = (struct parts){.count = 0};
    while (ll_query_next(query)) {
        uint64_t part, count;
        if (sscanf(ll_cell_text(query, 0), LL_FACT_FINISHED "%" SCNu64 "of%" SCNu64, &part, &count) != 2 ||
            part == 0 || part > count || count > MOST_PARTS || count >= below || count < parts->count)
            continue;
        if (count > parts->count)
            *parts = (struct parts){.count = count};
        bool ended = ll_cell_count(query, 1) != 0;
        parts->has[part - 1] |= ended;
        parts->finished += ended;
    }
    return parts->count > 0;
}

static const char *words(const struct parts *parts, struct ll_arena *arena)
{
    enum { NAMED = 8 };
    struct ll_str text = {0};
    uint64_t missing = parts->count - parts->finished, named = 0;
    if (parts->count == 1)
        return "not the whole sweep: it has not ended";
    ll_str_addf(&text, "not the whole sweep: part%s", missing == 1 ? "" : "s");
    for (uint64_t i = 0; i < parts->count && named <= NAMED; i++)
        if (!parts->has[i] && named++ < NAMED)
            ll_str_addf(&text, "%s %" PRIu64, named > 1 ? "," : "", i + 1);
    ll_str_addf(&text, "%s of %" PRIu64 " %s missing or unfinished", named > NAMED ? " and others" : "",
                parts->count, missing == 1 ? "is" : "are");
    const char *copy = text.failed ? NULL : ll_copy_text(arena, text.text, text.length);
    ll_str_release(&text);
    return copy;
}

const char *ll_store_missing(const char *path, struct ll_arena *arena)
{
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query =
        database ? ll_query_new(database, "SELECT name, value = 'yes' FROM provenance WHERE name GLOB "
                                          "'" LL_FACT_FINISHED "*'")
                 : NULL;
    struct parts *parts = calloc(2, sizeof *parts), *most = parts ? parts + 1 : NULL;
    bool whole = false;
    for (uint64_t below = UINT64_MAX; query && parts && !whole && next_cut(query, below, parts);
         below = parts->count) {
        whole = parts->finished == parts->count;
        if (most->count == 0)
            *most = *parts;
    }
    const char *missing = parts && !whole && most->count > 0 ? words(most, arena) : NULL;
    free(parts);
    ll_database_close(database);
    return missing;
}

size_t ll_store_troubles(const char *path, struct ll_arena *arena, size_t most,
                         struct ll_store_trouble *troubles)
{
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query =
        database ? ll_query_new(database, "SELECT why, count(*) FROM points WHERE why IS NOT NULL"
                                          " GROUP BY why ORDER BY count(*) DESC, why")
                 : NULL;
    size_t count = 0;
    for (; query && count < most && ll_query_next(query); count++) {
        const char *why = ll_cell_text(query, 0);
        troubles[count] =
            (struct ll_store_trouble){ll_copy_text(arena, why, strlen(why)), ll_cell_count(query, 1)};
    }
    ll_database_close(database);
    return count;
}
