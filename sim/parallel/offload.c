/* SPDX-License-Identifier: Apache-2.0 */
/* Offloading to the host. A tensor on the host is represented by a token, an empty tensor: the tensor's
 * storage dies with the op that sends it away. That op stands where the memory is needed, and the next op
 * waits for it; the transfer may start much earlier, as soon as its input exists. So the memory is free once
 * the transfer is done, however slow the link is. Weights arrive like the parts of sharded weights
 * (exchange_weights.c), but from the host. */
#include "sim/parallel/exchange.h"

#include "tracer/ir/trace.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_BYTES = 4096 }; /* a page: less is not worth the way */

/* An activation that goes, by the tensor that its op made. */
struct away {
    uint32_t tensor, next; /* the next that the same layer fetches, LL_NONE behind the last */
    uint32_t token;        /* new tensor; LL_NONE as long as it is here */
    bool back;
};

struct offloading {
    struct ll_exchanging x; /* weights and states */
    bool *views;            /* by signature */
    uint32_t *away_of;      /* by tensor, LL_NONE for most */
    uint32_t *last_use;     /* by tensor: its last reader going forward, or its maker */
    uint32_t *owner;        /* by tensor: the layer of its first reader going backward, LL_NONE for none */
    uint32_t *versions;     /* by storage: ops that wrote it */
    struct away *aways;
    uint32_t away_count;
    uint32_t *leaves; /* by op: the first that leaves after it; chained by left_next */
    uint32_t *left_next;
    uint32_t *fetches; /* by layer: the first that it fetches */
    uint32_t *behind;  /* by layer: the one that goes backward after it, LL_NONE for none */
    bool *begun;       /* by layer: has gone backward in this step */
    uint32_t step;     /* the old one at work */
    struct turns {
        struct ll_gradient_bucket last,
            before;    /* old tensors that leave, of the turn at work and of the last */
    } passes, updates; /* a turn: a layer going forward; an update */
    uint32_t layer;    /* that goes forward */
    bool *leaves_now;  /* by storage: is in the turns of updates */
};

static const struct ll_op_signature *signature_of(const struct offloading *o, uint32_t op)
{
    return &o->x.trace->signatures[o->x.trace->ops[op].signature];
}

static bool is_view(const struct offloading *o, uint32_t op)
{
    return o->views[o->x.trace->ops[op].signature];
}

/* The tensor behind views. */
static uint32_t source_of(const struct offloading *o, uint32_t tensor)
{
    const struct ll_trace *trace = o->x.trace;
    for (uint32_t from = trace->tensors[tensor].producer; from != LL_NONE && is_view(o, from);
         from = trace->tensors[tensor].producer)
        tensor = ll_op_input(trace, from, 0);
    return tensor;
}

static uint32_t *none(struct offloading *o, uint64_t count)
{
    uint32_t *list = ll_alloc(&o->x.rewrite.arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    return list;
}

/* Activations. */

static void note_use(struct offloading *o, uint32_t op, uint32_t tensor)
{
    enum ll_phase phase = signature_of(o, op)->phase;
    uint32_t source = source_of(o, tensor);
    if (is_view(o, op))
        return;
    if (phase == LL_PHASE_BACKWARD && o->owner[source] == LL_NONE)
        o->owner[source] = o->x.layers.owner[op];
    else if (o->owner[source] == LL_NONE)
        o->last_use[source] = op;
}

static void note_uses(struct offloading *o)
{
    const struct ll_trace *trace = o->x.trace;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        for (uint32_t i = 0; i < signature_of(o, op)->view.input_count; i++)
            note_use(o, op, ll_op_input(trace, op, i));
        for (uint32_t i = 0; i < signature_of(o, op)->view.output_count; i++) {
            uint32_t tensor = ll_op_output(trace, op, i);
            o->last_use[tensor] = op;
            o->versions[trace->tensors[tensor].storage] += !is_view(o, op);
        }
    }
}

static bool goes(const struct offloading *o, uint32_t tensor)
{
    const struct ll_tensor *t = &o->x.trace->tensors[tensor];
    const struct ll_tensor_desc *desc = &o->x.trace->descs[t->desc];
    return t->producer != LL_NONE && signature_of(o, t->producer)->phase == LL_PHASE_FORWARD &&
           !is_view(o, t->producer) && desc->memory == LL_ACTIVATION && o->versions[t->storage] == 1 &&
           o->owner[tensor] != LL_NONE && o->owner[tensor] + 1 < o->x.layers.count &&
           ll_size_bytes(&desc->shape) >= LEAST_BYTES;
}

