/* SPDX-License-Identifier: Apache-2.0 */
/* BERT (Devlin et al., 2019): every token attends to all of its sequence, norms come behind each sum, and
 * what is learned is to fill in tokens that are hidden and to tell whether one half of the text follows the
 * other. With h features, L layers, an FFN width of 4 h, s positions and V tokens:
 *
 *     parameters       (V + s + 2) h + 2 h + L (12 h^2 + 13 h) + h^2 + h       what reads, with its pooler
 *                      h^2 + 3 h + V + 2 h + 2                                 what fills in and tells
 *
 * 335,141,888 and 1,084,220 for the large one. A text here is two halves, each of a few tokens that repeat
 * after half of its length; one time in two the second half has tokens of its own. Inference is the encoder
 * and its pooler. */
#include "models/feed.h"
#include "models/llm/computed.h"
#include "models/nn/layers.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"
#include "tracer/base/random.h"

enum {
    LAYERS,
    HIDDEN,
    HEADS,
    SEQ,
    POSITIONS,
    VOCABULARY,
    MASKED,
    DROPOUT,
    DTYPE,
    TASK_VOCABULARY,
    RATE,
    EAGER,
    PARAMS
};
enum { UNSEEN_BATCHES = 4, TYPES = 2 };

static const struct ll_model_param params[PARAMS] = {
    [LAYERS] = {"layers", 24, 1, 1 << 12, "the base one has 12"},
    [HIDDEN] = {"hidden", 1024, 1, 1 << 20,
                "features of each token, a multiple of heads; the base one has 768"},
    [HEADS] = {"heads", 16, 1, 1 << 12, "of each attention; the base one has 12"},
    [SEQ] = {"seq", 128, 4, 1 << 20, "tokens of a sequence, at most as many as positions"},
    [POSITIONS] = {"positions", 512, 1, 1 << 20, "that are known"},
    [VOCABULARY] = {"vocabulary", 30522, 3, 1 << 24, "tokens there are; 0 is the mask"},
    [MASKED] = {"masked", 15, 1, 100, "percent of the tokens that are masked when training"},
    [DROPOUT] = {"dropout", 10, 0, 90, "percent that is dropped when training"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [TASK_VOCABULARY] = {"task_vocabulary", 26, 2, 1 << 24,
                         "tokens that the synthetic task uses, which is learned"},
    [RATE] = {"rate", 300, 1, 1000000, "of learning, in millionths"},
    [EAGER] = {"eager", 0, 0, 1, "1: scores are scaled, hidden and made shares by an op each"},
};
static const char *const *const words[PARAMS] = {[DTYPE] = ll_decoder_dtypes};

/* A decoder whose tokens see all others; it comes first, so that both are the network's driver's context. */
struct bert {
    struct ll_decoder decoder;
    struct ll_llm llm; /* its layers */
    uint64_t masked;   /* tokens of a text */
};

/* --- texts --- */

static bool follows(const struct bert *b, enum ll_data_part part, uint64_t step, uint64_t n)
{
    uint64_t key = ll_random_key(ll_random_key(b->decoder.seed, 2 + part), step * b->decoder.batch + n);
    return ll_random_bits(key, 0) % 2 == 0;
}

/* Token i of text n, from 1 on. */
static int32_t token_of(const struct bert *b, enum ll_data_part part, uint64_t step, uint64_t n, uint64_t i)
{
    const struct ll_decoder *d = &b->decoder;
    uint64_t half = d->sizes.seq / 2, period = half / 2, second = i >= half && !follows(b, part, step, n);
    uint64_t key = ll_random_key(ll_random_key(d->seed, 4 + 2 * part + second), step * d->batch + n);
    return (int32_t)(1 + ll_random_bits(key, i % half % period) % d->task_vocabulary);
}

/* Where hidden token j of text n is: evenly spread, from a place of the text's own on. */
static uint64_t hidden_at(const struct bert *b, enum ll_data_part part, uint64_t step, uint64_t n, uint64_t j)
{
    const struct ll_decoder *d = &b->decoder;
    uint64_t key = ll_random_key(ll_random_key(d->seed, 8 + part), step * d->batch + n);
    return (ll_random_bits(key, 0) + j * d->sizes.seq / b->masked) % d->sizes.seq;
}

struct feed {
    const struct bert *bert;
    enum ll_data_part part;
};

static void fill_tokens(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_decoder *d = &feed->bert->decoder;
    for (uint64_t n = 0; n < d->batch; n++) {
        for (uint64_t i = 0; i < d->steps; i++)
            data[n * d->steps + i] = token_of(feed->bert, feed->part, step, n, i);
        for (uint64_t j = 0; j < feed->bert->masked; j++)
            data[n * d->steps + hidden_at(feed->bert, feed->part, step, n, j)] = 0;
    }
}

static void fill_types(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_decoder *d = &feed->bert->decoder;
    (void)step;
    for (uint64_t i = 0; i < d->batch * d->steps; i++)
        data[i] = i % d->steps >= d->steps / 2;
}

static void fill_hidden(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct bert *b = feed->bert;
    for (uint64_t i = 0; i < b->decoder.batch * b->masked; i++) {
        uint64_t n = i / b->masked, at = hidden_at(b, feed->part, step, n, i % b->masked);
        data[i] = (int32_t)(n * b->decoder.steps + at);
    }
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct bert *b = feed->bert;
    for (uint64_t i = 0; i < b->decoder.batch * b->masked; i++) {
        uint64_t n = i / b->masked;
        data[i] = token_of(b, feed->part, step, n, hidden_at(b, feed->part, step, n, i % b->masked));
    }
}

static void fill_follows(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t n = 0; n < feed->bert->decoder.batch; n++)
        data[n] = follows(feed->bert, feed->part, step, n);
}

