/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted by the first objective: whoever dominates a point stands before it, whom it dominates behind it.
 * With two objectives the second one falls all along, so that only the last point before is to be asked. */
#include "sim/explore/archive.h"

#include "sim/explore/pareto.h"
#include "tracer/base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double *point(const struct ll_archive *archive, uint64_t i)
{
    return &archive->values[i * archive->objectives];
}

/* How many points have a first objective of at most this. */
static uint64_t place_of(const struct ll_archive *archive, double first)
{
    uint64_t low = 0, high = archive->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (point(archive, middle)[0] <= first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool as_good(const double *a, const double *b, size_t objectives)
{
    size_t k = 0;
    while (k < objectives && a[k] <= b[k])
        k++;
    return k == objectives;
}

/* The least of those before `end` that can have something to say. */
static uint64_t first_asked(const struct ll_archive *archive, uint64_t end)
{
    return archive->objectives <= 2 && end > 0 ? end - 1 : 0;
}

bool ll_archive_beats(const struct ll_archive *archive, const double *bound)
{
    uint64_t end = place_of(archive, bound[0]);
    for (uint64_t i = end, first = first_asked(archive, end); i-- > first;)
        if (ll_dominates(point(archive, i), bound, archive->objectives))
            return true;
    return false;
}

/* Takes out the points from `begin` on that the values dominate. */
static void clear_behind(struct ll_archive *archive, uint64_t begin, const double *values)
{
    uint64_t kept = begin;
    size_t row = archive->objectives * sizeof *values;
    for (uint64_t i = begin; i < archive->count; i++)
        if (!as_good(values, point(archive, i), archive->objectives))
            memmove(&archive->values[kept++ * archive->objectives], point(archive, i), row);
    archive->count = kept;
}

bool ll_archive_add(struct ll_archive *archive, const double *values)
{
    size_t k = archive->objectives;
    for (size_t j = 0; j < k; j++)
        if (isnan(values[j]))
            return true;
    uint64_t at = place_of(archive, values[0]), begin = at;
    for (uint64_t i = at, first = first_asked(archive, at); i-- > first;)
        if (as_good(point(archive, i), values, k))
            return true;
    if (!ll_grow(&archive->values, &archive->capacity, (archive->count + 1) * k, sizeof *values))
        return false;
    while (begin > 0 && point(archive, begin - 1)[0] == values[0])
        begin--;
    clear_behind(archive, begin, values);
    at = place_of(archive, values[0]);
    memmove(&archive->values[(at + 1) * k], &archive->values[at * k],
            (archive->count - at) * k * sizeof *values);
    memcpy(&archive->values[at * k], values, k * sizeof *values);
    archive->count++;
    return true;
}

void ll_archive_release(struct ll_archive *archive)
{
    free(archive->values);
    *archive = (struct ll_archive){.objectives = archive->objectives};
}
