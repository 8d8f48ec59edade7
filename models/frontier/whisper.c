/* SPDX-License-Identifier: Apache-2.0 */
/* Whisper (Radford et al., 2022, table 1): a mel spectrogram of thirty seconds goes through two
 * convolutions in time, the second halving it, and an encoder; a decoder writes what was said, and looks
 * at all that the encoder made of it in every layer. With h features, L layers on either side, m mel bins,
 * a frames after the convolutions, t tokens of text at most and V in the vocabulary:
 *
 *     parameters       3 m h + h   3 h^2 + h   a h   L (12 h^2 + 12 h)   2 h      of the encoder; a h: sines
 *                      V h + t h   L (16 h^2 + 17 h)   2 h                        of the decoder
 *     forward FLOPs    12 m h a + 6 h^2 a + L (24 a h^2 + 4 a^2 h)               of a recording
 *                      L (28 s h^2 + 4 a h^2 + 4 s^2 h + 4 s a h) + 2 s h V       of s tokens of its text
 *
 * 1,543,490,560 parameters of large-v3. Keys have no biases; the sines count, but are not trained.
 *
 * An inference encodes, reads a prompt of s tokens behind it (`forward`), or decodes one more token, with
 * keys and values of what was said and of the text so far from memory. Here each token sounds like itself. */
#include "models/feed.h"
#include "models/frontier/tower.h"
#include "models/nn/layers.h"
#include "models/nn/runner.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

enum {
    PRESET,
    LAYERS,
    TEXT_LAYERS,
    HIDDEN,
    HEADS,
    MELS,
    FRAMES,
    SEQ,
    POSITIONS,
    VOCABULARY,
    PASS,
    CONTEXT,
    DTYPE,
    RATE,
    PARAMS
};
enum { FORWARD, ENCODE, DECODE, UNSEEN_BATCHES = 4 };

/* Layers of the encoder and the decoder, features, heads, mel bins, vocabulary: the models of
 * openai/whisper. */
static const struct preset {
    uint64_t layers, text_layers, hidden, heads, mels, vocabulary;
} presets[] = {{32, 32, 1280, 20, 128, 51866}, {32, 32, 1280, 20, 80, 51865}, {32, 4, 1280, 20, 128, 51866},
               {24, 24, 1024, 16, 80, 51865},  {12, 12, 768, 12, 80, 51865},  {6, 6, 512, 8, 80, 51865},
               {4, 4, 384, 6, 80, 51865}};
static const char *const preset_words[] = {"large-v3", "large-v2", "large-v3-turbo", "medium",
                                           "small",    "base",     "tiny",           NULL};
