/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges of data parallelism. Gradients are collected in buckets and summed during the backward pass;
 * with ZeRO each replica keeps a part of the optimizer states, gradients or weights and gathers what it
 * needs.
 *
 * The first section gathers sharded weights (ZeRO 3): each layer's weights before a pass uses them, to be
 * dropped after it. The second section exchanges gradients and ends the step. */
#include "sim/parallel/exchange.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/shard.h"
#include "tracer/transform/rewrite.h"

/* Weights that lie in parts are whole only while a layer uses them: once going forward, once going backward.
 * One exchange brings all of a layer's. Its copy is workspace, which is free after the last reader. */

static const struct ll_op_signature *signature_in_gathering(const struct ll_exchanging *x, uint32_t op)
{
    return &x->trace->signatures[x->trace->ops[op].signature];
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

/* Whether an old tensor is of weights of which replicas have some experts each, and how many have the same.
 */
static bool of_experts(const struct ll_exchanging *x, uint32_t tensor)
{
    return !x->from_host && x->plan->expert > 1 &&
           (x->gradients.experts[tensor] ||
            ll_is_of_experts(&x->trace->descs[x->trace->tensors[tensor].desc]));
}

static uint64_t replicas_of(const struct ll_exchanging *x, uint32_t tensor)
{
    return ll_replicas(x->plan) / (of_experts(x, tensor) ? x->plan->expert : 1);
}

/* In how many parts they share it. */
static uint64_t parts_of(const struct ll_exchanging *x, uint32_t tensor)
{
    return x->plan->within > 0 ? x->plan->within : replicas_of(x, tensor);
}

/* Who takes part: of replicas 0 to 7 that share four by four, 0 to 3 have parts of one another, 0 and 4 the
 * same. */
static struct ll_attr devices_of(const struct ll_exchanging *x, const struct ll_exchanged_tensors *exchange,
                                 struct ll_attr *stride)
{
    const struct ll_parallel *plan = x->plan;
    uint64_t experts = exchange->experts ? plan->expert : 1, devices = ll_replicas(plan) / experts,
             apart = experts;
    if (plan->within > 0 && exchange->equal) {
        devices = ll_replicas(plan) / plan->within;
        apart = plan->within;
    } else if (plan->within > 0 && exchange->parts) {
        devices = plan->within;
    }
    *stride = (struct ll_attr){.key = LL_ATTR_STRIDE, .count = (int64_t)(plan->tensor * apart)};
    return (struct ll_attr){.key = LL_ATTR_DEVICES, .count = (int64_t)devices};
}

static uint32_t exchange_tensors(struct ll_exchanging *x, const struct ll_exchanged_tensors *exchange)
{
    assert(exchange->count <= UINT32_MAX);
    struct ll_attr attrs[4] = {[2] = {.key = LL_ATTR_IN_PLACE, .count = 0}};
    attrs[0] = devices_of(x, exchange, &attrs[1]);
    uint32_t attr_count = exchange->in_place ? 3 : 2;
    if (exchange->tagged)
        attrs[attr_count++] = (struct ll_attr){.key = LL_ATTR_TAG, .count = 1};
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
                                         .attr_count = attr_count,
                                         .controls = &exchange->after,
                                         .control_count = exchange->after != LL_NONE});
}

uint32_t ll_part_desc(struct ll_exchanging *x, uint32_t tensor, enum ll_memory_class memory)
{
    assert(tensor < x->trace->tensor_count && parts_of(x, tensor) > 0);
    const struct ll_tensor_desc *old = &x->trace->descs[x->trace->tensors[tensor].desc];
    uint64_t elements = x->from_host ? 0 : ll_ceil_div(ll_elements(&old->shape), parts_of(x, tensor));
    const struct ll_shape part = {.dtype = old->shape.dtype, .rank = 1, .dim = {elements}};
    return ll_rewrite_new_desc(&x->rewrite, x->trace->strings[old->name], &part, memory);
}

