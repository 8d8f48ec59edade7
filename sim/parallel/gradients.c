/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of weights: which tensors they are; how experts are spread over replicas (last section).
 *
 * From the gradients the walk follows the ops that update: a tensor with as
 * many elements as a gradient that meets it there belongs to the same weight. The walk is done twice, since
 * some ops (weight decay) come before the gradient. All tensors of a weight are a family; a family with an op
 * that is not element-wise stays whole. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/exchange.h"
#include "tracer/ir/experts.h"
#include "sim/parallel/pipeline.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rewrite.h"

struct finding {
    const struct ll_trace *trace;
    struct ll_gradients *g;
    uint32_t *users;  /* by storage: optimizer's ops in the first step that read it */
    bool *picks_rows; /* by tensor: becomes rows of a table */
    uint32_t *parent; /* by tensor, then by storage: another of the family, itself for its head */
    bool *whole;      /* by head: the family stays whole */
    bool *experts;    /* by head: of weights of experts */
};

static const struct ll_op_signature *signature_of(const struct finding *f, uint64_t op)
{
    return &f->trace->signatures[f->trace->ops[op].signature];
}

static const struct ll_tensor_desc *desc_of(const struct finding *f, uint32_t tensor)
{
    return &f->trace->descs[f->trace->tensors[tensor].desc];
}

static bool is_update(const struct finding *f, uint64_t op)
{
    return signature_of(f, op)->phase == LL_PHASE_UPDATE;
}

static void find_rows(struct finding *f)
{
    for (uint64_t at = f->trace->op_count; at-- > 0;) {
        uint32_t op = (uint32_t)at;
        const struct ll_op_signature *signature = signature_of(f, op);
        if (!is_update(f, op))
            continue;
        if (signature->view.kind == LL_OP_SGD_ROWS)
            f->picks_rows[ll_op_input(f->trace, op, 1)] = true;
        for (uint32_t o = 0; o < signature->view.output_count; o++)
            for (uint32_t i = 0;
                 f->picks_rows[ll_op_output(f->trace, op, o)] && i < signature->view.input_count; i++)
                if (memcmp(signature->view.in[i].dim, signature->view.out[o].dim,
                           sizeof signature->view.in[i].dim) == 0)
                    f->picks_rows[ll_op_input(f->trace, op, i)] = true;
    }
}

static bool is_gradient(const struct finding *f, uint32_t tensor)
{
    const struct ll_tensor_desc *desc = desc_of(f, tensor);
    return desc->memory == LL_GRADIENT && desc->shape.rank > 0 &&
           ll_dtype_is_floating((enum ll_dtype)desc->shape.dtype);
}

/* What another stage sends of a gradient while updating has been exchanged there, and is a part if that was.
 */
static void find_received(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(f, op);
        if (signature->view.kind != LL_OP_RECEIVE || !is_update(f, op))
            continue;
        for (uint32_t o = 0; o < signature->view.output_count; o++) {
            uint32_t tensor = ll_op_output(f->trace, op, o);
            f->g->in_parts[tensor] = is_gradient(f, tensor);
        }
    }
}

/* What another stage sends before it is exchanged is a gradient as any that is made here. */
static bool makes_gradients(const struct finding *f, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(f, op);
    return signature->phase == LL_PHASE_BACKWARD ||
           (signature->phase == LL_PHASE_COMM && signature->view.kind == LL_OP_RECEIVE);
}

static void find_gradients(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++)
        for (uint32_t i = 0; is_update(f, op) && i < signature_of(f, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(f->trace, op, i), from = f->trace->tensors[tensor].producer;
            if (from == LL_NONE || !makes_gradients(f, from) || !is_gradient(f, tensor))
                continue;
            f->g->kind[tensor] = f->picks_rows[tensor] ? LL_ROWS_GRADIENT : LL_DENSE_GRADIENT;
            f->g->in_parts[tensor] = !f->picks_rows[tensor];
        }
}

static bool knows_gradients(const struct finding *f)
{
    uint64_t i = 0;
    while (i < f->trace->tensor_count && f->g->kind[i] == LL_NO_GRADIENT)
        i++;
    return i < f->trace->tensor_count;
}

static int compare_sizes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The elements of each weight, in order. */
static uint64_t sort_sizes(const struct ll_trace *trace, uint64_t *sizes)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_WEIGHT)
            sizes[count++] = ll_elements(&trace->descs[i].shape);
    qsort(sizes, count, sizeof *sizes, compare_sizes);
    return count;
}

