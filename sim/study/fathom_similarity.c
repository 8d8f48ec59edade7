/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom's workloads as profiles of op classes (table 2), and how similar they are (figures 3 and 4). */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/study/fathom.h"
#include "sim/study/study.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/ir/profile.h"

enum { COLD_STEPS = 1 };

/* clang-format off */
/* seq2seq has sentences of up to 40 and 50 words, the longest of its four lengths, which take most of the
 * time when all are trained. The published profile of speech is of the suite's code, which repeats its
 * weights for each utterance and has no recurrence: so are ours. The replay memory of deepq is beside the
 * step. Steps of memnet take a fifth of a millisecond: a long run has twenty times as many. */
const struct ll_fathom_workload ll_fathom[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = {"seq2seq", "seq2seq", 64, 8, 12, 8, 220,
                    {{"bucket", "4"}}, {{"bucket", "4"}}, {{"bucket", "1"}, {"vocabulary", "4000"}}},
    [LL_MEMNET] = {"memnet", "memnet", 32, 32, 400, 32, 4400, {{0}}, {{0}}, {{0}}},
    [LL_SPEECH] = {"speech", "speech", 32, 32, 4, 2, 220,
                   {{"tile", "1"}, {"recurrent", "0"}}, {{"tile", "1"}, {"recurrent", "0"}, {"frames", "100"}}, {{"frames", "40"}, {"hidden", "256"}}},
    [LL_AUTOENC] = {"autoenc", "autoenc", 128, 128, 200, 128, 220, {{0}}, {{0}}, {{0}}},
    [LL_RESIDUAL] = {"residual", "residual_code", 16, 4, 4, 1, 220, {{0}}, {{0}}, {{"image", "56"}}},
    [LL_VGG] = {"vgg", "vgg_code", 8, 8, 4, 1, 220, {{0}}, {{0}}, {{"image", "64"}, {"hidden", "1024"}}},
    [LL_ALEXNET] = {"alexnet", "alexnet", 64, 64, 4, 1, 220, {{0}}, {{0}}, {{"hidden", "1024"}}},
    [LL_DEEPQ] = {"deepq", "deepq", 32, 32, 40, 32, 220,
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

/* The class of one of our op kinds. Ours is a reduction's inverse, TensorFlow's Tile, among movement here, as
 * figure 3 has it. The kind is known, and no host input. */
static enum ll_fathom_class fathom_class_of(enum ll_op_kind kind)
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

static const char paper_size[] = "at the paper's size", paper_cpu[] = "the paper's CPU";

/* A core is a multiply-add unit with its vector unit, as for figure 6. */
void ll_fathom_plan_simulated(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        struct ll_recording recording = {.row = ll_fathom[i].name,
                                         .variant = paper_size,
                                         .model = ll_fathom[i].model,
                                         .train = true,
                                         .dry_run = true,
                                         .batch = ll_fathom[i].batch,
                                         .steps = 2};
        memcpy(recording.settings, ll_fathom[i].full, sizeof recording.settings);
        ll_study_plan_recording(plan, &recording);
    }
    ll_study_plan_machine(
        plan, &(struct ll_study_machine){.name = paper_cpu,
                                         .machine = "archive/i7_6700k_sse",
                                         .overrides = {{"units.fma.count", "4"}, {"units.avx2.count", "4"}}});
}

const struct ll_timeline *ll_fathom_profile(const struct ll_runs *runs, enum ll_fathom_row row)
{
    assert(row < LL_FATHOM_COUNT);
    const struct ll_trace *trace = ll_runs_trace(runs, ll_fathom[row].name, "train");
    return trace ? ll_timeline(trace, COLD_STEPS, runs->arena) : NULL;
}

/* Its shares by class, summing to 1. False when there is none; share is then zero. */
static bool fathom_profile_classes(const struct ll_runs *runs, enum ll_fathom_row row,
                                   double share[LL_FATHOM_CLASS_COUNT])
{
    const struct ll_timeline *profile = ll_fathom_profile(runs, row);
    memset(share, 0, LL_FATHOM_CLASS_COUNT * sizeof *share);
    for (size_t i = 0; profile && i < profile->kind_count; i++)
        if (profile->kinds[i].kind != LL_OP_NONE)
            share[fathom_class_of(profile->kinds[i].kind)] += profile->kinds[i].share;
    return profile != NULL;
}

/* The paper counts layers now so, now so; each rule is the one that gives its number, asked of the ops of one
 * inference. */
static bool is_convolution(const struct ll_op_signature *signature)
{
    return signature->view.kind == LL_OP_CONV2D;
}

static bool is_gemm(const struct ll_op_signature *signature)
{
    return signature->view.kind == LL_OP_MATMUL || is_convolution(signature);
}

/* Shortcuts, which convolve single pixels, are no layers. */
static bool is_wide_gemm(const struct ll_op_signature *signature)
{
    return is_gemm(signature) && !(is_convolution(signature) && signature->view.in[1].dim[0] == 1);
}

static bool is_softmax(const struct ll_op_signature *signature)
{
    return strcmp(ll_op_name(signature->view.kind), "softmax") == 0;
}

/* Which ops are counted. With `scopes`, not the ops count but the parts of the network that have some: names
 * in their scopes that hold such a text. */
struct rule {
    const char *name;
    bool (*counts)(const struct ll_op_signature *signature);
    const char *scopes[2];
};
static const struct rule convolutions = {"convolutions", is_convolution, {NULL}},
                         products = {"convolutions and GEMMs", is_gemm, {NULL}},
                         wide_products = {"convolutions wider than a pixel, and GEMMs", is_wide_gemm, {NULL}},
                         looks = {"looks at the memory", is_softmax, {NULL}},
                         product_layers = {"layers with GEMMs", is_gemm, {"layer"}},
                         recurrent = {"recurrent layers and the attention", is_gemm, {"lstm", "attention"}};

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
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind == LL_OP_NONE || !rule->counts(signature))
            continue;
        const char *scope = trace->strings[signature->scope];
        size_t length = part_length(scope, rule->scopes);
        if (length && ll_map_intern(&parts, scope, length, NULL) == LL_NO_ID)
            break;
        ops++;
    }
    size_t count = rule->scopes[0] ? parts.count : ops;
    ll_map_release(&parts);
    return count;
}

