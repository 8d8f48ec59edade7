/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of an image, each pooled to the same number of bins (Girshick, 2015): a box, scaled to the image
 * and rounded to its pixels, is cut into size x size bins that may share a pixel at their borders; each gives
 * its largest element and where that was. A bin that lies outside of the image gives zero, from nowhere (-1).
 */
#include "models/nn/kernel.h"

#include <math.h>
#include <string.h>

enum { STRIP = 32 };

struct regions {
    const real *x, *boxes, *dy;
    const int32_t *winners_in;
    real *out;
    int32_t *winners;
    uint64_t height, width, channels, per_image, size, strips;
    double scale;
};

/* Pixels from begin to before end along one axis of a bin. */
struct span {
    uint64_t begin, end;
};

static uint64_t clip(int64_t at, uint64_t size)
{
    return at < 0 ? 0 : ll_min((uint64_t)at, size);
}

static int64_t to_pixel(double at)
{
    return (int64_t)floor(fmin(fmax(at, -1e9), 1e9) + 0.5);
}

/* Bin number i of so many of a box from `low` to `high`, both of whose pixels belong to it. */
static struct span bin_of(const struct regions *r, real low, real high, uint64_t i, uint64_t pixels)
{
    int64_t first = to_pixel((double)low * r->scale), last = to_pixel((double)high * r->scale);
    uint64_t length = last > first ? (uint64_t)(last - first) + 1 : 1;
    return (struct span){clip(first + (int64_t)(i * length / r->size), pixels),
                         clip(first + (int64_t)ll_ceil_div((i + 1) * length, r->size), pixels)};
}

LL_INLINE void take_larger(const real *restrict x, int32_t pixel, uint64_t channels, real *restrict most,
                           int32_t *restrict winner)
{
    for (uint64_t c = 0; c < channels; c++) {
        winner[c] = x[c] > most[c] ? pixel : winner[c];
        most[c] = x[c] > most[c] ? x[c] : most[c];
    }
}

LL_INLINE void pool_bin(const struct regions *r, const real *image, struct span y, struct span x,
                        real *restrict most, int32_t *restrict winner)
{
    bool empty = y.begin >= y.end || x.begin >= x.end;
    for (uint64_t c = 0; c < r->channels; c++) {
        most[c] = empty ? 0 : (real)-INFINITY;
        winner[c] = -1;
    }
    for (uint64_t line = y.begin; line < y.end; line++)
        for (uint64_t column = x.begin; column < x.end; column++) {
            uint64_t pixel = line * r->width + column;
            take_larger(image + pixel * r->channels, (int32_t)pixel, r->channels, most, winner);
        }
}

/* Chunk: lines of bins. */
LL_FAST static void pool_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct regions *r = context;
    for (uint64_t line = begin; line < end; line++) {
        uint64_t region = line / r->size;
        const real *box = r->boxes + region * 4;
        const real *image = r->x + region / r->per_image * r->height * r->width * r->channels;
        struct span y = bin_of(r, box[1], box[3], line % r->size, r->height);
        for (uint64_t i = 0; i < r->size; i++) {
            uint64_t at = (line * r->size + i) * r->channels;
            pool_bin(r, image, y, bin_of(r, box[0], box[2], i, r->width), r->out + at, r->winners + at);
        }
    }
}

LL_KERNEL(ROI_POOL)
{
    const struct ll_shape *x = &call->op->in[0];
    struct regions r = {
        .x = call->in[0],
        .boxes = call->in[1],
        .out = call->out[0],
        .winners = call->out[1],
        .height = x->dim[1],
        .width = x->dim[2],
        .channels = x->dim[3],
        .per_image = call->op->in[1].dim[1],
        .size = call->op->out[0].dim[1],
        .scale = ll_attr_real(call->op, LL_ATTR_SCALE, 1),
    };
    ll_pool_run(call->pool, call->op->out[0].dim[0] * r.size, 1, pool_lines, &r);
}

/* Chunk: strips of channels of an image, so that what comes to a pixel from several regions meets in one
 * thread. */
static void give_strips(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct regions *r = context;
    const uint64_t pixels = r->height * r->width, bins = r->per_image * r->size * r->size;
    for (uint64_t strip = begin; strip < end; strip++) {
        uint64_t image = strip / r->strips, first = strip % r->strips * STRIP;
        uint64_t count = ll_min(STRIP, r->channels - first);
        real *dx = r->out + image * pixels * r->channels + first;
        for (uint64_t pixel = 0; pixel < pixels; pixel++)
            memset(dx + pixel * r->channels, 0, count * sizeof *dx);
        for (uint64_t bin = image * bins; bin < (image + 1) * bins; bin++)
            for (uint64_t c = 0; c < count; c++) {
                int32_t winner = r->winners_in[bin * r->channels + first + c];
                if (winner >= 0 && (uint64_t)winner < pixels)
                    dx[(uint64_t)winner * r->channels + c] += r->dy[bin * r->channels + first + c];
            }
    }
}

LL_KERNEL(ROI_POOL_GRAD)
{
    const struct ll_shape *x = &call->op->out[0], *dy = &call->op->in[0];
    struct regions r = {
        .dy = call->in[0],
        .winners_in = call->in[1],
        .out = call->out[0],
        .height = x->dim[1],
        .width = x->dim[2],
        .channels = x->dim[3],
        .per_image = dy->dim[0] / x->dim[0],
        .size = dy->dim[1],
        .strips = ll_ceil_div(x->dim[3], STRIP),
    };
    ll_pool_run(call->pool, x->dim[0] * r.strips, 1, give_strips, &r);
}
