/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax with cross entropy, for labels that are class numbers:
 *
 *     loss = log sum_j exp(x_j - max) - (x_label - max)        dloss/dx_j = softmax_j - [j = label]   */
#include "models/nn/kernel.h"

#include <assert.h>
#include <math.h>

static real largest(const real *x, uint64_t count)
{
    real most = x[0];
    for (uint64_t i = 1; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static void one_row(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t classes = call->op->in[0].dim[1];
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * classes, most = largest(x, classes);
        real *loss = (real *)call->out[0] + row, *dx = (real *)call->out[1] + row * classes;
        int32_t label = ((const int32_t *)call->in[1])[row];
        assert(label >= 0 && (uint64_t)label < classes);
        double sum = 0;
        for (uint64_t i = 0; i < classes; i++) {
            dx[i] = (real)exp((double)(x[i] - most));
            sum += (double)dx[i];
        }
        for (uint64_t i = 0; i < classes; i++)
            dx[i] = (real)((double)dx[i] / sum);
        dx[label] -= 1;
        *loss = (real)(log(sum) - (double)(x[label] - most));
    }
}

LL_KERNEL(SOFTMAX_XENT)
{
    struct ll_kernel_call job = *call;
    ll_pool_run(call->pool, call->op->in[0].dim[0], 1, one_row, &job);
}