static void list_aways(struct offloading *o)
{
    const struct ll_trace *trace = o->x.trace;
    for (uint32_t tensor = 0; tensor < trace->tensor_count; tensor++) {
        if (!goes(o, tensor))
            continue;
        uint32_t layer = o->owner[tensor], op = o->last_use[tensor], number = o->away_count++;
        o->aways[number] = (struct away){tensor, o->fetches[layer], LL_NONE, false};
        o->fetches[layer] = number;
        o->left_next[number] = o->leaves[op];
        o->leaves[op] = number;
        o->away_of[tensor] = number;
    }
}

/* The order in which layers go backward. */
static void order_layers(struct offloading *o)
{
    uint32_t last = LL_NONE;
    for (uint32_t op = 0; op < o->x.trace->op_count; op++) {
        uint32_t layer = o->x.layers.owner[op];
        if (signature_of(o, op)->phase != LL_PHASE_BACKWARD || layer == LL_NONE || o->begun[layer])
            continue;
        o->begun[layer] = true;
        if (last != LL_NONE)
            o->behind[last] = layer;
        last = layer;
    }
    memset(o->begun, 0, o->x.layers.count * sizeof *o->begun);
}

static bool find_aways(struct offloading *o)
{
    const struct ll_trace *trace = o->x.trace;
    struct ll_arena *arena = &o->x.rewrite.arena;
    o->views = ll_views(trace, arena);
    o->away_of = none(o, trace->tensor_count);
    o->last_use = none(o, trace->tensor_count);
    o->owner = none(o, trace->tensor_count);
    o->left_next = none(o, trace->tensor_count);
    o->leaves = none(o, trace->op_count);
    o->fetches = none(o, o->x.layers.count);
    o->behind = none(o, o->x.layers.count);
    o->versions = ll_alloc(arena, trace->storage_count + 1, sizeof *o->versions);
    o->aways = ll_alloc(arena, trace->tensor_count + 1, sizeof *o->aways);
    o->begun = ll_alloc(arena, o->x.layers.count + 1u, sizeof *o->begun);
    if (!o->views || !o->away_of || !o->last_use || !o->owner || !o->left_next || !o->leaves || !o->fetches ||
        !o->behind || !o->versions || !o->aways || !o->begun)
        return false;
    note_uses(o);
    list_aways(o);
    order_layers(o);
    return true;
}

/* One op between host and device. What comes waits until there is room: for the op before the one that asks
 * for it, and for what has left before. What goes waits for nothing. */
static uint32_t move(struct offloading *o, enum ll_op_kind kind, enum ll_phase phase, uint32_t input,
                     uint32_t desc)
{
    uint32_t waits[2], count = 0;
    if (o->x.rewrite.trouble)
        return LL_NONE;
    if (kind == LL_OP_FROM_HOST && o->x.worked != LL_NONE)
        waits[count++] = o->x.worked;
    if (kind == LL_OP_FROM_HOST && o->x.awaited != LL_NONE)
        waits[count++] = o->x.awaited;
    return ll_rewrite_add(&o->x.rewrite,
                          &(struct ll_record){.kind = kind,
                                              .phase = phase,
                                              .scope = ll_recorder_string(o->x.rewrite.recorder, "offload"),
                                              .inputs = &input,
                                              .input_count = 1,
                                              .outputs = &desc,
                                              .output_count = 1,
                                              .controls = waits,
                                              .control_count = count});
}

static void leave(struct offloading *o, struct turns *turns, uint32_t tensor)
{
    struct ll_gradient_bucket *last = &turns->last;
    if (!ll_grow(&last->tensors, &last->capacity, last->count + 1, sizeof *last->tensors))
        ll_rewrite_trouble(&o->x.rewrite, ll_status_text(LL_NO_MEMORY));
    else
        last->tensors[last->count++] = tensor;
}

static void send_away(struct offloading *o, enum ll_phase phase, uint32_t tensor)
{
    uint32_t storage = o->x.trace->tensors[tensor].storage;
    uint32_t token = move(o, LL_OP_TO_HOST, phase, ll_rewrite_tensor(&o->x.rewrite, tensor),
                          ll_part_desc(&o->x, tensor, LL_WORKSPACE));
    if (phase == LL_PHASE_UPDATE) {
        o->x.part[storage] = token;
        o->leaves_now[storage] = false;
    } else {
        o->aways[o->away_of[tensor]].token = token;
    }
    o->x.awaited = o->x.rewrite.op_count - 1;
}

