/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a sweep in a database: its tables are made from the space, rows are added batch by batch,
 * and a database whose results rest on something else is refused. The first section reports what a database
 * lacks. */
#define _POSIX_C_SOURCE 200809L
#include "sim/explore/sweep.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/explore/database.h"
#include "tracer/base/str.h"

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

/* The tables are made from the space: a column of `points` for each axis, a column of `results` for each
 * measure and for each share of the time. */

/* In the order of the list; the first is the version. */
static const struct {
    const char *name, *called;
} basis[] = {
#define X(name, called) {name, called},
    LL_BASIS_LIST(X)
#undef X
};
enum { BASIS_COUNT = sizeof basis / sizeof *basis };

struct ll_store {
    const struct ll_space *space;
    const char *path;
    struct ll_lock *lock;
    struct ll_arena arena;
    struct ll_fact basis[BASIS_COUNT];
    struct ll_database *database;
    bool complained; /* of what is likely to be said again at the end, as that the disk is full */
    struct ll_query *add_point, *add_result, *find;
};

static bool complain(struct ll_store *store, struct ll_diags *diags)
{
    const char *trouble = store->database ? ll_database_trouble(store->database) : "memory ran out";
    store->complained = true;
    return ll_complain(diags, (struct ll_place){.file = store->path}, "%s",
                       trouble ? trouble : "memory ran out");
}

/* --- statements made from the space --- */

/* An identifier in quotes; those within are doubled. */
static void add_name(struct ll_str *sql, const char *prefix, const char *name)
{
    ll_str_addf(sql, "\"%s", prefix);
    for (; *name; name++)
        ll_str_addf(sql, *name == '"' ? "\"\"" : "%c", *name);
    ll_str_add(sql, "\"");
}

static const char *share_name(const struct ll_space *space, uint32_t bound)
{
    return ll_bound_name(space->machine, bound);
}

static uint32_t share_count(const struct ll_space *space)
{
    return LL_BOUND_LEVEL + (uint32_t)space->machine->level_count;
}

/* `each` stands behind every column: its type in a table, nothing in a list. */
static void add_point_columns(const struct ll_space *space, const char *each, struct ll_str *sql)
{
    for (size_t a = 0; a < space->axis_count; a++) {
        ll_str_add(sql, ", ");
        add_name(sql, "", space->axes[a].path);
    }
    for (size_t i = 0; i < space->objective_count; i++) {
        ll_str_add(sql, ", ");
        add_name(sql, "", space->objectives[i].text);
        ll_str_add(sql, each);
    }
}

static void add_result_columns(const struct ll_space *space, const char *each, struct ll_str *sql)
{
    for (size_t i = 0; i < LL_MEASURE_COUNT; i++) {
        ll_str_add(sql, ", ");
        add_name(sql, "", ll_measure_name((enum ll_measure)i));
        ll_str_add(sql, each);
    }
    for (uint32_t i = 0; i < share_count(space); i++) {
        ll_str_add(sql, ", ");
        add_name(sql, LL_SHARE_PREFIX, share_name(space, i));
        ll_str_add(sql, each);
    }
}

static void add_parameters(struct ll_str *sql, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ll_str_addf(sql, "%s?%zu", i ? ", " : " VALUES (", i + 1);
    ll_str_add(sql, ")");
}

static bool run(struct ll_store *store, struct ll_str *sql)
{
    bool done = !sql->failed && ll_database_run(store->database, sql->text);
    ll_str_release(sql);
    return done;
}

