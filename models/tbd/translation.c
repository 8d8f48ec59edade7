/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/translation.h"

#include "models/data/text.h"
#include "models/feed.h"
#include "models/nn/layers.h"

#include <inttypes.h>

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
