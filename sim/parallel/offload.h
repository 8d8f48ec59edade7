/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that waits on the host while the device does not need it (Rhu et al., vDNN, 2016; Ren et al.,
 * ZeRO-Offload, 2021).
 *
 *     activations  what a layer going forward leaves for its backward ops goes to the host after its last
 *                  forward reader, and comes back when the layer behind it goes backward; the last layer
 *                  keeps its own
 *     weights      come when their layer goes forward or backward, a layer ahead with plan->overlap, and go
 *                  after their update
 *     optimizer    its state comes for the update and goes again; the device still computes the update
 *
 * What goes is read by an op to_host. What comes is made by from_host, which waits for the op before it, as
 * there is no room sooner. Each takes the bandwidth of the machine's host. */
#ifndef LL_SIM_PARALLEL_OFFLOAD_H
#define LL_SIM_PARALLEL_OFFLOAD_H

#include "sim/parallel/plan.h"
#include "tracer/trace.h"

/* The program with plan->offload put in; free with ll_trace_free. NULL and *trouble, a static sentence.
 * Thread-safe. */
struct ll_trace *ll_offload(const struct ll_trace *trace, const struct ll_parallel *plan,
                            const char **trouble);

#endif
