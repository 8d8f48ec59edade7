/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions over whole families: TPU over GPU, utilization of three platforms, bf16 over f32. Boxes are
 * the paper's: percentiles 2, 9, 50, 91 and 98. */
#include "sim/study/paradnn.h"
#include "sim/study/statistics.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

static const double percentiles[] = {2, 9, 50, 91, 98};
enum { PERCENTILES = 5, MEDIAN = 2 };

static struct ll_sheet *sheet_of_boxes(struct ll_outcome *outcome, const char *name, const char *caption)
{
    static const struct ll_outcome_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                       {"of", LL_TEXT_COLUMN},
                                                       {"points", 0},
                                                       {"2nd percentile", 3},
                                                       {"9th", 3},
                                                       {"median", 3},
                                                       {"91st", 3},
                                                       {"98th", 3},
                                                       {"90th", 3},
                                                       {"most", 3}};
    return ll_sheet_new(outcome, name, caption, columns, sizeof columns / sizeof *columns);
}

struct box {
    uint64_t count;
    double at[PERCENTILES], ninety, most;
};

/* Of the numbers that there are; their order is lost. */
static struct box box_of(double *numbers, uint64_t count, struct ll_arena *arena)
{
    struct box box = {.count = ll_paradnn_known(numbers, count)};
    for (int i = 0; i < PERCENTILES; i++)
        box.at[i] = ll_quantile(numbers, box.count, percentiles[i] / 100, arena);
    box.ninety = ll_quantile(numbers, box.count, 0.9, arena);
    box.most = ll_quantile(numbers, box.count, 1, arena);
    return box;
}

static void put_box(struct ll_sheet *sheet, const char *family, const char *of, const struct box *box)
{
    ll_put_text(sheet, family);
    ll_put_text(sheet, of);
    ll_put_number(sheet, (double)box->count);
    for (int i = 0; i < PERCENTILES; i++)
        ll_put_number(sheet, box->at[i]);
    ll_put_number(sheet, box->ninety);
    ll_put_number(sheet, box->most);
}

/* Real convolutional networks, with what the paper says of them. */
#define LL_REAL(word, model_name, samples)                                                                   \
    {                                                                                                        \
        .name = word, .doc = word, .model = model_name, .axes = { {"batch", {samples}} }                     \
    }
static const struct ll_family real[] = {
    LL_REAL("DenseNet-121", "densenet", 256), LL_REAL("ResNet-50", "resnet_v1", 256),
    LL_REAL("MobileNet", "mobilenet", 256), LL_REAL("SqueezeNet", "squeezenet", 256),
    LL_REAL("RetinaNet", "retinanet", 8)};
static const char *const real_published[] = {"3", "4.2 and 6.2", "between 3 and 6.8", "6.8",
                                             "between 3 and 6.8"};
enum { REAL = sizeof real / sizeof *real };

static void plan_all(struct ll_study_plan *plan)
{
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++)
        ll_paradnn_plan(plan, (enum ll_paradnn_family)f);
    for (size_t i = 0; i < REAL; i++)
        ll_study_plan_survey(plan, &(struct ll_survey){&real[i], ll_paradnn_platforms, LL_PARADNN_V100 + 1});
}

/* Ranks 2, 9, 50, 91 and 98 of 0, 1, ..., 100 are these numbers. */
static void judge_percentiles(struct ll_arena *arena, struct ll_outcome *outcome)
{
    double numbers[101];
    bool right = true;
    for (int i = 0; i <= 100; i++)
        numbers[i] = 100 - i;
    struct box box = box_of(numbers, 101, arena);
    for (int i = 0; i < PERCENTILES; i++)
        right = right && fabs(box.at[i] - percentiles[i]) < 1e-12;
    ll_holds(outcome, right, right ? "2, 9, 50, 91, 98" : "others", "2, 9, 50, 91, 98",
             "percentiles of the whole numbers from 0 to 100");
}

/* A box for each family; NULL where the family is missing. */
struct drawn {
    const char *names[LL_PARADNN_FAMILIES];
    struct ll_five five[LL_PARADNN_FAMILIES];
    size_t count;
};

static void add_drawn(struct drawn *drawn, const char *name, const struct box *box)
{
    struct ll_five *five = &drawn->five[drawn->count];
    drawn->names[drawn->count++] = name;
    for (int i = 0; i < PERCENTILES; i++)
        five->at[i] = box->at[i];
}

