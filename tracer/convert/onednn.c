/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's verbose logs, versions 1 to 3: a line for each primitive that ran,
 *
 *   onednn_verbose,[v1,][time stamp,][primitive,]exec,cpu,convolution,jit:avx512_core,forward_training,
 *   src_f32::blocked:abcd:f0 wei_f32::...
 * ,attributes,alg:convolution_direct,mb1_ic3oc64_ih224oh112kh7...,8.7771
 *
 * the last field being milliseconds. Other lines are information, or the output of the program around it, and
 * passed over. A log knows no tensors: weights are those of the same line in each repetition, and every op
 * waits for the one before it. */
#include "tracer/convert/period.h"
#include "tracer/convert/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 1 << 14, MOST_FIELDS = 24, MOST_WEIGHTS = 2 };

/* A line taken apart; texts live in `text`. */
struct line {
    char text[LONGEST_LINE];
    uint64_t number; /* in the file, from 1 */
    const char *primitive, *pass, *memory, *extra, *problem;
    enum ll_dtype dtype; /* of what comes in */
    uint64_t duration_ns;
};

struct log {
    struct ll_import *import;
    const char *at, *end; /* what is not read yet */
    uint64_t lines;
    uint64_t period, primitives; /* of a step; so far */
    struct ll_series series;
    struct ll_held (*weights)[MOST_WEIGHTS]; /* by the primitive's place in a step */
    struct line line;
};

typedef const char *ll_dnnl_rule(struct log *log);

/* An extent of the problem: the digits behind this name, as in ic3oc64. */
static uint64_t extent(const char *problem, const char *name, uint64_t otherwise)
{
    size_t length = strlen(name);
    while (*problem) {
        size_t letters = strcspn(problem, "0123456789_");
        size_t digits = strspn(problem + letters, "0123456789");
        if (letters == length && digits > 0 && strncmp(problem, name, length) == 0)
            return ll_min(strtoull(problem + letters, NULL, 10), UINT64_C(1) << 40);
        problem += letters + digits;
        problem += *problem == '_';
    }
    return otherwise;
}

/* The shape number `i` of a problem 64x128:128x32, behind `i` colons. False when there is none. */
static bool shape_at(const struct line *line, unsigned i, struct ll_shape *shape)
{
    const char *at = line->problem;
    *shape = (struct ll_shape){.dtype = (uint8_t)line->dtype};
    for (; i > 0 && at; i--) {
        at = strchr(at, ':');
        at = at ? at + 1 : NULL;
    }
    while (at && *at >= '0' && *at <= '9' && shape->rank < LL_MAX_RANK) {
        char *end;
        shape->dim[shape->rank++] = strtoull(at, &end, 10);
        at = *end == 'x' ? end + 1 : end;
    }
    return shape->rank > 0 && ll_fits(ll_size_bytes(shape));
}

/* The number behind a word of the extra field, as in axis:1. */
static int64_t extra(const struct line *line, const char *word, int64_t otherwise)
{
    const char *at = strstr(line->extra, word);
    return at ? strtol(at + strlen(word), NULL, 10) : otherwise;
}

static bool backward(const struct line *line)
{
    return strncmp(line->pass, "backward", 8) == 0;
}

static struct ll_shape shape_of(const struct line *line, unsigned rank, const uint64_t *dims)
{
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)line->dtype};
    memcpy(shape.dim, dims, rank * sizeof *dims);
    return shape;
}

static struct ll_held given(struct log *log, const struct ll_shape *shape)
{
    return ll_import_tensor(log->import, "input", shape, backward(&log->line) ? LL_GRADIENT : LL_INPUT);
}

/* Weight number i of this primitive, the same in every step. */
static struct ll_held weight(struct log *log, unsigned i, const struct ll_shape *shape)
{
    struct ll_held *kept = &log->weights[log->primitives % log->period][i];
    if (log->primitives < log->period)
        *kept = ll_import_tensor(log->import, "weight", shape, LL_WEIGHT);
    return *kept;
}

/* Records an op, the first of a line with its time. */
static const char *record(struct log *log, const struct ll_import_op *op, struct ll_held *out)
{
    struct ll_held outputs[LL_MAX_OUTPUTS];
    return ll_series_record(&log->series, op, out ? out : outputs);
}

static struct ll_attr attr(enum ll_attr_key key, uint64_t count)
{
    return (struct ll_attr){.key = key, .count = (int64_t)count};
}

