/* SPDX-License-Identifier: Apache-2.0 */
/* Tables V and VI ask which kernels are worth making better: long ones of low utilization. Here a kernel is
 * all ops of a kind in a phase. */
#include "sim/study/tbd.h"

#include "sim/cost/cost_parts.h"
#include "sim/report/figure/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, LONGEST = 5, SHOWN = 10, MOST_KINDS = 64 };

/* clang-format off */
/* The two tables: kernel, share of the step's GPU time and FP32 utilization in percent. */
static const struct {
    const char *framework, *kernel;
    double share, utilization;
} printed[] = {
    {"TensorFlow", "magma sgemm", 8.36, 30.0},
    {"TensorFlow", "batch norm, forward", 5.53, 42.3},
    {"TensorFlow", "batch norm, forward (training)", 4.65, 46.3},
    {"TensorFlow", "Eigen, element-wise", 3.12, 20.0},
    {"TensorFlow", "bias", 2.48, 40.0},
    {"MXNet", "batch norm, backward", 9.43, 40.7},
    {"MXNet", "batch norm, forward (training)", 7.96, 44.0},
    {"MXNet", "activation, backward", 5.14, 10.0},
    {"MXNet", "activation, forward", 3.52, 10.0},
    {"MXNet", "generic", 2.85, 25.4},
};
/* clang-format on */

static void plan(struct ll_study_plan *plan)
{
    ll_tbd_plan_batch(plan, LL_TBD_RESNET, BATCH);
    ll_tbd_plan_machine(plan, LL_TBD_P4000);
}

struct kernel {
    enum ll_op_kind kind;
    const char *name;
    double active_s, flops;
    double share, utilization; /* of the device's active time; of the peak meanwhile */
    size_t order;
};

struct kernels {
    struct kernel at[MOST_KINDS];
    size_t count;
    double mean; /* of utilization, each kernel counting as long as it takes */
};

static struct kernel *find(struct kernels *kernels, enum ll_op_kind kind, const char *name)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->at[i].kind == kind)
            return &kernels->at[i];
    if (kernels->count == MOST_KINDS)
        return &kernels->at[MOST_KINDS - 1]; /* the last takes all others */
    kernels->at[kernels->count] = (struct kernel){.kind = kind, .name = name, .order = kernels->count};
    return &kernels->at[kernels->count++];
}

static int by_time(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    if (a->active_s != b->active_s)
        return a->active_s < b->active_s ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

static void collect(const struct ll_result *result, struct kernels *kernels)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    enum ll_dtype computed;
    double peak = ll_computed_peak_flops(result->machine, prepared->dtype, &computed), active_s = 0,
           flops = 0;
    *kernels = (struct kernels){.count = 0};
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_form *form = &trace->forms[trace->ops[seq].form];
        if (ll_op_class(form->view.kind) == LL_CLASS_INPUT)
            continue;
        struct kernel *kernel = find(kernels, form->view.kind, trace->strings[form->kind_name]);
        kernel->active_s += result->ops[seq - prepared->first_op].active_s;
        kernel->flops += (double)form->flops;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        active_s += kernels->at[i].active_s;
        flops += kernels->at[i].flops;
    }
    qsort(kernels->at, kernels->count, sizeof *kernels->at, by_time);
    for (size_t i = 0; i < kernels->count; i++) {
        struct kernel *kernel = &kernels->at[i];
        kernel->share = kernel->active_s / active_s;
        kernel->utilization = kernel->active_s > 0 ? kernel->flops / (peak * kernel->active_s) : 0;
    }
    kernels->mean = flops / (peak * active_s);
}

static bool begins(const struct kernel *kernel, const char *text)
{
    return strncmp(kernel->name, text, strlen(text)) == 0;
}

