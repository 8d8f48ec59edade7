/* SPDX-License-Identifier: Apache-2.0 */
/* Products of weights in a type of their own: which ops are such, what is cast for them, what it takes. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/pipeline.h"
#include "sim/replay/replay.h"
#include "toy_machine.h"
#include "toy_trace.h"
#include "tracer/transform/rewrite.h"
#include "tracer/transform/dtype.h"

enum { TOKENS = 64, FEATURES = 32, WIDE = 48, WORDS = 100 };

static const struct ll_setting of_two_layers[] = {{"layers", "2"},      {"hidden", "64"}, {"heads", "4"},
                                                  {"ffn_hidden", "96"}, {"seq", "16"},    {"kv_heads", "2"},
                                                  {"vocabulary", "48"}};

static const struct ll_attr across = {LL_ATTR_TRANSPOSE_B, {.count = 1}},
                            along = {LL_ATTR_TRANSPOSE_A, {.count = 1}};

static struct ll_shape half(uint64_t rows, uint64_t cols, enum ll_role first, enum ll_role second)
{
    struct ll_shape shape = toy_matrix(rows, cols);
    shape.role[0] = (uint8_t)first;
    shape.role[1] = (uint8_t)second;
    shape.dtype = LL_BF16;
    return shape;
}

static uint32_t product(struct toy *toy, enum ll_phase phase, uint32_t a, uint32_t b,
                        const struct ll_attr *attr)
{
    return toy_op(toy, LL_OP_MATMUL, phase, (uint32_t[]){a, b}, 2, attr, attr != NULL,
                  phase == LL_PHASE_BACKWARD ? LL_GRADIENT : LL_ACTIVATION, NULL);
}

/* Ops of a step of training, in order. */
enum { EMBED, LAYER, ALIKE, LOGITS, HEAD_BACK, HEAD_WEIGHTS, BACK, WEIGHTS, UPDATE, UPDATE_HEAD, OPS };

/* Words become rows; a layer; products of rows with one another; the words that they are. All in bf16. */
static struct ll_trace *record_training(unsigned steps)
{
    struct toy *toy = calloc(1, sizeof *toy);
    const struct ll_shape indices = {.dim = {TOKENS}, .dtype = LL_I32, .rank = 1};
    char path[64];
    toy_open(toy, path);
    uint32_t table = toy_bring(toy, half(WORDS, FEATURES, LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN), LL_WEIGHT),
             head = toy_bring(toy, half(WIDE, WORDS, LL_ROLE_HIDDEN, LL_ROLE_VOCABULARY), LL_WEIGHT),
             w = toy_bring(toy, half(FEATURES, WIDE, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN), LL_WEIGHT),
             which = toy_bring(toy, indices, LL_INPUT),
             dlogits = toy_bring(toy, half(TOKENS, WORDS, LL_ROLE_BATCH, LL_ROLE_VOCABULARY), LL_INPUT);
    for (unsigned step = 0; step < steps; step++) {
        ll_recorder_step_begin(toy->recorder);
        uint32_t x = toy_op(toy, LL_OP_GATHER, LL_PHASE_FORWARD, (uint32_t[]){table, which}, 2, NULL, 0,
                            LL_ACTIVATION, NULL);
        uint32_t y = product(toy, LL_PHASE_FORWARD, x, w, NULL);
        product(toy, LL_PHASE_FORWARD, y, y, &across);
        product(toy, LL_PHASE_FORWARD, y, head, NULL);
        uint32_t dy = product(toy, LL_PHASE_BACKWARD, dlogits, head, &across);
        uint32_t dhead = product(toy, LL_PHASE_BACKWARD, y, dlogits, &along);
        product(toy, LL_PHASE_BACKWARD, dy, w, &across);
        uint32_t dw = product(toy, LL_PHASE_BACKWARD, x, dy, &along);
        w = toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){w, dw}, 2, NULL, 0, LL_WEIGHT, NULL);
        head =
            toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){head, dhead}, 2, NULL, 0, LL_WEIGHT, NULL);
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

