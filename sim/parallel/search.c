/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best plans: all combinations are estimated, and the best by estimate are simulated in
 * full.
 *
 * The loops go from expensive to cheap changes: tensor and context parallelism and micro-batches (a program
 * and a replay for each), stages, chunks, placements of virtual stages and splits of layers (the layers are
 * divided), kinds of recomputation, ZeRO stages, schedules, offloading (a formula, and a bound that tells
 * whether the time is worth working out), bucket sizes (a simulation). */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/pipeline.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/stragglers.h"
#include "sim/parallel/given.h"
#include "sim/replay/communication.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rescale.h"

enum {
    MOST_ZERO = 3,
    OPS_SIMULATED =
        1 << 18 /* the ops of all simulations together: a second or two, however many plans that is */
};

struct searching {
    const struct ll_trace *trace;
    struct ll_trace *thin;  /* with fewer of the layers that are alike; NULL: none could be left out */
    struct ll_trace *fused; /* either, as the base says of its loss; NULL: as it is */
    uint32_t dropped, like; /* so many were, which did what layer `like` does */
    const struct ll_machine *machine;
    const struct ll_plan_search *search;
    struct ll_parallel base;      /* what plans under way have in common: of keys that are not varied here */
    struct ll_layer_split costed; /* says which layers there are */
    struct ll_remembered *remembered;
    struct ll_estimator estimator; /* with the machines of all pools and exchanges on their networks */
    struct ll_arena *arena;
    struct ll_search_result *result;
    struct ll_found_plan *found; /* a heap, the worst on top */
    double capacity_bytes;
    double least_s;                        /* of the estimates, over their time shares, since it was set */
    uint64_t node;                         /* devices of a node: the innermost level of the network */
    struct ll_checkpoint_bytes checkpoint; /* of the plans under way */
    double time_share;                     /* of this checkpoint */
    struct {
        bool known, can;
    } shares[MOST_ZERO +
             1];      /* by stage of ZeRO: whether replicas of the programs under way can share out what
                              * that stage does, whatever their micro-batches */
    double fastest_s; /* of the steps simulated so far, over their time shares */
    bool learns; /* else there are no gradients and no state to share out, and nothing is computed again */
    bool failed; /* memory ran out */
};

/* What all plans on one program share. */
struct base {
    struct ll_parallel plan;
    struct ll_layer_costs costs[LL_MOST_POOLS]; /* by pool; bytes are the same */
};

/* Members that are varied here, whatever is given of others. */
static const size_t varied[] = {
    offsetof(struct ll_parallel, data),     offsetof(struct ll_parallel, tensor),
    offsetof(struct ll_parallel, context),  offsetof(struct ll_parallel, pipeline),
    offsetof(struct ll_parallel, expert),   offsetof(struct ll_parallel, sequence),
    offsetof(struct ll_parallel, batch),    offsetof(struct ll_parallel, micro_batch),
    offsetof(struct ll_parallel, schedule), offsetof(struct ll_parallel, chunks),
    offsetof(struct ll_parallel, zero),     offsetof(struct ll_parallel, within),
    offsetof(struct ll_parallel, recompute)};

/* Whether a plan has a value of a member that is given; whether any is. */
static bool holds(const struct searching *s, const struct ll_parallel *plan, size_t member)
{
    return ll_given_hold(s->search->given, plan, member);
}

static bool is_given(const struct searching *s, size_t member)
{
    return ll_given_of(s->search->given, member) > 0;
}

static bool says_split(const struct ll_layer_split *split)
{
    return split->evenly || split->embedding || split->loss || split->first > 0 || split->last > 0 ||
           *split->layout;
}

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

/* What all programs are made of. */
static const struct ll_trace *whole_of(const struct searching *s)
{
    return s->fused ? s->fused : s->thin ? s->thin : s->trace;
}

/* Whether programs are made at each micro-batch anew: what casts, pieces of exchanges and experts take is
 * rounded at each. */
static bool is_made_anew(const struct searching *s)
{
    return ll_has_experts(s->trace) || s->base.low_precision.recipe != LL_RECIPE_NONE || s->base.main_grads ||
           s->base.tensor_overlap || !s->base.pass_overlap;
}

static struct ll_trace *share(struct searching *s, const struct ll_trace *trace,
                              const struct ll_parallel *plan)
{
    return ll_shared_program(trace, plan, &s->failed);
}

