/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve/quantiles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXACT = 1 << 16, BINS = 345400 }; /* ln(10^15) / 10^-4 */
static const double least = 1e-9, width = 1e-4;

struct ll_quantiles {
    double sum, smallest, largest;
    uint64_t count;
    double *values; /* the first MOST_EXACT, in order once sorted */
    bool sorted;
    uint64_t *bins; /* of all values, once there are more */
    double last;    /* the value that came last, and then its bin: those of a step are often the same */
    size_t last_bin;
    struct ll_arena *arena;
};

struct ll_quantiles *ll_quantiles_make(struct ll_arena *arena)
{
    struct ll_quantiles *q = ll_alloc(arena, 1, sizeof *q);
    double *values = ll_alloc(arena, MOST_EXACT, sizeof *values);
    if (!q || !values)
        return NULL;
    *q = (struct ll_quantiles){.smallest = INFINITY, .values = values, .arena = arena};
    return q;
}

static size_t bin_of(double value)
{
    double bin = log(fmax(value, least) / least) / width;
    return bin < BINS - 1 ? (size_t)bin : BINS - 1;
}

void ll_quantiles_add(struct ll_quantiles *q, double value, uint64_t times)
{
    assert(value >= 0);
    if (times == 0)
        return;
    if (!q->bins && q->count + times > MOST_EXACT) {
        q->bins = ll_alloc(q->arena, BINS, sizeof *q->bins);
        for (uint64_t i = 0; q->bins && i < q->count; i++)
            q->bins[bin_of(q->values[i])]++;
        q->last = value;
        q->last_bin = bin_of(value);
    }
    if (q->bins) {
        if (value != q->last) {
            q->last = value;
            q->last_bin = bin_of(value);
        }
        q->bins[q->last_bin] += times;
    }
    for (uint64_t i = 0; !q->bins && i < times && q->count + i < MOST_EXACT; i++)
        q->values[q->count + i] = value;
    q->sorted = false;
    q->count += times;
    q->sum += value * (double)times;
    q->smallest = value < q->smallest ? value : q->smallest;
    q->largest = value > q->largest ? value : q->largest;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The value that `before` others do not exceed. */
static double value_at(const struct ll_quantiles *q, uint64_t before)
{
    uint64_t i = 0;
    if (!q->bins)
        return q->values[before];
    for (uint64_t seen = q->bins[0]; seen <= before && i + 1 < BINS; seen += q->bins[i])
        i++;
    double middle = i > 0 ? least * exp(((double)i + 0.5) * width) : q->smallest;
    return fmin(fmax(middle, q->smallest), q->largest);
}

double ll_quantiles_at(struct ll_quantiles *q, double share)
{
    assert(share >= 0 && share <= 1);
    if (q->count == 0)
        return NAN;
    if (!q->bins && !q->sorted)
        qsort(q->values, q->count, sizeof *q->values, by_size);
    q->sorted = true;
    double at = share * (double)(q->count - 1);
    uint64_t below = (uint64_t)at;
    double lower = value_at(q, below);
    return below + 1 < q->count ? lower + (at - (double)below) * (value_at(q, below + 1) - lower) : lower;
}

double ll_quantiles_mean(const struct ll_quantiles *q)
{
    return q->count > 0 ? q->sum / (double)q->count : NAN;
}

uint64_t ll_quantiles_count(const struct ll_quantiles *q)
{
    return q->count;
}
