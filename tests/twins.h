/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of the kernels: the formula of each op kind as plainly as it can be written, in double, every
 * index computed from scratch. A twin returns how many FLOPs it did, counted one by one where the op table's
 * count is the algorithm's own. */
#ifndef LL_TESTS_TWINS_H
#define LL_TESTS_TWINS_H

#include "tracer/ir/ops.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Operands as double, whatever their type. */
typedef uint64_t twin(const struct ll_op_view *op, double *const *in, double *const *out);

static inline uint64_t twin_MATMUL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0), tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0);
    uint64_t m = op->out[0].dim[0], n = op->out[0].dim[1], k = op->in[0].dim[!ta], flops = 0;
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j++) {
            out[0][i * n + j] = 0;
            for (uint64_t p = 0; p < k; p++, flops += 2)
                out[0][i * n + j] += in[0][ta ? p * m + i : i * k + p] * in[1][tb ? j * k + p : p * n + j];
        }
    return flops;
}

/* Walks all taps of a convolution: y[b, oy, ox, o] meets x[b, iy, ix, i] over w[ky, kx, i in group, o]. */
struct tap {
    uint64_t x, w, y; /* indices */
    bool inside;      /* of the image; a tap on padding multiplies zero */
};
struct taps_of_conv {
    const struct ll_shape *image, *filter, *result;
    int64_t stride_h, stride_w, top, left;
};

static inline struct taps_of_conv conv_of(const struct ll_op_view *op, const struct ll_shape *image,
                                          const struct ll_shape *filter, const struct ll_shape *result)
{
    return (struct taps_of_conv){image,
                                 filter,
                                 result,
                                 ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
                                 ll_attr_count(op, LL_ATTR_STRIDE_W, 1),
                                 ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
                                 ll_attr_count(op, LL_ATTR_PAD_LEFT, 0)};
}

static inline uint64_t count_taps(const struct taps_of_conv *c)
{
    return ll_elements(c->result) * c->filter->dim[0] * c->filter->dim[1] * c->filter->dim[2];
}

/* Tap number n of count_taps. */
static inline struct tap tap_of(const struct taps_of_conv *c, uint64_t n)
{
    const uint64_t *x = c->image->dim, *w = c->filter->dim, *y = c->result->dim;
    uint64_t i = n % w[2], kx = n / w[2] % w[1], ky = n / w[2] / w[1] % w[0], out = n / w[2] / w[1] / w[0];
    uint64_t o = out % y[3], ox = out / y[3] % y[2], oy = out / y[3] / y[2] % y[1],
             b = out / y[3] / y[2] / y[1];
    int64_t iy = (int64_t)oy * c->stride_h - c->top + (int64_t)ky,
            ix = (int64_t)ox * c->stride_w - c->left + (int64_t)kx;
    uint64_t group = o / (w[3] / (x[3] / w[2]));
    struct tap tap = {.w = ((ky * w[1] + kx) * w[2] + i) * w[3] + o, .y = out};
    tap.inside = iy >= 0 && ix >= 0 && iy < (int64_t)x[1] && ix < (int64_t)x[2];
    if (tap.inside)
        tap.x = ((b * x[1] + (uint64_t)iy) * x[2] + (uint64_t)ix) * x[3] + group * w[2] + i;
    return tap;
}

static inline uint64_t twin_CONV2D(const struct ll_op_view *op, double *const *in, double *const *out)
{
    struct taps_of_conv conv = conv_of(op, &op->in[0], &op->in[1], &op->out[0]);
    uint64_t flops = 0;
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t n = 0; n < count_taps(&conv); n++, flops += 2) {
        struct tap tap = tap_of(&conv, n);
        out[0][tap.y] += tap.inside ? in[0][tap.x] * in[1][tap.w] : 0;
    }
    return flops;
}

static inline uint64_t twin_CONV2D_DATA(const struct ll_op_view *op, double *const *in, double *const *out)
{
    struct taps_of_conv conv = conv_of(op, &op->out[0], &op->in[1], &op->in[0]);
    uint64_t flops = 0;
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t n = 0; n < count_taps(&conv); n++, flops += 2) {
        struct tap tap = tap_of(&conv, n);
        if (tap.inside)
            out[0][tap.x] += in[0][tap.y] * in[1][tap.w];
    }
    return flops;
}

