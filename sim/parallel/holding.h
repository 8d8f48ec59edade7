/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank holds of each tensor while a trace is being divided, and how one state becomes another. Private
 * to sim/parallel. */
#ifndef LL_SIM_PARALLEL_HOLDING_H
#define LL_SIM_PARALLEL_HOLDING_H

#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

enum ll_held { LL_HELD_WHOLE, LL_HELD_SHARE, LL_HELD_TERM };

/* All of a tensor, a share along a dimension, or a term of a sum over all ranks. The role says what a divided
 * dimension means: rows may be divided by the steps of time that are in them. */
struct ll_state {
    uint8_t held; /* enum ll_held */
    uint8_t dim, role;
    bool free; /* no op has read it yet and none makes it: it can be had in any state */
};

/* A tensor that is also there in another state, during one phase. */
struct ll_copy_of {
    struct ll_state state;
    uint32_t tensor; /* new */
    uint32_t next;   /* LL_NONE: no more */
    uint8_t phase;
};

struct ll_holding {
    struct ll_rewrite rewrite;
    uint64_t ranks, stride;
    bool by_time;            /* sums may be scattered along the steps of time */
    bool routes_own;         /* a rank chooses experts for its own steps of time: these have their places */
    struct ll_state *states; /* by old tensor */
    uint32_t *copies_of;     /* by old tensor: the first of its copies */
    uint32_t *readers;       /* by old tensor: how many inputs it is */
    bool *stays;             /* by old tensor: of a weight or an optimizer's state, or a look at one */
    struct ll_copy_of *copies;
    uint64_t copy_count, copy_capacity;
};

/* What speaks against a way to divide, in bytes over links; each is more than all that stands before it comes
 * to: exchanges of activations < of what stays where it is, its bytes so many times < dividing what is summed
 * up as if it were a term < what cannot be done. */
#define LL_STAYS_TIMES 1e6
#define LL_NEVER_BYTES 1e30
#define LL_IMPOSSIBLE_BYTES 1e60

/* Whether an op only shows what it reads otherwise: turned, regrouped, in another type. */
bool ll_is_look(const struct ll_op_view *op);

/* False when memory ran out. The rewriting has begun. */
bool ll_holding_begin(struct ll_holding *holding, const struct ll_trace *trace);
void ll_holding_release(struct ll_holding *holding);

/* Whether all ranks can have an equal share of this extent; that of words need not come out even. */
bool ll_divides(const struct ll_holding *holding, const struct ll_shape *shape, unsigned dim);

/* The shape of what a rank holds. */
struct ll_shape ll_share_of(const struct ll_holding *holding, struct ll_shape shape, struct ll_state state);

/* The dimension along which a sum may be scattered: steps of time, or rows or places of experts that hold
 * them; -1 for none. */
int ll_time_dim(const struct ll_holding *holding, const struct ll_shape *shape);

/* The first of the extents along which activations would be divided by time, where none of them comes out
 * even; 0 where one does, or there are none. Pure. */
uint64_t ll_uneven_time(const struct ll_holding *holding, const struct ll_trace *trace);

/* Bytes that go over links, about, to have an old tensor in a state: 0 for what is there. What
 * should not be done costs LL_STAYS_TIMES as much or LL_NEVER_BYTES. */
double ll_cost_of_state(const struct ll_holding *holding, uint32_t tensor, struct ll_state wanted,
                        enum ll_phase phase);

/* The new tensor that is an old one in a state, made if need be by exchanges of that phase and scope (a new
 * string). LL_NONE after trouble. */
uint32_t ll_have_state(struct ll_holding *holding, uint32_t tensor, struct ll_state wanted,
                       enum ll_phase phase, uint32_t scope);

/* Grouped queries on more ranks than there are key heads (Ainslie et al., GQA, 2023; Shoeybi et al.,
 * Megatron-LM): each key head is copied to ranks / key_heads ranks, among which its group of queries is
 * divided. Private to sim/parallel. */

/* The trace with as many key heads as ranks, so that each rank has one: [rows, key_heads, group, head]
 * become [rows, ranks, group key_heads / ranks, head], and the weights that make keys and values as many
 * times wider; gradients of these are summed among neighbours with the same head before an update reads
 * them. Free with ll_trace_free. NULL where nothing is to be copied, or cannot be. Thread-safe. */
struct ll_trace *ll_copy_key_heads(const struct ll_trace *trace, uint64_t ranks);

#endif
