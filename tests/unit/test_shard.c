/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's share of a step: Megatron's rules (Shoeybi et al., 2019; Korthikanti et al., 2022) on a GPT,
 * laws on other workloads, and arithmetic on a small one. */
#include "check.h"
#include "dry_model.h"

#include "known_models.h"
#include "models/model.h"
#include "sim/parallel/shard.h"
#include "tracer/ir/profile.h"

enum { LAYERS = 3, BATCH = 2, SEQ = 16, HIDDEN = 64, VOCABULARY = 48, RANKS = 8 };

static struct ll_trace *record(const char *model, bool train, const struct ll_setting *settings)
{
    uint64_t batch = ll_model_find(model)->default_batch ? BATCH : 0;
    return dry_model(model, train, batch, settings, settings_in(settings, MOST_SETTINGS));
}

static const struct ll_setting small_gpt[MOST_SETTINGS] = {
    {"layers", "3"}, {"hidden", "64"}, {"heads", "8"}, {"seq", "16"}, {"vocabulary", "48"}};
static const struct ll_setting small_transformer[MOST_SETTINGS] = {
    {"layers", "2"}, {"hidden", "64"}, {"heads", "8"},      {"ffn_hidden", "96"},
    {"source", "8"}, {"target", "8"},  {"vocabulary", "48"}};

static struct ll_trace *shard(const struct ll_trace *trace, uint64_t ranks, bool sequence)
{
    struct ll_diags diags = {0};
    const struct ll_parallel plan = {
        .data = 1, .tensor = ranks, .context = 1, .pipeline = 1, .expert = 1, .sequence = sequence};
    struct ll_trace *rank = ll_shard(trace, &plan, &diags);
    if (!rank)
        fail_msg("%s", diags.count ? diags.kept[0].message : "no memory");
    struct ll_arena arena = {0};
    assert_null(ll_trace_check(rank, &arena));
    ll_arena_release(&arena);
    return rank;
}

/* Exchanges of a kind and phase whose scope begins so, and the elements that their tensors have together: of
 * the larger side. */
struct counted {
    uint64_t ops, elements;
};

static struct counted count(const struct ll_trace *trace, enum ll_op_kind kind, enum ll_phase phase,
                            const char *scope)
{
    struct counted counted = {0, 0};
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind != kind || signature->phase != phase ||
            strncmp(trace->strings[signature->scope], scope, strlen(scope)) != 0)
            continue;
        counted.ops++;
        for (uint32_t k = 0; k < signature->view.input_count; k++)
            counted.elements +=
                ll_max(ll_elements(&signature->view.in[k]), ll_elements(&signature->view.out[k]));
    }
    return counted;
}

static void expect(struct counted counted, uint64_t ops, uint64_t elements)
{
    assert_int_equal(counted.ops, ops);
    assert_int_equal(counted.elements, elements);
}

static void a_layer_reduces_its_activations_twice_each_way(void **state)
{
    (void)state;
    struct ll_trace *trace = record("gpt", true, small_gpt), *rank = shard(trace, RANKS, false);
    const uint64_t activations = BATCH * SEQ * HIDDEN, rows = BATCH * SEQ;
    for (unsigned i = 0; i < LAYERS; i++) {
        char layer[16];
        snprintf(layer, sizeof layer, "layer%u/", i);
        expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, layer), 2, 2 * activations);
        expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, layer), 2, 2 * activations);
    }
    /* words embedded by those who have them; the largest logit of each row, and its loss; into the head */
    expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, "embedding"), 1, activations);
    expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, "loss"), 2, 2 * rows);
    expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, "head"), 1, activations);
    expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_UPDATE, ""), 0, 0);
    expect(count(rank, LL_OP_ALL_GATHER, LL_PHASE_FORWARD, ""), 0, 0);
    expect(count(rank, LL_OP_ALL_GATHER, LL_PHASE_BACKWARD, ""), 0, 0);
    ll_trace_free(trace);
    ll_trace_free(rank);
}

/* Each all_reduce becomes a reduce_scatter and an all_gather; going backward what was gathered for the two
 * products by columns is gathered once more. */
