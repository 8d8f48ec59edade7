/* SPDX-License-Identifier: Apache-2.0 */
/* Data is in two parts: what a network learns from, and what it is asked after that. Of things in a fixed
 * order the last of each sixteen is held back. */
#ifndef LL_DATA_PART_H
#define LL_DATA_PART_H

#include "tracer/base/random.h"

#include <assert.h>
#include <stdint.h>

enum ll_data_part { LL_LEARNED, LL_HELD_BACK, LL_PART_COUNT };

enum { LL_ONE_HELD_BACK_OF = 16 };

/* Which of `count` things, at least sixteen, sample i of a part is: to learn, any, drawn anew for each
 * sample; held back, one after the other, from the first again after the last. Pure. */
static inline uint64_t ll_data_part_choose(enum ll_data_part part, uint64_t count, uint64_t seed, uint64_t i)
{
    const uint64_t group = LL_ONE_HELD_BACK_OF;
    uint64_t held_back = count / group;
    assert(held_back > 0);
    if (part == LL_HELD_BACK)
        return i % held_back * group + group - 1;
    uint64_t learned = ll_random_bits(seed, i) % (count - held_back);
    return learned / (group - 1) * group + learned % (group - 1);
}

#endif
