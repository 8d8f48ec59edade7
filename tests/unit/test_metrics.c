/* SPDX-License-Identifier: Apache-2.0 */
/* What trainers ask of a machine, on schedules small enough to be drawn on paper. */
#include "check.h"

#include "scene.h"
#include "sim/replay/replay.h"
#include "toy_trace.h"

#include <stdlib.h>

enum { SIDE = 64, CORES = 4 };

static const char yaml[] = "name: paper\nclock: 1GHz\nunits:\n"
                           "  - {name: array, model: matrix, macs: {f32: 64}}\n"
                           "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2, i32: 2}}\n"
                           "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000GB/s}\n"
                           "software: {op_overhead: 3us}\n"
                           "host: {bandwidth: 1000GB/s, cores: 4}\n";

/* Two products, one after the other, of a batch that counts as it says. */
static struct ll_trace *record_products(const struct ll_fact *facts, size_t fact_count)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64] = "/tmp/ll_metrics_XXXXXX";
    int file = mkstemp(path);
    enum ll_status status;
    assert_true(file >= 0);
    close(file);
    toy->recorder = ll_recorder_open(path, facts, fact_count, &status);
    assert_non_null(toy->recorder);
    toy->scope = ll_recorder_string(toy->recorder, "toy");
    uint32_t w = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_WEIGHT), x = w;
    ll_recorder_step_begin(toy->recorder);
    for (int i = 0; i < 2; i++)
        x = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, w}, 2, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static struct ll_metrics metrics_of(struct scene *scene)
{
    play(scene);
    assert_non_null(scene->result);
    return ll_metrics_of(scene->result);
}

static const struct ll_fact batch_of_8[] = {{"model", "toy"}, {"batch", "8"}};

/* The toy's f32 is stored, and computed in what the machine has. */
static void the_peak_is_that_of_the_type_in_which_is_computed(void **state)
{
    static const char wider[] = "name: wide\nclock: 1GHz\nunits:\n"
                                "  - {name: array, model: matrix, macs: {f64: 64}}\n"
                                "  - {name: simd, model: vector, lanes: 8, flops: {f64: 2, i64: 2}}\n"
                                "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000GB/s}\n";
    (void)state;
    struct scene scene = open_scene(record_products(batch_of_8, 2), wider);
    struct ll_metrics metrics = metrics_of(&scene);
    assert_int_equal(metrics.computed, LL_F64);
    assert_near(metrics.peak_flops, 128e9, 1e-12);
    assert_near(scene.result->flop_utilization, 2 * 4.096e-6 / scene.result->time_s, 1e-9);
    close_scene(&scene);
}

/* flops over peak times flops over peak is seldom 1 to the last bit. */
static void rounding_does_not_exceed_the_peak(void **state)
{
    (void)state;
    struct scene scene = open_scene(record_products(batch_of_8, 2), yaml);
    double peak = metrics_of(&scene).peak_flops;
    const struct ll_machine *machine = scene.result->machine;
    for (double flops = 1; flops < 1000; flops++)
        assert_float_equal(ll_flop_utilization(machine, LL_F32, flops / 7, flops / 7 / peak), 1, 0);
    assert_near(ll_flop_utilization(machine, LL_F32, 1.5 * peak, 1), 1.5, 1e-12);
    close_scene(&scene);
}

/* What convolutions alone may use is no peak for products, which f64 computes faster than that anyway. */
static void no_op_is_faster_than_the_peak(void **state)
{
    static const char special[] = "name: special\nclock: 1GHz\nunits:\n"
                                  "  - {name: small, model: matrix, runs: [conv2d], macs: {f32: 1}}\n"
                                  "  - {name: array, model: matrix, macs: {f64: 64}}\n"
                                  "  - {name: simd, model: vector, lanes: 8, flops: {f64: 2, i64: 2}}\n"
                                  "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000GB/s}\n";
    (void)state;
    struct scene scene = open_scene(record_products(batch_of_8, 2), special);
    struct ll_metrics metrics = metrics_of(&scene);
    assert_near(metrics.peak_flops, 128e9, 1e-12);
    assert_true(scene.result->flop_utilization > 0.9 && scene.result->flop_utilization <= 1);
    close_scene(&scene);
}

/* Tensor cores that compute f64 a little faster than the lanes f32 have no part in what is f32: all ops run
 * on the lanes. */
static void a_type_that_no_op_needs_has_no_peak(void **state)
{
    static const char gpu[] = "name: gpu\nclock: 1GHz\nunits:\n"
                              "  - {name: tensor, model: matrix, runs: [matrix], macs: {f64: 65, f16: 512}}\n"
                              "  - {name: fma, model: matrix, runs: [matrix], macs: {f32: 64}}\n"
                              "  - {name: simd, model: vector, lanes: 32, flops: {f32: 2}}\n"
                              "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000GB/s}\n";
    (void)state;
    struct scene scene = open_scene(record_products(batch_of_8, 2), gpu);
    struct ll_metrics metrics = metrics_of(&scene);
    assert_int_equal(metrics.computed, LL_F32);
    assert_near(metrics.peak_flops, 128e9, 1e-12);
    close_scene(&scene);
}

