/* SPDX-License-Identifier: Apache-2.0 */
/* TBD's throughput studies, on top of what the studies of TBD share: workloads by mini-batch, their replays,
 * tables and criteria. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/plan.h"
#include "sim/replay/communication.h"
#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"
#include "tracer/base/str.h"
#include "tracer/ir/profile.h"

/* Two steps: the second finds its input loaded. */
enum { STEPS = 2, PANEL_COLUMNS = 3 };

/* clang-format off */
/* The mini-batches of figures 4 to 6, whose axes cannot be read exactly: from the smallest worth showing to
 * the largest that the text mentions, or the default of the suite's script. A sentence of Transformer has 32
 * words, so 64 sentences are the script's 2048 words. */
const struct ll_tbd_workload ll_tbd[LL_TBD_COUNT] = {
    [LL_TBD_RESNET] = {"ResNet-50", "resnet", LL_TBD_CONVOLUTIONAL, {4, 8, 16, 32}, {{0}}},
    [LL_TBD_INCEPTION] = {"Inception-v3", "inception_v3", LL_TBD_CONVOLUTIONAL, {4, 8, 16, 32}, {{0}}},
    [LL_TBD_NMT] = {"NMT", "nmt", LL_TBD_RECURRENT, {4, 8, 16, 32, 64, 128}, {{0}}},
    [LL_TBD_SOCKEYE] = {"Sockeye", "sockeye", LL_TBD_RECURRENT, {4, 8, 16, 32, 64}, {{0}}},
    [LL_TBD_TRANSFORMER] = {"Transformer", "transformer", LL_TBD_ATTENTION, {2, 8, 16, 32, 64}, {{0}}},
    [LL_TBD_FASTER_RCNN] = {"Faster R-CNN", "faster_rcnn", LL_TBD_CONVOLUTIONAL, {1}, {{0}}},
    [LL_TBD_DEEP_SPEECH] = {"Deep Speech 2", "deepspeech2", LL_TBD_RECURRENT, {1, 2, 4}, {{"stepwise", "1"}}},
    [LL_TBD_WGAN] = {"WGAN", "wgan", LL_TBD_CONVOLUTIONAL, {4, 16, 64}, {{0}}},
    [LL_TBD_A3C] = {"A3C", "a3c", LL_TBD_CONVOLUTIONAL, {8, 32, 128}, {{0}}},
};
/* clang-format on */

size_t ll_tbd_batch_count(enum ll_tbd_row row)
{
    assert(row < LL_TBD_COUNT);
    size_t count = 0;
    while (count < LL_TBD_MOST_BATCHES && ll_tbd[row].batches[count])
        count++;
    return count;
}

void ll_tbd_plan_machine(struct ll_study_plan *plan, const char *target)
{
    bool titan = strcmp(target, LL_TBD_TITAN) == 0;
    ll_study_plan_machine(plan, &(struct ll_study_machine){.name = target,
                                                           .machine = titan ? "titan_xp+archive/tbd"
                                                                            : "quadro_p4000+archive/tbd"});
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

static struct ll_tbd_sweep replay_sweep(const struct ll_runs *runs, enum ll_tbd_row row, const char *target)
{
    struct ll_tbd_sweep sweep = {.row = row};
    for (size_t i = 0; i < ll_tbd_batch_count(row); i++) {
        const struct ll_result *replay = ll_tbd_replay(runs, row, ll_tbd[row].batches[i], target);
        if (!replay)
            continue;
        sweep.batches[sweep.count] = (double)ll_tbd[row].batches[i];
        sweep.metrics[sweep.count] = ll_metrics_of(replay);
        sweep.fits[sweep.count++] = replay->fits;
    }
    return sweep;
}

/* The metrics at the largest batch. */
static const struct ll_metrics *tbd_last(const struct ll_tbd_sweep *sweep)
{
    assert(sweep->count <= LL_TBD_MOST_BATCHES);
    return &sweep->metrics[sweep->count ? sweep->count - 1 : 0];
}

static double tbd_value(const struct ll_metrics *metrics, enum ll_tbd_metric metric)
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
    assert(sweep->count <= LL_TBD_MOST_BATCHES);
    double least = NAN;
    for (size_t i = 1; i < sweep->count; i++)
        least = fmin(least, log2(sweep->metrics[i].throughput_Hz / sweep->metrics[i - 1].throughput_Hz) /
                                log2(sweep->batches[i] / sweep->batches[i - 1]));
    return least;
}

/* The table of all sweeps, and a figure of one metric: a panel for each workload. */
static void tbd_tabulate(const struct ll_tbd_sweep *sweeps, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"mini-batch", 0},          {"throughput (1/s)", 2},
        {"of", LL_TEXT_COLUMN},       {"GPU utilization (%)", 1}, {"FP32 utilization (%)", 1},
        {"CPU utilization (%)", 2},   {"fits", LL_TEXT_COLUMN}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Training on a simulated Quadro P4000, by mini-batch.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        for (size_t i = 0; i < sweeps[row].count; i++) {
            const struct ll_metrics *metrics = &sweeps[row].metrics[i];
            ll_table_put_text(table, ll_tbd[row].name);
            ll_table_put_number(table, sweeps[row].batches[i]);
            ll_table_put_number(table, metrics->throughput_Hz);
            ll_table_put_text(table, metrics->unit);
            ll_table_put_number(table, 100 * metrics->device_utilization);
            ll_table_put_number(table, 100 * metrics->fp32_utilization);
            ll_table_put_number(table, 100 * metrics->cpu_utilization);
            ll_table_put_text(table, sweeps[row].fits[i] ? "yes" : "no");
        }
}