/* Where nothing is updated (a profile of both passes alone), what a step leaves unread of gradients is that
 * of weights if one is as large; else of the input. False when memory ran out. */
static bool find_left(struct finding *f, struct ll_arena *arena)
{
    const struct ll_trace *trace = f->trace;
    bool *read = ll_alloc(arena, trace->tensor_count + 1, sizeof *read);
    uint64_t *sizes = ll_alloc(arena, trace->desc_count + 1, sizeof *sizes);
    if (!read || !sizes || knows_gradients(f))
        return read && sizes;
    uint64_t size_count = sort_sizes(trace, sizes);
    for (uint32_t op = 0; op < trace->op_count; op++)
        for (uint32_t i = 0; i < signature_of(f, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i), from = trace->tensors[tensor].producer;
            read[tensor] |= from != LL_NONE && trace->ops[from].step == trace->ops[op].step;
        }
    for (uint32_t i = 0; i < trace->tensor_count; i++) {
        uint32_t from = trace->tensors[i].producer;
        uint64_t size = ll_elements(&desc_of(f, i)->shape);
        if (from != LL_NONE && !read[i] && f->g->last[i] && makes_gradients(f, from) && is_gradient(f, i) &&
            bsearch(&size, sizes, size_count, sizeof size, compare_sizes))
            f->g->kind[i] = LL_DENSE_GRADIENT;
    }
    return true;
}

/* What several weights' updates read (the powers of Adam's betas) is no weight's state. */
static void count_users(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(f, op);
        bool counts = f->trace->ops[op].step == 0 && signature->view.kind != LL_OP_NONE &&
                      ll_op_class(signature->view.kind) == LL_CLASS_OPTIMIZATION;
        for (uint32_t i = 0; counts && i < signature->view.input_count; i++)
            f->users[f->trace->tensors[ll_op_input(f->trace, op, i)].storage]++;
    }
}

static bool in_parts(const struct finding *f, uint32_t tensor)
{
    return f->g->in_parts[tensor] || f->g->sharded[f->trace->tensors[tensor].storage];
}

static uint32_t head_of(struct finding *f, uint32_t member)
{
    assert(member < f->trace->tensor_count + f->trace->storage_count);
    while (f->parent[member] != member)
        member = f->parent[member] = f->parent[f->parent[member]];
    return member;
}

static void join(struct finding *f, uint32_t a, uint32_t b)
{
    f->parent[head_of(f, a)] = head_of(f, b);
}

/* A tensor, and the storage on which what belongs to it lies. */
static void join_storage(struct finding *f, uint32_t member, uint32_t tensor)
{
    join(f, member, tensor);
    join(f, member, (uint32_t)f->trace->tensor_count + f->trace->tensors[tensor].storage);
}

/* An input of an updating op that is done in parts; LL_NONE for none. */
static uint32_t find_part(const struct finding *f, uint32_t op)
{
    for (uint32_t i = 0; is_update(f, op) && i < signature_of(f, op)->view.input_count; i++)
        if (in_parts(f, ll_op_input(f->trace, op, i)))
            return i;
    return LL_NONE;
}

/* An op of the update that handles a part: operands of as many elements are parts too, and so is what it
 * makes of them; storages that only it uses are sharded. */
static void spread(struct finding *f, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(f, op);
    uint32_t part = find_part(f, op);
    if (part == LL_NONE)
        return;
    uint32_t member = ll_op_input(f->trace, op, part);
    uint64_t elements = ll_elements(&signature->view.in[part]);
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(f->trace, op, i), storage = f->trace->tensors[tensor].storage;
        uint32_t memory = desc_of(f, tensor)->memory;
        f->g->sharded[storage] |= ll_elements(&signature->view.in[i]) == elements && f->users[storage] < 2 &&
                                  (memory == LL_WEIGHT || memory == LL_OPTIMIZER);
        if (f->g->sharded[storage])
            join_storage(f, member, tensor);
        else if (f->g->in_parts[tensor])
            join(f, member, tensor);
    }
    for (uint32_t o = 0; o < signature->view.output_count; o++) {
        uint32_t tensor = ll_op_output(f->trace, op, o);
        f->g->in_parts[tensor] |=
            ll_elements(&signature->view.out[o]) == elements && signature->view.out[o].rank > 0;
        if (f->g->in_parts[tensor])
            join(f, member, tensor);
    }
}

/* Whether the op does with each element what it does with any other: what is longer than a number is as long
 * as the part, and a part too; only an optimizer's own op takes a few numbers besides. */