static bool is_sharded_weight(const struct ll_exchanging *x, uint32_t tensor)
{
    const struct ll_tensor *t = &x->trace->tensors[tensor];
    return x->gradients.sharded[t->storage] && x->trace->descs[t->desc].memory == LL_WEIGHT &&
           (x->from_host || parts_of(x, tensor) > 1);
}

static bool reads_weights(const struct ll_exchanging *x, uint32_t op)
{
    enum ll_phase phase = signature_in_gathering(x, op)->phase;
    if (phase != LL_PHASE_FORWARD && phase != LL_PHASE_BACKWARD)
        return false;
    for (uint32_t i = 0; i < signature_in_gathering(x, op)->view.input_count; i++)
        if (is_sharded_weight(x, ll_op_input(x->trace, op, i)))
            return true;
    return false;
}

static bool updates_weights(const struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t o = 0; o < signature_in_gathering(x, op)->view.output_count; o++)
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
        updated |= signature_in_gathering(x, op)->phase == LL_PHASE_UPDATE && updates_weights(x, op);
        if (!reads_weights(x, op))
            continue;
        updates += updated;
        updated = false;
        uint32_t layer = x->layers.owner[op] == LL_NONE ? x->layers.count : x->layers.owner[op];
        bool backward = signature_in_gathering(x, op)->phase == LL_PHASE_BACKWARD;
        add_to_use(x, op, updates, &latest[2 * (uint64_t)layer + backward]);
    }
    return true;
}

