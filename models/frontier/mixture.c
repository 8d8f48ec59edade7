/* SPDX-License-Identifier: Apache-2.0 */
/* A mixture of experts (Shazeer et al., 2017; Lepikhin et al., GShard, 2020), as Mixtral has it (Jiang et
 * al., 2024): Llama's attention, and in place of each feed-forward layer E of them, of which a word goes
 * through the k that its router scores best, weighed by the softmax of their scores. Each expert has room for
 * capacity k words / E of a batch's words, and all experts compute as one batch of products of that many
 * rows; words that find no room are passed on as they are. As Llama's but for
 *
 *     parameters       L (h E + 3 E h f) in place of L 3 h f
 *     forward FLOPs    L (2 n h E + 6 E c h f) of n words with c places an expert
 *
 * Where few words are decoded, experts that none of them has chosen are neither computed nor read. How many
 * are depends on the words; counted is what is expected of n words whose choices know nothing of each other,
 *
 *     E (1 - (1 - k / E)^n) */
#include "models/frontier/llama.h"

#include "models/nn/formula.h"

enum { KEY_HEADS = LL_DECODER_PARAMS, EXPERTS, CHOICES, CAPACITY, PARAMS };

static const struct {
    struct ll_decoder_sizes sizes;
    uint64_t experts, choices;
} presets[] = {
#define LL_MIXTURE(name, layers_, hidden_, heads_, key_heads_, inner_, seq_, vocabulary_, experts_,          \
                   choices_)                                                                                 \
    {{.layers = layers_,                                                                                     \
      .hidden = hidden_,                                                                                     \
      .heads = heads_,                                                                                       \
      .key_heads = key_heads_,                                                                               \
      .inner = inner_,                                                                                       \
      .seq = seq_,                                                                                           \
      .vocabulary = vocabulary_},                                                                            \
     experts_,                                                                                               \
     choices_},
#include "models/frontier/mixture_presets.def"
#undef LL_MIXTURE
};
static const char *const preset_words[] = {
#define LL_MIXTURE(name, layers, hidden, heads, key_heads, inner, seq, vocabulary, experts, choices) name,
#include "models/frontier/mixture_presets.def"
#undef LL_MIXTURE
    NULL};

static const struct ll_model_param params[PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [KEY_HEADS] = {"key_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [EXPERTS] = {"experts", 0, 0, 1 << 14, "of a layer; 0: the preset's"},
    [CHOICES] = {"choices", 0, 0, 1 << 8, "experts that a word goes through; 0: the preset's"},
    [CAPACITY] = {"capacity", 125, 1, 100000, "percent of an even share that an expert has room for"},
};
static const char *const *const words[PARAMS] = {[LL_DECODER_PRESET] = preset_words,
                                                 [LL_DECODER_PASS] = ll_decoder_passes,
                                                 [LL_DECODER_DTYPE] = ll_decoder_dtypes};

/* What a network's experts are beside the decoder's sizes. */
struct experts {
    uint64_t count, choices, capacity; /* capacity: percent */
};

static uint64_t words_of(const struct ll_decoder *d)
{
    return d->batch * d->steps;
}

/* x[experts, places, from] times the expert's own matrix [from, to]. Experts that no word has chosen are not
 * asked: where few words are decoded their weights are not read. */
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
        ll_attr_of_count(LL_ATTR_FILLED, (int64_t)words_of(d)),
        ll_attr_of_real(LL_ATTR_CHANCE, (double)experts->choices / (double)experts->count)};
    struct ll_value *inputs[] = {x, weights};
    struct ll_value *y = ll_weight_product(nn,
                                           &(struct ll_nn_call){.kind = LL_OP_BATCH_MATMUL,
                                                                .input_count = 2,
                                                                .inputs = inputs,
                                                                .attr_count = d->train ? 0 : 2,
                                                                .attrs = chosen},
                                           d->narrow);
    ll_nn_pop(nn);
    return y;
}

