/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom's speech (Adolf et al., 2016): Deep Speech (Hannun et al., 2014) on phonemes. Three layers hear each
 * frame alone, the fourth goes through the utterance in both directions, the fifth names phonemes or a blank:
 *
 *     y = min(max(x W + b, 0), 20), three times
 *     h_t = min(max([y_t h_t-1] W + b, 0), 20), forward from the first frame, backward from the last, added
 *     logits = h W + b                    loss = mean over the batch of the CTC loss of the logits
 *
 * The suite's code cuts the logits as well, starts from zeros, from where no gradient leads, and takes the
 * number of labels for that of frames; none of it is done here. The code also repeats weights and biases for
 * each utterance of the batch. Here batch and frames are the rows of one product, but for -p tile=1, which
 * does as the code does: the same numbers, the same FLOPs of products, more bytes.
 *
 * 26 features, 1566 frames, 1024 hidden, 61 phonemes of TIMIT and the blank:
 *
 *     26 x 1024 + 2 x 1024 x 1024 + 2 x 2048 x 1024 + 1024 x 62 and biases: 6,386,750 parameters
 *     2 x (26 x 1024 + 2 x 1024 x 1024 + 2 x 2048 x 1024 + 1024 x 62) x 1566: 19,987,070,976 FLOP a sample
 *
 * (without the fourth layer, as the code has it, 2,190,398; with 2048 hidden, as the paper, 25,356,350).
 *
 * The suite's rate of 0.01 was never put to the test: from its zeros nothing moves. A CTC loss adds up over
 * frames, and with 1566 of them the loss of two utterances grows from 2,300 to 10^8 within ten steps at 0.01
 * and to 10^7 at 0.001. At 0.3 / frames, the rate here where that is less than 0.01, it falls to 220. */
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"

#include "models/data/speech.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES, HIDDEN, CLASSES, RECURRENT, TILE, RATE };
static const struct ll_model_param params[] = {
    [FRAMES] = {"frames", 1566, LL_FRAMES_A_TONE, 100000, "of 5 ms, of an utterance at most"},
    [HIDDEN] = {"hidden", 1024, 1, 65536, "units of each layer but the last"},
    [CLASSES] = {"classes", 62, 3, LL_MOST_TONES + 1, "phonemes, and the blank"},
    [RECURRENT] = {"recurrent", 1, 0, 1, "0: without the layer that goes through the utterance"},
    [TILE] = {"tile", 0, 0, 1, "1: a copy of weights and biases for each utterance, as in the suite's code"},
    [RATE] = {"rate", 0, 0, 1000000,
              "of SGD, in millionths; 0: the suite's 10000, or 300000 / frames where that is less"},
};

/* Gain of the last layer at first: all classes are about as likely. With more, also with 2 for the layers
 * before it, gradients that add up over the frames of an utterance throw the weights off. */
static const double undecided = 0.005;

enum { MOST_LABELS = 75, EVALUATION = 1, UNSEEN_BATCHES = 4 };

/* Where utterances come from; the driver's context. */
struct source {
    struct ll_arena arena;
    struct ll_speech speech;
    struct ll_utterances spoken;
    uint64_t batch, frames;
    int32_t *labels, *found; /* of one utterance: room for a label a frame */
    uint64_t *row;           /* for distances */
    struct ll_value *logits; /* of the program that evaluates */
};

static void release(void *context)
{
    struct source *source = context;
    ll_arena_release(&source->arena);
    free(source);
}

/* Whether the network has room for what is spoken. False after complaints. */
static bool suits(const struct ll_utterances *spoken, const struct ll_build *build)
{
    const struct ll_utterance *longest = spoken->longest;
    bool good = true;
    if (longest->frames > (uint64_t)build->params[FRAMES])
        good = ll_complain(build->diags, (struct ll_place){.file = longest->name},
                           "%" PRIu64 " frames of 5 ms, more than the others; expected at most %" PRId64
                           " (-p frames=N)",
                           longest->frames, build->params[FRAMES]);
    if (spoken->phonemes >= (uint64_t)build->params[CLASSES])
        good = ll_complain(build->diags, (struct ll_place){.file = build->data},
                           "%" PRIu64 " phonemes; expected at most %" PRId64
                           ", one less than classes: the last is the blank (-p classes=N)",
                           spoken->phonemes, build->params[CLASSES] - 1);
    return good;
}

