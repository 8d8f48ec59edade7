/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/similarity.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

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