/* The next turn begins: what left in the one before the last has to be gone. */
static void turn(struct offloading *o, struct turns *turns, enum ll_phase phase)
{
    const struct ll_gradient_bucket empty = turns->before;
    for (uint64_t i = 0; i < turns->before.count && !o->x.rewrite.trouble; i++)
        send_away(o, phase, turns->before.tensors[i]);
    turns->before = turns->last;
    turns->last = empty;
    turns->last.count = 0;
}

/* What was updated has to be gone before anything else happens. */
static void end_updates(struct offloading *o)
{
    turn(o, &o->updates, LL_PHASE_UPDATE);
    turn(o, &o->updates, LL_PHASE_UPDATE);
}

/* What has not left when the last layers have gone forward stays. */
static void stay(struct offloading *o, struct ll_gradient_bucket *list)
{
    for (uint64_t i = 0; i < list->count; i++)
        o->away_of[list->tensors[i]] = LL_NONE;
    list->count = 0;
}

static void end_passes(struct offloading *o)
{
    stay(o, &o->passes.before);
    stay(o, &o->passes.last);
    o->layer = LL_NONE;
}

static void begin_layer(struct offloading *o, uint32_t op)
{
    uint32_t layer = o->x.layers.owner[op];
    if (layer == LL_NONE || layer == o->layer)
        return;
    if (o->layer != LL_NONE)
        turn(o, &o->passes, LL_PHASE_FORWARD);
    o->layer = layer;
}

static void leave_activations(struct offloading *o, uint32_t op)
{
    for (uint32_t i = o->leaves[op]; i != LL_NONE; i = o->left_next[i])
        leave(o, &o->passes, o->aways[i].tensor);
}

static void fetch_activation(struct offloading *o, struct away *away)
{
    uint32_t desc = ll_rewrite_desc(&o->x.rewrite, o->x.trace->tensors[away->tensor].desc);
    if (away->back || away->token == LL_NONE)
        return;
    away->back = true;
    ll_rewrite_redirect(&o->x.rewrite, away->tensor,
                        move(o, LL_OP_FROM_HOST, LL_PHASE_BACKWARD, away->token, desc));
}

static void fetch_layer(struct offloading *o, uint32_t layer)
{
    for (uint32_t i = layer == LL_NONE ? LL_NONE : o->fetches[layer]; i != LL_NONE; i = o->aways[i].next)
        fetch_activation(o, &o->aways[i]);
}

/* A view that going backward is made anew. */
static void view_again(struct offloading *o, uint32_t op)
{
    struct ll_record record;
    if (!ll_rewrite_record(&o->x.rewrite, op, &record))
        return;
    record.phase = LL_PHASE_BACKWARD;
    ll_rewrite_put(&o->x.rewrite, op, &record);
}

/* A tensor that a backward op reads is here, and so is what it is a view of. */
static void make_sure(struct offloading *o, uint32_t tensor)
{
    uint32_t source = source_of(o, tensor), from = o->x.trace->tensors[tensor].producer;
    if (o->away_of[source] == LL_NONE)
        return;
    fetch_activation(o, &o->aways[o->away_of[source]]);
    if (tensor != source) {
        make_sure(o, ll_op_input(o->x.trace, from, 0));
        view_again(o, from);
    }
}

static void before_backward(struct offloading *o, uint32_t op)
{
    uint32_t layer = o->x.layers.owner[op], step = o->x.trace->ops[op].step;
    if (step != o->step)
        memset(o->begun, 0, o->x.layers.count * sizeof *o->begun);
    o->step = step;
    if (layer != LL_NONE && !o->begun[layer]) {
        o->begun[layer] = true;
        fetch_layer(o, layer);
        fetch_layer(o, o->behind[layer]);
    }
    for (uint32_t i = 0; i < signature_of(o, op)->view.input_count; i++)
        make_sure(o, ll_op_input(o->x.trace, op, i));
}

/* Weights and states. */

static bool is_away(const struct offloading *o, uint32_t tensor)
{
    return o->x.gradients.sharded[o->x.trace->tensors[tensor].storage];
}

