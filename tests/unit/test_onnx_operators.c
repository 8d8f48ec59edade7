/* SPDX-License-Identifier: Apache-2.0 */
/* What the same name or the same input of an operator can mean. */
#include "check.h"
#include "onnx_model.h"

static struct conversion imported_as(struct onnx_model *m, int64_t version, bool allow_opaque)
{
    struct ll_str bytes = end_model(m, version);
    struct conversion c = {.importer = ll_import_ONNX, .allow_opaque = allow_opaque};
    add_file(&c, "small.onnx", &bytes);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

static struct conversion imported(struct onnx_model *m, bool allow_opaque)
{
    return imported_as(m, 13, allow_opaque);
}

/* Field 7 of a node is its domain. */
static void an_operator_of_another_domain_is_not_the_standard_one(void **state)
{
    static const struct {
        const char *domain;
        bool known;
    } rows[] = {{"", true}, {"ai.onnx", true}, {"com.microsoft", true}, {"com.x", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int opaque = 0; opaque < 2; opaque++) {
            struct onnx_model m = {0};
            put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
            begin_node(&m, "Relu", "x", "a");
            begin_node(&m, "Relu", "a", "y");
            ll_wire_put_text(&m.node, 7, rows[i].domain);
            struct conversion c = imported(&m, opaque);
            assert_int_equal(c.trace != NULL, rows[i].known || opaque);
            if (c.trace)
                assert_int_equal(op_of_kind(c.trace, LL_OP_FOREIGN, 0) == NULL, rows[i].known);
            else
                assert_true(complained(
                    &c, "operator `com.x.Relu` has no rule here; 1 of them, the first is `y` (node 1, domain "
                        "com.x, of no opset)"));
            end_conversion(&c);
        }
}

static void node_real(struct onnx_model *m, const char *name, float value)
{
    struct ll_str attr = {0};
    ll_wire_put_text(&attr, 1, name);
    ll_wire_put_varint(&attr, 2 << 3 | 5);
    ll_str_add_bytes(&attr, (const char *)&value, sizeof value); /* little-endian, as here */
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
}

static void a_bias_times_zero_is_not_added(void **state)
{
    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
        put_weight(&m, "w", DIMS(4, 5));
        put_weight(&m, "b", DIMS(5));
        begin_node(&m, "Gemm", "x w b", "y");
        node_real(&m, "beta", zero ? 0 : 0.5F);
        struct conversion c = imported(&m, false);
        assert_non_null(c.trace);
        assert_int_equal(op_of_kind(c.trace, LL_OP_BIAS_ADD, 0) == NULL, zero);
        assert_string_equal(ll_trace_fact(c.trace, "parameters"), "25");
        end_conversion(&c);
    }
}

/* A choice by sign: with slopes above 1 the larger of x and its product is another one. */
static void slopes_by_channel_are_one_op(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4, 5));
    put_weight(&m, "slope", DIMS(3, 1, 1));
    begin_node(&m, "PRelu", "x slope", "y");
    struct conversion c = imported(&m, false);
    assert_non_null(c.trace);
    const struct ll_op_view *op = op_of_kind(c.trace, LL_OP_PRELU, 0);
    assert_non_null(op);
    assert_null(op_of_kind(c.trace, LL_OP_MUL, 0));
    assert_null(op_of_kind(c.trace, LL_OP_MAXIMUM, 0));
    assert_int_equal(ll_elements(&op->out[0]), 2 * 3 * 4 * 5);
    assert_int_equal(ll_elements(&op->in[1]), 3);
    end_conversion(&c);
}

/* Windows of 3 at a stride of 2 over 5: 2 (5 - 1) + 3 = 11, what is told to be less is padding, of SAME 2 x
 * 5. */
