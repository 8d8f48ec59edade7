/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best plan. The first section estimates the step time and the peak memory of a plan from
 * the costs of layers, without making its programs. The second enumerates plans, keeps the best by estimate
 * and simulates those. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/pipeline.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/shard.h"
#include "sim/replay/communication.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rescale.h"

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
    assert(layers > 0 && stages > 0);
    *e = (struct ll_estimator){.machine = machine,
                               .exchanges = exchanges,
                               .stages = ll_alloc(arena, stages, sizeof *e->stages),
                               .vstages = ll_alloc(arena, layers, sizeof *e->vstages),
                               .message_s = ll_alloc(arena, layers, sizeof *e->message_s),
                               .part_of = ll_alloc(arena, layers, sizeof *e->part_of),
                               .loads = ll_alloc(arena, layers, sizeof *e->loads),
                               .totals = ll_alloc(arena, layers, sizeof *e->totals)};
    return e->stages && e->vstages && e->message_s && e->part_of && e->loads && e->totals;
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

void ll_estimate_divide(struct ll_estimator *e, const struct ll_layer_costs *costs, uint64_t vstages)
{
    assert(vstages > 0 && vstages <= costs->count);
    for (uint32_t i = 0; i < costs->count; i++) {
        e->loads[i] = costs->at[i].named_flops;
        e->totals[i] = costs->at[i].flops;
    }
    ll_balance_loads(e->loads, e->totals, costs->count, (uint32_t)vstages, e->part_of);
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
    const struct ll_dp_overlap overlap = {.costs = costs,
                                          .part_of = e->part_of,
                                          .plan = plan,
                                          .exchanges = e->exchanges,
                                          .gathers = plan->zero == 3,
                                          .sums = last || plan->zero >= 2,
                                          .machine = e->machine};
    double time_s;
    e->failed |= !ll_dp_overlap_s(&overlap, stage, &time_s);
    return time_s;
}

static double priced_s(struct ll_estimator *e, const struct ll_asked *asked)
{
    const struct ll_price *price = ll_exchanges_price(e->exchanges, asked);
    e->failed |= !price;
    return price && !price->trouble ? price->exchanged.time_s : 0;
}

/* What a virtual stage on this stage hands to the next, whose stage may be the first again. */
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

/* What each virtual stage takes by itself, and what it hands on. */
static void time_vstages(struct ll_estimator *e, const struct ll_layer_costs *costs,
                         const struct ll_parallel *plan)
{
    double micro_batches = (double)shape_of(plan).micro_batches;
    bool again = plan->recompute == LL_RECOMPUTE_FULL;
    double adding = (micro_batches - 1) / micro_batches; /* there is nothing to add the first ones to */
    for (uint64_t i = 0; i < plan->pipeline * plan->chunks; i++)
        e->vstages[i] = (struct ll_vstage_times){0};
    for (uint32_t layer = 0; layer < costs->count; layer++) {
        const struct ll_layer_cost *cost = &costs->at[layer];
        struct ll_vstage_times *vstage = &e->vstages[e->part_of[layer]];
        vstage->forward_s += cost->forward_s;
        vstage->backward_s += cost->backward_s + (again ? cost->again_s : 0);
        vstage->tail_s += adding * added_s(e, plan, cost);
        e->message_s[e->part_of[layer]] = cost->handed_bytes;
    }
    for (uint64_t i = 0; i < plan->pipeline * plan->chunks; i++)
        e->message_s[i] = message_s(e, plan, i % plan->pipeline, e->message_s[i]);
}

/* What its stage waits for among replicas is spread over the virtual stage's passes; the first of a stage has
 * the tail. */
static void stretch_vstages(struct ll_estimator *e, const struct ll_parallel *plan, uint64_t stage,
                            double stage_s, double tail_s)
{
    assert(stage < plan->pipeline && stage_s >= 0 && tail_s >= 0);
    double alone_s = 0;
    for (uint64_t i = stage; i < plan->pipeline * plan->chunks; i += plan->pipeline)
        alone_s += e->vstages[i].forward_s + e->vstages[i].backward_s;
    for (uint64_t i = stage; i < plan->pipeline * plan->chunks; i += plan->pipeline) {
        struct ll_vstage_times *vstage = &e->vstages[i];
        double stretched = alone_s > 0 ? stage_s / alone_s : 1;
        *vstage = (struct ll_vstage_times){.forward_s = vstage->forward_s * stretched,
                                           .backward_s = vstage->backward_s * stretched + vstage->tail_s,
                                           .tail_s = i == stage ? tail_s : 0};
    }
}

