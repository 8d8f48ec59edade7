/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/fathom.h"

#include <stdio.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/ir/profile.h"

enum { COLD_STEPS = 1 };

/* clang-format off */
/* seq2seq has sentences of up to 40 and 50 words, the longest of its four lengths, which take most of the
 * time when all are trained. The published profile of speech is of the suite's code, which repeats its
 * weights for each utterance and has no recurrence: so are ours. The replay memory of deepq is beside the
 * step. */
const struct ll_fathom_workload ll_fathom[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = {"seq2seq", "seq2seq", 64, 8, 12, 8,
                    {{"bucket", "4"}}, {{"bucket", "4"}}, {{"bucket", "1"}, {"vocabulary", "4000"}}},
    [LL_MEMNET] = {"memnet", "memnet", 32, 32, 400, 32, {{0}}, {{0}}, {{0}}},
    [LL_SPEECH] = {"speech", "speech", 32, 32, 4, 2,
                   {{"tile", "1"}, {"recurrent", "0"}}, {{"tile", "1"}, {"recurrent", "0"}, {"frames", "100"}}, {{"frames", "40"}, {"hidden", "256"}}},
    [LL_AUTOENC] = {"autoenc", "autoenc", 128, 128, 200, 128, {{0}}, {{0}}, {{0}}},
    [LL_RESIDUAL] = {"residual", "residual_code", 16, 4, 4, 1, {{0}}, {{0}}, {{"image", "56"}}},
    [LL_VGG] = {"vgg", "vgg_code", 8, 8, 4, 1, {{0}}, {{0}}, {{"image", "64"}, {"hidden", "1024"}}},
    [LL_ALEXNET] = {"alexnet", "alexnet", 64, 64, 4, 1, {{0}}, {{0}}, {{"hidden", "1024"}}},
    [LL_DEEPQ] = {"deepq", "deepq", 32, 32, 40, 32,
                  {{"replay", "10000"}}, {{"replay", "10000"}}, {{"replay", "10000"}}},
};
/* clang-format on */

const char *const ll_fathom_names[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = "seq2seq",   [LL_MEMNET] = "memnet", [LL_SPEECH] = "speech",   [LL_AUTOENC] = "autoenc",
    [LL_RESIDUAL] = "residual", [LL_VGG] = "vgg",       [LL_ALEXNET] = "alexnet", [LL_DEEPQ] = "deepq",
};

const char *const ll_fathom_classes[LL_FATHOM_CLASS_COUNT] = {
#define X(word, name) name,
    LL_FATHOM_CLASS_LIST(X)
#undef X
};

/* Classes of the op table in those of the figure. */
static const enum ll_fathom_class of_class[LL_CLASS_COUNT] = {
    [LL_CLASS_MATRIX] = LL_FATHOM_MATMUL,           [LL_CLASS_CONV] = LL_FATHOM_CONV,
    [LL_CLASS_ELEMENTWISE] = LL_FATHOM_ELEMENTWISE, [LL_CLASS_REDUCTION] = LL_FATHOM_REDUCTION,
    [LL_CLASS_RANDOM] = LL_FATHOM_RANDOM,           [LL_CLASS_OPTIMIZATION] = LL_FATHOM_OPTIMIZER,
    [LL_CLASS_MOVEMENT] = LL_FATHOM_MOVEMENT,       [LL_CLASS_COMMUNICATION] = LL_FATHOM_MOVEMENT,
    [LL_CLASS_INPUT] = LL_FATHOM_MOVEMENT,
};

/* Kinds that the figure has elsewhere than their class. */
static const struct {
    enum ll_op_kind kind;
    enum ll_fathom_class fathom_class;
} exceptions[] = {
    {LL_OP_CONV2D_FILTER, LL_FATHOM_CONV_FILTER},
    {LL_OP_CONV2D_DATA, LL_FATHOM_CONV_INPUT},
    {LL_OP_TILE, LL_FATHOM_MOVEMENT},
};

enum ll_fathom_class ll_fathom_class_of(enum ll_op_kind kind)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (exceptions[i].kind == kind)
            return exceptions[i].fathom_class;
    return of_class[ll_op_class(kind)];
}