static inline uint64_t twin_CONV2D_FILTER(const struct ll_op_view *op, double *const *in, double *const *out)
{
    struct taps_of_conv conv = conv_of(op, &op->in[0], &op->out[0], &op->in[1]);
    uint64_t flops = 0;
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t n = 0; n < count_taps(&conv); n++, flops += 2) {
        struct tap tap = tap_of(&conv, n);
        out[0][tap.w] += tap.inside ? in[0][tap.x] * in[1][tap.y] : 0;
    }
    return flops;
}

/* The element of input n that meets element i of the result: each index of the result, or 0 where the input
 * has length 1 there. */
static inline double met_element(const struct ll_op_view *op, double *const *in, uint32_t n, uint64_t i)
{
    const struct ll_shape *shape = &op->in[n], *out = &op->out[0];
    uint64_t at = 0, step = 1;
    for (unsigned k = 0; k < shape->rank; k++) {
        unsigned from = shape->rank - 1u - k, to = out->rank - 1u - k;
        at += (shape->dim[from] == 1 ? 0 : i % out->dim[to]) * step;
        step *= shape->dim[from];
        i /= out->dim[to];
    }
    return in[n][at];
}

/* x and y are the elements of the first two inputs, c that of a third; `each` FLOPs an element. */
#define LL_TWIN_OF_ELEMENTS(word, each, formula)                                                             \
    static inline uint64_t twin_##word(const struct ll_op_view *op, double *const *in, double *const *out)   \
    {                                                                                                        \
        uint64_t flops = 0;                                                                                  \
        const double limit = ll_attr_real(op, LL_ATTR_LIMIT, INFINITY);                                      \
        for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += each) {                             \
            const double x = met_element(op, in, 0, i),                                                      \
                         y = op->input_count > 1 ? met_element(op, in, 1, i) : 0;                            \
            const double c = op->input_count > 2 ? met_element(op, in, 2, i) : 0;                            \
            (void)x, (void)y, (void)c, (void)limit;                                                          \
            out[0][i] = formula;                                                                             \
        }                                                                                                    \
        return flops;                                                                                        \
    }
LL_TWIN_OF_ELEMENTS(ADD, 1, x + y)
LL_TWIN_OF_ELEMENTS(SUB, 1, x - y)
LL_TWIN_OF_ELEMENTS(MUL, 1, x *y)
LL_TWIN_OF_ELEMENTS(DIV, 1, x / y)
LL_TWIN_OF_ELEMENTS(MAXIMUM, 1, fmax(x, y))
LL_TWIN_OF_ELEMENTS(MINIMUM, 1, fmin(x, y))
LL_TWIN_OF_ELEMENTS(POW, 1, pow(x, y))
LL_TWIN_OF_ELEMENTS(BIAS_ADD, 1, x + y)
LL_TWIN_OF_ELEMENTS(NEG, 1, -x)
LL_TWIN_OF_ELEMENTS(ABS, 1, fabs(x))
LL_TWIN_OF_ELEMENTS(SIGN, 1, (x > 0) - (x < 0))
LL_TWIN_OF_ELEMENTS(FLOOR, 1, floor(x))
LL_TWIN_OF_ELEMENTS(SQUARE, 1, x *x)
LL_TWIN_OF_ELEMENTS(SQRT, 1, sqrt(x))
LL_TWIN_OF_ELEMENTS(SQRT_GRAD, 2, x * 0.5 / y)
LL_TWIN_OF_ELEMENTS(EXP, 1, exp(x))
LL_TWIN_OF_ELEMENTS(LOG, 1, log(x))
LL_TWIN_OF_ELEMENTS(SIGMOID, 4, 1 / (1 + exp(-x)))
LL_TWIN_OF_ELEMENTS(SIGMOID_GRAD, 3, x *(1 - y) * y)
LL_TWIN_OF_ELEMENTS(TANH, 6, tanh(x))
LL_TWIN_OF_ELEMENTS(TANH_GRAD, 3, x *(1 - y) * (1 + y))
LL_TWIN_OF_ELEMENTS(RELU, 1, fmax(x, 0))
LL_TWIN_OF_ELEMENTS(RELU_GRAD, 1, y > 0 ? x : 0)
LL_TWIN_OF_ELEMENTS(RELU_CLIPPED, 2, fmin(fmax(x, 0), limit))
LL_TWIN_OF_ELEMENTS(RELU_CLIPPED_GRAD, 2, y > 0 && y < limit ? x : 0)
LL_TWIN_OF_ELEMENTS(GELU, 10, x / 2 * (1 + erf(x / sqrt(2))))
LL_TWIN_OF_ELEMENTS(GELU_GRAD, 16, x *((1 + erf(y / sqrt(2))) / 2 + y / sqrt(8 * atan(1)) * exp(-y * y / 2)))
LL_TWIN_OF_ELEMENTS(EQUAL, 1, x == y)
LL_TWIN_OF_ELEMENTS(LESS, 1, x < y)
LL_TWIN_OF_ELEMENTS(GREATER, 1, x > y)

