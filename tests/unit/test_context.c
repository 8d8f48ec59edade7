/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences divided among devices: bytes and FLOPs worked out by hand on a small Llama, laws on other
 * workloads. */
#include "check.h"
#include "dry_model.h"

#include "known_models.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"
#include "tracer/transform/rewrite.h"

/* Heads have 64 / 8 = 8 features; four queries share a key. */
enum { LAYERS = 2, BATCH = 2, SEQ = 16, HIDDEN = 64, HEADS = 8, KEY_HEADS = 2, FEATURES = 8, TENSOR = 4 };

static const struct ll_setting small_llama[MOST_SETTINGS] = {
    {"layers", "2"},      {"hidden", "64"}, {"heads", "8"},       {"kv_heads", "2"},
    {"ffn_hidden", "96"}, {"seq", "16"},    {"vocabulary", "48"}, {"fused", "1"}};
static const struct ll_setting unfused_llama[MOST_SETTINGS] = {
    {"layers", "2"},      {"hidden", "64"}, {"heads", "8"},       {"kv_heads", "2"},
    {"ffn_hidden", "96"}, {"seq", "16"},    {"vocabulary", "48"}, {"fused", "0"}};
static const struct ll_setting small_gpt[MOST_SETTINGS] = {
    {"layers", "2"}, {"hidden", "64"}, {"heads", "8"}, {"seq", "16"}, {"vocabulary", "48"}};
static const struct ll_setting small_transformer[MOST_SETTINGS] = {
    {"layers", "2"}, {"hidden", "64"}, {"heads", "8"},      {"ffn_hidden", "96"},
    {"source", "8"}, {"target", "16"}, {"vocabulary", "48"}};
/* 2 x 16 words with 2 choices of 8 experts: 8 places each, and half more, of which four devices have 3. */
static const struct ll_setting small_mixture[MOST_SETTINGS] = {
    {"layers", "2"}, {"hidden", "64"},     {"heads", "8"},   {"kv_heads", "4"}, {"ffn_hidden", "96"},
    {"seq", "16"},   {"vocabulary", "48"}, {"experts", "8"}, {"top_k", "2"},    {"capacity", "150"}};

static struct ll_trace *record(const char *model, const struct ll_setting *settings)
{
    return dry_model(model, true, BATCH, settings, settings_in(settings, MOST_SETTINGS));
}

static struct ll_parallel plan_of(uint64_t ranks)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.context = ranks;
    return plan;
}

static struct ll_trace *share(const struct ll_trace *trace, uint64_t ranks)
{
    struct ll_diags diags = {0};
    struct ll_parallel plan = plan_of(ranks);
    plan.tensor = TENSOR; /* as far apart devices lie that share a sequence */
    struct ll_trace *made = ll_share_context(trace, &plan, &diags);
    if (!made)
        fail_msg("%s", diags.count ? diags.kept[0].message : "no memory");
    struct ll_arena arena = {0};
    assert_null(ll_trace_check(made, &arena));
    ll_arena_release(&arena);
    return made;
}

/* Exchanges of a kind and phase whose scope begins so, each of so many elements on its larger side. */
static void expect_exchanges(const struct ll_trace *trace, enum ll_op_kind kind, enum ll_phase phase,
                             const char *scope, uint64_t ops, uint64_t elements)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind != kind || signature->phase != phase ||
            strncmp(trace->strings[signature->scope], scope, strlen(scope)) != 0)
            continue;
        found++;
        assert_int_equal(signature->view.input_count, 1);
        assert_int_equal(ll_max(ll_elements(&signature->view.in[0]), ll_elements(&signature->view.out[0])),
                         elements);
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), TENSOR);
    }
    assert_int_equal(found, ops);
}

/* Keys and values are put together going forward, once more going backward, and their gradients shared out.
 */
