/* SPDX-License-Identifier: Apache-2.0 */
/* TBD, figures 5 and 6: how busy the GPU is, and how much of its arithmetic is used while it is busy. */
#include <math.h>
#include <string.h>

#include "sim/study/tbd.h"
#include "tracer/base/str.h"

static void plan(struct ll_study_plan *plan)
{
    ll_tbd_plan_sweeps(plan);
}

static const double busy = 90; /* percent that convolutional networks reach at least */

/* The extreme of a metric at the largest batch among some workloads, and whose it is. */
struct extreme {
    double value;
    char name[LL_TBD_LABEL]; /* empty: there are none */
};

static struct extreme find(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric,
                           bool (*among)(enum ll_tbd_row row), bool largest)
{
    struct extreme extreme = {NAN, ""};
    for (size_t s = 0; s < sweeps->count; s++) {
        if (!among(sweeps->at[s].row))
            continue;
        const double value = ll_tbd_value(ll_tbd_last(&sweeps->at[s]), metric);
        if (!extreme.name[0] || (largest ? value > extreme.value : value < extreme.value)) {
            extreme.value = value;
            ll_tbd_label(&sweeps->at[s], extreme.name);
        }
    }
    return extreme;
}

/* All of the first are below all of the second, at the largest batches. */
static void judge_below(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric,
                        bool (*low)(enum ll_tbd_row row), bool (*high)(enum ll_tbd_row row),
                        const char *claim, struct ll_study_result *result)
{
    struct extreme most = find(sweeps, metric, low, true), least = find(sweeps, metric, high, false);
    char measured[128];
    if (!most.name[0] || !least.name[0])
        return;
    ll_snprintf(measured, sizeof measured, "%s %.1f %%, %s %.1f %%", most.name, most.value, least.name,
                least.value);
    ll_criterion_holds(result, most.value < least.value, measured, "the first less", "%s", claim);
}

static bool is_translator(enum ll_tbd_row row)
{
    return row == LL_TBD_NMT || row == LL_TBD_SOCKEYE;
}

static bool is_no_translator(enum ll_tbd_row row)
{
    return !is_translator(row);
}

static bool is_recurrent(enum ll_tbd_row row)
{
    return ll_tbd[row].style == LL_TBD_RECURRENT;
}

static bool is_not_recurrent(enum ll_tbd_row row)
{
    return !is_recurrent(row);
}

/* Printed for Faster R-CNN, by framework, in percent. */
static const struct {
    enum ll_tbd_framework framework;
    double busy, fp32;
} detector[] = {{LL_TBD_TENSORFLOW, 89.4, 58.9}, {LL_TBD_MXNET, 90.3, 70.9}};
enum { DETECTORS = sizeof detector / sizeof *detector };

/* By how much of a step a host would keep the detector waiting for the published GPU utilization. */
static void judge_detector_busy(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const double low = 85, high = 95;
    for (size_t i = 0; i < DETECTORS; i++) {
        const struct ll_tbd_sweep *sweep = ll_tbd_sweep_of(sweeps, LL_TBD_FASTER_RCNN, detector[i].framework);
        if (!sweep)
            continue;
        const double step_s = 1 / ll_tbd_last(sweep)->throughput_Hz;
        const double active_s = ll_tbd_last(sweep)->device_utilization * step_s;
        const double host_ms = round(1e3 * (active_s / (detector[i].busy / 100) - step_s));
        char needed[96], label[LL_TBD_LABEL];
        ll_snprintf(needed, sizeof needed, "%.0f ms of an image in which the host works and the GPU waits",
                    host_ms);
        const struct ll_explanation explanation = {
            .cause = LL_ASSUMPTION,
            .needed = needed,
            .reached = {100 * active_s / (step_s + 1e-3 * host_ms), 1, " %"},
            .low = detector[i].busy - 0.5,
            .high = detector[i].busy + 0.5};
        ll_criterion_between(
            result, (struct ll_measured_value){ll_tbd_value(ll_tbd_last(sweep), LL_TBD_DEVICE), 1, " %"}, low,
            high, "%s, one image (published: %.1f %%)", ll_tbd_label(sweep, label), detector[i].busy);
        ll_criterion_explain(
            result, &explanation,
            "here all ops of the detector run on the GPU, %.0f ms of a step of %.0f ms; both "
            "frameworks of the paper chose proposals on the host, whose time is not printed, and "
            "with %.0f ms more an image throughput is %.1f images/s where the paper has 2.3",
            1e3 * active_s, 1e3 * step_s, host_ms, 1 / (step_s + 1e-3 * host_ms));
    }
}

