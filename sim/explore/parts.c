/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "sim/explore/parts.h"

#include "sim/explore/database.h"
#include "sim/explore/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long the output's path is without its ending. */
static int stem_length(const char *output)
{
    const char *dot = strrchr(output, '.');
    return (int)(dot && !strchr(dot, '/') ? (size_t)(dot - output) : strlen(output));
}

const char *ll_part_path(const char *output, unsigned rank, struct ll_arena *arena)
{
    return ll_format(arena, "%.*s.part%u.db", stem_length(output), output, rank);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

bool ll_part_begin(const char *output, const char *part, struct ll_diags *diags)
{
    uint64_t points;
    return !is_there(output) || ll_store_join(part, &output, 1, NULL, &points, diags);
}

/* Whether a process was killed before it could say whose part this is. */
static bool is_blank(const char *path)
{
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query = database ? ll_query_new(database, "SELECT count(*) FROM sqlite_master") : NULL;
    bool blank = query && ll_query_next(query) && ll_cell_count(query, 0) == 0;
    ll_database_close(database);
    return blank;
}

/* The output and its parts as far as they are there, the output first: it tells what the others must agree
 * with. */
static const char **list_files(const char *output, struct ll_arena *arena, size_t *count)
{
    const char **files = ll_alloc(arena, LL_MOST_PARTS + 1, sizeof *files);
    *count = 0;
    if (files && is_there(output))
        files[(*count)++] = output;
    for (unsigned rank = 0; files && rank < LL_MOST_PARTS; rank++) {
        const char *part = ll_part_path(output, rank, arena);
        if (!part)
            return NULL;
        if (is_there(part) && is_blank(part))
            ll_database_remove(part);
        else if (is_there(part))
            files[(*count)++] = part;
    }
    return files;
}

bool ll_parts_join(const char *output, bool fresh, struct ll_arena *arena, struct ll_diags *diags)
{
    size_t count = 0;
    uint64_t points;
    const char **files = list_files(output, arena, &count);
    if (!files)
        return ll_complain(diags, (struct ll_place){.file = output}, "memory ran out");
    bool has_parts = count > 1 || (count == 1 && files[0] != output);
    if (!fresh && has_parts && !ll_store_join(output, files, count, NULL, &points, diags))
        return false;
    for (size_t i = 0; fresh && i < count; i++)
        if (!ll_store_discardable(files[i], diags))
            return false;
    for (size_t i = 0; i < count; i++)
        if (fresh || files[i] != output)
            ll_database_remove(files[i]);
    return true;
}
