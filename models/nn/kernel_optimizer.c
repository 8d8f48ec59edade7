/* SPDX-License-Identifier: Apache-2.0 */
/* Weights and their state change in place, in one pass over memory. */
#include "models/nn/kernel.h"

#include <math.h>

enum { GRAIN = 1 << 15 };

struct update {
    real *w, *m, *v;
    const real *g;
    real rate, momentum, decay, beta1, beta2, epsilon;
};

static real attr(const struct ll_kernel_call *call, enum ll_attr_key key)
{
    return (real)ll_attr_real(call->op, key, 0);
}

/* w -= rate g */
LL_FAST static void sgd(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate;
    real *restrict w = u->w;
    for (uint64_t i = begin; i < end; i++)
        w[i] -= rate * g[i];
}

/* v = momentum v + g + decay w;  w -= rate v */
LL_FAST static void momentum(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate, keep = u->momentum, decay = u->decay;
    real *restrict w = u->w, *restrict v = u->v;
    for (uint64_t i = begin; i < end; i++) {
        v[i] = keep * v[i] + (g[i] + decay * w[i]);
        w[i] -= rate * v[i];
    }
}

/* m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate m / (sqrt(v) + epsilon) */
LL_FAST static void adam(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate, beta1 = u->beta1, beta2 = u->beta2, epsilon = u->epsilon;
    real *restrict w = u->w, *restrict m = u->m, *restrict v = u->v;
    for (uint64_t i = begin; i < end; i++) {
        real first = beta1 * m[i] + (1 - beta1) * g[i];
        real second = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        m[i] = first;
        v[i] = second;
        w[i] -= rate * first / (LL_SQRT(second) + epsilon);
    }
}

/* v = decay v + (1 - decay) g^2;  m = momentum m + rate g / sqrt(v + epsilon);  w -= m (as TensorFlow has it)
 */
LL_FAST static void rmsprop(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate, decay = u->decay, keep = u->momentum, epsilon = u->epsilon;
    real *restrict w = u->w, *restrict m = u->m, *restrict v = u->v;
    for (uint64_t i = begin; i < end; i++) {
        v[i] += (g[i] * g[i] - v[i]) * (1 - decay);
        m[i] = keep * m[i] + rate * g[i] / LL_SQRT(v[i] + epsilon);
        w[i] -= m[i];
    }
}

LL_KERNEL(RMSPROP)
{
    struct update update = {
        .w = call->out[0],
        .v = call->out[1],
        .m = call->out[2],
        .g = call->in[3],
        .rate = attr(call, LL_ATTR_LEARNING_RATE),
        .decay = attr(call, LL_ATTR_DECAY),
        .momentum = attr(call, LL_ATTR_MOMENTUM),
        .epsilon = attr(call, LL_ATTR_EPSILON),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, rmsprop, &update);
}

/* w -= (1 - decay) (w - g) */
LL_FAST static void moving_average(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, share = 1 - u->decay;
    real *restrict w = u->w;
    for (uint64_t i = begin; i < end; i++)
        w[i] -= share * (w[i] - g[i]);
}

LL_KERNEL(MOVING_AVERAGE)
{
    struct update update = {.w = call->out[0], .g = call->in[1], .decay = attr(call, LL_ATTR_DECAY)};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, moving_average, &update);
}

LL_KERNEL(SGD)
{
    struct update update = {.w = call->out[0], .g = call->in[1], .rate = attr(call, LL_ATTR_LEARNING_RATE)};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, sgd, &update);
}

LL_KERNEL(MOMENTUM)
{
    struct update update = {
        .w = call->out[0],
        .v = call->out[1],
        .g = call->in[2],
        .rate = attr(call, LL_ATTR_LEARNING_RATE),
        .momentum = attr(call, LL_ATTR_MOMENTUM),
        .decay = attr(call, LL_ATTR_DECAY),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, momentum, &update);
}

/* Kingma and Ba, 2015, with the bias corrections drawn into the rate as at the end of their section 2; the
 * fifth input holds the powers beta1^t and beta2^t, the sixth, if there is one, a factor of the rate. */
LL_KERNEL(ADAM)
{
    const real *powers = call->in[4];
    const real factor = call->op->input_count > 5 ? *(const real *)call->in[5] : 1;
    struct update update = {
        .w = call->out[0],
        .m = call->out[1],
        .v = call->out[2],
        .g = call->in[3],
        .rate = factor * attr(call, LL_ATTR_LEARNING_RATE) * LL_SQRT(1 - powers[1]) / (1 - powers[0]),
        .beta1 = attr(call, LL_ATTR_BETA1),
        .beta2 = attr(call, LL_ATTR_BETA2),
        .epsilon = attr(call, LL_ATTR_EPSILON),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, adam, &update);
}
