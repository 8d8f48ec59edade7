/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of sweeps that SQLite takes for whole, and that are not. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "sim/explore/database.h"
#include "sim/explore/sweep.h"

#include <sys/wait.h>
#include <unistd.h>

/* As a sweep writes it, but for results of which there are many columns: two points of two parameters. */
static const char tables[] =
    "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN;"
    "CREATE TABLE provenance (name TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE workloads (id INTEGER PRIMARY KEY, name TEXT, hash TEXT);"
    "CREATE TABLE parameters (id INTEGER PRIMARY KEY, path TEXT, target TEXT, base REAL);"
    "CREATE TABLE choices (parameter INTEGER, id INTEGER, text TEXT, number REAL,"
    " PRIMARY KEY (parameter, id)) WITHOUT ROWID;"
    "CREATE TABLE objectives (id INTEGER PRIMARY KEY, text TEXT, name TEXT, most INTEGER, base REAL);"
    "CREATE TABLE points (number INTEGER PRIMARY KEY, key INTEGER, verdict INTEGER, why TEXT,"
    " violation REAL, rows, cols, \"min time_s\" REAL);"
    "CREATE TABLE results (point INTEGER, workload INTEGER, time_s REAL, energy_j REAL,"
    " PRIMARY KEY (point, workload)) WITHOUT ROWID;"
    "CREATE TABLE base (workload INTEGER PRIMARY KEY, time_s REAL, energy_j REAL);"
    "INSERT INTO workloads VALUES (0, 'alexnet', '0');"
    "INSERT INTO parameters VALUES (0, 'rows', 'machine', 8), (1, 'cols', 'machine', 8);"
    "INSERT INTO choices VALUES (0, 0, '8', 8), (1, 0, '8', 8), (1, 1, '16', 16);"
    "INSERT INTO objectives VALUES (0, 'min time_s', 'time_s', 0, 2);"
    "INSERT INTO points VALUES (0, 0, 0, NULL, 0, 8, 8, 2), (1, 1, 0, NULL, 0, 8, 16, 1);"
    "INSERT INTO results VALUES (0, 0, 2, 3), (1, 0, 1, 4);"
    "INSERT INTO base VALUES (0, 2, 3); COMMIT;";

/* What cannot be read is not merged either. */
static void check_merge(const char *path, uint64_t points)
{
    char merged[120];
    struct ll_diags diags = {0};
    uint64_t there = 0;
    snprintf(merged, sizeof merged, "%s.merged", path);
    assert_true(ll_store_merge(merged, &path, 1, NULL, &there, &diags) == (points > 0));
    assert_int_equal(diags.count == 0, points > 0);
    assert_int_equal(access(merged, F_OK) == 0, points > 0);
    assert_int_equal(points > 0 ? there : 0, points);
    ll_diags_release(&diags);
    ll_database_remove(merged);
}

/* Reads such a database after somebody did this to it; how many points it has. What is complained of goes to
 * diags. */
static uint64_t read_after(const char *harm, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    char path[100];
    snprintf(path, sizeof path, "/tmp/leadline-test-%ld-damaged.db", (long)getpid());
    struct ll_database *database = ll_database_open(path, true);
    assert_true(ll_database_run(database, tables));
    assert_true(ll_database_run(database, harm));
    assert_true(ll_database_close(database));
    const struct ll_data_frame *frame = ll_data_frame_read(path, &arena, diags);
    uint64_t points = frame ? frame->row_count : 0;
    ll_arena_release(&arena);
    check_merge(path, points);
    ll_database_remove(path);
    return points;
}

static void a_whole_database_is_read(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    assert_int_equal(read_after("SELECT 1", &diags), 2);
    assert_int_equal(diags.count, 0);
}

/* Without its key. */
#define RECREATED                                                                                            \
    "CREATE TABLE copy AS SELECT * FROM points; DROP TABLE points; ALTER TABLE copy RENAME TO points"

