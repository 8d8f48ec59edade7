/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of ParaDnn's studies on experiments that are made up: what must fail does. */
#include "check.h"

#include "sim/study/paradnn.h"

#include <math.h>
#include <string.h>

/* What of an experiment's points the study is to believe. */
typedef void make_point(const struct ll_experiment_result *experiment, uint64_t i);

static struct ll_experiment_result *made_up(const struct ll_experiment *asked, make_point *make)
{
    struct ll_experiment_result *experiment = calloc(1, sizeof *experiment);
    assert_non_null(experiment);
    experiment->experiment = *asked;
    experiment->count = ll_family_size(asked->family);
    experiment->at = calloc(experiment->count * asked->platform_count, sizeof *experiment->at);
    assert_non_null(experiment->at);
    for (uint64_t i = 0; i < experiment->count; i++)
        make(experiment, i);
    return experiment;
}

static uint64_t value_of(const struct ll_experiment_result *experiment, uint64_t i, const char *key)
{
    return ll_experiment_value(experiment, i, ll_family_axis(experiment->experiment.family, key));
}

/* The study judged on such experiments, traces and machines apart. Single networks are not made up. */
static void judge(const char *id, make_point *make, struct ll_study_result *result)
{
    enum { MOST = 8 };
    const struct ll_study *study = ll_study_find(id);
    struct ll_study_plan plan = {.failed = false};
    const struct ll_trace *traces[MOST] = {NULL};
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_machine *machines[MOST] = {NULL};
    struct ll_experiment_result *experiments[MOST] = {NULL};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    study->plan(&plan);
    assert_true(plan.recording_count <= MOST && plan.experiment_count <= MOST && plan.target_count <= MOST);
    for (uint64_t i = 0; i < plan.target_count; i++)
        assert_non_null(machines[i] = ll_machine_read(plan.targets[i].machine, folders, NULL, 0, &diags));
    for (uint64_t i = 0; i < plan.experiment_count; i++)
        if (ll_family_size(plan.experiments[i].family) > 1)
            experiments[i] = made_up(&plan.experiments[i], make);
    const struct ll_runs runs = {.plan = &plan,
                                 .traces = traces,
                                 .machines = (const struct ll_machine *const *)machines,
                                 .experiments = (const struct ll_experiment_result *const *)experiments,
                                 .arena = &arena,
                                 .diags = &diags};
    assert_true(ll_study_judge(study, &runs, result));
    for (uint64_t i = 0; i < plan.experiment_count; i++) {
        free(experiments[i] ? experiments[i]->at : NULL);
        free(experiments[i]);
    }
    for (uint64_t i = 0; i < plan.target_count; i++)
        ll_machine_free(machines[i]);
    ll_study_plan_release(&plan);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
}

static const struct ll_criterion *criterion(const struct ll_study_result *result, const char *part)
{
    for (uint64_t i = 0; i < result->criterion_count; i++)
        if (strstr(result->criteria[i].claim, part))
            return &result->criteria[i];
    fail_msg("no criterion says \"%s\"", part);
    return NULL;
}

/* --- P3: from how many nodes, and from which batch on, 100 FLOPs a byte; of no width in between --- */

static uint64_t least_nodes, least_batch, unknown_nodes;

static void compute_from(const struct ll_experiment_result *experiment, uint64_t i)
{
    struct ll_experiment_point *at =
        &experiment->at[i * experiment->experiment.platform_count + LL_PARADNN_TPU2];
    bool dense = strcmp(experiment->experiment.family->name, "fc") == 0;
    uint64_t nodes = dense ? value_of(experiment, i, "nodes") : 0;
    bool computes = dense && nodes >= least_nodes && value_of(experiment, i, "batch") >= least_batch;
    *at = (struct ll_experiment_point){
        .simulated = !dense || nodes != unknown_nodes, .step_s = 1, .flops = computes ? 100 : 10, .bytes = 1};
}

