/* SPDX-License-Identifier: Apache-2.0 */
/* The Pareto front, and sensitivities by regression (last section).
 *
 * The front by divide and conquer:
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
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/findings.h"
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
    assert(objectives > 0);
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
    assert(*front_count <= count);
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

bool ll_archive_dominates(const struct ll_archive *archive, const double *bound)
{
    assert(archive->objectives > 0);
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
    assert(archive->objectives > 0);
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
    assert(objectives > 0);
    for (size_t k = 0; k < objectives && count; k++) {
        for (uint64_t m = 0; m < count; m++)
            sorted[m] = (struct neighbour){value_or_infinite(values[members[m] * objectives + k]), m};
        add_objective(sorted, count, distances);
    }
    free(sorted);
    return LL_OK;
}

/* Sensitivity as standardised regression weights.
 *
 * Least squares by the correlations of all variables: those of a parameter with choices are one for each
 * choice but the first. Elimination in order leaves out a variable of which nothing remains once those before
 * it are known. */

/* What remains of a variable's variance when it follows from others, rounding aside. */
#define NOTHING 1e-9

struct fit {
    const struct ll_predictor *parameters;
    const double *target;
    uint64_t count, used;                      /* points; those that have a target */
    size_t variables;                          /* the target is one more, behind them */
    size_t *parameter;                         /* by variable: whose it is */
    uint32_t *choice;                          /* by variable: which of its choices it stands for */
    double *mean, *deviation, *row, *products; /* products: a square, the correlations in the end */
    double *solved;                            /* by variable: its weight */
    bool *kept;                                /* by variable: something of it remained */
};

static size_t count_variables(const struct ll_predictor *parameters, size_t count)
{
    size_t variables = 0;
    for (size_t p = 0; p < count; p++)
        variables += parameters[p].numbers ? 1 : parameters[p].choice_count - 1;
    return variables;
}

static bool make_room(struct fit *fit)
{
    size_t all = fit->variables + 1;
    fit->parameter = calloc(all, sizeof *fit->parameter);
    fit->choice = calloc(all, sizeof *fit->choice);
    fit->mean = calloc(all, sizeof *fit->mean);
    fit->deviation = calloc(all, sizeof *fit->deviation);
    fit->row = calloc(all, sizeof *fit->row);
    fit->products = calloc(all * all, sizeof *fit->products);
    fit->solved = calloc(all, sizeof *fit->solved);
    fit->kept = calloc(all, sizeof *fit->kept);
    return fit->parameter && fit->choice && fit->mean && fit->deviation && fit->row && fit->products &&
           fit->solved && fit->kept;
}

static void release(struct fit *fit)
{
    free(fit->parameter);
    free(fit->choice);
    free(fit->mean);
    free(fit->deviation);
    free(fit->row);
    free(fit->products);
    free(fit->solved);
    free(fit->kept);
}

static void name_variables(struct fit *fit, size_t parameter_count)
{
    size_t v = 0;
    for (size_t p = 0; p < parameter_count; p++) {
        uint32_t own = fit->parameters[p].numbers ? 1 : fit->parameters[p].choice_count - 1;
        for (uint32_t choice = 1; choice <= own; choice++, v++) {
            fit->parameter[v] = p;
            fit->choice[v] = choice;
        }
    }
}

/* Values of a point, the target last; false when it has none. */
static bool read_row(const struct fit *fit, uint64_t i)
{
    for (size_t v = 0; v < fit->variables; v++) {
        const struct ll_predictor *p = &fit->parameters[fit->parameter[v]];
        fit->row[v] = p->numbers ? p->numbers[i] : p->choices[i] == fit->choice[v];
    }
    fit->row[fit->variables] = fit->target[i];
    return isfinite(fit->target[i]);
}

static void find_means(struct fit *fit)
{
    for (uint64_t i = 0; i < fit->count; i++) {
        if (!read_row(fit, i))
            continue;
        fit->used++;
        for (size_t v = 0; v <= fit->variables; v++)
            fit->mean[v] += (fit->row[v] - fit->mean[v]) / (double)fit->used;
    }
}

