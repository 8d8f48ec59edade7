/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines of a TPU v2: families as points, classes of ops by their intensity, and how much of a step waits
 * for memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/study/paradnn.h"
#include "sim/study/study.h"
#include "tracer/base/str.h"

/* Real networks on the board of eight cores. */
#define LL_REAL(word, model_name, samples)                                                                   \
    {                                                                                                        \
        .name = word, .doc = word, .model = model_name, .axes = { {"batch", {samples}} }                     \
    }
enum { TRANSFORMER, RESNET, REAL };
static const struct ll_family real[REAL] = {LL_REAL("Transformer", "transformer", 512),
                                            LL_REAL("ResNet-50, board", "resnet_v1", 1024)};

/* A step of a core, for its ops. */
#define STEP_ROW "fully connected, 8 layers of 2048"
#define CORE "TPU v2 core"

static void plan(struct ll_study_plan *plan)
{
    ll_paradnn_plan_main(plan);
    ll_study_plan_machine(plan,
                          &(struct ll_study_machine){.name = CORE, .machine = "tpu_v2_core+archive/paradnn"});
    ll_study_plan_recording(plan, &(struct ll_recording){.row = STEP_ROW,
                                                         .variant = "training",
                                                         .model = "paradnn_fc",
                                                         .settings = {{"nodes", "2048"}, {"dtype", "bf16"}},
                                                         .train = true,
                                                         .dry_run = true,
                                                         .batch = 256,
                                                         .steps = 2});
    for (int i = 0; i < REAL; i++)
        ll_study_plan_experiment(
            plan, &(struct ll_experiment){&real[i], &ll_paradnn_platforms[LL_PARADNN_TPU2], 1});
}

/* FLOPs a byte of all ops of a kind in the simulated step; NaN where there are none. */
static double intensity_of(const struct ll_result *step, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < step->kind_count; i++)
        if (step->kinds[i].op_kind == kind)
            return step->kinds[i].flops / step->kinds[i].bytes;
    return NAN;
}

static const double trace_tolerance = 0.15;

/* In traces ops named after RMSProp are not fused; what is fused is another class. */
static void explain_rmsprop(double fused, double published, struct ll_study_result *result)
{
    const double numbers = 3, number_bytes = 4; /* two operands and a result, f32 */
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "RMSProp as ops of one FLOP each, of two operands and a result in memory",
        .reached = {1 / (numbers * number_bytes), 3, " FLOP/B"},
        .low = (1 - trace_tolerance) * published,
        .high = (1 + trace_tolerance) * published};
    ll_criterion_explain(
        result, &explanation,
        "one fused op has 9 FLOP for 7 numbers of 4 bytes, 9 / 28 = %.3f FLOP/B, and %.3f is "
        "what is simulated; ops that are not fused have 1 FLOP for 3 numbers",
        9 / (7 * number_bytes), fused);
}

/* Against op rows of the public traces (Emma926/paradnn 60a25ff, scripts/data; medians). */
static void judge_intensities(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_result *step = ll_runs_replay(runs, STEP_ROW, "training", CORE);
    if (!step)
        return;
    const double rmsprop = intensity_of(step, LL_OP_RMSPROP), unfused = 0.083, fused = 0.321;
    ll_criterion_between(
        result, (struct ll_measured_value){rmsprop, 3, " FLOP/B"}, (1 - trace_tolerance) * unfused,
        (1 + trace_tolerance) * unfused,
        "RMSProp in a simulated step (median of public traces, as non-fusion elementwise: 0.083)");
    explain_rmsprop(rmsprop, unfused, result);
    ll_criterion_between(result, (struct ll_measured_value){rmsprop, 3, " FLOP/B"},
                         (1 - trace_tolerance) * fused, (1 + trace_tolerance) * fused,
                         "the same, fused as here (median of public traces, as loop fusion: 0.321)");
    ll_criterion_between(result, (struct ll_measured_value){intensity_of(step, LL_OP_MATMUL), 3, " FLOP/B"},
                         12, 771,
                         "GEMMs of that step (public traces, as output fusion: 12 to 771, median 63.8)");
    ll_criterion_info(
        result, "an exchange has bytes and a time here, and no FLOPs", "no FLOPs are counted",
        "0.125, cross-replica-sum",
        "adding up gradients: an exchange is bytes and time here (an addition for each number of 4 bytes "
        "that comes and goes would be 1 / 8)");
    ll_study_note(
        result, "RMSProp is one op here, 9 FLOPs for 7 numbers of 4 bytes; under its name public traces have "
                "ops of one FLOP each, and the intensity of ours under loop fusion.");
}

