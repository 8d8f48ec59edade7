/* SPDX-License-Identifier: Apache-2.0 */
/* Time is what the end of all moves on with each op, so that the layers' times add up to the step's. */
#include "sim/parallel/profile.h"

#include "sim/parallel/experts.h"
#include "sim/parallel/layers.h"
#include "sim/parallel/stage_memory.h"
#include "tracer/ir/trace.h"

#include <math.h>
#include <string.h>

/* Activations that are not kept for the backward pass; that are, come what may; that a layer which is
 * computed again makes anew. */
enum part { PASSING, HELD, INSIDE, PARTS };

struct profiling {
    const struct ll_result *result;
    const struct ll_trace *trace;
    const struct ll_life *lives;
    struct ll_layers layers;
    uint32_t end;      /* of the first step */
    uint32_t boundary; /* its last op going forward; LL_NONE: it has none */
    uint32_t *user;    /* by storage: the op that first reads it or makes it */
    bool *carried;     /* by storage: each micro-batch has one of its own all the time */
    bool *of_experts;  /* by storage: replicas may have some of it each */
    bool *stays; /* by storage: is there though its layer is computed again (sim/parallel/recompute.h) */
    uint64_t *changes[PARTS];    /* bytes: [2 op] is born with an op, [2 op + 1] dies after it */
    uint64_t *kept_bytes[PARTS]; /* by layer: that live now */
    struct ll_layer_costs *costs;
};

/* What belongs to no layer counts for the first. */
static struct ll_layer_cost *cost_of(const struct profiling *p, uint32_t op)
{
    uint32_t layer = op == LL_NONE || p->layers.owner[op] == LL_NONE ? 0 : p->layers.owner[op];
    return &p->costs->at[layer];
}

static const struct ll_form *form_of(const struct profiling *p, uint32_t op)
{
    return &p->trace->forms[p->trace->ops[op].form];
}

static uint32_t storage_of(const struct profiling *p, uint32_t tensor)
{
    return p->trace->tensors[tensor].storage;
}

/* --- times --- */

static void sum_times(const struct profiling *p)
{
    const struct ll_prepared *prepared = p->result->prepared;
    double end_s = 0, steps = (double)prepared->steps;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_result *op = &p->result->ops[seq - prepared->first_op];
        enum ll_phase phase = form_of(p, seq)->phase;
        double more_s = fmax(0, op->start_s + op->time_s - end_s) / steps;
        double units_s = op->bound == LL_BOUND_COMPUTE ? fmin(more_s, op->active_s / steps) : 0;
        struct ll_layer_cost *cost = cost_of(p, seq);
        end_s = fmax(end_s, op->start_s + op->time_s);
        if (phase == LL_PHASE_BACKWARD) {
            cost->backward_s += more_s;
            cost->backward_units_s += units_s;
        } else if (phase == LL_PHASE_UPDATE || phase == LL_PHASE_COMM) {
            cost->update_s += more_s;
            cost->update_start_s += fmin(more_s, p->result->machine->software.op_overhead_s / steps);
        } else {
            cost->forward_s += more_s;
            cost->forward_units_s += units_s;
            cost->again_s += phase == LL_PHASE_FORWARD && p->layers.named[seq] != LL_NONE ? more_s : 0;
        }
    }
}

/* --- weights, states and gradients --- */

static void add_state(struct ll_state_bytes *sum, const struct ll_life *life)
{
    if (life->memory == LL_WEIGHT)
        sum->weight += (double)life->bytes;
    else if (life->memory == LL_OPTIMIZER)
        sum->optimizer += (double)life->bytes;
    else if (life->memory == LL_GRADIENT && life->updates)
        sum->gradient += (double)life->bytes;
}

/* Each counts for the layer that first reads or makes it. */
static void sum_states(const struct profiling *p)
{
    for (uint64_t s = 0; s < p->trace->storage_count; s++) {
        if (p->lives[s].first == LL_NONE || p->user[s] >= p->end)
            continue;
        struct ll_layer_cost *cost = cost_of(p, p->user[s]);
        add_state(&cost->state, &p->lives[s]);
        if (p->of_experts[s])
            add_state(&cost->of_experts, &p->lives[s]);
        cost->carried_bytes += p->carried[s] ? (double)p->lives[s].bytes : 0;
    }
}

/* What the ops of each layer read of weights, going forward and going backward; a weight that several layers
 * read counts for each. reader: by storage which of these passes read it last. */
