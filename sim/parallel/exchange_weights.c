/* SPDX-License-Identifier: Apache-2.0 */
/* Sharded weights of ZeRO 3: each layer's weights are gathered before a pass uses them and dropped after it.
 * The first section repeats the casts of such weights in each pass. */
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/exchange_parts.h"
#include "sim/parallel/experts.h"
#include "sim/parallel/holding.h"
#include "sim/parallel/recast.h"
#include "sim/parallel/spread.h"
#include "tracer/transform/rewrite.h"

struct recasting {
    const struct ll_trace *program;
    struct ll_rewrite rewrite;
    bool *of_cast; /* by op: it casts a weight, or looks at what does */
    bool *again;   /* by op: it has been made again */
};

static const struct ll_form *form_of(const struct recasting *r, uint32_t op)
{
    return &r->program->forms[r->program->ops[op].form];
}

/* The op that made an input and has to do with casts; LL_NONE: another, or none. */
static uint32_t cast_behind(const struct recasting *r, uint32_t op, uint32_t input)
{
    uint32_t from = r->program->tensors[ll_op_input(r->program, op, input)].producer;
    return from != LL_NONE && r->of_cast[from] ? from : LL_NONE;
}

static bool find_casts(struct recasting *r)
{
    uint64_t ops = r->program->op_count;
    r->of_cast = ll_alloc(&r->rewrite.arena, ops + 1, sizeof *r->of_cast);
    r->again = ll_alloc(&r->rewrite.arena, ops + 1, sizeof *r->again);
    for (uint32_t op = 0; r->of_cast && op < ops; op++) {
        const struct ll_form *form = form_of(r, op);
        r->of_cast[op] = ll_is_lasting_cast(r->program, form) ||
                         (ll_is_look(&form->view) && cast_behind(r, op, 0) != LL_NONE);
    }
    return r->of_cast && r->again;
}

/* What it makes is an activation now, free behind the last reader of the pass. */
static void put_cast(struct recasting *r, uint32_t op, enum ll_phase phase)
{
    struct ll_record record;
    if (!ll_rewrite_record(&r->rewrite, op, &record))
        return;
    const struct ll_desc *old = &r->program->descs[form_of(r, op)->outputs[0]];
    uint32_t desc =
        ll_rewrite_new_desc(&r->rewrite, r->program->strings[old->name], &old->shape, LL_ACTIVATION);
    record.phase = phase;
    record.outputs = &desc;
    ll_rewrite_put(&r->rewrite, op, &record);
}

static void make_again(struct recasting *r, uint32_t op)
{
    if (r->again[op])
        return;
    r->again[op] = true;
    for (uint32_t i = 0; i < form_of(r, op)->view.input_count; i++)
        if (cast_behind(r, op, i) != LL_NONE)
            make_again(r, cast_behind(r, op, i));
    put_cast(r, op, LL_PHASE_BACKWARD);
}

static void put(struct recasting *r, uint32_t op)
{
    enum ll_phase phase = form_of(r, op)->phase;
    if (r->of_cast[op]) {
        r->again[op] = phase == LL_PHASE_BACKWARD;
        put_cast(r, op, phase);
        return;
    }
    for (uint32_t i = 0; phase == LL_PHASE_BACKWARD && i < form_of(r, op)->view.input_count; i++)
        if (cast_behind(r, op, i) != LL_NONE)
            make_again(r, cast_behind(r, op, i));
    ll_rewrite_keep(&r->rewrite, op);
}

bool ll_has_lasting_casts(const struct ll_trace *program)
{
    for (uint64_t i = 0; i < program->form_count; i++)
        if (ll_is_lasting_cast(program, &program->forms[i]))
            return true;
    return false;
}

struct ll_trace *ll_recast(const struct ll_trace *program, const char **trouble)
{
    struct recasting r = {.program = program};
    ll_rewrite_begin(&r.rewrite, program, NULL, 0);
    if (!find_casts(&r))
        ll_rewrite_trouble(&r.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < program->op_count && !r.rewrite.trouble; op++) {
        ll_rewrite_step(&r.rewrite, op);
        put(&r, op);
    }
    return ll_rewrite_end(&r.rewrite, trouble);
}