static bool make_tables(struct ll_store *store)
{
    struct ll_str sql = {0};
    ll_str_add(
        &sql,
        "CREATE TABLE provenance (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
        "CREATE TABLE workloads (id INTEGER PRIMARY KEY, name TEXT, hash TEXT);"
        "CREATE TABLE parameters (id INTEGER PRIMARY KEY, path TEXT, target TEXT, base REAL);"
        "CREATE TABLE choices (parameter INTEGER, id INTEGER, text TEXT, number REAL,"
        " PRIMARY KEY (parameter, id)) WITHOUT ROWID;"
        "CREATE TABLE objectives (id INTEGER PRIMARY KEY, text TEXT, name TEXT, most INTEGER, base REAL);"
        "CREATE TABLE points (number INTEGER PRIMARY KEY, key INTEGER, verdict INTEGER,"
        " why TEXT, violation REAL");
    add_point_columns(store->space, " REAL", &sql);
    ll_str_add(&sql, "); CREATE TABLE results (point INTEGER, workload INTEGER");
    add_result_columns(store->space, " REAL", &sql);
    ll_str_add(&sql, ", PRIMARY KEY (point, workload)) WITHOUT ROWID;"
                     "CREATE TABLE base (workload INTEGER PRIMARY KEY");
    add_result_columns(store->space, " REAL", &sql);
    ll_str_add(&sql,
               ");"
               "CREATE VIEW designs AS SELECT * FROM points JOIN results ON results.point = points.number"
               " JOIN (SELECT id AS workload, name AS workload_name FROM workloads) USING (workload);");
    return run(store, &sql);
}

static struct ll_query *prepare(struct ll_store *store, struct ll_str *sql)
{
    struct ll_query *query = sql->failed ? NULL : ll_query_new(store->database, sql->text);
    ll_str_release(sql);
    return query;
}

static bool prepare_all(struct ll_store *store)
{
    const struct ll_space *space = store->space;
    struct ll_str point = {0}, result = {0}, find = {0};
    ll_str_add(&point, "INSERT OR REPLACE INTO points (number, key, verdict, why, violation");
    add_point_columns(space, "", &point);
    ll_str_add(&point, ")");
    add_parameters(&point, 5 + space->axis_count + space->objective_count);
    ll_str_add(&result, "INSERT OR REPLACE INTO results (point, workload");
    add_result_columns(space, "", &result);
    ll_str_add(&result, ")");
    add_parameters(&result, 2 + LL_MEASURE_COUNT + share_count(space));
    ll_str_add(&find, "SELECT verdict, violation");
    for (size_t i = 0; i < space->objective_count; i++) {
        ll_str_add(&find, ", ");
        add_name(&find, "", space->objectives[i].text);
    }
    ll_str_add(&find, " FROM points WHERE number = ?1 AND key = ?2");
    store->add_point = prepare(store, &point);
    store->add_result = prepare(store, &result);
    store->find = prepare(store, &find);
    return store->add_point && store->add_result && store->find;
}

/* Parameters of a row of results, from `first` on. */
static void put_measured(const struct ll_store *store, struct ll_query *query, int first,
                         const struct ll_readings *measured)
{
    for (size_t i = 0; i < LL_MEASURE_COUNT; i++)
        ll_query_number(query, first++, measured->of[i]);
    for (uint32_t i = 0; i < share_count(store->space); i++)
        ll_query_number(query, first++, measured->shares[i]);
}

/* --- what the space says --- */

static void hex(uint64_t hash, char text[static 20])
{
    snprintf(text, 20, "%016" PRIx64, hash);
}

/* "cost = 0.12 * area_mm2; ..."; NULL when memory ran out. */
static const char *rules_text(struct ll_arena *arena, const struct ll_rule *rules, size_t count)
{
    struct ll_str text = {0};
    for (size_t i = 0; i < count; i++)
        ll_str_addf(&text, "%s%s%s%s", i ? "; " : "", rules[i].name ? rules[i].name : "",
                    rules[i].name ? " = " : "", rules[i].text);
    if (count == 0)
        ll_str_add(&text, "none");
    const char *copy = text.failed ? NULL : ll_copy_text(arena, text.text, text.length);
    ll_str_release(&text);
    return copy;
}

/* "int8, products bf16": what workloads are simulated as, once where all are alike; NULL when memory ran
 * out. */