static void an_attention_exchanges_six_times_its_keys(void **state)
{
    (void)state;
    static const struct ll_setting *const ways[] = {small_llama, unfused_llama};
    const uint64_t keys = BATCH * SEQ * KEY_HEADS * FEATURES;
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t ranks = i % 2 ? 4 : 2;
        struct ll_trace *trace = record("llama", ways[i / 2]), *made = share(trace, ranks);
        for (unsigned layer = 0; layer < LAYERS; layer++) {
            char scope[16];
            snprintf(scope, sizeof scope, "layer%u/", layer);
            expect_exchanges(made, LL_OP_ALL_GATHER, LL_PHASE_FORWARD, scope, 2, keys);
            expect_exchanges(made, LL_OP_ALL_GATHER, LL_PHASE_BACKWARD, scope, 2, keys);
            expect_exchanges(made, LL_OP_REDUCE_SCATTER, LL_PHASE_BACKWARD, scope, 2, keys);
        }
        expect_exchanges(made, LL_OP_ALL_REDUCE, LL_PHASE_FORWARD, "loss", 1, 1);
        expect_exchanges(made, LL_OP_ALL_GATHER, LL_PHASE_FORWARD, "", 2 * LAYERS, keys);
        expect_exchanges(made, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, "", 0, 0);
        expect_exchanges(made, LL_OP_ALL_REDUCE, LL_PHASE_UPDATE, "", 0, 0);
        ll_trace_free(trace);
        ll_trace_free(made);
    }
}

/* Of passes alone: each replica updates all weights. Products are shared to the last FLOP; sums of n numbers
 * have n - 1 additions and shares of them n / N - 1 each, and gradients of a weight that is read twice are
 * added by every device. */
static uint64_t flops_of(const struct ll_trace *trace, bool products)
{
    uint64_t flops = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        bool matrix = ll_op_class(signature->view.kind) == LL_CLASS_MATRIX;
        if (signature->phase != LL_PHASE_UPDATE && (matrix || !products))
            flops += signature->flops;
    }
    return flops;
}

static void devices_share_all_work(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        const struct ll_setting *settings;
    } cases[] = {{"llama", small_llama},
                 {"llama", unfused_llama},
                 {"gpt", small_gpt},
                 {"transformer", small_transformer},
                 {"moe", small_mixture}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        uint64_t ranks = i % 2 ? 4 : 2;
        struct ll_trace *trace = record(cases[i / 2].model, cases[i / 2].settings),
                        *made = share(trace, ranks);
        assert_int_equal(ranks * flops_of(made, true), flops_of(trace, true));
        double whole = (double)flops_of(trace, false), all = (double)(ranks * flops_of(made, false));
        if (all < whole * 0.999 || all > whole * 1.001)
            fail_msg("%s on %d: %g FLOPs of %g", cases[i / 2].model, (int)ranks, all, whole);
        ll_trace_free(trace);
        ll_trace_free(made);
    }
}

static const struct ll_op_signature *find(const struct ll_trace *trace, enum ll_op_kind kind)
{
    for (uint32_t i = 0; i < trace->op_count; i++)
        if (trace->signatures[trace->ops[i].signature].view.kind == kind)
            return &trace->signatures[trace->ops[i].signature];
    fail_msg("there is no %s", ll_op_name(kind));
    return NULL;
}

/* A query sees (S + 1) / 2 keys on average; two products forward and five backward,
 * of 2 x 8 FLOPs. The first and the last of 2 N pieces: with N = 2 these are 4 queries that see 1 to 4 keys
 * and 4 that see 13 to 16. */
static void causal_attention_is_balanced(void **state)
{
    (void)state;
    struct ll_trace *trace = record("llama", small_llama);
    for (uint64_t ranks = 2; ranks <= 8; ranks *= 2) {
        struct ll_trace *made = share(trace, ranks);
        const struct ll_op_signature *forward = find(made, LL_OP_CAUSAL_ATTENTION),
                                     *backward = find(made, LL_OP_CAUSAL_ATTENTION_GRAD);
        assert_int_equal(forward->flops, 2 * 2 * 8 * BATCH * HEADS * (SEQ * (SEQ + 1) / 2) / ranks);
        assert_int_equal(backward->flops, 5 * 2 * 8 * BATCH * HEADS * (SEQ * (SEQ + 1) / 2) / ranks);
        assert_int_equal(ll_attr_count(&forward->view, LL_ATTR_PARTS, 1), ranks);
        /* its own queries and results, all keys and values, 4 bytes each; sums of its rows */
        uint64_t rows = BATCH * HEADS * SEQ / ranks, keys = BATCH * KEY_HEADS * SEQ;
        assert_int_equal(forward->bytes_read, 4 * FEATURES * (rows + 2 * keys));
        assert_int_equal(forward->bytes_written, 4 * (FEATURES * rows + rows));
        ll_trace_free(made);
    }
    ll_trace_free(trace);
}

/* What ops make going forward, but for numbers, what was put together and rows cut out of a table of
 * positions. */
