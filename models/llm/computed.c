/* SPDX-License-Identifier: Apache-2.0 */
/* Language models in ops that are computed here (computed.h). With h features, H heads and K key heads of d,
 * f features inside, n tokens of which each sees all s of its sequence, a layer adds
 *
 *     attention      h (2 H + 2 K) d parameters     2 n h (2 H + 2 K) d + 4 n s H d forward FLOPs
 *     feed forward   2 h f, gated 3 h f             2 n times these
 *     E experts      h E + 3 E h f                  2 n h E + 6 E c h f, with c places an expert
 *
 * and norms, biases. Where few tokens are decoded, experts that none of them has chosen are neither computed
 * nor read. How many are depends on the tokens; counted is what is expected of n tokens whose choices of k
 * experts know nothing of each other, E (1 - (1 - k / E)^n). */
#include "models/llm/computed.h"

#include <assert.h>
#include <math.h>

#include "models/nn/layers.h"

static const double deviation = 0.02;

/* The deviation that weights start with whose result is added to what goes on to the next layer: 0.02 over
 * the root of 2 layers, of which each adds twice (Radford et al., 2019, section 2.3, for GPT-2); 0.02 where a
 * norm follows the sum (Devlin et al., 2019). */
static double deviation_behind(const struct ll_llm *llm)
{
    return llm->norms_behind ? deviation : deviation / sqrt(2 * (double)llm->layer_count);
}

struct ll_value *ll_llm_computed_dense(struct ll_decoder *d, const char *name, struct ll_value *x,
                                       uint64_t units, enum ll_role from, enum ll_role to, bool biased)
{
    return ll_decoder_dense(d, name, x, &(struct ll_decoder_dense){units, from, to, biased, deviation});
}

/* Zhang and Sennrich, 2019, equation 4. */
struct ll_value *ll_llm_computed_rms_norm(struct ll_decoder *d, const char *name, struct ll_value *x,
                                          double epsilon, enum ll_role role)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return x;
    struct ll_shape shape = ll_nn_shape(nn, 1, &x->shape.dim[x->shape.rank - 1], &role);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, epsilon);
    ll_nn_push(nn, name);
    struct ll_value *scale =
        ll_nn_variable(nn, "scale", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_RMS_NORM,
                                                           .input_count = 2,
                                                           .inputs = (struct ll_value *[]){x, scale},
                                                           .attr_count = 1,
                                                           .attrs = &attr});
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_llm_computed_norm(struct ll_decoder *d, const struct ll_llm *llm, const char *name,
                                      struct ll_value *x)
{
    if (llm->norm == LL_LLM_RMS_NORM)
        return ll_llm_computed_rms_norm(d, name, x, llm->epsilon, LL_ROLE_HIDDEN);
    assert(llm->norm == LL_LLM_LAYER_NORM);
    return ll_layer_norm(d->nn, name, x, llm->epsilon);
}

/* What a part of a layer reads. */
static struct ll_value *before(struct ll_decoder *d, const struct ll_llm *llm, struct ll_value *x)
{
    return llm->norms_behind ? x : ll_llm_computed_norm(d, llm, "norm", x);
}

/* x and what a part of a layer makes of it, of `norms` more norms. */
static struct ll_value *added(struct ll_decoder *d, const struct ll_llm *llm, struct ll_value *x,
                              struct ll_value *y, unsigned norms)
{
    if (norms > 0)
        y = ll_llm_computed_norm(d, llm, "norm_behind", y);
    x = ll_add_of(d->nn, x, y);
    return llm->norms_behind ? ll_llm_computed_norm(d, llm, "norm", x) : x;
}

/* Back to the features of a token. */
static struct ll_value *projected(struct ll_decoder *d, const struct ll_llm *llm, struct ll_value *y,
                                  enum ll_role from, bool biased)
{
    const struct ll_decoder_dense back = {llm->hidden, from, LL_ROLE_HIDDEN, biased, deviation_behind(llm)};
    return ll_decoder_dropped(d, ll_decoder_dense(d, "output", y, &back));
}

/* --- attention --- */

