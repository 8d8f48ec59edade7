/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom's memnet (Adolf et al., 2016): an end-to-end memory network (Sukhbaatar et al., 2015) that answers
 * questions about stories, as the suite's code has it: one embedding for all hops, a matrix H between them,
 * sentences weighted by the position of their words, gradients clipped and disturbed by noise, Adam.
 *
 *     u = sum_s B[question_s] P_s                      m_i = sum_s A[sentence_i,s] P_s + TA_i
 *     hop, three times:  p = softmax(m u)      o = sum_i m_i p_i      u = u H + o
 *     answer = softmax(u W)
 *
 * A, B [words, 20], the first row of each zero (it fills sentences up), TA [memory, 20], H [20, 20], W [20,
 * words]. On task 1 (20 words, 10 sentences of 6): 1,800 parameters. Its products are the lesser part of it,
 * so that its forward FLOPs count every op: 8,340 a sample; with 160 words, 50 sentences of 12 they are
 * 11,000 and 45,860. */
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"

#include "models/data/text.h"
#include "tracer/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY, MEMORY, SENTENCE, EMBEDDING, HOPS };

static const struct ll_model_param params[] = {
    [VOCABULARY] = {"vocabulary", 20, 20, 100000, "words, with the one that fills sentences up"},
    [MEMORY] = {"memory", 10, 1, 1000, "sentences that are remembered"},
    [SENTENCE] = {"sentence", 6, 6, 1000, "words of a sentence"},
    [EMBEDDING] = {"embedding", 20, 2, 4096, "numbers that stand for a word"},
    [HOPS] = {"hops", 3, 1, 20, "times that the memory is asked"},
};

enum { TRAIN_STORIES = 200, EVALUATION = 1, UNSEEN_BATCHES = 16 };

/* Where questions come from; the driver's context. */
struct source {
    struct ll_map words;
    struct ll_arena arena;
    struct ll_stories seen, unseen;
    uint64_t batch;
    struct ll_value *logits; /* of the program that evaluates */
};

static void release(void *context)
{
    struct source *source = context;
    ll_map_release(&source->words);
    ll_arena_release(&source->arena);
    free(source);
}

/* Of the two parts of a data set: the file that --data names, and the one beside it for the test. */
static bool read_file(struct source *source, const char *path, struct ll_story_sizes sizes,
                      struct ll_stories *stories, struct ll_diags *diags)
{
    struct ll_text text;
    return ll_text_load(path, &source->arena, &text, diags) &&
           ll_stories_read(&text, sizes, &source->words, &source->arena, stories, diags);
}

static bool read_files(struct source *source, const struct ll_build *build, struct ll_story_sizes sizes)
{
    static const char ending[] = "train.txt";
    size_t length = strlen(build->data), tail = sizeof ending - 1;
    if (!read_file(source, build->data, sizes, &source->seen, build->diags) || !build->evaluate)
        return build->diags->count == 0;
    if (length < tail || strcmp(build->data + length - tail, ending) != 0)
        return ll_complain(build->diags, (struct ll_place){0},
                           "%s: to be evaluated on ...test.txt, the file must be called ...train.txt",
                           build->data);
    const char *test = ll_format(&source->arena, "%.*stest.txt", (int)(length - tail), build->data);
    return test && read_file(source, test, sizes, &source->unseen, build->diags);
}

static bool make_up(struct source *source, uint64_t seed, struct ll_story_sizes sizes,
                    struct ll_stories *stories, struct ll_diags *diags)
{
    struct ll_str out = {0};
    ll_stories_write(seed, TRAIN_STORIES, &out);
    struct ll_text text = {"made-up stories", out.text, out.length};
    bool good = out.failed ? ll_complain(diags, (struct ll_place){0}, "memory ran out")
                           : ll_stories_read(&text, sizes, &source->words, &source->arena, stories, diags);
    ll_str_release(&out);
    return good;
}