static bool find_speech(struct source *source, const struct ll_build *build)
{
    uint64_t kinds = (uint64_t)build->params[CLASSES] - 1, labels = source->frames / LL_FRAMES_A_TONE;
    if (!build->data || build->measure)
        return ll_speech_of_tones(&source->speech, kinds, labels < MOST_LABELS ? labels : MOST_LABELS,
                                  build->seed, &source->arena);
    if (!ll_utterances_read(&source->spoken, build->data, &source->arena, build->diags) ||
        !suits(&source->spoken, build))
        return false;
    ll_speech_of_utterances(&source->speech, &source->spoken, build->seed);
    return true;
}

static struct source *open_source(const struct ll_build *build)
{
    struct source *source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    uint64_t frames = source->frames = (uint64_t)build->params[FRAMES];
    source->batch = build->batch;
    source->labels = ll_alloc(&source->arena, frames, sizeof *source->labels);
    source->found = ll_alloc(&source->arena, frames, sizeof *source->found);
    source->row = ll_alloc(&source->arena, frames + 1, sizeof *source->row);
    if (source->labels && source->found && source->row && find_speech(source, build))
        return source;
    release(source);
    return NULL;
}

/* Steps from here on bring utterances that are not learned from. */
enum { UNSEEN = 1 << 30 };
static enum ll_data_part part_of(uint64_t step)
{
    return step >= UNSEEN ? LL_HELD_BACK : LL_LEARNED;
}

static uint64_t sample_of(const struct source *source, uint64_t step, uint64_t i)
{
    return step % UNSEEN * source->batch + i;
}

static void fill_features(void *context, uint64_t step, float *data)
{
    const struct source *source = context;
    uint64_t each = source->frames * LL_FEATURES;
    memset(data, 0, source->batch * each * sizeof *data);
    for (uint64_t i = 0; i < source->batch; i++)
        ll_speech_features(&source->speech, part_of(step), sample_of(source, step, i), data + i * each);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct source *source = context;
    uint64_t most = source->speech.most_labels;
    memset(data, 0, source->batch * most * sizeof *data);
    for (uint64_t i = 0; i < source->batch; i++)
        ll_speech_labels(&source->speech, part_of(step), sample_of(source, step, i), data + i * most);
}

static void fill_lengths(void *context, uint64_t step, int32_t *data)
{
    const struct source *source = context;
    for (uint64_t i = 0; i < source->batch; i++)
        data[i] = (int32_t)ll_speech_labels(&source->speech, part_of(step), sample_of(source, step, i),
                                            source->labels);
}

static void fill_times(void *context, uint64_t step, int32_t *data)
{
    const struct source *source = context;
    for (uint64_t i = 0; i < source->batch; i++)
        data[i] = (int32_t)ll_speech_frames(&source->speech, part_of(step), sample_of(source, step, i));
}

static struct ll_value *clipped(struct ll_nn *nn, struct ll_value *x)
{
    return ll_relu_clipped(nn, x, 20);
}

/* x[batch, frames, n] W + b, of which each utterance has a copy, and each frame of b. */
static struct ll_value *apply_tiled(struct ll_nn *nn, const struct ll_linear *linear, struct ll_value *x)
{
    struct ll_shape weights = linear->weights->shape, stack = x->shape;
    stack.dim[1] = weights.dim[0];
    stack.dim[2] = weights.dim[1];
    stack.role[1] = weights.role[0];
    stack.role[2] = weights.role[1];
    struct ll_value *y = ll_nn_do2(nn, LL_OP_BATCH_MATMUL, x, ll_nn_broadcast(nn, linear->weights, &stack));
    return ll_add_of(nn, y, ll_nn_broadcast(nn, linear->biases, &y->shape));
}

