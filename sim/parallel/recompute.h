/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that are computed again instead of being kept (Chen et al., Training deep nets with sublinear
 * memory cost, 2016; Korthikanti et al., Reducing activation recomputation, 2022).
 *
 * FULL: a layer's forward ops run once more before the first of its backward ops that reads what they made;
 * only what other layers read is kept. SELECTIVE: the same for what lies from the product of queries and keys
 * to the product with the values. Collectives in between run again too. What random ops draw follows from
 * their attributes, so they draw the same. */
#ifndef LL_SIM_PARALLEL_RECOMPUTE_H
#define LL_SIM_PARALLEL_RECOMPUTE_H

#include "sim/parallel/plan.h"
#include "tracer/ir/trace.h"

/* A trace with these ops repeated, in the phase backward; all else is as before. Free with ll_trace_free.
 * NULL and *trouble, a static sentence. Thread-safe. */
struct ll_trace *ll_recompute(const struct ll_trace *trace, enum ll_recompute recompute,
                              const char **trouble);

/* Whether a trace has a backward pass or an update: an inference keeps nothing and has no gradients. Pure. */
bool ll_learns(const struct ll_trace *trace);

#endif
