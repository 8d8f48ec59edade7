/* SPDX-License-Identifier: Apache-2.0 */
/* The front by divide and conquer.
 *
 * Sorted lexicographically, a point can only be dominated by one before it. Halve the list; clean each half;
 * then strike from the second half what the first half dominates. For that the first objective need not be
 * looked at any more, so the question has lost a dimension: again it is cut in two, at the median of its
 * first objective,
 *
 *       a low, b low     a high, b high     a low, b high: one dimension less
 *
 * until two dimensions are left, which one sweep with a running minimum decides. Equal points are one point
 * all the while and share its fate, so that "no value is greater" is enough to strike. */
#include "sim/explore/pareto.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 512 }; /* pairs that are quicker compared than divided */

struct search {
    const double *values;
    size_t objectives;
    bool *struck;
    uint64_t *scratch; /* room for the points of one half */
};

bool ll_dominates(const double *a, const double *b, size_t objectives)
{
    bool better = false;
    for (size_t k = 0; k < objectives; k++) {
        if (a[k] > b[k])
            return false;
        better |= a[k] < b[k];
    }
    return better;
}

static const double *point(const struct search *search, uint64_t i)
{
    return &search->values[i * search->objectives];
}

/* -1, 0 or 1, as a comes before, at or after b, objectives before `first` aside. */
static int compare(const double *a, const double *b, size_t first, size_t objectives)
{
    for (size_t k = first; k < objectives; k++)
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

void ll_pareto_sort(const double *values, size_t objectives, size_t first, uint64_t *order, uint64_t *scratch,
                    uint64_t count)
{
    if (count < 2)
        return;
    uint64_t half = count / 2;
    ll_pareto_sort(values, objectives, first, order, scratch, half);
    ll_pareto_sort(values, objectives, first, order + half, scratch, count - half);
    if (compare(&values[order[half - 1] * objectives], &values[order[half] * objectives], first,
                objectives) <= 0)
        return;
    memcpy(scratch, order, half * sizeof *order);
    for (uint64_t left = 0, right = half, at = 0; left < half; at++) {
        bool take_left =
            right == count || compare(&values[scratch[left] * objectives], &values[order[right] * objectives],
                                      first, objectives) <= 0;
        order[at] = take_left ? scratch[left++] : order[right++];
    }
}

/* Points of a and b, both sorted by objective k: strikes those of b that a does not exceed in k and k + 1. */
static void sweep(struct search *search, const uint64_t *a, uint64_t a_count, const uint64_t *b,
                  uint64_t b_count, size_t k)
{
    double least = INFINITY;
    bool any = false;
    for (uint64_t i = 0, j = 0; j < b_count; j++) {
        const double *other = point(search, b[j]);
        for (; i < a_count && point(search, a[i])[k] <= other[k]; i++) {
            least = fmin(least, point(search, a[i])[k + 1]);
            any = true;
        }
        if (any && least <= other[k + 1])
            search->struck[b[j]] = true;
    }
}

static void strike_pairs(struct search *search, const uint64_t *a, uint64_t a_count, const uint64_t *b,
                         uint64_t b_count, size_t first)
{
    for (uint64_t j = 0; j < b_count; j++)
        for (uint64_t i = 0; i < a_count && !search->struck[b[j]]; i++) {
            const double *x = point(search, a[i]), *y = point(search, b[j]);
            size_t k = first;
            while (k < search->objectives && x[k] <= y[k])
                k++;
            search->struck[b[j]] = k == search->objectives;
        }
}

/* Brings those of a sorted list to the front whose value is at most `cut`, both parts staying sorted; how
 * many they are. */
static uint64_t divide(struct search *search, uint64_t *list, uint64_t count, size_t k, double cut)
{
    uint64_t low = 0, high = 0;
    for (uint64_t i = 0; i < count; i++)
        if (point(search, list[i])[k] <= cut)
            list[low++] = list[i];
        else
            search->scratch[high++] = list[i];
    memcpy(list + low, search->scratch, high * sizeof *list);
    return low;
}

/* A value of the longer list's objective k below which about half of it lies, but less than the greatest
 * value of all; NaN when all values are equal. */
static double cut_of(const struct search *search, const uint64_t *a, uint64_t a_count, const uint64_t *b,
                     uint64_t b_count, size_t k)
{
    const uint64_t *longer = a_count > b_count ? a : b;
    uint64_t count = a_count > b_count ? a_count : b_count;
    double highest = fmax(point(search, a[a_count - 1])[k], point(search, b[b_count - 1])[k]);
    double middle = point(search, longer[count / 2])[k];
    if (middle < highest)
        return middle;
    double below = -INFINITY; /* the greatest value that is not the highest one */
    for (uint64_t i = a_count; i-- > 0 && below == -INFINITY;)
        below = point(search, a[i])[k] < highest ? point(search, a[i])[k] : below;
    for (uint64_t i = b_count; i-- > 0;)
        if (point(search, b[i])[k] < highest)
            return fmax(below, point(search, b[i])[k]);
    return below > -INFINITY ? below : NAN;
}

/* Strikes those of b that some point of a does not exceed in any objective from k on. Both lists are put in
 * the order of objective k. */
static void strike(struct search *search, uint64_t *a, uint64_t a_count, uint64_t *b, uint64_t b_count,
                   size_t k)
{
    if (a_count == 0 || b_count == 0)
        return;
    if (a_count * b_count <= FEW || k + 1 == search->objectives) {
        strike_pairs(search, a, a_count, b, b_count, k);
        return;
    }
    ll_pareto_sort(search->values, search->objectives, k, a, search->scratch, a_count);
    ll_pareto_sort(search->values, search->objectives, k, b, search->scratch, b_count);
    if (k + 2 == search->objectives) {
        sweep(search, a, a_count, b, b_count, k);
        return;
    }
    double cut = cut_of(search, a, a_count, b, b_count, k);
    if (isnan(cut)) {
        strike(search, a, a_count, b, b_count, k + 1);
        return;
    }
    uint64_t a_low = divide(search, a, a_count, k, cut), b_low = divide(search, b, b_count, k, cut);
    strike(search, a, a_low, b + b_low, b_count - b_low, k + 1);
    strike(search, a, a_low, b, b_low, k);
    strike(search, a + a_low, a_count - a_low, b + b_low, b_count - b_low, k);
}

/* Leaves of a sorted list only what no other of it dominates, in that order; how many they are. */
static uint64_t clean(struct search *search, uint64_t *list, uint64_t count, uint64_t *room)
{
    if (count < 2)
        return count;
    uint64_t half = count / 2;
    uint64_t left = clean(search, list, half, room);
    uint64_t right = clean(search, list + half, count - half, room);
    memcpy(room, list, left * sizeof *list);
    memcpy(room + left, list + half, right * sizeof *list);
    strike(search, room, left, room + left, right, 1);
    uint64_t kept = left;
    for (uint64_t i = half; i < half + right; i++)
        if (!search->struck[list[i]])
            list[kept++] = list[i];
    return kept;
}

/* One objective: the least value. Two: whatever has less of the second than all before it. */
static uint64_t clean_by_sweep(const struct search *search, uint64_t *list, uint64_t count)
{
    uint64_t kept = 0;
    double least = INFINITY;
    for (uint64_t i = 0; i < count; i++) {
        const double *values = point(search, list[i]);
        bool beaten = i > 0 && (search->objectives == 1 || values[1] >= least);
        least = search->objectives == 2 ? fmin(least, values[1]) : least;
        if (!beaten)
            list[kept++] = list[i];
    }
    return kept;
}

static bool has_values(const double *values, size_t objectives)
{
    for (size_t k = 0; k < objectives; k++)
        if (isnan(values[k]))
            return false;
    return true;
}

/* Of a sorted list the first of each run of equal points; the others note who stands for them. */
static uint64_t merge_equals(const struct search *search, uint64_t *list, uint64_t count,
                             uint64_t *stands_for)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        bool equal = kept > 0 && compare(point(search, list[kept - 1]), point(search, list[i]), 0,
                                         search->objectives) == 0;
        stands_for[list[i]] = equal ? list[kept - 1] : list[i];
        if (!equal)
            list[kept++] = list[i];
    }
    return kept;
}

