/* SPDX-License-Identifier: Apache-2.0 */
/* The plan estimator. The first section measures what each layer of a replayed program costs, in time and in
 * memory. The second combines these costs into the step time and the peak memory of any plan with the same
 * shares, without making its programs. */
#include "sim/parallel/estimate.h"

#include <math.h>
#include <string.h>

#include "sim/parallel/cut.h"
#include "sim/parallel/experts.h"
#include "sim/parallel/layers.h"
#include "sim/parallel/schedule.h"
#include "sim/parallel/stage_memory.h"
#include "tracer/ir/trace.h"

/* The costs of layers. The time of an op is the amount by which it advances the latest end of all ops so far,
 * so the times of the layers add up to the step time. */

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

/* What is known of a stage for the plan under way; a device of it. */
struct ll_estimated_stage {
    double update_s, update_start_s;         /* as a layer's */
    struct ll_state_bytes state, of_experts; /* as a layer's */
    double tied_bytes;                       /* of weights that it reads and the first stage brings */
    double kept_bytes;                       /* of all passes in flight */
    double carried_bytes;                    /* of all micro-batches */
};

bool ll_estimator_open(struct ll_estimator *e, const struct ll_machine *machine,
                       struct ll_exchanges *exchanges, uint64_t layers, uint64_t stages,
                       struct ll_arena *arena)
{
    *e = (struct ll_estimator){.machine = machine,
                               .exchanges = exchanges,
                               .stages = ll_alloc(arena, stages, sizeof *e->stages),
                               .pieces = ll_alloc(arena, layers, sizeof *e->pieces),
                               .message_s = ll_alloc(arena, layers, sizeof *e->message_s),
                               .part_of = ll_alloc(arena, layers, sizeof *e->part_of),
                               .loads = ll_alloc(arena, layers, sizeof *e->loads),
                               .totals = ll_alloc(arena, layers, sizeof *e->totals)};
    return e->stages && e->pieces && e->message_s && e->part_of && e->loads && e->totals;
}

/* The pipeline of a plan. */
static struct ll_pipeline_shape shape_of(const struct ll_parallel *plan)
{
    return (struct ll_pipeline_shape){.schedule = plan->schedule,
                                      .stages = plan->pipeline,
                                      .chunks = plan->chunks,
                                      .micro_batches = plan->batch / plan->data / plan->micro_batch};
}

static void count_state(struct ll_state_bytes *sum, const struct ll_state_bytes *state)
{
    sum->weight += state->weight;
    sum->optimizer += state->optimizer;
    sum->gradient += state->gradient;
}

/* Weights that a layer reads and does not bring are taken to be of the first: the table of words, most
 * often. */
static double tied_bytes(const struct ll_layer_costs *costs, uint32_t layer)
{
    const struct ll_layer_cost *cost = &costs->at[layer];
    return layer > 0 ? fmax(0, cost->forward_read_bytes - cost->state.weight) : 0;
}

/* Adds a layer. */
static void count_layer(const struct ll_layer_costs *costs, enum ll_recompute recompute, uint32_t layer,
                        struct ll_estimated_stage *stage)
{
    const struct ll_layer_cost *cost = &costs->at[layer];
    bool again = recompute == LL_RECOMPUTE_FULL;
    stage->update_s += cost->update_s;
    stage->update_start_s += cost->update_start_s;
    stage->tied_bytes = fmax(stage->tied_bytes, tied_bytes(costs, layer));
    count_state(&stage->state, &cost->state);
    count_state(&stage->of_experts, &cost->of_experts);
    stage->kept_bytes += again ? cost->held_bytes : cost->kept_bytes;
    stage->carried_bytes += cost->carried_bytes;
}

/* A stage that has no such weight of its own holds another one, with the optimizer's state. Its gradient is
 * among what layers have in passing: it waits there to be added to that of the first. */
static void count_tied(const struct ll_layer_costs *costs, double bytes, struct ll_estimated_stage *stage)
{
    const struct ll_state_bytes *first = &costs->at[0].state;
    double share = first->weight > 0 ? fmin(1, bytes / first->weight) : 0;
    stage->state.weight += share * first->weight;
    stage->state.optimizer += share * first->optimizer;
}