static const char *add_bias(struct log *log, unsigned i, const struct ll_held *to)
{
    const struct ll_shape bias = {
        .rank = 1, .dtype = to->shape.dtype, .dim = {to->shape.dim[to->shape.rank - 1u]}};
    const struct ll_held in[] = {*to, weight(log, i, &bias)};
    return record(log, &(struct ll_import_op){.kind = LL_OP_BIAS_ADD, .in = in, .in_count = 2}, NULL);
}

static bool has_bias(const struct line *line)
{
    return strstr(line->memory, "bia") && !strstr(line->memory, "bia_undef") &&
           !strstr(line->memory, "bia:undef");
}

/* An image that windows slide over, and what they make of it. */
struct windows {
    struct ll_shape image, result;
    struct ll_attr attrs[9];
    uint64_t kernel_h, kernel_w;
};

/* Extents of one dimension: in, out, kernel, stride, padding before; holes between (oneDNN counts from 0).
 * What is padded behind follows from the result. */
static void set_side(const char *p, const char *letter, bool high, struct windows *w)
{
    char name[3] = {'i', letter[0], '\0'};
    uint64_t in = extent(p, name, 1), out, kernel, stride, pad, holes;
    name[0] = 'o', out = extent(p, name, 1);
    name[0] = 'k', kernel = extent(p, name, 1);
    name[0] = 's', stride = extent(p, name, 1);
    name[0] = 'p', pad = extent(p, name, 0);
    name[0] = 'd', holes = extent(p, name, 0);
    uint64_t reach = ll_add(ll_mul(ll_max(kernel, 1) - 1, holes + 1), 1);
    uint64_t needed = ll_add(ll_mul(ll_max(out, 1) - 1, stride), reach), before = ll_add(in, pad);
    uint64_t behind = needed > before ? ll_sub(needed, before) : 0;
    w->image.dim[high ? 1 : 2] = in;
    w->result.dim[high ? 1 : 2] = out;
    w->attrs[high ? 0 : 1] = attr(high ? LL_ATTR_STRIDE_H : LL_ATTR_STRIDE_W, stride);
    w->attrs[high ? 2 : 3] = attr(high ? LL_ATTR_PAD_TOP : LL_ATTR_PAD_LEFT, pad);
    w->attrs[high ? 4 : 5] = attr(high ? LL_ATTR_PAD_BOTTOM : LL_ATTR_PAD_RIGHT, behind);
    w->attrs[high ? 6 : 7] = attr(high ? LL_ATTR_DILATION_H : LL_ATTR_DILATION_W, holes + 1);
    *(high ? &w->kernel_h : &w->kernel_w) = kernel;
}

static const char *slide(const struct line *line, struct windows *w)
{
    const char *p = line->problem;
    if (extent(p, "id", 1) != 1 || extent(p, "kd", 1) != 1)
        return "windows of three dimensions are not known";
    *w = (struct windows){.image = {.rank = 4, .dtype = (uint8_t)line->dtype}};
    w->image.dim[0] = extent(p, "mb", 1);
    w->image.dim[3] = extent(p, "ic", 1);
    w->result = w->image;
    w->result.dim[3] = extent(p, "oc", w->image.dim[3]);
    set_side(p, "h", true, w);
    set_side(p, "w", false, w);
    return NULL;
}

/* A deconvolution is the data gradient of a convolution from its result to its image, and the other way
 * round. */
static const char *ll_dnnl_CONV(struct log *log)
{
    const struct line *line = &log->line;
    struct windows w;
    const char *trouble = slide(line, &w);
    if (trouble)
        return trouble;
    bool turned = strcmp(line->primitive, "deconvolution") == 0, filter = strstr(line->pass, "weights");
    bool data = backward(line) && !filter;
    if (turned) {
        struct ll_shape image = w.image;
        w.image = w.result;
        w.result = image;
    }
    uint64_t groups = extent(line->problem, "g", 1);
    w.attrs[8] = attr(LL_ATTR_GROUPS, groups);
    const struct ll_shape filters = shape_of(
        line, 4, (uint64_t[]){w.kernel_h, w.kernel_w, w.image.dim[3] / ll_max(groups, 1), w.result.dim[3]});
    bool to_image = data != turned;
    struct ll_held in[2], out[LL_MAX_OUTPUTS];
    in[0] = given(log, to_image ? &w.result : &w.image);
    in[1] = filter ? given(log, &w.result) : weight(log, 0, &filters);
    if (filter)
        in[0] = given(log, &w.image);
    trouble = record(log,
                     &(struct ll_import_op){.kind = filter     ? LL_OP_CONV2D_FILTER
                                                    : to_image ? LL_OP_CONV2D_DATA
                                                               : LL_OP_CONV2D,
                                            .in = in,
                                            .in_count = 2,
                                            .attrs = w.attrs,
                                            .attr_count = 9,
                                            .given = filter ? &filters : &w.image,
                                            .given_count = filter || to_image},
                     out);
    return trouble || backward(line) || !has_bias(line) ? trouble : add_bias(log, 1, &out[0]);
}

