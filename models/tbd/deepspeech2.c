/* SPDX-License-Identifier: Apache-2.0 */
/* Deep Speech 2 (Amodei et al., 2016) as TBD trains it with MXNet: spectrograms of 161 bins, two
 * convolutions, gated recurrent layers of 1760 units in two directions whose stacks meet only at the top, CTC
 * over 28 characters. The suite's paper has five layers, its code seven (-p layers=7); plain recurrent cells,
 * which the paper names, are -p gated=0.
 *
 *     convolutions 11 x 41 and 11 x 21, time by frequency, strides 2 x 2 and 1 x 2: 250,976, normalised 128
 *     of each direction 672 x 5280 + 4 x 1760 x 5280 for inputs, 5 x 1760 x 5280 for states, biases 10,560 a
 *         layer and a normalisation of the gates 7,040: 87,271,360
 *     3520 x 1760 and a normalisation, 1760 x 29 and biases: 6,249,789
 *
 * which are 181,043,613 parameters (255,456,413 with seven layers). T frames leave s = (T - 11) / 2 + 1 - 10
 * steps of 21 frequencies; of a sample 143,592,373,760 FLOP with 800 frames:
 *
 *     2 x ((s + 10) x 61 x 32 x 451 + s x 21 x 32 x 7392 +
 *          s x (2 x (672 x 5280 + 4 x 1760 x 5280 + 5 x 1760 x 5280) + 3520 x 1760 + 1760 x 29))
 *
 * SGD at 3e-4 with momentum 0.9, each element of a gradient clipped to 100. */
#include "models/tbd/deepspeech2.h"

#include "models/data/decode.h"
#include "models/data/spectra.h"
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/loss.h"
#include "models/nn/optim.h"
#include "models/nn/runner.h"

#include <string.h>

enum { FRAMES, LAYERS, HIDDEN, CLASSES, BINS, CHANNELS, GATED, STEPWISE, RATE };
static const struct ll_model_param params[] = {
    [FRAMES] = {"frames", 800, 40, 100000, "of 10 ms, of an utterance at most"},
    [LAYERS] = {"layers", 5, 1, 100, "recurrent ones in each direction; the suite's code has 7"},
    [HIDDEN] = {"hidden", 1760, 1, 65536, "units of each layer in each direction"},
    [CLASSES] = {"classes", 29, 3, LL_MOST_TONES + 1, "characters, and the blank"},
    [BINS] = {"bins", 161, 81, 10000, "frequencies of a spectrogram"},
    [CHANNELS] = {"channels", 32, 1, 4096, "of both convolutions"},
    [GATED] = {"gated", 1, 0, 1, "0: plain recurrent layers with clipped ReLU"},
    [STEPWISE] = {"stepwise", 0, 0, 1,
                  "1: inputs multiplied and normalised step by step, as in the suite's "
                  "code; 0: the whole sequence at once, as in the paper"},
    [RATE] = {"rate", 300, 1, 1000000, "of SGD, in millionths"},
};

enum { EVALUATION = 1, UNSEEN_BATCHES = 4 };

/* Where utterances come from; the driver's context, in the network's arena. */
struct source {
    struct ll_spectra spectra;
    uint64_t batch, frames, most_labels;
    int32_t *labels, *found; /* of one utterance */
    uint64_t *row;           /* for distances */
    struct ll_value *logits; /* of the program that evaluates */
};

/* What an input op's context tells beside the source. */
struct feed {
    struct source *source;
    enum ll_data_part part;
};

static uint64_t sample_of(const struct feed *feed, uint64_t step, uint64_t i)
{
    return step * feed->source->batch + i;
}

static void fill_features(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    const struct source *source = feed->source;
    uint64_t each = source->frames * source->spectra.bins;
    memset(data, 0, source->batch * each * sizeof *data);
    for (uint64_t i = 0; i < source->batch; i++)
        ll_spectra_features(&source->spectra, feed->part, sample_of(feed, step, i), data + i * each);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct source *source = feed->source;
    memset(data, 0, source->batch * source->most_labels * sizeof *data);
    for (uint64_t i = 0; i < source->batch; i++)
        ll_spectra_labels(&source->spectra, feed->part, sample_of(feed, step, i),
                          data + i * source->most_labels);
}

static void fill_lengths(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->source->batch; i++)
        data[i] = (int32_t)ll_spectra_labels(&feed->source->spectra, feed->part, sample_of(feed, step, i),
                                             feed->source->labels);
}

static uint64_t steps_of(const struct feed *feed, uint64_t sample)
{
    return ll_deepspeech2_steps(ll_spectra_frames(&feed->source->spectra, feed->part, sample));
}

static void fill_times(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->source->batch; i++)
        data[i] = (int32_t)steps_of(feed, sample_of(feed, step, i));
}