static void expect_scattered_layers(struct ll_trace *trace, uint64_t ranks, unsigned first)
{
    struct ll_trace *rank = shard(trace, ranks, true);
    const uint64_t activations = BATCH * SEQ * HIDDEN;
    for (unsigned i = first; i < LAYERS; i++) {
        char layer[16];
        snprintf(layer, sizeof layer, "layer%u/", i);
        expect(count(rank, LL_OP_REDUCE_SCATTER, LL_PHASE_FORWARD, layer), 2, 2 * activations);
        expect(count(rank, LL_OP_ALL_GATHER, LL_PHASE_FORWARD, layer), 2, 2 * activations);
        expect(count(rank, LL_OP_REDUCE_SCATTER, LL_PHASE_BACKWARD, layer), 2, 2 * activations);
        expect(count(rank, LL_OP_ALL_GATHER, LL_PHASE_BACKWARD, layer), 2 + 2, 4 * activations);
        expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, layer), 0, 0);
        expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, layer), 0, 0);
    }
    ll_trace_free(trace);
    ll_trace_free(rank);
}

static void with_the_sequence_divided_sums_are_scattered_and_gathered(void **state)
{
    (void)state;
    expect_scattered_layers(record("gpt", true, small_gpt), RANKS, 0);
}

/* Gradients of keys and values are narrower than what their weights are multiplied with: no cheaper to
 * gather, as the query's weight reads that anyway. Into the first layer come the words' sums besides. */
static void few_keys_and_values_make_no_more_exchanges(void **state)
{
    (void)state;
    static const struct ll_setting few[MOST_SETTINGS] = {
        {"layers", "3"},      {"hidden", "64"}, {"heads", "8"},      {"kv_heads", "2"},
        {"ffn_hidden", "96"}, {"seq", "16"},    {"vocabulary", "48"}};
    expect_scattered_layers(record("llama", true, few), 2, 1);
}

static uint64_t flops_of_products(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (ll_op_class(signature->view.kind) == LL_CLASS_MATRIX)
            flops += signature->flops;
    }
    return flops;
}

static void ranks_share_all_products(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        const struct ll_setting *settings;
    } cases[] = {{"gpt", small_gpt}, {"transformer", small_transformer}};
    for (size_t i = 0; i < 4 * sizeof cases / sizeof *cases; i++) {
        struct ll_trace *trace = record(cases[i / 4].model, i % 2, cases[i / 4].settings);
        struct ll_trace *rank = shard(trace, RANKS, i / 2 % 2);
        assert_int_equal(RANKS * flops_of_products(rank), flops_of_products(trace));
        ll_trace_free(trace);
        ll_trace_free(rank);
    }
}

/* Weights that no op makes: all but vectors of hidden features and learned positions. */
static uint64_t brought_bytes(const struct ll_trace *trace, bool divided)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        bool vector = desc->shape.rank == 1 && desc->shape.role[0] == LL_ROLE_HIDDEN;
        bool positions = desc->shape.role[0] == LL_ROLE_SEQUENCE;
        if (trace->tensors[i].producer == LL_NONE && desc->memory == LL_WEIGHT &&
            divided == (!vector && !positions))
            bytes += ll_size_bytes(&desc->shape);
    }
    return bytes;
}

static void a_rank_holds_its_share_of_the_weights(void **state)
{
    (void)state;
    struct ll_trace *trace = record("gpt", true, small_gpt), *rank = shard(trace, RANKS, false);
    assert_int_equal(RANKS * brought_bytes(rank, true), brought_bytes(trace, true));
    assert_int_equal(brought_bytes(rank, false), brought_bytes(trace, false));
    assert_string_equal(ll_trace_fact(rank, "parallel.tensor"), "8");
    ll_trace_free(trace);
    ll_trace_free(rank);
}

/* What the experts' second products make is summed up behind their combination, for tokens: not for places.
 */
static void experts_results_are_summed_where_they_are_few(void **state)
{
    (void)state;
    static const struct ll_setting small[MOST_SETTINGS] = {
        {"layers", "2"},      {"hidden", "64"}, {"heads", "8"},   {"kv_heads", "4"},
        {"ffn_hidden", "96"}, {"seq", "16"},    {"experts", "8"}, {"vocabulary", "48"}};
    struct ll_trace *trace = record("moe", true, small), *rank = shard(trace, 4, false);
    const uint64_t activations = BATCH * SEQ * HIDDEN;
    expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, "layer1/"), 2, 2 * activations);
    /* going backward also what each token's choices weigh */
    expect(count(rank, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, "layer1/"), 3, 2 * activations + BATCH * SEQ * 2);
    ll_trace_free(trace);
    ll_trace_free(rank);
}

