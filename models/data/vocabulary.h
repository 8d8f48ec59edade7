/* SPDX-License-Identifier: Apache-2.0 */
/* Words and their numbers, frequent words first.
 *
 * The first four numbers are no words: what fills a sentence up, what starts one, what ends one, and what
 * stands for any word that is not known. A vocabulary starts as {0}, copies the words that it is given,
 * belongs to one thread while words are added, may then be read by many, and is released by its owner, also
 * after a failure. */
#ifndef LL_DATA_VOCABULARY_H
#define LL_DATA_VOCABULARY_H

#include "models/data/text.h"
#include "tracer/base/map.h"

enum { LL_WORD_PAD, LL_WORD_GO, LL_WORD_EOS, LL_WORD_UNKNOWN, LL_SPECIAL_WORDS };

struct ll_vocabulary {
    struct ll_map words;
};

/* A vocabulary of the four specials alone. False when memory ran out. */
bool ll_vocabulary_begin(struct ll_vocabulary *vocabulary);

/* The word's number: the next one, or its own where it is there already; -1 when memory ran out or there are
 * 2^30 words. */
int32_t ll_vocabulary_add(struct ll_vocabulary *vocabulary, struct ll_words word);

/* Of one word a line, the first four lines being _PAD, _GO, _EOS and _UNK; at most so many lines. Added to
 * an empty vocabulary. False after complaints about all lines that are wrong. */
bool ll_vocabulary_read(struct ll_vocabulary *vocabulary, const struct ll_text *text, uint64_t most,
                        struct ll_diags *diags);

/* The most frequent words of a text, at most so many with the specials, which are there in any case; of
 * equally frequent ones those that come first. Added to an empty vocabulary. False when memory ran out. */
bool ll_vocabulary_build(struct ll_vocabulary *vocabulary, const struct ll_text *text, uint64_t most);

/* The word's number; LL_WORD_UNKNOWN for a word that is not there, and for the name of a special. */
int32_t ll_vocabulary_find(const struct ll_vocabulary *vocabulary, struct ll_words word);

/* The word of a number; that of LL_WORD_UNKNOWN when there is none. It points into the vocabulary, which has
 * been begun, and lives as long. */
struct ll_words ll_vocabulary_word(const struct ll_vocabulary *vocabulary, int32_t number);

/* Frees its words; it is {0} again. */
void ll_vocabulary_release(struct ll_vocabulary *vocabulary);

#endif
