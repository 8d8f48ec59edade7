/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_attention_seq2seq of TensorFlow in 2016, unrolled over the steps of a bucket:
 *
 *     encoder      each word's embedding goes through the layers; the last layer's outputs are the memory
 *     decoder      starts from the encoder's last state; each step
 *                    x = [word's embedding, what was attended to] W + b, through the layers,
 *                    attends to the memory, output = [h of the last layer, what is attended to] W + b
 *     attention    over the memory's features (a 1x1 convolution, once), asked by y = [all c, all h] W + b:
 *                    share = softmax(sum(v tanh(features + y))), result = sum over steps of share x memory
 *
 * Weights start as TensorFlow's did: uniform, so that a product keeps the variance of what it reads. */
#include "models/fathom/seq2seq.h"

#include "models/feed.h"
#include "models/nn/formula.h"
#include "models/nn/recurrent.h"
#include "models/nn/sampled.h"

#include <assert.h>
#include <math.h>

enum { MOST_LAYERS = LL_SEQ2SEQ_LAYERS };

/* All weights, and what a program makes of them once. */
struct net {
    struct ll_nn *nn;
    struct ll_seq2seq_call call;
    uint64_t batch, source_steps, target_steps;
    struct ll_value *source_embedding, *target_embedding;
    struct ll_lstm encoder[MOST_LAYERS], decoder[MOST_LAYERS];
    struct ll_linear input, query, output;
    struct ll_value *filter, *vector;   /* of the attention */
    struct ll_value *projection;        /* [hidden, vocabulary] */
    struct ll_value *biases, *classes;  /* [vocabulary]; the projection's transpose */
    struct ll_value *zeros;             /* [batch, hidden] */
    struct ll_value *memory, *features; /* [batch, source steps, hidden] */
};

/* As a product over so many inputs wants it. */
static struct ll_init init_of(uint64_t inputs)
{
    return (struct ll_init){LL_INIT_UNIFORM, sqrt(3 / (double)inputs), NULL};
}

static struct ll_value *weight(struct net *net, const char *name, unsigned rank, const uint64_t *dims,
                               const enum ll_role *roles, struct ll_init init)
{
    struct ll_shape shape = ll_nn_shape(net->nn, rank, dims, roles);
    return ll_nn_variable(net->nn, name, &shape, LL_WEIGHT, init);
}

static struct ll_value *embedding(struct net *net, const char *scope)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    const struct ll_seq2seq_sizes *sizes = &net->call.sizes;
    ll_nn_push(net->nn, scope);
    struct ll_value *table = weight(net, "embedding", 2, (uint64_t[]){sizes->vocabulary, sizes->hidden},
                                    roles, (struct ll_init){LL_INIT_UNIFORM, sqrt(3), NULL});
    ll_nn_pop(net->nn);
    return table;
}

static void begin_layers(struct net *net, const char *scope, struct ll_lstm *layers)
{
    static const char *const names[MOST_LAYERS] = {"lstm0", "lstm1", "lstm2", "lstm3",
                                                   "lstm4", "lstm5", "lstm6", "lstm7"};
    const uint64_t hidden = net->call.sizes.hidden;
    ll_nn_push(net->nn, scope);
    for (uint64_t i = 0; i < net->call.sizes.layers; i++)
        layers[i] = ll_lstm_begin(net->nn, names[i], hidden, hidden, init_of(2 * hidden));
    ll_nn_pop(net->nn);
}

static void begin_attention(struct net *net)
{
    static const enum ll_role roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    const uint64_t hidden = net->call.sizes.hidden, state = 2 * net->call.sizes.layers * hidden;
    ll_nn_push(net->nn, "decoder");
    net->input = ll_linear_begin(net->nn, "input", 2 * hidden, hidden, init_of(2 * hidden));
    net->output = ll_linear_begin(net->nn, "output", 2 * hidden, hidden, init_of(2 * hidden));
    ll_nn_push(net->nn, "attention");
    net->filter = weight(net, "filter", 4, (uint64_t[]){1, 1, hidden, hidden}, roles, init_of(hidden));
    net->vector = weight(net, "vector", 1, &hidden, roles + 2, init_of(1));
    net->query = ll_linear_begin(net->nn, "query", state, hidden, init_of(state));
    ll_nn_pop(net->nn);
    ll_nn_pop(net->nn);
}

