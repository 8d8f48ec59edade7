/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of a plan: its step time and its peak memory from the costs of layers, without its programs.
 *
 * What costs time is done once for all plans that share it, from the outside in:
 *
 *       divide    layers to virtual stages           stages, chunks, placement, split of layers
 *       count     what each stage computes and keeps ... and recomputation
 *       share     what a replica holds of it         ... and the stage of ZeRO, the group that shares
 *       bytes     memory                             ... and schedule, offload: a sum over stages
 *       bound     a time that no estimate is below   likewise: a sum over virtual stages
 *       s         the time: exchanges along the layers, and the schedule played
 *
 * The bound is the closed form of the bottleneck stage. With F, B, W the passes of a micro-batch through all
 * virtual stages of a stage s, m micro-batches and x the time in which its message crosses:
 *
 *       sum over i < s of (F_i + x_i) / chunk 0   the first micro-batch comes to the stage
 *     + m (F_s + B_s + W_s)                       which then computes
 *     + sum over i < s of (B_i + x_i) / chunk 0   and the last one goes back, where passes are whole
 *     + the least that follows once a step. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/parallel/exchange.h"
#include "sim/parallel/pipeline.h"

/* What is known of a device of a stage for the plan under way. */
struct ll_estimated_stage {
    double forward_s, backward_s;            /* of a micro-batch through its virtual stages, alone */
    double update_s, update_start_s;         /* as a layer's */
    struct ll_state_bytes state, of_experts; /* as a layer's */
    double tied_bytes;                       /* of weights that it reads and the first stage brings */
    double kept_bytes;                       /* of a pass through all its virtual stages */
    double carried_bytes;                    /* of a micro-batch */
    /* Since ll_estimate_share: */
    double lasting_bytes;   /* weights, gradients and what all micro-batches carry */
    double optimizer_bytes; /* of the optimizer's state, wherever it lies */
    double above_bytes;     /* the most beside those and what all passes in flight keep, less what is freed */
};

/* What a virtual stage adds up. */
struct ll_estimated_part {
    uint32_t first_layer;             /* the next one's ends it */
    double gradient, expert_gradient; /* bytes; the latter of experts' weights among them */
};

bool ll_estimator_open(struct ll_estimator *e, const struct ll_machine *machine,
                       struct ll_exchanges *exchanges, uint64_t layers, uint64_t stages,
                       struct ll_arena *arena)
{
    assert(layers > 0 && stages > 0);
    const uint64_t vstages = 2 * layers + 2; /* of two models at most */
    *e = (struct ll_estimator){.machines = {machine},
                               .exchanges = {exchanges},
                               .pool_count = 1,
                               .stages = ll_alloc(arena, stages, sizeof *e->stages),
                               .parts = ll_alloc(arena, layers + 1, sizeof *e->parts),
                               .alone = ll_alloc(arena, vstages, sizeof *e->alone),
                               .vstages = ll_alloc(arena, vstages, sizeof *e->vstages),
                               .message_s = ll_alloc(arena, vstages, sizeof *e->message_s),
                               .part_of = ll_alloc(arena, layers, sizeof *e->part_of),
                               .loads = ll_alloc(arena, layers, sizeof *e->loads),
                               .totals = ll_alloc(arena, layers, sizeof *e->totals)};
    return e->stages && e->parts && e->alone && e->vstages && e->message_s && e->part_of && e->loads &&
           e->totals;
}

void ll_estimator_add_pool(struct ll_estimator *e, const struct ll_machine *machine,
                           struct ll_exchanges *exchanges)
{
    assert(e->pool_count < LL_MOST_POOLS);
    e->machines[e->pool_count] = machine;
    e->exchanges[e->pool_count++] = exchanges;
}

static uint64_t pool_of(const struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage)
{
    return e->pool_count == 1 ? 0 : ll_pool_of(plan, e->pool_count, stage);
}

