/* SPDX-License-Identifier: Apache-2.0 */
/* The speech recogniser of Catamount (Hestness et al., 2019; Battenberg et al., 2017): S frames of 40
 * features in, D characters out.
 *
 *   encoder    features less their mean over their deviation; three layers of long short-term memory of width
 *              e in both directions, behind the first two the larger of each two neighbours in time; the
 *              memory [S/4, 2 e], of which keys are made [2 e, a]
 *   decoder    attention cell of width e/2 on [the character before, what was heard], asks the memory:
 *              shares = softmax(v tanh(keys + (shares before) * filters + [c h] Q + b)), filters over 50
 *              frames; what is heard = sum of shares of the memory; decoder cell of width e/2 on [h of the
 *              attention cell, what is heard]; scores of 31 characters
 *
 *     parameters 71,084,729 with e = 1024, the mean and the deviation of each feature being two of them, and
 *     TensorFlow's counter of steps and learning rate two more
 *
 * Both decoder cells add noise to all of their weights at every step, as Catamount's graph does: drawn once,
 * scaled and added each time. The character before is the right one; that graph sometimes takes one of its
 * own (a draw for each of the batch, 5 FLOP a character), which is left out. SGD, gradients clipped to a
 * common norm. */
#include <math.h>
#include "models/feed.h"
#include "models/frontier/catamount.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/training.h"

static const enum ll_role batch_hidden[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};

enum { HIDDEN, STEPS, WRITTEN, VOCABULARY, FEATURES, ATTENTION, WIDTH, FILTERS, RATE };

static const struct ll_model_param speech_params[] = {
    [HIDDEN] = {"hidden", 1024, 2, 1 << 17, "width of the encoder's layers; the decoder's have half of it"},
    [STEPS] = {"steps", 335, 4, 1 << 17, "frames of an utterance"},
    [WRITTEN] = {"written", 0, 0, 1 << 17, "characters of it; 0: a quarter of the frames"},
    [VOCABULARY] = {"vocabulary", 31, 2, 1 << 16, "characters"},
    [FEATURES] = {"features", 40, 1, 1 << 16, "numbers of a frame"},
    [ATTENTION] = {"attention", 128, 1, 1 << 16, "width of keys"},
    [WIDTH] = {"width", 50, 1, 1 << 12, "frames of the memory that a filter of the shares covers"},
    [FILTERS] = {"filters", 4, 1, 1 << 12, "filters of the shares"},
    [RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
};

static const enum ll_role hidden_roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
static const enum ll_role batch_sequence[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};

struct sizes {
    uint64_t batch, frames, memory, written, vocabulary, features, hidden, attention, units;
};

struct net {
    struct ll_nn *nn;
    const struct ll_build *build;
    struct sizes sizes;
    struct ll_rng rng;
    struct ll_value *x;             /* [frames, batch, features] */
    struct ll_value *left;          /* [frames, batch]: frames left of each utterance, above 0 */
    struct ll_value *read, *labels; /* [written, batch], [written x batch] */
    struct ll_value *weights;       /* [written x batch]: which labels count */
    struct ll_value *memory, *keys; /* [batch, memory, 2 hidden], [batch, memory, attention] */
};

/* Characters count up; what comes behind one is one more. Frames are waves that tell where it begins. */
static uint64_t character_at(const struct sizes *sizes, uint64_t step, uint64_t i)
{
    return (step * 7 + i % sizes->batch * 3 + i / sizes->batch) % sizes->vocabulary;
}

static void fill_read(void *context, uint64_t step, int32_t *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->written; i++)
        data[i] = (int32_t)character_at(sizes, step, i);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->written; i++)
        data[i] = (int32_t)((character_at(sizes, step, i) + 1) % sizes->vocabulary);
}

