/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by counter: number i of a stream is a pure function of (key, i), so that threads may
 * draw in any order and get the same values. The mixing function is splitmix64's (Steele, Lea and Flood:
 * Fast splittable pseudorandom number generators, OOPSLA 2014). Not for secrets. */
#ifndef LL_BASE_RANDOM_H
#define LL_BASE_RANDOM_H

#include <stdint.h>

/* One to one: different x give different results. */
static inline uint64_t ll_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The key of a stream of its own inside another stream or seed. */
static inline uint64_t ll_random_key(uint64_t seed, uint64_t stream)
{
    return ll_random_mix(seed ^ ll_random_mix(stream + UINT64_C(0x9e3779b97f4a7c15)));
}

/* 64 random bits: number `index` of the stream. */
static inline uint64_t ll_random_bits(uint64_t key, uint64_t index)
{
    return ll_random_mix(key + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* From 24 of the bits, uniform in (0, 1): never 0, never 1. */
static inline float ll_random_unit(uint32_t bits)
{
    return ((float)(bits >> 8) + 0.5f) * 0x1p-24f;
}

/* From 53 of the bits, uniform in (0, 1): for draws among many. */
static inline double ll_random_fine_unit(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

#endif