static const struct ll_machine *machine_of(const struct ll_estimator *e, const struct ll_parallel *plan,
                                           uint64_t stage)
{
    return e->machines[pool_of(e, plan, stage)];
}

/* The pipeline of a plan. */
static struct ll_pipeline_shape shape_of(const struct ll_parallel *plan)
{
    assert(plan->data > 0 && plan->micro_batch > 0 && plan->batch >= plan->data * plan->micro_batch);
    return (struct ll_pipeline_shape){.schedule = plan->schedule,
                                      .stages = plan->pipeline,
                                      .chunks = plan->chunks,
                                      .micro_batches = plan->batch / plan->data / plan->micro_batch};
}

/* Virtual stages of a model, of which there may be two; of all models. */
static uint64_t parts_of(const struct ll_parallel *plan)
{
    return ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS ? plan->pipeline
                                                                        : plan->pipeline * plan->chunks;
}

static uint64_t vstages_of(const struct ll_parallel *plan)
{
    return plan->pipeline * plan->chunks;
}

/* Micro-batches that go through a virtual stage. */
static double through(const struct ll_parallel *plan)
{
    return (double)shape_of(plan).micro_batches * (double)parts_of(plan) / (double)vstages_of(plan);
}

static uint64_t stage_of(const struct ll_parallel *plan, uint64_t vstage)
{
    return ll_vstage_lies_on(plan->schedule, plan->pipeline, vstage);
}

/* --- divide --- */

bool ll_estimate_divide(struct ll_estimator *e, const struct ll_layer_costs *costs,
                        const struct ll_parallel *plan)
{
    const uint64_t parts = parts_of(plan);
    assert(parts > 0);
    if (parts > costs->count)
        return false;
    for (uint32_t i = 0; i < costs->count; i++) {
        e->loads[i] = costs->at[i].named_flops;
        e->totals[i] = costs->at[i].flops;
    }
    return ll_divide_layers(&plan->split, e->loads, e->totals, costs->count, (uint32_t)parts, e->part_of);
}

/* --- count --- */

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

static void count_layer(const struct ll_layer_cost *cost, bool again, struct ll_estimated_stage *stage)
{
    stage->update_s += cost->update_s;
    stage->update_start_s += cost->update_start_s;
    count_state(&stage->state, &cost->state);
    count_state(&stage->of_experts, &cost->of_experts);
    stage->kept_bytes += again ? cost->held_bytes : cost->kept_bytes;
    stage->carried_bytes += cost->carried_bytes;
}

/* A stage that has no such weight of its own holds another one, with the optimizer's state. Its gradient is
 * among what layers have in passing: it waits there to be added to that of the first. */
static void count_tied(const struct ll_layer_costs *costs, struct ll_estimated_stage *stage)
{
    const struct ll_state_bytes *first = &costs->at[0].state;
    double share = first->weight > 0 ? fmin(1, stage->tied_bytes / first->weight) : 0;
    stage->state.weight += share * first->weight;
    stage->state.optimizer += share * first->optimizer;
}

/* Of two stages: between pools over the slower of both networks. */
static double priced_s(struct ll_estimator *e, const struct ll_parallel *plan, const struct ll_asked *asked,
                       uint64_t from, uint64_t to)
{
    const uint64_t pools[] = {pool_of(e, plan, from), pool_of(e, plan, to)};
    double time_s = 0;
    for (int i = 0; i < 1 + (pools[0] != pools[1]); i++) {
        const struct ll_price *price = ll_exchanges_price(e->exchanges[pools[i]], asked);
        e->failed |= !price;
        time_s = fmax(time_s, price && !price->trouble ? price->exchanged.time_s : 0);
    }
    return time_s;
}

