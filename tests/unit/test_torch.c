/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's execution graphs and profiler traces.
 *
 * tests/peers/resnet18_train.execgraph.json.zst is five training iterations of torchvision's ResNet-18, two
 * images each, as PyTorch 1.13 wrote them. What is known of it from outside: 11,689,512 parameters (He et
 * al., 2016, table 1, counted), and 21.296824 GFLOP an iteration in convolutions and products, which were
 * captured at the calls of oneDNN and BLAS and agree with the analytic count (the images' gradient is not
 * computed). */
#include "check.h"
#include "convert.h"

#include "tracer/base/json.h"
#include "tracer/ir/profile.h"

static struct conversion read_peer(void)
{
    static struct ll_arena arena;
    struct conversion c = {.importer = ll_import_TORCH_GRAPH, .file_count = 1};
    assert_int_equal(ll_input_open("tests/peers/resnet18_train.execgraph.json.zst", &arena, &c.files[0]),
                     LL_OK);
    convert(&c);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    return c;
}

static void a_real_run_has_its_flops_and_parameters(void **state)
{
    (void)state;
    struct conversion c = read_peer();
    struct ll_arena arena = {0};
    double flops = class_flops(c.trace, LL_CLASS_MATRIX) + class_flops(c.trace, LL_CLASS_CONV);
    assert_int_equal(c.trace->step_count, 5);
    assert_near(flops / 5, 21.296824e9, 1e-7);
    assert_int_equal(ll_profile(c.trace, &arena)->parameters, 11689512);
    assert_string_equal(ll_trace_fact(c.trace, "mode"), "train");
    assert_string_equal(ll_trace_fact(c.trace, "batch"), "2");
    ll_arena_release(&arena);
    end_conversion(&c);
}

/* Modules of others' bug reports: grouped and transposed convolutions, attention, an encoder, forward and, of
 * some, backwards. tests/peers/flops/flops.csv has FLOPs that were counted by hand. */
static void products_are_as_many_as_counted_by_hand(void **state)
{
    (void)state;
    FILE *list = fopen("tests/peers/flops/flops.csv", "r");
    char line[256], name[64], path[128];
    unsigned long long flops;
    unsigned count = 0;
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        if (sscanf(line, "%63[^,#],%llu", name, &flops) != 2)
            continue;
        snprintf(path, sizeof path, "tests/peers/flops/%s.json.gz", name);
        struct conversion c = import_whole_file(ll_import_TORCH_GRAPH, path);
        assert_int_equal(class_flops(c.trace, LL_CLASS_MATRIX) + class_flops(c.trace, LL_CLASS_CONV), flops);
        end_conversion(&c);
        count++;
    }
    fclose(list);
    assert_int_equal(count, 15);
}

/* x[:, numbers] has an undefined tensor in its list: nothing is picked along the first dimension. */
static void an_undefined_tensor_in_a_list_is_none(void **state)
{
    (void)state;
    struct conversion c = import_choosing(
        ll_import_TORCH_GRAPH,
        "{\"nodes\": [{\"name\": \"aten::index\", \"id\": 2, \"ctrl_deps\": 1, \"inputs\": {\"values\": "
        "[[5, 6, 0, 512, 4, \"cpu\"], [[7, 0, 0, 0, 0, \"\"], [8, 9, 0, 5, 8, \"cpu\"]]], \"shapes\": [[8, "
        "64], "
        "[[], [5]]], \"types\": [\"Tensor(float)\", \"GenericList[Tensor(nullptr "
        "(uninitialized)),Tensor(long "
        "int)]\"]}, \"outputs\": {\"values\": [[10, 11, 0, 40, 4, \"cpu\"]], \"shapes\": [[8, 5]], "
        "\"types\": "
        "[\"Tensor(float)\"]}, \"attrs\": []}]}",
        NULL, NULL);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    assert_int_equal(ll_elements(&op_of_kind(c.trace, LL_OP_GATHER, 0)->out[0]), 40);
    end_conversion(&c);
}