static void draw_panel(struct ll_svg *svg, struct ll_rect box, const struct ll_tbd_sweep *sweep,
                       enum ll_tbd_metric metric)
{
    double values[LL_TBD_MOST_BATCHES];
    char label[64];
    for (size_t i = 0; i < sweep->count; i++)
        values[i] = tbd_value(&sweep->metrics[i], metric);
    const struct ll_curve curve = {NULL, sweep->batches, values, sweep->count};
    snprintf(label, sizeof label, "%s/s", tbd_last(sweep)->unit);
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.title = ll_tbd[sweep->row].name,
                                     .x_label = "mini-batch",
                                     .y_label = metric == LL_TBD_THROUGHPUT ? label : "%",
                                     .curves = &curve,
                                     .curve_count = 1,
                                     .joined = sweep->count > 1,
                                     .y_high = metric == LL_TBD_THROUGHPUT ? 0 : 100});
}

static void tbd_draw(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                     struct ll_study_result *result)
{
    static const char *const titles[] = {"Throughput by mini-batch", "GPU utilization by mini-batch",
                                         "FP32 utilization by mini-batch"};
    size_t shown = 0, panel = 0;
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        shown += sweeps[row].count > 0;
    if (shown == 0)
        return;
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL, "Training on a simulated Quadro P4000: a panel for each workload, over mini-batches.")};
    const struct ll_page page = {titles[metric],
                                 "A panel for each workload, a mark for each mini-batch.",
                                 shown,
                                 PANEL_COLUMNS,
                                 300,
                                 230};
    ll_page_open(&svg, &page);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        if (sweeps[row].count > 0)
            draw_panel(&svg, ll_page_panel(&page, panel++), &sweeps[row], metric);
    ll_svg_close(&svg);
}

void ll_tbd_judge_rising(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                         struct ll_study_result *result)
{
    static const char *const names[] = {"throughput", "GPU utilization", "FP32 utilization"};
    static const double least_gain = 0.998; /* rounding of waves and the first step's input */
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        const struct ll_tbd_sweep *sweep = &sweeps[row];
        double least = INFINITY;
        for (size_t i = 1; i < sweep->count; i++)
            least = fmin(least,
                         tbd_value(&sweep->metrics[i], metric) / tbd_value(&sweep->metrics[i - 1], metric));
        if (sweep->count > 1)
            ll_criterion_at_least(
                result, (struct ll_measured_value){least, 3, ""}, least_gain,
                "%s: %s rises with the mini-batch; the least that a larger one gains, times",
                ll_tbd[row].name, names[metric]);
    }
}

/* What holds for every study of a sweep: how it was simulated. */
static void tbd_note(const struct ll_tbd_sweep *sweeps, struct ll_study_result *result)
{
    ll_study_note(
        result,
        "Steps are recorded dry and simulated on a Quadro P4000 under a framework that starts an op for 13 "
        "us and runs ahead of the device (stacks/framework_2017): fitted on what NMT gains from 64 to 128 "
        "sentences; nothing else is fitted on TBD. Of the host one core starts ops; what the suite's "
        "input pipelines take is not simulated, so CPU utilization is less than the paper's.");
    ll_study_note(
        result,
        "The mini-batches of the figures are not in the paper's text; those shown go from few to "
        "the largest it speaks of. A sentence of Transformer has 32 words, a step of WGAN is a "
        "generator update and five of the critic, one of A3C four turns of each game, learned "
        "from: the five forward passes with which these are played, a third of all FLOPs, come before it.");
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        for (size_t i = 0; i < sweeps[row].count; i++)
            if (!sweeps[row].fits[i])
                ll_study_note(result,
                              "%s with %g needs more than the card's 8 GB; its time is that of a card with "
                              "room enough.",
                              ll_tbd[row].name, sweeps[row].batches[i]);
}

/* What explains the translators: sentences padded to the longest ones that the suite's scripts keep in a
 * bucket, and launches of a framework that decides at each step of a loop whether it goes on. */
static const struct padded {
    enum ll_tbd_row row;
    const char *words;
    double published_Hz;
    const char *framework;
} padded[] = {{LL_TBD_NMT, "50", 365, "TensorFlow"}, {LL_TBD_SOCKEYE, "60", 229, "MXNet"}};
enum { PADDED = sizeof padded / sizeof *padded };
static const char padded_variant[] = "padded";

#define SLOW_LAUNCH "35us"
#define SLOWER_LAUNCH "43us"
static const char slow_suffix[] = ", slow launches", slower_suffix[] = ", slower launches";

static void plan_padded(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < PADDED; i++) {
        const enum ll_tbd_row row = padded[i].row;
        ll_study_plan_recording(
            plan,
            &(struct ll_recording){.row = ll_tbd[row].name,
                                   .variant = padded_variant,
                                   .model = ll_tbd[row].model,
                                   .settings = {{"source", padded[i].words}, {"target", padded[i].words}},
                                   .train = true,
                                   .dry_run = true,
                                   .batch = ll_tbd[row].batches[ll_tbd_batch_count(row) - 1],
                                   .steps = STEPS});
    }
}

