/* SPDX-License-Identifier: Apache-2.0 */
/* A trace being divided, and along which axis each of its ops is. Private to sim/parallel/shard*.c
 * and context.c. */
#ifndef LL_SIM_PARALLEL_SHARD_AXIS_H
#define LL_SIM_PARALLEL_SHARD_AXIS_H

#include "sim/parallel/axes.h"
#include "sim/parallel/holding.h"
#include "tracer/base/diag.h"

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

/* The axis along which the op at work is divided, 0: nowhere. Complains of what cannot be divided and must.
 */
uint8_t ll_axis_of_op(struct ll_sharding *s);

/* What input i must be if the op at work is divided along an axis. */
struct ll_state ll_wanted_of(const struct ll_sharding *s, uint32_t i, uint8_t axis);

/* Whether every dimension of an axis of the op at work comes in shares that go together: where they are of
 * different length (parts that are joined) in equal ones. */
bool ll_axis_divides(const struct ll_sharding *s, uint8_t axis);

/* Whether an old tensor is a weight that nobody has divided yet, or a look at one. */
bool ll_is_undecided(const struct ll_sharding *s, uint32_t tensor);

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