static bool is_element_wise(const struct finding *f, uint32_t op, uint64_t elements)
{
    const struct ll_op_signature *signature = signature_of(f, op);
    enum ll_op_class op_class =
        signature->view.kind == LL_OP_NONE ? LL_CLASS_MATRIX : ll_op_class(signature->view.kind);
    bool right = !ll_class_is_gemm(op_class);
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        right &= signature->view.in[i].rank == 0 || in_parts(f, ll_op_input(f->trace, op, i)) ||
                 (op_class == LL_CLASS_OPTIMIZATION && ll_elements(&signature->view.in[i]) != elements);
    for (uint32_t o = 0; o < signature->view.output_count; o++)
        right &= signature->view.out[o].rank == 0 || ll_elements(&signature->view.out[o]) == elements;
    return right;
}

/* A family stays whole where an update reads or makes one of its tensors otherwise than element by element: a
 * slice that tensor parallelism takes of a whole state cannot be made in parts. */
static void judge(struct finding *f, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(f, op);
    uint32_t part = find_part(f, op);
    if (part != LL_NONE && !is_element_wise(f, op, ll_elements(&signature->view.in[part])))
        f->whole[head_of(f, ll_op_input(f->trace, op, part))] = true;
    for (uint32_t o = 0; part == LL_NONE && is_update(f, op) && o < signature->view.output_count; o++) {
        uint32_t tensor = ll_op_output(f->trace, op, o);
        if (in_parts(f, tensor) && !is_element_wise(f, op, ll_elements(&signature->view.out[o])))
            f->whole[head_of(f, tensor)] = true;
    }
}

static void find_experts(struct finding *f)
{
    uint32_t tensors = (uint32_t)f->trace->tensor_count;
    for (uint32_t i = 0; i < tensors; i++)
        f->experts[head_of(f, i)] |= ll_is_of_experts(desc_of(f, i));
    for (uint32_t i = 0; i < tensors; i++)
        f->g->experts[i] = f->experts[head_of(f, i)];
}

static void leave_whole(struct finding *f)
{
    uint32_t tensors = (uint32_t)f->trace->tensor_count;
    for (uint32_t i = 0; i < tensors; i++)
        f->g->in_parts[i] &= !f->whole[head_of(f, i)];
    for (uint32_t i = 0; i < f->trace->storage_count; i++)
        f->g->sharded[i] &= !f->whole[head_of(f, tensors + i)];
}

static bool find_last(struct finding *f, struct ll_arena *arena)
{
    uint32_t *step = ll_alloc(arena, f->trace->storage_count + 1, sizeof *step);
    if (step)
        memset(step, 0xff, f->trace->storage_count * sizeof *step);
    for (uint64_t at = f->trace->tensor_count; step && at-- > 0;) {
        const struct ll_tensor *tensor = &f->trace->tensors[at];
        if (tensor->producer == LL_NONE)
            continue;
        f->g->last[at] = step[tensor->storage] != f->trace->ops[tensor->producer].step;
        step[tensor->storage] = f->trace->ops[tensor->producer].step;
    }
    return step;
}

bool ll_gradients_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_gradients *gradients)
{
    struct finding f = {.trace = trace, .g = gradients};
    *gradients = (struct ll_gradients){
        ll_alloc(arena, trace->tensor_count + 1, sizeof *gradients->kind),
        ll_alloc(arena, trace->tensor_count + 1, sizeof *gradients->in_parts),
        ll_alloc(arena, trace->storage_count + 1, sizeof *gradients->sharded),
        ll_alloc(arena, trace->tensor_count + 1, sizeof *gradients->last),
        ll_alloc(arena, trace->tensor_count + 1, sizeof *gradients->experts),
    };
    uint64_t members = trace->tensor_count + trace->storage_count;
    f.users = ll_alloc(arena, trace->storage_count + 1, sizeof *f.users);
    f.picks_rows = ll_alloc(arena, trace->tensor_count + 1, sizeof *f.picks_rows);
    f.parent = ll_alloc(arena, members + 1, sizeof *f.parent);
    f.whole = ll_alloc(arena, members + 1, sizeof *f.whole);
    f.experts = ll_alloc(arena, members + 1, sizeof *f.experts);
    if (!gradients->kind || !gradients->in_parts || !gradients->sharded || !gradients->last || !f.users ||
        !f.picks_rows || !f.parent || !f.whole || !f.experts || !gradients->experts || !find_last(&f, arena))
        return false;
    for (uint64_t i = 0; i < members; i++)
        f.parent[i] = (uint32_t)i;
    find_rows(&f);
    find_gradients(&f);
    find_received(&f);
    if (!find_left(&f, arena))
        return false;
    count_users(&f);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t op = 0; op < trace->op_count; op++)
            spread(&f, op);
    for (uint32_t op = 0; op < trace->op_count; op++)
        judge(&f, op);
    find_experts(&f);
    leave_whole(&f);
    return true;
}

