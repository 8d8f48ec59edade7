/* SPDX-License-Identifier: Apache-2.0 */
/* What turns the numbers of a region proposal network into boxes (Ren et al., 2015): decode, and keep the
 * best that do not overlap. A box is left, top, right, bottom. */
#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 10 };

/* Boxes by their deltas, which are given in widths and heights of the anchors:
 *
 *     centre = anchor's centre + delta size      size = anchor's size exp(delta)
 *
 * cut at the image's borders and rounded to whole pixels, as the pooling of regions reads them: so no
 * gradient is lost where none flows back. A box grows at most so many times. */
static const double most_growth = 62.5;

struct decoding {
    const real *anchors, *deltas;
    real *boxes;
    uint8_t *large;
    uint64_t count;
    real height, width, least;
};

LL_INLINE real to_side(real at, real most)
{
    real whole = (real)floor((double)at + 0.5);
    return whole < 0 ? 0 : whole > most ? most : whole;
}

static void decode(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct decoding *d = context;
    const real growth = ll_log((real)most_growth);
    for (uint64_t i = begin; i < end; i++) {
        const real *anchor = d->anchors + i % d->count * 4, *delta = d->deltas + i * 4;
        real *box = d->boxes + i * 4, wide = anchor[2] - anchor[0], high = anchor[3] - anchor[1];
        real x = anchor[0] + wide / 2 + delta[0] * wide, y = anchor[1] + high / 2 + delta[1] * high;
        real half_w = wide * ll_exp(delta[2] < growth ? delta[2] : growth) / 2;
        real half_h = high * ll_exp(delta[3] < growth ? delta[3] : growth) / 2;
        box[0] = to_side(x - half_w, d->width);
        box[1] = to_side(y - half_h, d->height);
        box[2] = to_side(x + half_w, d->width);
        box[3] = to_side(y + half_h, d->height);
        d->large[i] = box[2] - box[0] >= d->least && box[3] - box[1] >= d->least;
    }
}

LL_KERNEL(BOX_DECODE)
{
    const struct ll_op_view *op = call->op;
    struct decoding d = {
        .anchors = call->in[0],
        .deltas = call->in[1],
        .boxes = call->out[0],
        .large = call->out[1],
        .count = op->in[0].dim[0],
        .height = (real)ll_attr_count(op, LL_ATTR_HEIGHT, 0),
        .width = (real)ll_attr_count(op, LL_ATTR_WIDTH, 0),
        .least = (real)ll_attr_real(op, LL_ATTR_LEAST, 0),
    };
    ll_pool_run(call->pool, op->in[1].dim[0] * op->in[1].dim[1], GRAIN, decode, &d);
}

/* Boxes of one image with each side in a line of its own. */
struct lines {
    real *left, *top, *right, *bottom, *area, *gone;
};
enum { LINES = 6 };

#ifndef LL_DOUBLE
uint64_t ll_nms_workspace(const struct ll_op_view *op, unsigned threads)
{
    uint64_t line = ll_mul(op->in[0].dim[1], ll_dtype_bytes((enum ll_dtype)op->in[0].dtype));
    return ll_mul(threads, ll_mul(LINES, line));
}
#endif

static void spread_lines(const struct lines *l, const real *boxes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, boxes += 4) {
        real wide = boxes[2] - boxes[0], high = boxes[3] - boxes[1];
        l->left[i] = boxes[0];
        l->top[i] = boxes[1];
        l->right[i] = boxes[2];
        l->bottom[i] = boxes[3];
        l->area[i] = wide > 0 && high > 0 ? wide * high : 0;
        l->gone[i] = 0;
    }
}

/* Marks those behind box `best` that overlap with it by more than this share of their union. */
LL_FAST static void drop_overlapping(const struct lines *l, uint64_t best, uint64_t count, real share)
{
    const real left = l->left[best], top = l->top[best], right = l->right[best], bottom = l->bottom[best],
               area = l->area[best];
    const real *lefts = l->left, *tops = l->top, *rights = l->right, *bottoms = l->bottom, *areas = l->area;
    real *restrict gone = l->gone;
    for (uint64_t i = best + 1; i < count; i++) {
        real wide = (rights[i] < right ? rights[i] : right) - (lefts[i] > left ? lefts[i] : left);
        real high = (bottoms[i] < bottom ? bottoms[i] : bottom) - (tops[i] > top ? tops[i] : top);
        real common = (wide > 0 ? wide : 0) * (high > 0 ? high : 0);
        gone[i] = common > share * (area + areas[i] - common) ? 1 : gone[i];
    }
}

/* Where too few are left, those that are come again. */
static void suppress(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t count = call->op->in[0].dim[1], size = call->op->out[0].dim[1];
    real share = (real)ll_attr_real(call->op, LL_ATTR_OVERLAP, 1);
    real *lines = (real *)call->workspace + ll_pool_worker() * LINES * count;
    const struct lines l = {
        lines, lines + count, lines + 2 * count, lines + 3 * count, lines + 4 * count, lines + 5 * count};
    for (uint64_t image = begin; image < end; image++) {
        int32_t *kept = (int32_t *)call->out[0] + image * size;
        uint64_t found = 0;
        spread_lines(&l, (const real *)call->in[0] + image * count * 4, count);
        for (uint64_t i = 0; i < count && found < size; i++)
            if (l.gone[i] == 0) {
                kept[found++] = (int32_t)(image * count + i);
                drop_overlapping(&l, i, count, share);
            }
        for (uint64_t i = found; i < size; i++)
            kept[i] = kept[i - found];
    }
}

LL_KERNEL(NMS)
{
    struct ll_kernel_call job = *call;
    ll_pool_run(call->pool, call->op->in[0].dim[0], 1, suppress, &job);
}
