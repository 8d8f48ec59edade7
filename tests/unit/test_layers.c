/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/pipeline.h"
#include "toy_trace.h"
#include "tracer/transform/rewrite.h"

static uint32_t layer_named(const struct ll_layers *layers, const char *name)
{
    for (uint32_t i = 0; i < layers->count; i++)
        if (strcmp(layers->names[i], name) == 0)
            return i;
    fail_msg("there is no layer %s", name);
    return LL_NONE;
}

static const char *scope_of(const struct ll_trace *trace, uint32_t op)
{
    return trace->strings[trace->signatures[trace->ops[op].signature].scope];
}

static void a_transformer_has_the_layers_that_it_numbers(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_layers layers;
    struct ll_trace *trace = dry_model("transformer", true, 0, NULL, 0);
    assert_true(ll_layers_find(trace, &arena, &layers));
    assert_int_equal(layers.count, 12);
    assert_string_equal(layers.names[0], "encoder/layer0");
    assert_string_equal(layers.names[11], "decoder/layer5");
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* ResNet-50 has 3 + 4 + 6 + 3 units in four stages (He et al., 2016). */
static void a_stage_of_units_is_not_a_layer_but_its_units_are(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_layers layers;
    struct ll_trace *trace = dry_model("resnet", true, 0, NULL, 0);
    assert_true(ll_layers_find(trace, &arena, &layers));
    assert_int_equal(layers.count, 16);
    assert_string_equal(layers.names[3], "stage2/unit1");
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void what_lies_between_layers_follows_the_data(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_layers layers;
    struct ll_trace *trace = dry_model("transformer", true, 0, NULL, 0);
    assert_true(ll_layers_find(trace, &arena, &layers));
    uint32_t last = layer_named(&layers, "decoder/layer5"), first = layer_named(&layers, "encoder/layer0");
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        if (signature->view.kind == LL_OP_HOST_INPUT)
            assert_int_equal(layers.owner[op], LL_NONE);
        if (strcmp(scope_of(trace, op), "softmax") == 0 && signature->phase != LL_PHASE_UPDATE)
            assert_int_equal(layers.owner[op], last);
        if (strcmp(scope_of(trace, op), "decoder/norm") == 0)
            assert_int_equal(layers.owner[op], last);
        if (signature->view.kind == LL_OP_GATHER && strcmp(scope_of(trace, op), "encoder") == 0)
            assert_int_equal(layers.owner[op], first);
    }
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void every_op_of_a_weight_belongs_to_a_layer(void **state)
{
    (void)state;
    static const char *const models[] = {"alexnet", "seq2seq", "resnet", "transformer", "autoenc", "memnet"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_arena arena = {0};
        struct ll_layers layers;
        struct ll_trace *trace = dry_model(models[i], true, 0, NULL, 0);
        assert_true(ll_layers_find(trace, &arena, &layers));
        assert_true(layers.count >= 2);
        for (uint32_t op = 0; op < trace->op_count; op++) {
            bool weight = false;
            for (uint32_t in = 0; in < trace->signatures[trace->ops[op].signature].view.input_count; in++)
                weight |= trace->descs[trace->tensors[ll_op_input(trace, op, in)].desc].memory == LL_WEIGHT;
            if (weight && layers.owner[op] >= layers.count)
                fail_msg("%s: op %u (%s) belongs to no layer", models[i], op, scope_of(trace, op));
        }
        ll_trace_free(trace);
        ll_arena_release(&arena);
    }
}

/* A part is a layer unless it only holds numbered parts that hold others: the first has an op of its own, the
 * second has none, the third holds numbered ops. */
static void a_part_with_ops_of_its_own_is_a_layer(void **state)
{
    (void)state;
    static const struct {
        const char *scope, *layer;
    } ops[] = {{"block0", "block0"},          {"block0/1/conv", "block0"},
               {"block1/1/conv", "block1/1"}, {"block1/2/conv", "block1/2"},
               {"block1/2/norm", "block1/2"}, {"block2/1", "block2"},
               {"block2/2", "block2"},        {"head", NULL}};
    enum { OPS = sizeof ops / sizeof *ops };
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_arena arena = {0};
    struct ll_layers layers;
    char path[64];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, toy_matrix(8, 8), LL_INPUT), w = toy_bring(toy, toy_matrix(8, 8), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    for (unsigned i = 0; i < OPS; i++) {
        toy->scope = ll_recorder_string(toy->recorder, ops[i].scope);
        x = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, w}, 2, NULL, 0, LL_ACTIVATION, NULL);
    }
    ll_recorder_step_end(toy->recorder);
    struct ll_trace *trace = toy_close(toy, path);
    assert_true(ll_layers_find(trace, &arena, &layers));
    assert_int_equal(layers.count, 4);
    for (unsigned i = 0; i < OPS; i++) {
        if (ops[i].layer)
            assert_string_equal(layers.names[layers.named[i]], ops[i].layer);
        else
            assert_int_equal(layers.named[i], LL_NONE);
        assert_string_equal(layers.names[layers.owner[i]], ops[i].layer ? ops[i].layer : "block2");
    }
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* The same trace without names. */
static struct ll_trace *nameless(struct ll_trace *trace)
{
    struct ll_rewrite rewrite;
    struct ll_record record;
    const char *trouble;
    ll_rewrite_begin(&rewrite, trace, NULL, 0);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (ll_rewrite_record(&rewrite, op, &record)) {
            record.scope = ll_recorder_string(rewrite.recorder, "");
            ll_rewrite_put(&rewrite, op, &record);
        }
    struct ll_trace *new = ll_rewrite_end(&rewrite, &trouble);
    assert_non_null(new);
    ll_trace_free(trace);
    return new;
}

/* Seven layers of a GPT; words and positions before them, a norm and the words again behind. Six products and
 * norms with their biases belong to each. */
static void what_repeats_is_a_layer_where_nothing_is_numbered(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "7"}, {"seq", "32"}};
    struct ll_arena arena = {0};
    struct ll_layers layers;
    struct ll_trace *trace = nameless(dry_model("gpt", true, 2, settings, 2));
    assert_true(ll_layers_find(trace, &arena, &layers));
    assert_int_equal(layers.count, 9);
    for (uint32_t i = 2; i < 8; i++)
        assert_int_equal(layers.named_flops[i], layers.named_flops[1]);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transformer_has_the_layers_that_it_numbers),
        cmocka_unit_test(a_stage_of_units_is_not_a_layer_but_its_units_are),
        cmocka_unit_test(a_part_with_ops_of_its_own_is_a_layer),
        cmocka_unit_test(what_lies_between_layers_follows_the_data),
        cmocka_unit_test(every_op_of_a_weight_belongs_to_a_layer),
        cmocka_unit_test(what_repeats_is_a_layer_where_nothing_is_numbered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
