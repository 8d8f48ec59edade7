/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's primitives as ops: a rule each. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/str.h"
#include "tracer/convert/onednn/onednn.h"
#include "tracer/ir/dnnl.h"

typedef const char *ll_dnnl_rule(struct ll_dnnl_log *log);

/* The number behind a word of the extra field, as in axis:1. */
static int64_t extra(const struct ll_dnnl_line *line, const char *word, int64_t otherwise)
{
    const char *at = strstr(line->extra, word);
    return at ? strtol(at + strlen(word), NULL, 10) : otherwise;
}

bool ll_dnnl_backward(const struct ll_dnnl_line *line)
{
    assert(line->pass);
    return strncmp(line->pass, "backward", 8) == 0;
}

static struct ll_shape shape_of(const struct ll_dnnl_line *line, unsigned rank, const uint64_t *dims)
{
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)line->dtype};
    memcpy(shape.dim, dims, rank * sizeof *dims);
    return shape;
}

static struct ll_shape weights_of(const struct ll_dnnl_line *line, unsigned rank, const uint64_t *dims)
{
    struct ll_shape shape = shape_of(line, rank, dims);
    shape.dtype = (uint8_t)ll_dnnl_dtype(line, "wei", line->dtype);
    return shape;
}

static struct ll_imported given(struct ll_dnnl_log *log, const struct ll_shape *shape)
{
    return ll_import_tensor(log->import, "input", shape,
                            ll_dnnl_backward(&log->line) ? LL_GRADIENT : LL_INPUT);
}

/* Weight number i of this primitive, the same in every step. */
static struct ll_imported weight(struct ll_dnnl_log *log, unsigned i, const struct ll_shape *shape)
{
    struct ll_imported *kept = &log->weights[log->primitives % log->period][i];
    if (log->primitives < log->period)
        *kept = ll_import_tensor(log->import, "weight", shape, LL_WEIGHT);
    return *kept;
}

static struct ll_attr attr(enum ll_attr_key key, uint64_t count)
{
    return (struct ll_attr){.key = key, .count = (int64_t)count};
}

/* Records an op, the first of a line with its time and how many operations stand behind it. What goes forward
 * makes what the line says, which need not be what comes in. */
static const char *record(struct ll_dnnl_log *log, const struct ll_import_op *op, struct ll_imported *out)
{
    struct ll_imported outputs[LL_MAX_OUTPUTS];
    struct ll_import_op typed = *op;
    struct ll_attr attrs[LL_MAX_ATTRS];
    const enum ll_dtype made = ll_dnnl_dtype(&log->line, "dst", LL_DTYPE_COUNT);
    if (!ll_dnnl_backward(&log->line) && made != LL_DTYPE_COUNT)
        typed.dtype = &made;
    if (log->post_ops > 0 && op->attr_count < LL_MAX_ATTRS) {
        if (op->attr_count > 0)
            memcpy(attrs, op->attrs, op->attr_count * sizeof *attrs);
        attrs[typed.attr_count++] = attr(LL_ATTR_POST_OPS, log->post_ops);
        typed.attrs = attrs;
        log->post_ops = 0;
    }
    return ll_series_record(&log->series, &typed, out ? out : outputs);
}

static bool has_bias(const struct ll_dnnl_line *line)
{
    return strstr(line->memory, "bia") && !strstr(line->memory, "bia_undef") &&
           !strstr(line->memory, "bia:undef");
}

/* The operations behind the primitive: eltwise_relu:0:1+sum, or, in older versions, 'eltwise_relu;sum;'. How
 * many there are; *adds: whether one adds to what the result held. */
static uint64_t count_posts(const struct ll_dnnl_line *line, bool *adds)
{
    const char *at = strstr(line->attributes, "post");
    uint64_t count = 0;
    *adds = false;
    at = at ? strchr(at, ':') : NULL;
    at = at ? at + 1 : "";
    at += *at == '\'';
    for (const char *end = at + strcspn(at, " \'"); at < end; at += at < end) {
        count += *at >= 'a' && *at <= 'z'; /* else it is the exponent of a number, 1e+06 */
        *adds = *adds || strncmp(at, "sum", 3) == 0;
        at += strcspn(at, "+;");
    }
    return count;
}

static bool adds(const struct ll_dnnl_line *line)
{
    bool any;
    count_posts(line, &any);
    return any;
}