static const char *const passes[] = {"forward", "encode", "decode", NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, sizeof presets / sizeof *presets - 1,
                "whose sizes are taken where none is set"},
    [LAYERS] = {"layers", 0, 0, 1 << 12, "of the encoder; 0: the preset's"},
    [TEXT_LAYERS] = {"text_layers", 0, 0, 1 << 12, "of the decoder; 0: the preset's"},
    [HIDDEN] = {"hidden", 0, 0, 1 << 20, "features; 0: the preset's"},
    [HEADS] = {"heads", 0, 0, 1 << 12, "of each attention; 0: the preset's"},
    [MELS] = {"mels", 0, 0, 1 << 12, "bins of the spectrogram; 0: the preset's"},
    [FRAMES] = {"frames", 3000, 2, 1 << 20, "of the spectrogram, an even number; 3000 are 30 seconds"},
    [SEQ] = {"seq", 448, 1, 1 << 20, "tokens of text that are read at once"},
    [POSITIONS] = {"positions", 448, 1, 1 << 20, "of text that are known"},
    [VOCABULARY] = {"vocabulary", 0, 0, 1 << 24, "tokens there are; 0: the preset's"},
    [PASS] = {"pass", FORWARD, FORWARD, DECODE,
              "what an inference does: all, the encoder alone, or one token more"},
    [CONTEXT] = {"context", 224, 1, 1 << 20, "tokens of text, the new one included, when decoding"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [RATE] = {"rate", 1000, 1, 1000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {
    [PRESET] = preset_words, [PASS] = passes, [DTYPE] = ll_decoder_dtypes};

struct whisper {
    struct ll_nn *nn;
    struct ll_decoder listener, writer;
    struct ll_tower tower;
    uint64_t mels, frames, positions, seed;
    enum ll_data_part part;
    struct ll_value *guesses;
    uint32_t program;
};

/* --- what is said --- */

/* Token i of recording n, from 1 on; 0 begins a text. */
static int32_t token_of(const struct whisper *w, enum ll_data_part part, uint64_t n, uint64_t i)
{
    const uint64_t key = ll_random_key(ll_random_key(w->seed, part), n);
    return (int32_t)(1 + ll_random_bits(key, i) % (w->writer.sizes.vocabulary - 1));
}

struct feed {
    const struct whisper *model;
    enum ll_data_part part;
    bool next; /* tokens that come next, else those that are read */
};

static void fill_tokens(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_decoder *d = &feed->model->writer;
    for (uint64_t i = 0; i < d->batch * d->steps; i++) {
        const uint64_t n = step * d->batch + i / d->steps, at = d->context - d->steps + i % d->steps;
        data[i] = feed->next ? token_of(feed->model, feed->part, n, at)
                  : at == 0  ? 0
                             : token_of(feed->model, feed->part, n, at - 1);
    }
}

/* Frames are shared out evenly among the tokens, each with a spectrum of its own. */
static void fill_sound(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    const struct whisper *w = feed->model;
    for (uint64_t i = 0; i < w->listener.batch * w->frames * w->mels; i++) {
        const uint64_t n = step * w->listener.batch + i / w->mels / w->frames,
                       frame = i / w->mels % w->frames;
        const int32_t token = token_of(w, feed->part, n, frame * w->writer.context / w->frames);
        const uint64_t bits = ll_random_bits(ll_random_key(w->seed, 7 + (uint64_t)token), i % w->mels);
        data[i] = bits % 2 ? 1 : -1;
    }
}

static struct feed *feed_of(struct whisper *w, bool next)
{
    const struct feed feed = {w, w->part, next};
    struct feed *copy = ll_copy(&w->nn->arena, &feed, sizeof feed);
    if (!copy)
        ll_nn_fail(w->nn, "memory ran out");
    return copy;
}

static struct ll_value *tokens(struct whisper *w, const char *name, bool next)
{
    const uint64_t rows = w->writer.batch * w->writer.steps;
    struct ll_shape shape = ll_nn_shape(w->nn, 1, &rows, (enum ll_role[]){LL_ROLE_BATCH});
    struct feed *feed = feed_of(w, next);
    return feed ? ll_feed_indices(w->nn, name, &shape, fill_tokens, feed) : &w->nn->nothing;
}

/* --- the network --- */

static struct ll_value *convolved(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t stride)
{
    if (d->nn->trouble)
        return &d->nn->nothing;
    const uint64_t channels = x->shape.dim[3];
    const struct ll_conv_options options = {.kernel = 1,
                                            .kernel_w = 3,
                                            .filters = d->sizes.hidden,
                                            .stride = stride,
                                            .padding = LL_HALF,
                                            .init = ll_init_fan_in(3 * channels, 2)};
    return ll_nn_do1(d->nn, LL_OP_GELU, ll_conv_layer(d->nn, name, x, &options));
}

/* Rows [batch frames / 2, hidden] of what was said. */
static struct ll_value *heard(struct whisper *w)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_SEQUENCE, LL_ROLE_CHANNEL},
                              lines[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_decoder *d = &w->listener;
    struct ll_nn *nn = w->nn;
    struct feed *feed = feed_of(w, false);
    if (!feed)
        return &nn->nothing;
    struct ll_shape sound = ll_nn_shape(nn, 4, (uint64_t[]){d->batch, 1, w->frames, w->mels}, roles),
                    line = ll_nn_shape(nn, 3, (uint64_t[]){d->batch, d->steps, d->sizes.hidden}, lines);
    ll_nn_push(nn, "encoder");
    struct ll_value *x = ll_feed_floats(nn, "sound", &sound, fill_sound, feed);
    x = convolved(d, "conv2", convolved(d, "conv1", x, 1), 2);
    x = ll_decoder_rows(d, ll_add_of(nn, ll_nn_reshape(nn, x, &line), ll_tower_sines(d)));
    x = ll_layer_norm(nn, "norm", ll_tower_layers(d, &w->tower, x, NULL), w->tower.epsilon);
    ll_nn_pop(nn);
    return x;
}

/* Logits of the tokens that follow those that are read, [batch steps, vocabulary]. */
static struct ll_value *written(struct whisper *w, struct ll_value *memory)
{
    struct ll_decoder *d = &w->writer;
    struct ll_nn *nn = w->nn;
    const struct ll_tower tower = {w->tower.epsilon, w->tower.quick_gelu, w->tower.bias_of_keys,
                                   w->listener.steps};
    struct ll_value *read = tokens(w, "tokens", false);
    ll_nn_push(nn, "decoder");
    struct ll_value *table = ll_decoder_table(d);
    struct ll_value *positions = ll_tower_table(d, "positions", w->positions, LL_ROLE_SEQUENCE);
    if (w->positions > d->steps)
        positions = ll_nn_slice(nn, positions, 0, d->context - d->steps, d->steps);
    struct ll_value *x = ll_add_of(nn, ll_decoder_sequences(d, ll_nn_gather(nn, table, read)), positions);
    x = ll_tower_layers(d, &tower, ll_decoder_rows(d, x), memory);
    x = ll_matmul_transposed(nn, ll_layer_norm(nn, "norm", x, w->tower.epsilon), table);
    ll_nn_pop(nn);
    return x;
}

static void check(const struct whisper *w)
{
    const struct ll_decoder_sizes *s = &w->writer.sizes;
    if (s->hidden % s->heads != 0 || s->hidden % 2 != 0)
        ll_nn_fail(w->nn,
                   "features cannot be shared out evenly among the heads of an attention, and two halves");
    if (w->frames % 2 != 0)
        ll_nn_fail(w->nn, "-p frames=N is odd, but the second convolution halves them");
    if (w->writer.context > w->positions)
        ll_nn_fail(w->nn, "a text has more tokens than -p positions=N");
    if (s->vocabulary < 2)
        ll_nn_fail(w->nn, "-p vocabulary=N has no token beside the one that begins a text");
}

static struct whisper *begin(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const struct preset *preset = &presets[values[PRESET]];
    const bool decodes = !build->train && values[PASS] == DECODE;
    struct whisper *w = ll_alloc(&nn->arena, 1, sizeof *w);
    if (!w) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    struct ll_decoder_sizes sizes = {.layers = ll_decoder_size(build, LAYERS, preset->layers),
                                     .hidden = ll_decoder_size(build, HIDDEN, preset->hidden),
                                     .heads = ll_decoder_size(build, HEADS, preset->heads),
                                     .seq = (uint64_t)values[FRAMES] / 2,
                                     .vocabulary = ll_decoder_size(build, VOCABULARY, preset->vocabulary)};
    sizes.kv_heads = sizes.heads;
    sizes.head = sizes.hidden / sizes.heads;
    sizes.ffn_hidden = 4 * sizes.hidden;
    struct ll_decoder_options options = {.sizes = sizes, .dtype = values[DTYPE]};
    *w = (struct whisper){.nn = nn,
                          .listener = ll_decoder_begin(nn, build, &options),
                          .tower = {.epsilon = 1e-5},
                          .mels = ll_decoder_size(build, MELS, preset->mels),
                          .frames = (uint64_t)values[FRAMES],
                          .positions = (uint64_t)values[POSITIONS],
                          .seed = build->seed};
    w->listener.sees_all = true;
    options.sizes.layers = ll_decoder_size(build, TEXT_LAYERS, preset->text_layers);
    options.sizes.seq = (uint64_t)values[SEQ];
    options.pass = decodes ? LL_PASS_DECODE : LL_PASS_FORWARD;
    options.context = decodes ? (uint64_t)values[CONTEXT] : 0;
    w->writer = ll_decoder_begin(nn, build, &options);
    check(w);
    ll_nn_drive(nn, &(struct ll_driver){.context = w});
    return nn->trouble ? NULL : w;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = (double)build->params[RATE] * 1e-6,
                                      .beta1 = 0.9,
                                      .beta2 = 0.98,
                                      .epsilon = 1e-6};
    struct whisper *w = begin(nn, build);
    if (!w)
        return &nn->nothing;
    if (!build->train && build->params[PASS] == ENCODE)
        return heard(w);
    if (!build->train && build->params[PASS] == DECODE)
        return written(w, NULL);
    struct ll_value *logits = written(w, heard(w));
    if (!build->train)
        return logits;
    struct ll_value *loss = ll_decoder_loss(nn, logits, tokens(w, "next_tokens", true));
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
    if (build->evaluate && !nn->trouble) {
        w->program = ll_nn_begin_program(nn);
        w->part = LL_HELD_BACK;
        w->listener.train = w->writer.train = false;
        w->guesses = ll_nn_do1(nn, LL_OP_ARGMAX, written(w, heard(w)));
        ll_nn_keep(w->guesses);
    }
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct whisper *w = context;
    const struct ll_decoder *d = &w->writer;
    uint64_t right = 0;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, w->program, step);
        const int32_t *guesses = ll_runner_data(runner, w->guesses);
        for (uint64_t i = 0; i < d->batch * d->steps; i++)
            right += guesses[i] == token_of(w, LL_HELD_BACK, step * d->batch + i / d->steps, i % d->steps);
    }
    ll_scores_add(scores,
                  (struct ll_score){"tokens", "share of the tokens of unseen recordings that are written",
                                    (double)right / (double)(d->batch * d->steps * UNSEEN_BATCHES), false});
    return true;
}

const struct ll_model ll_model_whisper = {
    .name = "whisper",
    .suite = "frontier",
    .doc = "speech recognition by an encoder and a decoder (Whisper)",
    .default_batch = 16,
    .inference_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "1"},
                            {"text_layers", "2"},
                            {"hidden", "48"},
                            {"heads", "4"},
                            {"mels", "16"},
                            {"frames", "32"},
                            {"seq", "8"},
                            {"positions", "8"},
                            {"vocabulary", "16"},
                            {"rate", "2000"}}},
    .evaluate = evaluate,
};