static uint64_t activation_bytes(const struct ll_trace *trace)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (ll_op_class(signature->view.kind) == LL_CLASS_COMMUNICATION ||
            signature->view.kind == LL_OP_SLICE || signature->phase != LL_PHASE_FORWARD)
            continue;
        for (uint32_t k = 0; k < signature->view.output_count; k++)
            bytes += signature->view.out[k].rank > 0 ? ll_size_bytes(&signature->view.out[k]) : 0;
    }
    return bytes;
}

static uint64_t brought_bytes(const struct ll_trace *trace)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        bool kept = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER;
        bytes += kept && trace->tensors[i].producer == LL_NONE ? ll_size_bytes(&desc->shape) : 0;
    }
    return bytes;
}

static void activations_are_shared_and_weights_are_whole(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t ranks = i % 2 ? 4 : 2;
        struct ll_trace *trace = i < 2 ? record("llama", unfused_llama) : record("gpt", small_gpt);
        struct ll_trace *made = share(trace, ranks);
        assert_int_equal(ranks * activation_bytes(made), activation_bytes(trace));
        assert_int_equal(brought_bytes(made), brought_bytes(trace));
        ll_trace_free(trace);
        ll_trace_free(made);
    }
}

/* Each device has rows of the table of positions: the gradient is as long as the table. */
static void gradients_of_positions_are_as_long_as_all(void **state)
{
    (void)state;
    struct ll_trace *trace = record("gpt", small_gpt), *made = share(trace, 2);
    const struct ll_op_signature *pad = find(made, LL_OP_PAD);
    assert_int_equal(pad->phase, LL_PHASE_BACKWARD);
    assert_int_equal(ll_elements(&pad->view.in[0]), SEQ / 2 * HIDDEN);
    assert_int_equal(ll_elements(&pad->view.out[0]), SEQ * HIDDEN);
    ll_trace_free(trace);
    ll_trace_free(made);
}

/* Of an exchange the devices and their distance; all of a kind are alike. */
static void expect_group(const struct ll_trace *trace, enum ll_op_kind kind, enum ll_phase phase,
                         uint64_t devices, uint64_t stride)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind != kind || signature->phase != phase)
            continue;
        found++;
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0), devices);
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), stride);
    }
    assert_true(found > 0);
}

static struct ll_spread *spread(const struct ll_trace *trace, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    struct ll_spread *made = ll_spread_trace(trace, plan, 64, &diags);
    if (!made)
        fail_msg("%s", diags.count ? diags.kept[0].message : "no memory");
    return made;
}

/* 3 replicas of 4 devices that share a sequence: 12 add up gradients and share out states, 2 devices apart.
 * The queries' weights of a rank have 64 x 32 elements: states of 171 each. */
static void gradients_are_summed_up_by_all_that_have_the_weights(void **state)
{
    (void)state;
    struct ll_trace *trace = record("llama", small_llama);
    struct ll_parallel plan = plan_of(4);
    plan.data = 3;
    plan.tensor = 2;
    struct ll_spread *made = spread(trace, &plan);
    assert_int_equal(made->sizes.devices, 24);
    assert_int_equal(made->sizes.batch, 3 * BATCH);
    expect_group(made->programs[0].trace, LL_OP_ALL_REDUCE, LL_PHASE_COMM, 12, 2);
    expect_group(made->programs[0].trace, LL_OP_REDUCE_SCATTER, LL_PHASE_BACKWARD, 4, 2);
    ll_spread_free(made);
    plan.zero = 1;
    made = spread(trace, &plan);
    expect_group(made->programs[0].trace, LL_OP_REDUCE_SCATTER, LL_PHASE_COMM, 12, 2);
    expect_group(made->programs[0].trace, LL_OP_ALL_GATHER, LL_PHASE_COMM, 12, 2);
    const struct ll_trace *program = made->programs[0].trace;
    bool found = false;
    for (uint64_t i = 0; i < program->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &program->descs[program->tensors[i].desc];
        found |= desc->memory == LL_OPTIMIZER && ll_elements(&desc->shape) == 171;
    }
    assert_true(found);
    ll_spread_free(made);
    ll_trace_free(trace);
}

