/* SPDX-License-Identifier: Apache-2.0 */
/* Less memory for more FLOPs, and nothing else. */
#include "check.h"

#include "dry_model.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/pipeline.h"

static uint64_t flops_of(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        flops += trace->signatures[trace->ops[op].signature].flops;
    return flops;
}

static uint64_t peak_of(const struct ll_trace *trace)
{
    struct ll_footprint footprint;
    assert_true(ll_footprint(trace, &footprint));
    return footprint.peak_bytes;
}

static struct ll_trace *recomputed(const struct ll_trace *trace, enum ll_recompute recompute)
{
    struct ll_arena arena = {0};
    const char *trouble;
    struct ll_trace *new = ll_recompute(trace, recompute, &trouble);
    if (trouble)
        print_error("%s\n", trouble);
    assert_non_null(new);
    assert_null(ll_trace_check(new, &arena));
    ll_arena_release(&arena);
    return new;
}

/* FLOPs of the forward ops whose scope names a layer. */
static uint64_t layers_forward(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    struct ll_layers layers;
    uint64_t flops = 0;
    assert_true(ll_layers_find(trace, &arena, &layers));
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        if (signature->phase == LL_PHASE_FORWARD && layers.named[op] != LL_NONE)
            flops += signature->flops;
    }
    ll_arena_release(&arena);
    return flops;
}

static void nothing_recomputed_is_the_same_trace(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    struct ll_trace *same = recomputed(trace, LL_RECOMPUTE_NONE);
    assert_int_equal(same->op_count, trace->op_count);
    assert_int_equal(peak_of(same), peak_of(trace));
    ll_trace_free(same);
    ll_trace_free(trace);
}

static void full_recomputation_repeats_each_layer_once(void **state)
{
    (void)state;
    static const char *const models[] = {"transformer", "resnet", "seq2seq"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_trace *trace = dry_model(models[i], true, 64, NULL, 0);
        struct ll_trace *new = recomputed(trace, LL_RECOMPUTE_FULL);
        assert_int_equal(flops_of(new), flops_of(trace) + layers_forward(trace));
        assert_true(peak_of(new) < peak_of(trace));
        ll_trace_free(new);
        ll_trace_free(trace);
    }
}

/* Twelve layers of the base Transformer with sentences of 32 words: 18 attentions (6 read, 6 write, 6 read
 * what was read), each with two products of 2 b s s h FLOPs; between them the mask (1 an element), the
 * softmax (5) and the dropout (5) on b a s s elements (tracer/ir/op_table.def). */