/* The four lists of a search in one piece: order, room, scratch, stands_for. */
static uint64_t front_of(struct search *search, uint64_t count, uint64_t *lists, uint64_t *front)
{
    uint64_t *order = lists, *room = lists + count, *stands_for = lists + 3 * count, valid = 0, found = 0;
    search->scratch = lists + 2 * count;
    for (uint64_t i = 0; i < count; i++) {
        stands_for[i] = UINT64_MAX;
        if (has_values(point(search, i), search->objectives))
            order[valid++] = i;
    }
    ll_pareto_sort(search->values, search->objectives, 0, order, search->scratch, valid);
    uint64_t different = merge_equals(search, order, valid, stands_for);
    uint64_t kept = search->objectives <= 2 ? clean_by_sweep(search, order, different)
                                            : clean(search, order, different, room);
    for (uint64_t i = 0; i < count; i++)
        search->struck[i] = true;
    for (uint64_t i = 0; i < kept; i++)
        search->struck[order[i]] = false;
    for (uint64_t i = 0; i < count; i++)
        if (stands_for[i] != UINT64_MAX && !search->struck[stands_for[i]])
            front[found++] = i;
    return found;
}

enum ll_status ll_pareto_front(const double *values, uint64_t count, size_t objectives, uint64_t *front,
                               uint64_t *front_count)
{
    assert(objectives >= 1);
    uint64_t *lists = calloc(count ? 4 * count : 1, sizeof *lists);
    struct search search = {
        .values = values, .objectives = objectives, .struck = calloc(count ? count : 1, 1)};
    *front_count = lists && search.struck ? front_of(&search, count, lists, front) : 0;
    enum ll_status status = lists && search.struck ? LL_OK : LL_NO_MEMORY;
    free(search.struck);
    free(lists);
    return status;
}
