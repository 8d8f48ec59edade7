/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that view, build constants (first section) or move elements. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* Rules of operators that only see elements otherwise, and of constants: no op comes of them. */

/* The output is the input under another name: a view. */
bool onnx_rule_IDENTITY(struct onnx *o)
{
    struct onnx_value *x = onnx_input(o, 0);
    if (x && (x->list || x->absent)) {
        o->values[o->node->outputs[0]] = *x;
        return true;
    }
    if (!onnx_need(o, 0))
        return false;
    struct ll_shape shape = x->shape;
    onnx_put_view(o, 0, x, &shape);
    shape.dtype = LL_BOOL; /* what a dropout has kept: all */
    onnx_put_constant(o, 1, &shape, NULL);
    return true;
}

/* Output 0 is x in these dimensions. False after a complaint that the elements are not as many. */
static bool onnx_put_reshaped(struct onnx *o, struct onnx_value *x, const struct ll_shape *shape)
{
    assert(shape->rank <= LL_MAX_RANK);
    if (!ll_fits(ll_elements(shape)) || ll_elements(shape) != ll_elements(&x->shape))
        return onnx_refuse(o, "the new shape has another number of elements");
    onnx_put_view(o, 0, x, shape);
    return true;
}

/* One dimension may be -1: as large as needed. */
static bool solve(struct onnx *o, uint64_t elements, unsigned open, struct ll_shape *shape)
{
    uint64_t others = 1;
    for (unsigned i = 0; i < shape->rank; i++)
        others = i == open ? others : ll_mul(others, shape->dim[i]);
    if (others == 0 || !ll_fits(others) || elements % others != 0)
        return onnx_refuse(o, "the open dimension cannot be found");
    shape->dim[open] = elements / others;
    return true;
}

/* Reshape: the shape is an attribute before version 5, an input since. 0 keeps the input's dimension (unless
 * allowzero), one -1 takes what is left. */
bool onnx_rule_RESHAPE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t dims[LL_MAX_RANK];
    uint64_t count = onnx_attr_list(o, "shape", dims, LL_MAX_RANK);
    struct ll_shape shape = {0};
    if (x && count == 0 && onnx_told_instead(o, 1, &shape))
        return onnx_put_reshaped(o, x, &shape);
    if (!x || (count == 0 && !onnx_need_integers(o, 1, dims, LL_MAX_RANK, &count)))
        return false;
    shape = (struct ll_shape){.dtype = x->shape.dtype};
    unsigned open = LL_MAX_RANK;
    bool zero = onnx_attr_integer(o, "allowzero", 0) != 0;
    for (unsigned i = 0; i < count && i < LL_MAX_RANK; i++) {
        if (dims[i] < -1 || (dims[i] == -1 && open != LL_MAX_RANK))
            return onnx_refuse(o, "more than one dimension is open");
        if (dims[i] == -1)
            open = i;
        bool keeps = dims[i] == 0 && !zero && i < x->shape.rank;
        shape.dim[shape.rank++] = keeps ? x->shape.dim[i] : dims[i] < 0 ? 0 : (uint64_t)dims[i];
    }
    if (open != LL_MAX_RANK && !solve(o, ll_elements(&x->shape), open, &shape))
        return false;
    return onnx_put_reshaped(o, x, &shape);
}

/* Flatten: dimensions before `axis` become rows, the others columns. */
bool onnx_rule_FLATTEN(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t axis = onnx_attr_integer(o, "axis", 1);
    if (!x)
        return false;
    int64_t rank = x->shape.rank, first = axis < 0 ? axis + rank : axis;
    if (first < 0 || first > rank)
        return onnx_refuse(o, "there is no such axis");
    struct ll_shape shape = {.rank = 2, .dtype = x->shape.dtype, .dim = {1, 1}};
    for (int64_t i = 0; i < rank; i++)
        shape.dim[i >= first] = ll_mul(shape.dim[i >= first], x->shape.dim[i]);
    return onnx_put_reshaped(o, x, &shape);
}

bool onnx_read_axes(struct onnx *o, struct onnx_axes *axes)
{
    axes->count = onnx_attr_list(o, "axes", axes->list, LL_MAX_RANK);
    return axes->count > 0 || !onnx_input(o, 1) ||
           onnx_need_integers(o, 1, axes->list, LL_MAX_RANK, &axes->count);
}

bool onnx_axis_bits(struct onnx *o, const struct onnx_axes *axes, unsigned rank, unsigned *bits)
{
    *bits = 0;
    for (uint64_t i = 0; i < axes->count && i < LL_MAX_RANK; i++) {
        unsigned axis;
        if (!onnx_axis(o, axes->list[i], rank, &axis))
            return false;
        *bits |= 1u << axis;
    }
    assert(*bits < 1u << rank || rank == 0);
    return true;
}

/* Squeeze: drops the named dimensions, which must be 1; all that are 1 where none is named. */
bool onnx_rule_SQUEEZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct onnx_axes axes;
    struct ll_shape shape;
    unsigned gone;
    if (x && onnx_told_instead(o, 1, &shape))
        return onnx_put_reshaped(o, x, &shape);
    if (!x || !onnx_read_axes(o, &axes) || !onnx_axis_bits(o, &axes, x->shape.rank, &gone))
        return false;
    shape = (struct ll_shape){.dtype = x->shape.dtype};
    for (unsigned i = 0; i < x->shape.rank; i++)
        if (axes.count > 0 ? !(gone >> i & 1) : x->shape.dim[i] != 1)
            shape.dim[shape.rank++] = x->shape.dim[i];
    return onnx_put_reshaped(o, x, &shape);
}