static void judge_detector_arithmetic(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const double tolerance = 0.1;
    char label[LL_TBD_LABEL];
    for (size_t i = 0; i < DETECTORS; i++) {
        const struct ll_tbd_sweep *sweep = ll_tbd_sweep_of(sweeps, LL_TBD_FASTER_RCNN, detector[i].framework);
        if (sweep)
            ll_criterion_between(
                result, (struct ll_measured_value){100 * ll_tbd_last(sweep)->fp32_utilization, 1, " %"},
                detector[i].fp32 * (1 - tolerance), detector[i].fp32 * (1 + tolerance),
                "%s, one image (published: %.1f %%)", ll_tbd_label(sweep, label), detector[i].fp32);
    }
}

/* Explains the last criterion: recurrent networks use least of the arithmetic. By the definitions of both
 * utilizations, samples a second times FLOPs of a sample are GPU utilization x FP32 utilization x peak. */
static void explain_arithmetic(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const double busy_share = 0.95;
    const struct extreme least = find(sweeps, LL_TBD_FP32, is_not_recurrent, false);
    double most = 0, of[LL_TBD_TRANSLATORS] = {0};
    for (size_t i = 0; i < LL_TBD_TRANSLATORS; i++) {
        const enum ll_tbd_row row = ll_tbd_assumptions[i].row;
        const struct ll_tbd_sweep *sweep = ll_tbd_sweep_of(sweeps, row, ll_tbd[row].first);
        if (!sweep)
            return;
        const struct ll_metrics *metrics = ll_tbd_last(sweep);
        of[i] = 100 * metrics->fp32_utilization * metrics->device_utilization *
                ll_tbd_assumptions[i].published_Hz / metrics->throughput_Hz / busy_share;
        most = fmax(most, of[i]);
    }
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = "the published samples a second of the translators",
                                               .reached = {most, 1, " %"},
                                               .low = 0,
                                               .high = least.value};
    ll_criterion_explain(
        result, &explanation,
        "throughput x FLOPs of a sample = GPU utilization x FP32 utilization x peak: by 365 "
        "samples/s NMT uses %.1f %%, by 229 Sockeye %.1f %% of a GPU that is busy 95 %% of the "
        "time; %s, whose 16 and 32 filters fill no tile of a GEMM, uses %.1f %%",
        of[0], of[1], least.name, least.value);
}

static void judge_device(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const double most = 95; /* percent that translators do not reach */
    struct ll_tbd_sweeps sweeps;
    char label[LL_TBD_LABEL];
    ll_tbd_replay_sweeps(runs, &sweeps);
    ll_tbd_tabulate(&sweeps, result);
    ll_tbd_draw(&sweeps, LL_TBD_DEVICE, result);
    ll_tbd_judge_rising(&sweeps, LL_TBD_DEVICE, result);
    judge_below(&sweeps, LL_TBD_DEVICE, is_translator, is_no_translator,
                "the translators with LSTM layers keep the GPU busy least, at the largest mini-batches",
                result);
    for (size_t s = 0; s < sweeps.count; s++) {
        const struct ll_measured_value found = {ll_tbd_value(ll_tbd_last(&sweeps.at[s]), LL_TBD_DEVICE), 1,
                                                " %"};
        const char *name = ll_tbd_label(&sweeps.at[s], label);
        if (is_translator(sweeps.at[s].row))
            ll_criterion_at_most(result, found, most, "%s: GPU utilization at the largest mini-batch", name);
        else if (ll_tbd[sweeps.at[s].row].style == LL_TBD_CONVOLUTIONAL)
            ll_criterion_at_least(result, found, busy, "%s: GPU utilization at the largest mini-batch", name);
    }
    judge_detector_busy(&sweeps, result);
    ll_tbd_note(&sweeps, result);
}

static void judge_arithmetic(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct ll_tbd_sweeps sweeps;
    ll_tbd_replay_sweeps(runs, &sweeps);
    ll_tbd_tabulate(&sweeps, result);
    ll_tbd_draw(&sweeps, LL_TBD_FP32, result);
    ll_tbd_judge_rising(&sweeps, LL_TBD_FP32, result);
    judge_below(&sweeps, LL_TBD_FP32, is_recurrent, is_not_recurrent,
                "recurrent networks use less of the arithmetic than all others, at the largest mini-batches",
                result);
    explain_arithmetic(&sweeps, result);
    judge_detector_arithmetic(&sweeps, result);
    ll_tbd_note(&sweeps, result);
}

const struct ll_study ll_study_T5 = {
    .id = "T5",
    .paper = "TBD, figure 5",
    .title = "GPU utilization by mini-batch",
    .doc = "The GPU is busier the larger the mini-batch. Networks without recurrent layers and Deep Speech 2 "
           "reach 95 %, the translators with LSTM layers do not.",
    .plan = plan,
    .judge = judge_device,
};

const struct ll_study ll_study_T6 = {
    .id = "T6",
    .paper = "TBD, figure 6",
    .title = "FP32 utilization by mini-batch",
    .doc =
        "Of the arithmetic of a busy GPU more is used the larger the mini-batch; recurrent networks use less "
        "than all others.",
    .plan = plan,
    .judge = judge_arithmetic,
};