static void draw(const struct drawn *left, const struct drawn *right, struct ll_outcome *outcome)
{
    const struct ll_page page = {"Families as boxes: percentiles 2, 9, 50, 91, 98",
                                 "Boxes of speed-ups by family, and of utilization by platform.",
                                 2,
                                 2,
                                 560,
                                 380};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL,
                       "Left, examples a second of a TPU v2 over those of a V100; right, utilization "
                       "of recurrent networks. Boxes from the 9th to the 91st percentile, whiskers from "
                       "the 2nd to the 98th.")};
    ll_page_open(&svg, &page);
    ll_draw_boxes(&svg, ll_page_panel(&page, 0),
                  &(struct ll_boxes){.title = "TPU v2 over V100",
                                     .y_label = "times as many examples a second",
                                     .names = left->names,
                                     .boxes = left->five,
                                     .count = left->count,
                                     .log = true});
    ll_draw_boxes(&svg, ll_page_panel(&page, 1),
                  &(struct ll_boxes){.title = "Utilization of recurrent networks",
                                     .y_label = "% of peak",
                                     .names = right->names,
                                     .boxes = right->five,
                                     .count = right->count});
    ll_svg_close(&svg);
}

/* Real networks follow the family: each lies between the whiskers of the convolutional ones. */
static void judge_real(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_survey_result *family = ll_paradnn_survey(evidence, LL_PARADNN_BOTTLENECK);
    double *speedup =
        family ? ll_paradnn_speedup(family, LL_PARADNN_TPU2, LL_PARADNN_V100, evidence->arena) : NULL;
    if (!speedup)
        return;
    const struct box box = box_of(speedup, family->count, evidence->arena);
    for (size_t i = 0; i < REAL; i++) {
        const struct ll_survey_result *survey = ll_evidence_survey(evidence, real[i].name);
        const double *times =
            survey ? ll_paradnn_speedup(survey, LL_PARADNN_TPU2, LL_PARADNN_V100, evidence->arena) : NULL;
        if (times)
            ll_between(outcome, (struct ll_measured_value){times[0], 2, ""}, box.at[0],
                       box.at[PERCENTILES - 1],
                       "%s: TPU v2 over V100, as nearly all CNN of bottlenecks (published: %s)", real[i].doc,
                       real_published[i]);
    }
}

static void judge_speedups(const struct ll_evidence *evidence, struct drawn *drawn,
                           struct ll_outcome *outcome)
{
    struct ll_sheet *sheet =
        sheet_of_boxes(outcome, NULL, "Examples a second of a TPU v2 over those of a V100.");
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_survey_result *survey = ll_paradnn_survey(evidence, (enum ll_paradnn_family)f);
        double *speedup =
            survey ? ll_paradnn_speedup(survey, LL_PARADNN_TPU2, LL_PARADNN_V100, evidence->arena) : NULL;
        if (!speedup)
            continue;
        struct box box = box_of(speedup, survey->count, evidence->arena);
        put_box(sheet, survey->survey.family->doc, "TPU v2 / V100", &box);
        add_drawn(drawn, survey->survey.family->name, &box);
        if (f == LL_PARADNN_BOTTLENECK || f == LL_PARADNN_RESIDUAL)
            ll_at_least(outcome, (struct ll_measured_value){box.at[MEDIAN], 2, ""}, 1,
                        "%s: median of TPU v2 over V100", survey->survey.family->doc);
    }
}

/* The order of three platforms, and the paper's largest utilizations. */
static void judge_recurrent(const struct ll_evidence *evidence, struct drawn *drawn,
                            struct ll_outcome *outcome)
{
    static const enum ll_paradnn_platform platforms[] = {LL_PARADNN_CPU, LL_PARADNN_TPU2, LL_PARADNN_V100};
    static const double published[] = {46, 26, 9};
    const struct ll_survey_result *survey = ll_paradnn_survey(evidence, LL_PARADNN_RNN);
    struct ll_sheet *sheet =
        sheet_of_boxes(outcome, "utilization", "Utilization of recurrent networks, in percent.");
    double medians[3], most[3];
    char text[96];
    for (int p = 0; survey && p < 3; p++) {
        const char *name = ll_paradnn_platforms[platforms[p]].name;
        double *column = ll_paradnn_column(survey, platforms[p], ll_paradnn_utilization, evidence->arena);
        for (uint64_t i = 0; column && i < survey->count; i++)
            column[i] *= 100;
        struct box box = column ? box_of(column, survey->count, evidence->arena) : (struct box){0};
        put_box(sheet, survey->survey.family->doc, name, &box);
        add_drawn(drawn, name, &box);
        medians[p] = box.at[MEDIAN];
        most[p] = box.most;
        ll_snprintf(text, sizeof text, "%.1f %%", most[p]);
        char bound[32];
        ll_snprintf(bound, sizeof bound, "%s%.0f %%", p ? "below " : "up to ", published[p]);
        ll_inform(outcome, text, bound, "RNN on %s: the most of its peak", name);
    }
    if (!survey)
        return;
    ll_snprintf(text, sizeof text, "%.2f, %.2f, %.2f %%", medians[0], medians[1], medians[2]);
    ll_holds(outcome, medians[0] > medians[1] && medians[1] > medians[2], text, "falling",
             "RNN: median utilization of Skylake, TPU v2 and V100");
}

