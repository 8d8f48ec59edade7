/* SPDX-License-Identifier: Apache-2.0 */
/* Joining databases: those of processes that swept together, and those of shards. Points that several
 * databases have must agree to the last bit. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/explore/database.h"
#include "sim/explore/parts.h"
#include "sim/explore/store.h"
#include "tracer/base/file.h"

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

/* The first part is copied, the others are attached one after the other and their rows put in. All of it
 * beside the file that is to be, which is there when it is whole. */

struct merging {
    struct ll_database *database;
    const char *path;       /* what is to be */
    const char *unfinished; /* what is written */
    const volatile sig_atomic_t *stop;
    struct ll_diags *diags;
};

static bool trouble(struct merging *m, const char *file)
{
    const char *text = m->database ? ll_database_trouble(m->database) : NULL;
    return ll_complain(m->diags, (struct ll_place){.file = file}, "%s", text ? text : "memory ran out");
}

static bool run_with(struct merging *m, const char *file, const char *sql, const char *value)
{
    struct ll_query *query = ll_query_new(m->database, sql);
    if (query)
        ll_query_text(query, 1, value);
    return (query && ll_query_run(query)) || trouble(m, file);
}

/* The single value of a query, LL_NO_FIT on trouble. */
static uint64_t count_of(struct merging *m, const char *sql)
{
    struct ll_query *query = ll_query_new(m->database, sql);
    uint64_t count = query && ll_query_next(query) ? ll_cell_count(query, 0) : UINT64_MAX;
    if (query)
        ll_query_reset(query);
    return count;
}

/* An empty file, which SQLite takes for none: its folder may be missing, and the system says so best. */
static bool make_file(struct merging *m)
{
    ll_database_remove(m->unfinished);
    FILE *made = fopen(m->unfinished, "wb");
    return (made && fclose(made) == 0) ||
           ll_complain(m->diags, (struct ll_place){.file = m->path}, "%s", strerror(errno));
}

static bool open_database(struct merging *m, const char *path, bool writing)
{
    m->database = ll_database_open(path, writing);
    if (m->database)
        ll_database_heed(m->database, m->stop);
    return m->database != NULL;
}

static bool copy_first(struct merging *m, const char *part)
{
    if (!make_file(m))
        return false;
    bool right = open_database(m, part, false) && count_of(m, "SELECT count(*) FROM points") != UINT64_MAX
                     ? run_with(m, part, "VACUUM INTO ?1", m->unfinished)
                     : trouble(m, part);
    ll_database_close(m->database);
    m->database = NULL;
    return right && (open_database(m, m->unfinished, true) || trouble(m, m->path));
}

/* Also of points that only one of them has. */
static bool rests_on_the_same(struct merging *m, const char *part)
{
    static const char sql[] = "WITH names (name, called) AS (VALUES "
#define X(name, called) "('" name "', '" called "'), "
        LL_BASIS_LIST(X)
#undef X
            "('', ''))"
            "SELECT group_concat(called, ', ') FROM (SELECT called || ' (' || coalesce(b.value, 'unknown')"
            " || ' instead of ' || coalesce(a.value, 'unknown') || ')' AS called FROM names"
            " LEFT JOIN provenance AS a USING (name) LEFT JOIN part.provenance AS b USING (name)"
            " WHERE a.value IS NOT b.value UNION ALL"
            " SELECT 'the workload `' || a.name || '`' FROM workloads AS a LEFT JOIN part.workloads AS b "
            "USING (id) WHERE a.hash IS NOT b.hash)";
    struct ll_query *query = ll_query_new(m->database, sql);
    if (!query || !ll_query_next(query))
        return trouble(m, part);
    const char *differing = ll_cell_text(query, 0);
    if (differing)
        ll_complain(m->diags, (struct ll_place){.file = part},
                    "was evaluated with something else than the first file: %s", differing);
    ll_query_reset(query);
    return !differing;
}

/* Points of both, result by result: what was computed elsewhere came out alike, to the last bit. */
static bool has_the_same_results(struct merging *m, const char *part)
{
    uint64_t differ = count_of(m, "SELECT count(*) FROM (SELECT * FROM part.results WHERE point IN"
                                  " (SELECT point FROM main.results) EXCEPT SELECT * FROM main.results)");
    if (differ == UINT64_MAX)
        return trouble(m, part);
    return differ == 0 || ll_complain(m->diags, (struct ll_place){.file = part},
                                      "%llu results of points that are in the files before, too, are not "
                                      "those that stand there",
                                      (unsigned long long)differ);
}

