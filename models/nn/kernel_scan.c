/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrences whose state is a matrix for each head, and short convolutions along a sequence, as
 * tracer/ir/ops_llm.c describes the ops. Of a head with state S [d, e], keys k and queries q of d features,
 * values v of e, decays a = exp(g) and a factor b of what comes in, position after position:
 *
 *     P = a S                                       each row of S by the decay of its feature, or all by one
 *     u = b (v - P^T k)                             gated delta rule (Yang et al., 2024, equation 10)
 *     u = b v                                       state-space scan (Dao and Gu, 2024, equation 2)
 *     S = P + k u^T          y = S^T q
 *
 * and back, from the last position to the first, with the states before them computed again:
 *
 *     dq = S dy              dS += q dy^T           du = dS^T k             dk = dS u
 *     db = du (v - P^T k)    dv = b du              of the delta rule dr = -b du, dk += P dr, dS += k dr^T
 *     dg = dS P              dS = a dS              for the position before
 *
 * Gates are the logarithms of decays, of all heads, or of all heads' features, then each head's factor;
 * where there is one number a head it is a step s with g = -s and b = s. Heads that share keys are one
 * task, so that the sums for a key have one order. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/kernel.h"

struct scan {
    const real *state, *k, *q, *v, *gates, *dy;
    real *out_state, *y, *dk, *dq, *dv, *dgates, *scratch;
    uint64_t batch, positions, heads, keys, d, e; /* keys: heads of keys */
    uint64_t width, decays;                       /* numbers of a row of gates; those of a head's decays */
    bool steps, delta;
};

static struct scan scan_of(const struct ll_kernel_call *call, uint32_t first, bool delta)
{
    const struct ll_shape *state = &call->op->in[first], *keys = state + 1, *gates = state + 4;
    const uint64_t heads = state->dim[1], width = gates->dim[1];
    const bool steps = width == heads;
    assert(heads > 0 && width % heads == 0);
    struct scan s = {.state = call->in[first],
                     .k = call->in[first + 1],
                     .q = call->in[first + 2],
                     .v = call->in[first + 3],
                     .gates = call->in[first + 4],
                     .scratch = call->workspace,
                     .batch = state->dim[0],
                     .positions = keys->dim[0] / state->dim[0],
                     .heads = heads,
                     .keys = keys->dim[1] / state->dim[2],
                     .d = state->dim[2],
                     .e = state->dim[3],
                     .width = width,
                     .decays = steps ? 1 : width / heads - 1,
                     .steps = steps,
                     .delta = delta};
    assert(s.decays == 1 || s.decays == s.d);
    assert(s.keys > 0 && s.heads % s.keys == 0);
    return s;
}

/* The numbers of one position and head. */
struct place {
    const real *k, *q, *v;
    uint64_t gate;  /* of the first decay, in `gates`; with steps that of the step */
    uint64_t input; /* of the factor */
    real factor;
};

static LL_INLINE struct place place_of(const struct scan *s, uint64_t row, uint64_t head)
{
    const uint64_t key = (row * s->keys + head / (s->heads / s->keys)) * s->d;
    struct place p = {.k = s->k + key, .q = s->q + key, .v = s->v + (row * s->heads + head) * s->e};
    p.gate = row * s->width + head * s->decays;
    p.input = s->steps ? p.gate : row * s->width + s->heads * s->decays + head;
    p.factor = s->gates[p.input];
    return p;
}

static LL_INLINE real decay_of(const struct scan *s, const struct place *p, uint64_t i)
{
    const real g = s->gates[p->gate + (s->decays > 1 ? i : 0)];
    return (real)exp((double)(s->steps ? -g : g));
}

