/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked by index, and what a memory makes of them: it moves whole accesses, and a dynamic memory opens
 * a row of its own for nearly each. All functions are pure. */
#ifndef LL_SIM_COST_SCATTER_H
#define LL_SIM_COST_SCATTER_H

#include "sim/cost/explain.h"
#include "sim/machine/machine.h"
#include "tracer/work.h"

/* Bytes that this level moves beyond those of the work, because a row takes whole accesses. Rows are taken to
 * begin where an access begins. *written: those of them that are written. Zero for other work. */
double ll_scatter_waste(const struct ll_level *level, const struct ll_work *work, double *written,
                        struct ll_explain *why);

/* How many times as long the level takes for all that this work moves, waste included, as for as many bytes
 * in a stream. At least 1, and 1 for other work and other memories. */
double ll_scatter_slowdown(const struct ll_level *level, const struct ll_work *work, struct ll_explain *why);

#endif
