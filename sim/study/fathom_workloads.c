/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/fathom.h"
#include "tracer/base/map.h"
#include "tracer/ir/profile.h"

#include <stdio.h>
#include <string.h>

/* The paper counts layers now so, now so; each rule is the one that gives its number, asked of the ops of one
 * inference. */
static bool is_convolution(const struct ll_form *form)
{
    return form->view.kind == LL_OP_CONV2D;
}

static bool is_product(const struct ll_form *form)
{
    return form->view.kind == LL_OP_MATMUL || is_convolution(form);
}

/* Shortcuts, which convolve single pixels, are no layers. */
static bool is_wide_product(const struct ll_form *form)
{
    return is_product(form) && !(is_convolution(form) && form->view.in[1].dim[0] == 1);
}

static bool is_softmax(const struct ll_form *form)
{
    return strcmp(ll_op_name(form->view.kind), "softmax") == 0;
}

/* Which ops are counted. With `scopes`, not the ops count but the parts of the network that have some: names
 * in their scopes that hold such a text. */
struct rule {
    const char *name;
    bool (*counts)(const struct ll_form *form);
    const char *scopes[2];
};
static const struct rule convolutions = {"convolutions", is_convolution, {NULL}},
                         products = {"convolutions and products", is_product, {NULL}},
                         wide_products = {"convolutions wider than a pixel, and products",
                                          is_wide_product,
                                          {NULL}},
                         looks = {"looks at the memory", is_softmax, {NULL}},
                         product_layers = {"layers with products", is_product, {"layer"}},
                         recurrent = {
                             "recurrent layers and the attention", is_product, {"lstm", "attention"}};

/* Table II, and what Fathom's code has of parameters (for residual and vgg: what their papers have). */
static const struct {
    const char *model;
    unsigned year, layers;
    const struct rule *rule;
    const char *style, *task, *dataset;
    uint64_t parameters;
} printed[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = {"seq2seq", 2014, 7, &recurrent, "recurrent", "supervised", "WMT-15", 34633792},
    [LL_MEMNET] = {"memnet", 2015, 3, &looks, "memory network", "supervised", "bAbI", 1800},
    [LL_SPEECH] = {"speech", 2014, 5, &product_layers, "recurrent, full", "supervised", "TIMIT", 6386750},
    [LL_AUTOENC] = {"autoenc", 2014, 3, &products, "full", "unsupervised", "MNIST", 471584},
    [LL_RESIDUAL] = {"residual", 2015, 34, &wide_products, "convolutional", "supervised", "ImageNet",
                     21798185},
    [LL_VGG] = {"vgg", 2014, 19, &products, "convolutional, full", "supervised", "ImageNet", 143671337},
    [LL_ALEXNET] = {"alexnet", 2012, 5, &convolutions, "convolutional, full", "supervised", "ImageNet",
                    61104937},
    [LL_DEEPQ] = {"deepq", 2013, 5, &products, "convolutional, full", "reinforcement", "Atari ALE", 1686180},
};

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        struct ll_recording recording = {.row = ll_fathom[i].name,
                                         .variant = "infer",
                                         .model = printed[i].model,
                                         .dry_run = true,
                                         .batch = 1,
                                         .steps = 1};
        if (i == LL_SEQ2SEQ)
            recording.settings[0] = (struct ll_study_setting){"bucket", "3"};
        ll_study_plan_recording(plan, &recording);
    }
}

/* How much of a scope tells the part: up to the end of the name that holds a text; 0 when none does. */
static size_t part_length(const char *scope, const char *const texts[2])
{
    for (size_t i = 0; i < 2 && texts[i]; i++) {
        const char *found = strstr(scope, texts[i]);
        if (found)
            return (size_t)(found - scope) + strcspn(found, "/");
    }
    return 0;
}

/* Layers by a rule: ops, or parts of the network. Too few when memory ran
 * out. */
static size_t count_layers(const struct ll_trace *trace, const struct rule *rule)
{
    struct ll_map parts = {0};
    size_t ops = 0;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        if (form->view.kind == LL_OP_COUNT || !rule->counts(form))
            continue;
        const char *scope = trace->strings[form->scope];
        size_t length = part_length(scope, rule->scopes);
        if (length && ll_map_intern(&parts, scope, length, NULL) == LL_NO_ID)
            break;
        ops++;
    }
    size_t count = rule->scopes[0] ? parts.count : ops;
    ll_map_release(&parts);
    return count;
}

static void put_row(struct ll_sheet *sheet, size_t row, size_t layers, const struct ll_profile *profile)
{
    ll_put_text(sheet, ll_fathom[row].name);
    ll_put_number(sheet, printed[row].year);
    ll_put_text(sheet, printed[row].style);
    ll_put_text(sheet, printed[row].task);
    ll_put_text(sheet, printed[row].dataset);
    ll_put_number(sheet, printed[row].layers);
    ll_put_number(sheet, (double)layers);
    ll_put_text(sheet, printed[row].rule->name);
    ll_put_number(sheet, (double)profile->parameters);
    ll_put_number(sheet, profile->flops * 1e-6);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                       {"year", 0},
                                                       {"style", LL_TEXT_COLUMN},
                                                       {"task", LL_TEXT_COLUMN},
                                                       {"dataset", LL_TEXT_COLUMN},
                                                       {"layers", 0},
                                                       {"ours", 0},
                                                       {"counted are", LL_TEXT_COLUMN},
                                                       {"parameters", 0},
                                                       {"MFLOP, inference", 2}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "The workloads as the paper lists them, and as they are here.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_trace *trace = ll_evidence_trace(evidence, ll_fathom[row].name, "infer");
        const struct ll_profile *profile = trace ? ll_profile(trace, evidence->arena) : NULL;
        if (!profile)
            continue;
        size_t layers = count_layers(trace, printed[row].rule);
        put_row(sheet, row, layers, profile);
        ll_between(outcome, (struct ll_measured_value){(double)layers, 0, ""}, printed[row].layers,
                   printed[row].layers, "%s: layers, counting %s", ll_fathom[row].name,
                   printed[row].rule->name);
        ll_between(outcome, (struct ll_measured_value){(double)profile->parameters, 0, ""},
                   (double)printed[row].parameters, (double)printed[row].parameters, "%s: parameters",
                   ll_fathom[row].name);
    }
    ll_note(outcome, "The paper does not say how it counts layers: five for alexnet leaves out the dense "
                     "ones, five for deepq has "
                     "them. Parameters are those of Fathom's code, for residual and vgg of the networks they "
                     "are named after. FLOPs "
                     "of seq2seq are those of its third bucket of four: 20 words read, 25 written. Data "
                     "is made up here unless real data is given.");
}

const struct ll_study ll_study_FT2 = {
    .id = "F-T2",
    .paper = "Fathom, table II",
    .title = "The workloads",
    .doc = "The eight workloads with their style, number of layers, task and dataset.",
    .plan = plan,
    .judge = judge,
};
