/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of deepspeech2.c: the network. */
#include <stdbool.h>
#include <string.h>

#include "models/data/speech.h"
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"

struct ll_deepspeech2_sizes {
    uint64_t bins, channels, layers, hidden, classes;
    bool gated;    /* else plain recurrent layers */
    bool stepwise; /* products and normalisation of each step by itself */
    bool train;    /* normalise by the batch, else by averages */
};

/* Two convolutions over time and frequency, each with ReLU and then normalised; two stacks of recurrent
 * layers, one from the first step to the last and one back, that meet at the top; a layer on each step, and
 * one that names characters.
 *
 * What a recurrent layer makes of its input does not depend on its state: one product for the whole sequence,
 * normalised over steps and batch together (Amodei et al., 2016, section 3.2). Stepwise, each step has its
 * own product and is normalised by itself, with weights and averages shared, as the suite's code unrolls it.
 */

enum { FIRST_HEIGHT = 11, FIRST_WIDTH = 41, SECOND_HEIGHT = 11, SECOND_WIDTH = 21, STRIDE = 2 };

struct net {
    struct ll_nn *nn;
    const struct ll_deepspeech2_sizes *sizes;
    uint64_t steps, batch;
};

/* How many steps the convolutions leave of so many frames, at least 31. */
static uint64_t deepspeech2_steps(uint64_t frames)
{
    return (frames - FIRST_HEIGHT) / STRIDE + 1 - (SECOND_HEIGHT - 1);
}

static struct ll_value *normalised(struct net *net, const char *name, struct ll_value *x)
{
    struct ll_batch_norm_options options = {.train = net->sizes->train, .epsilon = 1e-3, .decay = 0.9};
    return ll_batch_norm_layer(net->nn, name, x, &options);
}

/* A convolution without padding, of this size and these strides, ReLU, and a normalisation. */
static struct ll_value *convolved(struct net *net, const char *name, struct ll_value *x,
                                  const uint64_t size[2], uint64_t time_stride)
{
    static const enum ll_role roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL, LL_ROLE_CHANNEL};
    struct ll_nn *nn = net->nn;
    const uint64_t in = x->shape.dim[3];
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){size[0], size[1], in, net->sizes->channels}, roles);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_STRIDE_H, (int64_t)time_stride),
                              ll_attr_of_count(LL_ATTR_STRIDE_W, STRIDE)};
    ll_nn_push(nn, name);
    struct ll_init init = ll_init_fan_in(size[0] * size[1] * in, 2);
    struct ll_value *inputs[] = {x, ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, init)};
    struct ll_value *y = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_CONV2D, .input_count = 2, .inputs = inputs, .attr_count = 2, .attrs = attrs});
    y = normalised(net, "norm", ll_nn_do1(nn, LL_OP_RELU, y));
    ll_nn_pop(nn);
    return y;
}

/* Rows [steps batch, n] as [steps, batch, n], and back. */
static struct ll_value *as_steps(struct net *net, struct ll_value *rows)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_shape shape =
        ll_nn_shape(net->nn, 3, (uint64_t[]){net->steps, net->batch, rows->shape.dim[1]}, roles);
    return ll_nn_reshape(net->nn, rows, &shape);
}

static struct ll_value *as_rows(struct net *net, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_shape shape =
        ll_nn_shape(net->nn, 2, (uint64_t[]){net->steps * net->batch, x->shape.dim[2]}, roles);
    return ll_nn_reshape(net->nn, x, &shape);
}

/* The same of each step by itself: one normalisation, applied often. NULL after trouble. */
static struct ll_value **heard_stepwise(struct net *net, const struct ll_linear *linear, struct ll_value *x,
                                        bool norm)
{
    struct ll_nn *nn = net->nn;
    struct ll_value **inputs = ll_nn_unstack(nn, x);
    struct ll_value **steps = ll_alloc(&nn->arena, net->steps, sizeof(struct ll_value *));
    if (!inputs || !steps)
        return NULL;
    ll_nn_share(nn, true);
    for (uint64_t t = 0; t < net->steps; t++) {
        struct ll_value *y = ll_linear_apply(nn, linear, 1, &inputs[t]);
        steps[t] = norm ? normalised(net, "norm", y) : y;
    }
    ll_nn_share(nn, false);
    return steps;
}

/* What the input has to say to a recurrent layer, a matrix a step: x W + b, normalised where that is done. */
static struct ll_value **heard(struct net *net, const char *name, struct ll_value *x, uint64_t units,
                               bool norm)
{
    struct ll_nn *nn = net->nn;
    const uint64_t inputs = x->shape.dim[2];
    struct ll_linear linear = ll_linear_begin(nn, name, inputs, units, ll_init_fan_in(inputs, 1));
    struct ll_value **steps;
    ll_nn_push(nn, name);
    if (net->sizes->stepwise) {
        steps = heard_stepwise(net, &linear, x, norm);
    } else {
        struct ll_value *rows = as_rows(net, x), *y = ll_linear_apply(nn, &linear, 1, &rows);
        steps = ll_nn_unstack(nn, as_steps(net, norm ? normalised(net, "norm", y) : y));
    }
    ll_nn_pop(nn);
    return steps;
}

