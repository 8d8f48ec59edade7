/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "models/data/text.h"
#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/tbd/translation.h"

/* Attention by a small network (Bahdanau et al., 2015): a query meets each step of a memory,
 *
 *     share = softmax over steps of (v . tanh(memory K + query Q) + bias)      context = sum share memory
 *
 * Hypotheses of one sentence ask the same memory. Belongs to the program in which it was begun. */

struct mlp_attention {
    const char *name;
    struct ll_value *memory;         /* [batch, steps, features] */
    struct ll_value *keys;           /* [batch, 1, steps, units] */
    struct ll_value *bias;           /* [batch, 1, steps] */
    struct ll_value *query, *vector; /* weights [queries' features, units], [units] */
};

/* What a decoder of LSTM layers carries from word to word: their states, and what is read beside the next
 * word. */
enum { MOST_LAYERS = 16 };
struct decoder_state {
    struct ll_lstm_state layers[MOST_LAYERS];
    struct ll_value *beside;
};

/* Settings of such a translator, in this order: words of each language; units of every layer, and how many
 * layers; steps read and written; percent of padding; hypotheses; Adam's rate in millionths; letters. */
enum { SOURCE_WORDS, TARGET_WORDS, HIDDEN, LAYERS, SOURCE, TARGET, PADDING, BEAM, RATE, LETTERS };

static struct ll_value *weight(struct ll_nn *nn, const char *name, unsigned rank, const uint64_t *dims,
                               uint64_t inputs)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(nn, rank, dims, roles);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT,
                          (struct ll_init){LL_INIT_UNIFORM, sqrt(3 / (double)inputs), NULL});
}

/* Makes the weights "NAME/key", "NAME/query" and "NAME/vector", as many units as the memory has features, and
 * the keys. The bias is [batch, steps]. */
static struct mlp_attention mlp_attention_begin(struct ll_nn *nn, const char *name, struct ll_value *memory,
                                                struct ll_value *bias, uint64_t query_features)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t batch = memory->shape.dim[0], steps = memory->shape.dim[1], units = memory->shape.dim[2];
    const uint64_t square[] = {units, units}, query[] = {query_features, units};
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){batch * steps, units},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_shape keys = ll_nn_shape(nn, 4, (uint64_t[]){batch, 1, steps, units}, roles);
    struct ll_shape line = ll_nn_shape(nn, 3, (uint64_t[]){batch, 1, steps}, roles);
    struct mlp_attention a = {.name = name, .memory = memory};
    ll_nn_push(nn, name);
    struct ll_value *x = ll_nn_reshape(nn, memory, &rows);
    a.keys = ll_nn_reshape(nn, ll_nn_do2(nn, LL_OP_MATMUL, x, weight(nn, "key", 2, square, units)), &keys);
    a.bias = ll_nn_reshape(nn, bias, &line);
    a.query = weight(nn, "query", 2, query, query_features);
    a.vector = weight(nn, "vector", 1, &units, units);
    ll_nn_pop(nn);
    return a;
}

/* The shares of a memory's steps: [batch, width, steps]. */
static struct ll_value *shares(struct ll_nn *nn, const struct mlp_attention *a, struct ll_value *queries)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    const uint64_t batch = a->memory->shape.dim[0], width = queries->shape.dim[0] / batch;
    const uint64_t units = a->vector->shape.dim[0];
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){batch, width, 1, units}, roles);
    struct ll_value *y = ll_nn_do2(nn, LL_OP_MATMUL, queries, a->query);
    y = ll_add_of(nn, a->keys, ll_nn_reshape(nn, y, &shape));
    y = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_TANH, y), a->vector);
    return ll_nn_do1(nn, LL_OP_SOFTMAX, ll_add_of(nn, ll_sum_over(nn, y, 3, 1), a->bias));
}

/* The contexts [batch width, features] of queries[batch width, query_features]. */
static struct ll_value *mlp_attend(struct ll_nn *nn, const struct mlp_attention *a, struct ll_value *queries)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape rows =
        ll_nn_shape(nn, 2, (uint64_t[]){queries->shape.dim[0], a->memory->shape.dim[2]}, roles);
    ll_nn_push(nn, a->name);
    struct ll_value *context = ll_nn_do2(nn, LL_OP_BATCH_MATMUL, shares(nn, a, queries), a->memory);
    context = ll_nn_reshape(nn, context, &rows);
    ll_nn_pop(nn);
    return context;
}

