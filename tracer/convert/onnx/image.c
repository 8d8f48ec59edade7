/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of reductions and of what is made of them (softmax, top-k), of windows over images, and of norms. */
#include <math.h>
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* The dimensions of a reduction: a bit each; none means all. */
static bool reduced_axes(struct onnx *o, const struct ll_shape *shape, unsigned *bits)
{
    struct onnx_axes axes;
    if (!onnx_read_axes(o, &axes) || !onnx_axis_bits(o, &axes, shape->rank, bits))
        return false;
    if (axes.count == 0 && onnx_attr_integer(o, "noop_with_empty_axes", 0) == 0)
        *bits = (1u << shape->rank) - 1;
    return true;
}

/* What is left of a shape: reduced dimensions are 1, or gone. */
static struct ll_shape reduced(const struct ll_shape *shape, unsigned axes, bool keep, struct ll_shape *sides)
{
    struct ll_shape out = {.dtype = shape->dtype};
    *sides = (struct ll_shape){.rank = 2, .dtype = shape->dtype, .dim = {1, 1}};
    for (unsigned i = 0; i < shape->rank; i++) {
        bool gone = axes >> i & 1;
        sides->dim[gone] = ll_mul(sides->dim[gone], shape->dim[i]);
        if (!gone || keep)
            out.dim[out.rank++] = gone ? 1 : shape->dim[i];
    }
    return out;
}

/* Where only a run knows the axes, what is left tells how many elements become one. */
static bool sides_of_reduction(struct onnx *o, const struct ll_shape *shape, struct ll_shape *left,
                               struct ll_shape *sides)
{
    unsigned axes;
    uint64_t elements = ll_elements(shape);
    if (!onnx_attr_has(o, "axes") && onnx_told_instead(o, 1, left) && ll_elements(left) > 0 &&
        elements % ll_elements(left) == 0) {
        *sides = (struct ll_shape){
            .rank = 2, .dtype = shape->dtype, .dim = {ll_elements(left), elements / ll_elements(left)}};
        return true;
    }
    if (!reduced_axes(o, shape, &axes))
        return false;
    *left = reduced(shape, axes, onnx_attr_integer(o, "keepdims", 1) != 0, sides);
    return true;
}

static bool reduce(struct onnx *o, enum ll_op_kind kind, struct ll_imported x, const struct ll_shape *shape)
{
    struct ll_shape sides, out_shape;
    if (!sides_of_reduction(o, shape, &out_shape, &sides))
        return false;
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported in = onnx_view(o, x, &sides), out[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {.kind = kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, onnx_view(o, out[0], &out_shape), ONNX_PLAIN, &out_shape);
    return true;
}

bool onnx_rule_REDUCE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    const struct ll_shape shape = x->shape;
    return reduce(o, o->row->kind, onnx_take(o, x, onnx_layout_of(o, x)), &shape);
}

/* Sums of something of each element. */
bool onnx_rule_REDUCE_OF(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    const struct ll_shape shape = x->shape;
    struct ll_imported in = onnx_take(o, x, onnx_layout_of(o, x)), y;
    return onnx_emit_simple(o, o->row->kind, &in, 1, NULL, &y) && reduce(o, LL_OP_SUM, y, &shape);
}

/* A shape with one dimension behind the others. */
static struct ll_shape axis_last(const struct ll_shape *shape, unsigned axis)
{
    struct ll_shape sides;
    reduced(shape, 1u << axis, false, &sides);
    return sides;
}

/* ArgMax and ArgMin: the axis is seen as the last dimension of rows. Indices are of int64, which a cast
 * makes of the op's own. */
bool onnx_rule_ARG_MAX(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    unsigned axis;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", 0), x->shape.rank, &axis))
        return false;
    struct ll_shape sides,
        out_shape = reduced(&x->shape, 1u << axis, onnx_attr_integer(o, "keepdims", 1) != 0, &sides);
    struct ll_imported in = onnx_view(o, onnx_take(o, x, onnx_layout_of(o, x)), &sides), out;
    if (!onnx_emit_simple(o, LL_OP_ARGMAX, &in, 1, NULL, &out))
        return false;
    struct ll_shape wide = out.shape;
    wide.dtype = LL_I64;
    in = out;
    if (!onnx_emit_simple(o, LL_OP_CAST, &in, 1, &wide, &out))
        return false;
    onnx_put(o, 0, onnx_view(o, out, &out_shape), ONNX_PLAIN, &out_shape);
    return true;
}

