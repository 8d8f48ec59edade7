/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/statistics.h"

#include "tracer/base/map.h"

#include <math.h>
#include <stdlib.h>

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / (double)count : 0;
}

double ll_variation(const double *values, size_t count)
{
    double mean = mean_of(values, count), squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return mean != 0 ? sqrt(squares / (double)count) / fabs(mean) : 0;
}

double ll_quantile(const double *values, size_t count, double part, struct ll_arena *scratch)
{
    double *sorted = ll_copy(scratch, values, count * sizeof *sorted);
    if (!sorted || count == 0)
        return NAN;
    ll_sort_numbers(sorted, count);
    return ll_sorted_quantile(sorted, count, part);
}

double ll_robust_variation(const double *values, size_t count, struct ll_arena *scratch)
{
    double quartiles = ll_quantile(values, count, 0.75, scratch) - ll_quantile(values, count, 0.25, scratch);
    return quartiles / 1.349 / ll_quantile(values, count, 0.5, scratch);
}

double ll_drift(const double *values, size_t count, struct ll_arena *scratch)
{
    size_t pairs = count * (count - 1) / 2, at = 0;
    double *slopes = count < 2 ? NULL : ll_alloc(scratch, pairs, sizeof *slopes);
    if (count < 2)
        return 0;
    for (size_t i = 0; slopes && i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            slopes[at++] = (values[j] - values[i]) / (double)(j - i);
    double slope = slopes ? ll_quantile(slopes, pairs, 0.5, scratch) : NAN;
    return slope * (double)(count - 1) / ll_quantile(values, count, 0.5, scratch);
}

/* The rank of each value, counted from 0: how many are smaller, and half of the others that equal it. */
static double *ranks_of(const double *values, size_t count, struct ll_arena *scratch)
{
    double *ranks = ll_alloc(scratch, count, sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++)
        for (size_t j = 0; j < count; j++)
            ranks[i] += values[j] < values[i] ? 1 : values[j] == values[i] && j != i ? 0.5 : 0;
    return ranks;
}

double ll_spearman(const double *x, const double *y, size_t count, struct ll_arena *scratch)
{
    double *a = ranks_of(x, count, scratch), *b = ranks_of(y, count, scratch);
    double products = 0, a_squares = 0, b_squares = 0, middle = ((double)count - 1) / 2;
    if (!a || !b)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        products += (a[i] - middle) * (b[i] - middle);
        a_squares += (a[i] - middle) * (a[i] - middle);
        b_squares += (b[i] - middle) * (b[i] - middle);
    }
    return a_squares > 0 && b_squares > 0 ? products / sqrt(a_squares * b_squares) : 0;
}
