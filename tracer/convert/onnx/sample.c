/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of what reads or writes between pixels (samples of grids and regions, columns of windows), of choices
 * whose number only a run knows, of transforms, and of what is drawn at random. */
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* Points between pixels. Each element of the result is a sum of so many neighbours, times their shares. */

static bool sample(struct onnx *o, struct ll_imported x, struct ll_imported points, uint64_t neighbours,
                   const struct ll_shape *shape, struct ll_imported *out)
{
    const struct ll_imported in[2] = {x, points};
    const struct ll_attr attr = {.key = LL_ATTR_SAMPLES, .count = (int64_t)neighbours};
    const struct ll_import_op op = {.kind = LL_OP_GRID_SAMPLE,
                                    .in = in,
                                    .in_count = 2,
                                    .attrs = &attr,
                                    .attr_count = 1,
                                    .given = shape,
                                    .given_count = 1};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

/* GridSample: x[batch, channels, sides ...] at grid[batch, sides ..., where]; the nearest pixel, the corners
 * around (2 along each side), or the 4 along each side of a cubic. */
bool onnx_rule_GRID_SAMPLE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *grid = onnx_need(o, 1);
    if (!x || !grid)
        return false;
    unsigned rank = x->shape.rank;
    if (rank < 3 || rank > 5 || grid->shape.rank != rank || grid->shape.dim[rank - 1] != rank - 2u)
        return onnx_refuse(o, "a grid has a point of the image for each pixel of the result");
    uint64_t each = onnx_attr_is(o, "mode", "nearest")                                       ? 1
                    : onnx_attr_is(o, "mode", "cubic") || onnx_attr_is(o, "mode", "bicubic") ? 4
                                                                                             : 2;
    struct ll_shape shape = x->shape;
    uint64_t neighbours = 1;
    for (unsigned i = 2; i < rank; i++) {
        shape.dim[i] = grid->shape.dim[i - 1];
        neighbours *= each;
    }
    const struct ll_shape image = onnx_lay_out(&shape, ONNX_IMAGE);
    struct ll_imported y;
    if (!sample(o, onnx_take(o, x, ONNX_IMAGE), onnx_take(o, grid, ONNX_PLAIN), neighbours, &image, &y))
        return false;
    onnx_put(o, 0, y, ONNX_IMAGE, &shape);
    return true;
}

