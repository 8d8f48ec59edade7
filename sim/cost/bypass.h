/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that pass by a memory (`holds`) go on to the next one inwards that holds them, or to the unit.
 * What is done with them there bounds the blocks of the others. A unit that passes over A n / 128 times takes
 * 128 columns at once: in blocks of fewer columns A comes more often. And results that are summed up to the
 * end, in a unit's tile or in a memory further in, leave no room for the sums of larger blocks. All functions
 * are pure. */
#ifndef LL_SIM_COST_BYPASS_H
#define LL_SIM_COST_BYPASS_H

#include "sim/cost/explain.h"
#include "sim/cost/tiling.h"
#include "sim/cost/unit_model.h"

/* Fills in what `toll` says of operands that pass by a memory. `way`: NULL where all that lies within is
 * shared by all units. */
void ll_bind_blocks(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                    uint64_t memory, struct ll_toll *toll);

/* Says what bounds blocks beside the room that they have, and whether others have blocks of their own. */
void ll_tell_bounds(const struct ll_toll *toll, struct ll_explain *why);

#endif
