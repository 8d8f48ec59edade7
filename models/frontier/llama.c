/* SPDX-License-Identifier: Apache-2.0 */
/* Llama (Touvron et al., 2023) and a mixture of experts, which shares its parts. Rows are [batch steps,
 * hidden], sizes those of the decoder. Each function adds ops to the decoder's network, and weights that
 * start anew: a part is made once in its scope. Trouble is the network's (nn.h). */
#include <math.h>

#include "models/frontier/decoder.h"
#include "models/nn/nn.h"

/* What follows the attention of a layer: rows to rows, x itself added. */
typedef struct ll_value *ll_llama_part(struct ll_decoder *decoder, struct ll_value *x);

/* Llama (Touvron et al., 2023; Llama 3: Grattafiori et al., 2024): positions turn queries and keys, groups of
 * heads share keys and values, norms have no mean and layers no biases; feed-forward layers are gated. With h
 * features, L layers, g of the h features in keys (h kv_heads / heads), an FFN width of f and V tokens:
 *
 *     parameters       2 V h + L (2 h^2 + 2 h g + 3 h f + 2 h) + h
 *     forward FLOPs    s (L (4 h^2 + 4 h g + 6 h f) + 2 h V) + 4 s^2 h L      of a sequence of s tokens */

enum { LLAMA_KV_HEADS = LL_DECODER_PARAMS, LLAMA_BASE, LLAMA_PARAMS };

static const struct {
    struct ll_decoder_sizes sizes;
    uint64_t base;
} presets[] = {
#define LL_LLAMA(name, layers_, hidden_, heads_, kv_heads_, ffn_hidden_, seq_, vocabulary_, base_)           \
    {{.layers = layers_,                                                                                     \
      .hidden = hidden_,                                                                                     \
      .heads = heads_,                                                                                       \
      .kv_heads = kv_heads_,                                                                                 \
      .ffn_hidden = ffn_hidden_,                                                                             \
      .seq = seq_,                                                                                           \
      .vocabulary = vocabulary_},                                                                            \
     base_},
#include "models/frontier/presets.def"
};
static const char *const preset_words[] = {
#define LL_LLAMA(name, layers, hidden, heads, kv_heads, ffn_hidden, seq, vocabulary, base) name,
#include "models/frontier/presets.def"
    NULL};

