/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation (Ba, Kiros and Hinton, 2016) of rows of n features, and the same without the mean
 * (Zhang and Sennrich, 2019: m is 0 there and no sum of g is taken off):
 *
 *     y = gamma h + beta          h = (x - m) r          r = 1 / sqrt(sum (x - m)^2 / n + epsilon)
 *     dx = r (g - sum g / n - h sum (g h) / n)           g = gamma dy
 *     dgamma = sum over rows of dy h                     dbeta = sum over rows of dy
 *
 * A row stays in cache while it is read three times. What is summed over rows is summed block by block, and
 * the blocks in order. */
#include "models/nn/kernel.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 64, LEAST_ROWS = 16, GRAIN = 1 << 14 };

struct layers {
    const real *x, *dy, *gamma, *beta;
    real *out, *partial; /* of each block a line for dgamma and one for dbeta */
    uint64_t rows, length, block_rows;
    double epsilon;
    bool centred; /* the mean is taken off */
};

#ifndef LL_DOUBLE
uint64_t ll_layer_norm_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *gamma = &op->in[2];
    (void)threads;
    return ll_mul(2 * BLOCKS, ll_size_bytes(gamma));
}
#endif

static struct layers layers_of(const struct ll_kernel_call *call, bool centred)
{
    const struct ll_shape *x = &call->op->in[0];
    uint64_t length = x->dim[x->rank - 1], rows = length ? ll_elements(x) / length : 0;
    return (struct layers){
        .out = call->out[0],
        .partial = call->workspace,
        .rows = rows,
        .length = length,
        .block_rows = ll_max(LEAST_ROWS, ll_ceil_div(rows, BLOCKS)),
        .epsilon = ll_attr_real(call->op, LL_ATTR_EPSILON, 1e-5),
        .centred = centred,
    };
}

LL_INLINE real mean_of(const real *x, uint64_t length)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < length; i++)
        sum += (double)x[i];
    return (real)(sum / (double)length);
}

/* The factor r of a row around m. */
LL_INLINE real inverse_spread(const real *x, real m, uint64_t length, double epsilon)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < length; i++)
        sum += (double)((x[i] - m) * (x[i] - m));
    return (real)(1 / sqrt(sum / (double)length + epsilon));
}

LL_FAST static void normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct layers *l = context;
    const uint64_t length = l->length;
    const real *gamma = l->gamma, *beta = l->beta;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = l->x + row * length;
        real *restrict y = l->out + row * length;
        const real m = l->centred ? mean_of(x, length) : 0, r = inverse_spread(x, m, length, l->epsilon);
        for (uint64_t i = 0; i < length; i++)
            y[i] = gamma[i] * ((x[i] - m) * r);
        for (uint64_t i = 0; beta && i < length; i++)
            y[i] += beta[i];
    }
}

static void run_normalise(const struct ll_kernel_call *call, bool centred)
{
    struct layers l = layers_of(call, centred);
    l.x = call->in[0];
    l.gamma = call->in[1];
    l.beta = call->op->input_count > 2 ? call->in[2] : NULL;
    ll_pool_run(call->pool, l.rows, ll_max(1, GRAIN / ll_max(1, l.length)), normalise, &l);
}

LL_KERNEL(LAYER_NORM)
{
    run_normalise(call, true);
}

LL_KERNEL(RMS_NORM)
{
    run_normalise(call, false);
}

/* One row: dx, and what it adds to the sums for gamma and beta. */
LL_INLINE void flow_back(const struct layers *l, uint64_t row, real *restrict dgamma, real *restrict dbeta)
{
    const uint64_t length = l->length;
    const real *x = l->x + row * length, *dy = l->dy + row * length, *gamma = l->gamma;
    real *restrict dx = l->out + row * length;
    const real m = l->centred ? mean_of(x, length) : 0, r = inverse_spread(x, m, length, l->epsilon);
    double plain = 0, weighed = 0;
#pragma omp simd reduction(+ : plain, weighed)
    for (uint64_t i = 0; i < length; i++) {
        const real g = gamma[i] * dy[i];
        plain += (double)g;
        weighed += (double)(g * ((x[i] - m) * r));
    }
    const real shift = l->centred ? (real)(plain / (double)length) : 0;
    const real slope = (real)(weighed / (double)length);
    for (uint64_t i = 0; i < length; i++) {
        const real h = (x[i] - m) * r;
        dx[i] = r * (gamma[i] * dy[i] - shift - h * slope);
        dgamma[i] += dy[i] * h;
        dbeta[i] += dy[i];
    }
}

/* Chunk: a block of rows. */
LL_FAST static void block_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct layers *l = context;
    real *dgamma = l->partial + chunk * 2 * l->length, *dbeta = dgamma + l->length;
    memset(dgamma, 0, 2 * l->length * sizeof(real));
    for (uint64_t row = begin; row < end; row++)
        flow_back(l, row, dgamma, dbeta);
}

/* One of the two lines of all blocks. */
static void join(const struct layers *l, uint64_t line, real *out)
{
    for (uint64_t i = 0; i < l->length; i++) {
        double sum = 0;
        for (uint64_t begin = 0; begin < l->rows; begin += l->block_rows)
            sum += (double)l->partial[(begin / l->block_rows * 2 + line) * l->length + i];
        out[i] = (real)sum;
    }
}

static void run_back(const struct ll_kernel_call *call, bool centred)
{
    struct layers l = layers_of(call, centred);
    l.dy = call->in[0];
    l.x = call->in[1];
    l.gamma = call->in[2];
    ll_pool_run(call->pool, l.rows, l.block_rows, block_back, &l);
    join(&l, 0, call->out[1]);
    if (call->op->output_count > 2)
        join(&l, 1, call->out[2]);
}

LL_KERNEL(LAYER_NORM_GRAD)
{
    run_back(call, true);
}

LL_KERNEL(RMS_NORM_GRAD)
{
    run_back(call, false);
}
