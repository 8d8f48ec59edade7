/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: points that need not be evaluated, because what is known beats whatever they could be.
 *
 * A point's bound (bound.h, area as it is) is compared with the front of the points known before its batch
 * (pareto.h). Objectives that have a bound are time_s, energy_j, edp, area_mm2 and price_usd, to be least;
 * a space with another one cannot be pruned. Steps that are spread over devices have no bound, nor have
 * traces of several ranks, and none of them is left out. */
#ifndef LL_SIM_EXPLORE_PRUNE_H
#define LL_SIM_EXPLORE_PRUNE_H

#include "sim/explore/pareto.h"
#include "sim/explore/variants.h"

/* Whether all objectives of the space have a bound. */
bool ll_has_bounds(const struct ll_space *space);

/* Whether some point of the front dominates the point whatever it is; the machine is that of the point. False
 * where objectives have no bound. Thread-safe as long as nobody adds to the front. */
bool ll_is_beaten(const struct ll_space *space, const struct ll_archive *front,
                  const struct ll_variants *variants, const struct ll_machine *machine,
                  const uint32_t *point);

#endif