/* All that the iterations compute follows from weights, gradients' memory, averages, counters and images. */
static void every_input_has_a_producer_or_was_there_before(void **state)
{
    (void)state;
    struct conversion c = read_peer();
    const struct ll_trace *trace = c.trace;
    uint64_t brought[LL_MEMORY_COUNT] = {0};
    for (uint64_t i = 0; i < trace->tensor_count; i++)
        if (trace->tensors[i].producer == LL_NONE)
            brought[trace->descs[trace->tensors[i].desc].memory] +=
                ll_elements(&trace->descs[trace->tensors[i].desc].shape);
    assert_int_equal(brought[LL_WEIGHT], 11689512);
    assert_int_equal(brought[LL_GRADIENT], 11689512);
    assert_int_equal(brought[LL_ACTIVATION], 0);
    assert_int_equal(brought[LL_OPTIMIZER],
                     2 * 4800); /* two averages for each channel of 20 normalisations */
    /* Two images, which all iterations share, a counter for each normalisation, and numbers: ones, a divisor.
     */
    assert_in_range(brought[LL_INPUT], 2 * 3 * 224 * 224 + 20, 2 * 3 * 224 * 224 + 20 + 5 * 20 + 10);
    end_conversion(&c);
}

/* From the last weight's gradient back to the first convolution, op by op. */
static void gradients_depend_on_the_forward_pass(void **state)
{
    (void)state;
    struct conversion c = read_peer();
    struct ll_arena arena = {0};
    const struct ll_trace *trace = c.trace;
    const struct ll_deps *deps = ll_trace_deps(trace, &arena);
    bool *reached = calloc(trace->op_count, sizeof *reached);
    uint32_t first_conv = LL_NONE, last = trace->steps[0].op_count - 1, forward = 0;
    reached[last] = true;
    for (uint32_t op = last + 1; op-- > 0;) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        if (signature->view.kind == LL_OP_CONV2D)
            first_conv = op;
        for (uint64_t d = deps->first[op]; reached[op] && d < deps->first[op + 1]; d++)
            reached[deps->ops[d]] = true;
        forward += reached[op] && signature->view.kind == LL_OP_CONV2D;
    }
    assert_true(reached[first_conv]);
    assert_int_equal(forward, 20);
    free(reached);
    ll_arena_release(&arena);
    end_conversion(&c);
}

