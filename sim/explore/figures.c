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
#include "sim/page/page.h"
#include "sim/report/figure/figure.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

struct ll_chart_job {
    const struct ll_findings *findings;
    const struct ll_chart_wish *wish;
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

unsigned ll_chart_wishes(enum ll_chart chart)
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
    return ll_format(job->arena, "%" PRIu64 " designs tried, %" PRIu64 " valid, %" PRIu64 " on the front",
                     findings->frame->row_count, findings->valid_count, findings->front_count);
}

bool ll_chart_draw(enum ll_chart chart, const struct ll_findings *findings, const struct ll_chart_wish *wish,
                   struct ll_str *out, struct ll_diags *diags)
{
    assert(chart < LL_CHART_COUNT);
    struct ll_arena arena = {0};
    struct ll_chart_job job = {findings, wish, &arena, out, diags};
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
    if (job->wish->x && !chart_objective(job, job->wish->x, &pair[0]))
        return false;
    pair[1] = pair[0] == 0;
    if (job->wish->y && !chart_objective(job, job->wish->y, &pair[1]))
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
    if (job->wish->x && !chart_axis(job, job->wish->x, &pair[0]))
        return false;
    pair[1] = order[pair[0] == order[0]];
    if (job->wish->y && !chart_axis(job, job->wish->y, &pair[1]))
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
    if (!choose_axes(job, pair) || (job->wish->objective && !chart_objective(job, job->wish->objective, &k)))
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

/* A sweep as one HTML page. The first section writes the data block (a JSON head and typed arrays), the
 * second packs it as text, the third fills the words of sweep_page.html in. */

enum { ALIGNMENT = 8, MOST_BYTES = 48 << 20 /* of columns; a browser takes tens of MB within a second */ };

/* The head and what it tells of. */
struct block {
    const struct ll_findings *findings;
    struct ll_json head;
    struct ll_str columns;
};

/* Typed arrays of a page are little-endian wherever pages are read. */
static void add_little(struct ll_str *str, uint64_t bits, size_t size)
{
    char bytes[8];
    for (size_t b = 0; b < size; b++)
        bytes[b] = (char)(bits >> 8 * b & 0xFF);
    ll_str_add_bytes(str, bytes, size);
}

static void align(struct ll_str *str)
{
    while (str->length % ALIGNMENT && !str->failed)
        ll_str_add_bytes(str, "", 1);
}

/* Where an array begins, as the value of a key. */
static void begin_array(struct block *block, const char *key)
{
    align(&block->columns);
    ll_json_put_count(&block->head, key, block->columns.length);
}

static size_t index_size(uint32_t bound)
{
    return bound <= 1 << 8 ? 1 : bound <= 1 << 16 ? 2 : 4;
}

static void add_numbers(struct block *block)
{
    const struct ll_data_frame *frame = block->findings->frame;
    begin_array(block, "numbers");
    for (uint64_t row = 0; row < frame->row_count; row++) {
        double number = (double)frame->numbers[row];
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        add_little(&block->columns, bits, sizeof bits);
    }
}

/* 1: valid; 0: there are results that break a constraint; more: there are none. */
static void add_verdicts(struct block *block)
{
    static const unsigned char codes[] = {[LL_VERDICT_VALID] = 1,
                                          [LL_VERDICT_INFEASIBLE] = 0,
                                          [LL_VERDICT_INVALID] = 2,
                                          [LL_VERDICT_PRUNED] = 3};
    const struct ll_data_frame *frame = block->findings->frame;
    begin_array(block, "valid");
    for (uint64_t row = 0; row < frame->row_count; row++)
        add_little(&block->columns, codes[frame->verdicts[row]], 1);
}

static void add_front(struct block *block)
{
    const struct ll_findings *findings = block->findings;
    ll_json_put_count(&block->head, "front_count", findings->front_count);
    begin_array(block, "front");
    for (uint64_t i = 0; i < findings->front_count; i++)
        add_little(&block->columns, findings->front[i], 4);
}

static const char *goal_of(const struct ll_findings *findings, const struct ll_data_column *column)
{
    for (size_t k = 0; k < findings->frame->objective_count; k++)
        if (findings->objectives[k] == column)
            return findings->frame->objectives[k].most ? "max" : "min";
    return "";
}

static void add_axis(struct block *block, const struct ll_data_column *column)
{
    size_t size = index_size(column->value_count);
    ll_json_put_text(&block->head, "type", size == 1 ? "u8" : size == 2 ? "u16" : "u32");
    ll_json_key(&block->head, "values");
    ll_json_open_list(&block->head);
    for (uint32_t i = 0; i < column->value_count; i++)
        ll_json_text(&block->head, column->values[i].text);
    ll_json_close_list(&block->head);
    ll_json_key(&block->head, "numbers");
    ll_json_open_list(&block->head);
    for (uint32_t i = 0; i < column->value_count; i++)
        ll_json_number(&block->head, column->values[i].number);
    ll_json_close_list(&block->head);
    begin_array(block, "offset");
    for (uint64_t row = 0; row < block->findings->frame->row_count; row++)
        add_little(&block->columns, column->choices[row], size);
}

static void add_result(struct block *block, const struct ll_data_column *column)
{
    ll_json_put_text(&block->head, "type", "f32");
    ll_json_put_number(&block->head, "base", column->base);
    begin_array(block, "offset");
    for (uint64_t row = 0; row < block->findings->frame->row_count; row++) {
        float number = (float)column->numbers[row];
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        add_little(&block->columns, bits, sizeof bits);
    }
}

static void add_column(struct block *block, const struct ll_data_column *column)
{
    ll_json_open_object(&block->head);
    ll_json_put_text(&block->head, "name", column->name);
    ll_json_put_bool(&block->head, "axis", column->is_axis);
    ll_json_put_text(&block->head, "goal", goal_of(block->findings, column));
    if (column->is_axis)
        add_axis(block, column);
    else
        add_result(block, column);
    ll_json_close_object(&block->head);
}

/* Whether a column before has the same name, as an objective has that of what it wants least. */
static bool is_again(const struct ll_data_frame *frame, size_t c)
{
    for (size_t earlier = 0; earlier < c; earlier++)
        if (strcmp(frame->columns[earlier].name, frame->columns[c].name) == 0)
            return true;
    return false;
}

/* Whether all results of a column are one number: of it there is nothing to see. */
static bool never_moves(const struct ll_data_column *column, uint64_t rows)
{
    double known = NAN;
    for (uint64_t row = 0; row < rows; row++) {
        if (!isnan(known) && !isnan(column->numbers[row]) && column->numbers[row] != known)
            return false;
        known = isnan(known) ? column->numbers[row] : known;
    }
    return true;
}

static size_t add_columns(struct block *block)
{
    const struct ll_data_frame *frame = block->findings->frame;
    size_t left_out = 0;
    ll_json_key(&block->head, "columns");
    ll_json_open_list(&block->head);
    for (size_t c = 0; c < frame->column_count; c++) {
        const struct ll_data_column *column = &frame->columns[c];
        bool needed = column->is_axis || *goal_of(block->findings, column);
        if (!needed && (is_again(frame, c) || never_moves(column, frame->row_count)))
            continue;
        if (needed || block->columns.length + 4 * frame->row_count <= MOST_BYTES)
            add_column(block, column);
        else
            left_out++;
    }
    ll_json_close_list(&block->head);
    return left_out;
}

static bool add_axes(struct block *block)
{
    struct ll_arena arena = {0};
    const size_t *axes = ll_findings_axes(block->findings, &arena);
    ll_json_key(&block->head, "axes");
    ll_json_open_list(&block->head);
    for (size_t a = 0; axes && a < block->findings->frame->axis_count; a++)
        ll_json_count(&block->head, axes[a]);
    ll_json_close_list(&block->head);
    ll_arena_release(&arena);
    return axes != NULL;
}

/* Length, head and columns in one piece. */
static bool join(const struct ll_str *head, const struct ll_str *columns, struct ll_str *out)
{
    struct ll_str whole = {0};
    add_little(&whole, head->length, 4);
    ll_str_add_bytes(&whole, head->text, head->length);
    align(&whole);
    ll_str_add_bytes(&whole, columns->text, columns->length);
    bool done = !whole.failed && !head->failed && !columns->failed && ll_pack(whole.text, whole.length, out);
    ll_str_release(&whole);
    return done;
}

/* Appends the block, packed, as sweep_page.h lays it out; *left_out is how many columns would have made the
 * page too large. False when memory ran out. */
static bool sweep_data(const struct ll_findings *findings, struct ll_str *out, size_t *left_out)
{
    struct ll_str head = {0};
    struct block block = {.findings = findings, .head = {.out = &head}};
    ll_json_open_object(&block.head);
    ll_json_put_count(&block.head, "rows", findings->frame->row_count);
    add_numbers(&block);
    add_verdicts(&block);
    add_front(&block);
    bool done = add_axes(&block);
    *left_out = add_columns(&block);
    ll_json_close_object(&block.head);
    done = done && join(&head, &block.columns, out);
    ll_str_release(&head);
    ll_str_release(&block.columns);
    return done;
}

/* The page is sweep_page.html with words between @ signs filled in: a row each below. */

enum { MOST_TABLED = 2000 }; /* rows of the front's table */

extern const char ll_sweep_page_text[]; /* sweep_page.html */

struct making {
    const struct ll_findings *findings;
    const struct ll_sweep_page *page;
    const char *data; /* packed */
    size_t left_out;  /* columns */
    struct ll_str *out;
    struct ll_diags *diags;
};

static bool write_title(const struct making *making)
{
    ll_xml_add(making->out, making->page->title);
    return true;
}

static bool write_summary(const struct making *making)
{
    const struct ll_findings *findings = making->findings;
    ll_str_addf(making->out, "%" PRIu64 " designs tried, %" PRIu64 " valid, %" PRIu64 " on the front.",
                findings->frame->row_count, findings->valid_count, findings->front_count);
    if (making->left_out)
        ll_str_addf(making->out, " %zu columns of results are in the database alone.", making->left_out);
    const char *warning = ll_data_frame_fact(findings->frame, LL_FACT_WARNING);
    if (warning) {
        ll_str_add(making->out, " <strong>Warning: ");
        ll_xml_add(making->out, warning);
        ll_str_add(making->out, ".</strong>");
    }
    return true;
}

static bool write_sensitivity(const struct making *making)
{
    const struct ll_data_frame *frame = making->findings->frame;
    bool varies = false;
    for (size_t a = 0; a < frame->axis_count; a++)
        varies |= frame->columns[a].value_count > 1;
    if (varies)
        return ll_chart_draw(LL_CHART_SENSITIVITY, making->findings, &(struct ll_chart_wish){0}, making->out,
                             making->diags);
    ll_str_add(making->out, "<p>No parameter varies.</p>");
    return true;
}

static void number_cell(struct ll_str *out, double value)
{
    char exact[32];
    ll_number_text(value, exact);
    ll_str_addf(out, "<td data-v=\"%s\">%.5g</td>", exact, value);
}

static void write_row(const struct making *making, uint64_t row)
{
    const struct ll_data_frame *frame = making->findings->frame;
    ll_str_addf(making->out, "<tr data-row=\"%" PRIu64 "\"><td>%" PRIu64 "</td>", row, frame->numbers[row]);
    for (size_t k = 0; k < frame->objective_count; k++)
        number_cell(making->out, making->findings->objectives[k]->numbers[row]);
    for (size_t a = 0; a < frame->axis_count; a++) {
        const struct ll_data_column *axis = &frame->columns[a];
        char index[32]; /* values of an axis are sorted as the file has them */
        ll_number_text(axis->choices[row], index);
        ll_str_addf(making->out, "<td data-v=\"%s\">", index);
        ll_xml_add(making->out, axis->values[axis->choices[row]].text);
        ll_str_add(making->out, "</td>");
    }
    ll_str_add(making->out, "</tr>\n");
}

static void heading(struct ll_str *out, const char *name)
{
    ll_str_add(out, "<th>");
    ll_xml_add(out, name);
    ll_str_add(out, "</th>");
}

static bool write_front(const struct making *making)
{
    const struct ll_findings *findings = making->findings;
    const struct ll_data_frame *frame = findings->frame;
    uint64_t shown = findings->front_count < MOST_TABLED ? findings->front_count : MOST_TABLED;
    ll_str_add(making->out, "<table id=\"front\"><thead><tr>");
    heading(making->out, "number");
    for (size_t k = 0; k < frame->objective_count; k++)
        heading(making->out, frame->objectives[k].text);
    for (size_t a = 0; a < frame->axis_count; a++)
        heading(making->out, frame->columns[a].name);
    ll_str_add(making->out, "</tr></thead>\n<tbody>\n");
    for (uint64_t i = 0; i < shown; i++)
        write_row(making, findings->front[i]);
    ll_str_add(making->out, "</tbody></table>\n");
    if (shown < findings->front_count)
        ll_str_addf(making->out, "<p>The first %" PRIu64 " of %" PRIu64 ".</p>\n", shown,
                    findings->front_count);
    return true;
}

static void fact(struct ll_str *out, const char *name, const char *value)
{
    ll_str_add(out, "; ");
    ll_xml_add(out, name);
    ll_str_add(out, " ");
    ll_xml_add(out, value);
}

static bool write_made_by(const struct making *making)
{
    const struct ll_data_frame *frame = making->findings->frame;
    ll_str_add(making->out, "Made by: <code>");
    ll_xml_add(making->out, making->page->command);
    ll_str_add(making->out, "</code>, leadline ");
    ll_xml_add(making->out, making->page->version);
    ll_str_add(making->out, "<br>of a sweep");
    for (size_t i = 0; i < frame->fact_count; i++)
        fact(making->out, frame->facts[i].key, frame->facts[i].value);
    return true;
}

static bool write_data(const struct making *making)
{
    ll_str_add(making->out, making->data);
    return true;
}

static const struct {
    const char *word;
    bool (*write)(const struct making *making);
} words[] = {{"title", write_title}, {"summary", write_summary}, {"sensitivity", write_sensitivity},
             {"front", write_front}, {"made-by", write_made_by}, {"data", write_data}};

/* Writes what stands for the word between two @ signs; how long both and the word are, 0: this is none. */
static size_t fill_in(const struct making *making, const char *at, bool *done)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(at + 1, words[i].word, length) == 0 && at[1 + length] == '@') {
            *done = words[i].write(making);
            return length + 2;
        }
    }
    return 0;
}

static bool write_page(const struct making *making)
{
    bool done = true;
    for (const char *at = ll_sweep_page_text; done && *at;) {
        size_t plain = strcspn(at, "@");
        ll_str_add_bytes(making->out, at, plain);
        at += plain;
        size_t filled = *at ? fill_in(making, at, &done) : 0;
        if (*at && !filled)
            ll_str_add_bytes(making->out, at++, 1);
        at += filled;
    }
    return done && !making->out->failed;
}

bool ll_sweep_page(const struct ll_findings *findings, const struct ll_sweep_page *page, struct ll_str *out,
                   struct ll_diags *diags)
{
    struct ll_str data = {0};
    struct making making = {.findings = findings, .page = page, .out = out, .diags = diags};
    bool done = sweep_data(findings, &data, &making.left_out);
    making.data = data.text;
    done = done && write_page(&making);
    ll_str_release(&data);
    return done;
}
