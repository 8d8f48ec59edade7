/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom, figures 5 and 6: training against inference on two devices, and op kinds on 1 to 8 threads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/report/figure/figure.h"
#include "sim/study/fathom.h"
#include "sim/study/study.h"
#include "tracer/base/str.h"

enum { CPU, GPU, DEVICES, STEPS = 2 };
static const char *const devices[DEVICES] = {[CPU] = "CPU", [GPU] = "GPU"};

static void plan_row(struct ll_study_plan *plan, const struct ll_fathom_workload *workload, bool train)
{
    struct ll_recording recording = {.row = workload->name,
                                     .variant = train ? "train" : "infer",
                                     .model = workload->model,
                                     .train = train,
                                     .dry_run = true,
                                     .batch = workload->batch,
                                     .steps = STEPS};
    memcpy(recording.settings, workload->full, sizeof recording.settings);
    ll_study_plan_recording(plan, &recording);
}

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        plan_row(plan, &ll_fathom[i], true);
        plan_row(plan, &ll_fathom[i], false);
    }
    ll_study_plan_machine(
        plan, &(struct ll_study_machine){.name = devices[CPU], .machine = "archive/i7_6700k_sse"});
    ll_study_plan_machine(plan, &(struct ll_study_machine){.name = devices[GPU], .machine = "gtx_960"});
}

/* Simulated times of a step; the workloads that are there stand one after the other. */
struct modes {
    const char *names[LL_FATHOM_COUNT];
    enum ll_fathom_row rows[LL_FATHOM_COUNT];
    size_t count;
    double train_s[DEVICES][LL_FATHOM_COUNT], infer_s[DEVICES][LL_FATHOM_COUNT],
        ratio[DEVICES][LL_FATHOM_COUNT];
    double forward[LL_FATHOM_COUNT],
        update[LL_FATHOM_COUNT]; /* shares of these phases, training on the CPU */
    double train_ops[LL_FATHOM_COUNT], infer_ops[LL_FATHOM_COUNT]; /* per step */
    double waiting[LL_FATHOM_COUNT]; /* share of launches in the GPU's time of training, 0 to 1 */
    double active_ratio[DEVICES][LL_FATHOM_COUNT]; /* as `ratio`, of the time in which the device computes */
    double peak_bytes[LL_FATHOM_COUNT];
    bool fits[LL_FATHOM_COUNT]; /* when training, on the GPU */
};

/* The share of ops of a phase in the time of all. */
static double phase_share(const struct ll_result *replay, enum ll_phase phase)
{
    const struct ll_prepared *prepared = replay->prepared;
    const struct ll_trace *trace = prepared->trace;
    double part_s = 0, all_s = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const double time_s = replay->ops[seq - prepared->first_op].time_s;
        part_s += trace->signatures[trace->ops[seq].signature].phase == phase ? time_s : 0;
        all_s += time_s;
    }
    return part_s / all_s;
}

/* The time in which the device computes, of all recorded steps. */
static double active_s(const struct ll_result *replay)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < replay->prepared->end_op - replay->prepared->first_op; i++)
        sum_s += replay->ops[i].active_s;
    return sum_s;
}

static double ops_of_a_step(const struct ll_result *replay)
{
    return (double)(replay->prepared->end_op - replay->prepared->first_op) / STEPS;
}

static void replay_row(const struct ll_runs *runs, enum ll_fathom_row row, struct modes *modes)
{
    size_t i = modes->count;
    for (size_t d = 0; d < DEVICES; d++) {
        const struct ll_result *train = ll_runs_replay(runs, ll_fathom[row].name, "train", devices[d]);
        const struct ll_result *infer = ll_runs_replay(runs, ll_fathom[row].name, "infer", devices[d]);
        if (!train || !infer)
            return;
        modes->train_s[d][i] = train->time_s;
        modes->infer_s[d][i] = infer->time_s;
        modes->ratio[d][i] = train->time_s / infer->time_s;
        modes->active_ratio[d][i] = active_s(train) / active_s(infer);
        if (d == GPU)
            modes->waiting[i] = 1 - active_s(train) / STEPS / train->time_s;
        if (d == CPU) {
            modes->forward[i] = phase_share(train, LL_PHASE_FORWARD);
            modes->update[i] = phase_share(train, LL_PHASE_UPDATE);
            modes->train_ops[i] = ops_of_a_step(train);
            modes->infer_ops[i] = ops_of_a_step(infer);
        }
        modes->peak_bytes[i] = (double)train->prepared->footprint.peak_bytes;
        modes->fits[i] = train->fits;
    }
    modes->names[i] = ll_fathom[row].name;
    modes->rows[i] = row;
    modes->count++;
}