/* The largest, or the mean, of s x s points of each part of a region. */
static bool pool_points(struct onnx *o, struct ll_imported points, uint64_t s, struct ll_imported *out)
{
    const struct ll_attr attrs[4] = {{.key = LL_ATTR_STRIDE_H, .count = (int64_t)s},
                                     {.key = LL_ATTR_STRIDE_W, .count = (int64_t)s},
                                     {.key = LL_ATTR_KERNEL_H, .count = (int64_t)s},
                                     {.key = LL_ATTR_KERNEL_W, .count = (int64_t)s}};
    const struct ll_import_op op = {.kind = onnx_attr_is(o, "mode", "max") ? LL_OP_MAX_POOL : LL_OP_AVG_POOL,
                                    .in = &points,
                                    .in_count = 1,
                                    .attrs = attrs,
                                    .attr_count = 4};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

/* RoiAlign: of each region s x s points for each pixel of its result (He et al., 2017). Where the file leaves
 * s to the sizes of the regions, each is taken to be as large as the image. */
bool onnx_rule_ROI_ALIGN(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *regions = onnx_need(o, 1);
    int64_t high = onnx_attr_integer(o, "output_height", 1), wide = onnx_attr_integer(o, "output_width", 1),
            s = onnx_attr_integer(o, "sampling_ratio", 0);
    if (!x || !regions)
        return false;
    if (x->shape.rank != 4 || regions->shape.rank != 2 || high < 1 || wide < 1 || s < 0 || high > INT16_MAX ||
        wide > INT16_MAX || s > INT16_MAX)
        return onnx_refuse(o, "regions lie in images, and have a size");
    if (s == 0) {
        s = (int64_t)ll_max(1, ll_ceil_div(x->shape.dim[2], (uint64_t)high));
        onnx_note(o, "how many points are read depends on the regions; each is taken to be the whole image");
    }
    const struct ll_shape shape = {
        .rank = 4,
        .dtype = x->shape.dtype,
        .dim = {regions->shape.dim[0], x->shape.dim[1], (uint64_t)high, (uint64_t)wide}};
    const struct ll_shape points = {
        .rank = 4,
        .dtype = x->shape.dtype,
        .dim = {shape.dim[0], (uint64_t)(high * s), (uint64_t)(wide * s), shape.dim[1]}};
    struct ll_imported y;
    if (!sample(o, onnx_take(o, x, ONNX_IMAGE), onnx_take(o, regions, ONNX_PLAIN), 4, &points, &y) ||
        !pool_points(o, y, (uint64_t)s, &y))
        return false;
    onnx_put(o, 0, y, ONNX_IMAGE, &shape);
    return true;
}

/* MaxRoiPool: of each region the largest element of each part, every pixel of an image at most. */
bool onnx_rule_ROI_POOL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *regions = onnx_need(o, 1);
    int64_t sides[2];
    struct ll_imported corners, y[LL_MAX_OUTPUTS];
    if (!x || !regions)
        return false;
    if (x->shape.rank != 4 || regions->shape.rank != 2 || regions->shape.dim[1] != 5 ||
        x->shape.dim[0] == 0 || regions->shape.dim[0] % x->shape.dim[0] != 0 ||
        onnx_attr_list(o, "pooled_shape", sides, 2) != 2 || sides[0] != sides[1])
        return onnx_refuse(o, "regions are as many in each image, and become squares");
    const struct ll_shape boxes = {.rank = 3,
                                   .dim = {x->shape.dim[0], regions->shape.dim[0] / x->shape.dim[0], 4}};
    const struct ll_attr attr = {.key = LL_ATTR_SIZE, .count = sides[0]};
    if (!onnx_cut(o, onnx_take(o, regions, ONNX_PLAIN), 1, 1, 4, &corners))
        return false;
    const struct ll_imported in[2] = {onnx_take(o, x, ONNX_IMAGE), onnx_view(o, corners, &boxes)};
    const struct ll_import_op op = {
        .kind = LL_OP_ROI_POOL, .in = in, .in_count = 2, .attrs = &attr, .attr_count = 1};
    const struct ll_shape shape = {
        .rank = 4, .dim = {regions->shape.dim[0], x->shape.dim[1], (uint64_t)sides[0], (uint64_t)sides[0]}};
    if (!onnx_emit(o, &op, y))
        return false;
    onnx_put(o, 0, y[0], ONNX_IMAGE, &shape);
    return true;
}

/* DeformConv: columns of windows whose elements lie between pixels (Dai et al., 2017), then a GEMM with the
 * filters; of groups as many. */
bool onnx_rule_DEFORM_CONV(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *w = onnx_need(o, 1), *offsets = onnx_need(o, 2),
                      *bias = onnx_input(o, 3), *mask = onnx_input(o, 4);
    uint64_t groups = (uint64_t)onnx_attr_integer(o, "group", 1);
    if (!x || !w || !offsets)
        return false;
    if (x->shape.rank != 4 || w->shape.rank != 4 || offsets->shape.rank != 4 || groups == 0 ||
        w->shape.dim[0] % groups != 0)
        return onnx_refuse(o, "it takes images, filters and offsets of each element of their windows");
    uint64_t taps = ll_mul(w->shape.dim[2], w->shape.dim[3]), channels = ll_mul(w->shape.dim[1], taps);
    uint64_t batch = x->shape.dim[0], places = ll_mul(offsets->shape.dim[2], offsets->shape.dim[3]);
    const struct ll_shape columns = {
        .rank = 4, .dtype = x->shape.dtype, .dim = {batch, places, taps, x->shape.dim[1]}};
    const struct ll_gemm gemm = {ll_mul(batch, groups), places, w->shape.dim[0] / groups, channels};
    const struct ll_shape stacked = {.rank = 3, .dim = {gemm.batch, gemm.m, gemm.k}};
    const struct ll_shape filters = {.rank = 3, .dtype = w->shape.dtype, .dim = {gemm.batch, gemm.n, gemm.k}};
    struct ll_imported y, weights = onnx_take(o, w, ONNX_PLAIN);
    if (!sample(o, onnx_take(o, x, ONNX_IMAGE), onnx_take(o, offsets, ONNX_PLAIN), 4, &columns, &y))
        return false;
    if (mask) {
        const struct ll_shape shares = {
            .rank = 4,
            .dim = {batch, places, taps,
                    ll_elements(&mask->shape) / ll_max(1, ll_mul(ll_mul(batch, places), taps))}};
        const struct ll_shape first = {
            .rank = 4, .dtype = mask->shape.dtype, .dim = {batch, places, taps, 1}};
        struct ll_imported in[2] = {y, onnx_view(o, onnx_take(o, mask, ONNX_PLAIN), &shares)};
        if (shares.dim[3] != 1 && !onnx_emit_simple(o, LL_OP_SEEN_AS, &in[1], 1, &first, &in[1]))
            return false;
        if (!onnx_emit_simple(o, LL_OP_MUL, in, 2, NULL, &y))
            return false;
    }
    if (batch > 1 && !onnx_emit_simple(o, LL_OP_SEEN_AS, &weights, 1, &filters, &weights))
        return false; /* all images multiply with the same */
    if (!onnx_product(o, onnx_view(o, y, &stacked), weights, &gemm, true, &y))
        return false;
    const struct ll_shape shape = {
        .rank = 4, .dim = {batch, w->shape.dim[0], offsets->shape.dim[2], offsets->shape.dim[3]}};
    const struct ll_shape image = onnx_lay_out(&shape, ONNX_IMAGE);
    struct ll_imported in[2] = {onnx_view(o, y, &image)};
    if (bias) {
        in[1] = onnx_take(o, bias, ONNX_PLAIN);
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, &in[0]))
            return false;
    }
    onnx_put(o, 0, in[0], ONNX_IMAGE, &shape);
    return true;
}

