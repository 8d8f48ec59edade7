/* SPDX-License-Identifier: Apache-2.0 */
/* What a training framework makes of a step: memory against its closed form (bytes of a layer's
 * activations as Transformer Engine keeps them), and traces whose gradients, losses and exchanges are as
 * asked. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_that_of_the_closed_form),
        cmocka_unit_test(tensor_parallel_devices_keep_half),
        cmocka_unit_test(gradients_losses_and_exchanges_are_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
