/* SPDX-License-Identifier: Apache-2.0 */
/* Many become few. Sums are taken chunk by chunk and the chunks added in order; how many there are depends
 * on the shape alone. */
#include "models/nn/kernel.h"
#include "models/nn/kernel_reduce.h"

#include <assert.h>
#include <string.h>

/* dy[rows, columns] summed over its rows. */
struct columns {
    const real *dy;
    real *partial;
    uint64_t columns;
};

static uint64_t bias_grain(uint64_t rows)
{
    return ll_max(LL_LEAST_ROWS, ll_ceil_div(rows, LL_PARTIAL_SUMS));
}

#ifndef LL_DOUBLE
uint64_t ll_bias_grad_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    return LL_PARTIAL_SUMS * ll_size_bytes(&op->out[0]);
}
#endif

LL_FAST static void add_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct columns *c = context;
    real *restrict sum = c->partial + chunk * c->columns;
    memset(sum, 0, c->columns * sizeof(real));
    for (uint64_t row = begin; row < end; row++) {
        const real *dy = c->dy + row * c->columns;
        for (uint64_t i = 0; i < c->columns; i++)
            sum[i] += dy[i];
    }
}

LL_KERNEL(BIAS_GRAD)
{
    uint64_t columns = call->op->out[0].dim[0], elements = ll_elements(&call->op->in[0]);
    uint64_t rows = columns ? elements / columns : 0, grain = bias_grain(rows);
    struct columns job = {call->in[0], call->workspace, columns};
    ll_pool_run(call->pool, rows, grain, add_rows, &job);
    struct columns total = {call->workspace, call->out[0], columns};
    add_rows(&total, 0, ll_ceil_div(rows, grain), 0);
}

LL_KERNEL(MEAN)
{
    const real *x = call->in[0];
    uint64_t count = ll_elements(&call->op->in[0]);
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += (double)x[i];
    *(real *)call->out[0] = (real)(sum / (double)count);
}

LL_KERNEL(MEAN_GRAD)
{
    uint64_t count = ll_elements(&call->op->out[0]);
    real *out = call->out[0], share = *(const real *)call->in[0] / (real)count;
    for (uint64_t i = 0; i < count; i++)
        out[i] = share;
}

/* The first of the largest. */
LL_KERNEL(ARGMAX)
{
    uint64_t rows = call->op->in[0].dim[0], columns = call->op->in[0].dim[1];
    int32_t *out = call->out[0];
    for (uint64_t row = 0; row < rows; row++) {
        const real *x = (const real *)call->in[0] + row * columns;
        uint64_t best = 0;
        for (uint64_t i = 1; i < columns; i++)
            best = x[i] > x[best] ? i : best;
        out[row] = (int32_t)best;
    }
}
