/* SPDX-License-Identifier: Apache-2.0 */
#include "models/frontier/catamount.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/vision/vision.h"

/* tf.nn.dropout, of x's shape, which leaves a share `keep` of the elements, above 0 and at most 1: x over
 * keep, times what is rounded down of keep and a number from 0 to 1. */
static struct ll_value *tf_dropout(struct ll_nn *nn, struct ll_rng *rng, struct ll_value *x, double keep)
{
    assert(keep > 0 && keep <= 1);
    struct ll_value *drawn = ll_random_uniform(nn, rng, &x->shape), *share = ll_constant(nn, "keep", keep);
    struct ll_value *least = ll_constant(nn, "least", 0), *range = ll_constant(nn, "range", 1);
    struct ll_value *in_range = ll_add_of(nn, ll_mul_of(nn, drawn, range), least);
    struct ll_value *mask = ll_nn_do1(nn, LL_OP_FLOOR, ll_add_of(nn, share, in_range));
    return ll_mul_of(nn, ll_div_of(nn, x, share), mask);
}

/* A step of dynamic_rnn for sentences of several lengths, x [batch, inputs]: where `counts` [batch] holds, a
 * step of the cell, elsewhere zeros as output and the state as it was. Zeros are the loop's own, [batch,
 * units]. Replaces the state, returns the output. */
static struct ll_value *tf_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                     struct ll_value *counts, struct ll_value *zeros,
                                     struct ll_lstm_state *state)
{
    struct ll_lstm_state after = ll_lstm_step(nn, lstm, x, *state);
    struct ll_value *output = ll_select(nn, counts, after.h, zeros);
    state->c = ll_select(nn, counts, after.c, state->c);
    state->h = ll_select(nn, counts, after.h, state->h);
    return output;
}

struct ll_value *ll_tf_packed_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value **state)
{
    struct ll_value *const *parts = ll_nn_split(nn, *state, 1, 2);
    struct ll_lstm_state after = ll_lstm_step(nn, lstm, x, (struct ll_lstm_state){parts[0], parts[1]});
    *state = ll_nn_concat(nn, (struct ll_value *[]){after.c, after.h}, 2, 1);
    return after.h;
}

struct ll_value *ll_tf_packed_lstm_stop(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value *counts, struct ll_value *zeros,
                                        struct ll_value **state)
{
    struct ll_value *after = *state, *h = ll_tf_packed_lstm_step(nn, lstm, x, &after);
    *state = ll_select(nn, counts, after, *state);
    return ll_select(nn, counts, h, zeros);
}

/* tf.tensordot: x [batch, steps, inputs] times a matrix [inputs, units], both transposed first although they
 * stay as they are. [batch, steps, units]. */
static struct ll_value *tf_tensordot(struct ll_nn *nn, struct ll_value *x, struct ll_value *matrix)
{
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape whole = x->shape, rows = {.rank = 2, .dtype = x->shape.dtype};
    const unsigned last = x->shape.rank - 1u;
    rows.dim[1] = x->shape.dim[last];
    rows.role[1] = x->shape.role[last];
    rows.dim[0] = ll_elements(&x->shape) / rows.dim[1];
    whole.dim[last] = matrix->shape.dim[1];
    whole.role[last] = matrix->shape.role[1];
    x = ll_nn_reshape(nn, ll_nn_transpose(nn, x, 12), &rows);
    matrix = ll_nn_reshape(nn, ll_nn_transpose(nn, matrix, 1), &matrix->shape);
    struct ll_value *product = ll_nn_do2(nn, LL_OP_MATMUL, x, matrix);
    return ll_nn_reshape(nn, product, &whole);
}

struct ll_value *ll_begin_counter(struct ll_nn *nn, bool rate)
{
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};
    const struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    const bool frozen = nn->frozen;
    nn->frozen = true;
    struct ll_value *counter = ll_nn_variable(nn, "global_step", &scalar, LL_WEIGHT, zero);
    if (rate)
        ll_nn_variable(nn, "learning_rate", &scalar, LL_WEIGHT, zero);
    nn->frozen = frozen;
    return counter;
}

void ll_count_step(struct ll_nn *nn, struct ll_value *counter)
{
    const enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_UPDATE;
    ll_nn_carry(nn, counter, ll_add_of(nn, counter, ll_constant(nn, "one", 1)));
    nn->phase = phase;
}

/* Words that are learned are made up: each is one more than the one before it, so that what follows is known
 * to whoever knows the word. All positions of a batch count, and yet they are looked for and picked, as
 * tf.boolean_mask does. */

#define PROJECTION "projection"

static const enum ll_role matrix_roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
static const enum ll_role sequence_roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};

/* What the language models of Catamount (Hestness et al., 2019) have in common: words in, the words that
 * follow out, and between them layers whose steps are loops of a TensorFlow graph.
 *
 * Their graphs are TensorFlow's, op for op where anything of size is moved or computed (nn.h, as_tensorflow):
 * what Catamount counts of them follows from what is recorded (tracer/ir/profile.h). */

enum { LANGUAGE_MOST_STATES = 32 };
struct language_sizes {
    uint64_t batch, steps, vocabulary, hidden;
    uint32_t states; /* of all loops together */
};