/* The mean intensity of each cell of nodes and batch; NULL when memory ran out. */
static const double *cell_intensities(const struct ll_experiment_result *fc, size_t nodes, size_t batch,
                                      struct ll_arena *arena)
{
    double *intensity = ll_alloc(arena, fc->count, sizeof *intensity);
    for (uint64_t i = 0; intensity && i < fc->count; i++) {
        const struct ll_experiment_point *at = ll_experiment_at(fc, i, LL_PARADNN_TPU2);
        intensity[i] = at->simulated ? at->flops / at->bytes : NAN;
    }
    return intensity ? ll_paradnn_cells(fc, intensity, nodes, batch, arena) : NULL;
}

/* Cells in which all points, on average, have more FLOPs a byte than the ridge, against the paper's sentence:
 * those of both over those of either. (Most cells are in neither, so that counting those that agree would
 * praise a board on which nothing is compute-bound.) A region that is one step of an axis larger or smaller
 * than the paper's six cells shares half of them or more; a cell of which nothing is known is not in ours. */
static void judge_boundary(const struct ll_experiment_result *fc, struct ll_arena *arena,
                           struct ll_study_result *result)
{
    const struct ll_family *family = fc->experiment.family;
    size_t nodes = ll_family_axis(family, "nodes"), batch = ll_family_axis(family, "batch");
    const double *cells = cell_intensities(fc, nodes, batch, arena);
    size_t rows = ll_family_axis_values(&family->axes[nodes]),
           columns = ll_family_axis_values(&family->axes[batch]);
    unsigned ours = 0, theirs = 0, both = 0;
    char found[64], published[32];
    for (size_t i = 0; cells && i < rows * columns; i++) {
        bool computes = cells[i] > 180.0 / 2.4;
        bool said = family->axes[nodes].values[i / columns] >= 2048 &&
                    family->axes[batch].values[i % columns] >= 8192;
        ours += computes;
        theirs += said;
        both += computes && said;
    }
    ll_criterion_at_least(
        result, (struct ll_measured_value){100.0 * both / (ours + theirs - both), 1, " %"}, 50,
        "cells of nodes and batch that are compute-bound by the ridge of 75 FLOP/B and in the paper (from "
        "2k nodes and a batch of 8k on), of those that are either");
    ll_snprintf(found, sizeof found, "%u, of them %u of the paper's", ours, both);
    ll_snprintf(published, sizeof published, "%u of %zu", theirs, rows * columns);
    ll_criterion_info(result, "the judgement above counts the cells of both", found, published,
                      "compute-bound cells of nodes and batch");
}

static double memory_share(const struct ll_runs *runs, int which)
{
    const struct ll_experiment_result *experiment = ll_runs_experiment(runs, real[which].name);
    const struct ll_experiment_point *at = experiment ? ll_experiment_at(experiment, 0, 0) : NULL;
    return at ? 100 * at->memory_s / at->device_s : NAN;
}

static void judge_convolutional(const struct ll_experiment_result *cnn, struct ll_study_result *result)
{
    uint64_t bound = 0;
    for (uint64_t i = 0; i < cnn->count; i++) {
        const struct ll_experiment_point *at = ll_experiment_at(cnn, i, LL_PARADNN_TPU2);
        bound += at->flops / at->bytes < 180.0 / 2.4;
    }
    ll_criterion_at_least(result,
                          (struct ll_measured_value){100 * (double)bound / (double)cnn->count, 0, " %"}, 50,
                          "CNN left of the ridge (published: the majority)");
}

static size_t add_points(const struct ll_experiment_result *experiment, size_t series,
                         struct ll_work_point *points)
{
    for (uint64_t i = 0; i < experiment->count; i++) {
        const struct ll_experiment_point *at = ll_experiment_at(experiment, i, LL_PARADNN_TPU2);
        points[i] = (struct ll_work_point){.intensity = at->flops / at->bytes,
                                           .rate = at->flops / at->step_s,
                                           .share = 0.3 / (double)experiment->count,
                                           .series = series,
                                           .name = ""};
    }
    return experiment->count;
}