static void fill_frames(void *context, uint64_t step, float *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->frames * sizes->batch * sizes->features; i++) {
        const uint64_t frame = i / sizes->features, feature = i % sizes->features;
        const double start = (double)character_at(sizes, step, frame % sizes->batch);
        data[i] = (float)sin((start + (double)(frame / sizes->batch)) * (double)(feature + 1) * 0.1);
    }
}

static void fill_left(void *context, uint64_t step, float *data)
{
    const struct sizes *sizes = context;
    (void)step;
    for (uint64_t i = 0; i < sizes->batch * sizes->frames; i++)
        data[i] = (float)(sizes->frames - i / sizes->batch);
}

static void fill_ones(void *context, uint64_t step, float *data)
{
    const struct sizes *sizes = context;
    (void)step;
    for (uint64_t i = 0; i < sizes->batch * sizes->written; i++)
        data[i] = 1;
}

static void feed_all(struct net *net)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_CHANNEL};
    struct ll_nn *nn = net->nn;
    struct sizes *sizes = ll_copy(&nn->arena, &net->sizes, sizeof *sizes);
    const uint64_t batch = net->sizes.batch, written = net->sizes.written, all = written * batch;
    const uint64_t frames[] = {net->sizes.frames, batch, net->sizes.features};
    const struct ll_shape x = ll_nn_shape(nn, 3, frames, roles), left = ll_nn_shape(nn, 2, frames, roles);
    const struct ll_shape read = ll_nn_shape(nn, 2, (uint64_t[]){written, batch}, roles);
    const struct ll_shape flat = ll_nn_shape(nn, 1, &all, batch_hidden);
    if (!sizes) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    net->x = ll_feed_floats(nn, "frames", &x, fill_frames, sizes);
    net->left = ll_feed_floats(nn, "frames_left", &left, fill_left, sizes);
    net->read = ll_feed_indices(nn, "read", &read, fill_read, sizes);
    net->labels = ll_feed_indices(nn, "labels", &flat, fill_labels, sizes);
    net->weights = ll_feed_floats(nn, "label_weights", &flat, fill_ones, sizes);
}

static struct ll_value *weight(struct net *net, const char *name, unsigned rank, const uint64_t *dims,
                               struct ll_init init)
{
    struct ll_shape shape = ll_nn_shape(net->nn, rank, dims, rank <= 2 ? hidden_roles : NULL);
    return ll_nn_variable(net->nn, name, &shape, LL_WEIGHT, init);
}

/* (x - mean) / deviation, both of which are known beforehand. */
static struct ll_value *normalised(struct net *net)
{
    struct ll_nn *nn = net->nn;
    const bool frozen = nn->frozen;
    nn->frozen = true;
    struct ll_value *mean = weight(net, "mean", 1, &net->sizes.features, (struct ll_init){0});
    struct ll_value *deviation =
        weight(net, "deviation", 1, &net->sizes.features, (struct ll_init){LL_INIT_CONSTANT, 0.7, NULL});
    nn->frozen = frozen;
    return ll_div_of(nn, ll_sub_of(nn, net->x, mean), deviation);
}

/* Zeros before the first step of a loop. */
static struct ll_value *state_before(struct net *net, uint64_t width)
{
    const struct ll_shape shape =
        ll_nn_shape(net->nn, 2, (uint64_t[]){net->sizes.batch, width}, batch_hidden);
    struct ll_value *zeros = ll_made_zeros(net->nn, &shape);
    zeros->loop = LL_ENTERS_LOOP;
    return zeros;
}

/* A direction of a layer: x [steps, batch, features] to [batch, steps, hidden]. What flows into the zeros
 * that are put out behind the end is added up but in the first layer. */