static void add_tied(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan)
{
    for (uint32_t layer = 1; layer < costs->count; layer++) {
        uint64_t stage = e->part_of[layer] % plan->pipeline;
        double time_s = tied_s(e, plan, stage, tied_bytes(costs, layer));
        e->vstages[stage].tail_s += time_s;
        e->vstages[0].tail_s += time_s;
    }
}

double ll_estimate_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan)
{
    const struct ll_pipeline_estimate turns = {
        .shape = shape_of(plan), .vstages = e->vstages, .message_s = e->message_s};
    double time_s = 0;
    time_vstages(e, costs, plan);
    for (uint64_t i = 0; i < plan->pipeline; i++) {
        double stage_s = pass_s(e, costs, plan, i, false), last_s = pass_s(e, costs, plan, i, true);
        stretch_vstages(e, plan, i, stage_s, last_s - stage_s + tail_s(e, plan, &e->stages[i]));
    }
    add_tied(e, costs, plan);
    e->failed |= !ll_pipeline_estimate_s(&turns, &time_s);
    assert(time_s >= 0);
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

/* The search for the best plans: all combinations are estimated, and the best by estimate are simulated in
 * full.
 *
 * The loops go from expensive to cheap changes: tensor and context parallelism and micro-batches (a program
 * and a replay for each), stages and chunks (the layers are divided), kinds of recomputation, ZeRO stages,
 * offloading, bucket sizes (a formula). */

enum {
    MOST_ZERO = 3,
    OPS_SIMULATED =
        1 << 18 /* the ops of all simulations together: a second or two, however many plans that is */
};

struct searching {
    const struct ll_trace *trace;
    struct ll_trace *thin;  /* with fewer of the layers that are alike; NULL: none could be left out */
    uint32_t dropped, like; /* so many were, which did what layer `like` does */
    const struct ll_machine *machine;
    const struct ll_plan_search *search;
    struct ll_remembered *remembered;
    struct ll_estimator estimator;
    struct ll_exchanges *exchanges;
    struct ll_search_result *result;
    struct ll_found_plan *found; /* a heap, the worst on top */
    double capacity_bytes;
    double least_s; /* of the estimates since it was set */
    bool learns;    /* else there are no gradients and no state to share out, and nothing is computed again */
    bool failed;    /* memory ran out */
};

/* What all plans on one program share. */
struct base {
    struct ll_parallel plan;
    struct ll_layer_costs costs;
    struct {
        bool known, can;
    } shares[MOST_ZERO + 1]; /* by stage of ZeRO: whether its replicas can share out what that stage does */
};

/* Whether no further plan is to be looked at. */
static bool ends(const struct searching *s)
{
    if (s->search->stop && *s->search->stop)
        s->result->stopped = true;
    return s->failed || s->result->stopped;
}

static void tell(const struct searching *s)
{
    if (s->search->progress)
        s->search->progress(s->search->context, s->result);
}

/* --- programs --- */

static struct ll_trace *take(struct ll_trace *old, struct ll_trace *next)
{
    ll_trace_free(old);
    return next;
}

/* What shares of GEMMs and recomputation make of a trace; NULL when that cannot be, or is nothing new;
 * s->failed when memory ran out. */
static struct ll_trace *share(struct searching *s, const struct ll_trace *trace,
                              const struct ll_parallel *plan)
{
    const char *trouble = NULL;
    struct ll_diags diags = {0};
    struct ll_trace *program = ll_shard(trace, plan, &diags);
    bool divided = plan->tensor == 1 || (program && ll_is_divided(trace, program));
    if (program && plan->context > 1)
        program = take(program, ll_share_context(program, plan, &diags));
    if (program && plan->expert > 1)
        program = take(program, ll_spread_experts(program, plan, &diags));
    uint64_t ops = program ? program->op_count : 0;
    if (program && plan->recompute == LL_RECOMPUTE_SELECTIVE)
        program = take(program, ll_recompute(program, plan->recompute, &trouble));
    s->failed |= !program && !trouble && diags.count == 0;
    ll_diags_release(&diags);
    bool new = divided && (plan->recompute != LL_RECOMPUTE_SELECTIVE || (program && program->op_count > ops));
    if (!program || new)
        return program;
    ll_trace_free(program); /* it does what another one does: that has been seen */
    return NULL;
}

/* At a micro-batch. Shares that are made already are taken to it; what experts hold is rounded, so that it is
 * shared, or found not to come in equal shares, at each micro-batch anew. */
static struct ll_trace *make_program(struct searching *s, const struct ll_trace *shared,
                                     const struct ll_parallel *plan)
{
    const char *trouble = NULL;
    const struct ll_trace *from = shared ? shared : s->thin ? s->thin : s->trace;
    struct ll_trace *program = ll_trace_rescale(from, plan->micro_batch, &trouble);
    s->failed |= !program && !trouble;
    return program && !shared ? take(program, share(s, program, plan)) : program;
}

/* Puts the layers that were left out back: they take what those like them take. */
static bool thicken(const struct searching *s, struct ll_arena *arena, struct ll_layer_costs *costs)
{
    uint32_t count = costs->count + s->dropped;
    struct ll_layer_cost *at = ll_alloc(arena, count + 1u, sizeof *at);
    for (uint32_t i = 0; at && i < count; i++)
        at[i] = costs->at[i <= s->like ? i : i <= s->like + s->dropped ? s->like : i - s->dropped];
    *costs = (struct ll_layer_costs){at, count};
    return at;
}

/* Finds the layers that are alike; without any, all are measured. False when memory ran out. */
static bool thin_out(struct searching *s)
{
    struct ll_arena scratch = {0};
    struct ll_equal_layers equal;
    const char *trouble;
    bool found = ll_equal_layers_find(s->trace, &scratch, &equal);
    s->thin = found && s->trace->step_count == 1 ? ll_drop_layers(s->trace, &equal, &trouble) : NULL;
    s->dropped = s->thin ? ll_dropped_layers(&equal) : 0;
    s->like = s->thin ? equal.first + 1 : 0;
    ll_arena_release(&scratch);
    return found;
}

static bool measure(struct searching *s, const struct ll_trace *shared, struct ll_arena *arena,
                    struct base *base)
{
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    struct ll_trace *program = make_program(s, shared, &base->plan);
    const struct ll_prepared *prepared = program ? ll_prepare(program, &scratch, &diags) : NULL;
    const struct ll_among among = {.exchanges = s->exchanges, .memo = &s->remembered->costs};
    const struct ll_result *result =
        prepared ? ll_replay_among(prepared, s->machine, &among, &scratch, &diags) : NULL;
    bool done = result && ll_layer_costs(result, arena, &base->costs) && thicken(s, arena, &base->costs);
    s->failed |= program && !done && diags.count == 0;
    s->result->programs += done;
    tell(s);
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    ll_trace_free(program);
    return done;
}

/* --- the best --- */

static bool is_worse(const struct ll_found_plan *a, const struct ll_found_plan *b)
{
    return a->estimate_s > b->estimate_s;
}

static void sift_down(struct ll_found_plan *heap, uint64_t count, uint64_t at)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_worse(&heap[child + 1], &heap[child]);
        if (!is_worse(&heap[child], &heap[at]))
            return;
        struct ll_found_plan moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

/* Keeps the best LL_MOST_FOUND, of equals those that came first. */
static void keep(struct searching *s, const struct ll_found_plan *plan)
{
    assert(s->result->found_count <= LL_MOST_FOUND);
    struct ll_search_result *result = s->result;
    if (result->found_count == LL_MOST_FOUND) {
        if (is_worse(&s->found[0], plan)) {
            s->found[0] = *plan;
            sift_down(s->found, LL_MOST_FOUND, 0);
        }
        return;
    }
    uint64_t at = result->found_count++;
    s->found[at] = *plan;
    for (; at > 0 && is_worse(&s->found[at], &s->found[(at - 1) / 2]); at = (at - 1) / 2) {
        struct ll_found_plan moved = s->found[at];
        s->found[at] = s->found[(at - 1) / 2];
        s->found[(at - 1) / 2] = moved;
    }
}

/* --- the loops --- */

/* Whether it fits. */
static bool try_plan(struct searching *s, const struct base *base, const struct ll_parallel *plan)
{
    struct ll_found_plan found = {.plan = *plan,
                                  .estimate_bytes = ll_estimate_bytes(&s->estimator, &base->costs, plan)};
    s->result->considered++;
    if (found.estimate_bytes > s->capacity_bytes) {
        s->result->least_bytes = fmin(s->result->least_bytes, found.estimate_bytes);
        s->result->too_large++;
        return false;
    }
    s->result->estimated++;
    found.estimate_s = ll_estimate_s(&s->estimator, &base->costs, plan);
    s->failed |= s->estimator.failed;
    s->least_s = fmin(s->least_s, found.estimate_s);
    found.samples_Hz = (double)plan->batch / found.estimate_s;
    keep(s, &found);
    return true;
}

/* As it is, or else with the optimizer's state on the host; whether it fits. */
static bool try_host(struct searching *s, const struct base *base, struct ll_parallel plan)
{
    bool fits = try_plan(s, base, &plan);
    plan.offload.optimizer = true;
    return fits || (s->learns && s->machine->host.bandwidth_Bps > 0 && try_plan(s, base, &plan));
}

/* Shared out among the replicas of a node, of a group of nodes, ... only; whether any fits. */
static bool try_groups(struct searching *s, const struct base *base, struct ll_parallel plan)
{
    bool any = false;
    uint64_t group = 1;
    for (uint64_t level = 0; level + 1 < s->machine->network_count; level++) {
        group *= s->machine->networks[level].devices;
        plan.within = group % plan.tensor == 0 ? group / plan.tensor : 0;
        if (plan.within > 1 && plan.within < ll_replicas(&plan) && ll_replicas(&plan) % plan.within == 0)
            any = try_host(s, base, plan) || any;
    }
    return any;
}

/* Whether the replicas of a program can share out what a stage of ZeRO wants: of an update whose parts other
 * ops need whole they cannot. Asked of one plan for all on the program. */
static bool can_share(struct searching *s, struct base *base, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    if (plan->zero == 0 || base->shares[plan->zero].known)
        return plan->zero == 0 || base->shares[plan->zero].can;
    struct ll_spread *spread = ll_spread_trace(s->trace, plan, s->search->devices, &diags);
    s->failed |= !spread && diags.count == 0;
    for (uint64_t zero = spread ? 1 : plan->zero; zero <= plan->zero;
         zero++) { /* a stage does what those below do */
        base->shares[zero].known = true;
        base->shares[zero].can = spread;
    }
    ll_spread_free(spread);
    ll_diags_release(&diags);
    return base->shares[plan->zero].can;
}

/* All stages of ZeRO on stages that are counted; whether any fits. The last one is asked first, which tells
 * of all. */
static bool try_sharing(struct searching *s, struct base *base, struct ll_parallel plan)
{
    bool any = false;
    for (plan.zero = 0; plan.zero <= (ll_replicas(&plan) > 1 ? MOST_ZERO : 0u);
         plan.zero += s->learns ? 1 : MOST_ZERO) {
        struct ll_parallel last = plan;
        last.zero = plan.zero > 0 ? MOST_ZERO : 0;
        if (!can_share(s, base, &last) && !can_share(s, base, &plan))
            continue;
        any = try_host(s, base, plan) || any;
        if (plan.zero > 0 && plan.expert == 1)
            any = try_groups(s, base, plan) || any;
    }
    return any;
}

/* Whether less is kept where layers are computed again; else that is nothing new. */
static bool keeps_less_again(const struct ll_layer_costs *costs)
{
    for (uint32_t i = 0; i < costs->count; i++)
        if (costs->at[i].held_bytes < costs->at[i].kept_bytes)
            return true;
    return false;
}

/* A division into stages and chunks, whole and with all computed again. */
static bool try_virtual_stages(struct searching *s, struct base *base, struct ll_parallel plan)
{
    bool any = false, anew = plan.recompute == LL_RECOMPUTE_NONE && keeps_less_again(&base->costs);
    ll_estimate_divide(&s->estimator, &base->costs, plan.pipeline * plan.chunks);
    for (int full = 0; full <= anew; full++) {
        plan.recompute = full ? LL_RECOMPUTE_FULL : plan.recompute;
        ll_estimate_count(&s->estimator, &base->costs, &plan);
        any = try_sharing(s, base, plan) || any;
    }
    return any;
}

/* All ways to lay the program's layers on the devices that share neither a GEMM nor a sequence; whether
 * any fits. */
static bool try_stages(struct searching *s, struct base *base)
{
    uint64_t left = s->search->devices / base->plan.tensor / base->plan.context, layers = base->costs.count;
    bool any = false;
    for (uint64_t stages = 1; stages <= ll_min(left, layers); stages++) {
        struct ll_parallel plan = base->plan;
        if (left % stages != 0)
            continue;
        plan.pipeline = stages;
        plan.data = left / stages;
        if (s->result->lacks_gradients && ll_replicas(&plan) > 1)
            continue;
        if (plan.batch % (plan.data * plan.micro_batch) != 0 || ll_replicas(&plan) % plan.expert != 0)
            continue;
        any = try_virtual_stages(s, base, plan) || any;
        uint64_t micro_batches = plan.batch / plan.data / plan.micro_batch;
        plan.schedule = LL_SCHEDULE_INTERLEAVED;
        for (plan.chunks = 2; stages > 1 && micro_batches % stages == 0 && stages * plan.chunks <= layers;
             plan.chunks++)
            if (layers % (stages * plan.chunks) == 0)
                any = try_virtual_stages(s, base, plan) || any;
    }
    return any;
}

/* Larger micro-batches need more memory: the first of which plans there are, but none that fits, is the last.
 */
static void try_micro_batches(struct searching *s, struct ll_parallel plan)
{
    bool experts = ll_has_experts(s->trace);
    struct ll_trace *shared = experts ? NULL : share(s, s->thin ? s->thin : s->trace, &plan);
    bool fits = shared || experts;
    for (plan.micro_batch = 1; fits && !ends(s) && plan.micro_batch <= plan.batch; plan.micro_batch++) {
        struct ll_arena arena = {0};
        struct base base = {.plan = plan};
        if (plan.batch % plan.micro_batch != 0)
            continue;
        uint64_t before = s->result->considered;
        bool made = measure(s, shared, &arena, &base);
        fits = !made || try_stages(s, &base) || s->result->considered == before;
        ll_arena_release(&arena);
    }
    ll_trace_free(shared);
}

/* All ways to lay experts on replicas. */
static void try_experts(struct searching *s, struct ll_parallel plan)
{
    uint64_t most = ll_has_experts(s->trace) ? s->search->devices / plan.tensor : 1;
    for (plan.expert = 1; plan.expert <= most; plan.expert++)
        if (most % plan.expert == 0)
            try_micro_batches(s, plan);
}

/* Ways to share sequences, where the workload has any that can be shared. What each device computes falls
 * with their number and what it exchanges does not, so that the search ends when two in a row are no better.
 */
static void try_contexts(struct searching *s, struct ll_parallel plan)
{
    uint64_t left = s->search->devices / plan.tensor;
    double least_s = INFINITY;
    unsigned no_better = 0;
    for (plan.context = 1; plan.context <= left && no_better < 2 && !ends(s); plan.context++) {
        if (left % plan.context != 0 || (plan.context > 1 && !ll_has_context(s->trace, plan.context)))
            continue;
        s->least_s = INFINITY;
        try_experts(s, plan);
        no_better = s->least_s < least_s || isinf(s->least_s) ? 0 : no_better + 1;
        least_s = fmin(least_s, s->least_s);
    }
}

/* For progress: how many branches try_all will search. */
static uint64_t count_branches(const struct searching *s, uint64_t most)
{
    uint64_t count = 0;
    for (uint64_t tensor = 1; tensor <= most; tensor++)
        count += s->search->devices % tensor == 0 ? (tensor > 1 ? 4 : 2) : 0;
    return count;
}

static void try_all(struct searching *s)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.batch = s->search->batch;
    uint64_t near = s->machine->network_count ? s->machine->networks[0].devices : 1;
    s->result->branches = count_branches(s, ll_min(near, s->search->devices));
    for (plan.tensor = 1; plan.tensor <= ll_min(near, s->search->devices) && !ends(s); plan.tensor++)
        for (int sequence = 0; s->search->devices % plan.tensor == 0 && sequence <= (plan.tensor > 1);
             sequence++)
            for (int selective = 0; selective < 2; selective++) {
                plan.sequence = sequence;
                plan.recompute = selective ? LL_RECOMPUTE_SELECTIVE : LL_RECOMPUTE_NONE;
                try_contexts(s, plan);
                s->result->branches_done += !ends(s);
            }
}

