/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/study/fathom.h"

enum { OPS = 10 };

/* Three steps of ops in us, the last but one cut off:
 *
 *       step 0   input 5, matmul 90, add 7
 *       step 1   input 5, matmul 20, add 10, add 10
 *       step 2   matmul 1                               not complete
 *       step 3   matmul 40, add 20                                          */
struct sample {
    struct ll_trace trace;
    const char *strings[3];
    struct ll_op_signature signatures[3];
    struct ll_op ops[OPS];
    struct ll_step steps[4];
};

enum { INPUT, MATMUL, ADD };

static void fill(struct sample *sample)
{
    static const enum ll_op_kind kinds[] = {LL_OP_HOST_INPUT, LL_OP_MATMUL, LL_OP_ADD};
    static const struct {
        uint32_t signature, step;
        uint64_t us;
    } ops[OPS] = {{INPUT, 0, 5}, {MATMUL, 0, 90}, {ADD, 0, 7},    {INPUT, 1, 5},   {MATMUL, 1, 20},
                  {ADD, 1, 10},  {ADD, 1, 10},    {MATMUL, 2, 1}, {MATMUL, 3, 40}, {ADD, 3, 20}};
    *sample = (struct sample){.steps = {{0, 3, 0, 110000, 1000, true},
                                        {3, 4, 0, 50000, 2000, true},
                                        {7, 1, 0, 1000, 0, false},
                                        {8, 2, 0, 70000, 3000, true}}};
    for (uint32_t i = 0; i < 3; i++) {
        sample->strings[i] = ll_op_name(kinds[i]);
        sample->signatures[i] = (struct ll_op_signature){.view = {.kind = kinds[i]}, .kind_name = i};
    }
    for (uint32_t i = 0; i < OPS; i++)
        sample->ops[i] = (struct ll_op){
            .signature = ops[i].signature, .step = ops[i].step, .duration_ns = 1000 * ops[i].us};
    sample->trace = (struct ll_trace){.strings = sample->strings,
                                      .string_count = 3,
                                      .signatures = sample->signatures,
                                      .signature_count = 3,
                                      .ops = sample->ops,
                                      .op_count = OPS,
                                      .steps = sample->steps,
                                      .step_count = 4};
}

static void kinds_are_summed_in_each_complete_step(void **state)
{
    (void)state;
    struct sample sample;
    struct ll_arena arena = {0};
    fill(&sample);
    const struct ll_timeline *timeline = ll_timeline(&sample.trace, 0, &arena);
    assert_int_equal(timeline->step_count, 3);
    assert_int_equal(timeline->kind_count, 2);
    assert_string_equal(timeline->kinds[0].name, "matmul");
    assert_near(timeline->kinds[0].time_s[0], 90e-6, 1e-12);
    assert_near(timeline->kinds[0].time_s[2], 40e-6, 1e-12);
    assert_near(timeline->kinds[1].time_s[1], 20e-6, 1e-12);
    assert_near(timeline->ops_s[1], 45e-6, 1e-12);
    assert_near(timeline->wall_s[2], 70e-6, 1e-12);
    assert_near(timeline->recording_s[2], 3e-6, 1e-12);
    ll_arena_release(&arena);
}

/* A tenth of the way through 20 40 90, two steps apart, is 20 + 0.2 * 20; through 7 20 20, 7 + 0.2 * 13. */
static void shares_are_of_quiet_steps_without_what_the_host_brings(void **state)
{
    (void)state;
    struct sample sample;
    struct ll_arena arena = {0};
    fill(&sample);
    const struct ll_timeline *timeline = ll_timeline(&sample.trace, 0, &arena);
    assert_near(timeline->kinds[0].share, 24 / (24 + 9.6), 1e-12);
    assert_near(timeline->kinds[1].share, 9.6 / (24 + 9.6), 1e-12);
    ll_arena_release(&arena);
}

static void cold_steps_are_left_out(void **state)
{
    (void)state;
    struct sample sample;
    struct ll_arena arena = {0};
    fill(&sample);
    const struct ll_timeline *timeline = ll_timeline(&sample.trace, 1, &arena);
    assert_int_equal(timeline->step_count, 2);
    assert_near(timeline->kinds[0].time_s[0], 20e-6, 1e-12);
    timeline = ll_timeline(&sample.trace, 9, &arena);
    assert_int_equal(timeline->step_count, 0);
    assert_int_equal(timeline->kind_count, 0);
    ll_arena_release(&arena);
}

/* memnet's 60 steps of one GEMM each: 20 that are left out, and 40 of which each takes 0.25 us longer than
 * the one before, beginning with 95.125 us: 9.75 us in all, 9.75 % of the median, 100 us. */
struct drifting {
    struct ll_trace trace;
    const char *strings[1];
    struct ll_op_signature signature;
    struct ll_op ops[60];
    struct ll_step steps[60];
};

static void let_drift(struct drifting *drifting)
{
    *drifting = (struct drifting){.strings = {"matmul"}, .signature = {.view = {.kind = LL_OP_MATMUL}}};
    for (uint32_t i = 0; i < 60; i++) {
        const uint64_t ns = i < 20 ? 100000 : 95125 + 250 * (i - 20);
        drifting->ops[i] = (struct ll_op){.step = i, .duration_ns = ns};
        drifting->steps[i] = (struct ll_step){i, 1, 0, ns, 0, true};
    }
    drifting->trace = (struct ll_trace){.strings = drifting->strings,
                                        .string_count = 1,
                                        .signatures = &drifting->signature,
                                        .signature_count = 1,
                                        .ops = drifting->ops,
                                        .op_count = 60,
                                        .steps = drifting->steps,
                                        .step_count = 60};
}

/* Fixed work that varies by 4 % leaves 5.75 % of drift, more than the 5 % that may be; by 6 % leaves less. */
static void a_drift_fails_where_fixed_work_was_steadier(void **state)
{
    static const struct {
        double noise;
        enum ll_verdict verdict;
    } rows[] = {{0, LL_FAIL}, {0.04, LL_FAIL}, {0.06, LL_INCONCLUSIVE}};
    struct drifting *drifting = malloc(sizeof *drifting);
    struct ll_study_plan plan = {.whole = false};
    (void)state;
    let_drift(drifting);
    ll_study_plan_recording(
        &plan, &(struct ll_recording){.row = "memnet", .variant = "long", .model = "memnet", .steps = 60});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        struct ll_study_result result = {.failed = false};
        const struct ll_runs runs = {.plan = &plan,
                                     .traces = (const struct ll_trace *const[]){&drifting->trace},
                                     .noise = &rows[i].noise,
                                     .arena = &arena,
                                     .diags = &diags};
        assert_true(ll_study_judge(ll_study_find("F1"), &runs, &result));
        assert_true(strstr(result.criteria[0].claim, "drift"));
        assert_near(result.criteria[0].value, 9.75, 1e-9);
        assert_int_equal(result.criteria[0].verdict, rows[i].verdict);
        assert_int_equal(result.criteria[1].verdict, LL_PASS);
        ll_study_result_release(&result);
        ll_arena_release(&arena);
    }
    ll_study_plan_release(&plan);
    free(drifting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_summed_in_each_complete_step),
        cmocka_unit_test(shares_are_of_quiet_steps_without_what_the_host_brings),
        cmocka_unit_test(cold_steps_are_left_out),
        cmocka_unit_test(a_drift_fails_where_fixed_work_was_steadier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
