/* SPDX-License-Identifier: Apache-2.0 */
/* The front of what is known so far, and what it proves about points that were not tried.
 *
 * A bound of a point gives for each objective a value that the point cannot get below. When a known point
 * dominates the bound, it dominates the point, whatever its values are: at least as good as the bound in all
 * objectives and better in one, so it is than the point. Such a point is on no front, and trying it is a
 * waste; leaving it out never changes a front.
 *
 * An archive starts as {.objectives = k} and belongs to one thread at a time; asking changes nothing, so many
 * may ask while nobody adds. */
#ifndef LL_SIM_EXPLORE_ARCHIVE_H
#define LL_SIM_EXPLORE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