/* One layer of one direction: what it heard at each step is replaced by the state after it. */
struct layer {
    struct ll_gru gru;
    struct ll_linear plain;
    struct ll_value **gates, **candidates; /* of plain layers the latter alone */
};

static struct ll_value *step(struct net *net, const struct layer *layer, uint64_t t, struct ll_value *h)
{
    if (net->sizes->gated)
        return ll_gru_step(net->nn, &layer->gru, layer->gates[t], layer->candidates[t], h);
    struct ll_value *again = ll_linear_apply(net->nn, &layer->plain, 1, &h);
    return ll_relu_clipped(net->nn, ll_add_of(net->nn, layer->candidates[t], again), 20);
}

static bool begin_layer(struct net *net, struct ll_value *x, struct layer *layer)
{
    const uint64_t units = net->sizes->hidden;
    struct ll_init init = ll_init_fan_in(units, 1);
    bool gated = net->sizes->gated;
    if (gated) {
        layer->gates = heard(net, "gates_i2h", x, 2 * units, true);
        layer->gru = ll_gru_begin(net->nn, "cell", units, init);
    } else
        layer->plain = ll_linear_begin(net->nn, "h2h", units, units, init);
    layer->candidates = heard(net, gated ? "candidate_i2h" : "i2h", x, units, !gated);
    return layer->candidates && (!gated || layer->gates);
}

/* [steps, batch, n] to [steps, batch, hidden]. */
static struct ll_value *recurrent(struct net *net, struct ll_value *x, bool backward)
{
    struct layer layer = {.gates = NULL};
    struct ll_value **states = ll_alloc(&net->nn->arena, net->steps, sizeof(struct ll_value *));
    if (!begin_layer(net, x, &layer) || !states) {
        ll_nn_fail(net->nn, "memory ran out");
        return &net->nn->nothing;
    }
    struct ll_value *h = ll_zeros(net->nn, &layer.candidates[0]->shape);
    for (uint64_t i = 0; i < net->steps; i++) {
        uint64_t t = backward ? net->steps - 1 - i : i;
        states[t] = h = step(net, &layer, t, h);
    }
    return ll_nn_stack(net->nn, states, (uint32_t)net->steps);
}

static struct ll_value *stack(struct net *net, const char *name, struct ll_value *x, bool backward)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, name);
    for (uint64_t i = 0; i < net->sizes->layers && !nn->trouble; i++) {
        const char *layer = ll_format(&nn->arena, "layer%llu", (unsigned long long)i);
        ll_nn_push(nn, layer ? layer : "layer");
        x = recurrent(net, x, backward);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return x;
}

/* The image [batch, steps, frequencies, channels] as [steps, batch, frequencies channels]. */
static struct ll_value *listened(struct net *net, struct ll_value *image)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t *dim = image->shape.dim;
    net->batch = dim[0];
    net->steps = dim[1];
    struct ll_shape shape = ll_nn_shape(net->nn, 3, (uint64_t[]){dim[0], dim[1], dim[2] * dim[3]}, roles);
    return ll_nn_transpose(net->nn, ll_nn_reshape(net->nn, image, &shape), 102);
}

static struct ll_value *named(struct net *net, struct ll_value *rows)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes->hidden;
    struct ll_dense_options top = {
        .units = hidden, .init = ll_init_fan_in(rows->shape.dim[1], 2), .bias = LL_NO_BIAS};
    struct ll_dense_options last = {.units = net->sizes->classes, .init = ll_init_fan_in(hidden, 1)};
    rows = normalised(net, "top_norm", ll_dense_layer(nn, "top", rows, &top));
    return ll_dense_layer(nn, "characters", ll_nn_do1(nn, LL_OP_RELU, rows), &last);
}

/* Logits [steps, batch, classes] of spectrograms [batch, frames, bins, 1]. */
static struct ll_value *deepspeech2_forward(struct ll_nn *nn, const struct ll_deepspeech2_sizes *sizes,
                                            struct ll_value *spectrograms)
{
    struct net net = {.nn = nn, .sizes = sizes};
    const uint64_t first[] = {FIRST_HEIGHT, FIRST_WIDTH}, second[] = {SECOND_HEIGHT, SECOND_WIDTH};
    struct ll_value *x = convolved(&net, "conv1", spectrograms, first, STRIDE);
    x = convolved(&net, "conv2", x, second, 1);
    if (nn->trouble)
        return &nn->nothing;
    x = listened(&net, x);
    struct ll_value *both[] = {stack(&net, "forward", x, false), stack(&net, "backward", x, true)};
    if (nn->trouble)
        return &nn->nothing;
    x = ll_nn_concat(nn, both, 2, 2);
    return as_steps(&net, named(&net, as_rows(&net, x)));
}

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
    return deepspeech2_steps(ll_spectra_frames(&feed->source->spectra, feed->part, sample));
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
    return deepspeech2_forward(nn, &sizes, heard);
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
            ll_ctc_greedy_decode(logits + sample % source->batch * classes, steps_of(&feed, sample),
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
    .recipe = {.steps = 400,
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
