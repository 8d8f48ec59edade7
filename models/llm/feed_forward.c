/* SPDX-License-Identifier: Apache-2.0 */
/* Feed-forward parts: dense ones, with a gate or without, and layers of experts (decoder.h). */
#include "models/llm/decoder.h"

/* act(up), of a part without a gate. */
static struct ll_value *activated(struct ll_nn *nn, enum ll_llm_act act, struct ll_value *x)
{
    if (act == LL_LLM_GELU || act == LL_LLM_GELU_TANH)
        return ll_nn_do1(nn, LL_OP_GELU, x);
    x = ll_nn_do1(nn, LL_OP_RELU, x);
    return act == LL_LLM_RELU ? x : ll_nn_do1(nn, LL_OP_SQUARE, x);
}

/* silu(gate) up, or act(up), of rows of tokens with so many features inside. */
static struct ll_value *dense(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n,
                              uint64_t inner, uint64_t hidden)
{
    const struct ll_llm_matrix up[] = {{"up", inner, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, l->biased, false},
                                       {"gate", inner, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, l->biased, false}};
    struct ll_value *parts[2];
    ll_llm_dense_parts(d, "up_gate", n, up, l->plain ? 1 : 2, parts);
    if (l->act_weights > 0) {
        static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_FFN_HIDDEN};
        struct ll_value *pieces[] = {parts[0], ll_llm_line(d, "activation", l->act_weights, LL_ROLE_PLAIN)};
        parts[0] = ll_llm_seen(d, pieces, 2, 2, (uint64_t[]){d->rows, inner}, roles);
    }
    struct ll_value *y =
        l->plain ? activated(d->nn, l->act, parts[0]) : ll_nn_do2(d->nn, LL_OP_SILU_MUL, parts[1], parts[0]);
    return ll_llm_dense(
        d, y, &(struct ll_llm_matrix){"down", hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN, l->biased, false});
}

/* The weights of experts as their format stores them. */
static void store(const struct ll_llm_decoder *d, struct ll_shape *shape)
{
    static const struct {
        enum ll_dtype dtype;
        enum ll_scales scales;
    } stored[LL_EXPERT_FORMAT_COUNT] = {[LL_EXPERTS_FP8] = {LL_F8, LL_SCALES_NONE},
                                        [LL_EXPERTS_FP8_BLOCK] = {LL_F8, LL_SCALES_F32_SQUARE},
                                        [LL_EXPERTS_NVFP4] = {LL_F4, LL_SCALES_E4M3},
                                        [LL_EXPERTS_W4A16_MXFP4] = {LL_F4, LL_SCALES_E8M0},
                                        [LL_EXPERTS_W4A8_MXFP4_MXFP8] = {LL_F4, LL_SCALES_E8M0},
                                        [LL_EXPERTS_INT4_WO] = {LL_INT4, LL_SCALES_F16}};
    if (d->formats.expert == LL_EXPERTS_BF16 || d->train)
        return;
    shape->dtype = (uint8_t)stored[d->formats.expert].dtype;
    shape->scales = (uint8_t)stored[d->formats.expert].scales;
}

static struct ll_value *stack(struct ll_llm_decoder *d, const char *name, uint64_t experts, uint64_t from,
                              uint64_t to, enum ll_role from_role, enum ll_role to_role)
{
    struct ll_shape shape = ll_nn_shape(d->nn, 3, (uint64_t[]){experts, from, to},
                                        (const enum ll_role[]){LL_ROLE_EXPERTS, from_role, to_role});
    store(d, &shape);
    return ll_nn_variable(d->nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
}

static struct ll_value *biases(struct ll_llm_decoder *d, const char *name, uint64_t experts, uint64_t units,
                               enum ll_role role)
{
    struct ll_shape shape =
        ll_nn_shape(d->nn, 2, (uint64_t[]){experts, units}, (const enum ll_role[]){LL_ROLE_EXPERTS, role});
    return ll_nn_variable(d->nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 0, NULL});
}