static void draw(const struct ll_experiment_result *const *experiments, struct ll_arena *arena,
                 struct ll_study_result *result)
{
    static const char *const series[] = {"fully connected", "CNN", "RNN"};
    static const struct ll_roof memory = {"HBM", 2400e9}, unit = {"bf16", 180e12};
    const struct ll_page page = {
        "Families under the roof of a TPU v2",           "Three families as points.", 1, 1, 760, 520,
        "Simulated: TPU v2 of eight cores (tpu_v2_core)"};
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL, "Each disc a network: FLOPs a second over FLOPs per byte, simulated.")};
    size_t count = 0;
    struct ll_work_point *points = ll_alloc(
        arena, experiments[0]->count + experiments[1]->count + experiments[2]->count, sizeof *points);
    for (size_t i = 0; points && i < 3; i++)
        count += add_points(experiments[i], i, points + count);
    ll_page_open(&svg, &page);
    ll_draw_roofline(&svg, ll_page_panel(&page, 0),
                     &(struct ll_roofline){.memories = &memory,
                                           .units = &unit,
                                           .memory_count = 1,
                                           .unit_count = 1,
                                           .points = points,
                                           .point_count = count,
                                           .series = series,
                                           .series_count = 3});
    ll_svg_close(&svg);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"network", LL_TEXT_COLUMN},
                                                     {"waits for memory (%)", 1}};
    const struct ll_experiment_result *experiments[] = {ll_paradnn_experiment(runs, LL_PARADNN_FC),
                                                        ll_paradnn_experiment(runs, LL_PARADNN_BOTTLENECK),
                                                        ll_paradnn_experiment(runs, LL_PARADNN_RNN)};
    struct ll_study_table *table = ll_study_table_new(
        result, NULL, "The share of a step in ops that are no GEMMs and wait for memory.", columns, 2);
    double transformer = memory_share(runs, TRANSFORMER), resnet = memory_share(runs, RESNET);
    for (int i = 0; i < REAL; i++) {
        ll_table_put_text(table, real[i].doc);
        ll_table_put_number(table, i == TRANSFORMER ? transformer : resnet);
    }
    judge_intensities(runs, result);
    if (experiments[0])
        judge_boundary(experiments[0], runs->arena, result);
    if (experiments[1])
        judge_convolutional(experiments[1], result);
    if (experiments[0] && experiments[1] && experiments[2])
        draw(experiments, runs->arena, result);
    if (isnan(transformer) || isnan(resnet))
        return;
    ll_criterion_between(result, (struct ll_measured_value){transformer, 1, " %"}, 10, 35,
                         "Transformer: what waits for memory and is no GEMM (published: 19.9 %%)");
    ll_criterion_between(result, (struct ll_measured_value){resnet, 1, " %"}, 7, 25,
                         "ResNet-50: the same (published: 13 %%)");
    ll_criterion_at_least(result, (struct ll_measured_value){transformer - resnet, 1, " %"}, 0,
                          "how much more it is in Transformer");
}

const struct ll_study ll_study_P3 = {
    .id = "P3",
    .paper = "ParaDnn, figure 3 and operation tables",
    .title = "Rooflines of a TPU v2",
    .doc = "Fully connected networks are compute-bound from 2k nodes and a batch of 8k on, most CNN wait for "
           "memory; of "
           "their ops only large GEMMs are compute-bound.",
    .plan = plan,
    .judge = judge,
};

/* How much of a TPU's peak the families use, and which parameters decide that. */

/* The families of the figure, the axes of their heat maps, and which parameters the paper finds to weigh
 * most. */
static const struct panel {
    enum ll_paradnn_family family;
    const char *row, *title;
} panels[] = {
    {LL_PARADNN_FC, "nodes", "Fully connected"},
    {LL_PARADNN_BOTTLENECK, "filters", "CNN"},
    {LL_PARADNN_RNN, "embed", "RNN"},
};
enum { PANELS = sizeof panels / sizeof *panels };

/* Regressions of the published rows: of all of them, as published by those who looked at them; of the half at
 * hand, computed independently with numpy. */
enum { ALL_ROWS = 1724 };
static const struct ll_paradnn_weights of_all = {{0.123, 0.466, -0.041, -0.013, 0.472}, 0.429},
                                       of_half = {{0.123, 0.441, 0, -0.018, 0.505}, 0.439};

