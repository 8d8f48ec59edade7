/* SPDX-License-Identifier: Apache-2.0 */
/* Transformer (Vaswani et al., 2017) as TBD trains it: Tensor2Tensor's transformer_base_single_gpu, 2048
 * words a batch. Where paper and code differ it is the code: what a layer reads is normalised, not what it
 * writes; projections of attention have biases; the encoder is told the target language. -p paper=1 leaves
 * the last two out. One embedding serves both languages and the softmax. With 512 features, 2048 in the
 * feed-forward layers, 6 layers each way and 33708 words:
 *
 *     parameters 61,415,424 = embedding 17,258,496 + target language 16,384 + encoder 6 x 3,152,384 +
 *                             decoder 6 x 4,204,032 + two normalisations 2,048
 *
 * (-p paper=1 with 37000 words 63,047,680). FLOPs of a pair of s and t words, d = 512, f = 2048:
 *
 *     6 (s (8 d^2 + 4 d f) + 4 s^2 d) + 6 (t (12 d^2 + 4 d f) + 4 d^2 s + 4 d (t^2 + t s)) + 2 t d 33708
 *
 * which are 3,960,864,768 for 32 words each. The big one of the paper is -p hidden=1024 -p filter=4096
 * -p heads=16 -p dropout=30.
 *
 * Training: labels smoothed by 0.1, dropout 0.1, Adam (0.9, 0.98, 1e-9) with a rate that rises for 16000
 * steps and falls with their root; its factor 0.2 is 2 / sqrt(512) of the paper's measure, for Tensor2Tensor
 * multiplies it by ten. Words that only fill a sentence up are taken out before the encoder's feed-forward
 * layers and put back behind them; -p padding=N says how many there are, so that the layers have a fixed
 * size. Inference is a beam search over hypotheses with their keys and values of every layer. */
#include "models/tbd/transformer.h"

#include "models/nn/layers.h"
#include "models/nn/formula.h"
#include "models/nn/optim.h"

#include <math.h>

enum {
    VOCABULARY,
    HIDDEN,
    FILTER,
    LAYERS,
    HEADS,
    SOURCE,
    TARGET,
    PADDING,
    DROPOUT,
    SMOOTHING,
    WARMUP,
    BEAM,
    LETTERS,
    PAPER,
    DTYPE,
    PARAMS
};
static const struct ll_model_param params[PARAMS] = {
    [VOCABULARY] = {"vocabulary", 33708, 8, 1 << 24, "words of both languages, with four that are none"},
    [HIDDEN] = {"hidden", 512, 2, 1 << 14, "features of each word, even; the big one has 1024"},
    [FILTER] = {"filter", 2048, 1, 1 << 16, "features inside the feed-forward layers; the big one has 4096"},
    [LAYERS] = {"layers", 6, 1, 256, "that read, and as many that write"},
    [HEADS] = {"heads", 8, 1, 1024, "of each attention, a divisor of hidden; the big one has 16"},
    [SOURCE] = {"source", 32, 2, 1 << 16, "words read of a sentence, its end included"},
    [TARGET] = {"target", 32, 2, 1 << 16, "words written, the end included"},
    [PADDING] = {"padding", 0, 0, 90, "percent of the words read that only fill sentences up"},
    [DROPOUT] = {"dropout", 10, 0, 90, "percent that is dropped when training; the big one drops 30"},
    [SMOOTHING] = {"smoothing", 10, 0, 90, "percent of a label that goes to the other words"},
    [WARMUP] = {"warmup", 16000, 1, 1 << 24, "steps for which the rate rises"},
    [BEAM] = {"beam", 4, 1, 1 << 10, "hypotheses of a sentence when translating"},
    [LETTERS] = {"letters", 26, 2, 1 << 24, "words of the made-up language that is learned"},
    [PAPER] = {"paper", 0, 0, 1, "1: no biases in attention and no target language, as in the paper"},
    [DTYPE] = {"dtype", 0, 0, 2, "of weights and activations; all but f32 with --dry-run"},
};
static const enum ll_dtype dtypes[] = {LL_F32, LL_F16, LL_TF32};
static const char *const dtype_words[] = {"f32", "f16", "tf32", NULL};
static const char *const *const words[PARAMS] = {[DTYPE] = dtype_words};

