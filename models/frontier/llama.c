/* SPDX-License-Identifier: Apache-2.0 */
/* Llama (Touvron et al., 2023; Llama 3: Grattafiori et al., 2024): positions turn queries and keys, groups of
 * heads share keys and values, norms have no mean and layers no biases; feed-forward layers are gated. With h
 * features, L layers, g of the h features in keys (h key_heads / heads), an inner width of f and V words:
 *
 *     parameters       2 V h + L (2 h^2 + 2 h g + 3 h f + 2 h) + h
 *     forward FLOPs    s (L (4 h^2 + 4 h g + 6 h f) + 2 h V) + 4 s^2 h L      of a sentence of s words */
#include "models/frontier/llama.h"

#include "models/nn/formula.h"

#include <math.h>

enum { KEY_HEADS = LL_DECODER_PARAMS, BASE, PARAMS };

static const struct {
    struct ll_decoder_sizes sizes;
    uint64_t base;
} presets[] = {
#define LL_LLAMA(name, layers_, hidden_, heads_, key_heads_, inner_, seq_, vocabulary_, base_)               \
    {{.layers = layers_,                                                                                     \
      .hidden = hidden_,                                                                                     \
      .heads = heads_,                                                                                       \
      .key_heads = key_heads_,                                                                               \
      .inner = inner_,                                                                                       \
      .seq = seq_,                                                                                           \
      .vocabulary = vocabulary_},                                                                            \
     base_},
#include "models/frontier/llama_presets.def"
#undef LL_LLAMA
};
static const char *const preset_words[] = {
#define LL_LLAMA(name, layers, hidden, heads, key_heads, inner, seq, vocabulary, base) name,
#include "models/frontier/llama_presets.def"
#undef LL_LLAMA
    NULL};

static const struct ll_model_param params[PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [KEY_HEADS] = {"key_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [BASE] = {"base", 0, 0, 1 << 30, "of the angles that positions turn by; 0: the preset's"},
};
static const char *const *const words[PARAMS] = {[LL_DECODER_PRESET] = preset_words,
                                                 [LL_DECODER_PASS] = ll_decoder_passes,
                                                 [LL_DECODER_DTYPE] = ll_decoder_dtypes};

static const double deviation = 0.02;

double ll_llama_deviation(const struct ll_decoder *d)
{
    return deviation / sqrt(2 * (double)d->sizes.layers);
}

struct ll_value *ll_llama_norm(struct ll_decoder *d, const char *name, struct ll_value *x)
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
        .units = units, .from = LL_ROLE_HIDDEN, .to = to, .deviation = deviation};
    return ll_decoder_dense(d, name, x, &dense);
}

/* Back to the features of a word, and added to it. */
static struct ll_value *added(struct ll_decoder *d, struct ll_value *x, struct ll_value *y, enum ll_role from)
{
    const struct ll_decoder_dense back = {
        .units = d->sizes.hidden, .from = from, .to = LL_ROLE_HIDDEN, .deviation = ll_llama_deviation(d)};
    return ll_add_of(d->nn, x, ll_decoder_dense(d, "output", y, &back));
}

static struct ll_value *attended(struct ll_decoder *d, struct ll_value *x)
{
    const struct ll_decoder_sizes *s = &d->sizes;
    ll_nn_push(d->nn, "attention");
    struct ll_value *n = ll_llama_norm(d, "norm", x);
    struct ll_value *q = dense(d, "query", n, s->heads * s->head, LL_ROLE_HEADS);
    struct ll_value *k = dense(d, "key", n, s->key_heads * s->head, LL_ROLE_HEADS);
    struct ll_value *v = dense(d, "value", n, s->key_heads * s->head, LL_ROLE_HEADS);
    struct ll_value *y = added(d, x, ll_decoder_attend(d, q, k, v), LL_ROLE_HEADS);
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *fed_forward(struct ll_decoder *d, struct ll_value *x)
{
    ll_nn_push(d->nn, "feed_forward");
    struct ll_value *n = ll_llama_norm(d, "norm", x);
    struct ll_value *gate = dense(d, "gate", n, d->sizes.inner, LL_ROLE_INNER);
    struct ll_value *inner =
        ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, dense(d, "input", n, d->sizes.inner, LL_ROLE_INNER));
    struct ll_value *y = added(d, x, inner, LL_ROLE_INNER);
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *embedded(struct ll_decoder *d, struct ll_value *numbers)
{
    ll_nn_push(d->nn, "embedding");
    struct ll_value *x = ll_gathered(d->nn, ll_decoder_table(d), numbers);
    ll_nn_pop(d->nn);
    return x;
}

static struct ll_value *scored(struct ll_decoder *d, struct ll_value *x)
{
    ll_nn_push(d->nn, "head");
    struct ll_value *n = ll_llama_norm(d, "norm", ll_decoder_asked(d, x));
    struct ll_value *logits = dense(d, "words", n, d->sizes.vocabulary, LL_ROLE_VOCABULARY);
    ll_nn_pop(d->nn);
    return logits;
}

struct ll_value *ll_llama_net(struct ll_decoder *d, struct ll_value *numbers, ll_llama_part *feed_forward)
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
    return ll_llama_net(d, numbers, fed_forward);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    int64_t preset = build->params[LL_DECODER_PRESET];
    struct ll_decoder_options options = ll_decoder_options_of(build, &presets[preset].sizes);
    options.sizes.key_heads = ll_decoder_size(build, KEY_HEADS, options.sizes.key_heads);
    options.rotary_base = (double)ll_decoder_size(build, BASE, presets[preset].base);
    return ll_decoder_build(nn, build, &options, net);
}

const struct ll_model ll_model_llama = {
    .name = "llama",
    .suite = "frontier",
    .doc = "decoder-only language model with rotary positions, grouped-query attention and gated layers "
           "(Llama 1 to 3)",
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
                            {"inner", "128"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"letters", "12"},
                            {"base", "100"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