/* Norms of each head's queries or keys, or of all heads at once. */
static struct ll_value *head_norm(struct ll_decoder *d, const struct ll_llm *llm,
                                  const struct ll_llm_layer *l, const char *name, struct ll_value *x,
                                  uint64_t heads)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN};
    if (l->qk_norm == LL_QK_PLAIN || d->nn->trouble)
        return x;
    if (l->qk_norm == LL_QK_WHOLE)
        return ll_llm_computed_rms_norm(d, name, x, llm->epsilon, LL_ROLE_HEADS);
    const struct ll_shape flat = x->shape,
                          apart = ll_nn_shape(d->nn, 3, (uint64_t[]){flat.dim[0], heads, l->head}, roles);
    x = ll_llm_computed_rms_norm(d, name, ll_nn_reshape(d->nn, x, &apart), llm->epsilon, LL_ROLE_PLAIN);
    return ll_nn_reshape(d->nn, x, &flat);
}

/* Queries, keys and values of n, and their gate: of one GEMM whose result is split, or one each. */
static void ask(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                struct ll_value *n, struct ll_value *parts[4])
{
    static const char *const names[] = {"query", "key", "value", "gate"};
    const uint64_t units[] = {l->heads * l->head, l->kv_heads * l->head, l->kv_heads * l->head_v,
                              l->heads * l->head_v};
    if (llm->joined) {
        assert(l->heads == l->kv_heads && !l->gated);
        struct ll_value *all = ll_llm_computed_dense(d, "query_key_value", n, 3 * units[0], LL_ROLE_HIDDEN,
                                                     LL_ROLE_HEADS, l->qkv_biased);
        struct ll_value *const *split = ll_nn_split(d->nn, all, 1, 3);
        for (int i = 0; i < 3; i++)
            parts[i] = split[i];
        return;
    }
    for (int i = 0; i < (l->gated ? 4 : 3); i++)
        parts[i] = ll_llm_computed_dense(d, names[i], n, units[i], LL_ROLE_HIDDEN, LL_ROLE_HEADS,
                                         l->qkv_biased && i < 3);
    parts[0] = head_norm(d, llm, l, "query_norm", parts[0], l->heads);
    parts[1] = head_norm(d, llm, l, "key_norm", parts[1], l->kv_heads);
}

/* Attention of queries, keys and values of n, [rows, heads head_v]. */
static struct ll_value *attended(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                                 struct ll_value *n)
{
    struct ll_value *parts[4];
    d->sizes.heads = l->heads;
    d->sizes.kv_heads = l->kv_heads;
    d->sizes.head = l->head;
    d->window = l->window;
    d->rotary_base = l->rotary ? llm->rotary_base : 0;
    ask(d, llm, l, n, parts);
    struct ll_value *y = ll_decoder_attend(d, parts[0], parts[1], parts[2]);
    return l->gated ? ll_mul_of(d->nn, y, ll_nn_do1(d->nn, LL_OP_SIGMOID, parts[3])) : y;
}

/* x + (what the mixer makes of norm(x)) W_o. */
static struct ll_value *mixed(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                              struct ll_value *x)
{
    if (l->mixer == LL_MIXER_NONE)
        return x;
    ll_nn_push(d->nn, "attention");
    struct ll_value *n = before(d, llm, x);
    struct ll_value *y = l->mixer == LL_MIXER_ATTENTION ? attended(d, llm, l, n)
                         : l->mixer == LL_MIXER_LATENT  ? ll_llm_computed_latent(d, llm, l, n)
                                                        : ll_llm_computed_recurrent(d, llm, l, n);
    y = projected(d, llm, y, LL_ROLE_HEADS, l->mixer == LL_MIXER_ATTENTION && l->out_biased);
    x = added(d, llm, x, y, l->norms);
    ll_nn_pop(d->nn);
    return x;
}

/* --- feed-forward parts --- */

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
static struct ll_value *plain_gelu(struct ll_nn *nn, struct ll_value *x)
{
    static const double root = 0.79788456080286535588, share = 0.044715;
    struct ll_value *cube = ll_nn_do2(nn, LL_OP_POW, x, ll_constant(nn, "three", 3));
    struct ll_value *sum = ll_add_of(nn, x, ll_nn_mul_scalar(nn, cube, "share", share));
    struct ll_value *turned = ll_nn_do1(nn, LL_OP_TANH, ll_nn_mul_scalar(nn, sum, "root", root));
    turned = ll_add_of(nn, turned, ll_constant(nn, "one", 1));
    return ll_mul_of(nn, ll_nn_mul_scalar(nn, x, "half", 0.5), turned);
}

