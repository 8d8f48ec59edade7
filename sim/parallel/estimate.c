/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/estimate.h"

#include "sim/parallel/beside.h"
#include "sim/parallel/pieces.h"
#include "sim/parallel/turns.h"

#include <math.h>

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

static void add_state(struct ll_state_bytes *sum, const struct ll_state_bytes *state)
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
    add_state(&stage->state, &cost->state);
    add_state(&stage->of_experts, &cost->of_experts);
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
