/* SPDX-License-Identifier: Apache-2.0 */
/* The volume between points and a reference, by which a search is judged.
 *
 * Two objectives: the staircase of the points bounds an area. Three: planes of equal first objective are
 * swept from the least on; what was met so far has a staircase in the other two, and every gap between planes
 * adds its area times the gap's width. More: the same along the first objective, each slice being a volume of
 * one dimension less. */
#ifndef LL_TESTS_HYPERVOLUME_H
#define LL_TESTS_HYPERVOLUME_H

#include "sim/explore/findings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of a staircase: x grows, y falls. */
struct stairs {
    double (*corners)[2];
    uint64_t count;
    const double *reference;
    double area;
};

/* Where the first corner with a greater or equal x stands. */
static uint64_t place_of(const struct stairs *stairs, double x)
{
    uint64_t low = 0, high = stairs->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (stairs->corners[middle][0] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds a point: the corners that it covers go, and with each the part of the area that is counted anew. */
static void step_in(struct stairs *stairs, double x, double y)
{
    uint64_t at = place_of(stairs, x), end = at;
    bool beaten = (at > 0 && stairs->corners[at - 1][1] <= y) ||
                  (at < stairs->count && stairs->corners[at][0] == x && stairs->corners[at][1] <= y);
    if (beaten)
        return;
    double ceiling = at > 0 ? stairs->corners[at - 1][1] : stairs->reference[1], left = x;
    for (; end < stairs->count && stairs->corners[end][1] >= y; end++) {
        stairs->area += (stairs->corners[end][0] - left) * (ceiling - y);
        left = stairs->corners[end][0];
        ceiling = stairs->corners[end][1];
    }
    double right = end < stairs->count ? stairs->corners[end][0] : stairs->reference[0];
    stairs->area += (right - left) * (ceiling - y);
    memmove(&stairs->corners[at + 1], &stairs->corners[end], (stairs->count - end) * sizeof *stairs->corners);
    stairs->count = at + 1 + stairs->count - end;
    stairs->corners[at][0] = x;
    stairs->corners[at][1] = y;
}

/* All rows lie in one array, so that at equality their places decide. */
static int by_first(const void *a, const void *b)
{
    const double *const *x = a, *const *y = b;
    if (**x != **y)
        return **x < **y ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

/* The volume of rows of `objectives` values each. room holds what deeper slices need: count rows an
 * objective. */
static double volume_of_rows(const double **rows, uint64_t count, size_t objectives, const double *reference,
                             double (*corners)[2], const double **room);

static double slices_of(const double **rows, uint64_t count, size_t objectives, const double *reference,
                        double (*corners)[2], const double **room)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        double next = i + 1 < count ? rows[i + 1][0] : reference[0];
        if (next <= rows[i][0])
            continue;
        for (uint64_t j = 0; j <= i; j++)
            room[j] = rows[j] + 1;
        sum += (next - rows[i][0]) *
               volume_of_rows(room, i + 1, objectives - 1, reference + 1, corners, room + count);
    }
    return sum;
}

/* The last two objectives make the staircase; a third one makes planes. */
static double planes_of(const double **rows, uint64_t count, size_t objectives, const double *reference,
                        double (*corners)[2])
{
    struct stairs stairs = {.corners = corners, .reference = reference + objectives - 2};
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        step_in(&stairs, rows[i][objectives - 2], rows[i][objectives - 1]);
        double next = i + 1 < count ? rows[i + 1][0] : reference[0];
        sum += objectives == 3 ? (next - rows[i][0]) * stairs.area : 0;
    }
    return objectives == 3 ? sum : stairs.area;
}

static double volume_of_rows(const double **rows, uint64_t count, size_t objectives, const double *reference,
                             double (*corners)[2], const double **room)
{
    qsort(rows, count, sizeof *rows, by_first);
    if (objectives == 1)
        return count ? reference[0] - rows[0][0] : 0;
    if (objectives <= 3)
        return planes_of(rows, count, objectives, reference, corners);
    return slices_of(rows, count, objectives, reference, corners, room);
}

static bool below_reference(const double *values, const double *reference, size_t objectives)
{
    for (size_t k = 0; k < objectives; k++)
        if (!(values[k] < reference[k]))
            return false;
    return true;
}

/* The volume that the points dominate, up to the reference point; points that do not lie below the reference
 * in all objectives add nothing. Exact: by sweeping for up to three objectives, by slices along the first one
 * for more (While, Hingston, Barone and Huband: A faster algorithm for calculating hypervolume, 2006), which
 * takes count^(objectives - 1) at worst. NaN when memory ran out. */
static inline double hypervolume(const double *values, uint64_t count, size_t objectives,
                                 const double *reference)
{
    assert(objectives >= 1);
    uint64_t *front = calloc(count ? count : 1, sizeof *front), front_count = 0, used = 0;
    double(*corners)[2] = calloc(count + 1, sizeof *corners), volume = NAN;
    const double **rows = calloc((count + 1) * objectives, sizeof *rows);
    if (front && corners && rows && !ll_pareto_front(values, count, objectives, front, &front_count)) {
        for (uint64_t i = 0; i < front_count; i++) {
            const double *row = &values[front[i] * objectives];
            if (below_reference(row, reference, objectives))
                rows[used++] = row;
        }
        volume = volume_of_rows(rows, used, objectives, reference, corners, rows + used);
    }
    free(front);
    free(corners);
    free(rows);
    return volume;
}

#endif
