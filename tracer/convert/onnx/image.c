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
    if (!onnx_attr_has(o, "axes") && onnx_told_instead(o, 1, left) &&
        elements % ll_max(1, ll_elements(left)) == 0) {
        *sides = (struct ll_shape){.rank = 2,
                                   .dtype = shape->dtype,
                                   .dim = {ll_elements(left), elements / ll_max(1, ll_elements(left))}};
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

/* The logarithm of what is left. */
bool onnx_rule_REDUCE_LOG(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_shape sides, left;
    struct ll_imported y;
    if (!x || !sides_of_reduction(o, &x->shape, &left, &sides))
        return false;
    y = onnx_view(o, onnx_take(o, x, onnx_layout_of(o, x)), &sides);
    if (!onnx_reduce_rows(o, o->row->kind, y, &y) || !onnx_emit_simple(o, LL_OP_LOG, &y, 1, NULL, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &left), ONNX_PLAIN, &left);
    return true;
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

struct ll_shape onnx_rows(const struct ll_shape *shape, unsigned axis)
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
    *rows = onnx_rows(shape, axis);
    for (unsigned i = axis + 1; old && i < shape->rank; i++) {
        rows->dim[1] = ll_mul(rows->dim[1], shape->dim[i]);
        rows->dim[0] = shape->dim[i] ? rows->dim[0] / shape->dim[i] : 0;
    }
    return true;
}

/* Hardmax: one where the largest of each row is, zero elsewhere. */
bool onnx_rule_HARDMAX(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_shape rows;
    struct ll_imported places, y[LL_MAX_OUTPUTS];
    if (!x || !softmax_rows(o, &x->shape, &rows))
        return false;
    const struct ll_imported in = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &rows);
    const struct ll_shape shape = x->shape;
    const struct ll_attr depth = {.key = LL_ATTR_DEPTH, .count = (int64_t)rows.dim[1]};
    const struct ll_import_op op = {.kind = LL_OP_ONE_HOT,
                                    .in = &places,
                                    .in_count = 1,
                                    .attrs = &depth,
                                    .attr_count = 1,
                                    .given = &rows,
                                    .given_count = 1};
    if (!onnx_emit_simple(o, LL_OP_ARGMAX, &in, 1, NULL, &places) || !onnx_emit(o, &op, y))
        return false;
    onnx_put(o, 0, onnx_view(o, y[0], &shape), ONNX_PLAIN, &shape);
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
    const struct ll_shape sides = onnx_rows(&x->shape, axis);
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

/* How windows lie along depth, height and width; what an image has not is 1. */
enum { DEPTH, HEIGHT, WIDTH, SIDES };
struct windows {
    uint64_t kernel[SIDES], stride[SIDES], dilation[SIDES], before[SIDES], after[SIDES];
    uint64_t image[SIDES]; /* what they slide over */
    unsigned dims;         /* of it, 1 to 3 */
};

static bool spatial(struct onnx *o, const struct onnx_value *x)
{
    if (onnx_attr_integer(o, "channels_last", 0) != 0) /* of those of com.microsoft */
        return onnx_refuse(o, "images whose channels are the last dimension are not supported here");
    if (x->shape.rank >= 3 && x->shape.rank <= 5)
        return true;
    return onnx_refuse(o,
                       "its input has %d dimensions; signals (3), images (4) and volumes (5) are supported",
                       x->shape.rank);
}

/* A list of an attribute for each side; `otherwise` where nothing is said. */
static bool read_sides(struct onnx *o, const char *name, unsigned dims, uint64_t otherwise,
                       uint64_t sides[SIDES])
{
    int64_t list[SIDES];
    uint64_t count = onnx_attr_list(o, name, list, SIDES);
    for (unsigned i = 0; i < SIDES; i++)
        sides[i] = i + dims < SIDES ? 1 : otherwise;
    if (count == 0)
        return true;
    for (uint64_t i = 0; i < dims; i++) {
        if (count != dims || list[i] < 0 || list[i] > INT32_MAX)
            return onnx_refuse(o, "`%s` must have a size for each of the %u dimensions of the image", name,
                               dims);
        sides[SIDES - dims + i] = (uint64_t)list[i];
    }
    return true;
}

/* Explicit padding: in front along each dimension, then behind. */
static bool read_pads(struct onnx *o, unsigned dims, struct windows *w)
{
    int64_t list[2 * SIDES] = {0};
    uint64_t count = onnx_attr_list(o, "pads", list, 2 * SIDES);
    if (count != 0 && count != 2 * dims)
        return onnx_refuse(o, "`pads` must have two sizes for each of the %u dimensions of the image", dims);
    for (unsigned i = 0; i < dims; i++) {
        if (list[i] < 0 || list[i + dims] < 0 || list[i] > INT32_MAX || list[i + dims] > INT32_MAX)
            return onnx_refuse(o, "padding cannot be negative");
        w->before[SIDES - dims + i] = (uint64_t)list[i];
        w->after[SIDES - dims + i] = (uint64_t)list[i + dims];
    }
    return true;
}

static uint64_t reach(const struct windows *w, unsigned i)
{
    return ll_window_reach(w->kernel[i], w->dilation[i]);
}

/* How many windows lie along a side; LL_NO_FIT where none fits. */
static uint64_t windows_along(const struct windows *w, unsigned i)
{
    uint64_t padded = ll_add(w->image[i], ll_add(w->before[i], w->after[i])),
             span = ll_sub(padded, reach(w, i));
    return ll_fits(span) ? span / w->stride[i] + 1 : LL_NO_FIT;
}

/* SAME: as many windows as strides fit into the image, the padding shared, the odd one behind or in front. */
static void pad_same(bool upper, struct windows *w)
{
    for (unsigned i = 0; i < SIDES; i++) {
        uint64_t in = w->image[i], out = ll_ceil_div(in, w->stride[i]);
        uint64_t needed = ll_add(ll_mul(out ? out - 1 : 0, w->stride[i]), reach(w, i));
        uint64_t pad = needed > in ? needed - in : 0;
        w->before[i] = upper ? pad / 2 : pad - pad / 2;
        w->after[i] = pad - w->before[i];
    }
}

/* Rounding up: padding behind until the last window that begins inside the image or in front of it is whole.
 */
static void pad_up(struct windows *w)
{
    for (unsigned i = 0; i < SIDES; i++) {
        uint64_t padded = ll_add(w->image[i], ll_add(w->before[i], w->after[i]));
        uint64_t span = ll_sub(padded, reach(w, i));
        if (!ll_fits(span) || span % w->stride[i] == 0)
            continue;
        uint64_t last = ll_mul(span / w->stride[i] + 1, w->stride[i]);
        if (last < ll_add(w->image[i], w->before[i]))
            w->after[i] = ll_add(w->after[i], w->stride[i] - span % w->stride[i]);
    }
}

static bool read_windows(struct onnx *o, const struct onnx_value *x, const uint64_t kernel[SIDES],
                         struct windows *w)
{
    unsigned dims = x->shape.rank - 2u;
    *w = (struct windows){
        .kernel = {kernel[DEPTH], kernel[HEIGHT], kernel[WIDTH]}, .image = {1, 1, 1}, .dims = dims};
    for (unsigned i = 0; i < dims; i++)
        w->image[SIDES - dims + i] = x->shape.dim[2 + i];
    if (!read_sides(o, "strides", dims, 1, w->stride) || !read_sides(o, "dilations", dims, 1, w->dilation) ||
        !read_pads(o, dims, w))
        return false;
    for (unsigned i = 0; i < SIDES; i++)
        if (w->kernel[i] == 0 || w->stride[i] == 0 || w->dilation[i] == 0 || !ll_fits(reach(w, i)))
            return onnx_refuse(o, "a window, a stride and a dilation must be positive");
    bool upper = onnx_attr_is(o, "auto_pad", "SAME_UPPER");
    if (upper || onnx_attr_is(o, "auto_pad", "SAME_LOWER"))
        pad_same(upper, w);
    if (onnx_attr_integer(o, "ceil_mode", 0) != 0)
        pad_up(w);
    return true;
}

/* The attributes that the op table knows; up to 11. */
static uint32_t window_attrs(const struct windows *w, uint64_t groups, struct ll_attr attrs[static 11])
{
    const struct {
        enum ll_attr_key key;
        uint64_t value, usual;
    } rows[] = {{LL_ATTR_STRIDE_H, w->stride[HEIGHT], 1},
                {LL_ATTR_STRIDE_W, w->stride[WIDTH], 1},
                {LL_ATTR_PAD_TOP, w->before[HEIGHT], 0},
                {LL_ATTR_PAD_LEFT, w->before[WIDTH], 0},
                {LL_ATTR_PAD_BOTTOM, w->after[HEIGHT], 0},
                {LL_ATTR_PAD_RIGHT, w->after[WIDTH], 0},
                {LL_ATTR_DILATION_H, w->dilation[HEIGHT], 1},
                {LL_ATTR_DILATION_W, w->dilation[WIDTH], 1},
                {LL_ATTR_GROUPS, groups, 1}};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value != rows[i].usual)
            attrs[count++] = (struct ll_attr){.key = rows[i].key, .count = (int64_t)rows[i].value};
    return count;
}

