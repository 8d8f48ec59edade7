/* SPDX-License-Identifier: Apache-2.0 */
/* What pools of every kind share: where their windows lie. For kernel files only. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/kernel.h"
#include "models/nn/kernel_largest.h"

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

/* Maximum over windows, and its gradient: what flows in goes to the first tap that held the maximum. The
 * channels are cut into strips, so that overlapping windows of the gradient meet in one thread only. */

/* Chunk: lines of the pooled images. */
LL_FAST static void pool_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct pooling *p = context;
    for (uint64_t pixel = begin * p->out_w; pixel < end * p->out_w; pixel++) {
        uint64_t line = pixel / p->out_w, image = line / p->out_h;
        struct taps taps = taps_of(p, line % p->out_h, pixel % p->out_w);
        real *most = p->out + pixel * p->channels;
        for (uint64_t c = 0; c < p->channels; c++)
            most[c] = (real)-INFINITY;
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++)
                ll_take_largest(p->x + ((image * p->in_h + y) * p->in_w + x) * p->channels, most,
                                p->channels);
    }
}

LL_KERNEL(MAX_POOL)
{
    struct pooling p = pooling_of(call->op, &call->op->in[0], &call->op->out[0]);
    p.x = call->in[0];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->out[0].dim[0] * p.out_h, 1, pool_lines, &p);
}

/* Gives dy to the channels of this tap that hold the maximum and whose dy is not given yet. */
LL_INLINE void give(const real *restrict x, const real *restrict y, real *restrict left, real *restrict dx,
                    uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        real all = left[i], here = x[i] == y[i] ? all : 0;
        dx[i] += here;
        left[i] = all - here;
    }
}

/* Chunk: one strip of channels of one image. */
LL_FAST static void spread_strip(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)end, (void)chunk;
    const struct pooling *p = context;
    assert(end == begin + 1);
    uint64_t image = begin / p->strips, first = begin % p->strips * STRIP;
    uint64_t count = ll_min(STRIP, p->channels - first);
    uint64_t in_pixels = p->in_h * p->in_w, out_pixels = p->out_h * p->out_w;
    const real *in = p->x + image * in_pixels * p->channels + first;
    real *dx = p->out + image * in_pixels * p->channels + first, left[STRIP];
    for (uint64_t pixel = 0; pixel < in_pixels; pixel++)
        memset(dx + pixel * p->channels, 0, count * sizeof(real));
    for (uint64_t pixel = 0; pixel < out_pixels; pixel++) {
        struct taps taps = taps_of(p, pixel / p->out_w, pixel % p->out_w);
        uint64_t result = (image * out_pixels + pixel) * p->channels + first;
        memcpy(left, p->dy + result, count * sizeof(real));
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++) {
                uint64_t tap = (y * p->in_w + x) * p->channels;
                give(in + tap, p->y + result, left, dx + tap, count);
            }
    }
}

LL_KERNEL(MAX_POOL_GRAD)
{
    struct pooling p = pooling_of(call->op, &call->op->in[1], &call->op->in[0]);
    p.dy = call->in[0];
    p.x = call->in[1];
    p.y = call->in[2];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->in[1].dim[0] * p.strips, 1, spread_strip, &p);
}

/* The mean over windows, and its gradient: every tap of a window gets the same share of dy. What a window
 * holds outside of the image is zero and counts, as MXNet and PyTorch have it. */

LL_INLINE void add_channels(const real *restrict x, real *restrict sum, uint64_t count)
{
    for (uint64_t c = 0; c < count; c++)
        sum[c] += x[c];
}

LL_INLINE void scale_channels(real factor, real *restrict x, uint64_t count)
{
    for (uint64_t c = 0; c < count; c++)
        x[c] *= factor;
}

LL_INLINE real share_of(const struct pooling *p)
{
    return 1 / (real)(p->kernel_h * p->kernel_w);
}

/* Chunk: lines of the pooled images. */
LL_FAST static void average_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct pooling *p = context;
    for (uint64_t pixel = begin * p->out_w; pixel < end * p->out_w; pixel++) {
        uint64_t line = pixel / p->out_w, image = line / p->out_h;
        struct taps taps = taps_of(p, line % p->out_h, pixel % p->out_w);
        real *mean = p->out + pixel * p->channels;
        memset(mean, 0, p->channels * sizeof *mean);
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++)
                add_channels(p->x + ((image * p->in_h + y) * p->in_w + x) * p->channels, mean, p->channels);
        scale_channels(share_of(p), mean, p->channels);
    }
}