/* Unsqueeze: new dimensions of 1; the axes count in the result. */
bool onnx_rule_UNSQUEEZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct onnx_axes axes;
    struct ll_shape shape;
    unsigned new, from = 0;
    if (x && onnx_told_instead(o, 1, &shape))
        return onnx_put_reshaped(o, x, &shape);
    if (!x || !onnx_read_axes(o, &axes))
        return false;
    if (x->shape.rank + axes.count > LL_MAX_RANK)
        return onnx_refuse(o, "there would be too many dimensions");
    unsigned rank = x->shape.rank + (unsigned)axes.count;
    if (!onnx_axis_bits(o, &axes, rank, &new))
        return false;
    shape = (struct ll_shape){.rank = (uint8_t)rank, .dtype = x->shape.dtype};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = new >> i & 1 || from == x->shape.rank ? 1 : x->shape.dim[from++];
    return onnx_put_reshaped(o, x, &shape);
}

/* A constant in one of the forms that the attribute of its node may have. */
bool onnx_rule_CONSTANT(struct onnx *o)
{
    struct onnx_tensor *tensor = ll_alloc(&o->import->arena, 1, sizeof *tensor);
    struct onnx_attr attr;
    struct ll_shape scalar = {.dtype = LL_F32}, list = {.rank = 1, .dtype = LL_I64};
    double *numbers = onnx_room(o, 1);
    if (!tensor || !numbers)
        return ll_import_no_memory(o->import);
    if (onnx_attr_find(o->node, "value", &attr) && attr.tensor.at) {
        if (!onnx_tensor_read(NULL, attr.tensor, tensor) || !tensor->supported)
            return onnx_refuse(o, "its value cannot be read, or is of a type that is not supported");
        onnx_put_constant(o, 0, &tensor->shape, NULL);
        if (o->node->output_count > 0 && o->node->outputs[0] != LL_NO_ID)
            o->values[o->node->outputs[0]].tensor = tensor;
        return true;
    }
    if (onnx_attr_find(o->node, "value_float", &attr) || onnx_attr_find(o->node, "value_int", &attr)) {
        scalar.dtype = onnx_attr_has(o, "value_int") ? LL_I64 : LL_F32;
        *numbers = scalar.dtype == LL_I64 ? (double)attr.integer : attr.real;
        onnx_put_constant(o, 0, &scalar, numbers);
        return true;
    }
    int64_t values[64];
    uint64_t count = onnx_attr_list(o, "value_ints", values, 64);
    if (!onnx_attr_has(o, "value_ints") || count > 64 || !(numbers = onnx_room(o, count)))
        return onnx_refuse(o, "its value is of a kind that is not supported");
    list.dim[0] = count;
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (double)values[i];
    onnx_put_constant(o, 0, &list, numbers);
    return true;
}

/* Appends the sizes that an input holds to a shape. False after a complaint. */
static bool onnx_dims_from(struct onnx *o, uint32_t input, struct ll_shape *shape)
{
    int64_t dims[LL_MAX_RANK];
    uint64_t count;
    if (!onnx_need_integers(o, input, dims, LL_MAX_RANK, &count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (dims[i] < 0)
            return onnx_refuse(o, "a dimension is negative");
        shape->dim[shape->rank++] = (uint64_t)dims[i];
    }
    return ll_fits(ll_size_bytes(shape)) || onnx_refuse(o, "the size does not fit in 64 bits");
}

/* ConstantOfShape: a tensor of the given shape whose elements are all `value` (0.0 of float32 by default). */
bool onnx_rule_CONSTANT_OF_SHAPE(struct onnx *o)
{
    struct ll_shape shape = {.dtype = LL_F32};
    struct onnx_tensor tensor;
    struct onnx_attr attr;
    double value = 0;
    if (!onnx_told_instead(o, 0, &shape) && !onnx_dims_from(o, 0, &shape))
        return false;
    shape.dtype = LL_F32;
    if (onnx_attr_find(o->node, "value", &attr) && attr.tensor.at) {
        if (!onnx_tensor_read(NULL, attr.tensor, &tensor) || !onnx_tensor_numbers(&tensor, &value, 1))
            return onnx_refuse(o, "its value cannot be read");
        shape.dtype = tensor.shape.dtype;
    }
    uint64_t count = ll_elements(&shape);
    double *numbers = onnx_room(o, count);
    for (uint64_t i = 0; numbers && i < count; i++)
        numbers[i] = value;
    onnx_put_constant(o, 0, &shape, numbers);
    return true;
}

/* Shape: the input's dimensions from `start` to `end` as a constant of int64, known as soon as the
 * shape is. */
bool onnx_rule_SHAPE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    int64_t rank = x->shape.rank, start = onnx_attr_integer(o, "start", 0),
            end = onnx_attr_integer(o, "end", rank);
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end < start ? start : end > rank ? rank : end;
    struct ll_shape shape = {.rank = 1, .dtype = LL_I64, .dim = {(uint64_t)(end - start)}};
    double *numbers = onnx_room(o, (uint64_t)(end - start));
    for (int64_t i = start; numbers && i < end; i++)
        numbers[i - start] = (double)x->shape.dim[i];
    onnx_put_constant(o, 0, &shape, numbers);
    return true;
}

/* Size: the number of elements as a constant of int64. */
bool onnx_rule_SIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    const struct ll_shape shape = {.dtype = LL_I64};
    double *number = onnx_room(o, 1);
    if (!x)
        return false;
    if (number)
        *number = (double)ll_elements(&x->shape);
    onnx_put_constant(o, 0, &shape, number);
    return true;
}

