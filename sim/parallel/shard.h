/* SPDX-License-Identifier: Apache-2.0 */
/* The program of one tensor-parallel rank: a share of the weights, and exchanges where ranks need each
 * other's results (Shoeybi et al., Megatron-LM, 2019; Korthikanti et al., 2022; Xu et al., GSPMD, 2021).
 *
 * Every tensor is in one of three states: whole on each rank, divided along a dimension, or a part of a sum.
 * Weights decide. A product with a whole input divides its weight by columns (and its result with it), one
 * whose input is divided along the sum divides it by rows: its result is a part of a sum and is summed up by
 * an all_reduce before anything reads it but what is as well done before (additions, factors). Tables of
 * words are divided by words. Everything else follows its inputs: the heads of an attention, biases,
 * gradients, states of the optimizer. So a layer of a transformer has two all_reduce of its activations going
 * forward and two going backward, a cross entropy over divided words two of a number for each row.
 *
 * With plan->sequence, sums are reduce_scattered along the steps of time, what lies between products works on
 * a share of them, and an all_gather comes before the next product; what was gathered going forward is
 * gathered once more going backward instead of being kept. With plan->expert besides each rank chooses
 * experts for its own steps of time and has a share of their places (as Megatron-core's token dispatcher;
 * where the places of an expert are no multiple of the ranks these are whole).
 *
 * Where grouped queries have fewer key heads than there are ranks, each is copied to as many as it takes
 * (key_heads.h); what these add to the gradients of its weights is summed among them once a step.
 *
 * What cannot be divided evenly stays whole, which is right but gains nothing, except heads and inner
 * features, and steps of time none of which come out even, which are complained about; words are divided
 * into shares of ceil(words / ranks). */
#ifndef LL_SIM_PARALLEL_SHARD_H
#define LL_SIM_PARALLEL_SHARD_H

#include "sim/parallel/plan.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

/* The program of a rank of plan->tensor, all of which are alike; a copy when that is 1. Exchanges are among
 * plan->tensor devices of distance 1. Free with ll_trace_free. NULL after complaints that name the ops.
 * Thread-safe on shared traces. */
struct ll_trace *ll_shard(const struct ll_trace *trace, const struct ll_parallel *plan,
                          struct ll_diags *diags);

/* FLOPs of a step. Pure. */
double ll_step_flops(const struct ll_trace *trace);

/* Of a step's FLOPs those that each of `ranks` devices does, which are at least 2, for they could not be
 * divided: a rank's are U + D / ranks, the whole's U + D. Pure. */
double ll_undivided_flops(const struct ll_trace *trace, const struct ll_trace *rank, uint64_t ranks);

/* Whether a rank does less than the whole, if that does anything. Pure. */
bool ll_is_divided(const struct ll_trace *trace, const struct ll_trace *rank);

#endif
