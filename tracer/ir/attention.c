/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as work: how many keys a query sees, the FLOPs of its GEMMs, and the GEMM that stands for it
 * on machines that have no kernel for it.
 *
 * Of q queries the i-th, counted from 0, sees what came before it and itself, in a window of w the last w
 * + 1:
 *
 *       seen(i) = min(w + 1, keys - q + i + 1) */
#include <assert.h>

#include "tracer/ir/experts.h"
#include "tracer/ir/work.h"

enum { FORWARD_OPERATIONS = 6, BACKWARD_OPERATIONS = 6 }; /* on a score, one of which is an exponential */

static bool is_backward(const struct ll_attention *a)
{
    return a->pass == LL_ATTENTION_BACKWARD;
}

/* Each of `parts` equal shares sees as many keys as any other, so all positions stand for one share. */
uint64_t ll_attention_seen(const struct ll_attention *a)
{
    uint64_t positions = ll_mul(a->queries, ll_max(1, a->parts));
    if (!a->causal || positions == 0)
        return a->keys;
    assert(a->keys >= positions);
    uint64_t first = a->keys - positions + 1, most = a->window > 0 ? ll_add(a->window, 1) : a->keys;
    if (most >= a->keys)
        return a->keys - (positions - 1) / 2;
    /* Those that see fewer than `most`, one more each, then those that see as many. */
    uint64_t growing = first < most ? ll_min(positions, most - first) : 0;
    uint64_t short_of = ll_mul(growing, most - first) - growing * (growing - (growing > 0)) / 2;
    return growing > 0 ? most - short_of / positions : most;
}

/* Per score: Q K^T and P V forward; backward Q K^T again, dP = dY V^T, dV = P^T dY, dQ = dS K, dK = dS^T
 * Q. */
static uint64_t depth(const struct ll_attention *a)
{
    return is_backward(a) ? ll_add(ll_mul(3, a->head_qk), ll_mul(2, a->head_v))
                          : ll_add(a->head_qk, a->head_v);
}

static uint64_t scores(const struct ll_attention *a)
{
    return ll_mul(ll_mul(ll_mul(a->batch, a->heads), a->queries), ll_attention_seen(a));
}

uint64_t ll_attention_flops(const struct ll_attention *a)
{
    return ll_mul(ll_mul(2, depth(a)), scores(a));
}

/* Query heads that share a key are rows of one matrix. */
struct ll_work ll_attention_as_gemm(const struct ll_work *work)
{
    const struct ll_attention *a = &work->attention;
    assert(work->kind == LL_WORK_ATTENTION && a->kv_heads > 0 && a->heads % a->kv_heads == 0);
    struct ll_work gemm = *work;
    gemm.kind = LL_WORK_GEMM;
    gemm.along_k = LL_LINES_ELSEWHERE;
    gemm.between = ll_mul(is_backward(a) ? BACKWARD_OPERATIONS : FORWARD_OPERATIONS, scores(a));
    gemm.specials = scores(a);
    gemm.attention = (struct ll_attention){0};
    gemm.gemm = (struct ll_gemm){ll_mul(a->batch, a->kv_heads), ll_mul(a->queries, a->heads / a->kv_heads),
                                 ll_attention_seen(a), depth(a)};
    return gemm;
}

struct ll_work ll_work_as_gemm(const struct ll_work *work)
{
    return work->kind == LL_WORK_ATTENTION ? ll_attention_as_gemm(work)
           : work->kind == LL_WORK_EXPERTS ? ll_experts_as_gemm(work)
                                           : *work;
}
