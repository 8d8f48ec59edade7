/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that only see elements otherwise, and of constants: no op comes of them. */
#include "tracer/convert/onnx_rules.h"

#include <math.h>

bool onnx_rule_IDENTITY(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x)
        return false;
    struct ll_shape shape = x->shape;
    onnx_put_view(o, 0, x, &shape);
    shape.dtype = LL_BOOL; /* what a dropout has kept: all */
    onnx_put_constant(o, 1, &shape, NULL);
    return true;
}

bool onnx_put_reshaped(struct onnx *o, struct onnx_value *x, const struct ll_shape *shape)
{
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

bool onnx_rule_RESHAPE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t dims[LL_MAX_RANK];
    uint64_t count = onnx_attr_list(o, "shape", dims, LL_MAX_RANK);
    if (!x || (count == 0 && !onnx_need_integers(o, 1, dims, LL_MAX_RANK, &count)))
        return false;
    struct ll_shape shape = {.dtype = x->shape.dtype};
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
    return true;
}

bool onnx_rule_SQUEEZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct onnx_axes axes;
    unsigned gone;
    if (!x || !onnx_read_axes(o, &axes) || !onnx_axis_bits(o, &axes, x->shape.rank, &gone))
        return false;
    struct ll_shape shape = {.dtype = x->shape.dtype};
    for (unsigned i = 0; i < x->shape.rank; i++)
        if (axes.count > 0 ? !(gone >> i & 1) : x->shape.dim[i] != 1)
            shape.dim[shape.rank++] = x->shape.dim[i];
    return onnx_put_reshaped(o, x, &shape);
}

bool onnx_rule_UNSQUEEZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct onnx_axes axes;
    unsigned new, from = 0;
    if (!x || !onnx_read_axes(o, &axes))
        return false;
    if (x->shape.rank + axes.count > LL_MAX_RANK)
        return onnx_refuse(o, "there would be too many dimensions");
    unsigned rank = x->shape.rank + (unsigned)axes.count;
    if (!onnx_axis_bits(o, &axes, rank, &new))
        return false;
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = x->shape.dtype};
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

bool onnx_dims_from(struct onnx *o, uint32_t input, struct ll_shape *shape)
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

bool onnx_rule_CONSTANT_OF_SHAPE(struct onnx *o)
{
    struct ll_shape shape = {.dtype = LL_F32};
    struct onnx_tensor tensor;
    struct onnx_attr attr;
    double value = 0;
    if (!onnx_dims_from(o, 0, &shape))
        return false;
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

bool onnx_rule_RANGE(struct onnx *o)
{
    double ends[3];
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
