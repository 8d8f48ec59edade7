/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/translation.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "models/data/text.h"
#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"

enum { UNSEEN_BATCHES = 4 };

/* An end behind what is written, and behind what a batch of whole sentences reads. */
static uint64_t longest_words(const struct ll_translation *t)
{
    uint64_t ends = t->layout == LL_SENTENCE_FIRST;
    return ll_min(t->source_steps - ends, t->target_steps - 1);
}

static void check(struct ll_nn *nn, const struct ll_translation_sizes *sizes)
{
    if (sizes->letters + LL_SPECIAL_WORDS > sizes->vocabulary)
        ll_nn_fail(nn, "%" PRIu64 " letters; expected at most %" PRIu64 ", %d less than the vocabulary",
                   sizes->letters, ll_sub(sizes->vocabulary, LL_SPECIAL_WORDS), LL_SPECIAL_WORDS);
    if (sizes->source < 2 || sizes->target < 2)
        ll_nn_fail(nn, "sentences of fewer than 2 steps; there must be room for a word and an end");
}

/* Checks the sizes and draws the language; the context lies in the network's arena and lives as long
 * as it. */
struct ll_translation *ll_translation_begin(struct ll_nn *nn, const struct ll_build *build,
                                            enum ll_translation_layout layout,
                                            const struct ll_translation_sizes *sizes)
{
    struct ll_translation *t = ll_alloc(&nn->arena, 1, sizeof *t);
    check(nn, sizes);
    if (!t || nn->trouble) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    *t = (struct ll_translation){.layout = layout,
                                 .batch = build->batch,
                                 .source_steps = sizes->source,
                                 .target_steps = sizes->target};
    t->lengths = ll_alloc(&nn->arena, t->batch, sizeof *t->lengths);
    t->words = ll_alloc(&nn->arena, sizes->source + sizes->target, sizeof *t->words);
    uint64_t longest = longest_words(t), missing = t->batch * sizes->source * sizes->padding / 100;
    t->sentences = (struct ll_reversals){.seed = build->seed,
                                         .letters = sizes->letters,
                                         .batch = t->batch,
                                         .longest = longest,
                                         .missing = ll_min(missing, t->batch * (longest - 1))};
    ll_nn_drive(nn, &(struct ll_driver){.context = t});
    if (!t->lengths || !t->words)
        ll_nn_fail(nn, "memory ran out");
    return nn->trouble ? NULL : t;
}

void ll_translation_beam(struct ll_translation *t, uint64_t width, uint64_t vocabulary)
{
    assert(width > 0 && vocabulary > 0);
    t->beam = (struct ll_beam){
        .batch = t->batch, .width = width, .vocabulary = vocabulary, .steps = t->target_steps};
}

struct ll_value *ll_translation_build(struct ll_nn *nn, const struct ll_build *build,
                                      struct ll_translation *t, const struct ll_translator *translator)
{
    if (!t || nn->trouble)
        return &nn->nothing;
    if (build->measure)
        return translator->teach(nn, build, t);
    if (!build->train)
        return translator->search(nn, build, t, LL_LEARNED);
    struct ll_value *loss = translator->train(nn, build, t);
    if (build->evaluate && !nn->trouble) {
        t->program = ll_nn_begin_program(nn);
        translator->search(nn, build, t, LL_HELD_BACK);
    }
    return nn->trouble ? &nn->nothing : loss;
}

/* How many words a batch of what is read has, ends included: always the same. */
static uint64_t tokens_of(const struct ll_translation *t)
{
    uint64_t each = t->sentences.longest + (t->layout == LL_SENTENCE_FIRST);
    return t->batch * each - t->sentences.missing;
}

/* What an input op's context tells beside the translation. */
struct feed {
    struct ll_translation *t;
    enum ll_data_part part;
};

/* How many steps of what is read have something, in sentence i of the step whose lengths are there. */
static uint64_t filled_steps(const struct ll_translation *t, uint64_t i)
{
    return (uint64_t)t->lengths[i] + (t->layout == LL_SENTENCE_FIRST);
}

/* Where step t of sentence i lies. */
static uint64_t place(const struct ll_translation *t, uint64_t steps, uint64_t i, uint64_t step)
{
    return t->layout == LL_TIME_FIRST ? step * t->batch + i : i * steps + step;
}