static struct ll_value *direction(struct net *net, bool first, struct ll_value *x, bool backward)
{
    struct ll_nn *nn = net->nn;
    if (nn->trouble)
        return &nn->nothing;
    const uint64_t hidden = net->sizes.hidden, steps = x->shape.dim[0], inputs = x->shape.dim[2];
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    ll_nn_push(nn, backward ? "backward" : "forward");
    const struct ll_lstm lstm = ll_lstm_begin(nn, "cell", inputs, hidden, ll_init_fan_in(inputs + hidden, 1));
    struct ll_value *state = state_before(net, 2 * hidden);
    const struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){net->sizes.batch, hidden}, batch_hidden);
    struct ll_value *zeros = ll_filled(nn, ll_format(&nn->arena, "%s/zeros", nn->scope), &shape, 0);
    zeros->loop = first ? LL_NO_LOOP : LL_READ_BY_LOOP;
    struct ll_value **xs = ll_nn_unstack(nn, backward ? ll_nn_do1(nn, LL_OP_REVERSE, x) : x);
    struct ll_value **left = ll_nn_unstack(nn, net->left);
    if (!outputs || !xs || !left) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "while");
    for (uint64_t t = 0; t < steps; t++) {
        struct ll_value *counts = ll_nn_do2(nn, LL_OP_GREATER, left[t], ll_constant(nn, "none", 0));
        outputs[t] = ll_tf_packed_lstm_stop(nn, &lstm, xs[t], counts, zeros, &state);
    }
    state->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *result = ll_nn_stack(nn, outputs, (uint32_t)steps);
    result = ll_nn_transpose(nn, backward ? ll_nn_do1(nn, LL_OP_REVERSE, result) : result, 102);
    ll_nn_pop(nn);
    return result;
}

/* A layer, [batch, steps, 2 hidden]; each direction has a copy with time in front for itself. */
static struct ll_value *layer(struct net *net, unsigned number, struct ll_value *x)
{
    struct ll_nn *nn = net->nn;
    struct ll_value *both[2];
    ll_nn_push_numbered(nn, "layer", number);
    for (int i = 0; i < 2; i++)
        both[i] = direction(net, number == 0, number ? ll_nn_transpose(nn, x, 102) : x, i == 1);
    x = ll_nn_concat(nn, both, 2, 2);
    ll_nn_pop(nn);
    return x;
}

/* The larger of each two neighbours of [batch, steps, features] in time, the last of an odd number left out.
 */
static struct ll_value *pooled(struct ll_nn *nn, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    if (nn->trouble)
        return &nn->nothing;
    const uint64_t *dim = x->shape.dim;
    const struct ll_shape image = ll_nn_shape(nn, 4, (uint64_t[]){dim[0], dim[1], 1, dim[2]}, roles);
    const struct ll_shape half = ll_nn_shape(nn, 3, (uint64_t[]){dim[0], dim[1] / 2, dim[2]}, batch_sequence);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_KERNEL_H, 2),
                                    ll_attr_of_count(LL_ATTR_KERNEL_W, 1),
                                    ll_attr_of_count(LL_ATTR_STRIDE_H, 2)};
    struct ll_value *seen = ll_nn_reshape(nn, x, &image);
    struct ll_value *largest = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_MAX_POOL, .input_count = 1, .inputs = &seen, .attr_count = 3, .attrs = attrs});
    return ll_nn_reshape(nn, largest, &half);
}

/* x [batch, memory, features] times a matrix [features, attention], and a bias. */
static struct ll_value *affine(struct net *net, struct ll_value *x)
{
    struct ll_nn *nn = net->nn;
    const struct sizes *sizes = &net->sizes;
    const uint64_t dims[] = {sizes->batch, sizes->memory, sizes->attention}, inputs = 2 * sizes->hidden;
    const struct ll_shape keys = ll_nn_shape(nn, 3, dims, batch_sequence);
    const struct ll_shape rows =
        ll_nn_shape(nn, 2, (uint64_t[]){sizes->batch * sizes->memory, inputs}, batch_hidden);
    const struct ll_linear linear =
        ll_linear_begin(nn, "keys", inputs, sizes->attention, ll_init_fan_in(inputs, 1));
    x = ll_nn_reshape(nn, x, &rows);
    return ll_nn_reshape(nn, ll_linear_apply(nn, &linear, 1, &x), &keys);
}