/* Stages hand on what a device of a sequence has, to one that is tensor x context x data away. */
static void stages_hand_on_a_share(void **state)
{
    (void)state;
    struct ll_trace *trace = record("llama", small_llama);
    struct ll_parallel plan = plan_of(4);
    plan.data = 2;
    plan.tensor = 2;
    plan.pipeline = 2;
    struct ll_spread *made = spread(trace, &plan);
    assert_int_equal(made->sizes.devices, 32);
    const struct ll_op_signature *send = find(made->programs[made->program_of[0]].trace, LL_OP_SEND);
    assert_int_equal(ll_attr_count(&send->view, LL_ATTR_PEER, 0), 2 * 4 * 2);
    assert_int_equal(ll_elements(&send->view.in[0]), BATCH * SEQ * HIDDEN / 4);
    ll_spread_free(made);
    ll_trace_free(trace);
}

static void one_device_has_all(void **state)
{
    (void)state;
    struct ll_trace *trace = record("llama", small_llama), *made = share(trace, 1);
    assert_true(ll_same_program(trace, made));
    struct ll_parallel plan = plan_of(1);
    struct ll_spread *of_one = spread(trace, &plan);
    assert_ptr_equal(of_one->programs[0].trace, trace);
    ll_spread_free(of_one);
    ll_trace_free(trace);
    ll_trace_free(made);
}

static void expect_refusal(const char *model, const struct ll_setting *settings, uint64_t ranks,
                           const char *message)
{
    struct ll_diags diags = {0};
    struct ll_trace *trace = record(model, settings);
    struct ll_parallel plan = plan_of(ranks);
    assert_null(ll_share_context(trace, &plan, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, message);
    ll_diags_release(&diags);
    ll_trace_free(trace);
}

static void what_cannot_be_divided_is_refused(void **state)
{
    (void)state;
    static const struct ll_setting rnn[MOST_SETTINGS] = {{"length", "16"}};
    /* 12 places for each expert */
    static const struct ll_setting mixture[MOST_SETTINGS] = {
        {"layers", "1"}, {"hidden", "64"},     {"heads", "8"},   {"kv_heads", "8"}, {"ffn_hidden", "96"},
        {"seq", "16"},   {"vocabulary", "48"}, {"experts", "8"}, {"top_k", "2"},    {"capacity", "150"}};
    static const struct ll_setting images[MOST_SETTINGS] = {{"image", "67"}, {"classes", "7"}};
    expect_refusal("llama", small_llama, 3,
                   "cp 3: a sequence of 16 positions cannot be divided among as many devices");
    expect_refusal(
        "llama", small_llama, 16,
        "cp 16: op 22, causal_attention in layer0/attention, has a sequence that is no multiple of "
        "twice that");
    expect_refusal("moe", mixture, 8,
                   "cp 8: op 34, route in layer0/experts, does not come in as many equal shares");
    expect_refusal("alexnet", images, 2, "cp 2: no dimension in this workload is a sequence");
    expect_refusal("paradnn_rnn", rnn, 2, "cp 2: op 2, unstack, needs positions that other devices have");
}

/* Rows of all samples' positions, seen as samples and something that nobody calls positions. */
static void samples_are_not_divided(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_trace *trace = record("llama", small_llama);
    struct ll_op_signature *view = &trace->signatures[find(trace, LL_OP_RESHAPE) - trace->signatures];
    struct ll_parallel plan = plan_of(2);
    assert_int_equal(view->view.out[0].role[1], LL_ROLE_SEQUENCE);
    view->view.out[0].role[1] = LL_ROLE_PLAIN;
    assert_null(ll_share_context(trace, &plan, &diags));
    assert_int_equal(diags.count, 1);
    assert_non_null(strstr(diags.kept[0].message, "reshape in layer0/attention, needs positions"));
    ll_diags_release(&diags);
    ll_trace_free(trace);
}

/* Rows that are as many as samples are no positions, and where there are no others nothing is divided. */
static void rows_of_samples_are_not_divided(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    const struct ll_fact samples = {"batch", "32"};
    struct ll_rewrite rewrite;
    const char *trouble = NULL;
    struct ll_trace *trace = record("llama", small_llama);
    struct ll_parallel plan = plan_of(2);
    ll_rewrite_begin(&rewrite, trace, &samples, 1);
    for (uint32_t op = 0; op < trace->op_count; op++)
        ll_rewrite_keep(&rewrite, op);
    struct ll_trace *said = ll_rewrite_end(&rewrite, &trouble);
    assert_non_null(said);
    assert_null(ll_share_context(said, &plan, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message,
                        "cp 2: what this workload reads is not known to have positions");
    ll_diags_release(&diags);
    ll_trace_free(trace);
    ll_trace_free(said);
}

/* Keys first: of their product with the gradients of scores the queries' side is divided, though keys are
 * divided as well. */
static void a_product_is_divided_by_queries_wherever_they_stand(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    assert_non_null(toy);
    toy_open(toy, path);
    const struct ll_shape words = {.dim = {1, 8, 4}, .role = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE}, .rank = 3};
    const struct ll_attr turned[] = {{.key = LL_ATTR_TRANSPOSE_A, .count = 1},
                                     {.key = LL_ATTR_TRANSPOSE_B, .count = 1}};
    uint32_t keys = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &words);
    uint32_t queries = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &words);
    uint32_t scores = toy_op(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){queries, keys}, 2,
                             &turned[1], 1, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){keys, scores}, 2, turned, 2, LL_ACTIVATION,
           NULL);
    struct ll_trace *trace = toy_close(toy, path), *made = share(trace, 2);
    const struct ll_op_signature *last = &made->signatures[made->ops[made->op_count - 1].signature];
    assert_int_equal(last->view.kind, LL_OP_BATCH_MATMUL);
    assert_int_equal(last->view.out[0].dim[1], 4);
    assert_int_equal(last->view.out[0].dim[2], 8 / 2);
    expect_exchanges(made, LL_OP_ALL_GATHER, LL_PHASE_FORWARD, "", 1, 8 * 4);
    ll_trace_free(trace);
    ll_trace_free(made);
}