static bool has_weights(const struct ll_trace *trace)
{
    uint64_t i = 0;
    while (i < trace->desc_count && trace->descs[i].memory != LL_WEIGHT)
        i++;
    return i < trace->desc_count;
}

/* Whether an update reads a gradient, which is seen without what else belongs to weights. */
static bool updates_by_gradients(const struct ll_trace *trace, struct ll_arena *scratch)
{
    struct ll_gradients gradients = {
        .kind = ll_alloc(scratch, trace->tensor_count + 1, sizeof *gradients.kind),
        .in_parts = ll_alloc(scratch, trace->tensor_count + 1, sizeof *gradients.in_parts)};
    struct finding f = {.trace = trace,
                        .g = &gradients,
                        .picks_rows = ll_alloc(scratch, trace->tensor_count + 1, sizeof *f.picks_rows)};
    if (!gradients.kind || !gradients.in_parts || !f.picks_rows)
        return false;
    find_gradients(&f);
    return knows_gradients(&f);
}

bool ll_gradients_missing(const struct ll_trace *trace, bool *lacks)
{
    struct ll_arena scratch = {0};
    struct finding f = {.trace = trace, .g = &(struct ll_gradients){0}};
    *lacks = ll_trace_is_of_program(trace) || (ll_trains(trace) && has_weights(trace));
    *lacks = *lacks && !updates_by_gradients(trace, &scratch);
    bool done = !*lacks || ll_gradients_find(trace, &scratch, f.g);
    *lacks = *lacks && done && !knows_gradients(&f);
    ll_arena_release(&scratch);
    return done;
}

bool ll_gradients_dtype(const struct ll_trace *trace, enum ll_dtype *dtype)
{
    struct ll_arena scratch = {0};
    struct ll_gradients gradients = {0};
    uint64_t elements[LL_DTYPE_COUNT] = {0};
    const bool done = ll_gradients_find(trace, &scratch, &gradients);
    *dtype = LL_F32;
    for (uint64_t i = 0; done && i < trace->tensor_count; i++) {
        const struct ll_shape *shape = &trace->descs[trace->tensors[i].desc].shape;
        if (gradients.kind[i] == LL_DENSE_GRADIENT)
            elements[shape->dtype] = ll_add(elements[shape->dtype], ll_elements(shape));
    }
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        if (elements[i] > elements[*dtype])
            *dtype = (enum ll_dtype)i;
    ll_arena_release(&scratch);
    return done;
}

/* Expert parallelism. A tensor is in one of three places: here (the replica's samples, for all experts), away
 * (all samples, for the replica's experts), or the replica's own (of its experts, such as their weights).
 * GEMMs that read tensors which are own or away, or were sent there, happen away. Element-wise ops happen
 * where all their inputs are. All other ops happen here. A tensor that was sent from one place to the other
 * is in both from then on. */

enum where { HERE, AWAY, OWN };

struct spreading {
    struct ll_rewrite rewrite;
    const struct ll_trace *trace;
    uint64_t replicas, stride;
    bool trains;
    uint8_t *where;    /* by old tensor: enum where */
    uint32_t *fetched; /* by old tensor: the new one that is here though it is away, or the other way */
    struct ll_arena scratch;
    uint32_t op;
    const struct ll_op_signature *signature;
    uint32_t *inputs; /* tensors of the new trace */
    bool divides;     /* all numbers of experts are multiples */
    bool found;
};

bool ll_is_of_experts(const struct ll_tensor_desc *desc)
{
    bool kept = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER || desc->memory == LL_GRADIENT;
    return kept && desc->shape.rank > 1 && desc->shape.role[0] == LL_ROLE_EXPERTS;
}

bool ll_has_experts(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (ll_is_of_experts(&trace->descs[i]))
            return true;
    return false;
}

static const struct ll_tensor_desc *experts_desc_of(const struct spreading *s, uint32_t tensor)
{
    return &s->trace->descs[s->trace->tensors[tensor].desc];
}

/* The dimension that counts experts, -1 for none: the first one of what goes away. */
static bool counts_experts(const struct ll_shape *shape)
{
    return shape->rank > 1 && shape->role[0] == LL_ROLE_EXPERTS;
}