/* As ParaDnn counts them: six for each weight and sample, of a board of 180 TFLOP/s. */
static double published_utilization(const struct ll_paradnn_measured *row)
{
    double n = (double)row->nodes,
           weights = n * n * (double)(row->layers - 1) + n * (double)(row->input + row->output);
    return 6 * (double)row->batch * weights / (row->time_s * 180e12);
}

static void judge_measured(const struct ll_runs *runs, struct ll_study_table *table,
                           struct ll_study_result *result)
{
    size_t count;
    const struct ll_paradnn_measured *rows = ll_paradnn_rows(runs, LL_PARADNN_TPU2, &count);
    double *numbers = ll_alloc(runs->arena, count, sizeof *numbers), most = 0;
    for (size_t i = 0; numbers && i < count; i++) {
        numbers[i] = published_utilization(&rows[i]);
        most = fmax(most, numbers[i]);
    }
    const struct ll_family *family = &ll_paradnn_families[LL_PARADNN_FC];
    struct ll_paradnn_weights weights = ll_paradnn_weigh_measured(rows, count, numbers, runs->arena);
    const struct ll_paradnn_weights *expected = count == ALL_ROWS ? &of_all : &of_half;
    char text[32];
    ll_paradnn_put_weights(table, "measured", family, &weights);
    for (size_t axis = 0; axis < ll_family_axes(family); axis++)
        ll_criterion_between(result, (struct ll_measured_value){weights.of[axis], 3, ""},
                             expected->of[axis] - 5e-4, expected->of[axis] + 5e-4,
                             "%zu measured rows, weight of %s", count, family->axes[axis].key);
    ll_criterion_between(result, (struct ll_measured_value){weights.r2, 3, ""}, expected->r2 - 5e-4,
                         expected->r2 + 5e-4, "%zu measured rows, what the weights explain", count);
    ll_snprintf(text, sizeof text, "%.1f %%", 100 * most);
    ll_criterion_info(result, "the rows are measured: nothing of it is simulated", text,
                      "64.3 % of all rows, 70.4 % in traces, 62 % in figure 4",
                      "the most that measured rows use of the peak");
}

/* The share of neighbours in rows and columns of which the later one is not the smaller. */
static double rising(const double *cells, size_t rows, size_t columns)
{
    size_t pairs = 0, up = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            double here = cells[r * columns + c];
            double right = c + 1 < columns ? cells[r * columns + c + 1] : NAN;
            double below = r + 1 < rows ? cells[(r + 1) * columns + c] : NAN;
            pairs += (size_t)(isfinite(here) && isfinite(right)) + (isfinite(here) && isfinite(below));
            up += (size_t)(here <= right) + (here <= below);
        }
    return pairs ? (double)up / (double)pairs : NAN;
}

/* By how much the lesser of these two weights is larger than the largest other one. */
static double lead(const struct ll_family *family, const struct ll_paradnn_weights *weights, const char *one,
                   const char *other)
{
    const size_t a = ll_family_axis(family, one), b = ll_family_axis(family, other);
    double largest = 0;
    for (size_t axis = 0; axis < ll_family_axes(family); axis++)
        largest = axis == a || axis == b ? largest : fmax(largest, fabs(weights->of[axis]));
    return fmin(fabs(weights->of[a]), fabs(weights->of[b])) - largest;
}

/* Whether these two parameters weigh most, both upwards. */
static bool weigh_most(const struct ll_family *family, const struct ll_paradnn_weights *weights,
                       const char *one, const char *other, bool upwards)
{
    size_t a = ll_family_axis(family, one), b = ll_family_axis(family, other);
    bool most = !upwards || (weights->of[a] > 0 && weights->of[b] > 0);
    return most && lead(family, weights, one, other) > 0;
}

static void say(const struct ll_family *family, const struct ll_paradnn_weights *weights, char *text,
                size_t size)
{
    size_t length = 0;
    text[0] = 0;
    for (size_t axis = 0; axis < ll_family_axes(family) && length < size; axis++)
        length += (size_t)ll_snprintf(text + length, size - length, "%s%s %+.2f", axis ? ", " : "",
                                      family->axes[axis].key, weights->of[axis]);
}

