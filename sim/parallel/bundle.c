/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/bundle.h"

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
