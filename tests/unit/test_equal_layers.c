/* SPDX-License-Identifier: Apache-2.0 */
/* Transformers, whose layers are alike, and a network whose layers are not. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/parallel.h"

enum { LAYERS = 10 };

static struct ll_trace *transformer(void)
{
    const struct ll_setting sizes[] = {
        {"layers", "10"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "100"}, {"seq", "16"}};
    return dry_model("gpt", true, 4, sizes, 5);
}

static uint64_t flops_of(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < trace->op_count; i++)
        flops += trace->signatures[trace->ops[i].signature].flops;
    return flops;
}

/* Of products alone: what nobody owns, and the update of a weight that two pieces have, several pieces do. */
static uint64_t products_of(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        flops += ll_op_class(signature->view.kind) == LL_CLASS_MATRIX ? signature->flops : 0;
    }
    return flops;
}

/* All but the first, which the embeddings come before, and the last, which the head is behind. */
static void layers_of_a_transformer_are_alike(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_equal_layers equal;
    struct ll_trace *trace = transformer();
    assert_true(ll_equal_layers_find(trace, &arena, &equal));
    assert_int_equal(equal.layers.count, LAYERS);
    assert_true(equal.count >= LAYERS - 2 && equal.first <= 1);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

static void a_thin_trace_lacks_the_layers_that_are_left_out_and_nothing_else(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_equal_layers equal;
    const char *trouble;
    struct ll_trace *trace = transformer();
    assert_true(ll_equal_layers_find(trace, &arena, &equal));
    struct ll_trace *thin = ll_drop_layers(trace, &equal, &trouble);
    assert_non_null(thin);
    assert_int_equal(flops_of(thin),
                     flops_of(trace) - ll_dropped_layers(&equal) * equal.layers.flops[equal.first + 1]);
    struct ll_equal_layers again;
    assert_true(ll_equal_layers_find(thin, &arena, &again));
    assert_int_equal(again.layers.count, LAYERS - ll_dropped_layers(&equal));
    assert_int_equal(ll_dropped_layers(&again), 0);
    assert_null(ll_drop_layers(thin, &again, &trouble));
    ll_trace_free(thin);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* Convolutions of five sizes. */
static void layers_that_differ_are_not_alike(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_equal_layers equal;
    struct ll_trace *trace = dry_model("alexnet", true, 2, NULL, 0);
    assert_true(ll_equal_layers_find(trace, &arena, &equal));
    assert_int_equal(ll_dropped_layers(&equal), 0);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* Ten stages of a layer each: those inside have one program, which was cut once; cut by themselves, pieces 3
 * and 6 are the same too. */
static void stages_inside_have_one_program(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_trace *trace = transformer();
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = LAYERS;
    plan.micro_batch = 1;
    struct ll_spread *spread = ll_spread_trace(trace, &plan, LAYERS, &diags);
    assert_non_null(spread);
    assert_int_equal(spread->vstage_count, LAYERS);
    assert_true(spread->program_count <= 5);
    assert_int_equal(spread->program_of[3], spread->program_of[6]);
    uint64_t flops = 0;
    for (uint32_t vstage = 0; vstage < LAYERS; vstage++)
        flops += products_of(spread->programs[spread->program_of[vstage]].trace);
    plan.pipeline = 1;
    struct ll_spread *whole = ll_spread_trace(trace, &plan, 1, &diags);
    assert_int_equal(flops, products_of(whole->programs[0].trace));
    ll_spread_free(whole);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

static void programs_that_differ_are_told_apart(void **state)
{
    (void)state;
    struct ll_trace *a = transformer(), *b = transformer(), *c = dry_model("alexnet", true, 2, NULL, 0),
                    *d = dry_model("alexnet", true, 4, NULL, 0);
    assert_true(ll_same_program(a, b));
    assert_false(ll_same_program(a, c));
    assert_false(ll_same_program(c, d));
    ll_trace_free(a);
    ll_trace_free(b);
    ll_trace_free(c);
    ll_trace_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_a_transformer_are_alike),
        cmocka_unit_test(a_thin_trace_lacks_the_layers_that_are_left_out_and_nothing_else),
        cmocka_unit_test(layers_that_differ_are_not_alike),
        cmocka_unit_test(stages_inside_have_one_program),
        cmocka_unit_test(programs_that_differ_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