static void tabulate(const struct modes *modes, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN},   {"CPU training (ms)", 2},     {"CPU inference (ms)", 2},
        {"GPU training (ms)", 2},       {"GPU inference (ms)", 2},    {"training/inference, CPU", 2},
        {"training/inference, GPU", 2}, {"memory, training (GiB)", 2}};
    struct ll_study_table *table = ll_study_table_new(result, NULL, "Simulated time of a step.", columns,
                                                      sizeof columns / sizeof *columns);
    for (size_t i = 0; i < modes->count; i++) {
        ll_table_put_text(table, modes->names[i]);
        for (size_t d = 0; d < DEVICES; d++) {
            ll_table_put_number(table, 1e3 * modes->train_s[d][i]);
            ll_table_put_number(table, 1e3 * modes->infer_s[d][i]);
        }
        for (size_t d = 0; d < DEVICES; d++)
            ll_table_put_number(table, modes->ratio[d][i]);
        ll_table_put_number(table, modes->peak_bytes[i] / 0x1p30);
    }
}

static void draw(const struct modes *modes, struct ll_study_result *result)
{
    enum { SERIES = 2 * DEVICES };
    static const char *const series[SERIES] = {"training, CPU", "inference, CPU", "training, GPU",
                                               "inference, GPU"};
    double values[LL_FATHOM_COUNT * SERIES];
    for (size_t i = 0; i < modes->count; i++)
        for (size_t d = 0; d < DEVICES; d++) {
            values[i * SERIES + 2 * d] = modes->train_s[d][i] / modes->train_s[CPU][i];
            values[i * SERIES + 2 * d + 1] = modes->infer_s[d][i] / modes->train_s[CPU][i];
        }
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL, "Simulated time of a step over that of training on the CPU (i7-6700K; GPU: GTX 960).")};
    const struct ll_page page = {
        "Training and inference, CPU and GPU",
        "Groups of four bars for each workload, on a logarithmic scale.",
        1,
        1,
        760,
        380,
        "Simulated: Intel Core i7-6700K (archive/i7_6700k_sse) and NVIDIA GTX 960 (gtx_960)"};
    ll_page_open(&svg, &page);
    ll_draw_bars(&svg, ll_page_panel(&page, 0),
                 &(struct ll_bars){.y_label = "time / training on the CPU",
                                   .groups = modes->names,
                                   .group_count = modes->count,
                                   .series = series,
                                   .series_count = SERIES,
                                   .values = values,
                                   .log = true});
    ll_svg_close(&svg);
}

static bool is_convolutional(enum ll_fathom_row row)
{
    return row == LL_RESIDUAL || row == LL_VGG || row == LL_ALEXNET || row == LL_DEEPQ;
}

static const double least_ratio = 1.5, most_ratio = 4;

/* Fathom's code of seq2seq infers by decoding: each of its words is chosen from the whole vocabulary, and all
 * are projected once more for the result, while training tells the right word from samples. */
static void explain_decoding(const struct modes *modes, size_t i, struct ll_study_result *result)
{
    const double forward_s = modes->forward[i] * modes->train_s[CPU][i];
    const struct ll_explanation explanation = {
        .cause = LL_PAPER_CONTRADICTS_ITS_CODE,
        .needed = "inference as the forward pass of a training step, without decoding",
        .reached = {modes->train_s[CPU][i] / forward_s, 2, ""},
        .low = least_ratio,
        .high = most_ratio};
    ll_criterion_explain(
        result, &explanation,
        "the suite's code projects each word it writes onto the whole vocabulary, twice when "
        "it infers (%.0f ms a step), and onto 512 samples when it trains, whose forward pass "
        "is %.0f %% of %.0f ms, %.0f ms",
        1e3 * modes->infer_s[CPU][i], 100 * modes->forward[i], 1e3 * modes->train_s[CPU][i], 1e3 * forward_s);
}