static void judge_P11(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct drawn speedups = {.count = 0}, utilizations = {.count = 0};
    judge_percentiles(evidence->arena, outcome);
    judge_speedups(evidence, &speedups, outcome);
    judge_recurrent(evidence, &utilizations, outcome);
    judge_real(evidence, outcome);
    ll_note(outcome,
            "Real networks run the same here on both platforms; in the paper their GPU code is another "
            "one than the TPU's, so its numbers stand beside ours without being judged. They have "
            "batches of 256, RetinaNet of 8, which fit into the V100.");
    if (speedups.count && utilizations.count)
        draw(&speedups, &utilizations, outcome);
}

static void plan_P12(struct ll_study_plan *plan)
{
    ll_paradnn_plan(plan, LL_PARADNN_FC);
    ll_paradnn_plan(plan, LL_PARADNN_BOTTLENECK);
    ll_paradnn_plan(plan, LL_PARADNN_RESIDUAL);
}

static void draw_P12(const struct drawn *drawn, struct ll_outcome *outcome)
{
    const struct ll_page page = {"bf16 over f32", "A box for each family.", 1, 1, 560, 380};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL,
                       "Examples a second of a TPU v2 in bf16 over those in f32. Boxes from the "
                       "9th to the 91st percentile, whiskers from the 2nd to the 98th.")};
    ll_page_open(&svg, &page);
    ll_draw_boxes(&svg, ll_page_panel(&page, 0),
                  &(struct ll_boxes){.y_label = "times as many examples a second",
                                     .names = drawn->names,
                                     .boxes = drawn->five,
                                     .count = drawn->count});
    ll_svg_close(&svg);
}

static void judge_P12(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct drawn drawn = {.count = 0};
    static const enum ll_paradnn_family families[] = {LL_PARADNN_FC, LL_PARADNN_BOTTLENECK,
                                                      LL_PARADNN_RESIDUAL};
    static const char *const published[] = {"1.8", "1.8", "1.3"};
    struct ll_sheet *sheet =
        sheet_of_boxes(outcome, NULL, "Examples a second of a TPU v2 in bf16 over those in f32.");
    for (int i = 0; i < 3; i++) {
        const struct ll_survey_result *survey = ll_paradnn_survey(evidence, families[i]);
        double *speedup =
            survey ? ll_paradnn_speedup(survey, LL_PARADNN_TPU2, LL_PARADNN_TPU2_F32, evidence->arena) : NULL;
        if (!speedup)
            continue;
        struct box box = box_of(speedup, survey->count, evidence->arena);
        put_box(sheet, survey->survey.family->doc, "bf16 / f32", &box);
        add_drawn(&drawn, survey->survey.family->name, &box);
        ll_between(outcome, (struct ll_measured_value){box.ninety, 2, ""}, 1.3, 2.0,
                   "%s: 90th percentile of bf16 over f32 (published: %s)", survey->survey.family->doc,
                   published[i]);
    }
    ll_inform(outcome, "not simulated",
              "7 (FC), 1.5 (residual), 2.5 (bottleneck), 9.7 (RNN), 6.3 (LSTM, GRU)",
              "versions of TensorFlow from March to November 2018 (221 days, the paper says 222): 90th "
              "percentiles");
    if (drawn.count)
        draw_P12(&drawn, outcome);
}

const struct ll_study ll_study_P11 = {
    .id = "P11",
    .paper = "ParaDnn, figure 11",
    .title = "Families as boxes",
    .doc = "CNN are faster on the TPU, RNN use a small part of any platform's peak, most of the CPU's and "
           "least of the "
           "GPU's.",
    .plan = plan_all,
    .judge = judge_P11,
};

const struct ll_study ll_study_P12 = {
    .id = "P12",
    .paper = "ParaDnn, figure 12",
    .title = "bf16 over f32",
    .doc =
        "What the software's versions gained, which is not simulated, and what bf16 gains over f32 on a TPU.",
    .plan = plan_P12,
    .judge = judge_P12,
};