/* FLOPs over what the devices could have done, had none waited for the host. */
static double fed_utilization(const struct ll_experiment_result *experiment, uint64_t i, size_t platform)
{
    const struct ll_experiment_point *at = ll_experiment_at(experiment, i, platform);
    return at->flops / (at->peak_flops * at->device_s);
}

/* The paper's data is "synthesized from CPU hosts, which avoids most of the data infeed overhead" (section
 * 4.4); ours passes the host as that of fully connected networks was measured to. */
static void explain_weights(const struct ll_experiment_result *experiment, const char *row,
                            struct ll_arena *arena, struct ll_study_result *result)
{
    const struct ll_family *family = experiment->experiment.family;
    double *fed = ll_paradnn_column(experiment, LL_PARADNN_TPU2, fed_utilization, arena);
    const struct ll_paradnn_weights weights = ll_paradnn_weigh(experiment, fed, arena);
    uint64_t waiting = 0;
    for (uint64_t i = 0; i < experiment->count; i++) {
        const struct ll_experiment_point *at = ll_experiment_at(experiment, i, LL_PARADNN_TPU2);
        waiting += at->host_s > at->device_s;
    }
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "steps of the devices alone, without waiting for images: the lead of both over all others",
        .reached = {lead(family, &weights, row, "batch"), 2, ""},
        .low = 0,
        .high = 1};
    char text[160];
    say(family, &weights, text, sizeof text);
    ll_criterion_explain(result, &explanation,
                         "%.0f %% of the points wait for the host's images, whatever their batch, while the "
                         "paper's data avoid most of that (section 4.4); of the devices alone the weights "
                         "are %s",
                         100 * (double)waiting / (double)experiment->count, text);
}

struct drawn {
    const struct ll_family *family;
    double *cells;
    size_t row, column;
    struct ll_paradnn_weights weights;
    double most;
};

static bool judge_panel(const struct ll_runs *runs, const struct panel *panel, struct drawn *drawn,
                        struct ll_study_result *result)
{
    const struct ll_experiment_result *experiment = ll_paradnn_experiment(runs, panel->family);
    if (!experiment)
        return false;
    struct ll_arena *arena = runs->arena;
    const struct ll_family *family = drawn->family = experiment->experiment.family;
    double *numbers = ll_paradnn_column(experiment, LL_PARADNN_TPU2, ll_paradnn_utilization, arena);
    drawn->row = ll_family_axis(family, panel->row);
    drawn->column = ll_family_axis(family, "batch");
    drawn->weights = ll_paradnn_weigh(experiment, numbers, arena);
    for (uint64_t i = 0; numbers && i < experiment->count; i++) {
        drawn->most = fmax(drawn->most, numbers[i]);
        numbers[i] *= 100;
    }
    drawn->cells = ll_paradnn_cells(experiment, numbers, drawn->row, drawn->column, arena);
    char text[160], wanted[64];
    say(family, &drawn->weights, text, sizeof text);
    snprintf(wanted, sizeof wanted, "%s and batch", panel->row);
    bool upwards = panel->family == LL_PARADNN_FC;
    ll_criterion_holds(result, weigh_most(family, &drawn->weights, panel->row, "batch", upwards), text,
                       wanted, "%s: what weighs most%s", panel->title, upwards ? ", and upwards" : "");
    explain_weights(experiment, panel->row, arena, result);
    if (drawn->cells)
        ll_criterion_at_least(result,
                              (struct ll_measured_value){
                                  100 * rising(drawn->cells, ll_family_axis_values(&family->axes[drawn->row]),
                                               ll_family_axis_values(&family->axes[drawn->column])),
                                  1, " %"},
                              90, "%s: neighbours in the heat map that do not fall", panel->title);
    return drawn->cells != NULL;
}

static void draw_heat(const struct drawn *drawn, struct ll_study_result *result)
{
    const struct ll_page page = {"What a TPU v2 reaches, simulated",
                                 "Heat maps and bars for three families of networks.",
                                 2 * PANELS,
                                 PANELS,
                                 480,
                                 340,
                                 "Simulated: TPU v2 of eight cores (tpu_v2_core); one scale of shades"};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL,
                            "Above, FLOPs reached over peak by two parameters, in percent, mean over "
                            "the others; below, what each parameter weighs in it.")};
    ll_page_open(&svg, &page);
    double most = 0;
    for (size_t i = 0; i < PANELS; i++)
        most = fmax(most, drawn[i].most);
    for (size_t i = 0; i < PANELS; i++) {
        ll_paradnn_draw_cells(&svg, ll_page_panel(&page, i),
                              &(struct ll_paradnn_heat){.title = panels[i].title,
                                                        .unit = "% of peak",
                                                        .family = drawn[i].family,
                                                        .row_axis = drawn[i].row,
                                                        .column_axis = drawn[i].column,
                                                        .cells = drawn[i].cells,
                                                        .full = 100 * most});
        ll_paradnn_draw_weights(&svg, ll_page_panel(&page, PANELS + i), panels[i].title, drawn[i].family,
                                &drawn[i].weights);
    }
    ll_svg_close(&svg);
}

