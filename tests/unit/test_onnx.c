/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks written by hand, and what becomes of them. */
#include "check.h"
#include "onnx_model.h"

#include <dirent.h>

static struct conversion imported(struct onnx_model *m, int64_t version, const char *choices)
{
    struct ll_str bytes = end_model(m, version);
    struct conversion c = {.importer = ll_import_ONNX, .allow_opaque = strstr(choices, "opaque") != NULL};
    if (strstr(choices, "open=3"))
        choose_so(&c, "open", "3");
    if (strstr(choices, "batch=5"))
        choose_so(&c, "batch", "5");
    if (strstr(choices, "nobody=1"))
        choose_so(&c, "nobody", "1");
    add_file(&c, "dir/small.onnx", &bytes);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

static void assert_dims(const struct ll_shape *shape, unsigned rank, const int64_t *dims)
{
    assert_int_equal(shape->rank, rank);
    for (unsigned i = 0; i < rank; i++)
        assert_int_equal(shape->dim[i], dims[i]);
}

/* A convolution of 3x8x8 with 4 filters of 3x3: (8 + 2 - 3) / 2 + 1 = 4 windows each way. */
static void a_convolution_has_its_channels_last(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 8, 8));
    put_weight(&m, "w", DIMS(4, 3, 3, 3));
    put_weight(&m, "b", DIMS(4));
    begin_node(&m, "Conv", "x w b", "y");
    node_ints(&m, "strides", DIMS(2, 2));
    node_ints(&m, "pads", DIMS(1, 1, 1, 1));
    begin_node(&m, "Relu", "y", "z");
    struct conversion c = imported(&m, 13, "");
    assert_non_null(c.trace);
    const struct ll_op_view *conv = op_of_kind(c.trace, LL_OP_CONV2D, 0);
    assert_dims(&conv->in[0], DIMS(2, 8, 8, 3));
    assert_dims(&conv->in[1], DIMS(3, 3, 3, 4));
    assert_dims(&conv->out[0], DIMS(2, 4, 4, 4));
    assert_int_equal(ll_op_flops(conv), 2 * (2 * 4 * 4 * 4) * (3 * 3 * 3));
    assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(2, 4, 4, 4));
    assert_null(op_of_kind(c.trace, LL_OP_RESHAPE, 0));               /* an image stays as it is */
    assert_string_equal(ll_trace_fact(c.trace, "parameters"), "112"); /* 4 * 27 + 4 */
    assert_string_equal(ll_trace_fact(c.trace, "model"), "small");
    assert_string_equal(ll_trace_fact(c.trace, "batch"), "2");
    end_conversion(&c);
}

/* The windows of ONNX's formula, for random strides, paddings, dilations and kernels: an output of a dumb
 * twin that walks over the padded signal. */
static void windows_lie_as_onnx_says(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < 200; i++) {
        int64_t in = 5 + (int64_t)ll_random_below(&random, 20), k = 1 + (int64_t)ll_random_below(&random, 4);
        int64_t stride = 1 + (int64_t)ll_random_below(&random, 3),
                apart = 1 + (int64_t)ll_random_below(&random, 2);
        int64_t before = (int64_t)ll_random_below(&random, 3), after = (int64_t)ll_random_below(&random, 3);
        int64_t windows = 0;
        for (int64_t at = -before; at + (k - 1) * apart < in + after; at += stride)
            windows++;
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(1, 2, in));
        put_weight(&m, "w", DIMS(4, 2, k));
        begin_node(&m, "Conv", "x w", "y");
        node_ints(&m, "strides", DIMS(stride));
        node_ints(&m, "dilations", DIMS(apart));
        node_ints(&m, "pads", DIMS(before, after));
        struct conversion c = imported(&m, 13, "");
        if (windows == 0) {
            assert_null(c.trace);
        } else {
            assert_non_null(c.trace);
            assert_dims(&op_of_kind(c.trace, LL_OP_CONV2D, 0)->out[0], DIMS(1, 1, windows, 4));
        }
        end_conversion(&c);
    }
}