uint32_t ll_weight_part(struct ll_exchanging *x, uint32_t tensor)
{
    assert(tensor < x->trace->tensor_count);
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
        for (uint32_t i = 0; i < signature_in_gathering(x, op)->view.input_count; i++) {
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
        const struct ll_tensor_desc *desc = &x->trace->descs[x->trace->tensors[bucket->tensors[i]].desc];
        if (of_experts(x, bucket->tensors[i]) != experts)
            continue;
        parts[some] = ll_weight_part(x, bucket->tensors[i]);
        descs[some++] =
            ll_rewrite_new_desc(&x->rewrite, x->trace->strings[desc->name], &desc->shape, LL_WORKSPACE);
    }
    const struct ll_op_signature *signature = signature_in_gathering(x, use->first_op);
    const struct ll_exchanged_tensors exchange = {.kind = LL_OP_ALL_GATHER,
                                                  .phase = signature->phase,
                                                  .scope = x->trace->strings[signature->scope],
                                                  .inputs = parts,
                                                  .outputs = descs,
                                                  .count = some,
                                                  .experts = experts,
                                                  .parts = true,
                                                  .after = after};
    uint32_t next = exchange_tensors(x, &exchange);
    for (uint64_t i = 0; i < bucket->count && next != LL_NONE; i++)
        if (of_experts(x, bucket->tensors[i]) == experts)
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

/* A weight of a later layer may be one of this one's too; it is then gathered when its turn comes. */
static bool shares_weights(struct ll_exchanging *x, const struct ll_use *use, const struct ll_use *next)
{
    struct ll_gradient_bucket bucket = {0};
    bool shares = !list_weights(x, use, &bucket);
    uint64_t count = bucket.count;
    for (uint32_t op = next->first_op; op != LL_NONE && !shares; op = x->next_op[op])
        for (uint32_t i = 0; i < signature_in_gathering(x, op)->view.input_count; i++)
            for (uint64_t k = 0; k < count; k++)
                shares |= bucket.tensors[k] == ll_op_input(x->trace, op, i);
    free(bucket.tensors);
    return shares;
}

/* The same of any layer from this one to that. */
static bool shared_before(struct ll_exchanging *x, const struct ll_use *use, const struct ll_use *next)
{
    bool shares = false;
    for (; use < next; use++)
        shares |= shares_weights(x, use, next);
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
    assert(op < x->trace->op_count);
    uint32_t number = x->use_of[op], before = last_op(x);
    if (number == LL_NONE || x->rewrite.trouble)
        return;
    struct ll_use *use = &x->uses[number];
    bool begins = use->first_op == op;
    if (!use->gathered)
        gather(x, use, before);
    for (uint64_t i = 1; begins && x->plan->overlap && i <= x->plan->prefetch && number + i < x->use_count;
         i++) {
        struct ll_use *next = use + i;
        if (next->updates != use->updates || (!next->gathered && shared_before(x, use, next)))
            return;
        if (!next->gathered)
            gather(x, next, before);
    }
}

/* Gradient exchange of data parallelism: gradients are collected in buckets and exchanged in the backward
 * pass; with ZeRO, each replica keeps a part of states, gradients or weights and gathers what it needs.
 *
 * The first section joins the small all-reduces of an update into one. */

/* Ops that compute stay as they are. Behind those that make gradients the gradients of a bucket are
 * exchanged; from there on whatever updates works on what came out: the sums, or one device's part of them. A
 * weight that is whole is only seen as its part for the update (a view), and made whole again behind it. */

static const struct ll_op_signature *signature_in_replica(const struct ll_exchanging *x, uint32_t op)
{
    return &x->trace->signatures[x->trace->ops[op].signature];
}

static const struct ll_tensor_desc *desc_of(const struct ll_exchanging *x, uint32_t tensor)
{
    return &x->trace->descs[x->trace->tensors[tensor].desc];
}

static bool no_memory(struct ll_exchanging *x)
{
    return ll_rewrite_trouble(&x->rewrite, ll_status_text(LL_NO_MEMORY));
}

static bool add(struct ll_exchanging *x, struct ll_gradient_bucket *bucket, uint32_t tensor)
{
    if (!ll_grow(&bucket->tensors, &bucket->capacity, bucket->count + 1, sizeof *bucket->tensors))
        return no_memory(x);
    bucket->tensors[bucket->count++] = tensor;
    return true;
}

/* Gradients. */

/* The op written last: what does not overlap waits for it. */
static uint32_t exchange_last_op(const struct ll_exchanging *x)
{
    return x->rewrite.op_count > 0 ? x->rewrite.op_count - 1 : LL_NONE;
}

/* How a gradient is exchanged; `often`: with every micro-batch. */
struct way {
    bool parts, experts, often;
};

static bool in_parts(const struct ll_exchanging *x, uint32_t tensor)
{
    return x->plan->zero > 0 && x->gradients.in_parts[tensor] && parts_of(x, tensor) > 1;
}

/* Parts of gradients are added up where the whole ones are not kept; what is only made once a step is
 * exchanged then. */
static bool goes_often(const struct ll_exchanging *x, uint32_t tensor)
{
    uint32_t maker = x->trace->tensors[tensor].producer;
    return x->plan->zero >= 2 && in_parts(x, tensor) &&
           signature_in_replica(x, maker)->phase == LL_PHASE_BACKWARD;
}

static bool goes(const struct ll_exchanging *x, uint32_t tensor, struct way way)
{
    return in_parts(x, tensor) == way.parts && of_experts(x, tensor) == way.experts &&
           goes_often(x, tensor) == way.often && replicas_of(x, tensor) > 1;
}

/* Parts that came out of an exchange are added up with those of other groups of replicas; room for as many.
 */
static uint32_t add_up_alike(struct ll_exchanging *x, const struct ll_exchanged_tensors *exchange,
                             uint32_t first, uint32_t *room)
{
    struct ll_exchanged_tensors among = *exchange;
    for (uint64_t i = 0; i < exchange->count && first != LL_NONE; i++)
        room[i] = first + (uint32_t)i;
    among.kind = LL_OP_ALL_REDUCE;
    among.inputs = room;
    among.in_place = among.equal = true;
    return first == LL_NONE ? LL_NONE : exchange_tensors(x, &among);
}

/* Those of a bucket's tensors that go the same way. */
static void exchange_some(struct ll_exchanging *x, const uint32_t *tensors, uint64_t count, struct way way,
                          uint32_t *room)
{
    uint32_t *inputs = room, *outputs = room + count;
    uint64_t some = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!goes(x, tensors[i], way))
            continue;
        inputs[some] = ll_rewrite_tensor(&x->rewrite, tensors[i]);
        outputs[some++] = way.parts ? ll_part_desc(x, tensors[i], LL_GRADIENT)
                                    : ll_rewrite_desc(&x->rewrite, x->trace->tensors[tensors[i]].desc);
    }
    const struct ll_exchanged_tensors exchange = {
        .kind = way.parts ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE,
        .phase = way.often ? LL_PHASE_BACKWARD : LL_PHASE_COMM,
        .scope = "gradients",
        .inputs = inputs,
        .outputs = outputs,
        .count = some,
        .in_place = !way.parts || x->plan->zero < 2,
        .experts = way.experts,
        .parts = way.parts,
        .tagged = x->plan->compression.kind != LL_COMPRESSION_NONE,
        .after = x->plan->overlap && !(way.parts && x->plan->scatter_waits) ? LL_NONE : exchange_last_op(x),
    };
    uint32_t next = exchange_tensors(x, &exchange);
    if (way.parts && x->plan->within > 0 && x->plan->within < ll_replicas(x->plan))
        next = add_up_alike(x, &exchange, next, inputs);
    for (uint64_t i = 0; i < count && next != LL_NONE; i++)
        if (goes(x, tensors[i], way))
            ll_rewrite_redirect(&x->rewrite, tensors[i], next++);
}

