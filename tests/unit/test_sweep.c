/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep and its database: whatever happens on the way, the rows are the same. */
#include "check.h"

#include "sim/explore/database.h"
#include "sim/explore/findings.h"
#include "sim/explore/sweep.h"
#include "sim/machine/node.h"
#include "sim/replay/replay.h"
#include "tracer/base/clock.h"
#include "tracer/format/reader.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACE "traces/alexnet_infer_b1.llt"

/* Several hundred points, some of them impossible (a buffer larger than the memory), some unfit. */
static const char small[] =
    "base: custom_example\n"
    "traces: [" TRACE "]\n"
    "vary:\n"
    "  units.array.rows: [8, 32, 128]\n"
    "  units.array.cols: = units.array.rows * 2\n"
    "  memory.sram.size: {from: 256KiB, to: 1GiB, times: 4}\n"
    "  memory.hbm: {HBM2: {bandwidth: 900GB/s}, DDR: {bandwidth: 50GB/s, size: 512MiB}}\n"
    "  units.simd.lanes: [64, 128]\n"
    "  clock: {from: 500MHz, to: 2GHz, points: 6}\n"
    "constraints: [area_mm2 <= 400, memory.fits]\n"
    "objectives: [min time_s, min energy_j, max throughput_per_w]\n";

static struct ll_trace *bring(void *context, const struct ll_space_workload *workload,
                              const struct ll_space_setting *settings, size_t count, struct ll_diags *diags)
{
    enum ll_status status;
    (void)context, (void)settings, (void)count;
    return ll_trace_read(workload->file, diags, &status);
}

static struct ll_space *read_space(const char *text)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_space *space = ll_space_parse(text, strlen(text), "space.yaml", folders, &diags);
    if (!space)
        fail_msg("%s", diags.kept[0].message);
    return space;
}

/* What a sweep of the test is to do. */
struct plan {
    const char *text, *path; /* of the space; of the database */
    unsigned threads;
    uint64_t shard, shards;
    bool fresh;
};

/* Runs it to its end; whether that came. What is complained of goes to diags. */
static bool run_plan(const struct plan *plan, struct ll_sweep_state *state, struct ll_diags *diags)
{
    struct ll_space *space = read_space(plan->text);
    struct ll_pool *pool = ll_pool_new(plan->threads);
    struct ll_evaluator *evaluator = ll_evaluator_new(space, bring, NULL, pool, diags);
    struct ll_readings measured[2];
    struct ll_evaluation base = {.measured = measured};
    assert_non_null(evaluator);
    ll_evaluator_base(evaluator, &base);
    struct ll_store_facts facts = {NULL, 0, ll_evaluator_workload_hashes(evaluator), &base};
    enum ll_status status;
    struct ll_store *store = ll_store_open(plan->path, space, &facts, plan->fresh, &status, diags);
    struct ll_sweep sweep = {
        .space = space, .evaluator = evaluator, .store = store, .shard = plan->shard, .shards = plan->shards};
    bool done = store && ll_sweep_run(&sweep, diags);
    done &= ll_store_close(store, diags);
    *state = sweep.state;
    ll_evaluator_free(evaluator);
    ll_pool_free(pool);
    ll_space_free(space);
    return done;
}

static struct ll_sweep_state must_run(const struct plan *plan)
{
    struct ll_sweep_state state;
    struct ll_diags diags = {0};
    if (!run_plan(plan, &state, &diags))
        fail_msg("%s", diags.kept_count ? diags.kept[0].message : "stopped");
    return state;
}

static const char *temporary(char path[100], const char *name)
{
    snprintf(path, 100, "/tmp/leadline-test-%ld-%s.db", (long)getpid(), name);
    return path;
}

static void clean(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", ".lock"};
    for (size_t i = 0; i < 5; i++) {
        char name[120];
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        remove(name);
    }
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Row for row, column for column, bit for bit. */
static void check_same(const char *path, const char *other)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const struct ll_data_frame *a = ll_data_frame_read(path, &arena, &diags),
                               *b = ll_data_frame_read(other, &arena, &diags);
    assert_true(a && b);
    assert_int_equal(a->row_count, b->row_count);
    assert_int_equal(a->column_count, b->column_count);
    assert_memory_equal(a->numbers, b->numbers, a->row_count * sizeof *a->numbers);
    assert_memory_equal(a->verdicts, b->verdicts, a->row_count);
    for (size_t c = 0; c < a->column_count; c++)
        for (uint64_t row = 0; row < a->row_count; row++)
            assert_true(same_number(a->columns[c].numbers[row], b->columns[c].numbers[row]));
    ll_arena_release(&arena);
}