static void a_transposed_convolution_is_the_gradient_of_one(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(1, 8, 5, 5));
    put_weight(&m, "w", DIMS(8, 6, 4, 4));
    begin_node(&m, "ConvTranspose", "x w", "y");
    node_ints(&m, "strides", DIMS(2, 2));
    node_ints(&m, "pads", DIMS(1, 1, 1, 1));
    struct conversion c = imported(&m, 13, "");
    const struct ll_op_view *conv = op_of_kind(c.trace, LL_OP_CONV2D_DATA, 0);
    assert_dims(&conv->out[0], DIMS(1, 10, 10, 6)); /* 2 (5 - 1) + 4 - 2 */
    assert_int_equal(ll_op_flops(conv), 2 * 25 * 8 * 6 * 16);
    end_conversion(&c);
}

/* As exporters write `x.view(x.size(0), -1)`, and as they cut a tensor in two. */
static void arithmetic_about_sizes_is_done(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(-1, 4, 6));
    put_list(&m, "zero", DIMS(0));
    put_list(&m, "one", DIMS(1));
    put_list(&m, "two", DIMS(2));
    put_list(&m, "rest", DIMS(-1));
    begin_node(&m, "Shape", "x", "shape");
    begin_node(&m, "Gather", "shape zero", "batch");
    begin_node(&m, "Concat", "batch rest", "target");
    node_int(&m, "axis", 0);
    begin_node(&m, "Reshape", "x target", "flat");
    begin_node(&m, "Gather", "shape two", "width");
    begin_node(&m, "Div", "width two", "half");
    begin_node(&m, "Slice", "x zero half two", "left");
    begin_node(&m, "Relu", "flat", "y");
    begin_node(&m, "Relu", "left", "z");
    struct conversion c = imported(&m, 13, "open=3");
    assert_non_null(c.trace);
    assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(3, 24));
    assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 1)->out[0], DIMS(3, 4, 3));
    assert_null(op_of_kind(c.trace, LL_OP_GATHER, 0)); /* none of it is in an inference */
    end_conversion(&c);
}

/* Elements from, to, by, against a loop between bounds drawn in as the standard has it. */
static void slices_take_what_a_loop_takes(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 300; i++) {
        int64_t extent = 1 + (int64_t)ll_random_below(&random, 9);
        int64_t from = (int64_t)ll_random_below(&random, 25) - 12,
                to = (int64_t)ll_random_below(&random, 25) - 12;
        int64_t by = (int64_t)ll_random_below(&random, 7) - 3, taken = 0;
        by = by == 0 ? 1 : by;
        int64_t low = by > 0 ? 0 : -1, high = by > 0 ? extent : extent - 1;
        int64_t begin = from < 0 ? from + extent : from, end = to < 0 ? to + extent : to;
        begin = begin < 0 ? 0 : begin > high ? high : begin;
        end = end < low ? low : end > high ? high : end;
        for (int64_t at = begin; by > 0 ? at < end : at > end; at += by)
            taken++;
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, extent));
        put_list(&m, "from", DIMS(from));
        put_list(&m, "to", DIMS(to));
        put_list(&m, "axis", DIMS(1));
        put_list(&m, "by", DIMS(by));
        begin_node(&m, "Slice", "x from to axis by", "y");
        begin_node(&m, "Relu", "y", "z");
        struct conversion c = imported(&m, 13, "");
        assert_non_null(c.trace);
        assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(2, taken));
        end_conversion(&c);
    }
}

/* numpy.matmul: each matrix of the result takes 2 m n k; a library that is given the same operand for many
 * reads it once. */
