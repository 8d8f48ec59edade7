/* SPDX-License-Identifier: Apache-2.0 */
/* The mean over windows, and its gradient: every tap of a window gets the same share of dy. What a window
 * holds outside of the image is zero and counts, as MXNet and PyTorch have it. */
#include "models/nn/kernel_pool.h"

#include <assert.h>
#include <string.h>

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