/* The sweep that nothing disturbs, made once. */
static char undisturbed[100];

static int make_undisturbed(void **state)
{
    (void)state;
    struct plan plan = {small, temporary(undisturbed, "undisturbed"), 1, 0, 1, true};
    struct ll_sweep_state end = must_run(&plan);
    assert_int_equal(end.evaluated, 3 * 7 * 2 * 2 * 6);
    assert_true(end.valid > 100 && end.valid < end.evaluated);
    return 0;
}

static int remove_undisturbed(void **state)
{
    (void)state;
    clean(undisturbed);
    return 0;
}

/* --- what is evaluated --- */

/* A value of an axis as --set has it; of a part, each of its keys. */
static size_t overrides_of(const struct ll_space *space, const uint32_t *point, struct ll_arena *arena,
                           struct ll_override *overrides)
{
    size_t count = 0;
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        const struct ll_node *node = axis->values[point[a]].node;
        if (axis->target != LL_AXIS_PART)
            overrides[count++] = (struct ll_override){axis->path, axis->values[point[a]].text};
        for (const struct ll_node *key = axis->target == LL_AXIS_PART ? node->first : NULL; key;
             key = key->next)
            overrides[count++] =
                (struct ll_override){ll_format(arena, "%s.%s", axis->path, key->key), key->text};
    }
    double rows = space->axes[0].values[point[0]].number;
    overrides[count++] = (struct ll_override){"units.array.cols", ll_format(arena, "%.0f", rows * 2)};
    return count;
}