/* Range(start, limit, delta): a constant, where the three are known. */
bool onnx_rule_RANGE(struct onnx *o)
{
    double ends[3];
    struct ll_shape told;
    for (uint32_t i = 0; i < 3; i++)
        if (onnx_told_instead(o, i, &told)) {
            onnx_put_constant(o, 0, &told, NULL);
            return true;
        }
    for (uint32_t i = 0; i < 3; i++) {
        struct onnx_value *value = onnx_need(o, i);
        const double *number = value && ll_elements(&value->shape) == 1 ? onnx_numbers(o, value) : NULL;
        if (!number)
            return value &&
                   onnx_refuse(o, "input %u decides about sizes, but is not known before it runs", i);
        ends[i] = *number;
    }
    double length = ceil((ends[1] - ends[0]) / ends[2]);
    if (!(length < 0x1p40))
        return onnx_refuse(o, "the range has no end");
    uint64_t count = length > 0 ? (uint64_t)length : 0;
    struct ll_shape shape = {.rank = 1, .dtype = onnx_input(o, 0)->shape.dtype, .dim = {count}};
    double *numbers = onnx_room(o, count);
    for (uint64_t i = 0; numbers && i < count; i++)
        numbers[i] = ends[0] + (double)i * ends[2];
    onnx_put_constant(o, 0, &shape, numbers);
    return true;
}

/* Rules of operators that move elements. */

/* Exchanging dimensions of 1 moves nothing. */
static bool moves(const struct ll_shape *shape, const int64_t *from)
{
    int64_t last = -1;
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->dim[from[i]] != 1) {
            if (from[i] < last)
                return true;
            last = from[i];
        }
    return false;
}

bool onnx_transpose(struct onnx *o, struct ll_imported in, const int64_t *from, struct ll_imported *out)
{
    assert(in.shape.rank <= LL_MAX_RANK);
    struct ll_attr permutation = {.key = LL_ATTR_PERMUTATION};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    for (unsigned i = 0; i < in.shape.rank; i++)
        permutation.count = 10 * permutation.count + from[i];
    const struct ll_import_op op = {
        .kind = LL_OP_TRANSPOSE, .in = &in, .in_count = 1, .attrs = &permutation, .attr_count = 1};
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

/* Without `perm` the dimensions are reversed. A transposition that moves nothing but dimensions of one
 * element is a reshape, which costs nothing. */
bool onnx_rule_TRANSPOSE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t from[LL_MAX_RANK];
    if (!x)
        return false;
    uint64_t count = onnx_attr_list(o, "perm", from, LL_MAX_RANK);
    for (unsigned i = 0; count == 0 && i < x->shape.rank; i++)
        from[i] = (int64_t)x->shape.rank - 1 - i;
    struct ll_shape shape = {.rank = x->shape.rank, .dtype = x->shape.dtype};
    unsigned seen = 0;
    for (unsigned i = 0; i < shape.rank && (count == 0 || count == shape.rank); i++)
        if (from[i] >= 0 && from[i] < shape.rank) {
            seen |= 1u << from[i];
            shape.dim[i] = x->shape.dim[from[i]];
        }
    if (seen != (1u << shape.rank) - 1)
        return onnx_refuse(o, "the permutation must name each dimension once");
    if (o->folding || !moves(&x->shape, from))
        return onnx_put_reshaped(o, x, &shape);
    struct ll_imported out;
    if (!onnx_transpose(o, onnx_take(o, x, ONNX_PLAIN), from, &out))
        return false;
    onnx_put(o, 0, out, ONNX_PLAIN, &shape);
    return true;
}

/* Where an axis of ONNX lies in a layout. */
static int64_t axis_in(enum onnx_layout layout, unsigned axis, unsigned rank)
{
    if (layout == ONNX_PLAIN || axis == 0)
        return axis;
    return axis == 1 ? 3 : (int64_t)axis - 1 + (rank == 3);
}

/* The layout in which to cut or join along an axis: images stay images. */
static enum onnx_layout cutting_layout(const struct onnx *o, const struct onnx_value *x)
{
    return onnx_is_image(o, x) && (x->shape.rank == 3 || x->shape.rank == 4) ? ONNX_IMAGE : ONNX_PLAIN;
}

/* Joins input `at` and each so many behind it. */
static bool concat(struct onnx *o, uint32_t at, uint32_t apart)
{
    struct onnx_value *first = onnx_need(o, at);
    unsigned axis;
    if (!first || !onnx_axis(o, onnx_attr_integer(o, "axis", 1), first->shape.rank, &axis))
        return false;
    uint32_t room = o->node->input_count, count = 0;
    enum onnx_layout layout = cutting_layout(o, first);
    struct ll_imported *in = ll_alloc(&o->import->arena, (size_t)room + LL_MAX_OUTPUTS, sizeof *in),
                       *out = in + room;
    struct ll_shape shape = first->shape;
    shape.dim[axis] = 0;
    if (!in)
        return ll_import_no_memory(o->import);
    for (uint32_t i = at; i < room; i += apart) {
        struct onnx_value *x = onnx_need(o, i);
        if (!x || x->shape.rank != shape.rank)
            return x && onnx_refuse(o, "the inputs must have as many dimensions");
        shape.dim[axis] = ll_add(shape.dim[axis], x->shape.dim[axis]);
        in[count++] = onnx_take(o, x, layout);
    }
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = axis_in(layout, axis, shape.rank)};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = in, .in_count = count, .attrs = &attr, .attr_count = 1};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, *out, layout, &shape);
    return true;
}

bool onnx_rule_CONCAT(struct onnx *o)
{
    return concat(o, 0, 1);
}