static const struct ll_model_param llama_params[LLAMA_PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [LLAMA_KV_HEADS] = {"kv_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [LLAMA_BASE] = {"base", 0, 0, 1 << 30, "of the angles that positions turn by; 0: the preset's"},
};
static const char *const *const llama_words[LLAMA_PARAMS] = {[LL_DECODER_PRESET] = preset_words,
                                                             [LL_DECODER_PASS] = ll_decoder_passes,
                                                             [LL_DECODER_DTYPE] = ll_decoder_dtypes};

static const double weight_deviation = 0.02;

/* The deviation that weights start with whose product is added to what goes on to the next layer: 0.02 over
 * the root of 2 layers, of which each adds twice (Radford et al., 2019, section 2.3, for GPT-2). Pure. */
static double llama_deviation(const struct ll_decoder *d)
{
    return weight_deviation / sqrt(2 * (double)d->sizes.layers);
}

/* Rows over the root of their mean square (Zhang and Sennrich, 2019, equation 4), by the weight "NAME/scale"
 * [hidden]: x / sqrt(mean(x^2) + 1e-5) scale, rows again. */
static struct ll_value *llama_norm(struct ll_decoder *d, const char *name, struct ll_value *x)
{
    static const enum ll_role role = LL_ROLE_HIDDEN;
    struct ll_nn *nn = d->nn;
    struct ll_shape shape = ll_nn_shape(nn, 1, &d->sizes.hidden, &role);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, 1e-5);
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

static struct ll_value *dense(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_role to)
{
    const struct ll_decoder_dense dense = {
        .units = units, .from = LL_ROLE_HIDDEN, .to = to, .deviation = weight_deviation};
    return ll_decoder_dense(d, name, x, &dense);
}

/* Back to the features of a token, and added to it. */
static struct ll_value *added(struct ll_decoder *d, struct ll_value *x, struct ll_value *y, enum ll_role from)
{
    const struct ll_decoder_dense back = {
        .units = d->sizes.hidden, .from = from, .to = LL_ROLE_HIDDEN, .deviation = llama_deviation(d)};
    return ll_add_of(d->nn, x, ll_decoder_dense(d, "output", y, &back));
}

/* x + (attention of queries, keys and values of norm(x)) W_o, with keys and values of kv_heads alone. */
static struct ll_value *attended(struct ll_decoder *d, struct ll_value *x)
{
    const struct ll_decoder_sizes *s = &d->sizes;
    ll_nn_push(d->nn, "attention");
    struct ll_value *n = llama_norm(d, "norm", x);
    struct ll_value *q = dense(d, "query", n, s->heads * s->head, LL_ROLE_HEADS);
    struct ll_value *k = dense(d, "key", n, s->kv_heads * s->head, LL_ROLE_HEADS);
    struct ll_value *v = dense(d, "value", n, s->kv_heads * s->head, LL_ROLE_HEADS);
    struct ll_value *y = added(d, x, ll_decoder_attend(d, q, k, v), LL_ROLE_HEADS);
    ll_nn_pop(d->nn);
    return y;
}

/* SwiGLU (Shazeer, 2020): x + (silu(n W_gate) n W_input) W_output, where n = norm(x). */
static struct ll_value *fed_forward(struct ll_decoder *d, struct ll_value *x)
{
    ll_nn_push(d->nn, "feed_forward");
    struct ll_value *n = llama_norm(d, "norm", x);
    struct ll_value *gate = dense(d, "gate", n, d->sizes.ffn_hidden, LL_ROLE_FFN_HIDDEN);
    struct ll_value *inner =
        ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, dense(d, "input", n, d->sizes.ffn_hidden, LL_ROLE_FFN_HIDDEN));
    struct ll_value *y = added(d, x, inner, LL_ROLE_FFN_HIDDEN);
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *embedded(struct ll_decoder *d, struct ll_value *numbers)
{
    ll_nn_push(d->nn, "embedding");
    struct ll_value *x = ll_nn_gather(d->nn, ll_decoder_table(d), numbers);
    ll_nn_pop(d->nn);
    return x;
}

static struct ll_value *scored(struct ll_decoder *d, struct ll_value *x)
{
    ll_nn_push(d->nn, "head");
    struct ll_value *n = llama_norm(d, "norm", ll_decoder_asked(d, x));
    struct ll_value *logits = dense(d, "tokens", n, d->sizes.vocabulary, LL_ROLE_VOCABULARY);
    ll_nn_pop(d->nn);
    return logits;
}

/* A whole net of tokens, whose numbers are [batch steps]: their rows of a table [vocabulary, hidden]; layers
 * of attention, queries of all heads, keys and values of kv_heads alone, turned by their positions where the
 * decoder says so (ll_decoder_attend), and of what is given to follow it; the logits of those rows alone
 * whose next token is asked for (ll_decoder_asked), [rows, vocabulary]. */
static struct ll_value *llama_net(struct ll_decoder *d, struct ll_value *numbers, ll_llama_part *feed_forward)
{
    struct ll_value *x = embedded(d, numbers);
    for (unsigned i = 0; i < d->sizes.layers && !d->nn->trouble; i++) {
        ll_nn_push_numbered(d->nn, "layer", i);
        x = feed_forward(d, attended(d, x));
        ll_nn_pop(d->nn);
    }
    return scored(d, x);
}

static struct ll_value *net(struct ll_decoder *d, struct ll_value *numbers)
{
    return llama_net(d, numbers, fed_forward);
}

static struct ll_value *build_llama(struct ll_nn *nn, const struct ll_build *build)
{
    int64_t preset = build->params[LL_DECODER_PRESET];
    struct ll_decoder_options options = ll_decoder_options_of(build, &presets[preset].sizes);
    options.sizes.kv_heads = ll_decoder_size(build, LLAMA_KV_HEADS, options.sizes.kv_heads);
    options.rotary_base = (double)ll_decoder_size(build, LLAMA_BASE, presets[preset].base);
    return ll_decoder_build(nn, build, &options, net);
}

const struct ll_model ll_model_llama = {
    .name = "llama",
    .suite = "frontier",
    .doc = "decoder-only language model with rotary positions, grouped-query attention and gated layers "
           "(Llama 1 to 3)",
    .default_batch = 4,
    .inference_batch = 1,
    .params = llama_params,
    .param_count = LLAMA_PARAMS,
    .words = llama_words,
    .build = build_llama,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"kv_heads", "2"},
                            {"ffn_hidden", "128"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"task_vocabulary", "12"},
                            {"base", "100"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};

/* A mixture of experts (Shazeer et al., 2017; Lepikhin et al., GShard, 2020), as Mixtral has it (Jiang et
 * al., 2024): Llama's attention, and in place of each feed-forward layer E of them, of which a token goes
 * through the k that its router scores best, weighed by the softmax of their scores. Each expert has room for
 * capacity k tokens / E of a batch's tokens, and all experts compute as one batch of GEMMs of that many
 * rows; tokens that find no room are passed on as they are. As Llama's but for
 *
 *     parameters       L (h E + 3 E h f) in place of L 3 h f
 *     forward FLOPs    L (2 n h E + 6 E c h f) of n tokens with c places an expert
 *
 * Where few tokens are decoded, experts that none of them has chosen are neither computed nor read. How many
 * are depends on the tokens; counted is what is expected of n tokens whose choices know nothing of each
 * other,
 *
 *     E (1 - (1 - k / E)^n) */

enum { MOE_KV_HEADS = LL_DECODER_PARAMS, MOE_EXPERTS, MOE_TOP_K, MOE_CAPACITY, MOE_PARAMS };

static const struct {
    struct ll_decoder_sizes sizes;
    uint64_t experts, top_k;
} moe_presets[] = {
#define LL_MOE(name, layers_, hidden_, heads_, kv_heads_, ffn_hidden_, seq_, vocabulary_, experts_, top_k_)  \
    {{.layers = layers_,                                                                                     \
      .hidden = hidden_,                                                                                     \
      .heads = heads_,                                                                                       \
      .kv_heads = kv_heads_,                                                                                 \
      .ffn_hidden = ffn_hidden_,                                                                             \
      .seq = seq_,                                                                                           \
      .vocabulary = vocabulary_},                                                                            \
     experts_,                                                                                               \
     top_k_},
#include "models/frontier/presets.def"
};
static const char *const moe_preset_words[] = {
#define LL_MOE(name, layers, hidden, heads, kv_heads, ffn_hidden, seq, vocabulary, experts, top_k) name,
#include "models/frontier/presets.def"
    NULL};

static const struct ll_model_param moe_params[MOE_PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [MOE_KV_HEADS] = {"kv_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [MOE_EXPERTS] = {"experts", 0, 0, 1 << 14, "of a layer; 0: the preset's"},
    [MOE_TOP_K] = {"top_k", 0, 0, 1 << 8, "experts that a token goes through; 0: the preset's"},
    [MOE_CAPACITY] = {"capacity", 125, 1, 100000, "percent of an even share that an expert has room for"},
};
static const char *const *const moe_words[MOE_PARAMS] = {[LL_DECODER_PRESET] = moe_preset_words,
                                                         [LL_DECODER_PASS] = ll_decoder_passes,
                                                         [LL_DECODER_DTYPE] = ll_decoder_dtypes};

/* What a network's experts are beside the decoder's sizes. */
struct experts {
    uint64_t count, top_k, capacity; /* capacity: percent */
};

static uint64_t tokens_of(const struct ll_decoder *d)
{
    return d->batch * d->steps;
}

/* x[experts, places, from] times the expert's own matrix [from, to]. Experts that no token has chosen are not
 * asked: where few tokens are decoded their weights are not read. */
static struct ll_value *product(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t to,
                                enum ll_role from_role, enum ll_role to_role, double deviation)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){x->shape.dim[0], x->shape.dim[2], to},
                                        (enum ll_role[]){LL_ROLE_EXPERTS, from_role, to_role});
    shape.dtype = (uint8_t)d->held;
    ll_nn_push(nn, name);
    struct ll_value *weights =
        ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, deviation, NULL});
    const struct experts *experts = d->net;
    const struct ll_attr chosen[] = {
        ll_attr_of_count(LL_ATTR_FILLED, (int64_t)tokens_of(d)),
        ll_attr_of_real(LL_ATTR_CHANCE, (double)experts->top_k / (double)experts->count)};
    struct ll_value *inputs[] = {x, weights};
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
static struct ll_value *through_experts(struct ll_decoder *d, struct ll_value *x)
{
    const uint64_t ffn_hidden = d->sizes.ffn_hidden;
    struct ll_value *gate =
        product(d, "gate", x, ffn_hidden, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, weight_deviation);
    struct ll_value *input =
        product(d, "input", x, ffn_hidden, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, weight_deviation);
    struct ll_value *y = ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, input);
    return product(d, "output", y, d->sizes.hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN, llama_deviation(d));
}

