/* SPDX-License-Identifier: Apache-2.0 */
/* In which state a rank holds each tensor (whole, a share along a dimension, a term of a sum), and the
 * collectives that convert one state to another. The last section divides a trace by the positions of its
 * sequences (context parallelism).
 *
 * whole          share along a      share along b         term of a sum
 *  to whole    -              all_gather         all_gather            all_reduce
 *  to share    a slice        -                  all_gather, a slice   reduce_scatter along time; else
 *                                                                      all_reduce, a slice
 *
 * The sum of a term replaces it for good; that of a gradient which an update reads is made once a step, with
 * the update, unless it is scattered. What was gathered or cut out is a copy that lives as long as the phase:
 * going backward it is made anew rather than kept. Gradients that updates read otherwise than they are made
 * change going backward. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/shard.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rescale.h"
#include "tracer/transform/rewrite.h"

bool ll_is_view(const struct ll_op_view *op)
{
    bool looks = op->kind == LL_OP_RESHAPE || op->kind == LL_OP_SEEN_AS || op->kind == LL_OP_TRANSPOSE ||
                 op->kind == LL_OP_CAST || op->kind == LL_OP_REORDER;
    return looks && op->input_count == 1 && op->output_count == 1;
}

/* Weights and states stay where they are, and so does what is only another look at them, as weights cast to
 * the type of GEMMs. */
static void find_what_stays(struct ll_shard_placement *placement, const struct ll_trace *trace)
{
    for (uint32_t i = 0; i < trace->tensor_count; i++) {
        uint32_t memory = trace->descs[trace->tensors[i].desc].memory;
        placement->stays[i] = memory == LL_WEIGHT || memory == LL_OPTIMIZER;
    }
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (ll_is_view(&trace->signatures[trace->ops[op].signature].view))
            placement->stays[ll_op_output(trace, op, 0)] |= placement->stays[ll_op_input(trace, op, 0)];
}

bool ll_placement_begin(struct ll_shard_placement *placement, const struct ll_trace *trace)
{
    assert(placement->ranks > 1 && placement->stride > 0);
    placement->states = calloc(trace->tensor_count + 1, sizeof *placement->states);
    placement->copies_of = calloc(trace->tensor_count + 1, sizeof *placement->copies_of);
    placement->readers = calloc(trace->tensor_count + 1, sizeof *placement->readers);
    placement->stays = calloc(trace->tensor_count + 1, sizeof *placement->stays);
    if (!placement->states || !placement->copies_of || !placement->readers || !placement->stays)
        return false;
    find_what_stays(placement, trace);
    for (uint32_t i = 0; i < trace->tensor_count; i++) {
        placement->copies_of[i] = LL_NONE;
        placement->states[i].free = trace->tensors[i].producer == LL_NONE;
    }
    for (uint32_t op = 0; op < trace->op_count; op++)
        for (uint32_t i = 0; i < trace->signatures[trace->ops[op].signature].view.input_count; i++)
            placement->readers[ll_op_input(trace, op, i)]++;
    return true;
}

void ll_placement_release(struct ll_shard_placement *placement)
{
    free(placement->states);
    free(placement->copies_of);
    free(placement->readers);
    free(placement->stays);
    free(placement->copies);
}

bool ll_can_shard(const struct ll_shard_placement *placement, const struct ll_shape *shape, unsigned dim)
{
    assert(dim < shape->rank);
    uint64_t extent = shape->dim[dim];
    return extent % placement->ranks == 0 ? extent > 0 : shape->role[dim] == LL_ROLE_VOCABULARY;
}

struct ll_shape ll_shard_shape(const struct ll_shard_placement *placement, struct ll_shape shape,
                               struct ll_shard_state state)
{
    assert(state.held != LL_SHARDED || state.dim < shape.rank);
    if (state.held == LL_SHARDED)
        shape.dim[state.dim] = ll_ceil_div(shape.dim[state.dim], placement->ranks);
    return shape;
}

/* Rows of words: of all of them, or at the places of each expert. */
static bool holds_time(const struct ll_shard_placement *placement, const struct ll_shape *shape, unsigned dim)
{
    bool places = placement->routes_own && dim == 1 && shape->role[0] == LL_ROLE_EXPERTS;
    return shape->role[dim] == LL_ROLE_BATCH && (shape->rank == 2 || places);
}

/* Whether it comes out even or not. */
static int find_time(const struct ll_shard_placement *placement, const struct ll_shape *shape)
{
    int found = -1;
    for (unsigned i = shape->rank; placement->by_time && shape->rank > 1 && i-- > 0;)
        if (shape->role[i] == LL_ROLE_SEQUENCE || (found < 0 && holds_time(placement, shape, i)))
            found = (int)i;
    return found;
}

int ll_sequence_dim(const struct ll_shard_placement *placement, const struct ll_shape *shape)
{
    int found = find_time(placement, shape);
    return found >= 0 && ll_can_shard(placement, shape, (unsigned)found) ? found : -1;
}

uint64_t ll_uneven_sequence(const struct ll_shard_placement *placement, const struct ll_trace *trace)
{
    uint64_t uneven = 0;
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        const struct ll_shape *shape = &trace->descs[i].shape;
        int dim = trace->descs[i].memory == LL_ACTIVATION ? find_time(placement, shape) : -1;
        if (dim < 0 || shape->dim[dim] < 2)
            continue;
        if (ll_can_shard(placement, shape, (unsigned)dim))
            return 0;
        uneven = uneven ? uneven : shape->dim[dim];
    }
    return uneven;
}

