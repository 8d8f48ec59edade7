/* SPDX-License-Identifier: Apache-2.0 */
/* Which points to look at when there are too many.
 *
 * A grid has dimensions with so many values each; a point is one index for each dimension. Everything here is
 * a pure function of the seed and of which sample is asked for: threads and shards may ask in any order. */
#ifndef LL_SIM_EXPLORE_SAMPLING_H
#define LL_SIM_EXPLORE_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

/* The numbers 0 .. count - 1 in an order of chance, each once, without a list of them. */
struct ll_shuffle {
    uint64_t count, key;
    unsigned half_bits; /* of a number as the network that mixes it sees it */
};

/* count is at least 1 and at most 2^62. */
struct ll_shuffle ll_shuffle_of(uint64_t count, uint64_t seed);

/* The i-th of them; i is below count. A Feistel network of four rounds, walked until it ends inside the range
 * (Black and Rogaway: Ciphers with arbitrary finite domains, 2002); fewer than four walks on average. */
uint64_t ll_shuffle_at(const struct ll_shuffle *shuffle, uint64_t i);

/* A Latin hypercube (McKay, Beckman and Conover, 1979) on a grid: of `samples` points, each value of each
 * dimension is taken by as many as of every other one, give or take one; where a dimension has more values
 * than there are samples, each stretch of them gives one. Writes sample i, i below samples. sizes[d] times
 * samples fits in 64 bits. Two samples may be the same point where the grid is coarse. */
void ll_latin_point(const uint64_t *sizes, size_t dimensions, uint64_t samples, uint64_t seed, uint64_t i,
                    uint32_t *point);

#endif
