/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences in two languages, each with its translation, as numbers of words.
 *
 * A corpus is read from a folder or made up (a language whose translation is the sentence read backwards, so
 * that a network can learn to translate it and no data has to be there). It starts as {0}, belongs to one
 * thread until it is complete, and is released by its owner. */
#ifndef LL_DATA_CORPUS_H
#define LL_DATA_CORPUS_H

#include "models/data/vocabulary.h"

/* A sentence, its translation right behind it. */
struct ll_pair {
    uint64_t first; /* among the words */
    uint64_t source_words, target_words;
};

struct ll_corpus {
    struct ll_vocabulary source, target;
    int32_t *words;
    uint64_t word_count, word_capacity;
    struct ll_pair *pairs;
    uint64_t pair_count, pair_capacity;
};

/* What a corpus is read from: two texts whose lines belong to each other, and their vocabularies, which are
 * built when they have no name. */
struct ll_parallel_text {
    struct ll_text source, target, source_vocabulary, target_vocabulary;
};

/* Pairs of which a side is empty are left out. At most so many words in each language. False after
 * complaints. */
bool ll_corpus_parse(struct ll_corpus *corpus, const struct ll_parallel_text *text, uint64_t most_words,
                     struct ll_diags *diags);

/* The files source.txt and target.txt of a folder and, where they are, source.vocabulary and
 * target.vocabulary. False after complaints. */
bool ll_corpus_read(struct ll_corpus *corpus, const char *folder, uint64_t most_words,
                    struct ll_diags *diags);

/* Sentences of so many letters, from the shortest to the longest length, all equally frequent. */
struct ll_reversal {
    uint64_t pairs, letters, shortest, longest, seed;
};

/* The pairs of a language and its reverse; pair i is the same whatever their number. False when memory ran
 * out. */
bool ll_corpus_reverse(struct ll_corpus *corpus, const struct ll_reversal *reversal);

void ll_corpus_release(struct ll_corpus *corpus);

#endif
