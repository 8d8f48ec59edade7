/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of TBD compute, with numbers made on paper; what every study must hold is in test_study.c.
 */
#include "check.h"

#include "sim/study/tbd.h"

#include <string.h>

/* 1, 2, 8 samples at a time: 10, 16 and 32 a second. */
static const struct ll_tbd_sweep sweep = {
    .row = LL_TBD_NMT,
    .count = 3,
    .batches = {1, 2, 8},
    .metrics = {{.throughput_Hz = 10, .device_utilization = 0.5, .fp32_utilization = 0.25},
                {.throughput_Hz = 16, .device_utilization = 0.75, .fp32_utilization = 0.125},
                {.throughput_Hz = 32, .device_utilization = 1, .fp32_utilization = 0.5}},
};

static void a_gain_is_a_share_of_what_was_before(void **state)
{
    (void)state;
    assert_near(ll_tbd_gain(&sweep, 1, 2), 0.6, 1e-12);
    assert_near(ll_tbd_gain(&sweep, 2, 8), 1, 1e-12);
    assert_true(isnan(ll_tbd_gain(&sweep, 2, 4)));
}

/* log2 of 1.6 over one doubling is 0.678, of 2 over two doublings 1/2. */
static void the_exponent_is_the_least_of_neighbours(void **state)
{
    (void)state;
    struct ll_tbd_sweep first = sweep;
    first.count = 2;
    assert_near(ll_tbd_exponent(&first), log2(1.6), 1e-12);
    assert_near(ll_tbd_exponent(&sweep), 0.5, 1e-12);
    first.count = 1;
    assert_true(isnan(ll_tbd_exponent(&first)));
}

static void what_falls_does_not_rise(void **state)
{
    (void)state;
    static const enum ll_verdict expected[] = {LL_PASS, LL_PASS, LL_FAIL};
    struct ll_tbd_sweeps sweeps = {.count = 1};
    sweeps.at[0] = sweep;
    for (int metric = LL_TBD_THROUGHPUT; metric <= LL_TBD_FP32; metric++) {
        struct ll_study_result result = {.failed = false};
        ll_tbd_judge_rising(&sweeps, (enum ll_tbd_metric)metric, &result);
        assert_int_equal(result.criterion_count, 1);
        assert_int_equal(result.criteria[0].verdict, expected[metric]);
        ll_study_result_release(&result);
    }
}

/* Only table IV needs no workload: it holds whatever else is missing. */
static void the_machine_files_are_those_of_the_table(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    const struct ll_study *study = ll_study_find("T-T4");
    struct ll_study_plan plan = {.failed = false};
    struct ll_machine *machines[8];
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_study_result result = {.failed = false};
    study->plan(&plan);
    assert_int_equal(plan.recording_count, 0);
    for (uint64_t i = 0; i < plan.target_count; i++)
        machines[i] = ll_machine_read(plan.targets[i].machine, folders, NULL, 0, &diags);
    const struct ll_runs runs = {.plan = &plan,
                                 .machines = (const struct ll_machine *const *)machines,
                                 .arena = &arena,
                                 .diags = &diags};
    assert_true(ll_study_judge(study, &runs, &result));
    assert_int_equal(ll_count_verdicts(&result, LL_FAIL), 0);
    assert_int_equal(ll_count_verdicts(&result, LL_PASS), 21);
    for (uint64_t i = 0; i < plan.target_count; i++)
        ll_machine_free(machines[i]);
    ll_study_result_release(&result);
    ll_study_plan_release(&plan);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gain_is_a_share_of_what_was_before),
        cmocka_unit_test(the_exponent_is_the_least_of_neighbours),
        cmocka_unit_test(what_falls_does_not_rise),
        cmocka_unit_test(the_machine_files_are_those_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