/* The context; NULL after the network has failed. */
static struct source *open_source(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    struct source *source = ll_alloc(&nn->arena, 1, sizeof *source);
    uint64_t frames = (uint64_t)values[FRAMES];
    if (source) {
        source->spectra =
            ll_spectra_of((uint64_t)values[CLASSES] - 1, frames, (uint64_t)values[BINS], build->seed);
        source->batch = build->batch;
        source->frames = frames;
        source->most_labels = ll_spectra_most_labels(frames);
        source->labels = ll_alloc(&nn->arena, frames, sizeof *source->labels);
        source->found = ll_alloc(&nn->arena, frames, sizeof *source->found);
        source->row = ll_alloc(&nn->arena, frames + 1, sizeof *source->row);
    }
    if (!source || !source->labels || !source->found || !source->row) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    ll_nn_drive(nn, &(struct ll_driver){.context = source});
    return source;
}

static struct feed *feed_of(struct ll_nn *nn, struct source *source, enum ll_data_part part)
{
    struct feed *feed = ll_alloc(&nn->arena, 1, sizeof *feed);
    if (feed)
        *feed = (struct feed){source, part};
    else
        ll_nn_fail(nn, "memory ran out");
    return feed;
}

static struct ll_value *forward(struct ll_nn *nn, const struct ll_build *build, struct source *source,
                                enum ll_data_part part, bool train)
{
    const int64_t *values = build->params;
    const struct ll_deepspeech2_sizes sizes = {.bins = (uint64_t)values[BINS],
                                               .channels = (uint64_t)values[CHANNELS],
                                               .layers = (uint64_t)values[LAYERS],
                                               .hidden = (uint64_t)values[HIDDEN],
                                               .classes = (uint64_t)values[CLASSES],
                                               .gated = values[GATED] != 0,
                                               .stepwise = values[STEPWISE] != 0,
                                               .train = train};
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){source->batch, source->frames, sizes.bins, 1},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    struct ll_value *heard =
        ll_feed_floats(nn, "spectrogram", &shape, fill_features, feed_of(nn, source, part));
    return ll_deepspeech2_forward(nn, &sizes, heard);
}

static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct source *source)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE};
    struct ll_shape of_each = ll_nn_shape(nn, 1, &source->batch, roles);
    struct ll_shape of_labels = ll_nn_shape(nn, 2, (uint64_t[]){source->batch, source->most_labels}, roles);
    struct feed *feed = feed_of(nn, source, LL_LEARNED);
    struct ll_value *labels = ll_feed_indices(nn, "labels", &of_labels, fill_labels, feed);
    struct ll_value *lengths = ll_feed_indices(nn, "lengths", &of_each, fill_lengths, feed);
    struct ll_value *times = ll_feed_indices(nn, "times", &of_each, fill_times, feed);
    return ll_ctc_loss(nn, logits, labels, lengths, times);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct source *source = open_source(nn, build);
    if (!source)
        return &nn->nothing;
    struct ll_value *logits = forward(nn, build, source, LL_LEARNED, build->train);
    if (!build->train || nn->trouble)
        return logits;
    struct ll_value *loss = loss_of(nn, logits, source);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){.kind = LL_MOMENTUM,
                                       .rate = (double)build->params[RATE] * 1e-6,
                                       .momentum = 0.9,
                                       .clip = LL_CLIP_VALUE,
                                       .clip_norm = 100});
    if (build->evaluate && !nn->trouble) {
        ll_nn_begin_program(nn);
        ll_nn_keep(source->logits = forward(nn, build, source, LL_HELD_BACK, false)->root);
    }
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    struct source *source = context;
    const struct feed feed = {source, LL_HELD_BACK};
    const uint64_t classes = source->spectra.tones[LL_HELD_BACK].kinds + 1;
    uint64_t wrong = 0, asked = 0;
    for (uint64_t sample = 0; sample < UNSEEN_BATCHES * source->batch; sample++) {
        if (sample % source->batch == 0)
            ll_runner_run(runner, EVALUATION, sample / source->batch);
        const float *logits = ll_runner_data(runner, source->logits);
        uint64_t count = ll_spectra_labels(&source->spectra, LL_HELD_BACK, sample, source->labels);
        uint64_t found =
            ll_decode_greedily(logits + sample % source->batch * classes, steps_of(&feed, sample),
                               source->batch * classes, classes, source->found);
        wrong += ll_edit_distance(source->found, found, source->labels, count, source->row);
        asked += count;
    }
    ll_scores_add(scores,
                  (struct ll_score){"label_error_rate",
                                    "edits that characters of unseen utterances need, for each of them",
                                    (double)wrong / (double)asked, true});
    return true;
}

const struct ll_model ll_model_deepspeech2 = {
    .name = "deepspeech2",
    .suite = "tbd",
    .doc = "speech to characters by convolutions, bidirectional recurrent layers and CTC (Deep Speech 2)",
    .default_batch = 8,
    .amount = {"audio seconds", FRAMES, 0.01},
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 400,
               .batch = 8,
               .settings = {{"frames", "120"},
                            {"layers", "1"},
                            {"hidden", "32"},
                            {"classes", "6"},
                            {"bins", "81"},
                            {"channels", "4"},
                            {"rate", "10000"}}},
    .evaluate = evaluate,
};