/* A run of a bucket's tensors; each is then what came out. */
static void exchange_run(struct ll_exchanging *x, const uint32_t *tensors, uint64_t count)
{
    static const struct way ways[] = {{true, false, true}, {true, false, false}, {false, false, false},
                                      {true, true, true},  {true, true, false},  {false, true, false}};
    uint32_t *room = malloc((2 * count + 1) * sizeof *room);
    if (!room)
        no_memory(x);
    for (uint64_t i = 0; i < count; i++) {
        x->own[tensors[i]] = ll_rewrite_tensor(&x->rewrite, tensors[i]);
        x->exchanged[tensors[i]] = true;
    }
    for (size_t i = 0; room && i < sizeof ways / sizeof *ways; i++)
        exchange_some(x, tensors, count, ways[i], room);
    free(room);
}

/* How many of the bucket's first tensors make up bucket_bytes; all with *full false when they do not. */
static uint64_t run_of(const struct ll_exchanging *x, const struct ll_gradient_bucket *bucket, uint64_t from,
                       bool *full)
{
    uint64_t bytes = 0, end = from;
    assert(from < bucket->count);
    *full = false;
    while (end < bucket->count && !*full) {
        bytes = ll_add(bytes, ll_size_bytes(&desc_of(x, bucket->tensors[end++])->shape));
        *full = bytes >= x->plan->bucket_bytes;
    }
    return end - from;
}

/* Exchanges what is full, or all in pieces that are. */
static void drain(struct ll_exchanging *x, struct ll_gradient_bucket *bucket, bool all,
                  void (*exchange)(struct ll_exchanging *x, const uint32_t *tensors, uint64_t count))
{
    assert(bucket->count <= bucket->capacity);
    uint64_t done = 0;
    bool full;
    for (uint64_t count; done < bucket->count && !x->rewrite.trouble; done += count) {
        count = run_of(x, bucket, done, &full);
        if (!full && !all)
            break;
        exchange(x, bucket->tensors + done, count);
    }
    if (done > 0)
        memmove(bucket->tensors, bucket->tensors + done, (bucket->count - done) * sizeof *bucket->tensors);
    bucket->count -= done;
}

static void meet_gradients(struct ll_exchanging *x, uint32_t op)
{
    bool any = false;
    for (uint32_t o = 0; o < signature_in_replica(x, op)->view.output_count; o++) {
        uint32_t tensor = ll_op_output(x->trace, op, o);
        if (x->gradients.kind[tensor] == LL_DENSE_GRADIENT && !x->exchanged[tensor])
            any = add(x, &x->dense, tensor);
    }
    if (!any || (!x->plan->overlap && x->plan->zero < 2))
        return;
    uint32_t ops = x->rewrite.op_count;
    drain(x, &x->dense, false, exchange_run);
    if ((!x->plan->overlap || x->plan->scatter_waits) && x->rewrite.op_count > ops)
        x->awaited = exchange_last_op(x);
}

