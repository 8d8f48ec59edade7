/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum over windows, and its gradient: what flows in goes to the first tap that held the maximum. The
 * channels are cut into strips, so that overlapping windows of the gradient meet in one thread only. */
#include "models/nn/kernel_largest.h"
#include "models/nn/kernel_pool.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
