/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/sampling.h"

#include "tracer/base/random.h"

#include <assert.h>

enum { ROUNDS = 4 };

struct ll_shuffle ll_shuffle_of(uint64_t count, uint64_t seed)
{
    assert(count >= 1 && count <= UINT64_C(1) << 62);
    unsigned half_bits = 1;
    while (half_bits < 31 && count > UINT64_C(1) << 2 * half_bits)
        half_bits++;
    return (struct ll_shuffle){.count = count, .key = ll_random_mix(seed + 1), .half_bits = half_bits};
}

/* Both halves swap, one mixed into the other: whatever the mixing, no two numbers become one. */
static uint64_t network(const struct ll_shuffle *shuffle, uint64_t number)
{
    uint64_t mask = (UINT64_C(1) << shuffle->half_bits) - 1;
    uint64_t left = number >> shuffle->half_bits, right = number & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t mixed = left ^ (ll_random_bits(ll_random_key(shuffle->key, round), right) & mask);
        left = right;
        right = mixed;
    }
    return left << shuffle->half_bits | right;
}

uint64_t ll_shuffle_at(const struct ll_shuffle *shuffle, uint64_t i)
{
    assert(i < shuffle->count);
    do
        i = network(shuffle, i);
    while (i >= shuffle->count);
    return i;
}

void ll_latin_point(const uint64_t *sizes, size_t dimensions, uint64_t samples, uint64_t seed, uint64_t i,
                    uint32_t *point)
{
    for (size_t d = 0; d < dimensions; d++) {
        uint64_t key = ll_random_key(seed, d);
        struct ll_shuffle strata = ll_shuffle_of(samples, key);
        uint64_t stratum = ll_shuffle_at(&strata, i);
        uint64_t low = stratum * sizes[d] / samples, high = (stratum + 1) * sizes[d] / samples;
        uint64_t step = high > low + 1 ? ll_random_bits(key, i) % (high - low) : 0;
        point[d] = (uint32_t)(low + step);
    }
}