/* Col2Im: columns of windows are added up where they lie: the image's sizes are input 1. */
bool onnx_rule_COL2IM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *block = onnx_need(o, 2);
    int64_t image[LL_MAX_RANK], sides[LL_MAX_RANK];
    uint64_t count = 0, taps = 1;
    struct ll_shape shape = {0};
    struct ll_imported in, y;
    if (!x || !block)
        return false;
    if (!onnx_told(o, 0, &shape)) {
        if (!onnx_need_integers(o, 1, image, LL_MAX_RANK - 2, &count) ||
            !onnx_need_integers(o, 2, sides, LL_MAX_RANK - 2, &count))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            shape.dim[2 + i] = (uint64_t)image[i];
            taps = ll_mul(taps, (uint64_t)sides[i]);
        }
        shape.rank = (uint8_t)(2 + count);
        shape.dim[0] = x->shape.dim[0];
        shape.dim[1] = x->shape.rank == 3 && taps ? x->shape.dim[1] / taps : 0;
    }
    shape.dtype = x->shape.dtype;
    in = onnx_take(o, x, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_REDUCTION, &in, 1, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* MaxUnpool: elements go back to where they came from, in an image of zeros. */
bool onnx_rule_UNPOOL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *places = onnx_need(o, 1);
    int64_t sides[LL_MAX_RANK], strides[LL_MAX_RANK], kernel[LL_MAX_RANK], pads[2 * LL_MAX_RANK];
    struct ll_imported in[3], y;
    struct ll_shape shape;
    uint64_t count;
    if (!x || !places)
        return false;
    unsigned dims = x->shape.rank > 2 ? x->shape.rank - 2u : 0;
    shape = x->shape;
    if (onnx_input(o, 2) && onnx_knows(o, 2)) {
        if (!onnx_need_integers(o, 2, sides, LL_MAX_RANK, &count) || count != shape.rank)
            return onnx_refuse(o, "the result's sizes are not one for each dimension");
        for (unsigned i = 0; i < shape.rank; i++)
            shape.dim[i] = (uint64_t)sides[i];
    } else if (!onnx_told(o, 0, &shape)) {
        bool strided = onnx_attr_list(o, "strides", strides, dims) == dims,
             padded = onnx_attr_list(o, "pads", pads, 2 * dims) == 2 * dims;
        if (onnx_attr_list(o, "kernel_shape", kernel, dims) != dims)
            return onnx_refuse(o, "`kernel_shape` must have a size for each of the %u dimensions", dims);
        for (unsigned i = 0; i < dims; i++)
            shape.dim[2 + i] = (uint64_t)(((int64_t)shape.dim[2 + i] - 1) * (strided ? strides[i] : 1) +
                                          kernel[i] - (padded ? pads[i] + pads[i + dims] : 0));
    }
    shape.dtype = x->shape.dtype;
    if (!ll_fits(ll_size_bytes(&shape)))
        return onnx_refuse(o, "the size does not fit in 64 bits");
    if (!onnx_emit_simple(o, LL_OP_CONSTANT, NULL, 0, &shape, &in[0]))
        return false;
    in[1] = onnx_take(o, places, ONNX_PLAIN);
    in[2] = onnx_take(o, x, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_SCATTER, in, 3, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* What is chosen: how much of it, only a run knows. It is as much as the file tells, or else all. */

static bool worst(struct onnx *o, uint32_t i, struct ll_shape *shape, const struct ll_shape *otherwise)
{
    if (onnx_told(o, i, shape) && ll_elements(shape) <= ll_elements(otherwise))
        return true;
    *shape = *otherwise;
    onnx_note(o, "how many come out is not known before it runs; all that may are counted");
    return true;
}

/* Indices of i32 as those that a file has, seen in other dimensions. */
static bool put_indices(struct onnx *o, uint32_t i, struct ll_imported indices, const struct ll_shape *shape)
{
    struct ll_shape narrow = *shape, wide = *shape;
    struct ll_imported y;
    narrow.dtype = indices.shape.dtype;
    wide.dtype = LL_I64;
    if (!onnx_emit_simple(o, LL_OP_SEEN_AS, &indices, 1, &narrow, &indices) ||
        !onnx_emit_simple(o, LL_OP_CAST, &indices, 1, &wide, &y))
        return false;
    onnx_put(o, i, y, ONNX_PLAIN, &wide);
    return true;
}

/* The places of a list that hold something but zero. */
static bool true_places(struct onnx *o, struct onnx_value *x, struct ll_imported *places)
{
    const struct ll_shape list = {.rank = 1, .dtype = x->shape.dtype, .dim = {ll_elements(&x->shape)}};
    const enum ll_dtype truth = LL_BOOL;
    struct ll_imported in = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &list), out[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {.kind = LL_OP_ELTWISE, .in = &in, .in_count = 1, .dtype = &truth};
    if (x->shape.dtype != LL_BOOL) {
        if (!onnx_emit(o, &op, out))
            return false;
        in = out[0];
    }
    return onnx_emit_simple(o, LL_OP_TRUE_INDICES, &in, 1, NULL, places);
}

bool onnx_rule_NON_ZERO(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported places;
    struct ll_shape shape;
    if (!x)
        return false;
    const struct ll_shape all = {.rank = 2, .dtype = LL_I64, .dim = {x->shape.rank, ll_elements(&x->shape)}};
    return worst(o, 0, &shape, &all) && true_places(o, x, &places) && put_indices(o, 0, places, &shape);
}

/* Compress: rows along an axis, or elements, that a list of truths names. */
bool onnx_rule_COMPRESS(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *condition = onnx_need(o, 1);
    bool by_axis = onnx_attr_has(o, "axis");
    unsigned axis = 0;
    if (!x || !condition || (by_axis && !onnx_axis(o, onnx_attr_integer(o, "axis", 0), x->shape.rank, &axis)))
        return false;
    struct ll_shape all = x->shape, shape;
    uint64_t rows = by_axis ? x->shape.dim[axis] : ll_elements(&x->shape);
    if (!by_axis)
        all = (struct ll_shape){.rank = 1, .dtype = x->shape.dtype, .dim = {rows}};
    worst(o, 0, &shape, &all);
    const struct ll_shape table = {
        .rank = 2, .dtype = x->shape.dtype, .dim = {rows, rows ? ll_elements(&x->shape) / rows : 0}};
    const struct ll_shape list = {.rank = 1, .dtype = LL_I32, .dim = {shape.dim[axis]}};
    struct ll_imported in[2] = {onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &table)}, y;
    if (!true_places(o, condition, &in[1]) || !onnx_emit_simple(o, LL_OP_SEEN_AS, &in[1], 1, &list, &in[1]) ||
        !onnx_emit_simple(o, LL_OP_GATHER, in, 2, NULL, &y))
        return false;
    shape.dtype = x->shape.dtype;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* Unique: elements, or rows along an axis, are sorted; then each is compared with the one before it. */
bool onnx_rule_UNIQUE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    bool by_axis = onnx_attr_has(o, "axis");
    unsigned axis = 0;
    if (!x || (by_axis && !onnx_axis(o, onnx_attr_integer(o, "axis", 0), x->shape.rank, &axis)))
        return false;
    struct ll_shape all = x->shape, shape;
    uint64_t rows = by_axis ? x->shape.dim[axis] : ll_elements(&x->shape);
    if (!by_axis)
        all = (struct ll_shape){.rank = 1, .dtype = x->shape.dtype, .dim = {rows}};
    worst(o, 0, &shape, &all);
    shape.dtype = x->shape.dtype;
    const struct ll_shape lines = {
        .rank = 2, .dtype = x->shape.dtype, .dim = {rows ? ll_elements(&x->shape) / rows : 0, rows}};
    const struct ll_attr size = {.key = LL_ATTR_SIZE, .count = (int64_t)rows};
    const struct ll_imported in = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &lines);
    const struct ll_import_op op = {
        .kind = LL_OP_TOP_K, .in = &in, .in_count = 1, .attrs = &size, .attr_count = 1};
    struct ll_imported out[LL_MAX_OUTPUTS], y;
    if (!onnx_emit(o, &op, out) || !onnx_emit_simple(o, LL_OP_SEEN_AS, &out[0], 1, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    const struct ll_shape firsts = {.rank = 1, .dtype = LL_I64, .dim = {shape.dim[axis]}},
                          whole = {.rank = 1, .dtype = LL_I64, .dim = {rows}};
    for (uint32_t i = 1; i < 4 && i < o->node->output_count; i++)
        if (o->node->outputs[i] != LL_NO_ID && !put_indices(o, i, out[1], i == 2 ? &whole : &firsts))
            return false;
    return true;
}

/* NonMaxSuppression: boxes[batch, n, 4] by scores[batch, classes, n], which are sorted; each of a class
 * against those kept before it, at most against all. */
bool onnx_rule_NMS(struct onnx *o)
{
    struct onnx_value *boxes = onnx_need(o, 0), *scores = onnx_need(o, 1);
    int64_t most = 0;
    uint64_t count = 0;
    if (!boxes || !scores)
        return false;
    if (boxes->shape.rank != 3 || scores->shape.rank != 3 || boxes->shape.dim[2] != 4)
        return onnx_refuse(o, "boxes are [batch, n, 4], scores [batch, classes, n]");
    uint64_t n = boxes->shape.dim[1], stacks = ll_mul(scores->shape.dim[0], scores->shape.dim[1]);
    if (onnx_knows(o, 2) && !onnx_need_integers(o, 2, &most, 1, &count))
        return false;
    uint64_t kept = count == 1 && most > 0 ? ll_min((uint64_t)most, n) : n;
    const struct ll_shape all = {.rank = 2, .dtype = LL_I64, .dim = {ll_mul(stacks, kept), 3}};
    const struct ll_shape stacked = {.rank = 3, .dtype = boxes->shape.dtype, .dim = {stacks, n, 4}};
    struct ll_shape shape;
    const struct ll_attr size[2] = {{.key = LL_ATTR_SIZE, .count = (int64_t)n},
                                    {.key = LL_ATTR_SIZE, .count = (int64_t)kept}};
    struct ll_imported in = onnx_take(o, scores, ONNX_PLAIN), out[LL_MAX_OUTPUTS];
    const struct ll_import_op sort = {
        .kind = LL_OP_TOP_K, .in = &in, .in_count = 1, .attrs = size, .attr_count = 1};
    const struct ll_import_op keep = {
        .kind = LL_OP_NMS, .in = &in, .in_count = 1, .attrs = size + 1, .attr_count = 1};
    if (!onnx_emit(o, &sort, out))
        return false;
    in = onnx_take(o, boxes, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_SEEN_AS, &in, 1, &stacked, &in) || !onnx_emit(o, &keep, out))
        return false;
    worst(o, 0, &shape, &all);
    return put_indices(o, 0, out[0], &shape);
}

/* Transforms. */

/* The Fourier transform of so many lines of n elements (Cooley and Tukey, 1965). */
static bool transform(struct onnx *o, struct ll_imported x, uint64_t lines, uint64_t n, bool real,
                      const struct ll_shape *shape)
{
    const struct ll_attr attrs[3] = {{.key = LL_ATTR_SIZE, .count = (int64_t)n},
                                     {.key = LL_ATTR_SAMPLES, .count = (int64_t)lines},
                                     {.key = LL_ATTR_PARTS, .count = real ? 2 : 1}};
    const struct ll_import_op op = {.kind = LL_OP_FFT,
                                    .in = &x,
                                    .in_count = 1,
                                    .attrs = attrs,
                                    .attr_count = 3,
                                    .given = shape,
                                    .given_count = 1};
    struct ll_imported y[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, y))
        return false;
    onnx_put(o, 0, y[0], ONNX_PLAIN, shape);
    return true;
}

