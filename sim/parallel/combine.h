/* SPDX-License-Identifier: Apache-2.0 */
/* A result of several: what a device does in a step, when it does some things several times and waits between
 * them. Private to sim/parallel. */
#ifndef LL_SIM_PARALLEL_COMBINE_H
#define LL_SIM_PARALLEL_COMBINE_H

#include "sim/replay/replay.h"

/* A replay that comes so many times, each time with so many bytes more to and from the outermost memory,
 * which take so long. */
struct ll_term {
    const struct ll_result *result;
    double times, more_bytes, more_s;
    const struct ll_exposure *handed; /* exchanges that come each time besides; NULL: none */
};

/* Sums the terms, of one machine, over a step of time_s, of which they do not take wait_s. Ops and prepared
 * are those of the first term, the footprint is given; shares are of the step, waiting counts as dependency.
 * NULL when memory ran out. */
const struct ll_result *ll_combine(const struct ll_term *terms, size_t count, double time_s, double wait_s,
                                   const struct ll_footprint *footprint, struct ll_arena *arena);

/* Energy of the device in such a step, J, and its parts; NaN when the machine does not say, whatever the
 * parts then are. */
double ll_combined_energy_j(const struct ll_term *terms, size_t count, double time_s,
                            struct ll_energy_parts *parts);

/* FLOPs of a device in all its terms. */
double ll_combined_flops(const struct ll_term *terms, size_t count);

#endif
