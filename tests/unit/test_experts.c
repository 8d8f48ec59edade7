/* SPDX-License-Identifier: Apache-2.0 */
/* Experts divided among replicas: specs of GShard (Lepikhin et al., 2020) on a mixture. */
#include "check.h"
#include "dry_model.h"
#include "toy_trace.h"

#include "models/model.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/shard.h"
#include "tracer/base/str.h"
#include "tracer/ir/ops_rules.h"
#include "tracer/transform/dtype.h"

enum { LAYERS = 2, EXPERTS = 8, PLACES = 10, HIDDEN = 64, INNER = 96, REPLICAS = 4 };

/* 2 sentences of 16 words with 2 choices of 8 experts each: 8 places for each expert, and a quarter more. */
static struct ll_trace *record(bool train)
{
    static const struct ll_setting settings[] = {{"layers", "2"},   {"hidden", "64"},     {"heads", "8"},
                                                 {"kv_heads", "4"}, {"ffn_hidden", "96"}, {"seq", "16"},
                                                 {"experts", "8"},  {"vocabulary", "48"}, {"top_k", "2"}};
    return dry_model("moe", train, 2, settings, sizeof settings / sizeof *settings);
}

static const struct ll_parallel plan = {
    .data = 2 * REPLICAS, .tensor = 2, .context = 1, .pipeline = 1, .expert = REPLICAS, .chunks = 1};

static struct ll_trace *spread(const struct ll_trace *trace)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_trace *replica = ll_spread_experts(trace, &plan, &diags);
    if (!replica)
        fail_msg("%s", diags.kept[0].message);
    assert_null(ll_trace_check(replica, &arena));
    ll_arena_release(&arena);
    return replica;
}

static void what_experts_read_and_write_crosses_twice_each_way(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true), *replica = spread(trace);
    uint64_t ops[LL_PHASE_COUNT] = {0};
    for (uint32_t i = 0; i < replica->op_count; i++) {
        const struct ll_op_signature *signature = &replica->signatures[replica->ops[i].signature];
        if (signature->view.kind != LL_OP_ALL_TO_ALL)
            continue;
        ops[signature->phase]++;
        assert_int_equal(ll_elements(&signature->view.in[0]), EXPERTS * PLACES * HIDDEN);
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0), REPLICAS);
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), plan.tensor);
    }
    assert_int_equal(ops[LL_PHASE_FORWARD], 2 * LAYERS);
    assert_int_equal(ops[LL_PHASE_BACKWARD], 2 * LAYERS);
    ll_trace_free(trace);
    ll_trace_free(replica);
}

/* Two words of each of four replicas choose two of eight experts: of a replica's two experts
 * 2 (1 - (3/4)^8) = 1.8 are expected to be chosen, and both are asked. Of its own two words it would be
 * one. */
static void words_of_all_replicas_choose_experts(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {
        {"layers", "2"},  {"hidden", "64"},     {"heads", "8"}, {"kv_heads", "4"},  {"ffn_hidden", "96"},
        {"experts", "8"}, {"vocabulary", "48"}, {"top_k", "2"}, {"pass", "decode"}, {"context", "16"}};
    struct ll_trace *trace = dry_model("moe", false, 2, settings, sizeof settings / sizeof *settings),
                    *replica = spread(trace);
    uint64_t products = 0;
    for (uint32_t i = 0; i < replica->op_count; i++) {
        const struct ll_op_signature *signature = &replica->signatures[replica->ops[i].signature];
        if (signature->view.kind != LL_OP_BATCH_MATMUL ||
            ll_attr_count(&signature->view, LL_ATTR_FILLED, 0) == 0)
            continue;
        products++;
        assert_int_equal(signature->view.in[0].dim[0], EXPERTS / REPLICAS);
        assert_int_equal(signature->flops, 2 * 2 * signature->view.in[0].dim[1] * HIDDEN * INNER);
    }
    assert_int_equal(products, LAYERS * 3);
    ll_trace_free(trace);
    ll_trace_free(replica);
}

/* With sequences divided among the devices of a product, each sends the words that it has: with 12 places
 * an expert, 6 of each. What experts read is gathered behind that, and what they make is scattered before it
 * goes back (Megatron-core's token dispatcher). */
