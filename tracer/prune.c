/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/prune.h"

#include "tracer/form.h"

#include <stdio.h>
#include <stdlib.h>

/* How a desc is read by the forward phase: along which dimension products sum over it, once and for all. */
enum { UNREAD = -1, OTHERWISE = -2 };

static void read_as(int *along, int dim)
{
    if (*along == UNREAD)
        *along = dim >= 0 ? dim : OTHERWISE;
    else if (*along != dim)
        *along = OTHERWISE;
}

static void look_at(const struct ll_trace *trace, const struct ll_form *form, int *along)
{
    bool known = form->view.kind < LL_OP_COUNT;
    for (uint32_t i = 0; i < form->view.input_count; i++)
        if (trace->descs[form->inputs[i]].memory == LL_WEIGHT)
            read_as(&along[form->inputs[i]], known && i == 1 ? ll_summed_dim(&form->view) : OTHERWISE);
}

static bool can_be_pruned(const struct ll_shape *shape, int along, const struct ll_pattern *pattern)
{
    return along >= 0 && shape->of == 0 && shape->dim[along] > 0 && shape->dim[along] % pattern->of == 0;
}

/* What is read of forward ops, and only these. */
static void prune_descs(struct ll_trace *trace, const int *along, const struct ll_pattern *pattern,
                        uint64_t *weights)
{
    *weights = 0;
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        if (!can_be_pruned(shape, along[i], pattern))
            continue;
        shape->kept = (uint8_t)pattern->kept;
        shape->of = (uint8_t)pattern->of;
        shape->along = (uint8_t)along[i];
        (*weights)++;
    }
}

bool ll_trace_prune(struct ll_trace *trace, const struct ll_pattern *pattern, uint64_t *weights,
                    const char **trouble)
{
    int *along = malloc((trace->desc_count + 1) * sizeof *along);
    bool right = along != NULL;
    *trouble = NULL;
    for (uint64_t i = 0; right && i < trace->desc_count; i++)
        along[i] = UNREAD;
    for (uint64_t i = 0; right && i < trace->form_count; i++)
        if (trace->forms[i].phase == LL_PHASE_FORWARD)
            look_at(trace, &trace->forms[i], along);
    if (right)
        prune_descs(trace, along, pattern, weights);
    for (uint64_t i = 0; right && i < trace->form_count; i++)
        right = ll_form_renew(trace, &trace->forms[i], trouble);
    free(along);
    char text[16];
    snprintf(text, sizeof text, "%u:%u", pattern->kept, pattern->of);
    return right && ll_trace_note(trace, "pruned", text);
}
