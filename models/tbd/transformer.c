/* SPDX-License-Identifier: Apache-2.0 */
/* A sublayer reads x normalised and adds what it makes of it: x + dropout(f(norm(x))). The encoder has two a
 * layer, attention to itself and a feed-forward layer; the decoder has attention to the encoder's result
 * between them. Words are rows [batch steps, hidden] but for attention.
 *
 * Whole sentences go through the decoder at once, each word hidden from those before it. A search goes word
 * by word: a layer keeps keys and values of the words so far, as [batch width, words, hidden], and hypotheses
 * that live on take theirs along. What attends to the encoder needs no copy of its result: hypotheses of one
 * sentence are as many words that ask. */
#include "models/tbd/transformer.h"

#include <math.h>

#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"

static const double norm_epsilon = 1e-6;

enum { LANGUAGES = 32 };

/* Keys and values [n, words, hidden] of a layer; NULL before the first word. */
struct memory {
    struct ll_value *keys, *values;
};

struct net {
    struct ll_nn *nn;
    struct ll_transformer_sizes sizes;
    struct ll_rng *rng;
    struct ll_value *embedding;   /* [vocabulary, hidden] */
    struct ll_value *rows;        /* of words that are more than padding; NULL: all are */
    struct ll_value *source_bias; /* [batch, 1, 1, source steps] */
    uint64_t batch, source_steps;
};

static struct ll_init init_of(uint64_t inputs)
{
    return (struct ll_init){LL_INIT_UNIFORM, sqrt(3 / (double)inputs), NULL};
}

/* Rows [count steps, n] seen as [count, steps, n]; and back. */
static struct ll_value *sentences(struct ll_nn *nn, struct ll_value *rows, uint64_t steps)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t *dim = rows->shape.dim;
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){dim[0] / steps, steps, dim[1]}, roles);
    return ll_nn_reshape(nn, rows, &shape);
}

static struct ll_value *as_rows(struct ll_nn *nn, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    const uint64_t *dim = x->shape.dim;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){dim[0] * dim[1], dim[2]}, roles);
    return ll_nn_reshape(nn, x, &shape);
}

static struct ll_value *dense(struct net *net, const char *name, struct ll_value *rows, uint64_t units,
                              bool biased)
{
    struct ll_nn *nn = net->nn;
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    uint64_t inputs = rows->shape.dim[1];
    ll_nn_push(nn, name);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){inputs, units}, roles);
    struct ll_value *y =
        ll_nn_do2(nn, LL_OP_MATMUL, rows, ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, init_of(inputs)));
    if (biased) {
        struct ll_shape line = ll_nn_shape(nn, 1, &units, roles);
        struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};
        y = ll_nn_do2(nn, LL_OP_BIAS_ADD, y, ll_nn_variable(nn, "biases", &line, LL_WEIGHT, zero));
    }
    ll_nn_pop(nn);
    return y;
}

/* Of an attention's projections. */
static struct ll_value *projected(struct net *net, const char *name, struct ll_value *rows, uint64_t units)
{
    return dense(net, name, rows, units, !net->sizes.paper);
}

static struct ll_value *dropped(struct net *net, struct ll_value *x)
{
    return net->rng ? ll_dropout_layer(net->nn, "dropout", x, 1 - net->sizes.dropout, net->rng) : x;
}

static struct ll_value *normed(struct net *net, struct ll_value *x)
{
    return ll_layer_norm(net->nn, "norm", x, norm_epsilon);
}

/* Queries, keys and values are rows, so many of each sentence; the result is projected rows. */
static struct ll_value *attend(struct net *net, struct ll_value *queries, uint64_t query_steps,
                               struct memory memory, struct ll_value *bias)
{
    struct ll_attention_options options = {
        .heads = net->sizes.heads, .bias = bias, .rng = net->rng, .keep = 1 - net->sizes.dropout};
    struct ll_value *y =
        ll_attention(net->nn, sentences(net->nn, queries, query_steps), memory.keys, memory.values, &options);
    return projected(net, "output", as_rows(net->nn, y), net->sizes.hidden);
}

/* x + attention of x to itself, or where there is a memory also to what it holds: x is then one word more,
 * which goes into it. */