/* Weights that lie in parts are whole only while a layer uses them: once going forward, once going backward.
 * One exchange brings all of a layer's. Its copy is workspace, which is free after the last reader. */

static const struct ll_form *form_in_gathering(const struct ll_exchanging *x, uint32_t op)
{
    return &x->trace->forms[x->trace->ops[op].form];
}

/* The same from the host, one by one; they are numbered one behind the other all the same. */
static uint32_t fetch_tensors(struct ll_exchanging *x, const struct ll_exchanged_tensors *fetch)
{
    uint32_t first = LL_NONE;
    for (uint64_t i = 0; i < fetch->count; i++) {
        uint32_t tensor = ll_rewrite_add(
            &x->rewrite, &(struct ll_record){.kind = LL_OP_FROM_HOST,
                                             .phase = fetch->phase,
                                             .scope = ll_recorder_string(x->rewrite.recorder, fetch->scope),
                                             .inputs = &fetch->inputs[i],
                                             .input_count = 1,
                                             .outputs = &fetch->outputs[i],
                                             .output_count = 1,
                                             .controls = &fetch->after,
                                             .control_count = fetch->after != LL_NONE});
        first = i == 0 ? tensor : first;
    }
    return first;
}

bool ll_of_experts(const struct ll_exchanging *x, uint32_t tensor)
{
    return !x->from_host && x->plan->expert > 1 &&
           (x->gradients.experts[tensor] ||
            ll_is_of_experts(&x->trace->descs[x->trace->tensors[tensor].desc]));
}

uint64_t ll_replicas_of(const struct ll_exchanging *x, uint32_t tensor)
{
    return ll_replicas(x->plan) / (ll_of_experts(x, tensor) ? x->plan->expert : 1);
}

uint64_t ll_parts_of(const struct ll_exchanging *x, uint32_t tensor)
{
    return x->plan->within > 0 ? x->plan->within : ll_replicas_of(x, tensor);
}

/* Who takes part: of replicas 0 to 7 that share four by four, 0 to 3 have parts of one another, 0 and 4 the
 * same. */
static struct ll_attr devices_of(const struct ll_exchanging *x, const struct ll_exchanged_tensors *exchange,
                                 struct ll_attr *stride)
{
    const struct ll_parallel *plan = x->plan;
    uint64_t experts = exchange->experts ? plan->expert : 1, devices = ll_replicas(plan) / experts,
             apart = experts;
    if (plan->within > 0 && exchange->alike) {
        devices = ll_replicas(plan) / plan->within;
        apart = plan->within;
    } else if (plan->within > 0 && exchange->parts) {
        devices = plan->within;
    }
    *stride = (struct ll_attr){.key = LL_ATTR_STRIDE, .count = (int64_t)(plan->tensor * apart)};
    return (struct ll_attr){.key = LL_ATTR_DEVICES, .count = (int64_t)devices};
}

uint32_t ll_exchange_tensors(struct ll_exchanging *x, const struct ll_exchanged_tensors *exchange)
{
    struct ll_attr attrs[3] = {[2] = {.key = LL_ATTR_IN_PLACE, .count = 0}};
    attrs[0] = devices_of(x, exchange, &attrs[1]);
    if (x->rewrite.trouble || exchange->count == 0)
        return LL_NONE;
    if (x->from_host)
        return fetch_tensors(x, exchange);
    return ll_rewrite_add(
        &x->rewrite, &(struct ll_record){.kind = exchange->kind,
                                         .phase = exchange->phase,
                                         .scope = ll_recorder_string(x->rewrite.recorder, exchange->scope),
                                         .inputs = exchange->inputs,
                                         .input_count = (uint32_t)exchange->count,
                                         .outputs = exchange->outputs,
                                         .output_count = (uint32_t)exchange->count,
                                         .attrs = attrs,
                                         .attr_count = exchange->in_place ? 3 : 2,
                                         .controls = &exchange->after,
                                         .control_count = exchange->after != LL_NONE});
}

uint32_t ll_part_desc(struct ll_exchanging *x, uint32_t tensor, enum ll_memory_class memory)
{
    const struct ll_desc *old = &x->trace->descs[x->trace->tensors[tensor].desc];
    uint64_t elements = x->from_host ? 0 : ll_ceil_div(ll_elements(&old->shape), ll_parts_of(x, tensor));
    const struct ll_shape part = {.dtype = old->shape.dtype, .rank = 1, .dim = {elements}};
    return ll_rewrite_new_desc(&x->rewrite, x->trace->strings[old->name], &part, memory);
}