static void products_of_stacks_broadcast(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "a", ONNX_FLOAT, DIMS(2, 3, 4, 5));
    put_info(&m, 11, "b", ONNX_FLOAT, DIMS(3, 5, 6));
    put_info(&m, 11, "one", ONNX_FLOAT, DIMS(8, 4));
    put_weight(&m, "w", DIMS(6, 7));
    begin_node(&m, "MatMul", "a b", "c");
    begin_node(&m, "MatMul", "c w", "d");
    begin_node(&m, "MatMul", "one d", "e");
    struct conversion c = imported(&m, 13, "");
    assert_non_null(c.trace);
    const struct ll_op_view *stacks = op_of_kind(c.trace, LL_OP_BATCH_MATMUL, 0);
    assert_int_equal(ll_op_flops(stacks), 2 * 6 * 4 * 6 * 5);
    assert_int_equal(ll_op_bytes_read(stacks), 4 * (2 * 3 * 4 * 5 + 3 * 5 * 6));
    assert_int_equal(ll_op_bytes_written(stacks), 4 * 2 * 3 * 4 * 6);
    const struct ll_op_view *columns = op_of_kind(c.trace, LL_OP_MATMUL, 1);
    assert_int_equal(ll_op_flops(columns), 2 * 6 * 8 * 7 * 4);
    assert_int_equal(ll_op_bytes_read(columns), 4 * (8 * 4 + 2 * 3 * 4 * 7));
    assert_null(op_of_kind(c.trace, LL_OP_EXPAND, 0));
    assert_dims(&op_of_kind(c.trace, LL_OP_MATMUL, 0)->out[0], DIMS(24, 7)); /* one matrix for all */
    end_conversion(&c);
}

static void an_equation_is_a_product(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "a", ONNX_FLOAT, DIMS(2, 3, 4));
    put_info(&m, 11, "b", ONNX_FLOAT, DIMS(2, 5, 4));
    begin_node(&m, "Einsum", "a b", "c");
    node_text(&m, "equation", "bmk, bnk -> bmn");
    struct conversion c = imported(&m, 13, "");
    assert_non_null(c.trace);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_BATCH_MATMUL, 0)), 2 * 2 * 3 * 5 * 4);
    end_conversion(&c);
}

/* Both directions of an LSTM: for each T B in 4H and T B H 4H products. Each direction's weights are
 * tensors of their own, and of its input the second dimension is the batch. */
static void both_directions_of_an_lstm_are_run(void **state)
{
    (void)state;
    enum { T = 6, B = 3, IN = 8, H = 5 };
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(T, B, IN));
    put_weight(&m, "w", DIMS(2, 4 * H, IN));
    put_weight(&m, "r", DIMS(2, 4 * H, H));
    put_weight(&m, "b", DIMS(2, 8 * H));
    begin_node(&m, "LSTM", "x w r b", "y h c");
    node_int(&m, "hidden_size", H);
    node_text(&m, "direction", "bidirectional");
    begin_node(&m, "Relu", "y", "z");
    struct conversion c = imported(&m, 14, "");
    assert_non_null(c.trace);
    double cells = 2.0 * T * B * H * 32; /* tests/cases/ops.case */
    double products = 2.0 * 2 * T * B * 4 * H * (IN + H);
    assert_near(class_flops(c.trace, LL_CLASS_MATRIX), products + cells, 0);
    assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(T, 2, B, H));
    assert_null(op_of_kind(c.trace, LL_OP_SLICE, 0));
    assert_string_equal(ll_trace_fact(c.trace, "batch"), "3");
    assert_string_equal(ll_trace_fact(c.trace, "parameters"), "600"); /* 2 (20 * 8 + 20 * 5 + 40) */
    uint64_t weights = 0;
    for (uint64_t i = 0; i < c.trace->tensor_count; i++)
        if (c.trace->tensors[i].producer == LL_NONE)
            weights += ll_elements(&c.trace->descs[c.trace->tensors[i].desc].shape);
    assert_int_equal(weights, 600);
    end_conversion(&c);
}

/* Tokens, steps first, whose rows of a table go to a GRU: --batch is their second dimension. */
static void the_batch_of_steps_is_behind_them(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_INT64, DIMS(7, 2));
        put_weight(&m, "table", DIMS(9, 8));
        put_weight(&m, "w", DIMS(1, 15, 8));
        put_weight(&m, "r", DIMS(1, 15, 5));
        begin_node(&m, "Gather", "table x", "rows");
        begin_node(&m, "GRU", "rows w r", "y");
        node_int(&m, "hidden_size", 5);
        node_int(&m, "layout", turned);
        struct conversion c = imported(&m, 14, "batch=5");
        assert_non_null(c.trace);
        assert_string_equal(ll_trace_fact(c.trace, "batch"), "5");
        assert_dims(&op_of_kind(c.trace, LL_OP_GATHER, 0)->out[0], DIMS(turned ? 5 * 2 : 7 * 5, 8));
        end_conversion(&c);
    }
}

