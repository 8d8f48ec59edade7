/* SPDX-License-Identifier: Apache-2.0 */
/* Units that do not multiply zeros of the right operand. */
#ifndef LL_SIM_COST_SKIP_H
#define LL_SIM_COST_SKIP_H

#include "sim/cost/task.h"

/* Where the unit skips zeros as they lie here, k becomes as long as what is left of b; all of a is still
 * read. Says so; otherwise, and where b has no zeros along k or k would be no shorter, nothing changes.
 *
 * A unit of a pattern (`skips`) takes groups of it, the last one whole, where no group can have more than it
 * takes. One that skips zeros wherever they lie (`skips_unstructured`) takes what is left. Where zeros are
 * unstructured, so many of its columns go in step: they wait for the one with most, of which as many are left
 * as are expected of the largest of N binomial counts, k d + z sqrt(k d (1 - d)) for a share d. */
void ll_skip_zeros(struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why);

/* How many standard deviations the largest of `count` independent normal variables lies above their mean, on
 * average: the quantile (count - 0.375) / (count + 0.25) (Blom, Statistical estimates and transformed
 * beta-variables, 1958), within 5 % of two, 1 % of nine and more; 0 of one. Pure. */
double ll_largest_of(uint64_t count);

#endif