/* Scores of all experts; the best of a token, and the shares that their results get. */
static void route(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n,
                  struct ll_value *shares_chosen[2])
{
    struct ll_nn *nn = d->nn;
    const struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->top_k);
    ll_nn_push(nn, "router");
    struct ll_value *x = l->router_scales ? ll_llm_norm(d, "norm", n) : n;
    struct ll_value *scores = ll_llm_dense(
        d, x,
        &(struct ll_llm_matrix){"scores", l->experts, LL_ROLE_HIDDEN, LL_ROLE_EXPERTS, l->router_bias, true});
    if (l->router_scales) {
        struct ll_value *scaled[] = {scores, ll_llm_line(d, "scale", l->experts, LL_ROLE_EXPERTS)};
        scores = ll_llm_op(d, LL_OP_MUL, 2, scaled, NULL, 0);
    }
    struct ll_value *best = ll_llm_op(d, LL_OP_TOP_K, 1, &scores, &size, 1);
    shares_chosen[0] = ll_nn_do1(nn, LL_OP_SOFTMAX, best);
    shares_chosen[1] = nn->trouble ? best : best->producer->outputs[1];
    ll_nn_pop(nn);
}

static struct ll_value *experts(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    const uint64_t width = l->latent > 0 ? l->latent : d->llm->hidden;
    struct ll_value *inputs[7] = {n};
    uint32_t count = 5;
    ll_nn_push(d->nn, "experts");
    route(d, l, n, inputs + 1);
    if (l->latent > 0)
        inputs[0] = ll_llm_dense(
            d, n, &(struct ll_llm_matrix){"latent_down", width, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false});
    inputs[3] = stack(d, "up", l->experts, width, l->plain ? l->expert : 2 * l->expert, LL_ROLE_HIDDEN,
                      LL_ROLE_FFN_HIDDEN);
    inputs[4] = stack(d, "down", l->experts, l->expert, width, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN);
    if (l->expert_biased) {
        inputs[count++] = biases(d, "up_biases", l->experts, 2 * l->expert, LL_ROLE_FFN_HIDDEN);
        inputs[count++] = biases(d, "down_biases", l->experts, width, LL_ROLE_HIDDEN);
    }
    const struct ll_attr format =
        ll_attr_of_count(LL_ATTR_FORMAT, d->train ? LL_EXPERTS_BF16 : (int64_t)d->formats.expert);
    struct ll_value *y = ll_llm_op(d, LL_OP_EXPERTS, count, inputs, &format, 1);
    if (l->latent > 0)
        y = ll_llm_dense(d, y,
                         &(struct ll_llm_matrix){"latent_up", d->llm->hidden, LL_ROLE_PLAIN, LL_ROLE_HIDDEN,
                                                 false, false});
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *shared(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    ll_nn_push(d->nn, "shared");
    struct ll_value *y = dense(d, l, n, l->shared, d->llm->hidden);
    if (l->shared_gate) {
        struct ll_value *gate = ll_llm_dense(
            d, n, &(struct ll_llm_matrix){"weight", 1, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, true});
        y = ll_mul_of(d->nn, y, ll_nn_do1(d->nn, LL_OP_SIGMOID, gate));
    }
    ll_nn_pop(d->nn);
    return y;
}

struct ll_value *ll_llm_fed(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    struct ll_value *y = NULL;
    if (l->dense_linear)
        return ll_llm_dense(
            d, n,
            &(struct ll_llm_matrix){"linear", d->llm->hidden, LL_ROLE_PLAIN, LL_ROLE_HIDDEN, false, false});
    if (l->dense > 0)
        y = dense(d, l, n, l->dense, d->llm->hidden);
    if (l->experts > 0) {
        struct ll_value *of_experts = experts(d, l, n);
        y = y ? ll_add_of(d->nn, y, of_experts) : of_experts;
    }
    return l->experts > 0 && l->shared > 0 ? ll_add_of(d->nn, y, shared(d, l, n)) : y;
}