static void what_weights_alone_make_is_no_op(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
    put_weight(&m, "w", DIMS(5, 4));
    put_weight(&m, "v", DIMS(5, 4));
    begin_node(&m, "Add", "w v", "sum");
    begin_node(&m, "Transpose", "sum", "turned");
    begin_node(&m, "MatMul", "x turned", "y");
    struct conversion c = imported(&m, 13, "");
    assert_non_null(c.trace);
    assert_null(op_of_kind(c.trace, LL_OP_ADD, 0));
    assert_null(op_of_kind(c.trace, LL_OP_TRANSPOSE, 0));
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_MATMUL, 0)), 2 * 3 * 4 * 5);
    end_conversion(&c);
}

/* x[6, 4] reshaped to what a file beside the model says, from its byte 8 on: [8, 3]. */
static struct conversion reshaped_by(const char *folder, const char *file, const char *offset)
{
    struct onnx_model m = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(6, 4));
    put_list_elsewhere(&m, "s", 2, file, offset);
    begin_node(&m, "Reshape", "x s", "y");
    begin_node(&m, "Relu", "y", "z");
    struct ll_str bytes = end_model(&m, 13);
    struct conversion c = {.importer = ll_import_ONNX};
    add_file(&c, path, &bytes);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

static void sizes_may_lie_in_a_file_beside_the_model(void **state)
{
    static const char *const refused[][2] = {{"none.bin", "8"},    {"../sizes.bin", "8"},
                                             {"/etc/passwd", "0"}, {"link.bin", "8"},
                                             {"sizes.bin", "9"},   {"sizes.bin", "-1"},
                                             {"..", "0"},          {"sizes.bin", "99999999999999999999999"}};
    const int64_t words[3] = {0, 8, 3};
    char folder[] = "/tmp/leadline-beside-XXXXXX", file[100], link[100];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/sizes.bin", folder);
    snprintf(link, sizeof link, "%s/link.bin", folder);
    FILE *out = fopen(file, "wb");
    assert_int_equal(fwrite(words, sizeof words, 1, out), 1);
    fclose(out);
    assert_int_equal(symlink("sizes.bin", link), 0);
    struct conversion c = reshaped_by(folder, "sizes.bin", "8");
    assert_non_null(c.trace);
    assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(8, 3));
    end_conversion(&c);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        c = reshaped_by(folder, refused[i][0], refused[i][1]);
        assert_null(c.trace);
        assert_true(complained(&c, "its elements cannot be read from"));
        end_conversion(&c);
    }
    unlink(file);
    unlink(link);
    rmdir(folder);
}

static void a_network_of_views_has_no_op(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(6, 4));
    begin_node(&m, "Flatten", "x", "y");
    struct conversion c = imported(&m, 13, "");
    assert_null(c.trace);
    assert_true(complained(&c, "there is no op in it"));
    end_conversion(&c);
}

static void a_branch_is_taken_where_its_condition_is_known(void **state)
{
    (void)state;
    struct onnx_model inner = {0}, m = {0};
    struct ll_str attr = {0};
    put_info(&inner, 12, "half", ONNX_FLOAT, DIMS(3));
    begin_node(&inner, "Sqrt", "x", "half");
    end_node(&inner);
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3));
    put_list(&m, "one", DIMS(1));
    begin_node(&m, "Equal", "one one", "always");
    begin_node(&m, "If", "always", "y");
    ll_wire_put_text(&attr, 1, "then_branch");
    ll_wire_put_bytes(&attr, 6, inner.graph.text, inner.graph.length);
    ll_wire_put_bytes(&m.node, 5, attr.text, attr.length);
    begin_node(&m, "Relu", "y", "z");
    struct conversion c = imported(&m, 13, "");
    assert_non_null(c.trace);
    assert_non_null(op_of_kind(c.trace, LL_OP_SQRT, 0));
    assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(3));
    end_conversion(&c);
    ll_str_release(&attr);
    ll_str_release(&inner.graph);
    ll_str_release(&inner.node);
}