/* --- the end --- */

static int by_estimate(const void *left, const void *right)
{
    const struct ll_found_plan *a = left, *b = right;
    double x = a->step_s > 0 ? a->step_s : a->estimate_s, y = b->step_s > 0 ? b->step_s : b->estimate_s;
    if ((a->step_s > 0) != (b->step_s > 0))
        return a->step_s > 0 ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1;
    return (a->plan.zero > b->plan.zero) - (a->plan.zero < b->plan.zero);
}

/* What the simulation says of a plan; false when it does not fit, or there are complaints after all. */
static bool simulate(struct searching *s, struct ll_found_plan *found)
{
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    struct ll_spread *spread = ll_spread_trace(s->trace, &found->plan, s->search->devices, &diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, s->machine, s->remembered, &scratch, &diags) : NULL;
    double bytes = result ? (double)result->stages[result->fullest].memory_bytes : INFINITY;
    bool fits = bytes <= s->capacity_bytes;
    if (!fits)
        s->result->least_bytes = fmin(s->result->least_bytes, bytes);
    if (fits) {
        found->step_s = result->step_s;
        found->bubble = result->bubble;
        found->memory_bytes = result->stages[result->fullest].memory_bytes;
        found->samples_Hz = result->samples_Hz;
        for (int i = 0; i < LL_TRAFFIC_COUNT; i++)
            found->exposed_s += result->exposed_s[i];
    }
    s->failed |= !result && diags.count == 0;
    s->result->simulated++;
    tell(s);
    ll_diags_release(&diags);
    ll_spread_free(spread);
    ll_arena_release(&scratch);
    return fits;
}