static struct conversion import_text(ll_importer *importer, const char *text, bool allow_opaque)
{
    struct ll_str bytes = {0};
    struct conversion c = {.importer = importer, .allow_opaque = allow_opaque};
    ll_str_add(&bytes, text);
    add_file(&c, "a.json", &bytes);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

/* x[2,3] w[4,3]^T + b, then a ReLU over it, as 1.13 and as 2.x write it. */
#define NODES_1                                                                                              \
    "{\"schema\": \"1.0.1\", \"nodes\": ["                                                                   \
    "{\"name\": \"aten::t\", \"id\": 9, \"parent\": 5, \"seq_id\": 1, \"scope\": 0, \"tid\": 1, "            \
    "\"inputs\": "                                                                                           \
    "[[2,12,0,12,4,\"cpu\"]], \"input_shapes\": [[4,3]], \"input_types\": [\"Tensor(float)\"], "             \
    "\"outputs\": "                                                                                          \
    "[[8,12,0,12,4,\"cpu\"]], \"output_shapes\": [[3,4]], \"output_types\": [\"Tensor(float)\"]},"           \
    "{\"name\": \"aten::addmm\", \"id\": 10, \"parent\": 5, \"seq_id\": 2, \"scope\": 0, \"tid\": 1, "       \
    "\"inputs\": "                                                                                           \
    "[[3,13,0,4,4,\"cpu\"],[1,11,0,6,4,\"cpu\"],[8,12,0,12,4,\"cpu\"],1,1], \"input_shapes\": "              \
    "[[4],[2,3],[3,4],[],[]], \"input_types\": "                                                             \
    "[\"Tensor(float)\",\"Tensor(float)\",\"Tensor(float)\",\"Int\",\"Int\"], \"outputs\": "                 \
    "[[4,14,0,8,4,\"cpu\"]], \"output_shapes\": [[2,4]], \"output_types\": [\"Tensor(float)\"]},"
#define NODES_2                                                                                              \
    "{\"name\": \"aten::linear\", \"id\": 5, \"parent\": 1, \"seq_id\": 1, \"scope\": 0, \"tid\": 1, "       \
    "\"inputs\": [], "                                                                                       \
    "\"input_shapes\": [], \"input_types\": [], \"outputs\": [], \"output_shapes\": [], \"output_types\": "  \
    "[]},"
#define RELU_OF_1                                                                                            \
    "{\"name\": \"aten::relu_\", \"id\": 20, \"parent\": 1, \"seq_id\": 3, \"scope\": 0, \"tid\": 1, "       \
    "\"inputs\": "                                                                                           \
    "[[4,14,0,8,4,\"cpu\"]], \"input_shapes\": [[2,4]], \"input_types\": [\"Tensor(float)\"], \"outputs\": " \
    "[[4,14,0,8,4,\"cpu\"]], \"output_shapes\": [[2,4]], \"output_types\": [\"Tensor(float)\"]}]}"
#define RELU_OF_2                                                                                            \
    "{\"id\": 20, \"name\": \"aten::relu_\", \"ctrl_deps\": 1, \"inputs\": {\"values\": "                    \
    "[[4,14,0,8,4,\"cpu\"]], \"shapes\": [[2,4]], \"types\": [\"Tensor(float)\"], \"strides\": [[4,1]]}, "   \
    "\"outputs\": {\"values\": [[4,14,0,8,4,\"cpu\"]], \"shapes\": [[2,4]], \"types\": "                     \
    "[\"Tensor(float)\"]}, "                                                                                 \
    "\"attrs\": [{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": 3}, {\"name\": \"tid\", \"type\": "  \
    "\"uint64\", "                                                                                           \
    "\"value\": 1}]}]}"

static void check_linear(const struct ll_trace *trace)
{
    static const enum ll_op_kind kinds[] = {LL_OP_MATMUL, LL_OP_BIAS_ADD, LL_OP_RELU};
    assert_non_null(trace);
    assert_int_equal(trace->op_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(trace->signatures[trace->ops[i].signature].view.kind, kinds[i]);
    assert_int_equal(trace->signatures[trace->ops[0].signature].flops, 2 * 2 * 3 * 4);
    assert_int_equal(trace->descs[trace->tensors[ll_op_input(trace, 0, 1)].desc].memory, LL_WEIGHT);
    /* The ReLU overwrites what it reads. */
    assert_int_equal(trace->tensors[ll_op_output(trace, 2, 0)].storage,
                     trace->tensors[ll_op_input(trace, 2, 0)].storage);
}

static void both_schemas_say_the_same(void **state)
{
    (void)state;
    struct conversion old = import_text(ll_import_TORCH_GRAPH, NODES_1 NODES_2 RELU_OF_1, false);
    struct conversion new = import_text(ll_import_TORCH_GRAPH, NODES_1 NODES_2 RELU_OF_2, false);
    check_linear(old.trace);
    check_linear(new.trace);
    end_conversion(&old);
    end_conversion(&new);
}

static void expect_refusal(ll_importer *importer, const char *text, const char *words)
{
    struct conversion c = import_text(importer, text, false);
    assert_null(c.trace);
    if (!complained(&c, words))
        fail_msg("expected `%s`, got `%s`", words, c.diags.kept[0].message);
    end_conversion(&c);
}

/* beta c + alpha a b, where c is a single number for all of a[3,4] b[4,5]. */
static void what_is_added_to_a_product_may_repeat(void **state)
{
    static const char text[] =
        "{\"nodes\": [{\"name\": \"aten::addmm\", \"id\": 2, \"parent\": 1, \"inputs\": "
        "[[3,13,0,1,4,\"cpu\"],[1,11,0,12,4,\"cpu\"],[2,12,0,20,4,\"cpu\"],1,1], \"input_shapes\": "
        "[[1],[3,4],[4,5],[],[]], \"input_types\": "
        "[\"Tensor(float)\",\"Tensor(float)\",\"Tensor(float)\",\"Int\",\"Int\"], \"outputs\": "
        "[[4,14,0,15,4,\"cpu\"]], \"output_shapes\": [[3,5]], \"output_types\": [\"Tensor(float)\"]}]}";
    (void)state;
    struct conversion c = import_text(ll_import_TORCH_GRAPH, text, false);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 2);
    assert_int_equal(c.trace->signatures[c.trace->ops[1].signature].view.kind, LL_OP_ADD);
    assert_int_equal(c.trace->signatures[c.trace->ops[1].signature].flops, 3 * 5);
    end_conversion(&c);
}

/* What a detector joins of images without boxes; then a ReLU of it. */
static void joining_nothing_with_nothing_is_no_op(void **state)
{
    static const char text[] =
        "{\"nodes\": [{\"name\": \"aten::cat\", \"id\": 2, \"parent\": 1, \"inputs\": "
        "[[[1,11,0,0,4,\"cpu\"],[2,12,0,0,4,\"cpu\"]],0], \"input_shapes\": [[[0,4],[0,4]],[]], "
        "\"input_types\": [\"GenericList[Tensor(float),Tensor(float)]\",\"Int\"], \"outputs\": "
        "[[3,13,0,0,4,\"cpu\"]], \"output_shapes\": [[0,4]], \"output_types\": [\"Tensor(float)\"]},"
        "{\"name\": \"aten::relu\", \"id\": 4, \"parent\": 1, \"inputs\": [[3,13,0,0,4,\"cpu\"]], "
        "\"input_shapes\": [[0,4]], \"input_types\": [\"Tensor(float)\"], \"outputs\": "
        "[[5,15,0,0,4,\"cpu\"]], \"output_shapes\": [[0,4]], \"output_types\": [\"Tensor(float)\"]}]}";
    (void)state;
    struct conversion c = import_text(ll_import_TORCH_GRAPH, text, false);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 1);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].view.kind, LL_OP_RELU);
    end_conversion(&c);
}