/* Ops of memnet are so small that a step takes what launching its ops takes. */
static void explain_launches(const struct modes *modes, size_t i, struct ll_study_result *result)
{
    const double train_s = modes->train_s[CPU][i], infer_s = modes->infer_s[CPU][i];
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = "an optimizer without launches of its own",
                                               .reached = {(1 - modes->update[i]) * train_s / infer_s, 2, ""},
                                               .low = least_ratio,
                                               .high = most_ratio};
    ll_criterion_explain(
        result, &explanation,
        "a step's time is that of launching its ops: %.0f train in %.2f us each, %.0f infer "
        "in %.2f us each, %.2f times as many; the optimizer's take %.0f %% of the time. The paper "
        "gives no number, a factor of %.0f counts two passes back for one forward, and an update",
        modes->train_ops[i], 1e6 * train_s / modes->train_ops[i], modes->infer_ops[i],
        1e6 * infer_s / modes->infer_ops[i], modes->train_ops[i] / modes->infer_ops[i],
        100 * modes->update[i], most_ratio);
}

/* Explains the last criterion of a ratio of the CPU. */
static void explain_ratio(const struct modes *modes, size_t i, struct ll_study_result *result)
{
    if (modes->rows[i] == LL_SEQ2SEQ)
        explain_decoding(modes, i, result);
    if (modes->rows[i] == LL_MEMNET)
        explain_launches(modes, i, result);
}

static void judge_row(const struct modes *modes, size_t i, struct ll_study_result *result)
{
    const char *name = modes->names[i];
    bool profits = is_convolutional(modes->rows[i]) || modes->rows[i] == LL_SPEECH;
    for (size_t d = 0; d < DEVICES; d++) {
        ll_criterion_at_least(result, (struct ll_measured_value){modes->ratio[d][i], 2, ""}, 1,
                              "%s on the %s: training over inference", name, devices[d]);
        if (d == CPU)
            explain_ratio(modes, i, result);
    }
    if (profits)
        ll_criterion_at_most(
            result, (struct ll_measured_value){modes->train_s[GPU][i] / modes->train_s[CPU][i], 2, ""}, 1,
            "%s: training on the GPU over training on the CPU", name);
    ll_criterion_between(result, (struct ll_measured_value){modes->ratio[CPU][i], 2, ""}, least_ratio,
                         most_ratio, "%s: what training costs beyond inference", name);
    explain_ratio(modes, i, result);
}

static const double least_correlation = 0.6;

/* How much larger a ratio is on the GPU than on the CPU; 0 of seq2seq, whose decoding is explained apart. */
static double gap(const struct modes *modes, size_t i)
{
    return modes->rows[i] == LL_SEQ2SEQ ? 0 : modes->ratio[GPU][i] / modes->ratio[CPU][i];
}

/* On a GPU the smallest steps take what their launches take, on a CPU they do not. */
static void explain_correlation(const struct modes *modes, struct ll_arena *arena,
                                struct ll_study_result *result)
{
    size_t farthest = 0;
    for (size_t i = 1; i < modes->count; i++)
        farthest = gap(modes, i) > gap(modes, farthest) ? i : farthest;
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "times in which the devices compute, without kernel launches",
        .reached = {ll_spearman(modes->active_ratio[CPU], modes->active_ratio[GPU], modes->count, arena), 3,
                    ""},
        .low = least_correlation,
        .high = 1};
    ll_criterion_explain(result, &explanation,
                         "the ratios of most workloads are alike, and ranks follow small differences: %s has "
                         "%.2f on the CPU and %.2f on the GPU, where %.0f %% of its time is launching, "
                         "%.1f times as many ops in training; computing alone has %.2f and %.2f",
                         modes->names[farthest], modes->ratio[CPU][farthest], modes->ratio[GPU][farthest],
                         100 * modes->waiting[farthest],
                         modes->train_ops[farthest] / modes->infer_ops[farthest],
                         modes->active_ratio[CPU][farthest], modes->active_ratio[GPU][farthest]);
}