static const char *ll_dnnl_POOL(struct log *log)
{
    const struct line *line = &log->line;
    struct windows w;
    const char *trouble = slide(line, &w);
    if (trouble)
        return trouble;
    bool largest = strstr(line->extra, "pooling_max") != NULL, back = backward(line);
    struct ll_attr attrs[8];
    memcpy(attrs, w.attrs, 6 * sizeof *attrs);
    attrs[6] = attr(LL_ATTR_KERNEL_H, w.kernel_h);
    attrs[7] = attr(LL_ATTR_KERNEL_W, w.kernel_w);
    struct ll_held in[3] = {given(log, back ? &w.result : &w.image)};
    if (back && largest) {
        in[1] = given(log, &w.image);
        in[2] = given(log, &w.result);
    }
    const struct ll_import_op op = {
        .kind = back      ? largest ? LL_OP_MAX_POOL_GRAD : LL_OP_AVG_POOL_GRAD
                : largest ? LL_OP_MAX_POOL
                          : LL_OP_AVG_POOL,
        .in = in,
        .in_count = back && largest ? 3 : 1,
        .attrs = attrs,
        .attr_count = 8,
        .given = &w.image,
        .given_count = back && !largest,
    };
    return record(log, &op, NULL);
}

/* y[mb, oc] = x[mb, ic] w[oc, ic]^T, its data gradient dy w, its weights' dy^T x */
static const char *ll_dnnl_INNER(struct log *log)
{
    const struct line *line = &log->line;
    const char *p = line->problem;
    uint64_t rows = extent(p, "mb", 1), out = extent(p, "oc", 1), in = extent(p, "ic", 1);
    in = ll_mul(ll_mul(in, extent(p, "id", 1)), ll_mul(extent(p, "ih", 1), extent(p, "iw", 1)));
    const struct ll_shape x = shape_of(line, 2, (uint64_t[]){rows, in}),
                          y = shape_of(line, 2, (uint64_t[]){rows, out}),
                          w = shape_of(line, 2, (uint64_t[]){out, in});
    bool weights = strstr(line->pass, "weights") != NULL, data = backward(line) && !weights;
    const struct ll_held operands[] = {given(log, backward(line) ? &y : &x),
                                       weights ? given(log, &x) : weight(log, 0, &w)};
    const struct ll_attr attrs[] = {attr(LL_ATTR_TRANSPOSE_A, weights),
                                    attr(LL_ATTR_TRANSPOSE_B, !weights && !data)};
    struct ll_held result[LL_MAX_OUTPUTS];
    const char *trouble =
        record(log,
               &(struct ll_import_op){
                   .kind = LL_OP_MATMUL, .in = operands, .in_count = 2, .attrs = attrs, .attr_count = 2},
               result);
    return trouble || backward(line) || !has_bias(line) ? trouble : add_bias(log, 1, &result[0]);
}

/* 64x128:128x32[:64x32], or, in version 1, m64n32k128; whose right operand is a weight. */
static const char *ll_dnnl_MATMUL(struct log *log)
{
    const struct line *line = &log->line;
    struct ll_shape a, b;
    if (!shape_at(line, 0, &a) || !shape_at(line, 1, &b)) {
        uint64_t m = extent(line->problem, "m", 0), n = extent(line->problem, "n", 0),
                 k = extent(line->problem, "k", 0);
        uint64_t batch = extent(line->problem, "b", 0);
        if (!m || !n || !k)
            return "this is no problem of a product";
        a = batch ? shape_of(line, 3, (uint64_t[]){batch, m, k}) : shape_of(line, 2, (uint64_t[]){m, k});
        b = batch ? shape_of(line, 3, (uint64_t[]){batch, k, n}) : shape_of(line, 2, (uint64_t[]){k, n});
    }
    for (unsigned i = 0; i + 2u < a.rank && a.rank == b.rank; i++)
        b.dim[i] = a.dim[i]; /* operands that repeat are read once for each product */
    const struct ll_held in[] = {given(log, &a), a.rank == 2 ? weight(log, 0, &b) : given(log, &b)};
    struct ll_held out[LL_MAX_OUTPUTS];
    const char *trouble =
        record(log,
               &(struct ll_import_op){
                   .kind = a.rank == 2 ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL, .in = in, .in_count = 2},
               out);
    return trouble || !has_bias(line) ? trouble : add_bias(log, 1, &out[0]);
}