/* DFT: along an axis of x[..., 1 or 2], whose last dimension are the parts of a complex number. */
bool onnx_rule_DFT(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t at = onnx_attr_integer(o, "axis", o->file.opset >= 20 ? -2 : 1), length;
    bool inverse = onnx_attr_integer(o, "inverse", 0) != 0, half = onnx_attr_integer(o, "onesided", 0) != 0;
    uint64_t count = 0;
    unsigned axis;
    if (!x)
        return false;
    if (onnx_input(o, 2) && onnx_knows(o, 2) && !onnx_need_integers(o, 2, &at, 1, &count))
        return false;
    if (x->shape.rank < 2 || !onnx_axis(o, at, x->shape.rank, &axis))
        return x->shape.rank < 2 && onnx_refuse(o, "its last dimension are the parts of a number");
    struct ll_shape shape = x->shape, told;
    bool real = x->shape.dim[x->shape.rank - 1] == 1;
    uint64_t n = x->shape.dim[axis];
    if (onnx_told(o, 0, &told) && told.rank == shape.rank && onnx_input(o, 1) && !onnx_knows(o, 1)) {
        n = half && !inverse ? n : told.dim[axis];
    } else if (onnx_input(o, 1)) {
        if (!onnx_need_integers(o, 1, &length, 1, &count))
            return false;
        n = count == 1 && length > 0 ? (uint64_t)length : n;
    } else if (half && inverse && n > 0) {
        n = 2 * (n - 1);
    }
    shape.dim[axis] = half && !inverse ? n / 2 + 1 : n;
    shape.dim[shape.rank - 1] = half && inverse ? 1 : 2;
    uint64_t lines =
        ll_elements(&x->shape) / ll_max(1, ll_mul(x->shape.dim[axis], x->shape.dim[shape.rank - 1u]));
    return transform(o, onnx_take(o, x, ONNX_PLAIN), lines, n, real || half, &shape);
}

