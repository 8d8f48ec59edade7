/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of seq2seq.c: the network, and how well it translates. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "models/data/text.h"
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

enum { LL_SEQ2SEQ_LAYERS = 8 }; /* at most */
struct ll_seq2seq_sizes {
    uint64_t vocabulary, hidden, layers, samples;
};

/* What becomes of a step's output: TAUGHT, the next word to read is the right one; GREEDY, it is the most
 * likely one of those that were written, which are kept. */
enum ll_seq2seq_mode { LL_TAUGHT, LL_GREEDY };

struct ll_seq2seq_call {
    struct ll_seq2seq_sizes sizes;
    enum ll_seq2seq_mode mode;
    const struct ll_batch *batch;
    struct ll_rng *rng; /* NULL: no loss */
};

struct ll_seq2seq_result {
    struct ll_value *loss;   /* NULL without chance */
    struct ll_value **words; /* GREEDY: of each step but the last, [batch] i32, kept */
    struct ll_value *last;   /* the last step's output: with chance and GREEDY the scores of all words */
};

/* What the model keeps beside its network: the driver's context. */
struct ll_seq2seq {
    struct ll_corpus corpus;
    struct ll_buckets buckets;
    uint64_t batch, seed;
    struct {
        uint32_t program;
        struct ll_value **words;
    } greedy[LL_MAX_BUCKETS]; /* by bucket: programs that translate what was held back */
};

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
    if (net->call.rng)
        net->classes = ll_nn_transpose(net->nn, net->projection, 10);
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
    return ll_nn_reshape(net->nn, x, &shape);
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
            step(net, net->encoder, ll_nn_gather(nn, net->source_embedding, words[t]), states);
        outputs[t] = sequence(net, top, 1, hidden);
    }
    net->memory = ll_nn_concat(nn, outputs, (uint32_t)steps, 1);
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
    struct ll_value *x = ll_nn_reshape(nn, net->memory, &image);
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
            ll_nn_gather(nn, net->target_embedding, feeds_back ? written[t - 1] : words[t]);
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
                                               net->call.rng};
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

/* Adds the forward pass on a batch to the program being built. */
static struct ll_seq2seq_result seq2seq_forward(struct ll_nn *nn, const struct ll_seq2seq_call *call)
{
    struct net net;
    struct ll_lstm_state states[MOST_LAYERS];
    begin(&net, nn, call);
    const uint64_t steps = net.target_steps;
    struct ll_value **source = ll_nn_unstack(nn, ll_feed_source(nn, call->batch));
    struct ll_value **target = ll_nn_unstack(nn, ll_feed_target(nn, call->batch));
    struct ll_value **weights = ll_nn_unstack(nn, ll_feed_target_weights(nn, call->batch));
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    struct ll_seq2seq_result result = {.words = ll_alloc(&nn->arena, steps, sizeof *outputs)};
    if (!outputs || !result.words)
        ll_nn_fail(nn, "memory ran out");
    if (nn->trouble)
        return result;
    encode(&net, source, states);
    remember(&net);
    decode(&net, target, states, outputs, result.words);
    for (uint64_t t = 0; call->mode == LL_GREEDY && call->rng && t < steps; t++)
        result.last = project(&net, outputs[t]);
    if (call->rng)
        result.loss = sequence_loss(&net, outputs, target, weights);
    return result;
}

/* Translating what was held back, word by word from what was written before, and counting what is right: a
 * sentence with every word and its end, and of all these words and ends each that stands where it belongs. */

enum { MOST_BATCHES = 16, ONE_EXAMPLE_OF = 16, LONGEST = 64 };

struct count {
    uint64_t sentences, right_sentences, words, right_words;
    struct ll_str examples;
};

static void add_words(struct ll_str *text, const char *title, const struct ll_vocabulary *vocabulary,
                      const int32_t *words, uint64_t count)
{
    ll_str_addf(text, "%-11s", title);
    for (uint64_t i = 0; i < count; i++) {
        struct ll_words word = ll_vocabulary_word(vocabulary, words[i]);
        ll_str_add(text, " ");
        ll_str_add_bytes(text, word.text, word.length);
    }
    ll_str_add(text, "\n");
}

/* What was written up to the end, or to the last step. */
static uint64_t written_words(const int32_t *written, uint64_t steps)
{
    uint64_t count = 0;
    while (count < steps && written[count] != LL_WORD_EOS)
        count++;
    return count;
}