/* Rows of one operand meet columns of the other, which is no matter of keys. */
static void what_lies_across_is_refused(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    struct ll_diags diags = {0};
    struct ll_parallel plan = plan_of(2);
    assert_non_null(toy);
    toy_open(toy, path);
    const struct ll_shape pairs = {
        .dim = {1, 8, 8}, .role = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_SEQUENCE}, .rank = 3};
    const struct ll_attr turned = {.key = LL_ATTR_PERMUTATION, .count = 21};
    uint32_t rows = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &pairs);
    uint32_t columns =
        toy_op(toy, LL_OP_TRANSPOSE, LL_PHASE_FORWARD, &rows, 1, &turned, 1, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_ADD, LL_PHASE_FORWARD, (uint32_t[]){rows, columns}, 2, NULL, 0, LL_ACTIVATION, NULL);
    struct ll_trace *trace = toy_close(toy, path);
    assert_null(ll_share_context(trace, &plan, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message,
                        "cp 2: op 2, add in toy, needs positions that other devices have");
    ll_diags_release(&diags);
    ll_trace_free(trace);
}

/* Every workload is divided or refused, and what is divided does less. */
static void every_model_is_divided_or_refused(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof known_models / sizeof *known_models; m++) {
        struct ll_diags diags = {0};
        const struct known *known = &known_models[m];
        if (strcmp(known->name, "allreduce") == 0 || (known->dry && ll_model_find(known->name)->infers))
            continue;
        struct ll_trace *trace = record(known->name, known->small);
        struct ll_parallel plan = plan_of(2);
        struct ll_trace *made = ll_share_context(trace, &plan, &diags);
        if (made && (double)(2 * flops_of(made, false)) > 1.01 * (double)flops_of(trace, false))
            fail_msg("%s does too much", known->name);
        if (!made && (diags.count != 1 || strncmp(diags.kept[0].message, "cp 2: ", 6) != 0))
            fail_msg("%s: %s", known->name, diags.count ? diags.kept[0].message : "nothing is said");
        ll_diags_release(&diags);
        ll_trace_free(trace);
        ll_trace_free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attention_exchanges_six_times_its_keys),
        cmocka_unit_test(devices_share_all_work),
        cmocka_unit_test(causal_attention_is_balanced),
        cmocka_unit_test(activations_are_shared_and_weights_are_whole),
        cmocka_unit_test(gradients_of_positions_are_as_long_as_all),
        cmocka_unit_test(gradients_are_summed_up_by_all_that_have_the_weights),
        cmocka_unit_test(stages_hand_on_a_share),
        cmocka_unit_test(one_device_has_all),
        cmocka_unit_test(what_cannot_be_divided_is_refused),
        cmocka_unit_test(samples_are_not_divided),
        cmocka_unit_test(rows_of_samples_are_not_divided),
        cmocka_unit_test(a_product_is_divided_by_queries_wherever_they_stand),
        cmocka_unit_test(what_lies_across_is_refused),
        cmocka_unit_test(every_model_is_divided_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
