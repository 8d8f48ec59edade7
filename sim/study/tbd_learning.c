/* SPDX-License-Identifier: Apache-2.0 */
/* TBD, figure 2: what the workloads learn in days of a GPU on real data. Here each learns what is made up for
 * it, small, for a few seconds: the loss falls, as the mean of the first steps and of the last, and the four
 * of the figure are judged by what they have not learned. Where a loss moves with whom one plays against, it
 * is shown and not judged. */
#include <inttypes.h>
#include <string.h>

#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"
#include "tracer/base/str.h"

enum { LEARNING_STEPS = 200, AVERAGED = 20, COLUMNS = 3 };
static const char variant[] = "lesson";

/* The workloads of the figure, how a small version of each judges itself on what it has not learned, and
 * after how many steps, trained anew each time: at most as many as its recipe takes. */
enum { LEARNERS = 4, CHECKS = 3 };
static const struct learner {
    enum ll_tbd_row row;
    const char *score, *unit, *published;
    double scale;
    uint64_t steps[CHECKS];
    const char *variants[CHECKS];
} learners[LEARNERS] = {
    {LL_TBD_INCEPTION,
     "accuracy",
     "% of unseen images right",
     "top-1 of 75 to 80 %, top-5 above 90 %",
     100,
     {38, 75, 150},
     {"after 38 steps", "after 75 steps", "after 150 steps"}},
    {LL_TBD_RESNET,
     "accuracy",
     "% of unseen images right",
     "top-1 of 75 to 80 %, top-5 above 90 %",
     100,
     {38, 75, 150},
     {"after 38 steps", "after 75 steps", "after 150 steps"}},
    {LL_TBD_NMT,
     "words",
     "% of words in their place",
     "BLEU of about 20",
     100,
     {50, 100, 200},
     {"after 50 steps", "after 100 steps", "after 200 steps"}},
    {LL_TBD_A3C,
     "score",
     "bricks a game",
     "19 to 20 in Pong",
     1,
     {200, 400, 800},
     {"after 200 steps", "after 400 steps", "after 800 steps"}},
};

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LEARNERS; i++)
        for (size_t c = 0; c < CHECKS; c++)
            ll_study_plan_recording(plan, &(struct ll_recording){.row = ll_tbd[learners[i].row].name,
                                                                 .variant = learners[i].variants[c],
                                                                 .model = ll_tbd[learners[i].row].model,
                                                                 .train = true,
                                                                 .recipe = true,
                                                                 .scored = true,
                                                                 .steps = learners[i].steps[c],
                                                                 .threads = 1});
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_study_plan_recording(plan, &(struct ll_recording){.row = ll_tbd[row].name,
                                                             .variant = variant,
                                                             .model = ll_tbd[row].model,
                                                             .train = true,
                                                             .recipe = true,
                                                             .steps = LEARNING_STEPS,
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

static void judge_row(const struct ll_losses *losses, enum ll_tbd_row row, struct ll_study_table *table,
                      struct ll_study_result *result)
{
    static const char claim[] = "%s: what 200 steps add to the loss, means of 20 steps";
    const double first = mean(losses->at, AVERAGED),
                 last = mean(losses->at + losses->count - AVERAGED, AVERAGED);
    char added[32];
    ll_table_put_text(table, ll_tbd[row].name);
    ll_table_put_number(table, first);
    ll_table_put_number(table, last);
    if (loss_is_a_measure(row)) {
        ll_criterion_at_most(result, (struct ll_measured_value){last - first, 3, ""}, 0, claim,
                             ll_tbd[row].name);
        return;
    }
    ll_snprintf(added, sizeof added, "%.3f", last - first);
    ll_criterion_info(result, "losses of players against each other measure no progress", added, "no measure",
                      claim, ll_tbd[row].name);
}

static void draw(const struct ll_losses losses[LL_TBD_COUNT], size_t shown, const char *note,
                 struct ll_study_result *result)
{
    const struct ll_page page = {
        "Losses by step", "A panel for each workload.", shown, COLUMNS, 300, 230, note};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL, "The loss of small versions of the workloads, by step.")};
    double steps[LEARNING_STEPS];
    size_t panel = 0;
    for (size_t i = 0; i < LEARNING_STEPS; i++)
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

/* A learner's score at the beginning and after each number of steps. */
struct learned {
    const struct learner *learner;
    double steps[1 + CHECKS], score[1 + CHECKS];
};

/* False where it was not trained, or has no such score. */
static bool find_learned(const struct ll_runs *runs, const struct learner *learner, struct learned *learned)
{
    *learned = (struct learned){.learner = learner};
    for (size_t c = 0; c < CHECKS; c++) {
        const struct ll_losses losses = ll_runs_losses(runs, ll_tbd[learner->row].name, learner->variants[c]);
        const struct ll_study_score *score = NULL;
        for (size_t i = 0; i < losses.score_count && !score; i++)
            score = strcmp(losses.scores[i].name, learner->score) == 0 ? &losses.scores[i] : NULL;
        if (!score)
            return false;
        learned->steps[1 + c] = (double)learner->steps[c];
        learned->score[1 + c] = learner->scale * score->after;
        learned->score[0] = learner->scale * score->before;
    }
    return true;
}

static void draw_learned(const struct learned *all, size_t count, const char *note,
                         struct ll_study_result *result)
{
    const struct ll_page page = {"Accuracy by step", "A panel for each workload.", count, 2, 380, 250, note};
    struct ll_svg svg = {ll_study_figure_new(result, "accuracy",
                                             "What small versions of the workloads of figure 2 do with data "
                                             "that they have not learned, by step.")};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < count; i++) {
        const struct ll_curve curve = {NULL, all[i].steps, all[i].score, 1 + CHECKS};
        ll_draw_lines(&svg, ll_page_panel(&page, i),
                      &(struct ll_lines){.title = ll_tbd[all[i].learner->row].name,
                                         .x_label = "step",
                                         .y_label = all[i].learner->unit,
                                         .curves = &curve,
                                         .curve_count = 1,
                                         .joined = true});
    }
    ll_svg_close(&svg);
}

