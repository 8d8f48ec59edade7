/* SPDX-License-Identifier: Apache-2.0 */
/* What the generators of ParaDnn have in common (Wang, Wei, Brooks, "A Systematic Methodology for Analysis of
 * Deep Learning Hardware and Software Platforms", MLSys 2020): types of numbers, labels, loss, optimizer.
 *
 * Weights are held in f32. In a narrower type each is cast once a step before its use, the logits back after
 * it. The host makes a row of zeros and a one of each label; the loss is their mean cross entropy. RMSProp
 * trains, with decay and momentum of 0.9 and 1 under the root. */
#include "models/data/images.h"

#include <assert.h>

#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "tracer/base/random.h"

/* The words of a parameter `dtype`, f32 being the first; others can be recorded, not computed. */

/* Its row in a model's table of parameters. */
#define DTYPE_PARAM                                                                                          \
    {                                                                                                        \
        "dtype", 0, 0, 2, "type of activations; all but f32 with --dry-run"                                  \
    }

static const enum ll_dtype dtypes[] = {LL_F32, LL_BF16, LL_F16};
static const char *const dtype_words[] = {"f32", "bf16", "f16", NULL};

/* To be called first: what is built from here on computes in the type with this number. */
static void paradnn_begin(struct ll_nn *nn, int64_t dtype)
{
    assert(dtype >= 0 && (size_t)dtype < sizeof dtypes / sizeof *dtypes);
    if (dtypes[dtype] != LL_F32)
        nn->real = dtypes[dtype];
}

/* Logits as numbers of full precision; what is built from here on computes in it. */
static struct ll_value *paradnn_logits(struct ll_nn *nn, struct ll_value *logits)
{
    bool narrow = nn->real != nn->master;
    nn->real = nn->master;
    return narrow ? ll_as_real(nn, logits) : logits;
}

/* Class numbers as rows: the host's work, like whatever comes before the first op of the device. */
static struct ll_value *one_hot(struct ll_nn *nn, struct ll_value *labels, uint64_t classes)
{
    enum ll_phase phase = nn->phase;
    struct ll_attr depth = ll_attr_of_count(LL_ATTR_DEPTH, (int64_t)classes);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){labels->shape.dim[0], classes},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_CLASSES});
    nn->phase = LL_PHASE_INPUT;
    ll_nn_push(nn, "labels");
    struct ll_value *rows = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ONE_HOT,
                                                              .input_count = 1,
                                                              .inputs = &labels,
                                                              .attr_count = 1,
                                                              .attrs = &depth,
                                                              .given_count = 1,
                                                              .given = &shape});
    ll_nn_pop(nn);
    nn->phase = phase;
    return rows;
}

/* The loss of full logits [batch, classes] for labelled samples: one that the host has made rows of. */
static struct ll_value *paradnn_loss(struct ll_nn *nn, struct ll_value *logits,
                                     const struct ll_images *samples)
{
    struct ll_value *labels = ll_feed_labels(nn, logits->shape.dim[0], samples);
    struct ll_value *rows = one_hot(nn, labels, samples->classes);
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT_DENSE, logits, rows);
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return loss;
}

/* Trains all weights on it; the rate is in thousandths. */
static void paradnn_minimise(struct ll_nn *nn, struct ll_value *loss, int64_t rate)
{
    assert(rate > 0);
    ll_minimise(
        nn, loss,
        &(struct ll_optimizer){
            .kind = LL_RMSPROP, .rate = (double)rate / 1000, .momentum = 0.9, .decay = 0.9, .epsilon = 1});
}

/* ParaDnn's fully connected networks: as many layers of one width as asked for.
 *
 *   input I, dense N and ReLU, L - 1 times dense N and ReLU, dense O
 *
 * L layers in all have nodes; biases everywhere. I N + (L - 1) N^2 + N O + L N + O parameters and
 * 2 (I N + (L - 1) N^2 + N O) FLOP forward a sample: with 4 layers of 32 nodes, 2000 inputs and 200 outputs
 * 73,800 and 147,000 or so, with 128 of 8192, 8000 and 1000 8,597,603,304 and 17.19 GFLOP. */