/* Rows of a table with all devices' rows behind each other. */
static uint32_t grown_desc(struct ll_exchanging *x, uint32_t tensor)
{
    struct ll_shape shape = desc_of(x, tensor)->shape;
    if (shape.rank == 0)
        shape.rank = 1, shape.dim[0] = 1;
    shape.dim[0] = ll_mul(shape.dim[0], ll_replicas(x->plan));
    return ll_rewrite_reshaped(&x->rewrite, x->trace->tensors[tensor].desc, &shape);
}

static uint32_t gather_rows(struct ll_exchanging *x, uint32_t tensor)
{
    uint32_t input = ll_rewrite_tensor(&x->rewrite, tensor), output = grown_desc(x, tensor);
    const struct ll_exchanged_tensors exchange = {.kind = LL_OP_ALL_GATHER,
                                                  .phase = LL_PHASE_COMM,
                                                  .scope = "gradients",
                                                  .inputs = &input,
                                                  .outputs = &output,
                                                  .count = 1,
                                                  .after = LL_NONE};
    return exchange_tensors(x, &exchange);
}

/* Gradients that an update is about to read are exchanged by now. */
static void finish_gradients(struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t i = 0; i < signature_in_replica(x, op)->view.input_count; i++) {
        uint32_t tensor = ll_op_input(x->trace, op, i);
        if (x->gradients.kind[tensor] == LL_NO_GRADIENT || x->exchanged[tensor])
            continue;
        if (x->gradients.kind[tensor] == LL_DENSE_GRADIENT) {
            drain(x, &x->dense, true, exchange_run);
        } else {
            x->own[tensor] = ll_rewrite_tensor(&x->rewrite, tensor);
            ll_rewrite_redirect(&x->rewrite, tensor, gather_rows(x, tensor));
            x->exchanged[tensor] = true;
        }
    }
}

/* Updates. */

static bool is_sharded(const struct ll_exchanging *x, uint32_t tensor)
{
    return x->plan->zero > 0 && x->gradients.sharded[x->trace->tensors[tensor].storage] &&
           parts_of(x, tensor) > 1;
}

/* States come as parts; with zero 3 weights do. */
static void bring_parts(struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t i = 0; i < signature_in_replica(x, op)->view.input_count; i++) {
        uint32_t tensor = ll_op_input(x->trace, op, i);
        const struct ll_tensor *t = &x->trace->tensors[tensor];
        bool weight = desc_of(x, tensor)->memory == LL_WEIGHT;
        if (!is_sharded(x, tensor))
            continue;
        if (weight && x->plan->zero == 3)
            ll_rewrite_redirect(&x->rewrite, tensor, ll_weight_part(x, tensor));
        else if (!weight && t->producer == LL_NONE && x->part[t->storage] == LL_NONE)
            ll_rewrite_redirect(&x->rewrite, tensor, ll_weight_part(x, tensor));
    }
}

/* Sums of sums are sums; whoever else reads one needs that of all devices. */
static bool adds(enum ll_op_kind kind)
{
    return kind == LL_OP_ADD || kind == LL_OP_ADD_N;
}

static void complete_sums(struct ll_exchanging *x, uint32_t op)
{
    const struct ll_op_signature *signature = signature_in_replica(x, op);
    for (uint32_t i = 0; !adds(signature->view.kind) && i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(x->trace, op, i);
        if (!x->partial[tensor])
            continue;
        uint32_t input = ll_rewrite_tensor(&x->rewrite, tensor);
        uint32_t desc = ll_rewrite_desc(&x->rewrite, x->trace->tensors[tensor].desc);
        const struct ll_exchanged_tensors exchange = {.kind = LL_OP_ALL_REDUCE,
                                                      .phase = LL_PHASE_COMM,
                                                      .scope = "gradients",
                                                      .inputs = &input,
                                                      .outputs = &desc,
                                                      .count = 1,
                                                      .in_place = true,
                                                      .after = LL_NONE};
        ll_rewrite_redirect(&x->rewrite, tensor, exchange_tensors(x, &exchange));
        x->partial[tensor] = false;
    }
}

