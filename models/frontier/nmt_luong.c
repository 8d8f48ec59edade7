/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/frontier/language.h"

#include "models/feed.h"
#include "models/model.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/optim.h"

enum { HIDDEN, VOCABULARY, SEQUENCE, DROPOUT, RATE };

static const struct ll_model_param params[] = {
    [HIDDEN] = {"hidden", 1024, 1, 1 << 18, "width of embeddings, layers and attention"},
    [VOCABULARY] = {"vocabulary", 36548, 4, 1 << 24, "words of each language"},
    [SEQUENCE] = {"sequence", 26, 1, 10000, "words of a sentence, read and written"},
    [DROPOUT] = {"dropout", 20, 0, 90, "percent of what a layer reads that is dropped when training"},
    [RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
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
    struct ll_chance chance;
    struct ll_value *source, *target, *labels; /* [steps, batch] */
    struct ll_value *left;                     /* [steps, batch]: words left of each sentence, above 0 */
    struct ll_value *weights;                  /* [steps x batch]: which labels count */
    struct ll_value *counts;                   /* [batch, steps, 1]: which words of the memory do */
    struct ll_value *keys, *values;            /* [batch, steps, hidden], [batch, steps, 2 hidden] */
    struct ll_value *hears;                    /* [batch, steps]: which of them are there to attend to */
    struct ll_value *zeros;                    /* [batch, hidden] */
};

/* What is made up: words that count up, and their translation one more. */
static uint64_t word_at(const struct sizes *sizes, uint64_t step, uint64_t i)
{
    return (step * 7 + i % sizes->batch * 3 + i / sizes->batch) % sizes->vocabulary;
}

static void fill_source(void *context, uint64_t step, int32_t *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (int32_t)word_at(sizes, step, i);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (int32_t)((word_at(sizes, step, i) + 1) % sizes->vocabulary);
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

static void feed_all(struct net *net)
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
    net->labels = ll_feed_indices(nn, "labels", &flat, fill_labels, sizes);
    net->left = ll_feed_floats(nn, "words_left", &words, fill_left, sizes);
    net->weights = ll_feed_floats(nn, "label_weights", &flat, fill_ones, sizes);
    net->counts = ll_feed_floats(nn, "memory_mask", &memory, fill_ones, sizes);
}

static struct ll_value *matrix(struct net *net, const char *name, uint64_t rows, uint64_t columns,
                               const enum ll_role *roles)
{
    struct ll_shape shape = ll_nn_shape(net->nn, 2, (uint64_t[]){rows, columns}, roles);
    return ll_nn_variable(net->nn, name, &shape, LL_WEIGHT, ll_init_keeping_size(rows, 1));
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
    struct ll_value *x = ll_gathered(net->nn, table, words);
    ll_nn_pop(net->nn);
    return x;
}

static struct ll_value *dropped(struct net *net, struct ll_value *x)
{
    return net->build->train ? ll_tf_dropout(net->nn, &net->chance, x, net->keep) : x;
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
    const struct ll_lstm lstm =
        ll_lstm_begin(nn, "cell", hidden, hidden, ll_init_keeping_size(2 * hidden, 1));
    struct ll_value *zeros = ll_filled(nn, name, &net->zeros->shape, 0);
    zeros->loop = LL_READ_BY_LOOP;
    *state = (struct ll_lstm_state){state_before(net), state_before(net)};
    struct ll_value **inputs = ll_unstacked(nn, x), **left = ll_unstacked(nn, net->left);
    if (!outputs || !inputs || !left) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "while");
    for (uint64_t i = 0; i < steps; i++) {
        struct ll_value *counts = ll_nn_do2(nn, LL_OP_GREATER, left[i], ll_constant(nn, "none", 0));
        outputs[i] = ll_tf_lstm_step(nn, &lstm, dropped(net, inputs[i]), counts, zeros, state);
    }
    state->c->loop = state->h->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *result = ll_stacked(nn, outputs, (uint32_t)steps);
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
    struct ll_value *memory = ll_transposed(nn, ll_joined(nn, both, 2, 2), 102);
    ll_nn_pop(nn);
    ll_nn_push(nn, "memory");
    net->values = ll_mul_of(nn, memory, net->counts);
    net->keys = ll_tf_tensordot(nn, net->values,
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
    return ll_seen_as(net->nn, x, &shape);
}

/* What the memory answers to a state: [batch, 2 hidden]. */
static struct ll_value *attend(struct net *net, struct ll_value *h)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes.hidden, steps = net->sizes.steps;
    ll_nn_push(nn, "attention");
    struct ll_value *score = product(net, with_middle(net, h, hidden, true), net->keys, true);
    score = with_middle(net, score, steps, false);
    struct ll_value *ones = ll_repeated(nn, ll_constant(nn, "one", 1), &score->shape);
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
    struct ll_value **words = ll_unstacked(nn, embedded(net, "words", net->target));
    const struct ll_lstm lstm =
        ll_lstm_begin(nn, "cell", 2 * hidden, hidden, ll_init_keeping_size(3 * hidden, 1));
    struct ll_value *layer = matrix(net, "attention/weights", 3 * hidden, hidden,
                                    (enum ll_role[]){LL_ROLE_HIDDEN, LL_ROLE_HIDDEN});
    struct ll_value *attention = state_before(net);
    if (!outputs || !words) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "while");
    for (uint64_t t = 0; t < steps; t++) {
        struct ll_value *x = ll_joined(nn, (struct ll_value *[]){words[t], attention}, 2, 1);
        state = ll_lstm_step(nn, &lstm, dropped(net, x), state);
        struct ll_value *both[] = {state.h, attend(net, state.h)};
        outputs[t] = attention = ll_nn_do2(nn, LL_OP_MATMUL, ll_joined(nn, both, 2, 1), layer);
        ll_nn_do1(nn, LL_OP_ARGMAX, attention);
    }
    state.c->loop = state.h->loop = attention->loop = LL_LEAVES_LOOP;
    ll_nn_pop(nn);
    struct ll_value *result = ll_stacked(nn, outputs, (uint32_t)steps);
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
    x = ll_tf_tensordot(nn, x,
                        matrix(net, "weights", net->sizes.hidden, net->sizes.vocabulary, hidden_words));
    x = ll_seen_as(nn, x, &rows);
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
                                       .rate = (double)net->build->params[RATE] / 1000,
                                       .clip = LL_CLIP_GLOBAL_NORM,
                                       .clip_norm = 5,
                                       .tells_norm = true});
    ll_count_step(nn, counter);
    return loss;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct net net = {
        .nn = nn,
        .build = build,
        .keep = 1 - (double)build->params[DROPOUT] / 100,
        .sizes = {build->batch, (uint64_t)build->params[SEQUENCE], (uint64_t)build->params[VOCABULARY],
                  (uint64_t)build->params[HIDDEN]},
    };
    nn->as_tensorflow = true;
    feed_all(&net);
    struct ll_value *counter = ll_begin_counter(nn, false);
    if (build->train)
        net.chance = ll_chance_begin(nn, build->seed);
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
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
};