static struct ll_value *activated(struct ll_nn *nn, enum ll_llm_act act, struct ll_value *x)
{
    switch (act) {
    case LL_LLM_GELU_TANH:
        return plain_gelu(nn, x);
    case LL_LLM_GELU:
        return ll_nn_do1(nn, LL_OP_GELU, x);
    case LL_LLM_RELU:
        return ll_nn_do1(nn, LL_OP_RELU, x);
    default:
        return ll_nn_do1(nn, LL_OP_SQUARE, ll_nn_do1(nn, LL_OP_RELU, x));
    }
}

/* What f features inside make of n: act(n W_in), or SwiGLU (Shazeer, 2020), silu(n W_gate) n W_in. */
static struct ll_value *inside(struct ll_decoder *d, const struct ll_llm_layer *l, struct ll_value *n,
                               uint64_t features)
{
    struct ll_value *gate = NULL;
    if (!l->plain)
        gate = ll_llm_computed_dense(d, "gate", n, features, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, l->biased);
    struct ll_value *inner =
        ll_llm_computed_dense(d, "input", n, features, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, l->biased);
    return gate ? ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, inner) : activated(d->nn, l->act, inner);
}

static uint64_t tokens_of(const struct ll_decoder *d)
{
    return d->batch * d->steps;
}

/* x[experts, places, from] times the expert's own matrix [from, to]. Experts that no token has chosen are not
 * asked: where few tokens are decoded their weights are not read. */
static struct ll_value *product(struct ll_decoder *d, const struct ll_llm_layer *l, const char *name,
                                struct ll_value *x, uint64_t to, enum ll_role from_role, enum ll_role to_role,
                                double begin)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){x->shape.dim[0], x->shape.dim[2], to},
                                        (enum ll_role[]){LL_ROLE_EXPERTS, from_role, to_role});
    shape.dtype = (uint8_t)d->held;
    ll_nn_push(nn, name);
    struct ll_value *weights =
        ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, begin, NULL});
    const struct ll_attr chosen[] = {ll_attr_of_count(LL_ATTR_FILLED, (int64_t)tokens_of(d)),
                                     ll_attr_of_real(LL_ATTR_CHANCE, (double)l->top_k / (double)l->experts)};
    struct ll_value *inputs[] = {x, ll_decoder_rounded(d, weights)};
    struct ll_value *y = ll_weight_gemm(nn,
                                        &(struct ll_nn_call){.kind = LL_OP_BATCH_MATMUL,
                                                             .input_count = 2,
                                                             .inputs = inputs,
                                                             .attr_count = d->train ? 0 : 2,
                                                             .attrs = chosen},
                                        d->narrow);
    ll_nn_pop(nn);
    return y;
}

/* The rows of tokens with the experts, [experts, places, hidden], through all experts at once. */
static struct ll_value *through_experts(struct ll_decoder *d, const struct ll_llm *llm,
                                        const struct ll_llm_layer *l, struct ll_value *x)
{
    struct ll_value *y = NULL;
    if (!l->plain)
        y = product(d, l, "gate", x, l->expert, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, deviation);
    struct ll_value *input =
        product(d, l, "input", x, l->expert, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, deviation);
    y = y ? ll_nn_do2(d->nn, LL_OP_SILU_MUL, y, input) : activated(d->nn, l->act, input);
    return product(d, l, "output", y, llm->hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN, deviation_behind(llm));
}

/* Where tokens go: [experts, places], and what each place's result counts for. */
struct routes {
    struct ll_value *tokens, *weights;
};