static void devices_of_a_product_send_their_share_of_words(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {
        {"layers", "2"}, {"hidden", "64"},     {"heads", "8"},   {"kv_heads", "4"}, {"ffn_hidden", "96"},
        {"seq", "16"},   {"vocabulary", "48"}, {"experts", "8"}, {"top_k", "2"},    {"capacity", "150"}};
    struct ll_diags diags = {0};
    struct ll_parallel divided = plan;
    divided.sequence = true;
    struct ll_trace *trace = dry_model("moe", true, 2, settings, sizeof settings / sizeof *settings);
    struct ll_trace *rank = ll_shard(trace, &divided, &diags), *replica = rank ? spread(rank) : NULL;
    assert_non_null(replica);
    uint64_t ops = 0, gathered = 0, scattered = 0;
    for (uint32_t i = 0; i < replica->op_count; i++) {
        const struct ll_op_signature *signature = &replica->signatures[replica->ops[i].signature];
        bool of_rows = signature->view.input_count == 1 && signature->view.in[0].rank == 3 &&
                       signature->view.in[0].dim[0] == EXPERTS / REPLICAS;
        gathered += signature->view.kind == LL_OP_ALL_GATHER && of_rows;
        scattered += signature->view.kind == LL_OP_REDUCE_SCATTER && of_rows;
        if (signature->view.kind != LL_OP_ALL_TO_ALL)
            continue;
        ops++;
        assert_int_equal(ll_elements(&signature->view.in[0]), EXPERTS * (12 / plan.tensor) * HIDDEN);
    }
    assert_int_equal(ops, 2 * 2 * LAYERS);
    assert_int_equal(gathered, 3 * LAYERS); /* what they read, again going backward, and what flows back */
    assert_int_equal(scattered, 2 * LAYERS);
    ll_trace_free(trace);
    ll_trace_free(rank);
    ll_trace_free(replica);
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

static uint64_t weight_bytes(const struct ll_trace *trace)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer == LL_NONE && desc->memory == LL_WEIGHT)
            bytes += ll_size_bytes(&desc->shape);
    }
    return bytes;
}

/* Three products an expert; a quarter of them, for four times as many samples. */
static void a_replica_has_its_experts_and_as_much_to_do(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true), *replica = spread(trace);
    const uint64_t experts = LAYERS * 3 * EXPERTS * HIDDEN * INNER * 4;
    assert_int_equal(flops_of_products(replica), flops_of_products(trace));
    assert_int_equal(weight_bytes(trace) - weight_bytes(replica), experts - experts / REPLICAS);
    ll_trace_free(trace);
    ll_trace_free(replica);
}

/* Of a tensor that counts experts: of weights [experts, features, features], else [experts, places, ...]. */
static bool is_of_weights(const struct ll_shape *shape)
{
    return shape->rank == 3 && shape->dim[0] == EXPERTS && shape->dim[1] != PLACES;
}

/* Behind an op from this one on: what crosses is seen as other rows before or behind. */
static uint32_t past_what_crosses(const struct ll_trace *replica, uint32_t op)
{
    while (op + 1 < replica->op_count) {
        enum ll_op_kind kind = replica->signatures[replica->ops[op].signature].view.kind,
                        next = replica->signatures[replica->ops[op + 1].signature].view.kind;
        bool there = kind == LL_OP_ALL_TO_ALL && next == LL_OP_RESHAPE,
             back = kind == LL_OP_RESHAPE && next == LL_OP_ALL_TO_ALL;
        if ((!there && !back) || ll_op_input(replica, op + 1, 0) != ll_op_output(replica, op, 0))
            break;
        op += 2;
    }
    return op;
}

/* But for what crosses a replica's ops are those of the whole, on tensors of the same types and as many
 * elements; those of weights of experts have a quarter of them. */
