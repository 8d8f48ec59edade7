/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/tbd.h"

#include "tracer/ir/profile.h"

#include <stdio.h>
#include <string.h>

/* The paper does not say how it counts layers; each rule is the one that gives its number, asked of the
 * forward ops of a training step. */
static bool is_image_product(const struct ll_form *form)
{
    return form->view.kind == LL_OP_CONV2D || form->view.kind == LL_OP_MATMUL;
}

/* Shortcuts of a residual network are no layers. */
static bool is_layer(const struct ll_form *form, const char *scope)
{
    return is_image_product(form) && !strstr(scope, "shortcut");
}

/* Table II, with the dominant layer; the parameters are those of the suite's code. `counted`: whether layers
 * can be counted by the rule above; of the others a number is shown and not judged. */
static const struct {
    const char *framework, *dominant;
    enum ll_op_class op_class; /* in which that layer's work lies */
    unsigned layers;
    bool counted;
    uint64_t parameters;
} printed[LL_TBD_COUNT] = {
    [LL_TBD_RESNET] = {"TensorFlow, MXNet, CNTK", "CONV", LL_CLASS_CONV, 50, true, 25549483},
    [LL_TBD_INCEPTION] = {"TensorFlow, MXNet, CNTK", "CONV", LL_CLASS_CONV, 42, false, 23817352},
    [LL_TBD_NMT] = {"TensorFlow", "LSTM", LL_CLASS_MATRIX, 5, false, 27190272},
    [LL_TBD_SOCKEYE] = {"MXNet", "LSTM", LL_CLASS_MATRIX, 5, false, 27733021},
    [LL_TBD_TRANSFORMER] = {"TensorFlow", "attention", LL_CLASS_MATRIX, 12, false, 61415424},
    [LL_TBD_FASTER_RCNN] = {"TensorFlow, MXNet", "CONV", LL_CLASS_CONV, 101, false, 47454562},
    [LL_TBD_DEEP_SPEECH] = {"MXNet", "RNN", LL_CLASS_MATRIX, 9, false, 181043613},
    [LL_TBD_WGAN] = {"TensorFlow", "CONV", LL_CLASS_CONV, 28, false, 8540483 + 7491841},
    [LL_TBD_A3C] = {"MXNet", "CONV", LL_CLASS_CONV, 4, false, 677429},
};

static void plan(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_tbd_plan_batch(plan, (enum ll_tbd_row)row, ll_tbd[row].batches[0]);
}

/* Of the first step: forward layers, and FLOPs by class. */
struct counts {
    size_t layers;
    double class_flops[LL_CLASS_COUNT], flops;
};

static struct counts count(const struct ll_trace *trace)
{
    struct counts counts = {.layers = 0};
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        if (trace->ops[i].step != trace->ops[0].step || form->view.kind == LL_OP_COUNT)
            continue;
        const char *scope = trace->strings[form->scope];
        counts.layers += form->phase == LL_PHASE_FORWARD && is_layer(form, scope);
        counts.class_flops[ll_op_class(form->view.kind)] += (double)form->flops;
        counts.flops += (double)form->flops;
    }
    return counts;
}

static void put_row(struct ll_sheet *sheet, size_t row, const struct counts *counts, double parameters)
{
    ll_put_text(sheet, ll_tbd[row].name);
    ll_put_text(sheet, printed[row].framework);
    ll_put_number(sheet, printed[row].layers);
    ll_put_number(sheet, (double)counts->layers);
    ll_put_text(sheet, printed[row].dominant);
    ll_put_number(sheet, 100 * counts->class_flops[printed[row].op_class] / counts->flops);
    ll_put_number(sheet, parameters);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                       {"frameworks", LL_TEXT_COLUMN},
                                                       {"layers", 0},
                                                       {"products here", 0},
                                                       {"dominant layer", LL_TEXT_COLUMN},
                                                       {"its class' FLOPs (%)", 1},
                                                       {"parameters", 0}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL,
                                          "The workloads as the paper lists them, and as they are "
                                          "here.",
                                          columns, sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        char variant[32];
        snprintf(variant, sizeof variant, "batch %d", (int)ll_tbd[row].batches[0]);
        const struct ll_trace *trace = ll_evidence_trace(evidence, ll_tbd[row].name, variant);
        const struct ll_profile *profile = trace ? ll_profile(trace, evidence->arena) : NULL;
        if (!profile)
            continue;
        const struct counts counts = count(trace);
        put_row(sheet, row, &counts, (double)profile->parameters);
        ll_between(outcome, (struct ll_measured_value){(double)profile->parameters, 0, ""},
                   (double)printed[row].parameters, (double)printed[row].parameters, "%s: parameters",
                   ll_tbd[row].name);
        ll_at_least(outcome,
                    (struct ll_measured_value){100 * counts.class_flops[printed[row].op_class] / counts.flops,
                                               1, " %"},
                    50, "%s: most work is in its dominant layers (%s)", ll_tbd[row].name,
                    printed[row].dominant);
        if (printed[row].counted)
            ll_between(outcome, (struct ll_measured_value){(double)counts.layers, 0, ""}, printed[row].layers,
                       printed[row].layers,
                       "%s: layers, counting convolutions and products but for shortcuts", ll_tbd[row].name);
    }
    ll_note(outcome,
            "Layers as the paper counts them: whole LSTM layers or attention blocks, convolutions for "
            "Inception (42 of 94), both networks of WGAN (14 and 14), five recurrent layers in the run of "
            "Deep Speech 2 that the table gives nine. The products of an unrolled network are counted at "
            "each of its steps, WGAN's in all its passes.");
}

const struct ll_study ll_study_TT2 = {
    .id = "T-T2",
    .paper = "TBD, table II",
    .title = "The workloads",
    .doc = "The workloads of the suite with their frameworks, number of layers and dominant layers.",
    .plan = plan,
    .judge = judge,
};