/* com.microsoft: behind the scale and the zero point of the result come inputs with theirs. */
bool onnx_rule_QLINEAR_CONCAT(struct onnx *o)
{
    return concat(o, 2, 3);
}

bool onnx_cut(struct onnx *o, struct ll_imported in, int64_t axis, uint64_t begin, uint64_t size,
              struct ll_imported *out)
{
    const struct ll_attr attrs[3] = {{.key = LL_ATTR_AXIS, .count = axis},
                                     {.key = LL_ATTR_BEGIN, .count = (int64_t)begin},
                                     {.key = LL_ATTR_SIZE, .count = (int64_t)size}};
    const struct ll_import_op op = {
        .kind = LL_OP_SLICE, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 3};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

/* The sizes of the parts: by attribute, by input, or all the same. */
static bool part_sizes(struct onnx *o, uint64_t whole, unsigned axis, int64_t *sizes, uint64_t parts)
{
    uint64_t count = onnx_attr_list(o, "split", sizes, parts), total = 0;
    struct ll_shape told;
    if (onnx_input(o, 1) && !onnx_knows(o, 1))
        for (; count < parts && onnx_told(o, (uint32_t)count, &told) && axis < told.rank; count++)
            sizes[count] = (int64_t)told.dim[axis];
    if (count < parts && onnx_input(o, 1) && !onnx_need_integers(o, 1, sizes, parts, &count))
        return false;
    uint64_t each = parts ? ll_ceil_div(whole, parts) : 0;
    for (uint64_t i = 0; i < parts; i++) {
        if (count == 0)
            sizes[i] = (int64_t)ll_min(each, whole > i * each ? whole - i * each : 0);
        total = ll_add(total, sizes[i] < 0 ? LL_NO_FIT : (uint64_t)sizes[i]);
    }
    return total == whole || onnx_refuse(o, "the parts are not the whole");
}

/* Parts along an axis, cut in the layout in which the value lies, so that splitting channels of an image
 * does not force a layout transform. */
bool onnx_rule_SPLIT(struct onnx *o)
{
    struct onnx_value *given = onnx_need(o, 0);
    uint32_t parts = o->node->output_count;
    unsigned axis;
    int64_t *sizes = ll_alloc(&o->import->arena, (size_t)parts + 1, sizeof *sizes);
    if (!sizes)
        return ll_import_no_memory(o->import);
    if (!given || !onnx_axis(o, onnx_attr_integer(o, "axis", 0), given->shape.rank, &axis) ||
        !part_sizes(o, given->shape.dim[axis], axis, sizes, parts))
        return false;
    enum onnx_layout layout = cutting_layout(o, given);
    const struct onnx_value x = *given;
    const struct ll_imported in = onnx_take(o, given, layout);
    uint64_t begin = 0;
    for (uint32_t i = 0; i < parts; i++) {
        struct ll_imported out;
        struct ll_shape shape = x.shape;
        shape.dim[axis] = (uint64_t)sizes[i];
        if (!onnx_cut(o, in, axis_in(layout, axis, shape.rank), begin, shape.dim[axis], &out))
            return false;
        onnx_put(o, i, out, layout, &shape);
        begin += shape.dim[axis];
    }
    return true;
}

/* Bounds that count from the end or lie outside are drawn in, as NumPy does. */
static bool cut_axis(uint64_t extent, const int64_t bounds[3], unsigned axis, struct onnx_cuts *cuts)
{
    const int64_t dim = extent > INT32_MAX ? INT32_MAX : (int64_t)extent, step = bounds[2];
    int64_t ends[2];
    if (step == 0)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        int64_t end = bounds[i] < 0 ? (bounds[i] < -dim ? -1 : bounds[i] + dim) : bounds[i];
        int64_t least = step > 0 ? 0 : i == 0 ? 0 : -1, most = step > 0 ? dim : dim - 1;
        ends[i] = end < least ? least : end > most ? most : end;
    }
    int64_t span = step > 0 ? ends[1] - ends[0] : ends[0] - ends[1];
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    cuts->begin[axis] = (uint64_t)ends[0];
    cuts->step[axis] = step;
    cuts->size[axis] = span > 0 ? ll_ceil_div((uint64_t)span, stride) : 0;
    return true;
}

/* Before version 10 starts, ends and axes are attributes and there are no steps; since then they are inputs,
 * which must be known constants, because shapes depend on them. */