static void tabulate(const struct kernels *kernels, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"op kind", LL_TEXT_COLUMN},
                                                       {"share of GPU time (%)", 2},
                                                       {"FP32 utilization (%)", 1},
                                                       {"below the mean", LL_TEXT_COLUMN}};
    static const struct ll_outcome_column theirs[] = {{"framework", LL_TEXT_COLUMN},
                                                      {"kernel", LL_TEXT_COLUMN},
                                                      {"share of GPU time (%)", 2},
                                                      {"FP32 utilization (%)", 1}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "ResNet-50 with 32 images, simulated: op kinds by time.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t i = 0; i < kernels->count; i++) {
        ll_put_text(sheet, kernels->at[i].name);
        ll_put_number(sheet, 100 * kernels->at[i].share);
        ll_put_number(sheet, 100 * kernels->at[i].utilization);
        ll_put_text(sheet, kernels->at[i].utilization < kernels->mean ? "yes" : "no");
    }
    sheet = ll_sheet_new(outcome, "printed", "The five longest kernels below the average, as printed.",
                         theirs, sizeof theirs / sizeof *theirs);
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        ll_put_text(sheet, printed[i].framework);
        ll_put_text(sheet, printed[i].kernel);
        ll_put_number(sheet, printed[i].share);
        ll_put_number(sheet, printed[i].utilization);
    }
}

static void draw(const struct kernels *kernels, struct ll_outcome *outcome)
{
    static const char *const series[] = {"share of GPU time", "FP32 utilization"};
    const char *names[SHOWN];
    double values[2 * SHOWN];
    size_t count = kernels->count < SHOWN ? kernels->count : SHOWN;
    for (size_t i = 0; i < count; i++) {
        names[i] = kernels->at[i].name;
        values[2 * i] = 100 * kernels->at[i].share;
        values[2 * i + 1] = 100 * fmin(kernels->at[i].utilization, 1.5);
    }
    struct ll_svg svg = {ll_drawing_new(
        outcome, NULL, "The op kinds that take longest, and how much of the arithmetic they use.")};
    const struct ll_page page = {"ResNet-50 with 32 images on a Quadro P4000",
                                 "Groups of two bars: share of time and utilization of an op kind.",
                                 1,
                                 1,
                                 760,
                                 380};
    ll_page_open(&svg, &page);
    ll_draw_bars(&svg, ll_page_panel(&page, 0),
                 &(struct ll_bars){.y_label = "%",
                                   .groups = names,
                                   .group_count = count,
                                   .series = series,
                                   .series_count = 2,
                                   .values = values,
                                   .line = 100 * kernels->mean,
                                   .line_name = "mean utilization"});
    ll_svg_close(&svg);
}

/* What is among the five longest below the mean, and how long batch normalisation takes. */
static void judge_longest(const struct kernels *kernels, struct ll_outcome *outcome)
{
    struct ll_str names = {0};
    size_t listed = 0;
    double norms = 0;
    bool has_norm = false, has_activation = false;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct kernel *kernel = &kernels->at[i];
        norms += begins(kernel, "batch_norm") ? kernel->share : 0;
        if (kernel->utilization >= kernels->mean || listed == LONGEST)
            continue;
        ll_str_addf(&names, "%s%s", listed++ ? ", " : "", kernel->name);
        has_norm |= begins(kernel, "batch_norm");
        has_activation |= begins(kernel, "relu");
    }
    outcome->failed |= names.failed;
    ll_holds(outcome, has_norm && has_activation, names.text ? names.text : "", "batch_norm and relu",
             "the five longest below the mean utilization");
    ll_between(outcome, (struct ll_measured_value){100 * norms, 1, " %"}, 8, 25,
               "share of batch normalisation in the GPU's time (printed: at least 10.2 and 17.4)");
    ll_str_release(&names);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_result *result = ll_tbd_replay(evidence, LL_TBD_RESNET, BATCH, LL_TBD_P4000);
    struct kernels kernels;
    if (!result)
        return;
    collect(result, &kernels);
    tabulate(&kernels, outcome);
    draw(&kernels, outcome);
    judge_longest(&kernels, outcome);
    ll_note(outcome,
            "Utilization is algorithmic FLOPs over the peak: a convolution in a transformed domain may "
            "pass 100 %%, and a batch normalisation comes to a few percent, for which cuDNN's counters "
            "say 40 because they count all FP32 instructions. So the ranking compares, not the numbers.");
}

const struct ll_study ll_study_TT5 = {
    .id = "T-T5/T6",
    .paper = "TBD, tables V and VI",
    .title = "Long kernels of low utilization",
    .doc =
        "What to make better in ResNet-50: after the convolutions, batch normalisation and activations take "
        "longest, and use little of the arithmetic.",
    .plan = plan,
    .judge = judge,
};
