/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs within graphs, lists, nodes in any order; attention, volumes, losses: what they become, counted
 * from the standard's definitions. */
#include "check.h"
#include "onnx_model.h"

static struct conversion imported(struct onnx_model *m, int64_t version, const char *key, const char *value)
{
    struct ll_str bytes = end_model(m, version);
    struct conversion c = {.importer = ll_import_ONNX};
    if (key)
        choose_so(&c, key, value);
    add_file(&c, "small.onnx", &bytes);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

/* A graph as an attribute of the node at work (field 6); the model that it is written as is used up. */
static void node_graph(struct onnx_model *m, const char *name, struct onnx_model *body)
{
    struct ll_str attr = {0};
    struct ll_str whole = end_model(body, 13);
    struct ll_wire bytes = {(const uint8_t *)whole.text, (const uint8_t *)whole.text + whole.length};
    struct ll_wire_field field;
    ll_wire_put_text(&attr, 1, name);
    while (ll_wire_next(&bytes, &field) == LL_WIRE_FIELD)
        if (field.number == 7)
            ll_wire_put_bytes(&attr, 6, field.bytes.at, (size_t)(field.bytes.end - field.bytes.at));
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
    ll_str_release(&whole);
}

static uint64_t count_of(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint64_t count = 0;
    while (op_of_kind(trace, kind, (uint32_t)count))
        count++;
    return count;
}

/* y = y + x five times; the file tells how many are stacked, or the user says. */
static void a_loop_is_its_trips(void **state)
{
    static const struct {
        int64_t told; /* rows of what is stacked; 0: the file tells nothing */
        const char *trips;
        uint64_t adds; /* 0: refused */
    } rows[] = {{5, NULL, 5}, {0, "3", 3}, {0, NULL, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0}, body = {0};
        put_info(&body, 11, "trip", ONNX_INT64, DIMS(1));
        put_info(&body, 11, "go", ONNX_BOOL, 0, NULL);
        put_info(&body, 11, "y_in", ONNX_FLOAT, DIMS(7));
        put_info(&body, 12, "go_out", ONNX_BOOL, 0, NULL);
        put_info(&body, 12, "y_out", ONNX_FLOAT, DIMS(7));
        put_info(&body, 12, "each", ONNX_FLOAT, DIMS(7));
        begin_node(&body, "Identity", "go", "go_out");
        begin_node(&body, "Add", "y_in x", "y_out");
        begin_node(&body, "Identity", "y_out", "each");
        put_info(&m, 11, "most", ONNX_INT64, 0, NULL);
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(7));
        put_info(&m, 11, "y", ONNX_FLOAT, DIMS(7));
        if (rows[i].told)
            put_info(&m, 12, "stack", ONNX_FLOAT, DIMS(rows[i].told, 7));
        begin_node(&m, "Loop", "most - y", "last stack");
        node_graph(&m, "body", &body);
        begin_node(&m, "Relu", "stack", "z");
        struct conversion c = imported(&m, 13, rows[i].trips ? "trips.last stack" : NULL, rows[i].trips);
        if ((c.trace != NULL) != (rows[i].adds > 0))
            fail_msg("%s", c.trace ? "it is imported" : c.diags.kept[0].message);
        if (!c.trace)
            assert_true(complained(&c, "say -p trips.last stack=N"));
        else
            assert_int_equal(count_of(c.trace, LL_OP_ADD), rows[i].adds);
        if (c.trace)
            assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), rows[i].adds * 7);
        end_conversion(&c);
    }
}

