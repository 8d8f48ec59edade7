/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that work element by element, or make few of many. */
#include "tracer/convert/onnx_rules.h"

/* The layout in which to work on each element. */
static enum onnx_layout layout_of(struct onnx *o, struct onnx_value *value)
{
    return onnx_is_image(o, value) ? ONNX_IMAGE : ONNX_PLAIN;
}

/* One op on each element of a value. */
static bool apply(struct onnx *o, enum ll_op_kind kind, struct onnx_value *x, struct ll_imported *y,
                  enum onnx_layout *layout)
{
    *layout = layout_of(o, x);
    struct ll_imported in = onnx_take(o, x, *layout);
    return onnx_emit_simple(o, kind, &in, 1, NULL, y);
}

bool onnx_rule_UNARY(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    enum onnx_layout layout;
    if (!x || !apply(o, o->row->kind, x, &y, &layout))
        return false;
    const struct ll_shape shape = x->shape;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

/* x tanh(log(1 + exp x)) (Misra, 2019) */
bool onnx_rule_MISH(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    enum onnx_layout layout;
    if (!x || !apply(o, LL_OP_SOFTPLUS, x, &y, &layout) || !onnx_emit_simple(o, LL_OP_TANH, &y, 1, NULL, &y))
        return false;
    const struct ll_imported pair[2] = {onnx_take(o, x, layout), y};
    const struct ll_shape shape = x->shape;
    if (!onnx_emit_simple(o, LL_OP_MUL, pair, 2, NULL, &y))
        return false;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

bool onnx_swish(struct onnx *o, struct ll_imported x, struct ll_imported *out)
{
    struct ll_imported pair[2] = {x};
    return onnx_emit_simple(o, LL_OP_SIGMOID, &x, 1, NULL, &pair[1]) &&
           onnx_emit_simple(o, LL_OP_MUL, pair, 2, NULL, out);
}

/* Its factor within the sigmoid costs nothing. */
bool onnx_rule_SWISH(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    if (!x)
        return false;
    enum onnx_layout layout = layout_of(o, x);
    const struct ll_shape shape = x->shape;
    if (!onnx_swish(o, onnx_take(o, x, layout), &y))
        return false;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

/* Where input 2 says that it trains, elements are drawn and left out; else nothing happens to them. */
bool onnx_rule_DROPOUT(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *trains = onnx_input(o, 2), *ratio = onnx_input(o, 1);
    const double *training = trains ? onnx_numbers(o, trains) : NULL,
                 *share = ratio ? onnx_numbers(o, ratio) : NULL;
    if (!x)
        return false;
    if (trains && !training)
        return onnx_refuse(o, "whether it trains is not known before it runs");
    if (!trains || *training == 0 || (share && *share == 0))
        return onnx_rule_IDENTITY(o);
    const struct ll_attr keep = {.key = LL_ATTR_KEEP, .real = 1 - (share ? *share : 0.5)};
    const struct ll_shape scalar = {.dtype = LL_F32}, shape = x->shape;
    enum onnx_layout layout = layout_of(o, x);
    struct ll_imported in[2] = {onnx_take(o, x, layout), {LL_NONE, scalar}}, out[LL_MAX_OUTPUTS];
    if (!o->folding)
        in[1] = ll_import_tensor(o->import, "step", &scalar, LL_WORKSPACE);
    const struct ll_import_op op = {
        .kind = LL_OP_DROPOUT, .in = in, .in_count = 2, .attrs = &keep, .attr_count = 1};
    if (!onnx_emit(o, &op, out))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        onnx_put(o, i, out[i], layout, &shape);
    return true;
}

/* A value as one of two that are joined: dimensions of 1 in front until it has `rank`, then laid out. */
static struct ll_imported take_padded(struct onnx *o, struct onnx_value *value, unsigned rank,
                                      enum onnx_layout layout)
{
    if (layout == ONNX_PLAIN || value->shape.rank == rank || value->shape.rank == 0)
        return onnx_take(o, value, value->shape.rank == 0 ? ONNX_PLAIN : layout);
    struct ll_shape padded = {.rank = (uint8_t)rank, .dtype = value->shape.dtype};
    unsigned before = rank - value->shape.rank;
    for (unsigned i = 0; i < rank; i++)
        padded.dim[i] = i < before ? 1 : value->shape.dim[i - before];
    padded = onnx_lay_out(&padded, layout);
    return onnx_view(o, onnx_take(o, value, ONNX_PLAIN), &padded);
}

/* Values to be joined element by element: in which layout, and the shape that comes out. */
static bool join(struct onnx *o, struct onnx_value *const *values, uint32_t count, struct ll_shape *shape,
                 enum onnx_layout *layout)
{
    *shape = values[0]->shape;
    *layout = layout_of(o, values[0]);
    for (uint32_t i = 1; i < count; i++) {
        struct ll_shape joined;
        if (!onnx_broadcast(shape, &values[i]->shape, &joined))
            return onnx_refuse(o, "the dimensions of its inputs do not fit together");
        *shape = joined;
        if (onnx_is_image(o, values[i]))
            *layout = ONNX_IMAGE;
    }
    if (shape->rank < 3 || shape->rank > 4)
        *layout = ONNX_PLAIN;
    return true;
}

/* Both of the same type: the second as the first. */
static bool alike(struct onnx *o, const struct ll_imported *first, struct ll_imported *second)
{
    if (first->shape.dtype == second->shape.dtype)
        return true;
    struct ll_shape shape = second->shape;
    shape.dtype = first->shape.dtype;
    const struct ll_imported in = *second;
    return onnx_emit_simple(o, LL_OP_CAST, &in, 1, &shape, second);
}

/* Up to version 6 the dimensions of the second lie at those of the first from `axis` on; the slopes of PRelu
 * are those of channels. *seen: its dimensions as NumPy wants them; false where they are so already. */
static bool lies_at_axis(struct onnx *o, const struct ll_shape *a, const struct ll_shape *b,
                         struct ll_shape *seen)
{
    bool slopes = o->row->kind == LL_OP_PRELU, old = o->file.opset > 0 && o->file.opset < 7;
    int64_t axis = onnx_attr_integer(o, "axis", slopes ? 1 : -1);
    if (!old || b->rank == 0 || ll_elements(b) == 1 || axis < 0 || axis + b->rank >= a->rank)
        return false;
    *seen = (struct ll_shape){.rank = a->rank, .dtype = b->dtype};
    for (unsigned i = 0; i < a->rank; i++)
        seen->dim[i] = i >= axis && i - axis < b->rank ? b->dim[i - axis] : 1;
    return true;
}

/* The first input and this one. */
static bool join_two(struct onnx *o, uint32_t second)
{
    struct onnx_value *values[2] = {onnx_need(o, 0), onnx_need(o, second)};
    struct ll_shape shape, seen;
    enum onnx_layout layout;
    if (!values[0] || !values[1])
        return false;
    bool at_axis = lies_at_axis(o, &values[0]->shape, &values[1]->shape, &seen);
    if (!join(o, values, at_axis ? 1 : 2, &shape, &layout))
        return false;
    struct ll_shape fits;
    if (at_axis && (!onnx_broadcast(&shape, &seen, &fits) || fits.rank != shape.rank))
        return onnx_refuse(o, "the dimensions of its inputs do not fit together");
    struct ll_imported in[2], out;
    for (unsigned i = 0; i < 2; i++)
        in[i] = take_padded(o, values[i], shape.rank, i == 1 && at_axis ? ONNX_PLAIN : layout);
    if (at_axis) {
        seen = onnx_lay_out(&seen, layout);
        in[1] = onnx_view(o, in[1], &seen);
    }
    if (!alike(o, &in[0], &in[1]) || !onnx_emit_simple(o, o->row->kind, in, 2, NULL, &out))
        return false;
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

bool onnx_rule_BINARY(struct onnx *o)
{
    return join_two(o, 1);
}

/* com.microsoft: of bytes, each behind which its scale and zero point stand. */
bool onnx_rule_QLINEAR_BINARY(struct onnx *o)
{
    return join_two(o, 3);
}

bool onnx_rule_BIAS_GELU(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *bias = onnx_need(o, 1);
    if (!x || !bias)
        return false;
    struct ll_imported in[2] = {onnx_take(o, x, ONNX_PLAIN), onnx_take(o, bias, ONNX_PLAIN)}, out;
    const struct ll_shape shape = x->shape;
    if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, &out) ||
        !onnx_emit_simple(o, LL_OP_GELU, &out, 1, NULL, &out))
        return false;
    onnx_put(o, 0, out, ONNX_PLAIN, &shape);
    return true;
}

/* Any number of inputs, joined two by two. */
bool onnx_rule_MANY(struct onnx *o)
{
    uint32_t count = o->node->input_count;
    struct onnx_value **values = ll_alloc(&o->import->arena, (size_t)count + 1, sizeof *values);
    struct ll_shape shape;
    enum onnx_layout layout;
    if (!values)
        return ll_import_no_memory(o->import);
    for (uint32_t i = 0; i < count; i++)
        if (!(values[i] = onnx_need(o, i)))
            return false;
    if (count == 0 || !join(o, values, count, &shape, &layout))
        return count == 0 ? onnx_refuse(o, "there is nothing to join") : false;
    struct ll_imported out = take_padded(o, values[0], shape.rank, layout);
    for (uint32_t i = 1; i < count; i++) {
        struct ll_imported in[2] = {out, take_padded(o, values[i], shape.rank, layout)};
        if (!alike(o, &in[0], &in[1]) || !onnx_emit_simple(o, o->row->kind, in, 2, NULL, &out))
            return false;
    }
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

bool onnx_rule_WHERE(struct onnx *o)
{
    struct onnx_value *values[3] = {onnx_need(o, 0), onnx_need(o, 1), onnx_need(o, 2)};
    struct ll_shape shape;
    enum onnx_layout layout;
    if (!values[0] || !values[1] || !values[2] || !join(o, values, 3, &shape, &layout))
        return false;
    struct ll_imported in[3], out;
    for (unsigned i = 0; i < 3; i++)
        in[i] = take_padded(o, values[i], shape.rank, layout);
    if (!alike(o, &in[1], &in[2]) || !onnx_emit_simple(o, LL_OP_WHERE, in, 3, NULL, &out))
        return false;
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

static bool convert(struct onnx *o, struct onnx_value *x, enum ll_op_kind kind, uint8_t dtype)
{
    enum onnx_layout layout = layout_of(o, x);
    struct ll_imported in = onnx_take(o, x, layout), out;
    struct ll_shape shape = in.shape;
    const struct ll_shape seen = x->shape;
    shape.dtype = dtype;
    if (!onnx_emit_simple(o, kind, &in, 1, &shape, &out))
        return false;
    onnx_put(o, 0, out, layout, &seen);
    return true;
}

/* To the type that it has already is no op. */
static bool cast(struct onnx *o, struct onnx_value *x, uint8_t dtype)
{
    const struct ll_shape seen = x->shape;
    if (dtype != seen.dtype)
        return convert(o, x, LL_OP_CAST, dtype);
    onnx_put_view(o, 0, x, &seen);
    return true;
}

/* To the type of the zero point, u8 when there is none. */
bool onnx_rule_QUANTIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *zero = onnx_input(o, 2);
    return x && convert(o, x, LL_OP_QUANTIZE, zero ? zero->shape.dtype : LL_U8);
}

/* To bytes between the least and the largest: all are looked at for either. */
bool onnx_rule_DYNAMIC_QUANTIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 0}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported ends[2][LL_MAX_OUTPUTS], zero;
    if (!x)
        return false;
    const struct ll_shape list = {.rank = 1, .dtype = x->shape.dtype, .dim = {ll_elements(&x->shape)}};
    const struct ll_imported in = onnx_view(o, onnx_take(o, x, layout_of(o, x)), &list);
    const struct ll_import_op op = {
        .kind = LL_OP_MAX, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    for (unsigned i = 0; i < 2; i++)
        if (!onnx_emit(o, &op, ends[i]))
            return false;
    const struct ll_shape scalar = {.dtype = LL_F32};
    struct ll_shape byte = ends[1][0].shape;
    byte.dtype = LL_U8;
    if (!onnx_emit_simple(o, LL_OP_CAST, ends[1], 1, &byte, &zero) || !convert(o, x, LL_OP_QUANTIZE, LL_U8))
        return false;
    onnx_put(o, 1, onnx_view(o, ends[0][0], &scalar), ONNX_PLAIN, &scalar);
    onnx_put(o, 2, onnx_view(o, zero, &scalar), ONNX_PLAIN, &scalar);
    return true;
}

/* To the type of the scale. */
bool onnx_rule_DEQUANTIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *scale = onnx_need(o, 1);
    return x && scale && convert(o, x, LL_OP_DEQUANTIZE, scale->shape.dtype);
}

bool onnx_rule_CAST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    uint8_t dtype = onnx_dtype(onnx_attr_integer(o, "to", 0));
    if (x && dtype == LL_DTYPE_COUNT)
        return onnx_refuse(o, "elements of such a type are not supported");
    return x && cast(o, x, dtype);
}