static const char *add_bias(struct ll_dnnl_log *log, struct ll_imported *to)
{
    const struct ll_shape bias = {
        .rank = 1,
        .dtype = (uint8_t)ll_dnnl_dtype(&log->line, "bia", (enum ll_dtype)to->shape.dtype),
        .dim = {to->shape.dim[to->shape.rank - 1u]}};
    const struct ll_imported in[] = {*to, weight(log, 1, &bias)};
    return record(log, &(struct ll_import_op){.kind = LL_OP_BIAS_ADD, .in = in, .in_count = 2}, to);
}

static const char *add_sum(struct ll_dnnl_log *log, struct ll_imported *to)
{
    const struct ll_imported in[] = {*to, given(log, &to->shape)};
    return record(log, &(struct ll_import_op){.kind = LL_OP_ADD, .in = in, .in_count = 2}, to);
}

/* c + a b in one, where all are of one type. */
static bool is_sum_of_product(struct ll_dnnl_log *log, const struct ll_import_op *product,
                              struct ll_imported *sum)
{
    struct ll_imported out[LL_MAX_OUTPUTS];
    enum ll_dtype type = (enum ll_dtype)product->in[0].shape.dtype;
    if (product->kind != LL_OP_MATMUL || product->in[1].shape.dtype != type ||
        ll_dnnl_dtype(&log->line, "dst", type) != type || ll_import_look(log->import, product, out))
        return false;
    sum[0] = given(log, &out[0].shape);
    sum[1] = product->in[0];
    sum[2] = product->in[1];
    return true;
}

/* A product, and what is added to its result on the way forward. */
static const char *record_product(struct ll_dnnl_log *log, const struct ll_import_op *product)
{
    const struct ll_dnnl_line *line = &log->line;
    bool back = ll_dnnl_backward(line), bias = !back && has_bias(line), sum = !back && adds(line);
    struct ll_imported out[LL_MAX_OUTPUTS], in[3];
    struct ll_import_op op = *product;
    if (sum && !bias && is_sum_of_product(log, product, in)) {
        op.kind = LL_OP_MATMUL_ADD;
        op.in = in;
        op.in_count = 3;
        sum = false;
    }
    const char *trouble = record(log, &op, out);
    trouble = trouble || !bias ? trouble : add_bias(log, out);
    return trouble || !sum ? trouble : add_sum(log, out);
}

/* An image that windows slide over, and what they make of it. */
struct windows {
    struct ll_shape image, result;
    struct ll_attr attrs[9];
    uint64_t kernel_h, kernel_w;
};

/* Extents of one dimension: in, out, kernel, stride, padding before; holes between (oneDNN counts from 0).
 * What is padded behind follows from the result. */