static void sum_read(const struct profiling *p, uint32_t *reader)
{
    memset(reader, 0xff, p->trace->storage_count * sizeof *reader);
    for (uint32_t op = 0; op < p->end; op++) {
        const struct ll_form *form = form_of(p, op);
        bool backward = form->phase == LL_PHASE_BACKWARD;
        struct ll_layer_cost *cost = cost_of(p, op);
        uint32_t pass = 2 * (uint32_t)(cost - p->costs->at) + backward;
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            uint32_t storage = storage_of(p, ll_op_input(p->trace, op, i));
            if (form->phase == LL_PHASE_UPDATE || p->lives[storage].memory != LL_WEIGHT ||
                reader[storage] == pass)
                continue;
            reader[storage] = pass;
            *(backward ? &cost->backward_read_bytes : &cost->forward_read_bytes) +=
                (double)p->lives[storage].bytes;
        }
    }
}

/* --- activations --- */

static bool lasts(const struct profiling *p, uint64_t storage)
{
    const struct ll_life *life = &p->lives[storage];
    return life->memory == LL_WEIGHT || life->memory == LL_OPTIMIZER || p->carried[storage] ||
           (life->memory == LL_GRADIENT && life->updates);
}

static bool is_kept(const struct profiling *p, const struct ll_life *life)
{
    return p->boundary != LL_NONE && life->first <= p->boundary && life->last > p->boundary;
}

/* The layer that makes a tensor going forward and would make it again; LL_NONE for none. */
static uint32_t layer_making(const struct profiling *p, uint32_t tensor)
{
    uint32_t maker = p->trace->tensors[tensor].producer;
    bool forward = maker != LL_NONE && form_of(p, maker)->phase == LL_PHASE_FORWARD;
    return forward ? p->layers.named[maker] : LL_NONE;
}

/* What no layer makes, or what is read outside of the one that makes it, is not made again. */
static void find_staying(const struct profiling *p)
{
    for (uint32_t tensor = 0; tensor < p->trace->tensor_count; tensor++)
        p->stays[storage_of(p, tensor)] |= layer_making(p, tensor) == LL_NONE;
    for (uint32_t op = 0; op < p->end; op++) {
        const struct ll_form *form = form_of(p, op);
        for (uint32_t i = 0; form->phase == LL_PHASE_FORWARD && i < form->view.input_count; i++) {
            uint32_t tensor = ll_op_input(p->trace, op, i);
            p->stays[storage_of(p, tensor)] |= layer_making(p, tensor) != p->layers.named[op];
        }
    }
}

static void sum_kept(const struct profiling *p)
{
    for (uint64_t s = 0; s < p->trace->storage_count; s++) {
        const struct ll_life *life = &p->lives[s];
        if (life->first == LL_NONE || p->user[s] >= p->end || lasts(p, s) || !is_kept(p, life))
            continue;
        struct ll_layer_cost *cost = cost_of(p, p->user[s]);
        cost->kept_bytes += (double)life->bytes;
        cost->held_bytes += p->stays[s] ? (double)life->bytes : 0;
    }
}

/* A layer of which all is held is not computed again. */
static void leave_alone(const struct profiling *p)
{
    for (uint32_t i = 0; i < p->layers.count; i++)
        if (p->costs->at[i].held_bytes == p->costs->at[i].kept_bytes)
            p->costs->at[i].again_s = 0;
}

static enum part part_of(const struct profiling *p, uint64_t storage)
{
    if (!is_kept(p, &p->lives[storage]))
        return PASSING;
    return p->stays[storage] ? HELD : INSIDE;
}

/* What is kept counts for its layer's ops alone. */
static void find_changes(const struct profiling *p)
{
    for (uint64_t s = 0; s < p->trace->storage_count; s++) {
        const struct ll_life *life = &p->lives[s];
        if (life->first == LL_NONE || p->user[s] >= p->end || lasts(p, s))
            continue;
        enum part part = part_of(p, s);
        uint64_t *born = &p->changes[part][2 * (uint64_t)(part == PASSING ? life->first : p->user[s])];
        uint64_t *dead = &p->changes[part][2 * (uint64_t)life->last + 1];
        *born = ll_add(*born, life->bytes);
        if (part == PASSING || cost_of(p, life->last) == cost_of(p, p->user[s]))
            *dead = ll_add(*dead, life->bytes);
    }
}

/* The most that a layer's ops have at once, in both passes. Ops behind the layer that its name does not say,
 * such as a loss, come before it is computed again. */
static void find_peaks(const struct profiling *p)
{
    uint64_t passing_bytes = 0;
    find_changes(p);
    for (uint32_t op = 0; op < p->end; op++) {
        enum ll_phase phase = form_of(p, op)->phase;
        struct ll_layer_cost *cost = cost_of(p, op);
        uint64_t *live[PARTS] = {&passing_bytes, &p->kept_bytes[HELD][cost - p->costs->at],
                                 &p->kept_bytes[INSIDE][cost - p->costs->at]};
        for (int part = 0; part < PARTS; part++)
            *live[part] = ll_add(*live[part], p->changes[part][2 * (uint64_t)op]);
        uint64_t held = ll_add(*live[PASSING], *live[HELD]), all = ll_add(held, *live[INSIDE]);
        bool inside = p->layers.named[op] != LL_NONE;
        if (phase != LL_PHASE_UPDATE && phase != LL_PHASE_COMM) {
            cost->peak_bytes = fmax(cost->peak_bytes, (double)all);
            cost->again_peak_bytes = fmax(cost->again_peak_bytes, (double)(inside ? all : held));
        }
        for (int part = 0; part < PARTS; part++)
            *live[part] = ll_sub(*live[part], p->changes[part][2 * (uint64_t)op + 1]);
    }
}