/* What its problem's first shape says, or batch, channels and sides. */
static bool whole_shape(const struct line *line, struct ll_shape *shape)
{
    const char *p = line->problem;
    if (shape_at(line, 0, shape))
        return true;
    *shape = shape_of(line, 4,
                      (uint64_t[]){extent(p, "mb", 1), ll_mul(extent(p, "id", 1), extent(p, "ih", 1)),
                                   extent(p, "iw", 1), extent(p, "ic", 0)});
    return shape->dim[3] > 0 && ll_fits(ll_size_bytes(shape));
}

static const char *on_whole(struct log *log, enum ll_op_kind kind, unsigned inputs)
{
    struct ll_shape shape;
    struct ll_held in[3];
    if (!whole_shape(&log->line, &shape))
        return "its problem tells no shape";
    for (unsigned i = 0; i < inputs; i++)
        in[i] = given(log, &shape);
    return record(log, &(struct ll_import_op){.kind = kind, .in = in, .in_count = inputs}, NULL);
}

static const char *ll_dnnl_REORDER(struct log *log)
{
    struct ll_shape shape;
    if (!shape_at(&log->line, 0, &shape))
        return "its problem tells no shape";
    const struct ll_held in = given(log, &shape);
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_REORDER, .in = &in, .in_count = 1, .given = &shape, .given_count = 1},
                  NULL);
}

/* The functions that have a kind of their own; the others are one operation on each element. */
static const char *ll_dnnl_ELTWISE(struct log *log)
{
    static const struct {
        const char *name;
        enum ll_op_kind forward, backward;
    } functions[] = {{"eltwise_relu", LL_OP_RELU, LL_OP_RELU_GRAD},
                     {"eltwise_tanh", LL_OP_TANH, LL_OP_TANH_GRAD},
                     {"eltwise_logistic", LL_OP_SIGMOID, LL_OP_SIGMOID_GRAD},
                     {"eltwise_gelu", LL_OP_GELU, LL_OP_GELU_GRAD},
                     {"eltwise_clip", LL_OP_RELU_CLIPPED, LL_OP_RELU_CLIPPED_GRAD},
                     {"eltwise_", LL_OP_ELTWISE, LL_OP_ELTWISE_GRAD}};
    bool back = backward(&log->line);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strstr(log->line.extra, functions[i].name))
            return on_whole(log, back ? functions[i].backward : functions[i].forward, back ? 2 : 1);
    return "it does not say which function it is";
}

static const char *ll_dnnl_SOFTMAX(struct log *log)
{
    struct ll_shape shape;
    struct ll_held in[2];
    int64_t axis = extra(&log->line, "axis:", -1);
    if (!shape_at(&log->line, 0, &shape))
        return "its problem tells no shape";
    if (axis >= 0 && axis < shape.rank) {
        uint64_t row = shape.dim[axis];
        memmove(&shape.dim[axis], &shape.dim[axis + 1], (shape.rank - 1u - (size_t)axis) * sizeof row);
        shape.dim[shape.rank - 1u] = row;
    }
    bool back = backward(&log->line);
    in[0] = in[1] = given(log, &shape);
    return record(log,
                  &(struct ll_import_op){
                      .kind = back ? LL_OP_SOFTMAX_GRAD : LL_OP_SOFTMAX, .in = in, .in_count = back ? 2 : 1},
                  NULL);
}

