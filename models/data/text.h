/* SPDX-License-Identifier: Apache-2.0 */
/* Text as language models read it: a sentence a line, words between blanks.
 *
 * A text is bytes of somebody else; lines and words point into it. Readers belong to one thread. */
#ifndef LL_MODELS_DATA_TEXT_H
#define LL_MODELS_DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/data/part.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

struct ll_text {
    const char *name; /* of the file, for complaints */
    const char *bytes;
    size_t size;
};

/* A stretch of a text. */
struct ll_words {
    const char *text;
    size_t length;
};

/* How many bytes of it to print in a complaint, as the precision of %.*s: not too many, whole characters. */
int ll_words_shown(struct ll_words words);

/* Where a walk over lines is; {0} to begin with. */
struct ll_line {
    struct ll_words words;
    uint64_t number; /* from 1 */
};

/* The whole file, of at most 4 GiB, in the arena; its name is the path, which the caller keeps. False after
 * a complaint. */
bool ll_text_load(const char *path, struct ll_arena *arena, struct ll_text *text, struct ll_diags *diags);

/* Whether it is text: UTF-8 (RFC 3629) without control characters other than blanks. False after complaints,
 * one for each line that is not. */
bool ll_text_check(const struct ll_text *text, struct ll_diags *diags);

/* Steps to the next line, without what ends it (a line feed, or carriage return and line feed); false behind
 * the last one. What follows the last line feed is a line if it is not empty. */
bool ll_next_line(const struct ll_text *text, struct ll_line *line);

/* Cuts the first word off, blanks and tabs around it left out; false when none is left. */
bool ll_next_word(struct ll_words *rest, struct ll_words *word);

/* Words and their numbers, frequent words first.
 *
 * The first four numbers are no words: what fills a sentence up, what starts one, what ends one, and what
 * stands for any word that is not known. A vocabulary starts as {0}, copies the words that it is given,
 * belongs to one thread while words are added, may then be read by many, and is released by its owner, also
 * after a failure. */

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

/* Sentences in two languages, each with its translation, as numbers of words.
 *
 * A corpus is read from a folder or made up (a language whose translation is the sentence read backwards, so
 * that a network can learn to translate it and no data has to be there). It starts as {0}, belongs to one
 * thread until it is complete, may then be read by many, and is released by its owner, also where it could
 * not be filled. */

/* A sentence, its translation right behind it. */
struct ll_pair {
    uint64_t first; /* among the words */
    uint64_t source_words, target_words;
};