static void unknown_operators_are_named_or_kept(void **state)
{
    static const char text[] =
        "{\"nodes\": [{\"name\": \"mine::op\", \"id\": 2, \"parent\": 1, \"inputs\": [[4,14,0,8,4,\"cpu\"]], "
        "\"input_shapes\": [[2,4]], \"input_types\": [\"Tensor(float)\"], \"outputs\": "
        "[[5,15,0,2,4,\"cpu\"]], "
        "\"output_shapes\": [[2]], \"output_types\": [\"Tensor(float)\"]}]}";
    (void)state;
    expect_refusal(ll_import_TORCH_GRAPH, text, "mine::op: nobody knows this operator");
    struct conversion c = import_text(ll_import_TORCH_GRAPH, text, true);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->signatures[0].view.kind, LL_OP_FOREIGN);
    assert_string_equal(c.trace->strings[c.trace->signatures[0].scope], "mine::op");
    assert_int_equal(c.trace->signatures[0].bytes_read, 32);
    end_conversion(&c);
}

/* A node of an execution graph: number, whose call it is, what goes in and what comes out, storage and
 * shape. */
#define NODE(name, id, parent, in_storage, in_shape, out_storage, out_shape)                                 \
    "{\"name\": \"" name "\", \"id\": " #id ", \"parent\": " #parent ", \"inputs\": [[" #id "1," #in_storage \
    ",0,0,4,\"cpu\"]], \"input_shapes\": [" in_shape                                                         \
    "], \"input_types\": [\"Tensor(float)\"], \"outputs\": "                                                 \
    "[[" #id "2," #out_storage ",0,0,4,\"cpu\"]], \"output_shapes\": [" out_shape                            \
    "], \"output_types\": [\"Tensor(float)\"]}"
#define GRAPH(nodes) "{\"nodes\": [" nodes "]}"

/* Views, copies and what fills memory are no reason to pass over who called them, nor is what computes
 * something else; what writes the result is. */
