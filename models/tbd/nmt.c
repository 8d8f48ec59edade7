/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/tbd/mlp_attention.h"
#include "models/tbd/unrolled.h"

#include "models/nn/formula.h"

enum { MOST_LAYERS = LL_MOST_DECODER_LAYERS };
static const struct ll_model_param params[] = {
    [SOURCE_WORDS] = {"source_words", 17191, 8, 1 << 24, "of the language read, with four that are none"},
    [TARGET_WORDS] = {"target_words", 7709, 8, 1 << 24, "of the language written, with four that are none"},
    [HIDDEN] = {"hidden", 512, 1, 1 << 14, "units of every layer, also of embeddings and attention"},
    [LAYERS] = {"layers", 2, 1, MOST_LAYERS, "that read, and as many that write"},
    [SOURCE] = {"source", 25, 2, 10000, "words read of a sentence"},
    [TARGET] = {"target", 25, 2, 10000, "words written, the end included"},
    [PADDING] = {"padding", 0, 0, 90, "percent of the words read that only fill sentences up"},
    [BEAM] = {"beam", 10, 1, 1 << 10, "hypotheses of a sentence when translating"},
    [RATE] = {"rate", 300, 1, 1000000, "of Adam, in millionths"},
    [LETTERS] = {"letters", 26, 2, 1 << 24, "words of the made-up language that is learned"},
};

struct net {
    struct ll_nn *nn;
    const struct ll_build *build;
    struct ll_translation *t;
    enum ll_data_part part;
    uint64_t hidden, layers;
    struct ll_lstm decoder[MOST_LAYERS];
    struct ll_value *target_embedding;
    struct ll_mlp_attention attention;
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
                                  ll_uniform_init(inputs + net->hidden));
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
static struct ll_value *encode(struct net *net, struct ll_decoder_state *state)
{
    struct ll_nn *nn = net->nn;
    struct ll_lstm layers[MOST_LAYERS];
    const uint64_t steps = net->t->source_steps;
    struct ll_value *table =
        ll_word_embedding(nn, "source_embedding", (uint64_t)net->build->params[SOURCE_WORDS], net->hidden);
    struct ll_value **words = ll_embedded_steps(nn, table, ll_translation_source(nn, net->t, net->part));
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
    return ll_as_memory(nn, outputs, steps);
}

static void begin_decoder(struct net *net, struct ll_value *memory)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->hidden;
    struct ll_shape join = ll_nn_shape(nn, 2, (uint64_t[]){2 * hidden, hidden}, roles);
    struct ll_value *bias = ll_translation_source_bias(nn, net->t, net->part);
    net->target_embedding =
        ll_word_embedding(nn, "target_embedding", (uint64_t)net->build->params[TARGET_WORDS], hidden);
    begin_layers(net, 2 * hidden, net->decoder);
    net->attention = ll_mlp_attention_begin(nn, "attention", memory, bias, hidden);
    net->join = ll_nn_variable(nn, "attention/layer", &join, LL_WEIGHT, ll_uniform_init(2 * hidden));
}

/* Reads a word; the result, the new attention, is also in the state. */
static struct ll_value *step(struct net *net, struct ll_value *word, struct ll_decoder_state *state)
{
    struct ll_nn *nn = net->nn;
    struct ll_value *x = ll_joined(nn, (struct ll_value *[]){word, state->beside}, 2, 1);
    struct ll_value *top = through(net, net->decoder, x, state->layers);
    struct ll_value *both[] = {ll_mlp_attend(nn, &net->attention, top), top};
    state->beside = ll_nn_do2(nn, LL_OP_MATMUL, ll_joined(nn, both, 2, 1), net->join);
    return state->beside;
}

static struct ll_value *project(struct net *net, struct ll_value *rows)
{
    return ll_product_with(net->nn, "projection", rows, (uint64_t)net->build->params[TARGET_WORDS]);
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

static struct ll_value *encoder(struct net *net, struct ll_decoder_state *state)
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
    struct ll_decoder_state state;
    struct ll_value *memory = encoder(&net, &state);
    ll_nn_push(nn, "decoder");
    begin_decoder(&net, memory);
    struct ll_value **words =
        ll_embedded_steps(nn, net.target_embedding, ll_translation_read(nn, t, LL_LEARNED));
    struct ll_value **outputs = ll_alloc(&nn->arena, t->target_steps, sizeof(struct ll_value *));
    if (!outputs)
        ll_nn_fail(nn, "memory ran out");
    for (uint64_t i = 0; i < t->target_steps && !nn->trouble; i++)
        outputs[i] = step(&net, words[i], &state);
    struct ll_value *logits =
        nn->trouble ? &nn->nothing : project(&net, ll_as_rows(nn, outputs, t->target_steps));
    ll_nn_pop(nn);
    return logits;
}

static struct ll_value *search(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t,
                               enum ll_data_part part)
{
    struct net net = net_of(nn, build, t, part);
    struct ll_beam *beam = &t->beam;
    struct ll_decoder_state state;
    ll_translation_beam(t, (uint64_t)build->params[BEAM], (uint64_t)build->params[TARGET_WORDS]);
    struct ll_value *memory = encoder(&net, &state);
    ll_nn_push(nn, "decoder");
    begin_decoder(&net, memory);
    ll_beam_begin(nn, beam);
    ll_decoder_spread(nn, beam, &state, net.layers);
    ll_nn_share(nn, true); /* the projection is that of the first step */
    while (beam->done < beam->steps && !nn->trouble) {
        struct ll_value *word = ll_gathered(nn, net.target_embedding, beam->words);
        ll_beam_grow(nn, beam, project(&net, step(&net, word, &state)));
        if (beam->done < beam->steps)
            ll_decoder_follow(nn, beam, &state, net.layers);
    }
    ll_nn_share(nn, false);
    ll_nn_pop(nn);
    return beam->scores;
}

static struct ll_value *train(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    struct ll_value *logits = teach(nn, build, t), *counted;
    ll_nn_push(nn, "loss");
    struct ll_value *loss = ll_counted_losses(nn, t, logits, &counted);
    loss = ll_scaled(nn, loss, "one_of_batch", 1 / (double)t->batch);
    ll_nn_pop(nn);
    ll_unrolled_minimise(nn, build, loss, LL_CLIP_GLOBAL_NORM);
    return loss;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_unrolled_build(nn, build, &(struct ll_translator){teach, search, train});
}

const struct ll_model ll_model_nmt = {
    .name = "nmt",
    .suite = "tbd",
    .doc = "translation by LSTM layers with attention and input feeding (NMT)",
    .default_batch = 128,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 800,
               .batch = 32,
               .settings = {{"source_words", "16"},
                            {"target_words", "16"},
                            {"letters", "10"},
                            {"hidden", "64"},
                            {"layers", "1"},
                            {"source", "6"},
                            {"target", "7"},
                            {"padding", "25"},
                            {"rate", "3000"}}},
    .evaluate = ll_translation_evaluate,
};