static struct ll_trace *narrowed(const struct ll_trace *trace, uint64_t expected)
{
    struct ll_arena arena = {0};
    const char *trouble;
    uint64_t products;
    struct ll_trace *narrow = ll_trace_change_gemm_dtype(trace, (enum ll_numeric)LL_F8, &products, &trouble);
    assert_null(trouble);
    assert_non_null(narrow);
    assert_int_equal(products, expected);
    assert_null(ll_trace_check(narrow, &arena));
    ll_arena_release(&arena);
    return narrow;
}

static const struct ll_op_signature *signature_at(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

static uint32_t count_of(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < trace->op_count; op++)
        count += signature_at(trace, op)->view.kind == kind;
    return count;
}

static void assert_op(const struct ll_trace *trace, uint32_t op, enum ll_op_kind kind, uint64_t bytes_read,
                      uint64_t bytes_written)
{
    const struct ll_op_signature *signature = signature_at(trace, op);
    assert_int_equal(signature->view.kind, kind);
    assert_int_equal(signature->bytes_read, bytes_read);
    assert_int_equal(signature->bytes_written, bytes_written);
}

/* x and w are cast for the layer, dy for the first of its gradients; the second finds all cast. */
static void products_of_weights_read_what_was_cast_and_write_what_they_wrote(void **state)
{
    (void)state;
    enum { X = TOKENS * FEATURES, W = FEATURES * WIDE, Y = TOKENS * WIDE };
    struct ll_trace *trace = record_training(1), *narrow = narrowed(trace, 3);
    assert_string_equal(ll_trace_fact(narrow, "products"), "f8");
    assert_int_equal(narrow->op_count, OPS + 3);
    assert_op(narrow, 1, LL_OP_CAST, 2 * X, X);
    assert_op(narrow, 2, LL_OP_CAST, 2 * W, W);
    assert_op(narrow, 3, LL_OP_MATMUL, X + W, 2 * Y);
    assert_op(narrow, 8, LL_OP_CAST, 2 * Y, Y);
    assert_op(narrow, 9, LL_OP_MATMUL, Y + W, 2 * X);
    assert_op(narrow, 10, LL_OP_MATMUL, X + Y, 2 * W);
    assert_int_equal(signature_at(narrow, 3)->view.in[0].dtype, LL_F8);
    assert_int_equal(signature_at(narrow, 3)->view.in[1].dtype, LL_F8);
    assert_int_equal(signature_at(narrow, 3)->view.out[0].dtype, LL_BF16);
    for (uint32_t op = 0; op < OPS; op++) { /* all else as it was */
        static const uint32_t now[OPS] = {0, 3, 4, 5, 6, 7, 9, 10, 11, 12};
        const struct ll_op_signature *was = signature_at(trace, op), *is = signature_at(narrow, now[op]);
        bool changes = op == LAYER || op == BACK || op == WEIGHTS;
        assert_int_equal(is->view.kind, was->view.kind);
        assert_int_equal(is->flops, was->flops);
        assert_int_equal(is->bytes_written, was->bytes_written);
        assert_int_equal(is->bytes_read, changes ? was->bytes_read / 2 : was->bytes_read);
        assert_int_equal(is->phase, was->phase);
    }
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

static void casts_are_remembered_for_a_step(void **state)
{
    (void)state;
    for (unsigned steps = 1; steps <= 3; steps++) {
        struct ll_trace *trace = record_training(steps), *narrow = narrowed(trace, 3 * (uint64_t)steps);
        assert_int_equal(narrow->step_count, steps);
        assert_int_equal(count_of(narrow, LL_OP_CAST), 3 * steps);
        for (unsigned step = 0; step < steps; step++) {
            assert_int_equal(narrow->steps[step].op_count, OPS + 3);
            assert_true(narrow->steps[step].complete);
        }
        ll_trace_free(narrow);
        ll_trace_free(trace);
    }
}

/* Rows times the same weights twice, these seen as a matrix by an op of this kind. */
static struct ll_trace *record_inference(unsigned steps, bool also_added, enum ll_op_kind look)
{
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_shape flat = half(FEATURES, WIDE, LL_ROLE_PLAIN, LL_ROLE_PLAIN), line = {.rank = 1};
    line.dim[0] = FEATURES * WIDE;
    line.dtype = LL_BF16;
    char path[64];
    toy_open(toy, path);
    uint32_t w = toy_bring(toy, line, LL_WEIGHT);
    for (unsigned step = 0; step < steps; step++) {
        ll_recorder_step_begin(toy->recorder);
        struct ll_shape rows = half(TOKENS, FEATURES, LL_ROLE_BATCH, LL_ROLE_HIDDEN);
        uint32_t x = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &rows);
        uint32_t seen = toy_op(toy, look, LL_PHASE_FORWARD, &w, 1, NULL, 0, LL_ACTIVATION, &flat);
        product(toy, LL_PHASE_FORWARD, x, seen, NULL);
        product(toy, LL_PHASE_FORWARD, x, seen, NULL);
        if (also_added)
            toy_op(toy, LL_OP_ADD, LL_PHASE_FORWARD, (uint32_t[]){seen, seen}, 2, NULL, 0, LL_ACTIVATION,
                   NULL);
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

/* Weights that a training never changes are cast in each step, too. */
static void weights_that_stay_are_cast_in_each_step(void **state)
{
    (void)state;
    enum { STEPS = 2 };
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_shape flat = half(FEATURES, WIDE, LL_ROLE_PLAIN, LL_ROLE_PLAIN);
    char path[64];
    toy_open(toy, path);
    uint32_t w = toy_bring(toy, half(WIDE, FEATURES, LL_ROLE_PLAIN, LL_ROLE_PLAIN), LL_WEIGHT);
    for (unsigned step = 0; step < STEPS; step++) {
        ll_recorder_step_begin(toy->recorder);
        struct ll_shape rows = half(TOKENS, WIDE, LL_ROLE_BATCH, LL_ROLE_HIDDEN);
        uint32_t dy = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &rows);
        uint32_t seen = toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &w, 1, NULL, 0, LL_ACTIVATION, &flat);
        product(toy, LL_PHASE_BACKWARD, dy, seen, &across);
        ll_recorder_step_end(toy->recorder);
    }
    struct ll_trace *trace = toy_close(toy, path), *narrow = narrowed(trace, STEPS);
    assert_int_equal(count_of(narrow, LL_OP_CAST), 2 * STEPS);
    assert_int_equal(count_of(narrow, LL_OP_RESHAPE), STEPS);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

static uint64_t weight_bytes(const struct ll_trace *trace)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        bytes += desc->memory == LL_WEIGHT ? ll_size_bytes(&desc->shape) : 0;
    }
    return bytes;
}