/* The number of a place's choice picks its weight; that of an empty place is zero. */
static struct routes route(struct ll_decoder *d, const struct ll_llm_layer *l, struct ll_value *rows)
{
    struct ll_nn *nn = d->nn;
    const uint64_t routed = tokens_of(d) * l->top_k,
                   capacity = l->capacity > 0 ? l->capacity : ll_ceil_div(100 * l->experts, l->top_k);
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->top_k);
    struct ll_attr places[] = {
        ll_attr_of_count(LL_ATTR_CLASSES, (int64_t)l->experts),
        ll_attr_of_count(LL_ATTR_SIZE, (int64_t)ll_ceil_div(routed * capacity, 100 * l->experts)),
        ll_attr_of_count(LL_ATTR_CAPACITY, (int64_t)capacity)};
    struct ll_value *scored =
        ll_llm_computed_dense(d, "router", rows, l->experts, LL_ROLE_HIDDEN, LL_ROLE_EXPERTS, l->router_bias);
    struct ll_value *best = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_TOP_K, .input_count = 1, .inputs = &scored, .attr_count = 1, .attrs = &size});
    if (nn->trouble)
        return (struct routes){&nn->nothing, &nn->nothing};
    struct ll_value *shares = ll_nn_do1(nn, LL_OP_SOFTMAX, best);
    struct ll_value *token = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ROUTE,
                                                               .input_count = 1,
                                                               .inputs = &best->producer->outputs[1],
                                                               .attr_count = 3,
                                                               .attrs = places});
    struct ll_shape flat = ll_nn_shape(nn, 1, &routed, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *const *outputs = nn->trouble ? nn->nothings : token->producer->outputs;
    struct ll_value *share = ll_nn_gather(nn, ll_nn_reshape(nn, shares, &flat), outputs[1]);
    return (struct routes){token, ll_mul_of(nn, share, ll_as_real(nn, outputs[2]))};
}

/* A column behind [experts, places], so that it weighs rows. */
static struct ll_value *as_column(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape column = x->shape;
    if (nn->trouble)
        return x;
    column.dim[column.rank++] = 1;
    return ll_nn_reshape(nn, x, &column);
}

/* A mixture of experts (Shazeer et al., 2017; Lepikhin et al., GShard, 2020; Jiang et al., 2024): of E
 * experts a token goes through the k that its router scores best, weighed by the softmax of their scores.
 * Each has room for so many of a batch's tokens, and all compute as one batch of GEMMs of that many rows;
 * tokens that find no room are passed on as they are. */
static struct ll_value *mixture(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                                struct ll_value *n)
{
    struct ll_nn *nn = d->nn;
    struct routes routes = route(d, l, n);
    struct ll_value *y = through_experts(d, llm, l, ll_nn_gather(nn, n, routes.tokens));
    struct ll_value *inputs[] = {ll_mul_of(nn, y, as_column(nn, routes.weights)), routes.tokens};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SEGMENT_SUM,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .given_count = 1,
                                             .given = &n->shape});
}

/* An expert that all tokens go through, perhaps gated. */
static struct ll_value *shared(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                               struct ll_value *n)
{
    ll_nn_push(d->nn, "shared");
    struct ll_value *y = projected(d, llm, inside(d, l, n, l->shared), LL_ROLE_FFN_HIDDEN, l->biased);
    if (l->shared_gate) {
        struct ll_value *gate =
            ll_llm_computed_dense(d, "weight", n, 1, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false);
        y = ll_mul_of(d->nn, y, ll_nn_do1(d->nn, LL_OP_SIGMOID, gate));
    }
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *fed_forward(struct ll_decoder *d, const struct ll_llm *llm,
                                    const struct ll_llm_layer *l, struct ll_value *x)
{
    if (l->dense == 0 && l->experts == 0)
        return x;
    ll_nn_push(d->nn, l->experts > 0 ? "experts" : "feed_forward");
    struct ll_value *n = before(d, llm, x), *y;
    if (l->experts > 0)
        y = mixture(d, llm, l, n);
    else
        y = projected(d, llm, inside(d, l, n, l->dense), LL_ROLE_FFN_HIDDEN, l->biased);
    if (l->experts > 0 && l->shared > 0)
        y = ll_add_of(d->nn, y, shared(d, llm, l, n));
    x = added(d, llm, x, y, l->norms);
    ll_nn_pop(d->nn);
    return x;
}

/* --- the whole --- */

struct ll_value *ll_llm_computed_layers(struct ll_decoder *d, const struct ll_llm *llm, struct ll_value *x)
{
    for (uint64_t i = 0; i < llm->layer_count && !d->nn->trouble; i++) {
        ll_nn_push_numbered(d->nn, "layer", (unsigned)i);
        x = fed_forward(d, llm, &llm->layers[i], mixed(d, llm, &llm->layers[i], x));
        ll_nn_pop(d->nn);
    }
    return x;
}

/* The rows of tokens that are read, those of their places added where these have any. */
static struct ll_value *embedded(struct ll_decoder *d, const struct ll_llm *llm, struct ll_value *table,
                                 struct ll_value *tokens)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_nn *nn = d->nn;
    const uint64_t known = ll_max(llm->positions, d->context), first = d->context - d->steps;
    if (llm->positions == 0)
        return ll_nn_gather(nn, table, tokens);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){known, llm->hidden}, roles);
    struct ll_value *positions =
        ll_nn_variable(nn, "positions", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, deviation, NULL});
    if (known != d->steps)
        positions = ll_nn_slice(nn, positions, 0, first, d->steps);
    struct ll_value *rows = ll_decoder_sequences(d, ll_nn_gather(nn, table, tokens));
    return ll_decoder_dropped(d, ll_decoder_rows(d, ll_add_of(nn, rows, positions)));
}