void ll_estimate_divide(struct ll_estimator *e, const struct ll_layer_costs *costs, uint64_t pieces)
{
    for (uint32_t i = 0; i < costs->count; i++) {
        e->loads[i] = costs->at[i].named_flops;
        e->totals[i] = costs->at[i].flops;
    }
    ll_divide(e->loads, e->totals, costs->count, (uint32_t)pieces, e->part_of);
}

void ll_estimate_count(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan)
{
    const struct ll_pipeline_shape shape = shape_of(plan);
    for (uint64_t i = 0; i < plan->pipeline; i++)
        e->stages[i] = (struct ll_estimated_stage){0};
    for (uint32_t layer = 0; layer < costs->count; layer++)
        count_layer(costs, plan->recompute, layer, &e->stages[e->part_of[layer] % plan->pipeline]);
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        struct ll_estimated_stage *stage = &e->stages[i];
        stage->kept_bytes *= (double)ll_slots_in_flight(&shape, i) / (double)plan->chunks;
        stage->carried_bytes *= (double)shape.micro_batches;
        if (i > 0)
            count_tied(costs, stage->tied_bytes, stage);
    }
}

/* Time of an exchange among the replicas of a stage. */
static double among_replicas_s(struct ll_estimator *e, const struct ll_parallel *plan, enum ll_op_kind kind,
                               double bytes)
{
    double time_s;
    e->failed |= !ll_among_replicas_s(e->exchanges, plan, kind, bytes, &time_s);
    return time_s;
}

/* A micro-batch through a stage; gradients go with each, or with the last one alone. */
static double pass_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan, uint64_t stage, bool last)
{
    const struct ll_beside beside = {.costs = costs,
                                     .part_of = e->part_of,
                                     .plan = plan,
                                     .exchanges = e->exchanges,
                                     .gathers = plan->zero == 3,
                                     .sums = last || plan->zero >= 2,
                                     .machine = e->machine};
    double time_s;
    e->failed |= !ll_beside_s(&beside, stage, &time_s);
    return time_s;
}

static double priced_s(struct ll_estimator *e, const struct ll_asked *asked)
{
    const struct ll_price *price = ll_exchanges_price(e->exchanges, asked);
    e->failed |= !price;
    return price && !price->trouble ? price->exchanged.time_s : 0;
}

/* What a piece on this stage hands to the next, whose stage may be the first again. */
static double message_s(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage, double bytes)
{
    uint64_t apart = plan->tensor * ll_replicas(plan);
    int64_t to = stage + 1 == plan->pipeline ? 0 : (int64_t)stage + 1;
    struct ll_asked asked = {.kind = LL_OP_SEND,
                             .bytes = (uint64_t)bytes,
                             .devices = 2,
                             .stride = 1,
                             .peer = (to - (int64_t)stage) * (int64_t)apart,
                             .first = stage * apart,
                             .span = apart};
    return asked.peer && bytes > 0 ? priced_s(e, &asked) : 0;
}

/* Gradients of weights that a stage has in common with the first one are added up: of a replica's part, where
 * replicas share the state. */
static double tied_s(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage, double bytes)
{
    double share = plan->zero > 0 ? 1 / (double)ll_replicas_sharing(plan) : 1;
    if (stage == 0 || bytes <= 0)
        return 0;
    struct ll_asked asked = {.kind = LL_OP_ALL_REDUCE,
                             .bytes = (uint64_t)(bytes * share),
                             .devices = 2,
                             .stride = stage * plan->tensor * ll_replicas(plan)};
    return priced_s(e, &asked);
}

/* What a replica has of something; of it, of experts. */
static double part_bytes(const struct ll_parallel *plan, bool shared, double bytes, double of_experts)
{
    double n = (double)ll_replicas_sharing(plan), alike = (double)ll_replicas_sharing_experts(plan);
    return shared ? (bytes - of_experts) / n + of_experts / alike : bytes;
}

static double optimizer_bytes(const struct ll_parallel *plan, const struct ll_state_bytes *all,
                              const struct ll_state_bytes *of_experts)
{
    return part_bytes(plan, plan->zero >= 1, all->optimizer, of_experts->optimizer);
}

static double gradient_bytes(const struct ll_parallel *plan, const struct ll_state_bytes *all,
                             const struct ll_state_bytes *of_experts)
{
    return part_bytes(plan, plan->zero >= 2, all->gradient, of_experts->gradient);
}