static void find_lengths(const struct feed *feed, uint64_t step)
{
    ll_reversals_lengths(&feed->t->sentences, feed->part, step, feed->t->lengths);
}

/* The words of sentence i, of which there are so many. */
static uint64_t find_words(const struct feed *feed, uint64_t step, uint64_t i)
{
    const struct ll_translation *t = feed->t;
    uint64_t length = (uint64_t)t->lengths[i];
    ll_reversals_words(&t->sentences, feed->part, step, i, length, t->words);
    return length;
}

static void fill_source(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_translation *t = feed->t;
    find_lengths(feed, step);
    for (uint64_t i = 0; i < t->batch; i++) {
        uint64_t length = find_words(feed, step, i), steps = t->source_steps;
        for (uint64_t n = 0; n < steps; n++) {
            int32_t word = n < length ? t->words[n] : n < filled_steps(t, i) ? LL_WORD_EOS : LL_WORD_PAD;
            data[place(t, steps, i, t->layout == LL_TIME_FIRST ? steps - 1 - n : n)] = word;
        }
    }
}

static void fill_bias(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    const struct ll_translation *t = feed->t;
    find_lengths(feed, step);
    for (uint64_t i = 0; i < t->batch; i++)
        for (uint64_t n = 0; n < t->source_steps; n++) {
            uint64_t at = t->layout == LL_TIME_FIRST ? t->source_steps - 1 - n : n;
            data[i * t->source_steps + at] = n < filled_steps(t, i) ? 0 : (float)ll_hidden_score;
        }
}

static void fill_rows(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_translation *t = feed->t;
    find_lengths(feed, step);
    for (uint64_t i = 0; i < t->batch; i++)
        for (uint64_t n = 0; n < filled_steps(t, i); n++)
            *data++ = (int32_t)(i * t->source_steps + n);
}

static void fill_read(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_translation *t = feed->t;
    find_lengths(feed, step);
    for (uint64_t i = 0; i < t->batch; i++) {
        uint64_t length = find_words(feed, step, i);
        for (uint64_t n = 0; n < t->target_steps; n++)
            data[place(t, t->target_steps, i, n)] = n == 0        ? LL_WORD_GO
                                                    : n <= length ? t->words[length - n]
                                                                  : LL_WORD_PAD;
    }
}

static void fill_written(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_translation *t = feed->t;
    find_lengths(feed, step);
    for (uint64_t i = 0; i < t->batch; i++) {
        uint64_t length = find_words(feed, step, i);
        for (uint64_t n = 0; n < t->target_steps; n++)
            data[place(t, t->target_steps, i, n)] = n < length    ? t->words[length - 1 - n]
                                                    : n == length ? LL_WORD_EOS
                                                                  : LL_WORD_PAD;
    }
}

static void fill_weights(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    const struct ll_translation *t = feed->t;
    find_lengths(feed, step);
    for (uint64_t i = 0; i < t->batch; i++)
        for (uint64_t n = 0; n < t->target_steps; n++)
            data[place(t, t->target_steps, i, n)] = n <= (uint64_t)t->lengths[i] ? 1 : 0;
}

static struct feed *feed_of(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part)
{
    struct feed *feed = ll_alloc(&nn->arena, 1, sizeof *feed);
    if (feed)
        *feed = (struct feed){t, part};
    else
        ll_nn_fail(nn, "memory ran out");
    return feed;
}

/* The shape of what has an element for each step of each sentence. */
static struct ll_shape steps_of(struct ll_nn *nn, const struct ll_translation *t, uint64_t steps)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_SEQUENCE};
    bool time_first = t->layout == LL_TIME_FIRST;
    uint64_t dims[] = {time_first ? steps : t->batch, time_first ? t->batch : steps};
    return ll_nn_shape(nn, 2, dims, time_first ? roles : roles + 1);
}

struct ll_value *ll_translation_source(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part)
{
    struct ll_shape shape = steps_of(nn, t, t->source_steps);
    return ll_feed_indices(nn, "source", &shape, fill_source, feed_of(nn, t, part));
}

struct ll_value *ll_translation_source_bias(struct ll_nn *nn, struct ll_translation *t,
                                            enum ll_data_part part)
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){t->batch, t->source_steps},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE});
    return ll_feed_floats(nn, "source_bias", &shape, fill_bias, feed_of(nn, t, part));
}