static void judge_all(const struct modes *modes, struct ll_arena *arena, struct ll_study_result *result)
{
    double conv[LL_FATHOM_COUNT], others[LL_FATHOM_COUNT];
    size_t conv_count = 0, other_count = 0;
    for (size_t i = 0; i < modes->count; i++)
        if (is_convolutional(modes->rows[i]))
            conv[conv_count++] = modes->ratio[CPU][i];
        else
            others[other_count++] = modes->ratio[CPU][i];
    if (conv_count == 0 || other_count == 0)
        return;
    double theirs = ll_quantile(others, other_count, 0.5, arena);
    ll_criterion_at_least(result,
                          (struct ll_measured_value){ll_quantile(conv, conv_count, 0.5, arena), 2, ""},
                          theirs, "median ratio of convolutional networks, at least that of the others");
    ll_criterion_at_least(result,
                          (struct ll_measured_value){
                              ll_spearman(modes->ratio[CPU], modes->ratio[GPU], modes->count, arena), 3, ""},
                          least_correlation, "rank correlation of the ratios on CPU and GPU");
    explain_correlation(modes, arena, result);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct modes modes = {.count = 0};
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        replay_row(runs, (enum ll_fathom_row)row, &modes);
    tabulate(&modes, result);
    draw(&modes, result);
    for (size_t i = 0; i < modes.count; i++)
        judge_row(&modes, i, result);
    judge_all(&modes, runs->arena, result);
    for (size_t i = 0; i < modes.count; i++)
        if (!modes.fits[i])
            ll_study_note(
                result,
                "%s: training needs %.1f GiB, more than the 2 GB of the GTX 960; its time there is that "
                "of a card "
                "with room enough.",
                modes.names[i], modes.peak_bytes[i] / 0x1p30);
    ll_study_note(
        result,
        "seq2seq infers as Fathom's code does: word by word over the whole vocabulary of 40000, all once "
        "more for "
        "the result, while training tells the right word from 512 others. That is more work than training.");
    ll_study_note(
        result,
        "The paper prints no numbers for this figure; the bounds stand for its sentences. Both machines are "
        "simulated, full batches, nothing fitted.");
}

const struct ll_study ll_study_F5 = {
    .id = "F5",
    .paper = "Fathom, figure 5",
    .title = "Training and inference on CPU and GPU",
    .doc = "Training is more expensive than inference everywhere, variably so; convolutional networks pay "
           "slightly more for it, "
           "and the relation is strongly correlated between CPU and GPU.",
    .plan = plan,
    .judge = judge,
};

/* The three workloads of the figure, each a panel. The question of bAbI that memnet learns elsewhere is so
 * small that every op would stay on one core; here its stories are as long as those of all questions
 * together. */
static const struct {
    enum ll_fathom_row row;
    struct ll_study_setting settings[LL_MOST_STUDY_SETTINGS];
} planned[] = {
    {LL_DEEPQ, {{"replay", "10000"}}},
    {LL_SEQ2SEQ, {{"bucket", "4"}}},
    {LL_MEMNET, {{"memory", "50"}, {"sentence", "12"}, {"vocabulary", "160"}}},
};
enum {
    PANELS = sizeof planned / sizeof *planned,
    SHOWN_KINDS = 8,
    THREADS_STEPS = 2,
    NATIVE_STEPS = 6,
    COLD_STEPS = 1
};

/* A thread is a core with its multiply-add ports and its vector ports. There are four: with eight threads two
 * share a core and these ports, so that nothing of the machine grows. */
#define CORES(count)                                                                                         \
    {                                                                                                        \
        {"units.fma.count", count},                                                                          \
        {                                                                                                    \
            "units.avx2.count", count                                                                        \
        }                                                                                                    \
    }
static const struct ll_study_machine targets[] = {
    {"1 thread", "archive/i7_6700k_sse", CORES("1")},
    {"2 threads", "archive/i7_6700k_sse", CORES("2")},
    {"4 threads", "archive/i7_6700k_sse", CORES("4")},
    {"8 threads", "archive/i7_6700k_sse", CORES("4")},
};
enum { ONE, TWO, FOUR, EIGHT, THREADS };

static const char *const native_variants[] = {"1 thread here", "2 threads here"};
enum { NATIVE = sizeof native_variants / sizeof *native_variants };

/* memnet with one question's stories, of which every op stays on one core. */
static const char small_variant[] = "small";

static void plan_small(struct ll_study_plan *plan)
{
    ll_study_plan_recording(plan, &(struct ll_recording){.row = ll_fathom[LL_MEMNET].name,
                                                         .variant = small_variant,
                                                         .model = ll_fathom[LL_MEMNET].model,
                                                         .train = true,
                                                         .dry_run = true,
                                                         .batch = ll_fathom[LL_MEMNET].batch,
                                                         .steps = THREADS_STEPS});
}

