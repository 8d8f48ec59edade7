/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 6: a sketch in the paper, drawn here with the constants of its table 1. A learning curve begins
 * where a network does no better than guess, falls by a power law, and levels off where nothing is left to be
 * learned:
 *
 *     error(m) = the larger of the least and of the smaller of guess and alpha m^beta
 *
 * The least is not known; the paper takes its goals to be close to it. */
#include "sim/report/figure/figure.h"
#include "sim/study/catamount.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

enum { DOMAINS = LL_CATAMOUNT_DOMAIN_COUNT, POINTS = 97 };

/* Of who has learned nothing: uniform over 800,000 words, ln 800000, and 98 characters, log2 98; always
 * wrong. */
static const double guesses[DOMAINS] = {[LL_WORD_DOMAIN] = 13.592,
                                        [LL_CHAR_DOMAIN] = 6.615,
                                        [LL_NMT_DOMAIN] = 1,
                                        [LL_SPEECH_DOMAIN] = 1,
                                        [LL_IMAGE_DOMAIN] = 1};

/* Alpha as it must be for the curve to pass through the error of now, with the exponent that fits. */
static double law_error(const struct ll_catamount_law *law, double samples)
{
    return law->error_now * pow(samples / law->data_now, law->fitting);
}

static double samples_for(const struct ll_catamount_law *law, double error)
{
    return law->data_now * pow(error / law->error_now, 1 / law->fitting);
}

static double error_at(enum ll_catamount_domain domain, double samples)
{
    const struct ll_catamount_law *law = &ll_catamount_laws[domain];
    return fmax(law->error_goal, fmin(guesses[domain], law_error(law, samples)));
}

static void tabulate(struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"domain", LL_TEXT_COLUMN},
                                                       {"error of a guess", 3},
                                                       {"of now", 3},
                                                       {"of the goal", 3},
                                                       {"better than a guess from (samples)", 0},
                                                       {"now (samples)", 0},
                                                       {"goal (samples)", 0},
                                                       {"data for half the error", 1}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Where the regions of learning curves meet.", columns, 8);
    for (unsigned d = 0; d < DOMAINS; d++) {
        const struct ll_catamount_law *law = &ll_catamount_laws[d];
        ll_put_text(sheet, ll_catamount_domains[d].name);
        ll_put_number(sheet, guesses[d]);
        ll_put_number(sheet, law->error_now);
        ll_put_number(sheet, law->error_goal);
        ll_put_number(sheet, samples_for(law, guesses[d]));
        ll_put_number(sheet, law->data_now);
        ll_put_number(sheet, samples_for(law, law->error_goal));
        ll_put_number(sheet, pow(0.5, 1 / law->fitting));
    }
}

/* Twelve points a decade of data, from a ten-millionth of today's to ten times what the farthest goal takes.
 */
static void draw(struct ll_outcome *outcome)
{
    static const double first = 1e-6, decades = 10;
    const struct ll_page page = {
        "Learning curves", "Error over training data, both over today's.", 1, 1, 640, 400};
    double x[POINTS], y[DOMAINS][POINTS];
    struct ll_curve curves[DOMAINS];
    struct ll_svg svg = {
        .out = ll_drawing_new(
            outcome, NULL,
            "Error falls by a power law, between what a guess has and what cannot be learned.")};
    for (size_t i = 0; i < POINTS; i++)
        x[i] = first * pow(10, decades * (double)i / (POINTS - 1));
    for (unsigned d = 0; d < DOMAINS; d++) {
        for (size_t i = 0; i < POINTS; i++)
            y[d][i] = error_at(d, x[i] * ll_catamount_laws[d].data_now) / ll_catamount_laws[d].error_now;
        curves[d] = (struct ll_curve){ll_catamount_domains[d].name, x, y[d], POINTS};
    }
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "training data, of today's",
                                     .y_label = "error, of today's",
                                     .curves = curves,
                                     .curve_count = DOMAINS,
                                     .joined = true,
                                     .x_log = true,
                                     .y_log = true});
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    (void)evidence;
    tabulate(outcome);
    draw(outcome);
    for (unsigned d = 0; d < DOMAINS; d++) {
        const struct ll_catamount_law *law = &ll_catamount_laws[d];
        char found[32], published[32];
        ll_snprintf(found, sizeof found, "%.1f times", samples_for(law, law->error_goal) / law->data_now);
        ll_snprintf(published, sizeof published, "%.0f", law->data_scale);
        ll_inform(outcome, found, published, "%s: today's data, where the curve meets the goal",
                  ll_catamount_domains[d].name);
    }
    ll_note(outcome,
            "The paper's figure is a sketch without data. A guess is uniform over 800,000 words or 98 "
            "characters, or always wrong; what cannot be learned is taken to be the paper's goal. C-T1 "
            "judges the constants.");
}

const struct ll_study ll_study_C6 = {
    .id = "C6",
    .paper = "Catamount, figure 6",
    .title = "Learning curves",
    .doc = "Error over training data: a guess while there is little, a power law, what cannot be learned.",
    .plan = ll_study_plan_nothing,
    .judge = judge,
};