static void a_transposed_convolution_is_as_large_as_told(void **state)
{
    static const struct {
        const char *pad;
        int64_t asked, more, size, before, after;
    } rows[] = {{"NOTSET", 0, 0, 11, 0, 0},     {"NOTSET", 0, 1, 12, 0, 0}, {"SAME_UPPER", 0, 0, 10, 0, 1},
                {"SAME_LOWER", 0, 0, 10, 1, 0}, {"NOTSET", 8, 0, 8, 2, 1},  {"SAME_UPPER", 8, 0, 8, 1, 2},
                {"NOTSET", 12, 0, 12, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(1, 4, 5, 5));
        put_weight(&m, "w", DIMS(4, 6, 3, 3));
        begin_node(&m, "ConvTranspose", "x w", "y");
        node_ints(&m, "strides", DIMS(2, 2));
        node_text(&m, "auto_pad", rows[i].pad);
        if (rows[i].asked)
            node_ints(&m, "output_shape", DIMS(rows[i].asked, rows[i].asked));
        if (rows[i].more)
            node_ints(&m, "output_padding", DIMS(rows[i].more, rows[i].more));
        struct conversion c = imported(&m, false);
        assert_non_null(c.trace);
        const struct ll_op_view *op = op_of_kind(c.trace, LL_OP_CONV2D_DATA, 0);
        assert_int_equal(op->out[0].dim[1], rows[i].size);
        assert_int_equal(op->out[0].dim[2], rows[i].size);
        assert_int_equal(ll_attr_count(op, LL_ATTR_PAD_TOP, 0), rows[i].before);
        assert_int_equal(ll_attr_count(op, LL_ATTR_PAD_BOTTOM, 0), rows[i].after);
        assert_int_equal(ll_op_flops(op), 2 * 5 * 5 * 9 * 4 * 6);
        end_conversion(&c);
    }
}

/* By the attribute, or, before version 14, by who asks for its averages. */
static void a_norm_that_trains_looks_at_its_batch(void **state)
{
    static const struct {
        int64_t version;
        bool attribute;
        const char *outputs;
        unsigned averages;
        bool trains;
    } rows[] = {{17, true, "y m v", 2, true}, {17, true, "y", 0, true},           {17, false, "y", 0, false},
                {9, false, "y m v", 2, true}, {9, false, "y - - sm sv", 0, true}, {9, false, "y", 0, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4, 5));
        for (const char *name = "s\0b\0mean\0variance\0"; *name; name += strlen(name) + 1)
            put_weight(&m, name, DIMS(3));
        begin_node(&m, "BatchNormalization", "x s b mean variance", rows[i].outputs);
        if (rows[i].attribute)
            node_int(&m, "training_mode", 1);
        if (strstr(rows[i].outputs, "sm"))
            begin_node(&m, "Sqrt", "sm", "deviation");
        struct conversion c = imported_as(&m, rows[i].version, false);
        assert_non_null(c.trace);
        assert_int_equal(op_of_kind(c.trace, LL_OP_BATCH_NORM, 0) != NULL, rows[i].trains);
        assert_int_equal(op_of_kind(c.trace, LL_OP_BATCH_NORM_FIXED, 0) != NULL, !rows[i].trains);
        assert_int_equal(op_of_kind(c.trace, LL_OP_MOVING_AVERAGE, 0) != NULL, rows[i].averages > 0);
        assert_int_equal(op_of_kind(c.trace, LL_OP_MOVING_AVERAGE, 1) != NULL, rows[i].averages > 1);
        assert_int_equal(op_of_kind(c.trace, LL_OP_SQRT, 0) != NULL, strstr(rows[i].outputs, "sm") != NULL);
        end_conversion(&c);
    }
}

/* Elements are drawn where the node trains, of which share; its mask is a byte each. */
static void a_dropout_that_trains_draws(void **state)
{
    static const struct {
        const char *inputs;
        unsigned char trains;
        float ratio;
        bool draws;
    } rows[] = {{"x r t", 1, 0.25F, true},
                {"x r t", 0, 0.25F, false},
                {"x r t", 1, 0, false},
                {"x r", 1, 0.25F, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3));
        put_scalar(&m, "r", ONNX_FLOAT, &rows[i].ratio, sizeof rows[i].ratio);
        put_scalar(&m, "t", ONNX_BOOL, &rows[i].trains, 1);
        begin_node(&m, "Dropout", rows[i].inputs, "y mask");
        begin_node(&m, "Relu", "y", "z");
        struct conversion c = imported(&m, false);
        assert_non_null(c.trace);
        const struct ll_op_view *op = op_of_kind(c.trace, LL_OP_DROPOUT, 0);
        assert_int_equal(op != NULL, rows[i].draws);
        if (op)
            assert_true(ll_attr_real(op, LL_ATTR_KEEP, 1) == 0.75);
        end_conversion(&c);
    }
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3));
    put_info(&m, 11, "t", ONNX_BOOL, 0, NULL);
    begin_node(&m, "Dropout", "x - t", "y");
    struct conversion c = imported(&m, false);
    assert_true(complained(&c, "whether it trains is not known before it runs"));
    end_conversion(&c);
}

