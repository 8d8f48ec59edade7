/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a step needs when a compiler puts each update right behind its gradient, as XLA does: then
 * gradients of weights need not live until the end of the step.
 *
 * An op of the update phase moves to the last op before it that touched anything it reads: no sooner is its
 * gradient there, and the weight that it overwrites free. All other ops stay where they are. Where that needs
 * more, since what an update makes lives longer then, none moves. */
#ifndef LL_SIM_MEMORY_EARLY_H
#define LL_SIM_MEMORY_EARLY_H

#include "sim/memory/footprint.h"

/* Fills *footprint in time linear in the trace; its peak is at most that of ll_footprint, its peak_op a place
 * in the order of the trace. False when memory ran out. Pure otherwise, thread-safe. */
bool ll_footprint_early(const struct ll_trace *trace, struct ll_footprint *footprint);

/* The one or the other, as software says. */
static inline bool ll_footprint_of(const struct ll_trace *trace, bool early, struct ll_footprint *footprint)
{
    return early ? ll_footprint_early(trace, footprint) : ll_footprint(trace, footprint);
}

#endif
