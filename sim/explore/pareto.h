/* SPDX-License-Identifier: Apache-2.0 */
/* Points that no other point beats.
 *
 * A point has `objectives` values, all to be as small as possible (whoever wants much of something gives its
 * negative); the values of point i stand at values[i * objectives]. Point a dominates point b when no value
 * of a is greater and one is smaller; so equal points dominate each other in neither direction and stay
 * together. A point with a NaN among its values has none: it dominates nothing and is never on a front.
 *
 * All functions are pure: the answer depends on the values and their order alone. */
#ifndef LL_SIM_EXPLORE_PARETO_H
#define LL_SIM_EXPLORE_PARETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

/* Whether a dominates b; neither has a NaN. */
bool ll_dominates(const double *a, const double *b, size_t objectives);

/* The points that no other dominates: their indices, ascending, in front, which has room for count of them.
 * n log n for one and two objectives, n log^(k-1) n for k (Kung, Luccio and Preparata: On finding the maxima
 * of a set of vectors, 1975). LL_NO_MEMORY, or LL_OK. */
enum ll_status ll_pareto_front(const double *values, uint64_t count, size_t objectives, uint64_t *front,
                               uint64_t *front_count);

/* The front that a point belongs to: 0 for those that none dominates, 1 for those that only points of front 0
 * dominate, and so on (the non-dominated sorting of Deb, Pratap, Agarwal and Meyarivan: A fast and elitist
 * multiobjective genetic algorithm, 2002). violations[i] says by how much point i breaks the constraints, 0:
 * not at all; NULL: none does. A point that breaks fewer dominates, whatever its values; among equals of them
 * the values decide, and NaN counts as infinite. Takes count^2 comparisons. LL_NO_MEMORY, or LL_OK. */
enum ll_status ll_pareto_ranks(const double *values, const double *violations, uint64_t count,
                               size_t objectives, uint32_t *ranks);

/* How alone each of these members of one front is (same paper): the sum over objectives of the distance of
 * its neighbours, in parts of the front's extent; infinite at the ends. distances[m] belongs to members[m].
 * LL_NO_MEMORY, or LL_OK. */
enum ll_status ll_pareto_crowding(const double *values, size_t objectives, const uint64_t *members,
                                  uint64_t count, double *distances);

/* Puts count indices in the order of their points: by objective `first`, at equality by the next, and so on;
 * equal ones stay as they were. scratch has room for count / 2. NaN may not occur. */
void ll_pareto_sort(const double *values, size_t objectives, size_t first, uint64_t *order, uint64_t *scratch,
                    uint64_t count);

/* The front of what is known so far, and what it proves about points that were not tried.
 *
 * A bound of a point gives for each objective a value that the point cannot get below. When a known point
 * dominates the bound, it dominates the point, whatever its values are: at least as good as the bound in all
 * objectives and better in one, so it is than the point. Such a point is on no front, and trying it is a
 * waste; leaving it out never changes a front.
 *
 * An archive starts as {.objectives = k} and belongs to one thread at a time; asking changes nothing, so many
 * may ask while nobody adds. */

struct ll_archive {
    size_t objectives;
    double *values; /* of the points on the front, one after the other, the least first objective first */
    uint64_t count, capacity;
};

/* Adds a point unless one that is there is as good in all objectives; those that it dominates go. One with a
 * NaN is never added. False when memory ran out: the archive is then as it was, and proves less. */
bool ll_archive_add(struct ll_archive *archive, const double *values);

/* Whether some point that is there dominates every point with this bound. A bound that knows nothing of an
 * objective says -INFINITY. */
bool ll_archive_beats(const struct ll_archive *archive, const double *bound);

/* Frees the points; the archive is empty and usable afterwards. */
void ll_archive_release(struct ll_archive *archive);

#endif