struct ll_corpus {
    struct ll_vocabulary source, target;
    int32_t *words; /* all sentences one behind the other, as numbers of their vocabularies */
    uint64_t word_count, word_capacity;
    struct ll_pair *pairs; /* a sentence and its translation each: where they lie in words */
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

/* A made-up language without end, whose translation is the sentence read backwards: batches of sentences that
 * have a fixed number of words together, so that what is computed of them does not depend on the draw.
 *
 * Part, step and number tell everything of a sentence. One in sixteen, whichever it is, is held back from
 * learning wherever it stands; where a language has so few sentences of a length that none of a part is
 * found, one of the other part stands for it. Pure and thread-safe. */

struct ll_reversals {
    uint64_t seed;
    uint64_t letters; /* how many words there are, from number LL_SPECIAL_WORDS on */
    uint64_t batch;   /* sentences */
    uint64_t longest; /* words of a sentence; the shortest has one */
    uint64_t missing; /* words that a batch has less than if all its sentences were the longest */
};

/* Writes how many words each sentence of a step's batch has, 1 to longest: lengths[batch]. Together they
 * are batch * longest - missing; missing is at most batch * (longest - 1). */
void ll_reversals_lengths(const struct ll_reversals *reversals, enum ll_data_part part, uint64_t step,
                          int32_t *lengths);

/* Writes the words of sentence i, which has so many: words[length], from LL_SPECIAL_WORDS on. */
void ll_reversals_words(const struct ll_reversals *reversals, enum ll_data_part part, uint64_t step,
                        uint64_t i, uint64_t length, int32_t *words);

/* Sentences sorted by length into buckets, and batches drawn from them, as TensorFlow's translation tutorial
 * of 2016 does it: a sentence belongs to the smallest bucket with more steps than it has words, with an end
 * behind them for its translation; the rest is padding.
 *
 * One sentence in sixteen, whichever it is, is held back from learning wherever it stands. Sorting is one
 * thread's; drawing is pure and thread-safe, and does not fail. */

enum { LL_MAX_BUCKETS = 8 };

/* How many steps there are for a sentence and for its translation, at least two and three. */
struct ll_bucket {
    uint64_t source, target;
};

struct ll_buckets {
    const struct ll_corpus *corpus; /* whose pairs are sorted; outlives the buckets */
    /* the most words of source and target that a pair of the bucket has */
    struct ll_bucket sizes[LL_MAX_BUCKETS];
    uint32_t count;
    struct {
        uint64_t *pairs, count;
    } of[LL_MAX_BUCKETS][LL_PART_COUNT]; /* numbers of pairs, in the corpus's order */
    uint64_t too_long;                   /* pairs that fit no bucket */
};

/* How many words the longest sentence of the made-up language may have to fit into the bucket: it and its
 * translation are equally long, source - 1 and target - 2 words at most. */
uint64_t ll_bucket_words(const struct ll_bucket *size);

/* Sorts the corpus, which outlives the buckets, into `count` sizes, at most LL_MAX_BUCKETS, smallest first:
 * a pair goes into the first that it fits into. Lists are put into the arena. False when memory ran out. */
bool ll_buckets_sort(struct ll_buckets *buckets, const struct ll_corpus *corpus,
                     const struct ll_bucket *sizes, uint32_t count, struct ll_arena *arena);

/* The bucket of a step: each as often as it has sentences to learn, of which there is at least one. */
uint32_t ll_buckets_choose(const struct ll_buckets *buckets, uint64_t seed, uint64_t step);

/* Sentences of one bucket, of which there is at least one: to learn, drawn anew for each step; or held back,
 * one after the other, from the first again after the last. */
struct ll_batch {
    const struct ll_buckets *buckets;
    uint32_t bucket;
    enum ll_data_part part;
    uint64_t size, seed, step;
};

/* The pair that is number i of the batch, i below its size; it lies in the corpus. */
const struct ll_pair *ll_batch_pair(const struct ll_batch *batch, uint64_t i);

/* Writes word numbers step by step, [steps][size]: sentences read backwards behind their padding (Sutskever
 * et al., 2014, section 3.3), bucket.source steps; translations between LL_WORD_GO and LL_WORD_EOS before
 * their padding, bucket.target + 1 steps. */
void ll_batch_source(const struct ll_batch *batch, int32_t *words);
void ll_batch_target(const struct ll_batch *batch, int32_t *words);

/* 1 where the translation's next word counts, 0 where it is padding: [bucket.target][size]. */
void ll_batch_weights(const struct ll_batch *batch, float *weights);

/* Stories with questions, in the form of the bAbI tasks (Weston et al., 2015): numbered lines, a new story
 * where the number is 1, a question with its one-word answer behind a tab.
 *
 *     1 Mary moved to the bathroom.
 *     2 John went back to the hallway.
 *     3 Where is Mary? <tab>bathroom<tab>1
 *
 * For a network each question stands with the sentences before it: the latest `memory` of them, each of
 * `sentence` words, all filled up with word 0. Words are numbered from 1 as they first come, in small
 * letters. What is read was written by anybody; made-up stories pass through the same reader. */

struct ll_story_sizes {
    uint64_t vocabulary;       /* words, with the one that fills up */
    uint64_t memory, sentence; /* sentences; words of each */
};

struct ll_stories {
    struct ll_story_sizes sizes;
    uint64_t count;           /* questions */
    const int32_t *sentences; /* [count, memory, sentence] */
    const int32_t *questions; /* [count, sentence] */
    const int32_t *answers;   /* [count] */
};

/* Reads stories into the arena; words are those of the map, which grows, also where this fails. False after
 * complaints: what is no text, all lines that are no part of a story, a sentence that is too long, more words
 * than the vocabulary may have, no question at all. One thread at a time, of the map and the arena. */
bool ll_stories_read(const struct ll_text *text, struct ll_story_sizes sizes, struct ll_map *words,
                     struct ll_arena *arena, struct ll_stories *stories, struct ll_diags *diags);

/* Adds so many made-up stories of task 1 (where is somebody who has moved?), ten statements and five
 * questions each: a pure function of seed and count. Trouble is the text's (str.h). */
void ll_stories_write(uint64_t seed, uint64_t count, struct ll_str *text);

#endif
