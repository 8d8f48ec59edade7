/* SPDX-License-Identifier: Apache-2.0 */
/* Several workers on one sweep, each with a part of the database: here threads, which share a counter and add
 * up behind barriers as processes do through MPI. */
#include "check.h"

#include "sim/explore/sweep.h"
#include "tracer/format/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, MOST_VALUES = 4096 };

static const char grid[] = "base: custom_example\n"
                           "traces: [traces/alexnet_infer_b1.llt]\n"
                           "vary:\n"
                           "  units.array.rows: {from: 8, to: 64, by: 8}\n"
                           "  units.array.cols: {from: 8, to: 64, by: 8}\n"
                           "  clock: {from: 500MHz, to: 2GHz, points: 6}\n"
                           "objectives: [min time_s, min area_mm2]\n";
static const char learning[] = "base: custom_example\n"
                               "traces: [traces/alexnet_infer_b1.llt]\n"
                               "vary:\n"
                               "  units.array.rows: {from: 8, to: 64, by: 8}\n"
                               "  units.array.cols: {from: 8, to: 64, by: 8}\n"
                               "  clock: {from: 500MHz, to: 2GHz, points: 6}\n"
                               "objectives: [min time_s, min area_mm2]\n"
                               "search: {kind: evolve, points: 120, seed: 2}\n";

static struct ll_trace *bring(void *context, const struct ll_space_workload *workload,
                              const struct ll_space_setting *settings, size_t count, struct ll_diags *diags)
{
    enum ll_status status;
    (void)context, (void)settings, (void)count;
    return ll_trace_read(workload->file, diags, &status);
}

/* A sweep from its text into a database; what came of it. */
static struct ll_sweep_state sweep_into(const char *text, const char *path, const struct ll_sweep_crew *crew)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_space *space = ll_space_parse(text, strlen(text), "space.yaml", folders, diags);
    struct ll_evaluator *evaluator = ll_evaluator_new(space, bring, NULL, NULL, diags);
    struct ll_readings measured;
    struct ll_evaluation base = {.measured = &measured};
    assert_non_null(evaluator);
    ll_evaluator_base(evaluator, &base);
    struct ll_store_facts facts = {NULL, 0, ll_evaluator_workload_hashes(evaluator), &base};
    enum ll_status status;
    struct ll_store *store = ll_store_open(path, space, &facts, false, &status, diags);
    struct ll_sweep sweep = {
        .space = space, .evaluator = evaluator, .store = store, .shards = 1, .crew = crew};
    assert_true(store && ll_sweep_run(&sweep, diags));
    assert_true(ll_store_close(store, diags));
    ll_evaluator_free(evaluator);
    ll_space_free(space);
    ll_diags_release(diags);
    free(diags);
    return sweep.state;
}

/* What the workers share. */
static struct {
    atomic_uint_fast64_t pieces;
    pthread_barrier_t all;
    pthread_mutex_t lock;
    double sums[MOST_VALUES];
} shared;

/* The first worker comes late, as one whose computer is slower. */
static uint64_t take(void *context)
{
    const struct ll_sweep_crew *crew = context;
    const struct timespec late = {.tv_nsec = 20000000};
    if (crew->rank == 0)
        nanosleep(&late, NULL);
    return atomic_fetch_add(&shared.pieces, 1);
}

static void add_up(void *context, double *values, size_t count)
{
    (void)context;
    assert_true(count <= MOST_VALUES);
    pthread_barrier_wait(&shared.all);
    pthread_mutex_lock(&shared.lock);
    for (size_t i = 0; i < count; i++)
        shared.sums[i] += values[i];
    pthread_mutex_unlock(&shared.lock);
    pthread_barrier_wait(&shared.all);
    memcpy(values, shared.sums, count * sizeof *values);
    if (pthread_barrier_wait(&shared.all) == PTHREAD_BARRIER_SERIAL_THREAD)
        memset(shared.sums, 0, sizeof shared.sums);
    pthread_barrier_wait(&shared.all);
}

struct worker {
    pthread_t thread;
    struct ll_sweep_crew crew;
    const char *text, *part;
    struct ll_sweep_state state;
};

static void *work(void *context)
{
    struct worker *worker = context;
    worker->state = sweep_into(worker->text, worker->part, &worker->crew);
    return NULL;
}

