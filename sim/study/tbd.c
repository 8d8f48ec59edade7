/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/tbd.h"

#include "sim/report/figure/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two steps: the second finds its input loaded. */
enum { STEPS = 2, PANEL_COLUMNS = 3 };

/* clang-format off */
/* The mini-batches of figures 4 to 6, whose axes cannot be read exactly: from the smallest worth showing to
 * the largest that the text mentions, or the default of the suite's script. A sentence of Transformer has 32
 * words, so 64 sentences are the script's 2048 words. */
const struct ll_tbd_workload ll_tbd[LL_TBD_COUNT] = {
    [LL_TBD_RESNET] = {"ResNet-50", "resnet", LL_TBD_CONVOLUTIONAL, {4, 8, 16, 32}, {{0}}},
    [LL_TBD_INCEPTION] = {"Inception-v3", "inception_v3", LL_TBD_CONVOLUTIONAL, {4, 8, 16, 32}, {{0}}},
    [LL_TBD_NMT] = {"NMT", "nmt", LL_TBD_RECURRENT, {4, 8, 16, 32, 64, 128}, {{0}}},
    [LL_TBD_SOCKEYE] = {"Sockeye", "sockeye", LL_TBD_RECURRENT, {4, 8, 16, 32, 64}, {{0}}},
    [LL_TBD_TRANSFORMER] = {"Transformer", "transformer", LL_TBD_ATTENTION, {2, 8, 16, 32, 64}, {{0}}},
    [LL_TBD_FASTER_RCNN] = {"Faster R-CNN", "faster_rcnn", LL_TBD_CONVOLUTIONAL, {1}, {{0}}},
    [LL_TBD_DEEP_SPEECH] = {"Deep Speech 2", "deepspeech2", LL_TBD_RECURRENT, {1, 2, 4}, {{"stepwise", "1"}}},
    [LL_TBD_WGAN] = {"WGAN", "wgan", LL_TBD_CONVOLUTIONAL, {4, 16, 64}, {{0}}},
    [LL_TBD_A3C] = {"A3C", "a3c", LL_TBD_CONVOLUTIONAL, {8, 32, 128}, {{0}}},
};
/* clang-format on */

size_t ll_tbd_batch_count(enum ll_tbd_row row)
{
    size_t count = 0;
    while (count < LL_TBD_MOST_BATCHES && ll_tbd[row].batches[count])
        count++;
    return count;
}

void ll_tbd_plan_machine(struct ll_study_plan *plan, const char *target)
{
    bool titan = strcmp(target, LL_TBD_TITAN) == 0;
    ll_study_plan_target(
        plan, &(struct ll_target){.name = target, .machine = titan ? "titan_xp_tbd" : "quadro_p4000_tbd"});
}

static const char *variant_of(uint64_t batch, struct ll_arena *arena)
{
    const char *variant = ll_format(arena, "batch %" PRIu64, batch);
    return variant ? variant : "";
}

void ll_tbd_plan_batch(struct ll_study_plan *plan, enum ll_tbd_row row, uint64_t batch)
{
    ll_tbd_plan_batch_with(plan, row, batch, (struct ll_study_setting){0});
}

void ll_tbd_plan_batch_with(struct ll_study_plan *plan, enum ll_tbd_row row, uint64_t batch,
                            struct ll_study_setting setting)
{
    size_t count = 0;
    struct ll_recording recording = {.row = ll_tbd[row].name,
                                     .variant = variant_of(batch, &plan->arena),
                                     .model = ll_tbd[row].model,
                                     .train = true,
                                     .dry_run = true,
                                     .batch = batch,
                                     .steps = STEPS};
    memcpy(recording.settings, ll_tbd[row].settings, sizeof recording.settings);
    while (recording.settings[count].key)
        count++;
    recording.settings[count] = setting;
    plan->failed |= recording.variant[0] == 0;
    ll_study_plan_recording(plan, &recording);
}

void ll_tbd_plan_sweep(struct ll_study_plan *plan, enum ll_tbd_row row)
{
    for (size_t i = 0; i < ll_tbd_batch_count(row); i++)
        ll_tbd_plan_batch(plan, row, ll_tbd[row].batches[i]);
}