/* One sentence; `written` is all that the decoder wrote. */
static void judge(const struct ll_corpus *corpus, const struct ll_pair *pair, const int32_t *written,
                  uint64_t steps, struct count *count)
{
    const int32_t *source = corpus->words + pair->first, *target = source + pair->source_words;
    uint64_t right = 0;
    for (uint64_t t = 0; t <= pair->target_words; t++)
        right += written[t] == (t < pair->target_words ? target[t] : LL_WORD_EOS);
    count->words += pair->target_words + 1;
    count->right_words += right;
    count->sentences++;
    count->right_sentences += right == pair->target_words + 1;
    if (count->sentences % ONE_EXAMPLE_OF != 1)
        return;
    add_words(&count->examples, "sentence", &corpus->source, source, pair->source_words);
    add_words(&count->examples, "translation", &corpus->target, target, pair->target_words);
    add_words(&count->examples, right == pair->target_words + 1 ? "written" : "written ***", &corpus->target,
              written, written_words(written, steps));
    ll_str_add(&count->examples, "\n");
}

static void judge_bucket(const struct ll_seq2seq *s, uint32_t bucket, struct ll_runner *runner,
                         struct count *count)
{
    const uint64_t held_back = s->buckets.of[bucket][LL_HELD_BACK].count;
    const uint64_t steps = s->buckets.sizes[bucket].target - 1;
    int32_t written[LONGEST];
    struct ll_batch batch = {&s->buckets, bucket, LL_HELD_BACK, s->batch, s->seed, 0};
    assert(steps <= LONGEST);
    for (; batch.step < MOST_BATCHES && batch.step * s->batch < held_back; batch.step++) {
        ll_runner_run(runner, s->greedy[bucket].program, batch.step);
        for (uint64_t i = 0; i < s->batch && batch.step * s->batch + i < held_back; i++) {
            for (uint64_t t = 0; t < steps; t++)
                written[t] = ((const int32_t *)ll_runner_data(runner, s->greedy[bucket].words[t]))[i];
            judge(s->buckets.corpus, ll_batch_pair(&batch, i), written, steps, count);
        }
    }
}

static bool write_examples(const struct ll_str *text, struct ll_scores *scores)
{
    struct ll_arena arena = {0};
    const char *path = ll_format(&arena, "%s/translations.txt", scores->folder);
    enum ll_status status = path ? ll_write_whole(path, text) : LL_NO_MEMORY;
    if (status != LL_OK)
        ll_complain(scores->diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    ll_arena_release(&arena);
    return status == LL_OK;
}

/* The model's evaluate function: which share of sentences that were held back comes out exactly right, and
 * which share of their words. Writes some of them into translations.txt. */
static bool seq2seq_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct ll_seq2seq *s = context;
    struct count count = {0};
    for (uint32_t i = 0; i < s->buckets.count; i++)
        judge_bucket(s, i, runner, &count);
    ll_scores_add(scores,
                  (struct ll_score){"sentences", "share of unseen sentences translated without a mistake",
                                    (double)count.right_sentences / (double)count.sentences, false});
    ll_scores_add(scores, (struct ll_score){"words", "share of their words that stand where they belong",
                                            (double)count.right_words / (double)count.words, false});
    bool good = !scores->folder || write_examples(&count.examples, scores);
    ll_str_release(&count.examples);
    return good;
}

/* Sequence to sequence with attention (Sutskever et al., 2014; Bahdanau et al., 2015), as Fathom has it from
 * TensorFlow's translation tutorial of 2016: 40000 words in each language, three layers of 256 for reading
 * and three for writing, sampled softmax over 512 words, SGD at 0.5 with gradients clipped to a norm of 5.
 *
 *     parameters 34,633,792 = 2 embeddings 20,480,000 + projection 10,280,000 + 6 layers 3,151,872 +
 *                             attention and linear layers 721,920
 *
 * Sentences are unrolled to one of four lengths; each bucket is a program over the same weights, and a step
 * is the program of the bucket that its data comes from. GFLOP of products, convolutions and attention a
 * sample, forward:
 *
 *     bucket (reading, writing)     without loss   with the sampled loss     greedy, with the loss
 *     1 ( 5, 10)                    0.0610         0.0636                    0.4527
 *     2 (10, 15)                    0.0998         0.1037                    0.6976
 *     3 (20, 25)                    0.1775         0.1840                    1.1875
 *     4 (40, 50)                    0.3559         0.3691                    2.3966
 *
 * Inference is greedy: it reads the word it wrote, so that every output but the last is projected onto the
 * vocabulary there, and all once more for the result, as TensorFlow's graph did. */

