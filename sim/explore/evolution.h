/* SPDX-License-Identifier: Apache-2.0 */
/* Searching a grid for its Pareto front by breeding.
 *
 * NSGA-II (Deb, Pratap, Agarwal and Meyarivan: A fast and elitist multiobjective genetic algorithm, 2002) on
 * points that are indices, and beside it refinement: part of each generation are neighbours of what is on the
 * front so far, one step away in one dimension. No point is asked for twice. What is asked for depends on the
 * seed and the answers alone, not on threads or time. */
#ifndef LL_SIM_EXPLORE_EVOLUTION_H
#define LL_SIM_EXPLORE_EVOLUTION_H

#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
