/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that repeat. */
#ifndef LL_TESTS_RANDOM_H
#define LL_TESTS_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The seed of a test over random inputs: the usual one, or what the environment says in LL_SEED. Printed,
 * so that a failure can be repeated. */
static inline uint64_t ll_seed(uint64_t usual)
{
    const char *given = getenv("LL_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : usual;
    printf("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* The next number of a sequence (SplitMix64, Steele, Lea and Flood 2014); state is the seed at first. */
static inline uint64_t ll_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* From [0, bound); bound is not zero and small beside 2^64. */
static inline uint64_t ll_random_below(uint64_t *state, uint64_t bound)
{
    return ll_random(state) % bound;
}

#endif
