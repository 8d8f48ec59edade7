/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of the regressions, the heaviest parameter on top. */
#include "sim/explore/chart_parts.h"

enum { WIDTH = 720, EACH = 16, MARGIN = 110, GAP = 10 };

bool ll_chart_SENSITIVITY(const struct ll_chart_job *job)
{
    const struct ll_findings *findings = job->findings;
    const struct ll_data_frame *frame = findings->frame;
    size_t objectives = frame->objective_count, count = 0;
    const size_t *order = ll_findings_axes(findings, job->arena);
    const char *names[LL_MOST_AXES], *series[LL_MOST_OBJECTIVES];
    double values[LL_MOST_AXES * LL_MOST_OBJECTIVES];
    for (size_t i = 0; order && i < frame->axis_count; i++) {
        if (frame->columns[order[i]].value_count < 2)
            continue;
        for (size_t k = 0; k < objectives; k++)
            values[count * objectives + k] = findings->weights[k * frame->axis_count + order[i]];
        names[count++] = frame->columns[order[i]].name;
    }
    for (size_t k = 0; k < objectives; k++)
        series[k] = ll_format(job->arena, "%s (R\xC2\xB2 %.2f)", frame->objectives[k].name, findings->r2[k]);
    if (!order || !series[objectives - 1])
        return false;
    if (count == 0)
        return ll_complain(job->diags, (struct ll_place){0}, "no parameter of this sweep varies");
    double height = (double)count * ((double)objectives * EACH + GAP) + MARGIN;
    struct ll_page page = {
        "What moved what", "Standardised weights of linear regressions", 1, 1, WIDTH, height};
    struct ll_weights plot = {
        .about = ll_chart_about(job),
        .x_label = findings->logs
                       ? "standard deviations of the objective's logarithm for one of the parameter's"
                       : "standard deviations of the objective for one of the parameter",
        .names = names,
        .name_count = count,
        .series = series,
        .series_count = objectives,
        .values = values};
    struct ll_svg svg = {job->out};
    ll_page_open(&svg, &page);
    ll_draw_weights(&svg, ll_page_panel(&page, 0), &plot);
    ll_svg_close(&svg);
    return true;
}
