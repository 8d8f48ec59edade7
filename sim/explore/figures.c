/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a sweep as figures and as one page of HTML.
 *
 * Figures are SVG: the Pareto front of two objectives, a heat map of two parameters, parallel
 * coordinates, and sensitivities. The first section has what they share: choosing axes and objectives by
 * name, scales, captions. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/explore/database.h"
#include "sim/explore/findings.h"
#include "sim/report/figure/figure.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

struct ll_chart_job {
    const struct ll_findings *findings;
    const struct ll_chart_options *options;
    struct ll_arena *arena; /* scratch */
    struct ll_str *out;
    struct ll_diags *diags;
};

/* Each draws one figure; false after a complaint or without memory. */
#define LL_CHART(word, ...) bool ll_chart_##word(const struct ll_chart_job *job);
#include "sim/explore/charts.def"
#undef LL_CHART

static const struct {
    const char *name;
    bool (*draw)(const struct ll_chart_job *job);
    unsigned heeds;
} charts[] = {
#define LL_CHART(word, name, help, heeds) [LL_CHART_##word] = {name, ll_chart_##word, heeds},
#include "sim/explore/charts.def"
#undef LL_CHART
};

const char *ll_chart_name(enum ll_chart chart)
{
    assert(chart < LL_CHART_COUNT);
    return charts[chart].name;
}

unsigned ll_chart_takes(enum ll_chart chart)
{
    assert(chart < LL_CHART_COUNT);
    return charts[chart].heeds;
}

/* The number of a name among others, or a complaint. */
static bool choose(const struct ll_chart_job *job, const char *name, const char *const *names, size_t count,
                   const char *what, size_t *index)
{
    for (*index = 0; *index < count; (*index)++)
        if (strcmp(names[*index], name) == 0)
            return true;
    const char *near = ll_nearest(name, names, count);
    struct ll_place nowhere = {0};
    if (near)
        return ll_complain(job->diags, nowhere, "no %s `%s` here; did you mean `%s`?", what, name, near);
    return ll_complain(job->diags, nowhere, "no %s `%s` here; the first is `%s`", what, name,
                       count ? names[0] : "");
}

/* The axis or the objective of this name, its number in *index; false after a complaint that names the
 * nearest. */
static bool chart_axis(const struct ll_chart_job *job, const char *name, size_t *index)
{
    const struct ll_data_frame *frame = job->findings->frame;
    const char *names[LL_MOST_AXES] = {0};
    for (size_t a = 0; a < frame->axis_count; a++)
        names[a] = frame->columns[a].name;
    return choose(job, name, names, frame->axis_count, "parameter", index);
}

static bool chart_objective(const struct ll_chart_job *job, const char *name, size_t *index)
{
    const struct ll_data_frame *frame = job->findings->frame;
    const char *names[LL_MOST_OBJECTIVES] = {0};
    for (size_t k = 0; k < frame->objective_count; k++)
        names[k] = frame->objectives[k].name;
    return choose(job, name, names, frame->objective_count, "objective", index);
}

/* Whether the finite values span so much that logarithms show more: all positive, more than 20 to 1. */
static bool chart_is_wide(const double *values, uint64_t count)
{
    double low = INFINITY, high = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return low > 0 && high > 20 * low;
}

/* "12,345 designs tried, 9,876 valid, 12 on the front", in the arena. */
static const char *chart_about(const struct ll_chart_job *job)
{
    const struct ll_findings *findings = job->findings;
    return ll_format(job->arena, "%" PRIu64 " design%s tried, %" PRIu64 " valid, %" PRIu64 " on the front",
                     findings->frame->row_count, ll_plural(findings->frame->row_count), findings->valid_count,
                     findings->front_count);
}

bool ll_chart_draw(enum ll_chart chart, const struct ll_findings *findings,
                   const struct ll_chart_options *options, struct ll_str *out, struct ll_diags *diags)
{
    assert(chart < LL_CHART_COUNT);
    struct ll_arena arena = {0};
    struct ll_chart_job job = {findings, options, &arena, out, diags};
    bool drawn = charts[chart].draw(&job);
    ll_arena_release(&arena);
    return drawn && !out->failed;
}

