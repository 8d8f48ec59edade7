/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that waits on the host while the device does not need it (Rhu et al., vDNN, 2016; Ren et al.,
 * ZeRO-Offload, 2021).
 *
 *     activations  what a layer going forward leaves for its backward ops goes to the host while the next one
 *                  goes forward, and comes back when the layer behind it goes backward; the last two layers
 *                  keep their own
 *     weights      come when their layer goes forward or backward, a layer ahead with plan->overlap, and go
 *                  after their update
 *     optimizer    its state comes for the update and goes again during the next one; the device still
 *                  computes the update
 *
 * What goes is read by an op to_host: it has gone, and its memory is free, when the layer or the update
 * after the next begins, which waits for that. What comes is made by from_host, which waits for the op
 * before it, as there is no room sooner. Each takes the bandwidth of the machine's host. */
#ifndef LL_SIM_PARALLEL_OFFLOAD_H
#define LL_SIM_PARALLEL_OFFLOAD_H

#include "sim/parallel/plan.h"
#include "tracer/ir/trace.h"

/* The program with plan->offload put in; free with ll_trace_free. NULL and *trouble, a static sentence.
 * Thread-safe. */
struct ll_trace *ll_offload(const struct ll_trace *trace, const struct ll_parallel *plan,
                            const char **trouble);

#endif
