/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of two ranks on a machine that takes a second for each product, and a second for each message. */
#include "check.h"

#include "scene.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"

enum { SIDE = 1000 };

/* 10^9 multiply-accumulates at one a nanosecond; 4 MB at 4 MB/s. */
static const char yaml[] =
    "name: slow\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, macs: {f32: 1}}\n"
    "  - {name: simd, model: vector, lanes: 1000, flops: {f32: 1000}}\n"
    "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000TB/s}\n"
    "network:\n  - {name: link, topology: switch, devices: 2, bandwidth: 4MB/s}\n"
    "software: {collectives: direct}\nenergy: {mac_pj: {f32: 3000}, static_w: 5}\n";

/* A product, a send to or a receive from the other rank, a sum among both; of a rank. `after`: the line that
 * it waits for, or -1. */
struct line {
    enum ll_op_kind kind;
    uint32_t rank;
    int after;
};

static void record_line(struct toy *toy, const struct line *line, uint32_t weight, uint32_t desc)
{
    bool two = line->kind == LL_OP_SEND || line->kind == LL_OP_RECEIVE;
    const struct ll_attr attr = {.key = two ? LL_ATTR_PEER : LL_ATTR_DEVICES,
                                 .count = two ? (line->rank == 0 ? 1 : -1) : 2};
    const uint32_t inputs[] = {weight, weight}, after = (uint32_t)line->after;
    const struct ll_record record = {.kind = line->kind,
                                     .phase = LL_PHASE_FORWARD,
                                     .scope = toy->scope,
                                     .thread = line->rank,
                                     .inputs = inputs,
                                     .input_count = line->kind == LL_OP_MATMUL ? 2 : 1,
                                     .outputs = &desc,
                                     .output_count = 1,
                                     .attrs = &attr,
                                     .attr_count = line->kind != LL_OP_MATMUL,
                                     .controls = &after,
                                     .control_count = line->after >= 0};
    ll_recorder_op(toy->recorder, &record);
}

static struct scene open_lines_on(const struct line *lines, unsigned count, const char *machine)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    const struct ll_shape shape = toy_matrix(SIDE, SIDE);
    uint32_t weight = toy_bring(toy, shape, LL_WEIGHT),
             desc = ll_recorder_desc(toy->recorder, "made", &shape, LL_ACTIVATION);
    for (unsigned i = 0; i < count; i++)
        record_line(toy, &lines[i], weight, desc);
    ll_recorder_facts(toy->recorder, &(struct ll_fact){"ranks", "2"}, 1);
    return open_scene(toy_close(toy, path), machine);
}

static struct scene open_lines(const struct line *lines, unsigned count)
{
    return open_lines_on(lines, count, yaml);
}

static const struct ll_multi_rank_result *replay(struct scene *scene)
{
    assert_int_equal(ll_trace_ranks(scene->trace), 2);
    const struct ll_prepared *prepared = ll_prepare(scene->trace, &scene->arena, &scene->diags);
    return ll_multi_rank_replay(prepared, scene->machine, &scene->remembered, &scene->arena, &scene->diags);
}

static double summed(const struct ll_result *result, bool flops)
{
    double sum = 0;
    for (uint64_t i = 0; i < result->kind_count; i++)
        sum += flops ? result->kinds[i].flops : result->kinds[i].bytes;
    return sum;
}

/* Rank 0 works and sends, rank 1 receives and works: 1 + 1 + 1 s, of which either device works one. */
static void ranks_run_side_by_side_and_wait(void **state)
{
    (void)state;
    const struct line lines[] = {
        {LL_OP_MATMUL, 0, -1}, {LL_OP_SEND, 0, 0}, {LL_OP_RECEIVE, 1, -1}, {LL_OP_MATMUL, 1, 2}};
    struct scene scene = open_lines(lines, 4);
    const struct ll_multi_rank_result *multi_rank = replay(&scene);
    assert_non_null(multi_rank);
    assert_near(multi_rank->result->time_s, 3, 1e-3);
    assert_near(multi_rank->ranks[0].end_s, 2, 1e-3);
    assert_near(multi_rank->ranks[1].busy_s, 1, 1e-3);
    assert_int_equal(multi_rank->last, 1);
    assert_near(multi_rank->result->shares[LL_BOUND_COMPUTE], 2.0 / 3, 1e-3);
    assert_near(multi_rank->result->shares[LL_BOUND_NETWORK], 1.0 / 3, 1e-3);
    assert_near(multi_rank->result->network.levels[0].share, 1.0 / 3, 1e-3); /* there is no other level */
    assert_near(multi_rank->result->prepared->bytes, summed(multi_rank->result, false), 1e-12);
    /* two products of 2 10^9 FLOPs, in 3 s of two devices whose lanes could do 10^15 a second */
    assert_near(multi_rank->result->flop_utilization, 2 * 2e9 / (3 * 2 * 1e15), 1e-3);
    assert_near(multi_rank->result->prepared->flops, 2e9, 1e-12);
    assert_near(summed(multi_rank->result, true), 2e9, 1e-12);
    assert_near(multi_rank->result->network.levels[0].sent_bytes, 4e6 / 2, 1e-12);
    assert_near(multi_rank->result->network.busy_s, 1, 1e-3);
    assert_near(multi_rank->result->network.levels[0].exposed_s, 1, 1e-3);
    assert_near(multi_rank->result->level_bytes[0], 3 * 4e6, 1e-12); /* of its product */
    assert_near(multi_rank->result->level_share[0], multi_rank->result->level_bytes[0] / (3 * 1e15), 1e-3);
    assert_near(multi_rank->result->device_active_s, 1, 1e-3);
    close_scene(&scene);
}

