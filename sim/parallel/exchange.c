/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient exchange of data parallelism: gradients are collected in buckets and exchanged in the backward
 * pass; with ZeRO, each replica keeps a part of states, gradients or weights and gathers what it needs.
 *
 * The first section joins the small all-reduces of an update into one. */
#include "sim/parallel/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/exchange_parts.h"
#include "tracer/transform/rewrite.h"

struct bundling {
    const struct ll_trace *program;
    struct ll_rewrite rewrite;
    uint32_t *head; /* by op: the first of its bundle; LL_NONE for all else */
    uint32_t *next; /* by op: the next of its bundle; LL_NONE behind the last */
};

static const struct ll_form *form_of(const struct bundling *b, uint32_t op)
{
    return &b->program->forms[b->program->ops[op].form];
}

static bool is_sum_of_update(const struct bundling *b, uint32_t op)
{
    const struct ll_form *form = form_of(b, op);
    return form->view.kind == LL_OP_ALL_REDUCE && form->phase == LL_PHASE_UPDATE;
}

static bool same_devices(const struct ll_op_view *x, const struct ll_op_view *y)
{
    return ll_attr_count(x, LL_ATTR_DEVICES, 1) == ll_attr_count(y, LL_ATTR_DEVICES, 1) &&
           ll_attr_count(x, LL_ATTR_STRIDE, 1) == ll_attr_count(y, LL_ATTR_STRIDE, 1) &&
           x->attr_count == y->attr_count;
}

/* Whether an op may happen where the head does: among the same devices in the same step, and all that it
 * reads is there. */
static bool may_join(const struct bundling *b, uint32_t op, uint32_t head)
{
    const struct ll_form *form = form_of(b, op);
    if (head == LL_NONE || b->program->ops[op].step != b->program->ops[head].step ||
        !same_devices(&form->view, &form_of(b, head)->view))
        return false;
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint32_t producer = b->program->tensors[ll_op_input(b->program, op, i)].producer;
        if (producer != LL_NONE && producer > head)
            return false;
    }
    return true;
}

/* How many ops go into bundles of others. */
static uint64_t find_bundles(struct bundling *b)
{
    uint64_t joined = 0;
    uint32_t head = LL_NONE, last = LL_NONE;
    for (uint32_t op = 0; op < b->program->op_count; op++) {
        bool joins = is_sum_of_update(b, op);
        b->head[op] = b->next[op] = LL_NONE;
        if (!joins)
            continue;
        if (may_join(b, op, head)) {
            b->next[last] = op;
            joined++;
        } else {
            head = op;
        }
        b->head[op] = head;
        last = op;
    }
    return joined;
}

/* All inputs of a bundle and, behind them, what its results look like. */
static uint32_t *list_tensors(struct bundling *b, uint32_t head, uint32_t *count)
{
    uint64_t all = 0;
    for (uint32_t op = head; op != LL_NONE; op = b->next[op])
        all += form_of(b, op)->view.input_count;
    uint32_t *list = ll_alloc(&b->rewrite.arena, 2 * all, sizeof *list);
    *count = 0;
    for (uint32_t op = head; list && op != LL_NONE; op = b->next[op])
        for (uint32_t i = 0; i < form_of(b, op)->view.input_count; i++, (*count)++) {
            list[*count] = ll_rewrite_tensor(&b->rewrite, ll_op_input(b->program, op, i));
            list[all + *count] = ll_rewrite_desc(&b->rewrite, form_of(b, op)->outputs[i]);
        }
    return list;
}

static void put_bundle(struct bundling *b, uint32_t head)
{
    struct ll_record record;
    uint32_t count, *list = list_tensors(b, head, &count);
    if (!list)
        ll_rewrite_trouble(&b->rewrite, "memory ran out");
    if (!ll_rewrite_record(&b->rewrite, head, &record))
        return;
    record.scope = ll_recorder_string(b->rewrite.recorder, "gradients");
    record.inputs = list;
    record.outputs = list + count;
    record.input_count = record.output_count = count;
    ll_rewrite_step(&b->rewrite, head);
    uint32_t made = ll_rewrite_add(&b->rewrite, &record);
    for (uint32_t op = head; made != LL_NONE && op != LL_NONE; op = b->next[op])
        for (uint32_t i = 0; i < form_of(b, op)->view.output_count; i++)
            ll_rewrite_redirect(&b->rewrite, ll_op_output(b->program, op, i), made++);
}