static struct ll_shape shape_there(const struct spreading *s, struct ll_shape shape, enum where where)
{
    if (where != HERE)
        shape.dim[0] /= s->replicas;
    if (where == AWAY)
        shape.dim[1] = ll_mul(shape.dim[1], s->replicas);
    return shape;
}

/* Going there and back. */

static uint32_t see_as(struct spreading *s, uint32_t tensor, uint32_t desc, uint32_t scope)
{
    return ll_rewrite_add(&s->rewrite, &(struct ll_record){.kind = LL_OP_RESHAPE,
                                                           .phase = s->signature->phase,
                                                           .scope = scope,
                                                           .inputs = &tensor,
                                                           .input_count = 1,
                                                           .outputs = &desc,
                                                           .output_count = 1});
}

/* The tensor in the other place: here it has a row of places for each expert, away one for each replica, too.
 */
static uint32_t fetch(struct spreading *s, uint32_t tensor)
{
    const uint32_t old_desc = s->trace->tensors[tensor].desc;
    const struct ll_shape *shape = &experts_desc_of(s, tensor)->shape, there = shape_there(s, *shape, AWAY);
    uint32_t scope = ll_rewrite_string(&s->rewrite, s->signature->scope);
    uint32_t now = ll_rewrite_tensor(&s->rewrite, tensor);
    uint32_t here = ll_rewrite_desc(&s->rewrite, old_desc),
             away = ll_rewrite_reshaped(&s->rewrite, old_desc, &there);
    const struct ll_exchange_place place = {scope, s->signature->phase, s->replicas, s->stride};
    if (s->fetched[tensor] != LL_NONE)
        return s->fetched[tensor];
    if (s->where[tensor] == HERE) {
        now = ll_rewrite_exchange(&s->rewrite, LL_OP_ALL_TO_ALL, now, here, &place);
        now = see_as(s, now, away, scope);
    } else {
        now = see_as(s, now, here, scope);
        now = ll_rewrite_exchange(&s->rewrite, LL_OP_ALL_TO_ALL, now, here, &place);
    }
    s->fetched[tensor] = now;
    return now;
}

/* Weights and states that nobody has read yet are brought as the replica's own. */
static void bring_own(struct spreading *s, uint32_t tensor)
{
    const struct ll_tensor_desc *desc = experts_desc_of(s, tensor);
    if (s->trace->tensors[tensor].producer != LL_NONE || s->where[tensor] != HERE || !ll_is_of_experts(desc))
        return;
    s->found = true;
    s->divides &= desc->shape.dim[0] % s->replicas == 0;
    struct ll_shape own = shape_there(s, desc->shape, OWN);
    uint32_t brought =
        ll_rewrite_bring(&s->rewrite, ll_rewrite_reshaped(&s->rewrite, s->trace->tensors[tensor].desc, &own));
    ll_rewrite_redirect(&s->rewrite, tensor, brought);
    s->where[tensor] = OWN;
}

/* Of an op's inputs, how many are where; single numbers are everywhere. */
struct counted {
    uint32_t at[OWN + 1];
};

static struct counted count_inputs(const struct spreading *s)
{
    struct counted counted = {{0}};
    for (uint32_t i = 0; i < s->signature->view.input_count; i++)
        counted.at[s->where[ll_op_input(s->trace, s->op, i)]] += s->signature->view.in[i].rank > 0;
    return counted;
}

/* Rows of words at the places of experts, of which each device of a GEMM has a share: they are brought
 * together where the experts are. */
static bool gathers_rows(const struct ll_op_view *op)
{
    return op->kind == LL_OP_ALL_GATHER && op->input_count == 1 && op->in[0].rank > 2 &&
           counts_experts(&op->in[0]) && op->in[0].role[1] == LL_ROLE_BATCH;
}

static bool all_results_count_experts(const struct spreading *s)
{
    for (uint32_t i = 0; i < s->signature->view.output_count; i++)
        if (!counts_experts(&s->signature->view.out[i]))
            return false;
    return s->signature->view.output_count > 0;
}

/* Gradients of weights are GEMMs of what went away and what comes back: both are here, too. */
static bool is_product_there(const struct spreading *s)
{
    bool there = false;
    for (uint32_t i = 0; i < s->signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(s->trace, s->op, i);
        there |= s->where[tensor] != HERE || s->fetched[tensor] != LL_NONE;
    }
    return there && s->signature->view.kind == LL_OP_BATCH_MATMUL;
}

/* Whether the op happens away. */
static bool happens_away(const struct spreading *s, struct counted counted)
{
    return (is_product_there(s) || gathers_rows(&s->signature->view) ||
            (counted.at[AWAY] > 0 && counted.at[HERE] == 0)) &&
           all_results_count_experts(s);
}