static void begin_projection(struct net *net)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_VOCABULARY};
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};
    const uint64_t dims[] = {net->call.sizes.hidden, net->call.sizes.vocabulary};
    ll_nn_push(net->nn, "projection");
    net->projection = weight(net, "weights", 2, dims, roles, init_of(dims[0]));
    net->biases = weight(net, "biases", 1, dims + 1, roles + 1, zero);
    if (net->call.chance)
        net->classes = ll_transposed(net->nn, net->projection, 10);
    ll_nn_pop(net->nn);
}

static void begin(struct net *net, struct ll_nn *nn, const struct ll_seq2seq_call *call)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    const struct ll_bucket *bucket = &call->batch->buckets->sizes[call->batch->bucket];
    assert(call->sizes.layers <= MOST_LAYERS);
    *net = (struct net){.nn = nn,
                        .call = *call,
                        .batch = call->batch->size,
                        .source_steps = bucket->source,
                        .target_steps = bucket->target};
    struct ll_shape state = ll_nn_shape(nn, 2, (uint64_t[]){net->batch, call->sizes.hidden}, roles);
    net->zeros = ll_zeros(nn, &state);
    net->source_embedding = embedding(net, "encoder");
    net->target_embedding = embedding(net, "decoder");
    begin_layers(net, "encoder", net->encoder);
    begin_layers(net, "decoder", net->decoder);
    begin_attention(net);
    begin_projection(net);
}

/* One step through all layers, whose states change; the result is the last layer's output. */
static struct ll_value *step(struct net *net, const struct ll_lstm *layers, struct ll_value *x,
                             struct ll_lstm_state *states)
{
    for (uint64_t i = 0; i < net->call.sizes.layers; i++) {
        states[i] = ll_lstm_step(net->nn, &layers[i], x, states[i]);
        x = states[i].h;
    }
    return x;
}

/* x seen as [batch, steps, features]. */
static struct ll_value *sequence(struct net *net, struct ll_value *x, uint64_t steps, uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(net->nn, 3, (uint64_t[]){net->batch, steps, features}, roles);
    return ll_seen_as(net->nn, x, &shape);
}

/* Leaves the state after the last word in states. */
static void encode(struct net *net, struct ll_value *const *words, struct ll_lstm_state *states)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->call.sizes.hidden, steps = net->source_steps;
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    if (!outputs) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    ll_nn_push(nn, "encoder");
    for (uint64_t i = 0; i < net->call.sizes.layers; i++)
        states[i] = (struct ll_lstm_state){net->zeros, net->zeros};
    for (uint64_t t = 0; t < steps; t++) {
        struct ll_value *top =
            step(net, net->encoder, ll_gathered(nn, net->source_embedding, words[t]), states);
        outputs[t] = sequence(net, top, 1, hidden);
    }
    net->memory = ll_joined(nn, outputs, (uint32_t)steps, 1);
    ll_nn_pop(nn);
}

static void remember(struct net *net)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->call.sizes.hidden;
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    struct ll_shape image = ll_nn_shape(nn, 4, (uint64_t[]){net->batch, net->source_steps, 1, hidden}, roles);
    ll_nn_push(nn, "decoder");
    ll_nn_push(nn, "attention");
    struct ll_value *x = ll_seen_as(nn, net->memory, &image);
    x = ll_nn_do2(nn, LL_OP_CONV2D, x, net->filter);
    net->features = sequence(net, x, net->source_steps, hidden);
    ll_nn_pop(nn);
    ll_nn_pop(nn);
}

/* What the memory answers to these states: [batch, hidden]. */
static struct ll_value *attend(struct net *net, const struct ll_lstm_state *states)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->call.sizes.hidden, layers = net->call.sizes.layers;
    struct ll_value *parts[2 * MOST_LAYERS];
    for (uint64_t i = 0; i < layers; i++) {
        parts[2 * i] = states[i].c;
        parts[2 * i + 1] = states[i].h;
    }
    ll_nn_push(nn, "attention");
    struct ll_value *y = ll_linear_apply(nn, &net->query, (uint32_t)(2 * layers), parts);
    y = sequence(net, y, 1, hidden);
    struct ll_value *match =
        ll_mul_of(nn, ll_nn_do1(nn, LL_OP_TANH, ll_add_of(nn, net->features, y)), net->vector);
    struct ll_value *share = ll_nn_do1(nn, LL_OP_SOFTMAX, ll_sum_over(nn, match, 2, 1));
    share = sequence(net, share, net->source_steps, 1);
    struct ll_value *answer = ll_sum_over(nn, ll_mul_of(nn, net->memory, share), 1, 1);
    ll_nn_pop(nn);
    return answer;
}

