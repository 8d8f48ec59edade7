/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation (Ioffe and Szegedy, 2015) over n rows of channels, the variance being the biased one:
 *
 *     y = gamma (x - mean) r + beta           r = 1 / sqrt(variance + epsilon)
 *     dbeta = sum dy                          dgamma = r sum dy (x - mean)
 *     dx = gamma r (dy - dbeta / n - (x - mean) r dgamma / n)
 *
 * Rows are cut into blocks. A block gives its mean and its sum of squared distances from that, in cache, and
 * two of them are joined without cancellation (Chan, Golub and LeVeque, 1983):
 *
 *     d = mean_b - mean_a      mean = mean_a + d n_b / n      m = m_a + m_b + d^2 n_a n_b / n */
#include "models/nn/kernel.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 64, LEAST_ROWS = 64, GRAIN = 1 << 15 };

struct norm {
    const real *x, *dy, *mean, *variance, *gamma, *beta;
    real *out, *partial; /* for each block two lines of channels */
    real *scale, *shift; /* y = scale (x - mean) + shift, dx = scale dy + slope (x - mean) + shift */
    real *slope;
    uint64_t rows, channels, block_rows;
    double epsilon;
};

/* Lines of channels: two a block and three of coefficients. */
#ifndef LL_DOUBLE
uint64_t ll_norm_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    const struct ll_shape *x = &op->in[0];
    return ll_mul(2 * BLOCKS + 3, ll_mul(x->dim[x->rank - 1], ll_dtype_bytes((enum ll_dtype)x->dtype)));
}
#endif

static struct norm norm_of(const struct ll_kernel_call *call)
{
    const struct ll_shape *x = &call->op->in[0];
    uint64_t channels = x->dim[x->rank - 1], rows = channels ? ll_elements(x) / channels : 0;
    real *lines = call->workspace;
    return (struct norm){
        .out = call->out[0],
        .scale = lines,
        .shift = lines + channels,
        .slope = lines + 2 * channels,
        .partial = lines + 3 * channels,
        .rows = rows,
        .channels = channels,
        .block_rows = ll_max(LEAST_ROWS, ll_ceil_div(rows, BLOCKS)),
        .epsilon = ll_attr_real(call->op, LL_ATTR_EPSILON, 1e-5),
    };
}

static void over_blocks(const struct ll_kernel_call *call, struct norm *n, ll_pool_body *body)
{
    ll_pool_run(call->pool, n->rows, n->block_rows, body, n);
}

static void over_rows(const struct ll_kernel_call *call, struct norm *n, ll_pool_body *body)
{
    ll_pool_run(call->pool, n->rows, ll_max(1, GRAIN / ll_max(1, n->channels)), body, n);
}

LL_INLINE void add_row(const real *restrict x, real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += x[c];
}

LL_INLINE void add_squares(const real *restrict x, const real *restrict mean, real *restrict sum,
                           uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
}

/* Chunk: a block, of which two lines become the mean and the sum of squares around it. */
LL_FAST static void block_moments(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct norm *n = context;
    const uint64_t channels = n->channels;
    real *mean = n->partial + chunk * 2 * channels, *squares = mean + channels;
    memset(mean, 0, 2 * channels * sizeof(real));
    for (uint64_t row = begin; row < end; row++)
        add_row(n->x + row * channels, mean, channels);
    for (uint64_t c = 0; c < channels; c++)
        mean[c] /= (real)(end - begin);
    for (uint64_t row = begin; row < end; row++)
        add_squares(n->x + row * channels, mean, squares, channels);
}

static void join_moments(const struct norm *n, real *mean, real *variance)
{
    for (uint64_t c = 0; c < n->channels; c++) {
        double all_mean = 0, all_squares = 0, seen = 0;
        for (uint64_t begin = 0; begin < n->rows; begin += n->block_rows) {
            const real *block = n->partial + begin / n->block_rows * 2 * n->channels + c;
            double rows = (double)ll_min(n->block_rows, n->rows - begin), all = seen + rows;
            double distance = (double)block[0] - all_mean;
            all_mean += distance * rows / all;
            all_squares += (double)block[n->channels] + distance * distance * seen * rows / all;
            seen = all;
        }
        mean[c] = (real)all_mean;
        variance[c] = (real)(all_squares / seen);
    }
}

static double inverse_root(const struct norm *n, uint64_t c)
{
    return 1 / sqrt((double)n->variance[c] + n->epsilon);
}