static struct source *open_source(const struct ll_build *build)
{
    struct source *source = calloc(1, sizeof *source);
    struct ll_story_sizes sizes = {(uint64_t)build->params[VOCABULARY], (uint64_t)build->params[MEMORY],
                                   (uint64_t)build->params[SENTENCE]};
    if (!source || build->measure)
        return source;
    source->batch = build->batch;
    uint64_t unseen_seed = ll_random_key(build->seed, 1);
    bool good = build->data ? read_files(source, build, sizes)
                            : make_up(source, build->seed, sizes, &source->seen, build->diags) &&
                                  make_up(source, unseen_seed, sizes, &source->unseen, build->diags);
    if (good)
        return source;
    release(source);
    return NULL;
}

/* Question number i of a step, the data set going round. Steps of the evaluation are unseen. */
enum { UNSEEN = 1 << 30 };
static const struct ll_stories *stories_of(const struct source *source, uint64_t step, uint64_t i,
                                           uint64_t *question)
{
    const struct ll_stories *stories = step >= UNSEEN ? &source->unseen : &source->seen;
    *question = ((step % UNSEEN) * source->batch + i) % stories->count;
    return stories;
}

static void fill_sentences(void *context, uint64_t step, int32_t *data)
{
    const struct source *source = context;
    for (uint64_t i = 0, q; i < source->batch; i++) {
        const struct ll_stories *stories = stories_of(source, step, i, &q);
        uint64_t each = stories->sizes.memory * stories->sizes.sentence;
        memcpy(data + i * each, stories->sentences + q * each, each * sizeof *data);
    }
}

static void fill_questions(void *context, uint64_t step, int32_t *data)
{
    const struct source *source = context;
    for (uint64_t i = 0, q; i < source->batch; i++) {
        const struct ll_stories *stories = stories_of(source, step, i, &q);
        uint64_t each = stories->sizes.sentence;
        memcpy(data + i * each, stories->questions + q * each, each * sizeof *data);
    }
}

static void fill_answers(void *context, uint64_t step, float *data)
{
    const struct source *source = context;
    memset(data, 0, source->batch * source->seen.sizes.vocabulary * sizeof *data);
    for (uint64_t i = 0, q; i < source->batch; i++) {
        const struct ll_stories *stories = stories_of(source, step, i, &q);
        data[i * stories->sizes.vocabulary + (uint64_t)stories->answers[q]] = 1;
    }
}

/* Weights of a table whose first row is zero. */
static struct ll_value *table(struct ll_nn *nn, const char *name, uint64_t rows, uint64_t length,
                              uint64_t seed)
{
    struct ll_shape shape =
        ll_nn_shape(nn, 2, (uint64_t[]){rows, length}, (enum ll_role[]){LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN});
    double *list = ll_alloc(&nn->arena, rows * length, sizeof *list);
    uint64_t key = ll_random_key(seed, (uint64_t)*name);
    for (uint64_t i = length; list && i < rows * length; i++) {
        double u = ll_random_fine_unit(ll_random_bits(key, 2 * i));
        double v = ll_random_fine_unit(ll_random_bits(key, 2 * i + 1));
        list[i] = 0.1 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    }
    if (!list)
        ll_nn_fail(nn, "memory ran out");
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, list});
}

static struct ll_value *weight(struct ll_nn *nn, const char *name, uint64_t rows, uint64_t columns)
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){rows, columns}, NULL);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.1, NULL});
}

/* P[sentence, embedding]: 1 + 4 (i - E/2) (j - S/2) / (E S) for word j and number i, both from 1 (Sukhbaatar
 * et al., 2015, section 4.1, as the code has it). */
static struct ll_value *position_weights(struct ll_nn *nn, uint64_t words, uint64_t numbers)
{
    double *list = ll_alloc(&nn->arena, words * numbers, sizeof *list);
    double size = (double)words * (double)numbers;
    for (uint64_t j = 0; list && j < words; j++)
        for (uint64_t i = 0; i < numbers; i++)
            list[j * numbers + i] = 1 + 4 * ((double)(i + 1) - (double)numbers / 2) *
                                            ((double)(j + 1) - (double)words / 2) / size;
    if (!list)
        ll_nn_fail(nn, "memory ran out");
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){words, numbers}, NULL);
    return ll_nn_variable(nn, "position_weights", &shape, LL_WORKSPACE,
                          (struct ll_init){LL_INIT_LIST, 0, list});
}