static void set_side(const char *p, bool high, bool turned, struct windows *w)
{
    char name[3] = {turned ? 'o' : 'i', high ? 'h' : 'w', '\0'};
    uint64_t in = ll_dnnl_extent(p, name, 1), out, kernel, stride, pad, holes;
    name[0] = turned ? 'i' : 'o', out = ll_dnnl_extent(p, name, 1);
    name[0] = 'k', kernel = ll_dnnl_extent(p, name, 1);
    name[0] = 's', stride = ll_dnnl_extent(p, name, 1);
    name[0] = 'p', pad = ll_dnnl_extent(p, name, 0);
    name[0] = 'd', holes = ll_dnnl_extent(p, name, 0);
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

/* What slides over what; turned, it is the result of the line that is slid over.
 *
 * A volume is as many images as the result has slices, each with the channels of all slices that a window
 * reaches: as a library gathers them before it multiplies. Slices that several windows reach are so often in
 * it. */
static void slide(const struct ll_dnnl_line *line, bool turned, struct windows *w)
{
    const char *p = line->problem;
    uint64_t slices = ll_dnnl_extent(p, turned ? "id" : "od", 1), depth = ll_dnnl_extent(p, "kd", 1);
    *w = (struct windows){.image = {.rank = 4, .dtype = (uint8_t)line->dtype}};
    w->image.dim[0] = ll_mul(ll_dnnl_extent(p, "mb", 1), slices);
    uint64_t in = ll_dnnl_extent(p, "ic", 1), out = ll_dnnl_extent(p, "oc", in);
    w->result = w->image;
    w->image.dim[3] = ll_mul(turned ? out : in, depth);
    w->result.dim[3] = turned ? in : out;
    set_side(p, true, turned, w);
    set_side(p, false, turned, w);
}

/* A deconvolution is the data gradient of a convolution from its result to its image, and the other way
 * round. */
static const char *ll_dnnl_CONV(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    struct windows w;
    bool turned = strcmp(line->primitive, "deconvolution") == 0, filter = strstr(line->pass, "weights");
    bool data = ll_dnnl_backward(line) && !filter;
    slide(line, turned, &w);
    uint64_t groups = ll_dnnl_extent(line->problem, "g", 1);
    w.attrs[8] = attr(LL_ATTR_GROUPS, groups);
    const struct ll_shape filters = weights_of(
        line, 4, (uint64_t[]){w.kernel_h, w.kernel_w, w.image.dim[3] / ll_max(groups, 1), w.result.dim[3]});
    bool to_image = data != turned;
    struct ll_imported in[2];
    in[0] = given(log, to_image ? &w.result : &w.image);
    in[1] = filter ? given(log, &w.result) : weight(log, 0, &filters);
    if (filter)
        in[0] = given(log, &w.image);
    return record_product(log, &(struct ll_import_op){.kind = filter     ? LL_OP_CONV2D_FILTER
                                                              : to_image ? LL_OP_CONV2D_DATA
                                                                         : LL_OP_CONV2D,
                                                      .in = in,
                                                      .in_count = 2,
                                                      .attrs = w.attrs,
                                                      .attr_count = 9,
                                                      .given = filter ? &filters : &w.image,
                                                      .given_count = filter || to_image});
}

/* Channels of slices that a window reaches do not meet in pooling: the slices lie below each other, a row of
 * each in turn. */
static void deepen(uint64_t depth, struct windows *w)
{
    static const unsigned rows[] = {0, 2, 4}; /* stride, padding above and below */
    w->image.dim[3] /= ll_max(depth, 1);
    w->image.dim[1] = ll_mul(w->image.dim[1], depth);
    w->kernel_h = ll_mul(w->kernel_h, depth);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        w->attrs[rows[i]].count = (int64_t)ll_mul((uint64_t)w->attrs[rows[i]].count, depth);
}

/* Pooling, both ways. Pools over volumes become pools over images whose rows are the rows of all slices in
 * turn (deepen), which is exact as long as windows have no holes along the depth. */
static const char *ll_dnnl_POOL(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    struct windows w;
    slide(line, false, &w);
    uint64_t depth = ll_dnnl_extent(line->problem, "kd", 1);
    if (depth > 1 && w.attrs[6].count != 1)
        return "windows of three dimensions with holes are not known";
    deepen(depth, &w);
    bool largest = strstr(line->extra, "pooling_max") != NULL, back = ll_dnnl_backward(line);
    struct ll_attr attrs[8];
    memcpy(attrs, w.attrs, 6 * sizeof *attrs);
    attrs[6] = attr(LL_ATTR_KERNEL_H, w.kernel_h);
    attrs[7] = attr(LL_ATTR_KERNEL_W, w.kernel_w);
    struct ll_imported in[3] = {given(log, back ? &w.result : &w.image)};
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
static const char *ll_dnnl_INNER(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    const char *p = line->problem;
    uint64_t rows = ll_dnnl_extent(p, "mb", 1), out = ll_dnnl_extent(p, "oc", 1),
             in = ll_dnnl_extent(p, "ic", 1);
    in = ll_mul(ll_mul(in, ll_dnnl_extent(p, "id", 1)),
                ll_mul(ll_dnnl_extent(p, "ih", 1), ll_dnnl_extent(p, "iw", 1)));
    const struct ll_shape x = shape_of(line, 2, (uint64_t[]){rows, in}),
                          y = shape_of(line, 2, (uint64_t[]){rows, out}),
                          w = weights_of(line, 2, (uint64_t[]){out, in});
    bool weights = strstr(line->pass, "weights") != NULL, data = ll_dnnl_backward(line) && !weights;
    const struct ll_imported operands[] = {given(log, ll_dnnl_backward(line) ? &y : &x),
                                           weights ? given(log, &x) : weight(log, 0, &w)};
    const struct ll_attr attrs[] = {attr(LL_ATTR_TRANSPOSE_A, weights),
                                    attr(LL_ATTR_TRANSPOSE_B, !weights && !data)};
    return record_product(
        log, &(struct ll_import_op){
                 .kind = LL_OP_MATMUL, .in = operands, .in_count = 2, .attrs = attrs, .attr_count = 2});
}

/* Whether the shapes of a product fit to each other, and to that of the result, where the line has it.
 * NULL, or what does not. */
static const char *check_product(struct ll_dnnl_log *log, const struct ll_shape *a, const struct ll_shape *b)
{
    const char *problem = log->line.problem, *trouble = NULL;
    struct ll_shape told, made = *a;
    unsigned last = a->rank - 1u;
    if (a->rank != b->rank || a->rank < 2)
        return "this does not describe a GEMM";
    if (a->dim[last] != b->dim[last - 1])
        trouble = ll_format(&log->import->arena,
                            "`%.60s`: expected as many rows of the second matrix as the first has columns, "
                            "%" PRIu64 ", not %" PRIu64,
                            problem, a->dim[last], b->dim[last - 1]);
    for (unsigned i = 0; !trouble && i + 2 < a->rank; i++) {
        if (a->dim[i] != b->dim[i] && a->dim[i] != 1 && b->dim[i] != 1)
            trouble = ll_format(&log->import->arena,
                                "`%.60s`: expected as many matrices on both sides, or one", problem);
        made.dim[i] = a->dim[i] == 1 ? b->dim[i] : a->dim[i];
    }
    made.dim[last] = b->dim[last];
    if (trouble || !ll_dnnl_shape(&log->line, 2, &told))
        return trouble;
    if (told.rank != made.rank || memcmp(told.dim, made.dim, sizeof made.dim) != 0)
        trouble = ll_format(&log->import->arena,
                            "`%.60s`: expected a result of %" PRIu64 " rows and %" PRIu64
                            " columns, as many of them as there are GEMMs",
                            problem, made.dim[last - 1], made.dim[last]);
    return trouble;
}

/* 64x128:128x32[:64x32], or, in version 1, m64n32k128; whose right operand is a weight where all products
 * meet it. */
static const char *ll_dnnl_MATMUL(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    struct ll_shape a, b, c;
    const char *trouble = NULL;
    if (strchr(line->problem, '*'))
        return "its sizes were known at run time alone, and the log does not tell them";
    if (!ll_dnnl_shape(line, 0, &a) || !ll_dnnl_shape(line, 1, &b)) {
        uint64_t m = ll_dnnl_extent(line->problem, "m", 0), n = ll_dnnl_extent(line->problem, "n", 0),
                 k = ll_dnnl_extent(line->problem, "k", 0);
        uint64_t batch = ll_dnnl_extent(line->problem, "b", 0);
        if (!m || !n || !k)
            return "this does not describe a GEMM";
        a = batch ? shape_of(line, 3, (uint64_t[]){batch, m, k}) : shape_of(line, 2, (uint64_t[]){m, k});
        b = batch ? shape_of(line, 3, (uint64_t[]){batch, k, n}) : shape_of(line, 2, (uint64_t[]){k, n});
    } else if ((trouble = check_product(log, &a, &b))) {
        return trouble;
    }
    b.dtype = (uint8_t)ll_dnnl_dtype(line, "wei", line->dtype);
    c = a;
    enum ll_op_kind kind = ll_dnnl_stack(&a, &b, &c);
    if (kind == LL_OP_NONE)
        return "this does not describe a GEMM";
    const struct ll_imported in[] = {given(log, &a),
                                     kind == LL_OP_MATMUL ? weight(log, 0, &b) : given(log, &b)};
    return record_product(log, &(struct ll_import_op){.kind = kind, .in = in, .in_count = 2});
}

/* What its problem's first shape says, or batch, channels and sides. */
static bool whole_shape(const struct ll_dnnl_line *line, struct ll_shape *shape)
{
    const char *p = line->problem;
    if (ll_dnnl_shape(line, 0, shape))
        return true;
    *shape = shape_of(line, 4,
                      (uint64_t[]){ll_dnnl_extent(p, "mb", 1),
                                   ll_mul(ll_dnnl_extent(p, "id", 1), ll_dnnl_extent(p, "ih", 1)),
                                   ll_dnnl_extent(p, "iw", 1), ll_dnnl_extent(p, "ic", 0)});
    return shape->dim[3] > 0 && ll_fits(ll_size_bytes(shape));
}

static const char *on_whole(struct ll_dnnl_log *log, enum ll_op_kind kind, unsigned inputs)
{
    struct ll_shape shape;
    struct ll_imported in[3];
    if (!whole_shape(&log->line, &shape))
        return "its problem tells no shape";
    for (unsigned i = 0; i < inputs; i++)
        in[i] = given(log, &shape);
    return record(log, &(struct ll_import_op){.kind = kind, .in = in, .in_count = inputs}, NULL);
}

static const char *ll_dnnl_REORDER(struct ll_dnnl_log *log)
{
    struct ll_shape shape;
    if (!ll_dnnl_shape(&log->line, 0, &shape))
        return "its problem tells no shape";
    const struct ll_imported in = given(log, &shape);
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_REORDER, .in = &in, .in_count = 1, .given = &shape, .given_count = 1},
                  NULL);
}