/* Up to version 12 all dimensions from the axis on are one row, later the axis alone. */
static bool softmax_rows(struct onnx *o, const struct ll_shape *shape, struct ll_shape *rows)
{
    bool old = o->file.opset > 0 && o->file.opset < 13;
    unsigned axis;
    if (!onnx_axis(o, onnx_attr_integer(o, "axis", old ? 1 : -1), shape->rank, &axis))
        return false;
    *rows = axis_last(shape, axis);
    for (unsigned i = axis + 1; old && i < shape->rank; i++) {
        rows->dim[1] = ll_mul(rows->dim[1], shape->dim[i]);
        rows->dim[0] = shape->dim[i] ? rows->dim[0] / shape->dim[i] : 0;
    }
    return true;
}

/* Softmax and LogSoftmax over rows (see softmax_rows for what a row is in which version). */
bool onnx_rule_SOFTMAX(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_shape rows;
    if (!x || !softmax_rows(o, &x->shape, &rows))
        return false;
    enum onnx_layout layout = onnx_layout_of(o, x);
    struct ll_imported in = onnx_take(o, x, layout), out;
    const struct ll_shape shape = x->shape, laid_out = in.shape;
    if (in.shape.rank == 0 || in.shape.dim[in.shape.rank - 1] != rows.dim[1])
        in = onnx_view(o, in, &rows);
    if (!onnx_emit_simple(o, LL_OP_SOFTMAX, &in, 1, NULL, &out))
        return false;
    onnx_put(o, 0, onnx_view(o, out, &laid_out), layout, &shape);
    return true;
}

/* The k largest along an axis, which is seen as the last one, and where they are. */
bool onnx_rule_TOP_K(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t k = onnx_attr_integer(o, "k", 1);
    uint64_t count;
    unsigned axis;
    struct ll_shape told;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", -1), x->shape.rank, &axis))
        return false;
    if (onnx_told_instead(o, 1, &told) && axis < told.rank)
        k = (int64_t)told.dim[axis];
    else if (onnx_input(o, 1) && !onnx_need_integers(o, 1, &k, 1, &count))
        return false;
    const struct ll_shape sides = axis_last(&x->shape, axis);
    struct ll_shape shape = x->shape;
    shape.dim[axis] = (uint64_t)k;
    const struct ll_attr attr = {.key = LL_ATTR_SIZE, .count = k};
    const struct ll_imported in = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &sides);
    const struct ll_import_op op = {
        .kind = LL_OP_TOP_K, .in = &in, .in_count = 1, .attrs = &attr, .attr_count = 1};
    struct ll_imported out[LL_MAX_OUTPUTS], places;
    if (!onnx_emit(o, &op, out))
        return false;
    struct ll_shape wide = out[1].shape;
    wide.dtype = LL_I64;
    if (!onnx_emit_simple(o, LL_OP_CAST, &out[1], 1, &wide, &places))
        return false;
    onnx_put(o, 0, onnx_view(o, out[0], &shape), ONNX_PLAIN, &shape);
    onnx_put(o, 1, onnx_view(o, places, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* Rules of operators that slide windows over images, of those that resize them, and of norms.
 *
 * Signals of one dimension are images of height 1. */

/* How windows lie: for height and width. */
struct windows {
    uint64_t kernel[2], stride[2], dilation[2], before[2], after[2];
};

static bool spatial(struct onnx *o, const struct onnx_value *x)
{
    if (onnx_attr_integer(o, "channels_last", 0) != 0) /* of those of com.microsoft */
        return onnx_refuse(o, "images whose channels are the last dimension are not supported here");
    if (x->shape.rank == 3 || x->shape.rank == 4)
        return true;
    return onnx_refuse(o, "its input has %d dimensions; images (4) and signals (3) are supported",
                       x->shape.rank);
}

/* A list of an attribute for height and width; `otherwise` where nothing is said. */
static bool read_pair(struct onnx *o, const char *name, unsigned dims, uint64_t otherwise, uint64_t pair[2])
{
    int64_t list[2];
    uint64_t count = onnx_attr_list(o, name, list, 2);
    pair[0] = dims == 2 ? otherwise : 1;
    pair[1] = otherwise;
    if (count == 0)
        return true;
    for (uint64_t i = 0; i < dims; i++) {
        if (count != dims || list[i] < 0 || list[i] > INT32_MAX)
            return onnx_refuse(o, "`%s` must have a size for each of the %u dimensions of the image", name,
                               dims);
        pair[2 - dims + i] = (uint64_t)list[i];
    }
    return true;
}

/* Explicit padding: in front along each dimension, then behind. */
static bool read_pads(struct onnx *o, unsigned dims, struct windows *w)
{
    int64_t list[4] = {0};
    uint64_t count = onnx_attr_list(o, "pads", list, 4);
    if (count != 0 && count != 2 * dims)
        return onnx_refuse(o, "`pads` must have two sizes for each of the %u dimensions of the image", dims);
    for (unsigned i = 0; i < dims; i++) {
        if (list[i] < 0 || list[i + dims] < 0 || list[i] > INT32_MAX || list[i + dims] > INT32_MAX)
            return onnx_refuse(o, "padding cannot be negative");
        w->before[2 - dims + i] = (uint64_t)list[i];
        w->after[2 - dims + i] = (uint64_t)list[i + dims];
    }
    return true;
}

static uint64_t reach(const struct windows *w, unsigned i)
{
    return ll_window_reach(w->kernel[i], w->dilation[i]);
}

/* SAME: as many windows as strides fit into the image, the padding shared, the odd one behind or in front. */
static void pad_same(const struct ll_shape *image, bool upper, struct windows *w)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t in = image->dim[1 + i], out = ll_ceil_div(in, w->stride[i]);
        uint64_t needed = ll_add(ll_mul(out ? out - 1 : 0, w->stride[i]), reach(w, i));
        uint64_t pad = needed > in ? needed - in : 0;
        w->before[i] = upper ? pad / 2 : pad - pad / 2;
        w->after[i] = pad - w->before[i];
    }
}

