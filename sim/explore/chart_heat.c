/* SPDX-License-Identifier: Apache-2.0 */
/* What two parameters can reach: each cell is the best design that has these two values, whatever the others
 * are, as a multiple of the best of all. */
#include "sim/explore/chart_parts.h"

#include <math.h>

enum { CELL = 46, LEAST_SIDE = 360, MOST_SIDE = 900, MARGIN = 120 };
#define DARKEST 10.0 /* multiples beyond are as dark */

static bool choose_axes(const struct ll_chart_job *job, size_t pair[2])
{
    const struct ll_data_frame *frame = job->findings->frame;
    const size_t *order = ll_findings_axes(job->findings, job->arena);
    if (frame->axis_count < 2)
        return ll_complain(job->diags, (struct ll_place){0},
                           "a heat map needs two parameters, and this sweep has %zu", frame->axis_count);
    if (!order)
        return false;
    pair[0] = order[0];
    if (job->wish->x && !ll_chart_axis(job, job->wish->x, &pair[0]))
        return false;
    pair[1] = order[pair[0] == order[0]];
    if (job->wish->y && !ll_chart_axis(job, job->wish->y, &pair[1]))
        return false;
    return pair[0] != pair[1] ||
           ll_complain(job->diags, (struct ll_place){0},
                       "`%s` on both axes: expected two different parameters", frame->columns[pair[0]].name);
}

static const char *const *names_of(const struct ll_chart_job *job, const struct ll_data_column *axis)
{
    const char **names = ll_alloc(job->arena, axis->value_count, sizeof *names);
    for (uint32_t i = 0; names && i < axis->value_count; i++)
        names[i] = axis->values[i].text;
    return names;
}

/* The best value of each cell, NaN where no valid design is; *best of all of them. */
static const double *best_of(const struct ll_chart_job *job, const struct ll_data_column *x,
                             const struct ll_data_column *y, size_t k, double *best)
{
    const struct ll_findings *findings = job->findings;
    size_t objectives = findings->frame->objective_count, count = (size_t)x->value_count * y->value_count;
    double *cells = ll_alloc(job->arena, count, sizeof *cells);
    *best = NAN;
    for (size_t i = 0; cells && i < count; i++)
        cells[i] = NAN;
    for (uint64_t v = 0; cells && v < findings->valid_count; v++) {
        uint64_t row = findings->valid[v];
        double *cell = &cells[(size_t)y->choices[row] * x->value_count + x->choices[row]];
        *cell = fmin(*cell, findings->values[v * objectives + k]);
        *best = fmin(*best, *cell);
    }
    return cells;
}

/* How many times worse than the best: less is better, unless the objective was negated. */
static const double *multiples(const struct ll_chart_job *job, const double *cells, size_t count, double best)
{
    double *ratios = ll_alloc(job->arena, count, sizeof *ratios);
    for (size_t i = 0; ratios && i < count; i++)
        ratios[i] = best < 0 ? best / cells[i] : best > 0 ? cells[i] / best : NAN;
    return ratios;
}

static double side_of(uint32_t count)
{
    return fmin(MOST_SIDE, fmax(LEAST_SIDE, CELL * (double)count + MARGIN));
}

bool ll_chart_HEAT(const struct ll_chart_job *job)
{
    const struct ll_data_frame *frame = job->findings->frame;
    size_t pair[2], k = 0;
    double best, highest = 1;
    if (!choose_axes(job, pair) ||
        (job->wish->objective && !ll_chart_objective(job, job->wish->objective, &k)))
        return false;
    const struct ll_data_column *x = &frame->columns[pair[0]], *y = &frame->columns[pair[1]];
    size_t count = (size_t)x->value_count * y->value_count;
    const double *cells = best_of(job, x, y, k, &best);
    const double *values = cells ? multiples(job, cells, count, best) : NULL;
    const char *const *columns = names_of(job, x), *const *rows = names_of(job, y);
    if (!values || !columns || !rows)
        return false;
    bool missing = false;
    for (size_t i = 0; i < count; i++) {
        highest = isfinite(values[i]) ? fmax(highest, values[i]) : highest;
        missing |= isnan(values[i]);
    }
    const char *title = ll_format(job->arena, "%s: times the best", frame->objectives[k].text);
    struct ll_heat heat = {.title = ll_format(job->arena, "%s (down) and %s (across)%s", y->name, x->name,
                                              missing ? "; grey: no valid design" : ""),
                           .rows = rows,
                           .row_count = y->value_count,
                           .columns = columns,
                           .column_count = x->value_count,
                           .values = values,
                           .full = fmin(DARKEST, highest),
                           .decimals = 2};
    double width =
        fmax(side_of(x->value_count), 1.2 * ll_text_width(heat.title ? heat.title : "", LL_TEXT_TITLE));
    struct ll_page page = {title, "The best design of each two values", 1, 1, width, side_of(y->value_count)};
    struct ll_svg svg = {job->out};
    ll_page_open(&svg, &page);
    ll_draw_heat(&svg, ll_page_panel(&page, 0), &heat);
    ll_svg_close(&svg);
    return true;
}