/* STFT: signal[batch, length, 1 or 2] in frames of a window's length, each `step` behind the one before. */
bool onnx_rule_STFT(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *window = onnx_input(o, 2);
    bool half = onnx_attr_integer(o, "onesided", 1) != 0;
    int64_t step = 1, length = 0;
    uint64_t count = 0, frames;
    struct ll_shape told;
    if (!x)
        return false;
    if (x->shape.rank != 3 && x->shape.rank != 2)
        return onnx_refuse(o, "a signal has the dimensions batch, length and perhaps parts of a number");
    if (window)
        length = (int64_t)ll_elements(&window->shape);
    else if (onnx_told_instead(o, 3, &told) && told.rank == 4)
        length = (int64_t)(half ? 2 * (told.dim[2] - 1) : told.dim[2]);
    else if (!onnx_need_integers(o, 3, &length, 1, &count))
        return false;
    if (onnx_told(o, 0, &told) && told.rank == 4)
        frames = told.dim[1];
    else if (!onnx_need_integers(o, 1, &step, 1, &count))
        return false;
    else
        frames = step > 0 && length > 0 && x->shape.dim[1] >= (uint64_t)length
                     ? (x->shape.dim[1] - (uint64_t)length) / (uint64_t)step + 1
                     : 0;
    if (length < 1 || frames == 0)
        return onnx_refuse(o, "there must be a frame, and a step from one to the next");
    uint64_t n = (uint64_t)length, lines = ll_mul(x->shape.dim[0], frames);
    const struct ll_shape framed = {.rank = 2, .dtype = x->shape.dtype, .dim = {lines, n}};
    const struct ll_shape shape = {
        .rank = 4, .dtype = x->shape.dtype, .dim = {x->shape.dim[0], frames, half ? n / 2 + 1 : n, 2}};
    struct ll_imported in[2] = {onnx_take(o, x, ONNX_PLAIN)};
    if (!onnx_emit_simple(o, LL_OP_SEEN_AS, in, 1, &framed, &in[0]))
        return false;
    if (window) {
        in[1] = onnx_take(o, window, ONNX_PLAIN);
        if (!onnx_emit_simple(o, LL_OP_MUL, in, 2, NULL, &in[0]))
            return false;
    }
    return transform(o, in[0], lines, n, half, &shape);
}