/* Of eight devices two are ranks of the trace: nobody else sends, so nothing goes from node to node, where a
 * message would take four seconds. */
static void a_message_is_of_ranks_that_send_alone(void **state)
{
    (void)state;
    static const char nodes[] =
        "name: slow\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, macs: {f32: 1}}\n"
        "  - {name: simd, model: vector, lanes: 1000, flops: {f32: 1000}}\n"
        "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000TB/s}\nnetwork:\n"
        "  - {name: node, topology: switch, devices: 2, bandwidth: 4MB/s}\n"
        "  - {name: between, topology: switch, devices: 4, bandwidth: 1MB/s}\n";
    const struct line lines[] = {{LL_OP_SEND, 0, -1}, {LL_OP_RECEIVE, 1, -1}};
    struct scene scene = open_lines_on(lines, 2, nodes);
    const struct ll_multi_rank_result *multi_rank = replay(&scene);
    assert_non_null(multi_rank);
    assert_near(multi_rank->result->time_s, 1, 1e-3);
    assert_int_equal(multi_rank->result->prices[scene.trace->ops[0].signature].groups, 1);
    assert_int_equal(multi_rank->result->prices[scene.trace->ops[1].signature].groups, 1);
    close_scene(&scene);
}

/* Of six devices two are ranks of the trace. Of groups of two on all six, one would lie on both nodes. */
static void a_sum_is_of_ranks_alone(void **state)
{
    (void)state;
    static const char nodes[] =
        "name: slow\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, macs: {f32: 1}}\n"
        "  - {name: simd, model: vector, lanes: 1000, flops: {f32: 1000}}\n"
        "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000TB/s}\nnetwork:\n"
        "  - {name: node, topology: switch, devices: 3, bandwidth: 4MB/s}\n"
        "  - {name: between, topology: switch, devices: 2, bandwidth: 1MB/s}\n"
        "software: {collectives: direct}\n";
    const struct line lines[] = {{LL_OP_ALL_REDUCE, 0, -1}, {LL_OP_ALL_REDUCE, 1, -1}};
    struct scene scene = open_lines_on(lines, 2, nodes);
    const struct ll_multi_rank_result *multi_rank = replay(&scene);
    assert_non_null(multi_rank);
    assert_near(multi_rank->result->time_s, 1, 1e-3); /* 2 (M / 2) / B */
    assert_int_equal(multi_rank->result->prices[scene.trace->ops[0].signature].groups, 1);
    close_scene(&scene);
}

/* Rank 1 comes to the sum a second late; it takes 2 (M / 2) / B = 1 s. */
static void a_sum_waits_for_the_slowest(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_MATMUL, 0, -1},
                                 {LL_OP_ALL_REDUCE, 0, 0},
                                 {LL_OP_MATMUL, 1, -1},
                                 {LL_OP_MATMUL, 1, 2},
                                 {LL_OP_ALL_REDUCE, 1, 3}};
    struct scene scene = open_lines(lines, 5);
    const struct ll_multi_rank_result *multi_rank = replay(&scene);
    assert_non_null(multi_rank);
    assert_near(multi_rank->result->time_s, 3, 1e-3);
    assert_near(multi_rank->result->ops[1].start_s, 1, 1e-3);
    assert_near(multi_rank->result->ops[1].time_s, 2, 1e-3); /* a second of waiting */
    assert_near(multi_rank->result->network.busy_s, 1, 1e-3);
    assert_near(multi_rank->result->network.exposed_s, 1, 1e-3);
    assert_near(multi_rank->result->network.levels[0].exposed_s, 1, 1e-3);
    assert_near(multi_rank->result->ops[3].start_s, 1, 1e-3);
    close_scene(&scene);
}

