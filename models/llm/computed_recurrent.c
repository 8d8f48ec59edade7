/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent mixers in ops that are computed here (computed.h): Mamba-2, the gated delta rule, short
 * convolutions.
 *
 * Learned decays stay below one: g = -exp(A) softplus(x W + b), with A and b a number a head. Kernels on
 * devices have gates, norms of keys and activations inside; here each is an op. States begin at zero where
 * nothing is remembered, else they are variables that each step leaves for the next one. */
#include "models/llm/computed.h"

#include <assert.h>
#include <math.h>

#include "models/nn/layers.h"

static struct ll_value *silu(struct ll_nn *nn, struct ll_value *x)
{
    return ll_mul_of(nn, x, ll_nn_do1(nn, LL_OP_SIGMOID, x));
}

/* log(1 + exp(x)) */
static struct ll_value *softplus(struct ll_nn *nn, struct ll_value *x)
{
    return ll_nn_do1(nn, LL_OP_LOG, ll_add_of(nn, ll_nn_do1(nn, LL_OP_EXP, x), ll_constant(nn, "one", 1)));
}

/* A number for each head, or more; all the same at first. */
static struct ll_value *line(struct ll_nn *nn, const char *name, unsigned rank, const uint64_t *dims,
                             double begin)
{
    static const enum ll_role roles[] = {LL_ROLE_HEADS, LL_ROLE_PLAIN};
    struct ll_shape shape = ll_nn_shape(nn, rank, dims, roles);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, begin, NULL});
}

static struct ll_value *dense(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t units)
{
    return ll_llm_computed_dense(d, name, x, units, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false);
}

/* Rows [rows, heads features] as [rows, heads, features], and back. */
static struct ll_value *by_head(struct ll_nn *nn, struct ll_value *x, uint64_t heads)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN};
    if (nn->trouble)
        return x;
    struct ll_shape shape =
        ll_nn_shape(nn, 3, (uint64_t[]){x->shape.dim[0], heads, x->shape.dim[1] / heads}, roles);
    return ll_nn_reshape(nn, x, &shape);
}

static struct ll_value *as_rows(struct ll_nn *nn, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    if (nn->trouble)
        return x;
    struct ll_shape shape =
        ll_nn_shape(nn, 2, (uint64_t[]){x->shape.dim[0], x->shape.dim[1] * x->shape.dim[2]}, roles);
    return ll_nn_reshape(nn, x, &shape);
}

/* An op whose first input is a state, and whose second result is what it gives. */
static struct ll_value *with_state(struct ll_decoder *d, enum ll_op_kind kind, const struct ll_shape *state,
                                   struct ll_value *inputs[5], uint32_t count)
{
    struct ll_nn *nn = d->nn;
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_IN_PLACE, 0);
    const bool remembers = !d->train && d->pass != LL_PASS_FORWARD;
    inputs[0] = remembers ? ll_nn_variable(nn, "state", state, LL_ACTIVATION,
                                           (struct ll_init){LL_INIT_CONSTANT, 0, NULL})
                          : ll_zeros(nn, state);
    struct ll_value *after = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = kind, .input_count = count, .inputs = inputs, .attr_count = remembers, .attrs = &attr});
    return nn->trouble ? after : after->producer->outputs[1];
}

static struct ll_value *convolved(struct ll_decoder *d, const struct ll_llm_layer *l, struct ll_value *x,
                                  uint64_t channels, bool biased)
{
    static const enum ll_role of_state[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HEADS},
                              of_filter[] = {LL_ROLE_PLAIN, LL_ROLE_HEADS};
    struct ll_nn *nn = d->nn;
    struct ll_shape filter = ll_nn_shape(nn, 2, (uint64_t[]){l->taps, channels}, of_filter),
                    state = ll_nn_shape(nn, 3, (uint64_t[]){d->batch, l->taps - 1, channels}, of_state);
    ll_nn_push(nn, "convolution");
    struct ll_value *inputs[5] = {
        NULL, x, ll_nn_variable(nn, "filter", &filter, LL_WEIGHT, ll_init_fan_in(l->taps, 1)),
        biased ? line(nn, "biases", 1, &channels, 0) : NULL};
    x = with_state(d, LL_OP_CAUSAL_CONV, &state, inputs, biased ? 4 : 3);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *scanned(struct ll_decoder *d, const struct ll_llm_layer *l, enum ll_op_kind kind,
                                struct ll_value *keys, struct ll_value *queries, struct ll_value *values,
                                struct ll_value *gates)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    struct ll_shape state =
        ll_nn_shape(d->nn, 4, (uint64_t[]){d->batch, l->value_heads, l->key, l->value}, roles);
    struct ll_value *inputs[5] = {NULL, keys, queries, values, gates};
    return with_state(d, kind, &state, inputs, 5);
}

/* Steps softplus(x + b) and the logarithms of decays, -exp(A) steps. */
static struct ll_value *decays_of(struct ll_nn *nn, struct ll_value *x, uint64_t heads,
                                  struct ll_value **steps)
{
    *steps = softplus(nn, ll_nn_do2(nn, LL_OP_BIAS_ADD, x, line(nn, "steps/bias", 1, &heads, -1)));
    struct ll_value *rate = ll_nn_do1(nn, LL_OP_EXP, line(nn, "decay", 1, &heads, 0));
    return ll_nn_do1(nn, LL_OP_NEG, ll_mul_of(nn, *steps, rate));
}