/* Of rows [batch frames, n]; of utterances [batch, frames, n] with a copy of the weights for each of them. */
static struct ll_value *layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units,
                              double gain)
{
    bool is_rows = x->shape.rank == 2;
    uint64_t inputs = x->shape.dim[is_rows ? 1 : 2];
    struct ll_linear linear = ll_linear_begin(nn, name, inputs, units, ll_init_fan_in(inputs, gain));
    ll_nn_push(nn, name);
    x = is_rows ? ll_linear_apply(nn, &linear, 1, &x) : apply_tiled(nn, &linear, x);
    ll_nn_pop(nn);
    return x;
}

/* Rows [a b, n] seen as [a, b, n]. */
static struct ll_value *parted(struct ll_nn *nn, struct ll_value *rows, uint64_t a, enum ll_role a_role,
                               enum ll_role b_role)
{
    uint64_t count = rows->shape.dim[0], n = rows->shape.dim[1];
    struct ll_shape shape =
        ll_nn_shape(nn, 3, (uint64_t[]){a, count / a, n}, (enum ll_role[]){a_role, b_role, LL_ROLE_HIDDEN});
    return ll_nn_reshape(nn, rows, &shape);
}

/* Rows seen as [batch, frames, n]; what is so already stays. */
static struct ll_value *by_utterance(struct ll_nn *nn, struct ll_value *x, uint64_t batch)
{
    return x->shape.rank == 3 ? x : parted(nn, x, batch, LL_ROLE_BATCH, LL_ROLE_SEQUENCE);
}

/* [a, b, n] seen as rows [a b, n]. */
static struct ll_value *as_rows(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape shape =
        ll_nn_shape(nn, 2, (uint64_t[]){x->shape.dim[0] * x->shape.dim[1], x->shape.dim[2]},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    return ll_nn_reshape(nn, x, &shape);
}

/* One direction: the states [frames, batch, hidden] after each of the frames. */
static struct ll_value *direction(struct ll_nn *nn, const char *name, struct ll_value *const *frames,
                                  uint64_t count, bool backward)
{
    const struct ll_shape *shape = &frames[0]->shape;
    uint64_t units = shape->dim[1];
    struct ll_linear linear = ll_linear_begin(nn, name, 2 * units, units, ll_init_fan_in(2 * units, 1));
    struct ll_value **states = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    if (!states) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, name);
    struct ll_value *h = ll_zeros(nn, shape);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t t = backward ? count - 1 - i : i;
        h = clipped(nn, ll_linear_apply(nn, &linear, 2, (struct ll_value *[]){frames[t], h}));
        states[t] = h;
    }
    h = ll_nn_stack(nn, states, (uint32_t)count);
    ll_nn_pop(nn);
    return h;
}

/* [frames, batch, hidden] to the same. */
static struct ll_value *both_directions(struct ll_nn *nn, struct ll_value *x)
{
    uint64_t count = x->shape.dim[0];
    struct ll_value **frames = ll_nn_unstack(nn, x);
    if (!frames)
        return &nn->nothing;
    struct ll_value *there = direction(nn, "forward", frames, count, false);
    return ll_add_of(nn, there, direction(nn, "backward", frames, count, true));
}

/* Logits [frames, batch, classes]. */
static struct ll_value *forward(struct ll_nn *nn, const struct ll_build *build, struct source *source)
{
    uint64_t hidden = (uint64_t)build->params[HIDDEN], classes = (uint64_t)build->params[CLASSES];
    bool tile = build->params[TILE] != 0;
    struct ll_shape heard = ll_nn_shape(nn, 3, (uint64_t[]){build->batch, source->frames, LL_FEATURES},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_CHANNEL});
    struct ll_value *x = ll_feed_floats(nn, "features", &heard, fill_features, source);
    x = tile ? x : as_rows(nn, x);
    x = clipped(nn, layer(nn, "layer1", x, hidden, 1));
    x = clipped(nn, layer(nn, "layer2", x, hidden, 1));
    x = clipped(nn, layer(nn, "layer3", x, hidden, 1));
    if (build->params[RECURRENT]) {
        ll_nn_push(nn, "layer4");
        x = both_directions(nn, ll_nn_transpose(nn, by_utterance(nn, x, build->batch), 102));
        x = tile ? ll_nn_transpose(nn, x, 102) : as_rows(nn, x);
        ll_nn_pop(nn);
    }
    x = layer(nn, "layer5", x, classes, undecided);
    if (build->params[RECURRENT] && !tile) /* frames come first already */
        return parted(nn, x, source->frames, LL_ROLE_SEQUENCE, LL_ROLE_BATCH);
    return ll_nn_transpose(nn, by_utterance(nn, x, build->batch), 102);
}