/* Rounding up: padding behind until the last window that begins inside the image or in front of it is whole.
 */
static void pad_up(const struct ll_shape *image, struct windows *w)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t padded = ll_add(image->dim[1 + i], ll_add(w->before[i], w->after[i]));
        uint64_t span = ll_sub(padded, reach(w, i));
        if (!ll_fits(span) || span % w->stride[i] == 0)
            continue;
        uint64_t last = ll_mul(span / w->stride[i] + 1, w->stride[i]);
        if (last < ll_add(image->dim[1 + i], w->before[i]))
            w->after[i] = ll_add(w->after[i], w->stride[i] - span % w->stride[i]);
    }
}

static bool onnx_attr_is(struct onnx *o, const char *name, const char *text)
{
    struct onnx_attr attr;
    return onnx_attr_find(o->node, name, &attr) && (size_t)(attr.text.end - attr.text.at) == strlen(text) &&
           memcmp(attr.text.at, text, strlen(text)) == 0;
}

static bool read_windows(struct onnx *o, const struct onnx_value *x, const uint64_t kernel[2],
                         struct windows *w)
{
    const struct ll_shape image = onnx_lay_out(&x->shape, ONNX_IMAGE);
    unsigned dims = x->shape.rank - 2u;
    *w = (struct windows){.kernel = {kernel[0], kernel[1]}};
    if (!read_pair(o, "strides", dims, 1, w->stride) || !read_pair(o, "dilations", dims, 1, w->dilation) ||
        !read_pads(o, dims, w))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (w->kernel[i] == 0 || w->stride[i] == 0 || w->dilation[i] == 0 || !ll_fits(reach(w, i)))
            return onnx_refuse(o, "a window, a stride and a dilation must be positive");
    bool upper = onnx_attr_is(o, "auto_pad", "SAME_UPPER");
    if (upper || onnx_attr_is(o, "auto_pad", "SAME_LOWER"))
        pad_same(&image, upper, w);
    if (onnx_attr_integer(o, "ceil_mode", 0) != 0)
        pad_up(&image, w);
    return true;
}