static void check_point(const struct ll_space *space, const struct ll_data_frame *frame, uint64_t row,
                        const struct ll_prepared *prepared)
{
    uint32_t point[LL_MOST_AXES];
    struct ll_override overrides[LL_MOST_AXES + 8];
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    ll_space_point(space, frame->numbers[row], point);
    size_t count = overrides_of(space, point, &arena, overrides);
    struct ll_machine *machine = ll_machine_read(space->base, space->folders, overrides, count, &diags);
    assert_true((machine == NULL) == (frame->verdicts[row] == LL_VERDICT_INVALID));
    if (machine) {
        const struct ll_result *result = ll_replay(prepared, machine, &arena, &diags);
        assert_true(ll_data_frame_column(frame, "time_s")->numbers[row] == result->time_s);
        assert_true(ll_data_frame_column(frame, "energy_j")->numbers[row] == result->energy_j);
        assert_true(ll_data_frame_column(frame, "area_mm2")->numbers[row] == result->area_m2 * 1e6);
        for (uint32_t i = 0; i < LL_BOUND_LEVEL + machine->level_count; i++) {
            const char *name = ll_format(&arena, LL_SHARE_PREFIX "%s", ll_bound_name(machine, i));
            assert_true(ll_data_frame_column(frame, name)->numbers[row] == result->shares[i]);
        }
    }
    ll_machine_free(machine);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void results_are_those_of_sim_with_set_bit_for_bit(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_space *space = read_space(small);
    struct ll_trace *trace = ll_trace_read(TRACE, &diags, &status);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    const struct ll_data_frame *frame = ll_data_frame_read(undisturbed, &arena, &diags);
    assert_true(prepared && frame);
    for (uint64_t row = 0; row < frame->row_count; row += 7)
        check_point(space, frame, row, prepared);
    ll_trace_free(trace);
    ll_space_free(space);
    ll_arena_release(&arena);
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    char path[100];
    for (unsigned threads = 2; threads <= 3; threads++) {
        must_run(&(struct plan){small, temporary(path, "threads"), threads, 0, 1, true});
        check_same(path, undisturbed);
    }
    clean(path);
}

static void shards_merged_are_the_whole(void **state)
{
    (void)state;
    char paths[8][100], merged[100];
    const char *parts[8];
    uint64_t points;
    struct ll_diags diags = {0};
    for (uint64_t i = 0; i < 8; i++) {
        char name[20];
        snprintf(name, sizeof name, "shard%" PRIu64, i);
        parts[i] = temporary(paths[i], name);
        must_run(&(struct plan){small, parts[i], 1, i, 8, true});
    }
    clean(temporary(merged, "merged"));
    static const volatile sig_atomic_t stopped = 1;
    assert_false(ll_store_merge(merged, parts, 8, &stopped, &points, &diags));
    assert_int_not_equal(access(merged, F_OK), 0);
    ll_diags_release(&diags);
    assert_true(ll_store_merge(merged, parts, 8, NULL, &points, &diags));
    check_same(merged, undisturbed);
    assert_false(ll_store_merge(merged, parts, 8, NULL, &points, &diags)); /* it is there already */
    ll_diags_release(&diags);
    for (size_t i = 0; i < 8; i++)
        clean(parts[i]);
    clean(merged);
}

/* Neither by a sweep that goes on nor by a merge. */
static void results_of_other_code_are_refused(void **state)
{
    (void)state;
    char path[100], merged[100];
    struct ll_diags diags = {0};
    struct ll_sweep_state end;
    struct plan plan = {small, temporary(path, "code"), 1, 0, 8, true};
    const char *const parts[] = {undisturbed, path};
    uint64_t points;
    must_run(&plan);
    struct ll_database *database = ll_database_open(path, true);
    assert_true(ll_database_run(database, "UPDATE provenance SET value = 'old' WHERE name = 'code'"));
    assert_true(ll_database_close(database));
    plan.fresh = false;
    assert_false(run_plan(&plan, &end, &diags));
    assert_non_null(strstr(diags.kept[0].message, "has changed: the code of leadline;"));
    assert_false(ll_store_merge(temporary(merged, "merged"), parts, 2, NULL, &points, &diags));
    assert_non_null(strstr(diags.kept[1].message, "first file: the code of leadline (old instead of "));
    ll_diags_release(&diags);
    clean(path);
    clean(merged);
}

static void workloads_have_their_own_columns_and_a_geometric_mean(void **state)
{
    (void)state;
    static const char two[] = "base: custom_example\n"
                              "traces: [" TRACE ", traces/alexnet_train_b8.llt]\n"
                              "vary: {clock: [1GHz, 2GHz]}\n"
                              "define: {cost: time_s * 2}\n"
                              "objectives: [min time_s, min cost, max throughput]\n";
    char path[100];
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    must_run(&(struct plan){two, temporary(path, "two"), 2, 0, 1, true});
    const struct ll_data_frame *frame = ll_data_frame_read(path, &arena, &diags);
    const struct ll_data_column *infer = ll_data_frame_column(frame, "alexnet_infer_b1.time_s"),
                                *train = ll_data_frame_column(frame, "alexnet_train_b8.time_s"),
                                *mean = ll_data_frame_column(frame, "time_s"),
                                *cost = ll_data_frame_column(frame, "cost");
    assert_true(infer && train && mean && cost);
    for (uint64_t row = 0; row < 2; row++) {
        assert_near(mean->numbers[row], sqrt(infer->numbers[row] * train->numbers[row]), 1e-14);
        assert_near(cost->numbers[row], 2 * mean->numbers[row], 1e-14);
    }
    assert_near(mean->base, mean->numbers[0], 0); /* the base runs at 1 GHz */
    assert_near(cost->base, cost->numbers[0], 0);
    ll_arena_release(&arena);
    clean(path);
}

/* Of a result and of an objective: what no workload changes is the same number to the last bit. */
static void the_mean_of_equal_values_is_that_value(void **state)
{
    (void)state;
    static const char two[] = "base: custom_example\n"
                              "traces: [" TRACE ", traces/alexnet_train_b8.llt]\n"
                              "vary: {clock: [1GHz, 2GHz]}\n"
                              "objectives: [min time_s, min memory.capacity_bytes / 1]\n";
    char path[100];
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    must_run(&(struct plan){two, temporary(path, "equal"), 1, 0, 1, true});
    const struct ll_data_frame *frame = ll_data_frame_read(path, &arena, &diags);
    const struct ll_data_column *one = ll_data_frame_column(frame, "alexnet_infer_b1.memory.capacity_bytes"),
                                *mean = ll_data_frame_column(frame, "memory.capacity_bytes"),
                                *wanted = ll_data_frame_column(frame, "memory.capacity_bytes / 1");
    assert_true(one && mean && wanted);
    assert_true(mean->numbers[0] == one->numbers[0] && wanted->numbers[0] == one->numbers[0]);
    assert_true(mean->base == one->base && wanted->base == one->base);
    ll_arena_release(&arena);
    clean(path);
}

/* The clock less 2 GHz: one point divides by zero. Both directions, for infinity must win neither. */
static void a_point_without_a_finite_objective_is_not_valid(void **state)
{
    (void)state;
    static const char *const wanted[] = {"min 1 / (clock - 2GHz)", "max 1 / (clock - 2GHz)",
                                         "min log2(2GHz - clock)"};
    for (size_t i = 0; i < 3; i++) {
        char path[100], text[300];
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        snprintf(text, sizeof text,
                 "base: custom_example\ntraces: [" TRACE "]\n"
                 "vary: {clock: [1GHz, 2GHz, 1.5GHz]}\nobjectives: [%s, min time_s]\n",
                 wanted[i]);
        struct ll_sweep_state end =
            must_run(&(struct plan){text, temporary(path, "infinite"), 1, 0, 1, true});
        const struct ll_data_frame *frame = ll_data_frame_read(path, &arena, &diags);
        assert_int_equal(end.valid, 2);
        assert_int_equal(frame->verdicts[1], LL_VERDICT_INFEASIBLE);
        end = must_run(&(struct plan){text, path, 1, 0, 1, false});
        assert_int_equal(end.known, 3);
        assert_int_equal(end.valid, 2);
        ll_arena_release(&arena);
        clean(path);
    }
}

static void a_point_without_a_finite_objective_wins_nothing(void **state)
{
    (void)state;
    static const char two[] = "base: custom_example\ntraces: [" TRACE "]\n"
                              "vary: {clock: [1GHz, 2GHz]}\nobjectives: [min time_s]\n";
    char path[100];
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    must_run(&(struct plan){two, temporary(path, "wins"), 1, 0, 1, true});
    const struct ll_data_frame *frame = ll_data_frame_read(path, &arena, &diags);
    frame = ll_data_frame_want(frame, "1 / (clock - 2GHz)", true, true, &arena, &diags);
    assert_int_equal(ll_findings_new(frame, false, &arena)->valid_count, 1);
    ll_arena_release(&arena);
    clean(path);
}

/* --- what is remembered --- */

static void a_finished_sweep_evaluates_nothing_again(void **state)
{
    (void)state;
    struct ll_sweep_state end = must_run(&(struct plan){small, undisturbed, 2, 0, 1, false});
    assert_int_equal(end.evaluated, 0);
    assert_int_equal(end.known, 3 * 7 * 2 * 2 * 6);
}

static void the_database_of_another_sweep_is_refused(void **state)
{
    (void)state;
    static const char other[] = "base: custom_example\n"
                                "traces: [" TRACE "]\n"
                                "vary: {clock: [1GHz, 2GHz]}\n"
                                "objectives: [min time_s]\n";
    struct ll_sweep_state end;
    struct ll_diags diags = {0};
    assert_false(run_plan(&(struct plan){other, undisturbed, 1, 0, 1, false}, &end, &diags));
    assert_int_equal(diags.count, 1);
    assert_non_null(strstr(diags.kept[0].message, "another sweep"));
    ll_diags_release(&diags);
}

static void a_database_that_does_not_say_of_which_sweep_is_refused(void **state)
{
    (void)state;
    char path[100];
    struct ll_sweep_state end;
    struct ll_diags diags = {0};
    must_run(&(struct plan){small, temporary(path, "silent"), 1, 0, 1, true});
    struct ll_database *database = ll_database_open(path, true);
    assert_true(ll_database_run(database, "UPDATE provenance SET value = NULL"
                                          " WHERE name = '" LL_FACT_SPACE "'"));
    assert_true(ll_database_close(database));
    assert_false(run_plan(&(struct plan){small, path, 1, 0, 1, false}, &end, &diags));
    assert_non_null(strstr(diags.kept[0].message, "another sweep"));
    ll_diags_release(&diags);
    clean(path);
}

/* The database of a sweep that is going on, and what a newcomer is told of it. */
static void one_sweep_at_a_time_writes_a_database(void **state)
{
    (void)state;
    char path[100];
    struct ll_space *space = read_space(small);
    struct ll_diags diags = {0};
    struct ll_sweep_state end;
    struct plan newcomer = {small, temporary(path, "two-writers"), 1, 0, 1, false};
    const uint64_t hash = 1;
    struct ll_readings measured = {0};
    const struct ll_evaluation base = {.measured = &measured};
    const struct ll_store_facts facts = {NULL, 0, &hash, &base};
    enum ll_status status;
    struct ll_store *going_on = ll_store_open(path, space, &facts, true, &status, &diags);
    assert_non_null(going_on);
    for (int fresh = 0; fresh <= 1; fresh++) {
        newcomer.fresh = fresh;
        assert_false(run_plan(&newcomer, &end, &diags));
        assert_int_equal(diags.count, 1);
        assert_non_null(strstr(diags.kept[0].message, "another sweep is writing"));
        ll_diags_release(&diags);
    }
    assert_true(ll_store_close(going_on, &diags));
    newcomer.fresh = true;
    must_run(&newcomer);
    check_same(path, undisturbed);
    ll_space_free(space);
    clean(path);
}

/* What pareto does not read, a sweep does not go on with, and it stays as it is. */
static void a_damaged_database_is_not_gone_on_with(void **state)
{
    (void)state;
    static const char *const harms[] = {
        "DELETE FROM results WHERE point = 0", "UPDATE points SET verdict = 77",
        "UPDATE results SET time_s = 'fast'", "DELETE FROM choices", "DELETE FROM base"};
    char path[100];
    const struct plan plan = {small, temporary(path, "harmed"), 1, 0, 1, false};
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        struct ll_sweep_state end;
        struct ll_diags diags = {0};
        must_run(&plan);
        struct ll_database *database = ll_database_open(path, true);
        assert_true(ll_database_run(database, harms[i]) && ll_database_close(database));
        if (run_plan(&plan, &end, &diags) || diags.count != 1 || !strstr(diags.kept[0].message, "damaged"))
            fail_msg("%s: %s", harms[i], diags.count ? diags.kept[0].message : "gone on with");
        ll_diags_release(&diags);
        clean(path);
    }
}