/* Small buckets leave early, large ones are sent faster, and none is smaller than its largest gradient, so
 * that only a simulation tells. */
static void try_buckets(struct searching *s, struct ll_found_plan *best)
{
    static const uint64_t sizes[] = {UINT64_C(5) << 20, UINT64_C(100) << 20};
    struct ll_found_plan found = *best;
    for (size_t i = 0; ll_replicas(&best->plan) > 1 && !s->failed && i < sizeof sizes / sizeof *sizes; i++) {
        struct ll_found_plan other = found;
        other.plan.bucket_bytes = sizes[i];
        other.exposed_s = 0;
        bool fits = simulate(s, &other);
        if (fits && other.step_s < best->step_s)
            *best = other;
    }
}

/* As many as a little time allows, which in a small space are all of them: estimates err by some ten
 * percent, and in another way for plans that share otherwise. Where that is fewer than are wanted, one of
 * the best of all, or of its stage of ZeRO, so that those of one stage cannot take all places. */
static bool is_worth_it(const struct searching *s, uint64_t simulated, const uint64_t *of_stage,
                        const struct ll_found_plan *found)
{
    uint64_t wanted = s->search->simulated;
    if (ends(s))
        return !s->failed && simulated == 0;
    return (s->result->simulated * s->trace->op_count < OPS_SIMULATED || simulated < wanted ||
            of_stage[found->plan.zero] < (wanted + 1) / 2);
}