/* The attributes that the op table knows; up to 11. */
static uint32_t window_attrs(const struct windows *w, uint64_t groups, struct ll_attr attrs[static 11])
{
    const struct {
        enum ll_attr_key key;
        uint64_t value, usual;
    } rows[] = {{LL_ATTR_STRIDE_H, w->stride[0], 1},
                {LL_ATTR_STRIDE_W, w->stride[1], 1},
                {LL_ATTR_PAD_TOP, w->before[0], 0},
                {LL_ATTR_PAD_LEFT, w->before[1], 0},
                {LL_ATTR_PAD_BOTTOM, w->after[0], 0},
                {LL_ATTR_PAD_RIGHT, w->after[1], 0},
                {LL_ATTR_DILATION_H, w->dilation[0], 1},
                {LL_ATTR_DILATION_W, w->dilation[1], 1},
                {LL_ATTR_GROUPS, groups, 1}};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value != rows[i].usual)
            attrs[count++] = (struct ll_attr){.key = rows[i].key, .count = (int64_t)rows[i].value};
    return count;
}

/* An image of the trace as ONNX has it, of rank 3 or 4. */
static struct ll_shape onnx_order(const struct ll_shape *image, unsigned rank)
{
    struct ll_shape shape = {
        .rank = (uint8_t)rank, .dtype = image->dtype, .dim = {image->dim[0], image->dim[3]}};
    if (rank == 4)
        shape.dim[2] = image->dim[1];
    shape.dim[rank - 1] = image->dim[2];
    return shape;
}

/* Adds a bias of one number for each channel, if there is one, and gives the result. */
static bool finish_conv(struct onnx *o, struct ll_imported y, unsigned rank, struct onnx_value *bias)
{
    if (bias) {
        const struct ll_imported in[2] = {y, onnx_take(o, bias, ONNX_PLAIN)};
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, &y))
            return false;
    }
    const struct ll_shape shape = onnx_order(&y.shape, rank);
    onnx_put(o, 0, y, ONNX_IMAGE, &shape);
    return true;
}

/* The image and the filter of a convolution, and how the windows lie. */
static bool read_conv(struct onnx *o, struct onnx_value **x, uint32_t at, struct onnx_value **filter,
                      struct windows *w)
{
    *x = onnx_need(o, 0);
    *filter = onnx_need(o, at);
    if (!*x || !*filter || !spatial(o, *x))
        return false;
    if ((*filter)->shape.rank != (*x)->shape.rank)
        return onnx_refuse(o, "the filter must have as many dimensions as the image");
    const struct ll_shape laid_out = onnx_lay_out(&(*filter)->shape, ONNX_FILTER);
    return read_windows(o, *x, laid_out.dim, w);
}

/* By the filter that is input `at`; what comes out is of this type, NULL: of the image's. */
static bool convolve(struct onnx *o, uint32_t at, const enum ll_dtype *dtype)
{
    struct onnx_value *x, *filter;
    struct windows w;
    struct ll_attr attrs[11];
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!read_conv(o, &x, at, &filter, &w))
        return false;
    const struct ll_imported in[2] = {onnx_take(o, x, ONNX_IMAGE), onnx_take(o, filter, ONNX_FILTER)};
    int64_t groups = onnx_attr_integer(o, "group", 1);
    const struct ll_import_op op = {.kind = LL_OP_CONV2D,
                                    .in = in,
                                    .in_count = 2,
                                    .attrs = attrs,
                                    .attr_count = window_attrs(&w, (uint64_t)groups, attrs),
                                    .dtype = dtype};
    unsigned rank = x->shape.rank;
    return onnx_emit(o, &op, out) && finish_conv(o, out[0], rank, dtype ? NULL : onnx_input(o, 2));
}

bool onnx_rule_CONV(struct onnx *o)
{
    return convolve(o, 1, NULL);
}

/* Bytes in, bytes out: its scales, zero points and bias are part of it, as libraries have it. */
bool onnx_rule_QLINEAR_CONV(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *zero = onnx_input(o, 7);
    if (!x)
        return false;
    const enum ll_dtype dtype = (enum ll_dtype)(zero ? zero : x)->shape.dtype;
    return convolve(o, 3, &dtype);
}

bool onnx_rule_CONV_INTEGER(struct onnx *o)
{
    const enum ll_dtype dtype = LL_I32;
    return convolve(o, 1, &dtype);
}