struct ll_value *ll_translation_source_rows(struct ll_nn *nn, struct ll_translation *t,
                                            enum ll_data_part part)
{
    uint64_t tokens = tokens_of(t);
    struct ll_shape shape = ll_nn_shape(nn, 1, &tokens, (enum ll_role[]){LL_ROLE_BATCH});
    return ll_feed_indices(nn, "source_rows", &shape, fill_rows, feed_of(nn, t, part));
}

struct ll_value *ll_translation_read(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part)
{
    struct ll_shape shape = steps_of(nn, t, t->target_steps);
    return ll_feed_indices(nn, "target", &shape, fill_read, feed_of(nn, t, part));
}

struct ll_value *ll_translation_written(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part)
{
    struct ll_shape shape = steps_of(nn, t, t->target_steps);
    return ll_feed_indices(nn, "labels", &shape, fill_written, feed_of(nn, t, part));
}

struct ll_value *ll_translation_weights(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part)
{
    struct ll_shape shape = steps_of(nn, t, t->target_steps);
    return ll_feed_floats(nn, "target_weights", &shape, fill_weights, feed_of(nn, t, part));
}

struct count {
    uint64_t sentences, right_sentences, words, right_words;
};

/* Sentence i of a step, whose translation is in `written`. */
static void judge(const struct feed *feed, uint64_t step, uint64_t i, const int32_t *written,
                  struct count *count)
{
    const int32_t *words = feed->t->words;
    uint64_t length = find_words(feed, step, i), right = 0;
    for (uint64_t n = 0; n <= length; n++)
        right += written[n] == (n < length ? words[length - 1 - n] : LL_WORD_EOS);
    count->words += length + 1;
    count->right_words += right;
    count->sentences++;
    count->right_sentences += right == length + 1;
}

/* Compares word by word with the right translation; a sentence counts when all of its words do. */
bool ll_translation_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    struct ll_translation *t = context;
    const struct feed feed = {t, LL_HELD_BACK};
    int32_t *written = t->words + t->source_steps;
    struct count count = {0};
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, t->program, step);
        find_lengths(&feed, step);
        for (uint64_t i = 0; i < t->batch; i++) {
            ll_beam_read(&t->beam, runner, i, written);
            judge(&feed, step, i, written, &count);
        }
    }
    ll_scores_add(scores,
                  (struct ll_score){"sentences", "share of unseen sentences translated without a mistake",
                                    (double)count.right_sentences / (double)count.sentences, false});
    ll_scores_add(scores, (struct ll_score){"words", "share of their words that stand where they belong",
                                            (double)count.right_words / (double)count.words, false});
    return true;
}

static const double never = -1e9, least_chance = 1e-30;

static void fill_go(void *context, uint64_t step, int32_t *words)
{
    const struct ll_beam *beam = context;
    (void)step;
    for (uint64_t i = 0; i < beam->batch * beam->width; i++)
        words[i] = LL_WORD_GO;
}

/* A constant of this shape: the value everywhere, but 0 where i mod `every` is `zero`. */
static struct ll_value *all_but(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                double value, uint64_t every, uint64_t zero)
{
    double *list = ll_alloc(&nn->arena, ll_elements(shape), sizeof *list);
    if (!list) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < ll_elements(shape); i++)
        list[i] = i % every == zero ? 0 : value;
    return ll_nn_variable(nn, name, shape, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, list});
}

static struct ll_shape column_of(struct ll_nn *nn, const struct ll_beam *beam)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    return ll_nn_shape(nn, 2, (uint64_t[]){beam->batch * beam->width, 1}, roles);
}

/* Every beam begins with the start symbol; all but its first hypothesis have a score that nothing can reach,
 * or the first step would choose the same token `width` times. */
