/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a step a TPU waits for its input, by how much there is to compute for an image. */
#include "sim/replay/replay.h"
#include "sim/study/paradnn.h"
#include "sim/study/statistics.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the host is taken to decode: an eighth of 0.8 GB of pixels in bf16 a second, 2,650 images of 224 x
 * 224. */
#define DECODED "100MB/s"

static const struct ll_platform fed[] = {
    {"TPU v2 fed with images", "tpu_v2_paradnn", {{"host.prepare_bandwidth", DECODED}}, "bf16", 8, 1}};

/* Networks as ResNet is one, of other depths and widths, and the real ones of the paper. */
#define LL_IMAGES                                                                                            \
    .model = "paradnn_cnn", .axes = {{"blocks", {1, 2, 3, 4, 5, 6, 7, 8}},                                   \
                                     {"filters", {16, 32, 64}},                                              \
                                     {"image", {224}},                                                       \
                                     {"output", {1000}},                                                     \
                                     {"batch", {1024}}}
#define LL_REAL(word, model_name, samples)                                                                   \
    {                                                                                                        \
        .name = word, .doc = word, .model = model_name, .axes = { {"batch", {samples}} }                     \
    }
enum { BOTTLENECKS, RESIDUALS, RESNET, RETINANET, SQUEEZENET, MOBILENET, DENSENET, FAMILIES };
static const struct ll_family families[FAMILIES] = {
    {.name = "bottlenecks", .doc = "bottlenecks", .fixed = {{"block", "bottleneck"}}, LL_IMAGES},
    {.name = "residuals", .doc = "residual blocks", .fixed = {{"block", "residual"}}, LL_IMAGES},
    LL_REAL("ResNet-50", "resnet_v1", 1024),
    LL_REAL("RetinaNet", "retinanet", 64),
    LL_REAL("SqueezeNet", "squeezenet", 1024),
    LL_REAL("MobileNet", "mobilenet", 1024),
    LL_REAL("DenseNet", "densenet", 1024),
};
enum { MOST_POINTS = 2 * 24 + FAMILIES };

static void plan(struct ll_study_plan *plan)
{
    for (int f = 0; f < FAMILIES; f++)
        ll_study_plan_survey(plan, &(struct ll_survey){&families[f], fed, 1});
}

struct points {
    double work[MOST_POINTS], share[MOST_POINTS], utilization[MOST_POINTS]; /* GFLOP an image; percent */
    size_t count;
};

static double share_of(const struct ll_surveyed *at)
{
    return 1 - at->device_s / at->step_s;
}

/* What input that is there already gains. */
static double gain_of(double share)
{
    return 1 / (1 - share) - 1;
}

static void collect(const struct ll_evidence *evidence, struct points *points, double gains[FAMILIES],
                    struct ll_sheet *sheet)
{
    for (int f = 0; f < FAMILIES; f++) {
        const struct ll_survey_result *survey = ll_evidence_survey(evidence, families[f].name);
        gains[f] = NAN;
        for (uint64_t i = 0; survey && i < survey->count; i++) {
            const struct ll_surveyed *at = ll_surveyed_at(survey, i, 0);
            size_t n = points->count++;
            points->work[n] = at->flops / at->samples * 1e-9;
            points->share[n] = 100 * share_of(at);
            points->utilization[n] = 100 * ll_surveyed_utilization(at);
            gains[f] = gain_of(share_of(at));
            ll_put_text(sheet, families[f].doc);
            ll_put_number(sheet, points->work[n]);
            ll_put_number(sheet, points->share[n]);
            ll_put_number(sheet, points->utilization[n]);
            ll_put_number(sheet, 100 * gains[f]);
        }
    }
}

static void judge_identity(struct ll_outcome *outcome)
{
    static const struct {
        const char *name;
        double share, published;
    } of[] = {{"RetinaNet", 27, 37}, {"ResNet", 25.4, 34}, {"SqueezeNet", 64.3, 180}};
    for (size_t i = 0; i < 3; i++)
        ll_between(outcome, (struct ll_measured_value){100 * gain_of(of[i].share / 100), 1, " %"},
                   of[i].published - 0.5, of[i].published + 0.5,
                   "%s: what a share of %.1f %% says that input that is there gains", of[i].name,
                   of[i].share);
}

static void draw(const struct points *points, struct ll_outcome *outcome)
{
    const struct ll_page page = {
        "Waiting for input", "Infeed share over work, and over utilization.", 2, 2, 520, 380};
    const struct ll_curve work = {NULL, points->work, points->share, points->count};
    const struct ll_curve use = {NULL, points->share, points->utilization, points->count};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL,
                       "Left, the share of a step that waits for input by what there is to compute for "
                       "an image; right, what of the peak is used by that share.")};
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "GFLOP an image",
                                     .y_label = "infeed (% of a step)",
                                     .curves = &work,
                                     .curve_count = 1,
                                     .x_log = true,
                                     .y_high = 100});
    ll_draw_lines(&svg, ll_page_panel(&page, 1),
                  &(struct ll_lines){.x_label = "infeed (% of a step)",
                                     .y_label = "FLOPs (% of peak)",
                                     .curves = &use,
                                     .curve_count = 1,
                                     .x_high = 100});
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"network", LL_TEXT_COLUMN},
                                                       {"GFLOP an image", 2},
                                                       {"infeed (%)", 1},
                                                       {"FLOPs (% of peak)", 1},
                                                       {"gain without (%)", 1}};
    struct points points = {.count = 0};
    double gains[FAMILIES];
    char text[96];
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "Training on a TPU v2 fed with images.", columns, 5);
    collect(evidence, &points, gains, sheet);
    judge_identity(outcome);
    if (points.count == 0)
        return;
    ll_at_most(outcome,
               (struct ll_measured_value){
                   ll_spearman(points.work, points.share, points.count, evidence->arena), 2, ""},
               -0.7, "rank correlation of the infeed share with FLOPs an image (Spearman)");
    ll_snprintf(text, sizeof text, "%.0f, %.0f, %.0f %%", 100 * gains[SQUEEZENET], 100 * gains[RETINANET],
                100 * gains[RESNET]);
    ll_holds(outcome, gains[SQUEEZENET] > gains[RETINANET] && gains[SQUEEZENET] > gains[RESNET], text,
             "the first is the most", "what SqueezeNet, RetinaNet and ResNet-50 gain without preparation");
    ll_inform(outcome, text, "180, 37, 34 %", "these gains as published");
    ll_note(outcome, "What the host decodes is an input of the study, not a prediction: " DECODED
                     " a core, 2,650 images of 224 x 224 a second for the board.");
    draw(&points, outcome);
}

const struct ll_study ll_study_P5 = {
    .id = "P5",
    .paper = "ParaDnn, figure 5",
    .title = "Waiting for input",
    .doc = "The less there is to compute for an image, the more of a step a TPU waits for the host to "
           "prepare it; without "
           "preparing SqueezeNet would be 2.8 times as fast.",
    .plan = plan,
    .judge = judge,
};
