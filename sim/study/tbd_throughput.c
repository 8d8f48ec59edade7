/* SPDX-License-Identifier: Apache-2.0 */
/* TBD, figure 4: throughput by mini-batch and framework. */
#include <math.h>
#include <string.h>

#include "sim/study/tbd.h"
#include "tracer/base/str.h"

static void plan(struct ll_study_plan *plan)
{
    ll_tbd_plan_sweeps(plan);
    for (size_t i = 0; i < LL_TBD_TRANSLATORS; i++)
        ll_tbd_plan_assumption(plan, &ll_tbd_assumptions[i], LL_TBD_P4000);
}

/* What larger batches of a workload gain, under the framework that comes first for it; NaN without it. */
static double gain_of(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_row row, double from, double to)
{
    const struct ll_tbd_sweep *sweep = ll_tbd_sweep_of(sweeps, row, ll_tbd[row].first);
    return sweep ? ll_tbd_gain(sweep, from, to) : NAN;
}

static void judge_gains(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const double low = 10, high = 45; /* percent, around the 25 of NMT */
    const struct ll_tbd_sweep *speech = ll_tbd_sweep_of(sweeps, LL_TBD_DEEP_SPEECH, LL_TBD_MXNET);
    const double resnet_gain = gain_of(sweeps, LL_TBD_RESNET, 16, 32),
                 nmt_gain = gain_of(sweeps, LL_TBD_NMT, 64, 128),
                 speech_gain = gain_of(sweeps, LL_TBD_DEEP_SPEECH, 2, 4);
    char measured[96], label[LL_TBD_LABEL];
    for (size_t s = 0; s < sweeps->count; s++) {
        const struct ll_tbd_sweep *sweep = &sweeps->at[s];
        if (sweep->row == LL_TBD_RESNET || sweep->row == LL_TBD_INCEPTION)
            ll_criterion_at_most(
                result, (struct ll_measured_value){100 * ll_tbd_gain(sweep, 16, 32), 1, " %"}, 15,
                sweep->row == LL_TBD_RESNET ? "%s: what 32 images gain over 16"
                                            : "%s: what 32 images gain over 16 (published: less than 10 %%)",
                ll_tbd_label(sweep, label));
    }
    if (isfinite(nmt_gain))
        ll_criterion_between(result, (struct ll_measured_value){100 * nmt_gain, 1, " %"}, low, high,
                             "NMT: what 128 sentences gain over 64 (published: 25 %%)");
    if (speech)
        ll_criterion_at_least(result, (struct ll_measured_value){ll_tbd_exponent(speech), 2, ""}, 0.8,
                              "Deep Speech 2: throughput grows almost as the mini-batch does, the exponent");
    ll_snprintf(measured, sizeof measured, "%.1f, %.1f, %.1f %%", 100 * resnet_gain, 100 * nmt_gain,
                100 * speech_gain);
    if (isfinite(resnet_gain) && isfinite(nmt_gain) && isfinite(speech_gain))
        ll_criterion_holds(result, resnet_gain < nmt_gain && nmt_gain < speech_gain, measured, "rising",
                           "what twice the mini-batch gains: ResNet-50 (32), NMT (128), Deep Speech 2 (4)");
}

/* Observation 3: MXNet is the faster of two for images, TensorFlow for sentences. */
static void judge_frameworks(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const enum ll_tbd_row images[] = {LL_TBD_RESNET, LL_TBD_INCEPTION};
    char measured[96];
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        const struct ll_tbd_sweep *mxnet = ll_tbd_sweep_of(sweeps, images[i], LL_TBD_MXNET),
                                  *tensorflow = ll_tbd_sweep_of(sweeps, images[i], LL_TBD_TENSORFLOW);
        if (mxnet && tensorflow)
            ll_criterion_at_least(
                result,
                (struct ll_measured_value){
                    ll_tbd_last(mxnet)->throughput_Hz / ll_tbd_last(tensorflow)->throughput_Hz, 2, ""},
                1, "%s, 32 images: throughput on MXNet over that on TensorFlow", ll_tbd[images[i]].name);
    }
    const struct ll_tbd_sweep *nmt = ll_tbd_sweep_of(sweeps, LL_TBD_NMT, LL_TBD_TENSORFLOW),
                              *sockeye = ll_tbd_sweep_of(sweeps, LL_TBD_SOCKEYE, LL_TBD_MXNET);
    if (!nmt || !sockeye)
        return;
    const double more = ll_tbd_last(nmt)->throughput_Hz, less = ll_tbd_last(sockeye)->throughput_Hz;
    ll_snprintf(measured, sizeof measured, "%.0f, %.0f samples/s", more, less);
    ll_criterion_holds(result, more > less, measured, "the first more",
                       "NMT on TensorFlow translates more sentences a second than Sockeye on MXNet");
}

