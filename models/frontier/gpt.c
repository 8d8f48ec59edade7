/* SPDX-License-Identifier: Apache-2.0 */
/* GPT (Radford et al., 2019; Brown et al., 2020; Shoeybi et al., Megatron-LM, 2019): what a layer reads is
 * normalised, positions are learned, one table serves words that come in and words that go out. With h
 * features, L layers, an inner width of f (4 h unless set), s words a sentence and V in the vocabulary:
 *
 *     parameters       V h + s h + L (4 h^2 + 2 h f + 9 h + f) + 2 h          L (12 h^2 + 13 h) at f = 4 h
 *     forward FLOPs    s (L (8 h^2 + 4 h f) + 2 h V) + 4 s^2 h L              of a sentence, all pairs of
 * words
 *
 * Presets are GPT-2's and GPT-3's sizes, those of Megatron-LM (Korthikanti et al., 2022, table 3) and of
 * MosaicML's MPT. Trained by Adam as in the GPT-3 paper, without its clipping and schedule. */
#include "models/frontier/decoder.h"
#include "models/nn/attention.h"
#include "models/nn/formula.h"

#include <math.h>

enum {
    PRESET,
    LAYERS,
    HIDDEN,
    HEADS,
    INNER,
    SEQ,
    VOCABULARY,
    DROPOUT,
    FUSED,
    PASS,
    CONTEXT,
    DTYPE,
    LETTERS,
    RATE,
    PARAMS
};

