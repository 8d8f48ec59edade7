/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/figure.h"
#include "sim/study/fathom.h"
#include "sim/study/statistics.h"

#include <math.h>
#include <string.h>

enum { CPU, GPU, DEVICES, STEPS = 2 };
static const char *const devices[DEVICES] = {[CPU] = "CPU", [GPU] = "GPU"};

static void plan_row(struct ll_study_plan *plan, const struct ll_fathom_workload *workload, bool train)
{
    struct ll_recording recording = {.row = workload->name,
                                     .variant = train ? "train" : "infer",
                                     .model = workload->model,
                                     .train = train,
                                     .dry_run = true,
                                     .batch = workload->batch,
                                     .steps = STEPS};
    memcpy(recording.settings, workload->full, sizeof recording.settings);
    ll_study_plan_recording(plan, &recording);
}

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        plan_row(plan, &ll_fathom[i], true);
        plan_row(plan, &ll_fathom[i], false);
    }
    ll_study_plan_target(plan, &(struct ll_target){.name = devices[CPU], .machine = "i7_6700k_sse"});
    ll_study_plan_target(plan, &(struct ll_target){.name = devices[GPU], .machine = "gtx_960"});
}

/* Simulated times of a step; the workloads that are there stand one after the other. */
struct modes {
    const char *names[LL_FATHOM_COUNT];
    enum ll_fathom_row rows[LL_FATHOM_COUNT];
    size_t count;
    double train_s[DEVICES][LL_FATHOM_COUNT], infer_s[DEVICES][LL_FATHOM_COUNT],
        ratio[DEVICES][LL_FATHOM_COUNT];
    double peak_bytes[LL_FATHOM_COUNT];
    bool fits[LL_FATHOM_COUNT]; /* when training, on the GPU */
};

static void replay_row(const struct ll_evidence *evidence, enum ll_fathom_row row, struct modes *modes)
{
    size_t i = modes->count;
    for (size_t d = 0; d < DEVICES; d++) {
        const struct ll_result *train =
            ll_evidence_replay(evidence, ll_fathom[row].name, "train", devices[d]);
        const struct ll_result *infer =
            ll_evidence_replay(evidence, ll_fathom[row].name, "infer", devices[d]);
        if (!train || !infer)
            return;
        modes->train_s[d][i] = train->time_s;
        modes->infer_s[d][i] = infer->time_s;
        modes->ratio[d][i] = train->time_s / infer->time_s;
        modes->peak_bytes[i] = (double)train->prepared->footprint.peak_bytes;
        modes->fits[i] = train->fits;
    }
    modes->names[i] = ll_fathom[row].name;
    modes->rows[i] = row;
    modes->count++;
}

static void tabulate(const struct modes *modes, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"workload", LL_TEXT_COLUMN},   {"CPU training (ms)", 2},     {"CPU inference (ms)", 2},
        {"GPU training (ms)", 2},       {"GPU inference (ms)", 2},    {"training/inference, CPU", 2},
        {"training/inference, GPU", 2}, {"memory, training (GiB)", 2}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Simulated time of a step.", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < modes->count; i++) {
        ll_put_text(sheet, modes->names[i]);
        for (size_t d = 0; d < DEVICES; d++) {
            ll_put_number(sheet, 1e3 * modes->train_s[d][i]);
            ll_put_number(sheet, 1e3 * modes->infer_s[d][i]);
        }
        for (size_t d = 0; d < DEVICES; d++)
            ll_put_number(sheet, modes->ratio[d][i]);
        ll_put_number(sheet, modes->peak_bytes[i] / 0x1p30);
    }
}

