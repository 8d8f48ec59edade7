/* SPDX-License-Identifier: Apache-2.0 */
/* A step of several replays: what comes three times counts three times, and who waits meanwhile only draws
 * power. */
#include "check.h"

#include "scene.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"

static const char yaml[] =
    "name: node\nclock: 1GHz\nunits:\n  - {name: simd, model: vector, lanes: 8, flops: {f32: 2}}\n"
    "memory:\n  - {name: dram, size: 64GiB, bandwidth: 100GB/s}\n"
    "network:\n  - {name: links, topology: switch, devices: 8, bandwidth: 8GB/s, latency: 1us}\n"
    "energy: {mac_pj: {f32: 2}, dram_pj_per_byte: 5, static_w: 20}\n"
    "software: {collectives: ring, op_overhead: 1us}\n";

/* A product, an exchange of what it gives, and an activation of it. */
static struct scene played(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    const struct ll_attr all = {.key = LL_ATTR_DEVICES, .count = 8};
    toy_open(toy, path);
    uint32_t w = toy_bring(toy, toy_matrix(256, 256), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t y =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){w, w}, 2, NULL, 0, LL_ACTIVATION, NULL);
    y = toy_op(toy, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, &y, 1, &all, 1, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &y, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    struct scene scene = open_scene(toy_close(toy, path), yaml);
    play(&scene);
    assert_non_null(scene.result);
    return scene;
}

/* Three times of a second each and a second of waiting, were a replay a second long. */
static void what_comes_three_times_counts_three_times(void **state)
{
    (void)state;
    struct scene scene = played();
    const struct ll_result *one = scene.result;
    const struct ll_term term = {.result = one, .times = 3};
    const struct ll_result *sum =
        ll_combine(&term, 1, 4 * one->time_s, one->time_s, one->footprint, &scene.arena);
    assert_near(sum->time_s, 4 * one->time_s, 0);
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        assert_near(sum->shares[i], (3 * one->shares[i] + (i == LL_BOUND_DEPENDENCY)) / 4, 1e-12);
    assert_near(sum->flop_utilization, one->flop_utilization * 3 / 4, 1e-12);
    assert_near(sum->level_share[0], one->level_share[0] * 3 / 4, 1e-12);
    assert_near(sum->level_bytes[0], 3 * one->level_bytes[0], 1e-12);
    assert_near(sum->device_active_s, 3 * one->device_active_s, 1e-12);
    assert_true(one->starting_s > 0);
    assert_near(sum->starting_s, 3 * one->starting_s, 1e-12);
    assert_near(sum->prepared->bytes, 3 * one->prepared->bytes, 1e-12);
    close_scene(&scene);
}

static void exchanges_are_summed_by_level(void **state)
{
    (void)state;
    struct scene scene = played();
    const struct ll_result *one = scene.result;
    const struct ll_term term = {.result = one, .times = 3};
    const struct ll_exposure *sum =
        &ll_combine(&term, 1, 4 * one->time_s, one->time_s, one->footprint, &scene.arena)->network;
    assert_true(one->network.levels[0].share > 0 && one->network.levels[0].exposed_s > 0);
    assert_near(sum->busy_s, 3 * one->network.busy_s, 1e-12);
    assert_near(sum->exposed_s, 3 * one->network.exposed_s, 1e-12);
    assert_near(sum->levels[0].busy_s, 3 * one->network.levels[0].busy_s, 1e-12);
    assert_near(sum->levels[0].exposed_s, 3 * one->network.levels[0].exposed_s, 1e-12);
    assert_near(sum->levels[0].sent_bytes, 3 * one->network.levels[0].sent_bytes, 1e-12);
    assert_near(sum->levels[0].share, one->network.levels[0].share * 3 / 4, 1e-12);
    close_scene(&scene);
}

