/* SPDX-License-Identifier: Apache-2.0 */
/* Translating what was held back, word by word from what was written before, and counting what is right: a
 * sentence with every word and its end, and of all these words and ends each that stands where it belongs. */
#include "models/fathom/seq2seq.h"
#include "models/nn/runner.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

#include <assert.h>

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

bool ll_seq2seq_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
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