/* A rule that makes no second output: its reader was passed over, and no op came of it. */
static void who_reads_an_output_without_a_rule_is_refused(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(1, 3, 4, 4));
    put_weight(&m, "w", DIMS(4));
    begin_node(&m, "LayerNormalization", "x w", "y mean");
    begin_node(&m, "Cast", "mean", "z");
    node_int(&m, "to", ONNX_FLOAT);
    struct conversion c = imported(&m, false);
    assert_null(c.trace);
    assert_true(
        complained(&c, "Cast `z`: its input 0 is an output that has no rule here (node 1, domain ai.onnx, "
                       "opset 13)"));
    end_conversion(&c);
}

/* Work on bytes: what comes in, goes out and is read of a weight, and the FLOPs of the float operator. */
static void quantized_operators_work_on_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *type, *inputs;
        enum ll_op_kind kind;
        uint64_t flops;
        enum ll_dtype left, right, out;
    } rows[] = {
        {"QLinearConv", "x s z w s zs s z", LL_OP_CONV2D, 2 * 36 * 27 * 4, LL_U8, LL_INT8, LL_U8},
        {"QLinearConv", "x s z w s zs s zs b", LL_OP_CONV2D, 2 * 36 * 27 * 4, LL_U8, LL_INT8, LL_INT8},
        {"ConvInteger", "x w z", LL_OP_CONV2D, 2 * 36 * 27 * 4, LL_U8, LL_INT8, LL_I32},
        {"QLinearMatMul", "r s z v s zs s z", LL_OP_MATMUL, 2 * 7 * 8 * 5, LL_U8, LL_INT8, LL_U8},
        {"MatMulInteger", "r v", LL_OP_MATMUL, 2 * 7 * 8 * 5, LL_U8, LL_INT8, LL_I32},
        {"QGemm", "r s z v s zs - s z", LL_OP_MATMUL, 2 * 7 * 8 * 5, LL_U8, LL_INT8, LL_U8},
        {"QGemm", "r s z v s zs", LL_OP_MATMUL, 2 * 7 * 8 * 5, LL_U8, LL_INT8, LL_F32},
        {"MatMulIntegerToFloat", "r v s s", LL_OP_MATMUL, 2 * 7 * 8 * 5, LL_U8, LL_INT8, LL_F32},
        {"QLinearAdd", "r s z r s z s z", LL_OP_ADD, 7 * 8, LL_U8, LL_U8, LL_U8},
        {"QLinearConcat", "s z r s z r s z", LL_OP_CONCAT, 0, LL_U8, LL_U8, LL_U8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_UINT8, DIMS(1, 3, 8, 8));
        put_info(&m, 11, "r", ONNX_UINT8, DIMS(7, 8));
        put_tensor(&m, "w", ONNX_INT8, DIMS(4, 3, 3, 3));
        put_tensor(&m, "v", ONNX_INT8, DIMS(8, 5));
        put_tensor(&m, "s", ONNX_FLOAT, 0, NULL);
        put_tensor(&m, "z", ONNX_UINT8, 0, NULL);
        put_tensor(&m, "zs", ONNX_INT8, 0, NULL);
        put_tensor(&m, "b", 6, DIMS(4));
        begin_node(&m, rows[i].type, rows[i].inputs, "y");
        struct conversion c = imported(&m, false);
        assert_non_null(c.trace);
        const struct ll_op_view *op = op_of_kind(c.trace, rows[i].kind, 0);
        assert_non_null(op);
        assert_int_equal(ll_op_flops(op), rows[i].flops);
        assert_int_equal(op->in[0].dtype, rows[i].left);
        assert_int_equal(op->in[1].dtype, rows[i].right);
        assert_int_equal(op->out[0].dtype, rows[i].out);
        end_conversion(&c);
    }
}

