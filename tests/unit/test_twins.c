/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual stages that do the same: what is left out of a step before it is transformed changes no program. */
#include "check.h"

#include <string.h>

#include "dry_model.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/shard.h"

static struct ll_trace *transformer(const char *layers)
{
    const struct ll_setting sizes[] = {
        {"layers", layers}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "96"}, {"seq", "16"}};
    return dry_model("gpt", true, 2, sizes, 5);
}

/* Takes the place of what it was made of. */
static const struct ll_trace *made(struct ll_trace **owned, struct ll_trace *trace)
{
    assert_non_null(trace);
    ll_trace_free(*owned);
    *owned = trace;
    return trace;
}

/* The program of a virtual stage, by the same transformations of the whole step. */
static struct ll_trace *program_of_whole(const struct ll_trace *trace, const struct ll_parallel *plan,
                                         uint64_t vstage)
{
    struct ll_diags diags = {0};
    struct ll_trace *owned = NULL;
    const char *trouble;
    const struct ll_trace *last = trace;
    if (plan->tensor > 1)
        last = made(&owned, ll_shard(last, plan, &diags));
    if (plan->recompute != LL_RECOMPUTE_NONE)
        last = made(&owned, ll_recompute(last, plan->recompute, &trouble));
    const struct ll_pipeline_partition partition = {.stages = plan->pipeline,
                                                    .chunks = plan->chunks,
                                                    .vstage = vstage,
                                                    .distance = plan->tensor * ll_replicas(plan),
                                                    .schedule = plan->schedule,
                                                    .split = plan->split};
    last = made(&owned, ll_pipeline_partition(last, &partition, &trouble));
    if (ll_replicas(plan) > 1)
        last = made(&owned, ll_exchange_gradients(last, plan, &trouble));
    struct ll_trace *bundled = plan->tensor > 1 ? ll_bundle_sums(last, &trouble) : NULL;
    if (bundled)
        made(&owned, bundled);
    return owned;
}

static const char *scope_of(const struct ll_trace *trace, uint64_t op)
{
    return trace->strings[trace->signatures[trace->ops[op].signature].scope];
}

static const char *name_of(const struct ll_trace *trace, uint64_t tensor)
{
    return trace->strings[trace->descs[trace->tensors[tensor].desc].name];
}

static void assert_the_same(const struct ll_trace *a, const struct ll_trace *b)
{
    assert_true(ll_same_program(a, b));
    for (uint64_t op = 0; op < a->op_count; op++)
        assert_string_equal(scope_of(a, op), scope_of(b, op));
    for (uint64_t tensor = 0; tensor < a->tensor_count; tensor++)
        assert_string_equal(name_of(a, tensor), name_of(b, tensor));
}

/* Whether layers were left out of it, and all programs are those of the whole step. */
static void check_plan(const struct ll_trace *trace, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_kept_layers kept;
    const uint32_t vstages = (uint32_t)(plan->pipeline * plan->chunks);
    struct ll_trace *left = ll_leave_twins_out(trace, plan, vstages, &arena, &kept);
    assert_non_null(left);
    assert_true(left->op_count < trace->op_count);
    struct ll_spread *spread = ll_spread_trace(trace, plan, 4096, &diags);
    assert_non_null(spread);
    assert_true(spread->program_count < vstages);
    for (uint32_t vstage = 0; vstage < vstages; vstage++) {
        if (kept.twins.twin_of[vstage] != vstage) {
            assert_int_equal(spread->program_of[vstage], spread->program_of[kept.twins.twin_of[vstage]]);
            continue;
        }
        struct ll_trace *whole = program_of_whole(trace, plan, vstage);
        assert_the_same(spread->programs[spread->program_of[vstage]].trace, whole);
        ll_trace_free(whole);
    }
    ll_spread_free(spread);
    ll_trace_free(left);
    ll_arena_release(&arena);
}

static void programs_are_those_of_the_whole_step(void **state)
{
    (void)state;
    struct ll_trace *trace = transformer("24");
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 6;
    plan.batch = 24;
    plan.micro_batch = 2;
    check_plan(trace, &plan);
    plan.data = 2;
    check_plan(trace, &plan);
    plan.tensor = 2;
    check_plan(trace, &plan);
    plan.sequence = true;
    check_plan(trace, &plan);
    plan.zero = 1;
    plan.recompute = LL_RECOMPUTE_FULL;
    check_plan(trace, &plan);
    plan.split = (struct ll_layer_split){.evenly = true, .first = 2, .last = 2};
    check_plan(trace, &plan);
    plan.split = (struct ll_layer_split){0};
    plan.schedule = LL_SCHEDULE_INTERLEAVED;
    plan.chunks = 2;
    check_plan(trace, &plan);
    ll_trace_free(trace);
}

/* 24 layers on 8 stages: of the six in the middle one stays, and of its two neighbours and that of the last
 * stage the layer at the border, two in all, for the first stage's neighbour is the one that stays. */
static void of_stages_that_do_the_same_one_stays_and_the_borders(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_kept_layers kept;
    struct ll_trace *trace = transformer("24");
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 8;
    struct ll_trace *left = ll_leave_twins_out(trace, &plan, 8, &arena, &kept);
    assert_non_null(left);
    assert_int_equal(kept.count, 3 + 3 + 1 + 1 + 3);
    uint32_t stands_for = 0;
    for (uint32_t i = 0; i < kept.count; i++)
        stands_for += kept.stands_for[i];
    assert_int_equal(stands_for, 24);
    assert_int_equal(kept.twins.twin_of[6], 1);
    assert_true(ll_kept_layers_hold(left, &plan, &kept, &arena));
    kept.names[kept.count - 1] = "another";
    assert_false(ll_kept_layers_hold(left, &plan, &kept, &arena));
    ll_trace_free(left);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void nothing_is_left_out_where_stages_differ(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_kept_layers kept;
    struct ll_trace *few = transformer("3"), *others = dry_model("alexnet", true, 2, NULL, 0);
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 3;
    assert_null(ll_leave_twins_out(few, &plan, 3, &arena, &kept));
    assert_null(ll_leave_twins_out(others, &plan, 3, &arena, &kept));
    ll_trace_free(few);
    ll_trace_free(others);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_those_of_the_whole_step),
        cmocka_unit_test(of_stages_that_do_the_same_one_stays_and_the_borders),
        cmocka_unit_test(nothing_is_left_out_where_stages_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
