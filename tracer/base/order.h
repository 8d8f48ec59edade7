/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by size. Values are finite; pure but for the order of what is handed in. */
#ifndef LL_BASE_ORDER_H
#define LL_BASE_ORDER_H

#include <stddef.h>

/* Ascending. */
void ll_sort_numbers(double *values, size_t count);

/* Sorts them. The middle one, or the mean of both; NaN of none. */
double ll_median(double *values, size_t count);

/* Of values in ascending order: below which `part` (0 to 1) of them lie, between two in proportion. NaN of
 * none. */
double ll_sorted_quantile(const double *sorted, size_t count, double part);

#endif