static void put_row(struct ll_study_table *table, size_t row, size_t layers, const struct ll_profile *profile)
{
    ll_table_put_text(table, ll_fathom[row].name);
    ll_table_put_number(table, printed[row].year);
    ll_table_put_text(table, printed[row].style);
    ll_table_put_text(table, printed[row].task);
    ll_table_put_text(table, printed[row].dataset);
    ll_table_put_number(table, printed[row].layers);
    ll_table_put_number(table, (double)layers);
    ll_table_put_text(table, printed[row].rule->name);
    ll_table_put_number(table, (double)profile->parameters);
    ll_table_put_number(table, profile->flops * 1e-6);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"year", 0},
                                                     {"style", LL_TEXT_COLUMN},
                                                     {"task", LL_TEXT_COLUMN},
                                                     {"dataset", LL_TEXT_COLUMN},
                                                     {"layers", 0},
                                                     {"ours", 0},
                                                     {"counted are", LL_TEXT_COLUMN},
                                                     {"parameters", 0},
                                                     {"MFLOP, inference", 2}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "The workloads as the paper lists them, and as they are here.",
                           columns, sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_trace *trace = ll_runs_trace(runs, ll_fathom[row].name, "infer");
        const struct ll_profile *profile = trace ? ll_profile(trace, runs->arena) : NULL;
        if (!profile)
            continue;
        size_t layers = count_layers(trace, printed[row].rule);
        put_row(table, row, layers, profile);
        ll_criterion_between(result, (struct ll_measured_value){(double)layers, 0, ""}, printed[row].layers,
                             printed[row].layers, "%s: layers, counting %s", ll_fathom[row].name,
                             printed[row].rule->name);
        ll_criterion_between(result, (struct ll_measured_value){(double)profile->parameters, 0, ""},
                             (double)printed[row].parameters, (double)printed[row].parameters,
                             "%s: parameters", ll_fathom[row].name);
    }
    ll_study_note(result,
                  "The paper does not say how it counts layers: five for alexnet leaves out the dense "
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

/* Figure 3's columns of GEMMs, and of the kinds that are assumed to be slow: those of which figure 3 has
 * several times what their elements take in our simulation. TensorFlow 0.8 repeats an operand by
 * computing, of each element of the result, the place in the operand (Eigen's broadcasting): in Tile, in
 * products of operands of unlike shapes. */
enum { GEMM_COLUMN = 6 };
static const struct {
    enum ll_fathom_row row;
    enum ll_op_kind kind;
    size_t column;
    bool unlike; /* only ops with an operand that is smaller than the result have this cause */
} slow_kinds[] = {
    {LL_SEQ2SEQ, LL_OP_MUL, 2, true},
    {LL_AUTOENC, LL_OP_TILE, 17, false},
    {LL_AUTOENC, LL_OP_RANDOM_NORMAL, 13, false},
    {LL_AUTOENC, LL_OP_POW, 4, false},
};
enum { SLOW_KINDS = sizeof slow_kinds / sizeof *slow_kinds };

/* Batched GEMMs are GEMMs: figure 3 has one column for both. */
static enum ll_op_kind coordinate(enum ll_op_kind kind)
{
    return kind == LL_OP_BATCH_MATMUL ? LL_OP_MATMUL : kind;
}

static const struct ll_result *replay_of(const struct ll_runs *runs, enum ll_fathom_row row)
{
    return ll_runs_replay(runs, ll_fathom[row].name, paper_size, paper_cpu);
}

/* What figure 3 prints for a slow kind, in the measure of GEMMs that take so long. */
static double printed_s(size_t slow, double gemms_s)
{
    const double *row = ll_fathom_published[slow_kinds[slow].row];
    return row[slow_kinds[slow].column] / row[GEMM_COLUMN] * gemms_s;
}

bool ll_fathom_simulate(const struct ll_runs *runs, enum ll_fathom_row row, bool slow,
                        struct ll_fathom_simulated *simulated)
{
    const struct ll_result *replay = replay_of(runs, row);
    *simulated = (struct ll_fathom_simulated){{0}};
    if (!replay)
        return false;
    const struct ll_trace *trace = replay->prepared->trace;
    for (uint32_t seq = replay->prepared->first_op; seq < replay->prepared->end_op; seq++) {
        const enum ll_op_kind kind = trace->signatures[trace->ops[seq].signature].view.kind;
        if (kind != LL_OP_NONE && ll_op_class(kind) != LL_CLASS_INPUT)
            simulated->time_s[coordinate(kind)] += replay->ops[seq - replay->prepared->first_op].time_s;
    }
    for (size_t i = 0; i < SLOW_KINDS && slow; i++)
        if (slow_kinds[i].row == row)
            simulated->time_s[slow_kinds[i].kind] = printed_s(i, simulated->time_s[LL_OP_MATMUL]);
    return true;
}

size_t ll_fathom_simulated_types(const struct ll_fathom_simulated *simulated, double part)
{
    bool taken[LL_OP_NONE] = {false};
    double all_s = 0, sum_s = 0;
    size_t count = 0;
    for (size_t kind = 0; kind < LL_OP_NONE; kind++)
        all_s += simulated->time_s[kind];
    for (; sum_s < part * all_s && count < LL_OP_NONE; count++) {
        size_t best = LL_OP_NONE;
        for (size_t kind = 0; kind < LL_OP_NONE; kind++)
            if (!taken[kind] && (best == LL_OP_NONE || simulated->time_s[kind] > simulated->time_s[best]))
                best = kind;
        taken[best] = true;
        sum_s += simulated->time_s[best];
    }
    return count;
}

/* Elements that ops of the slow kind make, without those that have another cause. */
static double slow_elements(const struct ll_result *replay, size_t slow)
{
    const struct ll_trace *trace = replay->prepared->trace;
    double sum = 0;
    for (uint32_t seq = replay->prepared->first_op; seq < replay->prepared->end_op; seq++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[seq].signature].view;
        if (view->kind != slow_kinds[slow].kind)
            continue;
        const uint64_t made = ll_elements(&view->out[0]);
        bool unlike = false;
        for (uint32_t i = 0; i < view->input_count; i++)
            unlike |= ll_elements(&view->in[i]) > 1 && ll_elements(&view->in[i]) < made;
        sum += unlike || !slow_kinds[slow].unlike ? (double)made : 0;
    }
    return sum;
}

