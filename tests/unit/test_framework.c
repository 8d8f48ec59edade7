/* SPDX-License-Identifier: Apache-2.0 */
/* What a training framework makes of a step: memory against its closed form (bytes of a layer's
 * activations as Transformer Engine keeps them), and traces whose gradients, losses and exchanges are as
 * asked. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "tracer/ir/experts.h"

enum {
    TOKENS = 512,
    LAYERS = 2,
    HIDDEN = 4096,
    HEADS = 32,
    KV_HEADS = 8,
    HEAD = 128,
    FFN = 14336,
    WORDS = 1024
};

static struct ll_trace *llama(void)
{
    static const struct ll_setting settings[] = {
        {"config", "llama3.1-8b"}, {"layers", "2"}, {"tokens", "512"}, {"vocabulary", "1024"}};
    return dry_model("llm", true, 1, settings, 4);
}

static struct ll_spread *spread_of(const struct ll_trace *trace, uint64_t tensor)
{
    struct ll_diags diags = {0};
    struct ll_parallel plan = ll_plan_of_one();
    plan.tensor = tensor;
    plan.sequence = tensor > 1;
    plan.micro_batch = 1;
    plan.batch = 4;
    plan.main_grads = plan.fused_loss = true;
    plan.pass_overlap = false;
    struct ll_spread *spread = ll_spread_trace(trace, &plan, tensor, &diags);
    if (!spread)
        fail_msg("%s", diags.kept[0].message);
    ll_diags_release(&diags);
    return spread;
}

static double parameters(void)
{
    return 2. * WORDS * HIDDEN + HIDDEN +
           LAYERS * (HIDDEN * (HEADS + 2. * KV_HEADS) * HEAD + 1. * HEADS * HEAD * HIDDEN +
                     3. * HIDDEN * FFN + 2. * HIDDEN);
}

/* Bytes of activations that a pass keeps: each layer's, the last norm's input and output, the logits. */
static double kept_bytes(void)
{
    const double t = TOKENS;
    double layer =
        8 * t * HIDDEN + 2 * t * (2. * HEADS + 2. * KV_HEADS) * HEAD + 4 * t * HEADS + 6 * t * FFN + 8 * t;
    return LAYERS * layer + 4 * t * HIDDEN + 4 * t + 2 * t * WORDS;
}

