/* SPDX-License-Identifier: Apache-2.0 */
/* The few statistics that studies need. All pure; values are finite. */
#ifndef LL_SIM_STUDY_STATISTICS_H
#define LL_SIM_STUDY_STATISTICS_H

#include "tracer/base/arena.h"

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