/* Where tokens go: [experts, places], and what each place's result counts for. */
struct routes {
    struct ll_value *tokens, *weights;
};

/* The number of a place's choice picks its weight; that of an empty place is zero. */
static struct routes route(struct ll_decoder *d, const struct experts *experts, struct ll_value *rows)
{
    struct ll_nn *nn = d->nn;
    const uint64_t routed = tokens_of(d) * experts->top_k;
    const struct ll_decoder_dense scores = {.units = experts->count,
                                            .from = LL_ROLE_HIDDEN,
                                            .to = LL_ROLE_EXPERTS,
                                            .deviation = weight_deviation};
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)experts->top_k);
    struct ll_attr places[] = {ll_attr_of_count(LL_ATTR_CLASSES, (int64_t)experts->count),
                               ll_attr_of_count(LL_ATTR_SIZE, (int64_t)ll_ceil_div(routed * experts->capacity,
                                                                                   100 * experts->count)),
                               ll_attr_of_count(LL_ATTR_CAPACITY, (int64_t)experts->capacity)};
    struct ll_value *scored = ll_decoder_dense(d, "router", rows, &scores);
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

static struct ll_value *through_layer(struct ll_decoder *d, struct ll_value *x)
{
    struct ll_nn *nn = d->nn;
    ll_nn_push(nn, "experts");
    struct ll_value *rows = llama_norm(d, "norm", x);
    struct routes routes = route(d, d->net, rows);
    struct ll_value *y = through_experts(d, ll_nn_gather(nn, rows, routes.tokens));
    struct ll_value *inputs[] = {ll_mul_of(nn, y, as_column(nn, routes.weights)), routes.tokens};
    y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SEGMENT_SUM,
                                          .input_count = 2,
                                          .inputs = inputs,
                                          .given_count = 1,
                                          .given = &x->shape});
    y = ll_add_of(nn, x, y);
    ll_nn_pop(nn);
    return y;
}