static void what_an_operator_calls_must_be_all_that_it_does(void **state)
{
    static const char *const lost[] = {GRAPH(NODE("mine::pick", 2, 1, 11, "[8,4]", 12, "[3,4]") "," NODE(
                                           "aten::as_strided", 3, 2, 11, "[8,4]", 11, "[2,4]")),
                                       GRAPH(NODE("mine::pick", 2, 1, 11, "[8,4]", 12, "[8,4]") "," NODE(
                                           "aten::clone", 3, 2, 11, "[8,4]", 12, "[8,4]")),
                                       GRAPH(NODE("mine::pick", 2, 1, 11, "[8,4]", 12, "[3,4]") "," NODE(
                                           "aten::exp", 3, 2, 11, "[8,4]", 13, "[8,4]"))};
    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        expect_refusal(ll_import_TORCH_GRAPH, lost[i], "mine::pick: nobody knows this operator");
    struct conversion kept = import_text(ll_import_TORCH_GRAPH, lost[2], true);
    assert_int_equal(kept.trace->op_count, 1);
    assert_int_equal(kept.trace->signatures[0].view.kind, LL_OP_FOREIGN);
    struct conversion c = import_text(ll_import_TORCH_GRAPH,
                                      GRAPH(NODE("mine::pick", 2, 1, 11, "[8,4]", 12, "[4,8]") "," NODE(
                                          "aten::exp", 3, 2, 11, "[8,4]", 13,
                                          "[8,4]") "," NODE("aten::exp", 4, 2, 13, "[8,4]", 12, "[8,4]")),
                                      false);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 2);
    end_conversion(&kept);
    end_conversion(&c);
    expect_refusal(
        ll_import_TORCH_PROFILE,
        "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"mine::pick\", \"tid\": 7, \"ts\": 10, "
        "\"dur\": 9, \"args\": {\"Input Dims\": [[8, 4]], \"Input type\": [\"float\"]}},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::as_strided\", \"tid\": 7, \"ts\": 11, "
        "\"dur\": 1, \"args\": {\"Input Dims\": [[8, 4]], \"Input type\": [\"float\"]}}]",
        "mine::pick: nobody knows this operator");
}

/* A convolution of volumes, and the view that it has its filter as. */
static void the_trouble_of_an_operator_is_told_though_it_calls_views(void **state)
{
    static const char text[] =
        "{\"nodes\": [{\"name\": \"aten::convolution\", \"id\": 2, \"parent\": 1, \"inputs\": "
        "[[3,13,0,1536,4,\"cpu\"],[4,14,0,324,4,\"cpu\"]], \"input_shapes\": [[1,3,8,8,8],[4,3,3,3,3]], "
        "\"input_types\": [\"Tensor(float)\",\"Tensor(float)\"], \"outputs\": [[5,15,0,864,4,\"cpu\"]], "
        "\"output_shapes\": [[1,4,6,6,6]], \"output_types\": [\"Tensor(float)\"]}," NODE(
            "aten::view", 6, 2, 14, "[4,3,3,3,3]", 14, "[4,81]") "]}";
    (void)state;
    expect_refusal(ll_import_TORCH_GRAPH, text,
                   "aten::convolution: an image of other than one or two dimensions");
}

/* The mean of what the operator itself has written, as losses take it. */
static void an_operator_whose_memory_is_read_unwritten_is_refused(void **state)
{
    (void)state;
    expect_refusal(ll_import_TORCH_GRAPH,
                   GRAPH(NODE("mine::loss", 2, 1, 11, "[8,4]", 12,
                              "[]") "," NODE("aten::empty", 3, 2, 0, "[8,4]", 13,
                                             "[8,4]") "," NODE("aten::mean", 4, 2, 13, "[8,4]", 12, "[]")),
                   "mine::loss: nobody knows this operator");
}

/* exp_ has no row; exp has one. */
static void what_changes_its_argument_is_what_does_not_in_place(void **state)
{
    (void)state;
    struct conversion c =
        import_text(ll_import_TORCH_GRAPH, GRAPH(NODE("aten::exp_", 2, 1, 11, "[8,4]", 11, "[8,4]")), false);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 1);
    assert_int_equal(c.trace->signatures[0].view.kind, LL_OP_EXP);
    assert_int_equal(c.trace->tensors[ll_op_output(c.trace, 0, 0)].storage,
                     c.trace->tensors[ll_op_input(c.trace, 0, 0)].storage);
    end_conversion(&c);
}