/* So many numbers for each text. */
static struct ll_value *numbers(struct bert *b, const char *name, uint64_t each, ll_fill_indices *fill)
{
    struct ll_nn *nn = b->decoder.nn;
    struct feed *feed = ll_alloc(&nn->arena, 1, sizeof *feed);
    if (!feed) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *feed = (struct feed){b, b->decoder.part};
    uint64_t count = b->decoder.batch * each;
    struct ll_shape shape = ll_nn_shape(nn, 1, &count, (enum ll_role[]){LL_ROLE_BATCH});
    return ll_feed_indices(nn, name, &shape, fill, feed);
}

/* --- the network --- */

static struct ll_value *normed(struct bert *b, struct ll_value *x)
{
    return ll_llm_computed_norm(&b->decoder, &b->llm, "norm", x);
}

/* From the features of a token to so many others. */
static struct ll_value *dense(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_role to)
{
    return ll_llm_computed_dense(d, name, x, units, LL_ROLE_HIDDEN, to, true);
}

static struct ll_value *table(struct bert *b, const char *name, uint64_t rows, enum ll_role role)
{
    struct ll_nn *nn = b->decoder.nn;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){rows, b->decoder.sizes.hidden},
                                        (enum ll_role[]){role, LL_ROLE_HIDDEN});
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
}

static struct ll_value *embedded(struct bert *b, struct ll_value *vocabulary)
{
    struct ll_decoder *d = &b->decoder;
    struct ll_nn *nn = d->nn;
    struct ll_value *x = ll_nn_gather(nn, vocabulary, numbers(b, "tokens", d->steps, fill_tokens));
    struct ll_value *types = numbers(b, "types", d->steps, fill_types);
    types = ll_nn_gather(nn, table(b, "types", TYPES, LL_ROLE_PLAIN), types);
    struct ll_value *positions = table(b, "positions", b->llm.positions, LL_ROLE_SEQUENCE);
    if (b->llm.positions > d->steps)
        positions = ll_nn_slice(nn, positions, 0, 0, d->steps);
    x = ll_add_of(nn, ll_decoder_sequences(d, ll_add_of(nn, x, types)), positions);
    return ll_decoder_dropped(d, normed(b, ll_decoder_rows(d, x)));
}

