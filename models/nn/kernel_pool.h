/* SPDX-License-Identifier: Apache-2.0 */
/* What pools of every kind share: where their windows lie. For kernel files only. */
#ifndef LL_NN_KERNEL_POOL_H
#define LL_NN_KERNEL_POOL_H

#include "models/nn/kernel.h"

/* Channels are cut into strips, so that overlapping windows of a gradient meet in one thread only. */
enum { STRIP = 32 };

struct pooling {
    const real *dy, *x, *y;
    real *out;
    uint64_t in_h, in_w, out_h, out_w, channels, strips, kernel_h, kernel_w, stride_h, stride_w;
    int64_t pad_top, pad_left;
};

LL_INLINE struct pooling pooling_of(const struct ll_op_view *op, const struct ll_shape *in,
                                    const struct ll_shape *out)
{
    return (struct pooling){
        .in_h = in->dim[1],
        .in_w = in->dim[2],
        .out_h = out->dim[1],
        .out_w = out->dim[2],
        .channels = in->dim[3],
        .strips = ll_ceil_div(in->dim[3], STRIP),
        .kernel_h = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1),
        .kernel_w = (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1),
        .stride_h = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
        .stride_w = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_W, 1),
        .pad_top = ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
        .pad_left = ll_attr_count(op, LL_ATTR_PAD_LEFT, 0),
    };
}

/* A window clipped to the image. */
struct taps {
    uint64_t top, bottom, left, right;
};

LL_INLINE uint64_t clip(int64_t position, uint64_t size)
{
    return position < 0 ? 0 : ll_min((uint64_t)position, size);
}

LL_INLINE struct taps taps_of(const struct pooling *p, uint64_t y, uint64_t x)
{
    int64_t top = (int64_t)(y * p->stride_h) - p->pad_top, left = (int64_t)(x * p->stride_w) - p->pad_left;
    return (struct taps){clip(top, p->in_h), clip(top + (int64_t)p->kernel_h, p->in_h), clip(left, p->in_w),
                         clip(left + (int64_t)p->kernel_w, p->in_w)};
}

#endif