static void encode(struct net *net)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, "encoder");
    struct ll_value *x = layer(net, 0, normalised(net));
    x = layer(net, 1, pooled(nn, x));
    net->memory = layer(net, 2, pooled(nn, x));
    net->keys = affine(net, net->memory);
    net->memory->loop = net->keys->loop = LL_READ_BY_LOOP;
    ll_nn_pop(nn);
}

/* The decoder's weights, its noise, and what its loop hands on. */
struct decoder {
    struct ll_lstm attention, cell;
    struct ll_value *attention_noise, *cell_noise; /* of the matrices; NULL: none is added */
    struct ll_value *filters, *spread;             /* [width, 1, 1, filters], [1, 1, filters, a] */
    struct ll_value *query, *bias, *energy;        /* [2 units, a], [a], [a] */
    struct ll_linear scores;                       /* [units, vocabulary] */
    struct ll_value *attention_state, *cell_state; /* [batch, 2 units] */
    struct ll_value *shares, *heard;               /* [batch, memory], [batch, 2 hidden] */
};

/* Normal numbers of the shape of a cell's matrix. */
static struct ll_value *noise_for(struct net *net, const struct ll_lstm *lstm)
{
    struct ll_nn *nn = net->nn;
    if (!net->build->train || nn->trouble)
        return NULL;
    struct ll_value *drawn = ll_random_normal(nn, &net->rng, &lstm->gates.weights->shape);
    struct ll_value *least = ll_constant(nn, "least", 0), *one = ll_constant(nn, "one", 1);
    return ll_add_of(nn, ll_mul_of(nn, drawn, one), least);
}

/* Makes the decoder's weights, its attention and the states that its loop begins with. */
static struct decoder begin(struct net *net)
{
    struct ll_nn *nn = net->nn;
    const struct sizes *sizes = &net->sizes;
    const uint64_t units = sizes->units, heard = 2 * sizes->hidden, a = sizes->attention;
    const uint64_t filters = (uint64_t)net->build->params[FILTERS],
                   width = (uint64_t)net->build->params[WIDTH];
    const struct ll_init small = {LL_INIT_NORMAL, 0.3, NULL};
    struct decoder d = {
        .attention = ll_lstm_begin(nn, "attention_cell", sizes->vocabulary + heard, units,
                                   ll_init_fan_in(sizes->vocabulary + heard + units, 1)),
        .cell = ll_lstm_begin(nn, "cell", units + heard, units, ll_init_fan_in(2 * units + heard, 1)),
        .filters = weight(net, "filters", 4, (uint64_t[]){width, 1, 1, filters}, small),
        .spread = weight(net, "spread", 4, (uint64_t[]){1, 1, filters, a}, small),
        .query = weight(net, "query", 2, (uint64_t[]){2 * units, a}, ll_init_fan_in(2 * units, 1)),
        .bias = weight(net, "bias", 1, &a, (struct ll_init){0}),
        .energy = weight(net, "energy", 1, &a, small),
        .scores = ll_linear_begin(nn, "scores", units, sizes->vocabulary, ll_init_fan_in(units, 1)),
        .attention_state = state_before(net, 2 * units),
        .cell_state = state_before(net, 2 * units),
        .shares = state_before(net, sizes->memory),
        .heard = state_before(net, heard),
    };
    d.attention_noise = noise_for(net, &d.attention);
    d.cell_noise = noise_for(net, &d.cell);
    return d;
}

/* The cell as it is at this step, its matrix disturbed. */
static struct ll_lstm disturbed(struct ll_nn *nn, struct ll_lstm lstm, struct ll_value *noise)
{
    if (noise)
        lstm.gates.weights = ll_add_of(nn, lstm.gates.weights, ll_nn_mul_scalar(nn, noise, "noise", 0.01));
    return lstm;
}