void ll_fathom_plan_profiles(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        struct ll_recording recording = {.row = ll_fathom[i].name,
                                         .variant = "train",
                                         .model = ll_fathom[i].model,
                                         .train = true,
                                         .batch = ll_fathom[i].profile_batch,
                                         .steps = ll_fathom[i].profile_steps,
                                         .threads = 1};
        memcpy(recording.settings, ll_fathom[i].profile, sizeof recording.settings);
        ll_study_plan_recording(plan, &recording);
    }
}

const struct ll_timeline *ll_fathom_profile(const struct ll_evidence *evidence, enum ll_fathom_row row)
{
    const struct ll_trace *trace = ll_evidence_trace(evidence, ll_fathom[row].name, "train");
    return trace ? ll_timeline(trace, COLD_STEPS, evidence->arena) : NULL;
}

bool ll_fathom_profile_classes(const struct ll_evidence *evidence, enum ll_fathom_row row,
                               double share[LL_FATHOM_CLASS_COUNT])
{
    const struct ll_timeline *profile = ll_fathom_profile(evidence, row);
    memset(share, 0, LL_FATHOM_CLASS_COUNT * sizeof *share);
    for (size_t i = 0; profile && i < profile->kind_count; i++)
        if (profile->kinds[i].kind != LL_OP_COUNT)
            share[ll_fathom_class_of(profile->kinds[i].kind)] += profile->kinds[i].share;
    return profile != NULL;
}

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

/* Figure 3 of Fathom as printed: whole percents, 23 to a row. Only 22 names are printed above them; columns 0
 * to 15 are certain by facts of the workloads (powers in autoenc alone, RMSProp in deepq alone, ...), of 16
 * to 22 it is only certain that they are kinds of data movement, so these are one class. */

/* Add Sub Mul Div Pow Softmax MatMul CrossEntropy MaxPoolGrad Sum Conv ByFilter ByInput Normal Adam RMSProp,
 * then Transpose, Tile, Select, Pad, Reshape, Shape and one more. */
const double ll_fathom_published[LL_FATHOM_COUNT][LL_FATHOM_TYPES] = {
    [LL_SEQ2SEQ] = {3, 2, 35, 0, 0, 0, 32, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 20, 0, 1, 0, 0},
    [LL_MEMNET] = {2, 1, 33, 1, 0, 4, 12, 2, 0, 9, 0, 0, 0, 0, 5, 0, 9, 13, 0, 0, 1, 1, 1},
    [LL_SPEECH] = {0, 0, 0, 0, 0, 0, 89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 3, 0, 0, 0, 0},
    [LL_AUTOENC] = {3, 0, 6, 0, 5, 0, 58, 0, 0, 2, 0, 0, 0, 5, 8, 0, 0, 9, 0, 0, 0, 0, 0},
    [LL_RESIDUAL] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 34, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    [LL_VGG] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 35, 31, 30, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    [LL_ALEXNET] = {0, 0, 0, 0, 0, 0, 7, 0, 3, 0, 31, 26, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    [LL_DEEPQ] = {0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 33, 27, 20, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0},
};

static const enum ll_fathom_class class_of_column[LL_FATHOM_TYPES] = {
    LL_FATHOM_ELEMENTWISE, LL_FATHOM_ELEMENTWISE, LL_FATHOM_ELEMENTWISE, LL_FATHOM_ELEMENTWISE,
    LL_FATHOM_ELEMENTWISE, LL_FATHOM_REDUCTION,   LL_FATHOM_MATMUL,      LL_FATHOM_REDUCTION,
    LL_FATHOM_REDUCTION,   LL_FATHOM_REDUCTION,   LL_FATHOM_CONV,        LL_FATHOM_CONV_FILTER,
    LL_FATHOM_CONV_INPUT,  LL_FATHOM_RANDOM,      LL_FATHOM_OPTIMIZER,   LL_FATHOM_OPTIMIZER,
    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,
    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,
};

void ll_fathom_published_classes(double share[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT])
{
    memset(share, 0, LL_FATHOM_COUNT * sizeof *share);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        double sum = 0;
        for (size_t i = 0; i < LL_FATHOM_TYPES; i++)
            sum += ll_fathom_published[row][i];
        for (size_t i = 0; i < LL_FATHOM_TYPES; i++)
            share[row][class_of_column[i]] += ll_fathom_published[row][i] / sum;
    }
}