static struct ll_transformer_call call_of(const struct ll_build *build, struct ll_translation *translation,
                                          enum ll_data_part part)
{
    const int64_t *values = build->params;
    return (struct ll_transformer_call){
        .sizes = {.vocabulary = (uint64_t)values[VOCABULARY],
                  .hidden = (uint64_t)values[HIDDEN],
                  .filter = (uint64_t)values[FILTER],
                  .layers = (uint64_t)values[LAYERS],
                  .heads = (uint64_t)values[HEADS],
                  .dropout = (double)values[DROPOUT] / 100,
                  .paper = values[PAPER] != 0},
        .translation = translation,
        .part = part,
    };
}

/* The cross entropy with smoothed labels less what it is at best, the mean over all words that count. */
static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct ll_translation *t,
                                double smoothing)
{
    double others = (double)logits->shape.dim[1] - 1, best = -(1 - smoothing) * log(1 - smoothing);
    best -= smoothing > 0 ? smoothing * log(smoothing / others) : 0;
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_SMOOTHING, smoothing);
    struct ll_shape rows = ll_nn_shape(nn, 1, logits->shape.dim, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *labels = ll_seen_as(nn, ll_translation_written(nn, t, LL_LEARNED), &rows);
    struct ll_value *weights = ll_seen_as(nn, ll_translation_weights(nn, t, LL_LEARNED), &rows);
    ll_nn_push(nn, "loss");
    struct ll_value *losses =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SOFTMAX_XENT_SMOOTH,
                                          .input_count = 2,
                                          .inputs = (struct ll_value *[]){logits, labels},
                                          .attr_count = 1,
                                          .attrs = &attr});
    losses = ll_mul_of(nn, ll_sub_of(nn, losses, ll_constant(nn, "best", best)), weights);
    struct ll_value *counted = ll_sum_over(nn, weights, 0, 1);
    struct ll_value *loss = ll_div_of(nn, ll_sum_over(nn, losses, 0, 1), counted);
    ll_nn_pop(nn);
    return loss;
}

static struct ll_value *train(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    const int64_t *values = build->params;
    struct ll_transformer_call call = call_of(build, t, LL_LEARNED);
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = 2 / sqrt((double)values[HIDDEN]),
                                      .beta1 = 0.9,
                                      .beta2 = 0.98,
                                      .epsilon = 1e-9,
                                      .warmup = (uint64_t)values[WARMUP]};
    struct ll_chance chance;
    if (values[DROPOUT] > 0) {
        chance = ll_chance_begin(nn, build->seed);
        call.chance = &chance;
    }
    struct ll_value *logits = ll_transformer_teach(nn, &call);
    struct ll_value *loss = loss_of(nn, logits, t, (double)values[SMOOTHING] / 100);
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
    return loss;
}

static struct ll_value *search(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t,
                               enum ll_data_part part)
{
    struct ll_transformer_call call = call_of(build, t, part);
    ll_translation_beam(t, (uint64_t)build->params[BEAM], (uint64_t)build->params[VOCABULARY]);
    return ll_transformer_search(nn, &call, &t->beam);
}

static struct ll_value *teach(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    struct ll_transformer_call call = call_of(build, t, LL_LEARNED);
    return ll_transformer_teach(nn, &call);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    if (dtypes[values[DTYPE]] != LL_F32)
        nn->real = dtypes[values[DTYPE]];
    struct ll_translation *t = ll_translation_begin(nn, build, LL_SENTENCE_FIRST,
                                                    &(struct ll_translation_sizes){
                                                        .letters = (uint64_t)values[LETTERS],
                                                        .vocabulary = (uint64_t)values[VOCABULARY],
                                                        .source = (uint64_t)values[SOURCE],
                                                        .target = (uint64_t)values[TARGET],
                                                        .padding = (uint64_t)values[PADDING],
                                                    });
    if (!nn->trouble && values[HIDDEN] % 2 != 0)
        ll_nn_fail(nn, "an odd number of hidden features; half of a position's are sines, half cosines");
    return ll_translation_build(nn, build, t, &(struct ll_translator){teach, search, train});
}

const struct ll_model ll_model_transformer = {
    .name = "transformer",
    .suite = "tbd",
    .doc = "translation by attention alone, encoder and decoder (Transformer, base)",
    .default_batch = 64,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .lesson = {.steps = 1500,
               .batch = 32,
               .settings = {{"vocabulary", "16"},
                            {"letters", "10"},
                            {"hidden", "64"},
                            {"filter", "128"},
                            {"layers", "2"},
                            {"heads", "4"},
                            {"source", "8"},
                            {"target", "8"},
                            {"padding", "25"},
                            {"dropout", "0"},
                            {"warmup", "400"}}},
    .evaluate = ll_translation_evaluate,
};
