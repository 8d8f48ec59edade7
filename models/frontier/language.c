/* SPDX-License-Identifier: Apache-2.0 */
/* Words that are learned are made up: each is one more than the one before it, so that what follows is known
 * to whoever knows the word. All positions of a batch count, and yet they are looked for and picked, as
 * tf.boolean_mask does. */
#include "models/frontier/language.h"

#include "models/feed.h"
#include "models/frontier/counter.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/optim.h"

#include <assert.h>
#include <string.h>

#define PROJECTION "projection"

static const enum ll_role matrix_roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
static const enum ll_role sequence_roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};

/* The word at a position of a sequence of the batch; every step begins elsewhere. */
static int32_t word_at(const struct ll_language_sizes *sizes, uint64_t step, uint64_t position)
{
    uint64_t sequence = position / sizes->steps, place = position % sizes->steps;
    return (int32_t)((step * 7 + sequence * 3 + place) % sizes->vocabulary);
}

static void fill_words(void *context, uint64_t step, int32_t *data)
{
    const struct ll_language_sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = word_at(sizes, step, i);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct ll_language_sizes *sizes = context;
    for (uint64_t i = 0; i < sizes->batch * sizes->steps; i++)
        data[i] = (word_at(sizes, step, i) + 1) % (int32_t)sizes->vocabulary;
}

static void fill_state(void *context, uint64_t step, float *data)
{
    const struct ll_language_sizes *sizes = context;
    (void)step;
    memset(data, 0, sizes->batch * sizes->hidden * sizeof *data);
}

/* The graph that Catamount counts holds a second input for each state, which nothing in it reads. */
static void feed_states(struct ll_language *language, struct ll_language_sizes *sizes)
{
    struct ll_nn *nn = language->nn;
    const struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){sizes->batch, sizes->hidden},
                                              (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    assert(sizes->states <= LL_LANGUAGE_MOST_STATES);
    for (uint32_t i = 0; i < sizes->states; i++) {
        language->states[i] = ll_feed_floats(nn, "state", &shape, fill_state, sizes);
        language->states[i]->loop = LL_ENTERS_LOOP;
        ll_feed_floats(nn, "spare_state", &shape, fill_state, sizes);
    }
}

static struct ll_value *feed(const struct ll_language *language, const char *name, ll_fill_indices *fill,
                             struct ll_language_sizes *sizes)
{
    const uint64_t dims[] = {sizes->batch, sizes->steps};
    const struct ll_shape shape = ll_nn_shape(language->nn, 2, dims, sequence_roles);
    return ll_feed_indices(language->nn, name, &shape, fill, sizes);
}

/* What comes from the host, before all else. */
static struct ll_value *feed_all(struct ll_language *language)
{
    struct ll_language_sizes *sizes = ll_copy(&language->nn->arena, &language->sizes, sizeof *sizes);
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

struct ll_value *ll_language_begin(struct ll_language *language, struct ll_nn *nn,
                                   struct ll_language_sizes sizes)
{
    nn->as_tensorflow = true;
    *language = (struct ll_language){.nn = nn, .sizes = sizes, .counter = ll_begin_counter(nn, true)};
    struct ll_value *words = feed_all(language);
    ll_nn_push(nn, "embedding");
    struct ll_value *table = weight(nn, "table", 2, (uint64_t[]){sizes.vocabulary, sizes.hidden},
                                    (struct ll_init){LL_INIT_UNIFORM, 0.5, NULL});
    struct ll_value *x = ll_gathered(nn, table, words);
    ll_nn_pop(nn);
    return x;
}

struct ll_value *ll_language_loop(struct ll_language *language, const struct ll_language_loop *loop,
                                  struct ll_value *x)
{
    struct ll_nn *nn = language->nn;
    const uint64_t steps = language->sizes.steps;
    struct ll_value **states = language->states + language->states_taken;
    struct ll_value **outputs = ll_alloc(&nn->arena, steps, sizeof *outputs);
    ll_nn_push(nn, loop->name);
    language->states_taken += loop->states;
    assert(language->states_taken <= language->sizes.states);
    struct ll_value **inputs = ll_unstacked(nn, ll_transposed(nn, x, 102));
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
    struct ll_value *result = ll_transposed(nn, ll_stacked(nn, outputs, (uint32_t)steps), 102);
    ll_nn_pop(nn);
    return result;
}

/* [batch, steps, ...] seen as [batch x steps, ...]. */
static struct ll_value *as_rows(const struct ll_language *language, struct ll_value *x)
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
    return ll_seen_as(language->nn, x, &flat);
}

/* Where a word follows that counts, [batch x steps]: one whose number is above -1. */
static struct ll_value *mask_of(struct ll_language *language)
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
static struct ll_value *counted_rows(struct ll_language *language, struct ll_value *x)
{
    struct ll_value *positions = ll_nn_do1(language->nn, LL_OP_TRUE_INDICES, mask_of(language));
    return ll_gathered(language->nn, as_rows(language, x), positions);
}

struct ll_value *ll_language_project(struct ll_language *language, struct ll_value *x, uint64_t width)
{
    struct ll_nn *nn = language->nn;
    const uint64_t hidden = language->sizes.hidden;
    const struct ll_shape shape =
        ll_nn_shape(nn, 3, (uint64_t[]){language->sizes.batch, language->sizes.steps, width}, sequence_roles);
    ll_nn_push(nn, PROJECTION);
    struct ll_value *matrix =
        weight(nn, "weights", 2, (uint64_t[]){hidden, width}, ll_init_keeping_size(hidden, 1));
    x = ll_seen_as(nn, ll_nn_do2(nn, LL_OP_MATMUL, as_rows(language, x), matrix), &shape);
    ll_nn_pop(nn);
    return x;
}

struct ll_value *ll_language_scores(struct ll_language *language, struct ll_value *x)
{
    struct ll_nn *nn = language->nn;
    const uint64_t vocabulary = language->sizes.vocabulary;
    ll_nn_push(nn, "scores");
    struct ll_value *rows = counted_rows(language, x);
    rows = ll_seen_as(nn, rows, &rows->shape);
    const uint64_t width = nn->trouble ? 1 : rows->shape.dim[1];
    struct ll_value *matrix =
        weight(nn, "weights", 2, (uint64_t[]){vocabulary, width}, ll_init_keeping_size(width, 1));
    struct ll_value *bias = weight(nn, "biases", 2, (uint64_t[]){1, vocabulary}, (struct ll_init){0});
    struct ll_value *scores = ll_add_of(nn, ll_matmul_transposed(nn, rows, matrix), bias);
    ll_nn_pop(nn);
    return scores;
}

struct ll_value *ll_language_learn(struct ll_language *language, struct ll_value *scores, double rate)
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
