/* SPDX-License-Identifier: Apache-2.0 */
/* One core of a TPU against eight that share the same batch: what of a step does not become shorter.
 *
 * Eight cores have gradients to exchange; each updates all of the weights; and an eighth of the batch fills
 * the array less than all of it does. (The paper finds small batches to be faster on one core than on eight,
 * so both have the same.) By Amdahl's law a share f of the work that is not divided leaves u8 / u1 = 1 / (1 +
 * 7 f) of the utilization, so
 *
 *     f = (u1 / u8 - 1) / 7
 *
 * which is a share as long as eight cores are no slower than one; where they are slower that is said instead.
 * Times are the device's: the host feeds both alike. Only what fits into one core's memory can be compared;
 * of fully connected networks the paper takes batches above 1024. */
#include "sim/study/paradnn.h"
#include "sim/study/statistics.h"
#include "tracer/base/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { CORES = 8, FAMILIES = 2 };

static const double NEAR = 0.02; /* on the diagonal */

static const enum ll_paradnn_family families[FAMILIES] = {LL_PARADNN_FC, LL_PARADNN_BOTTLENECK};

static void plan(struct ll_study_plan *plan)
{
    for (int i = 0; i < FAMILIES; i++)
        ll_paradnn_plan(plan, families[i]);
}

static double amdahl(double u1, double u8)
{
    return (u1 / u8 - 1) / (CORES - 1);
}

static double utilization(const struct ll_surveyed *at)
{
    return at->flops / (at->peak_flops * at->device_s);
}

/* A family on one core and on eight, in percent. */
struct scaled {
    const struct ll_survey_result *survey;
    double *one, *eight, *serial; /* of points compared; NaN of others */
    double most;                  /* share, of those that eight cores do not slow down */
    double at_largest_90, most_one, most_eight;
    uint64_t compared, slower; /* slower: on eight cores than on one */
};

static size_t nodes_axis(const struct ll_survey_result *survey)
{
    return ll_family_axis(survey->survey.family, "nodes");
}

static bool is_narrow(const struct ll_survey_result *survey, uint64_t i)
{
    return ll_surveyed_value(survey, i, nodes_axis(survey)) < 256;
}

/* Whether the paper would have it, of whatever width. */
static bool is_known(const struct ll_survey_result *survey, enum ll_paradnn_family family, uint64_t i,
                     size_t batch)
{
    const struct ll_surveyed *one = ll_surveyed_at(survey, i, LL_PARADNN_TPU2_CORE);
    const struct ll_surveyed *eight = ll_surveyed_at(survey, i, LL_PARADNN_TPU2);
    bool large = family != LL_PARADNN_FC || ll_surveyed_value(survey, i, batch) > 1024;
    return large && one->simulated && eight->simulated && one->fits && eight->fits;
}

static bool is_compared(const struct ll_survey_result *survey, enum ll_paradnn_family family, uint64_t i,
                        size_t batch)
{
    return is_known(survey, family, i, batch) && !(family == LL_PARADNN_FC && is_narrow(survey, i));
}

/* The time on eight cores over that on one. */
static double slowdown(const struct ll_survey_result *survey, uint64_t i)
{
    return ll_surveyed_at(survey, i, LL_PARADNN_TPU2)->device_s /
           ll_surveyed_at(survey, i, LL_PARADNN_TPU2_CORE)->device_s;
}

/* Of the points compared. */
static uint64_t largest_batch(const struct ll_survey_result *survey, enum ll_paradnn_family family,
                              size_t batch)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < survey->count; i++)
        if (is_compared(survey, family, i, batch) && ll_surveyed_value(survey, i, batch) > most)
            most = ll_surveyed_value(survey, i, batch);
    return most;
}