static const char *slow_name(const char *target, const char *suffix, struct ll_arena *arena)
{
    const char *name = ll_format(arena, "%s%s", target, suffix);
    return name ? name : "";
}

/* A card of the paper whose framework launches slowly: as explains GPU utilization, and throughput. */
static void plan_slow(struct ll_study_plan *plan, const char *target)
{
    const bool titan = strcmp(target, LL_TBD_TITAN) == 0;
    for (int slower = 0; slower < 2; slower++)
        ll_study_plan_machine(
            plan, &(struct ll_study_machine){
                      .name = slow_name(target, slower ? slower_suffix : slow_suffix, &plan->arena),
                      .machine = titan ? "titan_xp+archive/tbd" : "quadro_p4000+archive/tbd",
                      .overrides = {{"software.op_overhead", slower ? SLOWER_LAUNCH : SLOW_LAUNCH}}});
}

/* Metrics of a translator with padded sentences; NaN where it is missing. */
static struct ll_metrics padded_metrics(const struct ll_runs *runs, enum ll_tbd_row row, const char *target)
{
    const struct ll_result *replay = ll_runs_replay(runs, ll_tbd[row].name, padded_variant, target);
    return replay ? ll_metrics_of(replay)
                  : (struct ll_metrics){
                        .throughput_Hz = NAN, .device_utilization = NAN, .fp32_utilization = NAN};
}

/* Plan and runs of a study of all sweeps on the P4000. */
static void tbd_plan_all(struct ll_study_plan *plan)
{
    plan_padded(plan);
    plan_slow(plan, LL_TBD_P4000);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_tbd_plan_sweep(plan, (enum ll_tbd_row)row);
    ll_tbd_plan_machine(plan, LL_TBD_P4000);
}

/* Plan and runs of a study of all sweeps on the P4000. */
static void tbd_replay_all(const struct ll_runs *runs, struct ll_tbd_sweep sweeps[LL_TBD_COUNT])
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        sweeps[row] = replay_sweep(runs, (enum ll_tbd_row)row, LL_TBD_P4000);
}

static void judge_gains(const struct ll_tbd_sweep *sweeps, struct ll_study_result *result)
{
    const struct ll_tbd_sweep *resnet = &sweeps[LL_TBD_RESNET], *inception = &sweeps[LL_TBD_INCEPTION],
                              *nmt = &sweeps[LL_TBD_NMT], *speech = &sweeps[LL_TBD_DEEP_SPEECH];
    double resnet_gain = ll_tbd_gain(resnet, 16, 32), nmt_gain = ll_tbd_gain(nmt, 64, 128),
           speech_gain = ll_tbd_gain(speech, 2, 4);
    char measured[96];
    if (resnet->count)
        ll_criterion_at_most(result, (struct ll_measured_value){100 * resnet_gain, 1, " %"}, 15,
                             "ResNet-50: what 32 images gain over 16");
    if (inception->count)
        ll_criterion_at_most(result,
                             (struct ll_measured_value){100 * ll_tbd_gain(inception, 16, 32), 1, " %"}, 15,
                             "Inception-v3: what 32 images gain over 16 (published: less than 10 %%)");
    if (nmt->count) {
        ll_snprintf(measured, sizeof measured, "%.1f %%", 100 * nmt_gain);
        ll_criterion_info(
            result, "the framework's launch overhead was fitted on this gain", measured, "25 %",
            "NMT: what 128 sentences gain over 64, on which the framework's launch overhead is fitted");
    }
    if (speech->count)
        ll_criterion_at_least(result, (struct ll_measured_value){ll_tbd_exponent(speech), 2, ""}, 0.8,
                              "Deep Speech 2: throughput grows almost as the mini-batch does, the exponent");
    ll_snprintf(measured, sizeof measured, "%.1f, %.1f, %.1f %%", 100 * resnet_gain, 100 * nmt_gain,
                100 * speech_gain);
    if (resnet->count && nmt->count && speech->count)
        ll_criterion_holds(result, resnet_gain < nmt_gain && nmt_gain < speech_gain, measured, "rising",
                           "what twice the mini-batch gains: ResNet-50 (32), NMT (128), Deep Speech 2 (4)");
}

static void judge_detector(const struct ll_runs *runs, const struct ll_tbd_sweep *sweep,
                           struct ll_study_result *result)
{
    const struct ll_result *replay = ll_tbd_replay(runs, LL_TBD_FASTER_RCNN, 1, LL_TBD_P4000);
    if (!replay)
        return;
    ll_criterion_between(result, (struct ll_measured_value){sweep->metrics[0].throughput_Hz, 2, " images/s"},
                         1.2, 4.5, "Faster R-CNN: throughput (published: 2.3)");
    ll_criterion_between(
        result, (struct ll_measured_value){replay->prepared->flops * 1e-12, 2, " TFLOP"}, 0.9, 1.9,
        "Faster R-CNN: work of an image, between what the paper's utilizations say of its two "
        "frameworks (1.21 and 1.48)");
}

