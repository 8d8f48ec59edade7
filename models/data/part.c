/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/part.h"

#include "tracer/base/random.h"

#include <assert.h>

uint64_t ll_data_part_choose(enum ll_data_part part, uint64_t count, uint64_t seed, uint64_t i)
{
    const uint64_t group = LL_ONE_HELD_BACK_OF;
    uint64_t held_back = count / group;
    assert(held_back > 0);
    if (part == LL_HELD_BACK)
        return i % held_back * group + group - 1;
    uint64_t learned = ll_random_bits(seed, i) % (count - held_back);
    return learned / (group - 1) * group + learned % (group - 1);
}