static void judge_detector(const struct ll_runs *runs, const struct ll_tbd_sweeps *sweeps,
                           struct ll_study_result *result)
{
    char label[LL_TBD_LABEL];
    for (size_t s = 0; s < sweeps->count; s++)
        if (sweeps->at[s].row == LL_TBD_FASTER_RCNN)
            ll_criterion_between(
                result, (struct ll_measured_value){sweeps->at[s].metrics[0].throughput_Hz, 2, " images/s"},
                1.2, 4.5, "%s: throughput (published: 2.3)", ll_tbd_label(&sweeps->at[s], label));
    const enum ll_tbd_framework first = ll_tbd[LL_TBD_FASTER_RCNN].first;
    const struct ll_result *replay =
        ll_tbd_replay(runs, LL_TBD_FASTER_RCNN, 1, ll_tbd_target(LL_TBD_P4000, first));
    if (replay)
        ll_criterion_between(
            result, (struct ll_measured_value){replay->prepared->flops * 1e-12, 2, " TFLOP"}, 0.9, 1.9,
            "Faster R-CNN: work of an image, between what the paper's utilizations say of its two "
            "frameworks (1.21 and 1.48)");
}

/* The translators' throughputs, which are printed. */
static void judge_translator(const struct ll_runs *runs, const struct ll_tbd_assumption *assumption,
                             const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const double tolerance = 0.25;
    const enum ll_tbd_row row = assumption->row;
    const struct ll_tbd_sweep *sweep = ll_tbd_sweep_of(sweeps, row, ll_tbd[row].first);
    if (!sweep)
        return;
    const double simulated = ll_tbd_last(sweep)->throughput_Hz, published = assumption->published_Hz,
                 batch = sweep->batches[sweep->count - 1],
                 assumed = ll_tbd_assumed(runs, assumption, LL_TBD_P4000).throughput_Hz;
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = assumption->needed,
                                               .reached = {assumed, 0, " samples/s"},
                                               .low = published * (1 - tolerance),
                                               .high = published * (1 + tolerance)};
    ll_criterion_between(result, (struct ll_measured_value){simulated, 0, " samples/s"}, explanation.low,
                         explanation.high, "%s: throughput at %g (published: %.0f, %s)", ll_tbd[row].name,
                         batch, published, ll_tbd_framework_name(ll_tbd[row].first));
    ll_criterion_explain(result, &explanation,
                         "a step takes %.0f ms, in which the GPU works %.0f ms and the host starts ops for "
                         "%.0f ms; %.0f samples/s are %.0f ms, %.1f times as long",
                         1e3 * batch / simulated,
                         1e3 * batch / simulated * ll_tbd_last(sweep)->device_utilization,
                         1e3 * batch / simulated * ll_tbd_last(sweep)->cpu_utilization * LL_TBD_CORES,
                         published, 1e3 * batch / published, simulated / published);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct ll_tbd_sweeps sweeps;
    ll_tbd_replay_sweeps(runs, &sweeps);
    ll_tbd_tabulate(&sweeps, result);
    ll_tbd_draw(&sweeps, LL_TBD_THROUGHPUT, result);
    ll_tbd_judge_rising(&sweeps, LL_TBD_THROUGHPUT, result);
    judge_gains(&sweeps, result);
    judge_frameworks(&sweeps, result);
    judge_detector(runs, &sweeps, result);
    for (size_t i = 0; i < LL_TBD_TRANSLATORS; i++)
        judge_translator(runs, &ll_tbd_assumptions[i], &sweeps, result);
    ll_tbd_note(&sweeps, result);
}

const struct ll_study ll_study_T4 = {
    .id = "T4",
    .paper = "TBD, figure 4",
    .title = "Throughput by mini-batch",
    .doc =
        "Throughput rises with the mini-batch, for image networks ever less beyond 16 images, for recurrent "
        "networks on and on: NMT gains a quarter from 64 to 128, Deep Speech 2 grows almost linearly.",
    .plan = plan,
    .judge = judge,
};