static const char *dtypes_text(struct ll_arena *arena, const struct ll_space *space)
{
    struct ll_str text = {0};
    for (size_t i = 0; i < space->workload_count; i++) {
        const struct ll_space_workload *w = &space->workloads[i], *before = i ? w - 1 : NULL;
        const struct {
            const char *of;
            enum ll_numeric type;
        } types[] = {{"", (enum ll_numeric)w->dtype}, {"GEMMs ", w->products}, {"weights ", w->weights}};
        bool same = before && before->dtype == w->dtype && before->products == w->products &&
                    before->weights == w->weights;
        for (size_t t = 0; t < sizeof types / sizeof *types && !same; t++)
            if (types[t].type != LL_NUMERIC_NONE)
                ll_str_addf(&text, "%s%s%s", text.length ? ", " : "", types[t].of,
                            ll_numeric_name(types[t].type));
            else if (t == 0)
                ll_str_addf(&text, "%sas recorded", text.length ? ", " : "");
    }
    const char *copy = text.failed ? NULL : ll_copy_text(arena, text.text ? text.text : "", text.length);
    ll_str_release(&text);
    return copy;
}

/* What the results of this space rest on now. False when memory ran out. */
static bool make_basis(struct ll_store *store)
{
    const struct ll_space *space = store->space;
    const char *const values[BASIS_COUNT] = {
        LL_VERSION,
        ll_code_mark,
        ll_format(&store->arena, "%08" PRIx32, space->machine->config_hash),
        dtypes_text(&store->arena, space),
        rules_text(&store->arena, space->coupled, space->coupled_count),
        rules_text(&store->arena, space->definitions, space->definition_count),
        rules_text(&store->arena, space->constraints, space->constraint_count)};
    bool whole = true;
    for (size_t i = 0; i < BASIS_COUNT; i++) {
        store->basis[i] = (struct ll_fact){basis[i].name, values[i]};
        whole &= values[i] != NULL;
    }
    return whole;
}

static bool write_facts(struct ll_store *store, const struct ll_fact *facts, size_t count)
{
    struct ll_query *query =
        ll_query_new(store->database, "INSERT OR REPLACE INTO provenance (name, value) VALUES (?1, ?2)");
    bool right = query != NULL;
    for (size_t i = 0; right && i < count; i++) {
        ll_query_text(query, 1, facts[i].key);
        ll_query_text(query, 2, facts[i].value);
        right = ll_query_run(query);
    }
    return right;
}

static bool write_workloads(struct ll_store *store, const uint64_t *hashes)
{
    struct ll_query *query =
        ll_query_new(store->database, "INSERT INTO workloads (id, name, hash) VALUES (?1, ?2, ?3)");
    bool right = query != NULL;
    for (size_t i = 0; right && i < store->space->workload_count; i++) {
        char hash[20];
        hex(hashes[i], hash);
        ll_query_count(query, 1, i);
        ll_query_text(query, 2, store->space->workloads[i].name);
        ll_query_text(query, 3, hash);
        right = ll_query_run(query);
    }
    return right;
}

static bool write_choices(struct ll_store *store, size_t axis, struct ll_query *query)
{
    const struct ll_space_axis *a = &store->space->axes[axis];
    bool right = query != NULL;
    for (uint32_t i = 0; right && i < a->value_count; i++) {
        ll_query_count(query, 1, axis);
        ll_query_count(query, 2, i);
        ll_query_text(query, 3, a->values[i].text);
        ll_query_number(query, 4, a->values[i].number);
        right = ll_query_run(query);
    }
    return right;
}

/* What the base machine has where an axis varies; NaN of what is no number of it. */
static double base_number(const struct ll_space *space, const struct ll_space_axis *axis)
{
    struct ll_location location;
    return axis->ordered && axis->target == LL_AXIS_MACHINE &&
                   ll_machine_locate(space->machine, axis->path, &location)
               ? ll_located(space->machine, &location) * ll_expression_scale(location.dimension)
               : NAN;
}

