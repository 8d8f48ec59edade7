/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to the host comes back, and is not here meanwhile. */
#include "check.h"

#include "dry_model.h"
#include "four_products.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/offload.h"

static const struct ll_form *form_of(const struct ll_trace *trace, uint64_t op)
{
    return &trace->forms[trace->ops[op].form];
}

static struct ll_trace *offloaded(const struct ll_trace *trace, struct ll_offload offload)
{
    const struct ll_parallel plan = {.data = 1,
                                     .tensor = 1,
                                     .context = 1,
                                     .pipeline = 1,
                                     .expert = 1,
                                     .overlap = true,
                                     .offload = offload};
    struct ll_arena arena = {0};
    const char *trouble;
    struct ll_trace *new = ll_offload(trace, &plan, &trouble);
    if (trouble)
        print_error("%s: %s\n", ll_trace_fact(trace, "model"), trouble);
    assert_non_null(new);
    assert_null(ll_trace_check(new, &arena));
    ll_arena_release(&arena);
    return new;
}

static uint64_t moved_bytes(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint64_t bytes = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        if (form_of(trace, op)->view.kind == kind)
            bytes += form_of(trace, op)->bytes_read + form_of(trace, op)->bytes_written;
    return bytes;
}

static struct ll_footprint footprint_of(const struct ll_trace *trace)
{
    struct ll_footprint footprint;
    assert_true(ll_footprint(trace, &footprint));
    return footprint;
}

static uint64_t flops_of(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        flops += form_of(trace, op)->flops;
    return flops;
}

static void activations_that_go_come_back_once(void **state)
{
    (void)state;
    static const char *const models[] = {"resnet", "transformer", "alexnet"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_trace *trace = dry_model(models[i], true, 64, NULL, 0);
        struct ll_trace *new = offloaded(trace, (struct ll_offload){.activations = true});
        uint64_t gone = moved_bytes(new, LL_OP_TO_HOST);
        assert_true(gone > 0);
        assert_int_equal(moved_bytes(new, LL_OP_FROM_HOST), gone);
        assert_int_equal(flops_of(new), flops_of(trace));
        assert_true(footprint_of(new).peak_bytes < footprint_of(trace).peak_bytes);
        ll_trace_free(new);
        ll_trace_free(trace);
    }
}

/* What the second and the third product read goes when it was read, and comes when the layer above goes
 * backward; the last keeps what it reads, and nothing is moved of what the step was given. */
static void activations_come_a_layer_ahead(void **state)
{
    (void)state;
    struct ll_trace *trace = four_products(false);
    struct ll_trace *new = offloaded(trace, (struct ll_offload){.activations = true});
    char ops[32] = "";
    assert_true(new->op_count < sizeof ops);
    for (uint64_t op = 0; op < new->op_count; op++) {
        const struct ll_form *form = form_of(new, op);
        ops[op] = form->view.kind == LL_OP_TO_HOST     ? '>'
                  : form->view.kind == LL_OP_FROM_HOST ? '<'
                  : form->phase == LL_PHASE_FORWARD    ? 'f'
                                                       : 'b';
    }
    assert_string_equal(ops, "ff>f>f"
                             "<bb<bbbbbb");
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* Adam's two numbers in f32 for each of the 61,415,424 parameters of the base Transformer; those of tensors
 * smaller than a page stay. */
static void the_state_of_the_optimizer_comes_and_goes_with_the_update(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    struct ll_trace *new = offloaded(trace, (struct ll_offload){.optimizer = true});
    assert_near((double)moved_bytes(new, LL_OP_TO_HOST), 8 * 61415424.0, 0.01);
    assert_int_equal(moved_bytes(new, LL_OP_TO_HOST), moved_bytes(new, LL_OP_FROM_HOST));
    assert_true(footprint_of(new).class_bytes[LL_OPTIMIZER] <
                footprint_of(trace).class_bytes[LL_OPTIMIZER] / 100);
    assert_true(footprint_of(new).peak_bytes < footprint_of(trace).peak_bytes);
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* Forward, backward and for the update: three times there, once back. The table of words is that of three
 * layers, the first of both halves and the last. */
static void weights_come_when_their_layer_is_at_work(void **state)
{
    (void)state;
    const double table = 4.0 * 33708 * 512;
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    struct ll_trace *new = offloaded(trace, (struct ll_offload){.weights = true});
    assert_near((double)moved_bytes(new, LL_OP_TO_HOST), 4 * 61415424.0, 0.01);
    assert_in_range(moved_bytes(new, LL_OP_FROM_HOST), 3 * 4 * 61000000ull,
                    3 * 4 * 61415424ull + (uint64_t)(2 * table));
    assert_true(footprint_of(new).peak_bytes < footprint_of(trace).peak_bytes);
    assert_true(footprint_of(new).class_bytes[LL_WEIGHT] < (uint64_t)table / 10);
    ll_trace_free(new);
    ll_trace_free(trace);
}

static void every_model_can_be_offloaded(void **state)
{
    (void)state;
    static const char *const models[] = {"nmt",    "sockeye",  "deepspeech2", "wgan",
                                         "memnet", "densenet", "seq2seq"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_trace *trace = dry_model(models[i], true, 2, NULL, 0);
        ll_trace_free(offloaded(trace, (struct ll_offload){true, true, true}));
        ll_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_that_go_come_back_once),
        cmocka_unit_test(activations_come_a_layer_ahead),
        cmocka_unit_test(the_state_of_the_optimizer_comes_and_goes_with_the_update),
        cmocka_unit_test(weights_come_when_their_layer_is_at_work),
        cmocka_unit_test(every_model_can_be_offloaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
