/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of what is computed from constants, where they are few: exporters leave much arithmetic about
 * sizes in a network, and reshapes, slices and loops depend on it. A rule has told the shapes before. */
#include "tracer/convert/onnx_fold.h"

#include "tracer/convert/onnx_rules.h"

#include <math.h>
#include <string.h>

/* Functions of one number and of two. */
#define UNARY_LIST(X)                                                                                        \
    X(SQRT, sqrt(a))                                                                                         \
    X(NEG, -a)                                                                                               \
    X(ABS, fabs(a))                                                                                          \
    X(FLOOR, floor(a))                                                                                       \
    X(CEIL, ceil(a))                                                                                         \
    X(NOT, a == 0)
#define BINARY_LIST(X)                                                                                       \
    X(ADD, a + b)                                                                                            \
    X(SUB, a - b)                                                                                            \
    X(MUL, a *b)                                                                                             \
    X(MOD, b == 0 ? 0 : a - floor(a / b) * b)                                                                \
    X(POW, pow(a, b))                                                                                        \
    X(AND, a != 0 && b != 0)                                                                                 \
    X(OR, a != 0 || b != 0)                                                                                  \
    X(EQUAL, a == b)                                                                                         \
    X(LESS, a < b)                                                                                           \
    X(LESS_EQUAL, a <= b)                                                                                    \
    X(GREATER, a > b)                                                                                        \
    X(GREATER_EQUAL, a >= b)                                                                                 \
    X(MAX, a > b ? a : b)                                                                                    \
    X(MIN, a < b ? a : b)

static const double *numbers_of(struct onnx *o, uint32_t i)
{
    struct onnx_value *value = onnx_input(o, i);
    return value ? onnx_numbers(o, value) : NULL;
}

static bool map(struct onnx *o, double (*function)(double), double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    for (uint64_t i = 0; in && i < count; i++)
        out[i] = function(in[i]);
    return in != NULL;
}

/* Place i of a shape in another one that is repeated to it; counted in elements. */
static uint64_t repeated_place(const struct ll_shape *wide, uint64_t i, const struct ll_shape *narrow)
{
    uint64_t place = 0, stride = 1;
    for (unsigned d = 0; d < narrow->rank && d < wide->rank; d++) {
        uint64_t extent = narrow->dim[narrow->rank - 1u - d], whole = wide->dim[wide->rank - 1u - d];
        uint64_t at = whole ? i % whole : 0;
        place += (extent == 1 ? 0 : at) * stride;
        stride *= extent;
        i = whole ? i / whole : 0;
    }
    return place;
}

static bool map_pairs(struct onnx *o, double (*function)(double, double), double *out, uint64_t count)
{
    const double *a = numbers_of(o, 0), *b = numbers_of(o, 1);
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    for (uint64_t i = 0; a && b && i < count; i++)
        out[i] = function(a[repeated_place(shape, i, &onnx_input(o, 0)->shape)],
                          b[repeated_place(shape, i, &onnx_input(o, 1)->shape)]);
    return a && b && o->node->input_count == 2;
}

#define X(word, expression)                                                                                  \
    static double number_##word(double a)                                                                    \
    {                                                                                                        \
        return expression;                                                                                   \
    }                                                                                                        \
    bool onnx_fold_##word(struct onnx *o, double *out, uint64_t count)                                       \
    {                                                                                                        \
        return map(o, number_##word, out, count);                                                            \
    }
UNARY_LIST(X)
#undef X

#define X(word, expression)                                                                                  \
    static double number_##word(double a, double b)                                                          \
    {                                                                                                        \
        return expression;                                                                                   \
    }                                                                                                        \
    bool onnx_fold_##word(struct onnx *o, double *out, uint64_t count)                                       \
    {                                                                                                        \
        return map_pairs(o, number_##word, out, count);                                                      \
    }
BINARY_LIST(X)
#undef X

static double divide_whole(double a, double b)
{
    return b == 0 ? 0 : trunc(a / b);
}

static double divide(double a, double b)
{
    return a / b;
}

static bool is_whole(const struct ll_shape *shape)
{
    return shape->dtype >= LL_I64;
}

bool onnx_fold_DIV(struct onnx *o, double *out, uint64_t count)
{
    return map_pairs(o, is_whole(&onnx_input(o, 0)->shape) ? divide_whole : divide, out, count);
}

bool onnx_fold_WHERE(struct onnx *o, double *out, uint64_t count)
{
    const double *in[3] = {numbers_of(o, 0), numbers_of(o, 1), numbers_of(o, 2)};
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    if (!in[0] || !in[1] || !in[2])
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t which = in[0][repeated_place(shape, i, &onnx_input(o, 0)->shape)] != 0 ? 1 : 2;
        out[i] = in[which][repeated_place(shape, i, &onnx_input(o, which)->shape)];
    }
    return true;
}

bool onnx_fold_EXPAND(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    for (uint64_t i = 0; in && i < count; i++)
        out[i] = in[repeated_place(shape, i, &onnx_input(o, 0)->shape)];
    return in != NULL;
}

bool onnx_fold_SAME(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    if (in && ll_elements(&onnx_input(o, 0)->shape) == count)
        memcpy(out, in, count * sizeof *out);
    return in && ll_elements(&onnx_input(o, 0)->shape) == count;
}

/* What has become whole has lost its fraction. */
bool onnx_fold_CAST(struct onnx *o, double *out, uint64_t count)
{
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    if (!onnx_fold_SAME(o, out, count))
        return false;
    for (uint64_t i = 0; i < count; i++)
        out[i] = shape->dtype == LL_BOOL ? out[i] != 0 : is_whole(shape) ? trunc(out[i]) : out[i];
    return true;
}

/* Lists one after the other. */
bool onnx_fold_CONCAT(struct onnx *o, double *out, uint64_t count)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < o->node->input_count; i++) {
        const double *in = numbers_of(o, i);
        uint64_t size = in ? ll_elements(&onnx_input(o, i)->shape) : 0;
        if (!in || onnx_input(o, i)->shape.rank != 1 || size > count - done)
            return false;
        memcpy(out + done, in, size * sizeof *out);
        done += size;
    }
    return done == count;
}

