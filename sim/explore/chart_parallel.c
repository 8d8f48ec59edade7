/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that vary, then objectives. Of many designs some are drawn at equal distances of their numbers,
 * and all of the front, or as much of it. */
#include "sim/explore/chart_parts.h"

enum {
    SERIES_FRONT = 0,
    SERIES_WINNER = 1,
    SERIES_OTHER = 6,
    MOST_LINES = 300,
    WIDTH_EACH = 120,
    HEIGHT = 460
};

struct strands {
    uint64_t *rows;
    size_t *series;
    size_t count;
};

static void add(struct strands *strands, const uint64_t *rows, uint64_t count, size_t series)
{
    uint64_t wanted = count < MOST_LINES ? count : MOST_LINES;
    for (uint64_t i = 0; i < wanted; i++) {
        strands->rows[strands->count] = rows[i * count / wanted];
        strands->series[strands->count++] = series;
    }
}

static bool choose_rows(const struct ll_chart_job *job, struct strands *strands)
{
    const struct ll_findings *findings = job->findings;
    size_t room = 2 * MOST_LINES + LL_MOST_OBJECTIVES;
    strands->rows = ll_alloc(job->arena, room, sizeof *strands->rows);
    strands->series = ll_alloc(job->arena, room, sizeof *strands->series);
    if (!strands->rows || !strands->series)
        return false;
    add(strands, findings->valid, findings->valid_count, SERIES_OTHER);
    add(strands, findings->front, findings->front_count, SERIES_FRONT);
    if (findings->valid_count)
        add(strands, findings->winners, findings->frame->objective_count, SERIES_WINNER);
    return true;
}

static struct ll_upright upright_of(const struct ll_chart_job *job, const struct strands *strands,
                                    const struct ll_data_column *column, const char *name)
{
    double *values = ll_alloc(job->arena, strands->count, sizeof *values);
    const char **names = ll_alloc(job->arena, column->value_count, sizeof *names);
    for (uint32_t i = 0; names && i < column->value_count; i++)
        names[i] = column->values[i].text;
    for (size_t i = 0; values && i < strands->count; i++)
        values[i] =
            column->is_axis ? (double)column->choices[strands->rows[i]] : column->numbers[strands->rows[i]];
    return (struct ll_upright){.name = name,
                               .values = values,
                               .names = names,
                               .name_count = column->is_axis ? column->value_count : 0,
                               .log = !column->is_axis && values && ll_chart_is_wide(values, strands->count)};
}

bool ll_chart_PARALLEL(const struct ll_chart_job *job)
{
    const struct ll_findings *findings = job->findings;
    const struct ll_data_frame *frame = findings->frame;
    static const char *const names[] = {[SERIES_FRONT] = "on the front",
                                        [SERIES_WINNER] = "best of an objective",
                                        [SERIES_OTHER] = "other designs"};
    struct strands strands = {0};
    struct ll_upright axes[LL_MOST_UPRIGHTS];
    size_t count = 0;
    const size_t *order = ll_findings_axes(findings, job->arena);
    if (!order || !choose_rows(job, &strands))
        return false;
    for (size_t i = 0; i < frame->axis_count && count + frame->objective_count < LL_MOST_UPRIGHTS; i++)
        if (frame->columns[order[i]].value_count > 1)
            axes[count++] =
                upright_of(job, &strands, &frame->columns[order[i]], frame->columns[order[i]].name);
    for (size_t k = 0; k < frame->objective_count; k++)
        axes[count++] = upright_of(job, &strands, findings->objectives[k], frame->objectives[k].name);
    for (size_t i = 0; i < count; i++)
        if (!axes[i].values || !axes[i].names)
            return false;
    if (count < 2)
        return ll_complain(job->diags, (struct ll_place){0},
                           "parallel coordinates need a parameter that varies, and this sweep has none");
    struct ll_page page = {
        "Designs", "Parameters and objectives of designs", 1, 1, WIDTH_EACH * (double)count, HEIGHT};
    struct ll_strands plot = {.about = ll_chart_about(job),
                              .axes = axes,
                              .axis_count = count,
                              .series = strands.series,
                              .faint = SERIES_OTHER,
                              .strand_count = strands.count,
                              .names = names,
                              .name_count = sizeof names / sizeof *names};
    struct ll_svg svg = {job->out};
    ll_page_open(&svg, &page);
    ll_draw_strands(&svg, ll_page_panel(&page, 0), &plot);
    ll_svg_close(&svg);
    return true;
}