/* The scores of the next words, of which each rank has some: brought together at the end of a step. */
static void an_inference_ends_with_all_scores(void **state)
{
    (void)state;
    struct ll_trace *trace = record("gpt", false, small_gpt), *rank = shard(trace, RANKS, false);
    const struct ll_op_signature *last = &rank->signatures[rank->ops[rank->op_count - 1].signature];
    assert_int_equal(last->view.kind, LL_OP_ALL_GATHER);
    assert_int_equal(last->view.in[0].dim[1], VOCABULARY / RANKS);
    assert_int_equal(last->view.out[0].dim[1], VOCABULARY);
    ll_trace_free(trace);
    ll_trace_free(rank);
}

/* Sound programs, which do all of the products' work at least once and at most each; or heads that are odd,
 * or groups of heads that are fewer than ranks. */
static void check_workload(const struct ll_trace *trace, bool sequence)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_trace *rank = ll_shard(trace, &(struct ll_parallel){.tensor = 2, .sequence = sequence}, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        if (!strstr(diags.kept[i].message, "cannot be divided among 2 ranks"))
            fail_msg("%s", diags.kept[i].message);
    assert_true(rank ? diags.count == 0 : diags.count > 0);
    if (rank) {
        assert_null(ll_trace_check(rank, &arena));
        assert_in_range(flops_of_products(rank), flops_of_products(trace) / 2, flops_of_products(trace));
    }
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    ll_trace_free(rank);
}

static void every_workload_can_be_divided(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * sizeof known_models / sizeof *known_models; i++) {
        const struct known *known = &known_models[i / 4];
        if (i % 2 && known->train_ops == 0)
            continue;
        struct ll_trace *trace = record(known->name, i % 2, known->small);
        check_workload(trace, i / 2 % 2);
        ll_trace_free(trace);
    }
}

static void a_single_rank_does_it_all(void **state)
{
    (void)state;
    struct ll_trace *trace = record("gpt", true, small_gpt), *rank = shard(trace, 1, true);
    assert_int_equal(rank->op_count, trace->op_count);
    assert_memory_equal(rank->ops, trace->ops, trace->op_count * sizeof *trace->ops);
    assert_memory_equal(rank->descs, trace->descs, trace->desc_count * sizeof *trace->descs);
    ll_trace_free(trace);
    ll_trace_free(rank);
}

static void heads_that_cannot_be_shared_out_are_complained_about(void **state)
{
    (void)state;
    struct ll_trace *trace = record("gpt", false, small_gpt);
    struct ll_diags diags = {0};
    assert_null(ll_shard(trace, &(struct ll_parallel){.tensor = 16}, &diags));
    assert_int_equal(diags.count, 1); /* once for queries, keys and values of all layers */
    assert_non_null(strstr(diags.kept[0].message, "reshape in layer0/attention: 8 heads cannot be divided "
                                                  "among 16 ranks"));
    ll_diags_release(&diags);
    ll_trace_free(trace);
}

/* 15 steps of one sequence of words, which two ranks cannot share; of two sequences each has one. */
static void steps_of_time_that_nobody_can_share_are_complained_about(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "15"}};
    const struct ll_parallel plan = {.tensor = 2, .sequence = true};
    for (uint64_t batch = 1; batch <= 2; batch++) {
        struct ll_trace *trace = dry_model("gpt", true, batch, settings, sizeof settings / sizeof *settings);
        struct ll_diags diags = {0};
        struct ll_trace *rank = ll_shard(trace, &plan, &diags);
        assert_int_equal(rank != NULL, batch == 2);
        if (!rank)
            assert_non_null(strstr(diags.kept[0].message,
                                   "sequence parallel: a sequence of 15 positions "
                                   "cannot be divided among 2 tensor-parallel devices"));
        ll_trace_free(rank);
        ll_trace_free(trace);
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_reduces_its_activations_twice_each_way),
        cmocka_unit_test(with_the_sequence_divided_sums_are_scattered_and_gathered),
        cmocka_unit_test(few_keys_and_values_make_no_more_exchanges),
        cmocka_unit_test(ranks_share_all_products),
        cmocka_unit_test(a_rank_holds_its_share_of_the_weights),
        cmocka_unit_test(experts_results_are_summed_where_they_are_few),
        cmocka_unit_test(an_inference_ends_with_all_scores),
        cmocka_unit_test(every_workload_can_be_divided),
        cmocka_unit_test(a_single_rank_does_it_all),
        cmocka_unit_test(steps_of_time_that_nobody_can_share_are_complained_about),
        cmocka_unit_test(heads_that_cannot_be_shared_out_are_complained_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