static bool is_sharded_weight(const struct ll_exchanging *x, uint32_t tensor)
{
    const struct ll_tensor *t = &x->trace->tensors[tensor];
    return x->gradients.sharded[t->storage] && x->trace->descs[t->desc].memory == LL_WEIGHT &&
           (x->from_host || ll_parts_of(x, tensor) > 1);
}

static bool reads_weights(const struct ll_exchanging *x, uint32_t op)
{
    enum ll_phase phase = form_in_gathering(x, op)->phase;
    if (phase != LL_PHASE_FORWARD && phase != LL_PHASE_BACKWARD)
        return false;
    for (uint32_t i = 0; i < form_in_gathering(x, op)->view.input_count; i++)
        if (is_sharded_weight(x, ll_op_input(x->trace, op, i)))
            return true;
    return false;
}

static bool updates_weights(const struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t o = 0; o < form_in_gathering(x, op)->view.output_count; o++)
        if (is_sharded_weight(x, ll_op_output(x->trace, op, o)))
            return true;
    return false;
}

/* The last use of each layer and way, and the last op of that. */
struct latest {
    uint32_t use, op;
};

static void add_to_use(struct ll_exchanging *x, uint32_t op, uint32_t updates, struct latest *latest)
{
    bool same = latest->op != LL_NONE && x->uses[latest->use].updates == updates;
    if (!same) {
        x->uses[x->use_count] = (struct ll_use){op, updates, false};
        latest->use = x->use_count++;
    } else {
        x->next_op[latest->op] = op;
    }
    latest->op = op;
    x->use_of[op] = latest->use;
}

bool ll_uses_find(struct ll_exchanging *x)
{
    struct ll_arena *arena = &x->rewrite.arena;
    uint64_t ops = x->trace->op_count, ways = 2 * ((uint64_t)x->layers.count + 1);
    struct latest *latest = ll_alloc(arena, ways, sizeof *latest);
    x->uses = ll_alloc(arena, ops + 1, sizeof *x->uses);
    x->use_of = ll_alloc(arena, ops + 1, sizeof *x->use_of);
    x->next_op = ll_alloc(arena, ops + 1, sizeof *x->next_op);
    if (!latest || !x->uses || !x->use_of || !x->next_op)
        return false;
    memset(latest, 0xff, ways * sizeof *latest);
    memset(x->use_of, 0xff, ops * sizeof *x->use_of);
    memset(x->next_op, 0xff, ops * sizeof *x->next_op);
    uint32_t updates = 0;
    bool updated = false;
    for (uint32_t op = 0; op < ops; op++) {
        updated |= form_in_gathering(x, op)->phase == LL_PHASE_UPDATE && updates_weights(x, op);
        if (!reads_weights(x, op))
            continue;
        updates += updated;
        updated = false;
        uint32_t layer = x->layers.owner[op] == LL_NONE ? x->layers.count : x->layers.owner[op];
        bool backward = form_in_gathering(x, op)->phase == LL_PHASE_BACKWARD;
        add_to_use(x, op, updates, &latest[2 * (uint64_t)layer + backward]);
    }
    return true;
}

uint32_t ll_weight_part(struct ll_exchanging *x, uint32_t tensor)
{
    const struct ll_tensor *t = &x->trace->tensors[tensor];
    if (x->part[t->storage] == LL_NONE)
        x->part[t->storage] = ll_rewrite_bring(
            &x->rewrite, ll_part_desc(x, tensor, (enum ll_memory_class)x->trace->descs[t->desc].memory));
    return x->part[t->storage];
}