/* Those of the best plan of each stage of ZeRO, which gain differently by it. */
static void try_buckets_of_stages(struct searching *s, uint64_t simulated)
{
    bool tried[MOST_ZERO + 1] = {false};
    for (uint64_t i = 0; i < simulated; i++) {
        if (!tried[s->found[i].plan.zero])
            try_buckets(s, &s->found[i]);
        tried[s->found[i].plan.zero] = true;
    }
}

/* More may have been simulated than were asked for: the worst of them are estimates again. */
static void forget(struct ll_found_plan *found)
{
    found->step_s = found->bubble = found->exposed_s = 0;
    found->memory_bytes = 0;
    found->samples_Hz = (double)found->plan.batch / found->estimate_s;
}

static void simulate_best(struct searching *s)
{
    uint64_t kept = 0, simulated = 0, of_stage[MOST_ZERO + 1] = {0};
    struct ll_search_result *result = s->result;
    qsort(s->found, result->found_count, sizeof *s->found, by_estimate);
    for (uint64_t i = 0; i < result->found_count; i++) {
        if (is_worth_it(s, simulated, of_stage, &s->found[i])) {
            if (!simulate(s, &s->found[i]))
                continue;
            simulated++;
            of_stage[s->found[i].plan.zero]++;
        }
        s->found[kept++] = s->found[i];
    }
    result->found_count = kept;
    result->found = s->found;
    qsort(s->found, kept, sizeof *s->found, by_estimate);
    if (!ends(s))
        try_buckets_of_stages(s, simulated);
    qsort(s->found, kept, sizeof *s->found, by_estimate);
    for (uint64_t i = s->search->simulated; i < simulated; i++)
        forget(&s->found[i]);
    qsort(s->found, kept, sizeof *s->found, by_estimate);
}