static const struct ll_tensor_desc *desc_of(const struct ll_shard_placement *placement, uint32_t tensor)
{
    const struct ll_trace *trace = placement->rewrite.old;
    return &trace->descs[trace->tensors[tensor].desc];
}

static bool same_state(struct ll_shard_state a, struct ll_shard_state b)
{
    return a.held == b.held && (a.held != LL_SHARDED || a.dim == b.dim);
}

static const struct ll_placed_copy *find_copy(const struct ll_shard_placement *placement, uint32_t tensor,
                                              struct ll_shard_state wanted, enum ll_phase phase)
{
    for (uint32_t i = placement->copies_of[tensor]; i != LL_NONE; i = placement->copies[i].next)
        if (placement->copies[i].phase == phase && same_state(placement->copies[i].state, wanted))
            return &placement->copies[i];
    return NULL;
}

/* Whether a sum is scattered at once: along time, or as the weight whose gradient it is. */
static bool scatters(const struct ll_shard_placement *placement, uint32_t tensor,
                     struct ll_shard_state wanted, enum ll_phase phase)
{
    return wanted.held == LL_SHARDED &&
           (phase == LL_PHASE_UPDATE ||
            ll_sequence_dim(placement, &desc_of(placement, tensor)->shape) == wanted.dim);
}

double ll_placement_cost_bytes(const struct ll_shard_placement *placement, uint32_t tensor,
                               struct ll_shard_state wanted, enum ll_phase phase)
{
    assert(tensor < placement->rewrite.old->tensor_count);
    struct ll_shard_state now = placement->states[tensor];
    const struct ll_tensor_desc *desc = desc_of(placement, tensor);
    double bytes = (double)ll_size_bytes(&desc->shape);
    if (wanted.held == LL_PARTIAL_SUM && now.held != LL_PARTIAL_SUM)
        return LL_AVOIDED_BYTES;
    if (now.free || same_state(now, wanted) || find_copy(placement, tensor, wanted, phase))
        return 0;
    if (now.held == LL_PARTIAL_SUM)
        return scatters(placement, tensor, wanted, phase) ? bytes : 2 * bytes;
    if (now.held == LL_REPLICATED)
        return 0;
    return placement->stays[tensor] ? LL_PINNED_COST_FACTOR * bytes : bytes;
}

/* Conversions, each from a new tensor to a new one. */

struct work_place {
    uint32_t scope;
    enum ll_phase phase;
};

static uint32_t exchange(struct ll_shard_placement *placement, enum ll_op_kind kind, uint32_t tensor,
                         uint32_t from, struct ll_shard_state to, struct work_place place)
{
    struct ll_shape shape = ll_shard_shape(placement, desc_of(placement, tensor)->shape, to);
    uint32_t desc =
        ll_rewrite_reshaped(&placement->rewrite, placement->rewrite.old->tensors[tensor].desc, &shape);
    const struct ll_exchange_place group = {place.scope, place.phase, placement->ranks, placement->stride};
    return ll_rewrite_exchange(&placement->rewrite, kind, from, desc, &group);
}

/* Each device cuts out its own. */
static uint32_t slice(struct ll_shard_placement *placement, uint32_t tensor, uint32_t from,
                      struct ll_shard_state to, struct work_place place)
{
    struct ll_shape shape = ll_shard_shape(placement, desc_of(placement, tensor)->shape, to);
    uint32_t desc =
        ll_rewrite_reshaped(&placement->rewrite, placement->rewrite.old->tensors[tensor].desc, &shape);
    const struct ll_attr attrs[] = {{.key = LL_ATTR_AXIS, .count = to.dim},
                                    {.key = LL_ATTR_SIZE, .count = (int64_t)shape.dim[to.dim]},
                                    {.key = LL_ATTR_DEVICES, .count = (int64_t)placement->ranks}};
    return ll_rewrite_add(&placement->rewrite, &(struct ll_record){.kind = LL_OP_SLICE,
                                                                   .phase = place.phase,
                                                                   .scope = place.scope,
                                                                   .inputs = &from,
                                                                   .input_count = 1,
                                                                   .outputs = &desc,
                                                                   .output_count = 1,
                                                                   .attrs = attrs,
                                                                   .attr_count = 3});
}

static uint32_t keep_copy(struct ll_shard_placement *placement, uint32_t tensor, struct ll_shard_state state,
                          uint32_t copy, enum ll_phase phase)
{
    if (!ll_grow(&placement->copies, &placement->copy_capacity, placement->copy_count + 1,
                 sizeof *placement->copies)) {
        ll_rewrite_trouble(&placement->rewrite, "memory ran out");
        return LL_NONE;
    }
    placement->copies[placement->copy_count] =
        (struct ll_placed_copy){state, copy, placement->copies_of[tensor], (uint8_t)phase};
    placement->copies_of[tensor] = (uint32_t)placement->copy_count++;
    return copy;
}

