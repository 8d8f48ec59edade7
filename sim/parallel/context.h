/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a device that has a share of the positions of each sequence (context parallelism: Li et al.,
 * Sequence parallelism, 2021; Grattafiori et al., The Llama 3 herd of models, 2024, section 3.3.2).
 *
 * All that is done position by position is done for a share of them, N = plan->context shares in all, with
 * weights that each device has whole. A query is compared with the keys and values of all positions, so that
 * these are put together before each attention, and each device's contributions to their gradients summed up
 * and shared out behind it. With S bytes of keys, and as many of values, of a whole sequence
 *
 *     forward    two all_gather, of S each           each device sends 2 (N-1)/N S
 *     backward   two more, for what was gathered going forward is not kept, and two reduce_scatter of S each
 *                                                                     4 (N-1)/N S
 *
 * Where queries see what came before alone (causal_attention), a device has the i-th of 2 N pieces of the
 * sequence from the front and the i-th from behind, so that all do 1/N of the whole. Attention waits for its
 * exchanges, but for those that other branches overlap with.
 *
 * Gradients of weights are left as each device's part of a sum, to be summed up by all replicas, of which
 * there are N times as many (exchange.h). Where each position has a row of a weight of its own, the gradient
 * is as long as that, with zeros elsewhere. Results of a step, but for single numbers such as the loss, stay
 * where they are. */
#ifndef LL_SIM_PARALLEL_CONTEXT_H
#define LL_SIM_PARALLEL_CONTEXT_H

#include "sim/parallel/plan.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

/* The program of one of plan->context devices, which lie plan->tensor apart; a copy when that is 1. What goes
 * along the sequence otherwise (recurrent layers, one position by itself) is refused, and so are traces in
 * which no dimension is a sequence and sequences that have no N, or 2 N, equal pieces. Free with
 * ll_trace_free; NULL after complaints. Thread-safe on shared traces. */
struct ll_trace *ll_share_context(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  struct ll_diags *diags);

/* Whether a workload has sequences, all of which come in so many equal shares. Pure. */
bool ll_has_context(const struct ll_trace *trace, uint64_t ranks);

#endif
