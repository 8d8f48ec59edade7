/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"

double ll_cosine(const double *a, const double *b, size_t size)
{
    double product = 0, a_square = 0, b_square = 0;
    for (size_t i = 0; i < size; i++) {
        product += a[i] * b[i];
        a_square += a[i] * a[i];
        b_square += b[i] * b[i];
    }
    return a_square > 0 && b_square > 0 ? product / (sqrt(a_square) * sqrt(b_square)) : 0;
}

/* A cluster: the sum of its profiles, which points where their mean does, and its number. */
struct cluster {
    double sum[LL_MOST_PROFILE_SIZE];
    size_t node;
    bool merged; /* into another one */
};

static struct ll_merge nearest(const struct cluster *clusters, size_t count, size_t size)
{
    struct ll_merge best = {0, 0, INFINITY};
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            if (clusters[i].merged || clusters[j].merged)
                continue;
            double distance = 1 - ll_cosine(clusters[i].sum, clusters[j].sum, size);
            if (distance < best.distance)
                best = (struct ll_merge){i, j, distance};
        }
    return best;
}

void ll_cluster(const double *profiles, size_t count, size_t size, struct ll_merge *merges)
{
    struct cluster clusters[LL_MOST_PROFILES]; /* 132 KB */
    assert(count >= 2 && count <= LL_MOST_PROFILES && size >= 1 && size <= LL_MOST_PROFILE_SIZE);
    for (size_t i = 0; i < count; i++) {
        clusters[i] = (struct cluster){.node = i};
        memcpy(clusters[i].sum, profiles + i * size, size * sizeof *profiles);
    }
    for (size_t step = 0; step + 1 < count; step++) {
        struct ll_merge pair = nearest(clusters, count, size);
        struct cluster *into = &clusters[pair.left], *from = &clusters[pair.right];
        merges[step] = (struct ll_merge){into->node, from->node, pair.distance};
        for (size_t i = 0; i < size; i++)
            into->sum[i] += from->sum[i];
        into->node = count + step;
        from->merged = true;
    }
}

unsigned long ll_members(const struct ll_merge *merges, size_t count, size_t node)
{
    if (node < count)
        return 1ul << node;
    const struct ll_merge *merge = &merges[node - count];
    return ll_members(merges, count, merge->left) | ll_members(merges, count, merge->right);
}

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