/* alg:eltwise_relu alpha:0 beta:0 */
static const struct ll_dnnl_function *function_of(const struct ll_dnnl_line *line)
{
    const char *name = strstr(line->extra, "alg:");
    return name ? ll_dnnl_function_named(name + 4, strcspn(name + 4, " ")) : NULL;
}

static const char no_function[] = "it does not say which function it is";

static const char *ll_dnnl_ELTWISE(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_function *function = function_of(&log->line);
    bool back = ll_dnnl_backward(&log->line);
    if (!function || function->backward == LL_OP_NONE)
        return no_function;
    return on_whole(log, back ? function->backward : function->forward, back ? 2 : 1);
}

static const char *ll_dnnl_SOFTMAX(struct ll_dnnl_log *log)
{
    struct ll_shape shape;
    struct ll_imported in[2];
    int64_t axis = extra(&log->line, "axis:", -1);
    if (!ll_dnnl_shape(&log->line, 0, &shape))
        return "its problem tells no shape";
    if (axis >= 0 && axis < shape.rank) {
        uint64_t row = shape.dim[axis];
        memmove(&shape.dim[axis], &shape.dim[axis + 1], (shape.rank - 1u - (size_t)axis) * sizeof row);
        shape.dim[shape.rank - 1u] = row;
    }
    bool back = ll_dnnl_backward(&log->line);
    in[0] = in[1] = given(log, &shape);
    return record(log,
                  &(struct ll_import_op){
                      .kind = back ? LL_OP_SOFTMAX_GRAD : LL_OP_SOFTMAX, .in = in, .in_count = back ? 2 : 1},
                  NULL);
}