/* The only casts are of x; who else reads a weight reads it as it was. */
static void inference_holds_weights_in_the_type(void **state)
{
    (void)state;
    enum { W = FEATURES * WIDE, STEPS = 3 };
    for (int way = 0; way < 4; way++) {
        enum ll_op_kind look = way & 1 ? LL_OP_SEEN_AS : LL_OP_RESHAPE;
        bool also_added = way & 2;
        struct ll_trace *trace = record_inference(STEPS, also_added, look),
                        *narrow = narrowed(trace, 2 * STEPS);
        assert_int_equal(weight_bytes(trace), 2 * W);
        assert_int_equal(weight_bytes(narrow), also_added ? 3 * W : W);
        assert_int_equal(count_of(narrow, LL_OP_CAST), STEPS);
        assert_int_equal(count_of(narrow, look), also_added ? 2 * STEPS : STEPS);
        assert_int_equal(count_of(narrow, LL_OP_ADD), also_added ? STEPS : 0);
        ll_trace_free(narrow);
        ll_trace_free(trace);
    }
}

/* Both products read the same weights, the second one by a look; w may be changed in place between them. */
static void a_look_at_what_has_changed_is_cast_itself(void **state)
{
    (void)state;
    for (int changed = 0; changed < 2; changed++) {
        struct toy *toy = calloc(1, sizeof *toy);
        struct ll_shape matrix = half(FEATURES, WIDE, LL_ROLE_PLAIN, LL_ROLE_PLAIN);
        char path[64];
        toy_open(toy, path);
        uint32_t w = toy_bring(toy, half(WIDE, FEATURES, LL_ROLE_PLAIN, LL_ROLE_PLAIN), LL_WEIGHT),
                 x = toy_bring(toy, half(TOKENS, FEATURES, LL_ROLE_BATCH, LL_ROLE_PLAIN), LL_INPUT),
                 g = toy_bring(toy, half(WIDE, FEATURES, LL_ROLE_PLAIN, LL_ROLE_PLAIN), LL_GRADIENT);
        ll_recorder_step_begin(toy->recorder);
        uint32_t seen = toy_op(toy, LL_OP_RESHAPE, LL_PHASE_FORWARD, &w, 1, NULL, 0, LL_WEIGHT, &matrix);
        product(toy, LL_PHASE_FORWARD, x, w, &across);
        for (int last = 0; last < 2; last++) {
            if (last != changed)
                toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){w, g}, 2, NULL, 0, LL_WEIGHT, NULL);
            else
                product(toy, LL_PHASE_FORWARD, x, seen, NULL);
        }
        ll_recorder_step_end(toy->recorder);
        struct ll_trace *trace = toy_close(toy, path), *narrow = narrowed(trace, 2);
        assert_int_equal(count_of(narrow, LL_OP_CAST), changed ? 3 : 2);
        assert_int_equal(count_of(narrow, LL_OP_RESHAPE), changed ? 1 : 2);
        ll_trace_free(narrow);
        ll_trace_free(trace);
    }
}