LL_KERNEL(AVG_POOL)
{
    struct pooling p = pooling_of(call->op, &call->op->in[0], &call->op->out[0]);
    p.x = call->in[0];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->out[0].dim[0] * p.out_h, 1, average_lines, &p);
}

/* Chunk: one strip of channels of one image. */
LL_FAST static void share_strip(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)end, (void)chunk;
    const struct pooling *p = context;
    assert(end == begin + 1);
    uint64_t image = begin / p->strips, first = begin % p->strips * STRIP;
    uint64_t count = ll_min(STRIP, p->channels - first);
    uint64_t in_pixels = p->in_h * p->in_w, out_pixels = p->out_h * p->out_w;
    real *dx = p->out + image * in_pixels * p->channels + first, share[STRIP];
    for (uint64_t pixel = 0; pixel < in_pixels; pixel++)
        memset(dx + pixel * p->channels, 0, count * sizeof(real));
    for (uint64_t pixel = 0; pixel < out_pixels; pixel++) {
        struct taps taps = taps_of(p, pixel / p->out_w, pixel % p->out_w);
        memcpy(share, p->dy + (image * out_pixels + pixel) * p->channels + first, count * sizeof(real));
        scale_channels(share_of(p), share, count);
        for (uint64_t y = taps.top; y < taps.bottom; y++)
            for (uint64_t x = taps.left; x < taps.right; x++)
                add_channels(share, dx + (y * p->in_w + x) * p->channels, count);
    }
}

LL_KERNEL(AVG_POOL_GRAD)
{
    struct pooling p = pooling_of(call->op, &call->op->out[0], &call->op->in[0]);
    p.dy = call->in[0];
    p.out = call->out[0];
    ll_pool_run(call->pool, call->op->out[0].dim[0] * p.strips, 1, share_strip, &p);
}

/* Pixels that become blocks of their kind, and blocks that become their sum. */

struct blocks {
    const real *x;
    real *out;
    uint64_t small_w, channels, high, wide;
};

static struct blocks blocks_of(const struct ll_kernel_call *call, const struct ll_shape *small)
{
    return (struct blocks){
        .x = call->in[0],
        .out = call->out[0],
        .small_w = small->dim[2],
        .channels = small->dim[3],
        .high = (uint64_t)ll_attr_count(call->op, LL_ATTR_KERNEL_H, 1),
        .wide = (uint64_t)ll_attr_count(call->op, LL_ATTR_KERNEL_W, 1),
    };
}

/* Chunk: lines of the small images. */
static void enlarge_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct blocks *b = context;
    const size_t pixel = b->channels * sizeof(real), line = b->small_w * b->wide * b->channels;
    for (uint64_t y = begin; y < end; y++) {
        real *first = b->out + y * b->high * line;
        for (uint64_t x = 0; x < b->small_w * b->wide; x++)
            memcpy(first + x * b->channels, b->x + (y * b->small_w + x / b->wide) * b->channels, pixel);
        for (uint64_t more = 1; more < b->high; more++)
            memcpy(first + more * line, first, line * sizeof(real));
    }
}

LL_KERNEL(UPSAMPLE)
{
    struct blocks b = blocks_of(call, &call->op->in[0]);
    ll_pool_run(call->pool, call->op->in[0].dim[0] * call->op->in[0].dim[1], 1, enlarge_lines, &b);
}

LL_INLINE void add_pixel(const real *restrict x, real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += x[c];
}

/* Chunk: lines of the small images. */
LL_FAST static void sum_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct blocks *b = context;
    const uint64_t large_w = b->small_w * b->wide;
    for (uint64_t y = begin; y < end; y++) {
        real *sums = b->out + y * b->small_w * b->channels;
        memset(sums, 0, b->small_w * b->channels * sizeof *sums);
        for (uint64_t line = y * b->high; line < (y + 1) * b->high; line++)
            for (uint64_t x = 0; x < large_w; x++)
                add_pixel(b->x + (line * large_w + x) * b->channels, sums + x / b->wide * b->channels,
                          b->channels);
    }
}

LL_KERNEL(UPSAMPLE_GRAD)
{
    struct blocks b = blocks_of(call, &call->op->out[0]);
    ll_pool_run(call->pool, call->op->out[0].dim[0] * call->op->out[0].dim[1], 1, sum_lines, &b);
}
