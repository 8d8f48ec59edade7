/* SPDX-License-Identifier: Apache-2.0 */
/* An op as a task for a unit: the ways in which the unit does it, and what follows from one. All functions
 * are pure. */
#ifndef LL_SIM_COST_SIZED_H
#define LL_SIM_COST_SIZED_H

#include "sim/cost/cost.h"
#include "sim/cost/task.h"

/* What is sized up: an op, as a task for a unit of a machine, as many of them as the software employs. */
struct ll_sized {
    const struct ll_machine *machine;
    const struct ll_kernel *kernel;
    struct ll_unit unit; /* count: how many are employed; efficiency: with the kernel's */
    uint64_t all;        /* how many there are */
    struct ll_task task;
    const struct ll_work *op;         /* what was asked for, of which the task may be a variant */
    const struct ll_leftovers *found; /* what earlier ops left; NULL: nothing */
    uint32_t unit_index;              /* in machine->units */
    double made;                      /* FLOPs of the task for each of the op's */
};

/* How many of the unit's instances the software employs: with a grain, one for each grain of work (of one
 * step of a sequence). It looks at FLOPs and bytes only, as thread pools do: were it to look at time, a
 * memory with more bandwidth could make an op slower. */
uint64_t ll_sized_employed(const struct ll_sized *s, struct ll_explain *why);

/* What the kernel does beyond, or short of, the ideal. */
void ll_sized_tell(const struct ll_sized *s, struct ll_explain *why);

/* Whether what was chosen for an empty machine is as good as anything else next to what earlier ops left. */
bool ll_sized_keeps(const struct ll_sized *s, const struct ll_cost *alone);

/* Fills what follows from the best way: cycles, traffic, times. bounds: NULL for who does not ask. */
void ll_sized_follow(const struct ll_sized *s, struct ll_cost *cost, struct ll_bounds *bounds,
                     struct ll_explain *why);

#endif