/* Operators by one or two ops each: kinds and the dimensions of the last one's result. */
static void small_operators_have_their_ops(void **state)
{
    (void)state;
    static const struct {
        const char *type, *inputs, *text, *value; /* an attribute */
        int64_t version;
        enum ll_op_kind kind;
        uint64_t elements, flops;
    } rows[] = {
        {"Swish", "x", NULL, NULL, 24, LL_OP_MUL, 24, 24},
        {"GeGLU", "x x", NULL, NULL, 28, LL_OP_GELU, 24, 10 * 24},
        {"Einsum", "x", "equation", "ijk->kij", 13, LL_OP_TRANSPOSE, 24, 0},
        {"Einsum", "x", "equation", "ijk->j", 13, LL_OP_SUM, 3, 24 - 3},
        {"Einsum", "x", "equation", "ijk", 13, LL_OP_NONE, 24, 0},
        {"Einsum", "v v", "equation", "i,i", 13, LL_OP_MATMUL, 1, 2 * 4},
        {"Einsum", "x x", "equation", "...ij,...kj->...ik", 13, LL_OP_BATCH_MATMUL, 2 * 3 * 3,
         2 * 2 * 3 * 3 * 4},
        {"Einsum", "x v", "equation", "...j,j->...", 13, LL_OP_MATMUL, 2 * 3, 2 * 2 * 3 * 4},
        {"Einsum", "x", "equation", "i...->...i", 13, LL_OP_TRANSPOSE, 24, 0},
        {"Einsum", "v v", "equation", "j,i", 13, LL_OP_MATMUL, 16, 2 * 16},
        {"GatherND", "x places", "batch_dims", NULL, 13, LL_OP_GATHER, 2 * 4, 0},
        {"OneHot", "ids depth v", NULL, NULL, 13, LL_OP_ONE_HOT, 2 * 10, 0},
        {"PRelu", "x slopes", NULL, NULL, 6, LL_OP_PRELU, 24, 2 * 24},
        {"DynamicQuantizeLinear", "x", NULL, NULL, 13, LL_OP_QUANTIZE, 24, 5 * 24},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
        put_info(&m, 11, "v", ONNX_FLOAT, DIMS(4));
        put_info(&m, 11, "places", ONNX_INT64, DIMS(2, 1));
        put_info(&m, 11, "ids", ONNX_INT64, DIMS(2));
        put_list(&m, "depth", DIMS(10));
        put_weight(&m, "slopes", DIMS(3));
        begin_node(&m, rows[i].type, rows[i].inputs, "y");
        if (rows[i].text && rows[i].value)
            node_text(&m, rows[i].text, rows[i].value);
        else if (rows[i].text)
            node_int(&m, rows[i].text, 1);
        begin_node(&m, "Neg", "y", "z");
        struct conversion c = imported_as(&m, rows[i].version, false);
        if (!c.trace)
            fail_msg("%s: %s", rows[i].type, c.diags.kept[0].message);
        const struct ll_op_view *op = op_of_kind(c.trace, rows[i].kind, 0);
        assert_int_equal(op != NULL, rows[i].kind != LL_OP_NONE);
        if (op)
            assert_int_equal(ll_op_flops(op), rows[i].flops);
        assert_int_equal(ll_elements(&op_of_kind(c.trace, LL_OP_NEG, 0)->out[0]), rows[i].elements);
        end_conversion(&c);
    }
    static const char *const wrongs[] = {"ijk->ijkl", "ij->i", "i..->i", "ijk->jj", "ijk,->i->j", "ijk,i"};
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
        begin_node(&m, "Einsum", "x", "y");
        node_text(&m, "equation", wrongs[i]);
        struct conversion c = imported(&m, false);
        assert_null(c.trace);
        if (!complained(&c, "its equation"))
            fail_msg("%s: %s", wrongs[i], c.diags.kept[0].message);
        end_conversion(&c);
    }
}