static struct ll_value *attend_to_itself(struct net *net, struct ll_value *x, uint64_t steps,
                                         struct ll_value *bias, struct memory *memory)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, "self_attention");
    struct ll_value *all = projected(net, "query_key_value", normed(net, x), 3 * net->sizes.hidden);
    struct ll_value *const *parts = ll_nn_split(nn, all, 1, 3);
    struct memory here = {sentences(nn, parts[1], steps), sentences(nn, parts[2], steps)};
    if (memory && memory->keys) {
        here.keys = ll_nn_concat(nn, (struct ll_value *[]){memory->keys, here.keys}, 2, 1);
        here.values = ll_nn_concat(nn, (struct ll_value *[]){memory->values, here.values}, 2, 1);
    }
    if (memory)
        *memory = here;
    x = ll_add_of(nn, x, dropped(net, attend(net, parts[0], steps, here, bias)));
    ll_nn_pop(nn);
    return x;
}

/* The keys and values of a decoder's layer for what was read: rows of all sentences. */
static struct memory remember(struct net *net, struct ll_value *encoded)
{
    struct ll_value *all = projected(net, "key_value", encoded, 2 * net->sizes.hidden);
    struct ll_value *const *parts = ll_nn_split(net->nn, all, 1, 2);
    return (struct memory){sentences(net->nn, parts[0], net->source_steps),
                           sentences(net->nn, parts[1], net->source_steps)};
}

/* x + attention to what was read; so many rows of x belong to a sentence. */
static struct ll_value *attend_to_source(struct net *net, struct ll_value *x, uint64_t steps,
                                         struct memory memory)
{
    struct ll_value *query = projected(net, "query", normed(net, x), net->sizes.hidden);
    return ll_add_of(net->nn, x, dropped(net, attend(net, query, steps, memory, net->source_bias)));
}

/* What was taken out for the layer goes back between rows of zeros. */
static struct ll_value *put_back(struct net *net, struct ll_value *picked, const struct ll_shape *whole)
{
    struct ll_value *inputs[] = {picked, net->rows};
    return ll_nn_do(
        net->nn,
        &(struct ll_nn_call){
            .kind = LL_OP_SEGMENT_SUM, .input_count = 2, .inputs = inputs, .given_count = 1, .given = whole});
}

static struct ll_value *feed_forward(struct net *net, struct ll_value *x, bool without_padding)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, "feed_forward");
    struct ll_value *y = normed(net, x);
    if (without_padding)
        y = ll_nn_gather(nn, y, net->rows);
    y = ll_nn_do1(nn, LL_OP_RELU, dense(net, "inner", y, net->sizes.filter, true));
    y = dense(net, "outer", dropped(net, y), net->sizes.hidden, true);
    if (without_padding)
        y = put_back(net, y, &x->shape);
    x = ll_add_of(nn, x, dropped(net, y));
    ll_nn_pop(nn);
    return x;
}

/* Sines and cosines of positions from `first` on, [steps, hidden]: wavelengths from 2 pi to 20000 pi, the
 * sines in the first half of the features, the cosines in the second. */
static struct ll_value *positions(struct net *net, uint64_t first, uint64_t steps)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes.hidden, half = hidden / 2;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){steps, hidden}, roles);
    double *list = ll_alloc(&nn->arena, ll_elements(&shape), sizeof *list);
    const char *name = ll_format(&nn->arena, "positions_from_%llu", (unsigned long long)first);
    if (!list || !name) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t t = 0; t < steps; t++)
        for (uint64_t i = 0; i < half; i++) {
            double angle = (double)(first + t) * pow(1e4, -(double)i / (half > 1 ? (double)half - 1 : 1));
            list[t * hidden + i] = sin(angle);
            list[t * hidden + half + i] = cos(angle);
        }
    return ll_nn_variable(nn, name, &shape, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, list});
}

/* Words [n, steps] as rows: their embeddings times the root of their length. */
static struct ll_value *embedded(struct net *net, struct ll_value *words)
{
    struct ll_nn *nn = net->nn;
    struct ll_shape list = {.rank = 1, .dim = {ll_elements(&words->shape)}, .role = {LL_ROLE_BATCH}};
    struct ll_value *x = ll_nn_gather(nn, net->embedding, ll_nn_reshape(nn, words, &list));
    return ll_nn_mul_scalar(nn, x, "embedding_scale", sqrt((double)net->sizes.hidden));
}

static struct ll_value *positioned(struct net *net, struct ll_value *rows, uint64_t first, uint64_t steps)
{
    struct ll_value *x = sentences(net->nn, rows, steps);
    return dropped(net, as_rows(net->nn, ll_add_of(net->nn, x, positions(net, first, steps))));
}

static void fill_language(void *context, uint64_t step, int32_t *data)
{
    (void)context, (void)step;
    *data = 1;
}