/* Inputs where the op happens; what is the replica's own is as it is. */
static bool gather_inputs(struct spreading *s, bool away)
{
    uint32_t count = s->signature->view.input_count;
    s->inputs = ll_alloc(&s->scratch, count, sizeof *s->inputs);
    for (uint32_t i = 0; s->inputs && i < count; i++) {
        uint32_t tensor = ll_op_input(s->trace, s->op, i);
        bool elsewhere = s->signature->view.in[i].rank > 0 && s->where[tensor] == (away ? HERE : AWAY);
        s->inputs[i] = elsewhere ? fetch(s, tensor) : ll_rewrite_tensor(&s->rewrite, tensor);
    }
    return s->inputs != NULL;
}

/* Shapes of the results as the op table has them; where it takes them as given, as the replica would. Types
 * stay: a GEMM may write a wider one than it reads. */
static const char *infer(struct spreading *s, enum where where, struct ll_shape **results)
{
    struct ll_op_view view = s->signature->view;
    struct ll_shape *in = ll_alloc(&s->scratch, view.input_count, sizeof *in);
    uint32_t room = view.output_count > LL_MAX_OUTPUTS ? view.output_count : LL_MAX_OUTPUTS;
    *results = view.out = ll_alloc(&s->scratch, room, sizeof *view.out);
    if (!in || !view.out)
        return "memory ran out";
    for (uint32_t i = 0; i < view.input_count; i++)
        in[i] = *ll_rewrite_shape(&s->rewrite, s->inputs[i]);
    for (uint32_t i = 0; i < view.output_count; i++)
        view.out[i] = shape_there(s, s->signature->view.out[i], where);
    view.in = in;
    const char *trouble = view.kind == LL_OP_NONE ? NULL : ll_op_infer(&view);
    for (uint32_t i = 0; !trouble && i < s->signature->view.output_count; i++)
        view.out[i].dtype = s->signature->view.out[i].dtype;
    return trouble;
}

static enum where where_made(const struct spreading *s, uint32_t i, const struct ll_shape *result)
{
    const struct ll_shape *was = &s->signature->view.out[i];
    if (!counts_experts(was) || result->dim[0] == was->dim[0])
        return HERE;
    return ll_elements(result) == ll_elements(was) ? AWAY : OWN;
}

/* Where the results are that an op takes as given: those of what is the replica's own, as casts of weights,
 * are its own. */
static enum where where_given(const struct spreading *s, bool away)
{
    struct counted counted = count_inputs(s);
    bool own = counted.at[HERE] + counted.at[AWAY] == 0 && all_results_count_experts(s);
    return away ? AWAY : own ? OWN : HERE;
}

/* The words of all replicas come to where the experts are. */
static void count_words(struct spreading *s, const struct ll_record *record)
{
    for (uint32_t i = 0; i < record->attr_count; i++)
        if (s->rewrite.attrs[i].key == LL_ATTR_FILLED)
            s->rewrite.attrs[i].count *= (int64_t)s->replicas;
}

static bool write_op(struct spreading *s, bool away)
{
    struct ll_rewrite *rewrite = &s->rewrite;
    struct ll_record record;
    struct ll_shape *results;
    if (!gather_inputs(s, away))
        return ll_rewrite_trouble(rewrite, "memory ran out");
    const char *trouble = rewrite->trouble ? rewrite->trouble : infer(s, where_given(s, away), &results);
    if (trouble || !ll_rewrite_record(rewrite, s->op, &record))
        return ll_rewrite_trouble(rewrite, trouble);
    uint32_t *outputs = ll_alloc(&s->scratch, record.output_count, sizeof *outputs);
    if (!outputs)
        return ll_rewrite_trouble(rewrite, "memory ran out");
    for (uint32_t i = 0; i < record.output_count; i++) {
        outputs[i] = ll_rewrite_reshaped(rewrite, s->signature->outputs[i], &results[i]);
        s->where[ll_op_output(s->trace, s->op, i)] = (uint8_t)where_made(s, i, &results[i]);
    }
    if (away)
        count_words(s, &record);
    record.inputs = s->inputs;
    record.outputs = outputs;
    return ll_rewrite_put(rewrite, s->op, &record) != LL_NONE || record.output_count == 0;
}

/* A layer of experts as one op: each token is sent as often as it has experts, and what these give comes back
 * as often. Rows are dispatched in the type that the experts' GEMMs read. */

