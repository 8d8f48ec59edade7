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

enum {
    PRESET,
    LAYERS,
    HIDDEN,
    HEADS,
    KEY_HEADS,
    INNER,
    SEQ,
    VOCABULARY,
    BASE,
    FUSED,
    PASS,
    CONTEXT,
    DTYPE,
    LETTERS,
    RATE,
    PARAMS
};

static const struct {
    uint64_t layers, hidden, heads, key_heads, inner, seq, vocabulary, base;
} presets[] = {
#define LL_LLAMA(name, layers, hidden, heads, key_heads, inner, seq, vocabulary, base)                       \
    {layers, hidden, heads, key_heads, inner, seq, vocabulary, base},
#include "models/frontier/llama_presets.def"
#undef LL_LLAMA
};
static const char *const preset_words[] = {
#define LL_LLAMA(name, layers, hidden, heads, key_heads, inner, seq, vocabulary, base) name,
#include "models/frontier/llama_presets.def"
#undef LL_LLAMA
    NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, sizeof presets / sizeof *presets - 1,
                "whose sizes are taken where none is set"},
    [LAYERS] = {"layers", 0, 0, 1 << 12, "0: the preset's"},
    [HIDDEN] = {"hidden", 0, 0, 1 << 20, "features of each word, two or more for each head; 0: the preset's"},
    [HEADS] = {"heads", 0, 0, 1 << 12, "of each attention; 0: the preset's"},
    [KEY_HEADS] = {"key_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [INNER] = {"inner", 0, 0, 1 << 22, "features inside the feed-forward layers; 0: the preset's"},
    [SEQ] = {"seq", 0, 0, 1 << 20, "words of a sentence; 0: the preset's"},
    [VOCABULARY] = {"vocabulary", 0, 0, 1 << 24, "words there are; 0: the preset's"},
    [BASE] = {"base", 0, 0, 1 << 30, "of the angles that positions turn by; 0: the preset's"},
    [FUSED] = {"fused", 0, 0, 1, "1: attention is one op, whose scores stay on the chip"},
    [PASS] = {"pass", 0, 0, 2, "what an inference does: all next words, the first one, or one more"},
    [CONTEXT] = {"context", 1024, 1, 1 << 20, "words of a sentence when decoding, the new one included"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [LETTERS] = {"letters", 26, 2, 1 << 24, "words of the made-up language that is learned"},
    [RATE] = {"rate", 300, 1, 1000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {
    [PRESET] = preset_words, [PASS] = ll_decoder_passes, [DTYPE] = ll_decoder_dtypes};

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
    struct ll_value *y = ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_RMS_NORM,
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

struct ll_value *ll_llama_attention(struct ll_decoder *d, struct ll_value *x)
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

struct ll_value *ll_llama_embedding(struct ll_decoder *d, struct ll_value *numbers)
{
    ll_nn_push(d->nn, "embedding");
    struct ll_value *x = ll_gathered(d->nn, ll_decoder_table(d), numbers);
    ll_nn_pop(d->nn);
    return x;
}

struct ll_value *ll_llama_head(struct ll_decoder *d, struct ll_value *x)
{
    ll_nn_push(d->nn, "head");
    struct ll_value *n = ll_llama_norm(d, "norm", ll_decoder_asked(d, x));
    struct ll_value *logits = dense(d, "words", n, d->sizes.vocabulary, LL_ROLE_VOCABULARY);
    ll_nn_pop(d->nn);
    return logits;
}

static struct ll_value *net(struct ll_decoder *d, struct ll_value *numbers)
{
    struct ll_value *x = ll_llama_embedding(d, numbers);
    for (unsigned i = 0; i < d->sizes.layers && !d->nn->trouble; i++) {
        ll_nn_push_numbered(d->nn, "layer", i);
        x = fed_forward(d, ll_llama_attention(d, x));
        ll_nn_pop(d->nn);
    }
    return ll_llama_head(d, x);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params, preset = values[PRESET];
    struct ll_decoder_sizes sizes = {
        .layers = ll_decoder_size(build, LAYERS, presets[preset].layers),
        .hidden = ll_decoder_size(build, HIDDEN, presets[preset].hidden),
        .inner = ll_decoder_size(build, INNER, presets[preset].inner),
        .heads = ll_decoder_size(build, HEADS, presets[preset].heads),
        .key_heads = ll_decoder_size(build, KEY_HEADS, presets[preset].key_heads),
        .seq = ll_decoder_size(build, SEQ, presets[preset].seq),
        .vocabulary = ll_decoder_size(build, VOCABULARY, presets[preset].vocabulary),
    };
    sizes.head = sizes.hidden / sizes.heads;
    return ll_decoder_build(nn, build, &sizes,
                            &(struct ll_decoder_options){
                                .pass = (enum ll_decoder_pass)values[PASS],
                                .dtype = values[DTYPE],
                                .context = (uint64_t)values[CONTEXT],
                                .letters = (uint64_t)values[LETTERS],
                                .fused = values[FUSED] != 0,
                                .rate = (double)values[RATE] * 1e-6,
                                .rotary_base = (double)ll_decoder_size(build, BASE, presets[preset].base),
                            },
                            net);
}

const struct ll_model ll_model_llama = {
    .name = "llama",
    .suite = "frontier",
    .doc = "language model with rotary positions, grouped keys and gated layers (Llama 1 to 3)",
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
