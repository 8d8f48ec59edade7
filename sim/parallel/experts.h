/* SPDX-License-Identifier: Apache-2.0 */
/* Experts divided among replicas (Lepikhin et al., GShard, 2020; Fedus et al., Switch, 2021).
 *
 * Tensors [experts, places, ...] hold for each expert what a replica's samples want of it. With N =
 * plan->expert replicas each holds 1/N of the experts, weights and states of the optimizer, and works for all
 * N: before a product with such weights an all_to_all takes [experts, places, ...] to [experts / N, N places,
 * ...], and another one brings the results back before anything else reads them. So a layer of experts has
 * two going forward and two going backward, of samples x choices x features (x the capacity) each.
 * Where the devices of a product have a share of the places each (shard.h), that is what each of them sends;
 * what experts read is then gathered where they are, and what they make is scattered before it goes back.
 *
 * Experts are known by LL_ROLE_EXPERTS, the first dimension of their weights. */
#ifndef LL_SIM_PARALLEL_EXPERTS_H
#define LL_SIM_PARALLEL_EXPERTS_H

#include "sim/parallel/plan.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

/* The program of a replica of a group of plan->expert, which lie plan->tensor devices apart; a copy when that
 * is 1. Free with ll_trace_free. NULL after complaints: no experts, or not a multiple of the group.
 * Thread-safe on shared traces. */
struct ll_trace *ll_spread_experts(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   struct ll_diags *diags);

/* Whether a tensor that looks so is a replica's own share of experts: weights, their gradients and states.
 * Their gradients are summed over replicas that have the same experts alone. Pure. */
bool ll_is_of_experts(const struct ll_desc *desc);
bool ll_has_experts(const struct ll_trace *trace);

#endif