bool onnx_read_cuts(struct onnx *o, const struct ll_shape *shape, struct onnx_cuts *cuts)
{
    assert(shape->rank <= LL_MAX_RANK);
    int64_t axes[LL_MAX_RANK], starts[LL_MAX_RANK], ends[LL_MAX_RANK], steps[LL_MAX_RANK];
    uint64_t count = onnx_attr_list(o, "starts", starts, LL_MAX_RANK), other = count, axis_count;
    bool old = onnx_attr_has(o, "starts");
    if (old) {
        other = onnx_attr_list(o, "ends", ends, LL_MAX_RANK);
        axis_count = onnx_attr_list(o, "axes", axes, LL_MAX_RANK);
    } else if (!onnx_need_integers(o, 1, starts, LL_MAX_RANK, &count) ||
               !onnx_need_integers(o, 2, ends, LL_MAX_RANK, &other)) {
        return false;
    } else {
        axis_count = 0;
        if (onnx_input(o, 3) && !onnx_need_integers(o, 3, axes, LL_MAX_RANK, &axis_count))
            return false;
    }
    uint64_t step_count = 0;
    if (!old && onnx_input(o, 4) && !onnx_need_integers(o, 4, steps, LL_MAX_RANK, &step_count))
        return false;
    if (count > shape->rank || other != count || (axis_count && axis_count != count) ||
        (step_count && step_count != count))
        return onnx_refuse(o, "starts, ends, axes and steps do not belong together");
    for (unsigned i = 0; i < shape->rank; i++) {
        cuts->step[i] = 1;
        cuts->size[i] = shape->dim[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        unsigned axis;
        if (!onnx_axis(o, axis_count ? axes[i] : (int64_t)i, shape->rank, &axis))
            return false;
        const int64_t bounds[3] = {starts[i], ends[i], step_count ? steps[i] : 1};
        if (!cut_axis(shape->dim[axis], bounds, axis, cuts))
            return onnx_refuse(o, "a step of nothing leads nowhere");
    }
    return true;
}

/* Where only a run knows the bounds, but the file the sizes: as many elements of the front, which moves the
 * same bytes. */
static bool cuts_told(struct onnx *o, const struct ll_shape *shape, struct onnx_cuts *cuts)
{
    struct ll_shape told = {0};
    bool known = true;
    for (uint32_t i = 1; i < o->node->input_count; i++)
        known &= !onnx_input(o, i) || onnx_knows(o, i);
    if (known || !onnx_told(o, 0, &told) || told.rank != shape->rank)
        return false;
    for (unsigned i = 0; i < shape->rank; i++) {
        cuts->size[i] = told.dim[i];
        cuts->step[i] = 1;
        if (told.dim[i] > shape->dim[i])
            return false;
    }
    return true;
}

/* One cut along each axis that is not taken whole. With a step other than 1 as many elements are cut from
 * the front, which moves the same bytes; where nothing is cut the output is a view. */
bool onnx_rule_SLICE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct onnx_cuts cuts = {0};
    if (!x || (!cuts_told(o, &x->shape, &cuts) && !onnx_read_cuts(o, &x->shape, &cuts)))
        return false;
    enum onnx_layout layout = cutting_layout(o, x);
    struct ll_imported held = onnx_take(o, x, layout);
    struct ll_shape shape = x->shape;
    bool cut_anything = false;
    for (unsigned i = 0; i < shape.rank; i++) {
        if (cuts.size[i] == shape.dim[i] && cuts.step[i] > 0)
            continue;
        shape.dim[i] = cuts.size[i];
        uint64_t begin = cuts.step[i] == 1 ? cuts.begin[i] : 0; /* elsewhere as many, from all over */
        if (!onnx_cut(o, held, axis_in(layout, i, shape.rank), begin, cuts.size[i], &held))
            return false;
        cut_anything = true;
    }
    if (cut_anything)
        onnx_put(o, 0, held, layout, &shape);
    else
        onnx_put_view(o, 0, x, &shape);
    return true;
}

/* Rows of a table seen as [rows, row], picked by so many indices. */
static bool pick(struct onnx *o, struct onnx_value *table, uint64_t rows, struct onnx_value *indices,
                 uint64_t picked, const struct ll_shape *shape)
{
    uint64_t elements = ll_elements(&table->shape);
    const struct ll_shape seen = {
        .rank = 2, .dtype = table->shape.dtype, .dim = {rows, rows ? elements / rows : 0}};
    const struct ll_shape list = {.rank = 1, .dtype = indices->shape.dtype, .dim = {picked}};
    struct ll_imported in[2] = {onnx_view(o, onnx_take(o, table, ONNX_PLAIN), &seen),
                                onnx_take(o, indices, ONNX_PLAIN)},
                       out;
    if (ll_elements(&in[1].shape) == picked)
        in[1] = onnx_view(o, in[1], &list);
    else if (!onnx_cut(o,
                       onnx_view(o, in[1], &(struct ll_shape){.rank = 1, .dim = {ll_elements(&in[1].shape)}}),
                       0, 0, picked, &in[1]))
        return false;
    if (!onnx_emit_simple(o, LL_OP_GATHER, in, 2, NULL, &out))
        return false;
    onnx_put(o, 0, onnx_view(o, out, shape), ONNX_PLAIN, shape);
    return true;
}

/* Rows of a table by their indices. A single index that is known is a slice, as exporters write `x[:, 0]`,
 * and no look-up. */