/* Normalisation by channel or by row; statistics that are given are not computed. */
static const char *ll_dnnl_NORM(struct log *log)
{
    const struct line *line = &log->line;
    struct ll_shape shape;
    if (!whole_shape(line, &shape))
        return "its problem tells no shape";
    bool rows = strcmp(line->primitive, "layer_normalization") == 0, back = backward(line);
    bool fixed = !rows && !back && strstr(line->extra, "flags:G");
    const struct ll_shape channels = {.rank = 1, .dtype = LL_F32, .dim = {shape.dim[shape.rank - 1u]}};
    struct ll_held in[5];
    uint32_t count = 0, wanted = rows ? 3 : back || fixed ? 5 : 3;
    if (back)
        in[count++] = given(log, &shape);
    in[count++] = given(log, &shape);
    for (unsigned i = 0; count < wanted; i++)
        in[count++] = i < MOST_WEIGHTS ? weight(log, i, &channels) : given(log, &channels);
    return record(log,
                  &(struct ll_import_op){.kind = rows    ? back ? LL_OP_LAYER_NORM_GRAD : LL_OP_LAYER_NORM
                                                 : back  ? LL_OP_BATCH_NORM_GRAD
                                                 : fixed ? LL_OP_BATCH_NORM_FIXED
                                                         : LL_OP_BATCH_NORM,
                                         .in = in,
                                         .in_count = wanted},
                  NULL);
}

static const char *ll_dnnl_LRN(struct log *log)
{
    return on_whole(log, backward(&log->line) ? LL_OP_LRN_GRAD : LL_OP_LRN, backward(&log->line) ? 3 : 1);
}

/* Two tensors, the second of which may repeat. */
static const char *ll_dnnl_BINARY(struct log *log)
{
    static const struct {
        const char *name;
        enum ll_op_kind kind;
    } functions[] = {{"binary_mul", LL_OP_MUL},     {"binary_div", LL_OP_DIV},     {"binary_sub", LL_OP_SUB},
                     {"binary_max", LL_OP_MAXIMUM}, {"binary_min", LL_OP_MINIMUM}, {"binary_", LL_OP_ADD}};
    struct ll_shape a, b;
    if (!shape_at(&log->line, 0, &a) || !shape_at(&log->line, 1, &b))
        return "its problem does not tell two shapes";
    const struct ll_held in[] = {given(log, &a), given(log, &b)};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strstr(log->line.extra, functions[i].name))
            return record(log, &(struct ll_import_op){.kind = functions[i].kind, .in = in, .in_count = 2},
                          NULL);
    return "it does not say which function it is";
}

/* As many tensors of one shape as its memory has sources. */
static const char *ll_dnnl_SUM(struct log *log)
{
    enum { MOST = 16 };
    struct ll_shape shape;
    struct ll_held in[MOST];
    uint32_t count = 0;
    if (!shape_at(&log->line, 0, &shape))
        return "its problem tells no shape";
    for (const char *at = log->line.memory; (at = strstr(at, "src")) && count < MOST; at += 3)
        in[count++] = given(log, &shape);
    return record(log, &(struct ll_import_op){.kind = LL_OP_ADD_N, .in = in, .in_count = count}, NULL);
}

static const char *ll_dnnl_CONCAT(struct log *log)
{
    enum { MOST = 64 };
    struct ll_held in[MOST];
    struct ll_shape shape;
    uint32_t count = 0, sources = 0;
    for (const char *at = log->line.memory; (at = strstr(at, "src")); at += 3)
        sources++;
    const struct ll_attr axis = attr(LL_ATTR_AXIS, (uint64_t)extra(&log->line, "axis:", 1));
    while (count < sources && count < MOST && shape_at(&log->line, count, &shape))
        in[count++] = given(log, &shape);
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_CONCAT, .in = in, .in_count = count, .attrs = &axis, .attr_count = 1},
                  NULL);
}

/* l1t20mb16sic512slc256dhc512dic512: layers over steps; widths of state, layer, hidden state. */
static const char *ll_dnnl_RNN(struct log *log)
{
    const struct line *line = &log->line;
    const char *p = line->problem;
    uint64_t gates = strstr(line->extra, "lstm") ? 4 : strstr(line->extra, "gru") ? 3 : 1;
    uint64_t layers = extent(p, "l", 1), ways = strstr(line->extra, "bidirectional") ? 2 : 1,
             hidden = extent(p, "dhc", extent(p, "dic", 1)), width = extent(p, "slc", hidden),
             state = extent(p, "sic", hidden), steps = extent(p, "t", 1), rows = extent(p, "mb", 1);
    uint64_t stacked = ll_mul(layers, ways);
    const struct ll_shape x = shape_of(line, 3, (uint64_t[]){steps, rows, width}),
                          input = shape_of(line, 3, (uint64_t[]){stacked, width, ll_mul(gates, hidden)}),
                          recurrent = shape_of(line, 3, (uint64_t[]){stacked, state, ll_mul(gates, hidden)}),
                          y = shape_of(line, 3, (uint64_t[]){steps, rows, ll_mul(ways, hidden)});
    const struct ll_held in[] = {given(log, &x), weight(log, 0, &input), weight(log, 1, &recurrent)};
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_RECURRENT, .in = in, .in_count = 3, .given = &y, .given_count = 1},
                  NULL);
}

