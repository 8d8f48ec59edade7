/* SPDX-License-Identifier: Apache-2.0 */
/* What a calibration's trace tells beside the times of kernels. */
#include "check.h"
#include "shipped_machine.h"

#include "sim/calibrate/samples.h"
#include "tracer/reader.h"
#include "tracer/recorder.h"

#include <stdlib.h>
#include <unistd.h>

/* An op on a list of 128 numbers, so long, and what lies behind it. */
static void record_op(struct ll_recorder *recorder, enum ll_op_kind kind, uint64_t duration_ns,
                      uint64_t gap_ns, uint64_t *now_ns)
{
    static const struct ll_shape list = {.dtype = LL_F32, .rank = 1, .dim = {128}};
    uint32_t input = ll_recorder_tensor(recorder, ll_recorder_desc(recorder, "x", &list, LL_WEIGHT)),
             output = ll_recorder_desc(recorder, "y", &list, LL_ACTIVATION);
    const char *scope = kind == LL_OP_EXP ? "warm/exp" : "warm/reshape";
    ll_recorder_op(recorder, &(struct ll_record){.kind = kind,
                                                 .scope = ll_recorder_string(recorder, scope),
                                                 .inputs = &input,
                                                 .input_count = 1,
                                                 .outputs = &output,
                                                 .output_count = 1,
                                                 .start_ns = *now_ns,
                                                 .duration_ns = duration_ns});
    *now_ns += duration_ns + gap_ns;
}

/* Views of 20 and 30 ns with 30 and 40 ns behind them, as of a clock that ticks every 10; 700 behind a longer
 * op, and 9 us once. */
static void record_steps(struct ll_recorder *recorder)
{
    enum { STEPS = 3, VIEWS = 40 };
    uint64_t now_ns = 1;
    for (int step = 0; step < STEPS; step++) {
        ll_recorder_step_begin(recorder);
        record_op(recorder, LL_OP_EXP, 1000, 9000, &now_ns);
        for (int i = 0; i < VIEWS; i++)
            record_op(recorder, LL_OP_RESHAPE, i % 2 ? 20 : 30, i % 2 ? 40 : 30, &now_ns);
        record_op(recorder, LL_OP_EXP, 4000, 700, &now_ns);
        record_op(recorder, LL_OP_EXP, 1000, 0, &now_ns);
        ll_recorder_step_end(recorder);
    }
}

static void what_lies_between_short_ops_and_views_is_told_in_the_mean(void **state)
{
    char path[] = "samples.XXXXXX";
    enum ll_status status;
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    (void)state;
    close(mkstemp(path));
    struct ll_recorder *recorder = ll_recorder_open(path, NULL, 0, &status);
    assert_non_null(recorder);
    record_steps(recorder);
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    unlink(path);
    assert_non_null(trace);
    struct ll_machine *machine = ll_shipped_machine("custom_example");
    const struct ll_samples *samples = ll_samples_of(trace, machine, &arena, &diags);
    assert_non_null(samples);
    assert_int_equal(samples->count, 3);
    assert_int_equal(samples->view_count, 40);
    assert_near(samples->view_s, 25e-9, 1e-12);
    assert_near(samples->gap_s, 35e-9, 0.02);
    ll_machine_free(machine);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_between_short_ops_and_views_is_told_in_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