static bool write_axes(struct ll_store *store)
{
    static const char *const targets[] = {"machine", "part", "model", "plan"};
    struct ll_query *axes = ll_query_new(
        store->database, "INSERT INTO parameters (id, path, target, base) VALUES (?1, ?2, ?3, ?4)");
    struct ll_query *choices = ll_query_new(
        store->database, "INSERT INTO choices (parameter, id, text, number) VALUES (?1, ?2, ?3, ?4)");
    bool right = axes != NULL;
    for (size_t a = 0; right && a < store->space->axis_count; a++) {
        ll_query_count(axes, 1, a);
        ll_query_text(axes, 2, store->space->axes[a].path);
        ll_query_text(axes, 3, targets[store->space->axes[a].target]);
        ll_query_number(axes, 4, base_number(store->space, &store->space->axes[a]));
        right = ll_query_run(axes) && write_choices(store, a, choices);
    }
    return right;
}

/* An objective as people see it: what shall be most is not negated. */
static double shown(const struct ll_space *space, const struct ll_answer *outcome, size_t objective)
{
    double value = outcome->objectives[objective];
    return !isfinite(value) ? NAN : space->objectives[objective].most ? -value : value;
}

static bool write_objectives(struct ll_store *store, const struct ll_answer *base)
{
    struct ll_query *query = ll_query_new(
        store->database, "INSERT INTO objectives (id, text, name, most, base) VALUES (?1, ?2, ?3, ?4, ?5)");
    bool right = query != NULL;
    for (size_t i = 0; right && i < store->space->objective_count; i++) {
        const struct ll_objective_row *row = &store->space->objectives[i];
        ll_query_count(query, 1, i);
        ll_query_text(query, 2, row->text);
        ll_query_text(query, 3, row->name);
        ll_query_count(query, 4, row->most);
        ll_query_number(query, 5, shown(store->space, base, i));
        right = ll_query_run(query);
    }
    return right;
}

static bool write_base(struct ll_store *store, const struct ll_readings *base)
{
    struct ll_str sql = {0};
    ll_str_add(&sql, "INSERT INTO base (workload");
    add_result_columns(store->space, "", &sql);
    ll_str_add(&sql, ")");
    add_parameters(&sql, 1 + LL_MEASURE_COUNT + share_count(store->space));
    struct ll_query *query = prepare(store, &sql);
    bool right = query != NULL;
    for (size_t w = 0; right && w < store->space->workload_count; w++) {
        ll_query_count(query, 1, w);
        put_measured(store, query, 2, &base[w]);
        right = ll_query_run(query);
    }
    return right;
}

/* All of it in one transaction: a killed sweep leaves a whole beginning or none. */
static bool begin_anew(struct ll_store *store, const struct ll_store_facts *facts)
{
    char hash[20];
    hex(ll_space_hash(store->space), hash);
    struct ll_fact space = {LL_FACT_SPACE, hash};
    return ll_database_run(store->database, "BEGIN IMMEDIATE") && make_tables(store) &&
           write_facts(store, &space, 1) && write_facts(store, store->basis, BASIS_COUNT) &&
           write_facts(store, facts->facts, facts->count) && write_workloads(store, facts->workload_hashes) &&
           write_axes(store) && write_objectives(store, &facts->base->outcome) &&
           write_base(store, facts->base->measured) && ll_database_run(store->database, "COMMIT");
}

/* --- opening --- */

/* Whether there are no tables; false on trouble too. */
static bool is_empty(struct ll_store *store)
{
    struct ll_query *query = ll_query_new(store->database, "SELECT count(*) FROM sqlite_master");
    bool empty = query && ll_query_next(query) && ll_cell_count(query, 0) == 0;
    if (query)
        ll_query_reset(query);
    return empty;
}