enum { BUCKET, VOCABULARY, HIDDEN, LAYERS, SAMPLES, LETTERS };
static const struct ll_model_param params[] = {
    [BUCKET] =
        {"bucket", 0, 0, 4,
         "of length to take sentences from: 1 (5 words read, 10 written), 2 (10, 15), 3 (20, 25), 4 (40, "
         "50); 0: all, each step's by its data"},
    [VOCABULARY] = {"vocabulary", 40000, 8, 1 << 24, "words of each language, with four that are none"},
    [HIDDEN] = {"hidden", 256, 1, 1 << 14, "units of every layer, also of embeddings and attention"},
    [LAYERS] = {"layers", 3, 1, LL_SEQ2SEQ_LAYERS, "layers that read, and as many that write"},
    [SAMPLES] = {"samples", 512, 1, 1 << 24, "words that the right one is told from when training"},
    [LETTERS] = {"task_vocabulary", 26, 2, 1 << 24,
                 "words of the made-up language that is learned without --data"},
};

static const struct ll_bucket buckets[] = {{5, 10}, {10, 15}, {20, 25}, {40, 50}};
enum { BUCKETS = sizeof buckets / sizeof *buckets };
enum { MADE_UP_PAIRS = 1 << 14 };

/* The buckets in use: one, or all. */
static const struct ll_bucket *buckets_in_use(const struct ll_build *build, uint32_t *count)
{
    int64_t bucket = build->params[BUCKET];
    *count = bucket ? 1 : BUCKETS;
    return bucket ? &buckets[bucket - 1] : buckets;
}

/* Sentences that fit into the buckets in use, and into none below. */
static bool make_up(struct ll_seq2seq *s, const struct ll_build *build)
{
    uint32_t count;
    const struct ll_bucket *first = buckets_in_use(build, &count);
    return ll_corpus_reverse(&s->corpus,
                             &(struct ll_reversal){
                                 .pairs = MADE_UP_PAIRS,
                                 .letters = (uint64_t)build->params[LETTERS],
                                 .shortest = first == buckets ? 1 : ll_bucket_words(first - 1) + 1,
                                 .longest = ll_bucket_words(first + count - 1),
                                 .seed = build->seed,
                             });
}

static uint64_t sentences(const struct ll_seq2seq *s, enum ll_data_part part)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->buckets.count; i++)
        count += s->buckets.of[i][part].count;
    return count;
}

/* That there is something to learn and, where that is asked for, something to be judged by. */
static void check_sentences(struct ll_nn *nn, const struct ll_seq2seq *s, const struct ll_build *build)
{
    const struct ll_bucket *widest = &s->buckets.sizes[s->buckets.count - 1];
    uint64_t learned = sentences(s, LL_LEARNED), held_back = sentences(s, LL_HELD_BACK);
    if (learned == 0 || (build->evaluate && held_back == 0))
        ll_nn_fail(nn,
                   "%" PRIu64 " sentences are there to learn and %" PRIu64
                   " held back; expected some of both, "
                   "of at most %" PRIu64 " words and %" PRIu64 " in translation",
                   learned, held_back, widest->source - 1, widest->target - 2);
}

/* Sentences in their buckets. False after the network has failed. */
static bool get_data(struct ll_nn *nn, struct ll_seq2seq *s, const struct ll_build *build)
{
    uint32_t count;
    const struct ll_bucket *sizes = buckets_in_use(build, &count);
    bool read = build->data &&
                ll_corpus_read(&s->corpus, build->data, (uint64_t)build->params[VOCABULARY], build->diags);
    if (build->data ? !read : !make_up(s, build))
        ll_nn_fail(nn, build->data ? "there is nothing to learn from" : "memory ran out");
    else if (!ll_buckets_sort(&s->buckets, &s->corpus, sizes, count, &nn->arena))
        ll_nn_fail(nn, "memory ran out");
    else
        check_sentences(nn, s, build);
    return !nn->trouble;
}

static void release(void *context)
{
    struct ll_seq2seq *s = context;
    ll_corpus_release(&s->corpus);
}

static uint32_t begin_step(void *context, struct ll_runner *runner, uint64_t step)
{
    const struct ll_seq2seq *s = context;
    (void)runner;
    return ll_buckets_choose(&s->buckets, s->seed, step);
}