static void plan_threads(struct ll_study_plan *plan)
{
    plan_small(plan);
    for (size_t p = 0; p < PANELS; p++) {
        const struct ll_fathom_workload *workload = &ll_fathom[planned[p].row];
        struct ll_recording dry = {.row = workload->name,
                                   .variant = "dry",
                                   .model = workload->model,
                                   .train = true,
                                   .dry_run = true,
                                   .batch = workload->batch,
                                   .steps = THREADS_STEPS};
        memcpy(dry.settings, planned[p].settings, sizeof dry.settings);
        ll_study_plan_recording(plan, &dry);
        for (size_t i = 0; i < NATIVE; i++) {
            struct ll_recording native = dry;
            native.variant = native_variants[i];
            native.dry_run = false;
            native.steps = NATIVE_STEPS;
            native.threads = (unsigned)i + 1;
            ll_study_plan_recording(plan, &native);
        }
    }
    for (size_t i = 0; i < THREADS; i++)
        ll_study_plan_machine(plan, &targets[i]);
}

/* One workload with each number of threads. */
struct panel {
    const char *name;
    const struct ll_result *results[THREADS];
    const struct ll_timeline *native[NATIVE];
};

static bool fill(const struct ll_runs *runs, enum ll_fathom_row row, struct panel *panel)
{
    panel->name = ll_fathom[row].name;
    for (size_t t = 0; t < THREADS; t++)
        if (!(panel->results[t] = ll_runs_replay(runs, panel->name, "dry", targets[t].name)))
            return false;
    for (size_t i = 0; i < NATIVE; i++) {
        const struct ll_trace *trace = ll_runs_trace(runs, panel->name, native_variants[i]);
        if (!trace || !(panel->native[i] = ll_timeline(trace, COLD_STEPS, runs->arena)))
            return false;
    }
    return true;
}

static double kind_s(const struct ll_result *replay, const char *kind)
{
    for (uint64_t i = 0; i < replay->kind_count; i++)
        if (strcmp(replay->kinds[i].kind, kind) == 0)
            return replay->kinds[i].time_s;
    return 0;
}

static double kind_bytes(const struct ll_result *replay, const char *kind)
{
    for (uint64_t i = 0; i < replay->kind_count; i++)
        if (strcmp(replay->kinds[i].kind, kind) == 0)
            return replay->kinds[i].bytes;
    return 0;
}

static double kind_count(const struct ll_result *replay, const char *kind)
{
    for (uint64_t i = 0; i < replay->kind_count; i++)
        if (strcmp(replay->kinds[i].kind, kind) == 0)
            return replay->kinds[i].count;
    return 0;
}

static double native_kind_s(const struct ll_timeline *timeline, const char *kind)
{
    for (size_t i = 0; i < timeline->kind_count; i++)
        if (strcmp(timeline->kinds[i].name, kind) == 0)
            return timeline->kinds[i].quiet_s;
    return NAN;
}

/* Time of all kinds in a class, over all kinds but input. */
static double class_share(const struct ll_result *replay, enum ll_op_class op_class)
{
    double part = 0, all = 0;
    for (uint64_t i = 0; i < replay->kind_count; i++) {
        const struct ll_kind_result *kind = &replay->kinds[i];
        if (kind->op_class == LL_CLASS_INPUT)
            continue;
        part += kind->op_class == op_class ? kind->time_s : 0;
        all += kind->time_s;
    }
    return part / all;
}

/* The share of ops whose scope begins so. */
static double scope_share(const struct ll_result *replay, const char *scope)
{
    const struct ll_prepared *prepared = replay->prepared;
    const struct ll_trace *trace = prepared->trace;
    double part = 0, all = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
        double time_s = replay->ops[seq - prepared->first_op].time_s;
        if (ll_op_class(signature->view.kind) == LL_CLASS_INPUT)
            continue;
        part += strncmp(trace->strings[signature->scope], scope, strlen(scope)) == 0 ? time_s : 0;
        all += time_s;
    }
    return part / all;
}

static const double least_share = 0.005; /* of op kinds in the table */