/* Gradients that a backward pass makes are shared out with it, though an update is the first to ask. */
static bool is_of_pass(const struct ll_shard_placement *placement, uint32_t tensor)
{
    const struct ll_trace *old = placement->rewrite.old;
    uint32_t maker = old->tensors[tensor].producer;
    return desc_of(placement, tensor)->memory == LL_GRADIENT && maker != LL_NONE &&
           old->signatures[old->ops[maker].signature].phase != LL_PHASE_UPDATE;
}

/* The sum, whole or scattered, which the tensor is from now on. */
static uint32_t sum_up(struct ll_shard_placement *placement, uint32_t tensor, struct ll_shard_state wanted,
                       struct work_place place)
{
    bool scattered = scatters(placement, tensor, wanted, place.phase);
    bool gradient = place.phase == LL_PHASE_UPDATE && desc_of(placement, tensor)->memory == LL_GRADIENT;
    struct ll_shard_state state = {.held = LL_REPLICATED};
    if (scattered)
        state =
            (struct ll_shard_state){LL_SHARDED, wanted.dim, gradient ? wanted.role : LL_ROLE_SEQUENCE, false};
    if (scattered && gradient && is_of_pass(placement, tensor))
        place.phase = LL_PHASE_BACKWARD;
    uint32_t sum = exchange(placement, scattered ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE, tensor,
                            ll_rewrite_tensor(&placement->rewrite, tensor), state, place);
    ll_rewrite_redirect(&placement->rewrite, tensor, sum);
    placement->states[tensor] = state;
    return sum;
}

/* What nobody has read yet is brought as it is wanted. */
static uint32_t bring(struct ll_shard_placement *placement, uint32_t tensor, struct ll_shard_state wanted)
{
    struct ll_shape shape = ll_shard_shape(placement, desc_of(placement, tensor)->shape, wanted);
    uint32_t desc =
        ll_rewrite_reshaped(&placement->rewrite, placement->rewrite.old->tensors[tensor].desc, &shape);
    uint32_t brought = ll_rewrite_bring(&placement->rewrite, desc);
    ll_rewrite_redirect(&placement->rewrite, tensor, brought);
    wanted.free = false;
    placement->states[tensor] = wanted;
    return brought;
}

uint32_t ll_placement_convert(struct ll_shard_placement *placement, uint32_t tensor,
                              struct ll_shard_state wanted, enum ll_phase phase, uint32_t scope)
{
    assert(tensor < placement->rewrite.old->tensor_count && wanted.held <= LL_PARTIAL_SUM);
    static const struct ll_shard_state whole = {.held = LL_REPLICATED};
    struct work_place place = {scope, phase};
    const struct ll_placed_copy *copy = find_copy(placement, tensor, wanted, phase);
    if (placement->states[tensor].free)
        return bring(placement, tensor, wanted);
    if (placement->states[tensor].held == LL_PARTIAL_SUM && wanted.held != LL_PARTIAL_SUM)
        sum_up(placement, tensor, wanted, place);
    uint32_t now = ll_rewrite_tensor(&placement->rewrite, tensor);
    if (same_state(placement->states[tensor], wanted))
        return now;
    if (copy)
        return copy->tensor;
    if (phase == LL_PHASE_UPDATE && is_of_pass(placement, tensor))
        place.phase = LL_PHASE_BACKWARD;
    if (wanted.held == LL_REPLICATED)
        return keep_copy(placement, tensor, wanted,
                         exchange(placement, LL_OP_ALL_GATHER, tensor, now, whole, place), phase);
    if (placement->states[tensor].held == LL_SHARDED)
        now = ll_placement_convert(placement, tensor, whole, phase, scope);
    return keep_copy(placement, tensor, wanted, slice(placement, tensor, now, wanted, place), phase);
}

/* Context parallelism. The walk is that of sim/parallel/shard.c with two differences: inputs of the program
 * that have positions are divided by positions, and all other tensors follow; weights stay whole and decide
 * nothing. */

struct sharing {
    struct ll_sharding sharding;
    uint64_t batch; /* samples; 0: nobody knows */
    uint32_t
        *by_head; /* by old tensor, with all_to_all: the new one of a share of the heads; LL_NONE: none */
    bool in_ring; /* attention takes one share of keys and values after the other */
};

static struct ll_shard_state state_along(int dim)
{
    return (struct ll_shard_state){LL_SHARDED, (uint8_t)dim, LL_ROLE_SEQUENCE, false};
}

static const struct ll_tensor_desc *context_desc_of(const struct ll_trace *trace, uint32_t tensor)
{
    return &trace->descs[trace->tensors[tensor].desc];
}

/* Weights and what belongs to them. */
static bool is_state(const struct ll_tensor_desc *desc)
{
    return desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER;
}

/* The dimension of positions; of rows that are more than samples, all samples' positions. -1: none, or they
 * have no equal shares. */
static int dim_of_positions(const struct sharing *c, const struct ll_shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_SEQUENCE && shape->dim[i] > 1)
            return ll_can_shard(&c->sharding.placement, shape, (unsigned)i) ? i : -1;
    uint64_t rows = shape->rank > 0 && shape->role[0] == LL_ROLE_BATCH ? shape->dim[0] : 0;
    bool holds = c->batch > 0 && rows > c->batch && rows % c->batch == 0;
    return holds && ll_can_shard(&c->sharding.placement, shape, 0) ? 0 : -1;
}