/* Whether there is something to lay on devices; false, too, when memory ran out. */
static bool has_layers(const struct ll_trace *trace, struct ll_place place, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct ll_layers layers;
    bool found = ll_layers_find(trace, &scratch, &layers), some = found && layers.count > 0;
    ll_arena_release(&scratch);
    return some ||
           (found && ll_complain(diags, place,
                                 "no layers of it are known: none is numbered, and no op is known to read "
                                 "a weight"));
}

static bool check(const struct ll_trace *trace, const struct ll_machine *machine,
                  const struct ll_plan_search *search, struct ll_diags *diags)
{
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    if (!ll_is_of_one_rank(trace, diags))
        return false;
    if (ll_trace_batch(trace) == 0)
        return ll_complain(diags, place, "the trace does not say how many samples a step has");
    if (search->devices > ll_machine_devices(machine))
        return ll_complain(diags, (struct ll_place){0},
                           "%" PRIu64 " devices: the machine's network joins %" PRIu64, search->devices,
                           ll_machine_devices(machine));
    return has_layers(trace, place, diags);
}

const struct ll_search_result *ll_search_plans(const struct ll_trace *trace, const struct ll_machine *machine,
                                               const struct ll_plan_search *search, struct ll_arena *arena,
                                               struct ll_diags *diags)
{
    if (!check(trace, machine, search, diags))
        return NULL;
    struct ll_remembered remembered = {0};
    struct searching s = {
        .trace = trace,
        .machine = machine,
        .search = search,
        .remembered = &remembered,
        .exchanges = ll_exchanges_new(machine, search->devices, &remembered.prices),
        .result = ll_alloc(arena, 1, sizeof *s.result),
        .found = ll_alloc(arena, LL_MOST_FOUND, sizeof *s.found),
        .capacity_bytes = ll_memory_is_known(trace)
                              ? (double)machine->levels[machine->level_count - 1].size_bytes
                              : INFINITY,
        .learns = ll_trains(trace),
    };
    ll_memo_turn(&remembered.costs, machine);
    s.failed =
        !s.exchanges || !s.result || !s.found ||
        !ll_estimator_open(&s.estimator, machine, s.exchanges, trace->op_count + 1, search->devices, arena);
    s.failed = s.failed || !thin_out(&s) || !ll_gradients_missing(trace, &s.result->lacks_gradients);
    if (!s.failed) {
        s.result->least_bytes = INFINITY;
        try_all(&s);
        simulate_best(&s);
        for (uint64_t i = 0; isinf(s.capacity_bytes) && i < s.result->found_count; i++)
            s.found[i].estimate_bytes = NAN;
    }
    ll_trace_free(s.thin);
    ll_exchanges_free(s.exchanges);
    ll_remembered_release(&remembered);
    return s.failed ? NULL : s.result;
}