/* Det: by LU factors of each matrix, whose diagonals are multiplied. */
bool onnx_rule_DETERMINANT(struct onnx *o)
{
    enum { MOST = 4096 };
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    unsigned rank = x->shape.rank;
    if (rank < 2 || x->shape.dim[rank - 1] != x->shape.dim[rank - 2] || x->shape.dim[rank - 1] == 0)
        return onnx_refuse(o, "only a square matrix has a determinant");
    uint64_t n = x->shape.dim[rank - 1], stacks = ll_elements(&x->shape) / ll_mul(n, n);
    struct ll_shape shape = x->shape, list = {.rank = 3, .dim = {stacks, n, n}},
                    matrix = {.rank = 2, .dtype = x->shape.dtype, .dim = {n, n}},
                    diagonals = {.rank = 2, .dtype = x->shape.dtype, .dim = {stacks, n}};
    shape.rank -= 2;
    shape.dim[rank - 1] = shape.dim[rank - 2] = 0;
    if (stacks > MOST || stacks == 0)
        return onnx_refuse(o, "there must be a matrix, and at most %d", (int)MOST);
    struct ll_imported all = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &list), one, y = all;
    for (uint64_t i = 0; i < stacks; i++) {
        if (stacks == 1)
            one = all;
        else if (!onnx_cut(o, all, 0, i, 1, &one))
            return false;
        one = onnx_view(o, one, &matrix);
        if (!onnx_emit_simple(o, LL_OP_GETRF, &one, 1, NULL, &y))
            return false;
    }
    if (!onnx_emit_simple(o, LL_OP_SEEN_AS, &y, 1, &diagonals, &y) || !onnx_reduce_rows(o, LL_OP_SUM, y, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* AffineGrid: theta[batch, k, k + 1] times each point of a grid. */
bool onnx_rule_AFFINE_GRID(struct onnx *o)
{
    struct onnx_value *theta = onnx_need(o, 0);
    int64_t sides[LL_MAX_RANK];
    uint64_t count = 0, points = 1;
    struct ll_shape shape = {0};
    struct ll_imported base, y;
    if (!theta)
        return false;
    if (theta->shape.rank != 3)
        return onnx_refuse(o, "there must be a matrix for each grid");
    if (!onnx_told(o, 0, &shape)) {
        if (!onnx_need_integers(o, 1, sides, LL_MAX_RANK - 1, &count) || count < 3)
            return count > 0 && onnx_refuse(o, "the size has a batch, channels and sides");
        shape.dim[0] = (uint64_t)sides[0];
        for (uint64_t i = 2; i < count; i++)
            shape.dim[i - 1] = (uint64_t)sides[i];
        shape.rank = (uint8_t)count;
        shape.dim[count - 1] = theta->shape.dim[1];
    }
    for (unsigned i = 1; i + 1 < shape.rank; i++)
        points = ll_mul(points, shape.dim[i]);
    const struct ll_gemm gemm = {theta->shape.dim[0], points, theta->shape.dim[1], theta->shape.dim[2]};
    const struct ll_shape grid = {
        .rank = 3, .dtype = theta->shape.dtype, .dim = {gemm.batch, points, gemm.k}};
    shape.dtype = theta->shape.dtype;
    if (!onnx_emit_simple(o, LL_OP_CONSTANT, NULL, 0, &grid, &base) ||
        !onnx_product(o, base, onnx_take(o, theta, ONNX_PLAIN), &gemm, true, &y))
        return false;
    if (ll_elements(&shape) != ll_elements(&y.shape))
        return onnx_refuse(o, "the size does not belong to the matrices");
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* What is drawn, or stated. */

/* The type that an attribute names, or another. */
static uint8_t type_of(struct onnx *o, const char *name, uint8_t otherwise)
{
    uint8_t dtype = onnx_dtype(onnx_attr_integer(o, name, 0));
    return dtype == LL_DTYPE_COUNT ? otherwise : dtype;
}

static bool draw(struct onnx *o, enum ll_op_kind kind, const struct ll_shape *shape, struct ll_imported *out)
{
    const struct ll_shape scalar = {.dtype = shape->dtype};
    const struct ll_imported step = ll_import_tensor(o->import, "step", &scalar, LL_WORKSPACE);
    o->folding = false; /* it is new in each run */
    return onnx_emit_simple(o, kind, &step, 1, shape, out);
}

/* RandomNormal, RandomUniform and those like another value. */
bool onnx_rule_RANDOM(struct onnx *o)
{
    struct onnx_value *like = onnx_input(o, 0);
    int64_t dims[LL_MAX_RANK];
    uint64_t count = onnx_attr_list(o, "shape", dims, LL_MAX_RANK);
    struct ll_shape shape = {.dtype = LL_F32};
    struct ll_imported y;
    if (like)
        shape = like->shape;
    for (uint64_t i = 0; !like && i < count && i < LL_MAX_RANK; i++)
        shape.dim[shape.rank++] = (uint64_t)dims[i];
    shape.dtype = type_of(o, "dtype", shape.dtype);
    if (!ll_fits(ll_size_bytes(&shape)))
        return onnx_refuse(o, "the size does not fit in 64 bits");
    if (!draw(o, o->row->kind, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* Bernoulli: a number is drawn for each share and compared with it. */
bool onnx_rule_BERNOULLI(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported in[2], y;
    if (!x)
        return false;
    struct ll_shape shape = x->shape;
    in[1] = onnx_take(o, x, ONNX_PLAIN);
    if (!draw(o, LL_OP_RANDOM_UNIFORM, &shape, &in[0]) ||
        !onnx_emit_simple(o, LL_OP_LESS, in, 2, NULL, &in[0]))
        return false;
    shape.dtype = type_of(o, "dtype", shape.dtype);
    if (!onnx_emit_simple(o, LL_OP_CAST, in, 1, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* Multinomial: the sums of each row's exponentials, in which numbers that are drawn find their place. */
bool onnx_rule_MULTINOMIAL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported in, y;
    if (!x)
        return false;
    if (x->shape.rank != 2)
        return onnx_refuse(o, "it draws by rows");
    struct ll_shape shape = x->shape;
    shape.dim[1] = (uint64_t)onnx_attr_integer(o, "sample_size", 1);
    in = onnx_take(o, x, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_EXP, &in, 1, NULL, &y) ||
        !onnx_emit_simple(o, LL_OP_CUMULATIVE_SUM, &y, 1, NULL, &y) ||
        !draw(o, LL_OP_RANDOM_UNIFORM, &shape, &in))
        return false;
    shape.dtype = type_of(o, "dtype", LL_I32);
    if (!onnx_emit_simple(o, LL_OP_CAST, &in, 1, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* EyeLike: a constant as large as the input. */
bool onnx_rule_EYE_LIKE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    struct ll_shape shape = x->shape;
    shape.dtype = type_of(o, "dtype", shape.dtype);
    onnx_put_constant(o, 0, &shape, NULL);
    return true;
}

/* HannWindow and others, MelWeightMatrix: constants whose sizes are inputs, one for each dimension. */
bool onnx_rule_TABLE(struct onnx *o)
{
    struct ll_shape shape = {0};
    int64_t size[2] = {0};
    uint64_t count;
    bool mel = o->node->input_count > 1;
    if (!onnx_told(o, 0, &shape)) {
        for (uint32_t i = 0; i < (mel ? 2u : 1u); i++)
            if (!onnx_need_integers(o, i, &size[i], 1, &count) || size[i] < 0)
                return size[i] < 0 && onnx_refuse(o, "a size is negative");
        shape.rank = mel ? 2 : 1;
        shape.dim[0] = mel ? (uint64_t)size[1] / 2 + 1 : (uint64_t)size[0];
        shape.dim[1] = mel ? (uint64_t)size[0] : 0;
    }
    shape.dtype = type_of(o, "output_datatype", LL_F32);
    onnx_put_constant(o, 0, &shape, NULL);
    return true;
}