/* The weights that a use reads, each once. */
static bool list_weights(struct ll_exchanging *x, const struct ll_use *use, struct ll_gradient_bucket *bucket)
{
    for (uint32_t op = use->first_op; op != LL_NONE; op = x->next_op[op])
        for (uint32_t i = 0; i < form_in_gathering(x, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(x->trace, op, i);
            bool known = !is_sharded_weight(x, tensor);
            for (uint64_t k = 0; k < bucket->count && !known; k++)
                known = bucket->tensors[k] == tensor;
            if (known)
                continue;
            if (!ll_grow(&bucket->tensors, &bucket->capacity, bucket->count + 1, sizeof *bucket->tensors))
                return ll_rewrite_trouble(&x->rewrite, ll_status_text(LL_NO_MEMORY));
            bucket->tensors[bucket->count++] = tensor;
        }
    return true;
}

/* Those of a bucket's weights that all replicas share, or those of experts. */
static void gather_some(struct ll_exchanging *x, const struct ll_use *use,
                        const struct ll_gradient_bucket *bucket, bool experts, uint32_t after, uint32_t *room)
{
    uint32_t *parts = room, *descs = room + bucket->count;
    uint64_t some = 0;
    for (uint64_t i = 0; i < bucket->count; i++) {
        const struct ll_desc *desc = &x->trace->descs[x->trace->tensors[bucket->tensors[i]].desc];
        if (ll_of_experts(x, bucket->tensors[i]) != experts)
            continue;
        parts[some] = ll_weight_part(x, bucket->tensors[i]);
        descs[some++] =
            ll_rewrite_new_desc(&x->rewrite, x->trace->strings[desc->name], &desc->shape, LL_WORKSPACE);
    }
    const struct ll_form *form = form_in_gathering(x, use->first_op);
    const struct ll_exchanged_tensors exchange = {.kind = LL_OP_ALL_GATHER,
                                                  .phase = form->phase,
                                                  .scope = x->trace->strings[form->scope],
                                                  .inputs = parts,
                                                  .outputs = descs,
                                                  .count = some,
                                                  .experts = experts,
                                                  .parts = true,
                                                  .after = after};
    uint32_t next = ll_exchange_tensors(x, &exchange);
    for (uint64_t i = 0; i < bucket->count && next != LL_NONE; i++)
        if (ll_of_experts(x, bucket->tensors[i]) == experts)
            ll_rewrite_redirect(&x->rewrite, bucket->tensors[i], next++);
}

static void gather(struct ll_exchanging *x, struct ll_use *use, uint32_t after)
{
    struct ll_gradient_bucket bucket = {0};
    use->gathered = true;
    bool listed = list_weights(x, use, &bucket);
    uint32_t *room = malloc((2 * bucket.count + 1) * sizeof *room);
    if (listed && room) {
        gather_some(x, use, &bucket, false, after, room);
        gather_some(x, use, &bucket, true, after, room);
    } else {
        ll_rewrite_trouble(&x->rewrite, ll_status_text(LL_NO_MEMORY));
    }
    free(room);
    free(bucket.tensors);
}

/* A weight of the next layer may be one of this one's too; it is then gathered when its turn comes. */
static bool shares_weights(struct ll_exchanging *x, const struct ll_use *use, const struct ll_use *next)
{
    struct ll_gradient_bucket bucket = {0};
    bool shares = !list_weights(x, use, &bucket);
    uint64_t count = bucket.count;
    for (uint32_t op = next->first_op; op != LL_NONE && !shares; op = x->next_op[op])
        for (uint32_t i = 0; i < form_in_gathering(x, op)->view.input_count; i++)
            for (uint64_t k = 0; k < count; k++)
                shares |= bucket.tensors[k] == ll_op_input(x->trace, op, i);
    free(bucket.tensors);
    return shares;
}

/* What is fetched waits for it: sooner there is no room. */
static uint32_t last_op(const struct ll_exchanging *x)
{
    if (x->from_host)
        return x->worked;
    return x->rewrite.op_count ? x->rewrite.op_count - 1 : LL_NONE;
}

void ll_gather_weights(struct ll_exchanging *x, uint32_t op)
{
    uint32_t number = x->use_of[op], before = last_op(x);
    if (number == LL_NONE || x->rewrite.trouble)
        return;
    struct ll_use *use = &x->uses[number];
    bool begins = use->first_op == op;
    if (!use->gathered)
        gather(x, use, before);
    if (!begins || !x->plan->overlap || number + 1 == x->use_count)
        return;
    struct ll_use *next = use + 1;
    if (!next->gathered && next->updates == use->updates && !shares_weights(x, use, next))
        gather(x, next, before);
}