static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct source *source)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE};
    struct ll_shape of_each = ll_nn_shape(nn, 1, &source->batch, roles);
    struct ll_shape of_labels =
        ll_nn_shape(nn, 2, (uint64_t[]){source->batch, source->speech.most_labels}, roles);
    struct ll_value *labels = ll_feed_indices(nn, "labels", &of_labels, fill_labels, source);
    struct ll_value *lengths = ll_feed_indices(nn, "lengths", &of_each, fill_lengths, source);
    struct ll_value *times = ll_feed_indices(nn, "times", &of_each, fill_times, source);
    return ll_ctc_loss(nn, logits, labels, lengths, times);
}

static double rate_of(const struct ll_build *build)
{
    double most = 0.3 / (double)build->params[FRAMES];
    return build->params[RATE] ? (double)build->params[RATE] * 1e-6 : most < 0.01 ? most : 0.01;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct source *source = open_source(build);
    if (!source) {
        ll_nn_fail(nn, build->diags && build->diags->count ? "its data cannot be used" : "memory ran out");
        return &nn->nothing;
    }
    ll_nn_drive(nn, &(struct ll_driver){.context = source, .release = release});
    struct ll_value *logits = forward(nn, build, source);
    if (!build->train)
        return logits;
    struct ll_value *loss = loss_of(nn, logits, source);
    ll_minimise(nn, loss, &(struct ll_optimizer){.kind = LL_SGD, .rate = rate_of(build)});
    if (build->evaluate) {
        ll_nn_begin_program(nn);
        ll_nn_keep(source->logits = forward(nn, build, source));
    }
    return loss;
}

/* Those that somebody spoke all once. */
static uint64_t unseen_samples(const struct source *source)
{
    const struct ll_utterances *spoken = source->speech.spoken;
    return spoken ? spoken->count / LL_ONE_HELD_BACK_OF : UNSEEN_BATCHES * source->batch;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct source *source = context;
    const struct ll_speech *speech = &source->speech;
    uint64_t classes = source->logits->shape.dim[2], wrong = 0, asked = 0;
    for (uint64_t sample = 0; sample < unseen_samples(source); sample++) {
        if (sample % source->batch == 0)
            ll_runner_run(runner, EVALUATION, UNSEEN + sample / source->batch);
        const float *logits = ll_runner_data(runner, source->logits);
        uint64_t frames = ll_speech_frames(speech, LL_HELD_BACK, sample);
        uint64_t count = ll_speech_labels(speech, LL_HELD_BACK, sample, source->labels);
        uint64_t found = ll_ctc_greedy_decode(logits + sample % source->batch * classes, frames,
                                              source->batch * classes, classes, source->found);
        wrong += ll_edit_distance(source->found, found, source->labels, count, source->row);
        asked += count;
    }
    ll_scores_add(scores, (struct ll_score){"label_error_rate",
                                            "edits that phonemes of unseen utterances need, for each of them",
                                            (double)wrong / (double)asked, true});
    return true;
}

const struct ll_model ll_model_speech = {
    .name = "speech",
    .suite = "fathom",
    .doc = "speech to phonemes by a bidirectional recurrent layer and CTC (Deep Speech)",
    .data = "a folder, and folders in it, of sounds X.wav (RIFF or NIST SPHERE) with their phonemes in X.phn "
            "beside, as TIMIT's; one of sixteen is held back",
    .default_batch = 32,
    .amount = {"audio seconds", FRAMES, 0.005},
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .recipe = {.steps = 3000,
               .batch = 32,
               .settings = {{"frames", "60"}, {"hidden", "64"}, {"classes", "6"}, {"rate", "10000"}}},
    .evaluate = evaluate,
};
