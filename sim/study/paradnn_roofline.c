/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines of a TPU v2: families as points, classes of ops by their intensity, and how much of a step waits
 * for memory. */
#include "sim/study/paradnn.h"

#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

/* Real networks on the board of eight cores. */
#define LL_REAL(word, model_name, samples)                                                                   \
    {                                                                                                        \
        .name = word, .doc = word, .model = model_name, .axes = { {"batch", {samples}} }                     \
    }
enum { TRANSFORMER, RESNET, REAL };
static const struct ll_family real[REAL] = {LL_REAL("Transformer", "transformer", 512),
                                            LL_REAL("ResNet-50, board", "resnet_v1", 1024)};

/* A step of a core, for its ops. */
#define STEP_ROW "fully connected, 8 layers of 2048"
#define CORE "TPU v2 core"

static void plan(struct ll_study_plan *plan)
{
    ll_paradnn_plan_main(plan);
    ll_study_plan_target(plan, &(struct ll_target){.name = CORE, .machine = "tpu_v2_paradnn"});
    ll_study_plan_recording(plan, &(struct ll_recording){.row = STEP_ROW,
                                                         .variant = "training",
                                                         .model = "paradnn_fc",
                                                         .settings = {{"nodes", "2048"}, {"dtype", "bf16"}},
                                                         .train = true,
                                                         .dry_run = true,
                                                         .batch = 256,
                                                         .steps = 2});
    for (int i = 0; i < REAL; i++)
        ll_study_plan_survey(plan, &(struct ll_survey){&real[i], &ll_paradnn_platforms[LL_PARADNN_TPU2], 1});
}

/* FLOPs a byte of all ops of a kind in the simulated step; NaN where there are none. */
static double intensity_of(const struct ll_result *step, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < step->kind_count; i++)
        if (step->kinds[i].op_kind == kind)
            return step->kinds[i].flops / step->kinds[i].bytes;
    return NAN;
}

static void inform_intensity(double value, const char *published, const char *claim,
                             struct ll_outcome *outcome)
{
    char text[32];
    ll_snprintf(text, sizeof text, "%.3f FLOP/B", value);
    ll_inform(outcome, text, published, "%s", claim);
}

/* Against op rows of the public traces (Emma926/paradnn 60a25ff, scripts/data; medians). */
static void judge_intensities(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_result *step = ll_evidence_replay(evidence, STEP_ROW, "training", CORE);
    if (!step)
        return;
    const double rmsprop = intensity_of(step, LL_OP_RMSPROP);
    ll_between(outcome, (struct ll_measured_value){rmsprop, 3, " FLOP/B"}, 0.85 * 0.083, 1.15 * 0.083,
               "RMSProp in a simulated step (median of public traces, as non-fusion elementwise: 0.083)");
    inform_intensity(rmsprop, "0.321, loop fusion", "the same beside another class of the traces", outcome);
    inform_intensity(intensity_of(step, LL_OP_MATMUL), "12 to 771, median 63.8, output fusion",
                     "products of that step", outcome);
    ll_inform(
        outcome, "no FLOPs are counted", "0.125, cross-replica-sum",
        "adding up gradients: an exchange is bytes and time here (an addition for each number of 4 bytes "
        "that comes and goes would be 1 / 8)");
    ll_note(outcome,
            "RMSProp is one op here, 9 FLOPs for 7 numbers of 4 bytes; under its name public traces have "
            "ops of one FLOP each, and the intensity of ours under loop fusion.");
}

/* The mean intensity of each cell of nodes and batch; NULL when memory ran out. */
static const double *cell_intensities(const struct ll_survey_result *fc, size_t nodes, size_t batch,
                                      struct ll_arena *arena)
{
    double *intensity = ll_alloc(arena, fc->count, sizeof *intensity);
    for (uint64_t i = 0; intensity && i < fc->count; i++) {
        const struct ll_surveyed *at = ll_surveyed_at(fc, i, LL_PARADNN_TPU2);
        intensity[i] = at->simulated ? at->flops / at->bytes : NAN;
    }
    return intensity ? ll_paradnn_cells(fc, intensity, nodes, batch, arena) : NULL;
}

/* Cells in which all points, on average, have more FLOPs a byte than the ridge, against the paper's sentence:
 * those of both over those of either. (Most cells are in neither, so that counting those that agree would
 * praise a board on which nothing is compute-bound.) A region that is one step of an axis larger or smaller
 * than the paper's six cells shares half of them or more; a cell of which nothing is known is not in ours. */
static void judge_boundary(const struct ll_survey_result *fc, struct ll_arena *arena,
                           struct ll_outcome *outcome)
{
    const struct ll_family *family = fc->survey.family;
    size_t nodes = ll_family_axis(family, "nodes"), batch = ll_family_axis(family, "batch");
    const double *cells = cell_intensities(fc, nodes, batch, arena);
    size_t rows = ll_family_axis_values(&family->axes[nodes]),
           columns = ll_family_axis_values(&family->axes[batch]);
    unsigned ours = 0, theirs = 0, both = 0;
    char found[64], published[32];
    for (size_t i = 0; cells && i < rows * columns; i++) {
        bool computes = cells[i] > 180.0 / 2.4;
        bool said = family->axes[nodes].values[i / columns] >= 2048 &&
                    family->axes[batch].values[i % columns] >= 8192;
        ours += computes;
        theirs += said;
        both += computes && said;
    }
    ll_at_least(
        outcome, (struct ll_measured_value){100.0 * both / (ours + theirs - both), 1, " %"}, 50,
        "cells of nodes and batch that are compute-bound by the ridge of 75 FLOP/B and in the paper (from "
        "2k nodes and a batch of 8k on), of those that are either");
    ll_snprintf(found, sizeof found, "%u, of them %u of the paper's", ours, both);
    ll_snprintf(published, sizeof published, "%u of %zu", theirs, rows * columns);
    ll_inform(outcome, found, published, "compute-bound cells of nodes and batch");
}

