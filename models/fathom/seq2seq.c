/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/fathom/seq2seq.h"

#include "models/nn/optim.h"

#include <inttypes.h>

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
    [LETTERS] = {"letters", 26, 2, 1 << 24, "words of the made-up language that is learned without --data"},
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
static struct ll_seq2seq *begin(struct ll_nn *nn, const struct ll_build *build)
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
    struct ll_chance chance;
    if (lossy) {
        chance = ll_chance_begin(nn, build->seed);
        call.chance = &chance;
    }
    return ll_seq2seq_forward(nn, &call);
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
    struct ll_seq2seq *s = begin(nn, build);
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
    .lesson = {.steps = 2000,
               .batch = 32,
               .settings = {{"bucket", "2"},
                            {"vocabulary", "30"},
                            {"hidden", "64"},
                            {"layers", "1"},
                            {"samples", "16"}}},
    .shows = true,
    .evaluate = ll_seq2seq_evaluate,
};