static enum ll_dtype dispatched_as(const struct spreading *s, const struct ll_shape *x)
{
    enum ll_expert_format format =
        (enum ll_expert_format)ll_attr_count(&s->signature->view, LL_ATTR_FORMAT, 0);
    return ll_expert_activation_bytes(format) < 2 ? LL_F8 : (enum ll_dtype)x->dtype;
}

/* Rows laid out anew: by experts before they go, by the experts of the device when they have come, and
 * back. Where a trace only infers, the kernels of experts and exchanges do it by the way. */
static uint32_t reorder(struct spreading *s, uint32_t tensor, uint32_t desc)
{
    if (!s->trains)
        return tensor;
    return ll_rewrite_add(&s->rewrite,
                          &(struct ll_record){.kind = LL_OP_COPY,
                                              .phase = s->signature->phase,
                                              .scope = ll_rewrite_string(&s->rewrite, s->signature->scope),
                                              .inputs = &tensor,
                                              .input_count = 1,
                                              .outputs = &desc,
                                              .output_count = 1});
}

/* Tokens [tokens, features] there or back: as [tokens k, features] of this type, exchanged, and seen as
 * tokens again. */
static uint32_t exchange_tokens(struct spreading *s, uint32_t tensor, uint32_t old_desc, uint64_t k,
                                enum ll_dtype dtype)
{
    const struct ll_shape tokens = *ll_rewrite_shape(&s->rewrite, tensor);
    const uint32_t scope = ll_rewrite_string(&s->rewrite, s->signature->scope);
    struct ll_shape rows = tokens;
    rows.dim[0] = ll_mul(rows.dim[0], k);
    rows.dtype = (uint8_t)dtype;
    uint32_t sent = ll_rewrite_reshaped(&s->rewrite, old_desc, &rows),
             seen = ll_rewrite_reshaped(&s->rewrite, old_desc, &tokens);
    struct ll_record look = {.kind = LL_OP_SEEN_AS,
                             .phase = s->signature->phase,
                             .scope = scope,
                             .inputs = &tensor,
                             .input_count = 1,
                             .outputs = &sent,
                             .output_count = 1};
    uint32_t now = reorder(s, ll_rewrite_add(&s->rewrite, &look), sent);
    const struct ll_attr attrs[] = {{.key = LL_ATTR_DEVICES, .count = (int64_t)s->replicas},
                                    {.key = LL_ATTR_STRIDE, .count = (int64_t)s->stride},
                                    {.key = LL_ATTR_COPIES, .count = (int64_t)k}};
    now = ll_rewrite_add(&s->rewrite, &(struct ll_record){.kind = LL_OP_ALL_TO_ALL,
                                                          .phase = s->signature->phase,
                                                          .scope = scope,
                                                          .attr_count = 3,
                                                          .attrs = attrs,
                                                          .inputs = &now,
                                                          .input_count = 1,
                                                          .outputs = &sent,
                                                          .output_count = 1});
    now = reorder(s, now, sent);
    look.inputs = &now;
    look.outputs = &seen;
    return ll_rewrite_add(&s->rewrite, &look);
}

/* What a row counts for goes with it, by an exchange of its own, and its gradient comes back so, where
 * experts learn: rows are multiplied by it inside of them (Megatron-core 0.12 and later,
 * token_dispatcher.py). */
static uint32_t exchange_shares(struct spreading *s, uint32_t tensor, uint32_t old_desc)
{
    const struct ll_exchange_place place = {ll_rewrite_string(&s->rewrite, s->signature->scope),
                                            s->signature->phase, s->replicas, s->stride};
    const uint32_t desc = ll_rewrite_desc(&s->rewrite, old_desc);
    return s->trains ? ll_rewrite_exchange(&s->rewrite, LL_OP_ALL_TO_ALL, tensor, desc, &place) : tensor;
}

