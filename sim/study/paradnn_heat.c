/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a TPU's peak the families use, and which parameters decide that. */
#include "sim/study/paradnn.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The families of the figure, the axes of their heat maps, and which parameters the paper finds to weigh
 * most. */
static const struct panel {
    enum ll_paradnn_family family;
    const char *row, *title;
} panels[] = {
    {LL_PARADNN_FC, "nodes", "Fully connected"},
    {LL_PARADNN_BOTTLENECK, "filters", "CNN"},
    {LL_PARADNN_RNN, "embed", "RNN"},
};
enum { PANELS = sizeof panels / sizeof *panels };

/* Regressions of the published rows: of all of them, as published by those who looked at them; of the half at
 * hand, computed independently with numpy. */
enum { ALL_ROWS = 1724 };
static const struct ll_paradnn_weights of_all = {{0.123, 0.466, -0.041, -0.013, 0.472}, 0.429},
                                       of_half = {{0.123, 0.441, 0, -0.018, 0.505}, 0.439};

/* As ParaDnn counts them: six for each weight and sample, of a board of 180 TFLOP/s. */
static double published_utilization(const struct ll_paradnn_measured *row)
{
    double n = (double)row->nodes,
           weights = n * n * (double)(row->layers - 1) + n * (double)(row->input + row->output);
    return 6 * (double)row->batch * weights / (row->time_s * 180e12);
}

static void judge_measured(const struct ll_evidence *evidence, struct ll_sheet *sheet,
                           struct ll_outcome *outcome)
{
    size_t count;
    const struct ll_paradnn_measured *rows = ll_paradnn_rows(evidence, LL_PARADNN_TPU2, &count);
    double *numbers = ll_alloc(evidence->arena, count, sizeof *numbers), most = 0;
    for (size_t i = 0; numbers && i < count; i++) {
        numbers[i] = published_utilization(&rows[i]);
        most = fmax(most, numbers[i]);
    }
    const struct ll_family *family = &ll_paradnn_families[LL_PARADNN_FC];
    struct ll_paradnn_weights weights = ll_paradnn_weigh_measured(rows, count, numbers, evidence->arena);
    const struct ll_paradnn_weights *expected = count == ALL_ROWS ? &of_all : &of_half;
    char text[32];
    ll_paradnn_put_weights(sheet, "measured", family, &weights);
    for (size_t axis = 0; axis < ll_family_axes(family); axis++)
        ll_between(outcome, (struct ll_measured_value){weights.of[axis], 3, ""}, expected->of[axis] - 5e-4,
                   expected->of[axis] + 5e-4, "%zu measured rows, weight of %s", count,
                   family->axes[axis].key);
    ll_between(outcome, (struct ll_measured_value){weights.r2, 3, ""}, expected->r2 - 5e-4,
               expected->r2 + 5e-4, "%zu measured rows, what the weights explain", count);
    ll_snprintf(text, sizeof text, "%.1f %%", 100 * most);
    ll_inform(outcome, text, "64.3 % of all rows, 70.4 % in traces, 62 % in figure 4",
              "the most that measured rows use of the peak");
}

/* The share of neighbours in rows and columns of which the later one is not the smaller. */
static double rising(const double *cells, size_t rows, size_t columns)
{
    size_t pairs = 0, up = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            double here = cells[r * columns + c];
            double right = c + 1 < columns ? cells[r * columns + c + 1] : NAN;
            double below = r + 1 < rows ? cells[(r + 1) * columns + c] : NAN;
            pairs += (size_t)(isfinite(here) && isfinite(right)) + (isfinite(here) && isfinite(below));
            up += (size_t)(here <= right) + (here <= below);
        }
    return pairs ? (double)up / (double)pairs : NAN;
}

/* Whether these two parameters weigh most, both upwards. */
static bool weigh_most(const struct ll_family *family, const struct ll_paradnn_weights *weights,
                       const char *one, const char *other, bool upwards)
{
    size_t a = ll_family_axis(family, one), b = ll_family_axis(family, other);
    double least = fmin(fabs(weights->of[a]), fabs(weights->of[b]));
    bool most = !upwards || (weights->of[a] > 0 && weights->of[b] > 0);
    for (size_t axis = 0; axis < ll_family_axes(family); axis++)
        most = most && (axis == a || axis == b || fabs(weights->of[axis]) < least);
    return most;
}

static void say(const struct ll_family *family, const struct ll_paradnn_weights *weights, char *text,
                size_t size)
{
    size_t length = 0;
    text[0] = 0;
    for (size_t axis = 0; axis < ll_family_axes(family) && length < size; axis++)
        length += (size_t)ll_snprintf(text + length, size - length, "%s%s %+.2f", axis ? ", " : "",
                                      family->axes[axis].key, weights->of[axis]);
}

