/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 2 shows what the workloads learn in days of a GPU on real data. Here each learns what is made up for
 * it, small, for a few seconds: the loss falls, as the mean of the first steps and of the last. Where it
 * moves with whom one plays against it is shown and not judged. */
#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"
#include "tracer/base/plain.h"

#include <math.h>

enum { STEPS = 200, AVERAGED = 20, COLUMNS = 3 };
static const char variant[] = "lesson";

static void plan(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_study_plan_recording(plan, &(struct ll_recording){.row = ll_tbd[row].name,
                                                             .variant = variant,
                                                             .model = ll_tbd[row].model,
                                                             .train = true,
                                                             .lesson = true,
                                                             .steps = STEPS,
                                                             .threads = 1});
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Whether a lower loss means that it does better. */
static bool loss_is_a_measure(enum ll_tbd_row row)
{
    return row != LL_TBD_WGAN && row != LL_TBD_A3C;
}

static void judge_row(const struct ll_losses *losses, enum ll_tbd_row row, struct ll_sheet *sheet,
                      struct ll_outcome *outcome)
{
    static const char claim[] = "%s: what 200 steps add to the loss, means of 20 steps";
    const double first = mean(losses->at, AVERAGED),
                 last = mean(losses->at + losses->count - AVERAGED, AVERAGED);
    char added[32];
    ll_put_text(sheet, ll_tbd[row].name);
    ll_put_number(sheet, first);
    ll_put_number(sheet, last);
    if (loss_is_a_measure(row)) {
        ll_at_most(outcome, (struct ll_measured_value){last - first, 3, ""}, 0, claim, ll_tbd[row].name);
        return;
    }
    ll_snprintf(added, sizeof added, "%.3f", last - first);
    ll_inform(outcome, added, "no measure", claim, ll_tbd[row].name);
}

static void draw(const struct ll_losses losses[LL_TBD_COUNT], size_t shown, struct ll_outcome *outcome)
{
    const struct ll_page page = {"Losses by step", "A panel for each workload.", shown, COLUMNS, 300, 230};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL, "The loss of small versions of the workloads, by step.")};
    double steps[STEPS];
    size_t panel = 0;
    for (size_t i = 0; i < STEPS; i++)
        steps[i] = (double)i + 1;
    ll_page_open(&svg, &page);
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        const struct ll_curve curve = {NULL, steps, losses[row].at, losses[row].count};
        if (losses[row].count)
            ll_draw_lines(&svg, ll_page_panel(&page, panel++),
                          &(struct ll_lines){.title = ll_tbd[row].name,
                                             .x_label = "step",
                                             .y_label = "loss",
                                             .curves = &curve,
                                             .curve_count = 1,
                                             .joined = true});
    }
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"loss of the first steps", 3}, {"loss of the last steps", 3}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Means of the first and of the last 20 of 200 steps.", columns, 3);
    struct ll_losses losses[LL_TBD_COUNT];
    size_t shown = 0;
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        losses[row] = ll_evidence_losses(evidence, ll_tbd[row].name, variant);
        if (losses[row].count < STEPS)
            losses[row].count = 0;
        if (losses[row].count)
            judge_row(&losses[row], (enum ll_tbd_row)row, sheet, outcome);
        shown += losses[row].count > 0;
    }
    if (shown)
        draw(losses, shown, outcome);
    ll_inform(outcome, "not reproduced",
              "top-1 of 75 to 80 %, top-5 above 90 %, BLEU of about 20, Pong 19 to 20",
              "accuracies after days of a GPU on real data");
    ll_note(outcome,
            "Small versions on made-up data, as leadline train has them, a minute or two in all on one "
            "thread. The loss of a WGAN's critic and that of an actor-critic are no measures of how well "
            "they do: they move with whom they play against.");
}

const struct ll_study ll_study_T2 = {
    .id = "T2",
    .paper = "TBD, figure 2",
    .title = "Learning",
    .doc =
        "All workloads reach the accuracy that is known of them. Here, what each loses in its first steps.",
    .plan = plan,
    .judge = judge,
};