static bool scale(const struct ll_evidence *evidence, enum ll_paradnn_family family, struct scaled *scaled)
{
    const struct ll_survey_result *survey = scaled->survey = ll_paradnn_survey(evidence, family);
    struct ll_arena *arena = evidence->arena;
    if (!survey)
        return false;
    scaled->one = ll_alloc(arena, survey->count, sizeof *scaled->one);
    scaled->eight = ll_alloc(arena, survey->count, sizeof *scaled->eight);
    scaled->serial = ll_alloc(arena, survey->count, sizeof *scaled->serial);
    double *largest = ll_alloc(arena, survey->count, sizeof *largest);
    size_t batch = ll_family_axis(survey->survey.family, "batch"), count = 0;
    if (!scaled->one || !scaled->eight || !scaled->serial || !largest)
        return false;
    uint64_t most_batch = largest_batch(survey, family, batch);
    for (uint64_t i = 0; i < survey->count; i++) {
        scaled->one[i] = scaled->eight[i] = scaled->serial[i] = NAN;
        if (!is_compared(survey, family, i, batch))
            continue;
        scaled->one[i] = 100 * utilization(ll_surveyed_at(survey, i, LL_PARADNN_TPU2_CORE));
        scaled->eight[i] = 100 * utilization(ll_surveyed_at(survey, i, LL_PARADNN_TPU2));
        scaled->serial[i] = 100 * amdahl(scaled->one[i], scaled->eight[i]);
        bool slower = slowdown(survey, i) > 1;
        scaled->compared++;
        scaled->slower += slower;
        if (!slower)
            scaled->most = fmax(scaled->most, scaled->serial[i]);
        scaled->most_one = fmax(scaled->most_one, scaled->one[i]);
        scaled->most_eight = fmax(scaled->most_eight, scaled->eight[i]);
        if (ll_surveyed_value(survey, i, batch) == most_batch)
            largest[count++] = scaled->serial[i];
    }
    scaled->at_largest_90 = ll_quantile(largest, count, 0.9, arena);
    return true;
}

/* The share of points that eight cores use no better than one, or as well as can be told. */
static double below_diagonal(const struct scaled *scaled)
{
    uint64_t below = 0, compared = 0;
    for (uint64_t i = 0; i < scaled->survey->count; i++) {
        compared += !isnan(scaled->one[i]);
        below += scaled->eight[i] <= scaled->one[i] * (1 + NEAR);
    }
    return compared ? (double)below / (double)compared : NAN;
}

/* The share of points of which the same network with the next larger batch has no larger share; batches are
 * the axis that changes fastest. */
static double falling(const struct scaled *scaled)
{
    size_t batch = ll_family_axis(scaled->survey->survey.family, "batch");
    uint64_t pairs = 0, down = 0;
    for (uint64_t i = 0; i + 1 < scaled->survey->count; i++) {
        bool rises =
            ll_surveyed_value(scaled->survey, i + 1, batch) > ll_surveyed_value(scaled->survey, i, batch);
        if (rises && !isnan(scaled->serial[i]) && !isnan(scaled->serial[i + 1])) {
            pairs++;
            down += scaled->serial[i + 1] <= scaled->serial[i];
        }
    }
    return pairs ? (double)down / (double)pairs : NAN;
}

/* The share of wide networks with small batches that are faster on one core. */
static double faster_alone(const struct ll_survey_result *survey)
{
    size_t batch = ll_family_axis(survey->survey.family, "batch"), nodes = nodes_axis(survey);
    uint64_t small = 0, faster = 0;
    for (uint64_t i = 0; i < survey->count; i++) {
        const struct ll_surveyed *one = ll_surveyed_at(survey, i, LL_PARADNN_TPU2_CORE);
        if (!one->simulated || !one->fits || ll_surveyed_value(survey, i, batch) > 512 ||
            ll_surveyed_value(survey, i, nodes) < 256)
            continue;
        small++;
        faster += one->device_s < ll_surveyed_at(survey, i, LL_PARADNN_TPU2)->device_s;
    }
    return small ? (double)faster / (double)small : NAN;
}

static void judge_family(const struct scaled *scaled, double low, double high, const char *published,
                         struct ll_outcome *outcome)
{
    const char *doc = scaled->survey->survey.family->doc;
    ll_at_least(outcome, (struct ll_measured_value){100 * below_diagonal(scaled), 1, " %"}, 100,
                "%s: points that eight cores use no better than one", doc);
    ll_at_least(outcome, (struct ll_measured_value){100 * falling(scaled), 1, " %"}, 95,
                "%s: pairs of batches of which the larger has no larger share that is not parallel", doc);
    ll_between(outcome, (struct ll_measured_value){scaled->most, 1, " %"}, low, high,
               "%s: the largest share of a step that is not parallel (published: %s)", doc, published);
    ll_at_most(outcome, (struct ll_measured_value){(double)scaled->slower, 0, ""}, 0,
               "%s: points of %" PRIu64
               " at which eight cores are slower than one and there is no such share",
               doc, scaled->compared);
}