/* Two branches, both of which name what they make as the node around them names its outputs, would each be
 * the base of the other. */
static void a_branch_that_makes_the_outputs_around_it_is_refused(void **state)
{
    (void)state;
    struct onnx_model inner = {0}, m = {0};
    struct ll_str attr = {0};
    put_info(&inner, 12, "b", ONNX_FLOAT, DIMS(2, 3));
    put_info(&inner, 12, "a", ONNX_FLOAT, DIMS(2, 3));
    begin_node(&inner, "Relu", "x", "y");
    begin_node(&inner, "Sqrt", "x", "z");
    begin_node(&inner, "Flatten", "y", "a");
    begin_node(&inner, "Flatten", "z", "b");
    end_node(&inner);
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3));
    put_list(&m, "one", DIMS(1));
    begin_node(&m, "Equal", "one one", "always");
    begin_node(&m, "If", "always", "y z");
    ll_wire_put_text(&attr, 1, "then_branch");
    ll_wire_put_bytes(&attr, 6, inner.graph.text, inner.graph.length);
    ll_wire_put_bytes(&m.node, 5, attr.text, attr.length);
    begin_node(&m, "Relu", "y", "u");
    struct conversion c = imported(&m, 13, "");
    assert_null(c.trace);
    assert_true(complained(&c, "If `y z`: its output 0 is there already"));
    end_conversion(&c);
    ll_str_release(&attr);
    ll_str_release(&inner.graph);
    ll_str_release(&inner.node);
}

static void all_unknown_operators_are_named_at_once(void **state)
{
    (void)state;
    for (int opaque = 0; opaque < 2; opaque++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
        put_info(&m, 12, "z", ONNX_FLOAT, DIMS(3, 7));
        begin_node(&m, "Frobnicate", "x", "y");
        begin_node(&m, "Transmogrify", "y", "z");
        begin_node(&m, "Frobnicate", "z", "u");
        struct conversion c = imported(&m, 13, opaque ? "opaque" : "");
        if (opaque) {
            assert_non_null(c.trace);
            assert_dims(&op_of_kind(c.trace, LL_OP_FOREIGN, 1)->out[0], DIMS(3, 7)); /* as the file says */
        } else {
            assert_null(c.trace);
            assert_int_equal(c.diags.count, 2);
            assert_true(complained(&c, "`Frobnicate` has no rule here; 2 of them, the first is `y`"));
            assert_true(complained(&c, "`Transmogrify`"));
        }
        end_conversion(&c);
    }
}

static void open_dimensions_and_stray_choices_are_asked_about(void **state)
{
    (void)state;
    static const struct {
        const char *choices, *words;
    } tries[] = {
        {"", "say -p open=SIZE, or --batch N"},
        {"open=3 nobody=1",
         "-p nobody=1: there is no such parameter of this format, or nothing of that name that the file "
         "leaves open"},
        {"open=3", NULL},
        {"batch=5", NULL}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(-1, 4));
        begin_node(&m, "Relu", "x", "y");
        struct conversion c = imported(&m, 13, tries[i].choices);
        assert_int_equal(c.trace == NULL, tries[i].words != NULL);
        if (tries[i].words)
            assert_true(complained(&c, tries[i].words));
        end_conversion(&c);
    }
}

static void a_batch_replaces_the_one_of_the_file(void **state)
{
    (void)state;
    for (int64_t fixed = 0; fixed < 2; fixed++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4));
        put_list(&m, "flat", DIMS(fixed ? 2 : -1, 12));
        begin_node(&m, "Reshape", "x flat", "y");
        begin_node(&m, "Relu", "y", "z");
        struct conversion c = imported(&m, 13, "batch=5");
        assert_int_equal(c.trace == NULL, fixed);
        if (fixed)
            assert_true(complained(&c, "Reshape `y`: the new shape has another number of elements"));
        else
            assert_dims(&op_of_kind(c.trace, LL_OP_RELU, 0)->out[0], DIMS(5, 12));
        end_conversion(&c);
    }
}