/* What is made at the beginning and read at the end. */
struct language {
    struct ll_nn *nn;
    struct language_sizes sizes;
    struct ll_value *counter;
    struct ll_value *labels; /* [batch, steps] */
    struct ll_value *mask;   /* [batch x steps]: which labels count; NULL before it is asked for */
    struct ll_value *states[LANGUAGE_MOST_STATES];
    uint32_t states_taken; /* by loops so far */
};

/* A loop of a graph, for language_loop. */
struct language_loop {
    const char *name;
    uint32_t states;
    void (*body)(struct ll_nn *nn, const void *layer, struct ll_value *x, struct ll_value **states);
    const void *layer;
};

/* The word at a position of a sequence of the batch; every step begins elsewhere. */
static int32_t word_at(const struct language_sizes *sizes, uint64_t step, uint64_t position)
{
    uint64_t sequence = position / sizes->steps, place = position % sizes->steps;
    return (int32_t)((step * 7 + sequence * 3 + place) % sizes->vocabulary);
}

static void fill_words(void *context, uint64_t step, int32_t *data)
{
    const struct language_sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = word_at(sizes, step, i);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct language_sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (word_at(sizes, step, i) + 1) % (int32_t)sizes->vocabulary;
}

static void fill_state(void *context, uint64_t step, float *data)
{
    const struct language_sizes *sizes = context;
    (void)step;
    memset(data, 0, sizes->batch * sizes->hidden * sizeof *data);
}

/* The graph that Catamount counts holds a second input for each state, which nothing in it reads. */
static void feed_states(struct language *language, struct language_sizes *sizes)
{
    struct ll_nn *nn = language->nn;
    const struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){sizes->batch, sizes->hidden},
                                              (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    assert(sizes->states <= LANGUAGE_MOST_STATES);
    for (uint32_t i = 0; i < sizes->states; i++) {
        language->states[i] = ll_feed_floats(nn, "state", &shape, fill_state, sizes);
        language->states[i]->loop = LL_ENTERS_LOOP;
        ll_feed_floats(nn, "spare_state", &shape, fill_state, sizes);
    }
}

static struct ll_value *feed(const struct language *language, const char *name, ll_fill_indices *fill,
                             struct language_sizes *sizes)
{
    const uint64_t dims[] = {sizes->batch, sizes->steps};
    const struct ll_shape shape = ll_nn_shape(language->nn, 2, dims, sequence_roles);
    return ll_feed_indices(language->nn, name, &shape, fill, sizes);
}

/* What comes from the host, before all else. */
static struct ll_value *feed_all(struct language *language)
{
    struct language_sizes *sizes = ll_copy(&language->nn->arena, &language->sizes, sizeof *sizes);
    if (!sizes) {
        ll_nn_fail(language->nn, "memory ran out");
        return &language->nn->nothing;
    }
    struct ll_value *words = feed(language, "words", fill_words, sizes);
    language->labels = feed(language, "labels", fill_labels, sizes);
    feed_states(language, sizes);
    return words;
}

static struct ll_value *weight(struct ll_nn *nn, const char *name, unsigned rank, const uint64_t *dims,
                               struct ll_init init)
{
    struct ll_shape shape = ll_nn_shape(nn, rank, dims, rank == 2 ? matrix_roles : NULL);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, init);
}

/* Begins a network: the inputs, and embeddings of the words, [batch, steps, hidden]. */
static struct ll_value *begin_language(struct language *language, struct ll_nn *nn,
                                       struct language_sizes sizes)
{
    nn->as_tensorflow = true;
    *language = (struct language){.nn = nn, .sizes = sizes, .counter = ll_begin_counter(nn, true)};
    struct ll_value *words = feed_all(language);
    ll_nn_push(nn, "embedding");
    struct ll_value *table = weight(nn, "table", 2, (uint64_t[]){sizes.vocabulary, sizes.hidden},
                                    (struct ll_init){LL_INIT_UNIFORM, 0.5, NULL});
    struct ll_value *x = ll_nn_gather(nn, table, words);
    ll_nn_pop(nn);
    return x;
}

/* A loop over the steps of x [batch, steps, hidden]: its body, under the scope NAME/while, turns the step's
 * input [batch, hidden] and the states [batch, hidden] into the states after it, of which the last is its
 * output. States are fed from the host, as those of TensorFlow are. Result [batch, steps, hidden]. */
static struct ll_value *language_loop(struct language *language, const struct language_loop *loop,
                                      struct ll_value *x)
{
    assert(loop->states > 0);
    struct ll_nn *nn = language->nn;
    const uint64_t steps = language->sizes.steps;
    struct ll_value **states = language->states + language->states_taken;
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    ll_nn_push(nn, loop->name);
    language->states_taken += loop->states;
    assert(language->states_taken <= language->sizes.states);
    struct ll_value **inputs = ll_nn_unstack(nn, ll_nn_transpose(nn, x, 102));
    if (!outputs || !inputs) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "while");
    for (uint64_t t = 0; t < steps; t++) {
        loop->body(nn, loop->layer, inputs[t], states);
        outputs[t] = states[loop->states - 1];
    }
    for (uint32_t i = 0; i < loop->states; i++)
        states[i]->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *result = ll_nn_transpose(nn, ll_nn_stack(nn, outputs, (uint32_t)steps), 102);
    ll_nn_pop(nn);
    return result;
}