static bool spread_layer(struct spreading *s)
{
    struct ll_rewrite *rewrite = &s->rewrite;
    const struct ll_op_view *view = &s->signature->view;
    const struct ll_shape *chosen = &view->in[view->kind == LL_OP_EXPERTS ? 2 : 3];
    struct ll_record record;
    if (!gather_inputs(s, false) || !ll_rewrite_record(rewrite, s->op, &record))
        return ll_rewrite_trouble(rewrite, "memory ran out");
    uint32_t *outputs = ll_alloc(&s->scratch, record.output_count, sizeof *outputs);
    if (!outputs || record.attr_count == LL_MAX_ATTRS)
        return ll_rewrite_trouble(rewrite, "memory ran out");
    uint32_t x = ll_op_input(s->trace, s->op, 0), y = ll_op_output(s->trace, s->op, 0);
    s->inputs[0] = exchange_tokens(s, s->inputs[0], s->trace->tensors[x].desc, chosen->dim[1],
                                   dispatched_as(s, &view->in[0]));
    if (view->kind == LL_OP_EXPERTS)
        s->inputs[1] =
            exchange_shares(s, s->inputs[1], s->trace->tensors[ll_op_input(s->trace, s->op, 1)].desc);
    for (uint32_t i = 0; i < record.output_count; i++) {
        bool own = counts_experts(&view->out[i]);
        struct ll_shape shape = shape_there(s, view->out[i], own ? OWN : HERE);
        outputs[i] = ll_rewrite_reshaped(rewrite, s->signature->outputs[i], &shape);
        s->where[ll_op_output(s->trace, s->op, i)] = own ? OWN : HERE;
    }
    rewrite->attrs[record.attr_count++] =
        (struct ll_attr){.key = LL_ATTR_DEVICES, .count = (int64_t)s->replicas};
    record.attrs = rewrite->attrs;
    record.inputs = s->inputs;
    record.outputs = outputs;
    if (ll_rewrite_put(rewrite, s->op, &record) == LL_NONE)
        return false;
    uint32_t back = exchange_tokens(s, ll_rewrite_tensor(rewrite, y), s->trace->tensors[y].desc,
                                    chosen->dim[1], (enum ll_dtype)view->out[0].dtype);
    ll_rewrite_redirect(rewrite, y, back);
    if (view->kind == LL_OP_EXPERTS_GRAD) {
        const uint32_t shares = ll_op_output(s->trace, s->op, 1);
        ll_rewrite_redirect(
            rewrite, shares,
            exchange_shares(s, ll_rewrite_tensor(rewrite, shares), s->trace->tensors[shares].desc));
    }
    return !rewrite->trouble;
}

static bool spread_op(struct spreading *s, uint32_t op)
{
    s->op = op;
    s->signature = &s->trace->signatures[s->trace->ops[op].signature];
    for (uint32_t i = 0; i < s->signature->view.input_count; i++)
        bring_own(s, ll_op_input(s->trace, op, i));
    struct counted counted = count_inputs(s);
    bool away = happens_away(s, counted), written = true;
    enum ll_op_kind kind = s->signature->view.kind;
    if (counted.at[AWAY] + counted.at[OWN] == 0 && !away)
        ll_rewrite_keep(&s->rewrite, op);
    else if (kind == LL_OP_EXPERTS || kind == LL_OP_EXPERTS_GRAD)
        written = spread_layer(s);
    else
        written = write_op(s, away);
    ll_arena_release(&s->scratch);
    return written && !s->rewrite.trouble;
}

static bool spread_all(struct spreading *s)
{
    const struct ll_trace *trace = s->trace;
    s->where = calloc(trace->tensor_count + 1, sizeof *s->where);
    s->fetched = calloc(trace->tensor_count + 1, sizeof *s->fetched);
    if (!s->where || !s->fetched)
        return ll_rewrite_trouble(&s->rewrite, "memory ran out");
    for (uint64_t i = 0; i < trace->tensor_count; i++)
        s->fetched[i] = LL_NONE;
    for (uint32_t op = 0; op < trace->op_count && s->divides; op++)
        if (!spread_op(s, op))
            return false;
    return true;
}

struct ll_trace *ll_spread_experts(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   struct ll_diags *diags)
{
    assert(plan->expert > 0);
    struct spreading s = {.trace = trace,
                          .replicas = plan->expert,
                          .stride = plan->tensor,
                          .trains = ll_trains(trace),
                          .divides = true};
    const char *trouble = "memory ran out";
    char replicas[24];
    snprintf(replicas, sizeof replicas, "%" PRIu64, plan->expert);
    const struct ll_fact fact = {"parallel.expert", replicas};
    struct ll_trace *share = plan->expert <= 1 ? ll_trace_copy(trace) : NULL;
    if (plan->expert > 1) {
        ll_rewrite_begin(&s.rewrite, trace, &fact, 1);
        spread_all(&s);
        share = ll_rewrite_end(&s.rewrite, &trouble);
        free(s.where);
        free(s.fetched);
    }
    if (share && (plan->expert <= 1 || (s.found && s.divides)))
        return share;
    if (share && !s.found)
        trouble = "this workload has no experts";
    else if (!s.divides)
        trouble = "the experts of a layer are no multiple of them";
    ll_complain(diags, (struct ll_place){0}, "ep %" PRIu64 ": %s", plan->expert, trouble);
    ll_trace_free(share);
    return NULL;
}
