/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a step needs when a compiler puts each update right behind its gradient, as XLA does: then
 * gradients of weights need not live until the end of the step.
 *
 * An op of the update phase moves to the last op before it that touched anything it reads: no sooner is its
 * gradient there, and the weight that it overwrites free. All other ops stay where they are. */
#ifndef LL_SIM_MEMORY_EARLY_H
#define LL_SIM_MEMORY_EARLY_H

#include "tracer/trace.h"

/* Fills *peak_bytes, LL_NO_FIT past 64 bits, in time linear in the trace; it is at most the peak of
 * sim/memory/footprint.h. False when memory ran out. Pure otherwise, thread-safe. */
bool ll_footprint_early(const struct ll_trace *trace, uint64_t *peak_bytes);

#endif