LL_FAST static void normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct norm *n = context;
    const real *scale = n->scale, *mean = n->mean, *beta = n->beta;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = n->x + row * n->channels;
        real *restrict out = n->out + row * n->channels;
        for (uint64_t c = 0; c < n->channels; c++)
            out[c] = scale[c] * (x[c] - mean[c]) + beta[c];
    }
}

/* With mean and variance known. */
static void apply(const struct ll_kernel_call *call, struct norm *n)
{
    for (uint64_t c = 0; c < n->channels; c++)
        n->scale[c] = (real)((double)n->gamma[c] * inverse_root(n, c));
    over_rows(call, n, normalise);
}

LL_KERNEL(BATCH_NORM)
{
    struct norm n = norm_of(call);
    n.x = call->in[0];
    n.gamma = call->in[1];
    n.beta = call->in[2];
    over_blocks(call, &n, block_moments);
    join_moments(&n, call->out[1], call->out[2]);
    n.mean = call->out[1];
    n.variance = call->out[2];
    apply(call, &n);
}

LL_KERNEL(BATCH_NORM_FIXED)
{
    struct norm n = norm_of(call);
    n.x = call->in[0];
    n.gamma = call->in[1];
    n.beta = call->in[2];
    n.mean = call->in[3];
    n.variance = call->in[4];
    apply(call, &n);
}

LL_INLINE void add_products(const real *restrict dy, const real *restrict x, const real *restrict mean,
                            real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += dy[c] * (x[c] - mean[c]);
}

/* Chunk: a block, of which two lines become the sums of dy and of dy (x - mean). */
LL_FAST static void block_sums(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct norm *n = context;
    const uint64_t channels = n->channels;
    real *plain = n->partial + chunk * 2 * channels, *weighed = plain + channels;
    memset(plain, 0, 2 * channels * sizeof(real));
    for (uint64_t row = begin; row < end; row++) {
        const real *dy = n->dy + row * channels;
        add_row(dy, plain, channels);
        add_products(dy, n->x + row * channels, n->mean, weighed, channels);
    }
}

/* dgamma, dbeta, and the coefficients of dx. */
static void join_sums(const struct norm *n, real *dgamma, real *dbeta)
{
    for (uint64_t c = 0; c < n->channels; c++) {
        double plain = 0, weighed = 0, root = inverse_root(n, c), scale = (double)n->gamma[c] * root;
        for (uint64_t begin = 0; begin < n->rows; begin += n->block_rows) {
            const real *block = n->partial + begin / n->block_rows * 2 * n->channels + c;
            plain += (double)block[0];
            weighed += (double)block[n->channels];
        }
        dbeta[c] = (real)plain;
        dgamma[c] = (real)(weighed * root);
        n->scale[c] = (real)scale;
        n->shift[c] = (real)(-scale * plain / (double)n->rows);
        n->slope[c] = (real)(-scale * root * root * weighed / (double)n->rows);
    }
}

LL_FAST static void spread(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct norm *n = context;
    const real *scale = n->scale, *shift = n->shift, *slope = n->slope, *mean = n->mean;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = n->x + row * n->channels, *dy = n->dy + row * n->channels;
        real *restrict dx = n->out + row * n->channels;
        for (uint64_t c = 0; c < n->channels; c++)
            dx[c] = scale[c] * dy[c] + slope[c] * (x[c] - mean[c]) + shift[c];
    }
}

static struct norm gradient_of(const struct ll_kernel_call *call)
{
    struct norm n = norm_of(call);
    n.dy = call->in[0];
    n.x = call->in[1];
    n.gamma = call->in[2];
    n.mean = call->in[3];
    n.variance = call->in[4];
    over_blocks(call, &n, block_sums);
    join_sums(&n, call->out[1], call->out[2]);
    return n;
}

LL_KERNEL(BATCH_NORM_GRAD)
{
    struct norm n = gradient_of(call);
    over_rows(call, &n, spread);
}

/* Mean and variance do not depend on x: dx is dy, scaled. */
LL_FAST static void scale(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct norm *n = context;
    for (uint64_t row = begin; row < end; row++) {
        const real *dy = n->dy + row * n->channels, *factor = n->scale;
        real *restrict dx = n->out + row * n->channels;
        for (uint64_t c = 0; c < n->channels; c++)
            dx[c] = factor[c] * dy[c];
    }
}

LL_KERNEL(BATCH_NORM_FIXED_GRAD)
{
    struct norm n = gradient_of(call);
    over_rows(call, &n, scale);
}
