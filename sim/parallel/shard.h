/* SPDX-License-Identifier: Apache-2.0 */
/* The program of one tensor-parallel rank: a share of the weights, and collectives where ranks need each
 * other's results (Shoeybi et al., Megatron-LM, 2019; Korthikanti et al., 2022; Xu et al., GSPMD, 2021).
 *
 * Every tensor is in one of three states: whole on each rank, divided along a dimension, or a term of a sum.
 * Weights decide. A GEMM with a whole input divides its weight, and so its result, by columns. A GEMM whose
 * input is divided along k divides its weight by rows; its result is a term of a sum. An all_reduce sums it
 * before any op reads it, except for ops that can be done before the sum (additions, factors). Embedding
 * tables are divided by tokens. Everything else follows its inputs: the heads of an attention, biases,
 * gradients, optimizer states. So a transformer layer has two all_reduce of its activations in the forward
 * pass and two in the backward pass; a cross entropy over a divided vocabulary has two of one number per row.
 *
 * With plan->sequence (sequence parallelism) sums are reduce_scattered along the time steps, ops between
 * GEMMs work on a share of the steps, and an all_gather precedes the next GEMM; gathered tensors are gathered
 * again in the backward pass instead of being kept. With plan->expert each rank also chooses experts for its
 * own time steps and holds a share of their places (like Megatron-core's token dispatcher; where the places
 * of an expert are no multiple of the ranks, they are whole).
 *
 * Where grouped queries have fewer key heads than ranks, each key head is copied to several ranks
 * (holding.h); once a step these ranks sum their contributions to the gradients of its weights.
 *
 * A dimension that cannot be divided evenly stays whole, which is correct but saves nothing. Heads, FFN
 * features, and time steps of which none divide evenly are refused with a complaint. A vocabulary is divided
 * into shares of ceil(tokens / ranks). */
#ifndef LL_SIM_PARALLEL_SHARD_H
#define LL_SIM_PARALLEL_SHARD_H

#include "sim/parallel/axes.h"
#include "sim/parallel/holding.h"
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

/* A trace being divided, and along which axis each of its ops is. Private to sim/parallel/shard*.c
 * and context.c. */

enum { LL_TOLD_EXTENTS = 8 };

struct ll_sharding {
    struct ll_holding holding;
    const struct ll_trace *trace;
    struct ll_diags *diags;
    struct ll_arena scratch; /* of the op at work */
    uint32_t op;
    const struct ll_form *form;
    struct ll_axes axes;
    uint32_t *inputs;  /* tensors of the new trace */
    uint32_t *updated; /* by old tensor: the weight that is changed by it, element by element; LL_NONE */
    bool *summed;      /* by old tensor: a reader wants it summed up, were it a term */
    bool right;
    /* What was complained of: an extent that stands in every layer is told of its first op. */
    uint64_t told[LL_TOLD_EXTENTS];
    unsigned told_count;
};

/* Input i of the op at work: the old tensor, and the state in which the rank has it. */
static inline uint32_t ll_old_input(const struct ll_sharding *s, uint32_t i)
{
    return ll_op_input(s->trace, s->op, i);
}
static inline struct ll_state ll_state_of_input(const struct ll_sharding *s, uint32_t i)
{
    return s->holding.states[ll_old_input(s, i)];
}

/* What input i must be if the op at work is divided along an axis. */
struct ll_state ll_wanted_of(const struct ll_sharding *s, uint32_t i, uint8_t axis);

/* Whether every dimension of an axis of the op at work comes in shares that go together: where they are of
 * different length (parts that are joined) in equal ones. */
bool ll_axis_divides(const struct ll_sharding *s, uint8_t axis);

/* The walk of shard.c, for others that divide a trace. */

/* Begins with an old op, whose first input lies divided so; finds its axes. False with trouble. */
bool ll_shard_begin_op(struct ll_sharding *s, uint32_t op, struct ll_divided held);

/* Writes the op at work divided along an axis, 0 for none, and notes the states of its results; terms: it
 * makes terms of terms. False with trouble. */
bool ll_shard_write_op(struct ll_sharding *s, uint8_t axis, bool terms);

/* Whether the op at work makes terms of terms, so that they are summed up later, once. */
bool ll_shard_passes_terms(const struct ll_sharding *s);

/* Fill s->updated and s->summed once the holding has begun; false when memory ran out. */
bool ll_shard_find_updated(struct ll_sharding *s);
bool ll_shard_find_summed(struct ll_sharding *s);

/* The new trace; NULL after complaints, of which trouble is one. Releases all of *s. */
struct ll_trace *ll_shard_end(struct ll_sharding *s);

#endif