void ll_fathom_slow_text(const struct ll_runs *runs, enum ll_fathom_row row, struct ll_str *out)
{
    const struct ll_result *replay = replay_of(runs, row);
    struct ll_fathom_simulated simulated;
    const char *mark = "";
    if (!replay || !ll_fathom_simulate(runs, row, false, &simulated))
        return;
    for (size_t i = 0; i < SLOW_KINDS; i++) {
        if (slow_kinds[i].row != row)
            continue;
        const double more_s =
            printed_s(i, simulated.time_s[LL_OP_MATMUL]) - simulated.time_s[slow_kinds[i].kind];
        ll_str_addf(out, "%s%.1f ns more for each element of %s%s", mark,
                    1e9 * more_s / slow_elements(replay, i), ll_op_name(slow_kinds[i].kind),
                    slow_kinds[i].unlike ? " that repeats an operand" : "");
        mark = ", ";
    }
}

/* The least cosine to the published row: memory networks and translation spend much in what TensorFlow 0.8
 * makes of an attention, so less is asked of them. */
static const double least_cosine[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = 0.70,  [LL_MEMNET] = 0.70, [LL_SPEECH] = 0.95,  [LL_AUTOENC] = 0.90,
    [LL_RESIDUAL] = 0.95, [LL_VGG] = 0.95,    [LL_ALEXNET] = 0.90, [LL_DEEPQ] = 0.90,
};