/* The rows of words with the experts, [experts, places, hidden], through all experts at once. */
static struct ll_value *through_experts(struct ll_decoder *d, struct ll_value *x)
{
    const double deviation = 0.02;
    const uint64_t inner = d->sizes.inner;
    struct ll_value *gate = product(d, "gate", x, inner, LL_ROLE_HIDDEN, LL_ROLE_INNER, deviation);
    struct ll_value *input = product(d, "input", x, inner, LL_ROLE_HIDDEN, LL_ROLE_INNER, deviation);
    struct ll_value *y = ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, input);
    return product(d, "output", y, d->sizes.hidden, LL_ROLE_INNER, LL_ROLE_HIDDEN, ll_llama_deviation(d));
}

/* Where words go: [experts, places], and what each place's result counts for. */
struct routes {
    struct ll_value *tokens, *weights;
};

/* The number of a place's choice picks its weight; that of an empty place is zero. */
static struct routes route(struct ll_decoder *d, const struct experts *experts, struct ll_value *rows)
{
    struct ll_nn *nn = d->nn;
    const uint64_t choices = words_of(d) * experts->choices;
    const struct ll_decoder_dense scores = {
        .units = experts->count, .from = LL_ROLE_HIDDEN, .to = LL_ROLE_EXPERTS, .deviation = 0.02};
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)experts->choices);
    struct ll_attr places[] = {
        ll_attr_of_count(LL_ATTR_CLASSES, (int64_t)experts->count),
        ll_attr_of_count(LL_ATTR_SIZE,
                         (int64_t)ll_ceil_div(choices * experts->capacity, 100 * experts->count)),
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
    struct ll_shape flat = ll_nn_shape(nn, 1, &choices, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *const *outputs = nn->trouble ? nn->nothings : token->producer->outputs;
    struct ll_value *share = ll_gathered(nn, ll_seen_as(nn, shares, &flat), outputs[1]);
    return (struct routes){token, ll_mul_of(nn, share, ll_as_real(nn, outputs[2]))};
}

/* A column behind [experts, places], so that it weighs rows. */
static struct ll_value *as_column(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape column = x->shape;
    if (nn->trouble)
        return x;
    column.dim[column.rank++] = 1;
    return ll_seen_as(nn, x, &column);
}

static struct ll_value *through_layer(struct ll_decoder *d, struct ll_value *x)
{
    struct ll_nn *nn = d->nn;
    ll_nn_push(nn, "experts");
    struct ll_value *rows = ll_llama_norm(d, "norm", x);
    struct routes routes = route(d, d->net, rows);
    struct ll_value *y = through_experts(d, ll_gathered(nn, rows, routes.tokens));
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

static struct ll_value *net(struct ll_decoder *d, struct ll_value *numbers)
{
    return ll_llama_net(d, numbers, through_layer);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    int64_t preset = build->params[LL_DECODER_PRESET];
    struct ll_decoder_options options = ll_decoder_options_of(build, &presets[preset].sizes);
    struct experts experts = {
        .count = ll_decoder_size(build, EXPERTS, presets[preset].experts),
        .choices = ll_decoder_size(build, CHOICES, presets[preset].choices),
        .capacity = (uint64_t)build->params[CAPACITY],
    };
    if (experts.choices > experts.count)
        ll_nn_fail(nn, "a word cannot go through more experts than there are");
    options.sizes.key_heads = ll_decoder_size(build, KEY_HEADS, options.sizes.key_heads);
    options.rotary_base = 1e6; /* Mixtral's */
    options.net = &experts;
    return ll_decoder_build(nn, build, &options, net);
}

const struct ll_model ll_model_mixture = {
    .name = "mixture",
    .suite = "frontier",
    .doc = "decoder-only language model with mixtures of experts (Mixtral)",
    .default_batch = 4,
    .inference_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .lesson = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"key_heads", "2"},
                            {"inner", "64"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"letters", "12"},
                            {"experts", "4"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