/* S becomes P; rest becomes v - P^T k, or v. */
static LL_INLINE void decay(const struct scan *s, const struct place *p, real *restrict state,
                            real *restrict rest)
{
    memcpy(rest, p->v, s->e * sizeof *rest);
    for (uint64_t i = 0; i < s->d; i++) {
        const real a = decay_of(s, p, i), k = s->delta ? p->k[i] : 0;
        for (uint64_t j = 0; j < s->e; j++) {
            state[i * s->e + j] *= a;
            rest[j] -= state[i * s->e + j] * k;
        }
    }
}

/* S = P + k u^T, with u = factor rest. */
static LL_INLINE void take_in(const struct scan *s, const struct place *p, const real *restrict rest,
                              real *restrict state)
{
    for (uint64_t i = 0; i < s->d; i++)
        for (uint64_t j = 0; j < s->e; j++)
            state[i * s->e + j] += p->k[i] * p->factor * rest[j];
}

/* Chunk: heads of keys of all sequences. */
static void scan_forward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct scan *s = context;
    const uint64_t each = s->heads / s->keys, size = s->d * s->e;
    real *rest = s->scratch + ll_pool_worker() * s->e;
    for (uint64_t n = begin * each; n < end * each; n++) {
        real *state = s->out_state + n * size;
        if (state != s->state + n * size)
            memcpy(state, s->state + n * size, size * sizeof *state);
        for (uint64_t t = 0; t < s->positions; t++) {
            const uint64_t row = n / s->heads * s->positions + t, head = n % s->heads;
            const struct place p = place_of(s, row, head);
            real *y = s->y + (row * s->heads + head) * s->e;
            decay(s, &p, state, rest);
            take_in(s, &p, rest, state);
            memset(y, 0, s->e * sizeof *y);
            for (uint64_t i = 0; i < s->d; i++)
                for (uint64_t j = 0; j < s->e; j++)
                    y[j] += state[i * s->e + j] * p.q[i];
        }
    }
}

static void run_scan(const struct ll_kernel_call *call, bool delta)
{
    struct scan s = scan_of(call, 0, delta);
    s.out_state = call->out[0];
    s.y = call->out[1];
    ll_pool_run(call->pool, s.batch * s.keys, 1, scan_forward, &s);
}

LL_KERNEL(STATE_SPACE_SCAN)
{
    run_scan(call, false);
}

LL_KERNEL(GATED_DELTA_RULE)
{
    run_scan(call, true);
}

#ifndef LL_DOUBLE
/* Forward a line of values for each thread; back also states before all positions and one that flows back. */
uint64_t ll_scan_workspace(const struct ll_op_view *op, unsigned threads)
{
    const bool back = op->input_count == 6;
    const struct ll_shape *state = &op->in[back];
    const uint64_t size = ll_mul(state->dim[2], state->dim[3]), positions = state[1].dim[0] / state->dim[0];
    uint64_t numbers = ll_mul(2, state->dim[3]);
    if (back)
        numbers = ll_add(numbers, ll_mul(size, ll_add(positions, 3)));
    return ll_mul(ll_mul(threads, numbers), 8);
}
#endif

