/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing a trace among devices: tensor, sequence and context parallelism. Private to sim/parallel and its
 * tests, but for ll_shard and ll_share_context. The sections: axes of ops, shard placement of tensors, tensor
 * parallelism, context parallelism.
 *
 * Which dimensions of an op's inputs and results are one and the same index.
 *
 * A GEMM c[m, n] = a[m, k] b[k, n] has three such axes: m lies in a and c, n in b and c, k in a and b.
 * What may be divided among devices follows: along m or n each device makes its part of c, along k each makes
 * a part of every sum in c. An op along whose dimension nothing can be divided (softmax along its rows) has
 * no axis there. */
#ifndef LL_SIM_PARALLEL_SHARD_H
#define LL_SIM_PARALLEL_SHARD_H

#include "sim/parallel/plan.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

enum { LL_MOST_AXES = 3 * LL_MAX_RANK };

/* Along which dimension a tensor is sharded. */
struct ll_divided {
    int dim;      /* the dimension; -1: not sharded */
    uint8_t role; /* enum ll_role of what the shards are: rows may be sharded by position */
};

struct ll_axes {
    uint32_t count;                /* axes are numbered 1 to count; a dimension of axis 0 cannot be sharded */
    bool summed[LL_MOST_AXES + 1]; /* by axis: when it is sharded, results without it are partial sums */
    bool settled[LL_MOST_AXES + 1]; /* by axis: ranks must first agree on the maximum of each row along it */
    uint8_t *in, *out;              /* the axis of dimension d of tensor i, at index i * LL_MAX_RANK + d */
    struct ll_divided held;         /* how the first input is sharded, for ops that regroup dimensions */
    /* Context parallelism: each device knows the positions that it has, so ops that count or compare
     * positions may be sharded, and indices are of rows that a device has. */
    bool by_position;
};

/* Fills count, summed, settled and the lists, which live in the arena; `held` and `by_position` are the
 * caller's. False when memory ran out. Pure otherwise. */
bool ll_axes_of(const struct ll_op_view *op, struct ll_arena *arena, struct ll_axes *axes);

/* The axis of a dimension of an input. */
static inline uint8_t ll_axis_in(const struct ll_axes *axes, uint32_t input, unsigned dim)
{
    return axes->in[input * LL_MAX_RANK + dim];
}
static inline uint8_t ll_axis_out(const struct ll_axes *axes, uint32_t output, unsigned dim)
{
    return axes->out[output * LL_MAX_RANK + dim];
}

/* The dimension of an input or a result that is of this axis, -1 for none. */
int ll_dim_in(const struct ll_axes *axes, uint32_t input, uint8_t axis);
int ll_dim_out(const struct ll_axes *axes, uint32_t output, uint8_t axis);

/* The rules behind the shape words of tracer/ir/op_table.def, one function per word, and the functions that
 * make axes. Private to axes.c and placement.c. A new word in the table needs a line in axes.c. */

typedef void ll_axes_rule(const struct ll_op_view *op, struct ll_axes *axes);

/* Adds an axis and returns its number; 0, which cannot be sharded, when there are LL_MOST_AXES already. */
uint8_t ll_new_axis(struct ll_axes *axes, bool summed);

/* Makes a dimension of a result part of an axis. */
void ll_set_axis_out(struct ll_axes *axes, uint32_t output, int dim, uint8_t axis);

/* Adds an axis for a dimension of an input and one of a result. */
void ll_tie(struct ll_axes *axes, uint32_t input, int in_dim, uint32_t output, int out_dim);

ll_axes_rule ll_axes_RESHAPE, ll_axes_TRANSPOSE, ll_axes_CONCAT, ll_axes_SPLIT, ll_axes_SLICE, ll_axes_PAD,
    ll_axes_STACK, ll_axes_UNSTACK, ll_axes_ONE_HOT, ll_axes_GATHER, ll_axes_SEGMENT_SUM, ll_axes_PICKED,
    ll_axes_REPEATED, ll_axes_CACHE_UPDATE;

/* Shard placement: what a rank holds of each tensor while a trace is being divided, and the collectives that
 * convert one placement to another (GSPMD calls them replicated, sharded, partial). Private to sim/parallel.
 */

enum ll_shard_kind { LL_REPLICATED, LL_SHARDED, LL_PARTIAL_SUM };

