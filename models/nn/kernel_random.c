/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing by counter: element i of an op is number i of the stream that its seed, its own stream and the step
 * make, whichever thread draws it. */
#include "models/nn/kernel_random.h"

#include "models/nn/elementary.h"

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

LL_INLINE real cosine_of_turns(real turns)
{
    return cos(6.283185307179586 * turns);
}

#else

/* Of 0 to 1: the cosine of a whole turn is a sine of half a one, whose power series ends soon. */
LL_INLINE float cosine_of_turns(float turns)
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