static void judge_heat(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct drawn drawn[PANELS] = {{0}};
    struct ll_study_table *table = ll_paradnn_weights_table(
        result, NULL, "Weights of parameters in the utilization of a TPU v2, and what they explain.");
    bool all = true;
    judge_measured(runs, table, result);
    for (size_t i = 0; i < PANELS; i++) {
        all = judge_panel(runs, &panels[i], &drawn[i], result) && all;
        if (drawn[i].family)
            ll_paradnn_put_weights(table, panels[i].title, drawn[i].family, &drawn[i].weights);
    }
    if (drawn[0].family)
        ll_criterion_between(
            result, (struct ll_measured_value){100 * drawn[0].most, 1, " %"}, 54, 74,
            "the most that a fully connected network uses of the peak (published: 62 to 64 %%)");
    if (all)
        draw_heat(drawn, result);
    ll_study_note(result,
                  "A CNN's maps have thousands of places, so that the smallest batch fills the arrays of all "
                  "cores here and a larger one gains no more than more blocks do, which spread what a step "
                  "has besides; the paper's measurements of CNN are not public.");
}

const struct ll_study ll_study_P2 = {
    .id = "P2",
    .paper = "ParaDnn, figure 2",
    .title = "Utilization of a TPU v2",
    .doc = "The share of peak FLOPs that networks reach grows with their width and with the batch: these "
           "parameters weigh "
           "most in a linear regression on standardised parameters.",
    .compares = true,
    .plan = ll_paradnn_plan_main,
    .judge = judge_heat,
};

/* How many parameters the networks have. */

static void plan_parameters(struct ll_study_plan *plan)
{
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++)
        ll_paradnn_plan(plan, (enum ll_paradnn_family)f);
}

static double dense(const double *v)
{
    double layers = v[0], n = v[1], in = v[2], out = v[3];
    return in * n + n + (layers - 1) * (n * n + n) + n * out + out;
}

/* Filters, and two numbers a channel that normalise what they give. */
static double filters(double kernel, double in, double out)
{
    return kernel * kernel * in * out + 2 * out;
}

/* Groups of n blocks behind a stem of f filters; what is left of the image behind windows of 7 goes to the
 * output. */
static double convolutional(const double *v, bool residual)
{
    double n = v[0], f = v[1], image = v[2], classes = v[3], channels = f, sum = filters(7, 3, f);
    double size = ceil(ceil(image / 2) / 2);
    for (int group = 0; group < 4; group++, f *= 2) {
        double out = residual ? f : 4 * f;
        size = group > 0 ? ceil(size / 2) : size;
        sum += filters(1, channels, out);
        for (double block = 0; block < n; block++, channels = out)
            sum += residual ? filters(3, channels, f) + filters(3, f, f)
                            : filters(1, channels, f) + filters(3, f, f) + filters(1, f, out);
    }
    return sum + (size - 6) * (size - 6) * channels * classes + classes;
}

static double recurrent(const double *v, double products)
{
    double layers = v[0], e = v[1], words = v[3];
    return words * e + layers * products * (2 * e * e + e) + e * words + words;
}

static double closed_form(enum ll_paradnn_family family, const double *v)
{
    switch (family) {
    case LL_PARADNN_FC:
        return dense(v);
    case LL_PARADNN_BOTTLENECK:
    case LL_PARADNN_RESIDUAL:
        return convolutional(v, family == LL_PARADNN_RESIDUAL);
    default:
        return recurrent(v, family == LL_PARADNN_LSTM ? 4 : family == LL_PARADNN_GRU ? 3 : 1);
    }
}

