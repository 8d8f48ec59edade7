/* SPDX-License-Identifier: Apache-2.0 */
/* What turns the numbers of a region proposal network into boxes (Ren et al., 2015): decode, and keep the
 * best that do not overlap. A box is left, top, right, bottom. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

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

static LL_INLINE real to_side(real at, real most)
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

/* Which of the proposed boxes a step learns from, and what from each (Girshick, 2015): up to a share of those
 * that overlap well with a box of the truth, the rest from the others, all drawn without putting back; the
 * boxes of the truth are proposals, too. Where both are too few, what was drawn comes again.
 *
 * A box whose class is k is to become the one it overlaps with best: its four targets, in units of a tenth of
 * its size for the centre and a fifth for the logarithm of the size, stand at 4 k and count; elsewhere
 * nothing does. Truths of class 0 are none. */

struct candidate {
    const real *box;
    int64_t match;  /* of the truth, or -1 */
    double overlap; /* with it */
};

struct drawer {
    const struct ll_kernel_call *call;
    uint64_t boxes, truths, size, classes;
    uint64_t key;
    double least, share;
    unsigned char *scratch;
    uint64_t scratch_bytes; /* for each thread */
};

static uint64_t scratch_bytes(const struct ll_op_view *op)
{
    uint64_t all = ll_add(op->in[0].dim[1], op->in[1].dim[1]), size = op->out[0].dim[1];
    return ll_add(ll_mul(all, sizeof(struct candidate) + 2 * sizeof(uint64_t)),
                  ll_mul(size, sizeof(uint64_t)));
}

#ifndef LL_DOUBLE
uint64_t ll_box_sample_workspace(const struct ll_op_view *op, unsigned threads)
{
    return ll_mul(threads, scratch_bytes(op));
}
#endif

static int64_t class_of(const struct drawer *d, const real *truth)
{
    return truth[4] >= 1 && truth[4] < (real)d->classes ? (int64_t)truth[4] : 0;
}

static double area(double wide, double high)
{
    return wide > 0 && high > 0 ? wide * high : 0;
}

/* What two boxes have in common, as a share of what either has. */
static double overlap(const real *a, const real *b)
{
    double common = area(fmin((double)a[2], (double)b[2]) - fmax((double)a[0], (double)b[0]),
                         fmin((double)a[3], (double)b[3]) - fmax((double)a[1], (double)b[1]));
    double either = area((double)a[2] - (double)a[0], (double)a[3] - (double)a[1]) +
                    area((double)b[2] - (double)b[0], (double)b[3] - (double)b[1]) - common;
    return either > 0 ? common / either : 0;
}

static struct candidate candidate_of(const struct drawer *d, const real *box, const real *truths)
{
    struct candidate c = {box, -1, 0};
    for (uint64_t i = 0; i < d->truths; i++) {
        double share = class_of(d, truths + 5 * i) ? overlap(box, truths + 5 * i) : -1;
        if (share > c.overlap)
            c = (struct candidate){box, (int64_t)i, share};
    }
    return c;
}

/* The first `count` of the list become a random choice of it. */
static void shuffle(uint64_t *list, uint64_t length, uint64_t count, uint64_t key)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t other = i + ll_random_bits(key, i) % (length - i), held = list[i];
        list[i] = list[other];
        list[other] = held;
    }
}

/* Fills chosen[size] with numbers of candidates, of which there is one at least; the lists have room for two
 * numbers of each. */
static void choose(const struct drawer *d, const struct candidate *all, uint64_t count, uint64_t key,
                   uint64_t *good, uint64_t *chosen)
{
    uint64_t goods = 0, bads = 0, found = 0, *bad = good + count;
    for (uint64_t i = 0; i < count; i++)
        if (all[i].match >= 0 && all[i].overlap >= d->least)
            good[goods++] = i;
        else
            bad[bads++] = i;
    uint64_t wanted = ll_min(goods, (uint64_t)(d->share * (double)d->size));
    shuffle(good, goods, goods, ll_random_key(key, 0));
    shuffle(bad, bads, bads, ll_random_key(key, 1));
    for (uint64_t i = 0; i < wanted; i++)
        chosen[found++] = good[i];
    for (uint64_t i = 0; i < bads && found < d->size; i++)
        chosen[found++] = bad[i];
    for (uint64_t i = wanted; i < goods && found < d->size; i++)
        chosen[found++] = good[i];
    for (uint64_t i = found; i < d->size; i++)
        chosen[i] = chosen[i - found];
}

