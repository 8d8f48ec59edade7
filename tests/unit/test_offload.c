/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to the host comes back, and is not here meanwhile. */
#include "check.h"

#include "dry_model.h"
#include "four_products.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/exchange.h"

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint64_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

static struct ll_trace *offloaded_by(const struct ll_trace *trace, struct ll_offload offload, bool overlap)
{
    const struct ll_parallel plan = {.data = 1,
                                     .tensor = 1,
                                     .context = 1,
                                     .pipeline = 1,
                                     .expert = 1,
                                     .overlap = overlap,
                                     .prefetch = 1,
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

static struct ll_trace *offloaded(const struct ll_trace *trace, struct ll_offload offload)
{
    return offloaded_by(trace, offload, true);
}

/* What the ops are, a letter each: forward, backward, update; v: a view. > goes to the host, < comes. */
static char letter_of(const struct ll_op_signature *signature)
{
    switch (signature->view.kind) {
    case LL_OP_TO_HOST:
        return '>';
    case LL_OP_FROM_HOST:
        return '<';
    case LL_OP_RESHAPE:
        return 'v';
    default:
        return signature->phase == LL_PHASE_FORWARD ? 'f' : signature->phase == LL_PHASE_BACKWARD ? 'b' : 'u';
    }
}

/* Takes the trace. */
static void assert_ops(struct ll_trace *trace, struct ll_offload offload, bool overlap, const char *expected)
{
    struct ll_trace *new = offloaded_by(trace, offload, overlap);
    char ops[64] = "";
    assert_true(new->op_count < sizeof ops);
    for (uint64_t op = 0; op < new->op_count; op++)
        ops[op] = letter_of(signature_of(new, op));
    assert_string_equal(ops, expected);
    ll_trace_free(new);
    ll_trace_free(trace);
}

static uint64_t moved_bytes(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint64_t bytes = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        if (signature_of(trace, op)->view.kind == kind)
            bytes += signature_of(trace, op)->bytes_read + signature_of(trace, op)->bytes_written;
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
        flops += signature_of(trace, op)->flops;
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

/* What the second product reads has gone when the fourth begins, and comes when the third goes backward; the
 * last two keep what they read, and nothing is moved of what the step was given. */
static void activations_come_a_layer_ahead(void **state)
{
    (void)state;
    assert_ops(four_products(false), (struct ll_offload){.activations = true}, true,
               "fff>f"
               "bb<bbbbbb");
}

/* What leaves is held until the op behind its way to the host, which waits for that. */
static void memory_is_free_when_it_is_empty(void **state)
{
    (void)state;
    struct ll_trace *trace = four_products(true);
    struct ll_trace *new = offloaded(trace, (struct ll_offload){.activations = true, .optimizer = true});
    struct ll_arena arena = {0};
    const struct ll_deps *deps = ll_trace_deps(new, &arena);
    uint32_t waited_for = 0;
    for (uint32_t op = 1; op < new->op_count; op++) {
        bool waits = false;
        for (uint64_t d = deps->first[op]; d < deps->first[op + 1]; d++)
            waits |= deps->ops[d] == op - 1;
        if (letter_of(signature_of(new, op)) == '>' || letter_of(signature_of(new, op - 1)) != '>')
            continue;
        assert_true(waits);
        waited_for++;
    }
    assert_int_equal(waited_for, 3); /* fff>fbb<bbbbbb<u<u><u><u>>: all but the last two */
    ll_arena_release(&arena);
    ll_trace_free(new);
    ll_trace_free(trace);
}

enum { LAYERS = 4 };
static const char *const scopes[LAYERS] = {"layer0", "layer1", "layer2", "layer3"};

/* Steps as of four products, in which each but the first reads a view of what the layer before has made, both
 * ways. */
static struct ll_trace *four_views(int steps)
{
    static const struct ll_attr ta = {.key = LL_ATTR_TRANSPOSE_A, .count = 1},
                                tb = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    const struct ll_shape square = toy_matrix(64, 64);
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    uint32_t w[LAYERS], x[LAYERS];
    toy_open(toy, path);
    for (int i = 0; i < LAYERS; i++)
        w[i] = toy_bring(toy, square, LL_WEIGHT);
    const uint32_t input = toy_bring(toy, square, LL_INPUT);
    for (int step = 0; step < steps; step++) {
        uint32_t y = input;
        ll_recorder_step_begin(toy->recorder);
        for (int i = 0; i < LAYERS; i++) {
            toy->scope = ll_recorder_string(toy->recorder, scopes[i]);
            x[i] = i == 0
                       ? y
                       : toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &y, 1, NULL, 0, LL_ACTIVATION, &square);
            y = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x[i], w[i]}, 2, NULL, 0,
                       LL_ACTIVATION, NULL);
        }
        for (int i = LAYERS; i-- > 0;) {
            toy->scope = ll_recorder_string(toy->recorder, scopes[i]);
            toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){x[i], y}, 2, &ta, 1, LL_GRADIENT, NULL);
            y = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){y, w[i]}, 2, &tb, 1, LL_GRADIENT,
                       NULL);
        }
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