struct profiles {
    bool there[LL_FATHOM_COUNT];
    double ours[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT], published[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT];
};

/* The paper's groups have all of a convolution in one. */
static enum ll_fathom_class group_of(size_t fathom_class)
{
    bool conv = fathom_class == LL_FATHOM_CONV_FILTER || fathom_class == LL_FATHOM_CONV_INPUT;
    return conv ? LL_FATHOM_CONV : (enum ll_fathom_class)fathom_class;
}

static size_t largest_group(const double *share)
{
    double sums[LL_FATHOM_CLASS_COUNT] = {0};
    size_t best = 0;
    for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++)
        sums[group_of(i)] += share[i];
    for (size_t i = 1; i < LL_FATHOM_CLASS_COUNT; i++)
        best = sums[i] > sums[best] ? i : best;
    return best;
}

static double cosine(const struct profiles *p, size_t row)
{
    return ll_cosine(p->ours[row], p->published[row], LL_FATHOM_CLASS_COUNT);
}

static void tabulate(const struct profiles *p, struct ll_study_result *result)
{
    struct ll_study_column columns[LL_FATHOM_CLASS_COUNT + 3] = {{"workload", LL_TEXT_COLUMN},
                                                                 {"whose", LL_TEXT_COLUMN}};
    for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++)
        columns[i + 2] = (struct ll_study_column){ll_fathom_classes[i], 1};
    columns[LL_FATHOM_CLASS_COUNT + 2] = (struct ll_study_column){"cosine", 3};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL,
                           "Percent of a training step's time by class of op type; conv "
                           "filter and conv input are the gradients of a convolution.",
                           columns, sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        for (int ours = 1; ours >= 0; ours--) {
            if (ours && !p->there[row])
                continue;
            ll_table_put_text(table, ll_fathom[row].name);
            ll_table_put_text(table, ours ? "ours" : "paper");
            for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++)
                ll_table_put_number(table, 100 * (ours ? p->ours : p->published)[row][i]);
            ll_table_put_number(table, ours ? cosine(p, row) : NAN);
        }
}

