/* SPDX-License-Identifier: Apache-2.0 */
/* How alike profiles are, as Fathom measures it (Adolf et al., 2016, section V.B): a profile is a vector, two
 * of them are as far apart as 1 - A.B / (|A| |B|), and clusters grow by merging the two nearest and putting
 * their centroid in their place. */
#ifndef LL_SIM_STUDY_STATISTICS_H
#define LL_SIM_STUDY_STATISTICS_H

#include <stddef.h>

#include "sim/report/figure/figure.h"
#include "tracer/base/arena.h"

/* A.B / (|A| |B|) of vectors of `size` numbers; 0 when either is all zero. Pure. */
double ll_cosine(const double *a, const double *b, size_t size);

enum { LL_MOST_PROFILES = 32, LL_MOST_PROFILE_SIZE = 512 };

/* Clusters `count` profiles of `size` numbers each, one after the other in `profiles`; 2 to LL_MOST_PROFILES
 * and 1 to LL_MOST_PROFILE_SIZE. A centroid is the mean of all profiles of its cluster. Fills merges[count -
 * 1] as struct ll_tree wants them: merge i makes cluster count + i. Of equal distances the first pair is
 * taken. */
void ll_cluster(const double *profiles, size_t count, size_t size, struct ll_merge *merges);

/* Which profiles are in cluster `node` (below count: a profile itself), as bits. Pure. */
unsigned long ll_members(const struct ll_merge *merges, size_t count, size_t node);

/* The few statistics that studies need. All pure; values are finite. */

/* The standard deviation (divided by count) of count values over their mean. 0 of none. */
double ll_variation(const double *values, size_t count);

/* The value below which `part` (0 to 1) of the values lie, between two of them in proportion. The scratch
 * arena holds a sorted copy. NaN of none, or when memory ran out. */
double ll_quantile(const double *values, size_t count, double part, struct ll_arena *scratch);

/* The same for values of which a few are far off for reasons of their own: the distance of the quartiles,
 * which is 1.349 standard deviations of a normal distribution, over the median. */
double ll_robust_variation(const double *values, size_t count, struct ll_arena *scratch);

/* How much a line through values at 0, 1, 2 ... gains from the first to the last, over their median. The
 * line's slope is the median of those of all pairs (Theil, 1950; Sen, 1968), which outliers hardly move. 0 of
 * fewer than two. */
double ll_drift(const double *values, size_t count, struct ll_arena *scratch);

/* Spearman's rank correlation of count pairs, ties having the mean of their ranks. 0 where either side is
 * constant; NaN when memory ran out. */
double ll_spearman(const double *x, const double *y, size_t count, struct ll_arena *scratch);

#endif