/* All of them at once; how many points they evaluated, and how many they knew, added up. */
static struct ll_sweep_state work_together(const char *text, const char *output, struct ll_arena *arena)
{
    struct worker workers[WORKERS];
    struct ll_sweep_state all = {0};
    struct ll_diags diags = {0};
    uint64_t most = 0;
    memset(&shared, 0, sizeof shared);
    pthread_barrier_init(&shared.all, NULL, WORKERS);
    pthread_mutex_init(&shared.lock, NULL);
    assert_true(ll_parts_join(output, false, arena, &diags));
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.crew = {.rank = i, .size = WORKERS, .take = take, .add_up = add_up},
                                     .text = text,
                                     .part = ll_part_path(output, i, arena)};
        assert_true(ll_part_begin(output, workers[i].part, &diags));
    }
    for (unsigned i = 0; i < WORKERS; i++)
        workers[i].crew.context = &workers[i].crew;
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        all.evaluated += workers[i].state.evaluated;
        all.known += workers[i].state.known;
        most = ll_max(most, workers[i].state.evaluated);
    }
    assert_true((double)most <= ceil((1 + LL_MOST_ABOVE_MEAN) * (double)all.evaluated / WORKERS));
    pthread_mutex_destroy(&shared.lock);
    pthread_barrier_destroy(&shared.all);
    ll_diags_release(&diags);
    return all;
}

static void check_same(const char *path, const char *other, struct ll_arena *arena)
{
    struct ll_diags diags = {0};
    const struct ll_data_frame *a = ll_data_frame_read(path, arena, &diags),
                               *b = ll_data_frame_read(other, arena, &diags);
    assert_true(a && b);
    assert_int_equal(a->row_count, b->row_count);
    assert_int_equal(a->column_count, b->column_count);
    assert_memory_equal(a->numbers, b->numbers, a->row_count * sizeof *a->numbers);
    for (size_t c = 0; c < a->column_count; c++)
        assert_memory_equal(a->columns[c].numbers, b->columns[c].numbers, a->row_count * sizeof(double));
    ll_diags_release(&diags);
}

static const char *in_folder(struct ll_arena *arena, const char *name)
{
    return ll_format(arena, "/tmp/leadline-parts-%ld-%s.db", (long)getpid(), name);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void check_together(const char *text, bool left_behind)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const char *alone = in_folder(&arena, "alone"), *output = in_folder(&arena, "together");
    struct ll_sweep_state expected = sweep_into(text, alone, NULL);
    if (left_behind) /* what a killed worker leaves behind */
        assert_int_equal(rename(alone, ll_part_path(output, 7, &arena)), 0);
    struct ll_sweep_state all = work_together(text, output, &arena);
    assert_int_equal(all.evaluated, left_behind ? 0 : expected.evaluated);
    assert_true(ll_parts_join(output, false, &arena, &diags));
    if (left_behind)
        sweep_into(text, alone, NULL);
    check_same(alone, output, &arena);
    for (unsigned i = 0; i < 8; i++)
        assert_false(is_there(ll_part_path(output, i, &arena)));
    assert_true(ll_parts_join(output, true, &arena, &diags)); /* fresh: all goes */
    assert_false(is_there(output));
    unlink(alone);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void what_is_no_part_is_not_thrown_away(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const char *output = in_folder(&arena, "kept"), *part = ll_part_path(output, 3, &arena);
    sweep_into(grid, output, NULL);
    FILE *letter = fopen(part, "w");
    assert_non_null(letter);
    fputs("Dear all", letter);
    fclose(letter);
    assert_false(ll_parts_join(output, true, &arena, &diags));
    assert_int_equal(diags.count, 1);
    assert_true(is_there(output) && is_there(part));
    unlink(output);
    unlink(part);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void workers_find_together_what_one_finds(void **state)
{
    (void)state;
    check_together(grid, false);
}

static void workers_that_learn_go_the_way_of_one(void **state)
{
    (void)state;
    check_together(learning, false);
}

static void a_part_that_was_left_behind_is_known_to_all(void **state)
{
    (void)state;
    check_together(grid, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_find_together_what_one_finds),
        cmocka_unit_test(workers_that_learn_go_the_way_of_one),
        cmocka_unit_test(a_part_that_was_left_behind_is_known_to_all),
        cmocka_unit_test(what_is_no_part_is_not_thrown_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