/* Each layer of AlexNet has its input, its weights and its gradient cast; in inference the first alone. */
static void convolutions_are_products(void **state)
{
    (void)state;
    enum { LAYERS = 8 };
    for (int train = 0; train < 2; train++) {
        struct ll_trace *trace = dry_model("alexnet", train, 4, NULL, 0);
        uint32_t casts = count_of(trace, LL_OP_CAST);
        struct ll_trace *narrow =
            narrowed(trace, train ? 3 * LAYERS - 1 : LAYERS); /* images have no gradient */
        assert_int_equal(count_of(narrow, LL_OP_CAST) - casts, train ? 3 * LAYERS : LAYERS);
        ll_trace_free(narrow);
        ll_trace_free(trace);
    }
}

/* Seven products of weights a layer, each with two gradients; attention's are left, and the projection. */
static void attention_stays(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("llama", true, 2, of_two_layers, 7),
                    *narrow = narrowed(trace, 2 * 7 * 3);
    for (uint32_t op = 0; op < narrow->op_count; op++) {
        const struct ll_op_signature *signature = signature_at(narrow, op);
        if (signature->view.kind == LL_OP_BATCH_MATMUL)
            assert_int_equal(signature->view.in[0].dtype, LL_F32);
        if (signature->view.kind == LL_OP_MATMUL)
            assert_int_equal(signature->view.in[0].dtype,
                             strstr(narrow->strings[signature->scope], "layer") ? LL_F8 : LL_F32);
    }
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

static void a_trace_without_products_of_weights_stays_as_it_is(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, half(TOKENS, TOKENS, LL_ROLE_BATCH, LL_ROLE_PLAIN), LL_INPUT),
             scale = toy_bring(toy, half(TOKENS, TOKENS, LL_ROLE_PLAIN, LL_ROLE_PLAIN), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t y = product(toy, LL_PHASE_FORWARD, x, x, NULL);
    toy_op(toy, LL_OP_MUL, LL_PHASE_FORWARD, (uint32_t[]){y, scale}, 2, NULL, 0, LL_ACTIVATION, NULL);
    product(toy, LL_PHASE_UPDATE, scale, scale, NULL);
    ll_recorder_step_end(toy->recorder);
    struct ll_trace *trace = toy_close(toy, path), *same = narrowed(trace, 0);
    assert_true(ll_same_program(trace, same));
    assert_null(ll_trace_fact(same, "products"));
    ll_trace_free(same);
    ll_trace_free(trace);
}

static void what_is_in_the_type_already_is_not_cast(void **state)
{
    (void)state;
    struct ll_trace *trace = record_training(1);
    const char *trouble;
    assert_true(ll_trace_change_dtype(trace, LL_F8, &trouble));
    struct ll_trace *narrow = narrowed(trace, 3);
    assert_int_equal(narrow->op_count, trace->op_count);
    assert_int_equal(count_of(narrow, LL_OP_CAST), 0);
    for (uint32_t op = 0; op < narrow->op_count; op++)
        assert_int_equal(signature_at(narrow, op)->bytes_read, signature_at(trace, op)->bytes_read);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

/* Casts are moves that quantize rows, GEMMs layers whose activations come quantized; scales are read and
 * written with them. */
static void casts_and_products_are_of_the_format(void **state)
{
    (void)state;
    struct ll_trace *trace = record_training(1);
    enum ll_numeric format = ll_numeric_find("nvfp4");
    uint64_t products, casts = 0, layers = 0;
    const char *trouble;
    struct ll_trace *narrow = ll_trace_change_gemm_dtype(trace, format, &products, &trouble);
    struct ll_work work;
    assert_non_null(narrow);
    for (uint32_t op = 0; op < narrow->op_count; op++) {
        const struct ll_op_view *view = &signature_at(narrow, op)->view;
        assert_true(ll_op_lower(view, &work));
        if (work.linear == 0)
            continue;
        assert_int_equal(work.linear, 1 + LL_LINEAR_NVFP4);
        if (view->kind == LL_OP_CAST) {
            uint64_t elements = ll_elements(&view->out[0]);
            assert_int_equal(work.c_bytes, ll_ceil_div(elements, 2) + ll_ceil_div(elements, 16));
            assert_int_equal(work.quantize.rows * work.quantize.columns, elements);
            casts++;
        } else {
            assert_int_equal(work.quantized, 1);
            layers++;
        }
    }
    assert_int_equal(layers, products);
    assert_int_equal(casts, count_of(narrow, LL_OP_CAST));
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

static void the_same_trace_becomes_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        uint64_t products, again;
        const char *trouble;
        struct ll_trace *one = ll_trace_change_gemm_dtype(trace, (enum ll_numeric)LL_F8, &products, &trouble),
                        *two = ll_trace_change_gemm_dtype(trace, (enum ll_numeric)LL_F8, &again, &trouble);
        assert_int_equal(products, again);
        assert_true(ll_same_program(one, two));
        ll_trace_free(one);
        ll_trace_free(two);
        ll_trace_free(trace);
    }
}

static double time_of(const struct ll_trace *trace, const struct ll_machine *machine)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    const struct ll_result *result = prepared ? ll_replay(prepared, machine, &arena, &diags) : NULL;
    assert_non_null(result);
    double time_s = result->time_s;
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return time_s;
}

