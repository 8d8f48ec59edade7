/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, alone and with cross entropy:
 *
 *     softmax_j = exp(x_j - max) / sum_k exp(x_k - max)
 *     loss = sum_j target_j (log sum_k exp(x_k - max) - (x_j - max))
 *     dloss/dx_j = softmax_j sum_k target_k - target_j
 *
 * where the targets of a class number are 1 for it and 0 for the others. A number that is no
 * class has no loss (NaN) and no gradient. */
#include "models/nn/kernel_softmax.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 12 };

/* Chunk: rows, the last dimension of the first input. */
struct rows {
    const struct ll_kernel_call *call;
    uint64_t length;
};

static void over_rows(const struct ll_kernel_call *call, ll_pool_body *body)
{
    const struct ll_shape *in = &call->op->in[0];
    uint64_t length = in->rank ? in->dim[in->rank - 1] : 1;
    struct rows rows = {call, length};
    ll_pool_run(call->pool, length ? ll_elements(in) / length : 0, ll_max(1, GRAIN / ll_max(1, length)), body,
                &rows);
}

LL_FAST static void softmax(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct rows *rows = context;
    uint64_t length = rows->length;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)rows->call->in[0] + row * length;
        real *y = (real *)rows->call->out[0] + row * length;
        double sum = ll_exponentials(x, ll_largest(x, length), y, length);
        ll_scale_line(y, length, (real)(1 / sum));
    }
}

LL_KERNEL(SOFTMAX)
{
    over_rows(call, softmax);
}

LL_FAST static void loss_of_labels(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct rows *rows = context;
    const struct ll_kernel_call *call = rows->call;
    uint64_t classes = rows->length;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * classes, most = ll_largest(x, classes);
        real *loss = (real *)call->out[0] + row, *dx = (real *)call->out[1] + row * classes;
        int32_t label = ((const int32_t *)call->in[1])[row];
        if (!ll_index_fits(call, label, classes)) {
            memset(dx, 0, classes * sizeof *dx);
            *loss = (real)NAN;
            continue;
        }
        double sum = ll_exponentials(x, most, dx, classes);
        ll_scale_line(dx, classes, (real)(1 / sum));
        dx[label] -= 1;
        *loss = (real)(log(sum) - (double)(x[label] - most));
    }
}

LL_KERNEL(SOFTMAX_XENT)
{
    over_rows(call, loss_of_labels);
}

/* Targets are `others` for each wrong class and `right` for the label: the loss is
 * log sum exp(x - max) - sum_j target_j (x_j - max), for the targets sum to one. */
LL_FAST static void loss_of_smooth_labels(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct rows *rows = context;
    const struct ll_kernel_call *call = rows->call;
    const uint64_t classes = rows->length;
    const double smoothing = ll_attr_real(call->op, LL_ATTR_SMOOTHING, 0);
    const double others = smoothing / (double)(classes - 1), right = 1 - smoothing;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * classes, most = ll_largest(x, classes);
        real *loss = (real *)call->out[0] + row, *restrict dx = (real *)call->out[1] + row * classes;
        int32_t label = ((const int32_t *)call->in[1])[row];
        if (!ll_index_fits(call, label, classes)) {
            memset(dx, 0, classes * sizeof *dx);
            *loss = (real)NAN;
            continue;
        }
        double sum = ll_exponentials(x, most, dx, classes), distance = 0;
#pragma omp simd reduction(+ : distance)
        for (uint64_t i = 0; i < classes; i++)
            distance += (double)(x[i] - most);
        const real factor = (real)(1 / sum), shift = (real)others;
        for (uint64_t i = 0; i < classes; i++)
            dx[i] = dx[i] * factor - shift;
        dx[label] -= (real)(right - others);
        *loss = (real)(log(sum) - others * distance - (right - others) * (double)(x[label] - most));
    }
}

LL_KERNEL(SOFTMAX_XENT_SMOOTH)
{
    over_rows(call, loss_of_smooth_labels);
}

LL_FAST static void loss_of_targets(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct rows *rows = context;
    const struct ll_kernel_call *call = rows->call;
    uint64_t classes = rows->length;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * classes, most = ll_largest(x, classes);
        const real *target = (const real *)call->in[1] + row * classes;
        real *restrict dx = (real *)call->out[1] + row * classes;
        double sum = ll_exponentials(x, most, dx, classes), weight = 0, inner = 0;
#pragma omp simd reduction(+ : weight, inner)
        for (uint64_t i = 0; i < classes; i++) {
            weight += (double)target[i];
            inner += (double)target[i] * (double)(x[i] - most);
        }
        const real factor = (real)(weight / sum);
        for (uint64_t i = 0; i < classes; i++)
            dx[i] = dx[i] * factor - target[i];
        ((real *)call->out[0])[row] = (real)(weight * log(sum) - inner);
    }
}

LL_KERNEL(SOFTMAX_XENT_DENSE)
{
    over_rows(call, loss_of_targets);
}