/* The model's build function: a translation of such sentences, time first. */
static struct ll_value *unrolled_build(struct ll_nn *nn, const struct ll_build *build,
                                       const struct ll_translator *translator)
{
    const int64_t *values = build->params;
    const struct ll_translation_sizes sizes = {
        .letters = (uint64_t)values[LETTERS],
        .vocabulary = ll_min((uint64_t)values[SOURCE_WORDS], (uint64_t)values[TARGET_WORDS]),
        .source = (uint64_t)values[SOURCE],
        .target = (uint64_t)values[TARGET],
        .padding = (uint64_t)values[PADDING],
    };
    struct ll_translation *t = ll_translation_begin(nn, build, LL_TIME_FIRST, &sizes);
    return ll_translation_build(nn, build, t, translator);
}

/* Adds the update of all weights by Adam (Kingma and Ba, 2015) at the rate that is set, gradients clipped to
 * one, as `clip` has it. */
static void unrolled_minimise(struct ll_nn *nn, const struct ll_build *build, struct ll_value *loss,
                              enum ll_clip clip)
{
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = (double)build->params[RATE] * 1e-6,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .epsilon = 1e-8,
                                      .clip = clip,
                                      .clip_norm = 1};
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
}

/* First contents of weights behind so many inputs: uniform, of variance one over them, so that a product
 * keeps the variance of what it reads (LeCun et al., Efficient BackProp, 1998, equation 16). Pure. */
static struct ll_init uniform_init(uint64_t inputs)
{
    return (struct ll_init){LL_INIT_UNIFORM, sqrt(3 / (double)inputs), NULL};
}

/* The weight "NAME" [words, features], first contents uniform between -1 and 1. */
static struct ll_value *word_embedding(struct ll_nn *nn, const char *name, uint64_t words, uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){words, features}, roles);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_UNIFORM, 1, NULL});
}

/* Word numbers [steps, batch] embedded: a matrix [batch, features] a step, as many as steps, in the network's
 * arena; NULL after trouble. */
static struct ll_value **embedded_steps(struct ll_nn *nn, struct ll_value *table, struct ll_value *words)
{
    return ll_nn_unstack(nn, ll_nn_gather(nn, table, words));
}

/* Steps [batch, features], `steps` of them, as [batch, steps, features]. */
static struct ll_value *as_memory(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps)
{
    return ll_nn_transpose(nn, ll_nn_stack(nn, outputs, (uint32_t)steps), 102);
}

/* The same steps one below the other: rows [steps batch, features], those of the first step on top. */
static struct ll_value *as_rows(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps)
{
    return ll_nn_concat(nn, outputs, (uint32_t)steps, 0);
}

static struct ll_value *spread(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *state)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    const uint64_t batch = state->shape.dim[0], features = state->shape.dim[1];
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 1)};
    struct ll_shape each = ll_nn_shape(nn, 3, (uint64_t[]){batch, beam->width, features}, roles);
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){batch * beam->width, features},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *copies = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_TILE,
                                                                .input_count = 1,
                                                                .inputs = &state,
                                                                .attr_count = 2,
                                                                .attrs = attrs,
                                                                .given_count = 1,
                                                                .given = &each});
    return ll_nn_reshape(nn, copies, &rows);
}

/* Of each part of the state what `change` makes of it. */
static void
change_state(struct ll_nn *nn, const struct ll_beam *beam, struct decoder_state *state, uint64_t layers,
             struct ll_value *(*change)(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *part))
{
    for (uint64_t i = 0; i < layers; i++) {
        state->layers[i].c = change(nn, beam, state->layers[i].c);
        state->layers[i].h = change(nn, beam, state->layers[i].h);
    }
    state->beside = change(nn, beam, state->beside);
}

/* The state of the first so many layers, [batch, features] each, once for each hypothesis of a beam:
 * [batch width, features]; and in later steps that of the step before as its heirs have it. */
static void decoder_spread(struct ll_nn *nn, const struct ll_beam *beam, struct decoder_state *state,
                           uint64_t layers)
{
    change_state(nn, beam, state, layers, spread);
}

