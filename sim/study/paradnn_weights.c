/* SPDX-License-Identifier: Apache-2.0 */
/* What the figures of ParaDnn are made of: numbers by point, their regression on the parameters, means by
 * cells. */
#include "sim/study/paradnn.h"

#include "sim/explore/sensitivity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

double *ll_paradnn_column(const struct ll_survey_result *survey, size_t platform, ll_surveyed_number *number,
                          struct ll_arena *arena)
{
    double *column = ll_alloc(arena, survey->count, sizeof *column);
    for (uint64_t i = 0; column && i < survey->count; i++)
        column[i] = ll_surveyed_at(survey, i, platform)->simulated ? number(survey, i, platform) : NAN;
    return column;
}

double ll_paradnn_utilization(const struct ll_survey_result *survey, uint64_t i, size_t platform)
{
    return ll_surveyed_utilization(ll_surveyed_at(survey, i, platform));
}

double ll_paradnn_rate(const struct ll_survey_result *survey, uint64_t i, size_t platform)
{
    return ll_surveyed_rate(ll_surveyed_at(survey, i, platform));
}

double *ll_paradnn_speedup(const struct ll_survey_result *survey, size_t platform, size_t over,
                           struct ll_arena *arena)
{
    double *speedup = ll_alloc(arena, survey->count, sizeof *speedup);
    for (uint64_t i = 0; speedup && i < survey->count; i++) {
        const struct ll_surveyed *one = ll_surveyed_at(survey, i, platform),
                                 *other = ll_surveyed_at(survey, i, over);
        bool both = one->simulated && other->simulated && one->fits && other->fits;
        speedup[i] = both ? ll_surveyed_rate(one) / ll_surveyed_rate(other) : NAN;
    }
    return speedup;
}

uint64_t ll_paradnn_known(double *numbers, uint64_t count)
{
    uint64_t known = 0;
    for (uint64_t i = 0; i < count; i++)
        if (isfinite(numbers[i]))
            numbers[known++] = numbers[i];
    return known;
}

/* Regresses on `axes` columns of `count` values each. */
static struct ll_paradnn_weights weigh(double *const *values, size_t axes, const double *numbers,
                                       uint64_t count)
{
    struct ll_predictor predictors[LL_MOST_FAMILY_AXES] = {{0}};
    struct ll_paradnn_weights weights = {.r2 = NAN};
    for (size_t axis = 0; axis < axes; axis++) {
        predictors[axis].numbers = values[axis];
        weights.of[axis] = NAN;
        if (!values[axis])
            return weights;
    }
    if (numbers)
        ll_regress(predictors, axes, numbers, count, weights.of, &weights.r2);
    return weights;
}

struct ll_paradnn_weights ll_paradnn_weigh(const struct ll_survey_result *survey, const double *numbers,
                                           struct ll_arena *arena)
{
    double *values[LL_MOST_FAMILY_AXES];
    size_t axes = ll_family_axes(survey->survey.family);
    for (size_t axis = 0; axis < axes; axis++) {
        values[axis] = ll_alloc(arena, survey->count, sizeof **values);
        for (uint64_t i = 0; values[axis] && i < survey->count; i++)
            values[axis][i] = (double)ll_surveyed_value(survey, i, axis);
    }
    return weigh(values, axes, numbers, survey->count);
}

struct ll_paradnn_weights ll_paradnn_weigh_measured(const struct ll_paradnn_measured *rows, size_t count,
                                                    const double *numbers, struct ll_arena *arena)
{
    double *values[LL_MOST_FAMILY_AXES];
    for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
        values[axis] = ll_alloc(arena, count, sizeof **values);
    for (size_t i = 0; i < count; i++) {
        const uint64_t of[] = {rows[i].layers, rows[i].nodes, rows[i].input, rows[i].output, rows[i].batch};
        for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
            if (values[axis])
                values[axis][i] = (double)of[axis];
    }
    return weigh(values, LL_MOST_FAMILY_AXES, numbers, count);
}

struct ll_sheet *ll_paradnn_weights_sheet(struct ll_outcome *outcome, const char *name, const char *caption)
{
    static const struct ll_outcome_column columns[] = {
        {"family", LL_TEXT_COLUMN}, {"parameter", LL_TEXT_COLUMN}, {"weight", 3}, {"R2", 3}};
    return ll_sheet_new(outcome, name, caption, columns, sizeof columns / sizeof *columns);
}