static void what_is_missing_is_told_once(void **state)
{
    (void)state;
    static const char *const harms[] = {
        "DELETE FROM choices",
        "DELETE FROM choices WHERE parameter = 1",
        "DELETE FROM parameters",
        "DELETE FROM objectives",
        "DELETE FROM workloads",
        "UPDATE points SET number = 2 WHERE number = 1",
        "UPDATE points SET verdict = 77",
        "UPDATE points SET verdict = -1",
        "ALTER TABLE base DROP COLUMN energy_j",
        "ALTER TABLE results RENAME COLUMN energy_j TO edp",
        "UPDATE points SET number = 9223372036854775807 WHERE number = 1",
        "UPDATE points SET number = -5 WHERE number = 1",
        "UPDATE points SET verdict = 'valid'",
        "UPDATE points SET verdict = NULL",
        "UPDATE points SET \"min time_s\" = 'soon'",
        "UPDATE choices SET parameter = 9999999999 WHERE parameter = 0",
        "INSERT INTO choices VALUES (9999999999, 0, '8', 8)",
        "UPDATE choices SET id = 4294967295 WHERE id = 1",
        "UPDATE choices SET number = x'00ff' WHERE id = 1",
        "UPDATE parameters SET id = 1000000000 WHERE id = 1",
        "UPDATE parameters SET id = -1 WHERE id = 0",
        "UPDATE objectives SET id = -1",
        "UPDATE workloads SET id = 4000000000",
        "UPDATE results SET workload = 4000000000",
        "UPDATE results SET point = 7 WHERE point = 1",
        "UPDATE results SET time_s = 'abc'",
        "DELETE FROM results WHERE point = 0",
        "DELETE FROM base",
        "UPDATE points SET verdict = 2 WHERE number = 0",
        "CREATE TRIGGER t AFTER INSERT ON points BEGIN DELETE FROM results; END",
        RECREATED};
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        struct ll_diags diags = {0};
        uint64_t points = read_after(harms[i], &diags);
        if (points > 0 || diags.count != 1 || !strstr(diags.kept[0].message, "damaged"))
            fail_msg("%s: %s", harms[i], diags.count ? diags.kept[0].message : "read");
        ll_diags_release(&diags);
    }
}

/* One that would never end, as every table might be. */
static void a_view_is_no_table_of_a_sweep(void **state)
{
    (void)state;
    static const char *const names[] = {"provenance", "workloads", "parameters", "choices",
                                        "objectives", "points",    "results",    "base"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct ll_diags diags = {0};
        char harm[400];
        snprintf(harm, sizeof harm,
                 "ALTER TABLE %s RENAME TO kept; CREATE VIEW %s AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL"
                 " SELECT x + 1 FROM r) SELECT kept.* FROM r, kept;",
                 names[i], names[i]);
        assert_int_equal(read_after(harm, &diags), 0);
        assert_non_null(
            strstr(diags.kept[0].message, "damaged: its tables are not those that a sweep makes"));
        ll_diags_release(&diags);
    }
}

/* Both are whole by themselves. */
static void parts_whose_values_differ_are_not_merged(void **state)
{
    (void)state;
    static const char *const harms[] = {"UPDATE choices SET text = '9', number = 9 WHERE parameter = 0",
                                        "UPDATE parameters SET path = 'depth' WHERE id = 0",
                                        "UPDATE objectives SET most = 1",
                                        ("ALTER TABLE results RENAME COLUMN energy_j TO edp;"
                                         "ALTER TABLE base RENAME COLUMN energy_j TO edp")};
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        const char *parts[2] = {"damaged-one.db", "damaged-other.db"};
        struct ll_diags diags = {0};
        uint64_t points;
        for (int part = 0; part < 2; part++) {
            struct ll_database *database = ll_database_open(parts[part], true);
            assert_true(ll_database_run(database, tables));
            assert_true(ll_database_run(database, "INSERT INTO provenance VALUES ('space', '1')"));
            assert_true(part == 0 || ll_database_run(database, harms[i]));
            assert_true(ll_database_close(database));
        }
        if (ll_store_merge("damaged-merged.db", parts, 2, NULL, &points, &diags) ||
            !strstr(diags.kept[0].message, "their parameters, values, objectives or columns differ"))
            fail_msg("%s: %s", harms[i], diags.count ? diags.kept[0].message : "merged");
        ll_diags_release(&diags);
        ll_database_remove(parts[0]);
        ll_database_remove(parts[1]);
    }
}

/* By another process: what one process locks it may read itself. */
static void a_locked_database_names_who_locks_it(void **state)
{
    (void)state;
    static const char path[] = "damaged-locked.db";
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    int told[2], done[2];
    char byte, holder[60];
    assert_int_equal(pipe(told) | pipe(done), 0);
    struct ll_database *database = ll_database_open(path, true);
    assert_true(ll_database_run(database, tables));
    assert_true(ll_database_close(database));
    pid_t child = fork();
    if (child == 0) {
        database = ll_database_open(path, true);
        byte = ll_database_run(database, "BEGIN EXCLUSIVE") ? 'y' : 'n';
        _exit(write(told[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_true(child > 0 && read(told[0], &byte, 1) == 1 && byte == 'y');
    assert_null(ll_data_frame_read(path, &arena, &diags));
    assert_int_equal(write(done[1], &byte, 1), 1);
    waitpid(child, NULL, 0);
    assert_int_equal(diags.count, 1);
    snprintf(holder, sizeof holder, "it is locked by process %ld (test_damaged)", (long)child);
    if (access("/proc/locks", R_OK) == 0)
        assert_string_equal(diags.kept[0].message, holder);
    assert_non_null(strstr(diags.kept[0].message, "it is locked by "));
    ll_database_remove(path);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_database_is_read),
        cmocka_unit_test(what_is_missing_is_told_once),
        cmocka_unit_test(a_view_is_no_table_of_a_sweep),
        cmocka_unit_test(parts_whose_values_differ_are_not_merged),
        cmocka_unit_test(a_locked_database_names_who_locks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