/* The translators' throughputs, which are printed. */
static void judge_translator(const struct ll_runs *runs, const struct padded *of,
                             const struct ll_tbd_sweep *sweep, struct ll_study_result *result)
{
    static const double tolerance = 0.25;
    if (sweep->count == 0)
        return;
    const double simulated = tbd_last(sweep)->throughput_Hz;
    const double longer = padded_metrics(runs, of->row, LL_TBD_P4000).throughput_Hz;
    char needed[96];
    ll_snprintf(needed, sizeof needed, "sentences padded to %s words, as buckets of the suite pad them",
                of->words);
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = needed,
                                               .reached = {longer, 0, " samples/s"},
                                               .low = of->published_Hz * (1 - tolerance),
                                               .high = of->published_Hz * (1 + tolerance)};
    ll_criterion_between(result, (struct ll_measured_value){simulated, 0, " samples/s"}, explanation.low,
                         explanation.high, "%s: throughput at %g (published: %.0f, %s)", ll_tbd[of->row].name,
                         sweep->batches[sweep->count - 1], of->published_Hz, of->framework);
    ll_criterion_explain(result, &explanation,
                         "a step of sentences of their mean length, 20 to 30 words, takes %.0f ms; %.0f "
                         "samples/s are %.0f ms, %.1f times as long, and time is proportional to words",
                         1e3 * sweep->batches[sweep->count - 1] / simulated, of->published_Hz,
                         1e3 * sweep->batches[sweep->count - 1] / of->published_Hz,
                         simulated / of->published_Hz);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct ll_tbd_sweep sweeps[LL_TBD_COUNT];
    tbd_replay_all(runs, sweeps);
    tbd_tabulate(sweeps, result);
    tbd_draw(sweeps, LL_TBD_THROUGHPUT, result);
    ll_tbd_judge_rising(sweeps, LL_TBD_THROUGHPUT, result);
    judge_gains(sweeps, result);
    judge_detector(runs, &sweeps[LL_TBD_FASTER_RCNN], result);
    for (size_t i = 0; i < PADDED; i++)
        judge_translator(runs, &padded[i], &sweeps[padded[i].row], result);
    tbd_note(sweeps, result);
}

const struct ll_study ll_study_T4 = {
    .id = "T4",
    .paper = "TBD, figure 4",
    .title = "Throughput by mini-batch",
    .doc =
        "Throughput rises with the mini-batch, for image networks ever less beyond 16 images, for recurrent "
        "networks on and on: NMT gains a quarter from 64 to 128, Deep Speech 2 grows almost linearly.",
    .plan = tbd_plan_all,
    .judge = judge,
};

/* Twice the peaks' 2.291 is no more than that: nothing gains more from the faster card. */
static const double peak_ratio = 2.291;
enum { MOST_OFTEN = 5 }; /* of the workloads */

static uint64_t largest(enum ll_tbd_row row)
{
    return ll_tbd[row].batches[ll_tbd_batch_count(row) - 1];
}

static void plan(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_tbd_plan_batch(plan, (enum ll_tbd_row)row, largest((enum ll_tbd_row)row));
    ll_tbd_plan_machine(plan, LL_TBD_P4000);
    ll_tbd_plan_machine(plan, LL_TBD_TITAN);
    plan_slow(plan, LL_TBD_P4000);
    plan_slow(plan, LL_TBD_TITAN);
}

/* A workload on both cards. */
struct pair {
    enum ll_tbd_row row;
    struct ll_metrics p4000, titan;
};

static double speedup(const struct pair *pair)
{
    return pair->titan.throughput_Hz / pair->p4000.throughput_Hz;
}

static size_t collect(const struct ll_runs *runs, struct pair pairs[LL_TBD_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < LL_TBD_COUNT; i++) {
        enum ll_tbd_row row = (enum ll_tbd_row)i;
        const struct ll_result *p4000 = ll_tbd_replay(runs, row, largest(row), LL_TBD_P4000);
        const struct ll_result *titan = ll_tbd_replay(runs, row, largest(row), LL_TBD_TITAN);
        if (p4000 && titan)
            pairs[count++] = (struct pair){row, ll_metrics_of(p4000), ll_metrics_of(titan)};
    }
    return count;
}

static void tabulate(const struct pair *pairs, size_t count, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"mini-batch", 0},      {"TITAN Xp / P4000", 2},  {"GPU, P4000 (%)", 1},
        {"GPU, TITAN Xp (%)", 1},     {"FP32, P4000 (%)", 1}, {"FP32, TITAN Xp (%)", 1}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Throughput and utilizations on both cards, simulated.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        ll_table_put_text(table, ll_tbd[pairs[i].row].name);
        ll_table_put_number(table, (double)largest(pairs[i].row));
        ll_table_put_number(table, speedup(&pairs[i]));
        ll_table_put_number(table, 100 * pairs[i].p4000.device_utilization);
        ll_table_put_number(table, 100 * pairs[i].titan.device_utilization);
        ll_table_put_number(table, 100 * pairs[i].p4000.fp32_utilization);
        ll_table_put_number(table, 100 * pairs[i].titan.fp32_utilization);
    }
}