static struct ll_value *with_language(struct net *net, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    struct ll_nn *nn = net->nn;
    struct ll_shape one = ll_nn_shape(nn, 1, (uint64_t[]){1}, NULL);
    struct ll_shape table = ll_nn_shape(nn, 2, (uint64_t[]){LANGUAGES, net->sizes.hidden}, roles);
    struct ll_value *language = ll_feed_indices(nn, "target_language", &one, fill_language, NULL);
    struct ll_value *languages =
        ll_nn_variable(nn, "languages", &table, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
    return ll_add_of(nn, x, ll_nn_gather(nn, languages, language));
}

static const char *layer_name(struct net *net, uint64_t i)
{
    const char *name = ll_format(&net->nn->arena, "layer%llu", (unsigned long long)i);
    if (!name)
        ll_nn_fail(net->nn, "memory ran out");
    return name ? name : "layer";
}

static struct ll_value *encoder_layer(struct net *net, const char *name, struct ll_value *x)
{
    ll_nn_push(net->nn, name);
    x = attend_to_itself(net, x, net->source_steps, net->source_bias, NULL);
    x = feed_forward(net, x, net->rows != NULL);
    ll_nn_pop(net->nn);
    return x;
}

/* Weights that all share, and the sentences read: rows. */
static struct ll_value *encode(struct net *net, const struct ll_transformer_call *call)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct ll_nn *nn = net->nn;
    struct ll_translation *t = call->translation;
    struct ll_shape table =
        ll_nn_shape(nn, 2, (uint64_t[]){call->sizes.vocabulary, call->sizes.hidden}, roles);
    struct ll_shape hidden =
        ll_nn_shape(nn, 4, (uint64_t[]){t->batch, 1, 1, t->source_steps},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN, LL_ROLE_SEQUENCE});
    struct ll_init init = {LL_INIT_NORMAL, 1 / sqrt((double)call->sizes.hidden), NULL};
    net->embedding = ll_nn_variable(nn, "embedding", &table, LL_WEIGHT, init);
    net->rows = ll_translation_source_rows(nn, t, call->part);
    net->source_bias = ll_nn_reshape(nn, ll_translation_source_bias(nn, t, call->part), &hidden);
    struct ll_value *words = ll_translation_source(nn, t, call->part);
    ll_nn_push(nn, "encoder");
    struct ll_value *x = embedded(net, words);
    if (!call->sizes.paper)
        x = with_language(net, x);
    x = positioned(net, x, 0, t->source_steps);
    for (uint64_t i = 0; i < call->sizes.layers; i++)
        x = encoder_layer(net, layer_name(net, i), x);
    x = normed(net, x);
    ll_nn_pop(nn);
    return x;
}

static struct net net_of(struct ll_nn *nn, const struct ll_transformer_call *call)
{
    return (struct net){.nn = nn,
                        .sizes = call->sizes,
                        .rng = call->rng,
                        .batch = call->translation->batch,
                        .source_steps = call->translation->source_steps};
}

static struct ll_value *logits_of(struct net *net, struct ll_value *rows)
{
    ll_nn_push(net->nn, "softmax");
    struct ll_value *logits = ll_matmul_transposed(net->nn, rows, net->embedding);
    ll_nn_pop(net->nn);
    return logits;
}

/* Encoder and decoder over whole sentences at once, each position masked from those behind it. */
struct ll_value *ll_transformer_teach(struct ll_nn *nn, const struct ll_transformer_call *call)
{
    struct net net = net_of(nn, call);
    const uint64_t steps = call->translation->target_steps;
    struct ll_value *encoded = encode(&net, call);
    struct ll_value *words = ll_translation_read(nn, call->translation, call->part);
    ll_nn_push(nn, "decoder");
    struct ll_value *x = positioned(&net, embedded(&net, words), 0, steps);
    struct ll_value *bias = ll_causal_bias(nn, steps);
    for (uint64_t i = 0; i < call->sizes.layers && !nn->trouble; i++) {
        ll_nn_push(nn, layer_name(&net, i));
        x = attend_to_itself(&net, x, steps, bias, NULL);
        ll_nn_push(nn, "source_attention");
        x = attend_to_source(&net, x, steps, remember(&net, encoded));
        ll_nn_pop(nn);
        x = feed_forward(&net, x, false);
        ll_nn_pop(nn);
    }
    x = normed(&net, x);
    ll_nn_pop(nn);
    return logits_of(&net, x);
}