/* Normalisation by groups of channels, g32mb1ic320ih64iw64. */
static const char *ll_dnnl_GROUP_NORM(struct ll_dnnl_log *log)
{
    struct ll_shape shape;
    if (!whole_shape(&log->line, &shape))
        return "its problem tells no shape";
    bool back = ll_dnnl_backward(&log->line);
    const struct ll_shape channels = {.rank = 1, .dtype = LL_F32, .dim = {shape.dim[shape.rank - 1u]}};
    struct ll_imported in[3] = {given(log, &shape)};
    in[1] = back ? given(log, &shape) : weight(log, 0, &channels);
    in[2] = weight(log, back ? 0 : 1, &channels);
    return record(log,
                  &(struct ll_import_op){
                      .kind = back ? LL_OP_LAYER_NORM_GRAD : LL_OP_GROUP_NORM, .in = in, .in_count = 3},
                  NULL);
}

/* softmax(q k^T) v in one, of queries [..., rows, d], keys and values [..., keys, d]; scores stay on chip.
 * Heads that share their keys are rows of one. Unless it is causal every row sees all keys: all belong to one
 * position. */
static const char *attend(struct ll_dnnl_log *log, struct ll_shape q, uint64_t keys, uint64_t heads,
                          bool causal)
{
    const unsigned rank = q.rank;
    uint64_t features = q.dim[rank - 1], shared = 1;
    if (rank < 3 || heads == 0 || (rank > 3 && q.dim[rank - 3] % heads != 0))
        return "its queries, keys and values do not fit together";
    if (rank > 3) {
        shared = q.dim[rank - 3] / heads;
        q.dim[rank - 3] = heads;
    }
    uint64_t rows = q.dim[rank - 2] = ll_mul(q.dim[rank - 2], shared);
    struct ll_shape k = q;
    k.dim[rank - 2] = keys;
    k.dim[rank - 1] = features;
    const struct ll_attr groups = attr(LL_ATTR_GROUPS, causal ? shared : rows);
    const struct ll_imported in[] = {given(log, &q), given(log, &k), given(log, &k)};
    return record(
        log,
        &(struct ll_import_op){
            .kind = LL_OP_CAUSAL_ATTENTION, .in = in, .in_count = 3, .attrs = &groups, .attr_count = 1},
        NULL);
}

