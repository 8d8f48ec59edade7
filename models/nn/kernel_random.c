/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing by counter: element i of an op is number i of the stream that its seed, its own stream and the step
 * make, whichever thread draws it. */
#include "models/nn/kernel_random.h"

#include <math.h>

enum { GRAIN = 1 << 14 };

struct drawing {
    uint64_t key;
    const real *x;
    real *y, *mask;
    real keep;
};

LL_FAST static void drop(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct drawing *d = context;
    const uint64_t key = d->key;
    const float keep = (float)d->keep;
    const real *x = d->x, factor = 1 / d->keep;
    real *restrict y = d->y, *restrict mask = d->mask;
    for (uint64_t i = begin; i < end; i++) {
        mask[i] = ll_random_unit((uint32_t)ll_random_bits(key, i)) < keep ? factor : 0;
        y[i] = x[i] * mask[i];
    }
}

LL_KERNEL(DROPOUT)
{
    struct drawing drawing = {
        .key = ll_drawing_key(call->op, call->in[1]),
        .x = call->in[0],
        .y = call->out[0],
        .mask = call->out[1],
        .keep = (real)ll_attr_real(call->op, LL_ATTR_KEEP, 1),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, drop, &drawing);
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
#define LL_LOG log
#define LL_COS cos
#else
#define LL_LOG logf
#define LL_COS cosf
#endif

/* Box and Muller: the two halves of one number of the stream make radius and angle. */
static void draw_normal(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct drawing *d = context;
    const real turn = (real)6.283185307179586;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t bits = ll_random_bits(d->key, i);
        real radius = LL_SQRT(-2 * LL_LOG((real)ll_random_unit((uint32_t)bits)));
        d->y[i] = radius * LL_COS(turn * (real)ll_random_unit((uint32_t)(bits >> 32)));
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