/* What a virtual stage hands to the next, which may lie on the same stage. */
static double message_s(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t vstage, double bytes)
{
    uint64_t apart = plan->tensor * ll_replicas(plan), stage = stage_of(plan, vstage),
             next = (vstage + 1) % vstages_of(plan);
    int64_t to = (int64_t)stage_of(plan, next);
    struct ll_asked asked = {.kind = LL_OP_SEND,
                             .bytes = (uint64_t)bytes,
                             .devices = 2,
                             .stride = 1,
                             .peer = (to - (int64_t)stage) * (int64_t)apart,
                             .first = stage * apart,
                             .span = apart};
    return asked.peer && bytes > 0 ? priced_s(e, plan, &asked, stage, (uint64_t)to) : 0;
}

/* The layers of a virtual stage of a model, on the stage of one of the models' virtual stages. */
static void count_part(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan, uint64_t part, uint64_t vstage)
{
    bool again = plan->recompute == LL_RECOMPUTE_FULL;
    struct ll_estimated_stage *stage = &e->stages[stage_of(plan, vstage)];
    costs += pool_of(e, plan, stage_of(plan, vstage));
    struct ll_vstage_times *alone = &e->alone[vstage];
    double handed_bytes = 0;
    *alone = (struct ll_vstage_times){0};
    e->parts[part].gradient = e->parts[part].expert_gradient = 0;
    for (uint32_t i = e->parts[part].first_layer; i < e->parts[part + 1].first_layer; i++) {
        const struct ll_layer_cost *cost = &costs->at[i];
        count_layer(cost, again, stage);
        if (part > 0)
            stage->tied_bytes = fmax(stage->tied_bytes, tied_bytes(costs, i));
        alone->forward_s += cost->forward_s;
        alone->backward_s += cost->backward_s + (again ? cost->again_s : 0);
        alone->weights_s += cost->weights_s;
        e->parts[part].gradient += cost->state.gradient;
        e->parts[part].expert_gradient += cost->of_experts.gradient;
        handed_bytes = cost->handed_bytes;
    }
    stage->forward_s += alone->forward_s;
    stage->backward_s += alone->backward_s;
    e->message_s[vstage] = message_s(e, plan, vstage, handed_bytes);
}

void ll_estimate_count(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan)
{
    const uint64_t parts = parts_of(plan);
    uint64_t part = 0;
    for (uint32_t i = 0; i < costs->count; i++)
        if (i == 0 || e->part_of[i] != e->part_of[i - 1])
            e->parts[part++].first_layer = i;
    assert(part == parts); /* no part is empty */
    e->parts[parts].first_layer = costs->count;
    for (uint64_t i = 0; i < plan->pipeline; i++)
        e->stages[i] = (struct ll_estimated_stage){0};
    for (uint64_t i = 0; i < vstages_of(plan); i++)
        count_part(e, costs, plan, i % parts, i);
    for (uint64_t i = 0; i < plan->pipeline; i++)
        if (e->stages[i].tied_bytes > 0)
            count_tied(costs, &e->stages[i]);
}

/* --- share --- */