/* The same with every cast to f8 a look, which takes no time, at what was to be cast. */
static struct ll_trace *without_casts(const struct ll_trace *trace)
{
    struct ll_trace *free_of = ll_trace_copy(trace);
    assert_non_null(free_of);
    for (uint64_t i = 0; i < free_of->signature_count; i++) {
        struct ll_op_signature *signature = &free_of->signatures[i];
        if (signature->view.kind == LL_OP_CAST && signature->view.out[0].dtype == LL_F8)
            signature->view.kind = LL_OP_RESHAPE;
    }
    return free_of;
}

static void casts_are_never_faster_than_none(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(
        "name: Toy\nclock: 1GHz\nunits:\n"
        "  - {name: array, model: systolic, rows: 8, cols: 16, macs: {f32: 1, f8: 4}, runs: [matmul, conv]}\n"
        "  - {name: simd, model: vector, lanes: 16, flops: {f32: 2}}\n"
        "memory: [{name: ram, size: 1GiB, bandwidth: 10GB/s}]\n");
    assert_non_null(machine);
    unsigned dearer = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        uint64_t products;
        const char *trouble;
        struct ll_trace *narrow =
                            ll_trace_change_gemm_dtype(trace, (enum ll_numeric)LL_F8, &products, &trouble),
                        *bare = without_casts(narrow);
        double with_s = time_of(narrow, machine), without_s = time_of(bare, machine);
        assert_true(with_s >= without_s);
        dearer += with_s > without_s;
        assert_true(without_s <= time_of(trace, machine));
        ll_trace_free(bare);
        ll_trace_free(narrow);
        ll_trace_free(trace);
    }
    assert_int_equal(dearer, 30);
    ll_machine_free(machine);
}

struct spread_count {
    uint64_t narrow, exchanges, gathered_bytes;
};