/* Who reads all the while keeps nobody from ending well. */
static void a_reader_does_not_disturb_the_end_of_a_sweep(void **state)
{
    (void)state;
    char path[100];
    struct ll_space *space = read_space(small);
    struct ll_diags diags = {0};
    const uint64_t hash = 1;
    struct ll_readings measured = {0};
    const struct ll_evaluation base = {.measured = &measured};
    const struct ll_store_facts facts = {NULL, 0, &hash, &base};
    enum ll_status status;
    struct ll_store *store = ll_store_open(temporary(path, "read"), space, &facts, true, &status, &diags);
    struct ll_database *reader = ll_database_open(path, false);
    assert_true(store && ll_database_run(reader, "BEGIN; SELECT count(*) FROM points"));
    assert_true(ll_store_close(store, &diags));
    assert_int_equal(diags.count, 0);
    ll_database_close(reader);
    ll_space_free(space);
    clean(path);
}

/* One that says it has a log, which was taken from it: a killed sweep's, say, that was copied alone. */
static void a_database_without_its_log_is_read_and_nothing_made(void **state)
{
    (void)state;
    char folder[100], path[120], beside[130];
    snprintf(folder, sizeof folder, "/tmp/leadline-test-%ld-no#log?", (long)getpid());
    snprintf(path, sizeof path, "%s/R%%41.db", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    must_run(&(struct plan){small, path, 1, 0, 1, true});
    struct ll_database *database = ll_database_open(path, true);
    assert_true(ll_database_run(database, "PRAGMA journal_mode = WAL"));
    assert_true(ll_database_close(database));
    check_same(path, undisturbed);
    snprintf(beside, sizeof beside, "%s-wal", path);
    assert_int_not_equal(access(beside, F_OK), 0);
    clean(path);
    rmdir(folder);
}

/* The sweep in a process of its own, killed after so many nanoseconds; whether it was done before. */
static bool run_and_kill(const struct plan *plan, uint64_t after_ns)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ll_sweep_state state;
        struct ll_diags diags = {0};
        _exit(run_plan(plan, &state, &diags) ? 0 : 1);
    }
    struct timespec wait = {0, (long)after_ns};
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