static void draw(const struct pair *pairs, size_t count, struct ll_study_result *result)
{
    static const char *const cards[] = {LL_TBD_P4000, LL_TBD_TITAN};
    static const char *const titles[] = {"throughput, P4000 = 1", "GPU utilization", "FP32 utilization"};
    static const char *const labels[] = {"times the P4000", "%", "%"};
    const char *names[LL_TBD_COUNT];
    double values[3][2 * LL_TBD_COUNT];
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        names[i] = ll_tbd[pairs[i].row].name;
        values[0][2 * i] = 1;
        values[0][2 * i + 1] = speedup(&pairs[i]);
        for (int m = LL_TBD_DEVICE; m <= LL_TBD_FP32; m++) {
            values[m][2 * i] = tbd_value(&pairs[i].p4000, (enum ll_tbd_metric)m);
            values[m][2 * i + 1] = tbd_value(&pairs[i].titan, (enum ll_tbd_metric)m);
        }
    }
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL, "Both cards side by side, at the largest mini-batch.")};
    const struct ll_page page = {
        "Quadro P4000 and TITAN Xp",
        "Groups of two bars for each workload: throughput, GPU and FP32 utilization.",
        3,
        1,
        760,
        260};
    ll_page_open(&svg, &page);
    for (size_t panel = 0; panel < 3; panel++)
        ll_draw_bars(&svg, ll_page_panel(&page, panel),
                     &(struct ll_bars){.title = titles[panel],
                                       .y_label = labels[panel],
                                       .groups = names,
                                       .group_count = count,
                                       .series = cards,
                                       .series_count = 2,
                                       .values = values[panel]});
    ll_svg_close(&svg);
}

/* Sockeye gains nothing in the paper: where launches are slow, both cards wait for them. */
static void judge_sockeye(const struct ll_runs *runs, const struct pair *pair, struct ll_study_result *result)
{
    static const double near = 0.05;
    const char *p4000 = slow_name(LL_TBD_P4000, slower_suffix, runs->arena);
    const char *titan = slow_name(LL_TBD_TITAN, slower_suffix, runs->arena);
    const uint64_t batch = largest(LL_TBD_SOCKEYE);
    const struct ll_result *slow = ll_tbd_replay(runs, LL_TBD_SOCKEYE, batch, p4000),
                           *fast = ll_tbd_replay(runs, LL_TBD_SOCKEYE, batch, titan);
    if (!slow || !fast)
        return;
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = "launches of " SLOWER_LAUNCH " an op",
                                               .reached = {slow->time_s / fast->time_s, 2, ""},
                                               .low = 1 - near,
                                               .high = 1 + near};
    ll_criterion_at_most(result, (struct ll_measured_value){speedup(pair), 2, ""}, 1 + near,
                         "Sockeye: throughput on the TITAN Xp over the P4000's (published: not above 1)");
    ll_criterion_explain(result, &explanation,
                         "an op of Sockeye takes %.0f us on the P4000, little more than its launch of 13 us; "
                         "with slower launches both cards wait for them, and the P4000 trains with %.0f "
                         "samples/s where the paper has 229",
                         1e6 * (double)batch / pair->p4000.throughput_Hz /
                             ((double)(slow->prepared->end_op - slow->prepared->first_op) / STEPS),
                         (double)batch / slow->time_s);
}

static void judge_devices(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct pair pairs[LL_TBD_COUNT];
    size_t count = collect(runs, pairs), device = 0, arithmetic = 0;
    tabulate(pairs, count, result);
    draw(pairs, count, result);
    for (size_t i = 0; i < count; i++) {
        const char *name = ll_tbd[pairs[i].row].name;
        ll_criterion_at_most(
            result, (struct ll_measured_value){speedup(&pairs[i]), 2, ""}, peak_ratio,
            "%s: throughput on the TITAN Xp over that on the P4000, at most as the peaks are", name);
        if (pairs[i].row != LL_TBD_SOCKEYE)
            ll_criterion_holds(result, speedup(&pairs[i]) > 1,
                               speedup(&pairs[i]) > 1 ? "faster" : "not faster", "faster",
                               "%s: the TITAN Xp is faster", name);
        device += pairs[i].titan.device_utilization < pairs[i].p4000.device_utilization;
        arithmetic += pairs[i].titan.fp32_utilization < pairs[i].p4000.fp32_utilization;
    }
    ll_criterion_at_least(result, (struct ll_measured_value){(double)device, 0, ""}, MOST_OFTEN,
                          "workloads whose GPU utilization is lower on the TITAN Xp");
    ll_criterion_at_least(result, (struct ll_measured_value){(double)arithmetic, 0, ""}, MOST_OFTEN,
                          "workloads whose FP32 utilization is lower on the TITAN Xp");
    for (size_t i = 0; i < count; i++)
        if (pairs[i].row == LL_TBD_SOCKEYE)
            judge_sockeye(runs, &pairs[i], result);
    ll_study_note(result,
                  "Both cards under the same framework in the same host, at the largest mini-batch of the "
                  "sweeps of T4; the faster card waits longer for kernel launches.");
}

const struct ll_study ll_study_T7 = {
    .id = "T7",
    .paper = "TBD, figure 7",
    .title = "Quadro P4000 and TITAN Xp",
    .doc =
        "The TITAN Xp has 2.29 times the peak of the P4000. All but Sockeye train faster on it, none by so "
        "much, and most use less of it, in time and in arithmetic.",
    .plan = plan,
    .judge = judge_devices,
};

