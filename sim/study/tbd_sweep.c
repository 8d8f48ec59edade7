/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of TBD share: workloads by mini-batch under its frameworks, their replays, tables, figures
 * and criteria, and the assumptions that explain its translators. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"
#include "tracer/base/str.h"

/* Two steps: the second finds its input loaded. */
enum { STEPS = 2, PANEL_COLUMNS = 3 };

/* clang-format off */
/* The mini-batches of figures 4 to 6, whose axes cannot be read exactly: from the smallest worth showing to
 * the largest that the text mentions, or the default of the suite's script. A sentence of Transformer has 32
 * words, so 64 sentences are the script's 2048 words. Faster R-CNN, always one image, is in no figure. */
#define TF_ONLY {true, false, false}, LL_TBD_TENSORFLOW
#define MX_ONLY {false, true, false}, LL_TBD_MXNET
const struct ll_tbd_workload ll_tbd[LL_TBD_COUNT] = {
    [LL_TBD_RESNET] = {"ResNet-50", "resnet", LL_TBD_CONVOLUTIONAL, {true, true, true}, LL_TBD_MXNET,
                       "ResNet-50", {4, 8, 16, 32}, {{0}}},
    [LL_TBD_INCEPTION] = {"Inception-v3", "inception_v3", LL_TBD_CONVOLUTIONAL, {true, true, true}, LL_TBD_TENSORFLOW,
                          "Inception-v3", {4, 8, 16, 32}, {{0}}},
    [LL_TBD_NMT] = {"NMT", "nmt", LL_TBD_RECURRENT, TF_ONLY, "Seq2Seq", {4, 8, 16, 32, 64, 128}, {{0}}},
    [LL_TBD_SOCKEYE] = {"Sockeye", "sockeye", LL_TBD_RECURRENT, MX_ONLY, "Seq2Seq", {4, 8, 16, 32, 64}, {{0}}},
    [LL_TBD_TRANSFORMER] = {"Transformer", "transformer", LL_TBD_ATTENTION, TF_ONLY, "Transformer", {2, 8, 16, 32, 64}, {{0}}},
    [LL_TBD_FASTER_RCNN] = {"Faster R-CNN", "faster_rcnn", LL_TBD_CONVOLUTIONAL, {true, true, false}, LL_TBD_MXNET,
                            NULL, {1}, {{0}}},
    [LL_TBD_DEEP_SPEECH] = {"Deep Speech 2", "deepspeech2", LL_TBD_RECURRENT, MX_ONLY, "Deep Speech 2", {1, 2, 4}, {{"stepwise", "1"}}},
    [LL_TBD_WGAN] = {"WGAN", "wgan", LL_TBD_CONVOLUTIONAL, TF_ONLY, "WGAN", {4, 16, 64}, {{0}}},
    [LL_TBD_A3C] = {"A3C", "a3c", LL_TBD_CONVOLUTIONAL, MX_ONLY, "A3C", {8, 32, 128}, {{0}}},
};
#undef TF_ONLY
#undef MX_ONLY
/* clang-format on */

/* By card and framework, so that a workload runs under the stack of its framework. */
static const char *const cards[LL_TBD_CARDS] = {"Quadro P4000", "TITAN Xp"};
static const char *const frameworks[LL_TBD_FRAMEWORKS] = {"TensorFlow", "MXNet", "CNTK"};
static const char *const targets[LL_TBD_CARDS][LL_TBD_FRAMEWORKS] = {
    {"Quadro P4000, TensorFlow", "Quadro P4000, MXNet", "Quadro P4000, CNTK"},
    {"TITAN Xp, TensorFlow", "TITAN Xp, MXNet", "TITAN Xp, CNTK"},
};
static const char *const machines[LL_TBD_CARDS][LL_TBD_FRAMEWORKS] = {
    {"quadro_p4000+archive/deepbench+tensorflow_2018", "quadro_p4000+archive/deepbench+mxnet_2018",
     "quadro_p4000+archive/deepbench+cntk_2018"},
    {"titan_xp+archive/deepbench+tensorflow_2018", "titan_xp+archive/deepbench+mxnet_2018",
     "titan_xp+archive/deepbench+cntk_2018"},
};

const char *ll_tbd_card_name(enum ll_tbd_card card)
{
    assert(card < LL_TBD_CARDS);
    return cards[card];
}

