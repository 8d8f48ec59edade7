/* SPDX-License-Identifier: Apache-2.0 */
/* Caches whose misses are waited for in turn (`misses_in_turn`).
 *
 * A core has a few lines in flight, and what sets the pace of a stream is how long each takes. Lines that
 * come from further out then come instead of those that the cache has, and the times of the levels add up:
 * of M bytes of which R are missed, (M - R) / B of the cache and R / B' of the memory behind it, where B
 * and B' are what whole streams out of them reach. So does the ECM model add transfers up (Treibig and
 * Hager, "Introducing a performance model for bandwidth-limited loop kernels", PPAM 2009). Elsewhere both
 * go on beside each other, and the slower sets the pace. */
#ifndef LL_SIM_COST_TURNS_H
#define LL_SIM_COST_TURNS_H

#include "sim/cost/cost.h"
#include "sim/cost/stage.h"

/* Makes one stage of those of each row of such caches and of the level behind the last of them, in place:
 * it stands at the innermost, and of the others nothing is left but first pieces. A byte takes as long as
 * at the slowest of the levels that it passes, so that the stage takes no less than each of them, no more
 * than all in a row, and no longer for more bandwidth, or fewer bytes, of any. stages: one for each level.
 * most: for each level the one that takes the largest part of its stage; itself, but for such a row's
 * innermost. Pure. */
void ll_take_turns(const struct ll_machine *machine, const struct ll_cost *cost,
                   const struct ll_leftovers *found, struct ll_stage *stages, uint64_t most[LL_MAX_LEVELS],
                   struct ll_explain *why);

#endif