bool onnx_rule_CAST_LIKE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *like = onnx_need(o, 1);
    return x && like && cast(o, x, like->shape.dtype);
}

/* Reductions. Along whichever dimensions, the elements that become one are seen side by side: what is
 * [kept, reduced] becomes [kept]. */

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

static bool reduce(struct onnx *o, enum ll_op_kind kind, struct ll_imported x, const struct ll_shape *shape)
{
    unsigned axes;
    struct ll_shape sides;
    if (!reduced_axes(o, shape, &axes))
        return false;
    struct ll_shape out_shape = reduced(shape, axes, onnx_attr_integer(o, "keepdims", 1) != 0, &sides);
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported in = onnx_view(o, x, &sides), out[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {.kind = kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, onnx_view(o, out[0], &out_shape), ONNX_PLAIN, &out_shape);
    return true;
}

bool onnx_sum_rows(struct onnx *o, struct ll_imported x, struct ll_imported *out)
{
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {
        .kind = LL_OP_SUM, .in = &x, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

bool onnx_rule_REDUCE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    const struct ll_shape shape = x->shape;
    return reduce(o, o->row->kind, onnx_take(o, x, layout_of(o, x)), &shape);
}

/* Sums of something of each element. */
bool onnx_rule_REDUCE_OF(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    enum onnx_layout layout;
    if (!x || !apply(o, o->row->kind, x, &y, &layout))
        return false;
    const struct ll_shape shape = x->shape;
    return reduce(o, LL_OP_SUM, y, &shape);
}

/* A shape with one dimension behind the others. */
static struct ll_shape axis_last(const struct ll_shape *shape, unsigned axis)
{
    struct ll_shape sides;
    reduced(shape, 1u << axis, false, &sides);
    return sides;
}

bool onnx_rule_ARG_MAX(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    unsigned axis;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", 0), x->shape.rank, &axis))
        return false;
    struct ll_shape sides,
        out_shape = reduced(&x->shape, 1u << axis, onnx_attr_integer(o, "keepdims", 1) != 0, &sides);
    struct ll_imported in = onnx_view(o, onnx_take(o, x, layout_of(o, x)), &sides), out;
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

bool onnx_rule_SOFTMAX(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_shape rows;
    if (!x || !softmax_rows(o, &x->shape, &rows))
        return false;
    enum onnx_layout layout = layout_of(o, x);
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
    if (!x || (onnx_input(o, 1) && !onnx_need_integers(o, 1, &k, 1, &count)) ||
        !onnx_axis(o, onnx_attr_integer(o, "axis", -1), x->shape.rank, &axis))
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