/* What figure 2 shows is compared in its direction alone: each gets better at what it has not seen. */
static void judge_accuracies(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"of", LL_TEXT_COLUMN},
                                                     {"step", 0},
                                                     {"found", 1},
                                                     {"published", LL_TEXT_COLUMN}};
    struct learned all[LEARNERS];
    size_t count = 0;
    for (size_t i = 0; i < LEARNERS; i++)
        count += find_learned(runs, &learners[i], &all[count]);
    if (count == 0)
        return;
    struct ll_study_table *table = ll_study_table_new(
        result, "accuracy", "Small versions on made-up data, judged by data that they have not learned.",
        columns, 5);
    for (size_t i = 0; i < count; i++) {
        const struct learner *learner = all[i].learner;
        for (size_t c = 0; c <= CHECKS; c++) {
            ll_table_put_text(table, ll_tbd[learner->row].name);
            ll_table_put_text(table, learner->unit);
            ll_table_put_number(table, all[i].steps[c]);
            ll_table_put_number(table, all[i].score[c]);
            ll_table_put_text(table, learner->published);
        }
        char measured[64];
        ll_snprintf(measured, sizeof measured, "%.1f to %.1f", all[i].score[0], all[i].score[CHECKS]);
        ll_criterion_holds(result, all[i].score[CHECKS] > all[i].score[0], measured, "more",
                           "%s: %s, before its first step and after %" PRIu64, ll_tbd[learner->row].name,
                           learner->unit, learner->steps[CHECKS - 1]);
    }
    draw_learned(all, count, ll_runs_recorded_on(runs), result);
}

static void judge_learning(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"loss of the first steps", 3}, {"loss of the last steps", 3}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Means of the first and of the last 20 of 200 steps.", columns, 3);
    struct ll_losses losses[LL_TBD_COUNT];
    size_t shown = 0;
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        losses[row] = ll_runs_losses(runs, ll_tbd[row].name, variant);
        if (losses[row].count < LEARNING_STEPS)
            losses[row].count = 0;
        if (losses[row].count)
            judge_row(&losses[row], (enum ll_tbd_row)row, table, result);
        shown += losses[row].count > 0;
    }
    if (shown)
        draw(losses, shown, ll_runs_recorded_on(runs), result);
    judge_accuracies(runs, result);
    ll_criterion_info(result, "days of a GPU on real data are not reproduced", "not reproduced",
                      "top-1 of 75 to 80 %, top-5 above 90 %, BLEU of about 20, Pong 19 to 20",
                      "accuracies after days of a GPU on real data");
    ll_study_note(
        result,
        "Small versions on made-up data, as leadline train has them, two or three minutes in all on one "
        "thread. Figure 2's accuracies are those of days on real data: compared is that each gets better at "
        "what it has not learned, not how good. The loss of a WGAN's critic and that of an actor-critic are "
        "no measures of how well "
        "they do: they move with whom they play against.");
}

const struct ll_study ll_study_T2 = {
    .id = "T2",
    .paper = "TBD, figure 2",
    .title = "Learning",
    .doc = "All workloads reach the accuracy that is known of them. Here, what small versions learn: their "
           "losses, and "
           "for the four of the figure how well they do on data that they have not learned.",
    .plan = plan,
    .judge = judge_learning,
};
