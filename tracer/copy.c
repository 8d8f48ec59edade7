/* SPDX-License-Identifier: Apache-2.0 */
/* The big tables are blocks of their own, as the reader makes them; what they point to goes into the arena.
 */
#include "tracer/copy.h"

#include <stdlib.h>
#include <string.h>

/* A copy of a table on the heap: *to is NULL only when memory ran out. */
static bool copy_table(void *to, const void *from, uint64_t count, size_t size)
{
    void *copy = calloc(count + 1, size);
    if (copy && count > 0)
        memcpy(copy, from, count * size);
    memcpy(to, &copy, sizeof copy);
    return copy != NULL;
}

static bool copy_tables(struct ll_trace *to, const struct ll_trace *from)
{
    return copy_table(&to->facts, from->facts, from->fact_count, sizeof *from->facts) &&
           copy_table(&to->strings, from->strings, from->string_count, sizeof *from->strings) &&
           copy_table(&to->descs, from->descs, from->desc_count, sizeof *from->descs) &&
           copy_table(&to->forms, from->forms, from->form_count, sizeof *from->forms) &&
           copy_table(&to->links, from->links, from->links_count, sizeof *from->links) &&
           copy_table(&to->ops, from->ops, from->op_count, sizeof *from->ops) &&
           copy_table(&to->tensors, from->tensors, from->tensor_count, sizeof *from->tensors) &&
           copy_table(&to->steps, from->steps, from->step_count, sizeof *from->steps);
}

/* Whether the copies are there, and the tables' pointers lead to them. */
static bool copy_texts(struct ll_trace *trace)
{
    bool whole = true;
    for (uint64_t i = 0; i < trace->string_count && whole; i++)
        whole = (trace->strings[i] =
                     ll_copy_text(&trace->arena, trace->strings[i], strlen(trace->strings[i]))) != NULL;
    for (uint64_t i = 0; i < trace->fact_count && whole; i++) {
        struct ll_fact *fact = &trace->facts[i];
        fact->key = ll_copy_text(&trace->arena, fact->key, strlen(fact->key));
        fact->value = ll_copy_text(&trace->arena, fact->value, strlen(fact->value));
        whole = fact->key && fact->value;
    }
    return whole;
}

static bool copy_form(struct ll_arena *arena, struct ll_form *form)
{
    struct ll_op_view *view = &form->view;
    form->inputs = ll_copy(arena, form->inputs, view->input_count * sizeof *form->inputs);
    form->outputs = ll_copy(arena, form->outputs, view->output_count * sizeof *form->outputs);
    form->aliases = ll_copy(arena, form->aliases, view->output_count * sizeof *form->aliases);
    view->in = ll_copy(arena, view->in, view->input_count * sizeof *view->in);
    view->out = ll_copy(arena, view->out, view->output_count * sizeof *view->out);
    view->attrs = ll_copy(arena, view->attrs, view->attr_count * sizeof *view->attrs);
    return form->inputs && form->outputs && form->aliases && view->in && view->out && view->attrs;
}

static bool copy_links(struct ll_arena *arena, struct ll_links *links)
{
    links->inputs = ll_copy(arena, links->inputs, links->input_count * sizeof *links->inputs);
    links->controls = ll_copy(arena, links->controls, links->control_count * sizeof *links->controls);
    return links->inputs && links->controls;
}

static bool copy_lists(struct ll_trace *trace)
{
    bool whole = true;
    for (uint64_t i = 0; i < trace->form_count && whole; i++)
        whole = copy_form(&trace->arena, &trace->forms[i]);
    for (uint64_t i = 0; i < trace->links_count && whole; i++)
        whole = copy_links(&trace->arena, &trace->links[i]);
    return whole;
}

struct ll_trace *ll_trace_copy(const struct ll_trace *trace)
{
    struct ll_trace *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *trace;
    copy->arena = (struct ll_arena){0};
    copy->facts = NULL, copy->strings = NULL, copy->descs = NULL, copy->forms = NULL;
    copy->links = NULL, copy->ops = NULL, copy->tensors = NULL, copy->steps = NULL;
    if (copy_tables(copy, trace) && copy_texts(copy) && copy_lists(copy))
        return copy;
    ll_trace_free(copy);
    return NULL;
}