static void decoder_follow(struct ll_nn *nn, const struct ll_beam *beam, struct decoder_state *state,
                           uint64_t layers)
{
    change_state(nn, beam, state, layers, ll_beam_follow);
}

/* x[rows, inputs] times "NAME/weights" [inputs, units], without a bias: [rows, units]. */
static struct ll_value *product_with(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    const uint64_t inputs = x->shape.dim[1];
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){inputs, units}, roles);
    ll_nn_push(nn, name);
    struct ll_value *weights = ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, uniform_init(inputs));
    struct ll_value *y = ll_nn_do2(nn, LL_OP_MATMUL, x, weights);
    ll_nn_pop(nn);
    return y;
}

/* Cross entropies of logits[steps batch, words] and the words that are to be written, time first, summed up
 * over those that count: a scalar. *counted says of each whether it does, 1 or 0, [steps batch]. */
static struct ll_value *counted_losses(struct ll_nn *nn, struct ll_translation *t, struct ll_value *logits,
                                       struct ll_value **counted)
{
    struct ll_shape rows = ll_nn_shape(nn, 1, logits->shape.dim, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *labels = ll_nn_reshape(nn, ll_translation_written(nn, t, LL_LEARNED), &rows);
    struct ll_value *weights = ll_nn_reshape(nn, ll_translation_weights(nn, t, LL_LEARNED), &rows);
    struct ll_value *losses = ll_mul_of(nn, ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, logits, labels), weights);
    *counted = weights;
    return ll_sum_over(nn, losses, 0, 1);
}

/* NMT, TBD's sequence to sequence in TensorFlow: tensorflow/nmt's LSTM layers with the attention of Bahdanau
 * et al. (2015), IWSLT 2015 from English to Vietnamese. Two layers of 512 read the sentence backwards, two
 * write; the first of these also reads what was attended to before (input feeding):
 *
 *     x = [word's embedding, attention before] through the layers, h of the last one
 *     context = shares of the memory by tanh(memory K + h Q)       attention = [context h] A
 *     logits = attention W, of all steps at once
 *
 *     parameters 27,190,272 = embeddings 17191 x 512 and 7709 x 512, encoder 2 x 2,099,200, decoder 3,147,776
 *                             and 2,099,200, attention 2 x 262,144 + 512 and 524,288, logits 3,947,008
 *     FLOPs of 25 words each way: 722,278,400 of products, 640,000 more with the sum over v . tanh(...)
 *
 * The loss is summed over words and averaged over the batch; Adam at 3e-4, gradients clipped to a norm of 1
 * all together. The suite's loop takes as many turns as the longest sentence of a batch has words, up to 100:
 * here source and target say how many. Inference is a beam search of ten. */

static const struct ll_model_param nmt_params[] = {
    [SOURCE_WORDS] = {"source_vocabulary", 17191, 8, 1 << 24,
                      "of the language read, with four that are none"},
    [TARGET_WORDS] = {"target_vocabulary", 7709, 8, 1 << 24,
                      "of the language written, with four that are none"},
    [HIDDEN] = {"hidden", 512, 1, 1 << 14, "units of every layer, also of embeddings and attention"},
    [LAYERS] = {"layers", 2, 1, MOST_LAYERS, "that read, and as many that write"},
    [SOURCE] = {"source", 25, 2, 10000, "words read of a sentence"},
    [TARGET] = {"target", 25, 2, 10000, "words written, the end included"},
    [PADDING] = {"padding", 0, 0, 90, "percent of the words read that only fill sentences up"},
    [BEAM] = {"beam", 10, 1, 1 << 10, "hypotheses of a sentence when translating"},
    [RATE] = {"rate", 300, 1, 1000000, "of Adam, in millionths"},
    [LETTERS] = {"task_vocabulary", 26, 2, 1 << 24, "words of the made-up language that is learned"},
};

struct net {
    struct ll_nn *nn;
    const struct ll_build *build;
    struct ll_translation *t;
    enum ll_data_part part;
    uint64_t hidden, layers;
    struct ll_lstm decoder[MOST_LAYERS];
    struct ll_value *target_embedding;
    struct mlp_attention attention;
    struct ll_value *join; /* [2 hidden, hidden] */
};