/* The image whose windows are so many: what a convolution's gradient gives. Where the file tells its size, or
 * that it grows by the stride (SAME), what is too much is padding, the odd one in front, but of SAME_UPPER
 * behind. */
static bool transposed_extent(struct onnx *o, const struct ll_shape *x, uint64_t channels, struct windows *w,
                              struct ll_shape *out)
{
    uint64_t more[2], asked[2];
    unsigned dims = onnx_input(o, 0)->shape.rank - 2u;
    bool upper = onnx_attr_is(o, "auto_pad", "SAME_UPPER"),
         same = upper || onnx_attr_is(o, "auto_pad", "SAME_LOWER");
    if (!read_pair(o, "output_padding", dims, 0, more) || !read_pair(o, "output_shape", dims, 0, asked))
        return false;
    more[0] = dims == 2 ? more[0] : 0;
    asked[0] = dims == 2 ? asked[0] : 0;
    *out = *x;
    out->dim[3] = channels;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t whole =
            ll_add(ll_mul(x->dim[1 + i] ? x->dim[1 + i] - 1 : 0, w->stride[i]), ll_add(reach(w, i), more[i]));
        bool told = asked[i] > 0 || same;
        uint64_t size = asked[i] > 0 ? asked[i] : ll_mul(x->dim[1 + i], w->stride[i]);
        if (told) {
            uint64_t pad = whole > size ? whole - size : 0;
            w->before[i] = upper ? pad / 2 : pad - pad / 2;
            w->after[i] = pad - w->before[i];
        }
        out->dim[1 + i] = told ? size : ll_sub(whole, ll_add(w->before[i], w->after[i]));
        if (!ll_fits(out->dim[1 + i]) || !ll_fits(whole))
            return onnx_refuse(o, "the padding is larger than the result");
    }
    return true;
}

/* ConvTranspose is the data gradient of a convolution: the input plays the result, the output the image,
 * whose size follows from strides, pads and output_padding. */
bool onnx_rule_CONV_TRANSPOSE(struct onnx *o)
{
    struct onnx_value *x, *filter;
    struct windows w;
    struct ll_attr attrs[11];
    struct ll_shape image;
    int64_t groups = onnx_attr_integer(o, "group", 1);
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!read_conv(o, &x, 1, &filter, &w))
        return false;
    const struct ll_imported in[2] = {onnx_take(o, x, ONNX_IMAGE), onnx_take(o, filter, ONNX_FILTER)};
    if (!transposed_extent(o, &in[0].shape, ll_mul(in[1].shape.dim[2], (uint64_t)groups), &w, &image))
        return false;
    const struct ll_import_op op = {.kind = LL_OP_CONV2D_DATA,
                                    .in = in,
                                    .in_count = 2,
                                    .attrs = attrs,
                                    .attr_count = window_attrs(&w, (uint64_t)groups, attrs),
                                    .given = &image,
                                    .given_count = 1};
    unsigned rank = x->shape.rank;
    return onnx_emit(o, &op, out) && finish_conv(o, out[0], rank, onnx_input(o, 2));
}

/* MaxPool and AveragePool: windows as of convolutions; ceil_mode makes room for one that is only partly
 * filled. */
bool onnx_rule_POOL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    uint64_t kernel[2];
    struct windows w;
    struct ll_attr attrs[11];
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!x || !spatial(o, x) || !read_pair(o, "kernel_shape", x->shape.rank - 2u, 1, kernel) ||
        !read_windows(o, x, kernel, &w))
        return false;
    uint32_t count = window_attrs(&w, 1, attrs);
    attrs[count++] = (struct ll_attr){.key = LL_ATTR_KERNEL_H, .count = (int64_t)kernel[0]};
    attrs[count++] = (struct ll_attr){.key = LL_ATTR_KERNEL_W, .count = (int64_t)kernel[1]};
    const struct ll_imported in = onnx_take(o, x, ONNX_IMAGE);
    const struct ll_import_op op = {
        .kind = o->row->kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = count};
    unsigned rank = x->shape.rank;
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_shape shape = onnx_order(&out[0].shape, rank);
    onnx_put(o, 0, out[0], ONNX_IMAGE, &shape);
    return true;
}