/* What is left out of fully connected networks, and why. */
static void note_narrow(const struct ll_survey_result *fc, struct ll_outcome *outcome)
{
    size_t batch = ll_family_axis(fc->survey.family, "batch");
    uint64_t narrow = 0, slower = 0;
    double most = 0;
    for (uint64_t i = 0; i < fc->count; i++)
        if (is_narrow(fc, i) && is_known(fc, LL_PARADNN_FC, i, batch)) {
            narrow++;
            slower += slowdown(fc, i) > 1;
            most = fmax(most, slowdown(fc, i));
        }
    ll_note(
        outcome,
        "Compared are fully connected networks of 256 nodes or more: of %" PRIu64 " narrower ones %" PRIu64
        " are slower on eight cores than on one, the worst taking %.1f times as long, as each of their "
        "many small gradients costs an exchange of 20 us, a figure fitted on steps of eight cores. Points "
        "within 2 %% of the diagonal count as on it.",
        narrow, slower, most);
}

static void tabulate(const struct scaled *scaled, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                       {"most of one core's peak (%)", 1},
                                                       {"of eight cores' (%)", 1},
                                                       {"largest share not parallel, where faster (%)", 1},
                                                       {"90th percentile of it at the largest batch (%)", 1}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "One core and eight.", columns, 5);
    for (int i = 0; i < FAMILIES; i++) {
        ll_put_text(sheet, scaled[i].survey->survey.family->doc);
        ll_put_number(sheet, scaled[i].most_one);
        ll_put_number(sheet, scaled[i].most_eight);
        ll_put_number(sheet, scaled[i].most);
        ll_put_number(sheet, scaled[i].at_largest_90);
    }
}

static void draw(const struct scaled *scaled, struct ll_outcome *outcome)
{
    struct ll_curve curves[FAMILIES];
    const struct ll_page page = {"Utilization of eight cores over that of one",
                                 "Points of two families, all below the diagonal.",
                                 1,
                                 1,
                                 560,
                                 420};
    struct ll_svg svg = {ll_drawing_new(outcome, NULL,
                                        "Each point a network: percent of eight cores' peak over percent of "
                                        "one's; both are equal on the line.")};
    for (int i = 0; i < FAMILIES; i++)
        curves[i] = (struct ll_curve){scaled[i].survey->survey.family->doc, scaled[i].one, scaled[i].eight,
                                      scaled[i].survey->count};
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "one core (% of its peak)",
                                     .y_label = "eight cores (% of their peak)",
                                     .curves = curves,
                                     .curve_count = FAMILIES,
                                     .x_high = 100,
                                     .y_high = 100,
                                     .diagonal = true});
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct scaled scaled[FAMILIES] = {{0}};
    ll_between(outcome, (struct ll_measured_value){100 * amdahl(100, 62), 1, " %"}, 8.7, 8.8,
               "the formula: of 100 %% on one core and 62 %% on eight follows a share of");
    if (!scale(evidence, families[0], &scaled[0]) || !scale(evidence, families[1], &scaled[1]))
        return;
    tabulate(scaled, outcome);
    judge_family(&scaled[0], 40, 80, "60 %", outcome);
    judge_family(&scaled[1], 20, 60, "40 %", outcome);
    ll_at_least(outcome, (struct ll_measured_value){scaled[0].most - scaled[1].most, 1, " %"}, 0,
                "how much larger that of fully connected networks is");
    char share[16];
    ll_snprintf(share, sizeof share, "%.1f %%", 100 * faster_alone(scaled[0].survey));
    ll_inform(
        outcome, share, "all",
        "fully connected: networks of 256 nodes or more, with batches of 512 or fewer, faster on one core");
    note_narrow(scaled[0].survey, outcome);
    draw(scaled, outcome);
}

const struct ll_study ll_study_P4 = {
    .id = "P4",
    .paper = "ParaDnn, figure 4",
    .title = "One core of a TPU and eight",
    .doc = "Eight cores use their peak no better than one uses its own, for they exchange gradients: the "
           "share of a step "
           "that is not parallel falls with the batch.",
    .plan = plan,
    .judge = judge,
};