static struct ll_trace *write_all(struct bundling *b, const char **trouble)
{
    ll_rewrite_begin(&b->rewrite, b->program, NULL, 0);
    for (uint32_t op = 0; op < b->program->op_count; op++)
        if (b->head[op] == LL_NONE || (b->head[op] == op && b->next[op] == LL_NONE))
            ll_rewrite_keep(&b->rewrite, op);
        else if (b->head[op] == op)
            put_bundle(b, op);
    return ll_rewrite_end(&b->rewrite, trouble);
}

struct ll_trace *ll_bundle_sums(const struct ll_trace *program, const char **trouble)
{
    struct ll_arena arena = {0};
    struct bundling b = {.program = program,
                         .head = ll_alloc(&arena, program->op_count + 1, sizeof *b.head),
                         .next = ll_alloc(&arena, program->op_count + 1, sizeof *b.next)};
    bool room = b.head && b.next;
    *trouble = room ? NULL : "memory ran out";
    struct ll_trace *made = room && find_bundles(&b) > 0 ? write_all(&b, trouble) : NULL;
    ll_arena_release(&arena);
    return made;
}

/* Ops that compute stay as they are. Behind those that make gradients the gradients of a bucket are
 * exchanged; from there on whatever updates works on what came out: the sums, or one device's part of them. A
 * weight that is whole is only seen as its part for the update (a view), and made whole again behind it. */

static const struct ll_form *form_in_replica(const struct ll_exchanging *x, uint32_t op)
{
    return &x->trace->forms[x->trace->ops[op].form];
}

static const struct ll_desc *desc_of(const struct ll_exchanging *x, uint32_t tensor)
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
static uint32_t last_op(const struct ll_exchanging *x)
{
    return x->rewrite.op_count > 0 ? x->rewrite.op_count - 1 : LL_NONE;
}

/* How a gradient is exchanged; `often`: with every micro-batch. */
struct way {
    bool parts, experts, often;
};

static bool in_parts(const struct ll_exchanging *x, uint32_t tensor)
{
    return x->plan->zero > 0 && x->gradients.in_parts[tensor] && ll_parts_of(x, tensor) > 1;
}

/* Parts of gradients are added up where the whole ones are not kept; what is only made once a step is
 * exchanged then. */
static bool goes_often(const struct ll_exchanging *x, uint32_t tensor)
{
    uint32_t maker = x->trace->tensors[tensor].producer;
    return x->plan->zero >= 2 && in_parts(x, tensor) && form_in_replica(x, maker)->phase == LL_PHASE_BACKWARD;
}

static bool goes(const struct ll_exchanging *x, uint32_t tensor, struct way way)
{
    return in_parts(x, tensor) == way.parts && ll_of_experts(x, tensor) == way.experts &&
           goes_often(x, tensor) == way.often && ll_replicas_of(x, tensor) > 1;
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
    among.in_place = among.alike = true;
    return first == LL_NONE ? LL_NONE : ll_exchange_tensors(x, &among);
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
        .after = x->plan->overlap ? LL_NONE : last_op(x),
    };
    uint32_t next = ll_exchange_tensors(x, &exchange);
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
    for (uint32_t o = 0; o < form_in_replica(x, op)->view.output_count; o++) {
        uint32_t tensor = ll_op_output(x->trace, op, o);
        if (x->gradients.kind[tensor] == LL_DENSE_GRADIENT && !x->exchanged[tensor])
            any = add(x, &x->dense, tensor);
    }
    if (!any || (!x->plan->overlap && x->plan->zero < 2))
        return;
    uint32_t ops = x->rewrite.op_count;
    drain(x, &x->dense, false, exchange_run);
    if (!x->plan->overlap && x->rewrite.op_count > ops)
        x->awaited = last_op(x);
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
    return ll_exchange_tensors(x, &exchange);
}

/* Gradients that an update is about to read are exchanged by now. */
static void finish_gradients(struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t i = 0; i < form_in_replica(x, op)->view.input_count; i++) {
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
           ll_parts_of(x, tensor) > 1;
}

/* States come as parts; with zero 3 weights do. */
static void bring_parts(struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t i = 0; i < form_in_replica(x, op)->view.input_count; i++) {
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
    const struct ll_form *form = form_in_replica(x, op);
    for (uint32_t i = 0; !adds(form->view.kind) && i < form->view.input_count; i++) {
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
        ll_rewrite_redirect(&x->rewrite, tensor, ll_exchange_tensors(x, &exchange));
        x->partial[tensor] = false;
    }
}