/* sPPsPP: starting takes 3 us, in which the device has nothing to do; of the host's four cores one works. A
 * product takes 4.096 us and what its first bytes take, at most 0.05. */
static void a_device_that_is_started_late_is_idle_meanwhile(void **state)
{
    (void)state;
    struct scene scene = open_scene(record_products(batch_of_8, 2), yaml);
    struct ll_metrics metrics = metrics_of(&scene);
    double product_s = scene.result->ops[0].active_s, time_s = 2 * (product_s + 3e-6);
    assert_near(product_s, 4.096e-6, 0.02);
    assert_near(scene.result->time_s, time_s, 1e-9);
    assert_near(metrics.device_utilization, 2 * product_s / time_s, 1e-9);
    assert_near(metrics.fp32_utilization, 2 * 4.096e-6 / (2 * product_s), 1e-9);
    assert_near(metrics.cpu_utilization, 6e-6 / (CORES * time_s), 1e-9);
    assert_near(metrics.throughput_Hz, 8 / time_s, 1e-9);
    assert_string_equal(metrics.unit, "samples");
    close_scene(&scene);
}

/* A host of one core is busy when it starts something. */
static void a_single_core_starts_ops_too(void **state)
{
    (void)state;
    struct scene scene = open_scene_set(record_products(batch_of_8, 2), yaml, "host.cores", "1");
    struct ll_metrics metrics = metrics_of(&scene);
    assert_near(metrics.cpu_utilization, 6e-6 / scene.result->time_s, 1e-9);
    close_scene(&scene);
}

/* sP
 *  sPP    the second start happens while the device works: s + 2 P */
static void starts_behind_the_device_leave_it_no_gap(void **state)
{
    (void)state;
    struct scene scene = open_scene_set(record_products(batch_of_8, 2), yaml, "software.queue", "8");
    struct ll_metrics metrics = metrics_of(&scene);
    double product_s = scene.result->ops[0].active_s;
    assert_near(metrics.device_utilization, 2 * product_s / (3e-6 + 2 * product_s), 1e-9);
    assert_near(metrics.cpu_utilization, 6e-6 / (CORES * (3e-6 + 2 * product_s)), 1e-9);
    close_scene(&scene);
}

static void nobody_knows_how_busy_unknown_cores_are(void **state)
{
    (void)state;
    struct scene scene = open_scene_set(record_products(batch_of_8, 2), yaml, "host.cores", "0");
    struct ll_metrics metrics = metrics_of(&scene);
    assert_true(isnan(metrics.cpu_utilization));
    close_scene(&scene);
}

/* Eight utterances of 1.5 seconds; a trace without batch counts steps. */
static void throughput_counts_what_a_sample_counts_as(void **state)
{
    (void)state;
    const struct ll_fact speech[] = {
        {"batch", "8"}, {"sample.unit", "audio seconds"}, {"sample.amount", "1.5"}};
    struct scene scene = open_scene(record_products(speech, 3), yaml);
    struct ll_metrics metrics = metrics_of(&scene);
    assert_near(metrics.throughput_Hz, 12 / scene.result->time_s, 1e-9);
    assert_string_equal(metrics.unit, "audio seconds");
    close_scene(&scene);
    scene = open_scene(record_products(NULL, 0), yaml);
    metrics = metrics_of(&scene);
    assert_near(metrics.throughput_Hz, 1 / scene.result->time_s, 1e-9);
    assert_string_equal(metrics.unit, "steps");
    close_scene(&scene);
}

/* TBD's formulas hang together: throughput x FLOPs of a sample = device x FP32 utilization x peak rate. */
static void the_metrics_multiply_to_the_peak(void **state)
{
    (void)state;
    static const char *const queues[] = {"0", "3", "1000"};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct scene scene = open_scene_set(toy_trace(seed), yaml, "software.queue", queues[seed % 3]);
        struct ll_metrics metrics = metrics_of(&scene);
        const struct ll_metrics *m = &metrics;
        double flops_of_sample = scene.result->prepared->flops / m->samples;
        assert_near(m->throughput_Hz * flops_of_sample,
                    m->device_utilization * m->fp32_utilization * m->peak_flops, 1e-12);
        assert_near(m->device_utilization * m->fp32_utilization, scene.result->flop_utilization, 1e-12);
        assert_true(m->device_utilization > 0 && m->device_utilization <= 1 + 1e-12);
        assert_true(m->cpu_utilization >= 0 && m->cpu_utilization <= 1.0 / CORES + 1e-12);
        close_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_that_of_the_type_in_which_is_computed),
        cmocka_unit_test(rounding_does_not_exceed_the_peak),
        cmocka_unit_test(no_op_is_faster_than_the_peak),
        cmocka_unit_test(a_type_that_no_op_needs_has_no_peak),
        cmocka_unit_test(a_device_that_is_started_late_is_idle_meanwhile),
        cmocka_unit_test(a_single_core_starts_ops_too),
        cmocka_unit_test(starts_behind_the_device_leave_it_no_gap),
        cmocka_unit_test(nobody_knows_how_busy_unknown_cores_are),
        cmocka_unit_test(throughput_counts_what_a_sample_counts_as),
        cmocka_unit_test(the_metrics_multiply_to_the_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
