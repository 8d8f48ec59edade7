/* SPDX-License-Identifier: Apache-2.0 */
/* Every reference workload, small, on many devices: a plan gives programs, or says what of the workload it
 * cannot divide. */
#include "check.h"

#include "dry_model.h"
#include "known_models.h"
#include "sim/parallel/spread.h"

#include <inttypes.h>

enum { BATCH = 4, DEVICES = 8 };

static size_t setting_count(const struct ll_setting *settings)
{
    size_t count = 0;
    while (count < MOST_SETTINGS && settings[count].key)
        count++;
    return count;
}

/* What may be said of a workload that is not large or regular enough for a plan. */
static bool is_about_the_workload(const char *message)
{
    static const char *const right[] = {"there are fewer layers than pieces", "cannot be divided among",
                                        "no optimizer whose state could be shared out"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (strstr(message, right[i]))
            return true;
    return false;
}

static void check_spread(const struct ll_trace *trace, const struct ll_parallel *plan, const char *words)
{
    struct ll_diags diags = {0};
    struct ll_spread *spread = ll_spread_trace(trace, plan, DEVICES, &diags);
    if (!spread && diags.count == 0)
        fail_msg("%s, %s: nothing is said", ll_trace_fact(trace, "model"), words);
    if (!spread && !is_about_the_workload(diags.kept[0].message))
        fail_msg("%s, %s: %s", ll_trace_fact(trace, "model"), words, diags.kept[0].message);
    ll_spread_free(spread);
    ll_diags_release(&diags);
}

static const struct {
    const char *words;
    uint64_t data, tensor, pipeline, micro_batch, zero;
    enum ll_recompute recompute;
    bool sequence;
} plans[] = {
    {"two replicas", 2, 1, 1, 0, 0, LL_RECOMPUTE_NONE, false},
    {"sharded states", 2, 1, 1, 0, 1, LL_RECOMPUTE_NONE, false},
    {"sharded gradients", 2, 1, 1, 1, 2, LL_RECOMPUTE_SELECTIVE, false},
    {"sharded weights", 2, 1, 1, 0, 3, LL_RECOMPUTE_FULL, false},
    {"all computed again", 1, 1, 1, 0, 0, LL_RECOMPUTE_FULL, false},
    {"two stages", 1, 1, 2, 1, 0, LL_RECOMPUTE_NONE, false},
    {"replicas of stages", 2, 1, 2, 1, 2, LL_RECOMPUTE_FULL, false},
    {"two ranks", 1, 2, 1, 0, 0, LL_RECOMPUTE_NONE, false},
    {"all at once", 2, 2, 2, 1, 1, LL_RECOMPUTE_FULL, true},
    {"sharded ranks", 2, 2, 1, 0, 3, LL_RECOMPUTE_NONE, true},
};

/* Under a sanitizer a model goes some of these ways, its neighbours the others. */
static void spread_steps(uint64_t steps)
{
    for (size_t m = 0; m < sizeof known_models / sizeof *known_models; m++) {
        const struct known *known = &known_models[m];
        const struct ll_model *model = ll_model_find(known->name);
        if (m > 0 && strcmp(known->name, known_models[m - 1].name) == 0)
            continue;
        if (strcmp(known->name, "allreduce") == 0) /* it is about devices itself and has no batch */
            continue;
        struct ll_trace *trace =
            dry_steps(model->name, true, BATCH, steps, known->small, setting_count(known->small));
        for (size_t p = m % ONE_IN; p < sizeof plans / sizeof *plans; p += ONE_IN) {
            struct ll_parallel plan = ll_plan_of_one();
            plan.data = plans[p].data;
            plan.tensor = plans[p].tensor;
            plan.pipeline = plans[p].pipeline;
            plan.micro_batch = plans[p].micro_batch;
            plan.zero = plans[p].zero;
            plan.recompute = plans[p].recompute;
            plan.sequence = plans[p].sequence;
            check_spread(trace, &plan, plans[p].words);
        }
        ll_trace_free(trace);
    }
}

static void every_model_goes_on_many_devices(void **state)
{
    (void)state;
    spread_steps(1);
}

/* What follows a step is no part of it. */
static void every_model_does_so_step_by_step(void **state)
{
    (void)state;
    spread_steps(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_goes_on_many_devices),
        cmocka_unit_test(every_model_does_so_step_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
