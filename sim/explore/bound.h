/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a step can take, without replaying it.
 *
 * From a trace alone: how many FLOPs there are of each type, and how many bytes cannot be on chip, however
 * the ops are blocked, for every capacity that a chip may have. A machine then gives
 *
 *     time >= FLOPs / the highest rate at which their type can be computed
 *     time >= bytes that a chip of this capacity must fetch / bandwidth of the outermost memory
 *
 * and energy is at least that of the arithmetic, of those bytes, and of what flows during that time. Replayed
 * results are never below (tests/property/prop_least.c). It takes a hundred nanoseconds or so a machine.
 *
 * Convolutions count neither way on machines whose software convolves in a transformed domain: that needs
 * fewer products. */
#ifndef LL_SIM_EXPLORE_BOUND_H
#define LL_SIM_EXPLORE_BOUND_H

#include "sim/replay/replay.h"

struct ll_least;

/* What all machines share; lives in the arena, immutable, may be shared by threads. NULL when memory ran out.
 */
const struct ll_least *ll_least_new(const struct ll_prepared *prepared, struct ll_arena *arena);

/* Bounds from below on time_s and energy_j of ll_replay (energy: NaN when the machine does not say).
 * Thread-safe. */
double ll_least_time_s(const struct ll_least *least, const struct ll_machine *machine);
double ll_least_energy_j(const struct ll_least *least, const struct ll_machine *machine);

#endif