/* [batch, steps, ...] seen as [batch x steps, ...]. */
static struct ll_value *as_rows(const struct language *language, struct ll_value *x)
{
    struct ll_shape flat = {.rank = (uint8_t)(x->shape.rank - 1)};
    if (language->nn->trouble)
        return x;
    flat.dim[0] = language->sizes.batch * language->sizes.steps;
    flat.role[0] = LL_ROLE_BATCH;
    for (unsigned i = 1; i < flat.rank; i++) {
        flat.dim[i] = x->shape.dim[i + 1];
        flat.role[i] = x->shape.role[i + 1];
    }
    return ll_nn_reshape(language->nn, x, &flat);
}

/* Where a word follows that counts, [batch x steps]: one whose number is above -1. */
static struct ll_value *mask_of(struct language *language)
{
    struct ll_nn *nn = language->nn;
    if (!language->mask) {
        struct ll_value *no_word = ll_constant(nn, "no_word", -1);
        struct ll_value *words = ll_as_real(nn, as_rows(language, language->labels));
        language->mask = ll_nn_do2(nn, LL_OP_GREATER, words, no_word);
    }
    return language->mask;
}

/* tf.boolean_mask: the rows that count, which it looks for each time. */
static struct ll_value *counted_rows(struct language *language, struct ll_value *x)
{
    struct ll_value *positions = ll_nn_do1(language->nn, LL_OP_TRUE_INDICES, mask_of(language));
    return ll_nn_gather(language->nn, as_rows(language, x), positions);
}

/* What comes out of layers, x [batch, steps, hidden], times a matrix [hidden, width]: [batch, steps, width].
 * Its gradient is not clipped. */
static struct ll_value *language_project(struct language *language, struct ll_value *x, uint64_t width)
{
    struct ll_nn *nn = language->nn;
    const uint64_t hidden = language->sizes.hidden;
    const struct ll_shape shape =
        ll_nn_shape(nn, 3, (uint64_t[]){language->sizes.batch, language->sizes.steps, width}, sequence_roles);
    ll_nn_push(nn, PROJECTION);
    struct ll_value *matrix =
        weight(nn, "weights", 2, (uint64_t[]){hidden, width}, ll_init_fan_in(hidden, 1));
    x = ll_nn_reshape(nn, ll_nn_do2(nn, LL_OP_MATMUL, as_rows(language, x), matrix), &shape);
    ll_nn_pop(nn);
    return x;
}

/* The scores of all words at each step, [batch x steps, vocabulary]: x [batch, steps, width] times a matrix
 * [vocabulary, width], and a bias. */
static struct ll_value *language_scores(struct language *language, struct ll_value *x)
{
    struct ll_nn *nn = language->nn;
    const uint64_t vocabulary = language->sizes.vocabulary;
    ll_nn_push(nn, "scores");
    struct ll_value *rows = counted_rows(language, x);
    rows = ll_nn_reshape(nn, rows, &rows->shape);
    const uint64_t width = nn->trouble ? 1 : rows->shape.dim[1];
    struct ll_value *matrix =
        weight(nn, "weights", 2, (uint64_t[]){vocabulary, width}, ll_init_fan_in(width, 1));
    struct ll_value *bias = weight(nn, "biases", 2, (uint64_t[]){1, vocabulary}, (struct ll_init){0});
    struct ll_value *scores = ll_add_of(nn, ll_matmul_transposed(nn, rows, matrix), bias);
    ll_nn_pop(nn);
    return scores;
}

/* The cross entropy of a word, and SGD with gradients clipped to a common norm: the loss. */
static struct ll_value *language_learn(struct language *language, struct ll_value *scores, double rate)
{
    struct ll_nn *nn = language->nn;
    const double positions = (double)(language->sizes.batch * language->sizes.steps);
    ll_nn_push(nn, "loss");
    struct ll_value *labels = counted_rows(language, language->labels);
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, scores, labels);
    struct ll_value *count = ll_constant(nn, "positions", positions);
    struct ll_value *loss = ll_div_of(nn, ll_nn_do1(nn, LL_OP_SUM, each), count);
    ll_nn_do1(nn, LL_OP_EXP, loss);
    ll_nn_pop(nn);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){
                    .kind = LL_SGD,
                    .rate = rate,
                    .clip = LL_CLIP_GLOBAL_NORM,
                    .clip_norm = 5,
                    .unclipped = PROJECTION "/",
                });
    ll_count_step(nn, language->counter);
    return loss;
}

/* The word language model of Catamount (Hestness et al., 2019; Jozefowicz et al., 2016): embeddings, two
 * layers of long short-term memory of the same width h, a softmax over v words, q words at a time, SGD with
 * gradients clipped to a common norm.
 *
 *     parameters 16 h^2 + 2 h v + 8 h + v + 2      104,378,326 with h = 2004, v = 10004
 *
 * the 2 being TensorFlow's counter of steps and learning rate. With a projection to p behind the layers, the
 * "LSTM-p" of the paper's case study, 16 h^2 + h v + h p + p v + 8 h + v + 2: that matrix is trained, but its
 * gradient is not clipped. Products forward a sample: q (16 h^2 l / 2 + 2 h v). */

enum { HIDDEN, VOCABULARY, SEQUENCE, LAYERS, WORD_LM_PROJECTION, RATE };
enum { MOST_LAYERS = 8 };