/* The score of each word of the vocabulary. */
static struct ll_value *project(struct net *net, struct ll_value *output)
{
    ll_nn_push(net->nn, "projection");
    struct ll_value *scores = ll_nn_do2(net->nn, LL_OP_MATMUL, output, net->projection);
    scores = ll_nn_do2(net->nn, LL_OP_BIAS_ADD, scores, net->biases);
    ll_nn_pop(net->nn);
    return scores;
}

/* GREEDY: the words that the decoder writes are kept, and read by its next step. */
static void decode(struct net *net, struct ll_value *const *words, struct ll_lstm_state *states,
                   struct ll_value **outputs, struct ll_value **written)
{
    struct ll_nn *nn = net->nn;
    struct ll_value *attended = net->zeros;
    ll_nn_push(nn, "decoder");
    for (uint64_t t = 0; t < net->target_steps; t++) {
        bool feeds_back = t > 0 && net->call.mode == LL_GREEDY;
        if (feeds_back) {
            written[t - 1] = ll_nn_do1(nn, LL_OP_ARGMAX, project(net, outputs[t - 1]));
            ll_nn_keep(written[t - 1]);
        }
        struct ll_value *word =
            ll_gathered(nn, net->target_embedding, feeds_back ? written[t - 1] : words[t]);
        struct ll_value *x = ll_linear_apply(nn, &net->input, 2, (struct ll_value *[]){word, attended});
        struct ll_value *top = step(net, net->decoder, x, states);
        attended = attend(net, states);
        outputs[t] = ll_linear_apply(nn, &net->output, 2, (struct ll_value *[]){top, attended});
    }
    ll_nn_pop(nn);
}

static struct ll_value *sum_of(struct ll_nn *nn, uint32_t count, struct ll_value *const *values)
{
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ADD_N, .input_count = count, .inputs = values});
}

/* Of each sentence the mean over its words, of these the mean: a scalar. */
static struct ll_value *sequence_loss(struct net *net, struct ll_value *const *outputs,
                                      struct ll_value *const *words, struct ll_value *const *weights)
{
    struct ll_nn *nn = net->nn;
    const uint32_t steps = (uint32_t)net->target_steps;
    const struct ll_sampled_softmax softmax = {net->classes, net->biases, net->call.sizes.samples,
                                               net->call.chance};
    struct ll_value **losses = ll_alloc(&nn->arena, steps, sizeof *losses);
    if (!losses) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_nn_push(nn, "loss");
    for (uint32_t t = 0; t < steps; t++)
        losses[t] =
            ll_mul_of(nn, ll_sampled_softmax_loss(nn, &softmax, outputs[t], words[t + 1]), weights[t]);
    struct ll_value *little = ll_constant(nn, "little", 1e-12);
    struct ll_value *counted = ll_add_of(nn, sum_of(nn, steps, weights), little);
    struct ll_value *each = ll_div_of(nn, sum_of(nn, steps, losses), counted);
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return loss;
}

struct ll_seq2seq_result ll_seq2seq_forward(struct ll_nn *nn, const struct ll_seq2seq_call *call)
{
    struct net net;
    struct ll_lstm_state states[MOST_LAYERS];
    begin(&net, nn, call);
    const uint64_t steps = net.target_steps;
    struct ll_value **source = ll_unstacked(nn, ll_feed_source(nn, call->batch));
    struct ll_value **target = ll_unstacked(nn, ll_feed_target(nn, call->batch));
    struct ll_value **weights = ll_unstacked(nn, ll_feed_target_weights(nn, call->batch));
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    struct ll_seq2seq_result result = {.words = ll_alloc(&nn->arena, steps, sizeof *outputs)};
    if (!outputs || !result.words)
        ll_nn_fail(nn, "memory ran out");
    if (nn->trouble)
        return result;
    encode(&net, source, states);
    remember(&net);
    decode(&net, target, states, outputs, result.words);
    for (uint64_t t = 0; call->mode == LL_GREEDY && call->chance && t < steps; t++)
        result.last = project(&net, outputs[t]);
    if (call->chance)
        result.loss = sequence_loss(&net, outputs, target, weights);
    return result;
}