/* Of each layer of the decoder what it knows: of the source, and of each hypothesis so far. */
struct memories {
    struct memory *source, *own;
};

static void remember_source(struct net *net, struct ll_value *encoded, struct memory *source)
{
    for (uint64_t i = 0; i < net->sizes.layers; i++) {
        ll_nn_push(net->nn, layer_name(net, i));
        ll_nn_push(net->nn, "source_attention");
        source[i] = remember(net, encoded);
        ll_nn_pop(net->nn);
        ll_nn_pop(net->nn);
    }
}

/* One word more of every hypothesis: the logits of the next. */
static struct ll_value *next_logits(struct net *net, const struct ll_beam *beam, struct memories memories)
{
    struct ll_nn *nn = net->nn;
    struct ll_value *x = positioned(net, embedded(net, beam->words), beam->done, 1);
    for (uint64_t i = 0; i < net->sizes.layers && !nn->trouble; i++) {
        ll_nn_push(nn, layer_name(net, i));
        x = attend_to_itself(net, x, 1, NULL, &memories.own[i]);
        ll_nn_push(nn, "source_attention");
        x = attend_to_source(net, x, beam->width, memories.source[i]);
        ll_nn_pop(nn);
        x = feed_forward(net, x, false);
        ll_nn_pop(nn);
    }
    return logits_of(net, normed(net, x));
}

/* Beam search: keys and values of the encoder are computed once; those of the decoder grow by a position a
 * step and follow the hypotheses. */
struct ll_value *ll_transformer_search(struct ll_nn *nn, const struct ll_transformer_call *call,
                                       struct ll_beam *beam)
{
    struct net net = net_of(nn, call);
    struct ll_value *encoded = encode(&net, call);
    const uint64_t layers = call->sizes.layers;
    struct memories memories = {ll_alloc(&nn->arena, layers, sizeof(struct memory)),
                                ll_alloc(&nn->arena, layers, sizeof(struct memory))};
    if (!memories.source || !memories.own) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    ll_beam_begin(nn, beam);
    ll_nn_share(nn, true); /* the decoder's weights are those of its first step */
    ll_nn_push(nn, "decoder");
    remember_source(&net, encoded, memories.source);
    while (beam->done < beam->steps && !nn->trouble) {
        ll_beam_grow(nn, beam, next_logits(&net, beam, memories));
        for (uint64_t i = 0; i < layers && beam->done < beam->steps; i++) {
            memories.own[i].keys = ll_beam_follow(nn, beam, memories.own[i].keys);
            memories.own[i].values = ll_beam_follow(nn, beam, memories.own[i].values);
        }
    }
    ll_nn_share(nn, false);
    ll_nn_pop(nn);
    return beam->scores;
}

struct ll_value *ll_transformer_encoder_layer(struct ll_nn *nn, const char *name,
                                              const struct ll_transformer_sizes *sizes, struct ll_value *x,
                                              struct ll_value *bias)
{
    const uint64_t *dim = x->shape.dim;
    struct net net = {
        .nn = nn, .sizes = *sizes, .source_bias = bias, .batch = dim[0], .source_steps = dim[1]};
    return sentences(nn, encoder_layer(&net, name, as_rows(nn, x)), dim[1]);
}

/* Transformer (Vaswani et al., 2017) as TBD trains it: Tensor2Tensor's transformer_base_single_gpu, 2048
 * words a batch. Where paper and code differ it is the code: what a layer reads is normalised, not what it
 * writes; projections of attention have biases; the encoder is told the target language. -p paper=1 leaves
 * the last two out. One embedding serves both languages and the softmax. With 512 features, 2048 in the
 * feed-forward layers, 6 layers each way and 33708 words:
 *
 *     parameters 61,415,424 = embedding 17,258,496 + target language 16,384 + encoder 6 x 3,152,384 +
 *                             decoder 6 x 4,204,032 + two normalisations 2,048
 *
 * (-p paper=1 with 37000 words 63,047,680). FLOPs of a pair of s and t words, d = 512, f = 2048:
 *
 *     6 (s (8 d^2 + 4 d f) + 4 s^2 d) + 6 (t (12 d^2 + 4 d f) + 4 d^2 s + 4 d (t^2 + t s)) + 2 t d 33708
 *
 * which are 3,960,864,768 for 32 words each. The big one of the paper is -p hidden=1024 -p ffn_hidden=4096
 * -p heads=16 -p dropout=30.
 *
 * Training: labels smoothed by 0.1, dropout 0.1, Adam (0.9, 0.98, 1e-9) with a rate that rises for 16000
 * steps and falls with their root; its factor 0.2 is 2 / sqrt(512) of the paper's measure, for Tensor2Tensor
 * multiplies it by ten. Words that only fill a sentence up are taken out before the encoder's feed-forward
 * layers and put back behind them; -p padding=N says how many there are, so that the layers have a fixed
 * size. Inference is a beam search over hypotheses with their keys and values of every layer. */