bool onnx_rule_GATHER(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *indices = onnx_need(o, 1);
    unsigned axis;
    if (!x || !indices || !onnx_axis(o, onnx_attr_integer(o, "axis", 0), x->shape.rank, &axis))
        return false;
    if (x->shape.rank - 1 + indices->shape.rank > LL_MAX_RANK)
        return onnx_refuse(o, "there would be too many dimensions");
    struct ll_shape shape = {.dtype = x->shape.dtype};
    for (unsigned i = 0; i < x->shape.rank; i++)
        if (i != axis)
            shape.dim[shape.rank++] = x->shape.dim[i];
        else
            for (unsigned k = 0; k < indices->shape.rank; k++)
                shape.dim[shape.rank++] = indices->shape.dim[k];
    struct ll_imported out;
    if (ll_elements(&indices->shape) != 1 || x->constant)
        return pick(o, x, x->shape.dim[axis], indices, ll_elements(&indices->shape), &shape);
    const double *number = onnx_numbers(o, indices); /* one of many is a slice */
    int64_t at = number ? onnx_integer(*number) : 0;
    at = at < 0 ? at + (int64_t)x->shape.dim[axis] : at;
    if (at < 0 || !onnx_cut(o, onnx_take(o, x, ONNX_PLAIN), axis, (uint64_t)at, 1, &out))
        return at < 0 ? onnx_refuse(o, "an index lies outside") : false;
    onnx_put(o, 0, onnx_view(o, out, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* ArrayFeatureExtractor: columns by their indices. */
bool onnx_rule_GATHER_LAST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *indices = onnx_need(o, 1);
    if (!x || !indices)
        return false;
    if (x->shape.rank == 0)
        return onnx_refuse(o, "there are no columns");
    struct ll_shape shape = x->shape;
    shape.dim[shape.rank - 1] = ll_elements(&indices->shape);
    return pick(o, x, x->shape.dim[shape.rank - 1], indices, ll_elements(&indices->shape), &shape);
}

bool onnx_rule_GATHER_ELEMENTS(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *indices = onnx_need(o, 1);
    if (!x || !indices)
        return false;
    const struct ll_shape shape = indices->shape;
    return pick(o, x, ll_elements(&x->shape), indices, ll_elements(&shape), &shape);
}

/* The last dimension of the indices tells so many leading dimensions of the table. */
bool onnx_rule_GATHER_ND(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *indices = onnx_need(o, 1);
    if (!x || !indices)
        return false;
    unsigned last = indices->shape.rank;
    uint64_t depth = last ? indices->shape.dim[last - 1] : 0, rows = 1, picked = 1;
    int64_t stacks = onnx_attr_integer(o, "batch_dims", 0); /* leading dimensions that both have */
    if (last == 0 || stacks < 0 || stacks >= last || depth > x->shape.rank ||
        depth + (uint64_t)stacks > x->shape.rank ||
        last - 1 + x->shape.rank - depth - (uint64_t)stacks > LL_MAX_RANK)
        return onnx_refuse(o, "indices of this form are not supported");
    struct ll_shape shape = {.dtype = x->shape.dtype};
    for (unsigned i = 0; i + 1 < last; i++) {
        picked = ll_mul(picked, indices->shape.dim[i]);
        shape.dim[shape.rank++] = indices->shape.dim[i];
    }
    for (unsigned i = 0; i < x->shape.rank; i++)
        if (i < depth + (uint64_t)stacks)
            rows = ll_mul(rows, x->shape.dim[i]);
        else
            shape.dim[shape.rank++] = x->shape.dim[i];
    return pick(o, x, rows, indices, picked, &shape);
}

/* Each index becomes as many elements as the depth says, along a new axis. */
bool onnx_rule_ONE_HOT(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *values = onnx_need(o, 2);
    int64_t depth;
    uint64_t count = 1;
    unsigned axis;
    struct ll_shape told;
    if (!x || !values)
        return false;
    if (x->shape.rank == LL_MAX_RANK)
        return onnx_refuse(o, "there would be too many dimensions");
    if (!onnx_axis(o, onnx_attr_integer(o, "axis", -1), x->shape.rank + 1u, &axis))
        return false;
    if (onnx_told_instead(o, 1, &told) && axis < told.rank)
        depth = (int64_t)told.dim[axis];
    else if (!onnx_need_integers(o, 1, &depth, 1, &count))
        return false;
    if (count != 1 || depth < 1)
        return onnx_refuse(o, "its depth must be one positive number");
    struct ll_imported in = onnx_take(o, x, ONNX_PLAIN), out[LL_MAX_OUTPUTS];
    struct ll_shape narrow = in.shape, last = in.shape, shape = {.rank = (uint8_t)(last.rank + 1)};
    narrow.dtype = LL_I32;
    last.dim[last.rank++] = (uint64_t)depth;
    last.dtype = shape.dtype = values->shape.dtype;
    for (unsigned i = 0; i < shape.rank; i++)
        shape.dim[i] = i == axis ? (uint64_t)depth : x->shape.dim[i - (i > axis)];
    const struct ll_imported wide = in;
    if (in.shape.dtype != LL_I32 && !onnx_emit_simple(o, LL_OP_CAST, &wide, 1, &narrow, &in))
        return false;
    const struct ll_attr attr = {.key = LL_ATTR_DEPTH, .count = depth};
    const struct ll_import_op op = {.kind = LL_OP_ONE_HOT,
                                    .in = &in,
                                    .in_count = 1,
                                    .attrs = &attr,
                                    .attr_count = 1,
                                    .given = &last,
                                    .given_count = 1};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, onnx_view(o, out[0], &shape), ONNX_PLAIN, &shape);
    return true;
}

/* ScatterElements and ScatterND: a copy of the data in which the updates take the places that indices
 * name. */
bool onnx_rule_SCATTER(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *indices = onnx_need(o, 1), *updates = onnx_need(o, 2);
    if (!x || !indices || !updates)
        return false;
    const struct ll_imported in[3] = {onnx_take(o, x, ONNX_PLAIN), onnx_take(o, indices, ONNX_PLAIN),
                                      onnx_take(o, updates, ONNX_PLAIN)};
    const struct ll_shape shape = x->shape;
    struct ll_imported out;
    if (!onnx_emit_simple(o, LL_OP_SCATTER, in, 3, &shape, &out))
        return false;
    onnx_put(o, 0, out, ONNX_PLAIN, &shape);
    return true;
}

/* Repeats input 0 until it has this shape. */
static bool repeat(struct onnx *o, struct onnx_value *x, const struct ll_shape *shape)
{
    const struct ll_imported in = onnx_take(o, x, ONNX_PLAIN);
    struct ll_imported out;
    if (ll_elements(shape) == ll_elements(&x->shape))
        return onnx_put_reshaped(o, x, shape);
    if (!onnx_emit_simple(o, LL_OP_EXPAND, &in, 1, shape, &out))
        return false;
    onnx_put(o, 0, out, ONNX_PLAIN, shape);
    return true;
}

/* Expand: broadcasting to a shape that an input gives. */
bool onnx_rule_EXPAND(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_shape asked = {0}, shape;
    if (!x || (!onnx_told_instead(o, 1, &asked) && !onnx_dims_from(o, 1, &asked)))
        return false;
    asked.dtype = x->shape.dtype;
    if (!onnx_broadcast(&x->shape, &asked, &shape))
        return onnx_refuse(o, "it cannot be repeated to such dimensions");
    shape.dtype = x->shape.dtype;
    return repeat(o, x, &shape);
}

/* How often is input 1, along which axis input 2. */
static bool tile_old(struct onnx *o, struct onnx_value *x)
{
    int64_t times, at;
    uint64_t count;
    unsigned axis;
    if (!onnx_need_integers(o, 1, &times, 1, &count) || !onnx_need_integers(o, 2, &at, 1, &count) ||
        !onnx_axis(o, at, x->shape.rank, &axis))
        return false;
    struct ll_shape shape = x->shape;
    shape.dim[axis] = times < 0 ? LL_NO_FIT : ll_mul(shape.dim[axis], (uint64_t)times);
    return repeat(o, x, &shape);
}

/* Tile: each dimension repeated as often as an input says. */
bool onnx_rule_TILE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t times[LL_MAX_RANK];
    uint64_t count;
    struct ll_shape told;
    if (x && onnx_told_instead(o, 1, &told))
        return repeat(o, x, &told);
    if (x && o->node->input_count == 3) /* up to version 5: how often along which axis */
        return tile_old(o, x);
    if (!x || !onnx_need_integers(o, 1, times, LL_MAX_RANK, &count))
        return false;
    if (count != x->shape.rank)
        return onnx_refuse(o, "there must be a number of times for each dimension");
    struct ll_shape shape = x->shape;
    for (unsigned i = 0; i < count; i++)
        shape.dim[i] = times[i] < 0 ? LL_NO_FIT : ll_mul(shape.dim[i], (uint64_t)times[i]);
    return repeat(o, x, &shape);
}