/* A tensor whose elements are read from another one's, some perhaps more than once. */
static bool see_as(struct onnx *o, struct ll_imported in, const struct ll_shape *shape,
                   struct ll_imported *out)
{
    return onnx_emit_simple(o, LL_OP_SEEN_AS, &in, 1, shape, out);
}

/* Slices along the depth: a volume is as many images as there are windows along it, each with the channels of
 * all slices that a window reaches, as a library gathers them before it multiplies. */
static bool take_slices(struct onnx *o, struct onnx_value *x, uint64_t images, uint64_t depth,
                        const struct windows *w, struct ll_imported *out)
{
    *out = onnx_take(o, x, ONNX_IMAGE);
    if (w->dims < SIDES)
        return true;
    const struct ll_shape seen = {.rank = 4,
                                  .dtype = x->shape.dtype,
                                  .dim = {ll_mul(x->shape.dim[0], images), w->image[HEIGHT], w->image[WIDTH],
                                          ll_mul(x->shape.dim[1], depth)}};
    return see_as(o, *out, &seen, out);
}

/* Images become those of a volume's slices again, and output i of the node. */
static void put_image(struct onnx *o, uint32_t i, struct ll_imported y, const struct onnx_value *x,
                      uint64_t slices)
{
    unsigned rank = x->shape.rank;
    struct ll_shape shape = {
        .rank = (uint8_t)rank, .dtype = y.shape.dtype, .dim = {x->shape.dim[0], y.shape.dim[3]}};
    if (rank == 5)
        shape.dim[2] = slices;
    if (rank > 3)
        shape.dim[rank - 2] = y.shape.dim[1];
    shape.dim[rank - 1] = y.shape.dim[2];
    const struct ll_shape image = onnx_lay_out(&shape, ONNX_IMAGE);
    onnx_put(o, i, onnx_view(o, y, &image), ONNX_IMAGE, &shape);
}