static const struct {
    uint64_t layers, hidden, heads, seq, vocabulary;
} presets[] = {
#define LL_GPT(name, layers, hidden, heads, seq, vocabulary) {layers, hidden, heads, seq, vocabulary},
#include "models/frontier/gpt_presets.def"
#undef LL_GPT
};
static const char *const preset_words[] = {
#define LL_GPT(name, layers, hidden, heads, seq, vocabulary) name,
#include "models/frontier/gpt_presets.def"
#undef LL_GPT
    NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, sizeof presets / sizeof *presets - 1,
                "whose sizes are taken where none is set"},
    [LAYERS] = {"layers", 0, 0, 1 << 12, "0: the preset's"},
    [HIDDEN] = {"hidden", 0, 0, 1 << 20, "features of each word, a multiple of heads; 0: the preset's"},
    [HEADS] = {"heads", 0, 0, 1 << 12, "of each attention; 0: the preset's"},
    [INNER] = {"inner", 0, 0, 1 << 22, "features inside the feed-forward layers; 0: four times hidden"},
    [SEQ] = {"seq", 0, 0, 1 << 20, "words of a sentence; 0: the preset's"},
    [VOCABULARY] = {"vocabulary", 0, 0, 1 << 24, "words there are; 0: the preset's"},
    [DROPOUT] = {"dropout", 10, 0, 90, "percent that is dropped when training"},
    [FUSED] = {"fused", 0, 0, 1, "1: attention is one op, whose scores stay on the chip"},
    [PASS] = {"pass", 0, 0, 2, "what an inference does: all next words, the first one, or one more"},
    [CONTEXT] = {"context", 1024, 1, 1 << 20, "words of a sentence when decoding, the new one included"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [LETTERS] = {"letters", 26, 2, 1 << 24, "words of the made-up language that is learned"},
    [RATE] = {"rate", 300, 1, 1000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {
    [PRESET] = preset_words, [PASS] = ll_decoder_passes, [DTYPE] = ll_decoder_dtypes};

static struct ll_value *normed(struct ll_decoder *d, struct ll_value *x)
{
    return ll_layer_norm(d->nn, "norm", x, 1e-5);
}

/* What goes back to the features of a word, with weights that are the smaller the more layers add to it. */
static struct ll_value *projected(struct ll_decoder *d, struct ll_value *x, enum ll_role from)
{
    const struct ll_decoder_dense back = {.units = d->sizes.hidden,
                                          .from = from,
                                          .to = LL_ROLE_HIDDEN,
                                          .biased = true,
                                          .deviation = 0.02 / sqrt(2 * (double)d->sizes.layers)};
    return ll_decoder_dropped(d, ll_decoder_dense(d, "output", x, &back));
}

static struct ll_value *attended(struct ll_decoder *d, struct ll_value *x)
{
    const struct ll_decoder_dense all = {.units = 3 * d->sizes.hidden,
                                         .from = LL_ROLE_HIDDEN,
                                         .to = LL_ROLE_HEADS,
                                         .biased = true,
                                         .deviation = 0.02};
    ll_nn_push(d->nn, "attention");
    struct ll_value *asked = ll_decoder_dense(d, "query_key_value", normed(d, x), &all);
    struct ll_value *const *parts = ll_parted(d->nn, asked, 1, 3);
    struct ll_value *y = ll_decoder_attend(d, parts[0], parts[1], parts[2]);
    y = ll_add_of(d->nn, x, projected(d, y, LL_ROLE_HEADS));
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *fed_forward(struct ll_decoder *d, struct ll_value *x)
{
    const struct ll_decoder_dense wide = {.units = d->sizes.inner,
                                          .from = LL_ROLE_HIDDEN,
                                          .to = LL_ROLE_INNER,
                                          .biased = true,
                                          .deviation = 0.02};
    ll_nn_push(d->nn, "feed_forward");
    struct ll_value *inner = ll_nn_do1(d->nn, LL_OP_GELU, ll_decoder_dense(d, "input", normed(d, x), &wide));
    struct ll_value *y = ll_add_of(d->nn, x, projected(d, inner, LL_ROLE_INNER));
    ll_nn_pop(d->nn);
    return y;
}

/* The rows of words that are read, positions added. */
static struct ll_value *embedded(struct ll_decoder *d, struct ll_value *table, struct ll_value *numbers)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_nn *nn = d->nn;
    uint64_t known = ll_max(d->sizes.seq, d->context), first = d->context - d->steps;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){known, d->sizes.hidden}, roles);
    struct ll_value *positions =
        ll_nn_variable(nn, "positions", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
    if (known != d->steps)
        positions = ll_sliced(nn, positions, 0, first, d->steps);
    struct ll_value *rows = ll_decoder_sentences(d, ll_gathered(nn, table, numbers));
    return ll_decoder_dropped(d, ll_decoder_rows(d, ll_add_of(nn, rows, positions)));
}

static struct ll_value *net(struct ll_decoder *d, struct ll_value *numbers)
{
    struct ll_nn *nn = d->nn;
    ll_nn_push(nn, "embedding");
    struct ll_value *table = ll_decoder_table(d), *x = embedded(d, table, numbers);
    ll_nn_pop(nn);
    for (unsigned i = 0; i < d->sizes.layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", i);
        x = fed_forward(d, attended(d, x));
        ll_nn_pop(nn);
    }
    ll_nn_push(nn, "head");
    struct ll_value *logits = ll_matmul_transposed(nn, normed(d, ll_decoder_asked(d, x)), table);
    ll_nn_pop(nn);
    return logits;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params, preset = values[PRESET];
    struct ll_decoder_sizes sizes = {
        .layers = ll_decoder_size(build, LAYERS, presets[preset].layers),
        .hidden = ll_decoder_size(build, HIDDEN, presets[preset].hidden),
        .heads = ll_decoder_size(build, HEADS, presets[preset].heads),
        .seq = ll_decoder_size(build, SEQ, presets[preset].seq),
        .vocabulary = ll_decoder_size(build, VOCABULARY, presets[preset].vocabulary),
    };
    if (sizes.hidden % sizes.heads != 0)
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
    sizes.inner = ll_decoder_size(build, INNER, 4 * sizes.hidden);
    sizes.key_heads = sizes.heads;
    sizes.head = sizes.hidden / sizes.heads;
    return ll_decoder_build(nn, build, &sizes,
                            &(struct ll_decoder_options){
                                .pass = (enum ll_decoder_pass)values[PASS],
                                .dtype = values[DTYPE],
                                .context = (uint64_t)values[CONTEXT],
                                .letters = (uint64_t)values[LETTERS],
                                .fused = values[FUSED] != 0,
                                .dropout = (double)values[DROPOUT] / 100,
                                .rate = (double)values[RATE] * 1e-6,
                            },
                            net);
}

const struct ll_model ll_model_gpt = {
    .name = "gpt",
    .suite = "frontier",
    .doc = "language model of attention to the words before (GPT-2, GPT-3, Megatron, MPT)",
    .default_batch = 8,
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
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"letters", "12"},
                            {"dropout", "0"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