static struct ll_trace *take(struct ll_trace *old, struct ll_trace *next)
{
    ll_trace_free(old);
    return next;
}

/* At a micro-batch. Shares that are made already are taken to it; what experts hold is rounded, so that it is
 * shared, or found not to come in equal shares, at each micro-batch anew. */
static struct ll_trace *make_program(struct searching *s, const struct ll_trace *shared,
                                     const struct ll_parallel *plan)
{
    const char *trouble = NULL;
    const struct ll_trace *from = shared ? shared : whole_of(s);
    struct ll_trace *program = ll_trace_rescale(from, plan->micro_batch, &trouble);
    if (program && !shared && plan->low_precision.recipe != LL_RECIPE_NONE)
        program = take(program, ll_narrow_training(program, &plan->low_precision, &trouble));
    s->failed |= !program && !trouble;
    return program && !shared ? take(program, share(s, program, plan)) : program;
}

/* Puts the layers that were left out back: they take what those like them take. */
static bool thicken(const struct searching *s, struct ll_arena *arena, struct ll_layer_costs *costs)
{
    uint32_t count = costs->count + s->dropped;
    struct ll_layer_cost *at = ll_alloc(arena, count + 1u, sizeof *at);
    const uint32_t like = s->like + ll_split_ends(&s->costed).embedding;
    for (uint32_t i = 0; at && i < count; i++)
        at[i] = costs->at[i <= like ? i : i <= like + s->dropped ? like : i - s->dropped];
    *costs = (struct ll_layer_costs){at, count};
    return at;
}

/* Finds the layers that are alike; without any, all are measured. False when memory ran out. */
static bool thin_out(struct searching *s)
{
    struct ll_arena scratch = {0};
    struct ll_equal_layers equal;
    const char *trouble;
    const struct ll_low_precision *low =
        &s->base.low_precision; /* layers at the ends may be kept as they are */
    bool found = ll_equal_layers_find(s->trace, &scratch, &equal);
    ll_trace_free(s->thin);
    s->thin = found && s->trace->step_count == 1 && low->first_kept + low->last_kept == 0
                  ? ll_drop_layers(s->trace, &equal, &trouble)
                  : NULL;
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
    bool done = prepared;
    for (uint64_t pool = 0; done && pool < s->estimator.pool_count; pool++) {
        const struct ll_machine *machine = s->estimator.machines[pool];
        const struct ll_among among = {.exchanges = s->estimator.exchanges[pool],
                                       .memo = &s->remembered->costs};
        if (s->estimator.pool_count > 1)
            ll_memo_turn(&s->remembered->costs, machine);
        const struct ll_result *result = ll_replay_among(prepared, machine, &among, &scratch, &diags);
        done = result && ll_layer_costs(result, &s->costed, arena, &base->costs[pool]) &&
               thicken(s, arena, &base->costs[pool]);
    }
    s->failed |= program && !done && diags.count == 0;
    s->result->programs += done;
    s->result->layers = done ? base->costs[0].count : s->result->layers;
    tell(s);
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    ll_trace_free(program);
    return done;
}

/* --- the best --- */

/* Step time, for productive time alone. */
static double ranked_s(const struct ll_found_plan *found, double time_s)
{
    return time_s / found->time_share;
}