static void begin_layers(struct net *net, uint64_t first_inputs, struct ll_lstm *layers)
{
    for (uint64_t i = 0; i < net->layers; i++) {
        const char *name = ll_format(&net->nn->arena, "lstm%llu", (unsigned long long)i);
        uint64_t inputs = i ? net->hidden : first_inputs;
        if (!name)
            ll_nn_fail(net->nn, "memory ran out");
        layers[i] = ll_lstm_begin(net->nn, name ? name : "lstm", inputs, net->hidden,
                                  uniform_init(inputs + net->hidden));
    }
}

/* One step through all layers: h of the last. */
static struct ll_value *through(struct net *net, const struct ll_lstm *layers, struct ll_value *x,
                                struct ll_lstm_state *states)
{
    for (uint64_t i = 0; i < net->layers; i++) {
        states[i] = ll_lstm_step(net->nn, &layers[i], x, states[i]);
        x = states[i].h;
    }
    return x;
}

/* Leaves the state after the last word; the result is the memory [batch, steps, hidden]. */
static struct ll_value *encode(struct net *net, struct decoder_state *state)
{
    struct ll_nn *nn = net->nn;
    struct ll_lstm layers[MOST_LAYERS];
    const uint64_t steps = net->t->source_steps;
    struct ll_value *table =
        word_embedding(nn, "source_embedding", (uint64_t)net->build->params[SOURCE_WORDS], net->hidden);
    struct ll_value **words = embedded_steps(nn, table, ll_translation_source(nn, net->t, net->part));
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof(struct ll_value *));
    if (!words || !outputs) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    begin_layers(net, net->hidden, layers);
    struct ll_value *zeros = ll_zeros(nn, &words[0]->shape);
    for (uint64_t i = 0; i < net->layers; i++)
        state->layers[i] = (struct ll_lstm_state){zeros, zeros};
    for (uint64_t i = 0; i < steps; i++)
        outputs[i] = through(net, layers, words[i], state->layers);
    state->beside = zeros;
    return as_memory(nn, outputs, steps);
}

static void begin_decoder(struct net *net, struct ll_value *memory)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->hidden;
    struct ll_shape join = ll_nn_shape(nn, 2, (uint64_t[]){2 * hidden, hidden}, roles);
    struct ll_value *bias = ll_translation_source_bias(nn, net->t, net->part);
    net->target_embedding =
        word_embedding(nn, "target_embedding", (uint64_t)net->build->params[TARGET_WORDS], hidden);
    begin_layers(net, 2 * hidden, net->decoder);
    net->attention = mlp_attention_begin(nn, "attention", memory, bias, hidden);
    net->join = ll_nn_variable(nn, "attention/layer", &join, LL_WEIGHT, uniform_init(2 * hidden));
}

/* Reads a word; the result, the new attention, is also in the state. */
static struct ll_value *step(struct net *net, struct ll_value *word, struct decoder_state *state)
{
    struct ll_nn *nn = net->nn;
    struct ll_value *x = ll_nn_concat(nn, (struct ll_value *[]){word, state->beside}, 2, 1);
    struct ll_value *top = through(net, net->decoder, x, state->layers);
    struct ll_value *both[] = {mlp_attend(nn, &net->attention, top), top};
    state->beside = ll_nn_do2(nn, LL_OP_MATMUL, ll_nn_concat(nn, both, 2, 1), net->join);
    return state->beside;
}

static struct ll_value *project(struct net *net, struct ll_value *rows)
{
    return product_with(net->nn, "projection", rows, (uint64_t)net->build->params[TARGET_WORDS]);
}

static struct net net_of(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t,
                         enum ll_data_part part)
{
    return (struct net){.nn = nn,
                        .build = build,
                        .t = t,
                        .part = part,
                        .hidden = (uint64_t)build->params[HIDDEN],
                        .layers = (uint64_t)build->params[LAYERS]};
}

static struct ll_value *encoder(struct net *net, struct decoder_state *state)
{
    ll_nn_push(net->nn, "encoder");
    struct ll_value *memory = encode(net, state);
    ll_nn_pop(net->nn);
    return memory;
}