/* Everything but batch and channel becomes one. */
bool onnx_rule_GLOBAL_POOL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!x || x->shape.rank < 3 || x->shape.rank > 5 || onnx_attr_integer(o, "channels_last", 0) != 0)
        return x && onnx_refuse(o, "it pools images and signals, whose channels are the second dimension");
    struct ll_shape shape = x->shape;
    for (unsigned i = 2; i < shape.rank; i++)
        shape.dim[i] = 1;
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 2}};
    const struct ll_imported in = onnx_take(o, x, ONNX_IMAGE);
    const struct ll_import_op op = {
        .kind = o->row->kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_shape image = onnx_lay_out(&shape, ONNX_IMAGE);
    onnx_put(o, 0, onnx_view(o, out[0], &image), ONNX_IMAGE, &shape);
    return true;
}

/* Sizes that keep the ratio of sides: one factor for all, the least or the largest of those asked for. */
static void keep_ratio(struct onnx *o, const struct ll_shape *x, const int64_t *axes, uint64_t count,
                       double *sizes)
{
    bool larger = onnx_attr_is(o, "keep_aspect_ratio_policy", "not_smaller");
    double factor = larger ? 0 : INFINITY;
    if (!larger && !onnx_attr_is(o, "keep_aspect_ratio_policy", "not_larger"))
        return;
    for (uint64_t i = 0; i < count; i++) {
        double one = sizes[i] / (double)x->dim[axes[i]];
        factor = larger ? fmax(factor, one) : fmin(factor, one);
    }
    for (uint64_t i = 0; i < count; i++)
        sizes[i] = floor(factor * (double)x->dim[axes[i]] + 0.5);
}

/* The new sizes, as they are or as factors of the old ones, perhaps of some axes alone; the inputs have moved
 * between versions. Where only a run knows them, as the file tells the result. */
static bool resized(struct onnx *o, const struct ll_shape *x, struct ll_shape *shape)
{
    uint32_t scales_at = o->file.opset >= 11 ? 2 : 1, sizes_at = 3;
    struct onnx_value *scales = onnx_input(o, scales_at), *sizes = onnx_input(o, sizes_at);
    const double *numbers = sizes ? onnx_numbers(o, sizes) : scales ? onnx_numbers(o, scales) : NULL;
    double list[LL_MAX_RANK];
    int64_t axes[LL_MAX_RANK];
    struct onnx_attr attr;
    uint64_t count = numbers ? ll_elements(sizes ? &sizes->shape : &scales->shape) : 0;
    uint64_t axis_count = onnx_attr_list(o, "axes", axes, LL_MAX_RANK);
    if (onnx_attr_find(o->node, "scales", &attr)) /* up to version 8 */
        count = onnx_attr_reals(&attr, list, LL_MAX_RANK);
    else if (numbers && count <= LL_MAX_RANK)
        memcpy(list, numbers, count * sizeof *list);
    for (unsigned i = 0; axis_count == 0 && i < x->rank; i++)
        axes[i] = i;
    axis_count = axis_count ? axis_count : x->rank;
    if (count == 0 && onnx_told(o, 0, shape) && shape->rank == x->rank)
        return true;
    *shape = *x;
    if (count != axis_count)
        return onnx_refuse(o, "the new sizes are not known before it runs, or not one for each dimension");
    for (uint64_t i = 0; i < count; i++) {
        unsigned axis;
        if (!onnx_axis(o, axes[i], x->rank, &axis))
            return false;
        axes[i] = axis;
    }
    if (sizes)
        keep_ratio(o, x, axes, count, list);
    for (uint64_t i = 0; i < count; i++) {
        double size = sizes ? list[i] : (double)x->dim[axes[i]] * list[i];
        shape->dim[axes[i]] = size >= 0 && size < 0x1p53 ? (uint64_t)size : LL_NO_FIT;
    }
    return ll_fits(ll_size_bytes(shape)) || onnx_refuse(o, "the new sizes are impossible");
}

/* Resize and Upsample: the size follows from scales or is given; which interpolation is used changes no
 * count here. */
