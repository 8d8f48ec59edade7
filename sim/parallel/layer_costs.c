/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan search knows of a workload: the time and the memory of each layer of a replayed program.
 * The first section makes that program, the third times one pass along the layers of a stage while
 * replicas exchange gradients and weights. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/exchange.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/shard.h"
#include "tracer/base/num.h"
#include "tracer/ir/trace.h"

/* The program of one device that a search measures: what a plan makes of a step before it is cut into stages
 * and given to replicas, in the order of spread.c. */

static struct ll_trace *take(struct ll_trace *old, struct ll_trace *next)
{
    ll_trace_free(old);
    return next;
}

struct ll_trace *ll_shared_program(const struct ll_trace *trace, const struct ll_parallel *plan, bool *failed)
{
    const char *trouble = NULL;
    struct ll_diags diags = {0};
    const bool narrow = plan->low_precision.recipe != LL_RECIPE_NONE;
    struct ll_trace *program = ll_shard(trace, plan, &diags);
    bool divided = plan->tensor == 1 || (program && ll_is_divided(trace, program));
    if (program && plan->context > 1)
        program = take(program, ll_share_context(program, plan, &diags));
    if (program && plan->expert > 1)
        program = take(program, ll_spread_experts(program, plan, &diags));
    if (program && narrow)
        program = take(program, ll_complete_casts(program, plan, &trouble));
    uint64_t ops = program ? program->op_count : 0;
    if (program && plan->recompute == LL_RECOMPUTE_SELECTIVE)
        program = take(program, ll_recompute(program, plan->recompute, &trouble));
    bool new = divided && (plan->recompute != LL_RECOMPUTE_SELECTIVE || (program && program->op_count > ops));
    if (program && new && plan->main_grads)
        program = take(program, ll_main_gradients(program, &trouble));
    if (program && new && plan->tensor_overlap)
        program = take(program, ll_cut_exchanges(program, plan, &trouble));
    if (program && new && !plan->pass_overlap)
        program = take(program, ll_wait_for_exchanges(program, &trouble));
    *failed |= !program && !trouble && diags.count == 0;
    ll_diags_release(&diags);
    if (!program || new)
        return program;
    ll_trace_free(program); /* it does what another one does: that has been seen */
    return NULL;
}

/* The costs of layers. The time of an op is the amount by which it advances the latest end of all ops so far,
 * so the times of the layers add up to the step time. */

/* Activations that are not kept for the backward pass; that are, come what may; that a layer which is
 * computed again makes anew. */
enum part { PASSING, HELD, INSIDE, PARTS };