static void aim(const real *from, const real *to, real *targets)
{
    double wide = fmax((double)from[2] - (double)from[0], 1),
           high = fmax((double)from[3] - (double)from[1], 1);
    double to_wide = fmax((double)to[2] - (double)to[0], 1), to_high = fmax((double)to[3] - (double)to[1], 1);
    targets[0] = (real)(((double)to[0] + (double)to[2] - (double)from[0] - (double)from[2]) / 2 / wide * 10);
    targets[1] = (real)(((double)to[1] + (double)to[3] - (double)from[1] - (double)from[3]) / 2 / high * 10);
    targets[2] = (real)(log(to_wide / wide) * 5);
    targets[3] = (real)(log(to_high / high) * 5);
}

/* Writes sample number `at` of all. */
static void teach(const struct drawer *d, const struct candidate *c, const real *truths, uint64_t at)
{
    real *boxes = d->call->out[0], *targets = d->call->out[2], *counts = d->call->out[3];
    int32_t *labels = d->call->out[1];
    uint64_t length = 4 * d->classes;
    bool good = c->match >= 0 && c->overlap >= d->least;
    int64_t label = good ? class_of(d, truths + 5 * c->match) : 0;
    memcpy(boxes + at * 4, c->box, 4 * sizeof *boxes);
    labels[at] = (int32_t)label;
    memset(targets + at * length, 0, length * sizeof *targets);
    memset(counts + at * length, 0, length * sizeof *counts);
    if (label == 0)
        return;
    aim(c->box, truths + 5 * c->match, targets + at * length + 4 * label);
    for (int i = 0; i < 4; i++)
        counts[at * length + 4 * (uint64_t)label + (uint64_t)i] = 1;
}

/* Chunk: images. */
static void draw_images(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct drawer *d = context;
    const uint64_t most = d->boxes + d->truths;
    struct candidate *all = (struct candidate *)(void *)(d->scratch + ll_pool_worker() * d->scratch_bytes);
    uint64_t *lists = (uint64_t *)(void *)(all + most), *chosen = lists + 2 * most;
    for (uint64_t image = begin; image < end; image++) {
        const real *boxes = (const real *)d->call->in[0] + image * d->boxes * 4;
        const real *truths = (const real *)d->call->in[1] + image * d->truths * 5;
        uint64_t count = 0;
        for (uint64_t i = 0; i < d->boxes; i++)
            all[count++] = candidate_of(d, boxes + 4 * i, truths);
        for (uint64_t i = 0; i < d->truths; i++)
            if (class_of(d, truths + 5 * i))
                all[count++] = candidate_of(d, truths + 5 * i, truths);
        choose(d, all, count, ll_random_key(d->key, image), lists, chosen);
        for (uint64_t i = 0; i < d->size; i++)
            teach(d, &all[chosen[i]], truths, image * d->size + i);
    }
}

LL_KERNEL(BOX_SAMPLE)
{
    const struct ll_op_view *op = call->op;
    struct drawer d = {
        .call = call,
        .boxes = op->in[0].dim[1],
        .truths = op->in[1].dim[1],
        .size = op->out[0].dim[1],
        .classes = op->out[2].dim[2] / 4,
        .key = ll_drawing_key(op, call->in[2]),
        .least = ll_attr_real(op, LL_ATTR_OVERLAP, 0.5),
        .share = ll_attr_real(op, LL_ATTR_KEEP, 0.25),
        .scratch = call->workspace,
        .scratch_bytes = scratch_bytes(op),
    };
    ll_pool_run(call->pool, op->in[0].dim[0], 1, draw_images, &d);
}

/* Regions of an image, each pooled to the same number of bins (Girshick, 2015): a box, scaled to the image
 * and rounded to its pixels, is cut into size x size bins that may share a pixel at their borders; each gives
 * its largest element and where that was. A bin that lies outside of the image gives zero, from nowhere (-1).
 */

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

static LL_INLINE void take_larger(const real *restrict x, int32_t pixel, uint64_t channels,
                                  real *restrict most, int32_t *restrict winner)
{
    for (uint64_t c = 0; c < channels; c++) {
        winner[c] = x[c] > most[c] ? pixel : winner[c];
        most[c] = x[c] > most[c] ? x[c] : most[c];
    }
}

static LL_INLINE void pool_bin(const struct regions *r, const real *image, struct span y, struct span x,
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
    assert(x->rank == 4);
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
    assert(x->rank == 4 && ll_elements(dy) == ll_elements(&call->op->in[1]));
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
