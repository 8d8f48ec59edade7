/* SPDX-License-Identifier: Apache-2.0 */
/* Two objectives. The front is that of these two alone, whatever other objectives the sweep has. */
#include "sim/explore/pareto.h"
#include "sim/explore/chart_parts.h"

#include <math.h>

enum { WIDTH = 760, HEIGHT = 520, MOST_MARKS = 5 };

static bool choose_pair(const struct ll_chart_job *job, size_t pair[2])
{
    const struct ll_data_frame *frame = job->findings->frame;
    if (frame->objective_count < 2)
        return ll_complain(job->diags, (struct ll_place){0},
                           "a front needs two objectives, and this sweep has %zu; try `heat` or `parallel`",
                           frame->objective_count);
    pair[0] = 0;
    if (job->wish->x && !ll_chart_objective(job, job->wish->x, &pair[0]))
        return false;
    pair[1] = pair[0] == 0;
    if (job->wish->y && !ll_chart_objective(job, job->wish->y, &pair[1]))
        return false;
    return pair[0] != pair[1] || ll_complain(job->diags, (struct ll_place){0},
                                             "`%s` on both axes: expected two different objectives",
                                             frame->objectives[pair[0]].name);
}

/* Values of rows in one objective, as they were measured. */
static const double *values_of(const struct ll_chart_job *job, const uint64_t *rows, uint64_t count, size_t k)
{
    double *values = ll_alloc(job->arena, count, sizeof *values);
    for (uint64_t i = 0; values && i < count; i++)
        values[i] = job->findings->objectives[k]->numbers[rows[i]];
    return values;
}

static struct ll_curve curve_of(const struct ll_chart_job *job, const char *name, const uint64_t *rows,
                                uint64_t count, const size_t pair[2])
{
    const double *x = values_of(job, rows, count, pair[0]), *y = values_of(job, rows, count, pair[1]);
    return (struct ll_curve){name, x, y, x && y ? count : 0};
}

/* Rows of the front of two objectives, in the order of the first. */
static const uint64_t *front_of(const struct ll_chart_job *job, const size_t pair[2], uint64_t *count)
{
    const struct ll_findings *findings = job->findings;
    size_t objectives = findings->frame->objective_count;
    double *values = ll_alloc(job->arena, 2 * findings->valid_count, sizeof *values);
    uint64_t *front = ll_alloc(job->arena, findings->valid_count, sizeof *front);
    uint64_t *scratch = ll_alloc(job->arena, findings->valid_count, sizeof *scratch);
    for (uint64_t v = 0; values && v < findings->valid_count; v++)
        for (size_t p = 0; p < 2; p++)
            values[2 * v + p] = findings->values[v * objectives + pair[p]];
    if (!values || !front || !scratch ||
        ll_pareto_front(values, findings->valid_count, 2, front, count) != LL_OK)
        return NULL;
    ll_pareto_sort(values, 2, 0, front, scratch, *count);
    for (uint64_t i = 0; i < *count; i++)
        front[i] = findings->valid[front[i]];
    return front;
}

bool ll_chart_FRONT(const struct ll_chart_job *job)
{
    const struct ll_findings *findings = job->findings;
    const struct ll_data_frame *frame = findings->frame;
    struct ll_curve marked[MOST_MARKS];
    size_t pair[2], mark_count = 0;
    uint64_t front_count = 0;
    if (!choose_pair(job, pair))
        return false;
    const uint64_t *front = front_of(job, pair, &front_count);
    if (!front)
        return false;
    const double base[] = {findings->objectives[pair[0]]->base, findings->objectives[pair[1]]->base};
    if (isfinite(base[0]) && isfinite(base[1]))
        marked[mark_count++] = (struct ll_curve){"the base machine", &base[0], &base[1], 1};
    for (size_t k = 0; k < frame->objective_count && mark_count < MOST_MARKS && findings->valid_count; k++)
        marked[mark_count++] = curve_of(job, ll_format(job->arena, "best: %s", frame->objectives[k].text),
                                        &findings->winners[k], 1, pair);
    struct ll_front plot = {.about = ll_chart_about(job),
                            .x_label = frame->objectives[pair[0]].name,
                            .y_label = frame->objectives[pair[1]].name,
                            .all =
                                curve_of(job, "valid designs", findings->valid, findings->valid_count, pair),
                            .front = curve_of(job, "none is better in both", front, front_count, pair),
                            .marked = marked,
                            .marked_count = mark_count};
    plot.x_log = ll_chart_is_wide(plot.all.x, plot.all.count);
    plot.y_log = ll_chart_is_wide(plot.all.y, plot.all.count);
    struct ll_page page = {"Pareto front", "Two objectives of all valid designs, and the front", 1, 1, WIDTH,
                           HEIGHT};
    struct ll_svg svg = {job->out};
    ll_page_open(&svg, &page);
    ll_draw_front(&svg, ll_page_panel(&page, 0), &plot);
    ll_svg_close(&svg);
    return true;
}