/* What nobody makes: weights and states are whole, what has positions is divided by them. */
static void begin_states(struct sharing *c)
{
    const struct ll_trace *trace = c->sharding.trace;
    struct ll_shard_state *states = c->sharding.placement.states;
    for (uint32_t i = 0; i < trace->tensor_count; i++)
        if (trace->tensors[i].producer == LL_NONE && is_state(context_desc_of(trace, i)))
            states[i].free = false;
}

static void bring_inputs(struct sharing *c)
{
    struct ll_sharding *s = &c->sharding;
    for (uint32_t i = 0; i < s->signature->view.input_count; i++) {
        int dim = dim_of_positions(c, &s->signature->view.in[i]);
        if (dim >= 0 && ll_state_of_input(s, i).free)
            ll_placement_convert(&s->placement, ll_old_input(s, i), state_along(dim), s->signature->phase,
                                 LL_NONE);
    }
}

/* The axis along which an input lies divided; 0: it does not, or the op cannot be divided so. */
static uint8_t axis_of_input(const struct ll_sharding *s, uint32_t i)
{
    struct ll_shard_state state = ll_state_of_input(s, i);
    if (state.free || state.held != LL_SHARDED)
        return 0;
    uint8_t axis = ll_axis_in(&s->axes, i, state.dim);
    return axis && ll_axis_divides(s, axis) ? axis : 0;
}

static bool makes_of_numbers(const struct ll_op_view *op)
{
    for (uint32_t i = 0; i < op->input_count; i++)
        if (op->in[i].rank > 0)
            return false;
    return true;
}

/* Results that are made of nothing but numbers are divided by their positions. */
static uint8_t axis_of_source(struct sharing *c)
{
    struct ll_sharding *s = &c->sharding;
    uint8_t axis = 0;
    for (uint32_t i = 0; i < s->signature->view.output_count && makes_of_numbers(&s->signature->view); i++) {
        int dim = dim_of_positions(c, &s->signature->view.out[i]);
        if (dim >= 0 && (axis || (axis = ll_new_axis(&s->axes, false))))
            ll_set_axis_out(&s->axes, i, dim, axis);
    }
    return axis;
}

/* That of the first input; of a GEMM rows rather than terms of sums, for these are as large as all. */
static uint8_t axis_of_op(struct sharing *c)
{
    const struct ll_sharding *s = &c->sharding;
    uint8_t best = 0;
    for (uint32_t i = 0; i < s->signature->view.input_count; i++) {
        uint8_t axis = axis_of_input(s, i);
        if (axis && (!best || (s->axes.summed[best] && !s->axes.summed[axis])))
            best = axis;
    }
    return best ? best : axis_of_source(c);
}

/* What an op that has an axis may need whole: keys and values, and what is said of keys (which of them are
 * hidden) for each query. */
static bool is_of_keys(const struct ll_op_view *op, uint32_t input)
{
    enum ll_op_class class = ll_op_class(op->kind);
    return class == LL_CLASS_MATRIX || (class == LL_CLASS_ELEMENTWISE && op->output_count > 0 &&
                                        ll_elements(&op->in[input]) < ll_elements(&op->out[0]));
}

/* Whether nothing else is missing, an axis that results do not have is one that can be summed along, and no
 * result is divided by samples. */
static bool may_be_so(const struct sharing *c, uint8_t axis)
{
    const struct ll_sharding *s = &c->sharding;
    const struct ll_op_view *op = &s->signature->view;
    for (uint32_t i = 0; i < op->input_count; i++) {
        struct ll_shard_state now = ll_state_of_input(s, i), wanted = ll_wanted_state(s, i, axis);
        bool there = now.free || now.held != LL_SHARDED || (wanted.held == now.held && wanted.dim == now.dim);
        if (!there && !(axis && is_of_keys(op, i)))
            return false;
    }
    for (uint32_t i = 0; axis && i < op->output_count; i++) {
        int dim = ll_dim_out(&s->axes, i, axis);
        bool samples = dim >= 0 && op->out[i].role[dim] == LL_ROLE_BATCH && op->out[i].dim[dim] <= c->batch;
        if (samples || (dim < 0 && !s->axes.summed[axis]))
            return false;
    }
    return true;
}

/* Whether something lies along an axis that has no equal shares. */
static bool is_uneven(const struct ll_sharding *s)
{
    for (uint32_t i = 0; i < s->signature->view.input_count; i++) {
        struct ll_shard_state state = ll_state_of_input(s, i);
        uint8_t axis = !state.free && state.held == LL_SHARDED ? ll_axis_in(&s->axes, i, state.dim) : 0;
        if (axis && !ll_axis_divides(s, axis))
            return true;
    }
    return false;
}

static bool attends(const struct ll_op_view *op)
{
    return op->kind == LL_OP_CAUSAL_ATTENTION || op->kind == LL_OP_CAUSAL_ATTENTION_GRAD;
}

/* Whether causal attention can be shared out so that all do as much. */
static bool is_balanced(const struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->signature->view;
    if (!attends(op) || !axis)
        return true;
    uint64_t rows = op->in[0].dim[op->in[0].rank - 2],
             groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1);
    return rows / groups % ll_mul(2, s->placement.ranks) == 0;
}