struct ll_value *ll_llm_computed(struct ll_decoder *d, struct ll_value *tokens)
{
    const struct ll_llm *llm = d->net;
    struct ll_nn *nn = d->nn;
    assert(!ll_llm_not_computed(llm));
    ll_nn_push(nn, "embedding");
    struct ll_value *table = ll_decoder_table(d), *x = embedded(d, llm, table, tokens);
    ll_nn_pop(nn);
    x = ll_llm_computed_layers(d, llm, x);
    ll_nn_push(nn, "head");
    x = ll_llm_computed_norm(d, llm, "norm", ll_decoder_asked(d, x));
    x = llm->tied ? ll_matmul_transposed(nn, x, table)
                  : ll_llm_computed_dense(d, "tokens", x, llm->vocabulary, LL_ROLE_HIDDEN, LL_ROLE_VOCABULARY,
                                          false);
    ll_nn_pop(nn);
    return x;
}

struct ll_llm_layer ll_llm_layer_of(const struct ll_decoder_sizes *sizes)
{
    return (struct ll_llm_layer){.mixer = LL_MIXER_ATTENTION,
                                 .heads = sizes->heads,
                                 .kv_heads = sizes->kv_heads,
                                 .head = sizes->head,
                                 .head_v = sizes->head,
                                 .dense = sizes->ffn_hidden};
}

bool ll_llm_repeat(struct ll_nn *nn, uint64_t count, const struct ll_llm_layer *layer, struct ll_llm *llm)
{
    struct ll_llm_layer *layers = ll_alloc(&nn->arena, count, sizeof *layers);
    if (!layers) {
        ll_nn_fail(nn, "memory ran out");
        return false;
    }
    for (uint64_t i = 0; i < count; i++)
        layers[i] = *layer;
    llm->layers = layers;
    llm->layer_count = count;
    return true;
}

static const char *of_layer(const struct ll_llm_layer *l)
{
    if (l->mixer == LL_MIXER_COMPRESSED || l->mixer == LL_MIXER_KDA || l->mixer == LL_MIXER_LINEAR ||
        l->mixer == LL_MIXER_MAMBA)
        return "attention to compressed keys, a decay of each feature, or a matrix in its place";
    if (l->index_topk > 0)
        return "attention to keys that are chosen";
    if (l->value_is_key || l->kv_shared)
        return "values that are keys, or not the layer's own";
    if (l->sinks || l->chunk > 0)
        return "attention with sinks or pieces";
    if (l->qk_norm == LL_QK_FREE)
        return "a norm of queries without weights";
    if ((l->mixer == LL_MIXER_LATENT ? l->rope : l->head) % 2 != 0 && l->rotary)
        return "a head of an odd number of features that turn";
    if (l->dense_linear || (l->dense > 0 && l->experts > 0))
        return "a layer with a dense part beside experts, or with a matrix in its place";
    if (l->latent > 0 || l->expert_biased || l->router_scales || l->norms > 2)
        return "experts with biases, scales or a space of their own";
    if (l->head_gated || l->act_weights > 0)
        return "a gate of each head, or an activation with weights";
    if (l->parallel || l->layer_input > 0)
        return "parts side by side, or embeddings of a layer";
    return NULL;
}

const char *ll_llm_not_computed(const struct ll_llm *llm)
{
    if (llm->streams > 0)
        return "several residual streams";
    if (llm->embedding_norm || llm->head_biased)
        return "a norm of embeddings, or biases of the head";
    if (llm->norm != LL_LLM_RMS_NORM && llm->norm != LL_LLM_LAYER_NORM)
        return "norms without shifts";
    for (uint64_t i = 0; i < llm->layer_count; i++)
        if (of_layer(&llm->layers[i]))
            return of_layer(&llm->layers[i]);
    return NULL;
}