static struct ll_value *moe_net(struct ll_decoder *d, struct ll_value *numbers)
{
    return llama_net(d, numbers, through_layer);
}

static struct ll_value *build_moe(struct ll_nn *nn, const struct ll_build *build)
{
    int64_t preset = build->params[LL_DECODER_PRESET];
    struct ll_decoder_options options = ll_decoder_options_of(build, &moe_presets[preset].sizes);
    struct experts experts = {
        .count = ll_decoder_size(build, MOE_EXPERTS, moe_presets[preset].experts),
        .top_k = ll_decoder_size(build, MOE_TOP_K, moe_presets[preset].top_k),
        .capacity = (uint64_t)build->params[MOE_CAPACITY],
    };
    if (experts.top_k > experts.count)
        ll_nn_fail(nn, "a token cannot go through more experts than there are");
    options.sizes.kv_heads = ll_decoder_size(build, MOE_KV_HEADS, options.sizes.kv_heads);
    options.rotary_base = 1e6; /* Mixtral's */
    options.net = &experts;
    return ll_decoder_build(nn, build, &options, moe_net);
}

const struct ll_model ll_model_moe = {
    .name = "moe",
    .suite = "frontier",
    .doc = "decoder-only language model with mixtures of experts (Mixtral)",
    .default_batch = 4,
    .inference_batch = 1,
    .params = moe_params,
    .param_count = MOE_PARAMS,
    .words = moe_words,
    .build = build_moe,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"kv_heads", "2"},
                            {"ffn_hidden", "64"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"task_vocabulary", "12"},
                            {"experts", "4"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