/* Each row of x[4, 3] is added to a state. */
static void a_scan_has_a_trip_for_each_piece(void **state)
{
    (void)state;
    struct onnx_model m = {0}, body = {0};
    put_info(&body, 11, "sum", ONNX_FLOAT, DIMS(3));
    put_info(&body, 11, "row", ONNX_FLOAT, DIMS(3));
    put_info(&body, 12, "sum_out", ONNX_FLOAT, DIMS(3));
    put_info(&body, 12, "each", ONNX_FLOAT, DIMS(3));
    begin_node(&body, "Add", "sum row", "sum_out");
    begin_node(&body, "Identity", "sum_out", "each");
    put_info(&m, 11, "start", ONNX_FLOAT, DIMS(3));
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(4, 3));
    begin_node(&m, "Scan", "start x", "last stack");
    node_int(&m, "num_scan_inputs", 1);
    node_graph(&m, "body", &body);
    begin_node(&m, "Relu", "stack", "z");
    struct conversion c = imported(&m, 13, NULL, NULL);
    assert_non_null(c.trace);
    assert_int_equal(count_of(c.trace, LL_OP_ADD), 4);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), 4 * 3);
    end_conversion(&c);
}

/* The last node stands first, and one is read by a branch alone. */
static void nodes_may_stand_in_any_order(void **state)
{
    (void)state;
    static const uint8_t yes = 1;
    struct onnx_model m = {0}, branch = {0};
    put_info(&branch, 12, "inner", ONNX_FLOAT, DIMS(7));
    begin_node(&branch, "Exp", "b", "inner");
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(7));
    put_scalar(&m, "yes", ONNX_BOOL, &yes, 1);
    begin_node(&m, "Sqrt", "c", "d");
    begin_node(&m, "If", "yes", "c");
    node_graph(&m, "then_branch", &branch);
    begin_node(&m, "Neg", "a", "b");
    begin_node(&m, "Relu", "x", "a");
    struct conversion c = imported(&m, 13, NULL, NULL);
    assert_non_null(c.trace);
    static const enum ll_op_kind kinds[] = {LL_OP_RELU, LL_OP_NEG, LL_OP_EXP, LL_OP_SQRT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(count_of(c.trace, kinds[i]), 1);
    end_conversion(&c);
}

/* Two parts of x[6, 2] in a list, one of which is taken out again; who reads a list as a tensor is refused.
 */
static void lists_are_their_elements(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        static const int64_t one = 1;
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(6, 2));
        put_list(&m, "sizes", DIMS(4, 2));
        put_scalar(&m, "one", ONNX_INT64, &one, sizeof one);
        begin_node(&m, "SplitToSequence", "x sizes", "list");
        begin_node(&m, "SequenceAt", "list one", "part");
        begin_node(&m, "Relu", wrong ? "list" : "part", "z");
        struct conversion c = imported(&m, 13, NULL, NULL);
        assert_int_equal(c.trace != NULL, !wrong);
        if (c.trace)
            assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), 2 * 2);
        else
            assert_true(complained(&c, "input 0 is a list of tensors"));
        end_conversion(&c);
    }
}

/* Of 2 sequences, 4 heads of queries and 2 of keys, 5 tokens of 8 features behind 3 in a cache: what only
 * looks back is one op of the scores that are seen (4 + 5 + 6 + 7 + 8), else all of 5 x 8 are multiplied. */
static void attention_counts_the_scores_that_are_seen(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "q", ONNX_FLOAT, DIMS(2, 4, 5, 8));
        put_info(&m, 11, "k", ONNX_FLOAT, DIMS(2, 2, 5, 8));
        put_info(&m, 11, "v", ONNX_FLOAT, DIMS(2, 2, 5, 8));
        put_info(&m, 11, "old_k", ONNX_FLOAT, DIMS(2, 2, 3, 8));
        put_info(&m, 11, "old_v", ONNX_FLOAT, DIMS(2, 2, 3, 8));
        begin_node(&m, "Attention", "q k v - old_k old_v", "y new_k new_v");
        node_int(&m, "is_causal", causal);
        begin_node(&m, "Relu", "y", "z");
        begin_node(&m, "Neg", "new_k", "z2");
        struct conversion c = imported(&m, 23, NULL, NULL);
        assert_non_null(c.trace);
        const struct ll_op_view *one = op_of_kind(c.trace, LL_OP_CAUSAL_ATTENTION, 0),
                                *first = op_of_kind(c.trace, LL_OP_BATCH_MATMUL, 0);
        assert_int_equal(one != NULL, causal);
        assert_int_equal(first != NULL, !causal);
        assert_int_equal(ll_op_flops(one ? one : first),
                         one ? 2 * 2 * 8 * 2 * 4 * (4 + 5 + 6 + 7 + 8) : 2 * 8 * 2 * 4 * 5 * 8);
        assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), 2 * 4 * 5 * 8);
        assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_NEG, 0)), 2 * 2 * 8 * 8);
        end_conversion(&c);
    }
}

