/* SPDX-License-Identifier: Apache-2.0 */
/* The array that a machine file describes: its unit's axes and registers, and the machine's memory levels.
 * Pure, thread-safe. */
#ifndef LL_SIM_ARRAY_MACHINE_H
#define LL_SIM_ARRAY_MACHINE_H

#include "sim/array/nest.h"
#include "sim/machine/machine.h"

/* Unit u, which is an array, with the machine's levels outside of it, for work of a dtype; several
 * instances are a further axis. Names live as long as the machine. Levels without `accesses` move what
 * their bandwidth lets through, at the unit's clock, and cost what the energy section says of a byte. */
struct ll_array ll_array_of(const struct ll_machine *machine, uint64_t u, enum ll_dtype dtype);

/* The first unit that is an array, or unit_count. */
uint64_t ll_array_find(const struct ll_machine *machine);

/* The type of words that the unit, an array, is described for: the narrowest that it multiplies. */
enum ll_dtype ll_array_dtype(const struct ll_unit *unit);

#endif
