/* SPDX-License-Identifier: Apache-2.0 */
/* The big tables are blocks of their own, as the reader makes them; what they point to goes into the arena.
 */
#include "tracer/copy.h"

#include "tracer/base/file.h"
#include "tracer/recorder.h"

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

/* Numbers of descs and tensors are what they were, for they are handed out in this order. */
static void tell_tensors(const struct ll_trace *trace, uint64_t *next, uint64_t end,
                         struct ll_recorder *recorder)
{
    for (; *next < end; ++*next)
        ll_recorder_tensor(recorder, trace->tensors[*next].desc);
}

static void tell_op(const struct ll_trace *trace, uint32_t seq, uint32_t *refs, struct ll_recorder *recorder)
{
    const struct ll_op *op = &trace->ops[seq];
    const struct ll_form *form = &trace->forms[op->form];
    const struct ll_links *links = &trace->links[op->links];
    uint32_t *controls = refs + links->input_count;
    for (uint32_t i = 0; i < links->input_count; i++)
        refs[i] = ll_op_input(trace, seq, i);
    for (uint32_t i = 0; i < links->control_count; i++)
        controls[i] = seq - (uint32_t)links->controls[i];
    if (seq > 0 && op->step != trace->ops[seq - 1].step)
        ll_recorder_step_begin(recorder);
    ll_recorder_op(recorder,
                   &(struct ll_record){.kind = form->view.kind,
                                       .phase = form->phase,
                                       .scope = ll_recorder_string(recorder, trace->strings[form->scope]),
                                       .thread = op->thread,
                                       .inputs = refs,
                                       .input_count = links->input_count,
                                       .outputs = form->outputs,
                                       .output_count = form->view.output_count,
                                       .attrs = form->view.attrs,
                                       .attr_count = form->view.attr_count,
                                       .controls = controls,
                                       .control_count = links->control_count,
                                       .storage_count = links->storage_count,
                                       .gap_count = links->gap_count,
                                       .start_ns = op->start_ns,
                                       .duration_ns = op->duration_ns});
}

static uint64_t most_refs(const struct ll_trace *trace)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < trace->links_count; i++)
        most = ll_max(most, (uint64_t)trace->links[i].input_count + trace->links[i].control_count);
    return most;
}

enum ll_status ll_trace_write(const struct ll_trace *trace, const struct ll_fact *facts, size_t fact_count,
                              const char *path)
{
    struct ll_arena arena = {0};
    const char *part = ll_path_beside(&arena, path);
    uint32_t *refs = ll_alloc(&arena, most_refs(trace) + 1, sizeof *refs);
    enum ll_status status = LL_NO_MEMORY;
    struct ll_recorder *recorder = part && refs ? ll_recorder_open(part, facts, fact_count, &status) : NULL;
    if (!recorder) {
        ll_arena_release(&arena);
        return status;
    }
    ll_recorder_afterwards(recorder, 0);
    for (uint64_t i = 0; i < trace->desc_count; i++)
        ll_recorder_desc(recorder, trace->strings[trace->descs[i].name], &trace->descs[i].shape,
                         (enum ll_memory_class)trace->descs[i].memory);
    uint64_t tensors = 0;
    for (uint32_t seq = 0; seq < trace->op_count; seq++) {
        tell_tensors(trace, &tensors, trace->ops[seq].first_output, recorder);
        tell_op(trace, seq, refs, recorder);
        tensors += trace->forms[trace->ops[seq].form].view.output_count;
    }
    tell_tensors(trace, &tensors, trace->tensor_count, recorder);
    ll_recorder_cut(recorder, trace->steps, trace->step_count);
    status = ll_recorder_close(recorder);
    enum ll_status kept = ll_path_keep(part, path, status == LL_OK);
    ll_arena_release(&arena);
    return status == LL_OK ? kept : status;
}