/* Two rows of x[8,4] by number; their first elements put to where y[2,1] says, in place; the three largest of
 * each; x in order; twice as high and wide. */
#define TENSOR(id, storage) "[" #id "," #storage ",0,0,4,\"cpu\"]"
#define CALL(name, id, inputs, shapes, types, storage, shape)                                                \
    "{\"name\": \"" name "\", \"id\": " #id ", \"parent\": 1, \"inputs\": [" inputs                          \
    "], \"input_shapes\": [" shapes "], \"input_types\": [" types                                            \
    "], \"outputs\": [" TENSOR(id##2, storage) "], \"output_shapes\": [" shape                               \
                                               "], \"output_types\": [\"Tensor(float)\"]}"

static void elements_are_picked_put_ordered_and_resized(void **state)
{
    static const char text[] = GRAPH(CALL(
        "aten::index", 2, TENSOR(3, 11) ",[" TENSOR(4, 12) "]", "[8,4],[[2]]",
        "\"Tensor(float)\",\"GenericList[Tensor(long int)]\"", 13,
        "[2,4]") "," CALL("aten::scatter_", 5, TENSOR(6, 13) ",1," TENSOR(7, 14) ",1.5", "[2,4],[],[2,1],[]",
                          "\"Tensor(float)\",\"Int\",\"Tensor(long int)\",\"Double\"", 13,
                          "[2,4]") "," CALL("aten::topk", 8, TENSOR(9, 13) ",3,-1,1,1", "[2,4],[],[],[],[]",
                                            "\"Tensor(float)\",\"Int\",\"Int\",\"Bool\",\"Bool\"", 15,
                                            "[2,3]") "," CALL("aten::sort", 20, TENSOR(21, 11) ",0,0,1",
                                                              "[8,4],[],[],[]",
                                                              "\"Tensor(float)\",\"Bool\",\"Int\",\"Bool\"",
                                                              16,
                                                              "[8,4]") "," CALL("aten::upsample_nearest2d",
                                                                                30, TENSOR(31, 17) ",[4,6]",
                                                                                "[1,5,2,3],[[],[]]",
                                                                                "\"Tensor(float)\","
                                                                                "\"GenericList[Int,Int]\"",
                                                                                18, "[1,5,4,6]"));
    (void)state;
    struct conversion c = import_text(ll_import_TORCH_GRAPH, text, false);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    uint64_t scattered = 0;
    while (c.trace->signatures[c.trace->ops[scattered].signature].view.kind != LL_OP_SCATTER)
        scattered++;
    const struct ll_op_signature *scatter = &c.trace->signatures[c.trace->ops[scattered].signature];
    assert_int_equal(ll_elements(&op_of_kind(c.trace, LL_OP_GATHER, 0)->out[0]), 2 * 4);
    assert_int_equal(scatter->bytes_read, 2 * 4 + 2 * 4);
    assert_int_equal(scatter->bytes_written, 2 * 4);
    assert_int_equal(op_of_kind(c.trace, LL_OP_TOP_K, 0)->out[0].dim[1], 3);
    assert_int_equal(op_of_kind(c.trace, LL_OP_TOP_K, 1)->out[0].dim[1], 8); /* along the first dimension */
    assert_int_equal(op_of_kind(c.trace, LL_OP_RESIZE_NEAREST, 0)->out[0].dim[2], 6);
    end_conversion(&c);
}

/* What meets in the same place, and what a mask picks, nobody can count. */
static void what_is_picked_by_a_mask_is_refused(void **state)
{
    (void)state;
    expect_refusal(ll_import_TORCH_GRAPH,
                   GRAPH(CALL("aten::index", 2, TENSOR(3, 11) ",[" TENSOR(4, 12) "]", "[8,4],[[8,4]]",
                              "\"Tensor(float)\",\"GenericList[Tensor(bool)]\"", 13, "[5]")),
                   "aten::index: it picks by a mask");
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    expect_refusal(ll_import_TORCH_GRAPH, "[]", "expected an object with a list of nodes");
    expect_refusal(ll_import_TORCH_GRAPH, "{\"nodes\": []}", "there are no nodes in it");
    expect_refusal(ll_import_TORCH_GRAPH, "{\"nodes\": [3]}", "expected a node, which is an object");
    expect_refusal(ll_import_TORCH_GRAPH,
                   "{\"nodes\": [{\"name\": \"aten::relu\", \"id\": 2, \"inputs\": [[4,14,0,8,4,\"cpu\"]], "
                   "\"input_shapes\": [[-2,4]], \"input_types\": [\"Tensor(float)\"]}]}",
                   "expected dimensions that are not negative");
    expect_refusal(ll_import_TORCH_GRAPH,
                   "{\"nodes\": [{\"name\": \"aten::relu\", \"id\": 2, \"inputs\": [[4,14,0,8,4,\"cpu\"]], "
                   "\"input_shapes\": [[2,4]], \"input_types\": [\"Tensor(c10::complex<float>)\"]}]}",
                   "a tensor of a type that is not known here");
    expect_refusal(ll_import_TORCH_GRAPH,
                   "{\"nodes\": [{\"name\": \"a\", \"id\": 2}, {\"name\": \"b\", \"id\": 2}]}",
                   "two nodes have the number 2");
    expect_refusal(ll_import_TORCH_PROFILE,
                   "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"aten::mm\", \"ts\": 1}]}",
                   "no operator in it has shapes");
}

/* Microseconds: too many by themselves, as nanoseconds, with the duration. */
static void times_that_do_not_fit_are_refused(void **state)
{
    static const char *const times[] = {
        "\"ts\": 1e300, \"dur\": 1", "\"ts\": 92233720368547758070, \"dur\": 1",
        "\"ts\": 18446744073709552, \"dur\": 1", "\"ts\": 1, \"dur\": 18446744073709551.614",
        "\"ts\": Infinity, \"dur\": 1"};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct ll_str text = {0};
        ll_str_addf(&text,
                    "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::relu\", \"tid\": 7, %s, "
                    "\"args\": {\"Input Dims\": [[16]], \"Input type\": [\"float\"]}}]",
                    times[i]);
        expect_refusal(ll_import_TORCH_PROFILE, text.text, "aten::relu: its time does not fit in 64 bits");
        ll_str_release(&text);
    }
}

