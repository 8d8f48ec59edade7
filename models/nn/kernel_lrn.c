/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation over neighbouring channels (Krizhevsky et al., 2012, section 3.3, with
 * TensorFlow's convention for alpha):
 *
 *     s_c = bias + alpha sum_{|j - c| <= radius} x_j^2          y_c = x_c s_c^-beta
 *     dx_c = dy_c s_c^-beta - 2 alpha beta x_c sum_{|j - c| <= radius} dy_j y_j / s_j */
#include "models/nn/kernel.h"

#include <math.h>

enum { PIXELS = 64 };

#ifndef LL_DOUBLE
/* For each thread the sums s and one more line of channels. */
uint64_t ll_lrn_workspace(const struct ll_op_view *op, unsigned threads)
{
    uint64_t channels = op->in[0].dim[op->in[0].rank - 1];
    return ll_mul(threads, ll_mul(2 * channels, ll_dtype_bytes((enum ll_dtype)op->in[0].dtype)));
}
#endif

struct normalisation {
    const real *x, *dy, *y;
    real *out, *scratch;
    int64_t channels, radius;
    real bias, alpha, beta;
};

static struct normalisation normalisation_of(const struct ll_kernel_call *call)
{
    const struct ll_shape *shape = &call->op->in[0];
    return (struct normalisation){
        .out = call->out[0],
        .scratch = call->workspace,
        .channels = (int64_t)shape->dim[shape->rank - 1],
        .radius = ll_attr_count(call->op, LL_ATTR_RADIUS, 0),
        .bias = (real)ll_attr_real(call->op, LL_ATTR_BIAS, 1),
        .alpha = (real)ll_attr_real(call->op, LL_ATTR_ALPHA, 1),
        .beta = (real)ll_attr_real(call->op, LL_ATTR_BETA, 0.5),
    };
}

/* sum_c = start + the terms of the channels around c, one neighbour after the other. */
LL_INLINE void window_sums(const real *restrict term, real *restrict sum, real start, int64_t channels,
                           int64_t radius)
{
    for (int64_t c = 0; c < channels; c++)
        sum[c] = start;
    for (int64_t j = -radius; j <= radius; j++) {
        int64_t from = j < 0 ? -j : 0, to = j > 0 ? channels - j : channels;
        for (int64_t c = from; c < to; c++)
            sum[c] += term[c + j];
    }
}

/* s^-beta; square roots are much cheaper than a power, and AlexNet's beta is 3/4. */
LL_INLINE real damped(real s, real beta)
{
    return beta == (real)0.75 ? 1 / (LL_SQRT(s) * LL_SQRT(LL_SQRT(s))) : (real)pow((double)s, -(double)beta);
}

LL_INLINE void sums_of_squares(const struct normalisation *n, const real *x, real *restrict term,
                               real *restrict sum)
{
    for (int64_t c = 0; c < n->channels; c++)
        term[c] = n->alpha * x[c] * x[c];
    window_sums(term, sum, n->bias, n->channels, n->radius);
}

LL_FAST static void normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct normalisation *n = context;
    real *term = n->scratch + ll_pool_worker() * 2 * (uint64_t)n->channels, *sum = term + n->channels;
    const real beta = n->beta;
    for (uint64_t pixel = begin; pixel < end; pixel++) {
        const real *x = n->x + pixel * (uint64_t)n->channels;
        real *restrict y = n->out + pixel * (uint64_t)n->channels;
        sums_of_squares(n, x, term, sum);
        for (int64_t c = 0; c < n->channels; c++)
            y[c] = x[c] * damped(sum[c], beta);
    }
}

LL_FAST static void normalise_grad(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct normalisation *n = context;
    real *restrict term = n->scratch + ll_pool_worker() * 2 * (uint64_t)n->channels,
                   *sum = term + n->channels;
    const real beta = n->beta, factor = -2 * n->alpha * n->beta;
    for (uint64_t pixel = begin; pixel < end; pixel++) {
        uint64_t first = pixel * (uint64_t)n->channels;
        const real *x = n->x + first, *dy = n->dy + first, *y = n->y + first;
        real *restrict dx = n->out + first;
        sums_of_squares(n, x, term, sum);
        for (int64_t c = 0; c < n->channels; c++) {
            dx[c] = dy[c] * damped(sum[c], beta);
            term[c] = dy[c] * y[c] / sum[c];
        }
        window_sums(term, sum, 0, n->channels, n->radius);
        for (int64_t c = 0; c < n->channels; c++)
            dx[c] += factor * x[c] * sum[c];
    }
}

static uint64_t pixels_of(const struct normalisation *n, const struct ll_shape *shape)
{
    return n->channels ? ll_elements(shape) / (uint64_t)n->channels : 0;
}

LL_KERNEL(LRN)
{
    struct normalisation n = normalisation_of(call);
    n.x = call->in[0];
    ll_pool_run(call->pool, pixels_of(&n, &call->op->in[0]), PIXELS, normalise, &n);
}

LL_KERNEL(LRN_GRAD)
{
    struct normalisation n = normalisation_of(call);
    n.dy = call->in[0];
    n.x = call->in[1];
    n.y = call->in[2];
    ll_pool_run(call->pool, pixels_of(&n, &call->op->in[0]), PIXELS, normalise_grad, &n);
}