static const struct ll_model_param language_params[] = {
    [HIDDEN] = {"hidden", 2004, 1, 1 << 18, "width of embeddings and layers"},
    [VOCABULARY] = {"vocabulary", 10004, 2, 1 << 24, "words"},
    [SEQUENCE] = {"sequence", 80, 1, 10000, "words of a sample"},
    [LAYERS] = {"layers", 2, 1, MOST_LAYERS, "layers of long short-term memory"},
    [WORD_LM_PROJECTION] = {"projection", 0, 0, 1 << 18,
                            "width of the projection behind the layers; 0: there is none"},
    [RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
};

static void step(struct ll_nn *nn, const void *layer, struct ll_value *x, struct ll_value **states)
{
    struct ll_lstm_state state = ll_lstm_step(nn, layer, x, (struct ll_lstm_state){states[0], states[1]});
    states[0] = state.c;
    states[1] = state.h;
}

static struct ll_value *layers(struct language *language, uint64_t count, struct ll_value *x)
{
    static const char *const names[MOST_LAYERS] = {"lstm1", "lstm2", "lstm3", "lstm4",
                                                   "lstm5", "lstm6", "lstm7", "lstm8"};
    const uint64_t hidden = language->sizes.hidden;
    for (uint64_t i = 0; i < count; i++) {
        ll_nn_push(language->nn, names[i]);
        struct ll_lstm lstm =
            ll_lstm_begin(language->nn, "cell", hidden, hidden, ll_init_fan_in(2 * hidden, 1));
        ll_nn_pop(language->nn);
        x = language_loop(language, &(struct language_loop){names[i], 2, step, &lstm}, x);
    }
    return x;
}

static struct ll_value *build_language(struct ll_nn *nn, const struct ll_build *build)
{
    struct language language;
    struct ll_value *x = begin_language(&language, nn,
                                        (struct language_sizes){
                                            .batch = build->batch,
                                            .steps = (uint64_t)build->params[SEQUENCE],
                                            .vocabulary = (uint64_t)build->params[VOCABULARY],
                                            .hidden = (uint64_t)build->params[HIDDEN],
                                            .states = 2 * (uint32_t)build->params[LAYERS],
                                        });
    x = layers(&language, (uint64_t)build->params[LAYERS], x);
    if (build->params[WORD_LM_PROJECTION] > 0)
        x = language_project(&language, x, (uint64_t)build->params[WORD_LM_PROJECTION]);
    struct ll_value *scores = language_scores(&language, x);
    return build->train ? language_learn(&language, scores, (double)build->params[RATE] / 1000) : scores;
}

const struct ll_model ll_model_word_lm = {
    .name = "word_lm",
    .suite = "frontier",
    .doc = "next-word prediction by two LSTM layers (Catamount's word language model)",
    .default_batch = 128,
    .params = language_params,
    .param_count = sizeof language_params / sizeof *language_params,
    .build = build_language,
};

/* The character language model of Catamount (Hestness et al., 2019): embeddings, a recurrent highway network
 * (Zilly et al., 2017) of width h and depth d, a softmax over v characters, q characters at a time, SGD with
 * gradients clipped to a common norm. A step of the loop is d layers over one state s, coupled so that what
 * is not carried on is replaced:
 *
 *     H = tanh(W s + b),  T = sigmoid(V s + c),  s' = (H - s) T + s
 *
 * of which the first reads [x s] in place of s.
 *
 *     parameters (4 + 2 (d - 1)) h^2 + 2 h v + 2 d h + v + 2      88,785,316 with h = 2004, v = 98, d = 10
 *
 * the 2 being TensorFlow's counter of steps and learning rate. */

enum { CHAR_LM_HIDDEN, CHAR_LM_VOCABULARY, CHAR_LM_SEQUENCE, DEPTH, CHAR_LM_RATE };
enum { MOST_DEPTH = 64 };

static const struct ll_model_param char_lm_params[] = {
    [CHAR_LM_HIDDEN] = {"hidden", 2004, 1, 1 << 18, "width of embeddings and the state"},
    [CHAR_LM_VOCABULARY] = {"vocabulary", 98, 2, 1 << 24, "characters"},
    [CHAR_LM_SEQUENCE] = {"sequence", 150, 1, 10000, "characters of a sample"},
    [DEPTH] = {"depth", 10, 1, MOST_DEPTH, "layers that the state goes through in each step"},
    [CHAR_LM_RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
};

struct highway {
    uint64_t depth;
    struct ll_linear candidate[MOST_DEPTH], gate[MOST_DEPTH];
};

static struct highway begin(struct ll_nn *nn, uint64_t hidden, uint64_t depth)
{
    struct highway highway = {.depth = depth};
    ll_nn_push(nn, "highway");
    for (unsigned i = 0; i < depth; i++) {
        const uint64_t inputs = i == 0 ? 2 * hidden : hidden;
        const struct ll_init init = ll_init_fan_in(inputs, 1);
        ll_nn_push_numbered(nn, "layer", i);
        highway.candidate[i] = ll_linear_begin(nn, "candidate", inputs, hidden, init);
        highway.gate[i] = ll_linear_begin(nn, "gate", inputs, hidden, init);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return highway;
}

static void step_char_lm(struct ll_nn *nn, const void *layer, struct ll_value *x, struct ll_value **states)
{
    const struct highway *highway = layer;
    for (unsigned i = 0; i < highway->depth; i++) {
        struct ll_value *s = states[0], *read[] = {x, s};
        const uint32_t first = i == 0 ? 0 : 1;
        ll_nn_push_numbered(nn, "layer", i);
        struct ll_value *candidate =
            ll_nn_do1(nn, LL_OP_TANH, ll_linear_apply(nn, &highway->candidate[i], 2 - first, read + first));
        struct ll_value *gate =
            ll_nn_do1(nn, LL_OP_SIGMOID, ll_linear_apply(nn, &highway->gate[i], 2 - first, read + first));
        states[0] = ll_add_of(nn, ll_mul_of(nn, ll_sub_of(nn, candidate, s), gate), s);
        ll_nn_pop(nn);
    }
}

static struct ll_value *build_char_lm(struct ll_nn *nn, const struct ll_build *build)
{
    struct language language;
    struct ll_value *x = begin_language(&language, nn,
                                        (struct language_sizes){
                                            .batch = build->batch,
                                            .steps = (uint64_t)build->params[CHAR_LM_SEQUENCE],
                                            .vocabulary = (uint64_t)build->params[CHAR_LM_VOCABULARY],
                                            .hidden = (uint64_t)build->params[CHAR_LM_HIDDEN],
                                            .states = 1,
                                        });
    const struct highway highway = begin(nn, language.sizes.hidden, (uint64_t)build->params[DEPTH]);
    x = language_loop(&language, &(struct language_loop){"highway", 1, step_char_lm, &highway}, x);
    struct ll_value *scores = language_scores(&language, x);
    return build->train ? language_learn(&language, scores, (double)build->params[CHAR_LM_RATE] / 1000)
                        : scores;
}

const struct ll_model ll_model_char_lm = {
    .name = "char_lm",
    .suite = "frontier",
    .doc = "next-character prediction by a recurrent highway network (Catamount's character language model)",
    .default_batch = 96,
    .params = char_lm_params,
    .param_count = sizeof char_lm_params / sizeof *char_lm_params,
    .build = build_char_lm,
};

/* The image classifiers of Catamount (Hestness et al., 2019): residual networks of five depths (He et al.,
 * 2015, the stride in the unit's 3x3 convolution) as tensorpack trains them, on bytes that are scaled and
 * normalised on the device, by momentum 0.9.
 *
 *     parameters 11,689,514 (18 layers), 21,797,674 (34), 25,557,034 (50), 44,549,162 (101), 60,192,810 (152)
 *
 * of which two are TensorFlow's counter of steps and learning rate. Catamount leaves nothing out that stands
 * in a graph: the gradient of the image is computed, which nothing reads. */

enum { IMAGE, CLASSES, CHANNELS, RESNET_DEPTH, RESNET_RATE };
enum { COLOURS = 3 };

static const struct ll_model_param resnet_params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1000, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
    [RESNET_DEPTH] = {"depth", 50, 18, 152, "layers with weights: 18, 34, 50, 101 or 152"},
    [RESNET_RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

struct source {
    struct ll_images images;
    uint64_t batch;
};

/* From 0 to 255. */
static void fill_pixels(void *context, uint64_t step, uint8_t *data)
{
    const struct source *source = context;
    const uint64_t count = source->batch * source->images.height * source->images.width * COLOURS;
    float *pixels = calloc(count, sizeof *pixels);
    if (pixels)
        ll_image_pixels(&source->images, step * source->batch, source->batch, pixels);
    for (uint64_t i = 0; i < count; i++)
        data[i] = pixels ? (uint8_t)((pixels[i] + 1) * 127.5F) : 0;
    free(pixels);
}

static struct ll_value *feed_pixels(struct ll_nn *nn, const struct ll_images *images, uint64_t batch)
{
    const struct source source = {*images, batch};
    struct source *own = ll_copy(&nn->arena, &source, sizeof source);
    const struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){batch, images->height, images->width, COLOURS},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    if (!own)
        ll_nn_fail(nn, "memory ran out");
    return ll_feed_bytes(nn, "pixels", &shape, fill_pixels, own);
}

/* Of each colour what ImageNet has on average, and how far it strays. */
static struct ll_value *normalised(struct ll_nn *nn, struct ll_value *pixels)
{
    static const double means[] = {0.485, 0.456, 0.406}, deviations[] = {0.229, 0.224, 0.225};
    const struct ll_shape colours =
        ll_nn_shape(nn, 1, (uint64_t[]){COLOURS}, (enum ll_role[]){LL_ROLE_CHANNEL});
    ll_nn_push(nn, "normalise");
    struct ll_value *mean =
        ll_nn_variable(nn, "mean", &colours, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, means});
    struct ll_value *deviation = ll_nn_variable(nn, "deviation", &colours, LL_WORKSPACE,
                                                (struct ll_init){LL_INIT_LIST, 0, deviations});
    struct ll_value *x = ll_nn_mul_scalar(nn, ll_as_real(nn, pixels), "one_of_255", 1.0 / 255);
    x = ll_div_of(nn, ll_sub_of(nn, x, mean), deviation);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *logits(struct ll_nn *nn, struct ll_value *pixels, const struct ll_build *build)
{
    struct ll_resnet net = {.channels = (uint64_t)build->params[CHANNELS],
                            .norm = {.train = build->train, .epsilon = 1e-5, .decay = 0.9}};
    if (!ll_resnet_plan(nn, build->params[RESNET_DEPTH], &net.plan))
        return &nn->nothing;
    struct ll_value *x = ll_resnet_original(nn, &net, normalised(nn, pixels));
    return ll_class_logits(nn, x, (uint64_t)build->params[CLASSES]);
}

static struct ll_value *build_resnet(struct ll_nn *nn, const struct ll_build *build)
{
    const uint64_t image = (uint64_t)build->params[IMAGE];
    const struct ll_images images = {image,       image,      COLOURS, (uint64_t)build->params[CLASSES],
                                     build->seed, LL_LEARNED, NULL};
    nn->as_tensorflow = true;
    struct ll_value *pixels = feed_pixels(nn, &images, build->batch);
    struct ll_value *labels = build->train ? ll_feed_labels(nn, build->batch, &images) : NULL;
    struct ll_value *counter = ll_begin_counter(nn, true);
    struct ll_value *scores = logits(nn, pixels, build);
    if (!build->train)
        return scores;
    struct ll_value *loss = ll_softmax_loss(nn, scores, labels);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){
                    .kind = LL_MOMENTUM, .rate = (double)build->params[RESNET_RATE] / 1000, .momentum = 0.9});
    ll_count_step(nn, counter);
    return loss;
}

const struct ll_model ll_model_image_resnet = {
    .name = "image_resnet",
    .suite = "frontier",
    .doc = "image classification by residual networks (Catamount's, 18 to 152 layers)",
    .default_batch = 32,
    .params = resnet_params,
    .param_count = sizeof resnet_params / sizeof *resnet_params,
    .build = build_resnet,
};

/* The translator of Catamount (Hestness et al., 2019; Luong et al., 2015, in the ops of tensorflow/nmt):
 * sentences of q words each way, both vocabularies of v words, everything of width h.
 *
 *   encoder    a layer of long short-term memory in each direction, its input dropped out; both outputs
 *              together are the memory [q, 2 h], of which keys are made [2 h, h]
 *   decoder    x = dropout([word's embedding, attention before]) through a layer; its output asks the keys by
 *              dot product; shares = softmax; attention = [output, shares of the memory] A [3 h, h]
 *   scores     of all steps at once, [h, v]
 *
 *     parameters 33 h^2 + 3 h v + 12 h + 1      146,890,753 with h = 1024, v = 36548
 *
 * the 1 being TensorFlow's counter of steps. SGD with gradients clipped to a common norm. What is written
 * begins where the forward direction ends. */

enum { NMT_HIDDEN, NMT_VOCABULARY, NMT_SEQUENCE, DROPOUT, NMT_RATE };

static const struct ll_model_param nmt_params[] = {
    [NMT_HIDDEN] = {"hidden", 1024, 1, 1 << 18, "width of embeddings, layers and attention"},
    [NMT_VOCABULARY] = {"vocabulary", 36548, 4, 1 << 24, "words of each language"},
    [NMT_SEQUENCE] = {"sequence", 26, 1, 10000, "words of a sentence, read and written"},
    [DROPOUT] = {"dropout", 20, 0, 90, "percent of what a layer reads that is dropped when training"},
    [NMT_RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
};

static const enum ll_role batch_hidden[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
static const enum ll_role step_batch[] = {LL_ROLE_SEQUENCE, LL_ROLE_BATCH};
static const enum ll_role hidden_words[] = {LL_ROLE_HIDDEN, LL_ROLE_VOCABULARY};

struct sizes {
    uint64_t batch, steps, vocabulary, hidden;
};

struct net {
    struct ll_nn *nn;
    const struct ll_build *build;
    struct sizes sizes;
    double keep;
    struct ll_rng rng;
    struct ll_value *source, *target, *labels; /* [steps, batch] */
    struct ll_value *left;                     /* [steps, batch]: words left of each sentence, above 0 */
    struct ll_value *weights;                  /* [steps x batch]: which labels count */
    struct ll_value *counts;                   /* [batch, steps, 1]: which words of the memory do */
    struct ll_value *keys, *values;            /* [batch, steps, hidden], [batch, steps, 2 hidden] */
    struct ll_value *hears;                    /* [batch, steps]: which of them are there to attend to */
    struct ll_value *zeros;                    /* [batch, hidden] */
};

/* What is made up: words that count up, and their translation one more. */
static uint64_t nmt_word_at(const struct sizes *sizes, uint64_t step, uint64_t i)
{
    return (step * 7 + i % sizes->batch * 3 + i / sizes->batch) % sizes->vocabulary;
}

static void fill_source(void *context, uint64_t step, int32_t *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (int32_t)nmt_word_at(sizes, step, i);
}

static void nmt_fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (int32_t)((nmt_word_at(sizes, step, i) + 1) % sizes->vocabulary);
}

static void fill_left(void *context, uint64_t step, float *data)
{
    const struct sizes *sizes = context;
    (void)step;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (float)(sizes->steps - i / sizes->batch);
}

static void fill_ones(void *context, uint64_t step, float *data)
{
    const struct sizes *sizes = context;
    (void)step;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = 1;
}

static void nmt_feed_all(struct net *net)
{
    struct ll_nn *nn = net->nn;
    struct sizes *sizes = ll_copy(&nn->arena, &net->sizes, sizeof *sizes);
    const uint64_t dims[] = {net->sizes.steps, net->sizes.batch}, all = dims[0] * dims[1];
    const struct ll_shape words = ll_nn_shape(nn, 2, dims, step_batch),
                          flat = ll_nn_shape(nn, 1, &all, step_batch + 1);
    const struct ll_shape memory =
        ll_nn_shape(nn, 3, (uint64_t[]){dims[1], dims[0], 1},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN});
    if (!sizes) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    net->source = ll_feed_indices(nn, "source", &words, fill_source, sizes);
    net->target = ll_feed_indices(nn, "target", &words, fill_source, sizes);
    net->labels = ll_feed_indices(nn, "labels", &flat, nmt_fill_labels, sizes);
    net->left = ll_feed_floats(nn, "words_left", &words, fill_left, sizes);
    net->weights = ll_feed_floats(nn, "label_weights", &flat, fill_ones, sizes);
    net->counts = ll_feed_floats(nn, "memory_mask", &memory, fill_ones, sizes);
}

static struct ll_value *matrix(struct net *net, const char *name, uint64_t rows, uint64_t columns,
                               const enum ll_role *roles)
{
    struct ll_shape shape = ll_nn_shape(net->nn, 2, (uint64_t[]){rows, columns}, roles);
    return ll_nn_variable(net->nn, name, &shape, LL_WEIGHT, ll_init_fan_in(rows, 1));
}

/* Embeddings of words [steps, batch]. */
static struct ll_value *embedded(struct net *net, const char *scope, struct ll_value *words)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    const struct ll_shape shape =
        ll_nn_shape(net->nn, 2, (uint64_t[]){net->sizes.vocabulary, net->sizes.hidden}, roles);
    ll_nn_push(net->nn, scope);
    struct ll_value *table =
        ll_nn_variable(net->nn, "embedding", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_UNIFORM, 0.5, NULL});
    struct ll_value *x = ll_nn_gather(net->nn, table, words);
    ll_nn_pop(net->nn);
    return x;
}