enum {
    TRANSFORMER_VOCABULARY,
    TRANSFORMER_HIDDEN,
    TRANSFORMER_FILTER,
    TRANSFORMER_LAYERS,
    TRANSFORMER_HEADS,
    TRANSFORMER_SOURCE,
    TRANSFORMER_TARGET,
    TRANSFORMER_PADDING,
    TRANSFORMER_DROPOUT,
    TRANSFORMER_SMOOTHING,
    TRANSFORMER_WARMUP,
    TRANSFORMER_BEAM,
    TRANSFORMER_LETTERS,
    TRANSFORMER_PAPER,
    TRANSFORMER_DTYPE,
    TRANSFORMER_PARAMS
};
static const struct ll_model_param transformer_params[TRANSFORMER_PARAMS] = {
    [TRANSFORMER_VOCABULARY] = {"vocabulary", 33708, 8, 1 << 24,
                                "words of both languages, with four that are none"},
    [TRANSFORMER_HIDDEN] = {"hidden", 512, 2, 1 << 14, "features of each word, even; the big one has 1024"},
    [TRANSFORMER_FILTER] = {"ffn_hidden", 2048, 1, 1 << 16,
                            "features inside the feed-forward layers; the big one has 4096"},
    [TRANSFORMER_LAYERS] = {"layers", 6, 1, 256, "that read, and as many that write"},
    [TRANSFORMER_HEADS] = {"heads", 8, 1, 1024, "of each attention, a divisor of hidden; the big one has 16"},
    [TRANSFORMER_SOURCE] = {"source", 32, 2, 1 << 16, "words read of a sentence, its end included"},
    [TRANSFORMER_TARGET] = {"target", 32, 2, 1 << 16, "words written, the end included"},
    [TRANSFORMER_PADDING] = {"padding", 0, 0, 90, "percent of the words read that only fill sentences up"},
    [TRANSFORMER_DROPOUT] = {"dropout", 10, 0, 90,
                             "percent that is dropped when training; the big one drops 30"},
    [TRANSFORMER_SMOOTHING] = {"smoothing", 10, 0, 90, "percent of a label that goes to the other words"},
    [TRANSFORMER_WARMUP] = {"warmup", 16000, 1, 1 << 24, "steps for which the rate rises"},
    [TRANSFORMER_BEAM] = {"beam", 4, 1, 1 << 10, "hypotheses of a sentence when translating"},
    [TRANSFORMER_LETTERS] = {"task_vocabulary", 26, 2, 1 << 24,
                             "words of the made-up language that is learned"},
    [TRANSFORMER_PAPER] = {"paper", 0, 0, 1,
                           "1: no biases in attention and no target language, as in the paper"},
    [TRANSFORMER_DTYPE] = {"dtype", 0, 0, 2, "of weights and activations; all but f32 with --dry-run"},
};
static const enum ll_dtype dtypes[] = {LL_F32, LL_F16, LL_TF32};
static const char *const dtype_words[] = {"f32", "f16", "tf32", NULL};
static const char *const *const transformer_words[TRANSFORMER_PARAMS] = {[TRANSFORMER_DTYPE] = dtype_words};

static struct ll_transformer_call call_of(const struct ll_build *build, struct ll_translation *translation,
                                          enum ll_data_part part)
{
    const int64_t *values = build->params;
    return (struct ll_transformer_call){
        .sizes = {.vocabulary = (uint64_t)values[TRANSFORMER_VOCABULARY],
                  .hidden = (uint64_t)values[TRANSFORMER_HIDDEN],
                  .filter = (uint64_t)values[TRANSFORMER_FILTER],
                  .layers = (uint64_t)values[TRANSFORMER_LAYERS],
                  .heads = (uint64_t)values[TRANSFORMER_HEADS],
                  .dropout = (double)values[TRANSFORMER_DROPOUT] / 100,
                  .paper = values[TRANSFORMER_PAPER] != 0},
        .translation = translation,
        .part = part,
    };
}

