/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of the kernels that move, pick by index or multiply in stacks; see twins.h. */
#ifndef LL_TESTS_TWINS_MOVE_H
#define LL_TESTS_TWINS_MOVE_H

#include "twins.h"

/* Element i of a shape as its three indices around an axis. */
struct around {
    uint64_t outer, at, inner, inner_count;
};

static inline struct around around_axis(const struct ll_op_view *op, const struct ll_shape *shape, uint64_t i)
{
    uint64_t axis = (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0), inner = 1;
    for (uint64_t d = axis + 1; d < shape->rank; d++)
        inner *= shape->dim[d];
    return (struct around){i / inner / shape->dim[axis], i / inner % shape->dim[axis], i % inner, inner};
}

static inline uint64_t twin_TRANSPOSE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const struct ll_shape *shape = &op->in[0];
    for (uint64_t n = 0; n < ll_elements(shape); n++) {
        uint64_t index[LL_MAX_RANK], rest = n, to = 0, divisor = 1;
        for (unsigned d = shape->rank; d-- > 0; rest /= shape->dim[d])
            index[d] = rest % shape->dim[d];
        for (unsigned d = 1; d < shape->rank; d++)
            divisor *= 10;
        for (unsigned d = 0; d < shape->rank; d++, divisor /= 10)
            to = to * op->out[0].dim[d] +
                 index[(uint64_t)ll_attr_count(op, LL_ATTR_PERMUTATION, 0) / divisor % 10];
        out[0][to] = in[0][n];
    }
    return 0;
}

/* Rank by rank the largest that is not taken yet, the first of equals. */
static inline uint64_t twin_TOP_K(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t length = op->in[0].dim[op->in[0].rank - 1u], kept = op->out[0].dim[op->out[0].rank - 1u];
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        const double *line = in[0] + i / kept * length;
        uint64_t best = length;
        for (uint64_t k = 0; k < length; k++) {
            bool taken = false;
            for (uint64_t before = i / kept * kept; before < i; before++)
                taken |= (uint64_t)out[1][before] == k;
            if (!taken && (best == length || line[k] > line[best]))
                best = k;
        }
        out[0][i] = line[best];
        out[1][i] = (double)best;
    }
    return ll_elements(&op->in[0]) * (uint64_t)fmax(1, ceil(log2((double)kept)));
}

static inline uint64_t twin_UNRAVEL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t size = (uint64_t)ll_attr_count(op, LL_ATTR_SIZE, 0);
    uint64_t range = (uint64_t)ll_attr_count(op, LL_ATTR_RANGE, 0), flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 2) {
        uint64_t whole = i / op->in[0].dim[op->in[0].rank - 1u] * range + (uint64_t)in[0][i];
        out[0][i] = (double)(whole / size);
        out[1][i] = (double)(whole % size);
    }
    return flops;
}

static inline uint64_t twin_CONCAT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t axis = (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0), before = 0, all = op->out[0].dim[axis];
    for (uint32_t k = 0; k < op->input_count; before += op->in[k++].dim[axis])
        for (uint64_t i = 0; i < ll_elements(&op->in[k]); i++) {
            struct around a = around_axis(op, &op->in[k], i);
            out[0][(a.outer * all + before + a.at) * a.inner_count + a.inner] = in[k][i];
        }
    return 0;
}

/* Of [begin, begin + size) along the axis. */
static inline void take_slice(const struct ll_op_view *op, const double *in, uint64_t begin, uint64_t size,
                              double *out)
{
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++) {
        struct around a = around_axis(op, &op->in[0], i);
        if (a.at >= begin && a.at < begin + size)
            out[(a.outer * size + a.at - begin) * a.inner_count + a.inner] = in[i];
    }
}

static inline uint64_t twin_SPLIT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t size = op->out[0].dim[ll_attr_count(op, LL_ATTR_AXIS, 0)];
    for (uint32_t k = 0; k < op->output_count; k++)
        take_slice(op, in[0], k * size, size, out[k]);
    return 0;
}

static inline uint64_t twin_SLICE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    take_slice(op, in[0], (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0),
               (uint64_t)ll_attr_count(op, LL_ATTR_SIZE, 0), out[0]);
    return 0;
}

static inline uint64_t twin_PAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t before = (uint64_t)ll_attr_count(op, LL_ATTR_BEFORE, 0);
    uint64_t all = op->out[0].dim[ll_attr_count(op, LL_ATTR_AXIS, 0)];
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++) {
        struct around a = around_axis(op, &op->in[0], i);
        out[0][(a.outer * all + before + a.at) * a.inner_count + a.inner] = in[0][i];
    }
    return 0;
}

static inline uint64_t twin_REVERSE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t rows = op->in[0].dim[0], row = ll_elements(&op->in[0]) / rows;
    for (uint64_t i = 0; i < rows * row; i++)
        out[0][(rows - 1 - i / row) * row + i % row] = in[0][i];
    return 0;
}