/* 1x32x384x128:1x32x128x384:1x32x384x128: queries, keys turned, values */
static const char *ll_dnnl_SDPA(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    struct ll_shape q, k, v;
    if (ll_dnnl_backward(line))
        return "its gradient is not known; --allow-opaque keeps it as the time it took";
    if (!ll_dnnl_shape(line, 0, &q) || !ll_dnnl_shape(line, 1, &k) || !ll_dnnl_shape(line, 2, &v) ||
        q.rank < 3 || k.rank != q.rank || v.rank != q.rank)
        return "its problem does not tell queries, keys and values";
    unsigned last = q.rank - 1u;
    if (ll_dnnl_dtype(line, "key", line->dtype) != line->dtype ||
        ll_dnnl_dtype(line, "val", line->dtype) != line->dtype)
        return "keys and values of another type than the queries are not known; --allow-opaque keeps it as "
               "the "
               "time it took";
    if (k.dim[last - 1] != q.dim[last] || v.dim[last - 1] != k.dim[last] || v.dim[last] != q.dim[last])
        return "its queries, keys and values do not fit together";
    return attend(log, q, k.dim[last], q.rank > 3 ? k.dim[last - 2] : 1,
                  strstr(line->attributes, "causal") || strstr(line->extra, "causal"));
}

/* A partition of a graph that is attention: its first input the queries, of the others the first that has as
 * many features the keys; its result as long as the queries. */
static const char *ll_dnnl_GRAPH_SDPA(struct ll_dnnl_log *log)
{
    struct ll_shape q, k;
    if (!ll_dnnl_logical(&log->line, false, 0, &q) || q.rank < 3)
        return "its first tensor is no queries of several heads";
    unsigned last = q.rank - 1u;
    for (unsigned i = 1; ll_dnnl_logical(&log->line, false, i, &k); i++) {
        bool upright = k.rank == q.rank && k.dim[last] == q.dim[last];
        if (upright || (k.rank == q.rank && k.dim[last - 1] == q.dim[last]))
            return attend(log, q, k.dim[upright ? last - 1 : last], q.rank > 3 ? k.dim[last - 2] : 1, false);
    }
    return "none of its tensors has as many features as the queries";
}

/* A product of a graph: of a[..., m, k] and b[..., k, n], either perhaps turned; what they share with the
 * result and each other tells. */
static const char *ll_dnnl_GRAPH_MATMUL(struct ll_dnnl_log *log)
{
    struct ll_shape a, b, c;
    if (!ll_dnnl_logical(&log->line, false, 0, &a) || !ll_dnnl_logical(&log->line, false, 1, &b) ||
        !ll_dnnl_logical(&log->line, true, 0, &c) || a.rank < 2 || b.rank < 2 || c.rank != a.rank ||
        b.rank > a.rank)
        return "its tensors do not describe a GEMM";
    unsigned last = a.rank - 1u, right = b.rank - 1u;
    uint64_t m = c.dim[last - 1], n = c.dim[last];
    uint64_t k = a.dim[last - 1] == m ? a.dim[last] : a.dim[last - 1];
    bool fits = (a.dim[last - 1] == m || a.dim[last] == m) && ((b.dim[right - 1] == k && b.dim[right] == n) ||
                                                               (b.dim[right - 1] == n && b.dim[right] == k));
    if (!fits)
        return "its tensors do not describe a GEMM";
    struct ll_shape wide = a;
    a.dim[last - 1] = m;
    a.dim[last] = k;
    for (unsigned i = 0; i < a.rank; i++) /* what the right side lacks it has once */
        wide.dim[i] = i + b.rank < a.rank ? 1 : b.dim[i + b.rank - a.rank];
    wide.dim[last - 1] = k;
    wide.dim[last] = n;
    wide.dtype = b.dtype;
    enum ll_dtype made = (enum ll_dtype)c.dtype;
    enum ll_op_kind kind = ll_dnnl_stack(&a, &wide, &c);
    if (kind == LL_OP_NONE)
        return "its tensors do not describe a GEMM";
    const struct ll_imported in[] = {given(log, &a),
                                     kind == LL_OP_MATMUL ? weight(log, 0, &wide) : given(log, &wide)};
    return record(log, &(struct ll_import_op){.kind = kind, .in = in, .in_count = 2, .dtype = &made}, NULL);
}