static bool is_worse(const struct ll_found_plan *a, const struct ll_found_plan *b)
{
    return ranked_s(a, a->estimate_s) > ranked_s(b, b->estimate_s);
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

/* Whether what is given goes together with all else. */
static bool is_right(const struct searching *s, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    struct ll_plan_sizes sizes;
    const bool right = !s->search->given || ll_plan_resolve(plan, 0, s->search->devices, &diags, &sizes);
    ll_diags_release(&diags);
    return right;
}

/* Whether it fits. */
static bool try_plan(struct searching *s, const struct base *base, const struct ll_parallel *plan)
{
    if (!is_right(s, plan))
        return false;
    struct ll_found_plan found = {.plan = *plan,
                                  .estimate_bytes = ll_estimate_bytes(&s->estimator, plan),
                                  .checkpoint = s->checkpoint,
                                  .time_share = s->time_share,
                                  .number = s->result->considered};
    s->result->considered++;
    if (found.estimate_bytes > s->capacity_bytes) {
        s->result->least_bytes = fmin(s->result->least_bytes, found.estimate_bytes);
        s->result->too_large++;
        return false;
    }
    s->result->estimated++;
    double bound_s = ranked_s(&found, ll_estimate_bound_s(&s->estimator, plan));
    if (s->result->found_count == LL_MOST_FOUND && bound_s > s->least_s &&
        bound_s > ranked_s(&s->found[0], s->found[0].estimate_s)) {
        s->result->bounded++;
        return true;
    }
    found.estimate_s = ll_estimate_s(&s->estimator, base->costs, plan);
    s->failed |= s->estimator.failed;
    s->least_s = fmin(s->least_s, ranked_s(&found, found.estimate_s));
    found.samples_Hz = (double)plan->batch / found.estimate_s;
    keep(s, &found);
    return true;
}

/* As it is, or else with the optimizer's state on the host; whether it fits. */
static bool try_host(struct searching *s, const struct base *base, struct ll_parallel plan)
{
    bool fits = try_plan(s, base, &plan);
    if (is_given(s, offsetof(struct ll_parallel, offload)))
        return fits;
    plan.offload.optimizer = true;
    return fits || (s->learns && s->machine->host.bandwidth_Bps > 0 && try_plan(s, base, &plan));
}

/* Whether a schedule takes so many stages, chunks and micro-batches (plan.c). An inference has no backward
 * passes whose order could differ. */
static bool has_schedule(const struct searching *s, const struct ll_parallel *plan)
{
    const uint64_t m = plan->batch / plan->data / plan->micro_batch, p = plan->pipeline;
    switch (plan->schedule) {
    case LL_SCHEDULE_ONE_F_ONE_B:
        return plan->chunks == 1;
    case LL_SCHEDULE_INTERLEAVED:
        return plan->chunks > 1 && m % p == 0;
    case LL_SCHEDULE_BREADTH_FIRST:
        return s->learns && plan->chunks > 1;
    case LL_SCHEDULE_ZB_V:
        return s->learns;
    case LL_SCHEDULE_DUALPIPE:
        return s->learns && m % 2 == 0 && m >= 2 * p;
    case LL_SCHEDULE_DUALPIPE_V:
        return s->learns && m >= 4 * p;
    default:
        return s->learns && p > 1 && plan->chunks == 1;
    }
}

/* What a checkpoint of the plans under way has, and what that leaves of the time. */
static void rank_checkpoint(struct searching *s, const struct ll_parallel *plan)
{
    const struct ll_checkpoint_bytes before = s->checkpoint;
    s->checkpoint = ll_estimate_checkpoint(&s->estimator, plan);
    if (!s->search->time_share)
        s->time_share = 1;
    else if (s->time_share == 0 || s->checkpoint.all != before.all || s->checkpoint.device != before.device)
        s->time_share = s->search->time_share(s->search->time_share_context, &s->checkpoint);
    assert(s->time_share > 0 && s->time_share <= 1);
}

/* All schedules of a placement on what is shared out; whether any fits. */
static bool try_schedules(struct searching *s, const struct base *base, struct ll_parallel plan)
{
    const enum ll_placement placement = ll_schedule_placement(plan.schedule);
    bool any = false;
    ll_estimate_share(&s->estimator, base->costs, &plan);
    rank_checkpoint(s, &plan);
    for (unsigned schedule = 0; schedule < LL_SCHEDULE_COUNT; schedule++) {
        plan.schedule = (enum ll_schedule)schedule;
        if (ll_schedule_placement(plan.schedule) == placement && has_schedule(s, &plan) &&
            holds(s, &plan, offsetof(struct ll_parallel, schedule)))
            any = try_host(s, base, plan) || any;
    }
    return any;
}

/* Shared out among the replicas of a node, of a group of nodes, ... only; whether any fits. */
static bool try_groups(struct searching *s, const struct base *base, struct ll_parallel plan)
{
    bool any = false;
    uint64_t group = 1;
    if (is_given(s, offsetof(struct ll_parallel, within))) {
        for (plan.within = 2; plan.within <= ll_replicas(&plan); plan.within++)
            if (ll_replicas(&plan) % plan.within == 0 &&
                holds(s, &plan, offsetof(struct ll_parallel, within)))
                any = try_schedules(s, base, plan) || any;
        return any;
    }
    for (uint64_t level = 0; level + 1 < s->machine->network_count; level++) {
        group *= s->machine->networks[level].devices;
        plan.within = group % plan.tensor == 0 ? group / plan.tensor : 0;
        if (plan.within > 1 && plan.within < ll_replicas(&plan) && ll_replicas(&plan) % plan.within == 0)
            any = try_schedules(s, base, plan) || any;
    }
    return any;
}

/* Whether replicas can share out what a stage of ZeRO wants: of an update whose parts other ops need whole
 * they cannot. Asked of one plan for all that share GEMMs, sequences and experts as it does. */
static bool can_share(struct searching *s, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    if (plan->zero == 0 || s->shares[plan->zero].known)
        return plan->zero == 0 || s->shares[plan->zero].can;
    struct ll_parallel plain = *plan;
    plain.schedule = LL_SCHEDULE_ONE_F_ONE_B;
    plain.chunks = 1;
    plain.split = (struct ll_layer_split){0};
    struct ll_spread *spread = ll_spread_trace(s->trace, &plain, s->search->devices, &diags);
    s->failed |= !spread && diags.count == 0;
    for (uint64_t zero = spread ? 1 : plan->zero; zero <= plan->zero;
         zero++) { /* a stage does what those below do */
        s->shares[zero].known = true;
        s->shares[zero].can = spread;
    }
    ll_spread_free(spread);
    ll_diags_release(&diags);
    return s->shares[plan->zero].can;
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
        if (!holds(s, &plan, offsetof(struct ll_parallel, zero)) ||
            (!can_share(s, &last) && !can_share(s, &plan)))
            continue;
        if (!is_given(s, offsetof(struct ll_parallel, within)))
            any = try_schedules(s, base, plan) || any;
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

/* A division of layers, whole and with all computed again. */
static bool try_division(struct searching *s, struct base *base, struct ll_parallel plan)
{
    bool any = false, anew = plan.recompute == LL_RECOMPUTE_NONE && keeps_less_again(base->costs);
    if (!ll_estimate_divide(&s->estimator, base->costs, &plan))
        return false;
    for (int full = 0; full <= anew; full++) {
        plan.recompute = full ? LL_RECOMPUTE_FULL : plan.recompute;
        if (!holds(s, &plan, offsetof(struct ll_parallel, recompute)))
            continue;
        ll_estimate_count(&s->estimator, base->costs, &plan);
        any = try_sharing(s, base, plan) || any;
    }
    return any;
}

/* The time of the slowest virtual stage; INFINITY where a split leaves too few layers. */
static double slowest_s(struct searching *s, const struct ll_layer_costs *costs,
                        const struct ll_parallel *plan)
{
    double part_s = 0, most_s = 0;
    if (!ll_estimate_divide(&s->estimator, costs, plan))
        return INFINITY;
    for (uint32_t i = 0; i < costs->count; i++) {
        bool begins = i == 0 || s->estimator.part_of[i] != s->estimator.part_of[i - 1];
        part_s = (begins ? 0 : part_s) + costs->at[i].forward_s + costs->at[i].backward_s;
        most_s = fmax(most_s, part_s);
    }
    return most_s;
}

/* Embeddings, losses and first layers of another kind take their time: the numbers of layers of the first and
 * the last virtual stage with which the slowest one is fastest. False where that gains next to nothing over
 * the division by FLOPs. */
static bool split_by_time(struct searching *s, const struct ll_layer_costs *costs, struct ll_parallel *plan)
{
    enum { AROUND = 2 }; /* so many layers more or fewer than others have */
    const double gain = 0.995;
    const bool twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
    const uint64_t parts = plan->pipeline * (twice ? 1 : plan->chunks), each = costs->count / parts;
    struct ll_parallel other = *plan;
    double best_s = gain * slowest_s(s, costs, plan);
    bool found = false;
    if (parts == 1)
        return false;
    for (uint64_t first = each > AROUND ? each - AROUND : 1; first <= each + AROUND; first++)
        for (uint64_t last = each > AROUND ? each - AROUND : 1; last <= each + AROUND; last++) {
            other.split = (struct ll_layer_split){.first = first, .last = last};
            double time_s = slowest_s(s, costs, &other);
            if (time_s < best_s) {
                best_s = time_s;
                plan->split = other.split;
                found = true;
            }
        }
    return found;
}

/* Layers assigned by what they cost on the devices of each pool. False where there are too few, or they have
 * no layout that is short enough. */
static bool lay_out(struct searching *s, const struct base *base, struct ll_parallel *plan)
{
    struct ll_arena scratch = {0};
    const struct ll_ends ends = ll_split_ends(&s->costed);
    const bool twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
    const uint64_t parts = plan->pipeline * (twice ? 1 : plan->chunks);
    if (parts > base->costs[0].count)
        return false;
    uint32_t *counts = ll_alloc(&scratch, parts, sizeof *counts);
    bool done = counts && ll_divide_by_cost(plan, base->costs, s->estimator.pool_count, &scratch, counts);
    s->failed |= !done;
    plan->split = (struct ll_layer_split){0};
    done = done && ll_layout_write(counts, (uint32_t)parts, ends.embedding, ends.loss, plan->split.layout);
    ll_arena_release(&scratch);
    return done;
}

/* A division into stages and chunks, by FLOPs and by time. */
static bool try_virtual_stages(struct searching *s, struct base *base, struct ll_parallel plan)
{
    const bool by_cost =
        ll_split_is_by_cost(&plan.split) || (s->estimator.pool_count > 1 && !says_split(&plan.split));
    if (plan.pipeline == 1 && says_split(&plan.split))
        return false;
    if (by_cost && !lay_out(s, base, &plan))
        return false;
    bool any = try_division(s, base, plan);
    if (!says_split(&plan.split) && split_by_time(s, base->costs, &plan))
        any = try_division(s, base, plan) || any;
    return any;
}

/* Whether dimensions of a role, and layers, divide as Megatron-LM wants them to. */
static bool divides(const struct searching *s, const struct ll_parallel *plan)
{
    for (uint64_t i = 0; i < s->trace->desc_count; i++) {
        const struct ll_shape *shape = &s->trace->descs[i].shape;
        for (unsigned k = 0; k < shape->rank; k++) {
            uint64_t ways =
                shape->role[k] == LL_ROLE_HEADS || shape->role[k] == LL_ROLE_FFN_HIDDEN ? plan->tensor
                : shape->role[k] == LL_ROLE_EXPERTS                                     ? plan->expert
                : shape->role[k] == LL_ROLE_SEQUENCE
                    ? (plan->context > 1 ? 2 * plan->context : 1) * (plan->sequence ? plan->tensor : 1)
                    : 1;
            if (shape->dim[k] > 1 && shape->dim[k] % ways != 0)
                return false;
        }
    }
    return true;
}

/* Whether each pool has stages, which have whole nodes of it. */
static bool lies_on_pools(const struct searching *s, const struct ll_parallel *plan)
{
    const uint64_t of_stage = plan->tensor * ll_replicas(plan), pools = s->estimator.pool_count;
    uint64_t sum = 0;
    for (int i = 0; i < LL_MOST_POOLS; i++)
        sum += plan->pool_stages[i];
    if (pools == 1)
        return sum == 0;
    if (plan->pipeline < pools || (sum > 0 && sum != plan->pipeline))
        return false;
    for (uint64_t i = 0; i < pools; i++) {
        uint64_t stages = 0;
        for (uint64_t stage = 0; stage < plan->pipeline; stage++)
            stages += ll_pool_of(plan, pools, stage) == i;
        if (stages == 0 || stages * of_stage % s->estimator.machines[i]->networks[0].devices != 0)
            return false;
    }
    return true;
}

/* Whether a plan keeps the constraints that say how its numbers go together. */
static bool is_wanted(const struct searching *s, const struct ll_parallel *plan, uint64_t layers)
{
    const uint64_t of_stage = plan->tensor * ll_replicas(plan);
    if (s->search->whole_nodes &&
        (s->node % plan->tensor != 0 || (s->node % of_stage != 0 && of_stage % s->node != 0)))
        return false;
    return (!s->search->divisible || layers % (plan->pipeline * plan->chunks) == 0) &&
           holds(s, plan, offsetof(struct ll_parallel, chunks)) && lies_on_pools(s, plan);
}

/* All placements of virtual stages on stages; whether any plan fits. */
static bool try_placements(struct searching *s, struct base *base, struct ll_parallel plan)
{
    const uint64_t layers = base->costs[0].count, stages = plan.pipeline;
    const bool given = is_given(s, offsetof(struct ll_parallel, chunks));
    bool any = is_wanted(s, &plan, layers) && try_virtual_stages(s, base, plan);
    if (stages == 1)
        return any;
    plan.schedule = LL_SCHEDULE_INTERLEAVED;
    for (plan.chunks = 2; stages * plan.chunks <= layers; plan.chunks++)
        if ((given || layers % (stages * plan.chunks) == 0) && is_wanted(s, &plan, layers))
            any = try_virtual_stages(s, base, plan) || any;
    plan.chunks = 2;
    if (!s->learns || !is_wanted(s, &plan, layers))
        return any;
    plan.schedule = LL_SCHEDULE_ZB_V;
    if (2 * stages <= layers)
        any = try_virtual_stages(s, base, plan) || any;
    plan.schedule = LL_SCHEDULE_DUALPIPE;
    if (stages % 2 == 0)
        any = try_virtual_stages(s, base, plan) || any;
    return any;
}

/* All ways to lay the program's layers on the devices that share neither a GEMM nor a sequence; whether
 * any fits. */
static bool try_stages(struct searching *s, struct base *base)
{
    uint64_t left = s->search->devices / base->plan.tensor / base->plan.context,
             layers = base->costs[0].count;
    bool any = false;
    for (uint64_t stages = 1; stages <= ll_min(left, layers); stages++) {
        struct ll_parallel plan = base->plan;
        if (left % stages != 0)
            continue;
        plan.pipeline = stages;
        plan.data = left / stages;
        if (!holds(s, &plan, offsetof(struct ll_parallel, pipeline)) ||
            !holds(s, &plan, offsetof(struct ll_parallel, data)))
            continue;
        if (s->result->lacks_gradients && ll_replicas(&plan) > 1)
            continue;
        if (plan.batch % (plan.data * plan.micro_batch) != 0 || ll_replicas(&plan) % plan.expert != 0)
            continue;
        any = try_placements(s, base, plan) || any;
    }
    return any;
}

/* Larger micro-batches need more memory: the first of which plans there are, but none that fits, is the last.
 */
static void try_micro_batches(struct searching *s, struct ll_parallel plan)
{
    const bool anew = is_made_anew(s);
    if (s->search->divisible && !divides(s, &plan))
        return;
    struct ll_trace *shared = anew ? NULL : share(s, whole_of(s), &plan);
    bool fits = shared || anew;
    memset(s->shares, 0, sizeof s->shares);
    for (plan.micro_batch = 1; fits && !ends(s) && plan.micro_batch <= plan.batch; plan.micro_batch++) {
        struct ll_arena arena = {0};
        struct base base = {.plan = plan};
        if (plan.batch % plan.micro_batch != 0 || !holds(s, &plan, offsetof(struct ll_parallel, micro_batch)))
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
        if (most % plan.expert == 0 && holds(s, &plan, offsetof(struct ll_parallel, expert)))
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
    const bool given = is_given(s, offsetof(struct ll_parallel, context));
    for (plan.context = 1; plan.context <= left && (no_better < 2 || given) && !ends(s); plan.context++) {
        if (!holds(s, &plan, offsetof(struct ll_parallel, context)))
            continue;
        if (left % plan.context != 0 || (plan.context > 1 && !ll_has_context(s->trace, plan.context)))
            continue;
        s->least_s = INFINITY;
        try_experts(s, plan);
        no_better = s->least_s < least_s || isinf(s->least_s) ? 0 : no_better + 1;
        least_s = fmin(least_s, s->least_s);
    }
}

/* Whether plans with this recomputation, or with all computed again in its place, are asked for. */
static bool holds_recompute(const struct searching *s, struct ll_parallel plan)
{
    const size_t member = offsetof(struct ll_parallel, recompute);
    if (holds(s, &plan, member))
        return true;
    const bool none = plan.recompute == LL_RECOMPUTE_NONE;
    plan.recompute = LL_RECOMPUTE_FULL;
    return none && holds(s, &plan, member);
}

/* All on a base; or, for progress, how many branches that are. GEMMs are shared in a node, unless it is said
 * among how many. */
static uint64_t try_base(struct searching *s, bool counts)
{
    struct ll_parallel plan = s->base;
    uint64_t branches = 0;
    const uint64_t devices = s->search->devices;
    const bool given = is_given(s, offsetof(struct ll_parallel, tensor));
    plan.batch = s->search->batch;
    for (plan.tensor = 1; plan.tensor <= (given ? devices : ll_min(s->node, devices)) && !ends(s);
         plan.tensor++)
        for (int sequence = 0; devices % plan.tensor == 0 && sequence <= (plan.tensor > 1); sequence++)
            for (int selective = 0; selective < 2; selective++) {
                plan.sequence = sequence;
                plan.recompute = selective ? LL_RECOMPUTE_SELECTIVE : LL_RECOMPUTE_NONE;
                if (!holds(s, &plan, offsetof(struct ll_parallel, tensor)) ||
                    !holds(s, &plan, offsetof(struct ll_parallel, sequence)) || !holds_recompute(s, plan))
                    continue;
                branches++;
                if (counts)
                    continue;
                try_contexts(s, plan);
                s->result->branches_done += !ends(s);
            }
    return branches;
}

/* What the base says of layers and of the loss. False when memory ran out. */
static bool open_base(struct searching *s, const struct ll_parallel *base)
{
    const char *trouble = NULL;
    struct ll_arena scratch = {0};
    struct ll_layers layers;
    s->base = *base;
    s->estimator.slow = ll_slow_devices(base, s->search->devices, s->arena, &s->estimator.slow_count);
    s->costed = s->base.split;
    if (!says_split(&s->costed) && s->estimator.pool_count > 1)
        s->costed = (struct ll_layer_split){.layout = "auto"};
    if (ll_split_is_by_cost(&s->costed) && ll_layers_of_split(s->trace, &s->costed, &scratch, &layers))
        s->costed = (struct ll_layer_split){0}; /* its ends are not known */
    ll_arena_release(&scratch);
    if (!s->estimator.slow || !thin_out(s))
        return false;
    ll_trace_free(s->fused);
    s->fused = NULL;
    if (s->base.fused_loss)
        s->fused = ll_fuse_loss(s->thin ? s->thin : s->trace, &trouble);
    return !s->base.fused_loss || s->fused || trouble;
}

static void try_all(struct searching *s)
{
    uint64_t count;
    const size_t others = sizeof varied / sizeof *varied;
    const struct ll_parallel *bases = ll_given_bases(s->search->given, varied, others, s->arena, &count);
    s->failed |= !bases;
    if (bases)
        s->result->branches = count * try_base(s, true);
    for (uint64_t i = 0; bases && i < count && !ends(s); i++) {
        s->failed |= !open_base(s, &bases[i]);
        if (!s->failed)
            try_base(s, false);
    }
}

/* --- the end --- */

static int by_estimate(const void *left, const void *right)
{
    const struct ll_found_plan *a = left, *b = right;
    double x = ranked_s(a, a->step_s > 0 ? a->step_s : a->estimate_s),
           y = ranked_s(b, b->step_s > 0 ? b->step_s : b->estimate_s);
    if ((a->step_s > 0) != (b->step_s > 0))
        return a->step_s > 0 ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1;
    if (a->plan.zero != b->plan.zero)
        return a->plan.zero < b->plan.zero ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
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
    for (uint64_t i = 0; result && !isinf(s->capacity_bytes) && i < found->plan.pipeline; i++)
        fits &= (double)result->stages[i].memory_bytes <=
                (1 - s->search->margin) * (double)result->stages[i].capacity_bytes;
    if (!fits)
        s->result->least_bytes = fmin(s->result->least_bytes, bytes);
    if (!result && diags.kept_count > 0 && !s->result->refusal)
        s->result->refusal = ll_format(s->arena, "%s", diags.kept[0].message);
    if (fits) {
        found->step_s = result->step_s;
        found->bubble = result->bubble;
        found->memory_bytes = result->stages[result->fullest].memory_bytes;
        found->energy_j = result->energy_j;
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
    if (is_given(s, offsetof(struct ll_parallel, bucket_bytes)))
        return;
    for (size_t i = 0; ll_replicas(&best->plan) > 1 && !s->failed && i < sizeof sizes / sizeof *sizes; i++) {
        struct ll_found_plan other = found;
        other.plan.bucket_bytes = sizes[i];
        other.exposed_s = 0;
        bool fits = simulate(s, &other);
        if (fits && other.step_s < best->step_s) /* of the same checkpoint */
            *best = other;
    }
}

/* As many as a little time allows, but for those that are far from the best: estimates err by some ten
 * percent, and in another way for plans that share otherwise. Where that is fewer than are wanted, one of
 * the best of all, or of its stage of ZeRO, so that those of one stage cannot take all places. */
static bool is_worth_it(const struct searching *s, uint64_t simulated, const uint64_t *of_stage,
                        const struct ll_found_plan *found)
{
    uint64_t wanted = s->search->simulated;
    if (ends(s))
        return !s->failed && simulated == 0;
    const double far = 1.5; /* of an estimate over the fastest step */
    bool near = ranked_s(found, found->estimate_s) <= far * s->fastest_s;
    return (near && s->result->simulated * s->trace->op_count < OPS_SIMULATED) || simulated < wanted ||
           of_stage[found->plan.zero] < (wanted + 1) / 2;
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
    found->energy_j = NAN;
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
            s->fastest_s = fmin(s->fastest_s, ranked_s(&s->found[i], s->found[i].step_s));
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
    const uint64_t node = machine->network_count ? machine->networks[0].devices : 1;
    if (search->whole_nodes && search->devices % node != 0)
        return ll_complain(diags, (struct ll_place){0},
                           "%" PRIu64 " devices: expected whole nodes, of %" PRIu64 " devices each",
                           search->devices, node);
    for (uint64_t i = 0; machine->pool_count > 0 && i <= machine->pool_count; i++) {
        const struct ll_machine *pool = i ? machine->pools[i - 1] : machine;
        if (pool->network_count < 2)
            return ll_complain(
                diags, (struct ll_place){0},
                "pool %" PRIu64 ": expected a network between its nodes, which it does not have", i + 1);
    }
    uint64_t bases;
    struct ll_arena scratch = {0};
    ll_given_bases(search->given, varied, sizeof varied / sizeof *varied, &scratch, &bases);
    ll_arena_release(&scratch);
    if (bases > LL_MOST_BASES)
        return ll_complain(diags, (struct ll_place){0},
                           "%" PRIu64 " combinations of values: expected at most %d of keys that are not "
                           "those of stages, shares and micro-batches",
                           bases, LL_MOST_BASES);
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
        .base = ll_plan_of_one(),
        .remembered = &remembered,
        .arena = arena,
        .result = ll_alloc(arena, 1, sizeof *s.result),
        .found = ll_alloc(arena, LL_MOST_FOUND, sizeof *s.found),
        .capacity_bytes =
            ll_memory_is_known(trace)
                ? (1 - search->margin) * (double)machine->levels[machine->level_count - 1].size_bytes
                : INFINITY,
        .node = machine->network_count ? machine->networks[0].devices : 1,
        .learns = ll_trains(trace),
    };
    ll_memo_turn(&remembered.costs, machine);
    s.fastest_s = INFINITY;
    struct ll_exchanges *exchanges[LL_MOST_POOLS] = {0};
    const uint64_t pools = ll_min(LL_MOST_POOLS, 1 + machine->pool_count);
    s.failed = !s.result || !s.found;
    for (uint64_t i = 0; i < pools; i++) {
        exchanges[i] =
            ll_exchanges_new(i ? machine->pools[i - 1] : machine, search->devices, &remembered.prices);
        s.failed |= !exchanges[i];
    }
    s.failed = s.failed || !ll_estimator_open(&s.estimator, machine, exchanges[0], trace->op_count + 1,
                                              search->devices, arena);
    for (uint64_t i = 1; !s.failed && i < pools; i++)
        ll_estimator_add_pool(&s.estimator, machine->pools[i - 1], exchanges[i]);
    s.failed = s.failed || !ll_gradients_missing(trace, &s.result->lacks_gradients) ||
               !ll_gradients_dtype(trace, &s.result->gradients);
    if (!s.failed) {
        s.result->least_bytes = INFINITY;
        try_all(&s);
        simulate_best(&s);
        for (uint64_t i = 0; isinf(s.capacity_bytes) && i < s.result->found_count; i++)
            s.found[i].estimate_bytes = NAN;
    }
    ll_trace_free(s.thin);
    ll_trace_free(s.fused);
    for (uint64_t i = 0; i < pools; i++)
        ll_exchanges_free(exchanges[i]);
    ll_remembered_release(&remembered);
    return s.failed ? NULL : s.result;
}