/* A larger space, so that there is something to kill. */
static const char large[] = "base: custom_example\n"
                            "traces: [" TRACE "]\n"
                            "vary:\n"
                            "  units.array.rows: [8, 16, 32, 64, 128]\n"
                            "  units.array.cols: [8, 16, 32, 64, 128]\n"
                            "  memory.sram.size: {from: 256KiB, to: 16MiB, times: 2}\n"
                            "  memory.hbm.bandwidth: {from: 100GB/s, to: 1TB/s, points: 10}\n"
                            "  clock: {from: 500MHz, to: 1GHz, points: 5}\n"
                            "objectives: [min time_s, min energy_j]\n";

static void a_sweep_killed_twenty_times_ends_as_if_it_had_not_been(void **state)
{
    (void)state;
    char whole[100], killed[100];
    uint64_t random = 2026, kills = 0, start_ns = ll_now_ns();
    struct plan plan = {large, temporary(whole, "whole"), 2, 0, 1, true};
    must_run(&plan);
    uint64_t whole_ns = ll_now_ns() - start_ns;
    plan.path = temporary(killed, "killed");
    for (int i = 0; i < 20; i++) {
        plan.fresh = i == 0;
        kills += !run_and_kill(&plan, 1 + ll_random_below(&random, whole_ns / 4));
    }
    plan.fresh = false;
    struct ll_sweep_state end = must_run(&plan);
    assert_true(kills > 0 && end.known > 0);
    assert_int_equal(end.known + end.evaluated, 5 * 5 * 7 * 10 * 5);
    check_same(killed, whole);
    clean(whole);
    clean(killed);
}

