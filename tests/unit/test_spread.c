/* SPDX-License-Identifier: Apache-2.0 */
/* Every reference workload, small, on many devices: a plan gives programs, or says what of the workload it
 * cannot divide. */
#include "check.h"

#include "dry_model.h"
#include "known_models.h"
#include "sim/parallel/parallel.h"

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
    static const char *const right[] = {"there are fewer layers than stages",
                                        "cannot be divided among",
                                        "no optimizer whose state could be sharded",
                                        "no dimension in this workload is a sequence",
                                        "needs positions that other devices have",
                                        "is not known to have positions",
                                        "as many equal shares"};
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
    uint64_t data, tensor, context, pipeline, micro_batch, zero;
    enum ll_recompute recompute;
    bool sequence;
} plans[] = {
    {"two replicas", 2, 1, 1, 1, 0, 0, LL_RECOMPUTE_NONE, false},
    {"sharded states", 2, 1, 1, 1, 0, 1, LL_RECOMPUTE_NONE, false},
    {"sharded gradients", 2, 1, 1, 1, 1, 2, LL_RECOMPUTE_SELECTIVE, false},
    {"sharded weights", 2, 1, 1, 1, 0, 3, LL_RECOMPUTE_FULL, false},
    {"all computed again", 1, 1, 1, 1, 0, 0, LL_RECOMPUTE_FULL, false},
    {"two stages", 1, 1, 1, 2, 1, 0, LL_RECOMPUTE_NONE, false},
    {"replicas of stages", 2, 1, 1, 2, 1, 2, LL_RECOMPUTE_FULL, false},
    {"two ranks", 1, 2, 1, 1, 0, 0, LL_RECOMPUTE_NONE, false},
    {"all at once", 2, 2, 1, 2, 1, 1, LL_RECOMPUTE_FULL, true},
    {"sharded ranks", 2, 2, 1, 1, 0, 3, LL_RECOMPUTE_NONE, true},
    {"sequences", 2, 1, 2, 1, 0, 1, LL_RECOMPUTE_SELECTIVE, false},
    {"sequences of all", 1, 2, 2, 2, 1, 1, LL_RECOMPUTE_FULL, true},
    {"sharded sequences", 1, 1, 4, 1, 0, 3, LL_RECOMPUTE_NONE, false},
};

/* Under a sanitizer a model goes some of these ways, its neighbours the others. */
static void spread_steps(uint64_t steps)
{
    for (size_t m = 0; m < sizeof known_models / sizeof *known_models; m++) {
        const struct known *known = &known_models[m];
        const struct ll_model *model = ll_model_find(known->name);
        if (m > 0 && strcmp(known->name, known_models[m - 1].name) == 0)
            continue;
        if (known->dry && model->infers) /* it only infers */
            continue;
        if (strcmp(known->name, "allreduce") == 0) /* it is about devices itself and has no batch */
            continue;
        struct ll_trace *trace =
            dry_steps(model->name, true, BATCH, steps, known->small, setting_count(known->small));
        for (size_t p = m % ONE_IN; p < sizeof plans / sizeof *plans; p += ONE_IN) {
            struct ll_parallel plan = ll_plan_of_one();
            plan.data = plans[p].data;
            plan.tensor = plans[p].tensor;
            plan.context = plans[p].context;
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

static uint64_t flops_of_products(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        flops += ll_op_class(signature->view.kind) == LL_CLASS_MATRIX ? signature->flops : 0;
    }
    return flops;
}

/* However many layers come on a stage, all stages together do the products of one device; and of stages
 * that do the same there is one program. */
static void stages_share_programs_only_where_they_do_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *layers;
        uint64_t stages;
    } cases[] = {{"16", 8}, {"17", 8}, {"19", 8}, {"22", 8}, {"13", 5}, {"11", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ll_setting sizes[] = {{"layers", cases[i].layers},
                                           {"hidden", "64"},
                                           {"heads", "2"},
                                           {"vocabulary", "96"},
                                           {"seq", "16"}};
        struct ll_trace *trace = dry_model("gpt", true, 2, sizes, 5);
        struct ll_parallel plan = ll_plan_of_one();
        struct ll_diags diags = {0};
        uint64_t sum = 0;
        plan.pipeline = cases[i].stages;
        struct ll_spread *spread = ll_spread_trace(trace, &plan, DEVICES, &diags);
        assert_non_null(spread);
        for (uint32_t vstage = 0; vstage < spread->vstage_count; vstage++)
            sum += flops_of_products(spread->programs[spread->program_of[vstage]].trace);
        assert_int_equal(sum, flops_of_products(trace));
        assert_true(spread->program_count < spread->vstage_count);
        ll_spread_free(spread);
        ll_trace_free(trace);
        ll_diags_release(&diags);
    }
}

/* Of the products of layers, going forward, a full recomputation does each once more. */
static void what_is_not_kept_is_computed_again(void **state)
{
    (void)state;
    const struct ll_setting sizes[] = {
        {"layers", "3"}, {"hidden", "64"}, {"heads", "2"}, {"vocabulary", "96"}, {"seq", "16"}};
    struct ll_trace *trace = dry_model("gpt", true, 2, sizes, 5);
    uint64_t whole = flops_of_products(trace), again = 0;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        if (signature->phase == LL_PHASE_FORWARD && ll_op_class(signature->view.kind) == LL_CLASS_MATRIX &&
            strncmp(trace->strings[signature->scope], "layer", strlen("layer")) == 0)
            again += signature->flops;
    }
    for (int full = 0; full < 2; full++) {
        struct ll_parallel plan = ll_plan_of_one();
        struct ll_diags diags = {0};
        plan.recompute = full ? LL_RECOMPUTE_FULL : LL_RECOMPUTE_NONE;
        struct ll_spread *spread = ll_spread_trace(trace, &plan, DEVICES, &diags);
        assert_non_null(spread);
        assert_int_equal(flops_of_products(spread->programs[0].trace), whole + (full ? again : 0));
        ll_spread_free(spread);
        ll_diags_release(&diags);
    }
    ll_trace_free(trace);
}

static void an_inference_has_nothing_to_compute_again_or_to_update(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("gpt", false, 2, (struct ll_setting[]){{"layers", "2"}}, 1);
    struct ll_parallel asked[] = {ll_plan_of_one(), ll_plan_of_one(), ll_plan_of_one()};
    static const char *const said[] = {"recompute: the trace is of an inference",
                                       "offload activations: the trace is of an inference",
                                       "offload optimizer: the trace is of an inference"};
    asked[0].recompute = LL_RECOMPUTE_SELECTIVE;
    asked[1].offload.activations = true;
    asked[2].offload.optimizer = true;
    for (int i = 0; i < 3; i++) {
        struct ll_diags diags = {0};
        assert_null(ll_spread_trace(trace, &asked[i], DEVICES, &diags));
        assert_non_null(strstr(diags.kept[0].message, said[i]));
        ll_diags_release(&diags);
    }
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_goes_on_many_devices),
        cmocka_unit_test(every_model_does_so_step_by_step),
        cmocka_unit_test(stages_share_programs_only_where_they_do_the_same),
        cmocka_unit_test(an_inference_has_nothing_to_compute_again_or_to_update),
        cmocka_unit_test(what_is_not_kept_is_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