/* What a view shows goes, and when it has come a view of it is made again; in each step alike. */
static void views_show_what_has_come_back(void **state)
{
    (void)state;
    assert_ops(four_views(2), (struct ll_offload){.activations = true}, true,
               "fvfvf>vf"
               "bb<bbvbbbb"
               "fvfvf>vf"
               "bb<bbvbbbb");
}

static uint32_t relu(struct toy *toy, uint32_t x, enum ll_phase phase, enum ll_memory_class memory)
{
    return toy_op(toy, LL_OP_RELU, phase, &x, 1, NULL, 0, memory, NULL);
}

/* Of what the first of three layers makes going forward for its way back, a page or more goes, behind its
 * last reader. Less than a page stays, and what is no activation, what is written twice, what is made going
 * backward, and what nobody reads then. */
/* Views too that are made anew, so that it can be told when the forward pass ends. */
static void what_comes_back_does_so_going_backward(void **state)
{
    (void)state;
    struct ll_trace *trace = four_views(1);
    struct ll_trace *new = offloaded(trace, (struct ll_offload){.activations = true});
    bool backward = false;
    assert_true(new->op_count > trace->op_count);
    for (uint64_t op = 0; op < new->op_count; op++) {
        backward |= signature_of(new, op)->phase == LL_PHASE_BACKWARD;
        assert_false(backward && signature_of(new, op)->phase == LL_PHASE_FORWARD);
    }
    assert_true(backward);
    ll_trace_free(new);
    ll_trace_free(trace);
}

static void what_is_not_worth_the_way_stays(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    const struct ll_shape page = toy_matrix(32, 32);
    const uint32_t x = toy_bring(toy, page, LL_INPUT), small = toy_bring(toy, toy_matrix(31, 33), LL_INPUT),
                   w[] = {toy_bring(toy, page, LL_WEIGHT), toy_bring(toy, page, LL_WEIGHT),
                          toy_bring(toy, page, LL_WEIGHT)};
    uint32_t kept[6];
    toy->scope = ll_recorder_string(toy->recorder, scopes[0]);
    uint32_t y =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, w[0]}, 2, NULL, 0, LL_ACTIVATION, NULL);
    kept[0] = relu(toy, y, LL_PHASE_FORWARD, LL_ACTIVATION);
    kept[1] = relu(toy, y, LL_PHASE_FORWARD, LL_ACTIVATION);
    kept[2] = relu(toy, small, LL_PHASE_FORWARD, LL_ACTIVATION);
    kept[3] = relu(toy, y, LL_PHASE_FORWARD, LL_WORKSPACE);
    kept[4] = relu(toy, y, LL_PHASE_FORWARD, LL_ACTIVATION);
    kept[4] = toy_op(toy, LL_OP_ASSIGN, LL_PHASE_FORWARD, (uint32_t[]){kept[4], y}, 2, NULL, 0, LL_ACTIVATION,
                     NULL);
    toy_op(toy, LL_OP_ADD, LL_PHASE_FORWARD, kept, 2, NULL, 0, LL_ACTIVATION, NULL); /* two go behind it */
    toy->scope = ll_recorder_string(toy->recorder, scopes[1]);
    y = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){y, w[1]}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy->scope = ll_recorder_string(toy->recorder, scopes[2]);
    y = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){y, w[2]}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy->scope = ll_recorder_string(toy->recorder, scopes[1]);
    y = relu(toy, y, LL_PHASE_BACKWARD, LL_GRADIENT);
    toy->scope = ll_recorder_string(toy->recorder, scopes[0]);
    kept[5] = relu(toy, y, LL_PHASE_BACKWARD, LL_ACTIVATION);
    for (int i = 0; i < 6; i++)
        relu(toy, kept[i], LL_PHASE_BACKWARD, LL_GRADIENT);
    assert_ops(toy_close(toy, path), (struct ll_offload){.activations = true}, true,
               "fffffff"
               "ff>>f"
               "<<bbbbbbbb");
}