/* A norm of com.microsoft of images whose channels are last, or second; with its swish. */
static void norms_of_com_microsoft_are_read(void **state)
{
    (void)state;
    for (int64_t last = 0; last < 2; last++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(1, 6, 5, 6));
        put_weight(&m, "g", DIMS(6));
        put_weight(&m, "b", DIMS(6));
        begin_node(&m, "GroupNorm", "x g b", "y");
        ll_wire_put_text(&m.node, 7, "com.microsoft");
        node_int(&m, "activation", last);
        node_int(&m, "channels_last", last);
        begin_node(&m, "SkipSimplifiedLayerNormalization", "y x g b", "z");
        ll_wire_put_text(&m.node, 7, "com.microsoft");
        struct conversion c = imported(&m, false);
        assert_non_null(c.trace);
        assert_non_null(op_of_kind(c.trace, LL_OP_GROUP_NORM, 0));
        assert_int_equal(op_of_kind(c.trace, LL_OP_SIGMOID, 0) != NULL, last);
        assert_int_equal(op_of_kind(c.trace, LL_OP_GROUP_NORM, 0)->in[0].dim[1], last ? 6 : 5);
        assert_non_null(op_of_kind(c.trace, LL_OP_BIAS_ADD, 0));
        assert_non_null(op_of_kind(c.trace, LL_OP_RMS_NORM, 0));
        assert_null(op_of_kind(c.trace, LL_OP_LAYER_NORM, 0));
        end_conversion(&c);
    }
}

/* Functions of a model. */

static void put_function(struct ll_str *model, const char *domain, const char *name, const char *inputs,
                         const char *outputs, struct onnx_model *body, const struct ll_str *more)
{
    struct ll_str bytes = {0}, opset = {0};
    end_node(body);
    ll_wire_put_text(&bytes, 1, name);
    put_names(&bytes, 4, inputs);
    put_names(&bytes, 5, outputs);
    struct ll_wire nodes = {(const uint8_t *)body->graph.text,
                            (const uint8_t *)body->graph.text + body->graph.length};
    struct ll_wire_field field;
    while (ll_wire_next(&nodes, &field) == LL_WIRE_FIELD)
        ll_wire_put_bytes(&bytes, 7, field.bytes.at, (size_t)(field.bytes.end - field.bytes.at));
    ll_wire_put_text(&opset, 1, "");
    ll_wire_put_integer(&opset, 2, 12);
    ll_wire_put_bytes(&bytes, 9, opset.text, opset.length);
    ll_wire_put_text(&bytes, 10, domain);
    if (more && more->length)
        ll_str_add_bytes(&bytes, more->text, more->length);
    ll_wire_put_bytes(model, 25, bytes.text, bytes.length);
    ll_str_release(&bytes);
    ll_str_release(&opset);
    ll_str_release(&body->graph);
    ll_str_release(&body->node);
}

/* An attribute of the node in the making that is this one of its function. */
static void node_refers(struct onnx_model *m, const char *name, const char *of_function)
{
    struct ll_str attr = {0};
    ll_wire_put_text(&attr, 1, name);
    ll_wire_put_text(&attr, 21, of_function);
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
}

/* `Sums` is Sub of its input, then a softmax along `side` (by default axis 2 of the function), whose version
 * is 12: there all dimensions from the axis on are one row. `Both` calls it twice, with an axis of its own
 * once. */
static void a_function_stands_for_its_nodes(void **state)
{
    (void)state;
    struct onnx_model m = {0}, sums = {0}, both = {0};
    struct ll_str given = {0}, attr = {0};
    begin_node(&sums, "Sub", "a b", "t");
    begin_node(&sums, "Softmax", "t", "r");
    node_refers(&sums, "axis", "side");
    ll_wire_put_text(&attr, 1, "side");
    ll_wire_put_integer(&attr, 3, 2);
    ll_wire_put_bytes(&given, 11, attr.text, attr.length);
    begin_node(&both, "Sums", "p p", "t");
    ll_wire_put_text(&both.node, 7, "local");
    begin_node(&both, "Sums", "t p", "q");
    ll_wire_put_text(&both.node, 7, "local");
    node_refers(&both, "side", "axis");
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
    begin_node(&m, "Relu", "x", "t"); /* as the functions call one of theirs */
    begin_node(&m, "Both", "t", "y same");
    ll_wire_put_text(&m.node, 7, "local");
    node_int(&m, "axis", 1);
    begin_node(&m, "Add", "y same", "z");
    struct ll_str bytes = end_model(&m, 13);
    put_function(&bytes, "local", "Sums", "a b", "r", &sums, &given);
    put_function(&bytes, "local", "Both", "p", "q p", &both, NULL);
    struct conversion c = {.importer = ll_import_ONNX};
    add_file(&c, "functions.onnx", &bytes);
    convert(&c);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    assert_non_null(op_of_kind(c.trace, LL_OP_SUB, 1));
    const struct ll_op_view *by_default = op_of_kind(c.trace, LL_OP_SOFTMAX, 0),
                            *by_call = op_of_kind(c.trace, LL_OP_SOFTMAX, 1);
    assert_int_equal(by_default->in[0].dim[by_default->in[0].rank - 1], 4);
    assert_int_equal(by_call->in[0].dim[by_call->in[0].rank - 1], 12);
    assert_int_equal(ll_elements(&op_of_kind(c.trace, LL_OP_ADD, 0)->out[0]), 24);
    end_conversion(&c);
    ll_str_release(&bytes);
    ll_str_release(&given);
    ll_str_release(&attr);
}