/* One position back: from dS behind it to dS before it. `before` is S before it, P and S scratch. */
static void position_back(const struct scan *s, uint64_t row, uint64_t head, const real *before, real *flow,
                          real *P, real *S, real *rest, real *du)
{
    const uint64_t size = s->d * s->e, key = (row * s->keys + head / (s->heads / s->keys)) * s->d;
    const struct place p = place_of(s, row, head);
    const real *dy = s->dy + (row * s->heads + head) * s->e;
    real *dv = s->dv + (row * s->heads + head) * s->e;
    memcpy(P, before, size * sizeof *P);
    decay(s, &p, P, rest);
    memcpy(S, P, size * sizeof *S);
    take_in(s, &p, rest, S);
    memset(du, 0, s->e * sizeof *du);
    for (uint64_t i = 0; i < s->d; i++)
        for (uint64_t j = 0; j < s->e; j++) {
            s->dq[key + i] += S[i * s->e + j] * dy[j];
            flow[i * s->e + j] += p.q[i] * dy[j];
            du[j] += flow[i * s->e + j] * p.k[i];
            s->dk[key + i] += flow[i * s->e + j] * p.factor * rest[j];
        }
    double dfactor = 0;
    for (uint64_t j = 0; j < s->e; j++) {
        dfactor += (double)(du[j] * rest[j]);
        dv[j] = p.factor * du[j];
    }
    s->dgates[p.input] += (real)dfactor;
    for (uint64_t i = 0; i < s->d; i++) {
        double dg = 0;
        for (uint64_t j = 0; j < s->e; j++) {
            if (s->delta) {
                s->dk[key + i] -= P[i * s->e + j] * dv[j];
                flow[i * s->e + j] -= p.k[i] * dv[j];
            }
            dg += (double)(flow[i * s->e + j] * P[i * s->e + j]);
            flow[i * s->e + j] *= decay_of(s, &p, i);
        }
        s->dgates[p.gate + (s->decays > 1 ? i : 0)] += (real)(s->steps ? -dg : dg);
    }
}

static void scan_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct scan *s = context;
    const uint64_t each = s->heads / s->keys, size = s->d * s->e;
    real *scratch = s->scratch + ll_pool_worker() * (size * (s->positions + 3) + 2 * s->e),
         *flow = scratch + size * s->positions, *P = flow + size, *S = P + size, *rest = S + size,
         *du = rest + s->e;
    for (uint64_t n = begin * each; n < end * each; n++) {
        const uint64_t first = n / s->heads * s->positions, head = n % s->heads;
        memcpy(S, s->state + n * size, size * sizeof *S);
        for (uint64_t t = 0; t < s->positions; t++) {
            const struct place p = place_of(s, first + t, head);
            memcpy(scratch + t * size, S, size * sizeof *S);
            decay(s, &p, S, rest);
            take_in(s, &p, rest, S);
        }
        memset(flow, 0, size * sizeof *flow);
        for (uint64_t t = s->positions; t-- > 0;)
            position_back(s, first + t, head, scratch + t * size, flow, P, S, rest, du);
    }
}

static void run_back(const struct ll_kernel_call *call, bool delta)
{
    struct scan s = scan_of(call, 1, delta);
    s.dy = call->in[0];
    s.dk = call->out[0];
    s.dq = call->out[1];
    s.dv = call->out[2];
    s.dgates = call->out[3];
    const uint64_t rows = s.batch * s.positions;
    memset(s.dk, 0, rows * s.keys * s.d * sizeof(real));
    memset(s.dq, 0, rows * s.keys * s.d * sizeof(real));
    memset(s.dgates, 0, rows * s.width * sizeof(real));
    ll_pool_run(call->pool, s.batch * s.keys, 1, scan_back, &s);
}

LL_KERNEL(STATE_SPACE_SCAN_GRAD)
{
    run_back(call, false);
}

LL_KERNEL(GATED_DELTA_RULE_GRAD)
{
    run_back(call, true);
}

/* Short convolutions: y at t is the sum of filter k times x at t - taps + 1 + k, behind the start of a
 * sequence what its state has. A task is a sequence; what its rows add to the filter's gradient is added up
 * in order. */

struct taps {
    const real *state, *x, *filter, *biases, *dy;
    real *out_state, *y,
        *partial; /* y, or dx; partial: of each sequence lines for the filter and the biases */
    uint64_t batch, positions, taps, channels;
};

static struct taps taps_of(const struct ll_kernel_call *call, uint32_t first)
{
    const struct ll_shape *state = &call->op->in[first], *x = state + 1, *filter = state + 2;
    return (struct taps){.state = call->in[first],
                         .x = call->in[first + 1],
                         .filter = call->in[first + 2],
                         .partial = call->workspace,
                         .batch = state->dim[0],
                         .positions = state->dim[0] > 0 ? x->dim[0] / state->dim[0] : 0,
                         .taps = filter->dim[0],
                         .channels = filter->dim[1]};
}