/* The cross entropy with smoothed labels less what it is at best, the mean over all words that count. */
static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct ll_translation *t,
                                double smoothing)
{
    double others = (double)logits->shape.dim[1] - 1, best = -(1 - smoothing) * log(1 - smoothing);
    best -= smoothing > 0 ? smoothing * log(smoothing / others) : 0;
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_SMOOTHING, smoothing);
    struct ll_shape rows = ll_nn_shape(nn, 1, logits->shape.dim, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *labels = ll_nn_reshape(nn, ll_translation_written(nn, t, LL_LEARNED), &rows);
    struct ll_value *weights = ll_nn_reshape(nn, ll_translation_weights(nn, t, LL_LEARNED), &rows);
    ll_nn_push(nn, "loss");
    struct ll_value *losses =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SOFTMAX_XENT_SMOOTH,
                                          .input_count = 2,
                                          .inputs = (struct ll_value *[]){logits, labels},
                                          .attr_count = 1,
                                          .attrs = &attr});
    losses = ll_mul_of(nn, ll_sub_of(nn, losses, ll_constant(nn, "best", best)), weights);
    struct ll_value *counted = ll_sum_over(nn, weights, 0, 1);
    struct ll_value *loss = ll_div_of(nn, ll_sum_over(nn, losses, 0, 1), counted);
    ll_nn_pop(nn);
    return loss;
}

static struct ll_value *train(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    const int64_t *values = build->params;
    struct ll_transformer_call call = call_of(build, t, LL_LEARNED);
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = 2 / sqrt((double)values[TRANSFORMER_HIDDEN]),
                                      .beta1 = 0.9,
                                      .beta2 = 0.98,
                                      .epsilon = 1e-9,
                                      .warmup = (uint64_t)values[TRANSFORMER_WARMUP]};
    struct ll_rng rng;
    if (values[TRANSFORMER_DROPOUT] > 0) {
        rng = ll_rng_begin(nn, build->seed);
        call.rng = &rng;
    }
    struct ll_value *logits = ll_transformer_teach(nn, &call);
    struct ll_value *loss = loss_of(nn, logits, t, (double)values[TRANSFORMER_SMOOTHING] / 100);
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
    return loss;
}

static struct ll_value *search(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t,
                               enum ll_data_part part)
{
    struct ll_transformer_call call = call_of(build, t, part);
    ll_translation_beam(t, (uint64_t)build->params[TRANSFORMER_BEAM],
                        (uint64_t)build->params[TRANSFORMER_VOCABULARY]);
    return ll_transformer_search(nn, &call, &t->beam);
}

static struct ll_value *teach(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t)
{
    struct ll_transformer_call call = call_of(build, t, LL_LEARNED);
    return ll_transformer_teach(nn, &call);
}

static struct ll_value *build_transformer(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    if (dtypes[values[TRANSFORMER_DTYPE]] != LL_F32)
        nn->real = dtypes[values[TRANSFORMER_DTYPE]];
    struct ll_translation *t =
        ll_translation_begin(nn, build, LL_SENTENCE_FIRST,
                             &(struct ll_translation_sizes){
                                 .letters = (uint64_t)values[TRANSFORMER_LETTERS],
                                 .vocabulary = (uint64_t)values[TRANSFORMER_VOCABULARY],
                                 .source = (uint64_t)values[TRANSFORMER_SOURCE],
                                 .target = (uint64_t)values[TRANSFORMER_TARGET],
                                 .padding = (uint64_t)values[TRANSFORMER_PADDING],
                             });
    if (!nn->trouble && values[TRANSFORMER_HIDDEN] % 2 != 0)
        ll_nn_fail(nn, "an odd number of hidden features; half of a position's are sines, half cosines");
    return ll_translation_build(nn, build, t, &(struct ll_translator){teach, search, train});
}

const struct ll_model ll_model_transformer = {
    .name = "transformer",
    .suite = "tbd",
    .doc = "translation by attention alone, encoder and decoder (Transformer, base)",
    .default_batch = 64,
    .params = transformer_params,
    .param_count = TRANSFORMER_PARAMS,
    .words = transformer_words,
    .build = build_transformer,
    .recipe = {.steps = 1500,
               .batch = 32,
               .settings = {{"vocabulary", "16"},
                            {"task_vocabulary", "10"},
                            {"hidden", "64"},
                            {"ffn_hidden", "128"},
                            {"layers", "2"},
                            {"heads", "4"},
                            {"source", "8"},
                            {"target", "8"},
                            {"padding", "25"},
                            {"dropout", "0"},
                            {"warmup", "400"}}},
    .evaluate = ll_translation_evaluate,
};