static struct ll_value *convolved(struct ll_nn *nn, struct ll_value *x, struct ll_value *filter)
{
    const int64_t taps = nn->trouble ? 1 : (int64_t)filter->shape.dim[0];
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_PAD_TOP, (taps - 1) / 2),
                                    ll_attr_of_count(LL_ATTR_PAD_BOTTOM, taps / 2)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CONV2D,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){x, filter},
                                             .attr_count = 2,
                                             .attrs = attrs});
}

/* tf.nn.conv1d of [batch, memory, channels]: a convolution of an image one pixel wide, seen as it was. */
static struct ll_value *convolved_line(struct net *net, struct ll_value *x, struct ll_value *filter)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    const uint64_t batch = net->sizes.batch, memory = net->sizes.memory;
    if (net->nn->trouble)
        return &net->nn->nothing;
    const uint64_t channels = filter->shape.dim[2], filters = filter->shape.dim[3];
    const struct ll_shape image = ll_nn_shape(net->nn, 4, (uint64_t[]){batch, memory, 1, channels}, roles);
    const struct ll_shape line =
        ll_nn_shape(net->nn, 3, (uint64_t[]){batch, memory, filters}, batch_sequence);
    return ll_nn_reshape(net->nn, convolved(net->nn, ll_nn_reshape(net->nn, x, &image), filter), &line);
}

/* What the shares before say about those to come: [batch, memory, attention]. */
static struct ll_value *located(struct net *net, const struct decoder *d)
{
    const struct ll_shape line =
        ll_nn_shape(net->nn, 3, (uint64_t[]){net->sizes.batch, net->sizes.memory, 1}, batch_sequence);
    struct ll_value *x = convolved_line(net, ll_nn_reshape(net->nn, d->shares, &line), d->filters);
    x = convolved_line(net, x, d->spread);
    return ll_nn_reshape(net->nn, x, &x->shape);
}

/* Changes shares and what is heard. */
static void attend(struct net *net, struct decoder *d)
{
    struct ll_nn *nn = net->nn;
    const struct sizes *sizes = &net->sizes;
    const struct ll_shape asks = ll_nn_shape(nn, 3, (uint64_t[]){sizes->batch, 1, sizes->attention},
                                             (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HIDDEN});
    const struct ll_shape column =
        ll_nn_shape(nn, 3, (uint64_t[]){sizes->batch, sizes->memory, 1},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN});
    ll_nn_push(nn, "attention");
    struct ll_value *query = ll_nn_do2(nn, LL_OP_MATMUL, d->attention_state, d->query);
    struct ll_value *sum = ll_add_of(nn, net->keys, located(net, d));
    sum = ll_add_of(nn, ll_add_of(nn, sum, ll_nn_reshape(nn, query, &asks)), d->bias);
    struct ll_value *energy = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_TANH, sum), d->energy);
    d->shares = ll_nn_do1(nn, LL_OP_SOFTMAX, ll_sum_over(nn, energy, 2, 1));
    d->heard = ll_sum_over(nn, ll_mul_of(nn, net->memory, ll_nn_reshape(nn, d->shares, &column)), 1, 1);
    ll_nn_pop(nn);
}

static struct ll_value *one_hot(struct net *net, struct ll_value *characters)
{
    const struct ll_attr depth = ll_attr_of_count(LL_ATTR_DEPTH, (int64_t)net->sizes.vocabulary);
    const struct ll_shape shape =
        ll_nn_shape(net->nn, 2, (uint64_t[]){net->sizes.batch, net->sizes.vocabulary},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_VOCABULARY});
    return ll_nn_do(net->nn, &(struct ll_nn_call){.kind = LL_OP_ONE_HOT,
                                                  .input_count = 1,
                                                  .inputs = &characters,
                                                  .attr_count = 1,
                                                  .attrs = &depth,
                                                  .given_count = 1,
                                                  .given = &shape});
}

