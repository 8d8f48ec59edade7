/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/findings.h"

#include "sim/explore/pareto.h"
#include "sim/explore/sensitivity.h"

#include <math.h>
#include <stdlib.h>

static bool has_all(const struct ll_findings *findings, uint64_t row)
{
    for (size_t k = 0; k < findings->frame->objective_count; k++)
        if (!isfinite(findings->objectives[k]->numbers[row]))
            return false;
    return findings->frame->verdicts[row] == LL_VERDICT_VALID;
}

static bool find_valid(struct ll_findings *findings, struct ll_arena *arena)
{
    const struct ll_data_frame *frame = findings->frame;
    size_t objectives = frame->objective_count;
    uint64_t *valid = ll_alloc(arena, frame->row_count, sizeof *valid);
    for (uint64_t row = 0; valid && row < frame->row_count; row++)
        if (has_all(findings, row))
            valid[findings->valid_count++] = row;
    double *values = ll_alloc(arena, findings->valid_count * objectives, sizeof *values);
    for (uint64_t v = 0; valid && values && v < findings->valid_count; v++)
        for (size_t k = 0; k < objectives; k++) {
            double value = findings->objectives[k]->numbers[valid[v]];
            values[v * objectives + k] = frame->objectives[k].most ? -value : value;
        }
    findings->valid = valid;
    findings->values = values;
    return valid && values;
}

static bool find_front(struct ll_findings *findings, struct ll_arena *arena)
{
    uint64_t *front = ll_alloc(arena, findings->valid_count, sizeof *front), count = 0;
    uint64_t *scratch = ll_alloc(arena, findings->valid_count, sizeof *scratch);
    size_t objectives = findings->frame->objective_count;
    if (!front || !scratch ||
        ll_pareto_front(findings->values, findings->valid_count, objectives, front, &count) != LL_OK)
        return false;
    ll_pareto_sort(findings->values, objectives, 0, front, scratch, count);
    for (uint64_t i = 0; i < count; i++)
        front[i] = findings->valid[front[i]];
    findings->front = front;
    findings->front_count = count;
    return true;
}

/* Whether a is better in one objective or, at equality, in the first of the others that tells them apart: so
 * who wins is on the front. */
static bool is_better(const double *a, const double *b, size_t objectives, size_t first)
{
    if (a[first] != b[first])
        return a[first] < b[first];
    for (size_t k = 0; k < objectives; k++)
        if (a[k] != b[k])
            return a[k] < b[k];
    return false;
}

static void find_winners(struct ll_findings *findings)
{
    size_t objectives = findings->frame->objective_count;
    for (size_t k = 0; k < objectives; k++) {
        uint64_t best = 0;
        for (uint64_t v = 1; v < findings->valid_count; v++)
            if (is_better(&findings->values[v * objectives], &findings->values[best * objectives], objectives,
                          k))
                best = v;
        findings->winners[k] = findings->valid_count ? findings->valid[best] : LL_NO_ROW;
    }
}

static bool is_numeric(const struct ll_data_column *axis)
{
    for (uint32_t i = 0; i < axis->value_count; i++)
        if (isnan(axis->values[i].number))
            return false;
    return true;
}

/* The values, or their logarithms where these are wanted and all values that are finite have some. NULL: no
 * memory. */
static const double *perhaps_logs(const double *values, uint64_t count, bool logs, struct ll_arena *arena)
{
    for (uint64_t i = 0; i < count && logs; i++)
        logs = !(values[i] <= 0);
    if (!logs)
        return values;
    double *changed = ll_alloc(arena, count, sizeof *changed);
    for (uint64_t i = 0; changed && i < count; i++)
        changed[i] = log(values[i]);
    return changed;
}

static bool find_weights(struct ll_findings *findings, struct ll_arena *arena)
{
    const struct ll_data_frame *frame = findings->frame;
    struct ll_predictor *parameters = ll_alloc(arena, frame->axis_count, sizeof *parameters);
    double *weights = ll_alloc(arena, frame->axis_count * frame->objective_count, sizeof *weights);
    bool done = parameters && weights;
    for (size_t a = 0; done && a < frame->axis_count; a++) {
        const struct ll_data_column *axis = &frame->columns[a];
        if (!is_numeric(axis))
            parameters[a] =
                (struct ll_predictor){.choices = axis->choices, .choice_count = axis->value_count};
        else
            parameters[a].numbers = perhaps_logs(axis->numbers, frame->row_count, findings->logs, arena);
        done = parameters[a].numbers || parameters[a].choices;
    }
    for (size_t k = 0; done && k < frame->objective_count; k++) {
        const double *target =
            perhaps_logs(findings->objectives[k]->numbers, frame->row_count, findings->logs, arena);
        done = target && ll_regress(parameters, frame->axis_count, target, frame->row_count,
                                    &weights[k * frame->axis_count], &findings->r2[k]) == LL_OK;
    }
    findings->weights = weights;
    return done;
}

const struct ll_findings *ll_findings_new(const struct ll_data_frame *frame, bool logs,
                                          struct ll_arena *arena)
{
    struct ll_findings *findings = ll_alloc(arena, 1, sizeof *findings);
    if (!findings)
        return NULL;
    findings->frame = frame;
    findings->logs = logs;
    for (size_t k = 0; k < frame->objective_count; k++)
        findings->objectives[k] = ll_data_frame_column(frame, frame->objectives[k].name);
    if (!find_valid(findings, arena) || !find_front(findings, arena) || !find_weights(findings, arena))
        return NULL;
    find_winners(findings);
    return findings;
}

static double heaviest(const struct ll_findings *findings, size_t axis)
{
    const struct ll_data_frame *frame = findings->frame;
    double most = frame->columns[axis].value_count > 1 ? 0 : -1;
    for (size_t k = 0; k < frame->objective_count && most >= 0; k++)
        most = fmax(most, fabs(findings->weights[k * frame->axis_count + axis]));
    return most;
}

const size_t *ll_findings_axes(const struct ll_findings *findings, struct ll_arena *arena)
{
    size_t count = findings->frame->axis_count, *order = ll_alloc(arena, count, sizeof *order);
    for (size_t i = 0; order && i < count; i++) {
        size_t at = i;
        for (; at > 0 && heaviest(findings, i) > heaviest(findings, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}