static void the_rest_is_as_it_was(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "8"},       {"kv_heads", "4"}, {"ffn_hidden", "96"},
        {"seq", "16"},   {"experts", "8"}, {"vocabulary", "48"}, {"top_k", "2"},    {"dtype", "bf16"}};
    struct ll_trace *trace = dry_model("moe", true, 2, settings, sizeof settings / sizeof *settings),
                    *replica = spread(trace);
    uint32_t at = 0;
    for (uint32_t op = 0; op < trace->op_count; op++, at++) {
        at = past_what_crosses(replica, at);
        assert_true(at < replica->op_count);
        const struct ll_op_view *was = &trace->signatures[trace->ops[op].signature].view,
                                *is = &replica->signatures[replica->ops[at].signature].view;
        assert_string_equal(ll_op_name(is->kind), ll_op_name(was->kind));
        assert_int_equal(is->output_count, was->output_count);
        for (uint32_t i = 0; i < was->output_count; i++) {
            uint64_t share = is_of_weights(&was->out[i]) ? REPLICAS : 1;
            assert_int_equal(is->out[i].dtype, was->out[i].dtype);
            assert_int_equal(share * ll_elements(&is->out[i]), ll_elements(&was->out[i]));
        }
    }
    assert_int_equal(at, replica->op_count);
    ll_trace_free(trace);
    ll_trace_free(replica);
}

/* Eight replicas, of which two have the same experts, eight devices apart. */
static void gradients_of_experts_are_summed_where_these_are(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true), *replica = spread(trace);
    const char *trouble;
    struct ll_trace *all = ll_exchange_gradients(replica, &plan, &trouble);
    assert_non_null(all);
    uint64_t of_experts = 0, of_others = 0;
    for (uint32_t i = 0; i < all->op_count; i++) {
        const struct ll_op_signature *signature = &all->signatures[all->ops[i].signature];
        if (signature->view.kind != LL_OP_ALL_REDUCE)
            continue;
        for (uint32_t k = 0; k < signature->view.input_count; k++) {
            bool experts = ll_is_of_experts(&all->descs[signature->inputs[k]]);
            (*(experts ? &of_experts : &of_others))++;
            assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0), experts ? 2 : 2 * REPLICAS);
            assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), experts ? 2 * REPLICAS : 2);
        }
    }
    assert_int_equal(of_experts, LAYERS * 3);
    /* words, head and its norm; of each layer two norms, queries, keys, values, output, router */
    assert_int_equal(of_others, 3 + LAYERS * 7);
    ll_trace_free(trace);
    ll_trace_free(replica);
    ll_trace_free(all);
}

/* "2x12x8" for each tensor; "-" for a single number. */
static void add_shapes(struct ll_str *line, const struct ll_shape *shapes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ll_str_addf(line, shapes[i].rank ? " " : " -");
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(line, "%s%d", d ? "x" : "", (int)shapes[i].dim[d]);
    }
}

static void assert_ops(const struct ll_trace *trace, const char *const *expected, uint64_t count)
{
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        struct ll_str line = {0};
        ll_str_addf(&line, "%s", trace->strings[signature->kind_name]);
        add_shapes(&line, signature->view.in, signature->view.input_count);
        ll_str_addf(&line, " >");
        add_shapes(&line, signature->view.out, signature->view.output_count);
        assert_true(op < count);
        assert_string_equal(line.text, expected[op]);
        ll_str_release(&line);
    }
    assert_int_equal(trace->op_count, count);
}

static struct ll_trace *spread_among_two(struct ll_trace *trace)
{
    struct ll_parallel two = plan;
    struct ll_diags diags = {0};
    two.expert = 2;
    struct ll_trace *replica = ll_spread_experts(trace, &two, &diags);
    if (!replica)
        fail_msg("%s", diags.kept[0].message);
    ll_trace_free(trace);
    return replica;
}

static const struct ll_attr turned_a = {.key = LL_ATTR_TRANSPOSE_A, .count = 1},
                            turned_b = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};

static struct ll_shape cube(uint64_t experts, uint64_t rows, enum ll_role role, uint64_t columns)
{
    return (struct ll_shape){.dim = {experts, rows, columns},
                             .role = {LL_ROLE_EXPERTS, (uint8_t)role, LL_ROLE_HIDDEN},
                             .dtype = LL_F32,
                             .rank = 3};
}

/* An op of a test, in its phase. */
static uint32_t does(struct toy *toy, enum ll_op_kind kind, enum ll_phase phase, uint32_t a, uint32_t b,
                     const struct ll_attr *attr)
{
    return toy_op(toy, kind, phase, (uint32_t[]){a, b}, 2, attr, attr ? 1 : 0,
                  phase == LL_PHASE_FORWARD ? LL_ACTIVATION : LL_GRADIENT, NULL);
}

static uint32_t becomes(struct toy *toy, enum ll_op_kind kind, uint32_t x, struct ll_shape shape)
{
    return toy_op(toy, kind, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_ACTIVATION, &shape);
}

