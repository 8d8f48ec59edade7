/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a type that the machine has no instructions for.
 *
 * A device may store a type that none of its units computes: it is computed in a wider one, and every element
 * that is read or written passes once through code that takes its bits apart. Vector units say how many of
 * them a cycle (`casts`). The same lanes feed the product or do the op's own work, so this comes on top:
 *
 *       seconds = elements read and written / (casts * count * clock)
 *
 * A kernel that reads rows again casts them again. */
#ifndef LL_SIM_COST_CAST_H
#define LL_SIM_COST_CAST_H

#include "sim/cost/unit_model.h"

/* What turning the elements that a task's kernel moves from the type of its work into the one in which it is
 * computed, and back, takes on the first vector unit that says so. Zero when they are the same, when nothing
 * is computed, or when no unit says. Pure, thread-safe. */
double ll_cast_s(const struct ll_machine *machine, const struct ll_kernel *kernel, const struct ll_task *task,
                 struct ll_explain *why);

#endif