/* The rows of the first go on under the columns and numbers of what stands there. */
static bool has_the_same_tables(struct merging *m, const char *part)
{
    static const char *const same[] = {
        "SELECT count(*) FROM part.sqlite_master AS b LEFT JOIN main.sqlite_master AS a USING (name)"
        " WHERE name IN ('points', 'results') AND a.sql IS NOT b.sql",
        "SELECT count(*) FROM (SELECT id, path, target FROM part.parameters"
        " EXCEPT SELECT id, path, target FROM main.parameters)",
        "SELECT count(*) FROM (SELECT * FROM part.choices EXCEPT SELECT * FROM main.choices)",
        "SELECT count(*) FROM (SELECT id, text, name, most FROM part.objectives"
        " EXCEPT SELECT id, text, name, most FROM main.objectives)",
        "SELECT (SELECT count(*) FROM part.choices) <> (SELECT count(*) FROM main.choices)"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        uint64_t differ = count_of(m, same[i]);
        if (differ == UINT64_MAX)
            return trouble(m, part);
        if (differ > 0)
            return ll_complain(
                m->diags, (struct ll_place){.file = part},
                "the database is damaged, or the first one is: they say that they are of the same "
                "sweep, but their parameters, values, objectives or columns differ");
    }
    return true;
}

static bool check_part(struct merging *m, const char *part)
{
    struct ll_place place = {.file = part};
    uint64_t others =
        count_of(m, "SELECT count(*) FROM provenance AS a JOIN part.provenance AS b USING (name)"
                    " WHERE name = '" LL_FACT_SPACE "' AND a.value = b.value");
    if (others == UINT64_MAX)
        return trouble(m, part);
    if (others != 1)
        return ll_complain(m->diags, place, "holds the results of another sweep than the first file");
    if (!rests_on_the_same(m, part) || !has_the_same_tables(m, part))
        return false;
    uint64_t differ = count_of(m, "SELECT count(*) FROM points AS a JOIN part.points AS b USING (number)"
                                  " WHERE a.key <> b.key");
    if (differ == UINT64_MAX)
        return trouble(m, part);
    if (differ > 0)
        return ll_complain(m->diags, place,
                           "%llu points were evaluated of other traces, another base machine or "
                           "by another program than in the files before",
                           (unsigned long long)differ);
    return has_the_same_results(m, part);
}

static bool add_part(struct merging *m, const char *part)
{
    if (!run_with(m, part, "ATTACH ?1 AS part", part))
        return false;
    bool right = check_part(m, part);
    if (right &&
        !ll_database_run(m->database, "BEGIN; INSERT OR IGNORE INTO points SELECT * FROM part.points;"
                                      "INSERT OR IGNORE INTO results SELECT * FROM part.results;"
                                      "INSERT OR REPLACE INTO provenance SELECT * FROM part.provenance AS b"
                                      " WHERE b.name GLOB '" LL_FACT_FINISHED "*' AND (b.value = 'yes' OR"
                                      " b.name NOT IN (SELECT name FROM provenance));"
                                      "COMMIT"))
        right = trouble(m, part);
    return right && (ll_database_run(m->database, "DETACH part") || trouble(m, part));
}

/* Of all parts; *points is how many there are then. */
static bool write_all(struct merging *m, const char *const *parts, size_t count, uint64_t *points)
{
    bool right = copy_first(m, parts[0]);
    for (size_t i = 1; right && i < count; i++)
        right = add_part(m, parts[i]);
    *points = right ? count_of(m, "SELECT count(*) FROM points") : 0;
    if (right && *points == UINT64_MAX)
        right = trouble(m, m->path);
    if (!ll_database_close(m->database) && right)
        right = ll_complain(m->diags, (struct ll_place){.file = m->path}, "not all of it could be written");
    if (right && m->stop && *m->stop)
        right = ll_complain(m->diags, (struct ll_place){.file = m->path}, "interrupted");
    return right;
}

bool ll_store_join(const char *path, const char *const *parts, size_t count,
                   const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct merging m = {.path = path, .stop = stop, .diags = diags};
    struct ll_place place = {.file = path};
    bool right = true;
    for (size_t i = 0; i < count; i++)
        right &= ll_store_check(parts[i], diags);
    const char *target = ll_path_target(&arena, path);
    m.unfinished = target ? ll_format(&arena, "%s.unfinished", target) : NULL;
    right = right && (m.unfinished || ll_complain(diags, place, "memory ran out"));
    bool begun = right;
    right = right && write_all(&m, parts, count, points);
    if (right && rename(m.unfinished, target) != 0)
        right = ll_complain(diags, place, "%s", strerror(errno));
    if (begun && !right)
        ll_database_remove(m.unfinished);
    ll_arena_release(&arena);
    return right;
}

bool ll_store_merge(const char *path, const char *const *parts, size_t count,
                    const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags)
{
    if (access(path, F_OK) == 0)
        return ll_complain(diags, (struct ll_place){.file = path},
                           "the file is there already; merge into a new one");
    bool sound = true;
    for (size_t i = 0; i < count; i++)
        sound &= ll_store_is_sound(parts[i], diags);
    return sound && ll_store_join(path, parts, count, stop, points, diags);
}