/* The rows of all tokens. */
static struct ll_value *encoded(struct bert *b, struct ll_value *vocabulary)
{
    struct ll_nn *nn = b->decoder.nn;
    ll_nn_push(nn, "embedding");
    struct ll_value *x = embedded(b, vocabulary);
    ll_nn_pop(nn);
    return ll_llm_computed_layers(&b->decoder, &b->llm, x);
}

/* What the first token of each text says of all of it. */
static struct ll_value *pooled(struct ll_decoder *d, struct ll_value *x)
{
    ll_nn_push(d->nn, "pooler");
    struct ll_value *first = ll_decoder_rows(d, ll_nn_slice(d->nn, ll_decoder_sequences(d, x), 1, 0, 1));
    struct ll_value *y =
        ll_nn_do1(d->nn, LL_OP_TANH, dense(d, "output", first, d->sizes.hidden, LL_ROLE_HIDDEN));
    ll_nn_pop(d->nn);
    return y;
}

/* Logits of the hidden tokens, [batch masked, vocabulary]. */
static struct ll_value *filled_in(struct bert *b, struct ll_value *x, struct ll_value *vocabulary)
{
    struct ll_decoder *d = &b->decoder;
    struct ll_nn *nn = d->nn;
    ll_nn_push(nn, "head");
    struct ll_value *rows = ll_nn_gather(nn, x, numbers(b, "hidden", b->masked, fill_hidden));
    rows = dense(d, "input", rows, d->sizes.hidden, LL_ROLE_HIDDEN);
    rows = normed(b, ll_nn_do1(nn, LL_OP_GELU, rows));
    struct ll_shape line = ll_nn_shape(nn, 1, &d->sizes.vocabulary, (enum ll_role[]){LL_ROLE_VOCABULARY});
    struct ll_value *biases =
        ll_nn_variable(nn, "biases", &line, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 0, NULL});
    rows = ll_nn_do2(nn, LL_OP_BIAS_ADD, ll_matmul_transposed(nn, rows, vocabulary), biases);
    ll_nn_pop(nn);
    return rows;
}

static struct ll_value *train(struct bert *b, double rate)
{
    struct ll_decoder *d = &b->decoder;
    const struct ll_optimizer adam = {
        .kind = LL_ADAM, .rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6};
    struct ll_value *vocabulary = ll_decoder_table(d), *x = encoded(b, vocabulary);
    struct ll_value *labels = numbers(b, "labels", b->masked, fill_labels);
    struct ll_value *token_loss = ll_decoder_loss(d->nn, filled_in(b, x, vocabulary), labels);
    ll_nn_push(d->nn, "follows");
    struct ll_value *said = dense(d, "output", pooled(d, x), TYPES, LL_ROLE_PLAIN);
    struct ll_value *loss =
        ll_add_of(d->nn, token_loss, ll_decoder_loss(d->nn, said, numbers(b, "labels", 1, fill_follows)));
    ll_nn_pop(d->nn);
    if (!d->nn->trouble)
        ll_minimise(d->nn, loss, &adam);
    return loss;
}

static void add_evaluation(struct bert *b)
{
    struct ll_decoder *d = &b->decoder;
    d->program = ll_nn_begin_program(d->nn);
    d->part = LL_HELD_BACK;
    d->train = false;
    struct ll_value *vocabulary = ll_decoder_table(d);
    d->guesses = ll_nn_do1(d->nn, LL_OP_ARGMAX, filled_in(b, encoded(b, vocabulary), vocabulary));
    ll_nn_keep(d->guesses);
}

