/* SPDX-License-Identifier: Apache-2.0 */
/* The few statistics that studies need. All pure; values are finite. */
#ifndef LL_SIM_STUDY_STATISTICS_H
#define LL_SIM_STUDY_STATISTICS_H

#include "tracer/base/arena.h"

/* Mean of count values, and their standard deviation (divided by count) over the mean. 0 of none. */
double ll_mean(const double *values, size_t count);
double ll_variation(const double *values, size_t count);

/* How much the line of least squares through values at 0, 1, 2 ... gains from the first to the last, over
 * their mean. 0 of fewer than two. */
double ll_drift(const double *values, size_t count);

/* The value below which `part` (0 to 1) of the values lie, between two of them in proportion. The scratch
 * arena holds a sorted copy. NaN of none, or when memory ran out. */
double ll_quantile(const double *values, size_t count, double part, struct ll_arena *scratch);

/* Spearman's rank correlation of count pairs, ties having the mean of their ranks. 0 where either side is
 * constant; NaN when memory ran out. */
double ll_spearman(const double *x, const double *y, size_t count, struct ll_arena *scratch);

#endif
