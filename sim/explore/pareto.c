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

#include "tracer/base/arena.h"

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

/* Sorted by the first objective: whoever dominates a point stands before it, whom it dominates behind it.
 * With two objectives the second one falls all along, so that only the last point before is to be asked. */

static const double *archive_point(const struct ll_archive *archive, uint64_t i)
{
    return &archive->values[i * archive->objectives];
}

/* How many points have a first objective of at most this. */
static uint64_t place_of(const struct ll_archive *archive, double first)
{
    uint64_t low = 0, high = archive->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (archive_point(archive, middle)[0] <= first)
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
        if (ll_dominates(archive_point(archive, i), bound, archive->objectives))
            return true;
    return false;
}

/* Takes out the points from `begin` on that the values dominate. */
static void clear_behind(struct ll_archive *archive, uint64_t begin, const double *values)
{
    uint64_t kept = begin;
    size_t row = archive->objectives * sizeof *values;
    for (uint64_t i = begin; i < archive->count; i++)
        if (!as_good(values, archive_point(archive, i), archive->objectives))
            memmove(&archive->values[kept++ * archive->objectives], archive_point(archive, i), row);
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
        if (as_good(archive_point(archive, i), values, k))
            return true;
    if (!ll_grow(&archive->values, &archive->capacity, (archive->count + 1) * k, sizeof *values))
        return false;
    while (begin > 0 && archive_point(archive, begin - 1)[0] == values[0])
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

/* Non-dominated sorting and crowding, as NSGA-II has them. Every point counts how many dominate it; the front
 * is those with none; taking it away lowers the counts of whom it dominates, which gives the next front. */

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