/* The state of the optimizer comes from the host and goes back. */
static double offloaded_s(const struct ll_estimator *e, const struct ll_parallel *plan,
                          const struct ll_estimated_stage *stage)
{
    double bytes = optimizer_bytes(plan, &stage->state, &stage->of_experts);
    return plan->offload.optimizer ? 2 * bytes / e->machine->host.bandwidth_Bps : 0;
}

/* What a stage does once a step beside its passes. New weights are gathered by the bucket, while those of the
 * next one are worked out. */
static double tail_s(struct ll_estimator *e, const struct ll_parallel *plan,
                     const struct ll_estimated_stage *stage)
{
    double share = plan->zero > 0 ? 1 / (double)ll_replicas_sharing(plan) : 1;
    bool gathers = plan->zero == 1 || plan->zero == 2;
    double gather_s = gathers ? among_replicas_s(e, plan, LL_OP_ALL_GATHER, stage->state.weight) : 0;
    double update_s = stage->update_start_s + (stage->update_s - stage->update_start_s) * share;
    double bucket = stage->state.weight > 0 ? fmin(1, (double)plan->bucket_bytes / stage->state.weight) : 0;
    return fmax(update_s + bucket * gather_s, bucket * update_s + gather_s) + offloaded_s(e, plan, stage);
}

/* To add the gradients of a micro-batch to those of the ones before it. */
static double added_s(const struct ll_estimator *e, const struct ll_parallel *plan,
                      const struct ll_layer_cost *cost)
{
    return 2 * gradient_bytes(plan, &cost->state, &cost->of_experts) / ll_machine_memory_Bps(e->machine);
}

/* What each piece takes by itself, and what it hands on. */
static void time_pieces(struct ll_estimator *e, const struct ll_layer_costs *costs,
                        const struct ll_parallel *plan)
{
    double micro_batches = (double)shape_of(plan).micro_batches;
    bool again = plan->recompute == LL_RECOMPUTE_FULL;
    double adding = (micro_batches - 1) / micro_batches; /* there is nothing to add the first ones to */
    for (uint64_t i = 0; i < plan->pipeline * plan->chunks; i++)
        e->pieces[i] = (struct ll_piece_times){0};
    for (uint32_t layer = 0; layer < costs->count; layer++) {
        const struct ll_layer_cost *cost = &costs->at[layer];
        struct ll_piece_times *piece = &e->pieces[e->part_of[layer]];
        piece->forward_s += cost->forward_s;
        piece->backward_s += cost->backward_s + (again ? cost->again_s : 0);
        piece->tail_s += adding * added_s(e, plan, cost);
        e->message_s[e->part_of[layer]] = cost->handed_bytes;
    }
    for (uint64_t i = 0; i < plan->pipeline * plan->chunks; i++)
        e->message_s[i] = message_s(e, plan, i % plan->pipeline, e->message_s[i]);
}

/* What its stage waits for among replicas is spread over the piece's passes; the first of a stage has the
 * tail. */
static void stretch_pieces(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage,
                           double stage_s, double tail_s)
{
    double alone_s = 0;
    for (uint64_t i = stage; i < plan->pipeline * plan->chunks; i += plan->pipeline)
        alone_s += e->pieces[i].forward_s + e->pieces[i].backward_s;
    for (uint64_t i = stage; i < plan->pipeline * plan->chunks; i += plan->pipeline) {
        struct ll_piece_times *piece = &e->pieces[i];
        double stretched = alone_s > 0 ? stage_s / alone_s : 1;
        *piece = (struct ll_piece_times){.forward_s = piece->forward_s * stretched,
                                         .backward_s = piece->backward_s * stretched + piece->tail_s,
                                         .tail_s = i == stage ? tail_s : 0};
    }
}

static void add_tied(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan)
{
    for (uint32_t layer = 1; layer < costs->count; layer++) {
        uint64_t stage = e->part_of[layer] % plan->pipeline;
        double time_s = tied_s(e, plan, stage, tied_bytes(costs, layer));
        e->pieces[stage].tail_s += time_s;
        e->pieces[0].tail_s += time_s;
    }
}