static void memory_is_that_of_the_closed_form(void **state)
{
    static const struct ll_training training = {.gradient_buffers = true,
                                                .unused_weight_gradients = true,
                                                .norm_statistics = true,
                                                .workspace_bytes = 1000};
    struct ll_trace *trace = llama();
    struct ll_spread *spread = spread_of(trace, 1);
    struct ll_vstage_memory memory;
    (void)state;
    assert_true(ll_vstage_memory(spread->programs[0].trace, 4, &training, &memory));
    assert_near((double)memory.lasting.of[LL_WEIGHT], 2 * parameters(), 1e-12);
    assert_near((double)memory.lasting.of[LL_GRADIENT], 4 * parameters(), 1e-6);
    assert_near((double)memory.lasting.of[LL_OPTIMIZER], 12 * parameters(), 1e-6);
    assert_near((double)memory.kept.of[LL_ACTIVATION], kept_bytes(), 1e-9); /* and a few numbers a token */
    double shapes = 2. * HIDDEN * ((HEADS + 2. * KV_HEADS) * HEAD + HEADS * HEAD + 2. * FFN + FFN);
    assert_near((double)memory.lasting.of[LL_WORKSPACE], shapes + 1000, 1e-12);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

/* On two devices with sequence parallelism half of what a layer keeps is on each. */
static void tensor_parallel_devices_keep_half(void **state)
{
    static const struct ll_training training = {.norm_statistics = true};
    struct ll_trace *trace = llama();
    struct ll_spread *spread = spread_of(trace, 2);
    struct ll_vstage_memory memory;
    (void)state;
    assert_true(ll_vstage_memory(spread->programs[0].trace, 4, &training, &memory));
    assert_near((double)memory.kept.of[LL_ACTIVATION], kept_bytes() / 2, 2e-3);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

/* What updates read of gradients has 32 bits; logits are read as they are and their gradient lies over
 * them; the op behind an exchange waits for it. */
static void gradients_losses_and_exchanges_are_as_asked(void **state)
{
    struct ll_trace *trace = llama();
    struct ll_spread *spread = spread_of(trace, 2);
    const struct ll_trace *program = spread->programs[0].trace;
    uint64_t updates = 0, losses = 0, exchanges = 0;
    (void)state;
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(program, op);
        const bool update = signature->view.kind == LL_OP_ADAM_MIXED;
        for (uint32_t i = 0; update && i < signature->view.input_count; i++)
            if (program->descs[signature->inputs[i]].memory == LL_GRADIENT) {
                assert_int_equal(signature->view.in[i].dtype, LL_F32);
                updates++;
            }
        if (signature->view.kind == LL_OP_SOFTMAX_XENT) {
            assert_int_equal(signature->view.in[0].dtype, LL_BF16);
            assert_int_equal(program->tensors[ll_op_output(program, op, 1)].storage,
                             program->tensors[ll_op_input(program, op, 0)].storage);
            losses++;
        }
        bool gathers = signature->view.kind == LL_OP_ALL_GATHER && signature->phase == LL_PHASE_FORWARD;
        if (gathers)
            assert_int_equal(program->edges[program->ops[op + 1].edges].control_count, 1);
        exchanges += gathers;
    }
    assert_true(updates >= 4 * LAYERS);
    assert_int_equal(losses, 1);
    assert_true(exchanges >= 2 * LAYERS);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

/* --- few bits, pieces, compression --- */

static struct ll_parallel plan_of_megatron(uint64_t tensor)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.tensor = tensor;
    plan.sequence = tensor > 1;
    plan.micro_batch = 1;
    plan.main_grads = plan.fused_loss = true;
    return plan;
}

static struct ll_spread *spread_by(const struct ll_trace *trace, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    struct ll_spread *spread =
        ll_spread_trace(trace, plan, plan->tensor * plan->context * plan->data, &diags);
    if (!spread)
        fail_msg("%s", diags.kept[0].message);
    ll_diags_release(&diags);
    return spread;
}

static uint64_t count_kind(const struct ll_trace *program, enum ll_op_kind kind)
{
    uint64_t count = 0;
    for (uint32_t op = 0; op < program->op_count; op++)
        count += signature_of(program, op)->view.kind == kind;
    return count;
}

/* Bytes that a kind of exchange takes in, of phases comm and backward. */
static uint64_t sent_bytes(const struct ll_trace *program, enum ll_op_kind kind)
{
    uint64_t bytes = 0;
    for (uint32_t op = 0; op < program->op_count; op++)
        if (signature_of(program, op)->view.kind == kind)
            for (uint32_t i = 0; i < signature_of(program, op)->view.input_count; i++)
                bytes += ll_size_bytes(&signature_of(program, op)->view.in[i]);
    return bytes;
}

static double gemm_flops(const struct ll_trace *program)
{
    double flops = 0;
    for (uint32_t op = 0; op < program->op_count; op++)
        if (ll_class_is_gemm(ll_op_class(signature_of(program, op)->view.kind)))
            flops += (double)signature_of(program, op)->flops;
    return flops;
}

/* Of a layer's four linears mxfp8 keeps inputs in 8 bits and a scale for each 32 in place of 16 bits; what
 * attention made stays for its own gradient, too. Two copies of weights last beside them. */
static void few_bits_take_less_memory(void **state)
{
    static const struct ll_training training = {.norm_statistics = true, .gradient_buffers = true};
    const double t = TOKENS, narrow = 33. / 32;
    struct ll_trace *trace = llama();
    struct ll_parallel plan = plan_of_megatron(1);
    plan.batch = 4;
    plan.low_precision.recipe = LL_RECIPE_MXFP8;
    struct ll_spread *spread = spread_by(trace, &plan);
    struct ll_vstage_memory memory;
    (void)state;
    assert_true(ll_vstage_memory(spread->programs[0].trace, 4, &training, &memory));
    double saved = LAYERS * t * ((2 - narrow) * (2. * HIDDEN + FFN) - narrow * HEADS * HEAD);
    assert_near((double)memory.kept.of[LL_ACTIVATION], kept_bytes() - saved, 1e-9);
    double linears =
        LAYERS * (HIDDEN * (HEADS + 2. * KV_HEADS) * HEAD + 1. * HEADS * HEAD * HIDDEN + 3. * HIDDEN * FFN);
    assert_near((double)memory.lasting.of[LL_WORKSPACE], 2 * narrow * linears, 1e-9);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

static uint64_t narrow_gemms(const struct ll_trace *program)
{
    uint64_t count = 0;
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ll_op_view *view = &signature_of(program, op)->view;
        count += view->kind == LL_OP_MATMUL && view->in[0].dtype == LL_F8 && view->in[1].dtype == LL_F8;
    }
    return count;
}

/* Linears of a layer: as many GEMMs each way as weights. */
static void a_recipe_takes_the_gemms_that_it_is_told(void **state)
{
    struct ll_trace *trace = llama();
    struct ll_parallel plan = plan_of_megatron(1);
    uint64_t all, forward, of_one;
    (void)state;
    plan.low_precision.recipe = LL_RECIPE_TENSORWISE;
    struct ll_spread *spread = spread_by(trace, &plan);
    all = narrow_gemms(spread->programs[0].trace);
    /* a pass for the largest element before each cast: what each linear reads, its weight, and what flows
     * in */
    assert_int_equal(count_kind(spread->programs[0].trace, LL_OP_REDUCTION), 3 * 4 * LAYERS);
    assert_int_equal(count_kind(spread->programs[0].trace, LL_OP_CAST_BOTH), 0);
    ll_spread_free(spread);
    plan.low_precision.gemms = (struct ll_low_gemms){.fprop = true};
    spread = spread_by(trace, &plan);
    forward = narrow_gemms(spread->programs[0].trace);
    ll_spread_free(spread);
    plan.low_precision.last_kept = 1;
    spread = spread_by(trace, &plan);
    of_one = narrow_gemms(spread->programs[0].trace);
    ll_spread_free(spread);
    assert_int_equal(all, 3 * forward);
    assert_int_equal(forward, LAYERS * of_one);
    plan.low_precision.first_kept = 1; /* nothing is left */
    struct ll_diags diags = {0};
    assert_null(ll_spread_trace(trace, &plan, 1, &diags));
    assert_non_null(strstr(diags.kept[0].message, "no GEMM of a weight is left to be narrow"));
    ll_diags_release(&diags);
    ll_trace_free(trace);
}

/* What is gathered for a GEMM is gathered narrow, and devices agree on its largest element. */
static void tensor_parallel_devices_gather_few_bits(void **state)
{
    struct ll_trace *trace = llama();
    struct ll_parallel plan = plan_of_megatron(2);
    (void)state;
    struct ll_spread *wide = spread_by(trace, &plan);
    plan.low_precision.recipe = LL_RECIPE_TENSORWISE;
    struct ll_spread *narrow = spread_by(trace, &plan);
    uint64_t before = sent_bytes(wide->programs[0].trace, LL_OP_ALL_GATHER),
             after = sent_bytes(narrow->programs[0].trace, LL_OP_ALL_GATHER);
    /* six a layer, and three of the projection onto tokens, which stay */
    assert_int_equal(after * (6 * LAYERS + 3), before * (3 * LAYERS + 3));
    assert_true(count_kind(narrow->programs[0].trace, LL_OP_ALL_REDUCE) >
                count_kind(wide->programs[0].trace, LL_OP_ALL_REDUCE));
    ll_spread_free(wide);
    plan.low_precision.recipe = LL_RECIPE_DELAYED; /* once a pass each */
    wide = spread_by(trace, &plan);
    assert_int_equal(count_kind(narrow->programs[0].trace, LL_OP_ALL_REDUCE) -
                         count_kind(wide->programs[0].trace, LL_OP_ALL_REDUCE),
                     4 * LAYERS - 2);
    ll_spread_free(wide);
    ll_spread_free(narrow);
    ll_trace_free(trace);
}

/* Both directions of a layer of experts multiply in the format, of which weights have a copy each, and their
 * gradients are as they were. Rows go there and back each way, and what they count for there and its gradient
 * back. */
static void experts_learn_in_few_bits(void **state)
{
    static const struct ll_setting settings[] = {
        {"config", "qwen3-30b-a3b"}, {"layers", "1"}, {"tokens", "256"}, {"vocabulary", "1024"}};
    struct ll_trace *trace = dry_model("llm", true, 1, settings, 4);
    struct ll_parallel plan = plan_of_megatron(1);
    uint64_t layers = 0;
    (void)state;
    plan.data = plan.expert = 2;
    plan.low_precision.recipe = LL_RECIPE_MXFP8;
    struct ll_spread *spread = spread_by(trace, &plan);
    const struct ll_trace *program = spread->programs[0].trace;
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ll_op_view *view = &signature_of(program, op)->view;
        const bool backward = view->kind == LL_OP_EXPERTS_GRAD;
        if (view->kind != LL_OP_EXPERTS && !backward)
            continue;
        layers++;
        assert_int_equal(ll_attr_count(view, LL_ATTR_FORMAT, 0), LL_EXPERTS_FP8_BLOCK);
        assert_int_equal(view->in[3 + backward].dtype, LL_F8);
        assert_int_equal(view->in[4 + backward].dtype, LL_F8);
        if (backward)
            assert_int_equal(view->out[2].dtype, LL_F32);
    }
    assert_int_equal(layers, 2);
    assert_int_equal(count_kind(program, LL_OP_ALL_TO_ALL), 4 + 2);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

/* Each device sends its rows t - 1 times around the ring in place of one all_gather, and as many bytes are
 * scattered; all compute what they did. */
static void gemms_go_on_beside_pieces(void **state)
{
    enum { RANKS = 4 };
    struct ll_trace *trace = llama();
    struct ll_parallel plan = plan_of_megatron(RANKS);
    (void)state;
    struct ll_spread *whole = spread_by(trace, &plan);
    plan.tensor_overlap = true;
    plan.pass_overlap = false;
    struct ll_spread *cut = spread_by(trace, &plan);
    const struct ll_trace *before = whole->programs[0].trace, *after = cut->programs[0].trace;
    assert_near(gemm_flops(after), gemm_flops(before), 1e-12);
    assert_int_equal(sent_bytes(after, LL_OP_REDUCE_SCATTER), sent_bytes(before, LL_OP_REDUCE_SCATTER));
    assert_int_equal(sent_bytes(after, LL_OP_SHIFT), (RANKS - 1) * (sent_bytes(before, LL_OP_ALL_GATHER) -
                                                                    sent_bytes(after, LL_OP_ALL_GATHER)));
    assert_true(count_kind(after, LL_OP_SHIFT) >= (RANKS - 1) * 4 * LAYERS);
    ll_spread_free(whole);
    ll_spread_free(cut);
    ll_trace_free(trace);
}

/* N shares of a causal attention are its whole; keys and values go N - 1 times around, their gradients N
 * times. */
static void attention_in_a_ring_is_all_of_it(void **state)
{
    enum { RANKS = 4 };
    struct ll_trace *trace = llama();
    struct ll_parallel plan = plan_of_megatron(1);
    const uint64_t keys = 2ull * TOKENS / RANKS * KV_HEADS * HEAD;
    (void)state;
    plan.context = RANKS;
    struct ll_spread *gathers = spread_by(trace, &plan);
    plan.cp_comm = LL_CP_COMM_RING;
    struct ll_spread *ring = spread_by(trace, &plan);
    const struct ll_trace *program = ring->programs[0].trace;
    assert_int_equal(count_kind(program, LL_OP_CAUSAL_ATTENTION), RANKS * LAYERS);
    assert_near(gemm_flops(program), gemm_flops(gathers->programs[0].trace), 1e-3);
    assert_int_equal(sent_bytes(program, LL_OP_SHIFT), LAYERS * (2 * (RANKS - 1) + RANKS) * 2 * keys);
    ll_spread_free(gathers);
    ll_spread_free(ring);
    ll_trace_free(trace);
}

static uint64_t exchanged(const struct ll_trace *trace, struct ll_compression compression,
                          enum ll_op_kind kind)
{
    struct ll_parallel plan = plan_of_megatron(1);
    plan.data = 4;
    plan.compression = compression;
    struct ll_spread *spread = spread_by(trace, &plan);
    uint64_t bytes = sent_bytes(spread->programs[0].trace, kind);
    ll_spread_free(spread);
    return bytes;
}

/* Gradients of 32 bits: half in bf16, a quarter in f8; of a matrix [n, m] two factors of n r and m r; of all
 * one in n with its place. Norms' weights are vectors. */
static void compressed_gradients_are_fewer_bytes(void **state)
{
    enum { RANK = 4, SHARE = 100 };
    static const uint64_t matrices[][2] = {
        {HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD}, {HEADS * HEAD, HIDDEN}, {HIDDEN, 2 * FFN}, {FFN, HIDDEN}};
    struct ll_trace *trace = llama();
    const uint64_t whole = exchanged(trace, (struct ll_compression){0}, LL_OP_ALL_REDUCE);
    const uint64_t f8 = exchanged(trace, (struct ll_compression){LL_COMPRESSION_F8, 0}, LL_OP_ALL_REDUCE);
    uint64_t lines = 2 * (WORDS + HIDDEN), norms = (2 * LAYERS + 1) * HIDDEN;
    (void)state;
    assert_near((double)whole, 4 * parameters(), 1e-9);
    assert_int_equal(exchanged(trace, (struct ll_compression){LL_COMPRESSION_BF16, 0}, LL_OP_ALL_REDUCE),
                     whole / 2);
    assert_true(f8 >= whole / 4 && f8 < whole / 4 + 4 * 100); /* and a number for each tensor */
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        lines += LAYERS * (matrices[i][0] + matrices[i][1]);
    uint64_t factors =
        exchanged(trace, (struct ll_compression){LL_COMPRESSION_POWERSGD, RANK}, LL_OP_ALL_REDUCE);
    assert_true(factors >= 4 * (RANK * lines + norms));
    assert_true(factors <=
                4 * (RANK * (lines + LAYERS * 3 * HIDDEN) + norms)); /* were layers' weights apart */
    uint64_t largest =
        exchanged(trace, (struct ll_compression){LL_COMPRESSION_TOP_K, SHARE}, LL_OP_ALL_GATHER);
    assert_near((double)largest, 8 * parameters() / SHARE, 1e-3);
    ll_trace_free(trace);
}

/* Forms that no gradient takes, which would do nothing. */
static void a_compression_that_compresses_nothing_is_refused(void **state)
{
    static const struct {
        struct ll_compression compression;
        bool main_grads, refused;
        uint64_t data;
    } cases[] = {{{LL_COMPRESSION_BF16, 0}, true, false, 4},
                 {{LL_COMPRESSION_BF16, 0}, false, true, 4}, /* they have 16 bits already */
                 {{LL_COMPRESSION_F8, 0}, false, false, 4},
                 {{LL_COMPRESSION_POWERSGD, 4}, true, false, 4},
                 {{LL_COMPRESSION_POWERSGD, 100000}, true, true, 4},
                 {{LL_COMPRESSION_F8, 0}, false, true, 1}};
    struct ll_trace *trace = llama();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_parallel plan = plan_of_megatron(1);
        struct ll_diags diags = {0};
        plan.data = cases[i].data;
        plan.zero = 0;
        plan.main_grads = cases[i].main_grads;
        plan.compression = cases[i].compression;
        struct ll_spread *spread = ll_spread_trace(trace, &plan, 4, &diags);
        assert_int_equal(spread == NULL, cases[i].refused);
        assert_int_equal(diags.count, cases[i].refused);
        assert_true(!cases[i].refused || strstr(diags.kept[0].message, "grad_compression"));
        ll_spread_free(spread);
        ll_diags_release(&diags);
    }
    ll_trace_free(trace);
}