static void tabulate_threads(const struct panel *panels, size_t count, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"op kind", LL_TEXT_COLUMN},
                                                     {"1 thread (ms)", 3},
                                                     {"2 threads (ms)", 3},
                                                     {"4 threads (ms)", 3},
                                                     {"8 threads (ms)", 3},
                                                     {"1/8", 2},
                                                     {"here, 1 thread (ms)", 3},
                                                     {"here, 2 threads (ms)", 3}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL,
                           "Time of a training step by op kind: simulated i7-6700K, and "
                           "measured here; those with at least 0.5 % on one thread.",
                           columns, sizeof columns / sizeof *columns);
    for (size_t p = 0; p < count; p++)
        for (uint64_t k = 0; k < panels[p].results[ONE]->kind_count; k++) {
            const struct ll_kind_result *kind = &panels[p].results[ONE]->kinds[k];
            if (kind->op_class == LL_CLASS_INPUT || kind->share < least_share)
                continue;
            ll_table_put_text(table, panels[p].name);
            ll_table_put_text(table, kind->kind);
            for (size_t t = 0; t < THREADS; t++)
                ll_table_put_number(table, 1e3 * kind_s(panels[p].results[t], kind->kind));
            ll_table_put_number(table, kind->time_s / kind_s(panels[p].results[EIGHT], kind->kind));
            for (size_t i = 0; i < NATIVE; i++)
                ll_table_put_number(table, 1e3 * native_kind_s(panels[p].native[i], kind->kind));
        }
}

static void draw_panel(struct ll_svg *svg, struct ll_rect box, const struct panel *panel)
{
    const char *series[THREADS], *kinds[SHOWN_KINDS];
    double values[SHOWN_KINDS * THREADS];
    size_t shown = 0;
    for (size_t t = 0; t < THREADS; t++)
        series[t] = targets[t].name;
    for (uint64_t k = 0; k < panel->results[ONE]->kind_count && shown < SHOWN_KINDS; k++) {
        const struct ll_kind_result *kind = &panel->results[ONE]->kinds[k];
        if (kind->op_class == LL_CLASS_INPUT)
            continue;
        for (size_t t = 0; t < THREADS; t++)
            values[shown * THREADS + t] = 1e3 * kind_s(panel->results[t], kind->kind);
        kinds[shown++] = kind->kind;
    }
    ll_draw_bars(svg, box,
                 &(struct ll_bars){.title = panel->name,
                                   .y_label = "time in a step (ms)",
                                   .groups = kinds,
                                   .group_count = shown,
                                   .series = series,
                                   .series_count = THREADS,
                                   .values = values});
}

static void draw_threads(const struct panel *panels, size_t count, struct ll_study_result *result)
{
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL,
        "Simulated time of a training step on the i7-6700K, the op kinds that take most on one thread.")};
    const struct ll_page page = {
        "Time by op kind and number of threads",
        "A panel for each workload: groups of bars, one group an op kind, one bar a number of threads.",
        PANELS,
        PANELS,
        430,
        360,
        "Simulated: Intel Core i7-6700K (archive/i7_6700k_sse)"};
    ll_page_open(&svg, &page);
    for (size_t p = 0; p < count; p++)
        draw_panel(&svg, ll_page_panel(&page, p), &panels[p]);
    ll_svg_close(&svg);
}

/* Explains the last criterion: the optimizer waits for memory, and how much of a step that is depends on what
 * threads gain elsewhere. */
static void explain_optimizer(const struct panel *panel, double low, double high,
                              struct ll_study_result *result)
{
    static const double published = 0.07;
    const struct ll_result *one = panel->results[ONE], *eight = panel->results[EIGHT];
    const double update_s = kind_s(eight, "rmsprop"), bytes = kind_bytes(eight, "rmsprop");
    const double one_s = one->time_s - kind_s(one, "rmsprop"), eight_s = eight->time_s - update_s;
    const double times = round(10 * one_s / (update_s / published - update_s)) / 10;
    char needed[96];
    ll_snprintf(needed, sizeof needed, "8 threads that speed up all other ops %.1f times instead of %.1f",
                times, one_s / eight_s);
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = needed,
        .reached = {100 * update_s / (update_s + one_s / times), 1, " %"},
        .low = low,
        .high = high};
    ll_criterion_explain(
        result, &explanation,
        "RMSProp moves %.0f MB in %.2f ms, %.0f GB/s, what memory gives to one thread and to "
        "eight; all else takes %.1f ms on one thread and %.1f ms on eight, for which the "
        "paper has no numbers",
        1e-6 * bytes, 1e3 * update_s, 1e-9 * bytes / update_s, 1e3 * one_s, 1e3 * eight_s);
}