const char *ll_tbd_framework_name(enum ll_tbd_framework framework)
{
    assert(framework < LL_TBD_FRAMEWORKS);
    return frameworks[framework];
}

const char *ll_tbd_target(enum ll_tbd_card card, enum ll_tbd_framework framework)
{
    assert(card < LL_TBD_CARDS && framework < LL_TBD_FRAMEWORKS);
    return targets[card][framework];
}

void ll_tbd_plan_machine(struct ll_study_plan *plan, enum ll_tbd_card card, enum ll_tbd_framework framework)
{
    assert(card < LL_TBD_CARDS && framework < LL_TBD_FRAMEWORKS);
    ll_study_plan_machine(plan, &(struct ll_study_machine){.name = targets[card][framework],
                                                           .machine = machines[card][framework]});
}

void ll_tbd_plan_card(struct ll_study_plan *plan, enum ll_tbd_card card)
{
    bool is_first[LL_TBD_FRAMEWORKS] = {false};
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        is_first[ll_tbd[row].first] = true;
    for (size_t f = 0; f < LL_TBD_FRAMEWORKS; f++)
        if (is_first[f])
            ll_tbd_plan_machine(plan, card, (enum ll_tbd_framework)f);
}

size_t ll_tbd_batch_count(enum ll_tbd_row row)
{
    assert(row < LL_TBD_COUNT);
    size_t count = 0;
    while (count < LL_TBD_MOST_BATCHES && ll_tbd[row].batches[count])
        count++;
    return count;
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
    assert(row < LL_TBD_COUNT && batch > 0);
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
    assert(count < LL_MOST_STUDY_SETTINGS);
    recording.settings[count] = setting;
    plan->failed |= recording.variant[0] == 0;
    ll_study_plan_recording(plan, &recording);
}

void ll_tbd_plan_sweep(struct ll_study_plan *plan, enum ll_tbd_row row)
{
    for (size_t i = 0; i < ll_tbd_batch_count(row); i++)
        ll_tbd_plan_batch(plan, row, ll_tbd[row].batches[i]);
}

const struct ll_trace *ll_tbd_trace(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch)
{
    assert(row < LL_TBD_COUNT && batch > 0);
    return ll_runs_trace(runs, ll_tbd[row].name, variant_of(batch, runs->arena));
}

const struct ll_result *ll_tbd_replay(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch,
                                      const char *target)
{
    assert(row < LL_TBD_COUNT && batch > 0);
    assert(row < LL_TBD_COUNT);
    return ll_runs_replay(runs, ll_tbd[row].name, variant_of(batch, runs->arena), target);
}

void ll_tbd_plan_sweeps(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_tbd_plan_sweep(plan, (enum ll_tbd_row)row);
    for (size_t f = 0; f < LL_TBD_FRAMEWORKS; f++)
        ll_tbd_plan_machine(plan, LL_TBD_P4000, (enum ll_tbd_framework)f);
}

static struct ll_tbd_sweep replay_sweep(const struct ll_runs *runs, enum ll_tbd_row row,
                                        enum ll_tbd_framework framework)
{
    struct ll_tbd_sweep sweep = {.row = row, .framework = framework};
    for (size_t i = 0; i < ll_tbd_batch_count(row); i++) {
        const struct ll_result *replay =
            ll_tbd_replay(runs, row, ll_tbd[row].batches[i], targets[LL_TBD_P4000][framework]);
        if (!replay)
            continue;
        sweep.batches[sweep.count] = (double)ll_tbd[row].batches[i];
        sweep.metrics[sweep.count] = ll_metrics_of(replay);
        sweep.fits[sweep.count++] = replay->fits;
    }
    return sweep;
}

void ll_tbd_replay_sweeps(const struct ll_runs *runs, struct ll_tbd_sweeps *sweeps)
{
    sweeps->count = 0;
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        for (size_t f = 0; f < LL_TBD_FRAMEWORKS; f++) {
            if (!ll_tbd[row].under[f])
                continue;
            assert(sweeps->count < LL_TBD_MOST_SWEEPS);
            sweeps->at[sweeps->count] = replay_sweep(runs, (enum ll_tbd_row)row, (enum ll_tbd_framework)f);
            sweeps->count += sweeps->at[sweeps->count].count > 0;
        }
}