/* One that calls itself through another; one with an operator that nobody knows, called twice; one that makes
 * nothing of its output. */
static void functions_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"There", "local", "the function calls itself (node 0 of function local.Back, domain local"},
        {"Unknown", "com.x",
         "operator `com.x.Unknown` has no rule here; 1 of them, the first is `y/r` (node 0 of function "
         "local.There, domain com.x, of no opset)"},
        {"Relu", "", "There `y`: nothing in it makes its output 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0}, there = {0}, back = {0};
        begin_node(&there, i == 0 ? "Back" : rows[i][0], "a", i == 2 ? "t" : "r");
        ll_wire_put_text(&there.node, 7, rows[i][1]);
        begin_node(&back, "There", "a", "r");
        ll_wire_put_text(&back.node, 7, "local");
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3));
        begin_node(&m, "There", "x", "y");
        ll_wire_put_text(&m.node, 7, "local");
        begin_node(&m, "There", "x", "z");
        ll_wire_put_text(&m.node, 7, "local");
        struct ll_str bytes = end_model(&m, 13);
        put_function(&bytes, "local", "There", "a", "r", &there, NULL);
        put_function(&bytes, "local", "Back", "a", "r", &back, NULL);
        struct conversion c = {.importer = ll_import_ONNX};
        add_file(&c, "functions.onnx", &bytes);
        convert(&c);
        assert_null(c.trace);
        if (!complained(&c, rows[i][2]))
            fail_msg("expected `%s`, got `%s`", rows[i][2], c.diags.kept[0].message);
        assert_int_equal(c.diags.count, i == 1 ? 1 : 2);
        end_conversion(&c);
        ll_str_release(&bytes);
    }
}

/* A node that reads x[2, 3, 4] and what only a run knows: its sizes are those that the file tells of its
 * result. The figures follow from the standard's definitions. */
static void sizes_that_only_a_run_knows_are_those_that_the_file_tells(void **state)
{
    static const struct {
        const char *type, *inputs;
        unsigned rank;
        int64_t told[4];
        enum ll_op_kind kind;
        uint64_t flops, written; /* of the op */
    } rows[] = {
        {"ReduceSum", "x s", 3, {2, 1, 4}, LL_OP_SUM, 24 - 8, 4 * 8},
        {"ReduceMax", "x s", 2, {2, 3}, LL_OP_MAX, 24 - 6, 4 * 6},
        {"Expand", "x s", 4, {5, 2, 3, 4}, LL_OP_EXPAND, 0, 4 * 120},
        {"Tile", "x s", 3, {2, 6, 4}, LL_OP_EXPAND, 0, 4 * 48},
        {"Pad", "x s", 3, {2, 3, 9}, LL_OP_PAD, 0, 4 * 54},
        {"Slice", "x s s", 3, {2, 2, 4}, LL_OP_SLICE, 0, 4 * 16},
        {"TopK", "x s", 3, {2, 3, 2}, LL_OP_TOP_K, 24 * 1, 8 * 12},
        {"OneHot", "i s v", 2, {7, 5}, LL_OP_ONE_HOT, 0, 4 * 35},
        {"Resize", "x - s", 3, {2, 3, 8}, LL_OP_RESIZE_NEAREST, 0, 4 * 48},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
        put_info(&m, 11, "s", ONNX_INT64, DIMS(1));
        put_info(&m, 11, "i", ONNX_INT64, DIMS(7));
        put_info(&m, 11, "v", ONNX_FLOAT, DIMS(2));
        put_info(&m, 12, "y", ONNX_FLOAT, rows[i].rank, rows[i].told);
        begin_node(&m, rows[i].type, rows[i].inputs, "y");
        struct conversion c = imported(&m, false);
        if (!c.trace)
            fail_msg("%s: %s", rows[i].type, c.diags.kept[0].message);
        const struct ll_op_view *op = op_of_kind(c.trace, rows[i].kind, 0);
        assert_non_null(op);
        assert_int_equal(ll_op_flops(op), rows[i].flops);
        assert_int_equal(ll_op_bytes_written(op), rows[i].written);
        end_conversion(&c);
    }
}