/* Adds a bias of one number for each channel, if there is one. */
static bool add_bias(struct onnx *o, struct onnx_value *bias, struct ll_imported *y)
{
    if (!bias)
        return true;
    const struct ll_imported in[2] = {*y, onnx_take(o, bias, ONNX_PLAIN)};
    return onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, y);
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
    uint64_t kernel[SIDES] = {1, 1, 1};
    for (unsigned i = 2; i < (*filter)->shape.rank; i++)
        kernel[SIDES + i - (*filter)->shape.rank] = (*filter)->shape.dim[i];
    return read_windows(o, *x, kernel, w);
}

/* By the filter that is input `at`; what comes out is of this type, NULL: of the image's. */
static bool convolve(struct onnx *o, uint32_t at, const enum ll_dtype *dtype)
{
    struct onnx_value *x, *filter;
    struct windows w;
    struct ll_attr attrs[11];
    struct ll_imported out[LL_MAX_OUTPUTS], in[2];
    if (!read_conv(o, &x, at, &filter, &w))
        return false;
    uint64_t slices = windows_along(&w, DEPTH);
    if (!ll_fits(slices))
        return onnx_refuse(o, "its windows do not fit into the volume");
    if (!take_slices(o, x, slices, w.kernel[DEPTH], &w, &in[0]))
        return false;
    in[1] = onnx_take(o, filter, ONNX_FILTER);
    int64_t groups = onnx_attr_integer(o, "group", 1);
    const struct ll_import_op op = {.kind = LL_OP_CONV2D,
                                    .in = in,
                                    .in_count = 2,
                                    .attrs = attrs,
                                    .attr_count = window_attrs(&w, (uint64_t)groups, attrs),
                                    .dtype = dtype};
    if (!onnx_emit(o, &op, out) || !add_bias(o, dtype ? NULL : onnx_input(o, 2), &out[0]))
        return false;
    put_image(o, 0, out[0], x, slices);
    return true;
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

/* The sides of the image whose windows are so many: what a convolution's gradient gives. Where the file tells
 * its size, or that it grows by the stride (SAME), what is too much is padding, the odd one in front, but of
 * SAME_UPPER behind. */
static bool transposed_extent(struct onnx *o, struct windows *w, uint64_t sides[SIDES])
{
    uint64_t more[SIDES], asked[SIDES];
    bool upper = onnx_attr_is(o, "auto_pad", "SAME_UPPER"),
         same = upper || onnx_attr_is(o, "auto_pad", "SAME_LOWER");
    if (!read_sides(o, "output_padding", w->dims, 0, more) ||
        !read_sides(o, "output_shape", w->dims, 0, asked))
        return false;
    for (unsigned i = 0; i < SIDES; i++) {
        bool there = i + w->dims >= SIDES;
        uint64_t whole = ll_add(ll_mul(w->image[i] ? w->image[i] - 1 : 0, w->stride[i]),
                                ll_add(reach(w, i), there ? more[i] : 0));
        bool told = there && (asked[i] > 0 || same);
        uint64_t size = asked[i] > 0 ? asked[i] : ll_mul(w->image[i], w->stride[i]);
        if (told) {
            uint64_t pad = whole > size ? whole - size : 0;
            w->before[i] = upper ? pad / 2 : pad - pad / 2;
            w->after[i] = pad - w->before[i];
        }
        sides[i] = told ? size : ll_sub(whole, ll_add(w->before[i], w->after[i]));
        if (!ll_fits(sides[i]) || !ll_fits(whole))
            return onnx_refuse(o, "the padding is larger than the result");
    }
    return true;
}

/* ConvTranspose is the data gradient of a convolution: the input plays the result, the output the image,
 * whose size follows from strides, pads and output_padding. Of a volume each slice spreads over as many
 * images as windows are deep, which lie upon each other. */
bool onnx_rule_CONV_TRANSPOSE(struct onnx *o)
{
    struct onnx_value *x, *filter;
    struct windows w;
    struct ll_attr attrs[11];
    uint64_t sides[SIDES];
    int64_t groups = onnx_attr_integer(o, "group", 1);
    struct ll_imported out[LL_MAX_OUTPUTS], in[2];
    if (!read_conv(o, &x, 1, &filter, &w) || !transposed_extent(o, &w, sides) ||
        !take_slices(o, x, w.image[DEPTH], 1, &w, &in[0]))
        return false;
    in[1] = onnx_take(o, filter, ONNX_FILTER);
    uint64_t channels = ll_mul(filter->shape.dim[1], (uint64_t)groups);
    const struct ll_shape image = {
        .rank = 4,
        .dtype = x->shape.dtype,
        .dim = {in[0].shape.dim[0], sides[HEIGHT], sides[WIDTH], ll_mul(channels, w.kernel[DEPTH])}};
    const struct ll_import_op op = {.kind = LL_OP_CONV2D_DATA,
                                    .in = in,
                                    .in_count = 2,
                                    .attrs = attrs,
                                    .attr_count = window_attrs(&w, (uint64_t)groups, attrs),
                                    .given = &image,
                                    .given_count = 1};
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_shape folded = {
        .rank = 4,
        .dtype = x->shape.dtype,
        .dim = {ll_mul(x->shape.dim[0], sides[DEPTH]), sides[HEIGHT], sides[WIDTH], channels}};
    if ((w.dims == SIDES && !see_as(o, out[0], &folded, &out[0])) || !add_bias(o, onnx_input(o, 2), &out[0]))
        return false;
    put_image(o, 0, out[0], x, sides[DEPTH]);
    return true;
}

/* Channels of slices that a window reaches do not meet in pooling: the slices lie below each other, a row of
 * each in turn. Windows with holes along the height are seen apart, a row each. */
static bool deepen(struct onnx *o, const struct onnx_value *x, uint64_t slices, struct windows *w,
                   struct ll_imported *in)
{
    uint64_t depth = w->kernel[DEPTH], high = windows_along(w, HEIGHT), wide = windows_along(w, WIDTH);
    if (w->dims < SIDES)
        return true;
    struct ll_shape seen = {.rank = 4,
                            .dtype = x->shape.dtype,
                            .dim = {ll_mul(x->shape.dim[0], slices), ll_mul(w->image[HEIGHT], depth),
                                    w->image[WIDTH], x->shape.dim[1]}};
    if (w->dilation[HEIGHT] == 1) {
        w->kernel[HEIGHT] = ll_mul(w->kernel[HEIGHT], depth);
        w->stride[HEIGHT] = ll_mul(w->stride[HEIGHT], depth);
        w->before[HEIGHT] = ll_mul(w->before[HEIGHT], depth);
        w->after[HEIGHT] = ll_mul(w->after[HEIGHT], depth);
        return see_as(o, *in, &seen, in);
    }
    uint64_t elements = ll_mul(depth, ll_mul(w->kernel[HEIGHT], w->kernel[WIDTH]));
    seen.dim[1] = high;
    seen.dim[2] = ll_mul(wide, elements);
    *w = (struct windows){.kernel = {1, 1, elements},
                          .stride = {1, 1, elements},
                          .dilation = {1, 1, 1},
                          .image = {1, seen.dim[1], seen.dim[2]},
                          .dims = SIDES};
    return see_as(o, *in, &seen, in);
}

/* Pools an image, or what became of one element by element: *y is both what is pooled and what comes out. */
static bool pool(struct onnx *o, enum ll_op_kind kind, const struct onnx_value *x, struct ll_imported *y,
                 uint64_t *slices)
{
    uint64_t kernel[SIDES];
    struct windows w;
    struct ll_attr attrs[11];
    struct ll_imported out[LL_MAX_OUTPUTS];
    bool places = kind == LL_OP_MAX_POOL && o->node->output_count > 1 && o->node->outputs[1] != LL_NO_ID;
    if (!read_sides(o, "kernel_shape", x->shape.rank - 2u, 1, kernel) || !read_windows(o, x, kernel, &w))
        return false;
    *slices = windows_along(&w, DEPTH);
    if (!ll_fits(*slices) || !ll_fits(windows_along(&w, HEIGHT)) || !ll_fits(windows_along(&w, WIDTH)))
        return onnx_refuse(o, "its windows do not fit into the image");
    if (!deepen(o, x, *slices, &w, y))
        return false;
    uint32_t count = window_attrs(&w, 1, attrs);
    attrs[count++] = (struct ll_attr){.key = LL_ATTR_KERNEL_H, .count = (int64_t)w.kernel[HEIGHT]};
    attrs[count++] = (struct ll_attr){.key = LL_ATTR_KERNEL_W, .count = (int64_t)w.kernel[WIDTH]};
    struct ll_import_op op = {.kind = kind, .in = y, .in_count = 1, .attrs = attrs, .attr_count = count};
    const char *trouble = places ? ll_import_look(o->import, &op, out) : NULL;
    if (trouble)
        return onnx_refuse(o, "%s", trouble);
    struct ll_shape given[2] = {out[0].shape, out[0].shape};
    given[1].dtype = LL_I64;
    if (places) { /* where each of the largest came from is written beside them */
        op.kind = LL_OP_MAX_POOL_PLACES;
        op.given = given;
        op.given_count = 2;
    }
    if (!onnx_emit(o, &op, out))
        return false;
    *y = out[0];
    put_image(o, 0, out[0], x, *slices);
    if (places)
        put_image(o, 1, out[1], x, *slices);
    return true;
}

/* MaxPool and AveragePool: windows as of convolutions; ceil_mode makes room for one that is only partly
 * filled. */
bool onnx_rule_POOL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    uint64_t slices;
    if (!x || !spatial(o, x))
        return false;
    y = onnx_take(o, x, ONNX_IMAGE);
    return pool(o, o->row->kind, x, &y, &slices);
}

