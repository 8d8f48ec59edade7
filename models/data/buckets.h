/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences sorted by length into buckets, and batches drawn from them, as TensorFlow's translation tutorial
 * of 2016 does it: a sentence belongs to the smallest bucket with more steps than it has words, with an end
 * behind them for its translation; the rest is padding.
 *
 * One sentence in sixteen, whichever it is, is held back from learning wherever it stands. Sorting is one
 * thread's; drawing is pure and thread-safe, and does not fail. */
#ifndef LL_DATA_BUCKETS_H
#define LL_DATA_BUCKETS_H

#include "models/data/corpus.h"
#include "models/data/part.h"

enum { LL_MAX_BUCKETS = 8 };

/* How many steps there are for a sentence and for its translation, at least two and three. */
struct ll_bucket {
    uint64_t source, target;
};

struct ll_buckets {
    const struct ll_corpus *corpus;
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

#endif