/* What figure 9 trains on, from one GPU to four. Machines with one GPU each are joined by their network. */
enum { ONE, ETHERNET, INFINIBAND, TWO, FOUR, SYSTEMS };
static const struct {
    const char *name, *target, *machine;
    uint64_t devices;
} systems[SYSTEMS] = {
    [ONE] = {"1 machine, 1 GPU", LL_TBD_P4000, "quadro_p4000+archive/tbd", 1},
    [ETHERNET] = {"2 machines, Ethernet", "Ethernet", "archive/tbd_ethernet+archive/tbd", 2},
    [INFINIBAND] = {"2 machines, InfiniBand", "InfiniBand", "archive/tbd_infiniband+archive/tbd", 2},
    [TWO] = {"1 machine, 2 GPUs", "box", "archive/tbd_box+archive/tbd", 2},
    [FOUR] = {"1 machine, 4 GPUs", "box", "archive/tbd_box+archive/tbd", 4},
};

enum { ROWS = 2, BATCHES = 3 };
static const enum ll_tbd_row rows[ROWS] = {LL_TBD_RESNET, LL_TBD_INCEPTION};
static const uint64_t batches[BATCHES] = {8, 16, 32};

static void plan_machines(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            ll_tbd_plan_batch(plan, rows[row], batches[i]);
    for (size_t s = 0; s < FOUR; s++)
        ll_study_plan_machine(
            plan, &(struct ll_study_machine){.name = systems[s].target, .machine = systems[s].machine});
}

static const struct ll_machine *machine_of(const struct ll_runs *runs, size_t system)
{
    size_t target = system < FOUR ? system : TWO;
    return runs->machines[target];
}

/* What a system does with a workload; throughput NaN when it could not be simulated. */
struct trained {
    double throughput_Hz, step_s, exposed_s;
};

static struct trained train(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch, size_t system)
{
    struct trained trained = {NAN, NAN, NAN};
    const struct ll_trace *trace = ll_tbd_trace(runs, row, batch);
    struct ll_parallel how = ll_plan_of_one();
    struct ll_remembered remembered = {0};
    how.data = systems[system].devices;
    struct ll_spread *spread =
        trace ? ll_spread_trace(trace, &how, systems[system].devices, runs->diags) : NULL;
    const struct ll_parallel_result *replay =
        spread ? ll_parallel_run(spread, machine_of(runs, system), &remembered, runs->arena, runs->diags)
               : NULL;
    if (replay) {
        trained.step_s = replay->step_s;
        trained.throughput_Hz = (double)(batch * systems[system].devices) / replay->step_s;
        trained.exposed_s = replay->exposed_s[LL_TRAFFIC_DATA];
    }
    ll_remembered_release(&remembered);
    ll_spread_free(spread);
    return trained;
}

static void tabulate_machines(struct trained all[ROWS][BATCHES][SYSTEMS], struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"mini-batch a GPU", 0},
                                                     {"system", LL_TEXT_COLUMN},
                                                     {"images/s", 1},
                                                     {"times one GPU", 2},
                                                     {"step (ms)", 1},
                                                     {"waiting for gradients (ms)", 1}};
    struct ll_study_table *table = ll_study_table_new(
        result, NULL, "Training on several Quadro P4000 with equal mini-batches each, simulated.", columns,
        sizeof columns / sizeof *columns);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t s = 0; s < SYSTEMS; s++) {
                const struct trained *t = &all[row][i][s];
                ll_table_put_text(table, ll_tbd[rows[row]].name);
                ll_table_put_number(table, (double)batches[i]);
                ll_table_put_text(table, systems[s].name);
                ll_table_put_number(table, t->throughput_Hz);
                ll_table_put_number(table, t->throughput_Hz / all[row][i][ONE].throughput_Hz);
                ll_table_put_number(table, 1e3 * t->step_s);
                ll_table_put_number(table, 1e3 * t->exposed_s);
            }
}

static void draw_machines(struct trained all[ROWS][BATCHES][SYSTEMS], struct ll_study_result *result)
{
    static const char *const groups[BATCHES] = {"8 a GPU", "16 a GPU", "32 a GPU"};
    const char *names[SYSTEMS];
    double values[BATCHES * SYSTEMS];
    struct ll_svg svg = {ll_study_figure_new(result, NULL, "Throughput on one to four GPUs, by mini-batch.")};
    const struct ll_page page = {"Training on several GPUs",
                                 "Groups of five bars for each mini-batch, a panel for each workload.",
                                 ROWS,
                                 1,
                                 760,
                                 300};
    for (size_t s = 0; s < SYSTEMS; s++)
        names[s] = systems[s].name;
    ll_page_open(&svg, &page);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < BATCHES * SYSTEMS; i++) {
            double value = all[row][i / SYSTEMS][i % SYSTEMS].throughput_Hz;
            values[i] = value > 0 ? value : 0;
        }
        ll_draw_bars(&svg, ll_page_panel(&page, row),
                     &(struct ll_bars){.title = ll_tbd[rows[row]].name,
                                       .y_label = "images/s",
                                       .groups = groups,
                                       .group_count = BATCHES,
                                       .series = names,
                                       .series_count = SYSTEMS,
                                       .values = values});
    }
    ll_svg_close(&svg);
}

