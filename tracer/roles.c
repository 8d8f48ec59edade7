/* SPDX-License-Identifier: Apache-2.0 */
/* Forms stand in the order in which they were first met, so one walk carries roles from what comes in to all
 * that is made of it: the shape rules carry them. */
#include "tracer/roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search {
    struct ll_trace *trace;
    bool *met; /* by desc: an op has read or made it */
    uint64_t batch;
    uint64_t rows; /* samples times something, as an input has them; 0 as long as none has */
    bool found;
};

static bool has_batch(const struct ll_shape *shape)
{
    return memchr(shape->role, LL_ROLE_BATCH, shape->rank) != NULL;
}

bool ll_trace_knows_batch(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_INPUT && has_batch(&trace->descs[i].shape))
            return true;
    return false;
}

/* What comes from outside of all ops: samples, or masks and states for each of them. */
static void mark_source(struct search *search, uint32_t number)
{
    struct ll_desc *desc = &search->trace->descs[number];
    bool lasts = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER;
    for (unsigned i = 0; !lasts && i < desc->shape.rank && i < 2; i++)
        if (desc->shape.dim[i] == search->batch) {
            desc->shape.role[i] = LL_ROLE_BATCH;
            search->found = true;
            return;
        }
    uint64_t first = desc->shape.rank > 0 ? desc->shape.dim[0] : 0;
    bool rows = desc->memory == LL_INPUT && search->batch > 1 && first > 0 && first % search->batch == 0;
    if (!lasts && (rows || (first > 0 && first == search->rows))) {
        desc->shape.role[0] = LL_ROLE_BATCH;
        search->rows = first;
        search->found = true;
    }
}

/* Whether nothing that the op reads could tell what its results are. */
static bool begins(const struct ll_form *form)
{
    for (uint32_t i = 0; i < form->view.input_count; i++)
        if (form->view.in[i].rank > 0)
            return false;
    return true;
}

static bool see_inputs(struct search *search, struct ll_form *form)
{
    struct ll_shape *in = ll_alloc(&search->trace->arena, form->view.input_count, sizeof *in);
    for (uint32_t i = 0; in && i < form->view.input_count; i++) {
        if (!search->met[form->inputs[i]])
            mark_source(search, form->inputs[i]);
        search->met[form->inputs[i]] = true;
        in[i] = search->trace->descs[form->inputs[i]].shape;
    }
    if (in)
        form->view.in = in;
    return in != NULL;
}

/* The results' shapes with the roles that the op's rule carries over. */
static bool infer_results(struct search *search, struct ll_form *form, struct ll_shape **results)
{
    struct ll_op_view view = form->view;
    uint32_t count = view.output_count;
    *results =
        ll_alloc(&search->trace->arena, count > LL_MAX_OUTPUTS ? count : LL_MAX_OUTPUTS, sizeof **results);
    if (!*results)
        return false;
    for (uint32_t i = 0; i < count; i++)
        (*results)[i] = search->trace->descs[form->outputs[i]].shape;
    view.out = *results;
    if (view.kind != LL_OP_COUNT)
        (void)ll_op_infer(&view); /* which a recorded form passes */
    return true;
}

/* Where rows became dimensions again, the first of them is taken for the batch; steps of time may come first.
 */
static void put_right(const struct search *search, const struct ll_form *form, struct ll_shape *result)
{
    for (unsigned i = 0; i + 1 < result->rank && form->view.in[0].rank < result->rank; i++)
        if (result->role[i] == LL_ROLE_BATCH && result->dim[i] != search->batch &&
            result->dim[i + 1] == search->batch) {
            result->role[i] = LL_ROLE_PLAIN;
            result->role[i + 1] = LL_ROLE_BATCH;
        }
}

static bool see_results(struct search *search, struct ll_form *form)
{
    struct ll_shape *results;
    if (!infer_results(search, form, &results))
        return false;
    if (form->view.kind == LL_OP_RESHAPE)
        put_right(search, form, &results[0]);
    for (uint32_t i = 0; i < form->view.output_count; i++) {
        uint32_t number = form->outputs[i];
        struct ll_shape *shape = &search->trace->descs[number].shape;
        for (unsigned k = 0; k < shape->rank; k++)
            if (shape->role[k] == LL_ROLE_PLAIN)
                shape->role[k] = results[i].role[k];
        if (begins(form) && !search->met[number])
            mark_source(search, number);
        search->met[number] = true;
        results[i] = *shape;
    }
    form->view.out = results;
    return true;
}

static bool note_batch(struct ll_trace *trace, uint64_t batch)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, batch);
    return ll_trace_note(trace, "batch", text);
}

bool ll_trace_find_batch(struct ll_trace *trace, uint64_t batch, const char **trouble)
{
    struct search search = {.trace = trace, .batch = batch};
    search.met = calloc(trace->desc_count + 1, sizeof *search.met);
    bool right = search.met != NULL;
    for (uint64_t i = 0; i < trace->form_count && right; i++)
        right = see_inputs(&search, &trace->forms[i]) && see_results(&search, &trace->forms[i]);
    free(search.met);
    *trouble = right && !search.found ? "no input has a dimension as long as the batch" : NULL;
    return right && search.found && note_batch(trace, batch);
}