static bool complain(struct ll_sharding *s, const char *what)
{
    const char *kind = s->trace->strings[s->signature->kind_name],
               *scope = s->trace->strings[s->signature->scope];
    s->right = false;
    return ll_complain(s->diags, (struct ll_place){0}, "cp %" PRIu64 ": op %" PRIu32 ", %s%s%s, %s",
                       s->placement.ranks, s->op, kind, *scope ? " in " : "", scope, what);
}

/* Attention by heads: for the time of an attention each device has some heads at all positions (Jacobs et
 * al., DeepSpeed Ulysses, 2023). What it has then is kept for the backward pass, as Transformer Engine
 * does. */

enum { HEADS = 1, POSITIONS = 2 }; /* dimensions of [samples, heads, positions, features] */

static uint32_t desc_by_heads(struct sharing *c, uint32_t tensor)
{
    struct ll_shard_placement *placement = &c->sharding.placement;
    struct ll_shape shape = context_desc_of(c->sharding.trace, tensor)->shape;
    shape.dim[HEADS] /= placement->ranks;
    return ll_rewrite_reshaped(&placement->rewrite, c->sharding.trace->tensors[tensor].desc, &shape);
}

static uint32_t laid_out(struct sharing *c, uint32_t tensor, uint32_t desc)
{
    struct ll_shard_placement *placement = &c->sharding.placement;
    const struct ll_op_signature *signature = c->sharding.signature;
    return ll_rewrite_add(&placement->rewrite, &(struct ll_record){.kind = LL_OP_COPY,
                                                                   .phase = signature->phase,
                                                                   .scope = ll_rewrite_string(
                                                                       &placement->rewrite, signature->scope),
                                                                   .inputs = &tensor,
                                                                   .input_count = 1,
                                                                   .outputs = &desc,
                                                                   .output_count = 1});
}

/* What arrives is seen as a share along the other dimension. It is laid out by devices before and by
 * positions after (Transformer Engine, flash_attn_a2a_communicate). */
static uint32_t all_to_all(struct sharing *c, uint32_t from, uint32_t sent_as, uint32_t seen_as)
{
    struct ll_shard_placement *placement = &c->sharding.placement;
    const struct ll_op_signature *signature = c->sharding.signature;
    const struct ll_exchange_place group = {ll_rewrite_string(&placement->rewrite, signature->scope),
                                            signature->phase, placement->ranks, placement->stride};
    uint32_t there = ll_rewrite_exchange(&placement->rewrite, LL_OP_ALL_TO_ALL, laid_out(c, from, sent_as),
                                         sent_as, &group);
    there = ll_rewrite_add(&placement->rewrite, &(struct ll_record){.kind = LL_OP_SEEN_AS,
                                                                    .phase = group.phase,
                                                                    .scope = group.scope,
                                                                    .inputs = &there,
                                                                    .input_count = 1,
                                                                    .outputs = &seen_as,
                                                                    .output_count = 1});
    return laid_out(c, there, seen_as);
}

static uint32_t desc_by_positions(struct sharing *c, uint32_t tensor)
{
    struct ll_sharding *s = &c->sharding;
    struct ll_shape shape =
        ll_shard_shape(&s->placement, context_desc_of(s->trace, tensor)->shape, state_along(POSITIONS));
    return ll_rewrite_reshaped(&s->placement.rewrite, s->trace->tensors[tensor].desc, &shape);
}

/* All positions of a share of the heads; made once. */
static uint32_t to_heads(struct sharing *c, uint32_t tensor)
{
    struct ll_sharding *s = &c->sharding;
    if (c->by_head[tensor] == LL_NONE) {
        uint32_t here =
            ll_placement_convert(&s->placement, tensor, state_along(POSITIONS), s->signature->phase, LL_NONE);
        c->by_head[tensor] = all_to_all(c, here, desc_by_positions(c, tensor), desc_by_heads(c, tensor));
    }
    return c->by_head[tensor];
}

/* The result of an attention at the device's own positions. */
static void to_positions(struct sharing *c, uint32_t tensor)
{
    struct ll_sharding *s = &c->sharding;
    ll_rewrite_redirect(
        &s->placement.rewrite, tensor,
        all_to_all(c, c->by_head[tensor], desc_by_heads(c, tensor), desc_by_positions(c, tensor)));
    s->placement.states[tensor] = state_along(POSITIONS);
}

static bool attend_by_heads(struct sharing *c, uint32_t op)
{
    struct ll_sharding *s = &c->sharding;
    const struct ll_op_view *view = &s->signature->view;
    const bool forward = view->kind == LL_OP_CAUSAL_ATTENTION;
    struct ll_record record;
    if (view->input_count != (forward ? 3 : 6))
        return complain(s, "has sinks, which cp_comm all_to_all does not divide; expected all_gather");
    if (view->in[1].dim[HEADS] % s->placement.ranks != 0)
        return complain(
            s, "has key heads that do not come in as many equal shares, as cp_comm all_to_all needs");
    uint32_t *inputs = ll_alloc(&s->scratch, view->input_count, sizeof *inputs),
             *outputs = ll_alloc(&s->scratch, view->output_count, sizeof *outputs);
    if (!inputs || !outputs)
        return ll_rewrite_trouble(&s->placement.rewrite, "memory ran out");
    for (uint32_t i = 0; i < view->input_count; i++)
        inputs[i] = to_heads(c, ll_old_input(s, i));
    for (uint32_t i = 0; i < view->output_count; i++)
        outputs[i] = desc_by_heads(c, ll_op_output(s->trace, op, i));
    if (!ll_rewrite_record(&s->placement.rewrite, op, &record))
        return false;
    record.inputs = inputs;
    record.outputs = outputs;
    if (ll_rewrite_put(&s->placement.rewrite, op, &record) == LL_NONE)
        return false;
    for (uint32_t i = 0; i < view->output_count; i++) {
        uint32_t tensor = ll_op_output(s->trace, op, i);
        c->by_head[tensor] = ll_rewrite_tensor(&s->placement.rewrite, tensor);
        if (!forward || i == 0) /* what the softmax was divided by only the gradient reads */
            to_positions(c, tensor);
    }
    return !s->placement.rewrite.trouble;
}