const struct ll_tbd_sweep *ll_tbd_sweep_of(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_row row,
                                           enum ll_tbd_framework framework)
{
    for (size_t i = 0; i < sweeps->count; i++)
        if (sweeps->at[i].row == row && sweeps->at[i].framework == framework)
            return &sweeps->at[i];
    return NULL;
}

const struct ll_metrics *ll_tbd_last(const struct ll_tbd_sweep *sweep)
{
    assert(sweep->count > 0 && sweep->count <= LL_TBD_MOST_BATCHES);
    return &sweep->metrics[sweep->count - 1];
}

const char *ll_tbd_label(const struct ll_tbd_sweep *sweep, char label[LL_TBD_LABEL])
{
    size_t several = 0;
    for (size_t f = 0; f < LL_TBD_FRAMEWORKS; f++)
        several += ll_tbd[sweep->row].under[f];
    snprintf(label, LL_TBD_LABEL, several > 1 ? "%s, %s" : "%s", ll_tbd[sweep->row].name,
             frameworks[sweep->framework]);
    return label;
}

double ll_tbd_value(const struct ll_metrics *metrics, enum ll_tbd_metric metric)
{
    assert(metric <= LL_TBD_FP32);
    return metric == LL_TBD_THROUGHPUT ? metrics->throughput_Hz
           : metric == LL_TBD_DEVICE   ? 100 * metrics->device_utilization
                                       : 100 * metrics->fp32_utilization;
}

double ll_tbd_gain(const struct ll_tbd_sweep *sweep, double from, double to)
{
    assert(sweep->count <= LL_TBD_MOST_BATCHES && from < to);
    double before = NAN, after = NAN;
    for (size_t i = 0; i < sweep->count; i++) {
        before = sweep->batches[i] == from ? sweep->metrics[i].throughput_Hz : before;
        after = sweep->batches[i] == to ? sweep->metrics[i].throughput_Hz : after;
    }
    return after / before - 1;
}

double ll_tbd_exponent(const struct ll_tbd_sweep *sweep)
{
    assert(sweep->count <= LL_TBD_MOST_BATCHES);
    double least = NAN;
    for (size_t i = 1; i < sweep->count; i++)
        least = fmin(least, log2(sweep->metrics[i].throughput_Hz / sweep->metrics[i - 1].throughput_Hz) /
                                log2(sweep->batches[i] / sweep->batches[i - 1]));
    return least;
}

void ll_tbd_tabulate(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"framework", LL_TEXT_COLUMN}, {"mini-batch", 0},
        {"throughput (1/s)", 2},      {"of", LL_TEXT_COLUMN},        {"GPU utilization (%)", 1},
        {"FP32 utilization (%)", 1},  {"CPU utilization (%)", 2},    {"fits", LL_TEXT_COLUMN}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Training on a simulated Quadro P4000, by mini-batch.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t s = 0; s < sweeps->count; s++)
        for (size_t i = 0; i < sweeps->at[s].count; i++) {
            const struct ll_tbd_sweep *sweep = &sweeps->at[s];
            const struct ll_metrics *metrics = &sweep->metrics[i];
            ll_table_put_text(table, ll_tbd[sweep->row].name);
            ll_table_put_text(table, frameworks[sweep->framework]);
            ll_table_put_number(table, sweep->batches[i]);
            ll_table_put_number(table, metrics->throughput_Hz);
            ll_table_put_text(table, metrics->unit);
            ll_table_put_number(table, 100 * metrics->device_utilization);
            ll_table_put_number(table, 100 * metrics->fp32_utilization);
            ll_table_put_number(table, 100 * metrics->cpu_utilization);
            ll_table_put_text(table, sweep->fits[i] ? "yes" : "no");
        }
}

/* The panels of figures 4 to 6, in the order of their first workloads. */
static size_t list_panels(const struct ll_tbd_sweeps *sweeps, const char *panels[LL_TBD_COUNT])
{
    size_t count = 0;
    for (size_t s = 0; s < sweeps->count; s++) {
        const char *panel = ll_tbd[sweeps->at[s].row].panel;
        bool is_new = panel != NULL;
        for (size_t i = 0; is_new && i < count; i++)
            is_new = strcmp(panels[i], panel) != 0;
        if (is_new)
            panels[count++] = panel;
    }
    return count;
}