/* Two objectives. The front is that of these two alone, whatever other objectives the sweep has. */

enum { WIDTH = 760, HEIGHT = 520, MOST_MARKS = 5 };

static bool choose_pair(const struct ll_chart_job *job, size_t pair[2])
{
    const struct ll_data_frame *frame = job->findings->frame;
    if (frame->objective_count < 2)
        return ll_complain(job->diags, (struct ll_place){0},
                           "a front needs two objectives, and this sweep has %zu; try `heat` or `parallel`",
                           frame->objective_count);
    pair[0] = 0;
    if (job->options->x && !chart_objective(job, job->options->x, &pair[0]))
        return false;
    pair[1] = pair[0] == 0;
    if (job->options->y && !chart_objective(job, job->options->y, &pair[1]))
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
    struct ll_front plot = {.about = chart_about(job),
                            .x_label = frame->objectives[pair[0]].name,
                            .y_label = frame->objectives[pair[1]].name,
                            .all =
                                curve_of(job, "valid designs", findings->valid, findings->valid_count, pair),
                            .front = curve_of(job, "none is better in both", front, front_count, pair),
                            .marked = marked,
                            .marked_count = mark_count};
    plot.x_log = chart_is_wide(plot.all.x, plot.all.count);
    plot.y_log = chart_is_wide(plot.all.y, plot.all.count);
    struct ll_page page = {
        "Pareto front", "Two objectives of all valid designs, and the front", 1, 1, WIDTH, HEIGHT, NULL};
    struct ll_svg svg = {job->out};
    ll_page_open(&svg, &page);
    ll_draw_front(&svg, ll_page_panel(&page, 0), &plot);
    ll_svg_close(&svg);
    return true;
}

/* What two parameters can reach: each cell is the best design that has these two values, whatever the others
 * are, as a multiple of the best of all. */

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
    if (job->options->x && !chart_axis(job, job->options->x, &pair[0]))
        return false;
    pair[1] = order[pair[0] == order[0]];
    if (job->options->y && !chart_axis(job, job->options->y, &pair[1]))
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
        (job->options->objective && !chart_objective(job, job->options->objective, &k)))
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
    struct ll_heat heat = {.title = ll_format(job->arena, "%s (y axis) and %s (x axis)%s", y->name, x->name,
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
    struct ll_page page = {title, "The best design of each two values", 1, 1, width, side_of(y->value_count),
                           NULL};
    struct ll_svg svg = {job->out};
    ll_page_open(&svg, &page);
    ll_draw_heat(&svg, ll_page_panel(&page, 0), &heat);
    ll_svg_close(&svg);
    return true;
}

/* Parameters that vary, then objectives. Of many designs some are drawn at equal distances of their numbers,
 * and all of the front, or as much of it. */

enum {
    SERIES_FRONT = 0,
    SERIES_WINNER = 1,
    SERIES_OTHER = 6,
    MOST_LINES = 300,
    WIDTH_EACH = 120,
    CHART_PARALLEL_HEIGHT = 460
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
                               .log = !column->is_axis && values && chart_is_wide(values, strands->count)};
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
    struct ll_page page = {"Designs",
                           "Parameters and objectives of designs",
                           1,
                           1,
                           WIDTH_EACH * (double)count,
                           CHART_PARALLEL_HEIGHT,
                           NULL};
    struct ll_strands plot = {.about = chart_about(job),
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

/* Weights of the regressions, the heaviest parameter on top. */

enum { CHART_SENSITIVITY_WIDTH = 720, EACH = 16, CHART_SENSITIVITY_MARGIN = 110, GAP = 10 };

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
    double height = (double)count * ((double)objectives * EACH + GAP) + CHART_SENSITIVITY_MARGIN;
    struct ll_page page = {"Sensitivity",
                           "Standardised coefficients of linear regressions",
                           1,
                           1,
                           CHART_SENSITIVITY_WIDTH,
                           height,
                           NULL};
    struct ll_weights plot = {
        .about = chart_about(job),
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