const struct ll_trace *ll_tbd_trace(const struct ll_evidence *evidence, enum ll_tbd_row row, uint64_t batch)
{
    return ll_evidence_trace(evidence, ll_tbd[row].name, variant_of(batch, evidence->arena));
}

const struct ll_result *ll_tbd_replay(const struct ll_evidence *evidence, enum ll_tbd_row row, uint64_t batch,
                                      const char *target)
{
    return ll_evidence_replay(evidence, ll_tbd[row].name, variant_of(batch, evidence->arena), target);
}

static struct ll_tbd_sweep replay_sweep(const struct ll_evidence *evidence, enum ll_tbd_row row,
                                        const char *target)
{
    struct ll_tbd_sweep sweep = {.row = row};
    for (size_t i = 0; i < ll_tbd_batch_count(row); i++) {
        const struct ll_result *result = ll_tbd_replay(evidence, row, ll_tbd[row].batches[i], target);
        if (!result)
            continue;
        sweep.batches[sweep.count] = (double)ll_tbd[row].batches[i];
        sweep.metrics[sweep.count] = ll_metrics_of(result);
        sweep.fits[sweep.count++] = result->fits;
    }
    return sweep;
}

const struct ll_metrics *ll_tbd_last(const struct ll_tbd_sweep *sweep)
{
    return &sweep->metrics[sweep->count ? sweep->count - 1 : 0];
}

double ll_tbd_value(const struct ll_metrics *metrics, enum ll_tbd_metric metric)
{
    return metric == LL_TBD_THROUGHPUT ? metrics->throughput_Hz
           : metric == LL_TBD_DEVICE   ? 100 * metrics->device_utilization
                                       : 100 * metrics->fp32_utilization;
}

double ll_tbd_gain(const struct ll_tbd_sweep *sweep, double from, double to)
{
    double before = NAN, after = NAN;
    for (size_t i = 0; i < sweep->count; i++) {
        before = sweep->batches[i] == from ? sweep->metrics[i].throughput_Hz : before;
        after = sweep->batches[i] == to ? sweep->metrics[i].throughput_Hz : after;
    }
    return after / before - 1;
}

double ll_tbd_exponent(const struct ll_tbd_sweep *sweep)
{
    double least = NAN;
    for (size_t i = 1; i < sweep->count; i++)
        least = fmin(least, log2(sweep->metrics[i].throughput_Hz / sweep->metrics[i - 1].throughput_Hz) /
                                log2(sweep->batches[i] / sweep->batches[i - 1]));
    return least;
}

void ll_tbd_tabulate(const struct ll_tbd_sweep *sweeps, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"mini-batch", 0},          {"throughput (1/s)", 2},
        {"of", LL_TEXT_COLUMN},       {"GPU utilization (%)", 1}, {"FP32 utilization (%)", 1},
        {"CPU utilization (%)", 2},   {"fits", LL_TEXT_COLUMN}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Training on a simulated Quadro P4000, by mini-batch.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        for (size_t i = 0; i < sweeps[row].count; i++) {
            const struct ll_metrics *metrics = &sweeps[row].metrics[i];
            ll_put_text(sheet, ll_tbd[row].name);
            ll_put_number(sheet, sweeps[row].batches[i]);
            ll_put_number(sheet, metrics->throughput_Hz);
            ll_put_text(sheet, metrics->unit);
            ll_put_number(sheet, 100 * metrics->device_utilization);
            ll_put_number(sheet, 100 * metrics->fp32_utilization);
            ll_put_number(sheet, 100 * metrics->cpu_utilization);
            ll_put_text(sheet, sweeps[row].fits[i] ? "yes" : "no");
        }
}