/* The context, which the network owns from now on. */
static struct ll_seq2seq *seq2seq_begin(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_seq2seq *s = ll_alloc(&nn->arena, 1, sizeof *s);
    const int64_t *values = build->params;
    if (!s) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    s->batch = build->batch;
    s->seed = build->seed;
    ll_nn_drive(nn, &(struct ll_driver){.context = s, .begin_step = begin_step, .release = release});
    if (!build->data && values[LETTERS] + LL_SPECIAL_WORDS > values[VOCABULARY])
        ll_nn_fail(nn, "%" PRId64 " letters; expected at most %" PRId64 ", four less than the vocabulary",
                   values[LETTERS], values[VOCABULARY] - LL_SPECIAL_WORDS);
    else if (values[SAMPLES] > values[VOCABULARY])
        ll_nn_fail(nn,
                   "%" PRId64 " samples; expected at most %" PRId64 ", as many as the vocabulary has words",
                   values[SAMPLES], values[VOCABULARY]);
    return !nn->trouble && get_data(nn, s, build) ? s : NULL;
}

static struct ll_seq2seq_result forward(struct ll_nn *nn, const struct ll_build *build, struct ll_batch batch,
                                        enum ll_seq2seq_mode mode, bool lossy)
{
    const int64_t *values = build->params;
    struct ll_seq2seq_call call = {
        .sizes = {(uint64_t)values[VOCABULARY], (uint64_t)values[HIDDEN], (uint64_t)values[LAYERS],
                  (uint64_t)values[SAMPLES]},
        .mode = mode,
        .batch = &batch,
    };
    struct ll_rng rng;
    if (lossy) {
        rng = ll_rng_begin(nn, build->seed);
        call.rng = &rng;
    }
    return seq2seq_forward(nn, &call);
}

/* One step of one bucket: the loss when training, else the scores of the last words. */
static struct ll_value *add_step(struct ll_nn *nn, const struct ll_seq2seq *s, const struct ll_build *build,
                                 uint32_t bucket)
{
    static const struct ll_optimizer sgd = {
        .kind = LL_SGD, .rate = 0.5, .clip = LL_CLIP_GLOBAL_NORM, .clip_norm = 5};
    struct ll_batch batch = {&s->buckets, bucket, LL_LEARNED, s->batch, s->seed, 0};
    if (build->measure)
        return forward(nn, build, batch, LL_TAUGHT, false).last;
    if (!build->train)
        return forward(nn, build, batch, LL_GREEDY, true).last;
    struct ll_value *loss = forward(nn, build, batch, LL_TAUGHT, true).loss;
    if (nn->trouble)
        return &nn->nothing;
    ll_nn_keep(loss);
    ll_minimise(nn, loss, &sgd);
    nn->programs[nn->program_count - 1].result = loss;
    return loss;
}

static void add_evaluation(struct ll_nn *nn, struct ll_seq2seq *s, const struct ll_build *build)
{
    for (uint32_t i = 0; i < s->buckets.count && !nn->trouble; i++) {
        struct ll_batch batch = {&s->buckets, i, LL_HELD_BACK, s->batch, s->seed, 0};
        s->greedy[i].program = ll_nn_begin_program(nn);
        s->greedy[i].words = forward(nn, build, batch, LL_GREEDY, false).words;
    }
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_seq2seq *s = seq2seq_begin(nn, build);
    if (!s)
        return &nn->nothing;
    struct ll_value *result = add_step(nn, s, build, 0);
    for (uint32_t i = 1; i < s->buckets.count && !build->measure && !nn->trouble; i++) {
        ll_nn_begin_program(nn);
        add_step(nn, s, build, i);
    }
    if (build->evaluate)
        add_evaluation(nn, s, build);
    return nn->trouble ? &nn->nothing : result;
}

const struct ll_model ll_model_seq2seq = {
    .name = "seq2seq",
    .suite = "fathom",
    .doc = "translation by recurrent layers with attention",
    .data = "a folder with source.txt and target.txt, a sentence a line, words between blanks; perhaps also "
            "source.vocabulary and target.vocabulary, a word a line",
    .default_batch = 64,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .recipe = {.steps = 2000,
               .batch = 32,
               .settings = {{"bucket", "2"},
                            {"vocabulary", "30"},
                            {"hidden", "64"},
                            {"layers", "1"},
                            {"samples", "16"}}},
    .shows = true,
    .evaluate = seq2seq_evaluate,
};