/* Attention in a ring: a device's queries meet one share of the keys and values after the other, which go on
 * to the next device meanwhile (Liu et al., Ring attention with blockwise transformers, 2023). With two
 * pieces of the sequence each, from the front and from behind, each share is as much work as the device's
 * own. */

/* Several tensors go to the next device. */
static uint32_t shift(struct sharing *c, const uint32_t *tensors, uint32_t count)
{
    struct ll_shard_placement *placement = &c->sharding.placement;
    const struct ll_op_signature *signature = c->sharding.signature;
    const struct ll_attr attrs[] = {{.key = LL_ATTR_DEVICES, .count = (int64_t)placement->ranks},
                                    {.key = LL_ATTR_STRIDE, .count = (int64_t)placement->stride},
                                    {.key = LL_ATTR_PIECE, .count = LL_PIECE_MESSAGE}};
    uint32_t descs[4];
    assert(count <= sizeof descs / sizeof *descs);
    for (uint32_t i = 0; i < count && !placement->rewrite.trouble; i++)
        descs[i] = ll_rewrite_new_desc(&placement->rewrite, "from the ring",
                                       ll_rewrite_shape(&placement->rewrite, tensors[i]), LL_ACTIVATION);
    return ll_rewrite_add(&placement->rewrite, &(struct ll_record){.kind = LL_OP_SHIFT,
                                                                   .phase = signature->phase,
                                                                   .scope = ll_rewrite_string(
                                                                       &placement->rewrite, signature->scope),
                                                                   .inputs = tensors,
                                                                   .input_count = count,
                                                                   .outputs = descs,
                                                                   .output_count = count,
                                                                   .attrs = attrs,
                                                                   .attr_count = 3});
}

/* Adds what one share gave to what others did; shares of a softmax are weighed on the way. */
static uint32_t weigh(struct sharing *c, uint32_t sum, uint32_t term, uint32_t desc)
{
    struct ll_shard_placement *placement = &c->sharding.placement;
    const struct ll_op_signature *signature = c->sharding.signature;
    return ll_rewrite_add(&placement->rewrite, &(struct ll_record){.kind = LL_OP_AXPBY,
                                                                   .phase = signature->phase,
                                                                   .scope = ll_rewrite_string(
                                                                       &placement->rewrite, signature->scope),
                                                                   .inputs = (uint32_t[]){sum, term},
                                                                   .input_count = 2,
                                                                   .outputs = &desc,
                                                                   .output_count = 1});
}

enum { RING_OUTPUTS = 4 };

/* One share after the other. Of the forward pass queries, keys and values are inputs 0 to 2, of the backward
 * pass 1 to 3; what is made for keys and values there, outputs 1 and 2, goes around with them. */
static void go_around(struct sharing *c, struct ll_record *record, uint32_t *inputs, uint32_t *sums)
{
    struct ll_sharding *s = &c->sharding;
    const bool forward = s->signature->view.kind == LL_OP_CAUSAL_ATTENTION;
    uint32_t *keys = inputs + (forward ? 1 : 2);
    record->inputs = inputs;
    for (uint64_t i = 0; i < s->placement.ranks && !s->placement.rewrite.trouble; i++) {
        const bool last = i + 1 == s->placement.ranks;
        const uint32_t next = last ? LL_NONE : shift(c, keys, 2);
        const uint32_t made = ll_rewrite_add(&s->placement.rewrite, record);
        if (!forward && i > 0) { /* sums of the devices before */
            const uint32_t brought = shift(c, sums + 1, 2);
            sums[1] = brought;
            sums[2] = brought + 1;
        }
        for (uint32_t o = 0; o < record->output_count && made != LL_NONE; o++)
            sums[o] = i == 0 ? made + o : weigh(c, sums[o], made + o, record->outputs[o]);
        keys[0] = next;
        keys[1] = next + 1;
    }
    if (!forward && !s->placement.rewrite.trouble) { /* the last device has those of the next one */
        const uint32_t home = shift(c, sums + 1, 2);
        sums[1] = home;
        sums[2] = home + 1;
    }
}