static inline uint64_t twin_STACK(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t each = ll_elements(&op->in[0]);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = in[i / each][i % each];
    return 0;
}

static inline uint64_t twin_UNSTACK(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t each = ll_elements(&op->out[0]);
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++)
        out[i / each][i % each] = in[0][i];
    return 0;
}

static inline uint64_t twin_ASSIGN(const struct ll_op_view *op, double *const *in, double *const *out)
{
    memcpy(out[0], in[1], ll_elements(&op->out[0]) * sizeof(double));
    return 0;
}

static inline uint64_t twin_GATHER(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t length = ll_elements(&op->in[0]) / op->in[0].dim[0];
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = in[0][(uint64_t)in[1][i / length] * length + i % length];
    return 0;
}

static inline uint64_t twin_TRUE_INDICES(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t found = 0, count = ll_elements(&op->in[0]);
    memset(out[0], 0, count * sizeof(double));
    for (uint64_t i = 0; i < count; i++)
        if (in[0][i] != 0)
            out[0][found++] = (double)i;
    return count;
}

static inline uint64_t twin_ONE_HOT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t depth = (uint64_t)ll_attr_count(op, LL_ATTR_DEPTH, 0);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = in[0][i / depth] == (double)(i % depth);
    return 0;
}

static inline uint64_t twin_SEGMENT_SUM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t length = ll_elements(&op->out[0]) / op->out[0].dim[0], flops = 0;
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops++)
        out[0][(uint64_t)in[1][i / length] * length + i % length] += in[0][i];
    return flops;
}

static inline uint64_t twin_SGD_ROWS(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t length = ll_elements(&op->out[0]) / op->out[0].dim[0], flops = 0;
    memcpy(out[0], in[0], ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[1]); i++, flops += 2)
        out[0][(uint64_t)in[2][i / length] * length + i % length] -=
            ll_attr_real(op, LL_ATTR_LEARNING_RATE, 0) * in[1][i];
    return flops;
}

static inline uint64_t twin_BATCH_MATMUL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0, each[3];
    struct ll_shape shapes[3] = {op->in[0], op->in[1], op->out[0]};
    for (int i = 0; i < 3; i++) {
        each[i] = shapes[i].dim[1] * shapes[i].dim[2];
        shapes[i] = (struct ll_shape){.rank = 2, .dim = {shapes[i].dim[1], shapes[i].dim[2]}};
    }
    struct ll_op_view one = *op;
    one.in = shapes;
    one.out = &shapes[2];
    for (uint64_t b = 0; b < op->in[0].dim[0]; b++)
        flops += twin_MATMUL(&one, (double *[]){in[0] + b * each[0], in[1] + b * each[1]},
                             (double *[]){out[0] + b * each[2]});
    return flops;
}

/* What a code of 8 bits, without its sign, stands for: an integer, or E4M3 (exponent of bias 7). */
static inline double number_of_code(enum ll_dtype dtype, unsigned code)
{
    unsigned exponent = code / 8, fraction = code % 8;
    if (dtype == LL_INT8)
        return code;
    return exponent ? (1 + fraction / 8.) * pow(2, exponent - 7.) : fraction / 8. * pow(2, -6);
}

/* The nearest of all codes, of two the even one. A scale of 32 elements is the power of two that brings the
 * largest below twice the largest power of the type, 256 or 64. Five operations an element. */
static inline uint64_t twin_QUANTIZE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    enum ll_dtype dtype = (enum ll_dtype)op->out[0].dtype;
    uint64_t elements = ll_elements(&op->out[0]), flops = 0;
    for (uint64_t i = 0; i < elements; i++, flops += 5) {
        double scale = 1, largest = 0;
        uint64_t begin = i / 32 * 32, best = 0;
        for (uint64_t j = begin; j < begin + 32 && j < elements; j++)
            largest = fmax(largest, fabs(in[0][j]));
        if (op->out[0].scales != LL_SCALES_NONE && largest > 0)
            scale = pow(2, floor(log2(largest))) / (dtype == LL_F8 ? 256 : 64);
        double x = in[0][i] / scale;
        for (uint64_t code = 1; code < 127 + (dtype == LL_INT8); code++) {
            double far = fabs(number_of_code(dtype, (unsigned)code) - fabs(x)),
                   so_far = fabs(number_of_code(dtype, (unsigned)best) - fabs(x));
            best = far < so_far || (far == so_far && code % 2 == 0) ? code : best;
        }
        out[0][i] = !(x < 0)         ? (double)best
                    : dtype == LL_F8 ? (double)(128 + best)
                                     : (double)((256 - best) % 256);
    }
    return flops;
}

static inline uint64_t twin_DEQUANTIZE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    enum ll_dtype dtype = (enum ll_dtype)op->in[0].dtype;
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 2) {
        unsigned code = (unsigned)in[0][i];
        out[0][i] = code < 128       ? number_of_code(dtype, code)
                    : dtype == LL_F8 ? -number_of_code(dtype, code - 128)
                                     : (double)code - 256;
    }
    return flops;
}

#endif
