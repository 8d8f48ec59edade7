/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors belong to a weight. From the gradients the walk follows the ops that update: a tensor with as
 * many elements as a gradient that meets it there belongs to the same weight. The walk is done twice, since
 * some ops (weight decay) come before the gradient. All tensors of a weight are a family; a family with an op
 * that is not element-wise stays whole. */
#include "sim/parallel/gradients.h"

#include "sim/parallel/experts.h"
#include "sim/parallel/recompute.h"
#include "tracer/transform/dtype.h"

#include <stdlib.h>
#include <string.h>

struct finding {
    const struct ll_trace *trace;
    struct ll_gradients *g;
    uint32_t *users;  /* by storage: optimizer's ops in the first step that read it */
    bool *picks_rows; /* by tensor: becomes rows of a table */
    uint32_t *parent; /* by tensor, then by storage: another of the family, itself for its head */
    bool *whole;      /* by head: the family stays whole */
    bool *experts;    /* by head: of weights of experts */
};

static const struct ll_form *form_of(const struct finding *f, uint64_t op)
{
    return &f->trace->forms[f->trace->ops[op].form];
}

static const struct ll_desc *desc_of(const struct finding *f, uint32_t tensor)
{
    return &f->trace->descs[f->trace->tensors[tensor].desc];
}

static bool is_update(const struct finding *f, uint64_t op)
{
    return form_of(f, op)->phase == LL_PHASE_UPDATE;
}

static void find_rows(struct finding *f)
{
    for (uint64_t at = f->trace->op_count; at-- > 0;) {
        uint32_t op = (uint32_t)at;
        const struct ll_form *form = form_of(f, op);
        if (!is_update(f, op))
            continue;
        if (form->view.kind == LL_OP_SGD_ROWS)
            f->picks_rows[ll_op_input(f->trace, op, 1)] = true;
        for (uint32_t o = 0; o < form->view.output_count; o++)
            for (uint32_t i = 0; f->picks_rows[ll_op_output(f->trace, op, o)] && i < form->view.input_count;
                 i++)
                if (memcmp(form->view.in[i].dim, form->view.out[o].dim, sizeof form->view.in[i].dim) == 0)
                    f->picks_rows[ll_op_input(f->trace, op, i)] = true;
    }
}

static bool is_gradient(const struct finding *f, uint32_t tensor)
{
    const struct ll_desc *desc = desc_of(f, tensor);
    return desc->memory == LL_GRADIENT && desc->shape.rank > 0 &&
           ll_dtype_is_floating((enum ll_dtype)desc->shape.dtype);
}

/* What another stage sends of a gradient while updating has been exchanged there, and is a part if that was.
 */
static void find_received(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_form *form = form_of(f, op);
        if (form->view.kind != LL_OP_RECEIVE || !is_update(f, op))
            continue;
        for (uint32_t o = 0; o < form->view.output_count; o++) {
            uint32_t tensor = ll_op_output(f->trace, op, o);
            f->g->in_parts[tensor] = is_gradient(f, tensor);
        }
    }
}

/* What another stage sends before it is exchanged is a gradient as any that is made here. */
static bool makes_gradients(const struct finding *f, uint32_t op)
{
    const struct ll_form *form = form_of(f, op);
    return form->phase == LL_PHASE_BACKWARD ||
           (form->phase == LL_PHASE_COMM && form->view.kind == LL_OP_RECEIVE);
}

static void find_gradients(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++)
        for (uint32_t i = 0; is_update(f, op) && i < form_of(f, op)->view.input_count; i++) {
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
        for (uint32_t i = 0; i < form_of(f, op)->view.input_count; i++) {
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
        const struct ll_form *form = form_of(f, op);
        bool counts = f->trace->ops[op].step == 0 && form->view.kind != LL_OP_COUNT &&
                      ll_op_class(form->view.kind) == LL_CLASS_OPTIMIZATION;
        for (uint32_t i = 0; counts && i < form->view.input_count; i++)
            f->users[f->trace->tensors[ll_op_input(f->trace, op, i)].storage]++;
    }
}

static bool in_parts(const struct finding *f, uint32_t tensor)
{
    return f->g->in_parts[tensor] || f->g->sharded[f->trace->tensors[tensor].storage];
}

static uint32_t head_of(struct finding *f, uint32_t member)
{
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
    for (uint32_t i = 0; is_update(f, op) && i < form_of(f, op)->view.input_count; i++)
        if (in_parts(f, ll_op_input(f->trace, op, i)))
            return i;
    return LL_NONE;
}

static void spread(struct finding *f, uint32_t op)
{
    const struct ll_form *form = form_of(f, op);
    uint32_t part = find_part(f, op);
    if (part == LL_NONE)
        return;
    uint32_t member = ll_op_input(f->trace, op, part);
    uint64_t elements = ll_elements(&form->view.in[part]);
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint32_t tensor = ll_op_input(f->trace, op, i), storage = f->trace->tensors[tensor].storage;
        uint32_t memory = desc_of(f, tensor)->memory;
        f->g->sharded[storage] |= ll_elements(&form->view.in[i]) == elements && f->users[storage] < 2 &&
                                  (memory == LL_WEIGHT || memory == LL_OPTIMIZER);
        if (f->g->sharded[storage])
            join_storage(f, member, tensor);
        else if (f->g->in_parts[tensor])
            join(f, member, tensor);
    }
    for (uint32_t o = 0; o < form->view.output_count; o++) {
        uint32_t tensor = ll_op_output(f->trace, op, o);
        f->g->in_parts[tensor] |= ll_elements(&form->view.out[o]) == elements && form->view.out[o].rank > 0;
        if (f->g->in_parts[tensor])
            join(f, member, tensor);
    }
}

/* Whether the op does with each element what it does with any other: what is longer than a number is as long
 * as the part, and a part too; only an optimizer's own op takes a few numbers besides. */
static bool is_element_wise(const struct finding *f, uint32_t op, uint64_t elements)
{
    const struct ll_form *form = form_of(f, op);
    enum ll_op_class op_class =
        form->view.kind == LL_OP_COUNT ? LL_CLASS_MATRIX : ll_op_class(form->view.kind);
    bool right = !ll_class_is_product(op_class);
    for (uint32_t i = 0; i < form->view.input_count; i++)
        right &= form->view.in[i].rank == 0 || in_parts(f, ll_op_input(f->trace, op, i)) ||
                 (op_class == LL_CLASS_OPTIMIZATION && ll_elements(&form->view.in[i]) != elements);
    for (uint32_t o = 0; o < form->view.output_count; o++)
        right &= form->view.out[o].rank == 0 || ll_elements(&form->view.out[o]) == elements;
    return right;
}

static void judge(struct finding *f, uint32_t op)
{
    uint32_t part = find_part(f, op);
    if (part != LL_NONE && !is_element_wise(f, op, ll_elements(&form_of(f, op)->view.in[part])))
        f->whole[head_of(f, ll_op_input(f->trace, op, part))] = true;
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

bool ll_gradients_lack(const struct ll_trace *trace, bool *lacks)
{
    struct ll_arena scratch = {0};
    struct finding f = {.trace = trace, .g = &(struct ll_gradients){0}};
    *lacks = ll_trace_is_of_program(trace) || (ll_learns(trace) && has_weights(trace));
    bool done = !*lacks || ll_gradients_find(trace, &scratch, f.g);
    *lacks = *lacks && done && !knows_gradients(&f);
    ll_arena_release(&scratch);
    return done;
}
