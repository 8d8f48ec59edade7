/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences in two languages, each with its translation, as numbers of words.
 *
 * A corpus is read from a folder or made up (a language whose translation is the sentence read backwards, so
 * that a network can learn to translate it and no data has to be there). It starts as {0}, belongs to one
 * thread until it is complete, may then be read by many, and is released by its owner, also where it could
 * not be filled. */
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

/* Pairs of which a side is empty are left out. At most so many words in each language, the four specials
 * counted: a vocabulary that is built keeps the most frequent ones, one that is read must not have more.
 * Words that are in none are LL_WORD_UNKNOWN. The corpus keeps nothing of the text. False after complaints:
 * what is not text, vocabularies that are none, texts of different lengths, no pair at all. */
bool ll_corpus_parse(struct ll_corpus *corpus, const struct ll_parallel_text *text, uint64_t most_words,
                     struct ll_diags *diags);

/* The same of the files source.txt and target.txt of a folder and, where they are, source.vocabulary and
 * target.vocabulary. A file that cannot be read is a complaint, too. */
bool ll_corpus_read(struct ll_corpus *corpus, const char *folder, uint64_t most_words,
                    struct ll_diags *diags);

/* Sentences of so many letters, at least one, from the shortest to the longest length in words, all lengths
 * equally frequent. */
struct ll_reversal {
    uint64_t pairs, letters, shortest, longest, seed;
};

/* The pairs of a language and its reverse, whose words are a, b, ... z, aa, ...; pair i is the same whatever
 * their number. False when memory ran out. */
bool ll_corpus_reverse(struct ll_corpus *corpus, const struct ll_reversal *reversal);

/* Frees what it holds; it is {0} again. */
void ll_corpus_release(struct ll_corpus *corpus);

#endif