/* How often as many images a second as one GPU alone. */
static struct ll_measured_value gain(struct trained all[ROWS][BATCHES][SYSTEMS], size_t row, size_t batch,
                                     size_t system)
{
    return (struct ll_measured_value){
        all[row][batch][system].throughput_Hz / all[row][batch][ONE].throughput_Hz, 2, ""};
}

static void judge_machines(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct trained all[ROWS][BATCHES][SYSTEMS];
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t s = 0; s < SYSTEMS; s++)
                all[row][i][s] = train(runs, rows[row], batches[i], s);
    tabulate_machines(all, result);
    draw_machines(all, result);
    for (size_t i = 0; i < BATCHES; i++)
        ll_criterion_at_most(result, gain(all, 0, i, ETHERNET), 1,
                             "ResNet-50, %" PRIu64
                             " images a GPU: two machines on Gigabit Ethernet over one GPU alone",
                             batches[i]);
    ll_criterion_at_least(result, gain(all, 0, BATCHES - 1, FOUR), 3,
                          "ResNet-50, 32 images a GPU: four GPUs on PCI Express over one");
    ll_criterion_at_least(result, gain(all, 0, BATCHES - 1, INFINIBAND), 1.7,
                          "ResNet-50, 32 images a GPU: two machines on InfiniBand over one GPU alone");
    for (size_t s = ETHERNET; s < SYSTEMS; s++) {
        const struct ll_measured_value times = gain(all, 1, BATCHES - 1, s);
        if (s == ETHERNET)
            ll_criterion_at_most(result, times, 1, "Inception-v3, 32 images a GPU: %s over one GPU",
                                 systems[s].name);
        else
            ll_criterion_at_least(result, times, s == FOUR ? 3 : 1.7,
                                  "Inception-v3, 32 images a GPU: %s over one GPU", systems[s].name);
    }
    ll_study_note(
        result, "Replicas exchange gradients by a ring in buckets of 25 MiB while the backward pass goes on; "
                "the paper's frameworks went through servers of parameters, which send as much between two.");
}

const struct ll_study ll_study_T9 = {
    .id = "T9",
    .paper = "TBD, figure 9",
    .title = "Training on several GPUs and machines",
    .doc =
        "On Gigabit Ethernet two machines train more slowly than one; on PCI Express and InfiniBand replicas "
        "scale well.",
    .plan = plan_machines,
    .judge = judge_machines,
};

/* Figures 5 and 6: how busy the GPU is, and how much of its arithmetic is used while it is busy. */

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
        double value = tbd_value(tbd_last(&sweeps[row]), metric);
        if (!extreme.name || (largest ? value > extreme.value : value < extreme.value))
            extreme = (struct extreme){value, ll_tbd[row].name};
    }
    return extreme;
}

/* All of the first are below all of the second, at the largest batches. */
static void judge_below(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                        bool (*low)(enum ll_tbd_row row), bool (*high)(enum ll_tbd_row row),
                        const char *claim, struct ll_study_result *result)
{
    struct extreme most = find(sweeps, metric, low, true), least = find(sweeps, metric, high, false);
    char measured[128];
    if (!most.name || !least.name)
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

/* By how much of a step a host would keep the detector waiting for the published GPU utilization. */
static void judge_detector_busy(const struct ll_tbd_sweep *sweeps, struct ll_study_result *result)
{
    static const double low = 85, high = 95, tensorflow = 89.4, mxnet = 90.3;
    const struct ll_tbd_sweep *sweep = &sweeps[LL_TBD_FASTER_RCNN];
    if (sweep->count == 0)
        return;
    const double step_s = 1 / tbd_last(sweep)->throughput_Hz;
    const double active_s = tbd_last(sweep)->device_utilization * step_s;
    const double host_ms = round(1e3 * (active_s / ((tensorflow + mxnet) / 200) - step_s));
    char needed[96];
    ll_snprintf(needed, sizeof needed, "%.0f ms of an image in which the host works and the GPU waits",
                host_ms);
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = needed,
        .reached = {100 * active_s / (step_s + 1e-3 * host_ms), 1, " %"},
        .low = tensorflow - 0.5,
        .high = mxnet + 0.5};
    ll_criterion_between(
        result, (struct ll_measured_value){100 * tbd_last(sweep)->device_utilization, 1, " %"}, low, high,
        "Faster R-CNN, one image (published: %.1f %%, TensorFlow; %.1f %%, MXNet)", tensorflow, mxnet);
    ll_criterion_explain(
        result, &explanation,
        "here all ops of the detector run on the GPU, %.0f ms of a step of %.0f ms; both "
        "frameworks of the paper chose proposals on the host, whose time is not printed, and "
        "with %.0f ms more an image throughput is %.1f images/s where the paper has 2.3",
        1e3 * active_s, 1e3 * step_s, host_ms, 1 / (step_s + 1e-3 * host_ms));
}