/* Logits [steps batch, words] of sentences whose words are known. */
static struct ll_value *teach(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    struct net net = net_of(nn, build, t, LL_LEARNED);
    struct decoder_state state;
    struct ll_value *memory = encoder(&net, &state);
    ll_nn_push(nn, "decoder");
    begin_decoder(&net, memory);
    struct ll_value **words =
        embedded_steps(nn, net.target_embedding, ll_translation_read(nn, t, LL_LEARNED));
    struct ll_value **outputs = ll_alloc(&nn->arena, t->target_steps, sizeof(struct ll_value *));
    if (!outputs)
        ll_nn_fail(nn, "memory ran out");
    for (uint64_t i = 0; i < t->target_steps && !nn->trouble; i++)
        outputs[i] = step(&net, words[i], &state);
    struct ll_value *logits =
        nn->trouble ? &nn->nothing : project(&net, as_rows(nn, outputs, t->target_steps));
    ll_nn_pop(nn);
    return logits;
}

/* Beam search: the encoder's states are copied to all hypotheses, then each step embeds the last tokens,
 * advances the layers, attends and grows the beam; states follow the hypotheses that survive. */
static struct ll_value *search(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t,
                               enum ll_data_part part)
{
    struct net net = net_of(nn, build, t, part);
    struct ll_beam *beam = &t->beam;
    struct decoder_state state;
    ll_translation_beam(t, (uint64_t)build->params[BEAM], (uint64_t)build->params[TARGET_WORDS]);
    struct ll_value *memory = encoder(&net, &state);
    ll_nn_push(nn, "decoder");
    begin_decoder(&net, memory);
    ll_beam_begin(nn, beam);
    decoder_spread(nn, beam, &state, net.layers);
    ll_nn_share(nn, true); /* the projection is that of the first step */
    while (beam->done < beam->steps && !nn->trouble) {
        struct ll_value *word = ll_nn_gather(nn, net.target_embedding, beam->words);
        ll_beam_grow(nn, beam, project(&net, step(&net, word, &state)));
        if (beam->done < beam->steps)
            decoder_follow(nn, beam, &state, net.layers);
    }
    ll_nn_share(nn, false);
    ll_nn_pop(nn);
    return beam->scores;
}

static struct ll_value *train(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    struct ll_value *logits = teach(nn, build, t), *counted;
    ll_nn_push(nn, "loss");
    struct ll_value *loss = counted_losses(nn, t, logits, &counted);
    loss = ll_nn_mul_scalar(nn, loss, "one_of_batch", 1 / (double)t->batch);
    ll_nn_pop(nn);
    unrolled_minimise(nn, build, loss, LL_CLIP_GLOBAL_NORM);
    return loss;
}

static struct ll_value *build_nmt(struct ll_nn *nn, const struct ll_build *build)
{
    return unrolled_build(nn, build, &(struct ll_translator){teach, search, train});
}

const struct ll_model ll_model_nmt = {
    .name = "nmt",
    .suite = "tbd",
    .doc = "translation by LSTM layers with attention and input feeding (NMT)",
    .default_batch = 128,
    .params = nmt_params,
    .param_count = sizeof nmt_params / sizeof *nmt_params,
    .build = build_nmt,
    .recipe = {.steps = 800,
               .batch = 32,
               .settings = {{"source_vocabulary", "16"},
                            {"target_vocabulary", "16"},
                            {"task_vocabulary", "10"},
                            {"hidden", "64"},
                            {"layers", "1"},
                            {"source", "6"},
                            {"target", "7"},
                            {"padding", "25"},
                            {"rate", "3000"}}},
    .evaluate = ll_translation_evaluate,
};

