/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/figure.h"
#include "sim/study/fathom.h"

#include <math.h>
#include <stdio.h>

enum { CURVE = 24 }; /* op types that the figure shows */

/* How many of a profile's largest shares it takes to reach a part of the whole. */
static size_t types_for(const struct ll_timeline *profile, double part)
{
    double sum = 0;
    size_t count = 0;
    while (count < profile->kind_count && sum < part)
        sum += profile->kinds[count++].share;
    return count;
}

/* The same of figure 3's rounded numbers, which leave out what is below 1 %. */
static size_t published_types_for(enum ll_fathom_row row, double part)
{
    bool taken[LL_FATHOM_TYPES] = {false};
    double sum = 0;
    for (size_t count = 0; count < LL_FATHOM_TYPES; count++) {
        if (sum >= 100 * part)
            return count;
        size_t best = LL_FATHOM_TYPES;
        for (size_t i = 0; i < LL_FATHOM_TYPES; i++)
            if (!taken[i] &&
                (best == LL_FATHOM_TYPES || ll_fathom_published[row][i] > ll_fathom_published[row][best]))
                best = i;
        taken[best] = true;
        sum += ll_fathom_published[row][best];
    }
    return LL_FATHOM_TYPES;
}

static void tabulate(const struct ll_timeline *const profiles[], struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN}, {"op types", 0},
                                                       {"largest", LL_TEXT_COLUMN},  {"its share (%)", 1},
                                                       {"types for 50 %", 0},        {"types for 90 %", 0},
                                                       {"types for 99 %", 0},        {"published, 90 %", 0}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Op types that together take a part of the time of a step.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_timeline *profile = profiles[row];
        if (!profile || profile->kind_count == 0)
            continue;
        ll_put_text(sheet, ll_fathom[row].name);
        ll_put_number(sheet, (double)profile->kind_count);
        ll_put_text(sheet, profile->kinds[0].name);
        ll_put_number(sheet, 100 * profile->kinds[0].share);
        ll_put_number(sheet, (double)types_for(profile, 0.5));
        ll_put_number(sheet, (double)types_for(profile, 0.9));
        ll_put_number(sheet, (double)types_for(profile, 0.99));
        ll_put_number(sheet, (double)published_types_for((enum ll_fathom_row)row, 0.9));
    }
}

static void draw(const struct ll_timeline *const profiles[], struct ll_outcome *outcome)
{
    double x[CURVE + 1], y[LL_FATHOM_COUNT][CURVE + 1];
    struct ll_curve curves[LL_FATHOM_COUNT] = {{0}};
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_timeline *profile = profiles[row];
        size_t count = profile ? profile->kind_count < CURVE ? profile->kind_count : CURVE : 0;
        y[row][0] = 0;
        for (size_t i = 0; i < count; i++)
            y[row][i + 1] = y[row][i] + 100 * profile->kinds[i].share;
        curves[row] =
            (struct ll_curve){profile ? ll_fathom[row].name : NULL, x, y[row], profile ? count + 1 : 0};
    }
    for (size_t i = 0; i <= CURVE; i++)
        x[i] = (double)i;
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL, "Each mark is one more op type of a workload, largest first.")};
    const struct ll_page page = {
        "A handful of op types take most of the time",
        "Cumulative share of time over the number of op types, a curve for each workload.",
        1,
        1,
        640,
        400};
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "op types, largest first",
                                     .y_label = "share of a step's time (%)",
                                     .curves = curves,
                                     .curve_count = LL_FATHOM_COUNT,
                                     .joined = true,
                                     .y_high = 100,
                                     .line = 90,
                                     .line_name = "90 %"});
    ll_svg_close(&svg);
}

/* memnet has the flattest profile, autoenc comes next. */
static void judge_ranking(const struct ll_timeline *const profiles[], struct ll_outcome *outcome)
{
    char measured[96];
    size_t counts[LL_FATHOM_COUNT] = {0}, others = 0;
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        counts[row] = profiles[row] ? types_for(profiles[row], 0.9) : 0;
        if (row != LL_MEMNET && row != LL_AUTOENC && counts[row] > others)
            others = counts[row];
    }
    if (!profiles[LL_MEMNET] || !profiles[LL_AUTOENC])
        return;
    snprintf(measured, sizeof measured, "%zu > %zu > %zu", counts[LL_MEMNET], counts[LL_AUTOENC], others);
    ll_holds(outcome, counts[LL_MEMNET] > counts[LL_AUTOENC] && counts[LL_AUTOENC] > others, measured,
             "10 > 6 > 4", "memnet needs more types for 90 %% than autoenc, and that more than all others");
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_timeline *profiles[LL_FATHOM_COUNT];
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        profiles[row] = ll_fathom_profile(evidence, (enum ll_fathom_row)row);
    tabulate(profiles, outcome);
    draw(profiles, outcome);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        if (profiles[row])
            ll_at_most(outcome, (struct ll_measured_value){(double)types_for(profiles[row], 0.9), 0, ""}, 15,
                       "%s: op types for 90 %% of the time", ll_fathom[row].name);
    judge_ranking(profiles, outcome);
    ll_note(
        outcome,
        "The paper says \"usually 5 to 15\"; its own figure 3, rounded and without what is below 1 %%, gives "
        "2 to 10. Our kinds are coarser than TensorFlow's in places (one kind for a bias and its ReLU's "
        "gradient each, views cost nothing). Speech is the suite's code without recurrence, whose profile "
        "the published one is.");
}

const struct ll_study ll_study_F2 = {
    .id = "F2",
    .paper = "Fathom, figure 2",
    .title = "Cumulative time by op type",
    .doc = "A handful of heavy op types, usually 5 to 15, are responsible for more than 90 % of each "
           "workload's time, though "
           "not the same ones everywhere.",
    .plan = ll_fathom_plan_profiles,
    .judge = judge,
};
