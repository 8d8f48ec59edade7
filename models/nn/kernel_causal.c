/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over the keys that a position may see, and what flows back through it:
 *
 *     y_j = exp(s x_j - max) / sum over j <= p of exp(s x_j - max), 0 behind p      p: the last key seen
 *     dx_j = s y_j (dy_j - sum_k dy_k y_k)
 *
 * s is the attribute scale. What is hidden has y = 0, so the second needs to know nothing of positions. */
#include "models/nn/kernel_softmax.h"

#include <string.h>

enum { GRAIN = 1 << 12 };

struct lines {
    const real *in[2];
    real *out, scale;
    uint64_t rows, keys, groups, after; /* rows: of one matrix of scores */
};

static void over_lines(const struct ll_kernel_call *call, ll_pool_body *body)
{
    const struct ll_shape *x = &call->op->in[0];
    uint64_t keys = x->dim[x->rank - 1];
    struct lines lines = {
        .in = {call->in[0], call->op->input_count > 1 ? call->in[1] : NULL},
        .out = call->out[0],
        .scale = (real)ll_attr_real(call->op, LL_ATTR_SCALE, 1),
        .rows = x->rank > 1 ? x->dim[x->rank - 2] : 1,
        .keys = keys,
        .groups = (uint64_t)ll_attr_count(call->op, LL_ATTR_GROUPS, 1),
        .after = (uint64_t)ll_attr_count(call->op, LL_ATTR_AFTER, 0),
    };
    ll_pool_run(call->pool, keys ? ll_elements(x) / keys : 0, ll_max(1, GRAIN / ll_max(1, keys)), body,
                &lines);
}

LL_FAST static void causal(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct lines *l = context;
    const uint64_t seen_by_all = l->keys - l->rows / l->groups;
    for (uint64_t line = begin; line < end; line++) {
        const uint64_t own = seen_by_all + line % l->rows / l->groups + 1;
        const uint64_t seen = ll_min(l->keys, ll_add(own, l->after));
        const real *x = l->in[0] + line * l->keys;
        real *y = l->out + line * l->keys;
        for (uint64_t i = 0; i < seen; i++)
            y[i] = l->scale * x[i];
        double sum = ll_exponentials(y, ll_largest(y, seen), y, seen);
        ll_scale_line(y, seen, (real)(1 / sum));
        memset(y + seen, 0, (l->keys - seen) * sizeof *y);
    }
}

LL_KERNEL(CAUSAL_SOFTMAX)
{
    over_lines(call, causal);
}

LL_FAST static void causal_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct lines *l = context;
    for (uint64_t line = begin; line < end; line++) {
        const real *dy = l->in[0] + line * l->keys, *y = l->in[1] + line * l->keys;
        real *restrict dx = l->out + line * l->keys;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (uint64_t i = 0; i < l->keys; i++)
            sum += (double)(dy[i] * y[i]);
        const real mean = (real)sum;
        for (uint64_t i = 0; i < l->keys; i++)
            dx[i] = l->scale * y[i] * (dy[i] - mean);
    }
}

LL_KERNEL(CAUSAL_SOFTMAX_GRAD)
{
    over_lines(call, causal_back);
}
