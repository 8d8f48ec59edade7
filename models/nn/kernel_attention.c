/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, softmax and losses. Softmax, alone and with cross entropy:
 *
 *     softmax_j = exp(x_j - max) / sum_k exp(x_k - max)
 *     loss = sum_j target_j (log sum_k exp(x_k - max) - (x_j - max))
 *     dloss/dx_j = softmax_j sum_k target_k - target_j
 *
 * where the targets of a class number are 1 for it and 0 for the others. A number that is no
 * class has no loss (NaN) and no gradient. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

/* y = exp(x - most), which may lie where x lies; their sum. */
static LL_INLINE double exponentials(const real *x, real most, real *y, uint64_t count)
{
    double sum = 0;
#pragma omp simd
    for (uint64_t i = 0; i < count; i++)
        y[i] = ll_exp(x[i] - most);
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < count; i++)
        sum += (double)y[i];
    return sum;
}

/* y times a factor. */
static LL_INLINE void scale_line(real *y, uint64_t count, real factor)
{
    for (uint64_t i = 0; i < count; i++)
        y[i] *= factor;
}

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
        double sum = exponentials(x, ll_largest(x, length), y, length);
        scale_line(y, length, (real)(1 / sum));
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
        double sum = exponentials(x, most, dx, classes);
        scale_line(dx, classes, (real)(1 / sum));
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
        double sum = exponentials(x, most, dx, classes), distance = 0;
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
        double sum = exponentials(x, most, dx, classes), weight = 0, inner = 0;
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

/* Softmax over the keys that a position may see, and what flows back through it:
 *
 *     y_j = exp(s x_j - max) / sum over j <= p of exp(s x_j - max), 0 behind p      p: the last key seen
 *     dx_j = s y_j (dy_j - sum_k dy_k y_k)
 *
 * s is the attribute scale. What is hidden has y = 0, so the second needs to know nothing of positions. */