/* What a replica has of something; of it, of experts. */
static double part_bytes(const struct ll_parallel *plan, bool shared, double bytes, double of_experts)
{
    assert(bytes >= 0 && of_experts >= 0);
    double n = (double)ll_replicas_sharing(plan), equal = (double)ll_replicas_sharing_experts(plan);
    return shared ? (bytes - of_experts) / n + of_experts / equal : bytes;
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

/* The layers of a virtual stage, going backward. A layer begins with all that was kept for it, and ends with
 * its gradients instead. */
static double above_bytes(const struct ll_estimator *e, const struct ll_layer_costs *costs,
                          const struct ll_parallel *plan, uint64_t part, struct gradients *gradients)
{
    bool again = plan->recompute == LL_RECOMPUTE_FULL;
    double freed_bytes = 0, most_bytes = -INFINITY;
    const uint32_t first = e->parts[part].first_layer;
    for (uint32_t i = e->parts[part + 1].first_layer; i-- > first;) {
        const struct ll_layer_cost *cost = &costs->at[i];
        freed_bytes += again ? cost->held_bytes : cost->kept_bytes;
        double here_bytes = (again ? cost->again_peak_bytes : cost->peak_bytes) +
                            gathered_bytes(plan, cost, i > first ? &costs->at[i - 1] : NULL) - freed_bytes;
        most_bytes = fmax(most_bytes, here_bytes + gradients->waiting - gradients->to_come);
        make_gradients(gradients, plan, cost);
        most_bytes =
            fmax(most_bytes, here_bytes - cost->kept_bytes + gradients->waiting - gradients->to_come);
    }
    return most_bytes;
}

void ll_estimate_share(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan)
{
    const double micro_batches = through(plan);
    const uint64_t parts = parts_of(plan);
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        struct ll_estimated_stage *stage = &e->stages[i];
        struct gradients gradients = gradients_before(stage, plan);
        stage->optimizer_bytes = optimizer_bytes(plan, &stage->state, &stage->of_experts);
        stage->lasting_bytes =
            part_bytes(plan, plan->zero >= 3, stage->state.weight, stage->of_experts.weight) +
            gradient_bytes(plan, &stage->state, &stage->of_experts) + stage->carried_bytes * micro_batches;
        stage->above_bytes = -INFINITY;
        for (uint64_t chunk = plan->chunks; chunk-- > 0;) {
            uint64_t part = ll_vstage_at(plan->schedule, plan->pipeline, i, chunk) % parts;
            stage->above_bytes = fmax(stage->above_bytes, above_bytes(e, costs, plan, part, &gradients));
        }
    }
}

static double capacity_bytes(const struct ll_machine *machine)
{
    return (double)machine->levels[machine->level_count - 1].size_bytes;
}

double ll_estimate_bytes(const struct ll_estimator *e, const struct ll_parallel *plan)
{
    const struct ll_pipeline_shape shape = shape_of(plan);
    double most_bytes = 0;
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        const struct ll_estimated_stage *stage = &e->stages[i];
        double kept_bytes = stage->kept_bytes * (double)ll_slots_in_flight(&shape, i) / (double)plan->chunks;
        double bytes = stage->lasting_bytes + kept_bytes + fmax(-kept_bytes, stage->above_bytes) +
                       (plan->offload.optimizer ? 0 : stage->optimizer_bytes);
        if (e->pool_count > 1)
            bytes *= capacity_bytes(e->machines[0]) / capacity_bytes(machine_of(e, plan, i));
        most_bytes = fmax(most_bytes, bytes);
    }
    return most_bytes;
}

struct ll_checkpoint_bytes ll_estimate_checkpoint(const struct ll_estimator *e,
                                                  const struct ll_parallel *plan)
{
    struct ll_checkpoint_bytes checkpoint = {0};
    const double models = (double)vstages_of(plan) / (double)parts_of(plan); /* which have the same weights */
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        const struct ll_state_bytes *all = &e->stages[i].state, *experts = &e->stages[i].of_experts;
        struct ll_parallel among = *plan;
        among.within = 0; /* groups that hold the same shards share the writing, too */
        double bytes =
            part_bytes(&among, true, all->weight + all->optimizer, experts->weight + experts->optimizer) /
            models;
        checkpoint.device = fmax(checkpoint.device, bytes);
        checkpoint.all += bytes * (double)(plan->tensor * ll_replicas(plan));
    }
    return checkpoint;
}

/* --- time --- */

/* To add the gradients of a micro-batch to those of the ones before it, shared by all of them: there is
 * nothing to add the first ones to. */
static double added_s(const struct ll_estimator *e, const struct ll_parallel *plan, uint64_t part,
                      uint64_t stage)
{
    const double micro_batches = through(plan);
    double bytes = part_bytes(plan, plan->zero >= 2, e->parts[part].gradient, e->parts[part].expert_gradient);
    return (micro_batches - 1) / micro_batches * 2 * bytes /
           ll_machine_memory_Bps(machine_of(e, plan, stage));
}