static bool attend_in_ring(struct sharing *c, uint32_t op)
{
    struct ll_sharding *s = &c->sharding;
    const struct ll_op_view *view = &s->signature->view;
    const bool forward = view->kind == LL_OP_CAUSAL_ATTENTION;
    uint32_t inputs[6], outputs[RING_OUTPUTS], sums[RING_OUTPUTS];
    struct ll_record record;
    if (view->input_count != (forward ? 3 : 6) || view->output_count > RING_OUTPUTS)
        return complain(s, "has sinks, which cp_comm ring does not pass on; expected all_gather");
    for (uint32_t i = 0; i < view->input_count; i++)
        inputs[i] = ll_placement_convert(&s->placement, ll_old_input(s, i), state_along(POSITIONS),
                                         s->signature->phase, LL_NONE);
    if (!ll_rewrite_record(&s->placement.rewrite, op, &record))
        return false;
    for (uint32_t i = 0; i < view->output_count; i++)
        outputs[i] = desc_by_positions(c, ll_op_output(s->trace, op, i));
    record.outputs = outputs;
    ll_rewrite_step(&s->placement.rewrite, op);
    go_around(c, &record, inputs, sums);
    for (uint32_t i = 0; i < view->output_count && !s->placement.rewrite.trouble; i++) {
        const uint32_t tensor = ll_op_output(s->trace, op, i);
        ll_rewrite_redirect(&s->placement.rewrite, tensor, sums[i]);
        s->placement.states[tensor] = state_along(POSITIONS);
    }
    s->placement.rewrite.ops[op] = s->placement.rewrite.op_count - 1;
    return !s->placement.rewrite.trouble;
}

/* Sums over all positions for each of them are shared out at once. */
static void scatter_sums(struct ll_sharding *s)
{
    struct ll_shard_placement *placement = &s->placement;
    for (uint32_t i = 0; i < s->signature->view.output_count; i++) {
        uint32_t tensor = ll_op_output(s->trace, s->op, i);
        int dim = ll_sequence_dim(placement, &s->signature->view.out[i]);
        bool scatters = placement->states[tensor].held == LL_PARTIAL_SUM && s->updated[tensor] == LL_NONE;
        bool unread = placement->readers[tensor] == 0 && s->signature->phase == LL_PHASE_FORWARD;
        uint32_t scope = ll_rewrite_string(&placement->rewrite, s->signature->scope);
        if (scatters && dim >= 0)
            ll_placement_convert(placement, tensor, state_along(dim), s->signature->phase, scope);
        else if (scatters && unread)
            ll_placement_convert(placement, tensor, (struct ll_shard_state){.held = LL_REPLICATED},
                                 s->signature->phase, scope);
    }
}

/* Context parallelism: writes one op with its positions divided, unless it passes on terms of a sum;
 * complains where an op needs positions that other devices have. */
static bool divide_op(struct sharing *c, uint32_t op)
{
    struct ll_sharding *s = &c->sharding;
    struct ll_divided held = {.dim = -1};
    s->signature = &s->trace->signatures[s->trace->ops[op].signature];
    s->op = op;
    bring_inputs(c);
    if (c->by_head && attends(&s->signature->view))
        return attend_by_heads(c, op);
    if (c->in_ring && attends(&s->signature->view))
        return attend_in_ring(c, op);
    if (s->signature->view.input_count > 0 && ll_state_of_input(s, 0).held == LL_SHARDED)
        held = (struct ll_divided){ll_state_of_input(s, 0).dim, LL_ROLE_SEQUENCE};
    if (!ll_shard_begin_op(s, op, held))
        return false;
    bool terms = ll_shard_passes_terms(s);
    uint8_t axis = terms ? 0 : axis_of_op(c);
    if (!may_be_so(c, axis))
        return complain(s, is_uneven(s) ? "does not come in as many equal shares"
                                        : "needs positions that other devices have");
    if (!is_balanced(s, axis))
        return complain(s, "has a sequence that is no multiple of twice that");
    bool written = ll_shard_write_op(s, axis, terms);
    for (uint32_t i = 0; i < s->signature->view.output_count; i++)
        s->placement.states[ll_op_output(s->trace, op, i)].role = LL_ROLE_SEQUENCE;
    if (written)
        scatter_sums(s);
    return written;
}

/* Gradients of rows that belong to positions, with zeros for the positions of others. */
static void pad_gradient(struct ll_sharding *s, uint32_t tensor)
{
    struct ll_rewrite *rewrite = &s->placement.rewrite;
    struct ll_shard_state state = s->placement.states[tensor];
    const struct ll_shape *whole = &context_desc_of(s->trace, tensor)->shape;
    uint64_t share = ll_shard_shape(&s->placement, *whole, state).dim[state.dim];
    const struct ll_attr attrs[] = {
        {.key = LL_ATTR_AXIS, .count = state.dim},
        {.key = LL_ATTR_BEFORE, .count = 0},
        {.key = LL_ATTR_AFTER, .count = (int64_t)(whole->dim[state.dim] - share)}};
    uint32_t input = ll_rewrite_tensor(rewrite, tensor);
    uint32_t desc = ll_rewrite_desc(rewrite, s->trace->tensors[tensor].desc);
    ll_rewrite_redirect(
        rewrite, tensor,
        ll_rewrite_add(rewrite, &(struct ll_record){.kind = LL_OP_PAD,
                                                    .phase = LL_PHASE_BACKWARD,
                                                    .scope = ll_rewrite_string(rewrite, s->signature->scope),
                                                    .inputs = &input,
                                                    .input_count = 1,
                                                    .outputs = &desc,
                                                    .output_count = 1,
                                                    .attrs = attrs,
                                                    .attr_count = 3}));
    s->placement.states[tensor] = (struct ll_shard_state){.held = LL_PARTIAL_SUM};
}