/* 4 experts with 6 places for rows of 8, each one product to rows of 5: two replicas have 2 experts each,
 * with 12 places. The number by which rows are multiplied is everywhere, a row only here. What is of the
 * replica's own weights is the replica's own, be it made of them or of what came and went. */
static void what_is_of_experts_is_where_they_are(void **state)
{
    (void)state;
    static const char *const expected[] = {"all_to_all 4x6x8 > 4x6x8",
                                           "reshape 4x6x8 > 2x12x8",
                                           "batch_matmul 2x12x8 2x8x5 > 2x12x5",
                                           "mul 2x12x5 - > 2x12x5",
                                           "sum 2x12x5 > 2x12",
                                           "reshape 2x12x5 > 4x6x5",
                                           "all_to_all 4x6x5 > 4x6x5",
                                           "sum 4x6x5 > 4",
                                           "reshape 4x6x5 > 24x5",
                                           "mul 4x6x5 5 > 4x6x5",
                                           "mul 4x6x5 4x6x5 > 4x6x5",
                                           "all_to_all 4x6x5 > 4x6x5",
                                           "reshape 4x6x5 > 2x12x5",
                                           "batch_matmul 2x12x8 2x12x5 > 2x8x5",
                                           "batch_matmul 2x12x5 2x8x5 > 2x12x8",
                                           "sgd 2x8x5 2x8x5 > 2x8x5",
                                           "cast 2x8x5 > 2x8x5",
                                           "batch_matmul 4x6x5 4x6x5 > 4x6x6"};
    static const struct ll_attr last = {.key = LL_ATTR_AXIS, .count = 2},
                                rest[] = {{.key = LL_ATTR_AXIS, .count = 1},
                                          {.key = LL_ATTR_AXES, .count = 2}};
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    const struct ll_shape number = {.dtype = LL_F32}, row = {.dim = {5}, .dtype = LL_F32, .rank = 1};
    struct ll_shape narrow = cube(4, 8, LL_ROLE_FFN_HIDDEN, 5);
    narrow.dtype = LL_BF16;
    const uint32_t x = toy_bring(toy, cube(4, 6, LL_ROLE_BATCH, 8), LL_INPUT),
                   w = toy_bring(toy, cube(4, 8, LL_ROLE_FFN_HIDDEN, 5), LL_WEIGHT),
                   scale = toy_bring(toy, number, LL_INPUT), scales = toy_bring(toy, row, LL_INPUT),
                   flow = toy_bring(toy, cube(4, 6, LL_ROLE_BATCH, 5), LL_INPUT);
    uint32_t y = does(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, x, w, NULL);
    y = does(toy, LL_OP_MUL, LL_PHASE_FORWARD, y, scale, NULL);
    toy_op(toy, LL_OP_SUM, LL_PHASE_FORWARD, &y, 1, &last, 1, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_SUM, LL_PHASE_FORWARD, &y, 1, rest, 2, LL_ACTIVATION, NULL);
    becomes(toy, LL_OP_RESHAPE, y, toy_matrix(24, 5));
    y = does(toy, LL_OP_MUL, LL_PHASE_FORWARD, y, scales, NULL);
    const uint32_t dy = does(toy, LL_OP_MUL, LL_PHASE_BACKWARD, y, flow, NULL),
                   dw = does(toy, LL_OP_BATCH_MATMUL, LL_PHASE_BACKWARD, x, dy, &turned_a);
    does(toy, LL_OP_BATCH_MATMUL, LL_PHASE_BACKWARD, dy, w, &turned_b);
    becomes(toy, LL_OP_CAST, does(toy, LL_OP_SGD, LL_PHASE_UPDATE, w, dw, NULL), narrow);
    does(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, flow, flow, &turned_b);
    struct ll_trace *replica = spread_among_two(toy_close(toy, path));
    assert_ops(replica, expected, sizeof expected / sizeof *expected);
    ll_trace_free(replica);
}

/* Where a product's devices have a share of the places each, these are gathered; not so weights of which
 * they have a share, nor the numbers of places. */