static void draw_panel(struct ll_svg *svg, struct ll_rect box, const struct ll_tbd_sweep *sweep,
                       enum ll_tbd_metric metric)
{
    double values[LL_TBD_MOST_BATCHES];
    char label[64];
    for (size_t i = 0; i < sweep->count; i++)
        values[i] = ll_tbd_value(&sweep->metrics[i], metric);
    const struct ll_curve curve = {NULL, sweep->batches, values, sweep->count};
    snprintf(label, sizeof label, "%s/s", ll_tbd_last(sweep)->unit);
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.title = ll_tbd[sweep->row].name,
                                     .x_label = "mini-batch",
                                     .y_label = metric == LL_TBD_THROUGHPUT ? label : "%",
                                     .curves = &curve,
                                     .curve_count = 1,
                                     .joined = sweep->count > 1,
                                     .y_high = metric == LL_TBD_THROUGHPUT ? 0 : 100});
}

void ll_tbd_draw(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric, struct ll_outcome *outcome)
{
    static const char *const titles[] = {"Throughput by mini-batch", "GPU utilization by mini-batch",
                                         "FP32 utilization by mini-batch"};
    size_t shown = 0, panel = 0;
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        shown += sweeps[row].count > 0;
    if (shown == 0)
        return;
    struct ll_svg svg = {ll_drawing_new(
        outcome, NULL,
        "Training on a simulated Quadro P4000: a panel for each workload, over mini-batches.")};
    const struct ll_page page = {titles[metric],
                                 "A panel for each workload, a mark for each mini-batch.",
                                 shown,
                                 PANEL_COLUMNS,
                                 300,
                                 230};
    ll_page_open(&svg, &page);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        if (sweeps[row].count > 0)
            draw_panel(&svg, ll_page_panel(&page, panel++), &sweeps[row], metric);
    ll_svg_close(&svg);
}

void ll_tbd_judge_rising(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                         struct ll_outcome *outcome)
{
    static const char *const names[] = {"throughput", "GPU utilization", "FP32 utilization"};
    static const double least_gain = 0.998; /* rounding of waves and the first step's input */
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        const struct ll_tbd_sweep *sweep = &sweeps[row];
        double least = INFINITY;
        for (size_t i = 1; i < sweep->count; i++)
            least = fmin(least, ll_tbd_value(&sweep->metrics[i], metric) /
                                    ll_tbd_value(&sweep->metrics[i - 1], metric));
        if (sweep->count > 1)
            ll_at_least(outcome, (struct ll_measured_value){least, 3, ""}, least_gain,
                        "%s: %s rises with the mini-batch; the least that a larger one gains, times",
                        ll_tbd[row].name, names[metric]);
    }
}

void ll_tbd_note(const struct ll_tbd_sweep *sweeps, struct ll_outcome *outcome)
{
    ll_note(
        outcome,
        "Steps are recorded dry and simulated on a Quadro P4000 under a framework that starts an op for 13 "
        "us and runs ahead of the device (stacks/framework_2017): fitted on what NMT gains from 64 to 128 "
        "sentences; nothing else is fitted on TBD. Of the host one core starts ops; what the suite's "
        "input pipelines take is not simulated, so CPU utilization is less than the paper's.");
    ll_note(
        outcome,
        "The mini-batches of the figures are not in the paper's text; those shown go from few to "
        "the largest it speaks of. A sentence of Transformer has 32 words, a step of WGAN is a "
        "generator update and five of the critic, one of A3C four turns of each game, learned "
        "from: the five forward passes with which these are played, a third of all FLOPs, come before it.");
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        for (size_t i = 0; i < sweeps[row].count; i++)
            if (!sweeps[row].fits[i])
                ll_note(outcome,
                        "%s with %g needs more than the card's 8 GB; its time is that of a card with "
                        "room enough.",
                        ll_tbd[row].name, sweeps[row].batches[i]);
}

void ll_tbd_plan_all(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_tbd_plan_sweep(plan, (enum ll_tbd_row)row);
    ll_tbd_plan_machine(plan, LL_TBD_P4000);
}

void ll_tbd_replay_all(const struct ll_evidence *evidence, struct ll_tbd_sweep sweeps[LL_TBD_COUNT])
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        sweeps[row] = replay_sweep(evidence, (enum ll_tbd_row)row, LL_TBD_P4000);
}