static void selective_recomputation_repeats_the_middle_of_attention(void **state)
{
    (void)state;
    const uint64_t b = 64, s = 32, h = 512, a = 8;
    struct ll_trace *trace = dry_model("transformer", true, b, NULL, 0);
    struct ll_trace *new = recomputed(trace, LL_RECOMPUTE_SELECTIVE);
    assert_int_equal(flops_of(new) - flops_of(trace), 18 * (4 * b * s * s * h + (1 + 5 + 5) * b * a * s * s));
    assert_true(peak_of(new) < peak_of(trace));
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* A small mixture of experts, whose router has a softmax of its own. */
static struct ll_trace *mixture(const char *fused)
{
    const struct ll_setting settings[] = {
        {"layers", "2"}, {"hidden", "64"},     {"heads", "4"},   {"kv_heads", "2"}, {"ffn_hidden", "64"},
        {"seq", "32"},   {"vocabulary", "48"}, {"experts", "4"}, {"dtype", "bf16"}, {"fused", fused}};
    return dry_model("moe", true, 8, settings, sizeof settings / sizeof *settings);
}

static struct ll_trace *recomputed_but(const struct ll_trace *trace, struct ll_recompute_except except)
{
    struct ll_arena arena = {0};
    const char *trouble;
    struct ll_trace *new = ll_recompute_but(trace, &except, &trouble);
    assert_non_null(new);
    assert_null(ll_trace_check(new, &arena));
    ll_arena_release(&arena);
    return new;
}

/* Of a layer of h features, heads of g key features and an FFN of f, on b s tokens, GEMMs of 2 b s h each: of
 * queries, keys and values h + 2 g columns, of the output h, of gate and up 2 f, of down f, which nothing
 * reads again. */
static void what_is_kept_is_not_made_again(void **state)
{
    (void)state;
    enum { LAYERS = 2, B = 2, S = 32, H = 64, G = 32, F = 48 };
    const struct ll_setting settings[] = {{"layers", "2"},      {"hidden", "64"},  {"heads", "4"},
                                          {"kv_heads", "2"},    {"seq", "32"},     {"ffn_hidden", "48"},
                                          {"vocabulary", "32"}, {"dtype", "bf16"}, {"fused", "1"}};
    struct ll_trace *trace = dry_model("llama", true, B, settings, sizeof settings / sizeof *settings);
    const uint64_t column = (uint64_t)LAYERS * 2 * B * S * H;
    struct ll_trace *all = recomputed(trace, LL_RECOMPUTE_FULL),
                    *read = recomputed_but(trace, (struct ll_recompute_except){.unread = true}),
                    *qkv = recomputed_but(trace, (struct ll_recompute_except){.qkv = true}),
                    *out = recomputed_but(trace, (struct ll_recompute_except){.qkv = true, .out = true}),
                    *gemms = recomputed_but(trace, (struct ll_recompute_except){.gemms = true});
    const uint64_t down = column * F, heads = column * (H + 2 * G), output = column * H, up = 2 * column * F;
    const uint64_t adds =
        (uint64_t)LAYERS * B * S * H; /* the sum behind `down`, which nothing reads either */
    assert_int_equal(flops_of(all) - flops_of(read), down + adds);
    assert_true(flops_of(read) - flops_of(qkv) >= heads &&
                (double)(flops_of(read) - flops_of(qkv)) < (double)heads * 1.2);
    assert_int_equal(flops_of(qkv) - flops_of(out), output);
    assert_true(flops_of(read) - flops_of(gemms) == heads + output + up);
    assert_true(peak_of(read) <= peak_of(qkv) && peak_of(qkv) <= peak_of(out));
    ll_trace_free(gemms);
    ll_trace_free(out);
    ll_trace_free(qkv);
    ll_trace_free(read);
    ll_trace_free(all);
    ll_trace_free(trace);
}

/* Attention is one op, which keeps no scores. */
static void a_router_is_no_attention(void **state)
{
    (void)state;
    struct ll_trace *trace = mixture("1");
    struct ll_trace *new = recomputed(trace, LL_RECOMPUTE_SELECTIVE);
    assert_int_equal(new->op_count, trace->op_count);
    assert_int_equal(flops_of(new), flops_of(trace));
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* The two products of each layer's attention, and between them the causal softmax (6 an element). */
static void of_a_mixture_attention_alone_is_repeated(void **state)
{
    (void)state;
    const uint64_t layers = 2, b = 8, s = 32, h = 64, a = 4;
    struct ll_trace *trace = mixture("0");
    struct ll_trace *new = recomputed(trace, LL_RECOMPUTE_SELECTIVE);
    assert_int_equal(flops_of(new) - flops_of(trace), layers * (4 * b * s * s * h + 6 * b * a * s * s));
    ll_trace_free(new);
    ll_trace_free(trace);
}

static void what_computed_gradients_still_does(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    struct ll_trace *new = recomputed(trace, LL_RECOMPUTE_FULL);
    uint32_t old_op = 0;
    for (uint32_t op = 0; op < new->op_count &&old_op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &new->signatures[new->ops[op].signature],
                                     *old = &trace->signatures[trace->ops[old_op].signature];
        old_op += signature->view.kind == old->view.kind && signature->phase == old->phase &&
                  signature->flops == old->flops &&
                  strcmp(new->strings[signature->scope], trace->strings[old->scope]) == 0;
    }
    assert_int_equal(old_op, trace->op_count);
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* Nothing is left to be read of what a layer made going forward, but by other layers going forward. */
static void backward_ops_read_what_was_made_again(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_layers layers;
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    struct ll_trace *new = recomputed(trace, LL_RECOMPUTE_FULL);
    assert_true(ll_layers_find(new, &arena, &layers));
    for (uint32_t op = 0; op < new->op_count; op++) {
        const struct ll_op_signature *signature = &new->signatures[new->ops[op].signature];
        for (uint32_t i = 0; i < signature->view.input_count && signature->phase == LL_PHASE_BACKWARD; i++) {
            uint32_t from = new->tensors[ll_op_input(new, op, i)].producer;
            if (from != LL_NONE && new->signatures[new->ops[from].signature].phase == LL_PHASE_FORWARD)
                assert_true(layers.named[from] == LL_NONE || layers.named[from] != layers.named[op]);
        }
    }
    ll_trace_free(new);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_recomputed_is_the_same_trace),
        cmocka_unit_test(full_recomputation_repeats_each_layer_once),
        cmocka_unit_test(selective_recomputation_repeats_the_middle_of_attention),
        cmocka_unit_test(what_is_kept_is_not_made_again),
        cmocka_unit_test(a_router_is_no_attention),
        cmocka_unit_test(of_a_mixture_attention_alone_is_repeated),
        cmocka_unit_test(what_computed_gradients_still_does),
        cmocka_unit_test(backward_ops_read_what_was_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