/* A whole weight seen as the part that this device updates. */
static uint32_t see_part(struct ll_exchanging *x, uint32_t op, uint32_t tensor, uint32_t whole)
{
    uint32_t desc = ll_part_desc(x, tensor, LL_WEIGHT);
    return ll_rewrite_add(
        &x->rewrite,
        &(struct ll_record){.kind = LL_OP_SEEN_AS,
                            .phase = LL_PHASE_UPDATE,
                            .scope = ll_rewrite_string(&x->rewrite, signature_in_replica(x, op)->scope),
                            .inputs = &whole,
                            .input_count = 1,
                            .outputs = &desc,
                            .output_count = 1});
}

static bool equal_dims(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Inputs as they are now: parts of weights, all devices' indices. */
static void settle_inputs(struct ll_exchanging *x, uint32_t op, uint32_t *inputs)
{
    const struct ll_op_signature *signature = signature_in_replica(x, op);
    for (uint32_t i = 0; i < signature->view.input_count && !x->rewrite.trouble; i++) {
        uint32_t tensor = ll_op_input(x->trace, op, i);
        if (is_sharded(x, tensor) &&
            equal_dims(ll_rewrite_shape(&x->rewrite, inputs[i]), &signature->view.in[i]) &&
            signature->view.in[i].rank > 0)
            inputs[i] = see_part(x, op, tensor, inputs[i]);
        if (signature->view.kind == LL_OP_SGD_ROWS && i == 2) {
            if (x->gathered[tensor] == LL_NONE)
                x->gathered[tensor] = gather_rows(x, tensor);
            inputs[i] = x->gathered[tensor];
        }
    }
}

/* Rows of all devices stay rows of all devices. */
static void grow_outputs(struct ll_exchanging *x, const struct ll_op_signature *signature,
                         const uint32_t *inputs, uint32_t *outputs)
{
    for (uint32_t i = 0; i < signature->view.input_count && signature->view.kind != LL_OP_SGD_ROWS; i++) {
        uint64_t elements = ll_elements(&signature->view.in[i]);
        if (x->rewrite.trouble || ll_elements(ll_rewrite_shape(&x->rewrite, inputs[i])) <= elements)
            continue;
        for (uint32_t o = 0; o < signature->view.output_count; o++)
            if (ll_elements(&signature->view.out[o]) == elements) {
                struct ll_shape shape = *ll_rewrite_shape(&x->rewrite, inputs[i]);
                shape.dtype = signature->view.out[o].dtype;
                outputs[o] = ll_rewrite_reshaped(&x->rewrite, signature->outputs[o], &shape);
            }
    }
}

/* Outputs as long as a gradient are parts where that is; numbers made of parts are partial sums. */
static void settle_outputs(struct ll_exchanging *x, uint32_t op, const uint32_t *inputs, uint32_t *outputs)
{
    const struct ll_op_signature *signature = signature_in_replica(x, op);
    bool partial = false;
    grow_outputs(x, signature, inputs, outputs);
    for (uint32_t i = 0; i < signature->view.input_count && !x->rewrite.trouble; i++)
        partial |=
            x->partial[ll_op_input(x->trace, op, i)] ||
            ll_elements(ll_rewrite_shape(&x->rewrite, inputs[i])) < ll_elements(&signature->view.in[i]);
    for (uint32_t o = 0; o < signature->view.output_count; o++) {
        uint32_t tensor = ll_op_output(x->trace, op, o);
        x->partial[tensor] = partial && signature->view.out[o].rank == 0;
        if (in_parts(x, tensor) || is_sharded(x, tensor))
            outputs[o] = ll_part_desc(x, tensor, (enum ll_memory_class)desc_of(x, tensor)->memory);
    }
}

/* All-gathers either the weights of experts, which other groups hold, or all others among these tensors;
 * from there on ops read the whole ones. */
static void exchange_gather_some(struct ll_exchanging *x, const uint32_t *tensors, uint64_t count,
                                 bool experts, uint32_t *room)
{
    uint32_t *inputs = room, *outputs = room + count;
    uint64_t some = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (of_experts(x, tensors[i]) != experts)
            continue;
        inputs[some] = ll_rewrite_tensor(&x->rewrite, tensors[i]);
        outputs[some++] = ll_rewrite_desc(&x->rewrite, x->trace->tensors[tensors[i]].desc);
    }
    const struct ll_exchanged_tensors exchange = {.kind = LL_OP_ALL_GATHER,
                                                  .phase = LL_PHASE_COMM,
                                                  .scope = "weights",
                                                  .inputs = inputs,
                                                  .outputs = outputs,
                                                  .count = some,
                                                  .in_place = true,
                                                  .experts = experts,
                                                  .parts = true,
                                                  .after = LL_NONE};
    uint32_t next = exchange_tensors(x, &exchange);
    for (uint64_t i = 0; i < count && next != LL_NONE; i++)
        if (of_experts(x, tensors[i]) == experts)
            ll_rewrite_redirect(&x->rewrite, tensors[i], next++);
}