/* The translators' throughput at their largest mini-batch is printed. */
static struct ll_curve published_of(const struct ll_tbd_sweep *sweep, enum ll_tbd_metric metric)
{
    struct ll_curve published = {.name = "published"};
    for (size_t i = 0; i < LL_TBD_TRANSLATORS && metric == LL_TBD_THROUGHPUT; i++)
        if (ll_tbd_assumptions[i].row == sweep->row)
            published = (struct ll_curve){"published", &sweep->batches[sweep->count - 1],
                                          &ll_tbd_assumptions[i].published_Hz, 1};
    return published;
}

/* A curve for each framework, in the same colour in all panels; of the translators, which differ, with the
 * implementation's name. */
static void draw_panel(struct ll_svg *svg, struct ll_rect box, const char *panel,
                       const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric)
{
    struct ll_curve curves[LL_TBD_FRAMEWORKS] = {{0}}, published[LL_TBD_FRAMEWORKS] = {{0}};
    double values[LL_TBD_FRAMEWORKS][LL_TBD_MOST_BATCHES];
    char names[LL_TBD_FRAMEWORKS][LL_TBD_LABEL], label[64] = "%";
    for (size_t s = 0; s < sweeps->count; s++) {
        const struct ll_tbd_sweep *sweep = &sweeps->at[s];
        const struct ll_tbd_workload *workload = &ll_tbd[sweep->row];
        const enum ll_tbd_framework f = sweep->framework;
        if (!workload->panel || strcmp(workload->panel, panel) != 0)
            continue;
        assert(f < LL_TBD_FRAMEWORKS && curves[f].count == 0);
        for (size_t i = 0; i < sweep->count; i++)
            values[f][i] = ll_tbd_value(&sweep->metrics[i], metric);
        const bool named = strcmp(workload->name, panel) != 0;
        snprintf(names[f], sizeof names[f], named ? "%s (%s)" : "%s", frameworks[f], workload->name);
        curves[f] = (struct ll_curve){names[f], sweep->batches, values[f], sweep->count};
        published[f] = published_of(sweep, metric);
        if (metric == LL_TBD_THROUGHPUT)
            snprintf(label, sizeof label, "%s/s", ll_tbd_last(sweep)->unit);
    }
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.title = panel,
                                     .x_label = "mini-batch",
                                     .y_label = label,
                                     .curves = curves,
                                     .curve_count = LL_TBD_FRAMEWORKS,
                                     .published = published,
                                     .published_count = LL_TBD_FRAMEWORKS,
                                     .joined = true,
                                     .y_high = metric == LL_TBD_THROUGHPUT ? 0 : 100});
}

void ll_tbd_draw(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric,
                 struct ll_study_result *result)
{
    static const char *const titles[] = {"Throughput by mini-batch", "GPU utilization by mini-batch",
                                         "FP32 utilization by mini-batch"};
    const char *panels[LL_TBD_COUNT];
    const size_t count = list_panels(sweeps, panels);
    if (count == 0)
        return;
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL,
        "Training on a simulated Quadro P4000: a panel for each workload, a curve for each framework.")};
    const struct ll_page page = {titles[metric],
                                 "A panel for each workload, a curve for each framework over mini-batches.",
                                 count,
                                 PANEL_COLUMNS,
                                 300,
                                 230,
                                 "Simulated: Quadro P4000 (quadro_p4000) under TensorFlow, MXNet and CNTK"};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < count; i++)
        draw_panel(&svg, ll_page_panel(&page, i), panels[i], sweeps, metric);
    ll_svg_close(&svg);
}

void ll_tbd_judge_rising(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric,
                         struct ll_study_result *result)
{
    static const char *const names[] = {"throughput", "GPU utilization", "FP32 utilization"};
    static const double least_gain = 0.998; /* rounding of waves and the first step's input */
    char label[LL_TBD_LABEL];
    for (size_t s = 0; s < sweeps->count; s++) {
        const struct ll_tbd_sweep *sweep = &sweeps->at[s];
        double least = INFINITY;
        for (size_t i = 1; i < sweep->count; i++)
            least = fmin(least, ll_tbd_value(&sweep->metrics[i], metric) /
                                    ll_tbd_value(&sweep->metrics[i - 1], metric));
        if (sweep->count > 1)
            ll_criterion_at_least(
                result, (struct ll_measured_value){least, 3, ""}, least_gain,
                "%s: %s rises with the mini-batch; the least that a larger one gains, times",
                ll_tbd_label(sweep, label), names[metric]);
    }
}