/* Nothing waits: a replay and two with 1 MB more of the memory each, which take half as long again. */
static void more_bytes_are_the_outermost_memorys(void **state)
{
    (void)state;
    struct scene scene = played();
    const struct ll_result *one = scene.result;
    const struct ll_term terms[] = {{.result = one, .times = 1}, {one, 2, 1e6, one->time_s / 2, NULL}};
    const struct ll_result *sum = ll_combine(terms, 2, 4 * one->time_s, 0, one->footprint, &scene.arena);
    uint32_t dram = LL_BOUND_LEVEL + 0;
    assert_near(sum->level_bytes[0], 3 * one->level_bytes[0] + 2e6, 1e-12);
    assert_near(sum->level_share[0], (3 * one->level_share[0] + 1) / 4, 1e-12);
    assert_near(sum->shares[dram], (3 * one->shares[dram] + 1) / 4, 1e-12);
    assert_near(sum->shares[LL_BOUND_COMPUTE], 3 * one->shares[LL_BOUND_COMPUTE] / 4, 1e-12);
    assert_near(sum->energy.level_j[0], 3 * one->energy.level_j[0] + 2e6 * 5e-12, 1e-12);
    assert_near(sum->energy.static_j, 20 * 4 * one->time_s, 1e-12);
    assert_near(sum->energy_j, 3 * (one->energy_j - one->energy.static_j) + 2e6 * 5e-12 + 80 * one->time_s,
                1e-12);
    close_scene(&scene);
}

/* Of each kind once, the longest first. */
static void kinds_are_joined(void **state)
{
    (void)state;
    struct scene scene = played();
    const struct ll_result *one = scene.result;
    const struct ll_term terms[] = {{.result = one, .times = 1}, {.result = one, .times = 2}};
    const struct ll_result *sum = ll_combine(terms, 2, 3 * one->time_s, 0, one->footprint, &scene.arena);
    assert_int_equal(sum->kind_count, one->kind_count);
    for (uint64_t k = 0; k < one->kind_count; k++) {
        assert_int_equal(sum->kinds[k].op_kind, one->kinds[k].op_kind);
        assert_near(sum->kinds[k].count, 3 * one->kinds[k].count, 0);
        assert_near(sum->kinds[k].time_s, 3 * one->kinds[k].time_s, 1e-12);
        assert_near(sum->kinds[k].flops, 3 * one->kinds[k].flops, 1e-12);
        assert_near(sum->kinds[k].bytes, 3 * one->kinds[k].bytes, 1e-12);
        assert_near(sum->kinds[k].share, one->kinds[k].share, 1e-12);
    }
    close_scene(&scene);
}

/* A second at 6 B/s and twice three seconds at 2 B/s are 18 B in 7 s; another bound for 5 s is shorter. */
static void rates_are_of_all_that_the_bound_bound(void **state)
{
    (void)state;
    struct scene scene = played();
    struct ll_kind_result kinds[] = {
        {.op_kind = LL_OP_ALL_REDUCE, .bound = LL_BOUND_NETWORK, .rate = 6, .bound_s = 1, .time_s = 1},
        {.op_kind = LL_OP_ALL_REDUCE, .bound = LL_BOUND_NETWORK, .rate = 2, .bound_s = 3, .time_s = 4},
        {.op_kind = LL_OP_ALL_REDUCE, .bound = LL_BOUND_HOST, .rate = 9, .bound_s = 5, .time_s = 5}};
    struct ll_result results[] = {*scene.result, *scene.result, *scene.result};
    struct ll_term terms[3];
    for (int i = 0; i < 3; i++) {
        results[i].kinds = &kinds[i];
        results[i].kind_count = 1;
        terms[i] = (struct ll_term){.result = &results[i], .times = i == 1 ? 2 : 1};
    }
    const struct ll_kind_result *kind =
        ll_combine(terms, 3, 100, 0, scene.result->footprint, &scene.arena)->kinds;
    assert_int_equal(kind->bound, LL_BOUND_NETWORK);
    assert_near(kind->rate, 18.0 / 7, 1e-12);
    assert_near(kind->bound_s, 7, 1e-12);
    terms[2].times = 2;
    kind = ll_combine(terms, 3, 100, 0, scene.result->footprint, &scene.arena)->kinds;
    assert_int_equal(kind->bound, LL_BOUND_HOST);
    assert_near(kind->rate, 9, 1e-12);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_three_times_counts_three_times),
        cmocka_unit_test(exchanges_are_summed_by_level),
        cmocka_unit_test(more_bytes_are_the_outermost_memorys),
        cmocka_unit_test(rates_are_of_all_that_the_bound_bound),
        cmocka_unit_test(kinds_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