static struct ll_value *dropped(struct net *net, struct ll_value *x)
{
    return net->build->train ? tf_dropout(net->nn, &net->rng, x, net->keep) : x;
}

static struct ll_value *state_before(struct net *net)
{
    const struct ll_shape shape =
        ll_nn_shape(net->nn, 2, (uint64_t[]){net->sizes.batch, net->sizes.hidden}, batch_hidden);
    struct ll_value *zeros = ll_made_zeros(net->nn, &shape);
    zeros->loop = LL_ENTERS_LOOP;
    return zeros;
}

/* A direction of the encoder: outputs [steps, batch, hidden], and the state behind it. */
static struct ll_value *direction(struct net *net, const char *name, struct ll_value *x,
                                  struct ll_lstm_state *state)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes.hidden, steps = net->sizes.steps;
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    ll_nn_push(nn, name);
    const struct ll_lstm lstm = ll_lstm_begin(nn, "cell", hidden, hidden, ll_init_fan_in(2 * hidden, 1));
    struct ll_value *zeros = ll_filled(nn, name, &net->zeros->shape, 0);
    zeros->loop = LL_READ_BY_LOOP;
    *state = (struct ll_lstm_state){state_before(net), state_before(net)};
    struct ll_value **inputs = ll_nn_unstack(nn, x), **left = ll_nn_unstack(nn, net->left);
    if (!outputs || !inputs || !left) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "while");
    for (uint64_t i = 0; i < steps; i++) {
        struct ll_value *counts = ll_nn_do2(nn, LL_OP_GREATER, left[i], ll_constant(nn, "none", 0));
        outputs[i] = tf_lstm_step(nn, &lstm, dropped(net, inputs[i]), counts, zeros, state);
    }
    state->c->loop = state->h->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *result = ll_nn_stack(nn, outputs, (uint32_t)steps);
    ll_nn_pop(nn);
    return result;
}

