/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/skip.h"

#include <inttypes.h>
#include <math.h>

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

/* In groups of the unit's pattern, where they serve. */
static void skip_groups(struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    uint64_t taken = unit->skips.kept, of = unit->skips.of, k = task->problem.dims.k;
    uint64_t left = of > 0 ? ll_mul(ll_ceil_div(k, of), taken) : k;
    if (left >= k || work->unstructured || most_in(work, of) > taken)
        return;
    shorten(task, left, fmax(0, (1 + task->zeros) * (double)left / (double)k - 1));
    ll_say(why,
           "%s takes %" PRIu64 " of each %" PRIu64 " along k: ceil(%" PRIu64 " / %" PRIu64 ") * %" PRIu64
           " = %" PRIu64,
           unit->name, taken, of, k, of, taken, left);
}

/* Whatever is not zero, where all columns have as many. */
static void skip_even(struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    uint64_t k = task->problem.dims.k, groups = k / work->of, rest = ll_min(k % work->of, work->kept);
    uint64_t left = groups * work->kept + rest;
    if (left >= k)
        return;
    shorten(task, left, 0);
    ll_say(why,
           "%s takes what is not zero along k, of whole groups and of the rest: floor(%" PRIu64 " / %" PRIu64
           ") * %" PRIu64 " + %" PRIu64 " = %" PRIu64,
           unit->name, k, work->of, work->kept, rest, left);
}

/* Whatever is not zero, where columns wait for each other. */
static void skip_uneven(struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    uint64_t k = task->problem.dims.k, together = ll_min(unit->skips_unstructured, task->problem.dims.n);
    double share = (double)work->kept / (double)work->of, mean = (double)k * share,
           z = ll_largest_of(together);
    double most = ceil(mean + z * sqrt(mean * (1 - share)));
    if (most >= (double)k)
        return;
    shorten(task, (uint64_t)most, 0);
    ll_say(why,
           "elements of a column that are not zero, in the mean: %" PRIu64 " * %" PRIu64 " / %" PRIu64
           " = %.10g",
           k, work->kept, work->of, mean);
    ll_say(why,
           "columns wait for the one of %" PRIu64
           " that has most, which lies where a normal curve has of its area "
           "below: (%" PRIu64 " - 0.375) / (%" PRIu64 " + 0.25) = %.10g",
           together, together, together, ((double)together - 0.375) / ((double)together + 0.25));
    ll_say(why,
           "%s takes what is not zero along k, and so many standard deviations more: "
           "ceil(%.10g + %.10g * sqrt(%.10g * (1 - %.10g))) = %.10g",
           unit->name, mean, z, mean, share, most);
}

void ll_skip_zeros(struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why)
{
    uint64_t k = task->problem.dims.k;
    if (!task->is_product || task->work->of == 0)
        return;
    if (unit->skips_unstructured == 0)
        skip_groups(task, unit, why);
    else if (task->work->unstructured)
        skip_uneven(task, unit, why);
    else
        skip_even(task, unit, why);
    if (task->problem.dims.k < k)
        ll_say(why,
               "elements of a that come in for each of these, for a is read whole: %" PRIu64 " / %" PRIu64
               " = %.10g",
               k, task->problem.dims.k, task->a_each);
}