/* The state of the optimizer comes from the host and goes back. */
static double offloaded_s(const struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage)
{
    return plan->offload.optimizer
               ? 2 * e->stages[stage].optimizer_bytes / machine_of(e, plan, stage)->host.bandwidth_Bps
               : 0;
}

static double shared_update_s(const struct ll_parallel *plan, const struct ll_estimated_stage *stage)
{
    double share = plan->zero > 0 ? 1 / (double)ll_replicas_sharing(plan) : 1;
    return stage->update_start_s + (stage->update_s - stage->update_start_s) * share;
}

/* All passes of a stage, and what follows them at least. */
static double busy_s(const struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage)
{
    const struct ll_estimated_stage *s = &e->stages[stage];
    double pass_s = s->forward_s + s->backward_s;
    for (uint64_t chunk = 0; chunk < plan->chunks; chunk++)
        pass_s += added_s(e, plan,
                          ll_vstage_at(plan->schedule, plan->pipeline, stage, chunk) % parts_of(plan), stage);
    return through(plan) * pass_s;
}

double ll_estimate_bound_s(const struct ll_estimator *e, const struct ll_parallel *plan)
{
    const bool whole = !ll_schedule_splits(plan->schedule),
               twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
    const double first_tail_s = shared_update_s(plan, &e->stages[0]) + offloaded_s(e, plan, 0);
    double there_s = 0, back_s = 0, bound_s = 0;
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        double tail_s = shared_update_s(plan, &e->stages[i]) + offloaded_s(e, plan, i);
        double done_s = (twice ? 0 : there_s) + busy_s(e, plan, i);
        bound_s = fmax(bound_s, done_s + tail_s);
        if (whole)
            bound_s = fmax(bound_s, done_s + back_s + first_tail_s);
        there_s += e->alone[i].forward_s + e->message_s[i];
        back_s += e->alone[i].backward_s + e->message_s[i];
    }
    return bound_s * (1 - 1e-12); /* the same sums in another order */
}

/* Time of an exchange among the replicas of a stage. */
static double among_replicas_s(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage,
                               enum ll_op_kind kind, double bytes)
{
    double time_s;
    e->failed |= !ll_among_replicas_s(e->exchanges[pool_of(e, plan, stage)], plan, kind, bytes, &time_s);
    return time_s;
}

/* A micro-batch through a stage; gradients go with each, or with the last one alone. */
static double pass_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan, uint64_t stage, bool last)
{
    const uint64_t pool = pool_of(e, plan, stage);
    const struct ll_dp_overlap overlap = {.costs = &costs[pool],
                                          .part_of = e->part_of,
                                          .plan = plan,
                                          .exchanges = e->exchanges[pool],
                                          .gathers = plan->zero == 3,
                                          .sums = last || plan->zero >= 2,
                                          .machine = e->machines[pool]};
    double time_s;
    if (ll_replicas(plan) == 1 || (!overlap.gathers && !overlap.sums)) /* nothing is exchanged */
        return e->stages[stage].forward_s + e->stages[stage].backward_s;
    e->failed |= !ll_dp_overlap_s(&overlap, stage, &time_s);
    return fmax(time_s, e->stages[stage].forward_s + e->stages[stage].backward_s);
}

/* Gradients that two stages have in common are added up: of a replica's part, where replicas share the
 * state. */
static double common_s(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage, uint64_t other,
                       double bytes)
{
    const uint64_t stages_apart = stage > other ? stage - other : other - stage;
    double share = plan->zero > 0 ? 1 / (double)ll_replicas_sharing(plan) : 1;
    if (stages_apart == 0 || bytes <= 0)
        return 0;
    struct ll_asked asked = {.kind = LL_OP_ALL_REDUCE,
                             .bytes = (uint64_t)(bytes * share),
                             .devices = 2,
                             .stride = stages_apart * plan->tensor * ll_replicas(plan)};
    return priced_s(e, plan, &asked, stage, other);
}

/* What a stage does once a step beside its passes. New weights are gathered by the bucket, while those of the
 * next one are worked out. */