static void judge_deepq(const struct ll_runs *runs, const struct panel *panel, struct ll_study_result *result)
{
    const struct ll_result *one = panel->results[ONE], *eight = panel->results[EIGHT];
    (void)runs;
    double products = class_share(one, LL_CLASS_CONV) + class_share(one, LL_CLASS_MATRIX);
    ll_criterion_at_most(result,
                         (struct ll_measured_value){100 * class_share(one, LL_CLASS_OPTIMIZATION), 1, " %"},
                         3, "deepq, 1 thread: share of the optimizer");
    ll_criterion_between(result,
                         (struct ll_measured_value){100 * class_share(eight, LL_CLASS_OPTIMIZATION), 1, " %"},
                         4, 10, "deepq, 8 threads: share of the optimizer");
    explain_optimizer(panel, 4, 10, result);
    ll_criterion_at_least(result, (struct ll_measured_value){100 * products, 1, " %"}, 90,
                          "deepq, 1 thread: share of convolutions and GEMMs");
}

static void judge_seq2seq(const struct ll_runs *runs, const struct panel *panel,
                          struct ll_study_result *result)
{
    char measured[96];
    (void)runs;
    double shares[THREADS];
    bool grows = true;
    for (size_t t = 0; t < THREADS; t++) {
        shares[t] = 100 * scope_share(panel->results[t], "loss");
        grows = grows && (t == 0 || shares[t] >= shares[t - 1]);
    }
    ll_snprintf(measured, sizeof measured, "%.1f, %.1f, %.1f, %.1f %%", shares[ONE], shares[TWO],
                shares[FOUR], shares[EIGHT]);
    ll_criterion_holds(result, grows && shares[EIGHT] > shares[ONE], measured, "grows",
                       "seq2seq: the loss grows in share with 1, 2, 4, 8 threads");
}

/* The work of an op of a kind against what it takes to start it, as measured and simulated. */
static void explain_work(const struct panel *panel, const char *kind,
                         const struct ll_explanation *explanation, struct ll_study_result *result)
{
    const struct ll_result *one = panel->results[ONE];
    const struct ll_software *software = &one->machine->software;
    const double count = kind_count(one, kind);
    ll_criterion_explain(
        result, explanation,
        "an op of this kind moves %.0f kB on average and takes %.1f us on one thread, of which starting it "
        "takes %.1f; it gets another core for each %.0f kB, below which forking costs more than it gains, "
        "and "
        "one core fills the memory's bandwidth: recorded here, a step's ops of the kind take %.3f ms on one "
        "thread and %.3f on two",
        1e-3 * kind_bytes(one, kind) / count, 1e6 * kind_s(one, kind) / count, 1e6 * software->op_overhead_s,
        1e-3 * software->grain, 1e3 * native_kind_s(panel->native[0], kind),
        1e3 * native_kind_s(panel->native[1], kind));
}

/* Explains the last criterion: threads gain where a core, not memory or the start of ops, is what ops wait
 * for. With starts of n x 10 us and w of work, (n + w) / (n + w / 4) is at least 1.5 from w = 0.8 n on. */
static void explain_elements(const struct panel *panel, const char *kind, double element_bytes, double least,
                             struct ll_study_result *result)
{
    enum { CORES_OF_EIGHT = 4 };
    const struct ll_result *one = panel->results[ONE];
    const double starts_s = kind_count(one, kind) * one->machine->software.op_overhead_s;
    const double elements = kind_bytes(one, kind) / element_bytes;
    const double work_s = starts_s * (least - 1) / (1 - least / CORES_OF_EIGHT);
    const double element_ns = ceil(1e10 * work_s / elements) / 10;
    char needed[96];
    ll_snprintf(needed, sizeof needed, "a core that takes %.1f ns for each element", element_ns);
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = needed,
        .reached = {(starts_s + 1e-9 * element_ns * elements) /
                        (starts_s + 1e-9 * element_ns * elements / CORES_OF_EIGHT),
                    2, " times"},
        .low = least,
        .high = CORES_OF_EIGHT};
    explain_work(panel, kind, &explanation, result);
}

