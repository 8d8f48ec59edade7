/* SPDX-License-Identifier: Apache-2.0 */
/* What sim/cost/kernel_model.c counts of one kernel configuration, for kernel_explain.c, which says how that
 * comes about. All functions are pure. */
#ifndef LL_SIM_COST_KERNEL_PARTS_H
#define LL_SIM_COST_KERNEL_PARTS_H

#include "sim/cost/cost_parts.h"

/* The instances that the software employs of a unit: by grain of work, `worth` of them; at most `most`. */
struct ll_employed {
    double bytes, grain, worth;
    uint64_t most, count;
};

/* The instances that work, and what follows for them. */
struct ll_employed ll_kernel_employ(const struct ll_kernel_timing *s);

/* How the time of computing comes about. */
struct ll_computing {
    double after, casting, meanwhile; /* cycles: lanes behind GEMMs; casts; lanes at the same time */
    struct ll_partitioned parts;
    double begin_s;         /* beginning rows */
    double busiest, cycles; /* of the busiest unit, one step: alone; waiting for lanes at the same time */
};

/* Of one configuration. */
struct ll_computing ll_compute(const struct ll_kernel_timing *s, const struct ll_kernel_config *way);

/* Of a level's bandwidth, what the kernel on its unit reaches. */
double ll_share_of_level(const struct ll_kernel_timing *s, uint64_t l);

/* What a level offers: the bandwidth of one instance, how many there are, and how many first pieces each
 * has to provide, one for each of its units that work. */
struct ll_level_feed {
    double slowdown, share, one_Bps, all_Bps, nodes_Bps, pieces, least_bytes, first_bytes, finest_bytes;
    uint64_t instances;
};

/* cost: its units_used are there. */
struct ll_level_feed ll_feed_of(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                                uint64_t l, const struct ll_cost *cost);

/* Of a unit's finest piece, what comes out of a level: of the operands that it holds. */
double ll_finest_bytes(const struct ll_level *level, const struct ll_kernel_config *way);

/* What a level moves, in bytes of both directions that take it as long. */
double ll_crossing_bytes(const struct ll_kernel_timing *s, uint64_t l, const struct ll_cost *cost);

/* The bandwidth at which tiles on tensor cores load their operands, all units together. */
double ll_near_Bps(const struct ll_kernel_timing *s, const struct ll_cost *cost);

#endif
