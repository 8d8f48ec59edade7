/* SPDX-License-Identifier: Apache-2.0 */
/* Non-dominated sorting and crowding, as NSGA-II has them. Every point counts how many dominate it; the front
 * is those with none; taking it away lowers the counts of whom it dominates, which gives the next front. */
#include "sim/explore/pareto.h"

#include <math.h>
#include <stdlib.h>

struct field {
    const double *values, *violations;
    size_t objectives;
};

static double value_or_infinite(double value)
{
    return isnan(value) ? INFINITY : value;
}

static bool beats(const struct field *field, uint64_t a, uint64_t b)
{
    if (field->violations && field->violations[a] != field->violations[b])
        return field->violations[a] < field->violations[b];
    bool better = false;
    for (size_t k = 0; k < field->objectives; k++) {
        double x = value_or_infinite(field->values[a * field->objectives + k]);
        double y = value_or_infinite(field->values[b * field->objectives + k]);
        if (x > y)
            return false;
        better |= x < y;
    }
    return better;
}

/* members: those whose counts are zero at last; each front lies behind the one before. */
static void rank_all(const struct field *field, uint64_t count, uint64_t *beaten_by, uint64_t *members,
                     uint32_t *ranks)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t j = 0; j < count; j++)
            beaten_by[i] += beats(field, j, i);
        if (beaten_by[i] == 0)
            members[end++] = i;
    }
    uint32_t rank = 0;
    for (uint64_t begin = 0; begin < end; rank++) {
        uint64_t front_end = end;
        for (; begin < front_end; begin++) {
            ranks[members[begin]] = rank;
            for (uint64_t j = 0; j < count; j++)
                if (beats(field, members[begin], j) && --beaten_by[j] == 0)
                    members[end++] = j;
        }
    }
}

enum ll_status ll_pareto_ranks(const double *values, const double *violations, uint64_t count,
                               size_t objectives, uint32_t *ranks)
{
    struct field field = {values, violations, objectives};
    uint64_t *lists = calloc(count ? 2 * count : 1, sizeof *lists);
    if (!lists)
        return LL_NO_MEMORY;
    rank_all(&field, count, lists, lists + count, ranks);
    free(lists);
    return LL_OK;
}

struct neighbour {
    double value;
    uint64_t member;
};

static int by_value(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

static void add_objective(struct neighbour *sorted, uint64_t count, double *distances)
{
    qsort(sorted, count, sizeof *sorted, by_value);
    double extent = sorted[count - 1].value - sorted[0].value;
    distances[sorted[0].member] = distances[sorted[count - 1].member] = INFINITY;
    for (uint64_t i = 1; i + 1 < count && extent > 0 && isfinite(extent); i++)
        distances[sorted[i].member] += (sorted[i + 1].value - sorted[i - 1].value) / extent;
}

enum ll_status ll_pareto_crowding(const double *values, size_t objectives, const uint64_t *members,
                                  uint64_t count, double *distances)
{
    struct neighbour *sorted = calloc(count ? count : 1, sizeof *sorted);
    if (!sorted)
        return LL_NO_MEMORY;
    for (uint64_t m = 0; m < count; m++)
        distances[m] = 0;
    for (size_t k = 0; k < objectives && count; k++) {
        for (uint64_t m = 0; m < count; m++)
            sorted[m] = (struct neighbour){value_or_infinite(values[members[m] * objectives + k]), m};
        add_objective(sorted, count, distances);
    }
    free(sorted);
    return LL_OK;
}
