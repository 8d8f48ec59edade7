/* SPDX-License-Identifier: Apache-2.0 */
/* The focal loss (Lin et al., 2017) of logistic regressions, one for each class, and its slope. z is the
 * logit, turned so that more is better for its label; q its logistic function, a the weight of its side:
 *
 *     loss = -a (1 - q)^gamma log q         dloss/dz = a (1 - q)^gamma (gamma q log q - (1 - q))
 *     a = alpha for the class of the label, 1 - alpha for the others
 *
 * With z and e = exp(-|z|), log q = min(z, 0) - log(1 + e) and log(1 - q) = log q - z; q and 1 - q are
 * 1 / (1 + e) and e / (1 + e), or the other way round where z < 0. So neither loss nor slope is lost where q
 * is nearly 1. Label 0 is the background, k > 0 is class k - 1; below 0 there is neither loss nor slope. */
#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 12, PIECE = 256 };

struct focal {
    const struct ll_kernel_call *call;
    uint64_t classes;
    real alpha, gamma;
};

/* Turned is -1 for classes that are not the label's and 1 for the one that is. */
LL_INLINE void lose(const struct focal *f, const real *restrict x, const real *restrict turned,
                    uint64_t count, real *restrict loss, real *restrict slope)
{
    const real alpha = f->alpha, gamma = f->gamma;
    for (uint64_t i = 0; i < count; i++) {
        real z = turned[i] * x[i], size = z < 0 ? -z : z, weight = turned[i] > 0 ? alpha : 1 - alpha;
        real e = ll_exp(-size), log_q = (z < 0 ? z : 0) - ll_log1p(e);
        real q = (z < 0 ? e : 1) / (1 + e), rest = (z < 0 ? 1 : e) / (1 + e);
        real share = weight * ll_exp(gamma * (log_q - z));
        loss[i] = -share * log_q;
        slope[i] = turned[i] * share * (gamma * q * log_q - rest);
    }
}

LL_INLINE double lose_row(const struct focal *f, const real *x, int64_t label, real *slope)
{
    real turned[PIECE], loss[PIECE];
    double sum = 0;
    for (uint64_t at = 0; at < f->classes; at += PIECE) {
        uint64_t count = ll_min(PIECE, f->classes - at);
        for (uint64_t i = 0; i < count; i++)
            turned[i] = -1;
        if (label > (int64_t)at && label <= (int64_t)(at + count))
            turned[label - (int64_t)at - 1] = 1;
        lose(f, x + at, turned, count, loss, slope + at);
#pragma omp simd reduction(+ : sum)
        for (uint64_t i = 0; i < count; i++)
            sum += (double)loss[i];
    }
    return sum;
}

LL_FAST static void lose_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct focal *f = context;
    const struct ll_kernel_call *call = f->call;
    for (uint64_t row = begin; row < end; row++) {
        int32_t label = ((const int32_t *)call->in[1])[row];
        real *loss = (real *)call->out[0] + row, *slope = (real *)call->out[1] + row * f->classes;
        *loss = 0;
        if (label >= 0 && ll_index_fits(call, label, f->classes + 1))
            *loss = (real)lose_row(f, (const real *)call->in[0] + row * f->classes, label, slope);
        else
            memset(slope, 0, f->classes * sizeof *slope);
    }
}

LL_KERNEL(FOCAL_LOSS)
{
    const struct ll_shape *logits = &call->op->in[0];
    struct focal f = {call, logits->dim[1], (real)ll_attr_real(call->op, LL_ATTR_ALPHA, 0.25),
                      (real)ll_attr_real(call->op, LL_ATTR_GAMMA, 2)};
    ll_pool_run(call->pool, logits->dim[0], ll_max(1, GRAIN / ll_max(1, f.classes)), lose_rows, &f);
}