void ll_beam_begin(struct ll_nn *nn, struct ll_beam *beam)
{
    assert(beam->steps > 0 && beam->batch > 0);
    static const enum ll_role roles[] = {LL_ROLE_PLAIN, LL_ROLE_VOCABULARY};
    struct ll_shape column = column_of(nn, beam);
    struct ll_shape rows = ll_nn_shape(nn, 1, column.dim, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_shape line = ll_nn_shape(nn, 2, (uint64_t[]){1, beam->vocabulary}, roles);
    beam->done = 0;
    beam->chosen = ll_alloc(&nn->arena, beam->steps, sizeof(struct ll_value *));
    beam->from = ll_alloc(&nn->arena, beam->steps, sizeof(struct ll_value *));
    struct ll_beam *own = ll_copy(&nn->arena, beam, sizeof *beam);
    if (!beam->chosen || !beam->from || !own) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    ll_nn_push(nn, "beam");
    beam->words = ll_feed_indices(nn, "go", &rows, fill_go, own);
    beam->scores = all_but(nn, "first_alone", &column, never, beam->width, 0);
    beam->ended = ll_zeros(nn, &column);
    beam->only_end = all_but(nn, "only_end", &line, never, beam->vocabulary, LL_WORD_EOS);
    ll_nn_pop(nn);
}

/* The log probability of every word behind every hypothesis, added to its score. */
static struct ll_value *extended(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *logits)
{
    struct ll_value *chance = ll_nn_do1(nn, LL_OP_SOFTMAX, logits);
    chance = ll_nn_do2(nn, LL_OP_MAXIMUM, chance, ll_constant(nn, "least_chance", least_chance));
    struct ll_value *goes_on = ll_sub_of(nn, ll_constant(nn, "one", 1), beam->ended);
    struct ll_value *word = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_LOG, chance), goes_on);
    struct ll_value *end = ll_mul_of(nn, beam->ended, beam->only_end);
    return ll_add_of(nn, ll_add_of(nn, word, end), beam->scores);
}

static struct ll_value *best_of(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *x)
{
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)beam->width);
    struct ll_shape lines = ll_nn_shape(nn, 2, (uint64_t[]){beam->batch, beam->width * beam->vocabulary},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    x = ll_nn_reshape(nn, x, &lines);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_TOP_K, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &size});
}

static struct ll_value *taken_apart(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *places)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SIZE, (int64_t)beam->vocabulary),
        ll_attr_of_count(LL_ATTR_RANGE, (int64_t)(beam->width * beam->vocabulary)),
    };
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_UNRAVEL, .input_count = 1, .inputs = &places, .attr_count = 2, .attrs = attrs});
}

/* Scores of hypotheses and their next tokens are added and ranked together over width times vocabulary;
 * quotient and remainder of the place tell the parent and the token. */
void ll_beam_grow(struct ll_nn *nn, struct ll_beam *beam, struct ll_value *logits)
{
    struct ll_shape column = column_of(nn, beam), rows = column;
    rows.rank = 1;
    rows.dim[1] = 0;
    ll_nn_push(nn, "beam");
    const struct ll_value *best = best_of(nn, beam, extended(nn, beam, logits));
    const struct ll_value *where = best->producer ? taken_apart(nn, beam, best->producer->outputs[1]) : best;
    if (nn->trouble || beam->done == beam->steps) {
        ll_nn_pop(nn);
        return;
    }
    beam->scores = ll_nn_reshape(nn, best->producer->outputs[0], &column);
    beam->parents = ll_nn_reshape(nn, where->producer->outputs[0], &rows);
    beam->words = ll_nn_reshape(nn, where->producer->outputs[1], &rows);
    struct ll_value *word = ll_nn_reshape(nn, ll_as_real(nn, beam->words), &column);
    struct ll_value *end =
        ll_as_real(nn, ll_nn_do2(nn, LL_OP_EQUAL, word, ll_constant(nn, "end", LL_WORD_EOS)));
    beam->ended = ll_nn_do2(nn, LL_OP_MAXIMUM, ll_beam_follow(nn, beam, beam->ended), end);
    ll_nn_keep(beam->from[beam->done] = where->producer->outputs[0]);
    ll_nn_keep(beam->chosen[beam->done++] = where->producer->outputs[1]);
    ll_nn_pop(nn);
    assert(beam->done <= beam->steps);
}

struct ll_value *ll_beam_follow(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *state)
{
    return ll_nn_gather(nn, state, beam->parents);
}

void ll_beam_read(const struct ll_beam *beam, struct ll_runner *runner, uint64_t i, int32_t *words)
{
    assert(i < beam->batch && beam->done <= beam->steps);
    uint64_t row = i * beam->width;
    for (uint64_t t = beam->done; t-- > 0;) {
        words[t] = ((const int32_t *)ll_runner_data(runner, beam->chosen[t]))[row];
        row = (uint64_t)((const int32_t *)ll_runner_data(runner, beam->from[t]))[row];
    }
}