static void tabulate_kinds(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"op kind", LL_TEXT_COLUMN},
                                                     {"class", LL_TEXT_COLUMN},
                                                     {"share (%)", 1}};
    struct ll_study_table *table =
        ll_study_table_new(result, "kinds", "Our op kinds with at least 1 % of a step's time.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_timeline *profile = ll_fathom_profile(runs, (enum ll_fathom_row)row);
        for (size_t i = 0; profile && i < profile->kind_count; i++) {
            const struct ll_timeline_kind *kind = &profile->kinds[i];
            if (kind->share < 0.01 || kind->kind == LL_OP_NONE)
                continue;
            ll_table_put_text(table, ll_fathom[row].name);
            ll_table_put_text(table, kind->name);
            ll_table_put_text(table, ll_fathom_classes[fathom_class_of(kind->kind)]);
            ll_table_put_number(table, 100 * kind->share);
        }
    }
}

static void draw(const struct profiles *p, const char *note, struct ll_study_result *result)
{
    double percent[2][LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT];
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++) {
            percent[0][row][i] = p->there[row] ? 100 * p->ours[row][i] : NAN;
            percent[1][row][i] = 100 * p->published[row][i];
        }
    static const char *const titles[] = {"measured here", "published"};
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL, "Share of a training step's time by class of op type, in percent.")};
    const struct ll_page page = {
        "Where the time of a training step goes",
        "Two heat maps of workloads by classes of op types, ours and the published one.",
        2,
        2,
        560,
        340,
        note};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < 2; i++)
        ll_draw_heat(&svg, ll_page_panel(&page, i),
                     &(struct ll_heat){.title = titles[i],
                                       .unit = "% of time",
                                       .grey = "not recorded",
                                       .rows = ll_fathom_names,
                                       .row_count = LL_FATHOM_COUNT,
                                       .columns = ll_fathom_classes,
                                       .column_count = LL_FATHOM_CLASS_COUNT,
                                       .values = percent[i][0],
                                       .full = 100});
    ll_svg_close(&svg);
}

/* The largest group of a workload on the paper's processor with the slow kinds. */
static size_t simulated_group(const struct ll_fathom_simulated *simulated)
{
    double share[LL_FATHOM_CLASS_COUNT] = {0};
    for (size_t kind = 0; kind < LL_OP_NONE; kind++)
        if (simulated->time_s[kind] > 0) /* others need not be kinds at all */
            share[fathom_class_of((enum ll_op_kind)kind)] += simulated->time_s[kind];
    return largest_group(share);
}

/* Explains the last criterion: what other groups are on the paper's processor where ours is another. */
static void explain_groups(const struct ll_runs *runs, const struct profiles *p, double same, double least,
                           struct ll_study_result *result)
{
    struct ll_str slow = {0}, others = {0};
    double explained = same;
    ll_fathom_slow_text(runs, LL_SEQ2SEQ, &slow);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        struct ll_fathom_simulated simulated;
        const size_t ours = largest_group(p->ours[row]), theirs = largest_group(p->published[row]);
        if (!p->there[row] || ours == theirs ||
            !ll_fathom_simulate(runs, (enum ll_fathom_row)row, true, &simulated))
            continue;
        const size_t group = simulated_group(&simulated);
        explained += group == theirs;
        ll_str_addf(&others, "%s%s: %s here, %s printed, %s there", others.length ? "; " : "",
                    ll_fathom[row].name, ll_fathom_classes[ours], ll_fathom_classes[theirs],
                    ll_fathom_classes[group]);
    }
    const char *needed = ll_format(runs->arena,
                                   "an i7-6700K with eight threads, as for figure 3, and TensorFlow 0.8 that "
                                   "takes %s in seq2seq",
                                   slow.failed || !slow.text ? "" : slow.text);
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = needed ? needed : "",
                                               .reached = {explained, 0, " of 8"},
                                               .low = least,
                                               .high = LL_FATHOM_COUNT};
    ll_criterion_explain(
        result, &explanation,
        "of %d workloads the largest group is another here, on one thread of this computer (%s)",
        (int)(LL_FATHOM_COUNT - same), others.failed || !others.text ? "" : others.text);
    ll_str_release(&slow);
    ll_str_release(&others);
}