/* Layers of biased attention and GELU, with a norm behind each sum. False when memory ran out. */
static bool set_layers(struct ll_nn *nn, const struct ll_decoder_sizes *sizes, uint64_t positions,
                       struct ll_llm *llm)
{
    struct ll_llm_layer layer = ll_llm_layer_of(sizes);
    layer.qkv_biased = layer.out_biased = layer.biased = layer.plain = true;
    layer.act = LL_LLM_GELU;
    *llm = (struct ll_llm){.hidden = sizes->hidden,
                           .vocabulary = sizes->vocabulary,
                           .tied = true,
                           .norm = LL_LLM_LAYER_NORM,
                           .epsilon = 1e-12,
                           .norms_behind = true,
                           .positions = positions};
    return ll_llm_repeat(nn, sizes->layers, &layer, llm);
}

/* Reads the settings and checks that they fit together. A network in trouble gives NULL; the tokens of a
 * text that are masked are at least one. */
static struct bert *begin(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    struct bert *b = ll_alloc(&nn->arena, 1, sizeof *b);
    if (!b) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    const struct ll_decoder_sizes sizes = {
        .layers = (uint64_t)values[LAYERS],
        .hidden = (uint64_t)values[HIDDEN],
        .ffn_hidden = 4 * (uint64_t)values[HIDDEN],
        .heads = (uint64_t)values[HEADS],
        .kv_heads = (uint64_t)values[HEADS],
        .head = (uint64_t)(values[HIDDEN] / values[HEADS]),
        .seq = (uint64_t)values[SEQ],
        .vocabulary = (uint64_t)values[VOCABULARY],
    };
    b->decoder = ll_decoder_begin(nn, build,
                                  &(struct ll_decoder_options){
                                      .sizes = sizes,
                                      .dtype = values[DTYPE],
                                      .task_vocabulary = (uint64_t)values[TASK_VOCABULARY],
                                      .dropout = (double)values[DROPOUT] / 100,
                                      .eager = values[EAGER] != 0,
                                  });
    b->decoder.sees_all = true;
    if (!set_layers(nn, &sizes, (uint64_t)values[POSITIONS], &b->llm))
        return NULL;
    b->masked = ll_max(1, ll_ceil_div(sizes.seq * (uint64_t)values[MASKED], 100));
    if (sizes.hidden % sizes.heads != 0)
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
    if (b->llm.positions < sizes.seq)
        ll_nn_fail(nn, "a text has more tokens than positions are known");
    if (b->decoder.task_vocabulary + 1 > sizes.vocabulary)
        ll_nn_fail(nn, "-p task_vocabulary=N is larger than -p vocabulary=N less one, the mask");
    ll_nn_drive(nn, &(struct ll_driver){.context = b});
    return nn->trouble ? NULL : b;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct bert *b = begin(nn, build);
    if (!b)
        return &nn->nothing;
    if (!build->train)
        return pooled(&b->decoder, encoded(b, ll_decoder_table(&b->decoder)));
    struct ll_value *loss = train(b, (double)build->params[RATE] * 1e-6);
    if (build->evaluate && !nn->trouble)
        add_evaluation(b);
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct bert *b = context;
    uint64_t right = 0, count = b->decoder.batch * b->masked;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, b->decoder.program, step);
        const int32_t *guesses = ll_runner_data(runner, b->decoder.guesses);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t n = i / b->masked, at = hidden_at(b, LL_HELD_BACK, step, n, i % b->masked);
            right += guesses[i] == token_of(b, LL_HELD_BACK, step, n, at);
        }
    }
    ll_scores_add(scores,
                  (struct ll_score){"tokens", "share of hidden tokens of unseen texts that are guessed",
                                    (double)right / (double)(count * UNSEEN_BATCHES), false});
    return true;
}

const struct ll_model ll_model_bert = {
    .name = "bert",
    .suite = "frontier",
    .doc = "masked language model (BERT, large)",
    .default_batch = 32,
    .inference_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 2000,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"seq", "16"},
                            {"positions", "16"},
                            {"vocabulary", "16"},
                            {"task_vocabulary", "12"},
                            {"dropout", "0"},
                            {"rate", "700"}}},
    .evaluate = evaluate,
};