/* Of tensor-parallel devices and of replicas: a ring each. */
static void communicators_have_buffers_by_channel(void **state)
{
    static const struct ll_training training = {
        .context_bytes = 1000, .collective_channels = 24, .message_channels = 32, .channel_bytes = 12};
    struct ll_trace *trace = llama();
    struct ll_parallel plan = plan_of_megatron(2);
    struct ll_outside outside;
    (void)state;
    plan.data = 4;
    struct ll_spread *spread = spread_by(trace, &plan);
    const struct ll_trace *programs[] = {spread->programs[0].trace};
    assert_true(ll_framework_outside(programs, 1, &training, 8, &outside));
    assert_int_equal(outside.communicators, 2);
    assert_int_equal(outside.communicator_bytes, 2 * 24 * 12);
    assert_int_equal(outside.context_bytes, 1000);
    ll_spread_free(spread);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_that_of_the_closed_form),
        cmocka_unit_test(tensor_parallel_devices_keep_half),
        cmocka_unit_test(gradients_losses_and_exchanges_are_as_asked),
        cmocka_unit_test(few_bits_take_less_memory),
        cmocka_unit_test(a_recipe_takes_the_gemms_that_it_is_told),
        cmocka_unit_test(tensor_parallel_devices_gather_few_bits),
        cmocka_unit_test(experts_learn_in_few_bits),
        cmocka_unit_test(gemms_go_on_beside_pieces),
        cmocka_unit_test(attention_in_a_ring_is_all_of_it),
        cmocka_unit_test(compressed_gradients_are_fewer_bytes),
        cmocka_unit_test(a_compression_that_compresses_nothing_is_refused),
        cmocka_unit_test(communicators_have_buffers_by_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
