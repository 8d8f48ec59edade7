/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros of a GEMM's operands: what units skip, pack, gate, and how memories hold the rest.
 *
 * Time goes with k, so what is skipped shortens k: to groups of a pattern, to what the slowest of some lines
 * has, or to the steps that packed words make. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/array/sparse.h"
#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

double ll_largest_of(uint64_t count)
{
    double below = ((double)count - 0.375) / ((double)count + 0.25), low = 0, high = 40;
    /* As many halvings as a double has digits. */
    for (int i = 0; i < 64 && count > 1; i++) {
        double middle = (low + high) / 2;
        /* What lies above is small, and so exact. */
        if (0.5 * erfc(middle / sqrt(2)) > 1 - below)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The most of `window` neighbours, counted from a multiple of it, that are not zero. */
static uint64_t most_in(const struct ll_work *work, uint64_t window)
{
    if (window % work->of == 0)
        return work->kept * (window / work->of);
    return work->of % window == 0 ? ll_min(work->kept, window) : window;
}

/* What is left of k is so many; a is taken in as a whole. A column that waits multiplies nothing. */
static void shorten(struct ll_task *task, uint64_t left, double zeros)
{
    task->zeros = zeros;
    task->a_each = (double)task->problem.dims.k / (double)left;
    task->problem.dims.k = left;
    task->problem.element[LL_OPERAND_A] *= task->a_each;
    task->problem.element[LL_OPERAND_B] *= task->a_each;
}

/* How much of k is left where zeros are skipped. */
struct skipped {
    enum { NO_SKIP, IN_GROUPS, EVEN, UNEVEN, PACKED } how;
    uint64_t left;
    double zeros;                   /* multiplications by zero that remain, for each other one */
    bool of_a;                      /* those of a are among them */
    uint64_t together;              /* UNEVEN: columns that wait for each other */
    double share, mean, deviations; /* UNEVEN: not zero; of a column, in the mean; of the one with most */
};

/* In groups of the unit's pattern, where they serve. */
static struct skipped skip_groups(const struct ll_task *task, const struct ll_unit *unit)
{
    const struct ll_work *work = task->work;
    uint64_t taken = unit->skips.kept, of = unit->skips.of, k = task->problem.dims.k;
    uint64_t left = of > 0 ? ll_mul(ll_ceil_div(k, of), taken) : k;
    if (left >= k || work->unstructured || most_in(work, of) > taken)
        return (struct skipped){0};
    return (struct skipped){
        .how = IN_GROUPS, .left = left, .zeros = fmax(0, (1 + task->zeros) * (double)left / (double)k - 1)};
}

/* Whatever is not zero, where all columns have as many. */
static struct skipped skip_even(const struct ll_task *task)
{
    const struct ll_work *work = task->work;
    uint64_t k = task->problem.dims.k, groups = k / work->of, rest = ll_min(k % work->of, work->kept);
    uint64_t left = groups * work->kept + rest;
    return (struct skipped){.how = left < k ? EVEN : NO_SKIP, .left = left};
}

/* Whatever is not zero, where columns wait for each other. */
static struct skipped skip_uneven(const struct ll_task *task, const struct ll_unit *unit)
{
    const struct ll_work *work = task->work;
    double k = (double)task->problem.dims.k;
    struct skipped s = {.together = ll_min(unit->skips_unstructured, task->problem.dims.n),
                        .share = (double)work->kept / (double)work->of};
    s.mean = k * s.share;
    s.deviations = ll_largest_of(s.together);
    double most = ceil(s.mean + s.deviations * sqrt(s.mean * (1 - s.share)));
    s.how = most < k ? UNEVEN : NO_SKIP;
    s.left = s.how ? (uint64_t)most : 0;
    return s;
}

/* The share of a, and of b, that is not zero; 1 where nobody knows. */
static double share_of_a(const struct ll_work *work)
{
    return work->a_nonzero > 0 ? (double)work->a_nonzero / 100 : 1;
}

static double share_of_b(const struct ll_work *work)
{
    return work->of > 0 ? (double)work->kept / (double)work->of : 1;
}

/* Whatever both sides have that is not zero, where rows and columns wait for each other. */
static struct skipped skip_both(const struct ll_task *task, const struct ll_unit *unit)
{
    const struct ll_work *work = task->work;
    bool columns = unit->skips_unstructured > 0 && work->of > 0;
    double k = (double)task->problem.dims.k, b = columns ? share_of_b(work) : 1;
    uint64_t beside =
        columns && work->unstructured ? ll_min(unit->skips_unstructured, task->problem.dims.n) : 1;
    struct skipped s = {.share = share_of_a(work) * b,
                        .together = ll_mul(ll_min(unit->skips_inputs, task->problem.dims.m), beside)};
    s.mean = k * s.share;
    s.deviations = ll_largest_of(s.together);
    double most = fmin(k, ceil(s.mean + s.deviations * sqrt(s.mean * (1 - s.share))));
    s.how = most < k ? UNEVEN : NO_SKIP;
    s.left = s.how ? (uint64_t)fmax(1, most) : 0;
    s.of_a = true;
    s.zeros = share_of_a(work) - 1 + (columns ? 0 : share_of_a(work) * task->zeros);
    return s;
}

/* Steps of what is not zero of so many lines, over the steps of all of them. */
static double steps_share(double share, bool even, uint64_t lines, uint64_t of, uint64_t step)
{
    uint64_t tile = ll_min(lines, of);
    const struct ll_array_density density = {share, even};
    return tile > 0 ? ll_array_groups(&density, tile, step) / (double)ll_ceil_div(tile, step) : 1;
}

/* An outer product of what is not zero, step by step. */
static struct skipped skip_packed(const struct ll_task *task, const struct ll_unit *unit)
{
    const struct ll_work *work = task->work;
    const struct ll_gemm *d = &task->problem.dims;
    double a = unit->packs_rows > 0 ? share_of_a(work) : 1,
           b = unit->packs_columns > 0 ? share_of_b(work) : 1;
    double share = 1;
    if (a < 1)
        share *= steps_share(a, false, unit->packs_rows, d->m, unit->row_step);
    if (b < 1)
        share *= steps_share(b, !work->unstructured, unit->packs_columns, d->n, unit->column_step);
    double left = fmax(1, ceil((double)d->k * share - 1e-9));
    return (struct skipped){.how = left < (double)d->k ? PACKED : NO_SKIP,
                            .left = (uint64_t)left,
                            .share = share,
                            .of_a = a < 1,
                            .zeros = a * (b < 1 ? 1 : 1 + task->zeros) - 1};
}

static struct skipped skip(const struct ll_task *task, const struct ll_unit *unit)
{
    if (!task->is_gemm || (task->work->of == 0 && task->work->a_nonzero == 0))
        return (struct skipped){0};
    if (unit->packs_rows > 0 || unit->packs_columns > 0)
        return skip_packed(task, unit);
    if (unit->skips_inputs > 0 && task->work->a_nonzero > 0)
        return skip_both(task, unit);
    if (task->work->of == 0)
        return (struct skipped){0};
    return unit->skips_unstructured == 0 ? skip_groups(task, unit)
           : task->work->unstructured    ? skip_uneven(task, unit)
                                         : skip_even(task);
}

void ll_skip_zeros(struct ll_task *task, const struct ll_unit *unit)
{
    const struct skipped s = skip(task, unit);
    if (!s.how)
        return;
    shorten(task, s.left, s.zeros);
    task->skips_a = s.of_a;
}

/* Words of a that memories hold, and their places, for each of its elements. */
static double stored_share(const struct ll_task *task, const struct ll_unit *unit)
{
    const struct ll_work *work = task->work;
    const struct ll_array_density density = {share_of_a(work), false};
    const struct ll_array_format format = {
        .places = unit->inputs_stored == LL_PLACES_BITMASK ? LL_ARRAY_BITMASK : LL_ARRAY_RUNS,
        .bits = unit->place_bits};
    if (unit->inputs_stored == LL_PLACES_DENSE || work->a_nonzero == 0)
        return 1;
    struct ll_array_stored stored = ll_array_stored(&format, &density, 1);
    return stored.words + stored.place_bits / (double)ll_dtype_bits((enum ll_dtype)work->dtype);
}

void ll_store_zeros(struct ll_task *task, const struct ll_unit *unit)
{
    if (!task->is_gemm)
        return;
    task->problem.element[LL_OPERAND_A] *= stored_share(task, unit);
    if (unit->gates_zeros)
        task->zeros = share_of_a(task->work) - 1;
}

static void explain_uneven(const struct skipped *s, const struct ll_task *task, const struct ll_unit *unit,
                           struct ll_explain *why)
{
    if (task->work->a_nonzero > 0 && unit->skips_inputs > 0)
        ll_say(why, "of k, where neither row nor column is zero, in the mean: %" PRIu64 " * %.10g = %.10g",
               task->problem.dims.k, s->share, s->mean);
    else
        ll_say(why,
               "elements of a column that are not zero, in the mean: %" PRIu64 " * %" PRIu64 " / %" PRIu64
               " = %.10g",
               task->problem.dims.k, task->work->kept, task->work->of, s->mean);
    ll_say(why,
           "columns wait for the one of %" PRIu64
           " that has most, which lies where a normal curve has of its area "
           "below: (%" PRIu64 " - 0.375) / (%" PRIu64 " + 0.25) = %.10g",
           s->together, s->together, s->together,
           ((double)s->together - 0.375) / ((double)s->together + 0.25));
    ll_say(why,
           "%s takes what is not zero along k, and so many standard deviations more: "
           "ceil(%.10g + %.10g * sqrt(%.10g * (1 - %.10g))) = %" PRIu64,
           unit->name, s->mean, s->deviations, s->mean, s->share, s->left);
}

void ll_zeros_explain(const struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    const struct skipped s = skip(task, unit);
    uint64_t k = task->problem.dims.k;
    if (s.how == NO_SKIP)
        return;
    if (s.how == IN_GROUPS)
        ll_say(why,
               "%s takes %" PRIu32 " of each %" PRIu32 " along k: ceil(%" PRIu64 " / %" PRIu32 ") * %" PRIu32
               " = %" PRIu64,
               unit->name, unit->skips.kept, unit->skips.of, k, unit->skips.of, unit->skips.kept, s.left);
    else if (s.how == EVEN)
        ll_say(why,
               "%s takes what is not zero along k, of whole groups and of the rest: floor(%" PRIu64
               " / %" PRIu64 ") * %" PRIu64 " + %" PRIu64 " = %" PRIu64,
               unit->name, k, work->of, work->kept, ll_min(k % work->of, work->kept), s.left);
    else if (s.how == PACKED)
        ll_say(why,
               "%s packs what is not zero of rows and columns into steps: ceil(%" PRIu64
               " * %.10g) = %" PRIu64,
               unit->name, k, s.share, s.left);
    else
        explain_uneven(&s, task, unit, why);
    ll_say(why,
           "elements of a that come in for each of these, for a is read whole: %" PRIu64 " / %" PRIu64
           " = %.10g",
           k, s.left, (double)k / (double)s.left);
}