static void judge_rows(const struct ll_runs *runs, const struct profiles *p, struct ll_study_result *result)
{
    size_t same = 0;
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        if (!p->there[row])
            continue;
        same += largest_group(p->ours[row]) == largest_group(p->published[row]);
        ll_criterion_at_least(result, (struct ll_measured_value){cosine(p, row), 3, ""}, least_cosine[row],
                              "%s: cosine of our row and the published one", ll_fathom[row].name);
    }
    ll_criterion_at_least(result, (struct ll_measured_value){(double)same, 0, " of 8"}, 7,
                          "workloads whose largest group of op types is the paper's, convolutions being one");
    explain_groups(runs, p, (double)same, 7, result);
}

/* Claims of the text beside the figure. */
static void judge_text(const struct profiles *p, struct ll_study_result *result)
{
    char measured[96];
    double alexnet = 100 * p->ours[LL_ALEXNET][LL_FATHOM_MATMUL],
           vgg = 100 * p->ours[LL_VGG][LL_FATHOM_MATMUL],
           residual = 100 * p->ours[LL_RESIDUAL][LL_FATHOM_MATMUL];
    ll_snprintf(measured, sizeof measured, "%.1f > %.1f > %.1f %%", alexnet, vgg, residual);
    ll_criterion_holds(result, alexnet > vgg && vgg > residual, measured, "11 > 7 > 1 %",
                       "fully connected layers weigh less in younger image networks: alexnet, vgg, residual");
    if (p->there[LL_SPEECH])
        ll_criterion_at_least(result,
                              (struct ll_measured_value){100 * p->ours[LL_SPEECH][LL_FATHOM_MATMUL], 1, " %"},
                              80, "speech: GEMMs");
    if (p->there[LL_SPEECH]) {
        ll_snprintf(measured, sizeof measured, "%.1f %%", 100 * p->ours[LL_SPEECH][LL_FATHOM_MOVEMENT]);
        ll_criterion_info(
            result, "the class of these columns in the published heat map is not certain", measured,
            "7 % (Tile), 3 % (another)",
            "speech: movement of data, its weights being repeated for each utterance as in the suite's "
            "code");
    }
}

static void similarity_plan(struct ll_study_plan *plan)
{
    ll_fathom_plan_profiles(plan);
    ll_fathom_plan_simulated(plan);
}

static void similarity_judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct profiles p;
    ll_fathom_published_classes(p.published);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        p.there[row] = fathom_profile_classes(runs, (enum ll_fathom_row)row, p.ours[row]);
    tabulate(&p, result);
    tabulate_kinds(runs, result);
    draw(&p, ll_runs_recorded_on(runs), result);
    judge_rows(runs, &p, result);
    judge_text(&p, result);
    ll_study_note(
        result,
        "Ours are times of quiet steps, the tenth in which an op type took least, on one thread. "
        "Published numbers are whole percents and leave out op types below 1 %%; here each row "
        "is divided by its "
        "sum. Speech is the suite's code without recurrence, whose profile the published one is. Seven "
        "columns of the figure cannot be told apart for a missing heading and are "
        "one class here, data "
        "movement.");
}

const struct ll_study ll_study_F3 = {
    .id = "F3",
    .paper = "Fathom, figure 3",
    .title = "Time by op type",
    .doc =
        "The heat map of execution time by op type. Convolutional networks spend it in convolutions, speech "
        "and autoenc in "
        "GEMMs; seq2seq and memnet spread it over element-wise arithmetic and data movement.",
    .plan = similarity_plan,
    .judge = similarity_judge,
};

/* A clustering of some of the workloads. */
struct clustering {
    const char *names[LL_FATHOM_COUNT];
    enum ll_fathom_row rows[LL_FATHOM_COUNT];
    size_t count;
    struct ll_merge merges[LL_FATHOM_COUNT - 1];
};

/* The merges of figure 4, recomputed from figure 3's numbers. The paper prints one of the distances, "about
 * 0.4", for the last but one. */