static inline uint64_t twin_SELECT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t row = ll_elements(&op->in[1]) / ll_elements(&op->in[0]);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = in[0][i / row] != 0 ? in[1][i] : in[2][i];
    return ll_elements(&op->out[0]);
}

static inline uint64_t twin_ADD_N(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0, count = ll_elements(&op->out[0]);
    memcpy(out[0], in[0], count * sizeof(double));
    for (uint32_t k = 1; k < op->input_count; k++)
        for (uint64_t i = 0; i < count; i++, flops++)
            out[0][i] += in[k][i];
    return flops;
}

static inline uint64_t twin_SOFTMAX_XENT_GRAD(const struct ll_op_view *op, double *const *in,
                                              double *const *out)
{
    uint64_t count = ll_elements(&op->out[0]), length = count / op->in[1].dim[0];
    for (uint64_t i = 0; i < count; i++)
        out[0][i] = in[0][i] * in[1][i / length];
    return count;
}

static inline uint64_t twin_CAST(const struct ll_op_view *op, double *const *in, double *const *out)
{
    memcpy(out[0], in[0], ll_elements(&op->out[0]) * sizeof(double));
    return 0;
}
#define twin_RESHAPE twin_CAST

static inline uint64_t twin_BIAS_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t columns = op->out[0].dim[0], flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++)
        if (i < columns)
            out[0][i] = in[0][i];
        else
            out[0][i % columns] += in[0][i], flops++;
    return flops;
}

/* Where element i of the wide shape lies in the narrow one, which lacks the dimensions that the attributes
 * name. */
static inline uint64_t narrow_index(const struct ll_op_view *op, const struct ll_shape *wide, uint64_t i)
{
    uint64_t axis = (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0), narrow = 0, stride = 1;
    uint64_t axes = (uint64_t)ll_attr_count(op, LL_ATTR_AXES, wide->rank - (int64_t)axis);
    for (uint64_t j = wide->rank; j-- > 0; i /= wide->dim[j])
        if (j < axis || j >= axis + axes) {
            narrow += i % wide->dim[j] * stride;
            stride *= wide->dim[j];
        }
    return narrow;
}

/* One addition less than there are numbers. */
static inline uint64_t twin_SUM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++)
        out[0][narrow_index(op, &op->in[0], i)] += in[0][i];
    return ll_elements(&op->in[0]) - ll_elements(&op->out[0]);
}

static inline uint64_t twin_MEAN(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = twin_SUM(op, in, out), count = ll_elements(&op->in[0]) / ll_elements(&op->out[0]);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops++)
        out[0][i] /= (double)count;
    return flops;
}

static inline uint64_t twin_TILE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = in[0][narrow_index(op, &op->out[0], i)];
    return 0;
}

static inline uint64_t twin_MEAN_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = twin_TILE(op, in, out), count = ll_elements(&op->out[0]) / ll_elements(&op->in[0]);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops++)
        out[0][i] /= (double)count;
    return flops;
}

static inline uint64_t twin_MAX(const struct ll_op_view *op, double *const *in, double *const *out)
{
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = -INFINITY;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++) {
        double *most = &out[0][narrow_index(op, &op->in[0], i)];
        *most = fmax(*most, in[0][i]);
    }
    return ll_elements(&op->in[0]) - ll_elements(&op->out[0]);
}

static inline uint64_t twin_L2_LOSS(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    out[0][0] = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 2)
        out[0][0] += in[0][i] * in[0][i] / 2;
    return flops;
}

static inline uint64_t twin_ARGMAX(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t columns = op->in[0].dim[op->in[0].rank - 1];
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++)
        if (i % columns == 0 || in[0][i] > in[0][i / columns * columns + (uint64_t)out[0][i / columns]])
            out[0][i / columns] = (double)(i % columns);
    return ll_elements(&op->in[0]);
}

/* bias + alpha times the squares around channel i; one operation for each channel of the window, also where
 * it reaches past the last. */
static inline double lrn_sum(const struct ll_op_view *op, const double *x, uint64_t i, uint64_t channels,
                             uint64_t *flops)
{
    int64_t radius = ll_attr_count(op, LL_ATTR_RADIUS, 0), c = (int64_t)(i % channels);
    double sum = ll_attr_real(op, LL_ATTR_BIAS, 1);
    for (int64_t j = c - radius; j <= c + radius; j++, ++*flops)
        if (j >= 0 && j < (int64_t)channels)
            sum += ll_attr_real(op, LL_ATTR_ALPHA, 1) * x[(int64_t)i - c + j] * x[(int64_t)i - c + j];
    return sum;
}

