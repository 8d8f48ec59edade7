/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/nn/kernel_random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