/* Explains the last criterion: of shorter stories no op of the kind is worth a second core. */
static void explain_stories(const struct ll_runs *runs, const struct panel *panel, const char *kind,
                            double most, struct ll_study_result *result)
{
    const char *name = ll_fathom[LL_MEMNET].name;
    const struct ll_result *one = ll_runs_replay(runs, name, small_variant, targets[ONE].name),
                           *eight = ll_runs_replay(runs, name, small_variant, targets[EIGHT].name);
    if (!one || !eight)
        return;
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "the stories of one question, of which every op stays on one core",
        .reached = {kind_s(one, kind) / kind_s(eight, kind), 2, " times"},
        .low = 1,
        .high = most};
    explain_work(panel, kind, &explanation, result);
}

static void judge_memnet(const struct ll_runs *runs, const struct panel *panel,
                         struct ll_study_result *result)
{
    static const char *const wide[] = {"mul", "adam"};
    static const double element_bytes[] = {3 * 4,
                                           7 * 4}; /* two operands and a result; Adam's four and three */
    const struct ll_result *one = panel->results[ONE], *eight = panel->results[EIGHT];
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        ll_criterion_at_least(
            result, (struct ll_measured_value){kind_s(one, wide[i]) / kind_s(eight, wide[i]), 2, ""}, 1.5,
            "memnet: 8 threads speed up %s", wide[i]);
        explain_elements(panel, wide[i], element_bytes[i], 1.5, result);
    }
    const struct ll_kind_result *fastest = NULL;
    double most = 0;
    for (uint64_t k = 0; k < one->kind_count; k++) {
        const struct ll_kind_result *kind = &one->kinds[k];
        bool small = kind->op_class != LL_CLASS_INPUT && strcmp(kind->kind, wide[0]) != 0 &&
                     strcmp(kind->kind, wide[1]) != 0 && kind->time_s > 0;
        double speedup = small ? kind->time_s / kind_s(eight, kind->kind) : 0;
        if (speedup > most) {
            most = speedup;
            fastest = kind;
        }
    }
    if (!fastest)
        return;
    ll_criterion_at_most(result, (struct ll_measured_value){most, 2, ""}, 1.2,
                         "memnet: what 8 threads speed up most of all other op kinds (%s)", fastest->kind);
    explain_stories(runs, panel, fastest->kind, 1.2, result);
}

static void judge_threads(const struct ll_runs *runs, struct ll_study_result *result)
{
    static void (*const judges[PANELS])(const struct ll_runs *, const struct panel *,
                                        struct ll_study_result *) = {judge_deepq, judge_seq2seq,
                                                                     judge_memnet};
    struct panel panels[PANELS];
    size_t count = 0;
    for (size_t p = 0; p < PANELS; p++)
        if (fill(runs, planned[p].row, &panels[count])) {
            judges[p](runs, &panels[count], result);
            const struct panel *panel = &panels[count++];
            ll_criterion_at_most(result,
                                 (struct ll_measured_value){
                                     panel->results[ONE]->time_s / panel->results[EIGHT]->time_s, 2, ""},
                                 5, "%s: 8 threads on 4 cores speed up a step", panel->name);
        }
    tabulate_threads(panels, count, result);
    draw_threads(panels, count, result);
    ll_study_note(result,
                  "A thread is a core. The i7-6700K has four: eight threads are two to a core, share its "
                  "multiply-add ports "
                  "and its caches, and are simulated as four. An op gets a core for each 580 kB or 580 "
                  "kFLOP (software.grain, "
                  "after Eigen's thread pool), so that small ops stay on one. TensorFlow's binaries of "
                  "the time were compiled for SSE; the "
                  "machine is described so. memnet is the wide one, with stories as long as those of all "
                  "questions together: "
                  "of the question that it learns elsewhere every op would stay on one core.");
}

const struct ll_study ll_study_F6 = {
    .id = "F6",
    .paper = "Fathom, figure 6",
    .title = "Time by op type and number of threads",
    .doc = "As threads are added, GEMMs and convolutions shrink and what does not parallelize begins to "
           "show: the optimizer "
           "of deepq, the loss of seq2seq, the small skinny tensors of memnet.",
    .plan = plan_threads,
    .judge = judge_threads,
};