/* Beside the sum: times alpha, plus bias, a power, times x. */
static inline uint64_t twin_LRN(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t channels = op->in[0].dim[op->in[0].rank - 1], flops = 0;
    double beta = ll_attr_real(op, LL_ATTR_BETA, 0.5);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += 4)
        out[0][i] = in[0][i] * pow(lrn_sum(op, in[0], i, channels, &flops), -beta);
    return flops;
}

/* The gradient by its definition: dx_i = sum_j dy_j dy_j/dx_i, from the input alone. Its count is not this
 * one's: twice the forward op's by convention. */
static inline uint64_t twin_LRN_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t channels = op->in[0].dim[op->in[0].rank - 1];
    int64_t radius = ll_attr_count(op, LL_ATTR_RADIUS, 0);
    uint64_t ours = 0;
    double alpha = ll_attr_real(op, LL_ATTR_ALPHA, 1), beta = ll_attr_real(op, LL_ATTR_BETA, 0.5);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        out[0][i] = 0;
        for (uint64_t j = i / channels * channels; j < (i / channels + 1) * channels; j++) {
            double sum = lrn_sum(op, in[1], j, channels, &ours);
            bool near = llabs((int64_t)i - (int64_t)j) <= radius;
            double slope = near ? in[1][j] * -beta * pow(sum, -beta - 1) * 2 * alpha * in[1][i] : 0;
            out[0][i] += in[0][j] * (slope + (i == j ? pow(sum, -beta) : 0));
        }
    }
    return ll_op_flops(op);
}

/* Ioffe and Szegedy, 2015, algorithm 1, a channel at a time. The distance from the mean is taken once. */
static inline uint64_t twin_BATCH_NORM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t channels = op->in[1].dim[0], elements = ll_elements(&op->in[0]), flops = 0;
    double rows = (double)(elements / channels), epsilon = ll_attr_real(op, LL_ATTR_EPSILON, 1e-5);
    for (uint64_t c = 0; c < channels; c++, flops += 3) { /* add epsilon, root, divide */
        double mean = 0, variance = 0;
        for (uint64_t i = c; i < elements; i += channels, flops++)
            mean += in[0][i] / rows;
        for (uint64_t i = c; i < elements; i += channels, flops += 3)
            variance += (in[0][i] - mean) * (in[0][i] - mean) / rows;
        for (uint64_t i = c; i < elements; i += channels, flops += 2)
            out[0][i] = (in[0][i] - mean) / sqrt(variance + epsilon) * in[1][c] + in[2][c];
        out[1][c] = mean;
        out[2][c] = variance;
    }
    return flops;
}

/* The chain rule through y, variance and mean as the paper's section 3 writes it. The count is the
 * convention's. */
static inline uint64_t twin_BATCH_NORM_GRAD(const struct ll_op_view *op, double *const *in,
                                            double *const *out)
{
    const double *dy = in[0], *x = in[1];
    uint64_t channels = op->in[2].dim[0], elements = ll_elements(&op->in[0]);
    double rows = (double)(elements / channels), epsilon = ll_attr_real(op, LL_ATTR_EPSILON, 1e-5);
    for (uint64_t c = 0; c < channels; c++) {
        double gamma = in[2][c], mean = in[3][c], spread = in[4][c] + epsilon, dvariance = 0, dmean = 0;
        out[1][c] = out[2][c] = 0;
        for (uint64_t i = c; i < elements; i += channels) {
            dvariance += dy[i] * gamma * (x[i] - mean) * -0.5 * pow(spread, -1.5);
            dmean += dy[i] * gamma * -1 / sqrt(spread);
            out[1][c] += dy[i] * (x[i] - mean) / sqrt(spread);
            out[2][c] += dy[i];
        }
        for (uint64_t i = c; i < elements; i += channels)
            out[0][i] = dy[i] * gamma / sqrt(spread) + dvariance * 2 * (x[i] - mean) / rows + dmean / rows;
    }
    return ll_op_flops(op);
}

/* The root and the scale are a channel's: a product and a sum for each element. */
static inline uint64_t twin_BATCH_NORM_FIXED(const struct ll_op_view *op, double *const *in,
                                             double *const *out)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 2) {
        uint64_t c = i % op->in[1].dim[0];
        double root = sqrt(in[4][c] + ll_attr_real(op, LL_ATTR_EPSILON, 1e-5));
        out[0][i] = (in[0][i] - in[3][c]) / root * in[1][c] + in[2][c];
    }
    return flops;
}

