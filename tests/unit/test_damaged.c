/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of sweeps that SQLite takes for whole, and that are not. */
#include "check.h"

#include "sim/explore/database.h"
#include "sim/explore/store.h"

#include <unistd.h>

/* As a sweep writes it, but for results of which there are many columns: two points of two parameters. */
static const char tables[] =
    "CREATE TABLE provenance (name TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE workloads (id INTEGER PRIMARY KEY, name TEXT, hash TEXT);"
    "CREATE TABLE parameters (id INTEGER PRIMARY KEY, path TEXT, target TEXT, base REAL);"
    "CREATE TABLE choices (parameter INTEGER, id INTEGER, text TEXT, number REAL);"
    "CREATE TABLE objectives (id INTEGER PRIMARY KEY, text TEXT, name TEXT, most INTEGER, base REAL);"
    "CREATE TABLE points (number INTEGER PRIMARY KEY, key INTEGER, verdict INTEGER, why TEXT,"
    " violation REAL, rows, cols, \"min time_s\" REAL);"
    "CREATE TABLE results (point INTEGER, workload INTEGER, time_s REAL, energy_j REAL);"
    "CREATE TABLE base (workload INTEGER PRIMARY KEY, time_s REAL, energy_j REAL);"
    "INSERT INTO workloads VALUES (0, 'alexnet', '0');"
    "INSERT INTO parameters VALUES (0, 'rows', 'machine', 8), (1, 'cols', 'machine', 8);"
    "INSERT INTO choices VALUES (0, 0, '8', 8), (1, 0, '8', 8), (1, 1, '16', 16);"
    "INSERT INTO objectives VALUES (0, 'min time_s', 'time_s', 0, 2);"
    "INSERT INTO points VALUES (0, 0, 0, NULL, 0, 8, 8, 2), (1, 1, 0, NULL, 0, 8, 16, 1);"
    "INSERT INTO results VALUES (0, 0, 2, 3), (1, 0, 1, 4);"
    "INSERT INTO base VALUES (0, 2, 3);";

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

static void what_is_missing_is_told_once(void **state)
{
    (void)state;
    static const char *const harms[] = {"DELETE FROM choices",
                                        "DELETE FROM choices WHERE parameter = 1",
                                        "DELETE FROM parameters",
                                        "DELETE FROM objectives",
                                        "DELETE FROM workloads",
                                        "UPDATE points SET number = 2 WHERE number = 1",
                                        "UPDATE points SET verdict = 77",
                                        "UPDATE points SET verdict = -1",
                                        "ALTER TABLE base DROP COLUMN energy_j"};
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        struct ll_diags diags = {0};
        uint64_t points = read_after(harms[i], &diags);
        if (points > 0 || diags.count != 1 || !strstr(diags.kept[0].message, "damaged"))
            fail_msg("%s: %s", harms[i], diags.count ? diags.kept[0].message : "read");
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_database_is_read),
        cmocka_unit_test(what_is_missing_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
