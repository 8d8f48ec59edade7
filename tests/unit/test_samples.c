/* SPDX-License-Identifier: Apache-2.0 */
/* What a calibration's trace tells beside the times of kernels. */
#include "check.h"
#include "shipped_machine.h"

#include "sim/calibrate/calibrate.h"
#include "tracer/format/reader.h"
#include "tracer/record/recorder.h"

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

typedef void writes_steps(struct ll_recorder *recorder);

/* What such a recording tells, whose header has one fact or none. The caller frees the trace. */
static const struct ll_samples *samples_of(writes_steps *record_steps, const struct ll_fact *fact,
                                           struct ll_arena *arena, struct ll_trace **trace)
{
    char path[] = "samples.XXXXXX";
    enum ll_status status;
    struct ll_diags diags = {0};
    close(mkstemp(path));
    struct ll_recorder *recorder = ll_recorder_open(path, fact, fact != NULL, &status);
    assert_non_null(recorder);
    record_steps(recorder);
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    *trace = ll_trace_read(path, &diags, &status);
    unlink(path);
    assert_non_null(*trace);
    struct ll_machine *machine = ll_shipped_machine("custom_example");
    const struct ll_samples *samples = ll_samples_of(*trace, machine, arena, &diags);
    assert_non_null(samples);
    ll_machine_free(machine);
    return samples;
}

/* Views of 20 and 30 ns with 30 and 40 ns behind them, as of a clock that ticks every 10; 700 behind a longer
 * op, and 9 us once. */
static void short_ops_and_views(struct ll_recorder *recorder)
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
    struct ll_arena arena = {0};
    struct ll_trace *trace;
    (void)state;
    const struct ll_samples *samples = samples_of(short_ops_and_views, NULL, &arena, &trace);
    assert_int_equal(samples->count, 3);
    assert_near(samples->gap_s, 35e-9, 0.02);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

/* Five steps of ten are slow. */
static void slow_every_other_time(struct ll_recorder *recorder)
{
    enum { STEPS = 10 };
    uint64_t now_ns = 1;
    for (int step = 0; step < STEPS; step++) {
        ll_recorder_step_begin(recorder);
        record_op(recorder, LL_OP_EXP, step % 2 ? 1000 : 1600, 0, &now_ns);
        ll_recorder_step_end(recorder);
    }
}

/* Without the fastest and the slowest of what is left, the mean. */
static void what_ran_beside_somebody_counts_where_that_is_the_rule(void **state)
{
    static const struct {
        const char *crowded;
        double time_s;
    } cases[] = {
        {"0", 1300e-9}, {"0.3", (5 * 1000e-9 + 2 * 1600e-9) / 7}, {"0.5", 1000e-9}, {"0.6", 1300e-9}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_arena arena = {0};
        struct ll_trace *trace;
        const struct ll_fact fact = {"host.crowded", cases[i].crowded};
        const struct ll_samples *samples = samples_of(slow_every_other_time, &fact, &arena, &trace);
        assert_int_equal(samples->count, 1);
        assert_near(samples->at[0].time_s, cases[i].time_s, 1e-9);
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_between_short_ops_and_views_is_told_in_the_mean),
        cmocka_unit_test(what_ran_beside_somebody_counts_where_that_is_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
