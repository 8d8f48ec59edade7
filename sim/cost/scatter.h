/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked by index, and what a memory makes of them: it moves whole accesses, and a dynamic memory opens
 * a row of its own for nearly each. What is picked from a small table comes again and again: beyond a memory
 * that has room for the table it passes once. All functions are pure. */
#ifndef LL_SIM_COST_SCATTER_H
#define LL_SIM_COST_SCATTER_H

#include "sim/cost/explain.h"
#include "sim/machine/machine.h"
#include "tracer/ir/work.h"

/* Bytes of rows that need not come out of level l, max(0, rows * row bytes - table bytes), where they come
 * through a memory further in that all units share and that has room for the table. Those of which each unit
 * has its own are left out, since each would load the table for itself. Zero for other work, and where rows
 * pass by level l. */
double ll_scatter_again(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                        struct ll_explain *why);

/* Bytes that level l moves beyond those of the work, because a row takes whole accesses. Rows are taken to
 * begin where an access begins. *written: those of them that are written. Zero for other work. */
double ll_scatter_waste(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                        double *written, struct ll_explain *why);

/* How many times as long level l takes for all that this work moves, waste included, as for as many bytes
 * in a stream. At least 1, and 1 for other work and other memories. */
double ll_scatter_slowdown(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                           struct ll_explain *why);

#endif