/* Of point i of a family, or of its part. */
static double closed_form_at(const struct ll_family *family, enum ll_paradnn_family which, uint64_t i)
{
    uint64_t point[LL_MOST_FAMILY_AXES];
    double values[LL_MOST_FAMILY_AXES];
    ll_family_point(family, i, point);
    for (size_t axis = 0; axis < ll_family_axes(family); axis++)
        values[axis] = (double)point[axis];
    return closed_form(which, values);
}

/* The networks that were recorded have the parameters of the closed form. */
static void judge_recorded(const struct ll_experiment_result *experiment, enum ll_paradnn_family which,
                           struct ll_study_result *result)
{
    uint64_t equal = 0;
    char measured[64];
    for (uint64_t i = 0; i < experiment->count; i++)
        equal += ll_experiment_at(experiment, i, LL_PARADNN_V100)->parameters ==
                 closed_form_at(experiment->experiment.family, which, i);
    ll_snprintf(measured, sizeof measured, "%.0f of %.0f points", (double)equal, (double)experiment->count);
    ll_criterion_holds(result, equal == experiment->count, measured, "all of them",
                       "%s: parameters of those recorded are those of the closed form",
                       experiment->experiment.family->doc);
}

/* The parameters of all points of a family: least, most, and what lies between. */
struct range {
    const char *name;
    double least, most;
    struct ll_five five;
};

/* Of the families from one up to another, which is not among them. */
static struct range range_of(size_t first, size_t end, const char *name, struct ll_arena *arena)
{
    static const double parts[] = {0, 0.25, 0.5, 0.75, 1};
    struct range range = {.name = name, .least = INFINITY, .most = 0};
    uint64_t count = 0, at = 0;
    for (size_t f = first; f < end; f++)
        count += ll_family_size(&ll_paradnn_families[f]);
    double *of = ll_alloc(arena, count, sizeof *of);
    for (size_t f = first; of && f < end; f++)
        for (uint64_t i = 0; i < ll_family_size(&ll_paradnn_families[f]); i++) {
            of[at] = closed_form_at(&ll_paradnn_families[f], (enum ll_paradnn_family)f, i);
            range.least = fmin(range.least, of[at]);
            range.most = fmax(range.most, of[at++]);
        }
    for (size_t i = 0; i < 5; i++)
        range.five.at[i] = of ? ll_quantile(of, count, parts[i], arena) : NAN;
    return range;
}

/* From ten thousand to about a billion, by the figure's text. */
static const double ten_thousand = 1e4, billion = 1e9, about = 0.2;

static void draw_parameters(const struct range *ranges, struct ll_study_result *result)
{
    const char *names[LL_PARADNN_FAMILIES + 1];
    struct ll_five boxes[LL_PARADNN_FAMILIES + 1], published[LL_PARADNN_FAMILIES + 1];
    const struct ll_page page = {"Parameters of the families",
                                 "A box for each family, and one for all of them.",
                                 1,
                                 1,
                                 640,
                                 400,
                                 "Counted from the networks; no machine is simulated"};
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL,
        "Parameters of all networks of a family: quartiles, and the least and the most; of all "
        "families also what the text prints, ten thousand to a billion.")};
    for (size_t i = 0; i <= LL_PARADNN_FAMILIES; i++) {
        const bool all = i == LL_PARADNN_FAMILIES;
        names[i] = ranges[i].name;
        boxes[i] = ranges[i].five;
        published[i] = (struct ll_five){{all ? ten_thousand : NAN, NAN, NAN, NAN, all ? billion : NAN}};
    }
    ll_page_open(&svg, &page);
    ll_draw_boxes(&svg, ll_page_panel(&page, 0),
                  &(struct ll_boxes){.y_label = "parameters",
                                     .names = names,
                                     .boxes = boxes,
                                     .count = LL_PARADNN_FAMILIES + 1,
                                     .log = true,
                                     .published = published});
    ll_svg_close(&svg);
}

/* Table 2's smallest recurrent network has two matrices of its state's size: one for what comes in, one for
 * what was. */
