/* SPDX-License-Identifier: Apache-2.0 */
/* Attention to what came before, row by row, as tracer/ops_attention.c describes the op:
 *
 *     p_j = exp(s q k_j - l)        l = log sum_j exp(s q k_j)        y = sum_j p_j v_j
 *     dp_j = dy v_j                 g_j = s p_j (dp_j - dy y)
 *     dq = sum_j g_j k_j            dk_j += g_j q                     dv_j += p_j dy
 *
 * over the keys j that the row sees. A thread has whole stacks, so that sums over rows have one order. */
#include "models/nn/kernel_softmax.h"

#include <string.h>

struct stacks {
    const real *q, *k, *v, *y, *dy, *sums;
    real *out, *out_sums, *dk, *dv, *scratch; /* out: y, or dq */
    uint64_t rows, keys, features, groups;
    real scale;
};

#ifndef LL_DOUBLE
/* A row of scores for each thread. */
uint64_t ll_attention_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *k = &op->in[1];
    return ll_mul(ll_mul(threads, 8), k->dim[k->rank - 2]);
}
#endif

static struct stacks stacks_of(const struct ll_kernel_call *call, uint32_t queries)
{
    const struct ll_shape *q = &call->op->in[queries], *k = &call->op->in[queries + 1];
    return (struct stacks){
        .q = call->in[queries],
        .k = call->in[queries + 1],
        .v = call->in[queries + 2],
        .out = call->out[0],
        .scratch = call->workspace,
        .rows = q->dim[q->rank - 2],
        .keys = k->dim[k->rank - 2],
        .features = q->dim[q->rank - 1],
        .groups = (uint64_t)ll_attr_count(call->op, LL_ATTR_GROUPS, 1),
        .scale = (real)ll_attr_real(call->op, LL_ATTR_SCALE, 1),
    };
}

static uint64_t stack_count(const struct ll_kernel_call *call, const struct stacks *s)
{
    uint64_t each = s->rows * s->features;
    return each ? ll_elements(&call->op->out[0]) / each : 0;
}

LL_INLINE real dot(const real *a, const real *b, uint64_t count)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

LL_INLINE void add_scaled(real *restrict to, real factor, const real *from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

static uint64_t keys_seen(const struct stacks *s, uint64_t row)
{
    return s->keys - s->rows / s->groups + row / s->groups + 1;
}

LL_FAST static void attend(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct stacks *s = context;
    const uint64_t d = s->features;
    real *p = s->scratch + ll_pool_worker() * s->keys;
    for (uint64_t n = begin * s->rows; n < end * s->rows; n++) {
        const uint64_t stack = n / s->rows, seen = keys_seen(s, n % s->rows);
        const real *k = s->k + stack * s->keys * d, *v = s->v + stack * s->keys * d;
        real *y = s->out + n * d;
        for (uint64_t j = 0; j < seen; j++)
            p[j] = s->scale * dot(s->q + n * d, k + j * d, d);
        const real most = ll_largest(p, seen);
        const double sum = ll_exponentials(p, most, p, seen);
        memset(y, 0, d * sizeof *y);
        for (uint64_t j = 0; j < seen; j++)
            add_scaled(y, (real)((double)p[j] / sum), v + j * d, d);
        s->out_sums[n] = (real)((double)most + log(sum));
    }
}

LL_KERNEL(CAUSAL_ATTENTION)
{
    struct stacks s = stacks_of(call, 0);
    s.out_sums = call->out[1];
    ll_pool_run(call->pool, stack_count(call, &s), 1, attend, &s);
}

LL_FAST static void attend_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct stacks *s = context;
    const uint64_t d = s->features;
    memset(s->dk + begin * s->keys * d, 0, (end - begin) * s->keys * d * sizeof *s->dk);
    memset(s->dv + begin * s->keys * d, 0, (end - begin) * s->keys * d * sizeof *s->dv);
    for (uint64_t n = begin * s->rows; n < end * s->rows; n++) {
        const uint64_t first = n / s->rows * s->keys * d;
        const real *q = s->q + n * d, *dy = s->dy + n * d, inner = dot(dy, s->y + n * d, d);
        real *dq = s->out + n * d;
        memset(dq, 0, d * sizeof *dq);
        for (uint64_t j = 0; j < keys_seen(s, n % s->rows); j++) {
            const real *k = s->k + first + j * d;
            const real p = ll_exp(s->scale * dot(q, k, d) - s->sums[n]);
            const real g = s->scale * p * (dot(dy, s->v + first + j * d, d) - inner);
            add_scaled(dq, g, k, d);
            add_scaled(s->dk + first + j * d, g, q, d);
            add_scaled(s->dv + first + j * d, p, dy, d);
        }
    }
}

LL_KERNEL(CAUSAL_ATTENTION_GRAD)
{
    struct stacks s = stacks_of(call, 1);
    s.dy = call->in[0];
    s.y = call->in[4];
    s.sums = call->in[5];
    s.dk = call->out[1];
    s.dv = call->out[2];
    ll_pool_run(call->pool, stack_count(call, &s), 1, attend_back, &s);
}