/* An operator that calls another, whose kernel ran on the device; times far from zero, to the nanosecond. */
static void profiles_have_times_of_kernels_and_order(void **state)
{
    static const char text[] =
        "{\"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"tid\": 7, \"ts\": "
        "1700000000000010.500, \"dur\": "
        "100.25, \"args\": {\"External id\": 2, \"Input Dims\": [[16, 256]], \"Input type\": [\"float\"]}},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"tid\": 7, \"ts\": "
        "1700000000000030.000, \"dur\": 70, "
        "\"args\": {\"External id\": 3, \"Input Dims\": [[16, 256], [256, 512]], \"Input type\": [\"float\", "
        "\"float\"], "
        "\"Concrete Inputs\": [\"\", \"\"]}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"tid\": 7, \"ts\": 1700000000000060.125, "
        "\"dur\": 33.5, "
        "\"args\": {\"External id\": 3}},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::relu\", \"tid\": 7, \"ts\": "
        "1700000000000120.000, \"dur\": 20, "
        "\"args\": {\"External id\": 4, \"Input Dims\": [[16, 512]], \"Input type\": [\"float\"]}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"relu\", \"tid\": 7, \"ts\": 1700000000000130.000, "
        "\"dur\": 3.25, "
        "\"args\": {\"External id\": 4}}]}";
    (void)state;
    struct conversion c = import_text(ll_import_TORCH_PROFILE, text, false);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 2);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].view.kind, LL_OP_MATMUL);
    assert_int_equal(c.trace->ops[0].duration_ns, 33500);
    assert_int_equal(c.trace->ops[1].duration_ns, 3250);
    assert_int_equal(c.trace->ops[1].start_ns - c.trace->ops[0].start_ns, 130000 - 60125);
    assert_int_equal(ll_edge_of(c.trace, 1, 0), LL_EDGE_ORDER);
    end_conversion(&c);
}