/* New weights are made whole in their own memory. */
static void gather_run(struct ll_exchanging *x, const uint32_t *tensors, uint64_t count)
{
    uint32_t *room = malloc((2 * count + 1) * sizeof *room);
    if (!room) {
        no_memory(x);
        return;
    }
    exchange_gather_some(x, tensors, count, false, room);
    exchange_gather_some(x, tensors, count, true, room);
    free(room);
}

static void meet_weights(struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t o = 0; o < signature_in_replica(x, op)->view.output_count; o++) {
        uint32_t tensor = ll_op_output(x->trace, op, o), storage = x->trace->tensors[tensor].storage;
        if (!is_sharded(x, tensor))
            continue;
        if (x->plan->zero == 3)
            x->part[storage] = ll_rewrite_tensor(&x->rewrite, tensor);
        else if (desc_of(x, tensor)->memory == LL_WEIGHT && x->gradients.last[tensor])
            add(x, &x->weights, tensor);
    }
    if (x->plan->overlap)
        drain(x, &x->weights, false, gather_run);
}

static void write_update(struct ll_exchanging *x, uint32_t op)
{
    struct ll_record record;
    finish_gradients(x, op);
    bring_parts(x, op);
    complete_sums(x, op);
    if (!ll_rewrite_record(&x->rewrite, op, &record))
        return;
    uint32_t *inputs = x->rewrite.refs, *outputs = inputs + record.input_count;
    settle_inputs(x, op, inputs);
    settle_outputs(x, op, inputs, outputs);
    ll_rewrite_put(&x->rewrite, op, &record);
    meet_weights(x, op);
}

/* What comes behind an exchange that nothing overlaps. */
void ll_exchange_await(struct ll_exchanging *x, struct ll_record *record)
{
    uint32_t *controls = x->rewrite.refs + record->input_count + record->output_count;
    if (x->awaited == LL_NONE)
        return;
    memmove(controls + 1, controls, record->control_count * sizeof *controls);
    controls[0] = x->awaited;
    record->control_count++;
    x->awaited = LL_NONE;
}

/* An op that is no update has to do with this device's gradients, whether they were exchanged before or not.
 */
static void write_own(struct ll_exchanging *x, uint32_t op)
{
    struct ll_record record;
    if (!ll_rewrite_record(&x->rewrite, op, &record))
        return;
    for (uint32_t i = 0; i < record.input_count; i++) {
        uint32_t own = x->own[ll_op_input(x->trace, op, i)];
        x->rewrite.refs[i] = own != LL_NONE ? own : x->rewrite.refs[i];
    }
    ll_exchange_await(x, &record);
    ll_rewrite_put(&x->rewrite, op, &record);
}

/* Gradients that no update has asked for leave at the end of a step, too. */
static void end_step(struct ll_exchanging *x, uint32_t op)
{
    if (op + 1 == x->trace->op_count || x->trace->ops[op + 1].step != x->trace->ops[op].step)
        drain(x, &x->dense, true, exchange_run);
}

static void write_op(struct ll_exchanging *x, uint32_t op)
{
    enum ll_phase phase = signature_in_replica(x, op)->phase;
    if (phase == LL_PHASE_UPDATE) {
        write_update(x, op);
    } else {
        drain(x, &x->weights, true, gather_run);
        if (x->plan->zero == 3)
            ll_gather_weights(x, op);
        write_own(x, op);
        if (phase == LL_PHASE_BACKWARD || phase == LL_PHASE_COMM)
            meet_gradients(x, op);
    }
    end_step(x, op);
}