static const struct {
    const char *primitive;
    ll_dnnl_rule *rule;
} rules[] = {
    {"convolution", ll_dnnl_CONV},
    {"deconvolution", ll_dnnl_CONV},
    {"inner_product", ll_dnnl_INNER},
    {"matmul", ll_dnnl_MATMUL},
    {"reorder", ll_dnnl_REORDER},
    {"eltwise", ll_dnnl_ELTWISE},
    {"softmax", ll_dnnl_SOFTMAX},
    {"softmax_v2", ll_dnnl_SOFTMAX},
    {"logsoftmax", ll_dnnl_SOFTMAX},
    {"batch_normalization", ll_dnnl_NORM},
    {"layer_normalization", ll_dnnl_NORM},
    {"lrn", ll_dnnl_LRN},
    {"pooling", ll_dnnl_POOL},
    {"pooling_v2", ll_dnnl_POOL},
    {"binary", ll_dnnl_BINARY},
    {"sum", ll_dnnl_SUM},
    {"concat", ll_dnnl_CONCAT},
    {"rnn", ll_dnnl_RNN},
};

/* What oneDNN calls a type of elements. */
static enum ll_dtype dtype_of(const char *memory)
{
    static const struct {
        const char *name;
        enum ll_dtype dtype;
    } types[] = {{"f32", LL_F32}, {"f16", LL_F16}, {"bf16", LL_BF16}, {"f64", LL_F64},    {"s8", LL_INT8},
                 {"u8", LL_U8},   {"s32", LL_I32}, {"tf32", LL_TF32}, {"f8_e4m3", LL_F8}, {"f8_e5m2", LL_F8}};
    const char *at = memory + strcspn(memory, "_: ");
    while (*at == '_' && strncmp(at, "_layer", 6) == 0)
        at += 6;
    at += *at == '_' || *at == ':';
    size_t length = strcspn(at, ": ");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && strncmp(types[i].name, at, length) == 0)
            return types[i].dtype;
    return LL_DTYPE_COUNT;
}

