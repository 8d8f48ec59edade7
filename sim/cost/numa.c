/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/numa.h"

#include "tracer/base/num.h"

#include <math.h>

uint64_t ll_numa_working(const struct ll_level *level, uint64_t units)
{
    return level->numa_given ? ll_max(1, ll_min(level->numa.nodes, units)) : 1;
}

double ll_numa_remote(const struct ll_level *level, uint64_t units)
{
    double nodes = (double)level->numa.nodes;
    if (!level->numa_given)
        return 0;
    if (level->numa.placement == LL_PLACEMENT_INTERLEAVED)
        return (nodes - 1) / nodes;
    return 1 - (double)ll_numa_working(level, units) / nodes;
}

double ll_numa_Bps(const struct ll_level *level, uint64_t units)
{
    if (ll_numa_remote(level, units) == 0)
        return INFINITY;
    return level->numa.link_Bps * (double)level->numa.nodes * (double)ll_numa_working(level, units);
}

double ll_numa_latency_s(const struct ll_level *level, uint64_t units)
{
    return level->latency_s + ll_numa_remote(level, units) * level->numa.latency_s;
}
