/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/reversal.h"

#include "models/data/vocabulary.h"
#include "tracer/base/random.h"

#include <assert.h>

enum { LENGTHS, WORDS, MOST_DRAWS = 1000 };

static uint64_t key_of(const struct ll_reversals *r, int stream, enum ll_data_part part, uint64_t step)
{
    uint64_t key = ll_random_key(r->seed, (uint64_t)stream * LL_PART_COUNT + (uint64_t)part);
    return ll_random_key(key, step);
}

/* Words are taken off one by one, from a random sentence or the next one that has two. */
void ll_reversals_lengths(const struct ll_reversals *r, enum ll_data_part part, uint64_t step,
                          int32_t *lengths)
{
    uint64_t key = key_of(r, LENGTHS, part, step);
    assert(r->missing <= r->batch * (r->longest - 1));
    for (uint64_t i = 0; i < r->batch; i++)
        lengths[i] = (int32_t)r->longest;
    for (uint64_t n = 0; n < r->missing; n++) {
        uint64_t i = ll_random_bits(key, n) % r->batch;
        while (lengths[i] == 1)
            i = (i + 1) % r->batch;
        lengths[i]--;
    }
}

void ll_reversals_words(const struct ll_reversals *r, enum ll_data_part part, uint64_t step, uint64_t i,
                        uint64_t length, int32_t *words)
{
    uint64_t key = ll_random_key(key_of(r, WORDS, part, step), i), drawn = 0;
    for (int draw = 0; draw < MOST_DRAWS; draw++) {
        uint64_t hash = 0;
        for (uint64_t t = 0; t < length; t++) {
            words[t] = (int32_t)(LL_SPECIAL_WORDS + ll_random_bits(key, drawn++) % r->letters);
            hash = ll_random_key(hash, (uint64_t)words[t]);
        }
        if ((hash % LL_ONE_HELD_BACK_OF == 0) == (part == LL_HELD_BACK))
            return;
    }
}