static void what_is_wrong_is_named_once_where_it_is(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
    put_weight(&m, "w", DIMS(5, 6));
    begin_node(&m, "MatMul", "x w", "y");
    begin_node(&m, "Relu", "y", "z");
    begin_node(&m, "Relu", "nowhere", "u");
    struct conversion c = imported(&m, 13, "");
    assert_null(c.trace);
    assert_int_equal(c.diags.count, 2);
    assert_true(complained(&c, "MatMul `y`: the columns of the left matrix"));
    assert_true(complained(&c, "Relu `u`: nothing before it makes its input 0"));
    end_conversion(&c);
}

static void an_import_that_fails_leaves_an_older_trace_alone(void **state)
{
    (void)state;
    char path[] = "/tmp/leadline-onnx-XXXXXX", kept[8] = "";
    FILE *file = fdopen(mkstemp(path), "w+");
    fputs("older", file);
    fclose(file);
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
    put_weight(&m, "w", DIMS(5, 6));
    begin_node(&m, "MatMul", "x w", "y"); /* does not fit, which shows only when the trace is open */
    struct ll_str bytes = end_model(&m, 13);
    const struct ll_input_file input = {
        .path = "x.onnx", .bytes = (const uint8_t *)bytes.text, .size = bytes.length};
    struct ll_diags diags = {0};
    struct ll_import import = {.inputs = &input, .input_count = 1, .output = path, .diags = &diags};
    assert_false(ll_import_run(ll_import_ONNX, &import));
    file = fopen(path, "r");
    assert_non_null(fgets(kept, sizeof kept, file));
    fclose(file);
    assert_string_equal(kept, "older");
    unlink(path);
    ll_diags_release(&diags);
    ll_str_release(&bytes);
}

/* A reduction of what is called as exporters call weights, then a convolution by such a one; of the second
 * file the filter, which goes through a transpose, is a weight, and the third's, which a Relu reads, too, is
 * not. Where the user says what is what, that counts. */