static void mark_residents(struct offloading *o)
{
    const struct ll_offload *offload = &o->x.plan->offload;
    const struct ll_trace *trace = o->x.trace;
    for (uint32_t tensor = 0; tensor < trace->tensor_count; tensor++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[tensor].desc];
        bool away =
            desc->memory == LL_WEIGHT ? offload->weights : desc->memory == LL_OPTIMIZER && offload->optimizer;
        if (trace->tensors[tensor].producer == LL_NONE && away && ll_size_bytes(&desc->shape) >= LEAST_BYTES)
            o->x.gradients.sharded[trace->tensors[tensor].storage] = true;
    }
}

static void keep(struct offloading *o, uint32_t op)
{
    struct ll_record record;
    if (!ll_rewrite_record(&o->x.rewrite, op, &record))
        return;
    ll_exchange_await(&o->x, &record);
    ll_rewrite_put(&o->x.rewrite, op, &record);
    o->x.worked = o->x.rewrite.op_count - 1;
}

/* An op of the update: parts of weights and states that it reads come from the host first, and go back
 * once all ops that change them are done. An op that reads what is leaving begins a new batch of moves. */
static void write_update(struct offloading *o, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(o, op);
    const struct ll_trace *trace = o->x.trace;
    bool again = trace->ops[op].step != o->step;
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        again |= o->leaves_now[trace->tensors[ll_op_input(trace, op, i)].storage];
    if (again)
        end_updates(o);
    o->step = trace->ops[op].step;
    turn(o, &o->updates, LL_PHASE_UPDATE);
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(trace, op, i);
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[tensor].desc];
        if (!is_away(o, tensor))
            continue;
        uint32_t here =
            ll_rewrite_new_desc(&o->x.rewrite, trace->strings[desc->name], &desc->shape, LL_WORKSPACE);
        ll_rewrite_redirect(&o->x.rewrite, tensor,
                            move(o, LL_OP_FROM_HOST, LL_PHASE_UPDATE, ll_weight_part(&o->x, tensor), here));
    }
    keep(o, op);
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        uint32_t tensor = ll_op_output(trace, op, i);
        if (!is_away(o, tensor))
            continue;
        o->leaves_now[trace->tensors[tensor].storage] = true;
        leave(o, &o->updates, tensor);
    }
}

static void write_op(struct offloading *o, uint32_t op)
{
    enum ll_phase phase = signature_of(o, op)->phase;
    if (phase == LL_PHASE_UPDATE) {
        write_update(o, op);
    } else {
        end_updates(o);
        if (phase == LL_PHASE_FORWARD && o->x.plan->offload.activations)
            begin_layer(o, op);
        else if (phase == LL_PHASE_BACKWARD && o->x.plan->offload.activations)
            end_passes(o);
        if (o->x.plan->offload.weights)
            ll_gather_weights(&o->x, op);
        if (phase == LL_PHASE_BACKWARD && o->x.plan->offload.activations)
            before_backward(o, op);
        keep(o, op);
    }
    if (o->x.plan->offload.activations)
        leave_activations(o, op);
}

static bool prepare(struct offloading *o)
{
    struct ll_arena *arena = &o->x.rewrite.arena;
    const struct ll_offload *offload = &o->x.plan->offload;
    o->x.gradients.sharded = ll_alloc(arena, o->x.trace->storage_count + 1, sizeof *o->x.gradients.sharded);
    o->x.part = none(o, o->x.trace->storage_count);
    o->leaves_now = ll_alloc(arena, o->x.trace->storage_count + 1, sizeof *o->leaves_now);
    if (!o->x.gradients.sharded || !o->x.part || !o->leaves_now ||
        !ll_layers_find(o->x.trace, arena, &o->x.layers))
        return false;
    mark_residents(o);
    return (!offload->activations || find_aways(o)) && (!offload->weights || ll_uses_find(&o->x));
}

static void release_turns(struct turns *turns)
{
    free(turns->last.tensors);
    free(turns->before.tensors);
}

struct ll_trace *ll_offload(const struct ll_trace *trace, const struct ll_parallel *plan,
                            const char **trouble)
{
    struct offloading o = {
        .x = {.trace = trace, .plan = plan, .from_host = true, .worked = LL_NONE, .awaited = LL_NONE},
        .layer = LL_NONE};
    ll_rewrite_begin(&o.x.rewrite, trace, NULL, 0);
    if (!prepare(&o))
        ll_rewrite_trouble(&o.x.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !o.x.rewrite.trouble; op++)
        write_op(&o, op);
    end_updates(&o);
    release_turns(&o.passes);
    release_turns(&o.updates);
    return ll_rewrite_end(&o.x.rewrite, trouble);
}