static double memory_share(const struct ll_evidence *evidence, int which)
{
    const struct ll_survey_result *survey = ll_evidence_survey(evidence, real[which].name);
    const struct ll_surveyed *at = survey ? ll_surveyed_at(survey, 0, 0) : NULL;
    return at ? 100 * at->memory_s / at->device_s : NAN;
}

static void judge_convolutional(const struct ll_survey_result *cnn, struct ll_outcome *outcome)
{
    uint64_t bound = 0;
    char text[48];
    for (uint64_t i = 0; i < cnn->count; i++) {
        const struct ll_surveyed *at = ll_surveyed_at(cnn, i, LL_PARADNN_TPU2);
        bound += at->flops / at->bytes < 180.0 / 2.4;
    }
    ll_snprintf(text, sizeof text, "%.0f %%", 100 * (double)bound / (double)cnn->count);
    ll_inform(outcome, text, "the majority", "CNN left of the ridge");
}

static size_t add_points(const struct ll_survey_result *survey, size_t series, struct ll_work_point *points)
{
    for (uint64_t i = 0; i < survey->count; i++) {
        const struct ll_surveyed *at = ll_surveyed_at(survey, i, LL_PARADNN_TPU2);
        points[i] = (struct ll_work_point){.intensity = at->flops / at->bytes,
                                           .rate = at->flops / at->step_s,
                                           .share = 0.3 / (double)survey->count,
                                           .series = series,
                                           .name = ""};
    }
    return survey->count;
}

static void draw(const struct ll_survey_result *const *surveys, struct ll_arena *arena,
                 struct ll_outcome *outcome)
{
    static const char *const series[] = {"fully connected", "CNN", "RNN"};
    static const struct ll_roof memory = {"HBM", 2400e9}, unit = {"bf16", 180e12};
    const struct ll_page page = {
        "Families under the roof of a TPU v2", "Three families as points.", 1, 1, 760, 520};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL, "Each disc a network: FLOPs a second over FLOPs a byte, simulated.")};
    size_t count = 0;
    struct ll_work_point *points =
        ll_alloc(arena, surveys[0]->count + surveys[1]->count + surveys[2]->count, sizeof *points);
    for (size_t i = 0; points && i < 3; i++)
        count += add_points(surveys[i], i, points + count);
    ll_page_open(&svg, &page);
    ll_draw_roofline(&svg, ll_page_panel(&page, 0),
                     &(struct ll_roofline){.memories = &memory,
                                           .units = &unit,
                                           .memory_count = 1,
                                           .unit_count = 1,
                                           .points = points,
                                           .point_count = count,
                                           .series = series,
                                           .series_count = 3});
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"network", LL_TEXT_COLUMN},
                                                       {"waits for memory (%)", 1}};
    const struct ll_survey_result *surveys[] = {ll_paradnn_survey(evidence, LL_PARADNN_FC),
                                                ll_paradnn_survey(evidence, LL_PARADNN_BOTTLENECK),
                                                ll_paradnn_survey(evidence, LL_PARADNN_RNN)};
    struct ll_sheet *sheet = ll_sheet_new(
        outcome, NULL, "The share of a step in ops that are no products and wait for memory.", columns, 2);
    double transformer = memory_share(evidence, TRANSFORMER), resnet = memory_share(evidence, RESNET);
    for (int i = 0; i < REAL; i++) {
        ll_put_text(sheet, real[i].doc);
        ll_put_number(sheet, i == TRANSFORMER ? transformer : resnet);
    }
    judge_intensities(evidence, outcome);
    if (surveys[0])
        judge_boundary(surveys[0], evidence->arena, outcome);
    if (surveys[1])
        judge_convolutional(surveys[1], outcome);
    if (surveys[0] && surveys[1] && surveys[2])
        draw(surveys, evidence->arena, outcome);
    if (isnan(transformer) || isnan(resnet))
        return;
    ll_between(outcome, (struct ll_measured_value){transformer, 1, " %"}, 10, 35,
               "Transformer: what waits for memory and is no product (published: 19.9 %%)");
    ll_between(outcome, (struct ll_measured_value){resnet, 1, " %"}, 7, 25,
               "ResNet-50: the same (published: 13 %%)");
    ll_at_least(outcome, (struct ll_measured_value){transformer - resnet, 1, " %"}, 0,
                "how much more it is in Transformer");
}

const struct ll_study ll_study_P3 = {
    .id = "P3",
    .paper = "ParaDnn, figure 3 and operation tables",
    .title = "Rooflines of a TPU v2",
    .doc = "Fully connected networks are compute-bound from 2k nodes and a batch of 8k on, most CNN wait for "
           "memory; of "
           "their ops only large products are compute-bound.",
    .plan = plan,
    .judge = judge,
};
