/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of pools; see twins.h. */
#ifndef LL_TESTS_TWINS_POOL_H
#define LL_TESTS_TWINS_POOL_H

#include "twins.h"

/* The index in x of each tap of window `i` of the pooled image, or UINT64_MAX outside. */
static inline uint64_t pool_tap(const struct ll_op_view *op, const struct ll_shape *x,
                                const struct ll_shape *y, uint64_t i, uint64_t ky, uint64_t kx)
{
    uint64_t c = i % y->dim[3], ox = i / y->dim[3] % y->dim[2], oy = i / y->dim[3] / y->dim[2] % y->dim[1];
    int64_t iy = (int64_t)oy * ll_attr_count(op, LL_ATTR_STRIDE_H, 1) -
                 ll_attr_count(op, LL_ATTR_PAD_TOP, 0) + (int64_t)ky;
    int64_t ix = (int64_t)ox * ll_attr_count(op, LL_ATTR_STRIDE_W, 1) -
                 ll_attr_count(op, LL_ATTR_PAD_LEFT, 0) + (int64_t)kx;
    if (iy < 0 || ix < 0 || iy >= (int64_t)x->dim[1] || ix >= (int64_t)x->dim[2])
        return UINT64_MAX;
    uint64_t image = i / y->dim[3] / y->dim[2] / y->dim[1];
    return ((image * x->dim[1] + (uint64_t)iy) * x->dim[2] + (uint64_t)ix) * x->dim[3] + c;
}

static inline uint64_t twin_MAX_POOL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t kh = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1), flops = 0;
    uint64_t kw = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        out[0][i] = -INFINITY;
        for (uint64_t k = 0; k < kh * kw; k++, flops++) {
            uint64_t tap = pool_tap(op, &op->in[0], &op->out[0], i, k / kw, k % kw);
            if (tap != UINT64_MAX)
                out[0][i] = fmax(out[0][i], in[0][tap]);
        }
    }
    return flops;
}

static inline uint64_t twin_MAX_POOL_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t kw = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1), flops = 0;
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops++)
        for (uint64_t k = 0;; k++) {
            uint64_t tap = pool_tap(op, &op->in[1], &op->in[0], i, k / kw, k % kw);
            if (tap == UINT64_MAX || in[1][tap] != in[2][i])
                continue;
            out[0][tap] += in[0][i];
            break;
        }
    return flops;
}

static inline uint64_t twin_AVG_POOL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t kh = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1), flops = 0;
    uint64_t kw = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        double sum = 0;
        for (uint64_t k = 0; k < kh * kw; k++, flops++) {
            uint64_t tap = pool_tap(op, &op->in[0], &op->out[0], i, k / kw, k % kw);
            sum += tap == UINT64_MAX ? 0 : in[0][tap];
        }
        out[0][i] = sum / (double)(kh * kw);
    }
    return flops;
}

static inline uint64_t twin_AVG_POOL_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t kh = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1), flops = 0;
    uint64_t kw = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1);
    memset(out[0], 0, ll_elements(&op->out[0]) * sizeof(double));
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++)
        for (uint64_t k = 0; k < kh * kw; k++, flops++) {
            uint64_t tap = pool_tap(op, &op->out[0], &op->in[0], i, k / kw, k % kw);
            if (tap != UINT64_MAX)
                out[0][tap] += in[0][i] / (double)(kh * kw);
        }
    return flops;
}

#endif