/* Sockeye (Hieber et al., 2017), TBD's sequence to sequence in MXNet, IWSLT 2015 from English to Vietnamese.
 * The sentence is read backwards, by a first layer in both directions with half of the units each, then by
 * layers of 512. Each state of the decoder starts as tanh of a layer over the encoder's last output:
 *
 *     x = [word's embedding, hidden before] through the layers, h of the last one
 *     context = shares of the memory by tanh(memory K + h Q)       hidden = tanh([h context] A + b)
 *     logits = hidden W + b, of all steps at once
 *
 *     parameters 27,733,021 = embeddings 17191 x 512 and 7709 x 512, encoder 2 x 788,480 and 2,101,248, first
 *                             states 4 x 262,656, decoder 3,149,824 and 2,101,248, attention 524,800, hidden
 *                             524,800, logits 3,954,717
 *     FLOPs of 30 words each way: 837,527,552 of products, 921,600 more with the sum over v . tanh(...)
 *
 * A cell has a product and a bias of its own for input and state. The loss is the mean over all words that
 * count; Adam at 3e-4, each element of a gradient clipped to 1. Unrolled: source and target are the lengths
 * of a bucket, of which the suite has one for every ten words up to a hundred. Inference is a beam search of
 * five. */

static const struct ll_model_param sockeye_params[] = {
    [SOURCE_WORDS] = {"source_vocabulary", 17191, 8, 1 << 24,
                      "of the language read, with four that are none"},
    [TARGET_WORDS] = {"target_vocabulary", 7709, 8, 1 << 24,
                      "of the language written, with four that are none"},
    [HIDDEN] = {"hidden", 512, 2, 1 << 14, "units of every layer, even; also of embeddings and attention"},
    [LAYERS] = {"layers", 2, 1, MOST_LAYERS,
                "that read, the first in both directions, and as many that write"},
    [SOURCE] = {"source", 30, 2, 10000, "words read of a sentence"},
    [TARGET] = {"target", 30, 2, 10000, "words written, the end included"},
    [PADDING] = {"padding", 0, 0, 90, "percent of the words read that only fill sentences up"},
    [BEAM] = {"beam", 5, 1, 1 << 10, "hypotheses of a sentence when translating"},
    [RATE] = {"rate", 300, 1, 1000000, "of Adam, in millionths"},
    [LETTERS] = {"task_vocabulary", 26, 2, 1 << 24, "words of the made-up language that is learned"},
};

struct sockeye_net {
    struct ll_nn *nn;
    const struct ll_build *build;
    struct ll_translation *t;
    enum ll_data_part part;
    uint64_t hidden, layers;
    struct ll_split_lstm decoder[MOST_LAYERS];
    struct ll_value *target_embedding;
    struct mlp_attention attention;
    struct ll_linear join, projection;
};

static const char *numbered(struct ll_nn *nn, const char *name, uint64_t i)
{
    const char *whole = ll_format(&nn->arena, "%s%llu", name, (unsigned long long)i);
    if (!whole)
        ll_nn_fail(nn, "memory ran out");
    return whole ? whole : name;
}

static struct ll_split_lstm begin_lstm(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units)
{
    return ll_split_lstm_begin(nn, name, inputs, units, uniform_init(inputs));
}

/* A layer over all steps, from the first on or from the last: outputs may be where the inputs are. */
static void run_over(struct ll_nn *nn, const struct ll_split_lstm *lstm, struct ll_value *const *inputs,
                     uint64_t steps, bool from_the_end, struct ll_value **outputs)
{
    const struct ll_shape *in = &inputs[0]->shape;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){in->dim[0], lstm->state.weights->shape.dim[0]},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *zeros = ll_zeros(nn, &shape);
    struct ll_lstm_state state = {zeros, zeros};
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t at = from_the_end ? steps - 1 - i : i;
        state = ll_split_lstm_step(nn, lstm, inputs[at], state);
        outputs[at] = state.h;
    }
}

/* Outputs of each step, in place of the embedded words. */
static void read_words(struct sockeye_net *net, struct ll_value **x, struct ll_value **there,
                       struct ll_value **back)
{
    struct ll_nn *nn = net->nn;
    const uint64_t steps = net->t->source_steps, half = net->hidden / 2;
    struct ll_split_lstm forward = begin_lstm(nn, "forward", net->hidden, half);
    struct ll_split_lstm backward = begin_lstm(nn, "backward", net->hidden, half);
    run_over(nn, &forward, x, steps, false, there);
    run_over(nn, &backward, x, steps, true, back);
    for (uint64_t i = 0; i < steps; i++)
        x[i] = ll_nn_concat(nn, (struct ll_value *[]){there[i], back[i]}, 2, 1);
    for (uint64_t i = 1; i < net->layers; i++) {
        struct ll_split_lstm lstm = begin_lstm(nn, numbered(nn, "lstm", i), net->hidden, net->hidden);
        run_over(nn, &lstm, x, steps, false, x);
    }
}