void ll_paradnn_put_weights(struct ll_sheet *sheet, const char *what, const struct ll_family *family,
                            const struct ll_paradnn_weights *weights)
{
    for (size_t axis = 0; axis < ll_family_axes(family); axis++) {
        ll_put_text(sheet, what);
        ll_put_text(sheet, family->axes[axis].key);
        ll_put_number(sheet, weights->of[axis]);
        ll_put_number(sheet, weights->r2);
    }
}

/* Weights have signs, bars have none: above the line stands what a parameter raises, and what it lowers is of
 * another colour. */
void ll_paradnn_draw_weights(struct ll_svg *svg, struct ll_rect box, const char *title,
                             const struct ll_family *family, const struct ll_paradnn_weights *weights)
{
    static const char *const series[] = {"raises", "lowers"};
    const char *groups[LL_MOST_FAMILY_AXES];
    double values[LL_MOST_FAMILY_AXES][2];
    size_t axes = ll_family_axes(family);
    for (size_t axis = 0; axis < axes; axis++) {
        groups[axis] = family->axes[axis].key;
        values[axis][0] = fmax(0, weights->of[axis]);
        values[axis][1] = fmax(0, -weights->of[axis]);
    }
    ll_draw_bars(svg, box,
                 &(struct ll_bars){.title = title,
                                   .y_label = "weight (standard deviations)",
                                   .groups = groups,
                                   .group_count = axes,
                                   .series = series,
                                   .series_count = 2,
                                   .values = values[0],
                                   .stacked = true});
}

static size_t place_of(const struct ll_family_axis *axis, uint64_t value)
{
    size_t place = 0;
    while (axis->values[place] != value)
        place++;
    return place;
}

double *ll_paradnn_cells(const struct ll_survey_result *survey, const double *numbers, size_t row_axis,
                         size_t column_axis, struct ll_arena *arena)
{
    const struct ll_family_axis *rows = &survey->survey.family->axes[row_axis],
                                *columns = &survey->survey.family->axes[column_axis];
    size_t width = ll_family_axis_values(columns), cells = ll_family_axis_values(rows) * width;
    double *sums = ll_alloc(arena, cells, sizeof *sums), *counts = ll_alloc(arena, cells, sizeof *counts);
    for (uint64_t i = 0; sums && counts && numbers && i < survey->count; i++) {
        size_t cell = place_of(rows, ll_surveyed_value(survey, i, row_axis)) * width +
                      place_of(columns, ll_surveyed_value(survey, i, column_axis));
        if (isfinite(numbers[i])) {
            sums[cell] += numbers[i];
            counts[cell]++;
        }
    }
    for (size_t i = 0; sums && counts && i < cells; i++)
        sums[i] = counts[i] > 0 ? sums[i] / counts[i] : NAN;
    return counts ? sums : NULL;
}

struct labels {
    char text[LL_MOST_FAMILY_VALUES][24];
    const char *at[LL_MOST_FAMILY_VALUES];
    size_t count;
};

/* "nodes 32", then the numbers alone. */
static struct labels *label(const struct ll_family_axis *axis, struct labels *labels)
{
    labels->count = ll_family_axis_values(axis);
    for (size_t i = 0; i < labels->count; i++) {
        snprintf(labels->text[i], sizeof labels->text[i], "%s %" PRIu64, axis->key, axis->values[i]);
        labels->at[i] = labels->text[i];
    }
    return labels;
}

void ll_paradnn_draw_cells(struct ll_svg *svg, struct ll_rect box, const struct ll_paradnn_heat *heat)
{
    struct labels rows, columns;
    label(&heat->family->axes[heat->row_axis], &rows);
    label(&heat->family->axes[heat->column_axis], &columns);
    if (heat->cells)
        ll_draw_heat(svg, box,
                     &(struct ll_heat){.title = heat->title,
                                       .unit = heat->unit,
                                       .grey = heat->grey,
                                       .rows = rows.at,
                                       .row_count = rows.count,
                                       .columns = columns.at,
                                       .column_count = columns.count,
                                       .values = heat->cells,
                                       .full = heat->full,
                                       .decimals = heat->full < 10 ? 1 : 0});
}