static void judge_detector_arithmetic(const struct ll_tbd_sweep *sweeps, struct ll_study_result *result)
{
    static const double tensorflow = 58.9, mxnet = 70.9, tolerance = 0.1;
    const struct ll_tbd_sweep *sweep = &sweeps[LL_TBD_FASTER_RCNN];
    if (sweep->count)
        ll_criterion_between(
            result, (struct ll_measured_value){100 * tbd_last(sweep)->fp32_utilization, 1, " %"},
            tensorflow * (1 - tolerance), mxnet * (1 + tolerance),
            "Faster R-CNN, one image (published: %.1f %%, TensorFlow; %.1f %%, MXNet)", tensorflow, mxnet);
}

/* Explains the last criterion: the translators keep the GPU busy least. */
static void explain_waiting(const struct ll_runs *runs, const struct ll_tbd_sweep *sweeps,
                            struct ll_study_result *result)
{
    const struct extreme least = find(sweeps, LL_TBD_DEVICE, is_no_translator, false);
    const char *slow = slow_name(LL_TBD_P4000, slow_suffix, runs->arena);
    const struct ll_metrics nmt = padded_metrics(runs, LL_TBD_NMT, slow),
                            sockeye = padded_metrics(runs, LL_TBD_SOCKEYE, slow);
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed =
            "launches of " SLOW_LAUNCH " an op for the translators, in sentences padded to 50 and 60 words",
        .reached = {100 * fmax(nmt.device_utilization, sockeye.device_utilization), 1, " %"},
        .low = 0,
        .high = 95};
    ll_criterion_explain(
        result, &explanation,
        "networks are unrolled here, and the host launches an op in 13 us without deciding "
        "at each word whether a loop goes on; with slower launches NMT comes to %.1f %% and "
        "%.0f samples/s (published: less than 95 %%, 365), Sockeye to %.1f %%, %s has %.1f %%",
        100 * nmt.device_utilization, nmt.throughput_Hz, 100 * sockeye.device_utilization, least.name,
        least.value);
}

/* Explains the last criterion: recurrent networks use least of the arithmetic. By the definitions of both
 * utilizations, samples a second times FLOPs of a sample are GPU utilization x FP32 utilization x peak. */
static void explain_arithmetic(const struct ll_tbd_sweep *sweeps, struct ll_study_result *result)
{
    static const double busy_share = 0.95;
    const struct extreme least = find(sweeps, LL_TBD_FP32, is_not_recurrent, false);
    double most = 0, of[PADDED] = {0};
    for (size_t i = 0; i < PADDED; i++) {
        const struct ll_tbd_sweep *sweep = &sweeps[padded[i].row];
        if (sweep->count == 0)
            return;
        const struct ll_metrics *metrics = tbd_last(sweep);
        of[i] = 100 * metrics->fp32_utilization * metrics->device_utilization * padded[i].published_Hz /
                metrics->throughput_Hz / busy_share;
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
    struct ll_tbd_sweep sweeps[LL_TBD_COUNT];
    tbd_replay_all(runs, sweeps);
    tbd_tabulate(sweeps, result);
    tbd_draw(sweeps, LL_TBD_DEVICE, result);
    ll_tbd_judge_rising(sweeps, LL_TBD_DEVICE, result);
    judge_below(sweeps, LL_TBD_DEVICE, is_translator, is_no_translator,
                "the translators with LSTM layers keep the GPU busy least, at the largest mini-batches",
                result);
    explain_waiting(runs, sweeps, result);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        if (sweeps[row].count && ll_tbd[row].style == LL_TBD_CONVOLUTIONAL)
            ll_criterion_at_least(
                result, (struct ll_measured_value){tbd_value(tbd_last(&sweeps[row]), LL_TBD_DEVICE), 1, " %"},
                busy, "%s: GPU utilization at the largest mini-batch", ll_tbd[row].name);
    judge_detector_busy(sweeps, result);
    tbd_note(sweeps, result);
}

static void judge_arithmetic(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct ll_tbd_sweep sweeps[LL_TBD_COUNT];
    tbd_replay_all(runs, sweeps);
    tbd_tabulate(sweeps, result);
    tbd_draw(sweeps, LL_TBD_FP32, result);
    ll_tbd_judge_rising(sweeps, LL_TBD_FP32, result);
    judge_below(sweeps, LL_TBD_FP32, is_recurrent, is_not_recurrent,
                "recurrent networks use less of the arithmetic than all others, at the largest mini-batches",
                result);
    explain_arithmetic(sweeps, result);
    judge_detector_arithmetic(sweeps, result);
    tbd_note(sweeps, result);
}

const struct ll_study ll_study_T5 = {
    .id = "T5",
    .paper = "TBD, figure 5",
    .title = "GPU utilization by mini-batch",
    .doc = "The GPU is busier the larger the mini-batch. Networks without recurrent layers and Deep Speech 2 "
           "reach 95 %, the translators with LSTM layers do not.",
    .plan = tbd_plan_all,
    .judge = judge_device,
};

const struct ll_study ll_study_T6 = {
    .id = "T6",
    .paper = "TBD, figure 6",
    .title = "FP32 utilization by mini-batch",
    .doc =
        "Of the arithmetic of a busy GPU more is used the larger the mini-batch; recurrent networks use less "
        "than all others.",
    .plan = tbd_plan_all,
    .judge = judge_arithmetic,
};