struct profiling {
    const struct ll_result *result;
    const struct ll_trace *trace;
    const struct ll_liveness *lives;
    struct ll_layers layers;
    uint32_t end;      /* of the first step */
    uint32_t boundary; /* its last op going forward; LL_NONE: it has none */
    uint32_t *user;    /* by storage: the op that first reads it or makes it */
    bool *of_weights;  /* by op that counts: it gives a gradient of weights alone */
    bool *carried;     /* by storage: each micro-batch has one of its own all the time */
    bool *of_experts;  /* by storage: replicas may have some of it each */
    bool *stays;       /* by storage: is there though its layer is computed again (sim/parallel/pipeline.h) */
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

static const struct ll_op_signature *signature_of(const struct profiling *p, uint32_t op)
{
    return &p->trace->signatures[p->trace->ops[op].signature];
}

static uint32_t storage_of(const struct profiling *p, uint32_t tensor)
{
    return p->trace->tensors[tensor].storage;
}

/* --- times --- */

static void sum_times(const struct profiling *p)
{
    const struct ll_prepared *prepared = p->result->prepared;
    const bool *of_weights = p->of_weights;
    double end_s = 0, steps = (double)prepared->steps;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_result *op = &p->result->ops[seq - prepared->first_op];
        enum ll_phase phase = signature_of(p, seq)->phase;
        double more_s = fmax(0, op->start_s + op->time_s - end_s) / steps;
        double units_s = op->bound == LL_BOUND_COMPUTE ? fmin(more_s, op->active_s / steps) : 0;
        struct ll_layer_cost *cost = cost_of(p, seq);
        end_s = fmax(end_s, op->start_s + op->time_s);
        if (phase == LL_PHASE_BACKWARD) {
            cost->backward_s += more_s;
            cost->backward_units_s += units_s;
            cost->weights_s += of_weights[seq - prepared->first_op] ? more_s : 0;
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

static void add_state(struct ll_state_bytes *sum, const struct ll_liveness *life)
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
        const struct ll_op_signature *signature = signature_of(p, op);
        bool backward = signature->phase == LL_PHASE_BACKWARD;
        struct ll_layer_cost *cost = cost_of(p, op);
        uint32_t pass = 2 * (uint32_t)(cost - p->costs->at) + backward;
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
            uint32_t storage = storage_of(p, ll_op_input(p->trace, op, i));
            if (signature->phase == LL_PHASE_UPDATE || p->lives[storage].memory != LL_WEIGHT ||
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
    const struct ll_liveness *life = &p->lives[storage];
    return life->memory == LL_WEIGHT || life->memory == LL_OPTIMIZER || p->carried[storage] ||
           (life->memory == LL_GRADIENT && life->updates);
}

static bool is_kept(const struct profiling *p, const struct ll_liveness *life)
{
    return p->boundary != LL_NONE && life->first <= p->boundary && life->last > p->boundary;
}

/* The layer that makes a tensor going forward and would make it again; LL_NONE for none. */
static uint32_t layer_making(const struct profiling *p, uint32_t tensor)
{
    uint32_t maker = p->trace->tensors[tensor].producer;
    bool forward = maker != LL_NONE && signature_of(p, maker)->phase == LL_PHASE_FORWARD;
    return forward ? p->layers.named[maker] : LL_NONE;
}

/* What no layer makes, or what is read outside of the one that makes it, is not made again. */
static void find_staying(const struct profiling *p)
{
    for (uint32_t tensor = 0; tensor < p->trace->tensor_count; tensor++)
        p->stays[storage_of(p, tensor)] |= layer_making(p, tensor) == LL_NONE;
    for (uint32_t op = 0; op < p->end; op++) {
        const struct ll_op_signature *signature = signature_of(p, op);
        for (uint32_t i = 0; signature->phase == LL_PHASE_FORWARD && i < signature->view.input_count; i++) {
            uint32_t tensor = ll_op_input(p->trace, op, i);
            p->stays[storage_of(p, tensor)] |= layer_making(p, tensor) != p->layers.named[op];
        }
    }
}

static void sum_kept(const struct profiling *p)
{
    for (uint64_t s = 0; s < p->trace->storage_count; s++) {
        const struct ll_liveness *life = &p->lives[s];
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
        const struct ll_liveness *life = &p->lives[s];
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
        enum ll_phase phase = signature_of(p, op)->phase;
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
        const struct ll_op_signature *signature = signature_of(p, op);
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
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
        const struct ll_op_signature *signature = signature_of(p, op);
        for (uint32_t i = 0; i < signature->view.input_count; i++)
            p->user[storage_of(p, ll_op_input(p->trace, op, i))] = op;
        for (uint32_t i = 0; i < signature->view.output_count; i++)
            p->user[storage_of(p, ll_op_output(p->trace, op, i))] = op;
    }
}

static void find_experts(struct profiling *p)
{
    for (uint64_t i = 0; i < p->trace->tensor_count; i++)
        p->of_experts[p->trace->tensors[i].storage] |=
            ll_is_of_experts(&p->trace->descs[p->trace->tensors[i].desc]);
}

static bool open_profiling(struct profiling *p, const struct ll_result *result,
                           const struct ll_layer_split *split, struct ll_arena *arena)
{
    const struct ll_layer_split none = {0};
    const struct ll_trace *trace = p->trace = result->prepared->trace;
    p->result = result;
    p->lives = ll_trace_liveness(trace, arena);
    p->user = ll_alloc(arena, trace->storage_count + 1, sizeof *p->user);
    p->of_weights = ll_find_weight_halves(result->prepared, arena);
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
    return p->lives && p->user && p->of_weights && p->carried && p->of_experts && p->stays &&
           !ll_layers_of_split(trace, split ? split : &none, arena, &p->layers);
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

bool ll_layer_costs(const struct ll_result *result, const struct ll_layer_split *split,
                    struct ll_arena *arena, struct ll_layer_costs *costs)
{
    struct ll_arena scratch = {0};
    struct profiling p = {.costs = costs};
    const struct ll_trace *trace = result->prepared->trace;
    bool *handed = ll_alloc(&scratch, trace->tensor_count + 1, sizeof *handed);
    uint32_t *reader = ll_alloc(&scratch, trace->storage_count + 1, sizeof *reader);
    bool done = handed && reader && open_profiling(&p, result, split, &scratch);
    *costs = (struct ll_layer_costs){.count = p.layers.count};
    costs->at = done ? ll_alloc(arena, costs->count + 1u, sizeof *costs->at) : NULL;
    if (costs->at)
        sum_layers(&p, handed, reader);
    ll_arena_release(&scratch);
    return costs->at;
}

/* Two clocks go along the layers: when the device, and when the network, is done with what it was given. A
 * layer starts with its weights there, and asks for those of the next as soon as the one before it is done.
 * The first of a virtual stage has nobody who asks early. */

struct overlap_pass {
    const struct ll_dp_overlap *overlap;
    uint64_t stage;
    double device_s, network_s; /* done at */
    double weights_s;           /* those of the next layer are there at */
    double bucket_bytes;        /* gradients that wait */
    double taken;               /* the largest share of the units that an exchange has kept busy */
    bool failed;                /* memory ran out */
};

/* Of so many replicas, as far apart; *levels: those of the network that it uses. */
static bool among_s(struct ll_exchanges *exchanges, enum ll_op_kind kind, double bytes, uint64_t replicas,
                    uint64_t apart, double *time_s, uint32_t *levels)
{
    assert(bytes >= 0 && replicas > 0);
    struct ll_asked asked = {.kind = kind, .bytes = (uint64_t)bytes, .devices = replicas, .stride = apart};
    const struct ll_price *price = replicas > 1 ? ll_exchanges_price(exchanges, &asked) : NULL;
    *time_s = price && !price->trouble ? price->exchanged.time_s : 0;
    *levels |= price ? price->levels : 0;
    return price || replicas <= 1;
}

static bool among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan,
                             enum ll_op_kind kind, double bytes, double *time_s, uint32_t *levels)
{
    assert(ll_replicas(plan) % ll_replicas_sharing(plan) == 0);
    uint64_t sharing = ll_replicas_sharing(plan), equal = ll_replicas(plan) / sharing;
    double alike_s = 0;
    bool adds_alike = kind == LL_OP_REDUCE_SCATTER && equal > 1;
    if (kind == LL_OP_ALL_REDUCE)
        return among_s(exchanges, kind, bytes, ll_replicas(plan), plan->tensor, time_s, levels);
    bool priced = among_s(exchanges, kind, bytes, sharing, plan->tensor, time_s, levels) &&
                  (!adds_alike || among_s(exchanges, LL_OP_ALL_REDUCE, bytes / (double)sharing, equal,
                                          plan->tensor * sharing, &alike_s, levels));
    *time_s += alike_s;
    return priced;
}

bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s)
{
    uint32_t levels = 0;
    return among_replicas_s(exchanges, plan, kind, bytes, time_s, &levels);
}

/* The network takes up an exchange once `since` is over. */
static void exchange(struct overlap_pass *pass, enum ll_op_kind kind, double bytes, double since)
{
    assert(bytes >= 0 && since >= 0);
    const struct ll_dp_overlap *overlap = pass->overlap;
    double time_s = 0;
    uint32_t levels = 0;
    if (bytes <= 0)
        return;
    if (!among_replicas_s(overlap->exchanges, overlap->plan, kind, bytes, &time_s, &levels))
        pass->failed = true;
    pass->network_s = fmax(pass->network_s, since) + time_s;
    for (unsigned l = 0; levels >> l; l++)
        if (levels >> l & 1)
            pass->taken = fmax(pass->taken, overlap->machine->networks[l].units_taken);
}

/* What is computed from start_s on, of which units hold back units_s, ends later beside exchanges: as
 * sim/replay/engine.c has it of an op. */
static double end_overlapped_s(const struct overlap_pass *pass, double start_s, double alone_s,
                               double units_s)
{
    assert(alone_s >= 0 && units_s >= 0 && pass->taken >= 0 && pass->taken < 1);
    double longer_s = alone_s + units_s * pass->taken / (1 - pass->taken);
    double beside_s = fmin(fmax(0, pass->network_s - start_s), longer_s);
    return start_s + alone_s + (longer_s > alone_s ? beside_s * (1 - alone_s / longer_s) : 0);
}

static void gather(struct overlap_pass *pass, double bytes, double since)
{
    if (pass->overlap->gathers)
        exchange(pass, LL_OP_ALL_GATHER, bytes, since);
    pass->weights_s = pass->overlap->gathers && bytes > 0 ? pass->network_s : 0;
}

/* Gradients go when there is a bucket of them. */
static void sum(struct overlap_pass *pass, double gradient_bytes, bool rest)
{
    const struct ll_parallel *plan = pass->overlap->plan;
    pass->bucket_bytes += gradient_bytes;
    if (!pass->overlap->sums || (!rest && pass->bucket_bytes < (double)plan->bucket_bytes))
        return;
    exchange(pass, plan->zero > 0 ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE, pass->bucket_bytes,
             pass->device_s);
    pass->bucket_bytes = 0;
}

/* A layer, whose weights have been asked for where it is not the first of its virtual stage; `next` comes
 * after it there, NULL: none does. */
static void forward(struct overlap_pass *pass, const struct ll_layer_cost *layer,
                    const struct ll_layer_cost *next, bool first)
{
    double before_s = pass->device_s;
    if (first)
        gather(pass, layer->forward_read_bytes, before_s);
    double start_s = fmax(before_s, pass->weights_s);
    gather(pass, next ? next->forward_read_bytes : 0, before_s);
    pass->device_s = end_overlapped_s(pass, start_s, layer->forward_s, layer->forward_units_s);
}

static void backward(struct overlap_pass *pass, const struct ll_layer_cost *layer,
                     const struct ll_layer_cost *next, bool first)
{
    bool again = pass->overlap->plan->recompute == LL_RECOMPUTE_FULL;
    double before_s = pass->device_s;
    if (first)
        gather(pass, layer->backward_read_bytes, before_s);
    double start_s = fmax(before_s, pass->weights_s);
    gather(pass, next ? next->backward_read_bytes : 0, before_s);
    double again_s = again ? layer->again_s : 0, units_s = layer->backward_units_s;
    if (again_s > 0) /* what comes twice is held back as all of the layer is going forward */
        units_s += layer->forward_units_s * (again_s / layer->forward_s);
    pass->device_s = end_overlapped_s(pass, start_s, layer->backward_s + again_s, units_s);
    sum(pass, layer->state.gradient, false);
}

/* A layer of two models is on two stages. */
static bool is_of(const struct overlap_pass *pass, uint32_t layer)
{
    const struct ll_parallel *plan = pass->overlap->plan;
    const uint64_t part = pass->overlap->part_of[layer];
    return ll_vstage_lies_on(plan->schedule, plan->pipeline, part) == pass->stage ||
           (ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS &&
            ll_vstage_lies_on(plan->schedule, plan->pipeline, part + plan->pipeline) == pass->stage);
}

/* The layer, when it is of the same virtual stage as the one beside it. */
static const struct ll_layer_cost *same_vstage(const struct overlap_pass *pass, uint32_t layer,
                                               uint32_t overlap)
{
    const struct ll_dp_overlap *b = pass->overlap;
    return layer < b->costs->count && b->part_of[layer] == b->part_of[overlap] ? &b->costs->at[layer] : NULL;
}

bool ll_dp_overlap_s(const struct ll_dp_overlap *overlap, uint64_t stage, double *time_s)
{
    assert(stage < overlap->plan->pipeline);
    struct overlap_pass pass = {.overlap = overlap, .stage = stage};
    for (uint32_t i = 0; i < overlap->costs->count; i++)
        if (is_of(&pass, i))
            forward(&pass, &overlap->costs->at[i], same_vstage(&pass, i + 1, i),
                    !same_vstage(&pass, i - 1, i));
    for (uint32_t i = overlap->costs->count; i-- > 0;)
        if (is_of(&pass, i))
            backward(&pass, &overlap->costs->at[i], same_vstage(&pass, i - 1, i),
                     !same_vstage(&pass, i + 1, i));
    sum(&pass, 0, true);
    *time_s = fmax(pass.device_s, pass.network_s);
    assert(*time_s >= 0);
    return !pass.failed;
}
