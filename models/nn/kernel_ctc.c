/* SPDX-License-Identifier: Apache-2.0 */
/* Connectionist temporal classification (Graves et al., 2006): how surprising the labels of an utterance are,
 * when a path names a class for each frame and becomes labels by merging repeated classes and dropping
 * blanks. The last class is the blank.
 *
 * Between labels, before and behind them stand blanks: cells s = 0 .. 2 L, odd ones labels. Of all paths of
 * the labels, alpha(t, s) is the share of their beginnings that are in cell s at frame t, beta(t, s) that of
 * their ends from there on, frame t's class left out:
 *
 *     alpha(t, s) = p(t, s) (alpha(t-1, s) + alpha(t-1, s-1) + [skip] alpha(t-1, s-2))
 *     beta(t, s) = p beta(t+1, s) + p beta(t+1, s+1) + [skip] p beta(t+1, s+2)
 *     loss = -log P,  P = alpha(last, 2 L) + alpha(last, 2 L - 1)
 *     dloss/dx(t, c) = softmax(t, c) - sum over the cells s of class c of alpha(t, s) beta(t, s) / P
 *
 * A blank between two different labels can be skipped. All of it in logarithms and in double, as a product
 * over frames fits into neither type. Frames behind an utterance's end have no gradient. Where no path has
 * the labels, as with fewer frames than labels, the loss is 0 and so is the gradient: such utterances teach
 * nothing, as with TensorFlow's ignore_longer_outputs_than_inputs. */
#include "models/nn/kernel.h"

#include <math.h>
#include <string.h>

#ifndef LL_DOUBLE
uint64_t ll_ctc_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads; /* an utterance keeps its tables, whoever computes it */
    uint64_t frames = op->in[0].dim[0], cells = ll_add(ll_mul(2, op->in[1].dim[1]), 1);
    uint64_t table = ll_mul(ll_add(frames, 1), cells);
    return ll_mul(op->in[0].dim[1], ll_mul(ll_add(table, frames), sizeof(double)));
}
#endif

/* One utterance. */
struct utterance {
    const real *x; /* logits of its frame 0; those of the next are `stride` behind */
    real *dx;
    const int32_t *labels;
    uint64_t frames, stride, classes, cells;
    double *norm;  /* [frames]: log of the sum of exponentials */
    double *alpha; /* [frames, cells] */
    double *ahead; /* [cells]: log of p(t+1, s) beta(t+1, s) */
};

LL_INLINE double log_of_sum(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    return least == -INFINITY ? most : most + log1p(exp(least - most));
}

static uint64_t class_of(const struct utterance *u, uint64_t cell)
{
    return cell % 2 ? (uint64_t)u->labels[cell / 2] : u->classes - 1;
}

static double log_share(const struct utterance *u, uint64_t frame, uint64_t cell)
{
    return (double)u->x[frame * u->stride + class_of(u, cell)] - u->norm[frame];
}

/* Whether a path may come to this cell from two before it. */
static bool can_skip_to(const struct utterance *u, uint64_t cell)
{
    return cell % 2 && cell >= 3 && u->labels[cell / 2] != u->labels[cell / 2 - 1];
}

static void normalise(const struct utterance *u, uint64_t frame)
{
    const real *x = u->x + frame * u->stride;
    real *dx = u->dx + frame * u->stride;
    double most = (double)x[0], sum = 0;
    for (uint64_t c = 1; c < u->classes; c++)
        most = (double)x[c] > most ? (double)x[c] : most; /* fmax makes gcc 12 for arm64 fail here */
    for (uint64_t c = 0; c < u->classes; c++)
        sum += exp((double)x[c] - most);
    u->norm[frame] = most + log(sum);
    for (uint64_t c = 0; c < u->classes; c++)
        dx[c] = (real)exp((double)x[c] - u->norm[frame]);
}

/* Fills alpha; returns log P. */
static double walk_forward(const struct utterance *u)
{
    uint64_t cells = u->cells;
    if (u->frames == 0)
        return cells == 1 ? 0 : -INFINITY;
    for (uint64_t s = 0; s < cells; s++)
        u->alpha[s] = s < 2 ? log_share(u, 0, s) : -INFINITY;
    for (uint64_t t = 1; t < u->frames; t++) {
        const double *before = u->alpha + (t - 1) * cells;
        for (uint64_t s = 0; s < cells; s++) {
            double sum = s ? log_of_sum(before[s], before[s - 1]) : before[s];
            if (can_skip_to(u, s))
                sum = log_of_sum(sum, before[s - 2]);
            u->alpha[t * cells + s] = sum + log_share(u, t, s);
        }
    }
    const double *last = u->alpha + (u->frames - 1) * cells;
    return cells == 1 ? last[0] : log_of_sum(last[cells - 1], last[cells - 2]);
}