/* Each tensor once, whoever reads it later. */
static void sum_handed(const struct profiling *p, bool *handed)
{
    const uint32_t *owner = p->layers.owner;
    for (uint32_t op = 0; p->boundary != LL_NONE && op <= p->boundary; op++) {
        const struct ll_form *form = form_of(p, op);
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            uint32_t tensor = ll_op_input(p->trace, op, i), maker = p->trace->tensors[tensor].producer;
            if (maker == LL_NONE || owner[maker] == LL_NONE || owner[op] == LL_NONE ||
                owner[maker] >= owner[op] || handed[tensor])
                continue;
            handed[tensor] = true;
            p->costs->at[owner[maker]].handed_bytes +=
                (double)ll_size_bytes(&p->trace->descs[p->trace->tensors[tensor].desc].shape);
        }
    }
}

/* --- all of it --- */

static void find_users(struct profiling *p)
{
    memset(p->user, 0xff, p->trace->storage_count * sizeof *p->user);
    for (uint64_t at = p->trace->op_count; at-- > 0;) {
        uint32_t op = (uint32_t)at;
        const struct ll_form *form = form_of(p, op);
        for (uint32_t i = 0; i < form->view.input_count; i++)
            p->user[storage_of(p, ll_op_input(p->trace, op, i))] = op;
        for (uint32_t i = 0; i < form->view.output_count; i++)
            p->user[storage_of(p, ll_op_output(p->trace, op, i))] = op;
    }
}

static void find_experts(struct profiling *p)
{
    for (uint64_t i = 0; i < p->trace->tensor_count; i++)
        p->of_experts[p->trace->tensors[i].storage] |=
            ll_is_of_experts(&p->trace->descs[p->trace->tensors[i].desc]);
}

static bool open_profiling(struct profiling *p, const struct ll_result *result, struct ll_arena *arena)
{
    const struct ll_trace *trace = p->trace = result->prepared->trace;
    p->result = result;
    p->lives = ll_lives(trace, arena);
    p->user = ll_alloc(arena, trace->storage_count + 1, sizeof *p->user);
    p->carried = ll_find_carried(trace, arena);
    p->of_experts = ll_alloc(arena, trace->storage_count + 1, sizeof *p->of_experts);
    p->stays = ll_alloc(arena, trace->storage_count + 1, sizeof *p->stays);
    p->boundary = ll_end_of_forward(trace);
    while (p->end < trace->op_count && trace->ops[p->end].step == trace->ops[0].step)
        p->end++;
    for (int part = 0; part < PARTS; part++) {
        p->changes[part] = ll_alloc(arena, 2 * trace->op_count, sizeof *p->changes[part]);
        p->kept_bytes[part] = ll_alloc(arena, trace->op_count + 1, sizeof *p->kept_bytes[part]);
        if (!p->changes[part] || !p->kept_bytes[part])
            return false;
    }
    return p->lives && p->user && p->carried && p->of_experts && p->stays &&
           ll_layers_find(trace, arena, &p->layers);
}

static void sum_layers(struct profiling *p, bool *handed, uint32_t *reader)
{
    for (uint32_t i = 0; i < p->layers.count; i++) {
        p->costs->at[i].flops = p->layers.flops[i];
        p->costs->at[i].named_flops = p->layers.named_flops[i];
    }
    find_users(p);
    find_experts(p);
    find_staying(p);
    sum_times(p);
    sum_states(p);
    sum_kept(p);
    find_peaks(p);
    sum_handed(p, handed);
    leave_alone(p);
    sum_read(p, reader);
}

bool ll_layer_costs(const struct ll_result *result, struct ll_arena *arena, struct ll_layer_costs *costs)
{
    struct ll_arena scratch = {0};
    struct profiling p = {.costs = costs};
    const struct ll_trace *trace = result->prepared->trace;
    bool *handed = ll_alloc(&scratch, trace->tensor_count + 1, sizeof *handed);
    uint32_t *reader = ll_alloc(&scratch, trace->storage_count + 1, sizeof *reader);
    bool done = handed && reader && open_profiling(&p, result, &scratch);
    *costs = (struct ll_layer_costs){.count = p.layers.count};
    costs->at = done ? ll_alloc(arena, costs->count + 1u, sizeof *costs->at) : NULL;
    if (costs->at)
        sum_layers(&p, handed, reader);
    ll_arena_release(&scratch);
    return costs->at;
}