/* A layer ahead with plan->overlap, or else just before. Going backward the second of a layer's products
 * reads its weight; the last layer does not begin to go back before it has gone forward. */
static void weights_and_states_come_in_their_order(void **state)
{
    (void)state;
    const struct ll_offload weights = {.weights = true}, optimizer = {.optimizer = true},
                            both = {.weights = true, .optimizer = true};
    assert_ops(four_products(true), weights, true,
               "<<f<f<ff"
               "b<<bb<bb<bbb"
               "<u<u><u><u>>");
    assert_ops(four_products(true), weights, false,
               "<f<f<f<f"
               "b<bb<bb<bb<b"
               "<u<u><u><u>>");
    assert_ops(four_products(true), optimizer, true,
               "ffff"
               "bbbbbbbb"
               "<u<u><u><u>>");
    assert_ops(four_products(true), both, false,
               "<f<f<f<f"
               "b<bb<bb<bb<b"
               "<<u<<u>><<u>><<u>>>>");
}

/* What comes stands in the memory from where it is asked for: it waits for the op before. */
static void nothing_comes_before_there_is_room(void **state)
{
    (void)state;
    struct ll_trace *trace = four_products(true);
    struct ll_trace *new = offloaded(trace, (struct ll_offload){true, true, true});
    struct ll_arena arena = {0};
    const struct ll_deps *deps = ll_trace_deps(new, &arena);
    uint32_t worked = LL_NONE, came = 0;
    for (uint32_t op = 0; op < new->op_count; op++) {
        bool waits = false;
        for (uint64_t d = deps->first[op]; d < deps->first[op + 1]; d++)
            waits |= deps->ops[d] == worked;
        if (letter_of(signature_of(new, op)) != '<' && letter_of(signature_of(new, op)) != '>')
            worked = op;
        else if (letter_of(signature_of(new, op)) == '<' && worked != LL_NONE)
            assert_true(waits && ++came);
    }
    assert_int_equal(came, 15); /* <<f<f<f>fb<<b<b<bb<bbb<<u<<u>><<u>><<u>>>>: all but the first two */
    ll_arena_release(&arena);
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* A page of weights and one of states go, what is less stays; and so does what was brought besides. */
static void what_is_less_than_a_page_stays(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    for (int i = 0; i < 2; i++) {
        const struct ll_shape shape = i == 0 ? toy_matrix(32, 32) : toy_matrix(31, 33);
        const uint32_t inputs[] = {toy_bring(toy, shape, LL_WEIGHT), toy_bring(toy, shape, LL_OPTIMIZER),
                                   toy_bring(toy, shape, LL_INPUT)};
        toy_op(toy, LL_OP_MOMENTUM, LL_PHASE_UPDATE, inputs, 3, NULL, 0, LL_WEIGHT, NULL);
    }
    assert_ops(toy_close(toy, path), (struct ll_offload){.weights = true, .optimizer = true}, true, "<<uu>>");
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
        cmocka_unit_test(memory_is_free_when_it_is_empty),
        cmocka_unit_test(views_show_what_has_come_back),
        cmocka_unit_test(what_comes_back_does_so_going_backward),
        cmocka_unit_test(what_is_not_worth_the_way_stays),
        cmocka_unit_test(weights_and_states_come_in_their_order),
        cmocka_unit_test(nothing_comes_before_there_is_room),
        cmocka_unit_test(what_is_less_than_a_page_stays),
        cmocka_unit_test(the_state_of_the_optimizer_comes_and_goes_with_the_update),
        cmocka_unit_test(weights_come_when_their_layer_is_at_work),
        cmocka_unit_test(every_model_can_be_offloaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
