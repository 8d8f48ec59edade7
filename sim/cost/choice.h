/* SPDX-License-Identifier: Apache-2.0 */
/* Which unit of a machine does a piece of work, and in which type of number. */
#ifndef LL_SIM_COST_CHOICE_H
#define LL_SIM_COST_CHOICE_H

#include "sim/machine/machine.h"
#include "tracer/ir/work.h"

/* The index in machine->units of the unit for work of this kind of op, and in *dtype the type in which it
 * computes: the work's own, or the nearest wider one that some unit has. A unit that lists the op kind in its
 * `runs` comes before those that list nothing, one whose `align` the sides suit before all. LL_NO_UNIT when
 * there is none. Pure. */
uint32_t ll_choose_unit(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        enum ll_dtype *dtype);

#endif