/* The outputs of the encoder, a matrix a step; NULL after trouble. */
static struct ll_value **sockeye_encode(struct sockeye_net *net)
{
    struct ll_nn *nn = net->nn;
    const uint64_t steps = net->t->source_steps;
    ll_nn_push(nn, "encoder");
    struct ll_value *table =
        word_embedding(nn, "source_embedding", (uint64_t)net->build->params[SOURCE_WORDS], net->hidden);
    struct ll_value **words = embedded_steps(nn, table, ll_translation_source(nn, net->t, net->part));
    struct ll_value **x = ll_alloc(&nn->arena, 3 * steps, sizeof(struct ll_value *));
    if (!x || !words) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    for (uint64_t i = 0; i < steps; i++)
        x[i] = words[i];
    read_words(net, x, x + steps, x + 2 * steps);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *first_state(struct sockeye_net *net, const char *name, uint64_t i,
                                    struct ll_value *last)
{
    struct ll_linear linear = ll_linear_begin(net->nn, numbered(net->nn, name, i), net->hidden, net->hidden,
                                              uniform_init(net->hidden));
    return ll_nn_do1(net->nn, LL_OP_TANH, ll_linear_apply(net->nn, &linear, 1, &last));
}

/* The decoder's weights and state, from what the encoder said. */
static void sockeye_begin_decoder(struct sockeye_net *net, struct ll_value *const *outputs,
                                  struct decoder_state *state)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->hidden, steps = net->t->source_steps;
    const uint64_t words = (uint64_t)net->build->params[TARGET_WORDS];
    struct ll_value *bias = ll_translation_source_bias(nn, net->t, net->part);
    net->target_embedding = word_embedding(nn, "target_embedding", words, hidden);
    for (uint64_t i = 0; i < net->layers; i++) {
        net->decoder[i] = begin_lstm(nn, numbered(nn, "lstm", i), i ? hidden : 2 * hidden, hidden);
        state->layers[i].c = first_state(net, "first_c", i, outputs[steps - 1]);
        state->layers[i].h = first_state(net, "first_h", i, outputs[steps - 1]);
    }
    struct ll_value *memory = as_memory(nn, outputs, steps);
    net->attention = mlp_attention_begin(nn, "attention", memory, bias, hidden);
    net->join = ll_linear_begin(nn, "hidden", 2 * hidden, hidden, uniform_init(2 * hidden));
    net->projection = ll_linear_begin(nn, "projection", hidden, words, uniform_init(hidden));
    state->beside = ll_zeros(nn, &outputs[0]->shape);
}

/* Reads a word; the result, the new hidden layer, is also in the state. */
static struct ll_value *sockeye_step(struct sockeye_net *net, struct ll_value *word,
                                     struct decoder_state *state)
{
    struct ll_nn *nn = net->nn;
    struct ll_value *x = ll_nn_concat(nn, (struct ll_value *[]){word, state->beside}, 2, 1);
    for (uint64_t i = 0; i < net->layers; i++) {
        state->layers[i] = ll_split_lstm_step(nn, &net->decoder[i], x, state->layers[i]);
        x = state->layers[i].h;
    }
    struct ll_value *both[] = {x, mlp_attend(nn, &net->attention, x)};
    ll_nn_push(nn, "hidden");
    state->beside = ll_nn_do1(nn, LL_OP_TANH, ll_linear_apply(nn, &net->join, 2, both));
    ll_nn_pop(nn);
    return state->beside;
}

static struct ll_value *sockeye_project(struct sockeye_net *net, struct ll_value *rows)
{
    ll_nn_push(net->nn, "projection");
    struct ll_value *logits = ll_linear_apply(net->nn, &net->projection, 1, &rows);
    ll_nn_pop(net->nn);
    return logits;
}

static struct sockeye_net sockeye_net_of(struct ll_nn *nn, const struct ll_build *build,
                                         struct ll_translation *t, enum ll_data_part part)
{
    return (struct sockeye_net){.nn = nn,
                                .build = build,
                                .t = t,
                                .part = part,
                                .hidden = (uint64_t)build->params[HIDDEN],
                                .layers = (uint64_t)build->params[LAYERS]};
}