/* Makes memory and keys; the result is the state of the direction that read to the end. */
static struct ll_lstm_state encode(struct net *net)
{
    struct ll_nn *nn = net->nn;
    struct ll_lstm_state forward, backward;
    ll_nn_push(nn, "encoder");
    struct ll_value *x = embedded(net, "words", net->source);
    struct ll_value *both[] = {direction(net, "forward", x, &forward), NULL};
    both[1] = direction(net, "backward", ll_nn_do1(nn, LL_OP_REVERSE, x), &backward);
    both[1] = ll_nn_do1(nn, LL_OP_REVERSE, both[1]);
    struct ll_value *memory = ll_nn_transpose(nn, ll_nn_concat(nn, both, 2, 2), 102);
    ll_nn_pop(nn);
    ll_nn_push(nn, "memory");
    net->values = ll_mul_of(nn, memory, net->counts);
    net->keys = tf_tensordot(nn, net->values,
                             matrix(net, "weights", 2 * net->sizes.hidden, net->sizes.hidden,
                                    (enum ll_role[]){LL_ROLE_HIDDEN, LL_ROLE_HIDDEN}));
    net->keys->loop = net->values->loop = LL_READ_BY_LOOP;
    ll_nn_pop(nn);
    return forward;
}

static struct ll_value *product(struct net *net, struct ll_value *a, struct ll_value *b, bool transposed)
{
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_TRANSPOSE_B, transposed);
    return ll_nn_do(net->nn, &(struct ll_nn_call){.kind = LL_OP_BATCH_MATMUL,
                                                  .input_count = 2,
                                                  .inputs = (struct ll_value *[]){a, b},
                                                  .attr_count = 1,
                                                  .attrs = &attr});
}

