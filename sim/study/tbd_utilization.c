/* SPDX-License-Identifier: Apache-2.0 */
/* Figures 5 and 6: how busy the GPU is, and how much of its arithmetic is used while it is busy. */
#include "sim/study/tbd.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

static const double busy = 90; /* percent that convolutional networks reach at least */

/* The extreme of a metric at the largest batch among some workloads, and whose it is. */
struct extreme {
    double value;
    const char *name; /* NULL: there are none */
};

static struct extreme find(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                           bool (*among)(enum ll_tbd_row row), bool largest)
{
    struct extreme extreme = {NAN, NULL};
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        if (sweeps[row].count == 0 || !among((enum ll_tbd_row)row))
            continue;
        double value = ll_tbd_value(ll_tbd_last(&sweeps[row]), metric);
        if (!extreme.name || (largest ? value > extreme.value : value < extreme.value))
            extreme = (struct extreme){value, ll_tbd[row].name};
    }
    return extreme;
}

/* All of the first are below all of the second, at the largest batches. */
static void judge_below(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                        bool (*low)(enum ll_tbd_row row), bool (*high)(enum ll_tbd_row row),
                        const char *claim, struct ll_outcome *outcome)
{
    struct extreme most = find(sweeps, metric, low, true), least = find(sweeps, metric, high, false);
    char measured[128];
    if (!most.name || !least.name)
        return;
    ll_snprintf(measured, sizeof measured, "%s %.1f %%, %s %.1f %%", most.name, most.value, least.name,
                least.value);
    ll_holds(outcome, most.value < least.value, measured, "the first less", "%s", claim);
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

static void inform_detector(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                            const char *published, struct ll_outcome *outcome)
{
    const struct ll_tbd_sweep *sweep = &sweeps[LL_TBD_FASTER_RCNN];
    char measured[32];
    if (sweep->count == 0)
        return;
    ll_snprintf(measured, sizeof measured, "%.1f %%", ll_tbd_value(ll_tbd_last(sweep), metric));
    ll_inform(outcome, measured, published, "Faster R-CNN, one image");
}

static void judge_device(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct ll_tbd_sweep sweeps[LL_TBD_COUNT];
    ll_tbd_replay_all(evidence, sweeps);
    ll_tbd_tabulate(sweeps, outcome);
    ll_tbd_draw(sweeps, LL_TBD_DEVICE, outcome);
    ll_tbd_judge_rising(sweeps, LL_TBD_DEVICE, outcome);
    judge_below(sweeps, LL_TBD_DEVICE, is_translator, is_no_translator,
                "the translators with LSTM layers keep the GPU busy least, at the largest mini-batches",
                outcome);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        if (sweeps[row].count && ll_tbd[row].style == LL_TBD_CONVOLUTIONAL)
            ll_at_least(
                outcome,
                (struct ll_measured_value){ll_tbd_value(ll_tbd_last(&sweeps[row]), LL_TBD_DEVICE), 1, " %"},
                busy, "%s: GPU utilization at the largest mini-batch", ll_tbd[row].name);
    ll_note(
        outcome,
        "Networks are unrolled here, so that nothing waits for the host to decide whether a loop goes on, "
        "as TensorFlow's loops do: NMT comes to 100 %% where the paper has less than 95.");
    inform_detector(sweeps, LL_TBD_DEVICE, "89.4 % (TensorFlow), 90.3 % (MXNet)", outcome);
    ll_tbd_note(sweeps, outcome);
}

static void judge_arithmetic(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct ll_tbd_sweep sweeps[LL_TBD_COUNT];
    ll_tbd_replay_all(evidence, sweeps);
    ll_tbd_tabulate(sweeps, outcome);
    ll_tbd_draw(sweeps, LL_TBD_FP32, outcome);
    ll_tbd_judge_rising(sweeps, LL_TBD_FP32, outcome);
    judge_below(sweeps, LL_TBD_FP32, is_recurrent, is_not_recurrent,
                "recurrent networks use less of the arithmetic than all others, at the largest mini-batches",
                outcome);
    ll_note(
        outcome,
        "A3C, which has convolutions of 16 and 32 filters over four channels, fills no tile of a product: "
        "it uses less of the arithmetic than the translators.");
    inform_detector(sweeps, LL_TBD_FP32, "58.9 % (TensorFlow), 70.9 % (MXNet)", outcome);
    ll_tbd_note(sweeps, outcome);
}

const struct ll_study ll_study_T5 = {
    .id = "T5",
    .paper = "TBD, figure 5",
    .title = "GPU utilization by mini-batch",
    .doc = "The GPU is busier the larger the mini-batch. Networks without recurrent layers and Deep Speech 2 "
           "reach 95 %, the translators with LSTM layers do not.",
    .plan = ll_tbd_plan_all,
    .judge = judge_device,
};

const struct ll_study ll_study_T6 = {
    .id = "T6",
    .paper = "TBD, figure 6",
    .title = "FP32 utilization by mini-batch",
    .doc =
        "Of the arithmetic of a busy GPU more is used the larger the mini-batch; recurrent networks use less "
        "than all others.",
    .plan = ll_tbd_plan_all,
    .judge = judge_arithmetic,
};
