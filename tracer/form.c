/* SPDX-License-Identifier: Apache-2.0 */
/* The shape rule is the guard of the count rules, so it goes first, on a copy. More outputs than
 * LL_MAX_OUTPUTS need none: a rule that takes them only checks them, any other is found out by how many it
 * gives. */
#include "tracer/form.h"

#include <string.h>

static const char *compare(const struct ll_op_view *view, const struct ll_op_view *inferred)
{
    if (inferred->output_count != view->output_count)
        return "the number of outputs is not what this op gives";
    for (uint32_t i = 0; i < view->output_count; i++)
        if (inferred->out[i].rank != view->out[i].rank ||
            memcmp(inferred->out[i].dim, view->out[i].dim, sizeof view->out[i].dim))
            return "the outputs do not have the shapes that this op gives";
    return NULL;
}

const char *ll_form_count(const struct ll_op_view *view, struct ll_form_counts *counts)
{
    struct ll_shape copy[LL_MAX_OUTPUTS] = {0};
    struct ll_op_view inferred = *view;
    if (view->output_count > LL_MAX_OP_REFS || view->attr_count > LL_MAX_ATTRS)
        return "an op has more outputs or attributes than there may be";
    if (view->output_count <= LL_MAX_OUTPUTS) {
        if (view->output_count)
            memcpy(copy, view->out, view->output_count * sizeof *copy);
        inferred.out = copy;
    }
    const char *trouble = ll_op_infer(&inferred);
    if (!trouble)
        trouble = compare(view, &inferred);
    if (!trouble)
        *counts =
            (struct ll_form_counts){ll_op_flops(view), ll_op_bytes_read(view), ll_op_bytes_written(view)};
    return trouble;
}

/* A copy of the shapes of these descs. */
static struct ll_shape *shapes_of(struct ll_trace *trace, const uint32_t *descs, uint32_t count)
{
    struct ll_shape *shapes = ll_alloc(&trace->arena, count, sizeof *shapes);
    for (uint32_t i = 0; shapes && i < count; i++)
        shapes[i] = trace->descs[descs[i]].shape;
    return shapes;
}

bool ll_form_renew(struct ll_trace *trace, struct ll_form *form, const char **trouble)
{
    struct ll_form_counts counts;
    form->view.in = shapes_of(trace, form->inputs, form->view.input_count);
    form->view.out = shapes_of(trace, form->outputs, form->view.output_count);
    if (!form->view.in || !form->view.out)
        return false;
    if (form->view.kind == LL_OP_COUNT)
        return true;
    *trouble = ll_form_count(&form->view, &counts);
    if (*trouble)
        return false;
    if (!ll_fits(counts.bytes_read) || !ll_fits(counts.bytes_written))
        *trouble = "a size does not fit in 64 bits";
    form->flops = counts.flops;
    form->bytes_read = counts.bytes_read;
    form->bytes_written = counts.bytes_written;
    return !*trouble;
}

bool *ll_views(const struct ll_trace *trace, struct ll_arena *arena)
{
    bool *views = ll_alloc(arena, trace->form_count + 1, sizeof *views);
    for (uint64_t i = 0; views && i < trace->form_count; i++) {
        const struct ll_op_view *view = &trace->forms[i].view;
        struct ll_work work;
        views[i] = view->kind != LL_OP_COUNT && view->input_count == 1 && view->output_count == 1 &&
                   ll_op_lower(view, &work) && work.kind == LL_WORK_NOTHING;
    }
    return views;
}
