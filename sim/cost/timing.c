/* SPDX-License-Identifier: Apache-2.0 */
/* Stages to seconds: the first piece passes alone, then the slowest stage sets the pace (see cost.h). What
 * earlier ops saved shortens a level's stage in proportion; a level that has nothing left to move is not
 * waited for either. */
#include "sim/cost/cost.h"

#include <math.h>

struct stage {
    double whole_s, first_s;
};

/* What is left of a level, its latencies added to *waits_s. */
static struct stage level_left(const struct ll_cost *cost, uint64_t l, double saved_bytes, double *waits_s)
{
    double bytes = cost->level_bytes[l], left = fmax(0, bytes - saved_bytes);
    if (left == 0)
        return (struct stage){0};
    double whole_s = cost->level_s[l] * (left / bytes);
    *waits_s += cost->level_wait_s[l];
    return (struct stage){whole_s, fmin(cost->level_first_s[l], whole_s)};
}

void ll_cost_time(const struct ll_machine *machine, const struct ll_cost *cost, const double *saved_bytes,
                  struct ll_timing *timing, struct ll_explain *why)
{
    if (cost->unit == LL_NO_UNIT) {
        *timing = (struct ll_timing){.time_s = cost->host_s, .bound = LL_BOUND_HOST};
        return;
    }
    struct stage slowest = {cost->compute_s, cost->compute_first_s};
    double first_s = cost->compute_first_s, waits_s = 0;
    uint32_t bound = LL_BOUND_COMPUTE;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        struct stage level = level_left(cost, l, saved_bytes ? saved_bytes[l] : 0, &waits_s);
        first_s += level.first_s;
        if (saved_bytes && saved_bytes[l] > 0)
            ll_say(why, "%s, less what earlier ops left further in: %.10g * (1 - min(1, %.10g / %.10g)) = %.10g s",
                   machine->levels[l].name, cost->level_s[l], saved_bytes[l], cost->level_bytes[l], level.whole_s);
        if (level.whole_s - level.first_s > slowest.whole_s - slowest.first_s) {
            slowest = level;
            bound = LL_BOUND_LEVEL + (uint32_t)l;
        }
    }
    timing->exposed_s = waits_s + (first_s - slowest.first_s);
    timing->time_s = timing->exposed_s + slowest.whole_s;
    timing->overhead_s = cost->started ? machine->software.op_overhead_s : 0;
    timing->bound = waits_s > slowest.whole_s ? LL_BOUND_DEPENDENCY : bound;
    ll_say(why, "time, latencies + first pieces of the other stages + the slowest, %s: %.10g + %.10g + %.10g = %.10g s",
           ll_bound_name(machine, bound), waits_s, first_s - slowest.first_s, slowest.whole_s, timing->time_s);
}