/* What a rank holds of a tensor. */
struct ll_shard_state {
    uint8_t held; /* enum ll_shard_kind: all of it, a share along `dim`, or a term of a sum over all ranks */
    uint8_t dim;  /* the sharded dimension; 0 otherwise */
    uint8_t role; /* what the shards are: rows may be sharded by the sequence positions in them */
    bool free;    /* no op makes it and none has read it yet: any state is free of communication */
};

/* A copy of a tensor in another state, valid during one phase. */
struct ll_placed_copy {
    struct ll_shard_state state;
    uint32_t tensor; /* the copy, in the new trace */
    uint32_t next;   /* index of the next copy of the same tensor; LL_NONE: the last */
    uint8_t phase;   /* enum ll_phase in which it may be read */
};

struct ll_shard_placement {
    struct ll_rewrite rewrite;
    uint64_t ranks;  /* devices that share a tensor, at least 2 */
    uint64_t stride; /* how far apart their numbers are, at least 1 */
    bool by_time;    /* sums may be reduce_scattered along the sequence (sequence parallelism) */
    bool routes_own; /* a rank routes its own positions to experts, and holds their places */
    struct ll_shard_state *states; /* by old tensor: its current state */
    uint32_t *copies_of;           /* by old tensor: index of its first copy; LL_NONE: it has none */
    uint32_t *readers;             /* by old tensor: how many inputs of ops it is */
    bool *stays;                   /* by old tensor: a weight, an optimizer state, or a view of one */
    struct ll_placed_copy *copies; /* all copies */
    uint64_t copy_count, copy_capacity;
};

/* The cost of a sharding is in bytes over links. These weights order the kinds of cost, each above all of the
 * one before: communication of activations, of tensors that stay, sharding a summed tensor as if it were a
 * partial sum, and what is infeasible. */
#define LL_PINNED_COST_FACTOR 1e6 /* times the bytes of a tensor that stays */
#define LL_AVOIDED_BYTES 1e30
#define LL_INFEASIBLE_BYTES 1e60

/* Whether an op only makes a view of what it reads: reshaped, transposed, or in another dtype. Pure. */
bool ll_is_view(const struct ll_op_view *op);

/* Fills the lists; ranks, stride and the flags are the caller's, the rewriting has begun. False when memory
 * ran out. ll_placement_release frees the lists either way. */
bool ll_placement_begin(struct ll_shard_placement *placement, const struct ll_trace *trace);
void ll_placement_release(struct ll_shard_placement *placement);

/* Whether all ranks can have an equal share of a dimension, below shape->rank. A vocabulary need not divide
 * evenly: its shares are rounded up. Pure. */
bool ll_can_shard(const struct ll_shard_placement *placement, const struct ll_shape *shape, unsigned dim);

/* The shape of what a rank holds of a tensor in a state. Pure. */
struct ll_shape ll_shard_shape(const struct ll_shard_placement *placement, struct ll_shape shape,
                               struct ll_shard_state state);

/* The dimension along which a sum may be reduce_scattered: the sequence, or rows or places of experts that
 * hold its positions; -1: none. Pure. */
int ll_sequence_dim(const struct ll_shard_placement *placement, const struct ll_shape *shape);

/* The first sequence length of activations, where no sequence length divides evenly among the ranks; 0 where
 * one does, or where there is none. Pure. */
uint64_t ll_uneven_sequence(const struct ll_shard_placement *placement, const struct ll_trace *trace);

/* The approximate communication in bytes to convert an old tensor to a state; 0 where it is there already.
 * What should be avoided costs LL_PINNED_COST_FACTOR times as much, or LL_AVOIDED_BYTES. Pure. */
double ll_placement_cost_bytes(const struct ll_shard_placement *placement, uint32_t tensor,
                               struct ll_shard_state wanted, enum ll_phase phase);

/* Converts an old tensor to a state, where necessary by collectives of that phase and scope (a string of the
 * new trace), and returns the new tensor. LL_NONE after trouble. */
uint32_t ll_placement_convert(struct ll_shard_placement *placement, uint32_t tensor,
                              struct ll_shard_state wanted, enum ll_phase phase, uint32_t scope);

/* Grouped queries on more ranks than there are key heads (Ainslie et al., GQA, 2023; Shoeybi et al.,
 * Megatron-LM): each key head is copied to ranks / kv_heads ranks, among which its group of queries is
 * divided. Private to sim/parallel. */