/* log beta(t, s) from `ahead`, of which cells before s are already frame t's. */
static double beta_of(const struct utterance *u, uint64_t t, uint64_t s)
{
    if (t + 1 == u->frames)
        return s + 2 >= u->cells ? 0 : -INFINITY;
    double sum = u->ahead[s];
    if (s + 1 < u->cells)
        sum = log_of_sum(sum, u->ahead[s + 1]);
    return s + 2 < u->cells && can_skip_to(u, s + 2) ? log_of_sum(sum, u->ahead[s + 2]) : sum;
}

/* Takes from dx what the paths of the labels have in each cell. */
static void walk_backward(const struct utterance *u, double log_p)
{
    for (uint64_t t = u->frames; t-- > 0;)
        for (uint64_t s = 0; s < u->cells; s++) {
            double beta = beta_of(u, t, s);
            u->dx[t * u->stride + class_of(u, s)] -= (real)exp(u->alpha[t * u->cells + s] + beta - log_p);
            u->ahead[s] = beta + log_share(u, t, s);
        }
}

static struct utterance utterance_of(const struct ll_kernel_call *call, uint64_t i)
{
    const struct ll_shape *logits = &call->op->in[0];
    uint64_t labels = call->op->in[1].dim[1], frames = logits->dim[0], cells = 2 * labels + 1;
    int32_t length = ((const int32_t *)call->in[2])[i], time = ((const int32_t *)call->in[3])[i];
    struct utterance u = {.x = (const real *)call->in[0] + i * logits->dim[2],
                          .dx = (real *)call->out[1] + i * logits->dim[2],
                          .labels = (const int32_t *)call->in[1] + i * labels,
                          .frames = (uint64_t)time,
                          .stride = logits->dim[1] * logits->dim[2],
                          .classes = logits->dim[2],
                          .cells = 2 * (uint64_t)length + 1};
    u.norm = (double *)call->workspace + i * (frames + (frames + 1) * cells);
    u.ahead = u.norm + frames;
    u.alpha = u.ahead + cells;
    return u;
}

static void forget(const struct utterance *u, uint64_t begin, uint64_t end)
{
    for (uint64_t t = begin; t < end; t++)
        memset(u->dx + t * u->stride, 0, u->classes * sizeof *u->dx);
}

/* Labels and frames are as many as there is room for, and every label is a class that is not blank. */
static bool is_sound(const struct ll_kernel_call *call, uint64_t i)
{
    const struct ll_shape *logits = &call->op->in[0];
    uint64_t labels = call->op->in[1].dim[1];
    int32_t length = ((const int32_t *)call->in[2])[i], time = ((const int32_t *)call->in[3])[i];
    bool sound = ll_index_fits(call, length, labels + 1) && ll_index_fits(call, time, logits->dim[0] + 1);
    for (int32_t n = 0; sound && n < length; n++)
        sound =
            ll_index_fits(call, ((const int32_t *)call->in[1])[i * labels + (uint64_t)n], logits->dim[2] - 1);
    return sound;
}

static void losses(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    for (uint64_t i = begin; i < end; i++) {
        struct utterance u = utterance_of(call, i);
        if (!is_sound(call, i)) {
            forget(&u, 0, call->op->in[0].dim[0]);
            ((real *)call->out[0])[i] = (real)NAN;
            continue;
        }
        for (uint64_t t = 0; t < u.frames; t++)
            normalise(&u, t);
        double log_p = walk_forward(&u);
        bool possible = log_p > -INFINITY;
        if (possible)
            walk_backward(&u, log_p);
        forget(&u, possible ? u.frames : 0, call->op->in[0].dim[0]);
        ((real *)call->out[0])[i] = possible ? (real)-log_p : 0;
    }
}

LL_KERNEL(CTC_LOSS)
{
    struct ll_kernel_call utterances = *call;
    ll_pool_run(call->pool, call->op->in[0].dim[1], 1, losses, &utterances);
}