static void draw(const struct modes *modes, struct ll_outcome *outcome)
{
    enum { SERIES = 2 * DEVICES };
    static const char *const series[SERIES] = {"training, CPU", "inference, CPU", "training, GPU",
                                               "inference, GPU"};
    double values[LL_FATHOM_COUNT * SERIES];
    for (size_t i = 0; i < modes->count; i++)
        for (size_t d = 0; d < DEVICES; d++) {
            values[i * SERIES + 2 * d] = modes->train_s[d][i] / modes->train_s[CPU][i];
            values[i * SERIES + 2 * d + 1] = modes->infer_s[d][i] / modes->train_s[CPU][i];
        }
    struct ll_svg svg = {ll_drawing_new(
        outcome, NULL,
        "Simulated time of a step over that of training on the CPU (i7-6700K; GPU: GTX 960).")};
    const struct ll_page page = {"Training and inference, CPU and GPU",
                                 "Groups of four bars for each workload, on a logarithmic scale.",
                                 1,
                                 1,
                                 760,
                                 380};
    ll_page_open(&svg, &page);
    ll_draw_bars(&svg, ll_page_panel(&page, 0),
                 &(struct ll_bars){.y_label = "time / training on the CPU",
                                   .groups = modes->names,
                                   .group_count = modes->count,
                                   .series = series,
                                   .series_count = SERIES,
                                   .values = values,
                                   .log = true});
    ll_svg_close(&svg);
}

static bool is_convolutional(enum ll_fathom_row row)
{
    return row == LL_RESIDUAL || row == LL_VGG || row == LL_ALEXNET || row == LL_DEEPQ;
}

static void judge_row(const struct modes *modes, size_t i, struct ll_outcome *outcome)
{
    const char *name = modes->names[i];
    bool profits = is_convolutional(modes->rows[i]) || modes->rows[i] == LL_SPEECH;
    for (size_t d = 0; d < DEVICES; d++)
        ll_at_least(outcome, (struct ll_measured_value){modes->ratio[d][i], 2, ""}, 1,
                    "%s on the %s: training over inference", name, devices[d]);
    if (profits)
        ll_at_most(outcome,
                   (struct ll_measured_value){modes->train_s[GPU][i] / modes->train_s[CPU][i], 2, ""}, 1,
                   "%s: training on the GPU over training on the CPU", name);
    ll_between(outcome, (struct ll_measured_value){modes->ratio[CPU][i], 2, ""}, 1.5, 4,
               "%s: what training costs beyond inference", name);
}

static void judge_all(const struct modes *modes, struct ll_arena *arena, struct ll_outcome *outcome)
{
    double conv[LL_FATHOM_COUNT], others[LL_FATHOM_COUNT];
    size_t conv_count = 0, other_count = 0;
    for (size_t i = 0; i < modes->count; i++)
        if (is_convolutional(modes->rows[i]))
            conv[conv_count++] = modes->ratio[CPU][i];
        else
            others[other_count++] = modes->ratio[CPU][i];
    if (conv_count == 0 || other_count == 0)
        return;
    double theirs = ll_quantile(others, other_count, 0.5, arena);
    ll_at_least(outcome, (struct ll_measured_value){ll_quantile(conv, conv_count, 0.5, arena), 2, ""}, theirs,
                "median ratio of convolutional networks, at least that of the others");
    ll_at_least(outcome,
                (struct ll_measured_value){
                    ll_spearman(modes->ratio[CPU], modes->ratio[GPU], modes->count, arena), 3, ""},
                0.6, "rank correlation of the ratios on CPU and GPU");
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct modes modes = {.count = 0};
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        replay_row(evidence, (enum ll_fathom_row)row, &modes);
    tabulate(&modes, outcome);
    draw(&modes, outcome);
    for (size_t i = 0; i < modes.count; i++)
        judge_row(&modes, i, outcome);
    judge_all(&modes, evidence->arena, outcome);
    for (size_t i = 0; i < modes.count; i++)
        if (!modes.fits[i])
            ll_note(outcome,
                    "%s: training needs %.1f GiB, more than the 2 GB of the GTX 960; its time there is that "
                    "of a card "
                    "with room enough.",
                    modes.names[i], modes.peak_bytes[i] / 0x1p30);
    ll_note(
        outcome,
        "seq2seq infers as Fathom's code does: word by word over the whole vocabulary of 40000, all once "
        "more for "
        "the result, while training tells the right word from 512 others. That is more work than training.");
    ll_note(
        outcome,
        "The paper prints no numbers for this figure; the bounds stand for its sentences. Both machines are "
        "simulated, full batches, nothing fitted.");
}

const struct ll_study ll_study_F5 = {
    .id = "F5",
    .paper = "Fathom, figure 5",
    .title = "Training and inference on CPU and GPU",
    .doc = "Training is more expensive than inference everywhere, variably so; convolutional networks pay "
           "slightly more for it, "
           "and the relation is strongly correlated between CPU and GPU.",
    .plan = plan,
    .judge = judge,
};
