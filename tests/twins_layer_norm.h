/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of the normalisations of rows; see twins.h. */
#ifndef LL_TESTS_TWINS_LAYER_NORM_H
#define LL_TESTS_TWINS_LAYER_NORM_H

#include "twins.h"

/* What a row is shifted and scaled by before gamma: (x - mean) / root. */
struct row_of_layer {
    double mean, root;
};

static inline struct row_of_layer layer_row(const struct ll_op_view *op, const double *x, uint64_t n,
                                            bool centred)
{
    struct row_of_layer row = {0, 0};
    for (uint64_t i = 0; centred && i < n; i++)
        row.mean += x[i] / (double)n;
    for (uint64_t i = 0; i < n; i++)
        row.root += (x[i] - row.mean) * (x[i] - row.mean) / (double)n;
    row.root = sqrt(row.root + ll_attr_real(op, LL_ATTR_EPSILON, 1e-5));
    return row;
}

static inline void twin_of_layers(const struct ll_op_view *op, double *const *in, double *const *out,
                                  bool centred)
{
    uint64_t n = op->in[1].dim[0];
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        struct row_of_layer row = layer_row(op, in[0] + i / n * n, n, centred);
        out[0][i] = in[1][i % n] * (in[0][i] - row.mean) / row.root;
        out[0][i] += op->input_count > 2 ? in[2][i % n] : 0;
    }
}

/* Mean, square of the distance and its sum, subtract, divide, scale, shift. */
static inline uint64_t twin_LAYER_NORM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    twin_of_layers(op, in, out, true);
    return 7 * ll_elements(&op->out[0]);
}

/* Square, sum, divide, scale. */
static inline uint64_t twin_RMS_NORM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    twin_of_layers(op, in, out, false);
    return 4 * ll_elements(&op->out[0]);
}

/* By the definition: dx_i = sum_j gamma_j dy_j dh_j/dx_i, where the derivative of h_j = (x_j - m) / s is
 * (i = j) / s - 1 / (n s) - (x_j - m) (x_i - m) / (n s^3), without the middle term where there is no mean.
 * The count is the convention's. */
static inline uint64_t twin_of_layer_grads(const struct ll_op_view *op, double *const *in, double *const *out,
                                           bool centred)
{
    const double *dy = in[0], *x = in[1], *gamma = in[2];
    uint64_t n = op->in[2].dim[0];
    for (uint32_t k = 1; k < op->output_count; k++)
        memset(out[k], 0, n * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        const uint64_t first = i / n * n;
        struct row_of_layer row = layer_row(op, x + first, n, centred);
        double s = row.root, cube = (double)n * s * s * s;
        out[0][i] = 0;
        for (uint64_t j = first; j < first + n; j++)
            out[0][i] += gamma[j - first] * dy[j] *
                         ((i == j ? 1 / s : 0) - (centred ? 1 / ((double)n * s) : 0) -
                          (x[j] - row.mean) * (x[i] - row.mean) / cube);
        out[1][i - first] += dy[i] * (x[i] - row.mean) / s;
        if (op->output_count > 2)
            out[2][i - first] += dy[i];
    }
    return ll_op_flops(op);
}

static inline uint64_t twin_LAYER_NORM_GRAD(const struct ll_op_view *op, double *const *in,
                                            double *const *out)
{
    return twin_of_layer_grads(op, in, out, true);
}

static inline uint64_t twin_RMS_NORM_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    return twin_of_layer_grads(op, in, out, false);
}

/* Which group of channels of which sample element i of x belongs to. */
static inline uint64_t group_of(const struct ll_op_view *op, const struct ll_shape *x, uint64_t i)
{
    const uint64_t channels = x->dim[x->rank - 1], groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1),
                   sample = ll_elements(x) / x->dim[0];
    return i / sample * groups + i % channels / (channels / groups);
}

/* Mean and root of the group of element i. */
static inline struct row_of_layer group_row(const struct ll_op_view *op, const struct ll_shape *shape,
                                            const double *x, uint64_t i, double *count)
{
    struct row_of_layer row = {0, 0};
    *count = 0;
    for (uint64_t j = 0; j < ll_elements(shape); j++)
        *count += group_of(op, shape, j) == group_of(op, shape, i);
    for (uint64_t j = 0; j < ll_elements(shape); j++)
        row.mean += group_of(op, shape, j) == group_of(op, shape, i) ? x[j] / *count : 0;
    for (uint64_t j = 0; j < ll_elements(shape); j++)
        row.root += group_of(op, shape, j) == group_of(op, shape, i)
                        ? (x[j] - row.mean) * (x[j] - row.mean) / *count
                        : 0;
    row.root = sqrt(row.root + ll_attr_real(op, LL_ATTR_EPSILON, 1e-5));
    return row;
}

static inline uint64_t twin_GROUP_NORM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const uint64_t channels = op->in[1].dim[0];
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        double count;
        struct row_of_layer row = group_row(op, &op->in[0], in[0], i, &count);
        out[0][i] = in[1][i % channels] * (in[0][i] - row.mean) / row.root;
        out[0][i] += op->input_count > 2 ? in[2][i % channels] : 0;
    }
    return 7 * ll_elements(&op->out[0]);
}

/* As of rows, over the elements of a group. */
static inline uint64_t twin_GROUP_NORM_GRAD(const struct ll_op_view *op, double *const *in,
                                            double *const *out)
{
    const double *dy = in[0], *x = in[1], *gamma = in[2];
    const struct ll_shape *shape = &op->in[1];
    const uint64_t channels = op->in[2].dim[0];
    for (int k = 1; k < 3; k++)
        memset(out[k], 0, channels * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(shape); i++) {
        double n;
        struct row_of_layer row = group_row(op, shape, x, i, &n);
        const double s = row.root;
        out[0][i] = 0;
        for (uint64_t j = 0; j < ll_elements(shape); j++)
            if (group_of(op, shape, j) == group_of(op, shape, i))
                out[0][i] += gamma[j % channels] * dy[j] *
                             ((i == j ? 1 / s : 0) - 1 / (n * s) -
                              (x[j] - row.mean) * (x[i] - row.mean) / (n * s * s * s));
        out[1][i % channels] += dy[i] * (x[i] - row.mean) / s;
        out[2][i % channels] += dy[i];
    }
    return ll_op_flops(op);
}

#endif