static void find_correlations(struct fit *fit)
{
    size_t all = fit->variables + 1;
    for (uint64_t i = 0; i < fit->count; i++) {
        if (!read_row(fit, i))
            continue;
        for (size_t v = 0; v < all; v++)
            fit->row[v] -= fit->mean[v];
        for (size_t v = 0; v < all; v++)
            for (size_t w = 0; w <= v; w++)
                fit->products[v * all + w] += fit->row[v] * fit->row[w];
    }
    for (size_t v = 0; v < all; v++) {
        fit->deviation[v] = sqrt(fit->products[v * all + v]);
        if (fit->deviation[v] <= 1e-12 * fabs(fit->mean[v]) * sqrt((double)fit->used))
            fit->deviation[v] = 0; /* always the same, but for rounding */
    }
    for (size_t v = 0; v < all; v++)
        for (size_t w = 0; w <= v; w++) {
            double scale = fit->deviation[v] * fit->deviation[w];
            fit->products[v * all + w] = scale > 0 ? fit->products[v * all + w] / scale : 0;
            fit->products[w * all + v] = fit->products[v * all + w];
        }
}

/* Gauss and Jordan's elimination of one variable from all rows. */
static void eliminate(struct fit *fit, size_t pivot)
{
    size_t all = fit->variables + 1;
    double *base = &fit->products[pivot * all], scale = 1 / base[pivot];
    for (size_t w = 0; w < all; w++)
        base[w] *= scale;
    for (size_t v = 0; v < all; v++) {
        double *row = &fit->products[v * all], factor = row[pivot];
        if (v == pivot || factor == 0)
            continue;
        for (size_t w = 0; w < all; w++)
            row[w] -= factor * base[w];
    }
}

static void solve(struct fit *fit)
{
    size_t all = fit->variables + 1;
    for (size_t v = 0; v < fit->variables; v++) {
        fit->kept[v] = fit->products[v * all + v] > NOTHING;
        if (fit->kept[v])
            eliminate(fit, v);
    }
    for (size_t v = 0; v < fit->variables; v++)
        fit->solved[v] = fit->kept[v] ? fit->products[v * all + fit->variables] : 0;
}

/* The standard deviation of what a parameter's choices say, in those of the target. Choices exclude each
 * other, so that their shares of the points are all that it takes. */
static double spread(const struct fit *fit, size_t first, size_t count)
{
    double mean = 0, square = 0;
    for (size_t v = first; v < first + count; v++) {
        if (fit->deviation[v] == 0)
            continue;
        double effect = fit->solved[v] / fit->deviation[v] * sqrt((double)fit->used);
        mean += fit->mean[v] * effect;
        square += fit->mean[v] * effect * effect;
    }
    return sqrt(fmax(0, square - mean * mean));
}

static void weigh(const struct fit *fit, size_t parameter_count, double *weights)
{
    size_t v = 0;
    for (size_t p = 0; p < parameter_count; p++) {
        size_t own = fit->parameters[p].numbers ? 1 : fit->parameters[p].choice_count - 1;
        weights[p] = own == 1 ? fit->solved[v] : spread(fit, v, own);
        v += own;
    }
}

enum ll_status ll_regress(const struct ll_predictor *parameters, size_t parameter_count, const double *target,
                          uint64_t count, double *weights, double *r2)
{
    struct fit fit = {.parameters = parameters,
                      .target = target,
                      .count = count,
                      .variables = count_variables(parameters, parameter_count)};
    enum ll_status status = make_room(&fit) ? LL_OK : LL_NO_MEMORY;
    if (status == LL_OK) {
        name_variables(&fit, parameter_count);
        find_means(&fit);
        find_correlations(&fit);
        solve(&fit);
        weigh(&fit, parameter_count, weights);
        double left = fit.products[(fit.variables + 1) * (fit.variables + 1) - 1];
        *r2 = fit.deviation[fit.variables] > 0 ? fmin(1, fmax(0, 1 - left)) : 0;
        assert(*r2 >= 0 && *r2 <= 1);
    }
    release(&fit);
    return status;
}