/* Of each element: scale; add to dbeta; subtract the mean, multiply, add to dgamma. */
static inline uint64_t twin_BATCH_NORM_FIXED_GRAD(const struct ll_op_view *op, double *const *in,
                                                  double *const *out)
{
    uint64_t channels = op->in[2].dim[0], flops = 0;
    memset(out[1], 0, channels * sizeof(double));
    memset(out[2], 0, channels * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 5) {
        uint64_t c = i % channels;
        double root = sqrt(in[4][c] + ll_attr_real(op, LL_ATTR_EPSILON, 1e-5));
        out[0][i] = in[0][i] * in[2][c] / root;
        out[1][c] += in[0][i] * (in[1][i] - in[3][c]) / root;
        out[2][c] += in[0][i];
    }
    return flops;
}

/* For each logit: compare, subtract, exp, add; then divide and subtract. */
static inline uint64_t twin_SOFTMAX_XENT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t rows = op->in[0].dim[0], classes = op->in[0].dim[1], flops = 0;
    for (uint64_t row = 0; row < rows; row++) {
        const double *x = in[0] + row * classes;
        double most = -INFINITY, sum = 0;
        for (uint64_t i = 0; i < classes; i++, flops++)
            most = fmax(most, x[i]);
        for (uint64_t i = 0; i < classes; i++, flops += 3)
            sum += exp(x[i] - most);
        out[0][row] = log(sum) - (x[(uint64_t)in[1][row]] - most);
        for (uint64_t i = 0; i < classes; i++, flops += 2)
            out[1][row * classes + i] = exp(x[i] - most) / sum - (i == (uint64_t)in[1][row]);
    }
    return flops;
}

/* The same for targets of which the wrong classes have a share; the product with the target and its sum more.
 */
static inline uint64_t twin_SOFTMAX_XENT_SMOOTH(const struct ll_op_view *op, double *const *in,
                                                double *const *out)
{
    uint64_t rows = op->in[0].dim[0], classes = op->in[0].dim[1], flops = 0;
    double smoothing = ll_attr_real(op, LL_ATTR_SMOOTHING, 0);
    for (uint64_t row = 0; row < rows; row++) {
        const double *x = in[0] + row * classes;
        double sum = 0;
        for (uint64_t i = 0; i < classes; i++)
            sum += exp(x[i]);
        out[0][row] = 0;
        for (uint64_t i = 0; i < classes; i++, flops += 8) {
            double target = i == (uint64_t)in[1][row] ? 1 - smoothing : smoothing / (double)(classes - 1);
            out[0][row] -= target * log(exp(x[i]) / sum);
            out[1][row * classes + i] = exp(x[i]) / sum - target;
        }
    }
    return flops;
}

/* For each element: compare, subtract, exp, add, divide. */
static inline uint64_t twin_SOFTMAX(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t length = op->in[0].dim[op->in[0].rank - 1u], flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 5) {
        const double *row = in[0] + i / length * length;
        double sum = 0;
        for (uint64_t k = 0; k < length; k++)
            sum += exp(row[k] - in[0][i]);
        out[0][i] = 1 / sum;
    }
    return flops;
}

/* As with labels, and a product with the target for each logit. */
static inline uint64_t twin_SOFTMAX_XENT_DENSE(const struct ll_op_view *op, double *const *in,
                                               double *const *out)
{
    uint64_t rows = op->in[0].dim[0], classes = op->in[0].dim[1], flops = 0;
    for (uint64_t row = 0; row < rows; row++) {
        const double *x = in[0] + row * classes, *target = in[1] + row * classes;
        double most = -INFINITY, sum = 0, weight = 0;
        for (uint64_t i = 0; i < classes; i++)
            most = fmax(most, x[i]);
        for (uint64_t i = 0; i < classes; i++, weight += target[i - 1])
            sum += exp(x[i] - most);
        out[0][row] = 0;
        for (uint64_t i = 0; i < classes; i++, flops += 7) {
            out[0][row] -= target[i] * log(exp(x[i] - most) / sum);
            out[1][row * classes + i] = exp(x[i] - most) / sum * weight - target[i];
        }
    }
    return flops;
}

static inline uint64_t twin_HOST_INPUT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    memcpy(out[0], in[0], ll_elements(&op->out[0]) * sizeof(double));
    return 0;
}

#endif