/* Cuts the text of a line at its commas. */
static size_t cut(char *text, const char *fields[MOST_FIELDS])
{
    size_t count = 0;
    for (char *at = text; at && count < MOST_FIELDS; count++) {
        fields[count] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return count;
}

/* Whether this is a line about a primitive that ran; then what it says. */
static bool take_apart(struct line *line)
{
    const char *fields[MOST_FIELDS];
    size_t count, exec = 1;
    if (strncmp(line->text, "onednn_verbose,", 15) != 0 && strncmp(line->text, "dnnl_verbose,", 13) != 0)
        return false;
    count = cut(line->text, fields);
    while (exec < count && strcmp(fields[exec], "exec") != 0)
        exec++;
    enum { ENGINE = 1, PRIMITIVE, IMPLEMENTATION, PASS, MEMORY, ATTRIBUTES };
    if (exec + ATTRIBUTES + 3 >= count)
        return false;
    line->primitive = fields[exec + PRIMITIVE];
    line->pass = fields[exec + PASS];
    line->memory = fields[exec + MEMORY];
    line->extra = fields[count - 3];
    line->problem = fields[count - 2];
    line->dtype = dtype_of(line->memory);
    double ms = strtod(fields[count - 1], NULL);
    line->duration_ns = ms > 0 && ms < 1e12 ? (uint64_t)llround(ms * 1e6) : 0;
    return true;
}

/* The next line about a primitive; false at the end. Lines that are too long are none. */
static bool next_line(struct log *log)
{
    while (log->at < log->end) {
        size_t left = (size_t)(log->end - log->at);
        const char *newline = memchr(log->at, '\n', left);
        size_t length = newline ? (size_t)(newline - log->at) : left;
        const char *text = log->at;
        log->at += length + (newline != NULL);
        log->line.number = ++log->lines;
        if (length > 0 && text[length - 1] == '\r')
            length--;
        if (length >= LONGEST_LINE || memchr(text, '\0', length))
            continue;
        memcpy(log->line.text, text, length);
        log->line.text[length] = '\0';
        if (take_apart(&log->line))
            return true;
    }
    return false;
}

static void rewind_log(struct log *log)
{
    log->at = (const char *)log->import->inputs[0].bytes;
    log->end = log->at + log->import->inputs[0].size;
    log->lines = 0;
}

/* How many primitives a step has, and how many there are. */
static bool find_period(struct log *log, uint64_t *count, bool *trains)
{
    uint64_t *looks = NULL, capacity = 0;
    rewind_log(log);
    for (*count = 0; next_line(log); ++*count) {
        if (!ll_grow(&looks, &capacity, *count + 1, sizeof *looks)) {
            free(looks);
            return ll_import_no_memory(log->import);
        }
        uint64_t look = ll_look_with_text(ll_look_with_text(LL_LOOK, log->line.primitive), log->line.pass);
        looks[*count] = ll_look_with_text(look, log->line.problem);
        *trains = *trains || backward(&log->line);
    }
    log->period = ll_max(1, ll_period(looks, *count));
    free(looks);
    if (*count > 0)
        return true;
    return ll_complain(log->import->diags, (struct ll_place){.file = log->import->inputs[0].path},
                       "no line of it is about a primitive that ran (onednn_verbose,...exec,...)");
}

static const char *record_line(struct log *log)
{
    if (log->line.dtype == LL_DTYPE_COUNT)
        return "the type of its elements is not known";
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].primitive, log->line.primitive) == 0)
            return rules[i].rule(log);
    return "nobody knows this primitive; --allow-opaque keeps it as the time it took";
}

static void record_all(struct log *log)
{
    rewind_log(log);
    for (log->primitives = 0; next_line(log); log->primitives++) {
        if (log->primitives > 0 && log->primitives % log->period == 0)
            ll_recorder_step_begin(log->import->recorder);
        log->series.scope = log->line.primitive;
        log->series.phase = backward(&log->line) ? LL_PHASE_BACKWARD : LL_PHASE_FORWARD;
        log->series.duration_ns = log->line.duration_ns;
        const char *trouble = record_line(log);
        struct ll_place place = {.file = log->import->inputs[0].path, .line = log->line.number};
        if (trouble && log->import->allow_opaque)
            trouble = record(log, &(struct ll_import_op){.kind = LL_OP_OPAQUE}, NULL);
        if (trouble)
            ll_complain(log->import->diags, place, "%s: %s", log->line.primitive, trouble);
    }
}

/* Samples a step: what the first convolution, inner product or network takes. */
static uint64_t find_batch(struct log *log)
{
    uint64_t batch = 0;
    rewind_log(log);
    while (batch == 0 && next_line(log))
        batch = extent(log->line.problem, "mb", 0);
    return ll_max(batch, 1);
}

static bool begin(struct log *log, bool trains)
{
    struct ll_import *import = log->import;
    const char *model = ll_import_choice(import, "model");
    uint64_t batch;
    if (!ll_import_count(import, "batch", 1, UINT64_C(1) << 30, find_batch(log), &batch))
        return false;
    ll_facts_add(&import->facts, "model", "%s", model ? model : "onednn");
    ll_facts_add(&import->facts, "mode", "%s", trains ? "train" : "infer");
    ll_facts_add(&import->facts, "batch", "%" PRIu64, batch);
    ll_facts_add(&import->facts, "source", "oneDNN verbose log");
    return ll_import_begin(import);
}

bool ll_import_ONEDNN(struct ll_import *import)
{
    struct log *log = ll_alloc(&import->arena, 1, sizeof *log);
    size_t before = import->diags->count;
    uint64_t count = 0;
    bool trains = false;
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one log");
    if (!log)
        return ll_import_no_memory(import);
    *log = (struct log){.import = import, .series = {.import = import, .clock_ns = 1}};
    if (!find_period(log, &count, &trains))
        return false;
    log->weights = ll_alloc(&import->arena, log->period, sizeof *log->weights);
    if (!log->weights)
        return ll_import_no_memory(import);
    if (!begin(log, trains))
        return false;
    record_all(log);
    return import->diags->count == before;
}