bool onnx_rule_RESIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_shape shape;
    if (!x || !resized(o, &x->shape, &shape))
        return false;
    bool image = x->shape.rank == 4 || x->shape.rank == 3;
    bool nearest = !onnx_attr_has(o, "mode") || onnx_attr_is(o, "mode", "nearest");
    enum onnx_layout layout = image ? ONNX_IMAGE : ONNX_PLAIN;
    const struct ll_imported in = onnx_take(o, x, layout);
    const struct ll_shape given = onnx_lay_out(&shape, layout);
    struct ll_imported out;
    if (!onnx_emit_simple(o, nearest ? LL_OP_RESIZE_NEAREST : LL_OP_RESIZE_LINEAR, &in, 1, &given, &out))
        return false;
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

/* Norms. */

/* Inputs from `first` on are numbers for each channel, of images or of rows. */
static bool take_channels(struct onnx *o, uint32_t first, uint32_t count, struct ll_imported *in)
{
    for (uint32_t i = first; i < first + count; i++) {
        struct onnx_value *value = onnx_need(o, i);
        if (!value)
            return false;
        const struct ll_shape list = {
            .rank = 1, .dtype = value->shape.dtype, .dim = {ll_elements(&value->shape)}};
        in[i] = onnx_view(o, onnx_take(o, value, ONNX_PLAIN), &list);
    }
    return true;
}

/* A norm of an image along its channels, or of anything along its last dimension. */
static bool normalise(struct onnx *o, struct onnx_value *x, uint32_t factors)
{
    enum onnx_layout layout = x->shape.rank >= 3 && x->shape.rank <= 5 ? ONNX_IMAGE : ONNX_PLAIN;
    struct ll_imported in[5], out[LL_MAX_OUTPUTS];
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, x, layout);
    if (!take_channels(o, 1, factors, in))
        return false;
    const struct ll_import_op op = {.kind = o->row->kind, .in = in, .in_count = 1 + factors};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], layout, &shape);
    return true;
}

/* In training by the statistics of the batch, which its running averages then follow: a mean and a variance
 * for each channel. Up to version 13 who asks for them trains. */
bool onnx_rule_BATCH_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *averages[2] = {onnx_need(o, 3), onnx_need(o, 4)};
    struct ll_imported in[3], out[LL_MAX_OUTPUTS];
    uint32_t asked = 0;
    for (uint32_t i = 1; i < o->node->output_count; i++)
        asked += o->node->outputs[i] != LL_NO_ID;
    bool old = o->file.opset > 0 && o->file.opset < 14;
    bool trains = onnx_attr_integer(o, "training_mode", 0) != 0 || (old && asked > 0);
    if (!x || !averages[0] || !averages[1] || !trains)
        return x && averages[0] && averages[1] && normalise(o, x, 4);
    bool image = x->shape.rank >= 3 && x->shape.rank <= 5;
    enum onnx_layout layout = image ? ONNX_IMAGE : ONNX_PLAIN;
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, x, layout);
    if (!take_channels(o, 1, 2, in))
        return false;
    const struct ll_import_op op = {.kind = LL_OP_BATCH_NORM, .in = in, .in_count = 3};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], layout, &shape);
    for (uint32_t i = 3; i < 5; i++) { /* what old versions keep for the way back */
        const struct ll_shape list = out[i - 2].shape;
        onnx_put(o, i, out[i - 2], ONNX_PLAIN, &list);
    }
    for (uint32_t i = 1; i < 3 && i < o->node->output_count; i++) {
        const struct ll_imported both[2] = {onnx_take(o, averages[i - 1], ONNX_PLAIN), out[i]};
        struct ll_imported average;
        if (o->node->outputs[i] == LL_NO_ID)
            continue;
        if (!onnx_emit_simple(o, LL_OP_MOVING_AVERAGE, both, 2, NULL, &average))
            return false;
        const struct ll_shape list = average.shape;
        onnx_put(o, i, average, ONNX_PLAIN, &list);
    }
    return true;
}

/* By instance, or by groups of channels: one factor and one number to add for each channel. */
bool onnx_rule_GROUP_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *scale = onnx_need(o, 1);
    if (!x || !scale)
        return false;
    if (x->shape.rank < 3 || x->shape.rank > 5 || ll_elements(&scale->shape) != x->shape.dim[1])
        return onnx_refuse(o, "there must be an image, and one factor for each of its channels");
    return normalise(o, x, 2);
}

