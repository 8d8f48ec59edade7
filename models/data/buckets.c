/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/buckets.h"

#include "tracer/base/random.h"

#include <assert.h>
#include <string.h>

enum { CHOICE, DRAW }; /* streams of the seed */

uint64_t ll_bucket_words(const struct ll_bucket *size)
{
    uint64_t source = size->source - 1, target = size->target - 2;
    return source < target ? source : target;
}

static bool fits(const struct ll_bucket *size, const struct ll_pair *pair)
{
    return pair->source_words < size->source && pair->target_words + 1 < size->target;
}

/* The first bucket that the pair fits into; the count when there is none. */
static uint32_t bucket_of(const struct ll_buckets *buckets, const struct ll_pair *pair)
{
    uint32_t i = 0;
    while (i < buckets->count && !fits(&buckets->sizes[i], pair))
        i++;
    return i;
}

/* By the words of the sentence, so that no sentence that is held back is learned elsewhere. */
static enum ll_data_part part_of(const struct ll_corpus *corpus, const struct ll_pair *pair)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < pair->source_words; i++)
        hash = ll_random_key(hash, (uint64_t)corpus->words[pair->first + i]);
    return hash % LL_ONE_HELD_BACK_OF == 0 ? LL_HELD_BACK : LL_LEARNED;
}

bool ll_buckets_sort(struct ll_buckets *buckets, const struct ll_corpus *corpus,
                     const struct ll_bucket *sizes, uint32_t count, struct ll_arena *arena)
{
    assert(count <= LL_MAX_BUCKETS);
    uint64_t counts[LL_MAX_BUCKETS + 1][LL_PART_COUNT] = {0};
    *buckets = (struct ll_buckets){.corpus = corpus, .count = count};
    memcpy(buckets->sizes, sizes, count * sizeof *sizes);
    for (uint64_t i = 0; i < corpus->pair_count; i++)
        counts[bucket_of(buckets, &corpus->pairs[i])][part_of(corpus, &corpus->pairs[i])]++;
    buckets->too_long = counts[count][LL_LEARNED] + counts[count][LL_HELD_BACK];
    for (uint32_t i = 0; i < count * LL_PART_COUNT; i++) {
        uint32_t bucket = i / LL_PART_COUNT, part = i % LL_PART_COUNT;
        buckets->of[bucket][part].pairs = ll_alloc(arena, counts[bucket][part], sizeof(uint64_t));
        if (!buckets->of[bucket][part].pairs)
            return false;
    }
    for (uint64_t i = 0; i < corpus->pair_count; i++) {
        uint32_t bucket = bucket_of(buckets, &corpus->pairs[i]);
        enum ll_data_part part = part_of(corpus, &corpus->pairs[i]);
        if (bucket < count)
            buckets->of[bucket][part].pairs[buckets->of[bucket][part].count++] = i;
    }
    return true;
}

uint32_t ll_buckets_choose(const struct ll_buckets *buckets, uint64_t seed, uint64_t step)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < buckets->count; i++)
        total += buckets->of[i][LL_LEARNED].count;
    assert(total > 0);
    uint64_t drawn = ll_random_bits(ll_random_key(seed, CHOICE), step) % total;
    uint32_t bucket = 0;
    while (drawn >= buckets->of[bucket][LL_LEARNED].count)
        drawn -= buckets->of[bucket++][LL_LEARNED].count;
    return bucket;
}

const struct ll_pair *ll_batch_pair(const struct ll_batch *batch, uint64_t i)
{
    const uint64_t count = batch->buckets->of[batch->bucket][batch->part].count;
    assert(count > 0);
    uint64_t number = batch->step * batch->size + i;
    if (batch->part == LL_LEARNED)
        number = ll_random_bits(ll_random_key(batch->seed, DRAW), number);
    return &batch->buckets->corpus
                ->pairs[batch->buckets->of[batch->bucket][batch->part].pairs[number % count]];
}

void ll_batch_source(const struct ll_batch *batch, int32_t *words)
{
    const uint64_t steps = batch->buckets->sizes[batch->bucket].source;
    for (uint64_t i = 0; i < batch->size; i++) {
        const struct ll_pair *pair = ll_batch_pair(batch, i);
        const int32_t *sentence = batch->buckets->corpus->words + pair->first;
        for (uint64_t t = 0; t < steps; t++)
            words[(steps - 1 - t) * batch->size + i] = t < pair->source_words ? sentence[t] : LL_WORD_PAD;
    }
}

void ll_batch_target(const struct ll_batch *batch, int32_t *words)
{
    const uint64_t steps = batch->buckets->sizes[batch->bucket].target + 1;
    for (uint64_t i = 0; i < batch->size; i++) {
        const struct ll_pair *pair = ll_batch_pair(batch, i);
        const int32_t *sentence = batch->buckets->corpus->words + pair->first + pair->source_words;
        for (uint64_t t = 0; t < steps; t++)
            words[t * batch->size + i] = t == 0                        ? LL_WORD_GO
                                         : t <= pair->target_words     ? sentence[t - 1]
                                         : t == pair->target_words + 1 ? LL_WORD_EOS
                                                                       : LL_WORD_PAD;
    }
}

void ll_batch_weights(const struct ll_batch *batch, float *weights)
{
    for (uint64_t i = 0; i < batch->size; i++) {
        const struct ll_pair *pair = ll_batch_pair(batch, i);
        for (uint64_t t = 0; t < batch->buckets->sizes[batch->bucket].target; t++)
            weights[t * batch->size + i] = t <= pair->target_words ? 1 : 0;
    }
}