enum { FC_LAYERS, FC_NODES, FC_INPUT, FC_OUTPUT, FC_DTYPE, FC_RATE, FC_PARAMS };

static const struct ll_model_param fc_params[FC_PARAMS] = {
    [FC_LAYERS] = {"layers", 8, 1, 4096, "that have nodes"},
    [FC_NODES] = {"nodes", 1024, 1, 1 << 24, "of each layer"},
    [FC_INPUT] = {"input", 2000, 1, 1 << 30, "numbers that a sample is"},
    [FC_OUTPUT] = {"output", 1000, 2, 1 << 30, "classes to tell apart"},
    [FC_DTYPE] = DTYPE_PARAM,
    [FC_RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

static const char *const *const fc_words[FC_PARAMS] = {[FC_DTYPE] = dtype_words};

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_activation activation)
{
    return ll_dense_layer(
        nn, name, x,
        &(struct ll_dense_options){.units = units,
                                   .activation = activation,
                                   .init = ll_init_fan_in(x->shape.dim[1], activation == LL_RELU ? 2 : 1)});
}

static struct ll_value *build_fc(struct ll_nn *nn, const struct ll_build *build)
{
    uint64_t layers = (uint64_t)build->params[FC_LAYERS], nodes = (uint64_t)build->params[FC_NODES];
    const struct ll_images samples = {1,           (uint64_t)build->params[FC_INPUT],
                                      1,           (uint64_t)build->params[FC_OUTPUT],
                                      build->seed, LL_LEARNED,
                                      NULL};
    paradnn_begin(nn, build->params[FC_DTYPE]);
    struct ll_value *x = ll_flatten(nn, ll_feed_images(nn, build->batch, &samples));
    ll_nn_push(nn, "hidden");
    for (uint64_t i = 0; i < layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", (unsigned)i + 1);
        x = dense(nn, "dense", x, nodes, LL_RELU);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    struct ll_value *logits = paradnn_logits(nn, dense(nn, "output", x, samples.classes, LL_LINEAR));
    if (!build->train)
        return logits;
    struct ll_value *loss = paradnn_loss(nn, logits, &samples);
    paradnn_minimise(nn, loss, build->params[FC_RATE]);
    return loss;
}

const struct ll_model ll_model_paradnn_fc = {
    .name = "paradnn_fc",
    .suite = "paradnn",
    .doc = "fully connected networks of any depth and width",
    .default_batch = 64,
    .params = fc_params,
    .param_count = FC_PARAMS,
    .words = fc_words,
    .build = build_fc,
};

/* ParaDnn's convolutional networks: residual networks with four groups of n blocks, residual or
 * bottleneck, of any width (He et al., 2015).
 *
 *   images of any size
 *   conv 7/2 F, normalise, ReLU, pool 3/2                              1/4 of the image
 *   group g = 1, 2, 3, 4: n blocks of f = F 2^(g-1), the first with stride 2 in all but the first group
 *       residual     relu(x + conv 3 f, conv 3 f)          normalised each, a ReLU between
 *       bottleneck   relu(x + conv 1 f, conv 3 f, conv 1 4f)
 *       in the first block of each group a conv 1 and normalisation take the place of x
 *   mean of windows of 7x7, dense O
 *
 * An image of 200 pixels is 7x7 behind the last group and 1x1 behind the mean, one of 300 10x10 and 4x4. The
 * averages of the normalisations are never updated. 16 filters, images of 200 and 500 classes: residual
 * blocks, one a group, 374,244 parameters and 0.131 GFLOP, bottlenecks 762,884 and 0.192. */

enum { CNN_BLOCK, CNN_BLOCKS, CNN_FILTERS, CNN_IMAGE, CNN_OUTPUT, CNN_DTYPE, CNN_RATE, CNN_PARAMS };
enum { COLOURS = 3, GROUPS = 4, WINDOW = 7 };

static const struct ll_model_param cnn_params[CNN_PARAMS] = {
    [CNN_BLOCK] = {"block", 0, 0, 1, "of two convolutions or of three"},
    [CNN_BLOCKS] = {"blocks", 3, 1, 256, "of each group"},
    [CNN_FILTERS] = {"filters", 64, 1, 65536, "of the first convolution; the others follow"},
    [CNN_IMAGE] = {"image", 200, 193, 4096, "height and width of an image, in pixels"},
    [CNN_OUTPUT] = {"output", 1000, 2, 1 << 30, "classes to tell apart"},
    [CNN_DTYPE] = DTYPE_PARAM,
    [CNN_RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

static const char *const blocks[] = {"bottleneck", "residual", NULL};
static const char *const *const cnn_words[CNN_PARAMS] = {[CNN_BLOCK] = blocks, [CNN_DTYPE] = dtype_words};

struct net {
    bool train, residual;
};

static struct ll_value *conv_norm(struct ll_nn *nn, const struct net *net, const char *name,
                                  struct ll_value *x, const struct ll_conv_options *conv, bool silent)
{
    struct ll_conv_options padded = *conv;
    padded.padding = LL_HALF;
    return ll_conv_norm_layer(
        nn, name, x, &padded,
        &(struct ll_batch_norm_options){
            .train = net->train, .still = true, .silent = silent, .epsilon = 1e-5, .decay = 0.9});
}

static struct ll_value *block(struct ll_nn *nn, const struct net *net, struct ll_value *x, uint64_t filters,
                              uint64_t stride, bool projects)
{
    const struct ll_conv_options narrow = {.kernel = 1, .filters = filters, .activation = LL_RELU},
                                 wide = {.kernel = 3,
                                         .filters = filters,
                                         .stride = stride,
                                         .activation = LL_RELU},
                                 last = {.kernel = net->residual ? 3 : 1,
                                         .filters = net->residual ? filters : 4 * filters},
                                 shortcut = {.kernel = 1, .filters = last.filters, .stride = stride};
    struct ll_value *by = projects ? conv_norm(nn, net, "shortcut", x, &shortcut, false) : x;
    if (!net->residual)
        x = conv_norm(nn, net, "conv1", x, &narrow, false);
    x = conv_norm(nn, net, net->residual ? "conv1" : "conv2", x, &wide, false);
    x = conv_norm(nn, net, net->residual ? "conv2" : "conv3", x, &last, true);
    return ll_nn_do1(nn, LL_OP_RELU, ll_add_of(nn, x, by));
}

static struct ll_value *group(struct ll_nn *nn, const struct net *net, struct ll_value *x, uint64_t count,
                              uint64_t filters, uint64_t stride)
{
    for (uint64_t i = 0; i < count && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "block", (unsigned)i + 1);
        x = block(nn, net, x, filters, i == 0 ? stride : 1, i == 0);
        ll_nn_pop(nn);
    }
    return x;
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    const struct net net = {build->train, build->params[CNN_BLOCK] == 1};
    const struct ll_conv_options stem = {
        .kernel = 7, .filters = (uint64_t)build->params[CNN_FILTERS], .stride = 2, .activation = LL_RELU};
    x = conv_norm(nn, &net, "stem", x, &stem, false);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_SAME);
    for (unsigned g = 0; g < GROUPS; g++) {
        ll_nn_push_numbered(nn, "group", g + 1);
        x = group(nn, &net, x, (uint64_t)build->params[CNN_BLOCKS], stem.filters << g, g == 0 ? 1 : 2);
        ll_nn_pop(nn);
    }
    x = ll_flatten(nn, ll_avg_pool_layer(nn, "mean", x, WINDOW, 1, LL_VALID));
    return ll_dense_layer(nn, "output", x,
                          &(struct ll_dense_options){.units = (uint64_t)build->params[CNN_OUTPUT],
                                                     .init = ll_init_fan_in(x->shape.dim[1], 1)});
}

/* Images of any size; four groups of n blocks, as in the comment above. */
static struct ll_value *build_cnn(struct ll_nn *nn, const struct ll_build *build)
{
    uint64_t size = (uint64_t)build->params[CNN_IMAGE];
    const struct ll_images samples = {size,        size,       COLOURS, (uint64_t)build->params[CNN_OUTPUT],
                                      build->seed, LL_LEARNED, NULL};
    paradnn_begin(nn, build->params[CNN_DTYPE]);
    struct ll_value *images = ll_feed_images(nn, build->batch, &samples);
    struct ll_value *logits = paradnn_logits(nn, forward(nn, images, build));
    if (!build->train)
        return logits;
    struct ll_value *loss = paradnn_loss(nn, logits, &samples);
    paradnn_minimise(nn, loss, build->params[CNN_RATE]);
    return loss;
}

const struct ll_model ll_model_paradnn_cnn = {
    .name = "paradnn_cnn",
    .suite = "paradnn",
    .doc = "residual networks of any depth and width",
    .default_batch = 64,
    .params = cnn_params,
    .param_count = CNN_PARAMS,
    .words = cnn_words,
    .build = build_cnn,
};

/* ParaDnn's recurrent networks: language models of stacked cells as wide as a word's vector,
 * unrolled over whole sentences.
 *
 *   words, a row of the embedding [V, E] each; L cells of E units, one above the other, word after word;
 *   from all states logits = h W + b of V words; the mean cross entropy of the words that count
 *
 *   rnn    h' = tanh([x h] W + b)
 *   lstm   Hochreiter and Schmidhuber, 1997, nothing added to the forget gate
 *   gru    [r u] = sigmoid([x h] G + b)     c = tanh([x, r h] C + b)     h' = c + u (h - c)
 *          (Cho et al., 2014)
 *
 * g products a cell, 1, 4 and 3: V E + L (2 E g E + g E) + E V + V parameters, T (L 4 g E^2 + 2 E V) FLOP
 * forward for a sentence of T words. One plain cell of 100, 10 words of 2: 20,502 and 404,000; 13 of 900, 90
 * words of 1024: 22,915,924, with lstm 86,131,024, with gru 65,059,324 parameters.
 *
 * Sentences count upwards from a word drawn by chance, in steps of one; of each a part drawn by chance
 * counts. */

enum { RNN_CELL, RNN_LAYERS, RNN_EMBED, RNN_LENGTH, RNN_VOCAB, RNN_DTYPE, RNN_RATE, RNN_PARAMS };

static const struct ll_model_param rnn_params[RNN_PARAMS] = {
    [RNN_CELL] = {"cell", 0, 0, 2, "of each layer"},
    [RNN_LAYERS] = {"layers", 5, 1, 1024, "of cells"},
    [RNN_EMBED] = {"embed", 500, 1, 65536, "numbers that a word is, and units of each cell"},
    [RNN_LENGTH] = {"length", 50, 1, 10000, "words of a sentence"},
    [RNN_VOCAB] = {"vocabulary", 512, 2, 1 << 28, "different words"},
    [RNN_DTYPE] = DTYPE_PARAM,
    [RNN_RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

enum cell_kind { RNN, LSTM, GRU };
static const char *const cells[] = {"rnn", "lstm", "gru", NULL};
static const char *const *const rnn_words[RNN_PARAMS] = {[RNN_CELL] = cells, [RNN_DTYPE] = dtype_words};

/* One layer: its weights, and its state after the last word. */
struct cell {
    struct ll_linear gates, candidate; /* of rnn the candidate alone, of gru both */
    struct ll_lstm lstm;
    struct ll_lstm_state state;
};

static void begin(struct ll_nn *nn, enum cell_kind kind, uint64_t units, struct cell *cell)
{
    struct ll_init init = ll_init_fan_in(2 * units, 1);
    if (kind == LSTM) {
        cell->lstm = ll_lstm_begin(nn, "lstm", units, units, init);
        cell->lstm.unbiased = true;
    } else
        cell->candidate = ll_linear_begin(nn, "candidate", 2 * units, units, init);
    if (kind == GRU)
        cell->gates = ll_linear_begin(nn, "gates", 2 * units, 2 * units, init);
}

static struct ll_value *tanh_of(struct ll_nn *nn, const struct ll_linear *linear, struct ll_value *x,
                                struct ll_value *h)
{
    return ll_nn_do1(nn, LL_OP_TANH, ll_linear_apply(nn, linear, 2, (struct ll_value *[]){x, h}));
}

static struct ll_value *advance_gru(struct ll_nn *nn, const struct cell *cell, struct ll_value *x)
{
    struct ll_value *h = cell->state.h;
    struct ll_value *both = ll_linear_apply(nn, &cell->gates, 2, (struct ll_value *[]){x, h});
    struct ll_value *const *gates = ll_nn_split(nn, ll_nn_do1(nn, LL_OP_SIGMOID, both), 1, 2);
    struct ll_value *c = tanh_of(nn, &cell->candidate, x, ll_mul_of(nn, gates[0], h));
    return ll_add_of(nn, c, ll_mul_of(nn, gates[1], ll_sub_of(nn, h, c)));
}

/* What the cell puts out for its next word. */
static struct ll_value *advance(struct ll_nn *nn, enum cell_kind kind, struct cell *cell, struct ll_value *x)
{
    if (kind == LSTM)
        cell->state = ll_lstm_step(nn, &cell->lstm, x, cell->state);
    else if (kind == GRU)
        cell->state.h = advance_gru(nn, cell, x);
    else
        cell->state.h = tanh_of(nn, &cell->candidate, x, cell->state.h);
    return cell->state.h;
}

/* The states of the uppermost layer as one stack, all words of all sentences below each other. */
static struct ll_value *unroll(struct ll_nn *nn, enum cell_kind kind, struct cell *stack, uint64_t layers,
                               struct ll_value *x)
{
    uint64_t length = x->shape.dim[0];
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){ll_mul(length, x->shape.dim[1]), x->shape.dim[2]},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *const *heard = ll_nn_unstack(nn, x);
    struct ll_value **steps = ll_alloc(&nn->arena, length, sizeof(struct ll_value *));
    if (!steps)
        ll_nn_fail(nn, "memory ran out");
    for (uint64_t t = 0; t < length && !nn->trouble; t++) {
        steps[t] = heard[t];
        for (uint64_t i = 0; i < layers; i++) {
            ll_nn_push_numbered(nn, "layer", (unsigned)i + 1);
            steps[t] = advance(nn, kind, &stack[i], steps[t]);
            ll_nn_pop(nn);
        }
    }
    return nn->trouble ? &nn->nothing : ll_nn_reshape(nn, ll_nn_stack(nn, steps, (uint32_t)length), &rows);
}

/* The weights of each layer, and its state before the first word: zeros. */
static struct cell *make_cells(struct ll_nn *nn, enum cell_kind kind, uint64_t layers, uint64_t batch,
                               uint64_t units)
{
    struct ll_shape state =
        ll_nn_shape(nn, 2, (uint64_t[]){batch, units}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct cell *stack = ll_alloc(&nn->arena, layers, sizeof *stack);
    if (!stack)
        ll_nn_fail(nn, "memory ran out");
    for (uint64_t i = 0; i < layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", (unsigned)i + 1);
        begin(nn, kind, units, &stack[i]);
        stack[i].state = (struct ll_lstm_state){ll_zeros(nn, &state), ll_zeros(nn, &state)};
        ll_nn_pop(nn);
    }
    return stack;
}

/* Where words come from. */
struct source {
    uint64_t batch, length, vocab, seed;
};

static uint64_t drawn(const struct source *source, uint64_t step, uint64_t sentence, uint64_t what)
{
    return ll_random_bits(ll_random_key(source->seed, step * source->batch + sentence), what);
}

static void fill_words(const struct source *source, uint64_t step, uint64_t ahead, int32_t *data)
{
    for (uint64_t t = 0; t < source->length; t++)
        for (uint64_t i = 0; i < source->batch; i++)
            data[t * source->batch + i] =
                (int32_t)((drawn(source, step, i, 0) % source->vocab + t + ahead) % source->vocab);
}

static void fill_inputs(void *context, uint64_t step, int32_t *data)
{
    fill_words(context, step, 0, data);
}

static void fill_targets(void *context, uint64_t step, int32_t *data)
{
    fill_words(context, step, 1, data);
}

/* One where a word counts, zero behind the end of its sentence. */
static void fill_counts(void *context, uint64_t step, float *data)
{
    const struct source *source = context;
    for (uint64_t t = 0; t < source->length; t++)
        for (uint64_t i = 0; i < source->batch; i++)
            data[t * source->batch + i] = t <= drawn(source, step, i, 1) % source->length ? 1.0f : 0.0f;
}

/* The mean over the words that count. */
static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct source *source)
{
    uint64_t rows = ll_mul(source->batch, source->length);
    struct ll_shape shape = ll_nn_shape(nn, 1, &rows, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *targets = ll_feed_indices(nn, "targets", &shape, fill_targets, source);
    struct ll_value *counts = ll_feed_floats(nn, "counts", &shape, fill_counts, source);
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, logits, targets);
    struct ll_value *sum = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, each, counts));
    struct ll_value *loss = ll_div_of(nn, sum, ll_nn_do1(nn, LL_OP_SUM, counts));
    ll_nn_pop(nn);
    return loss;
}

static struct ll_value *rnn_forward(struct ll_nn *nn, struct ll_value *indices, const struct ll_build *build)
{
    enum cell_kind kind = (enum cell_kind)build->params[RNN_CELL];
    uint64_t layers = (uint64_t)build->params[RNN_LAYERS], units = (uint64_t)build->params[RNN_EMBED];
    struct ll_shape table = ll_nn_shape(nn, 2, (uint64_t[]){(uint64_t)build->params[RNN_VOCAB], units},
                                        (enum ll_role[]){LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN});
    struct ll_value *embedding =
        ll_nn_weight(nn, "embedding", &table, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
    struct cell *stack = make_cells(nn, kind, layers, build->batch, units);
    struct ll_value *h = unroll(nn, kind, stack, layers, ll_nn_gather(nn, embedding, indices));
    struct ll_linear output = ll_linear_begin(nn, "output", units, table.dim[0], ll_init_fan_in(units, 1));
    ll_nn_push(nn, "output");
    h = paradnn_logits(nn, ll_linear_apply(nn, &output, 1, &h));
    ll_nn_pop(nn);
    return h;
}

static struct ll_value *build_rnn(struct ll_nn *nn, const struct ll_build *build)
{
    const struct source drawn_from = {build->batch, (uint64_t)build->params[RNN_LENGTH],
                                      (uint64_t)build->params[RNN_VOCAB], build->seed};
    struct source *source = ll_copy(&nn->arena, &drawn_from, sizeof drawn_from);
    struct ll_shape sentences = ll_nn_shape(nn, 2, (uint64_t[]){drawn_from.length, build->batch},
                                            (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_BATCH});
    if (!source)
        ll_nn_fail(nn, "memory ran out");
    struct ll_value *indices = ll_feed_indices(nn, "words", &sentences, fill_inputs, source);
    paradnn_begin(nn, build->params[RNN_DTYPE]);
    struct ll_value *logits = rnn_forward(nn, indices, build);
    if (!build->train || nn->trouble)
        return logits;
    struct ll_value *loss = loss_of(nn, logits, source);
    paradnn_minimise(nn, loss, build->params[RNN_RATE]);
    return loss;
}

const struct ll_model ll_model_paradnn_rnn = {
    .name = "paradnn_rnn",
    .suite = "paradnn",
    .doc = "language models of plain recurrent, LSTM or GRU cells",
    .default_batch = 16,
    .params = rnn_params,
    .param_count = RNN_PARAMS,
    .words = rnn_words,
    .build = build_rnn,
};
