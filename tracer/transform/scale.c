/* SPDX-License-Identifier: Apache-2.0 */
/* Two changes that scale a trace in place: the recorded time of gaps and opaque calls, and the weights that
 * pruning leaves. */
#include "tracer/transform/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/base/plain.h"
#include "tracer/ir/trace.h"

bool ll_gaps_parse(const char *text, double *factor)
{
    static const double most = 1e6;
    char *end;
    *factor = strcmp(text, "keep") == 0 ? 1 : 0;
    if (strcmp(text, "keep") == 0 || strcmp(text, "drop") == 0)
        return true;
    *factor = ll_strtod(text, &end);
    return end != text && *end == '\0' && *factor >= 0 && *factor <= most;
}

bool ll_gaps_scale(struct ll_trace *trace, double factor)
{
    static const double most_ns = 9e18; /* fits, as long as centuries */
    char number[32];
    if (factor == 1)
        return true;
    for (uint64_t i = 0; i < trace->op_count; i++)
        if (ll_op_waits(trace->forms[trace->ops[i].form].view.kind))
            trace->ops[i].duration_ns =
                (uint64_t)llround(fmin((double)trace->ops[i].duration_ns * factor, most_ns));
    ll_number_text(factor, number);
    const char *said = ll_copy_text(&trace->arena, number, strlen(number));
    return said && ll_trace_note(trace, "gaps", said);
}

/* How a desc is read by the forward phase: along which dimension products sum over it, once and for all. */
enum { UNREAD = -1, OTHERWISE = -2 };

static void read_as(int *along, int dim)
{
    *along = *along == UNREAD || *along == dim ? dim : OTHERWISE;
}

/* The dimension of its right operand that an op sums over, as its lowering tells of zeros that lie there;
 * OTHERWISE where it has none. */
static int summed_dim(const struct ll_op_view *view)
{
    if (view->kind == LL_OP_COUNT || view->input_count != 2)
        return OTHERWISE;
    for (int dim = 0; dim < view->in[1].rank; dim++) {
        struct ll_shape in[2] = {view->in[0], view->in[1]};
        struct ll_op_view tried = *view;
        struct ll_work work;
        in[1].kept = 1;
        in[1].of = 2;
        in[1].along = (uint8_t)dim;
        tried.in = in;
        if (ll_op_lower(&tried, &work) && work.of > 0)
            return dim;
    }
    return OTHERWISE;
}

static void look_at(const struct ll_trace *trace, const struct ll_form *form, int *along)
{
    for (uint32_t i = 0; i < form->view.input_count; i++)
        if (trace->descs[form->inputs[i]].memory == LL_WEIGHT)
            read_as(&along[form->inputs[i]], i == 1 ? summed_dim(&form->view) : OTHERWISE);
}

static bool can_be_pruned(const struct ll_shape *shape, int along, const struct ll_pattern *pattern)
{
    return along >= 0 && shape->of == 0 && shape->dim[along] > 0 &&
           (pattern->unstructured || shape->dim[along] % pattern->of == 0);
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
        shape->unstructured = pattern->unstructured;
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
    char text[LL_PATTERN_TEXT];
    ll_pattern_print(pattern, text);
    return right && ll_trace_note(trace, "pruned", text);
}
