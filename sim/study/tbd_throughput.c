/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/tbd.h"
#include "tracer/base/plain.h"

#include <stdio.h>

static void judge_gains(const struct ll_tbd_sweep *sweeps, struct ll_outcome *outcome)
{
    const struct ll_tbd_sweep *resnet = &sweeps[LL_TBD_RESNET], *inception = &sweeps[LL_TBD_INCEPTION],
                              *nmt = &sweeps[LL_TBD_NMT], *speech = &sweeps[LL_TBD_DEEP_SPEECH];
    double resnet_gain = ll_tbd_gain(resnet, 16, 32), nmt_gain = ll_tbd_gain(nmt, 64, 128),
           speech_gain = ll_tbd_gain(speech, 2, 4);
    char measured[96];
    if (resnet->count)
        ll_at_most(outcome, (struct ll_measured_value){100 * resnet_gain, 1, " %"}, 15,
                   "ResNet-50: what 32 images gain over 16");
    if (inception->count)
        ll_at_most(outcome, (struct ll_measured_value){100 * ll_tbd_gain(inception, 16, 32), 1, " %"}, 15,
                   "Inception-v3: what 32 images gain over 16 (published: less than 10 %%)");
    if (nmt->count) {
        ll_snprintf(measured, sizeof measured, "%.1f %%", 100 * nmt_gain);
        ll_inform(
            outcome, measured, "25 %",
            "NMT: what 128 sentences gain over 64, on which the framework's time to start an op is fitted");
    }
    if (speech->count)
        ll_at_least(outcome, (struct ll_measured_value){ll_tbd_exponent(speech), 2, ""}, 0.8,
                    "Deep Speech 2: throughput grows almost as the mini-batch does, the exponent");
    ll_snprintf(measured, sizeof measured, "%.1f, %.1f, %.1f %%", 100 * resnet_gain, 100 * nmt_gain,
                100 * speech_gain);
    if (resnet->count && nmt->count && speech->count)
        ll_holds(outcome, resnet_gain < nmt_gain && nmt_gain < speech_gain, measured, "rising",
                 "what twice the mini-batch gains: ResNet-50 (32), NMT (128), Deep Speech 2 (4)");
}

static void judge_detector(const struct ll_evidence *evidence, const struct ll_tbd_sweep *sweep,
                           struct ll_outcome *outcome)
{
    const struct ll_result *result = ll_tbd_replay(evidence, LL_TBD_FASTER_RCNN, 1, LL_TBD_P4000);
    if (!result)
        return;
    ll_between(outcome, (struct ll_measured_value){sweep->metrics[0].throughput_Hz, 2, " images/s"}, 1.2, 4.5,
               "Faster R-CNN: throughput (published: 2.3)");
    ll_between(outcome, (struct ll_measured_value){result->prepared->flops * 1e-12, 2, " TFLOP"}, 0.9, 1.9,
               "Faster R-CNN: work of an image, between what the paper's utilizations say of its two "
               "frameworks (1.21 and 1.48)");
}

static void inform(const struct ll_tbd_sweep *sweep, const char *published, struct ll_outcome *outcome)
{
    char measured[64];
    if (sweep->count == 0)
        return;
    ll_snprintf(measured, sizeof measured, "%.0f %s/s", ll_tbd_last(sweep)->throughput_Hz,
                ll_tbd_last(sweep)->unit);
    ll_inform(outcome, measured, published, "%s: throughput at %g", ll_tbd[sweep->row].name,
              sweep->batches[sweep->count - 1]);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct ll_tbd_sweep sweeps[LL_TBD_COUNT];
    ll_tbd_replay_all(evidence, sweeps);
    ll_tbd_tabulate(sweeps, outcome);
    ll_tbd_draw(sweeps, LL_TBD_THROUGHPUT, outcome);
    ll_tbd_judge_rising(sweeps, LL_TBD_THROUGHPUT, outcome);
    judge_gains(sweeps, outcome);
    judge_detector(evidence, &sweeps[LL_TBD_FASTER_RCNN], outcome);
    inform(&sweeps[LL_TBD_NMT], "365 samples/s (TensorFlow)", outcome);
    inform(&sweeps[LL_TBD_SOCKEYE], "229 samples/s (MXNet)", outcome);
    ll_tbd_note(sweeps, outcome);
}

const struct ll_study ll_study_T4 = {
    .id = "T4",
    .paper = "TBD, figure 4",
    .title = "Throughput by mini-batch",
    .doc =
        "Throughput rises with the mini-batch, for image networks ever less beyond 16 images, for recurrent "
        "networks on and on: NMT gains a quarter from 64 to 128, Deep Speech 2 grows almost linearly.",
    .plan = ll_tbd_plan_all,
    .judge = judge,
};