static bool is_same_space(struct ll_store *store, struct ll_diags *diags)
{
    char hash[20];
    hex(ll_space_hash(store->space), hash);
    struct ll_query *query =
        ll_query_new(store->database, "SELECT value FROM provenance WHERE name = '" LL_FACT_SPACE "'");
    const char *text = query && ll_query_next(query) ? ll_cell_text(query, 0) : NULL;
    bool same = text && !strcmp(text, hash);
    if (query)
        ll_query_reset(query);
    const char *trouble = ll_database_trouble(store->database);
    return same || ll_complain(diags, (struct ll_place){.file = store->path}, "%s",
                               trouble ? trouble
                                       : "the results of another sweep: its axes, workloads, objectives or "
                                         "search differ; --fresh starts over, -o names another file");
}

/* Once each. */
static void note(struct ll_str *differing, const char *what, const char *name)
{
    struct ll_str words = {0};
    ll_str_addf(&words, *name ? "%s `%s`" : "%s", what, name);
    if (words.text && !strstr(differing->text ? differing->text : "", words.text))
        ll_str_addf(differing, "%s%s", differing->length ? ", " : "", words.text);
    ll_str_release(&words);
}

/* A database that does not say what it rests on was written by another version. */
static void compare_facts(struct ll_store *store, struct ll_str *differing)
{
    struct ll_query *same =
        ll_query_new(store->database, "SELECT value IS ?2, value FROM provenance WHERE name = ?1");
    for (size_t i = 0; same && i < BASIS_COUNT; i++) {
        ll_query_text(same, 1, store->basis[i].key);
        ll_query_text(same, 2, store->basis[i].value);
        bool there = ll_query_next(same);
        if (there && ll_cell_count(same, 0) == 0 && !strcmp(basis[i].name, LL_FACT_DTYPE))
            ll_str_addf(differing, "%s%s (%s, was %s)", differing->length ? ", " : "", basis[i].called,
                        store->basis[i].value, ll_cell_text(same, 1));
        else if (!there || ll_cell_count(same, 0) == 0)
            note(differing, basis[there ? i : 0].called, "");
        ll_query_reset(same);
    }
}

static void compare_workloads(struct ll_store *store, const uint64_t *hashes, struct ll_str *differing)
{
    struct ll_query *same =
        ll_query_new(store->database, "SELECT count(*) FROM workloads WHERE id = ?1 AND hash = ?2");
    for (size_t i = 0; same && i < store->space->workload_count; i++) {
        char hash[20];
        hex(hashes[i], hash);
        ll_query_count(same, 1, i);
        ll_query_text(same, 2, hash);
        if (!ll_query_next(same) || ll_cell_count(same, 0) == 0)
            note(differing, "the workload", store->space->workloads[i].name);
        ll_query_reset(same);
    }
}

static bool has_other_dtype(struct ll_store *store)
{
    struct ll_query *other =
        ll_query_new(store->database,
                     "SELECT count(*) FROM provenance WHERE name = '" LL_FACT_DTYPE "' AND value IS NOT ?1");
    for (size_t i = 0; other && i < BASIS_COUNT; i++)
        if (!strcmp(basis[i].name, LL_FACT_DTYPE))
            ll_query_text(other, 1, store->basis[i].value);
    bool differs = other && ll_query_next(other) && ll_cell_count(other, 0) > 0;
    if (other)
        ll_query_reset(other);
    return differs;
}

/* Whether the results that are there and those to come can stand in one database. */
static bool rests_on_the_same(struct ll_store *store, const uint64_t *workload_hashes, struct ll_diags *diags)
{
    struct ll_str differing = {0};
    compare_facts(store, &differing);
    if (!has_other_dtype(store)) /* which makes other workloads of all */
        compare_workloads(store, workload_hashes, &differing);
    const char *trouble = ll_database_trouble(store->database);
    if (trouble || differing.failed)
        ll_complain(diags, (struct ll_place){.file = store->path}, "%s",
                    trouble ? trouble : "memory ran out");
    else if (differing.length)
        ll_complain(diags, (struct ll_place){.file = store->path},
                    "what its results were evaluated with has changed: %s; --fresh starts over, -o names "
                    "another file",
                    differing.text);
    bool same = !trouble && !differing.failed && differing.length == 0;
    ll_str_release(&differing);
    return same;
}

