/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a trace of several ranks, each of which is a device with memory of its own. */
#ifndef LL_SIM_PARALLEL_RANK_MEMORY_H
#define LL_SIM_PARALLEL_RANK_MEMORY_H

#include "sim/memory/footprint.h"

/* Fills *footprint with that of the rank that needs most, the first of equals; ops of a thread are those of
 * the rank of its number, below `ranks`, and a storage is of the rank whose op touches it first. Updates
 * stand where they were recorded. In time linear in the trace. False when memory ran out. Pure otherwise,
 * thread-safe. */
bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint);

#endif
