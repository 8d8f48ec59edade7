/* SPDX-License-Identifier: Apache-2.0 */
/* The first part is copied, the others are attached one after the other and their rows put in. */
#include "sim/explore/database.h"
#include "sim/explore/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct merging {
    struct ll_database *database;
    const char *path;
    struct ll_diags *diags;
    bool made; /* whether there is a file of ours */
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

/* An empty file, which SQLite takes for none: so it is ours, to be removed when something is wrong. */
static bool make_file(struct merging *m)
{
    FILE *made = fopen(m->path, "wbx");
    if (made) {
        m->made = true;
        fclose(made);
        return true;
    }
    return ll_complain(m->diags, (struct ll_place){.file = m->path}, "%s",
                       errno == EEXIST ? "the file is there already; merge into a new one" : strerror(errno));
}

static bool copy_first(struct merging *m, const char *part)
{
    if (!make_file(m))
        return false;
    m->database = ll_database_open(part, false);
    bool right = m->database && count_of(m, "SELECT count(*) FROM points") != UINT64_MAX
                     ? run_with(m, part, "VACUUM INTO ?1", m->path)
                     : trouble(m, part);
    ll_database_close(m->database);
    m->database = right ? ll_database_open(m->path, true) : NULL;
    return right && (m->database || trouble(m, m->path));
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
    if (!rests_on_the_same(m, part))
        return false;
    uint64_t differ = count_of(m, "SELECT count(*) FROM points AS a JOIN part.points AS b USING (number)"
                                  " WHERE a.key <> b.key");
    if (differ == UINT64_MAX)
        return trouble(m, part);
    return differ == 0 || ll_complain(m->diags, place,
                                      "%llu points were evaluated of other traces, another base machine or "
                                      "by another program than in the files before",
                                      (unsigned long long)differ);
}

static bool add_part(struct merging *m, const char *part)
{
    if (!run_with(m, part, "ATTACH ?1 AS part", part))
        return false;
    bool right = check_part(m, part);
    if (right &&
        !ll_database_run(m->database, "BEGIN; INSERT OR IGNORE INTO points SELECT * FROM part.points;"
                                      "INSERT OR IGNORE INTO results SELECT * FROM part.results;"
                                      "COMMIT"))
        right = trouble(m, part);
    return right && (ll_database_run(m->database, "DETACH part") || trouble(m, part));
}

bool ll_store_merge(const char *path, const char *const *parts, size_t count, uint64_t *points,
                    struct ll_diags *diags)
{
    struct merging m = {.path = path, .diags = diags};
    bool right = true;
    for (size_t i = 0; i < count; i++)
        right &= ll_store_check(parts[i], diags);
    right = right && copy_first(&m, parts[0]);
    for (size_t i = 1; right && i < count; i++)
        right = add_part(&m, parts[i]);
    *points = right ? count_of(&m, "SELECT count(*) FROM points") : 0;
    if (right && *points == UINT64_MAX)
        right = trouble(&m, path);
    if (!ll_database_close(m.database))
        right = ll_complain(diags, (struct ll_place){.file = path}, "not all of it could be written");
    if (!right && m.made)
        ll_database_remove(path);
    return right;
}