/* Attention of 2 x 4 heads, 16 positions, 32 features: two products forward, five backward, one of them to
 * have the shares again. */
static void fused_attention_is_the_products_that_it_stands_for(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct conversion c = {.importer = ll_import_TORCH_GRAPH, .file_count = 1};
    assert_int_equal(ll_input_open("tests/fuzz/corpus/torch/attention.json", &arena, &c.files[0]), LL_OK);
    convert(&c);
    assert_non_null(c.trace);
    assert_near(class_flops(c.trace, LL_CLASS_MATRIX), 7. * 2 * 2 * 4 * 16 * 16 * 32, 0);
    assert_int_equal(c.trace->signatures[c.trace->ops[3].signature].phase, LL_PHASE_BACKWARD);
    end_conversion(&c);
    ll_arena_release(&arena);
}

#define DRAWN(id, bytes, type)                                                                               \
    "{\"name\": \"aten::random_\", \"id\": " id ", \"parent\": 5, \"seq_id\": " id ", \"scope\": 0, "        \
    "\"tid\": 1, \"inputs\": [[" id ",1" id ",0,6," bytes ",\"cpu\"]], \"input_shapes\": [[2,3]], "          \
    "\"input_types\": [\"Tensor(" type ")\"], \"outputs\": [[" id ",1" id ",0,6," bytes ",\"cpu\"]], "       \
    "\"output_shapes\": [[2,3]], \"output_types\": [\"Tensor(" type ")\"]}"

/* As torch.randint makes labels, and as weights in half precision begin. */
static void numbers_of_any_type_can_be_drawn(void **state)
{
    static const char text[] = "{\"schema\": \"1.0.1\", \"nodes\": [" DRAWN("30", "8", "long int") "," DRAWN(
        "40", "2", "c10::Half") "]}";
    (void)state;
    struct conversion c = import_text(ll_import_TORCH_GRAPH, text, false);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    const enum ll_dtype types[] = {LL_I32, LL_F16};
    uint32_t drawn = 0;
    for (uint64_t i = 0; i < c.trace->op_count; i++) {
        const struct ll_op_view *view = &c.trace->signatures[c.trace->ops[i].signature].view;
        if (view->kind == LL_OP_RANDOM_UNIFORM)
            assert_int_equal(view->out[0].dtype, types[drawn++]);
    }
    assert_int_equal(drawn, 2);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_run_has_its_flops_and_parameters),
        cmocka_unit_test(products_are_as_many_as_counted_by_hand),
        cmocka_unit_test(an_undefined_tensor_in_a_list_is_none),
        cmocka_unit_test(every_input_has_a_producer_or_was_there_before),
        cmocka_unit_test(gradients_depend_on_the_forward_pass),
        cmocka_unit_test(both_schemas_say_the_same),
        cmocka_unit_test(what_is_added_to_a_product_may_repeat),
        cmocka_unit_test(joining_nothing_with_nothing_is_no_op),
        cmocka_unit_test(unknown_operators_are_named_or_kept),
        cmocka_unit_test(what_an_operator_calls_must_be_all_that_it_does),
        cmocka_unit_test(the_trouble_of_an_operator_is_told_though_it_calls_views),
        cmocka_unit_test(an_operator_whose_memory_is_read_unwritten_is_refused),
        cmocka_unit_test(what_changes_its_argument_is_what_does_not_in_place),
        cmocka_unit_test(elements_are_picked_put_ordered_and_resized),
        cmocka_unit_test(what_is_picked_by_a_mask_is_refused),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(fused_attention_is_the_products_that_it_stands_for),
        cmocka_unit_test(numbers_of_any_type_can_be_drawn),
        cmocka_unit_test(times_that_do_not_fit_are_refused),
        cmocka_unit_test(profiles_have_times_of_kernels_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