/* The row of channels at place t of sequence n; places before its first lie in its state. */
static LL_INLINE const real *row_at(const struct taps *t, uint64_t n, uint64_t place)
{
    const uint64_t before = t->taps - 1;
    return place < before ? t->state + (n * before + place) * t->channels
                          : t->x + (n * t->positions + place - before) * t->channels;
}

static void convolve(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct taps *t = context;
    const uint64_t channels = t->channels, before = t->taps - 1;
    for (uint64_t n = begin; n < end; n++) {
        for (uint64_t at = 0; at < t->positions; at++) {
            real *restrict y = t->y + (n * t->positions + at) * channels;
            for (uint64_t c = 0; c < channels; c++)
                y[c] = t->biases ? t->biases[c] : 0;
            for (uint64_t k = 0; k < t->taps; k++) {
                const real *x = row_at(t, n, at + k), *filter = t->filter + k * channels;
                for (uint64_t c = 0; c < channels; c++)
                    y[c] += filter[c] * x[c];
            }
        }
        for (uint64_t k = 0; k < before; k++) /* from the front, since the state may be overwritten */
            memmove(t->out_state + (n * before + k) * channels, row_at(t, n, t->positions + k),
                    channels * sizeof(real));
    }
}

LL_KERNEL(CAUSAL_CONV)
{
    struct taps t = taps_of(call, 0);
    t.biases = call->op->input_count > 3 ? call->in[3] : NULL;
    t.out_state = call->out[0];
    t.y = call->out[1];
    ll_pool_run(call->pool, t.batch, 1, convolve, &t);
}

#ifndef LL_DOUBLE
uint64_t ll_causal_conv_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    return ll_mul(ll_mul(op->in[1].dim[0], ll_add(op->in[3].dim[0], 1)), ll_mul(op->in[3].dim[1], 8));
}
#endif

static void convolve_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct taps *t = context;
    const uint64_t channels = t->channels, before = t->taps - 1;
    for (uint64_t n = begin; n < end; n++) {
        real *sums = t->partial + n * (t->taps + 1) * channels, *dbiases = sums + t->taps * channels;
        memset(sums, 0, (t->taps + 1) * channels * sizeof *sums);
        memset(t->y + n * t->positions * channels, 0, t->positions * channels * sizeof(real));
        for (uint64_t at = 0; at < t->positions; at++) {
            const real *dy = t->dy + (n * t->positions + at) * channels;
            for (uint64_t c = 0; c < channels; c++)
                dbiases[c] += dy[c];
            for (uint64_t k = 0; k < t->taps; k++) {
                const real *x = row_at(t, n, at + k);
                for (uint64_t c = 0; c < channels; c++)
                    sums[k * channels + c] += dy[c] * x[c];
                if (at + k < before)
                    continue; /* of the state nobody asks for a gradient */
                real *dx = t->y + (n * t->positions + at + k - before) * channels;
                for (uint64_t c = 0; c < channels; c++)
                    dx[c] += dy[c] * t->filter[k * channels + c];
            }
        }
    }
}

LL_KERNEL(CAUSAL_CONV_GRAD)
{
    struct taps t = taps_of(call, 1);
    t.dy = call->in[0];
    t.y = call->out[0];
    ll_pool_run(call->pool, t.batch, 1, convolve_back, &t);
    const uint64_t line = (t.taps + 1) * t.channels;
    for (uint64_t i = 0; i < line; i++) {
        double sum = 0;
        for (uint64_t n = 0; n < t.batch; n++)
            sum += (double)t.partial[n * line + i];
        if (i < t.taps * t.channels)
            ((real *)call->out[1])[i] = (real)sum;
        else if (call->op->output_count > 2)
            ((real *)call->out[2])[i - t.taps * t.channels] = (real)sum;
    }
}
