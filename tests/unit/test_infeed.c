/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "toy_machine.h"
#include "toy_trace.h"

#include "sim/replay/replay.h"

enum { STEPS = 200, BATCH = 64, WIDTH = 256 };

/* Many steps of two layers, whose input is a matrix of BATCH x WIDTH f32 and a row for each of BATCH numbers.
 */
static struct ll_trace *many_steps(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint64_t width[] = {WIDTH, WIDTH, WIDTH};
    uint32_t weights[2];
    for (int i = 0; i < 2; i++)
        weights[i] = toy_bring(toy, toy_matrix(WIDTH, WIDTH), LL_WEIGHT);
    const struct ll_attr depth = {.key = LL_ATTR_DEPTH, .count = WIDTH};
    struct ll_shape labels = {.rank = 1, .dtype = LL_I32, .dim = {BATCH}}, rows = toy_matrix(BATCH, WIDTH);
    for (uint64_t step = 0; step < STEPS; step++) {
        ll_recorder_step_begin(toy->recorder);
        uint32_t classes = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &labels);
        toy_op(toy, LL_OP_ONE_HOT, LL_PHASE_INPUT, &classes, 1, &depth, 1, LL_INPUT, &rows);
        toy_step(toy, BATCH, width, 2, weights);
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

static struct ll_machine *machine_with(const char *host)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s",
             "name: Toy\nclock: 1GHz\nunits:\n  - {name: simd, model: vector, lanes: 512, flops: {f32: 2, "
             "i32: 1}}\n"
             "memory:\n  - {name: ram, size: 1GiB, bandwidth: 100GB/s}\n",
             host);
    return ll_toy_machine(text);
}

static const struct ll_result *replayed(const struct ll_trace *trace, const struct ll_machine *machine,
                                        struct ll_arena *arena)
{
    struct ll_diags diags = {0};
    const struct ll_prepared *prepared = ll_prepare(trace, arena, &diags);
    const struct ll_result *result = prepared ? ll_replay(prepared, machine, arena, &diags) : NULL;
    ll_diags_release(&diags);
    assert_non_null(result);
    return result;
}

/* Bytes of a step on paper: 4 x 64 x 256 drawn, 4 x 64 drawn, 4 x 64 x 256 made of the latter by two workers.
 */
static void the_host_takes_what_its_rates_say(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace *trace = many_steps();
    struct ll_machine *machine =
        machine_with("host: {bandwidth: 4GB/s, latency: 10us, prepare_bandwidth: 1GB/s, "
                     "encode_bandwidth: 0.5GB/s, workers: 2}\n");
    struct ll_infeed infeed;
    double matrix = 4.0 * BATCH * WIDTH, labels = 4.0 * BATCH;
    assert_true(ll_infeed_of(replayed(trace, machine, &arena), &infeed));
    assert_near(infeed.prepare_s, (matrix + labels) / 2e9 + matrix / 1e9, 1e-12);
    assert_near(infeed.transfer_s, 20e-6 + (2 * matrix + labels) / 4e9, 1e-12);
    ll_machine_free(machine);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* Whatever the host's rate: the step is the slower of both, and so long do many steps take that are replayed.
 */
static void many_steps_take_as_long_as_the_slower_of_host_and_device(void **state)
{
    (void)state;
    struct ll_trace *trace = many_steps();
    for (double rate_MBps = 50; rate_MBps < 1e6; rate_MBps *= 2) {
        struct ll_arena arena = {0};
        char host[128];
        snprintf(host, sizeof host, "host: {bandwidth: %.0fMB/s, prepare_bandwidth: %.0fMB/s}\n", rate_MBps,
                 rate_MBps);
        struct ll_machine *machine = machine_with(host);
        const struct ll_result *result = replayed(trace, machine, &arena);
        struct ll_infeed infeed;
        assert_true(ll_infeed_of(result, &infeed));
        assert_near(infeed.share, 1 - infeed.device_s / infeed.step_s, 1e-12);
        assert_near(infeed.step_s, fmax(infeed.device_s, infeed.prepare_s + infeed.transfer_s), 1e-12);
        assert_true(fabs(result->time_s / infeed.step_s - 1) < 2.0 / STEPS);
        ll_machine_free(machine);
        ll_arena_release(&arena);
    }
    ll_trace_free(trace);
}

static void input_that_is_there_already_is_not_waited_for(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_trace *trace = many_steps();
    struct ll_machine *machine = machine_with("");
    const struct ll_result *result = replayed(trace, machine, &arena);
    struct ll_infeed infeed;
    assert_true(ll_infeed_of(result, &infeed));
    assert_true(infeed.share == 0 && infeed.prepare_s == 0 && infeed.transfer_s == 0);
    assert_true(infeed.step_s == result->time_s && infeed.device_s == result->time_s);
    ll_machine_free(machine);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_takes_what_its_rates_say),
        cmocka_unit_test(many_steps_take_as_long_as_the_slower_of_host_and_device),
        cmocka_unit_test(input_that_is_there_already_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