/* Normalisation by channel or by row; statistics that are given are not computed. */
static const char *ll_dnnl_NORM(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    struct ll_shape shape;
    if (!whole_shape(line, &shape))
        return "its problem tells no shape";
    bool rows = strcmp(line->primitive, "layer_normalization") == 0, back = ll_dnnl_backward(line);
    bool fixed = !rows && !back && strstr(line->extra, "flags:G");
    const struct ll_shape channels = {.rank = 1, .dtype = LL_F32, .dim = {shape.dim[shape.rank - 1u]}};
    struct ll_imported in[5];
    uint32_t count = 0, wanted = rows ? 3 : back || fixed ? 5 : 3;
    if (back)
        in[count++] = given(log, &shape);
    in[count++] = given(log, &shape);
    for (unsigned i = 0; count < wanted; i++)
        in[count++] = i < LL_DNNL_WEIGHTS ? weight(log, i, &channels) : given(log, &channels);
    return record(log,
                  &(struct ll_import_op){.kind = rows    ? back ? LL_OP_LAYER_NORM_GRAD : LL_OP_LAYER_NORM
                                                 : back  ? LL_OP_BATCH_NORM_GRAD
                                                 : fixed ? LL_OP_BATCH_NORM_FIXED
                                                         : LL_OP_BATCH_NORM,
                                         .in = in,
                                         .in_count = wanted},
                  NULL);
}

static const char *ll_dnnl_LRN(struct ll_dnnl_log *log)
{
    return on_whole(log, ll_dnnl_backward(&log->line) ? LL_OP_LRN_GRAD : LL_OP_LRN,
                    ll_dnnl_backward(&log->line) ? 3 : 1);
}

/* Two tensors, the second of which may repeat. */
static const char *ll_dnnl_BINARY(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_function *function = function_of(&log->line);
    struct ll_shape a, b;
    if (!function)
        return no_function;
    if (!ll_dnnl_shape(&log->line, 0, &a) || !ll_dnnl_shape(&log->line, 1, &b))
        return "its problem does not tell two shapes";
    const struct ll_imported in[] = {given(log, &a), given(log, &b)};
    return record(log, &(struct ll_import_op){.kind = function->forward, .in = in, .in_count = 2}, NULL);
}

/* 2x64x28x28:1x64x1x1 */
static const char *ll_dnnl_REDUCTION(struct ll_dnnl_log *log)
{
    struct ll_shape wide, narrow;
    if (!ll_dnnl_shape(&log->line, 0, &wide) || !ll_dnnl_shape(&log->line, 1, &narrow))
        return "its problem does not tell two shapes";
    const struct ll_imported in = given(log, &wide);
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_REDUCTION, .in = &in, .in_count = 1, .given = &narrow, .given_count = 1},
                  NULL);
}

/* As many tensors of one shape as its memory has sources. */
static const char *ll_dnnl_SUM(struct ll_dnnl_log *log)
{
    enum { MOST = 16 };
    struct ll_shape shape;
    struct ll_imported in[MOST];
    uint32_t count = 0;
    if (!ll_dnnl_shape(&log->line, 0, &shape))
        return "its problem tells no shape";
    for (const char *at = log->line.memory; (at = strstr(at, "src")) && count < MOST; at += 3)
        in[count++] = given(log, &shape);
    return record(log, &(struct ll_import_op){.kind = LL_OP_ADD_N, .in = in, .in_count = count}, NULL);
}