static uint32_t *none(struct ll_exchanging *x, uint64_t count)
{
    uint32_t *list = ll_alloc(&x->rewrite.arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    return list;
}

/* False with trouble where states are to be shared out and a trace that learns has none. */
static bool may_share(struct ll_exchanging *x)
{
    bool backward = false, update = x->plan->zero == 0 || ll_replicas(x->plan) == 1;
    for (uint32_t op = 0; op < x->trace->op_count && !update; op++) {
        backward |= signature_in_replica(x, op)->phase == LL_PHASE_BACKWARD;
        update = signature_in_replica(x, op)->phase == LL_PHASE_UPDATE;
    }
    return update || !backward ||
           ll_rewrite_trouble(&x->rewrite, "the trace has no optimizer whose state could be sharded");
}

static bool goes_backward(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (trace->signatures[i].phase == LL_PHASE_BACKWARD)
            return true;
    return false;
}

/* Of a trace that only infers all weights may lie in parts that nothing writes; it may count its steps in an
 * update. */
static bool share_weights(struct ll_exchanging *x)
{
    const struct ll_tensor *tensors = x->trace->tensors;
    bool *written = ll_alloc(&x->rewrite.arena, x->trace->storage_count + 1, sizeof *written);
    for (uint32_t i = 0; written && i < x->trace->tensor_count; i++)
        written[tensors[i].storage] |= tensors[i].producer != LL_NONE;
    for (uint32_t i = 0; written && i < x->trace->tensor_count; i++)
        x->gradients.sharded[tensors[i].storage] |=
            desc_of(x, i)->memory == LL_WEIGHT && !written[tensors[i].storage];
    return written;
}

static bool find_gradients(struct ll_exchanging *x)
{
    return ll_gradients_find(x->trace, &x->rewrite.arena, &x->gradients) &&
           (x->plan->zero < 3 || goes_backward(x->trace) || share_weights(x));
}

static bool prepare(struct ll_exchanging *x)
{
    struct ll_arena *arena = &x->rewrite.arena;
    x->exchanged = ll_alloc(arena, x->trace->tensor_count + 1, sizeof *x->exchanged);
    x->partial = ll_alloc(arena, x->trace->tensor_count + 1, sizeof *x->partial);
    x->part = none(x, x->trace->storage_count);
    x->own = none(x, x->trace->tensor_count);
    x->gathered = none(x, x->trace->tensor_count);
    return x->exchanged && x->own && x->partial && x->part && x->gathered && find_gradients(x) &&
           (x->plan->zero < 3 || (ll_layers_find(x->trace, arena, &x->layers) && ll_uses_find(x)));
}

struct ll_trace *ll_exchange_gradients(const struct ll_trace *trace, const struct ll_parallel *plan,
                                       const char **trouble)
{
    assert(plan->zero <= 3 && ll_replicas(plan) % ll_replicas_sharing(plan) == 0);
    struct ll_exchanging x = {.trace = trace, .plan = plan, .awaited = LL_NONE};
    char replicas[32], zero[32];
    snprintf(replicas, sizeof replicas, "%" PRIu64, ll_replicas(plan));
    snprintf(zero, sizeof zero, "%" PRIu64, plan->zero);
    ll_rewrite_begin(&x.rewrite, trace, (struct ll_fact[]){{"replicas", replicas}, {"zero", zero}}, 2);
    if (may_share(&x) && !prepare(&x))
        no_memory(&x);
    for (uint32_t op = 0; op < trace->op_count && !x.rewrite.trouble; op++)
        if (ll_replicas(plan) > 1)
            write_op(&x, op);
        else
            ll_rewrite_keep(&x.rewrite, op);
    drain(&x, &x.weights, true, gather_run);
    free(x.dense.tensors);
    free(x.weights.tensors);
    return ll_rewrite_end(&x.rewrite, trouble);
}
