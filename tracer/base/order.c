/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/order.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void ll_sort_numbers(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, by_size);
}

double ll_median(double *values, size_t count)
{
    ll_sort_numbers(values, count);
    if (count == 0)
        return NAN;
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double ll_sorted_quantile(const double *sorted, size_t count, double part)
{
    if (count == 0)
        return NAN;
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    double above = sorted[below + 1 < count ? below + 1 : below];
    return sorted[below] + (place - (double)below) * (above - sorted[below]);
}