/* How much is added in front of each dimension and behind it; what is negative is cut off. By attribute, by
 * input 1, perhaps for the axes of input 3 alone, or as the file tells the result. */
static bool read_padding(struct onnx *o, const struct ll_shape *x, int64_t before[], int64_t after[])
{
    int64_t pads[2 * LL_MAX_RANK], axes[LL_MAX_RANK];
    uint64_t count = onnx_attr_list(o, "pads", pads, 2 * LL_MAX_RANK), axis_count = x->rank;
    struct ll_shape told;
    bool known = count > 0 || onnx_knows(o, 1);
    if (onnx_input(o, 3) && !onnx_knows(o, 3))
        known = false;
    for (unsigned i = 0; i < x->rank; i++) {
        before[i] = after[i] = 0;
        axes[i] = i;
    }
    if (!known && onnx_told(o, 0, &told) && told.rank == x->rank) {
        for (unsigned i = 0; i < x->rank; i++)
            after[i] = (int64_t)(told.dim[i] - x->dim[i]);
        return true;
    }
    if (count == 0 && !onnx_need_integers(o, 1, pads, 2 * LL_MAX_RANK, &count))
        return false;
    if (onnx_input(o, 3) && !onnx_need_integers(o, 3, axes, LL_MAX_RANK, &axis_count))
        return false;
    if (count != 2 * axis_count)
        return onnx_refuse(o, "there must be two paddings for each dimension");
    for (uint64_t i = 0; i < axis_count; i++) {
        unsigned axis;
        if (!onnx_axis(o, axes[i], x->rank, &axis))
            return false;
        before[axis] = pads[i];
        after[axis] = pads[i + axis_count];
    }
    return true;
}

/* Padding along each dimension that has some, and cutting where it is negative. */
bool onnx_rule_PAD(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t before[LL_MAX_RANK], after[LL_MAX_RANK];
    if (!x || !read_padding(o, &x->shape, before, after))
        return false;
    unsigned rank = x->shape.rank;
    enum onnx_layout layout = cutting_layout(o, x);
    struct ll_imported held = onnx_take(o, x, layout), outs[LL_MAX_OUTPUTS];
    struct ll_shape shape = x->shape;
    for (unsigned i = 0; i < rank; i++) {
        int64_t axis = axis_in(layout, i, rank), front = before[i] < 0 ? -before[i] : 0,
                back = after[i] < 0 ? -after[i] : 0, dim = (int64_t)shape.dim[i];
        if (front > dim || back > dim - front)
            return onnx_refuse(o, "more would be cut off than there is");
        if (front + back > 0 &&
            !onnx_cut(o, held, axis, (uint64_t)front, (uint64_t)(dim - front - back), &held))
            return false;
        shape.dim[i] -= (uint64_t)(front + back);
        const struct ll_attr attrs[3] = {{.key = LL_ATTR_AXIS, .count = axis},
                                         {.key = LL_ATTR_BEFORE, .count = before[i] + front},
                                         {.key = LL_ATTR_AFTER, .count = after[i] + back}};
        const struct ll_import_op op = {
            .kind = LL_OP_PAD, .in = &held, .in_count = 1, .attrs = attrs, .attr_count = 3};
        if (attrs[1].count + attrs[2].count == 0)
            continue;
        if (!onnx_emit(o, &op, outs))
            return false;
        held = outs[0];
        shape.dim[i] += (uint64_t)(attrs[1].count + attrs[2].count);
    }
    onnx_put(o, 0, held, layout, &shape);
    return true;
}

/* CenterCropPad: each of some axes becomes as long as input 1 says, by what is cut off or added on both
 * sides. */