/* Element i of a shape, in elements of another tensor whose dimension d has a stride of its own. */
static uint64_t strided_place(const struct ll_shape *shape, uint64_t i, const uint64_t *stride)
{
    uint64_t place = 0;
    for (unsigned d = shape->rank; d-- > 0;) {
        uint64_t extent = shape->dim[d] ? shape->dim[d] : 1;
        place += i % extent * stride[d];
        i /= extent;
    }
    return place;
}

/* Strides of a tensor whose last dimension is contiguous. */
static void find_strides(const struct ll_shape *shape, uint64_t *stride)
{
    uint64_t elements = 1;
    for (unsigned d = shape->rank; d-- > 0;) {
        stride[d] = elements;
        elements *= shape->dim[d];
    }
}

bool onnx_fold_SLICE(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    const struct ll_shape *x = &onnx_input(o, 0)->shape, *y = &o->values[o->node->outputs[0]].shape;
    struct onnx_cuts cuts = {0};
    uint64_t stride[LL_MAX_RANK], first = 0, elements = ll_elements(x);
    if (!in || !onnx_read_cuts(o, x, &cuts))
        return false;
    find_strides(x, stride);
    for (unsigned d = 0; d < x->rank; d++) {
        first += cuts.begin[d] * stride[d];
        stride[d] *= (uint64_t)cuts.step[d]; /* a step back is one modulo 2^64 */
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = first + strided_place(y, i, stride);
        if (at >= elements)
            return false;
        out[i] = in[at];
    }
    return true;
}

bool onnx_fold_TRANSPOSE(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    const struct ll_shape *x = &onnx_input(o, 0)->shape, *y = &o->values[o->node->outputs[0]].shape;
    uint64_t stride[LL_MAX_RANK], from[LL_MAX_RANK];
    int64_t order[LL_MAX_RANK];
    uint64_t given = onnx_attr_list(o, "perm", order, LL_MAX_RANK);
    if (!in)
        return false;
    find_strides(x, stride);
    for (unsigned d = 0; d < x->rank; d++)
        from[d] = stride[given ? (uint64_t)order[d] : x->rank - 1u - d];
    for (uint64_t i = 0; i < count; i++)
        out[i] = in[strided_place(y, i, from)];
    return true;
}

/* Along the first axis. */
bool onnx_fold_GATHER(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0), *indices = numbers_of(o, 1);
    int64_t axis = onnx_attr_integer(o, "axis", 0);
    if (!in || !indices || (axis != 0 && axis != -(int64_t)onnx_input(o, 0)->shape.rank))
        return false;
    int64_t rows = (int64_t)onnx_input(o, 0)->shape.dim[0];
    uint64_t picked = ll_elements(&onnx_input(o, 1)->shape);
    uint64_t row = rows ? ll_elements(&onnx_input(o, 0)->shape) / (uint64_t)rows : 0;
    for (uint64_t i = 0; i < picked; i++) {
        int64_t at = onnx_integer(indices[i]);
        at = at < 0 && at >= -rows ? at + rows : at;
        if (at < 0 || at >= rows || ll_mul(i + 1, row) > count)
            return false;
        memcpy(out + i * row, in + (uint64_t)at * row, row * sizeof *out);
    }
    return ll_mul(picked, row) == count;
}

/* All of a list. */
static bool reduce(struct onnx *o, bool product, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    double result = product;
    if (!in || count != 1)
        return false;
    for (uint64_t i = 0; i < ll_elements(&onnx_input(o, 0)->shape); i++)
        result = product ? result * in[i] : result + in[i];
    *out = result;
    return true;
}

bool onnx_fold_SUM(struct onnx *o, double *out, uint64_t count)
{
    return reduce(o, false, out, count);
}

bool onnx_fold_PROD(struct onnx *o, double *out, uint64_t count)
{
    return reduce(o, true, out, count);
}