enum { CAUSAL_GRAIN = 1 << 12 };

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
    ll_pool_run(call->pool, keys ? ll_elements(x) / keys : 0, ll_max(1, CAUSAL_GRAIN / ll_max(1, keys)), body,
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
        double sum = exponentials(y, ll_largest(y, seen), y, seen);
        scale_line(y, seen, (real)(1 / sum));
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

/* Attention to what came before, row by row, as tracer/ir/ops_llm.c describes the op:
 *
 *     p_j = exp(s q k_j - l)        l = log sum_j exp(s q k_j)        y = sum_j p_j v_j
 *     dp_j = dy v_j                 g_j = s p_j (dp_j - dy y)
 *     dq = sum_j g_j k_j            dk_j += g_j q                     dv_j += p_j dy
 *
 * over the keys j that the row sees. A thread has whole stacks, so that sums over rows have one order. Of
 * latent vectors, which all heads of a sequence share, the first part is the values. */

struct stacks {
    const real *q, *k, *v, *y, *dy, *sums;
    real *out, *out_sums, *dk, *dv, *scratch; /* out: y, or dq */
    uint64_t rows, keys, groups;
    uint64_t features, values, value_step; /* of a key; of a value; from one value to the next */
    uint64_t sharers;                      /* stacks of queries for which the same keys and values are */
    uint64_t window;                       /* keys before its own that a row sees; 0: all */
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
    const struct ll_shape *q = &call->op->in[queries], *k = &call->op->in[queries + 1],
                          *v = &call->op->in[queries + 2];
    return (struct stacks){
        .q = call->in[queries],
        .k = call->in[queries + 1],
        .v = call->in[queries + 2],
        .out = call->out[0],
        .scratch = call->workspace,
        .rows = q->dim[q->rank - 2],
        .keys = k->dim[k->rank - 2],
        .features = q->dim[q->rank - 1],
        .values = v->dim[v->rank - 1],
        .value_step = v->dim[v->rank - 1],
        .sharers = 1,
        .groups = (uint64_t)ll_attr_count(call->op, LL_ATTR_GROUPS, 1),
        .window = (uint64_t)ll_attr_count(call->op, LL_ATTR_WINDOW, 0),
        .scale = (real)ll_attr_real(call->op, LL_ATTR_SCALE, 1),
    };
}

/* How many matrices of queries there are. */
static uint64_t stack_count(const struct ll_shape *q)
{
    uint64_t count = 1;
    for (unsigned i = 0; i + 2 < q->rank; i++)
        count *= q->dim[i];
    return count;
}

static LL_INLINE real dot(const real *a, const real *b, uint64_t count)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static LL_INLINE void add_scaled(real *restrict to, real factor, const real *from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

/* The key behind the last one that a row sees; the first one. */
static uint64_t keys_end(const struct stacks *s, uint64_t row)
{
    return s->keys - s->rows / s->groups + row / s->groups + 1;
}

static uint64_t keys_begin(const struct stacks *s, uint64_t row)
{
    const uint64_t end = keys_end(s, row);
    return s->window > 0 && end > s->window + 1 ? end - s->window - 1 : 0;
}

LL_FAST static void attend(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct stacks *s = context;
    const uint64_t d = s->features, e = s->values;
    real *p = s->scratch + ll_pool_worker() * s->keys;
    for (uint64_t n = begin * s->rows; n < end * s->rows; n++) {
        const uint64_t begin_key = keys_begin(s, n % s->rows), seen = keys_end(s, n % s->rows) - begin_key,
                       first = n / s->rows / s->sharers * s->keys + begin_key;
        const real *k = s->k + first * d, *v = s->v + first * s->value_step;
        real *y = s->out + n * e;
        for (uint64_t j = 0; j < seen; j++)
            p[j] = s->scale * dot(s->q + n * d, k + j * d, d);
        const real most = ll_largest(p, seen);
        const double sum = exponentials(p, most, p, seen);
        memset(y, 0, e * sizeof *y);
        for (uint64_t j = 0; j < seen; j++)
            add_scaled(y, (real)((double)p[j] / sum), v + j * s->value_step, e);
        if (s->out_sums)
            s->out_sums[n] = (real)((double)most + log(sum));
    }
}

LL_KERNEL(CAUSAL_ATTENTION)
{
    struct stacks s = stacks_of(call, 0);
    s.out_sums = call->out[1];
    ll_pool_run(call->pool, stack_count(&call->op->in[0]), 1, attend, &s);
}

LL_KERNEL(LATENT_ATTENTION)
{
    const struct ll_shape *q = &call->op->in[0], *cache = &call->op->in[1];
    struct stacks s = {
        .q = call->in[0],
        .k = call->in[1],
        .v = call->in[1],
        .out = call->out[0],
        .scratch = call->workspace,
        .rows = q->dim[2],
        .keys = cache->dim[1],
        .groups = 1,
        .features = q->dim[3],
        .values = call->op->out[0].dim[3],
        .value_step = q->dim[3],
        .sharers = q->dim[1],
        .scale = (real)ll_attr_real(call->op, LL_ATTR_SCALE, 1),
    };
    ll_pool_run(call->pool, stack_count(q), 1, attend, &s);
}

LL_FAST static void attend_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct stacks *s = context;
    const uint64_t d = s->features, e = s->values;
    memset(s->dk + begin * s->keys * d, 0, (end - begin) * s->keys * d * sizeof *s->dk);
    memset(s->dv + begin * s->keys * e, 0, (end - begin) * s->keys * e * sizeof *s->dv);
    for (uint64_t n = begin * s->rows; n < end * s->rows; n++) {
        const uint64_t first = n / s->rows * s->keys;
        const real *q = s->q + n * d, *dy = s->dy + n * e, inner = dot(dy, s->y + n * e, e);
        real *dq = s->out + n * d;
        memset(dq, 0, d * sizeof *dq);
        for (uint64_t j = keys_begin(s, n % s->rows); j < keys_end(s, n % s->rows); j++) {
            const real *k = s->k + (first + j) * d;
            const real p = ll_exp(s->scale * dot(q, k, d) - s->sums[n]);
            const real g = s->scale * p * (dot(dy, s->v + (first + j) * e, e) - inner);
            add_scaled(dq, g, k, d);
            add_scaled(s->dk + (first + j) * d, g, q, d);
            add_scaled(s->dv + (first + j) * e, p, dy, e);
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
    ll_pool_run(call->pool, stack_count(&call->op->in[1]), 1, attend_back, &s);
}

/* Rotary positions (Su et al., 2021; the halves of a head are the pairs, as in Llama): at position p the
 * features i and i + d / 2 of a head are turned by the angle scale p base^(-2 i / d). */

enum { ROTARY_GRAIN = 1 << 12 };

struct turned {
    const real *x;
    real *y;
    uint64_t positions, heads, features, begin; /* heads: of a position */
    double base, scale;
};

/* Chunk: positions of all samples. */
static void turn(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct turned *t = context;
    const uint64_t half = t->features / 2;
    for (uint64_t n = begin; n < end; n++) {
        const double position = t->scale * (double)(t->begin + n % t->positions);
        const real *x = t->x + n * t->heads * t->features;
        real *y = t->y + n * t->heads * t->features;
        for (uint64_t i = 0; i < half; i++) {
            const double angle = position * pow(t->base, -2 * (double)i / (double)t->features);
            const real c = (real)cos(angle), s = (real)sin(angle);
            for (uint64_t at = i; at < t->heads * t->features; at += t->features) {
                y[at] = x[at] * c - x[at + half] * s;
                y[at + half] = x[at + half] * c + x[at] * s;
            }
        }
    }
}

LL_KERNEL(ROTARY)
{
    const struct ll_shape *x = &call->op->in[0];
    const uint64_t axis = (uint64_t)ll_attr_count(call->op, LL_ATTR_AXIS, 0);
    assert(axis < x->rank && x->dim[x->rank - 1] % 2 == 0);
    uint64_t outer = 1, heads = 1;
    for (uint64_t i = 0; i + 1 < x->rank; i++)
        *(i <= axis ? &outer : &heads) *= x->dim[i];
    struct turned t = {
        .x = call->in[0],
        .y = call->out[0],
        .positions = x->dim[axis],
        .heads = heads,
        .features = x->dim[x->rank - 1],
        .begin = (uint64_t)ll_attr_count(call->op, LL_ATTR_BEGIN, 0),
        .base = ll_attr_real(call->op, LL_ATTR_BASE, 10000),
        .scale = ll_attr_real(call->op, LL_ATTR_SCALE, 1),
    };
    ll_pool_run(call->pool, outer, ll_max(1, ROTARY_GRAIN / ll_max(1, heads * t.features)), turn, &t);
}

/* The focal loss (Lin et al., 2017) of logistic regressions, one for each class, and its slope. z is the
 * logit, turned so that more is better for its label; q its logistic function, a the weight of its side:
 *
 *     loss = -a (1 - q)^gamma log q         dloss/dz = a (1 - q)^gamma (gamma q log q - (1 - q))
 *     a = alpha for the class of the label, 1 - alpha for the others
 *
 * With z and e = exp(-|z|), log q = min(z, 0) - log(1 + e) and log(1 - q) = log q - z; q and 1 - q are
 * 1 / (1 + e) and e / (1 + e), or the other way round where z < 0. So neither loss nor slope is lost where q
 * is nearly 1. Label 0 is the background, k > 0 is class k - 1; below 0 there is neither loss nor slope. */

enum { FOCAL_GRAIN = 1 << 12, PIECE = 256 };

struct focal {
    const struct ll_kernel_call *call;
    uint64_t classes;
    real alpha, gamma;
};

/* Turned is -1 for classes that are not the label's and 1 for the one that is. */
static LL_INLINE void lose(const struct focal *f, const real *restrict x, const real *restrict turned,
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

static LL_INLINE double lose_row(const struct focal *f, const real *x, int64_t label, real *slope)
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
    assert(logits->rank == 2);
    struct focal f = {call, logits->dim[1], (real)ll_attr_real(call->op, LL_ATTR_ALPHA, 0.25),
                      (real)ll_attr_real(call->op, LL_ATTR_GAMMA, 2)};
    ll_pool_run(call->pool, logits->dim[0], ll_max(1, FOCAL_GRAIN / ll_max(1, f.classes)), lose_rows, &f);
}

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

static LL_INLINE double log_of_sum(double a, double b)
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