double ll_estimate_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan)
{
    const struct ll_turns turns = {.shape = shape_of(plan), .pieces = e->pieces, .message_s = e->message_s};
    double time_s = 0;
    time_pieces(e, costs, plan);
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        double stage_s = pass_s(e, costs, plan, i, false), last_s = pass_s(e, costs, plan, i, true);
        stretch_pieces(e, plan, i, stage_s, last_s - stage_s + tail_s(e, plan, &e->stages[i]));
    }
    add_tied(e, costs, plan);
    e->failed |= !ll_turns_s(&turns, &time_s);
    return time_s;
}

/* Beside their shares, weights that a replica gathers for a layer, and for the next. */
static double gathered_bytes(const struct ll_parallel *plan, const struct ll_layer_cost *cost,
                             const struct ll_layer_cost *next)
{
    double bytes = 0;
    for (int i = 0; plan->zero >= 3 && i < (plan->overlap && next ? 2 : 1); i++) {
        const struct ll_layer_cost *read = i ? next : cost;
        double read_bytes = fmax(read->forward_read_bytes, read->backward_read_bytes);
        bytes += read_bytes - part_bytes(plan, true, read_bytes, read->of_experts.weight);
    }
    return bytes;
}

/* Gradients of a stage, beside what a replica has of all of them. */
struct gradients {
    bool first;     /* there are none before the pass */
    double to_come; /* of its share, what is still to be made */
    double waiting; /* whole, for a bucket, before they are shared out */
};

static struct gradients gradients_before(const struct ll_estimated_stage *stage,
                                         const struct ll_parallel *plan)
{
    bool first = shape_of(plan).micro_batches == 1;
    double bytes = gradient_bytes(plan, &stage->state, &stage->of_experts);
    return (struct gradients){.first = first, .to_come = first ? bytes : 0};
}

static void make_gradients(struct gradients *g, const struct ll_parallel *plan,
                           const struct ll_layer_cost *cost)
{
    double part = gradient_bytes(plan, &cost->state, &cost->of_experts);
    g->to_come -= g->first ? part : 0;
    g->waiting = g->waiting >= (double)plan->bucket_bytes ? 0 : g->waiting;
    g->waiting += cost->state.gradient - part;
}

/* The most that a stage has at once, going backward, beside what lasts and what all passes in flight keep:
 * less than nothing where gradients are smaller than what was kept for them, and none were there before. A
 * layer begins with all that was kept for it, and ends with its gradients instead. */
static double passing_bytes(const struct ll_estimator *e, const struct ll_layer_costs *costs,
                            const struct ll_parallel *plan, uint64_t stage)
{
    bool again = plan->recompute == LL_RECOMPUTE_FULL;
    struct gradients gradients = gradients_before(&e->stages[stage], plan);
    double freed_bytes = 0, most_bytes = -e->stages[stage].kept_bytes;
    for (uint32_t i = costs->count; i-- > 0;) {
        const struct ll_layer_cost *cost = &costs->at[i];
        if (e->part_of[i] % plan->pipeline != stage)
            continue;
        bool follows = i > 0 && e->part_of[i - 1] == e->part_of[i];
        freed_bytes += again ? cost->held_bytes : cost->kept_bytes;
        double here_bytes = (again ? cost->again_peak_bytes : cost->peak_bytes) +
                            gathered_bytes(plan, cost, follows ? &costs->at[i - 1] : NULL) - freed_bytes;
        most_bytes = fmax(most_bytes, here_bytes + gradients.waiting - gradients.to_come);
        make_gradients(&gradients, plan, cost);
        most_bytes = fmax(most_bytes, here_bytes - cost->kept_bytes + gradients.waiting - gradients.to_come);
        freed_bytes = follows ? freed_bytes : 0;
    }
    return most_bytes;
}

double ll_estimate_bytes(const struct ll_estimator *e, const struct ll_layer_costs *costs,
                         const struct ll_parallel *plan)
{
    double most_bytes = 0;
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        const struct ll_estimated_stage *stage = &e->stages[i];
        double bytes = part_bytes(plan, plan->zero >= 3, stage->state.weight, stage->of_experts.weight) +
                       gradient_bytes(plan, &stage->state, &stage->of_experts) + stage->kept_bytes +
                       stage->carried_bytes + passing_bytes(e, costs, plan, i);
        if (!plan->offload.optimizer)
            bytes += optimizer_bytes(plan, &stage->state, &stage->of_experts);
        most_bytes = fmax(most_bytes, bytes);
    }
    return most_bytes;
}