/* Mamba-2 (Dao and Gu, 2024, section 7). */
static struct ll_value *mamba2(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                               struct ll_value *n)
{
    struct ll_nn *nn = d->nn;
    const uint64_t inner = l->value_heads * l->value, groups = l->key_heads * l->key;
    struct ll_value *gate = dense(d, "gate", n, inner), *all = dense(d, "x_b_c", n, inner + 2 * groups),
                    *steps;
    struct ll_value *decays = decays_of(nn, dense(d, "steps", n, l->value_heads), l->value_heads, &steps);
    struct ll_value *gates = ll_nn_concat(nn, (struct ll_value *[]){decays, steps}, 2, 1);
    all = silu(nn, convolved(d, l, all, inner + 2 * groups, l->qkv_biased));
    struct ll_value *x = ll_nn_slice(nn, all, 1, 0, inner), *b = ll_nn_slice(nn, all, 1, inner, groups),
                    *c = ll_nn_slice(nn, all, 1, inner + groups, groups);
    struct ll_value *y = by_head(nn, scanned(d, l, LL_OP_STATE_SPACE_SCAN, b, c, x, gates), l->value_heads);
    struct ll_value *through = line(nn, "through", 2, (uint64_t[]){l->value_heads, 1}, 1);
    y = as_rows(nn, ll_add_of(nn, y, ll_mul_of(nn, by_head(nn, x, l->value_heads), through)));
    y = ll_llm_computed_rms_norm(d, "norm_inside", y, llm->epsilon, LL_ROLE_HEADS);
    return ll_nn_do2(nn, LL_OP_SILU_MUL, gate, y);
}

/* Each head's features over the root of their sum of squares, times a number. */
static struct ll_value *unit(struct ll_nn *nn, struct ll_value *x, uint64_t heads, uint64_t features,
                             const char *name, double times)
{
    const struct ll_attr epsilon = ll_attr_of_real(LL_ATTR_EPSILON, 1e-6);
    struct ll_shape shape = ll_nn_shape(nn, 1, &features, NULL);
    struct ll_value *inputs[] = {by_head(nn, x, heads),
                                 ll_filled(nn, name, &shape, times / sqrt((double)features))};
    return as_rows(nn, ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_RMS_NORM,
                                                         .input_count = 2,
                                                         .inputs = inputs,
                                                         .attr_count = 1,
                                                         .attrs = &epsilon}));
}

/* Gated delta rule (Yang et al., 2024), as Qwen3-Next has it: keys and queries of length one. */
static struct ll_value *delta(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                              struct ll_value *n)
{
    struct ll_nn *nn = d->nn;
    const uint64_t keys = l->key_heads * l->key, values = l->value_heads * l->value;
    struct ll_value *all = dense(d, "query_key_value", n, 2 * keys + values),
                    *gate = dense(d, "gate", n, values), *numbers = dense(d, "decays", n, 2 * l->value_heads),
                    *steps;
    struct ll_value *factors = ll_nn_do1(nn, LL_OP_SIGMOID, ll_nn_slice(nn, numbers, 1, 0, l->value_heads));
    struct ll_value *decays =
        decays_of(nn, ll_nn_slice(nn, numbers, 1, l->value_heads, l->value_heads), l->value_heads, &steps);
    all = silu(nn, convolved(d, l, all, 2 * keys + values, false));
    struct ll_value *q = unit(nn, ll_nn_slice(nn, all, 1, 0, keys), l->key_heads, l->key, "of_query",
                              1 / sqrt((double)l->key)),
                    *k = unit(nn, ll_nn_slice(nn, all, 1, keys, keys), l->key_heads, l->key, "of_key", 1),
                    *v = ll_nn_slice(nn, all, 1, 2 * keys, values);
    struct ll_value *gates = ll_nn_concat(nn, (struct ll_value *[]){decays, factors}, 2, 1);
    struct ll_value *y = by_head(nn, scanned(d, l, LL_OP_GATED_DELTA_RULE, k, q, v, gates), l->value_heads);
    y = as_rows(nn, ll_llm_computed_rms_norm(d, "norm_inside", y, llm->epsilon, LL_ROLE_PLAIN));
    return ll_nn_do2(nn, LL_OP_SILU_MUL, gate, y);
}

/* A gated short convolution (LFM2, Liquid AI, 2025): (taps * (b x)) c. */
static struct ll_value *short_conv(struct ll_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    struct ll_nn *nn = d->nn;
    struct ll_value *b = dense(d, "b", n, l->value), *c = dense(d, "c", n, l->value),
                    *x = dense(d, "x", n, l->value);
    return ll_mul_of(nn, convolved(d, l, ll_mul_of(nn, b, x), l->value, l->qkv_biased), c);
}

struct ll_value *ll_llm_computed_recurrent(struct ll_decoder *d, const struct ll_llm *llm,
                                           const struct ll_llm_layer *l, struct ll_value *n)
{
    if (d->nn->trouble)
        return n;
    if (l->mixer == LL_MIXER_MAMBA2)
        return mamba2(d, llm, l, n);
    if (l->mixer == LL_MIXER_DELTA)
        return delta(d, llm, l, n);
    assert(l->mixer == LL_MIXER_CONV);
    return short_conv(d, l, n);
}