bool onnx_rule_CENTER(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t sizes[LL_MAX_RANK], axes[LL_MAX_RANK];
    struct ll_shape told, shape;
    uint64_t count = 0, named = onnx_attr_list(o, "axes", axes, LL_MAX_RANK);
    if (!x)
        return false;
    shape = x->shape;
    if (onnx_told_instead(o, 1, &told) && told.rank == shape.rank) {
        memcpy(shape.dim, told.dim, sizeof shape.dim);
    } else {
        if (!onnx_need_integers(o, 1, sizes, LL_MAX_RANK, &count))
            return false;
        if (count != (named ? named : shape.rank))
            return onnx_refuse(o, "there must be a size for each axis");
        for (uint64_t i = 0; i < count; i++) {
            unsigned axis;
            if (!onnx_axis(o, named ? axes[i] : (int64_t)i, shape.rank, &axis))
                return false;
            shape.dim[axis] = sizes[i] < 0 ? LL_NO_FIT : (uint64_t)sizes[i];
        }
    }
    if (!ll_fits(ll_size_bytes(&shape)))
        return onnx_refuse(o, "the size does not fit in 64 bits");
    struct ll_imported held = onnx_take(o, x, ONNX_PLAIN), out[LL_MAX_OUTPUTS];
    for (unsigned i = 0; i < shape.rank; i++) {
        uint64_t was = held.shape.dim[i], is = shape.dim[i], more = is > was ? is - was : 0;
        const struct ll_attr attrs[3] = {{.key = LL_ATTR_AXIS, .count = i},
                                         {.key = LL_ATTR_BEFORE, .count = (int64_t)(more / 2)},
                                         {.key = LL_ATTR_AFTER, .count = (int64_t)(more - more / 2)}};
        const struct ll_import_op op = {
            .kind = LL_OP_PAD, .in = &held, .in_count = 1, .attrs = attrs, .attr_count = 3};
        if (is < was && !onnx_cut(o, held, i, (was - is) / 2, is, &held))
            return false;
        if (is > was && !onnx_emit(o, &op, out))
            return false;
        held = is > was ? out[0] : held;
    }
    onnx_put(o, 0, held, ONNX_PLAIN, &shape);
    return true;
}

/* BitCast: the same bits, of another type as wide. */
bool onnx_rule_BIT_CAST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    uint8_t dtype = onnx_dtype(onnx_attr_integer(o, "to", 0));
    struct ll_imported y;
    if (!x)
        return false;
    if (dtype == LL_DTYPE_COUNT)
        return onnx_refuse(o, "elements of such a type are not supported");
    const struct ll_imported in = onnx_take(o, x, ONNX_PLAIN);
    struct ll_shape shape = x->shape;
    shape.dtype = dtype;
    if (!onnx_emit_simple(o, LL_OP_SEEN_AS, &in, 1, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* A block of b x b pixels becomes b b channels, or the other way: dimensions are taken apart and exchanged.
 */
static bool exchange_blocks(struct onnx *o, const struct ll_shape *apart, const int64_t from[6],
                            const struct ll_shape *shape)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported out;
    if (ll_elements(apart) != ll_elements(&x->shape) || ll_elements(shape) != ll_elements(&x->shape))
        return onnx_refuse(o, "the image does not consist of whole blocks");
    if (!onnx_transpose(o, onnx_view(o, onnx_take(o, x, ONNX_PLAIN), apart), from, &out))
        return false;
    onnx_put(o, 0, onnx_view(o, out, shape), ONNX_PLAIN, shape);
    return true;
}

static bool block_of(struct onnx *o, uint64_t *block)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t size = onnx_attr_integer(o, "blocksize", 0);
    if (x && (x->shape.rank != 4 || size < 1 || size > UINT16_MAX))
        return onnx_refuse(o, "blocks are cut out of images");
    *block = (uint64_t)size;
    return x != NULL;
}

/* DepthToSpace: channels become blocks of pixels, by `mode` with depth or columns first. */
bool onnx_rule_DEPTH_TO_SPACE(struct onnx *o)
{
    uint64_t b = 1;
    if (!block_of(o, &b))
        return false;
    const struct ll_shape *x = &onnx_input(o, 0)->shape;
    const struct ll_shape apart = {
        .rank = 6, .dtype = x->dtype, .dim = {x->dim[0], b, b, x->dim[1] / (b * b), x->dim[2], x->dim[3]}};
    const struct ll_shape shape = {
        .rank = 4,
        .dtype = x->dtype,
        .dim = {x->dim[0], x->dim[1] / (b * b), ll_mul(x->dim[2], b), ll_mul(x->dim[3], b)}};
    return exchange_blocks(o, &apart, (const int64_t[]){0, 3, 4, 1, 5, 2}, &shape);
}

/* SpaceToDepth: blocks of pixels become channels. */
bool onnx_rule_SPACE_TO_DEPTH(struct onnx *o)
{
    uint64_t b = 1;
    if (!block_of(o, &b))
        return false;
    const struct ll_shape *x = &onnx_input(o, 0)->shape;
    const struct ll_shape apart = {
        .rank = 6, .dtype = x->dtype, .dim = {x->dim[0], x->dim[1], x->dim[2] / b, b, x->dim[3] / b, b}};
    const struct ll_shape shape = {
        .rank = 4,
        .dtype = x->dtype,
        .dim = {x->dim[0], ll_mul(x->dim[1], b * b), x->dim[2] / b, x->dim[3] / b}};
    return exchange_blocks(o, &apart, (const int64_t[]){0, 3, 5, 1, 2, 4}, &shape);
}