/* [batch, n] seen as [batch, 1, n], and back. */
static struct ll_value *with_middle(struct net *net, struct ll_value *x, uint64_t n, bool middle)
{
    const enum ll_role last = n == net->sizes.steps ? LL_ROLE_SEQUENCE : LL_ROLE_HIDDEN;
    const uint64_t dims[] = {net->sizes.batch, middle ? 1 : n, n};
    const enum ll_role roles[] = {LL_ROLE_BATCH, middle ? LL_ROLE_PLAIN : last, last};
    const struct ll_shape shape = ll_nn_shape(net->nn, middle ? 3 : 2, dims, roles);
    return ll_nn_reshape(net->nn, x, &shape);
}

/* What the memory answers to a state: [batch, 2 hidden]. */
static struct ll_value *attend(struct net *net, struct ll_value *h)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes.hidden, steps = net->sizes.steps;
    ll_nn_push(nn, "attention");
    struct ll_value *score = product(net, with_middle(net, h, hidden, true), net->keys, true);
    score = with_middle(net, score, steps, false);
    struct ll_value *ones = ll_nn_broadcast(nn, ll_constant(nn, "one", 1), &score->shape);
    struct ll_value *unheard = ll_mul_of(nn, ones, ll_constant(nn, "unheard", -1e9));
    struct ll_value *hears = ll_nn_do2(nn, LL_OP_GREATER, net->hears, ll_constant(nn, "none", 0));
    struct ll_value *share = ll_nn_do1(nn, LL_OP_SOFTMAX, ll_select(nn, hears, score, unheard));
    struct ll_value *answer = product(net, with_middle(net, share, steps, true), net->values, false);
    answer = with_middle(net, answer, 2 * hidden, false);
    ll_nn_pop(nn);
    return answer;
}