struct drawn {
    const struct ll_family *family;
    double *cells;
    size_t row, column;
    struct ll_paradnn_weights weights;
    double most;
};

static bool judge_panel(const struct ll_evidence *evidence, const struct panel *panel, struct drawn *drawn,
                        struct ll_outcome *outcome)
{
    const struct ll_survey_result *survey = ll_paradnn_survey(evidence, panel->family);
    if (!survey)
        return false;
    struct ll_arena *arena = evidence->arena;
    const struct ll_family *family = drawn->family = survey->survey.family;
    double *numbers = ll_paradnn_column(survey, LL_PARADNN_TPU2, ll_paradnn_utilization, arena);
    drawn->row = ll_family_axis(family, panel->row);
    drawn->column = ll_family_axis(family, "batch");
    drawn->weights = ll_paradnn_weigh(survey, numbers, arena);
    for (uint64_t i = 0; numbers && i < survey->count; i++) {
        drawn->most = fmax(drawn->most, numbers[i]);
        numbers[i] *= 100;
    }
    drawn->cells = ll_paradnn_cells(survey, numbers, drawn->row, drawn->column, arena);
    char text[160], wanted[64];
    say(family, &drawn->weights, text, sizeof text);
    snprintf(wanted, sizeof wanted, "%s and batch", panel->row);
    bool upwards = panel->family == LL_PARADNN_FC;
    ll_holds(outcome, weigh_most(family, &drawn->weights, panel->row, "batch", upwards), text, wanted,
             "%s: what weighs most%s", panel->title, upwards ? ", and upwards" : "");
    if (drawn->cells)
        ll_at_least(outcome,
                    (struct ll_measured_value){
                        100 * rising(drawn->cells, ll_family_axis_values(&family->axes[drawn->row]),
                                     ll_family_axis_values(&family->axes[drawn->column])),
                        1, " %"},
                    90, "%s: neighbours in the heat map that do not fall", panel->title);
    return drawn->cells != NULL;
}

static void draw(const struct drawn *drawn, struct ll_outcome *outcome)
{
    const struct ll_page page = {"What a TPU v2 reaches, simulated",
                                 "Heat maps and bars for three families of networks.",
                                 2 * PANELS,
                                 PANELS,
                                 480,
                                 340};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL,
                       "Above, FLOPs reached over peak by two parameters, in percent, mean over "
                       "the others; below, what each parameter weighs in it.")};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < PANELS; i++) {
        ll_paradnn_draw_cells(&svg, ll_page_panel(&page, i),
                              &(struct ll_paradnn_heat){.title = panels[i].title,
                                                        .unit = "% of peak",
                                                        .family = drawn[i].family,
                                                        .row_axis = drawn[i].row,
                                                        .column_axis = drawn[i].column,
                                                        .cells = drawn[i].cells,
                                                        .full = 100 * drawn[i].most});
        ll_paradnn_draw_weights(&svg, ll_page_panel(&page, PANELS + i), panels[i].title, drawn[i].family,
                                &drawn[i].weights);
    }
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct drawn drawn[PANELS] = {{0}};
    struct ll_sheet *sheet = ll_paradnn_weights_sheet(
        outcome, NULL, "Weights of parameters in the utilization of a TPU v2, and what they explain.");
    bool all = true;
    judge_measured(evidence, sheet, outcome);
    for (size_t i = 0; i < PANELS; i++) {
        all = judge_panel(evidence, &panels[i], &drawn[i], outcome) && all;
        if (drawn[i].family)
            ll_paradnn_put_weights(sheet, panels[i].title, drawn[i].family, &drawn[i].weights);
    }
    if (drawn[0].family)
        ll_between(outcome, (struct ll_measured_value){100 * drawn[0].most, 1, " %"}, 54, 74,
                   "the most that a fully connected network uses of the peak (published: 62 to 64 %%)");
    if (all)
        draw(drawn, outcome);
    ll_note(outcome,
            "A CNN's maps have thousands of places, so that the smallest batch fills the arrays of all "
            "cores here and a larger one gains no more than more blocks do, which spread what a step "
            "has besides; the paper's measurements of CNN are not public.");
}

const struct ll_study ll_study_P2 = {
    .id = "P2",
    .paper = "ParaDnn, figure 2",
    .title = "Utilization of a TPU v2",
    .doc = "The share of peak FLOPs that networks reach grows with their width and with the batch: these "
           "parameters weigh "
           "most in a linear regression on standardised parameters.",
    .compares = true,
    .plan = ll_paradnn_plan_main,
    .judge = judge,
};