/* Each replica updates all weights; gradients are summed up before (exchange.h). */
static bool keep_update(struct ll_sharding *s, uint32_t op)
{
    s->signature = &s->trace->signatures[s->trace->ops[op].signature];
    s->op = op;
    for (uint32_t i = 0; i < s->signature->view.input_count; i++)
        if (ll_state_of_input(s, i).held == LL_SHARDED)
            pad_gradient(s, ll_old_input(s, i));
    ll_rewrite_keep(&s->placement.rewrite, op);
    return !s->placement.rewrite.trouble;
}

static bool walk_op(struct sharing *c, uint32_t op)
{
    struct ll_sharding *s = &c->sharding;
    bool update = s->trace->signatures[s->trace->ops[op].signature].phase == LL_PHASE_UPDATE;
    bool going = update ? keep_update(s, op) : divide_op(c, op);
    ll_arena_reset(&s->scratch);
    return going;
}

/* The first length of a sequence of activations that has no equal shares; 0: all have, and *found whether
 * there are any. Gradients are as these, or as weights. */
static uint64_t find_uneven(const struct ll_trace *trace, uint64_t ranks, bool *found)
{
    *found = false;
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        const struct ll_shape *shape = &trace->descs[i].shape;
        bool weight = is_state(&trace->descs[i]) || trace->descs[i].memory == LL_GRADIENT;
        for (unsigned k = 0; k < shape->rank && !weight; k++) {
            if (shape->role[k] != LL_ROLE_SEQUENCE || shape->dim[k] < 2)
                continue;
            *found = true;
            if (shape->dim[k] % ranks != 0)
                return shape->dim[k];
        }
    }
    return 0;
}

bool ll_has_context(const struct ll_trace *trace, uint64_t ranks)
{
    bool found;
    return find_uneven(trace, ranks, &found) == 0 && found;
}

static bool check_sequences(const struct ll_trace *trace, uint64_t ranks, struct ll_diags *diags)
{
    bool found;
    uint64_t uneven = find_uneven(trace, ranks, &found);
    if (uneven > 0)
        return ll_complain(diags, (struct ll_place){0},
                           "cp %" PRIu64 ": a sequence of %" PRIu64
                           " positions cannot be divided among as many devices",
                           ranks, uneven);
    return found || ll_complain(diags, (struct ll_place){0},
                                "cp %" PRIu64 ": no dimension in this workload is a sequence", ranks);
}

/* Many devices that all do the same are a mistake. */
static struct ll_trace *refuse_whole(const struct ll_trace *trace, struct ll_trace *share, uint64_t ranks,
                                     struct ll_diags *diags)
{
    if (!share || ll_is_divided(trace, share))
        return share;
    ll_complain(diags, (struct ll_place){0},
                "cp %" PRIu64 ": what this workload reads is not known to have positions", ranks);
    ll_trace_free(share);
    return NULL;
}

/* By tensor LL_NONE; NULL when memory ran out. */
static uint32_t *no_heads(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint32_t *by_head = ll_alloc(arena, trace->tensor_count + 1, sizeof *by_head);
    if (by_head)
        memset(by_head, 0xff, (trace->tensor_count + 1) * sizeof *by_head);
    return by_head;
}

struct ll_trace *ll_share_context(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  struct ll_diags *diags)
{
    assert(plan->context > 0 && plan->tensor > 0);
    struct sharing c = {.sharding = {.trace = trace, .diags = diags, .right = true},
                        .batch = ll_trace_batch(trace),
                        .in_ring = plan->cp_comm == LL_CP_COMM_RING};
    struct ll_sharding *s = &c.sharding;
    char ranks[24];
    if (plan->context <= 1) {
        struct ll_trace *copy = ll_trace_copy(trace);
        if (!copy)
            ll_complain(diags, (struct ll_place){0}, "memory ran out");
        return copy;
    }
    if (!check_sequences(trace, plan->context, diags))
        return NULL;
    snprintf(ranks, sizeof ranks, "%" PRIu64, plan->context);
    const struct ll_fact fact = {"parallel.context", ranks};
    s->placement.ranks = plan->context;
    s->placement.stride = plan->tensor;
    s->placement.by_time = true;
    s->axes.by_position = true;
    ll_rewrite_begin(&s->placement.rewrite, trace, &fact, 1);
    if (!ll_placement_begin(&s->placement, trace) || !ll_shard_find_updated(s) || !ll_shard_find_summed(s))
        ll_rewrite_trouble(&s->placement.rewrite, "memory ran out");
    if (plan->cp_comm == LL_CP_COMM_ALL_TO_ALL && !(c.by_head = no_heads(trace, &s->placement.rewrite.arena)))
        ll_rewrite_trouble(&s->placement.rewrite, "memory ran out");
    bool going = !s->placement.rewrite.trouble;
    if (going)
        begin_states(&c);
    for (uint32_t op = 0; op < trace->op_count && going; op++)
        going = walk_op(&c, op);
    s->op = going ? LL_NONE : s->op;
    return refuse_whole(trace, ll_shard_end(s), plan->context, diags);
}
