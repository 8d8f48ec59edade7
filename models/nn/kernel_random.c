/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing by counter: element i of an op is number i of the stream that its seed, its own stream and the step
 * make, whichever thread draws it. */
#include "models/nn/elementary.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 14 };

struct drawing {
    uint64_t key;
    const real *x;
    real *y;
    uint8_t *kept;
    real keep;
};

LL_FAST static void drop(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct drawing *d = context;
    const uint64_t key = d->key;
    const float keep = (float)d->keep;
    const real *x = d->x, factor = 1 / d->keep;
    real *restrict y = d->y;
    uint8_t *restrict kept = d->kept;
    for (uint64_t i = begin; i < end; i++) {
        bool stays = ll_random_unit((uint32_t)ll_random_bits(key, i)) < keep;
        kept[i] = stays;
        y[i] = x[i] * (stays ? factor : 0);
    }
}

LL_KERNEL(DROPOUT)
{
    struct drawing drawing = {
        .key = ll_drawing_key(call->op, call->in[1]),
        .x = call->in[0],
        .y = call->out[0],
        .kept = call->out[1],
        .keep = (real)ll_attr_real(call->op, LL_ATTR_KEEP, 1),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, drop, &drawing);
}

LL_FAST static void drop_gradient(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const real *dy = call->in[0], factor = 1 / (real)ll_attr_real(call->op, LL_ATTR_KEEP, 1);
    const uint8_t *kept = call->in[1];
    real *restrict dx = call->out[0];
    for (uint64_t i = begin; i < end; i++)
        dx[i] = dy[i] * (kept[i] ? factor : 0);
}

LL_KERNEL(DROPOUT_GRAD)
{
    struct ll_kernel_call job = *call;
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, drop_gradient, &job);
}

/* Chunk: elements; each takes one number of the stream. */
LL_FAST static void draw_uniform(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct drawing *d = context;
    const uint64_t key = d->key;
    real *restrict y = d->y;
    for (uint64_t i = begin; i < end; i++)
        y[i] = ll_random_unit((uint32_t)ll_random_bits(key, i));
}

#ifdef LL_DOUBLE

static LL_INLINE real cosine_of_turns(real turns)
{
    return cos(6.283185307179586 * turns);
}

#else

/* Of 0 to 1: the cosine of a whole turn is a sine of half a one, whose power series ends soon. */
static LL_INLINE float cosine_of_turns(float turns)
{
    float away = turns < 0.5f ? 0.5f - turns : turns - 0.5f;
    float angle = 6.2831853f * (away - 0.25f), z = angle * angle;
    float p = 1.6059044e-10f;
    p = p * z - 2.5052108e-8f;
    p = p * z + 2.7557319e-6f;
    p = p * z - 1.9841270e-4f;
    p = p * z + 8.3333333e-3f;
    p = p * z - 1.6666667e-1f;
    return p * z * angle + angle;
}

#endif

/* Box and Muller: the two halves of one number of the stream make radius and angle. */
LL_FAST static void draw_normal(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct drawing *d = context;
    const uint64_t key = d->key;
    real *restrict y = d->y;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t bits = ll_random_bits(key, i);
        real logarithm = ll_log_of_normal(ll_random_unit((uint32_t)bits));
        real radius = LL_SQRT(logarithm < 0 ? -2 * logarithm : 0);
        y[i] = radius * cosine_of_turns(ll_random_unit((uint32_t)(bits >> 32)));
    }
}

static void draw_all(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct drawing drawing = {.key = ll_drawing_key(call->op, call->in[0]), .y = call->out[0]};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN / 8, body, &drawing);
}

LL_KERNEL(RANDOM_UNIFORM)
{
    draw_all(call, draw_uniform);
}

LL_KERNEL(RANDOM_NORMAL)
{
    draw_all(call, draw_normal);
}

/* Drawing different classes, frequent ones more often, as TensorFlow's log-uniform candidate sampler with
 * unique = true: made for classes numbered by falling frequency (Zipf's law). One draw gives class c with
 *
 *     share(c) = log((c + 2) / (c + 1)) / log(range + 1),     c = floor(exp(u log(range + 1))) - 1
 *
 * and a class that is there already is drawn again. After so many tries, c was to be expected among the
 * samples
 *
 *     1 - (1 - share(c))^tries  times.
 *
 * Which classes are there is kept in a table of open addresses: zero is free, else a class plus one. */

/* A power of two, at least half of it free. */
static uint64_t slots_for(uint64_t samples)
{
    uint64_t slots = 2;
    while (slots < 2 * samples)
        slots *= 2;
    return slots;
}

#ifndef LL_DOUBLE
uint64_t ll_sampler_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    return slots_for(ll_elements(&op->out[0])) * sizeof(uint32_t);
}
#endif

/* False when the class was there. */
static bool put(uint32_t *table, uint64_t slots, uint32_t drawn)
{
    uint64_t slot = ll_random_mix(drawn) & (slots - 1);
    while (table[slot] != 0 && table[slot] != drawn + 1)
        slot = (slot + 1) & (slots - 1);
    bool is_new = table[slot] == 0;
    table[slot] = drawn + 1;
    return is_new;
}

static uint32_t draw(uint64_t key, uint64_t number, double log_range, uint64_t range)
{
    double u = ll_random_fine_unit(ll_random_bits(key, number));
    uint64_t drawn = (uint64_t)exp(u * log_range) - 1;
    return (uint32_t)(drawn < range ? drawn : range - 1); /* exp may round up to range + 1 */
}

static void expect(const int32_t *classes, uint64_t count, double log_range, uint64_t tries, real *expected)
{
    for (uint64_t i = 0; i < count; i++) {
        double share = log((classes[i] + 2.0) / (classes[i] + 1.0)) / log_range;
        expected[i] = (real)-expm1((double)tries * log1p(-share));
    }
}

LL_KERNEL(LOG_UNIFORM_SAMPLE)
{
    const uint64_t samples = ll_elements(&call->op->out[0]), classes = ll_elements(&call->op->out[1]);
    const uint64_t range = (uint64_t)ll_attr_count(call->op, LL_ATTR_RANGE, 0), slots = slots_for(samples);
    const uint64_t key = ll_drawing_key(call->op, call->in[0]);
    const double log_range = log((double)range + 1);
    int32_t *sampled = call->out[0];
    uint64_t tries = 0;
    memset(call->workspace, 0, slots * sizeof(uint32_t));
    for (uint64_t i = 0; i < samples;) {
        uint32_t drawn = draw(key, tries++, log_range, range);
        if (put(call->workspace, slots, drawn))
            sampled[i++] = (int32_t)drawn;
    }
    expect(call->in[1], classes, log_range, tries, call->out[1]);
    expect(sampled, samples, log_range, tries, call->out[2]);
}