static struct spread_count count_spread(const struct ll_trace *trace, const struct ll_parallel *plan,
                                        uint64_t devices)
{
    struct ll_diags diags = {0};
    struct spread_count count = {0};
    struct ll_spread *spread = ll_spread_trace(trace, plan, devices, &diags);
    if (!spread)
        fail_msg("%s", diags.kept[0].message);
    for (uint32_t i = 0; i < spread->program_count; i++)
        for (uint32_t op = 0; op < spread->programs[i].trace->op_count; op++) {
            const struct ll_op_signature *signature = signature_at(spread->programs[i].trace, op);
            enum ll_op_class op_class = ll_op_class(signature->view.kind);
            count.exchanges += op_class == LL_CLASS_COMMUNICATION;
            count.gathered_bytes += signature->view.kind == LL_OP_ALL_GATHER ? signature->bytes_written : 0;
            if (!ll_class_is_gemm(op_class))
                continue;
            count.narrow += signature->view.in[0].dtype == LL_F8;
            assert_int_equal(signature->view.out[0].dtype, LL_F32);
        }
    ll_spread_free(spread);
    ll_diags_release(&diags);
    return count;
}

/* All products of weights read f8 and write f32 on devices that share them, which exchange what they would
 * exchange otherwise: nobody gathers weights because they are smaller now. */
static void check_spread(const char *model, const struct ll_setting *settings, size_t setting_count,
                         const struct ll_parallel *plan, uint64_t devices)
{
    uint64_t products;
    const char *trouble;
    struct ll_trace *trace = dry_model(model, true, 4, settings, setting_count),
                    *narrow = ll_trace_change_gemm_dtype(trace, (enum ll_numeric)LL_F8, &products, &trouble);
    assert_non_null(narrow);
    struct spread_count was = count_spread(trace, plan, devices), is = count_spread(narrow, plan, devices);
    assert_int_equal(was.narrow, 0);
    assert_int_equal(is.narrow, products);
    assert_int_equal(is.exchanges, was.exchanges);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

static void products_are_the_same_on_many_devices(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "4"},     {"hidden", "64"},     {"heads", "16"},
                                          {"kv_heads", "2"},   {"ffn_hidden", "96"}, {"seq", "16"},
                                          {"vocabulary", "48"}};
    const struct ll_setting experts[] = {{"layers", "2"},      {"hidden", "64"},    {"heads", "4"},
                                         {"ffn_hidden", "96"}, {"seq", "16"},       {"experts", "4"},
                                         {"kv_heads", "4"},    {"vocabulary", "48"}};
    struct ll_parallel plan = {.tensor = 8, .context = 1, .data = 1, .pipeline = 1, .expert = 1, .chunks = 1};
    check_spread("llama", settings, 7, &plan, 8); /* copies of key heads */
    plan.tensor = 2;
    check_spread("llama", settings, 7, &plan, 2);
    plan.tensor = 1;
    plan.data = plan.expert = 2;
    check_spread("moe", experts, 8, &plan, 2);
    plan = (struct ll_parallel){.tensor = 1,
                                .context = 1,
                                .data = 1,
                                .pipeline = 1,
                                .expert = 1,
                                .chunks = 1,
                                .batch = 8,
                                .micro_batch = 2};
    check_spread("llama", settings, 7, &plan, 1); /* another batch */
}

/* Of the casts of x, w and dy only that of w; with one micro-batch it is there between the two passes. */
static void what_is_cast_of_weights_serves_all_micro_batches(void **state)
{
    (void)state;
    struct ll_trace *trace = record_training(1), *narrow = narrowed(trace, 3);
    struct ll_vstage_memory one, several;
    assert_false(ll_is_per_step(narrow, signature_at(narrow, 1)));
    assert_true(ll_is_per_step(narrow, signature_at(narrow, 2)));
    assert_false(ll_is_per_step(narrow, signature_at(narrow, 8)));
    assert_true(ll_vstage_memory(narrow, 1, NULL, &one));
    assert_true(ll_vstage_memory(narrow, 2, NULL, &several));
    assert_int_equal(one.kept.of[LL_WORKSPACE], FEATURES * WIDE);
    assert_int_equal(one.lasting.of[LL_WORKSPACE], 0);
    assert_int_equal(several.kept.of[LL_WORKSPACE], 0);
    assert_int_equal(several.lasting.of[LL_WORKSPACE], FEATURES * WIDE);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

static uint32_t lasting_casts(const struct ll_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < trace->op_count; op++)
        count += ll_is_lasting_cast(trace, signature_at(trace, op));
    return count;
}