/* By hand, of the paper's 3 x 2 cells: the same, one width more (6 / 8), one batch less (3 / 6), one more
 * (6 / 9), one more of both (6 / 12), and two more batches with it (6 / 16); none at all, all that there are,
 * and one width of which nothing is known (4 / 6). */
static void a_region_is_judged_by_what_both_have_of_it(void **state)
{
    static const struct {
        uint64_t nodes, batch, unknown;
        double share;
        enum ll_verdict verdict;
    } rows[] = {{2048, 8192, 0, 100, LL_PASS},
                {1024, 8192, 0, 75, LL_PASS},
                {2048, 16384, 0, 50, LL_PASS},
                {2048, 4096, 0, 100 * 6 / 9., LL_PASS},
                {1024, 4096, 0, 50, LL_PASS},
                {1024, 2048, 0, 37.5, LL_FAIL},
                {1 << 20, 8192, 0, 0, LL_FAIL},
                {32, 64, 0, 100 * 6 / 81., LL_FAIL},
                {2048, 8192, 4096, 100 * 4 / 6., LL_PASS}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_study_result result = {.failed = false};
        least_nodes = rows[i].nodes;
        least_batch = rows[i].batch;
        unknown_nodes = rows[i].unknown;
        judge("P3", compute_from, &result);
        const struct ll_criterion *region = criterion(&result, "of those that are either");
        assert_near(region->value, rows[i].share, 1e-9);
        assert_int_equal(region->verdict, rows[i].verdict);
        ll_study_result_release(&result);
    }
}

/* --- P4: eight cores take so many times as long as one --- */

static double ratio, narrow_ratio;

static void slow_down(const struct ll_experiment_result *experiment, uint64_t i)
{
    struct ll_experiment_point *at = &experiment->at[i * experiment->experiment.platform_count];
    bool narrow =
        strcmp(experiment->experiment.family->name, "fc") == 0 && value_of(experiment, i, "nodes") < 256;
    const struct ll_experiment_point one = {
        .simulated = true, .fits = true, .device_s = 1, .flops = 1, .peak_flops = 1};
    at[LL_PARADNN_TPU2_CORE] = at[LL_PARADNN_TPU2] = one;
    at[LL_PARADNN_TPU2].peak_flops = 8;
    at[LL_PARADNN_TPU2].device_s = narrow ? narrow_ratio : ratio;
}

/* With half of the time on eight cores, f = (8 / 2 - 1) / 7. */
static void a_share_that_is_not_parallel_is_one(void **state)
{
    struct ll_study_result result = {.failed = false};
    (void)state;
    ratio = 0.5;
    narrow_ratio = 2.5;
    judge("P4", slow_down, &result);
    assert_near(criterion(&result, "fully connected: the largest share")->value, 300 / 7., 1e-9);
    assert_int_equal(criterion(&result, "fully connected: points of")->verdict, LL_PASS);
    assert_true(result.note_count == 1 && strstr(result.notes[0], "the worst taking 2.5 times as long"));
    ll_study_result_release(&result);
}

static void cores_that_slow_each_other_down_have_none(void **state)
{
    struct ll_study_result result = {.failed = false};
    (void)state;
    ratio = 1.25;
    narrow_ratio = 1;
    judge("P4", slow_down, &result);
    assert_true(criterion(&result, "fully connected: the largest share")->value <= 0);
    assert_int_equal(criterion(&result, "fully connected: the largest share")->verdict, LL_FAIL);
    assert_true(criterion(&result, "fully connected: points of")->value > 0);
    assert_int_equal(criterion(&result, "fully connected: points of")->verdict, LL_FAIL);
    assert_true(result.note_count == 1 && strstr(result.notes[0], " 0 are slower"));
    ll_study_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_is_judged_by_what_both_have_of_it),
        cmocka_unit_test(a_share_that_is_not_parallel_is_one),
        cmocka_unit_test(cores_that_slow_each_other_down_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