/* Logits [steps batch, words] of sentences whose words are known. */
static struct ll_value *sockeye_teach(struct ll_nn *nn, const struct ll_build *build,
                                      struct ll_translation *t)
{
    struct sockeye_net net = sockeye_net_of(nn, build, t, LL_LEARNED);
    struct decoder_state state;
    struct ll_value **encoded = sockeye_encode(&net);
    struct ll_value **outputs = ll_alloc(&nn->arena, t->target_steps, sizeof(struct ll_value *));
    if (!encoded || !outputs) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "decoder");
    sockeye_begin_decoder(&net, encoded, &state);
    struct ll_value **words =
        embedded_steps(nn, net.target_embedding, ll_translation_read(nn, t, LL_LEARNED));
    for (uint64_t i = 0; i < t->target_steps && !nn->trouble; i++)
        outputs[i] = sockeye_step(&net, words[i], &state);
    struct ll_value *logits =
        nn->trouble ? &nn->nothing : sockeye_project(&net, as_rows(nn, outputs, t->target_steps));
    ll_nn_pop(nn);
    return logits;
}

/* As nmt's search, with Sockeye's decoder. */
static struct ll_value *sockeye_search(struct ll_nn *nn, const struct ll_build *build,
                                       struct ll_translation *t, enum ll_data_part part)
{
    struct sockeye_net net = sockeye_net_of(nn, build, t, part);
    struct ll_beam *beam = &t->beam;
    struct decoder_state state;
    ll_translation_beam(t, (uint64_t)build->params[BEAM], (uint64_t)build->params[TARGET_WORDS]);
    struct ll_value **encoded = sockeye_encode(&net);
    if (!encoded)
        return &nn->nothing;
    ll_nn_push(nn, "decoder");
    sockeye_begin_decoder(&net, encoded, &state);
    ll_beam_begin(nn, beam);
    decoder_spread(nn, beam, &state, net.layers);
    while (beam->done < beam->steps && !nn->trouble) {
        struct ll_value *word = ll_nn_gather(nn, net.target_embedding, beam->words);
        ll_beam_grow(nn, beam, sockeye_project(&net, sockeye_step(&net, word, &state)));
        if (beam->done < beam->steps)
            decoder_follow(nn, beam, &state, net.layers);
    }
    ll_nn_pop(nn);
    return beam->scores;
}

static struct ll_value *sockeye_train(struct ll_nn *nn, const struct ll_build *build,
                                      struct ll_translation *t)
{
    struct ll_value *logits = sockeye_teach(nn, build, t), *counted;
    ll_nn_push(nn, "loss");
    struct ll_value *sum = counted_losses(nn, t, logits, &counted);
    struct ll_value *loss = ll_div_of(nn, sum, ll_sum_over(nn, counted, 0, 1));
    ll_nn_pop(nn);
    unrolled_minimise(nn, build, loss, LL_CLIP_VALUE);
    return loss;
}

static struct ll_value *build_sockeye(struct ll_nn *nn, const struct ll_build *build)
{
    if (build->params[HIDDEN] % 2 != 0)
        ll_nn_fail(nn, "an odd number of hidden units; each direction of the first layer has half of them");
    return unrolled_build(nn, build, &(struct ll_translator){sockeye_teach, sockeye_search, sockeye_train});
}

const struct ll_model ll_model_sockeye = {
    .name = "sockeye",
    .suite = "tbd",
    .doc = "translation by LSTM layers with attention, the first of them bidirectional (Sockeye)",
    .default_batch = 32,
    .params = sockeye_params,
    .param_count = sizeof sockeye_params / sizeof *sockeye_params,
    .build = build_sockeye,
    .recipe = {.steps = 800,
               .batch = 32,
               .settings = {{"source_vocabulary", "16"},
                            {"target_vocabulary", "16"},
                            {"task_vocabulary", "10"},
                            {"hidden", "64"},
                            {"layers", "2"},
                            {"source", "6"},
                            {"target", "7"},
                            {"padding", "25"},
                            {"rate", "3000"}}},
    .evaluate = ll_translation_evaluate,
};