/* [batch, n] -> [batch, 1, n], as the code does it: a dimension more behind, then exchanged. */
static struct ll_value *as_row(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape column = x->shape;
    column.dim[column.rank++] = 1;
    return ll_nn_transpose(nn, ll_nn_reshape(nn, x, &column), 21);
}

struct weights {
    struct ll_value *a, *b, *times, *hop, *answer, *positions;
};

static struct weights make_weights(struct ll_nn *nn, const struct ll_build *build)
{
    uint64_t words = (uint64_t)build->params[VOCABULARY], size = (uint64_t)build->params[EMBEDDING];
    return (struct weights){
        .a = table(nn, "A", words, size, build->seed),
        .b = table(nn, "B", words, size, build->seed),
        .times = weight(nn, "TA", (uint64_t)build->params[MEMORY], size),
        .hop = weight(nn, "H", size, size),
        .answer = weight(nn, "W", size, words),
        .positions = position_weights(nn, (uint64_t)build->params[SENTENCE], size),
    };
}

static struct ll_value *hop(struct ll_nn *nn, const struct weights *w, struct ll_value *memory,
                            struct ll_value *u)
{
    struct ll_value *match = ll_sum_over(nn, ll_mul_of(nn, memory, as_row(nn, u)), 2, 1);
    struct ll_value *share = ll_nn_do1(nn, LL_OP_SOFTMAX, match);
    struct ll_value *turned = ll_nn_transpose(nn, memory, 21);
    struct ll_value *found = ll_sum_over(nn, ll_mul_of(nn, turned, as_row(nn, share)), 2, 1);
    return ll_add_of(nn, ll_nn_do2(nn, LL_OP_MATMUL, u, w->hop), found);
}

/* The words' logits, [batch, vocabulary]. */
static struct ll_value *forward(struct ll_nn *nn, const struct ll_build *build, struct source *source)
{
    uint64_t memory = (uint64_t)build->params[MEMORY], words = (uint64_t)build->params[SENTENCE];
    struct ll_shape sentences =
        ll_nn_shape(nn, 3, (uint64_t[]){build->batch, memory, words},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_SEQUENCE});
    struct ll_shape question = ll_nn_shape(nn, 2, (uint64_t[]){build->batch, words},
                                           (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE});
    struct weights w = make_weights(nn, build);
    struct ll_value *asked = ll_feed_indices(nn, "question", &question, fill_questions, source);
    struct ll_value *told = ll_feed_indices(nn, "sentences", &sentences, fill_sentences, source);
    ll_nn_push(nn, "question");
    struct ll_value *u =
        ll_sum_over(nn, ll_mul_of(nn, ll_nn_do2(nn, LL_OP_GATHER, w.b, asked), w.positions), 1, 1);
    ll_nn_pop(nn);
    ll_nn_push(nn, "memory");
    struct ll_value *m =
        ll_sum_over(nn, ll_mul_of(nn, ll_nn_do2(nn, LL_OP_GATHER, w.a, told), w.positions), 2, 1);
    m = ll_add_of(nn, m, w.times);
    ll_nn_pop(nn);
    for (int64_t i = 1; i <= build->params[HOPS]; i++) {
        const char *name = ll_format(&nn->arena, "hop%d", (int)i);
        ll_nn_push(nn, name ? name : "hop");
        u = hop(nn, &w, m, u);
        ll_nn_pop(nn);
    }
    return ll_nn_do2(nn, LL_OP_MATMUL, u, w.answer);
}

/* What a gradient goes through after it was clipped: noise (Neelakantan et al., 2015), and the rows that
 * stand for nothing stay zero. */
