/* SPDX-License-Identifier: Apache-2.0 */
/* Op by op. Forms and links are compared once for each pair of numbers that meet, remembered by one of them:
 * in programs that are the same, a number of one meets few of the other. */
#include "sim/parallel/same.h"

#include <stdlib.h>
#include <string.h>

static bool same_shape(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool same_desc(const struct ll_trace *a, uint32_t in_a, const struct ll_trace *b, uint32_t in_b)
{
    const struct ll_desc *x = &a->descs[in_a], *y = &b->descs[in_b];
    return x->memory == y->memory && same_shape(&x->shape, &y->shape);
}

/* What random ops draw does not matter. */
static bool same_attrs(const struct ll_op_view *a, const struct ll_op_view *b)
{
    for (uint32_t i = 0; i < a->attr_count; i++) {
        const struct ll_attr *x = &a->attrs[i], *y = &b->attrs[i];
        bool drawn = x->key == LL_ATTR_SEED || x->key == LL_ATTR_STREAM;
        if (x->key != y->key || (!drawn && memcmp(x, y, sizeof *x) != 0))
            return false;
    }
    return true;
}

bool ll_same_form(const struct ll_trace *a, const struct ll_form *x, const struct ll_trace *b,
                  const struct ll_form *y)
{
    const struct ll_op_view *v = &x->view, *w = &y->view;
    if (v->kind != w->kind || x->phase != y->phase || v->input_count != w->input_count ||
        v->output_count != w->output_count || v->attr_count != w->attr_count || !same_attrs(v, w))
        return false;
    for (uint32_t i = 0; i < v->input_count; i++)
        if (!same_desc(a, x->inputs[i], b, y->inputs[i]))
            return false;
    for (uint32_t i = 0; i < v->output_count; i++)
        if (x->aliases[i] != y->aliases[i] || !same_desc(a, x->outputs[i], b, y->outputs[i]))
            return false;
    return true;
}

/* Inputs are distances, or tensors that were brought: these have to have equal numbers. */
static bool same_links(const struct ll_links *x, const struct ll_links *y)
{
    return x->input_count == y->input_count && x->control_count == y->control_count &&
           x->storage_count == y->storage_count && x->gap_count == y->gap_count &&
           same_bytes(x->inputs, y->inputs, x->input_count * sizeof *x->inputs) &&
           same_bytes(x->controls, y->controls, x->control_count * sizeof *x->controls);
}

static bool same_sizes(const struct ll_trace *a, const struct ll_trace *b)
{
    return a->op_count == b->op_count && a->tensor_count == b->tensor_count &&
           a->storage_count == b->storage_count && a->step_count == b->step_count;
}

static bool same_ops(const struct ll_trace *a, const struct ll_trace *b, uint32_t *met_form,
                     uint32_t *met_links)
{
    for (uint64_t i = 0; i < a->op_count; i++) {
        const struct ll_op *x = &a->ops[i], *y = &b->ops[i];
        if (x->step != y->step || x->first_output != y->first_output)
            return false;
        if (met_form[x->form] != y->form + 1 && !ll_same_form(a, &a->forms[x->form], b, &b->forms[y->form]))
            return false;
        if (met_links[x->links] != y->links + 1 && !same_links(&a->links[x->links], &b->links[y->links]))
            return false;
        met_form[x->form] = y->form + 1;
        met_links[x->links] = y->links + 1;
    }
    return true;
}

static bool same_tensors(const struct ll_trace *a, const struct ll_trace *b)
{
    for (uint64_t i = 0; i < a->tensor_count; i++)
        if (a->tensors[i].storage != b->tensors[i].storage ||
            a->tensors[i].producer != b->tensors[i].producer ||
            !same_desc(a, a->tensors[i].desc, b, b->tensors[i].desc))
            return false;
    return true;
}

bool ll_same_program(const struct ll_trace *a, const struct ll_trace *b)
{
    if (a == b)
        return true;
    if (!same_sizes(a, b))
        return false;
    uint32_t *met_form = calloc(a->form_count + 1, sizeof *met_form),
             *met_links = calloc(a->links_count + 1, sizeof *met_links);
    bool same = met_form && met_links && same_ops(a, b, met_form, met_links) && same_tensors(a, b);
    free(met_form);
    free(met_links);
    return same;
}