/* com.microsoft: images whose channels are the last dimension unless it says otherwise, perhaps a swish
 * behind. */
bool onnx_rule_GROUP_NORM_LAST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    bool last = onnx_attr_integer(o, "channels_last", 1) != 0;
    struct ll_imported in[3], out[LL_MAX_OUTPUTS];
    if (!x || x->shape.rank < 3 || x->shape.rank > 5)
        return x && onnx_refuse(o, "there must be an image");
    enum onnx_layout layout = last ? ONNX_PLAIN : ONNX_IMAGE;
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, x, layout);
    if (!take_channels(o, 1, 2, in))
        return false;
    const struct ll_import_op op = {.kind = o->row->kind, .in = in, .in_count = 3};
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_imported y = out[0];
    if (onnx_attr_integer(o, "activation", 0) != 0 && !onnx_swish(o, y, &out[0]))
        return false;
    onnx_put(o, 0, out[0], layout, &shape);
    return true;
}

/* Rows of all dimensions from the axis on. */
static bool normalise_rows(struct onnx *o, enum ll_op_kind kind, struct ll_imported x,
                           const struct ll_shape *shape, unsigned axis, uint32_t first)
{
    struct ll_shape rows = {.rank = 2, .dtype = shape->dtype, .dim = {1, 1}};
    for (unsigned i = 0; i < shape->rank; i++)
        rows.dim[i >= axis] = ll_mul(rows.dim[i >= axis], shape->dim[i]);
    if (axis + 1u == shape->rank)
        rows = *shape;
    struct ll_imported in[5], out[LL_MAX_OUTPUTS];
    uint32_t factors = onnx_input(o, first + 1) && kind == LL_OP_LAYER_NORM ? 2 : 1;
    if (!take_channels(o, first, factors, in))
        return false;
    in[first - 1] = onnx_view(o, x, &rows);
    const struct ll_import_op op = {.kind = kind, .in = in + first - 1, .in_count = 1 + factors};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, onnx_view(o, out[0], shape), ONNX_PLAIN, shape);
    return true;
}

bool onnx_rule_LAYER_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    unsigned axis;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", -1), x->shape.rank, &axis))
        return false;
    const struct ll_shape shape = x->shape;
    return normalise_rows(o, o->row->kind, onnx_take(o, x, ONNX_PLAIN), &shape, axis, 1);
}

/* com.microsoft: a sum of two, then a norm. */
bool onnx_rule_SKIP_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *skip = onnx_need(o, 1);
    if (!x || !skip || x->shape.rank == 0)
        return x && skip && onnx_refuse(o, "there is no row");
    const struct ll_imported in[2] = {onnx_take(o, x, ONNX_PLAIN), onnx_take(o, skip, ONNX_PLAIN)};
    const struct ll_shape shape = x->shape;
    struct ll_imported sum[2];
    struct onnx_value *bias = onnx_input(o, o->row->kind == LL_OP_LAYER_NORM ? 4 : 3);
    if (!onnx_emit_simple(o, LL_OP_ADD, in, 2, NULL, &sum[0]))
        return false;
    if (bias) {
        sum[1] = onnx_take(o, bias, ONNX_PLAIN);
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, sum, 2, NULL, &sum[0]))
            return false;
    }
    onnx_put(o, 3, sum[0], ONNX_PLAIN, &shape);
    return normalise_rows(o, o->row->kind, sum[0], &shape, shape.rank - 1u, 2);
}

/* LRN: local response normalisation over `size` channels. */
bool onnx_rule_LRN(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t size = onnx_attr_integer(o, "size", 1);
    if (!x || !spatial(o, x) || size < 1)
        return x && size < 1 && onnx_refuse(o, "its window has no size");
    const struct ll_attr attr = {.key = LL_ATTR_RADIUS, .count = (size - 1) / 2};
    const struct ll_imported in = onnx_take(o, x, ONNX_IMAGE);
    const struct ll_shape shape = x->shape;
    const struct ll_import_op op = {
        .kind = LL_OP_LRN, .in = &in, .in_count = 1, .attrs = &attr, .attr_count = 1};
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], ONNX_IMAGE, &shape);
    return true;
}