/* The trace with as many key heads as ranks, so that each rank has one: [rows, kv_heads, group, head]
 * become [rows, ranks, group kv_heads / ranks, head], and the weights that make keys and values as many
 * times wider; gradients of these are summed among neighbours with the same head before an update reads
 * them. Free with ll_trace_free. NULL where nothing is to be copied, or cannot be. Thread-safe. */
struct ll_trace *ll_replicate_kv_heads(const struct ll_trace *trace, uint64_t ranks);

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
 * (below); once a step these ranks sum their contributions to the gradients of its weights.
 *
 * A dimension that cannot be divided evenly stays whole, which is correct but saves nothing. Heads, FFN
 * features, and time steps of which none divide evenly are refused with a complaint. A vocabulary is divided
 * into shares of ceil(tokens / ranks). */

/* The program of a rank of plan->tensor, all of which are alike; a copy when that is 1. Exchanges are among
 * plan->tensor devices of distance 1. Free with ll_trace_free. NULL after complaints that name the ops.
 * Thread-safe on shared traces. */
struct ll_trace *ll_shard(const struct ll_trace *trace, const struct ll_parallel *plan,
                          struct ll_diags *diags);

/* Whether a rank does less than the whole, if that does anything. Pure. */
bool ll_is_divided(const struct ll_trace *trace, const struct ll_trace *rank);

/* A trace being divided, and along which axis each of its ops is. Private to shard.c
 * and placement.c. */

enum { LL_REPORTED_EXTENTS = 8 };

struct ll_sharding {
    struct ll_shard_placement placement;
    const struct ll_trace *trace;
    struct ll_diags *diags;
    struct ll_arena scratch; /* of the op at work */
    uint32_t op;
    const struct ll_op_signature *signature;
    struct ll_axes axes;
    uint32_t *inputs;  /* tensors of the new trace */
    uint32_t *updated; /* by old tensor: the weight that is changed by it, element by element; LL_NONE */
    bool *summed;      /* by old tensor: a reader wants it summed up, were it a term */
    bool
        labelled; /* weights say which of their dimensions are heads or features inside of feed-forward parts */
    bool whole_experts; /* as the plan says */
    bool right;
    /* What was complained of: an extent that stands in every layer is told of its first op. */
    uint64_t reported[LL_REPORTED_EXTENTS];
    unsigned reported_count;
};

/* Input i of the op at work: the old tensor, and the state in which the rank has it. */
static inline uint32_t ll_old_input(const struct ll_sharding *s, uint32_t i)
{
    return ll_op_input(s->trace, s->op, i);
}
static inline struct ll_shard_state ll_state_of_input(const struct ll_sharding *s, uint32_t i)
{
    return s->placement.states[ll_old_input(s, i)];
}

/* What input i must be if the op at work is divided along an axis. */
struct ll_shard_state ll_wanted_state(const struct ll_sharding *s, uint32_t i, uint8_t axis);

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
 * With plan->cp_comm a2a each device has all positions of some heads for the time of an attention instead;
 * with ring it computes attention with one share of the keys and values after the other, each of which comes
 * from its neighbour (shift) while the one before is at work, and in the backward pass what is made for them
 * goes around too: N - 1 messages of S/N keys and as many values, and going backward N more of their
 * gradients. Results of shares are added up one by one; causal ones all need as many FLOPs as the device's
 * own.
 *
 * Gradients of weights are left as each device's part of a sum, to be summed up by all replicas, of which
 * there are N times as many (exchange.h). Where each position has a row of a weight of its own, the gradient
 * is as long as that, with zeros elsewhere. Results of a step, but for single numbers such as the loss, stay
 * where they are. */

/* The program of one of plan->context devices, which lie plan->tensor apart; a copy when that is 1. What goes
 * along the sequence otherwise (recurrent layers, one position by itself) is refused, and so are traces in
 * which no dimension is a sequence and sequences that have no N, or 2 N, equal pieces. Free with
 * ll_trace_free; NULL after complaints. Thread-safe on shared traces. */
struct ll_trace *ll_share_context(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  struct ll_diags *diags);

/* Whether a workload has sequences, all of which come in so many equal shares. Pure. */
bool ll_has_context(const struct ll_trace *trace, uint64_t ranks);

#endif