static const char *ll_dnnl_CONCAT(struct ll_dnnl_log *log)
{
    enum { MOST = 64 };
    struct ll_imported in[MOST];
    struct ll_shape shape;
    uint32_t count = 0, sources = 0;
    for (const char *at = log->line.memory; (at = strstr(at, "src")); at += 3)
        sources++;
    const struct ll_attr axis = attr(LL_ATTR_AXIS, (uint64_t)extra(&log->line, "axis:", 1));
    while (count < sources && count < MOST && ll_dnnl_shape(&log->line, count, &shape))
        in[count++] = given(log, &shape);
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_CONCAT, .in = in, .in_count = count, .attrs = &axis, .attr_count = 1},
                  NULL);
}

/* l1t20mb16sic512slc256dhc512dic512: layers over steps; widths of state, layer, hidden state. */
static const char *ll_dnnl_RNN(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    const char *p = line->problem;
    uint64_t gates = strstr(line->extra, "lstm") ? 4 : strstr(line->extra, "gru") ? 3 : 1;
    uint64_t layers = ll_dnnl_extent(p, "l", 1), ways = strstr(line->extra, "bidirectional") ? 2 : 1,
             hidden = ll_dnnl_extent(p, "dhc", ll_dnnl_extent(p, "dic", 1)),
             width = ll_dnnl_extent(p, "slc", hidden), state = ll_dnnl_extent(p, "sic", hidden),
             steps = ll_dnnl_extent(p, "t", 1), rows = ll_dnnl_extent(p, "mb", 1);
    const struct ll_shape x = shape_of(line, 3, (uint64_t[]){steps, rows, width}),
                          input = shape_of(line, 5, (uint64_t[]){layers, ways, width, gates, hidden}),
                          recurrent = shape_of(line, 5, (uint64_t[]){layers, ways, state, gates, hidden}),
                          y = shape_of(line, 3, (uint64_t[]){steps, rows, ll_mul(ways, hidden)});
    const struct ll_imported in[] = {given(log, &x), weight(log, 0, &input), weight(log, 1, &recurrent)};
    return record(log,
                  &(struct ll_import_op){
                      .kind = LL_OP_RECURRENT, .in = in, .in_count = 3, .given = &y, .given_count = 1},
                  NULL);
}

/* Partitions of graphs, by what their kind holds: sdp, quantized_sdp, matmul_post_ops. */
static const struct {
    const char *kind;
    ll_dnnl_rule *rule;
} partitions[] = {{"sdp", ll_dnnl_GRAPH_SDPA}, {"mha", ll_dnnl_GRAPH_SDPA}, {"matmul", ll_dnnl_GRAPH_MATMUL}};

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
    {"group_normalization", ll_dnnl_GROUP_NORM},
    {"sdpa", ll_dnnl_SDPA},
    {"lrn", ll_dnnl_LRN},
    {"pooling", ll_dnnl_POOL},
    {"pooling_v2", ll_dnnl_POOL},
    {"binary", ll_dnnl_BINARY},
    {"reduction", ll_dnnl_REDUCTION},
    {"sum", ll_dnnl_SUM},
    {"concat", ll_dnnl_CONCAT},
    {"rnn", ll_dnnl_RNN},
};

/* By the row of the primitive, or of the kind of partition where the line is one of a graph. */
const char *ll_dnnl_record(struct ll_dnnl_log *log)
{
    assert(log->line.primitive);
    const char *unknown = ll_dnnl_unknown(&log->line);
    if (log->line.dtype == LL_DTYPE_COUNT)
        return "the type of its elements is not known";
    if (unknown)
        return ll_format(&log->import->arena, "`%.*s`: elements of such a type are not known",
                         (int)ll_min(strcspn(unknown, " "), 60), unknown);
    bool any;
    log->post_ops = 0;
    if (log->line.graph) {
        for (size_t i = 0; i < sizeof partitions / sizeof *partitions; i++)
            if (strstr(log->line.primitive, partitions[i].kind))
                return partitions[i].rule(log);
        return "what this part of a graph computes its line does not tell, and no primitive before it does; "
               "--allow-opaque keeps it as the time it took";
    }
    log->post_ops = ll_dnnl_backward(&log->line) ? 0 : count_posts(&log->line, &any);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].primitive, log->line.primitive) == 0)
            return rules[i].rule(log);
    return "nobody knows this primitive; --allow-opaque keeps it as the time it took";
}