static void explain_least(struct ll_study_result *result)
{
    const double layers = 1, embed = 100, words = 2;
    const double matrix = embed * embed, rest = words * embed + embed + embed * words + words;
    const struct ll_explanation explanation = {
        .cause = LL_PAPER_CONTRADICTS_ITSELF,
        .needed = "one matrix in a cell, not one for its input and one for its state",
        .reached = {layers * matrix + rest, 0, ""},
        .low = (1 - about) * ten_thousand,
        .high = (1 + about) * ten_thousand};
    ll_criterion_explain(
        result, &explanation,
        "the smallest network of table 2 is a recurrent one: 1 layer of 2 matrices of %.0f x "
        "%.0f, %.0f for its bias, embedding and output of two words, %.0f in all",
        embed, embed, rest, 2 * layers * matrix + rest);
}

/* Table 2's largest network would need eight times the memory of any of the paper's accelerators. */
static void explain_most(const struct ll_experiment_result *fc, struct ll_study_result *result)
{
    const double largest[] = {128, 8192, 8000, 1000};
    double most = 0;
    for (uint64_t i = 0; i < fc->count; i++) {
        const struct ll_experiment_point *at = ll_experiment_at(fc, i, LL_PARADNN_V100);
        most = at->fits ? fmax(most, at->parameters) : most;
    }
    const struct ll_explanation explanation = {.cause = LL_PAPER_CONTRADICTS_ITSELF,
                                               .needed = "networks that a V100's memory holds in training",
                                               .reached = {most, 0, ""},
                                               .low = (1 - about) * billion,
                                               .high = (1 + about) * billion};
    ll_criterion_explain(result, &explanation,
                         "table 2's largest fully connected network has %.0f layers of %.0f behind %.0f "
                         "inputs: %.0f x %.0f^2 and more, %.0f parameters",
                         largest[0], largest[1], largest[2], largest[0] - 1, largest[1], dense(largest));
}

static void judge_range(const struct range *ranges, const struct ll_experiment_result *fc,
                        struct ll_study_result *result)
{
    const double least = ranges[LL_PARADNN_FAMILIES].least, most = ranges[LL_PARADNN_FAMILIES].most;
    ll_criterion_between(result, (struct ll_measured_value){least, 0, ""}, (1 - about) * ten_thousand,
                         (1 + about) * ten_thousand, "least parameters of all families (published: 10k)");
    explain_least(result);
    ll_criterion_between(result, (struct ll_measured_value){most, 0, ""}, (1 - about) * billion,
                         (1 + about) * billion,
                         "most parameters of all families (published: about 1 billion)");
    if (fc)
        explain_most(fc, result);
    ll_study_note(
        result,
        "Ranges are of all networks of the families, as table 2 lists them, by the closed form: its largest "
        "fully connected one, 128 layers of 8192, has 8.6 billion parameters, its smallest recurrent one "
        "twenty thousand, so that table 2 and figure 1 do not agree.");
}

static void judge_parameters(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                     {"points of the family", 0},
                                                     {"least parameters", 0},
                                                     {"most parameters", 0}};
    static const double published[] = {32, 512, 8000, 200};
    struct range ranges[LL_PARADNN_FAMILIES + 1];
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Parameters of all networks of each family.", columns, 4);
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_experiment_result *experiment =
            ll_paradnn_experiment(runs, (enum ll_paradnn_family)f);
        ranges[f] = range_of((size_t)f, (size_t)f + 1, ll_paradnn_families[f].name, runs->arena);
        ll_table_put_text(table, ll_paradnn_families[f].doc);
        ll_table_put_number(table, (double)ll_family_size(&ll_paradnn_families[f]));
        ll_table_put_number(table, ranges[f].least);
        ll_table_put_number(table, ranges[f].most);
        if (experiment)
            judge_recorded(experiment, (enum ll_paradnn_family)f, result);
    }
    ranges[LL_PARADNN_FAMILIES] = range_of(0, LL_PARADNN_FAMILIES, "all", runs->arena);
    draw_parameters(ranges, result);
    ll_criterion_between(
        result, (struct ll_measured_value){dense(published), 0, ""}, 12341448, 12341448,
        "the closed form of 32 layers of 512, 8000 inputs, 200 classes (published with the measurements: "
        "12.34m)");
    judge_range(ranges, ll_paradnn_experiment(runs, LL_PARADNN_FC), result);
}

const struct ll_study ll_study_P1 = {
    .id = "P1",
    .paper = "ParaDnn, figure 1",
    .title = "Parameters of the networks",
    .doc = "The families span networks from some ten thousand to a billion parameters, real ones lie among "
           "them.",
    .plan = plan_parameters,
    .judge = judge_parameters,
};