static void rows_alone_are_gathered_where_experts_are(void **state)
{
    (void)state;
    static const char *const expected[] = {"all_to_all 4x3x8 > 4x3x8",  "reshape 4x3x8 > 2x6x8",
                                           "all_gather 2x6x8 > 2x12x8", "all_gather 4x3 > 4x6",
                                           "all_gather 2x4x5 > 2x8x5",  "batch_matmul 2x12x8 2x8x5 > 2x12x5"};
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    struct ll_shape numbers = cube(4, 3, LL_ROLE_BATCH, 1), all_numbers = cube(4, 6, LL_ROLE_BATCH, 1);
    numbers.rank = all_numbers.rank = 2;
    uint32_t x = toy_bring(toy, cube(4, 3, LL_ROLE_BATCH, 8), LL_INPUT),
             w = toy_bring(toy, cube(4, 4, LL_ROLE_FFN_HIDDEN, 5), LL_WEIGHT),
             places = toy_bring(toy, numbers, LL_INPUT);
    x = becomes(toy, LL_OP_ALL_GATHER, x, cube(4, 6, LL_ROLE_BATCH, 8));
    becomes(toy, LL_OP_ALL_GATHER, places, all_numbers);
    w = becomes(toy, LL_OP_ALL_GATHER, w, cube(4, 8, LL_ROLE_FFN_HIDDEN, 5));
    does(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, x, w, NULL);
    struct ll_trace *replica = spread_among_two(toy_close(toy, path));
    assert_ops(replica, expected, sizeof expected / sizeof *expected);
    ll_trace_free(replica);
}

/* Products of bf16 that are added up in f32, as libraries write them. */
static void wider_results_stay_so(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    struct ll_shape x = cube(4, 6, LL_ROLE_BATCH, 8), w = cube(4, 8, LL_ROLE_FFN_HIDDEN, 5);
    x.dtype = w.dtype = LL_BF16;
    const struct ll_shape y = cube(4, 6, LL_ROLE_BATCH, 5);
    const uint32_t inputs[] = {toy_bring(toy, x, LL_INPUT), toy_bring(toy, w, LL_WEIGHT)},
                   desc = ll_recorder_desc(toy->recorder, "y", &y, LL_ACTIVATION);
    ll_recorder_op(toy->recorder, &(struct ll_record){.kind = LL_OP_BATCH_MATMUL,
                                                      .phase = LL_PHASE_FORWARD,
                                                      .scope = toy->scope,
                                                      .inputs = inputs,
                                                      .input_count = 2,
                                                      .outputs = &desc,
                                                      .output_count = 1});
    struct ll_trace *replica = spread_among_two(toy_close(toy, path));
    const struct ll_op_view *last = &replica->signatures[replica->ops[replica->op_count - 1].signature].view;
    assert_int_equal(last->kind, LL_OP_BATCH_MATMUL);
    assert_int_equal(last->in[0].dtype, LL_BF16);
    assert_int_equal(last->out[0].dtype, LL_F32);
    ll_trace_free(replica);
}

static void assert_complaint(const struct ll_trace *trace, uint64_t experts, const char *complaint)
{
    struct ll_diags diags = {0};
    struct ll_parallel among = plan;
    among.expert = experts;
    assert_null(ll_spread_experts(trace, &among, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, complaint);
    ll_diags_release(&diags);
}

static void what_cannot_be_divided_is_complained_about(void **state)
{
    (void)state;
    struct ll_trace *trace = record(false), *other = toy_trace(1);
    assert_complaint(trace, 3, "ep 3: the experts of a layer are no multiple of them");
    assert_complaint(other, 3, "ep 3: this workload has no experts");
    assert_true(ll_has_experts(trace));
    assert_false(ll_has_experts(other));
    ll_trace_free(trace);
    ll_trace_free(other);
}

/* The last layer decides as well as the first. */
static void all_layers_are_multiples_or_none(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct toy *toy = calloc(1, sizeof *toy);
        char path[64];
        toy_open(toy, path);
        for (int layer = 0; layer < 2; layer++) {
            uint64_t experts = layer == last ? 3 : 4;
            uint32_t inputs[] = {toy_bring(toy, cube(experts, 6, LL_ROLE_BATCH, 8), LL_INPUT),
                                 toy_bring(toy, cube(experts, 8, LL_ROLE_FFN_HIDDEN, 5), LL_WEIGHT)};
            toy_op(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, inputs, 2, NULL, 0, LL_ACTIVATION, NULL);
        }
        struct ll_trace *trace = toy_close(toy, path);
        assert_complaint(trace, 2, "ep 2: the experts of a layer are no multiple of them");
        ll_trace_free(trace);
    }
}