/* The products took 2.5 s and 0.5 s when they were recorded; what is sent takes a second here. Rank 1 waits,
 * and has one product of which no time is known, which takes a second. */
static void ops_may_be_as_long_as_recorded(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_MATMUL, 0, -1},
                                 {LL_OP_SEND, 0, 0},
                                 {LL_OP_RECEIVE, 1, -1},
                                 {LL_OP_MATMUL, 1, 2},
                                 {LL_OP_MATMUL, 1, 3}};
    struct scene scene = open_lines(lines, 5);
    assert_null(ll_prepare_as_recorded(scene.trace, &scene.arena, &scene.diags));
    assert_non_null(strstr(scene.diags.kept[0].message, "no op has a recorded time"));
    scene.trace->ops[0].duration_ns = 2500000000;
    scene.trace->ops[1].duration_ns = 7000000000; /* of an exchange: simulated all the same */
    scene.trace->ops[3].duration_ns = 500000000;
    const struct ll_prepared *prepared = ll_prepare_as_recorded(scene.trace, &scene.arena, &scene.diags);
    assert_non_null(prepared);
    const struct ll_multi_rank_result *multi_rank =
        ll_multi_rank_replay(prepared, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
    assert_non_null(multi_rank);
    assert_near(multi_rank->result->time_s, 2.5 + 1 + 0.5 + 1, 1e-3);
    assert_near(multi_rank->ranks[0].end_s, 3.5, 1e-3);
    assert_near(multi_rank->ranks[1].busy_s, 1.5, 1e-3);
    assert_near(multi_rank->result->shares[LL_BOUND_NETWORK], 1.0 / 5, 1e-3);
    assert_near(multi_rank->result->network.levels[0].share, 1.0 / 5, 1e-3);
    close_scene(&scene);
}

/* Each rank has a weight of its own and makes as much of it; 10^9 multiply-accumulates of 3 nJ are 3 J, and a
 * device that takes 5 W does so for as long as the step lasts, a second. */
static void each_rank_has_memory_of_its_own(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    const struct ll_shape shape = toy_matrix(SIDE, SIDE);
    uint32_t desc = ll_recorder_desc(toy->recorder, "made", &shape, LL_ACTIVATION);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct line line = {LL_OP_MATMUL, rank, -1};
        record_line(toy, &line, toy_bring(toy, shape, LL_WEIGHT), desc);
    }
    ll_recorder_facts(toy->recorder, &(struct ll_fact){"ranks", "2"}, 1);
    struct scene scene = open_scene(toy_close(toy, path), yaml);
    const uint64_t bytes = 4 * SIDE * SIDE;
    scene.machine->levels[scene.machine->level_count - 1].size_bytes = 2 * bytes;
    const struct ll_multi_rank_result *multi_rank = replay(&scene);
    assert_non_null(multi_rank);
    assert_int_equal(multi_rank->result->footprint->peak_bytes, 2 * bytes);
    assert_int_equal(multi_rank->result->footprint->class_bytes[LL_WEIGHT], bytes);
    assert_true(multi_rank->result->fits);
    assert_near(multi_rank->result->energy_j, 3 + 5 * 1, 1e-3);
    assert_near(multi_rank->result->energy.compute_j, 3, 1e-3);
    close_scene(&scene);
}

static void what_never_comes_is_named(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_RECEIVE, 0, -1}, {LL_OP_MATMUL, 1, -1}};
    struct scene scene = open_lines(lines, 2);
    const struct ll_multi_rank_result *multi_rank = replay(&scene);
    assert_null(multi_rank);
    assert_int_equal(scene.diags.count, 1);
    assert_non_null(
        strstr(scene.diags.kept[0].message, "rank 0: `toy` receives from rank 1, which never sends"));
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_of_ranks_that_send_alone),
        cmocka_unit_test(a_sum_is_of_ranks_alone),
        cmocka_unit_test(ranks_run_side_by_side_and_wait),
        cmocka_unit_test(a_sum_waits_for_the_slowest),
        cmocka_unit_test(ops_may_be_as_long_as_recorded),
        cmocka_unit_test(each_rank_has_memory_of_its_own),
        cmocka_unit_test(what_never_comes_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