/* LpPool: the p-th powers are averaged (a sum is one of the windows' sizes), then their root is taken. */
bool onnx_rule_LP_POOL(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t p = onnx_attr_integer(o, "p", 2);
    struct ll_imported y;
    uint64_t slices;
    if (!x || !spatial(o, x))
        return false;
    const struct onnx_value before = *x;
    y = onnx_take(o, x, ONNX_IMAGE);
    if (!onnx_emit_simple(o, p == 1 ? LL_OP_ABS : LL_OP_SQUARE, &y, 1, NULL, &y) ||
        !pool(o, LL_OP_AVG_POOL, x, &y, &slices))
        return false;
    if (p != 1 && !onnx_emit_simple(o, LL_OP_SQRT, &y, 1, NULL, &y))
        return false;
    put_image(o, 0, y, &before, slices);
    return true;
}

/* Everything but batch and channel becomes one: of the elements, or of a function of each, whose inverse is
 * taken of what comes out. */
static bool pool_all(struct onnx *o, enum ll_op_kind kind, enum ll_op_kind before, enum ll_op_kind behind)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!x || x->shape.rank < 3 || x->shape.rank > 5 || onnx_attr_integer(o, "channels_last", 0) != 0)
        return x && onnx_refuse(o, "it pools images and signals, whose channels are the second dimension");
    struct ll_shape shape = x->shape;
    for (unsigned i = 2; i < shape.rank; i++)
        shape.dim[i] = 1;
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 2}};
    struct ll_imported in = onnx_take(o, x, ONNX_IMAGE);
    const struct ll_import_op op = {.kind = kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if ((before != LL_OP_NONE && !onnx_emit_simple(o, before, &in, 1, NULL, &in)) ||
        !onnx_emit(o, &op, out) ||
        (behind != LL_OP_NONE && !onnx_emit_simple(o, behind, &out[0], 1, NULL, &out[0])))
        return false;
    const struct ll_shape image = onnx_lay_out(&shape, ONNX_IMAGE);
    onnx_put(o, 0, onnx_view(o, out[0], &image), ONNX_IMAGE, &shape);
    return true;
}

bool onnx_rule_GLOBAL_POOL(struct onnx *o)
{
    return pool_all(o, o->row->kind, LL_OP_NONE, LL_OP_NONE);
}

bool onnx_rule_GLOBAL_LP_POOL(struct onnx *o)
{
    bool squares = onnx_attr_integer(o, "p", 2) != 1;
    return pool_all(o, LL_OP_SUM, squares ? LL_OP_SQUARE : LL_OP_ABS, squares ? LL_OP_SQRT : LL_OP_NONE);
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