static double tail_s(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t i)
{
    const struct ll_estimated_stage *stage = &e->stages[i];
    bool gathers = plan->zero == 1 || plan->zero == 2;
    double gather_s = gathers ? among_replicas_s(e, plan, i, LL_OP_ALL_GATHER, stage->state.weight) : 0;
    double update_s = shared_update_s(plan, stage);
    /* Gradients of a weight that it has in common with the first stage go last: when both are added up. */
    double tied_s =
        stage->tied_bytes > 0
            ? among_replicas_s(e, plan, i, plan->zero > 0 ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE,
                               stage->tied_bytes)
            : 0;
    double bucket = stage->state.weight > 0 ? fmin(1, (double)plan->bucket_bytes / stage->state.weight) : 0;
    double models_s = 0;
    if (ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS) {
        models_s = common_s(e, plan, i, plan->pipeline - 1 - i, e->parts[i].gradient);
    }
    return fmax(update_s + bucket * gather_s, bucket * update_s + gather_s) + offloaded_s(e, plan, i) +
           models_s + tied_s;
}

/* What its stage waits for among replicas is spread over the virtual stage's passes; the first of a stage has
 * the tail. */
static void stretch_vstages(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage,
                            double stage_s, double tail_s)
{
    assert(stage < plan->pipeline && stage_s >= 0 && tail_s >= 0);
    const double alone_s = e->stages[stage].forward_s + e->stages[stage].backward_s;
    const double stretched = alone_s > 0 ? stage_s / alone_s : 1;
    for (uint64_t chunk = 0; chunk < plan->chunks; chunk++) {
        const uint64_t vstage = ll_vstage_at(plan->schedule, plan->pipeline, stage, chunk);
        const struct ll_vstage_times *alone = &e->alone[vstage];
        const double more_s = added_s(e, plan, vstage % parts_of(plan), stage);
        const double backward_s = alone->backward_s * stretched + more_s;
        e->vstages[vstage] =
            (struct ll_vstage_times){.forward_s = alone->forward_s * stretched,
                                     .backward_s = backward_s,
                                     .weights_s = fmin(backward_s, alone->weights_s * stretched + more_s),
                                     .tail_s = chunk == 0 ? tail_s : 0};
    }
}

/* In each model between its virtual stage and its first one. */
static void add_tied(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan)
{
    for (uint32_t layer = 1; layer < costs->count; layer++) {
        const uint64_t part = e->part_of[layer], stage = stage_of(plan, part);
        double time_s = stage > 0 ? common_s(e, plan, stage, 0, tied_bytes(costs, layer)) : 0;
        for (uint64_t first = 0; time_s > 0 && first < vstages_of(plan); first += parts_of(plan)) {
            e->vstages[first + part].tail_s += time_s;
            e->vstages[first].tail_s += time_s;
        }
    }
}

/* How many times as long a stage computes: replicas wait for the slowest of its devices. */
static double slowed(const struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage)
{
    const uint64_t of_stage = plan->tensor * ll_replicas(plan);
    for (uint64_t i = 0; i < e->slow_count; i++)
        if (e->slow[i] / of_stage == stage)
            return plan->stragglers.factor;
    return 1;
}

double ll_estimate_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan)
{
    const struct ll_pipeline_estimate turns = {
        .shape = shape_of(plan), .vstages = e->vstages, .message_s = e->message_s};
    double time_s = 0;
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        const double longer = slowed(e, plan, i);
        double stage_s = longer * pass_s(e, costs, plan, i, false),
               last_s = longer * pass_s(e, costs, plan, i, true);
        stretch_vstages(e, plan, i, stage_s, fmax(0, last_s - stage_s) + tail_s(e, plan, i));
    }
    add_tied(e, costs, plan);
    e->failed |= !ll_pipeline_estimate_s(&turns, &time_s);
    assert(time_s >= 0);
    return fmax(time_s, ll_estimate_bound_s(e, plan));
}