/* A whole weight seen as the part that this device updates. */
static uint32_t see_part(struct ll_exchanging *x, uint32_t op, uint32_t tensor, uint32_t whole)
{
    uint32_t desc = ll_part_desc(x, tensor, LL_WEIGHT);
    return ll_rewrite_add(&x->rewrite, &(struct ll_record){.kind = LL_OP_SEEN_AS,
                                                           .phase = LL_PHASE_UPDATE,
                                                           .scope = ll_rewrite_string(
                                                               &x->rewrite, form_in_replica(x, op)->scope),
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
    const struct ll_form *form = form_in_replica(x, op);
    for (uint32_t i = 0; i < form->view.input_count && !x->rewrite.trouble; i++) {
        uint32_t tensor = ll_op_input(x->trace, op, i);
        if (is_sharded(x, tensor) &&
            equal_dims(ll_rewrite_shape(&x->rewrite, inputs[i]), &form->view.in[i]) &&
            form->view.in[i].rank > 0)
            inputs[i] = see_part(x, op, tensor, inputs[i]);
        if (form->view.kind == LL_OP_SGD_ROWS && i == 2) {
            if (x->gathered[tensor] == LL_NONE)
                x->gathered[tensor] = gather_rows(x, tensor);
            inputs[i] = x->gathered[tensor];
        }
    }
}

/* Rows of all devices stay rows of all devices. */
static void grow_outputs(struct ll_exchanging *x, const struct ll_form *form, const uint32_t *inputs,
                         uint32_t *outputs)
{
    for (uint32_t i = 0; i < form->view.input_count && form->view.kind != LL_OP_SGD_ROWS; i++) {
        uint64_t elements = ll_elements(&form->view.in[i]);
        if (x->rewrite.trouble || ll_elements(ll_rewrite_shape(&x->rewrite, inputs[i])) <= elements)
            continue;
        for (uint32_t o = 0; o < form->view.output_count; o++)
            if (ll_elements(&form->view.out[o]) == elements) {
                struct ll_shape shape = *ll_rewrite_shape(&x->rewrite, inputs[i]);
                shape.dtype = form->view.out[o].dtype;
                outputs[o] = ll_rewrite_reshaped(&x->rewrite, form->outputs[o], &shape);
            }
    }
}

/* Outputs as long as a gradient are parts where that is; numbers made of parts are partial sums. */
static void settle_outputs(struct ll_exchanging *x, uint32_t op, const uint32_t *inputs, uint32_t *outputs)
{
    const struct ll_form *form = form_in_replica(x, op);
    bool partial = false;
    grow_outputs(x, form, inputs, outputs);
    for (uint32_t i = 0; i < form->view.input_count && !x->rewrite.trouble; i++)
        partial |= x->partial[ll_op_input(x->trace, op, i)] ||
                   ll_elements(ll_rewrite_shape(&x->rewrite, inputs[i])) < ll_elements(&form->view.in[i]);
    for (uint32_t o = 0; o < form->view.output_count; o++) {
        uint32_t tensor = ll_op_output(x->trace, op, o);
        x->partial[tensor] = partial && form->view.out[o].rank == 0;
        if (in_parts(x, tensor) || is_sharded(x, tensor))
            outputs[o] = ll_part_desc(x, tensor, (enum ll_memory_class)desc_of(x, tensor)->memory);
    }
}

static void gather_some(struct ll_exchanging *x, const uint32_t *tensors, uint64_t count, bool experts,
                        uint32_t *room)
{
    uint32_t *inputs = room, *outputs = room + count;
    uint64_t some = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (ll_of_experts(x, tensors[i]) != experts)
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
    uint32_t next = ll_exchange_tensors(x, &exchange);
    for (uint64_t i = 0; i < count && next != LL_NONE; i++)
        if (ll_of_experts(x, tensors[i]) == experts)
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
    gather_some(x, tensors, count, false, room);
    gather_some(x, tensors, count, true, room);
    free(room);
}

static void meet_weights(struct ll_exchanging *x, uint32_t op)
{
    for (uint32_t o = 0; o < form_in_replica(x, op)->view.output_count; o++) {
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
    enum ll_phase phase = form_in_replica(x, op)->phase;
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
        backward |= form_in_replica(x, op)->phase == LL_PHASE_BACKWARD;
        update = form_in_replica(x, op)->phase == LL_PHASE_UPDATE;
    }
    return update || !backward ||
           ll_rewrite_trouble(&x->rewrite, "the trace has no optimizer whose state could be shared out");
}

static bool goes_backward(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->form_count; i++)
        if (trace->forms[i].phase == LL_PHASE_BACKWARD)
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