/* The attention after each step, [steps, batch, hidden]. */
static struct ll_value *decode(struct net *net, struct ll_lstm_state state)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes.hidden, steps = net->sizes.steps;
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    ll_nn_push(nn, "decoder");
    struct ll_value **words = ll_nn_unstack(nn, embedded(net, "words", net->target));
    const struct ll_lstm lstm = ll_lstm_begin(nn, "cell", 2 * hidden, hidden, ll_init_fan_in(3 * hidden, 1));
    struct ll_value *layer = matrix(net, "attention/weights", 3 * hidden, hidden,
                                    (enum ll_role[]){LL_ROLE_HIDDEN, LL_ROLE_HIDDEN});
    struct ll_value *attention = state_before(net);
    if (!outputs || !words) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "while");
    for (uint64_t t = 0; t < steps; t++) {
        struct ll_value *x = ll_nn_concat(nn, (struct ll_value *[]){words[t], attention}, 2, 1);
        state = ll_lstm_step(nn, &lstm, dropped(net, x), state);
        struct ll_value *both[] = {state.h, attend(net, state.h)};
        outputs[t] = attention = ll_nn_do2(nn, LL_OP_MATMUL, ll_nn_concat(nn, both, 2, 1), layer);
        ll_nn_do1(nn, LL_OP_ARGMAX, attention);
    }
    state.c->loop = state.h->loop = attention->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *result = ll_nn_stack(nn, outputs, (uint32_t)steps);
    ll_nn_pop(nn);
    return result;
}

/* Of all steps, [steps x batch, vocabulary]. */
static struct ll_value *scores_of(struct net *net, struct ll_value *x)
{
    struct ll_nn *nn = net->nn;
    const uint64_t dims[] = {net->sizes.steps * net->sizes.batch, net->sizes.vocabulary};
    const struct ll_shape rows =
        ll_nn_shape(nn, 2, dims, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_VOCABULARY});
    ll_nn_push(nn, "scores");
    x = tf_tensordot(nn, x, matrix(net, "weights", net->sizes.hidden, net->sizes.vocabulary, hidden_words));
    x = ll_nn_reshape(nn, x, &rows);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *learn(struct net *net, struct ll_value *scores, struct ll_value *counter)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, scores, net->labels);
    struct ll_value *sum = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, each, net->weights));
    struct ll_value *loss = ll_div_of(nn, sum, ll_constant(nn, "batch", (double)net->sizes.batch));
    ll_nn_pop(nn);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){.kind = LL_SGD,
                                       .rate = (double)net->build->params[NMT_RATE] / 1000,
                                       .clip = LL_CLIP_GLOBAL_NORM,
                                       .clip_norm = 5,
                                       .tells_norm = true});
    ll_count_step(nn, counter);
    return loss;
}

static struct ll_value *build_nmt(struct ll_nn *nn, const struct ll_build *build)
{
    struct net net = {
        .nn = nn,
        .build = build,
        .keep = 1 - (double)build->params[DROPOUT] / 100,
        .sizes = {build->batch, (uint64_t)build->params[NMT_SEQUENCE],
                  (uint64_t)build->params[NMT_VOCABULARY], (uint64_t)build->params[NMT_HIDDEN]},
    };
    nn->as_tensorflow = true;
    nmt_feed_all(&net);
    struct ll_value *counter = ll_begin_counter(nn, false);
    if (build->train)
        net.rng = ll_rng_begin(nn, build->seed);
    net.zeros = state_before(&net);
    net.hears = with_middle(&net, net.counts, net.sizes.steps, false);
    struct ll_value *scores = scores_of(&net, decode(&net, encode(&net)));
    return build->train ? learn(&net, scores, counter) : scores;
}

const struct ll_model ll_model_nmt_luong = {
    .name = "nmt_luong",
    .suite = "frontier",
    .doc = "translation by LSTM layers with dot-product attention (Catamount's translator)",
    .default_batch = 96,
    .params = nmt_params,
    .param_count = sizeof nmt_params / sizeof *nmt_params,
    .build = build_nmt,
};