static void what_an_input_is_no_name_decides(void **state)
{
    static const struct {
        const char *key, *value, *refused;
        bool transposed, elsewhere;
        uint64_t parameters, inputs;
    } rows[] = {
        {NULL, NULL, NULL, false, false, 4 * 3 * 3 * 3, 2},
        {NULL, NULL, NULL, true, false, 4 * 3 * 3 * 3, 2},
        {NULL, NULL, NULL, true, true, 0, 3},
        {"weights", "onnx::Bias_0", NULL, false, false, 3, 2},
        {"inputs", "x.weight,onnx::Bias_0,w", NULL, false, false, 0, 3},
        {"inputs", "x.weight,none", "there is no input `none` that the file leaves open", false, false, 0, 0},
        {"weights", "x.weigh", "there is no input `x.weigh` that the file leaves open", false, false, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x.weight", ONNX_FLOAT, DIMS(2, 3, 8, 8));
        put_info(&m, 11, "onnx::Bias_0", ONNX_FLOAT, DIMS(3, 1, 1));
        put_info(&m, 11, "w", ONNX_FLOAT, DIMS(4, 3, 3, 3));
        begin_node(&m, "Mul", "x.weight onnx::Bias_0", "scaled");
        if (rows[i].transposed) {
            begin_node(&m, "Transpose", "w", "turned");
            node_ints(&m, "perm", DIMS(0, 1, 3, 2));
        }
        begin_node(&m, "Conv", rows[i].transposed ? "scaled turned" : "scaled w", "y");
        if (rows[i].elsewhere)
            begin_node(&m, "Relu", "w", "r");
        struct ll_str bytes = end_model(&m, 13);
        struct conversion c = {.importer = ll_import_ONNX};
        if (rows[i].key)
            choose_so(&c, rows[i].key, rows[i].value);
        add_file(&c, "inputs.onnx", &bytes);
        convert(&c);
        ll_str_release(&bytes);
        if (rows[i].refused) {
            assert_null(c.trace);
            assert_true(complained(&c, rows[i].refused));
        } else {
            assert_non_null(c.trace);
            assert_int_equal(strtoull(ll_trace_fact(c.trace, "parameters"), NULL, 10), rows[i].parameters);
            assert_non_null(op_of_kind(c.trace, LL_OP_MUL, 0));
            assert_true(!rows[i].elsewhere || op_of_kind(c.trace, LL_OP_RELU, 0));
            assert_non_null(op_of_kind(c.trace, LL_OP_HOST_INPUT, (unsigned)rows[i].inputs - 1));
            assert_null(op_of_kind(c.trace, LL_OP_HOST_INPUT, (unsigned)rows[i].inputs));
            assert_int_equal(complained(&c, "the file has no initializers"), rows[i].key == NULL);
        }
        end_conversion(&c);
    }
}

/* Files beside the checkout, exported by PyTorch without weights. Their products by hand: GMAC as torchvision
 * states them, times two; the encoder 4 d^2 + 2 d ff a token and 2 d a pair of tokens; the LSTM as above. */
static void real_networks_have_their_products(void **state)
{
    (void)state;
    static const struct {
        const char *path, *inputs; /* what is data, where places do not tell it */
        double products, parameters;
    } files[] = {
        {"../shared/validation/onnx/resnet50_noweights.onnx", NULL, 2 * 4.089e9, 25557032},
        {"../shared/validation/onnx/mobilenet_v2_noweights.onnx", NULL, 0.601549e9, 3504872},
        {"../shared/validation/onnx/encoder_layer_noweights.onnx", "input", 3.355443e9, 3152384},
        {"../shared/validation/onnx/lstm_noweights.onnx", NULL, 2.0 * 320 * 2048 * (256 + 512 + 512 + 512),
         3678208},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct ll_arena arena = {0};
        struct conversion c = {.importer = ll_import_ONNX, .file_count = 1};
        if (ll_input_open(files[i].path, &arena, &c.files[0]) != LL_OK) {
            print_message("%s is not here: skipped\n", files[i].path);
            continue;
        }
        if (files[i].inputs)
            choose_so(&c, "inputs", files[i].inputs);
        convert(&c);
        assert_non_null(c.trace);
        double products = class_flops(c.trace, LL_CLASS_CONV) + class_flops(c.trace, LL_CLASS_MATRIX);
        assert_near(products, files[i].products, 0.01);
        assert_near(strtod(ll_trace_fact(c.trace, "parameters"), NULL), files[i].parameters, 0.01);
        end_conversion(&c);
        ll_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_has_its_channels_last),
        cmocka_unit_test(windows_lie_as_onnx_says),
        cmocka_unit_test(a_transposed_convolution_is_the_gradient_of_one),
        cmocka_unit_test(arithmetic_about_sizes_is_done),
        cmocka_unit_test(slices_take_what_a_loop_takes),
        cmocka_unit_test(products_of_stacks_broadcast),
        cmocka_unit_test(an_equation_is_a_product),
        cmocka_unit_test(both_directions_of_an_lstm_are_run),
        cmocka_unit_test(the_batch_of_steps_is_behind_them),
        cmocka_unit_test(what_weights_alone_make_is_no_op),
        cmocka_unit_test(sizes_may_lie_in_a_file_beside_the_model),
        cmocka_unit_test(a_network_of_views_has_no_op),
        cmocka_unit_test(a_branch_is_taken_where_its_condition_is_known),
        cmocka_unit_test(a_branch_that_makes_the_outputs_around_it_is_refused),
        cmocka_unit_test(all_unknown_operators_are_named_at_once),
        cmocka_unit_test(open_dimensions_and_stray_choices_are_asked_about),
        cmocka_unit_test(a_batch_replaces_the_one_of_the_file),
        cmocka_unit_test(what_is_wrong_is_named_once_where_it_is),
        cmocka_unit_test(an_import_that_fails_leaves_an_older_trace_alone),
        cmocka_unit_test(what_an_input_is_no_name_decides),
        cmocka_unit_test(real_networks_have_their_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
