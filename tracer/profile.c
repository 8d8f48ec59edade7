/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/profile.h"

#include "tracer/base/map.h"

#include <stdlib.h>

/* Complete steps follow one another unless something between them was lost; a hole ends the range. */
struct ll_step ll_trace_typical_step(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->step_count; i++)
        if (trace->steps[i].complete)
            return trace->steps[i];
    return trace->step_count ? trace->steps[0] : (struct ll_step){0};
}

void ll_trace_range(const struct ll_trace *trace, uint32_t *first_op, uint32_t *end_op, uint64_t *steps)
{
    *first_op = 0;
    *end_op = (uint32_t)trace->op_count;
    *steps = 0;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        const struct ll_step *step = &trace->steps[i];
        if (!step->complete || (*steps && step->first_op != *end_op))
            continue;
        if (*steps == 0)
            *first_op = step->first_op;
        *end_op = step->first_op + step->op_count;
        ++*steps;
    }
}

static int by_weight(const void *left, const void *right)
{
    const struct ll_kind_total *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    if (a->flops != b->flops)
        return a->flops < b->flops ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

/* Behind a hole a weight that a lost op wrote seems to be brought anew, once for each hole: there only those
 * count that a usual step reads. LL_NO_FIT when memory ran out. */
static uint64_t count_parameters_of_step(const struct ll_trace *trace)
{
    const struct ll_step step = ll_trace_typical_step(trace);
    bool *met = calloc(trace->storage_count + 1, sizeof *met);
    uint64_t parameters = met ? 0 : LL_NO_FIT;
    for (uint32_t op = step.first_op; met && op < step.first_op + step.op_count; op++) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
            if (trace->descs[tensor->desc].memory == LL_WEIGHT && !met[tensor->storage])
                parameters = ll_add(parameters, ll_elements(&trace->descs[tensor->desc].shape));
            met[tensor->storage] |= trace->descs[tensor->desc].memory == LL_WEIGHT;
        }
    }
    free(met);
    return parameters;
}

static uint64_t count_parameters(const struct ll_trace *trace)
{
    uint64_t parameters = 0;
    if (ll_trace_has_holes(trace))
        return count_parameters_of_step(trace);
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        if (tensor->producer == LL_NONE && trace->descs[tensor->desc].memory == LL_WEIGHT)
            parameters = ll_add(parameters, ll_elements(&trace->descs[tensor->desc].shape));
    }
    return parameters;
}

static void add_op(struct ll_kind_total *kinds, uint32_t row, const struct ll_trace *trace,
                   const struct ll_op *op)
{
    const struct ll_form *form = &trace->forms[op->form];
    struct ll_kind_total *total = &kinds[row];
    total->kind = trace->strings[form->kind_name];
    total->op_kind = form->view.kind;
    total->phase = form->phase;
    total->order = row;
    total->count += 1;
    total->flops += (double)form->flops;
    total->bytes += (double)form->bytes_read + (double)form->bytes_written;
    total->time_s += (double)op->duration_ns * 1e-9;
}

/* The first step interns every form and costs more than all that follow: the median step is the usual one. */
static bool sum_steps(const struct ll_trace *trace, struct ll_profile *profile)
{
    double *costs_ns = malloc((trace->step_count + 1) * sizeof *costs_ns);
    uint64_t count = 0;
    for (uint64_t i = 0; costs_ns && i < trace->step_count; i++) {
        const struct ll_step *step = &trace->steps[i];
        profile->recording_s += (double)step->recording_ns * 1e-9;
        if (!step->complete || step->op_count == 0)
            continue;
        profile->wall_s += (double)step->wall_ns * 1e-9;
        costs_ns[count++] = (double)step->recording_ns / step->op_count;
    }
    if (count) {
        ll_sort_numbers(costs_ns, count);
        profile->record_ns_per_op = costs_ns[count / 2];
    }
    free(costs_ns);
    return costs_ns != NULL;
}

const struct ll_profile *ll_profile(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct ll_profile *profile = ll_alloc(arena, 1, sizeof *profile);
    struct ll_kind_total *kinds = ll_alloc(arena, trace->form_count + 1, sizeof *kinds);
    if (!profile || !kinds)
        return NULL;
    uint32_t first, end;
    ll_trace_range(trace, &first, &end, &profile->steps);
    struct ll_map rows = {0};
    for (uint32_t i = first; i < end; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        uint32_t key[2] = {form->kind_name, form->phase};
        uint32_t row = ll_map_intern(&rows, key, sizeof key, NULL);
        if (row == LL_NO_ID) {
            ll_map_release(&rows);
            return NULL;
        }
        add_op(kinds, row, trace, &trace->ops[i]);
    }
    double per_step = profile->steps ? 1 / (double)profile->steps : 1;
    for (uint32_t i = 0; i < rows.count; i++) {
        profile->ops += kinds[i].count *= per_step;
        profile->flops += kinds[i].flops *= per_step;
        profile->bytes += kinds[i].bytes *= per_step;
        profile->ops_time_s += kinds[i].time_s *= per_step;
    }
    for (uint32_t i = 0; i < rows.count; i++)
        kinds[i].share = profile->ops_time_s > 0 ? kinds[i].time_s / profile->ops_time_s : 0;
    qsort(kinds, rows.count, sizeof *kinds, by_weight);
    bool summed = sum_steps(trace, profile);
    profile->wall_s *= per_step;
    profile->parameters = count_parameters(trace);
    profile->kinds = kinds;
    profile->kind_count = rows.count;
    ll_map_release(&rows);
    return summed && ll_fits(profile->parameters) ? profile : NULL;
}
