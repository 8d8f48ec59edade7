/* SPDX-License-Identifier: Apache-2.0 */
/* A memory that lies in n nodes (NUMA), each with an n-th of its bandwidth beside an n-th of the units, and
 * a link of L bytes a second, each way, between any two.
 *
 * What an op moves lies evenly in all of them. The units that work are dealt to the nodes in turn, so that
 * w = min(n, units) nodes have some, and each moves as much. With `interleaved` placement, where pages go
 * around the nodes, each takes an n-th of that from every node, over each link bytes / (w n). With `local`
 * placement, where a page lies with the unit that first wrote it, each works on what lies with it, if all
 * nodes work; else on that and its share of what lies with those that do not: again bytes / (w n) over each
 * link. So the links let pass
 *
 *       L * n * w
 *
 * and an access takes the link's latency, too, as often as its data lie in another node. What takes the
 * memory longer, as reads with a `read_share`, is taken to hold up the links as much. Pure. */
#ifndef LL_SIM_COST_NUMA_H
#define LL_SIM_COST_NUMA_H

#include "sim/machine/machine.h"

/* Nodes in which so many units work; 1 of a memory in one piece. */
uint64_t ll_numa_working(const struct ll_level *level, uint64_t units);

/* The share of what they move that comes from other nodes than their own, or goes there. */
double ll_numa_remote(const struct ll_level *level, uint64_t units);

/* The most that the links let pass, in bytes a second; infinite where nothing crosses them. */
double ll_numa_Bps(const struct ll_level *level, uint64_t units);

/* What an access takes, on the average. */
double ll_numa_latency_s(const struct ll_level *level, uint64_t units);

#endif