#define ROW(word) (1ul << LL_##word)
static const struct {
    unsigned long members;
    double distance;
} published[LL_FATHOM_COUNT - 1] = {
    {ROW(RESIDUAL) | ROW(VGG), 0.0029},     {ROW(RESIDUAL) | ROW(VGG) | ROW(ALEXNET), 0.0150},
    {ROW(SPEECH) | ROW(AUTOENC), 0.0262},   {ROW(RESIDUAL) | ROW(VGG) | ROW(ALEXNET) | ROW(DEEPQ), 0.0422},
    {ROW(SEQ2SEQ) | ROW(MEMNET), 0.2287},   {ROW(SEQ2SEQ) | ROW(MEMNET) | ROW(SPEECH) | ROW(AUTOENC), 0.4347},
    {(1ul << LL_FATHOM_COUNT) - 1, 0.9218},
};
enum { JUDGED_MERGES = 4 };

/* The op kinds of all workloads as coordinates. */
static bool measured_clustering(const struct ll_runs *runs, struct clustering *ours,
                                double cosines[LL_FATHOM_COUNT][LL_FATHOM_COUNT])
{
    static const size_t size = LL_OP_NONE;
    double profiles[LL_FATHOM_COUNT][LL_OP_NONE] = {{0}};
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_timeline *profile = ll_fathom_profile(runs, (enum ll_fathom_row)row);
        if (!profile)
            continue;
        for (size_t i = 0; i < profile->kind_count; i++)
            if (profile->kinds[i].kind != LL_OP_NONE)
                profiles[ours->count][coordinate(profile->kinds[i].kind)] += profile->kinds[i].share;
        ours->rows[ours->count] = (enum ll_fathom_row)row;
        ours->names[ours->count++] = ll_fathom[row].name;
    }
    for (size_t a = 0; a < ours->count; a++)
        for (size_t b = 0; b < ours->count; b++)
            cosines[ours->rows[a]][ours->rows[b]] = ll_cosine(profiles[a], profiles[b], size);
    if (ours->count >= 2)
        ll_cluster(profiles[0], ours->count, size, ours->merges);
    return ours->count >= 2;
}

static void published_clustering(struct clustering *theirs)
{
    theirs->count = LL_FATHOM_COUNT;
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        theirs->rows[row] = (enum ll_fathom_row)row;
        theirs->names[row] = ll_fathom[row].name;
    }
    ll_cluster(ll_fathom_published[0], LL_FATHOM_COUNT, LL_FATHOM_TYPES, theirs->merges);
}

/* Which workloads a merge joins, as bits by row. */
static unsigned long rows_of(const struct clustering *c, size_t merge)
{
    unsigned long members = ll_members(c->merges, c->count, c->count + merge), rows = 0;
    for (size_t i = 0; i < c->count; i++)
        rows |= members >> i & 1 ? 1ul << c->rows[i] : 0;
    return rows;
}

static void names_of(unsigned long rows, struct ll_str *out)
{
    const char *mark = "";
    if (rows == (1ul << LL_FATHOM_COUNT) - 1) {
        ll_str_add(out, "all");
        return;
    }
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        if (rows >> row & 1) {
            ll_str_addf(out, "%s%s", mark, ll_fathom[row].name);
            mark = ", ";
        }
}

static void tabulate_similarity(const struct clustering *c, const char *name, const char *caption,
                                struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"merge", 0}, {"together", LL_TEXT_COLUMN}, {"distance", 4}};
    struct ll_study_table *table =
        ll_study_table_new(result, name, caption, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i + 1 < c->count; i++) {
        struct ll_str together = {0};
        names_of(rows_of(c, i), &together);
        ll_table_put_number(table, (double)(i + 1));
        ll_table_put_text(table, together.failed ? "" : together.text);
        ll_table_put_number(table, c->merges[i].distance);
        ll_str_release(&together);
    }
}

static void draw_similarity(const struct clustering *const clusterings[2], const char *note,
                            struct ll_study_result *result)
{
    static const char *const titles[] = {"measured here", "published"};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL,
                            "Workloads by the cosine distance of their profiles; clusters are "
                            "joined where their centroids are.")};
    const struct ll_page page = {"Similarity of workloads",
                                 "Two dendrograms of the workloads, ours and that of the published profiles.",
                                 2,
                                 2,
                                 460,
                                 320,
                                 note};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < 2; i++)
        if (clusterings[i]->count >= 2)
            ll_draw_tree(&svg, ll_page_panel(&page, i),
                         &(struct ll_tree){.title = titles[i],
                                           .x_label = "cosine distance",
                                           .leaves = clusterings[i]->names,
                                           .leaf_count = clusterings[i]->count,
                                           .merges = clusterings[i]->merges,
                                           .x_high = 1});
    ll_svg_close(&svg);
}