static struct ll_value *disturbed(void *context, struct ll_nn *nn, const struct ll_value *weight,
                                  struct ll_value *gradient)
{
    struct ll_value *noise = ll_random_normal(nn, context, &weight->shape);
    gradient = ll_add_of(nn, gradient, ll_nn_mul_scalar(nn, noise, "noise", 1e-3));
    if (strcmp(weight->name, "A") != 0 && strcmp(weight->name, "B") != 0)
        return gradient;
    struct ll_shape row = weight->shape;
    row.dim[0] = 1;
    struct ll_attr rest[] = {ll_attr_of_count(LL_ATTR_AXIS, 0), ll_attr_of_count(LL_ATTR_BEGIN, 1),
                             ll_attr_of_count(LL_ATTR_SIZE, (int64_t)weight->shape.dim[0] - 1)};
    struct ll_value *others = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SLICE, .input_count = 1, .inputs = &gradient, .attr_count = 3, .attrs = rest});
    return ll_nn_concat(nn, (struct ll_value *[]){ll_zeros(nn, &row), others}, 2, 0);
}

static void add_evaluation(struct ll_nn *nn, const struct ll_build *build, struct source *source)
{
    ll_nn_begin_program(nn);
    source->logits = forward(nn, build, source);
    ll_nn_keep(source->logits);
}

/* The training loss is the sum over the batch, as in the paper, with gradients clipped to a norm of 40 and
 * noise added to them. */
static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct source *source = open_source(build);
    if (!source) {
        ll_nn_fail(nn, build->diags->count ? "its data cannot be used" : "memory ran out");
        return &nn->nothing;
    }
    ll_nn_drive(nn, &(struct ll_driver){.context = source, .release = release});
    struct ll_value *logits = forward(nn, build, source);
    if (!build->train)
        return logits;
    struct ll_shape answers =
        ll_nn_shape(nn, 2, (uint64_t[]){build->batch, (uint64_t)build->params[VOCABULARY]},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_VOCABULARY});
    struct ll_value *targets = ll_feed_floats(nn, "answers", &answers, fill_answers, source);
    ll_nn_push(nn, "loss");
    struct ll_value *loss =
        ll_nn_do1(nn, LL_OP_SUM, ll_nn_do2(nn, LL_OP_SOFTMAX_XENT_DENSE, logits, targets));
    ll_nn_pop(nn);
    struct ll_rng rng = ll_rng_begin(nn, build->seed);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){.kind = LL_ADAM,
                                       .rate = 1e-2,
                                       .beta1 = 0.9,
                                       .beta2 = 0.999,
                                       .epsilon = 1e-8,
                                       .clip = LL_CLIP_NORM,
                                       .clip_norm = 40,
                                       .transform = disturbed,
                                       .context = &rng});
    if (build->evaluate)
        add_evaluation(nn, build, source);
    return loss;
}

/* The word of the largest logit. */
static uint64_t best_of(const float *logits, uint64_t count)
{
    uint64_t best = 0;
    for (uint64_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct source *source = context;
    uint64_t words = source->unseen.sizes.vocabulary, right = 0, asked = 0;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, EVALUATION, UNSEEN + step);
        const float *logits = ll_runner_data(runner, source->logits);
        for (uint64_t i = 0, q; i < source->batch; i++, asked++) {
            const struct ll_stories *stories = stories_of(source, UNSEEN + step, i, &q);
            right += best_of(logits + i * words, words) == (uint64_t)stories->answers[q];
        }
    }
    ll_scores_add(scores,
                  (struct ll_score){"accuracy", "share of questions about unseen stories answered right",
                                    (double)right / (double)asked, false});
    return true;
}

const struct ll_model ll_model_memnet = {
    .name = "memnet",
    .suite = "fathom",
    .doc = "questions about stories, answered in three hops through a memory (end-to-end memory network)",
    .data = "a bAbI file, as qa1_single-supporting-fact_train.txt; ..._test.txt beside it is for evaluation",
    .default_batch = 32,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .counts_every_op = true,
    .build = build,
    .recipe = {.steps = 3000, .batch = 32},
    .evaluate = evaluate,
};