/* Changes the journal mode. SQLite does not wait for others where a mode changes, so this tries again every
 * 50 ms while they read or write. False on other trouble, or when they still do after all tries. */
static bool change_mode(struct ll_store *store, const char *pragma, int tries)
{
    assert(tries > 0);
    const struct timespec pause = {0, 50000000};
    while (!ll_database_run(store->database, pragma)) {
        if (!ll_database_busy(store->database) || --tries <= 0)
            return false;
        ll_database_trouble(store->database);
        nanosleep(&pause, NULL);
    }
    return true;
}

/* The mode is kept in the file, so it is not set before it is known to be ours. */
static bool open_store(struct ll_store *store, const struct ll_store_facts *facts, enum ll_status *status,
                       struct ll_diags *diags)
{
    *status = LL_CANNOT_WRITE;
    store->database = ll_database_open(store->path, true);
    if (!store->database)
        return complain(store, diags);
    bool empty = is_empty(store);
    if (!empty && (!ll_store_check(store->path, diags) || !is_same_space(store, diags) ||
                   !rests_on_the_same(store, facts->workload_hashes, diags) ||
                   !ll_store_is_sound(store->path, diags))) {
        *status = LL_OK;
        return false;
    }
    return (change_mode(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", 200) &&
            (empty ? begin_anew(store, facts) : write_facts(store, facts->facts, facts->count)) &&
            prepare_all(store)) ||
           complain(store, diags);
}

/* The lock last: who gets it finds the database closed. */
static void release(struct ll_store *store)
{
    ll_database_close(store->database);
    ll_lock_release(store->lock);
    ll_arena_release(&store->arena);
    free(store);
}

struct ll_store *ll_store_open(const char *path, const struct ll_space *space,
                               const struct ll_store_facts *facts, bool fresh, enum ll_status *status,
                               struct ll_diags *diags)
{
    struct ll_store *store = calloc(1, sizeof *store);
    if (!store) {
        *status = LL_NO_MEMORY;
        ll_complain(diags, (struct ll_place){.file = path}, "memory ran out");
        return NULL;
    }
    store->space = space;
    store->path = path;
    store->lock = ll_lock_take(path, status, diags);
    bool ready = store->lock && make_basis(store);
    if (store->lock && !ready) {
        *status = LL_NO_MEMORY;
        ll_complain(diags, (struct ll_place){.file = path}, "memory ran out");
    }
    bool discardable = ready && (!fresh || ll_store_discardable(path, diags));
    if (fresh && discardable)
        ll_database_remove(path);
    if (discardable && open_store(store, facts, status, diags))
        return store;
    release(store);
    return NULL;
}

/* Leaves write-ahead mode, so that the one file can be read where nothing can be written. All is in the
 * database already: who reads just then is waited for, and one that goes on reading is let be. */
static bool leave_log(struct ll_store *store, struct ll_diags *diags)
{
    return change_mode(store, "PRAGMA journal_mode = DELETE", 40) || ll_database_busy(store->database) ||
           (!store->complained && complain(store, diags));
}

bool ll_store_close(struct ll_store *store, struct ll_diags *diags)
{
    if (!store)
        return true;
    bool right = leave_log(store, diags);
    release(store);
    return right;
}

bool ll_store_mark(struct ll_store *store, uint64_t part, uint64_t parts, bool finished,
                   struct ll_diags *diags)
{
    assert(part < parts);
    const char *name = ll_format(&store->arena, LL_FACT_FINISHED "%" PRIu64 "of%" PRIu64, part + 1, parts);
    const struct ll_fact fact = {name, finished ? "yes" : "no"};
    return (name &&
            ll_database_run(store->database,
                            "BEGIN; DELETE FROM provenance WHERE name GLOB '" LL_FACT_FINISHED "*'") &&
            write_facts(store, &fact, 1) && ll_database_run(store->database, "COMMIT")) ||
           complain(store, diags);
}

/* --- points --- */

bool ll_store_rows(struct ll_store *store, uint64_t *rows, struct ll_diags *diags)
{
    struct ll_query *query = ll_query_new(store->database, "SELECT count(*) FROM points");
    if (!query || !ll_query_next(query))
        return complain(store, diags);
    *rows = ll_cell_count(query, 0);
    ll_query_reset(query);
    return true;
}

bool ll_store_find(struct ll_store *store, uint64_t number, uint64_t key, struct ll_answer *outcome)
{
    assert(number < store->space->point_count);
    const struct ll_space *space = store->space;
    ll_query_count(store->find, 1, number);
    ll_query_count(store->find, 2, key);
    if (!ll_query_next(store->find))
        return false;
    bool impossible = ll_cell_count(store->find, 0) >= LL_VERDICT_INVALID;
    *outcome = (struct ll_answer){.valid = ll_cell_count(store->find, 0) == LL_VERDICT_VALID,
                                  .violation = impossible ? INFINITY : ll_cell_number(store->find, 1)};
    for (size_t i = 0; i < LL_MOST_OBJECTIVES; i++) {
        double value = i < space->objective_count ? ll_cell_number(store->find, 2 + (int)i) : 0;
        outcome->objectives[i] = impossible || isnan(value)  ? INFINITY
                                 : space->objectives[i].most ? -value
                                                             : value;
    }
    ll_query_reset(store->find);
    return true;
}

/* A row of `points`: number, key, verdict and reason, violation, then the values of axes and objectives. */
static bool add_point(struct ll_store *store, const struct ll_evaluation *evaluation)
{
    assert(evaluation->number < store->space->point_count && evaluation->verdict <= LL_VERDICT_PRUNED);
    const struct ll_space *space = store->space;
    struct ll_query *query = store->add_point;
    uint32_t point[LL_MOST_AXES];
    int at = 1;
    ll_space_point(space, evaluation->number, point);
    ll_query_count(query, at++, evaluation->number);
    ll_query_count(query, at++, evaluation->key);
    ll_query_count(query, at++, evaluation->verdict);
    ll_query_text(query, at++, evaluation->why);
    ll_query_number(query, at++,
                    isfinite(evaluation->outcome.violation) ? evaluation->outcome.violation : NAN);
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_axis_value *value = &space->axes[a].values[point[a]];
        if (isnan(value->number))
            ll_query_text(query, at++, value->text);
        else
            ll_query_number(query, at++, value->number);
    }
    for (size_t i = 0; i < space->objective_count; i++)
        ll_query_number(query, at++, shown(space, &evaluation->outcome, i));
    return ll_query_run(query);
}

static bool add_results(struct ll_store *store, const struct ll_evaluation *evaluation)
{
    struct ll_query *query = store->add_result;
    bool right = true;
    for (size_t w = 0; right && w < store->space->workload_count; w++) {
        ll_query_count(query, 1, evaluation->number);
        ll_query_count(query, 2, w);
        put_measured(store, query, 3, &evaluation->measured[w]);
        right = ll_query_run(query);
    }
    return right;
}

bool ll_store_add(struct ll_store *store, const struct ll_evaluation *evaluations, size_t count,
                  struct ll_diags *diags)
{
    bool right = ll_database_run(store->database, "BEGIN IMMEDIATE");
    for (size_t i = 0; right && i < count; i++)
        right = add_point(store, &evaluations[i]) &&
                (evaluations[i].verdict >= LL_VERDICT_INVALID || add_results(store, &evaluations[i]));
    if (right && ll_database_run(store->database, "COMMIT"))
        return true;
    complain(store, diags);
    ll_database_run(store->database, "ROLLBACK");
    ll_database_trouble(store->database); /* of the way back nobody asks: what counts was said */
    return false;
}
