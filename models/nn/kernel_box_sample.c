/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the proposed boxes a step learns from, and what from each (Girshick, 2015): up to a share of those
 * that overlap well with a box of the truth, the rest from the others, all drawn without putting back; the
 * boxes of the truth are proposals, too. Where both are too few, what was drawn comes again.
 *
 * A box whose class is k is to become the one it overlaps with best: its four targets, in units of a tenth of
 * its size for the centre and a fifth for the logarithm of the size, stand at 4 k and count; elsewhere
 * nothing does. Truths of class 0 are none. */
#include "models/nn/kernel_random.h"

#include <math.h>
#include <string.h>

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
