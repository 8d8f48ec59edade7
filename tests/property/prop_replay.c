/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of simulation, on random traces and random machines.
 */
#include "check.h"
#include "gains.h"

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "random_machine.h"
#include "toy_trace.h"

#include <stdlib.h>

enum { CASES = 60 };

static uint64_t seed; /* of the first case */

struct scene {
    struct ll_arena arena;
    uint64_t seed;
    const char *yaml;
    struct ll_trace *trace;
    struct ll_machine *machine;
    const struct ll_prepared *prepared;
    const struct ll_result *result;
};

static struct ll_machine *read_machine(const char *yaml, const char *set_path, const char *set_value)
{
    static const char *const no_folders[] = {NULL};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_override override = {set_path, set_value};
    struct ll_machine *machine =
        ll_machine_parse(yaml, strlen(yaml), "random.yaml", no_folders, &override, set_path != NULL, diags);
    for (size_t i = 0; i < diags->kept_count; i++)
        print_error("%s\n%s\n", yaml, diags->kept[i].message);
    ll_diags_release(diags);
    free(diags);
    assert_non_null(machine);
    return machine;
}

static const struct ll_result *replay(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                      struct ll_arena *arena)
{
    struct ll_diags diags = {0};
    const struct ll_result *result = ll_replay(prepared, machine, arena, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n", diags.kept[i].message);
    ll_diags_release(&diags);
    assert_non_null(result);
    return result;
}

static struct scene open_scene(uint64_t trace_seed, const char *fusion)
{
    struct scene scene = {0};
    uint64_t random = trace_seed;
    struct ll_diags diags = {0};
    scene.trace = toy_trace(trace_seed);
    scene.seed = trace_seed;
    scene.yaml = ll_random_machine(&random, &scene.arena, fusion);
    scene.machine = read_machine(scene.yaml, NULL, NULL);
    scene.prepared = ll_prepare(scene.trace, &scene.arena, &diags);
    assert_non_null(scene.prepared);
    scene.result = replay(scene.prepared, scene.machine, &scene.arena);
    ll_diags_release(&diags);
    return scene;
}

static void close_scene(struct scene *scene)
{
    ll_machine_free(scene->machine);
    ll_trace_free(scene->trace);
    ll_arena_release(&scene->arena);
}

static void for_each_scene_fused(const char *fusion, void (*law)(const struct scene *scene))
{
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(seed + i, fusion);
        law(&scene);
        close_scene(&scene);
    }
}

static void for_each_scene(void (*law)(const struct scene *scene))
{
    for_each_scene_fused("none", law);
}

/* Every step does all of its FLOPs, and no unit is faster than the fastest. */
static void check_peak(const struct scene *scene)
{
    double peak = ll_machine_peak_flops(scene->machine, LL_F32);
    assert_true(scene->result->time_s * (1 + 1e-12) >= scene->prepared->flops / peak);
}

static void time_is_at_least_flops_over_peak(void **state)
{
    (void)state;
    for_each_scene(check_peak);
}

/* Every weight is read at least once in the whole trace, from where it lies in the beginning. */
static void check_compulsory(const struct scene *scene)
{
    double bytes = 0;
    for (uint64_t i = 0; i < scene->trace->tensor_count; i++)
        if (scene->trace->tensors[i].producer == LL_NONE)
            bytes += (double)ll_size_bytes(&scene->trace->descs[scene->trace->tensors[i].desc].shape);
    double whole_s = scene->result->time_s * (double)scene->prepared->steps;
    assert_true(whole_s * (1 + 1e-12) >= bytes / ll_machine_memory_Bps(scene->machine));
}

static void time_is_at_least_compulsory_bytes_over_the_outermost_bandwidth(void **state)
{
    (void)state;
    for_each_scene(check_compulsory);
}