static void judge_published(const struct clustering *theirs, struct ll_study_result *result)
{
    double worst = 0;
    bool same = true;
    for (size_t i = 0; i + 1 < LL_FATHOM_COUNT; i++) {
        double off = theirs->merges[i].distance - published[i].distance;
        worst = off > worst ? off : -off > worst ? -off : worst;
        same = same && rows_of(theirs, i) == published[i].members;
    }
    ll_criterion_holds(result, same, same ? "the same" : "another", "the same",
                       "tree of the published profiles");
    ll_criterion_at_most(result, (struct ll_measured_value){worst, 6, ""}, 1e-4,
                         "largest error of its seven distances");
    char text[32];
    ll_snprintf(text, sizeof text, "%.4f", theirs->merges[LL_FATHOM_COUNT - 3].distance);
    ll_criterion_info(result, "the text rounds to one digit", text, "about 0.4",
                      "distance of {seq2seq, memnet} to {speech, autoenc}, by published profiles");
}

/* Whether a set of workloads is a cluster of ours at all, in whichever order the merges came. */
static bool is_cluster(const struct clustering *ours, unsigned long rows)
{
    for (size_t i = 0; i + 1 < ours->count; i++)
        if (rows_of(ours, i) == rows)
            return true;
    return false;
}

static void judge_ours(const struct clustering *ours, double cosines[LL_FATHOM_COUNT][LL_FATHOM_COUNT],
                       struct ll_study_result *result)
{
    char measured[64];
    for (size_t i = 0; i < JUDGED_MERGES; i++) {
        struct ll_str names = {0};
        names_of(published[i].members, &names);
        bool found = is_cluster(ours, published[i].members);
        ll_criterion_holds(result, found, found ? "a cluster" : "no cluster", "a cluster",
                           "in our profiles: %s", names.failed ? "" : names.text);
        ll_str_release(&names);
    }
    double far = 1 - cosines[LL_SPEECH][LL_SEQ2SEQ], near = 1 - cosines[LL_SPEECH][LL_AUTOENC];
    ll_snprintf(measured, sizeof measured, "%.3f > %.3f", far, near);
    ll_criterion_holds(result, far > near, measured, "farther",
                       "speech is farther from seq2seq than from autoenc");
}

static void judge_similarity(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct clustering ours = {.count = 0}, theirs = {.count = 0};
    double cosines[LL_FATHOM_COUNT][LL_FATHOM_COUNT] = {{0}};
    bool measured = measured_clustering(runs, &ours, cosines);
    published_clustering(&theirs);
    tabulate_similarity(&ours, NULL, "Merges of our profiles, nearest first.", result);
    tabulate_similarity(&theirs, "published", "Merges of the published profiles (figure 3).", result);
    draw_similarity((const struct clustering *const[]){&ours, &theirs}, ll_runs_recorded_on(runs), result);
    judge_published(&theirs, result);
    if (measured)
        judge_ours(&ours, cosines, result);
    ll_study_note(
        result,
        "Distance is 1 - A.B / (|A| |B|); the two nearest clusters are merged and replaced by the mean of "
        "all "
        "their members. Our coordinates are all op kinds, batched GEMMs being GEMMs, the published "
        "ones "
        "the 23 columns of figure 3. Speech is the suite's code without recurrence, whose profile the "
        "published "
        "one is.");
}

const struct ll_study ll_study_F4 = {
    .id = "F4",
    .paper = "Fathom, figure 4",
    .title = "Similarity of workloads",
    .doc = "Profiles as vectors, clustered by cosine distance and centroid linkage. The convolutional "
           "networks form one tight "
           "group; speech and autoenc are more similar than seq2seq and memnet.",
    .plan = ll_fathom_plan_profiles,
    .judge = judge_similarity,
};