/* The scores of the next character, [batch, vocabulary]. */
static struct ll_value *step(struct net *net, struct decoder *d, struct ll_value *before)
{
    struct ll_nn *nn = net->nn;
    const struct ll_lstm attention = disturbed(nn, d->attention, d->attention_noise);
    const struct ll_lstm cell = disturbed(nn, d->cell, d->cell_noise);
    struct ll_value *x = ll_nn_concat(nn, (struct ll_value *[]){one_hot(net, before), d->heard}, 2, 1);
    struct ll_value *h = ll_tf_packed_lstm_step(nn, &attention, x, &d->attention_state);
    attend(net, d);
    x = ll_nn_concat(nn, (struct ll_value *[]){h, d->heard}, 2, 1);
    h = ll_tf_packed_lstm_step(nn, &cell, x, &d->cell_state);
    return ll_linear_apply(nn, &d->scores, 1, &h);
}

/* Of all characters, [written x batch, vocabulary]. */
static struct ll_value *decode(struct net *net)
{
    struct ll_nn *nn = net->nn;
    const struct sizes *sizes = &net->sizes;
    struct ll_value **scores = ll_alloc(&nn->arena, sizes->written, sizeof *scores);
    struct ll_value **characters = ll_nn_unstack(nn, net->read);
    const struct ll_shape rows =
        ll_nn_shape(nn, 2, (uint64_t[]){sizes->written * sizes->batch, sizes->vocabulary},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_VOCABULARY});
    if (!scores || !characters) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "decoder");
    struct decoder d = begin(net);
    ll_nn_push(nn, "while");
    for (uint64_t t = 0; t < sizes->written && !nn->trouble; t++)
        scores[t] = step(net, &d, characters[t]);
    d.attention_state->loop = d.cell_state->loop = d.shares->loop = d.heard->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *all = nn->trouble ? &nn->nothing : ll_nn_stack(nn, scores, (uint32_t)sizes->written);
    ll_nn_pop(nn);
    return ll_nn_reshape(nn, all, &rows);
}

static struct ll_value *learn(struct net *net, struct ll_value *scores, struct ll_value *counter)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, scores, net->labels);
    struct ll_value *sum = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, each, net->weights));
    struct ll_value *loss = ll_div_of(nn, sum, ll_nn_do1(nn, LL_OP_SUM, net->weights));
    ll_nn_pop(nn);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){.kind = LL_SGD,
                                       .rate = (double)net->build->params[RATE] / 1000,
                                       .clip = LL_CLIP_GLOBAL_NORM,
                                       .clip_norm = 5});
    ll_count_step(nn, counter);
    return loss;
}

static struct ll_value *build_speech(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const uint64_t frames = (uint64_t)values[STEPS], hidden = (uint64_t)values[HIDDEN];
    struct net net = {
        .nn = nn,
        .build = build,
        .sizes = {.batch = build->batch,
                  .frames = frames,
                  .memory = frames / 2 / 2,
                  .written = values[WRITTEN] ? (uint64_t)values[WRITTEN] : frames / 4,
                  .vocabulary = (uint64_t)values[VOCABULARY],
                  .features = (uint64_t)values[FEATURES],
                  .hidden = hidden,
                  .attention = (uint64_t)values[ATTENTION],
                  .units = hidden / 2},
    };
    nn->as_tensorflow = true;
    feed_all(&net);
    struct ll_value *counter = ll_begin_counter(nn, true);
    if (build->train)
        net.rng = ll_rng_begin(nn, build->seed);
    encode(&net);
    struct ll_value *scores = decode(&net);
    return build->train ? learn(&net, scores, counter) : scores;
}

const struct ll_model ll_model_speech_attention = {
    .name = "speech_attention",
    .suite = "frontier",
    .doc = "speech to characters by bidirectional LSTM layers and attention (Catamount's recogniser)",
    .default_batch = 32,
    .params = speech_params,
    .param_count = sizeof speech_params / sizeof *speech_params,
    .build = build_speech,
};
