/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/corpus.h"

#include "tracer/base/random.h"
#include "tracer/base/diag.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static bool add_word(struct ll_corpus *corpus, int32_t word)
{
    if (!ll_grow(&corpus->words, &corpus->word_capacity, corpus->word_count + 1, sizeof *corpus->words))
        return false;
    corpus->words[corpus->word_count++] = word;
    return true;
}

/* The words from `first` on, of which the last target_words are the translation. */
static bool add_pair(struct ll_corpus *corpus, uint64_t first, uint64_t target_words)
{
    if (!ll_grow(&corpus->pairs, &corpus->pair_capacity, corpus->pair_count + 1, sizeof *corpus->pairs))
        return false;
    corpus->pairs[corpus->pair_count++] =
        (struct ll_pair){first, corpus->word_count - first - target_words, target_words};
    return true;
}

static bool add_sentence(struct ll_corpus *corpus, const struct ll_vocabulary *vocabulary,
                         struct ll_words sentence)
{
    for (struct ll_words word; ll_next_word(&sentence, &word);)
        if (!add_word(corpus, ll_vocabulary_find(vocabulary, word)))
            return false;
    return true;
}

static bool add_lines(struct ll_corpus *corpus, struct ll_words source, struct ll_words target)
{
    uint64_t first = corpus->word_count;
    if (!add_sentence(corpus, &corpus->source, source))
        return false;
    uint64_t middle = corpus->word_count;
    if (!add_sentence(corpus, &corpus->target, target))
        return false;
    if (middle > first && corpus->word_count > middle)
        return add_pair(corpus, first, corpus->word_count - middle);
    corpus->word_count = first;
    return true;
}

/* Where the shorter text ends, when there is one. */
static bool check_as_long(const struct ll_text *ended, uint64_t lines, const struct ll_text *longer,
                          struct ll_line *line, struct ll_diags *diags)
{
    while (ll_next_line(longer, line))
        ;
    return line->number == lines ||
           ll_complain(diags, (struct ll_place){.file = ended->name, .line = lines},
                       "the file ends here; expected %" PRIu64 " lines, as many as %s has", line->number,
                       longer->name);
}

static bool parse_vocabulary(struct ll_vocabulary *vocabulary, const struct ll_text *words,
                             const struct ll_text *text, uint64_t most, struct ll_diags *diags)
{
    if (words->name)
        return ll_text_check(words, diags) && ll_vocabulary_read(vocabulary, words, most, diags);
    return ll_vocabulary_build(vocabulary, text, most) ||
           ll_complain(diags, (struct ll_place){.file = text->name}, "%s", ll_status_text(LL_NO_MEMORY));
}

static bool parse_lines(struct ll_corpus *corpus, const struct ll_text *source, const struct ll_text *target,
                        struct ll_diags *diags)
{
    struct ll_line left = {0}, right = {0};
    bool more_left = ll_next_line(source, &left), more_right = ll_next_line(target, &right);
    while (more_left && more_right) {
        if (!add_lines(corpus, left.words, right.words))
            return ll_complain(diags, (struct ll_place){.file = source->name, .line = left.number}, "%s",
                               ll_status_text(LL_NO_MEMORY));
        more_left = ll_next_line(source, &left);
        more_right = ll_next_line(target, &right);
    }
    return more_left ? check_as_long(target, right.number, source, &left, diags)
                     : check_as_long(source, left.number, target, &right, diags);
}

bool ll_corpus_parse(struct ll_corpus *corpus, const struct ll_parallel_text *text, uint64_t most_words,
                     struct ll_diags *diags)
{
    bool good = ll_text_check(&text->source, diags);
    good &= ll_text_check(&text->target, diags);
    good &= parse_vocabulary(&corpus->source, &text->source_vocabulary, &text->source, most_words, diags);
    good &= parse_vocabulary(&corpus->target, &text->target_vocabulary, &text->target, most_words, diags);
    if (!good || !parse_lines(corpus, &text->source, &text->target, diags))
        return false;
    return corpus->pair_count > 0 || ll_complain(diags, (struct ll_place){.file = text->source.name},
                                                 "there is no sentence that has a translation");
}

/* A file that may be missing leaves the text without a name. */
static bool load(const char *folder, const char *name, bool optional, struct ll_arena *arena,
                 struct ll_text *text, struct ll_diags *diags)
{
    const char *path = ll_format(arena, "%s/%s", folder, name);
    if (!path)
        return ll_complain(diags, (struct ll_place){.file = folder}, "%s", ll_status_text(LL_NO_MEMORY));
    return (optional && access(path, F_OK) != 0) || ll_text_load(path, arena, text, diags);
}

bool ll_corpus_read(struct ll_corpus *corpus, const char *folder, uint64_t most_words, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_parallel_text text = {0};
    bool good = load(folder, "source.txt", false, &arena, &text.source, diags);
    good &= load(folder, "target.txt", false, &arena, &text.target, diags);
    good &= load(folder, "source.vocabulary", true, &arena, &text.source_vocabulary, diags);
    good &= load(folder, "target.vocabulary", true, &arena, &text.target_vocabulary, diags);
    good = good && ll_corpus_parse(corpus, &text, most_words, diags);
    ll_arena_release(&arena);
    return good;
}

/* The words a, b, ... z, aa, ab, ... */
static bool add_letters(struct ll_vocabulary *vocabulary, uint64_t letters)
{
    for (uint64_t i = 0; i < letters; i++) {
        char text[16];
        size_t at = sizeof text;
        for (uint64_t rest = i + 1; rest > 0; rest = (rest - 1) / 26)
            text[--at] = (char)('a' + (rest - 1) % 26);
        if (ll_vocabulary_add(vocabulary, (struct ll_words){text + at, sizeof text - at}) < 0)
            return false;
    }
    return true;
}

static bool add_reversed(struct ll_corpus *corpus, const struct ll_reversal *reversal, uint64_t pair)
{
    uint64_t key = ll_random_key(reversal->seed, pair), first = corpus->word_count;
    uint64_t length =
        reversal->shortest + ll_random_bits(key, 0) % (reversal->longest - reversal->shortest + 1);
    for (uint64_t i = 0; i < length; i++)
        if (!add_word(corpus, LL_SPECIAL_WORDS + (int32_t)(ll_random_bits(key, 1 + i) % reversal->letters)))
            return false;
    for (uint64_t i = length; i-- > 0;)
        if (!add_word(corpus, corpus->words[first + i]))
            return false;
    return add_pair(corpus, first, length);
}

bool ll_corpus_reverse(struct ll_corpus *corpus, const struct ll_reversal *reversal)
{
    if (!ll_vocabulary_begin(&corpus->source) || !ll_vocabulary_begin(&corpus->target) ||
        !add_letters(&corpus->source, reversal->letters) || !add_letters(&corpus->target, reversal->letters))
        return false;
    for (uint64_t i = 0; i < reversal->pairs; i++)
        if (!add_reversed(corpus, reversal, i))
            return false;
    return true;
}

void ll_corpus_release(struct ll_corpus *corpus)
{
    ll_vocabulary_release(&corpus->source);
    ll_vocabulary_release(&corpus->target);
    free(corpus->words);
    free(corpus->pairs);
    *corpus = (struct ll_corpus){0};
}