static void check_series(const struct scene *scene)
{
    double series_s = 0;
    for (uint32_t i = 0; i < scene->prepared->end_op - scene->prepared->first_op; i++)
        series_s += scene->result->ops[i].time_s;
    assert_true(scene->result->time_s * (double)scene->prepared->steps <= series_s * (1 + 1e-12));
}

static void time_is_at_most_all_ops_in_series(void **state)
{
    (void)state;
    for_each_scene(check_series);
}

static void check_shares(const struct scene *scene)
{
    double sum = 0;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++) {
        assert_true(scene->result->shares[i] >= -1e-12);
        sum += scene->result->shares[i];
    }
    assert_near(sum, 1, 1e-12);
}

static void shares_sum_to_one(void **state)
{
    (void)state;
    for_each_scene(check_shares);
}

static void check_more(const struct scene *scene)
{
    check_gains(scene->result, scene->seed, scene->yaml);
}

static void more_of_anything_is_never_slower(void **state)
{
    (void)state;
    for_each_scene(check_more);
}

static void nor_where_ops_are_fused(void **state)
{
    (void)state;
    for_each_scene_fused("elementwise", check_more);
    for_each_scene_fused("chains", check_more);
}

static void an_op_starts_after_all_that_it_depends_on(void **state)
{
    (void)state;
    struct scene scene = open_scene(seed, "none");
    const struct ll_deps *deps = scene.prepared->deps;
    for (uint32_t seq = scene.prepared->first_op; seq < scene.prepared->end_op; seq++)
        for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++) {
            const struct ll_op_result *before = &scene.result->ops[deps->ops[i] - scene.prepared->first_op];
            assert_true(scene.result->ops[seq - scene.prepared->first_op].start_s >=
                        before->start_s + before->time_s);
        }
    close_scene(&scene);
}

static void two_replays_are_equal_bit_for_bit(void **state)
{
    (void)state;
    struct scene scene = open_scene(seed, "none");
    const struct ll_result *again = replay(scene.prepared, scene.machine, &scene.arena);
    size_t size = (scene.prepared->end_op - scene.prepared->first_op) * sizeof *again->ops;
    assert_memory_equal(again->ops, scene.result->ops, size);
    assert_memory_equal(again->shares, scene.result->shares, sizeof again->shares);
    close_scene(&scene);
}

static void fusion_is_never_slower_and_removes_traffic(void **state)
{
    (void)state;
    double plain_bytes = 0, fused_bytes = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene plain = open_scene(seed + i, "none"), fused = open_scene(seed + i, "elementwise"),
                     chained = open_scene(seed + i, "chains");
        assert_true(fused.result->time_s <= plain.result->time_s * (1 + 1e-12));
        assert_true(chained.result->time_s <= plain.result->time_s * (1 + 1e-12));
        assert_true(fused.result->time_s <= chained.result->time_s * (1 + 1e-12));
        for (uint32_t op = 0; op < plain.prepared->end_op - plain.prepared->first_op; op++) {
            uint32_t seq = plain.prepared->first_op + op;
            plain_bytes += ll_replay_detail(plain.result, seq).traffic_bytes[1];
            fused_bytes += ll_replay_detail(fused.result, seq).traffic_bytes[1];
        }
        close_scene(&plain);
        close_scene(&fused);
        close_scene(&chained);
    }
    assert_true(fused_bytes < plain_bytes);
}

int main(void)
{
    seed = ll_seed(20240607);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_at_least_flops_over_peak),
        cmocka_unit_test(time_is_at_least_compulsory_bytes_over_the_outermost_bandwidth),
        cmocka_unit_test(time_is_at_most_all_ops_in_series),
        cmocka_unit_test(shares_sum_to_one),
        cmocka_unit_test(more_of_anything_is_never_slower),
        cmocka_unit_test(nor_where_ops_are_fused),
        cmocka_unit_test(an_op_starts_after_all_that_it_depends_on),
        cmocka_unit_test(two_replays_are_equal_bit_for_bit),
        cmocka_unit_test(fusion_is_never_slower_and_removes_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