/* Of what seven products a layer read, weights are cast once. */
static void what_is_cast_of_weights_is_not_computed_again(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_trace *trace = dry_model("llama", true, 2, of_two_layers, 7),
                    *narrow = narrowed(trace, 2 * 7 * 3),
                    *again = ll_recompute(narrow, LL_RECOMPUTE_FULL, &trouble);
    assert_non_null(again);
    assert_int_equal(lasting_casts(narrow), 2 * 7);
    assert_int_equal(lasting_casts(again), 2 * 7);
    assert_true(count_of(again, LL_OP_CAST) > count_of(narrow, LL_OP_CAST));
    ll_trace_free(again);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

/* Backward readers of what a forward op made of a weight alone. */
static uint32_t readers_across(const struct ll_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t op = 0; op < trace->op_count; op++)
        for (uint32_t i = 0; i < signature_at(trace, op)->view.input_count; i++) {
            uint32_t from = trace->tensors[ll_op_input(trace, op, i)].producer;
            const struct ll_op_signature *signature = from == LL_NONE ? NULL : signature_at(trace, from);
            count += signature && signature->view.kind == LL_OP_CAST &&
                     signature->phase == LL_PHASE_FORWARD &&
                     trace->descs[signature->inputs[0]].memory == LL_WEIGHT &&
                     signature_at(trace, op)->phase == LL_PHASE_BACKWARD;
        }
    return count;
}

/* Two layers of seven weights each, of which the backward pass reads all. */
static void weights_that_lie_in_parts_are_cast_in_each_pass(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_trace *trace = dry_model("llama", true, 2, of_two_layers, 7),
                    *narrow = narrowed(trace, 2 * 7 * 3), *again = ll_recast(narrow, &trouble);
    assert_non_null(again);
    assert_true(ll_has_lasting_casts(narrow));
    assert_false(ll_has_lasting_casts(again));
    assert_int_equal(readers_across(narrow), 2 * 7);
    assert_int_equal(readers_across(again), 0);
    assert_int_equal(count_of(again, LL_OP_CAST), count_of(narrow, LL_OP_CAST) + 2 * 7);
    assert_int_equal(again->op_count, narrow->op_count + 2 * 7);
    ll_trace_free(again);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

/* What devices with parts of the weights exchange is what they do without casts. */
static void parts_of_weights_are_gathered_for_each_pass(void **state)
{
    (void)state;
    const struct ll_parallel plan = {
        .tensor = 1, .context = 1, .data = 4, .pipeline = 1, .expert = 1, .chunks = 1, .zero = 3};
    struct ll_trace *trace = dry_model("llama", true, 4, of_two_layers, 7),
                    *narrow = narrowed(trace, 2 * 7 * 3);
    struct spread_count was = count_spread(trace, &plan, 4), is = count_spread(narrow, &plan, 4);
    assert_int_equal(is.exchanges, was.exchanges);
    assert_int_equal(is.gathered_bytes, was.gathered_bytes);
    ll_trace_free(narrow);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_weights_read_what_was_cast_and_write_what_they_wrote),
        cmocka_unit_test(casts_are_remembered_for_a_step),
        cmocka_unit_test(weights_that_stay_are_cast_in_each_step),
        cmocka_unit_test(inference_holds_weights_in_the_type),
        cmocka_unit_test(a_look_at_what_has_changed_is_cast_itself),
        cmocka_unit_test(convolutions_are_products),
        cmocka_unit_test(attention_stays),
        cmocka_unit_test(a_trace_without_products_of_weights_stays_as_it_is),
        cmocka_unit_test(what_is_in_the_type_already_is_not_cast),
        cmocka_unit_test(casts_and_products_are_of_the_format),
        cmocka_unit_test(the_same_trace_becomes_the_same),
        cmocka_unit_test(casts_are_never_faster_than_none),
        cmocka_unit_test(products_are_the_same_on_many_devices),
        cmocka_unit_test(what_is_cast_of_weights_serves_all_micro_batches),
        cmocka_unit_test(what_is_cast_of_weights_is_not_computed_again),
        cmocka_unit_test(weights_that_lie_in_parts_are_cast_in_each_pass),
        cmocka_unit_test(parts_of_weights_are_gathered_for_each_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
