/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules small enough to be drawn on paper: a step loads its input from the host (h seconds), then
 * computes one product (c seconds). */
#include "check.h"

#include "sim/replay/replay.h"
#include "toy_trace.h"

enum { SIDE = 64, STEPS = 4 };

static const char yaml[] = "name: paper\nclock: 1GHz\nunits:\n"
                           "  - {name: array, model: matrix, macs: {f32: 64}}\n"
                           "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2, i32: 2}}\n"
                           "memory:\n  - {name: dram, size: 1GiB, bandwidth: 1000GB/s}\n"
                           "software: {op_overhead: 1us}\nhost: {bandwidth: 1GB/s, latency: 1us}\n";

static struct ll_trace *record_steps(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t weight = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_WEIGHT);
    const struct ll_shape image = toy_matrix(SIDE, SIDE);
    for (int i = 0; i < STEPS; i++) {
        ll_recorder_step_begin(toy->recorder);
        uint32_t x = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &image);
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, weight}, 2, NULL, 0, LL_ACTIVATION, NULL);
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

struct scene {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_trace *trace;
    struct ll_machine *machine;
    const struct ll_result *result;
};

static void open_scene(struct scene *scene, const char *path, const char *value)
{
    static const char *const no_folders[] = {NULL};
    const struct ll_override set = {path, value};
    scene->trace = record_steps();
    scene->machine =
        ll_machine_parse(yaml, strlen(yaml), "paper.yaml", no_folders, &set, path != NULL, &scene->diags);
    assert_non_null(scene->machine);
    const struct ll_prepared *prepared = ll_prepare(scene->trace, &scene->arena, &scene->diags);
    assert_non_null(prepared);
    scene->result = ll_replay(prepared, scene->machine, &scene->arena, &scene->diags);
    assert_non_null(scene->result);
}

static void close_scene(struct scene *scene)
{
    ll_machine_free(scene->machine);
    ll_trace_free(scene->trace);
    ll_diags_release(&scene->diags);
    ll_arena_release(&scene->arena);
}

/* 64^3 multiply-accumulates at 64 a cycle and 1 GHz; 16 KiB over 1 GB/s and the latency. */
static const double product_s = 4096e-9, input_s = 16384e-9 + 1e-6;

static void an_op_takes_its_cycles_and_its_start(void **state)
{
    (void)state;
    struct scene scene = {0};
    open_scene(&scene, NULL, NULL);
    const struct ll_op_result *input = &scene.result->ops[0], *product = &scene.result->ops[1];
    assert_near(input->time_s, input_s, 1e-12);
    assert_near(product->compute_cycles, 4096, 1e-12);
    assert_true(product->time_s >= product_s + 1e-6);
    assert_true(product->time_s < product_s + 1e-6 + 3 * 16384 / 1e12 + 1e-12);
    close_scene(&scene);
}

/* h h h h          the inputs follow one another,
 *  c  c  c c       each product runs while the next input loads: 4 h + c */
static void a_slow_host_is_waited_for(void **state)
{
    (void)state;
    struct scene scene = {0};
    open_scene(&scene, NULL, NULL);
    double c = scene.result->ops[1].time_s;
    assert_near(scene.result->time_s * STEPS, STEPS * input_s + c, 1e-12);
    assert_near(scene.result->shares[LL_BOUND_HOST], STEPS * input_s / (STEPS * input_s + c), 1e-12);
    close_scene(&scene);
}

/* h h . h .        two inputs fit in the buffer, the third waits for the first product's end:
 *  cccccccccc      h + 4 c */
static void a_fast_host_stays_two_steps_ahead(void **state)
{
    (void)state;
    struct scene scene = {0};
    open_scene(&scene, "host.bandwidth", "16GB/s");
    double c = scene.result->ops[1].time_s, h = scene.result->ops[0].time_s;
    assert_true(h < c);
    assert_near(scene.result->time_s * STEPS, h + STEPS * c, 1e-12);
    double first_end_s = scene.result->ops[1].start_s + scene.result->ops[1].time_s;
    assert_near(scene.result->ops[4].start_s, first_end_s, 1e-12);
    close_scene(&scene);
}

static void starting_ops_is_a_share_of_its_own(void **state)
{
    (void)state;
    struct scene scene = {0};
    open_scene(&scene, "host.bandwidth", "16GB/s");
    assert_near(scene.result->shares[LL_BOUND_OVERHEAD] * scene.result->time_s, 1e-6, 1e-9);
    assert_near(scene.result->shares[LL_BOUND_COMPUTE] * scene.result->time_s, product_s, 1e-2);
    close_scene(&scene);
}

static void a_machine_without_a_unit_for_an_op_is_refused_by_name(void **state)
{
    (void)state;
    struct scene scene = {0};
    static const char *const no_folders[] = {NULL};
    static const char lame[] = "name: lame\nclock: 1GHz\nunits:\n"
                               "  - {name: array, model: matrix, macs: {bf16: 64}}\n"
                               "  - {name: simd, model: vector, lanes: 8, flops: {bf16: 2}}\n"
                               "memory:\n  - {name: dram, size: 1GiB, bandwidth: 1GB/s}\n";
    scene.trace = record_steps();
    scene.machine = ll_machine_parse(lame, strlen(lame), "lame.yaml", no_folders, NULL, 0, &scene.diags);
    assert_non_null(scene.machine);
    const struct ll_prepared *prepared = ll_prepare(scene.trace, &scene.arena, &scene.diags);
    assert_null(ll_replay(prepared, scene.machine, &scene.arena, &scene.diags));
    assert_int_equal(scene.diags.count, 1);
    assert_non_null(strstr(scene.diags.kept[0].message, "matmul in f32"));
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_takes_its_cycles_and_its_start),
        cmocka_unit_test(a_slow_host_is_waited_for),
        cmocka_unit_test(a_fast_host_stays_two_steps_ahead),
        cmocka_unit_test(starting_ops_is_a_share_of_its_own),
        cmocka_unit_test(a_machine_without_a_unit_for_an_op_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
