/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes leave each memory level (and come back) for a task. All functions are pure. */
#ifndef LL_SIM_COST_TRAFFIC_H
#define LL_SIM_COST_TRAFFIC_H

#include "sim/cost/unit_model.h"

/* The number of near levels: those whose traffic depends on how the unit does the task, because nothing
 * further in is shared by all units. That is every level up to and including the first of device scope. */
uint64_t ll_near_levels(const struct ll_machine *machine);

/* Traffic out of the near levels for one way of doing the task; fills bytes[0..ll_near_levels). */
void ll_near_traffic(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                     double bytes[LL_MAX_LEVELS], struct ll_explain *why);

/* Traffic out of the other levels, whichever way; fills bytes[ll_near_levels..level_count). */
void ll_far_traffic(const struct ll_machine *machine, const struct ll_task *task, double bytes[LL_MAX_LEVELS],
                    struct ll_explain *why);

#endif
