/* SPDX-License-Identifier: Apache-2.0 */
/* Searching a grid for its Pareto front by breeding.
 *
 * NSGA-II (Deb, Pratap, Agarwal and Meyarivan: A fast and elitist multiobjective genetic algorithm, 2002) on
 * points that are indices, and beside it refinement: part of each generation are neighbours of what is on the
 * front so far, one step away in one dimension. No point is asked for twice. What is asked for depends on the
 * seed and the answers alone, not on threads or time. */
#ifndef LL_SIM_EXPLORE_EVOLUTION_H
#define LL_SIM_EXPLORE_EVOLUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/diag.h"

/* What is searched. */
struct ll_index_grid {
    size_t dimensions;
    const uint64_t *sizes; /* values of each dimension, at least 1 and less than 2^32 */
    const bool *ordered;   /* whether values that lie beside each other are alike */
};

struct ll_breeding {
    uint64_t seed;
    uint64_t evaluations; /* at most so many points are asked for */
    size_t objectives;
    size_t population; /* at least 4; 0: chosen for the number of evaluations */
    double refined;    /* the part of each generation that are neighbours of the front, 0 to 1 */
};

/* Answers for `count` points, `dimensions` indices each: objectives (less is better) and by how much each
 * breaks the constraints, 0 when it holds them. False ends the search. */
typedef bool ll_evolution_ask(void *context, const uint32_t *points, size_t count, double *objectives,
                              double *violations);

/* Asks until the evaluations are used up or all points were seen. LL_NO_MEMORY, or LL_OK, also when the asker
 * ended it. */
enum ll_status ll_evolve(const struct ll_index_grid *grid, const struct ll_breeding *breeding,
                         ll_evolution_ask *ask, void *context);

/* Which points to look at when there are too many.
 *
 * A grid has dimensions with so many values each; a point is one index for each dimension. Everything here is
 * a pure function of the seed and of which sample is asked for: threads and shards may ask in any order. */

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