/* In a process that may write no file larger than this: what was committed stays, the rest follows later. */
static void a_full_disk_loses_nothing_that_was_committed(void **state)
{
    (void)state;
    char path[100];
    struct plan plan = {small, temporary(path, "full"), 1, 0, 1, true};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ll_sweep_state end;
        struct ll_diags diags = {0};
        struct rlimit limit = {100 << 10, 100 << 10};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(!run_plan(&plan, &end, &diags) && diags.count > 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    plan.fresh = false;
    must_run(&plan);
    check_same(path, undisturbed);
    clean(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_sim_with_set_bit_for_bit),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(shards_merged_are_the_whole),
        cmocka_unit_test(results_of_other_code_are_refused),
        cmocka_unit_test(workloads_have_their_own_columns_and_a_geometric_mean),
        cmocka_unit_test(the_mean_of_equal_values_is_that_value),
        cmocka_unit_test(a_point_without_a_finite_objective_is_not_valid),
        cmocka_unit_test(a_point_without_a_finite_objective_wins_nothing),
        cmocka_unit_test(a_finished_sweep_evaluates_nothing_again),
        cmocka_unit_test(the_database_of_another_sweep_is_refused),
        cmocka_unit_test(a_database_that_does_not_say_of_which_sweep_is_refused),
        cmocka_unit_test(one_sweep_at_a_time_writes_a_database),
        cmocka_unit_test(a_damaged_database_is_not_gone_on_with),
        cmocka_unit_test(a_reader_does_not_disturb_the_end_of_a_sweep),
        cmocka_unit_test(a_database_without_its_log_is_read_and_nothing_made),
        cmocka_unit_test(a_sweep_killed_twenty_times_ends_as_if_it_had_not_been),
        cmocka_unit_test(a_full_disk_loses_nothing_that_was_committed),
    };
    return cmocka_run_group_tests(tests, make_undisturbed, remove_undisturbed);
}