/* x[2, 3, 4], whose middle is summed where the user says so; elements are as many as the input has. */
static void the_user_gives_elements_of_inputs(void **state)
{
    static const struct {
        const char *axes, *words; /* NULL: it is imported */
    } rows[] = {
        {"1", NULL}, {"-2", NULL}, {"1,2", "expected the 1 elements"}, {"one", "expected the 1 elements"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
        put_info(&m, 11, "axes", ONNX_INT64, DIMS(1));
        begin_node(&m, "ReduceSum", "x axes", "y");
        node_int(&m, "keepdims", 0);
        begin_node(&m, "Relu", "y", "z");
        struct ll_str bytes = end_model(&m, 13);
        struct conversion c = {.importer = ll_import_ONNX};
        add_file(&c, "small.onnx", &bytes);
        choose_so(&c, "axes", rows[i].axes);
        convert(&c);
        assert_int_equal(c.trace != NULL, rows[i].words == NULL);
        if (c.trace)
            assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), 2 * 4);
        else
            assert_true(complained(&c, rows[i].words));
        end_conversion(&c);
        ll_str_release(&bytes);
    }
}

/* Of x[2, 3, 4] by the axes that are named: -1 and 2 more of the last, one less of the middle. */
static void paddings_are_of_the_axes_named_and_may_cut(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
    put_list(&m, "pads", DIMS(-1, 0, 2, -1));
    put_list(&m, "axes", DIMS(-1, 1));
    begin_node(&m, "Pad", "x pads - axes", "y");
    begin_node(&m, "Relu", "y", "z");
    struct conversion c = imported_as(&m, 18, false);
    assert_non_null(c.trace);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_RELU, 0)), 2 * 2 * 5);
    assert_int_equal(ll_op_bytes_written(op_of_kind(c.trace, LL_OP_SLICE, 0)), 4 * 2 * 2 * 4);
    end_conversion(&c);
}

/* Nothing is computed of it, but its outputs are there: a view of its input, a constant of three numbers. */
static void a_network_that_computes_nothing_hands_over_its_outputs(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
    put_info(&m, 12, "flat", ONNX_FLOAT, DIMS(2, 12));
    put_info(&m, 12, "dims", ONNX_INT64, DIMS(3));
    begin_node(&m, "Flatten", "x", "flat");
    begin_node(&m, "Shape", "x", "dims");
    struct conversion c = imported(&m, false);
    assert_non_null(c.trace);
    assert_int_equal(op_of_kind(c.trace, LL_OP_RESHAPE, 0)->out[0].dim[1], 12);
    assert_int_equal(ll_op_bytes_written(op_of_kind(c.trace, LL_OP_CONSTANT, 0)), 3 * 8);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_of_another_domain_is_not_the_standard_one),
        cmocka_unit_test(a_bias_times_zero_is_not_added),
        cmocka_unit_test(slopes_by_channel_are_one_op),
        cmocka_unit_test(a_transposed_convolution_is_as_large_as_told),
        cmocka_unit_test(a_norm_that_trains_looks_at_its_batch),
        cmocka_unit_test(a_dropout_that_trains_draws),
        cmocka_unit_test(who_reads_an_output_without_a_rule_is_refused),
        cmocka_unit_test(quantized_operators_work_on_bytes),
        cmocka_unit_test(small_operators_have_their_ops),
        cmocka_unit_test(norms_of_com_microsoft_are_read),
        cmocka_unit_test(a_function_stands_for_its_nodes),
        cmocka_unit_test(functions_that_lead_nowhere_are_refused),
        cmocka_unit_test(sizes_that_only_a_run_knows_are_those_that_the_file_tells),
        cmocka_unit_test(the_user_gives_elements_of_inputs),
        cmocka_unit_test(paddings_are_of_the_axes_named_and_may_cut),
        cmocka_unit_test(a_network_that_computes_nothing_hands_over_its_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