/* The same without a cache, of ai.onnx.preview. */
static void flexible_attention_is_attention(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "q", ONNX_FLOAT, DIMS(2, 4, 5, 8));
    put_info(&m, 11, "k", ONNX_FLOAT, DIMS(2, 2, 5, 8));
    put_info(&m, 11, "v", ONNX_FLOAT, DIMS(2, 2, 5, 8));
    begin_node(&m, "FlexAttention", "q k v", "y");
    struct conversion c = imported(&m, 26, NULL, NULL);
    assert_non_null(c.trace);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_BATCH_MATMUL, 0)), 2 * 8 * 2 * 4 * 5 * 5);
    end_conversion(&c);
}

/* A volume of 2x3x5x6x7 by 4 filters of 3x2x2x2, and its pools: each of the 4x5x6 places multiplies 3 x 8
 * elements; spread back over the volume, the same. */
static void volumes_are_counted_as_defined(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 5, 6, 7));
    put_weight(&m, "w", DIMS(4, 3, 2, 2, 2));
    begin_node(&m, "Conv", "x w", "y");
    begin_node(&m, "ConvTranspose", "y w", "back");
    begin_node(&m, "MaxPool", "y", "p");
    node_ints(&m, "kernel_shape", DIMS(2, 3, 2));
    begin_node(&m, "Relu", "back", "z");
    struct conversion c = imported(&m, 13, NULL, NULL);
    assert_non_null(c.trace);
    const uint64_t products = 2 * 2 * 4 * (4 * 5 * 6) * 3 * 8;
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_CONV2D, 0)), products);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_CONV2D_DATA, 0)), products);
    assert_int_equal(ll_elements(&op_of_kind(c.trace, LL_OP_MAX_POOL, 0)->out[0]), 2 * 4 * (3 * 3 * 5));
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), 2 * 3 * 5 * 6 * 7);
    end_conversion(&c);
}

/* x[8, 64] with 32 rows of 64 weights of 4 bits: 2 m n k, and half a byte of each weight. */
static void weights_of_few_bits_take_few_bytes(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(8, 64));
    put_tensor(&m, "w", 2, DIMS(32, 2, 16));
    put_weight(&m, "scales", DIMS(64));
    begin_node(&m, "MatMulNBits", "x w scales", "y");
    ll_wire_put_text(&m.node, 7, "com.microsoft");
    node_int(&m, "K", 64);
    node_int(&m, "N", 32);
    node_int(&m, "bits", 4);
    node_int(&m, "block_size", 32);
    struct conversion c = imported(&m, 13, NULL, NULL);
    assert_non_null(c.trace);
    const struct ll_op_view *op = op_of_kind(c.trace, LL_OP_MATMUL, 0);
    assert_int_equal(ll_op_flops(op), 2 * 8 * 32 * 64);
    assert_int_equal(op->in[1].dtype, LL_INT4);
    assert_int_equal(ll_elements(&op->in[1]), 32 * 64);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_its_trips),
        cmocka_unit_test(a_scan_has_a_trip_for_each_piece),
        cmocka_unit_test(nodes_may_stand_in_any_order),
        cmocka_unit_test(lists_are_their_elements),
        cmocka_unit_test(attention_counts_the_scores_that_are_seen),
        cmocka_unit_test(flexible_attention_is_attention),
        cmocka_unit_test(volumes_are_counted_as_defined),
        cmocka_unit_test(weights_of_few_bits_take_few_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