void ll_tbd_note(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result)
{
    char label[LL_TBD_LABEL];
    ll_study_note(
        result,
        "Steps are recorded dry and simulated on a Quadro P4000 under a stack for each framework "
        "(hwconfigs/stacks: tensorflow_2018, mxnet_2018, cntk_2018), whose figures come from other "
        "measurements: nothing is fitted on TBD. TensorFlow starts an op in 17 us, decides on the host on "
        "each turn of a loop, and has channels last; MXNet starts an op in 13 us; CNTK in 5 to 8. Of the "
        "host one core starts ops; what the suite's "
        "input pipelines take is not simulated, so CPU utilization is less than the paper's.");
    ll_study_note(
        result,
        "The mini-batches of the figures are not in the paper's text; those shown go from few to "
        "the largest it speaks of. A sentence of Transformer has 32 words, a step of WGAN is a "
        "generator update and five of the critic, one of A3C four turns of each game, learned "
        "from: the five forward passes with which these are played, a third of all FLOPs, come before it.");
    for (size_t s = 0; s < sweeps->count; s++)
        for (size_t i = 0; i < sweeps->at[s].count; i++)
            if (!sweeps->at[s].fits[i])
                ll_study_note(result,
                              "%s with %g needs more than the card's 8 GB; its time is that of a card with "
                              "room enough.",
                              ll_tbd_label(&sweeps->at[s], label), sweeps->at[s].batches[i]);
}

#define SLOW_LAUNCH "36us"
const struct ll_tbd_assumption ll_tbd_assumptions[LL_TBD_TRANSLATORS] = {
    [LL_TBD_OF_NMT] =
        {.row = LL_TBD_NMT,
         .published_Hz = 365,
         .needed =
             "sentences of 50 words, as the longest of a bucket in the suite's data, not of their mean of 25",
         .variant = "padded",
         .words = "50"},
    [LL_TBD_OF_SOCKEYE] = {.row = LL_TBD_SOCKEYE,
                           .published_Hz = 229,
                           .needed =
                               SLOW_LAUNCH " to start an op, as if each were two or three of the engine's",
                           .launch = SLOW_LAUNCH},
};
static const char *const slow_targets[LL_TBD_CARDS] = {"Quadro P4000, MXNet, slow launches",
                                                       "TITAN Xp, MXNet, slow launches"};

static uint64_t largest_batch(enum ll_tbd_row row)
{
    return ll_tbd[row].batches[ll_tbd_batch_count(row) - 1];
}

void ll_tbd_plan_assumption(struct ll_study_plan *plan, const struct ll_tbd_assumption *assumption,
                            enum ll_tbd_card card)
{
    const enum ll_tbd_row row = assumption->row;
    assert(card < LL_TBD_CARDS && (assumption->variant != NULL) == (assumption->words != NULL));
    if (assumption->variant)
        ll_study_plan_recording(plan, &(struct ll_recording){.row = ll_tbd[row].name,
                                                             .variant = assumption->variant,
                                                             .model = ll_tbd[row].model,
                                                             .settings = {{"source", assumption->words},
                                                                          {"target", assumption->words}},
                                                             .train = true,
                                                             .dry_run = true,
                                                             .batch = largest_batch(row),
                                                             .steps = STEPS});
    if (assumption->launch)
        ll_study_plan_machine(
            plan, &(struct ll_study_machine){
                      .name = slow_targets[card],
                      .machine = machines[card][ll_tbd[row].first],
                      .overrides = {{"software.op_overhead", assumption->launch},
                                    {"software.kernels.dense.launch_overhead", assumption->launch},
                                    {"software.kernels.batched.launch_overhead", assumption->launch},
                                    {"software.kernels.softmax.launch_overhead", assumption->launch}}});
}

struct ll_metrics ll_tbd_assumed(const struct ll_runs *runs, const struct ll_tbd_assumption *assumption,
                                 enum ll_tbd_card card)
{
    const enum ll_tbd_row row = assumption->row;
    const char *variant =
        assumption->variant ? assumption->variant : variant_of(largest_batch(row), runs->arena);
    const char *target = assumption->launch ? slow_targets[card] : targets[card][ll_tbd[row].first];
    const struct ll_result *replay = ll_runs_replay(runs, ll_tbd[row].name, variant, target);
    return replay ? ll_metrics_of(replay)
                  : (struct ll_metrics){
                        .throughput_Hz = NAN, .device_utilization = NAN, .fp32_utilization = NAN};
}