/* A group of one is nobody to share with: the same ops, and no word of it. */
static void one_replica_has_all_experts(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true);
    struct ll_parallel alone = plan;
    struct ll_diags diags = {0};
    alone.expert = 1;
    struct ll_trace *copy = ll_spread_experts(trace, &alone, &diags);
    assert_non_null(copy);
    assert_int_equal(copy->op_count, trace->op_count);
    assert_null(ll_trace_fact(copy, "parallel.expert"));
    struct ll_trace *replica = spread(trace);
    assert_string_equal(ll_trace_fact(replica, "parallel.expert"), "4");
    ll_trace_free(trace);
    ll_trace_free(copy);
    ll_trace_free(replica);
}

/* Weights, their gradients and states; neither what flows nor a bias that is as many numbers as experts. */
static void what_has_experts_is_known_by_its_first_dimension(void **state)
{
    (void)state;
    static const enum ll_memory_class kept[] = {LL_WEIGHT, LL_OPTIMIZER, LL_GRADIENT};
    struct ll_tensor_desc desc = {.shape = cube(8, 64, LL_ROLE_FFN_HIDDEN, 96)};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        desc.memory = kept[i];
        assert_true(ll_is_of_experts(&desc));
    }
    desc.shape.rank = 2;
    assert_true(ll_is_of_experts(&desc));
    desc.shape.rank = 1;
    assert_false(ll_is_of_experts(&desc));
    desc.shape.rank = 3;
    desc.memory = LL_ACTIVATION;
    assert_false(ll_is_of_experts(&desc));
    desc.memory = LL_WEIGHT;
    desc.shape.role[0] = LL_ROLE_HIDDEN;
    desc.shape.role[1] = LL_ROLE_EXPERTS;
    assert_false(ll_is_of_experts(&desc));
}

/* Of bf16 each of the three GEMMs of a layer is one of experts, forward and back to what came in (9 a layer
 * but for three gradients of weights); what stands for it elsewhere is the batch that it was. Of f32 it stays
 * one. */
static void gemms_of_experts_are_grouped(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true);
    uint64_t grouped = 0;
    const char *trouble;
    for (int narrow = 0; narrow < 2; narrow++) {
        for (uint32_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_view *view = &trace->signatures[trace->ops[i].signature].view;
            struct ll_work work;
            assert_true(ll_op_lower(view, &work));
            if (work.kind != LL_WORK_EXPERTS)
                continue;
            const struct ll_work gemm = ll_work_as_gemm(&work);
            const struct ll_gemm dims = ll_batch_matmul_dims(view);
            assert_memory_equal(&gemm.gemm, &dims, sizeof dims);
            assert_int_equal(gemm.flops, work.flops);
            assert_int_equal(work.experts.rows, EXPERTS * PLACES);
            assert_int_equal(work.experts.tiles[0], EXPERTS * 2); /* of 8 rows, for 10 places */
            assert_int_equal(work.experts.tiles[1], EXPERTS);
            assert_int_equal(work.experts.format, LL_EXPERTS_BF16);
            grouped++;
        }
        assert_int_equal(grouped, narrow ? 6 * LAYERS : 0);
        assert_true(ll_trace_change_dtype(trace, LL_BF16, &trouble));
    }
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_experts_read_and_write_crosses_twice_each_way),
        cmocka_unit_test(words_of_all_replicas_choose_experts),
        cmocka_unit_test(devices_of_a_product_send_their_share_of_words),
        cmocka_unit_test(a_replica_has_its_experts_and_as_much_to_do),
        cmocka_unit_test(the_rest_is_as_it_was),
        cmocka_unit_test(gradients_of_experts_are_summed_where_these_are),
        cmocka_unit_test(what_is_of_experts_is_where_they_are),
        cmocka_unit_test(rows_alone_are_gathered_where_experts_are),
        cmocka_unit_test(wider_results_stay_so),
        cmocka_unit_test(what_cannot_be_divided_is_complained_about),
        cmocka_unit_test(all_layers_are_multiples_or_none),
        cmocka_unit_test(gemms_of_experts_are_grouped),
        cmocka_unit_test(one_replica_has_all_experts),
        cmocka_unit_test(what_has_experts_is_known_by_its_first_dimension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
