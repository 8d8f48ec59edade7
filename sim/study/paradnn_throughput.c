/* SPDX-License-Identifier: Apache-2.0 */
/* Examples a second of fully connected networks, and what finds no room: simulated against measured. */
#include "sim/study/paradnn_memory.h"
#include "sim/study/statistics.h"
#include "tracer/base/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FIGURE_DEPTH = 64 };

static void plan(struct ll_study_plan *plan)
{
    ll_study_plan_survey(plan,
                         &(struct ll_survey){&ll_paradnn_tried, ll_paradnn_platforms, LL_PARADNN_V100 + 1});
    ll_paradnn_plan(plan, LL_PARADNN_FC);
}

/* How the runs that were tried went, and how they go here. */
static void judge_memory(const struct ll_survey_result *tried, struct ll_outcome *outcome)
{
    uint64_t ran = 0, ran_right = 0, failed_right = 0;
    char measured[64], wanted[64];
    for (uint64_t i = 0; i < tried->count; i++) {
        bool there = ll_paradnn_ran(tried, i), here = ll_surveyed_at(tried, i, LL_PARADNN_TPU2)->fits;
        ran += there;
        ran_right += there && here;
        failed_right += !there && !here;
    }
    snprintf(measured, sizeof measured, "%" PRIu64 " fit, %" PRIu64 " do not", ran_right, failed_right);
    snprintf(wanted, sizeof wanted, "%" PRIu64 " and %" PRIu64, ran, tried->count - ran);
    ll_holds(outcome, ran_right == ran && failed_right == tried->count - ran, measured, wanted,
             "what ran and what ran out of memory on a TPU v2, from the lives of tensors and 8 GiB a core");
}

/* The times of rows of a platform, theirs and ours, and how far ours are off. */
struct compared {
    double *measured_s, *simulated_s, *errors;
    bool *fed; /* the host was faster than the device */
    size_t count;
};

static bool compare(const struct ll_evidence *evidence, const struct ll_survey_result *tried,
                    enum ll_paradnn_platform platform, struct compared *c)
{
    size_t count;
    const struct ll_paradnn_measured *rows = ll_paradnn_rows(evidence, platform, &count);
    c->measured_s = ll_alloc(evidence->arena, count, sizeof *c->measured_s);
    c->simulated_s = ll_alloc(evidence->arena, count, sizeof *c->simulated_s);
    c->errors = ll_alloc(evidence->arena, count, sizeof *c->errors);
    c->fed = ll_alloc(evidence->arena, count, sizeof *c->fed);
    if (!c->measured_s || !c->simulated_s || !c->errors || !c->fed)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct ll_surveyed *at = ll_paradnn_simulated(tried, platform, &rows[i]);
        if (!at)
            continue;
        c->measured_s[c->count] = rows[i].time_s;
        c->simulated_s[c->count] = at->step_s;
        c->errors[c->count] = fabs(at->step_s / rows[i].time_s - 1);
        c->fed[c->count++] = at->device_s > at->host_s;
    }
    return c->count > 0;
}

/* Errors of one kind of rows alone; their number. */
static size_t errors_of(const struct compared *c, bool fed, double *errors)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->fed[i] == fed)
            errors[count++] = c->errors[i];
    return count;
}

/* Criteria of a platform: the least rank correlation, the largest median error and that of nine in ten. */
struct limits {
    double ranks, median, nine;
};

static void judge_times(const struct compared *c, const char *name, const char *fitted,
                        const struct limits *limits, struct ll_arena *arena, struct ll_outcome *outcome)
{
    double ranks = ll_spearman(c->measured_s, c->simulated_s, c->count, arena);
    ll_at_least(outcome, (struct ll_measured_value){ranks, 4, ""}, limits->ranks,
                "%s, %zu rows%s: rank correlation of simulated and measured steps (Spearman)", name, c->count,
                fitted);
    ll_at_most(outcome,
               (struct ll_measured_value){100 * ll_quantile(c->errors, c->count, 0.5, arena), 1, " %"},
               limits->median, "%s: median error of a step on these rows", name);
    ll_at_most(outcome,
               (struct ll_measured_value){100 * ll_quantile(c->errors, c->count, 0.9, arena), 1, " %"},
               limits->nine, "%s: error that nine in ten steps on these rows have at most", name);
    double *errors = ll_alloc(arena, c->count, sizeof *errors);
    for (int fed = 0; errors && fed < 2; fed++) {
        char text[96];
        size_t count = errors_of(c, fed, errors);
        ll_snprintf(text, sizeof text, "%zu steps: median %.1f %%, nine in ten %.1f %%", count,
                    100 * ll_quantile(errors, count, 0.5, arena),
                    100 * ll_quantile(errors, count, 0.9, arena));
        ll_inform(outcome, text, "", "%s: steps that %s", name,
                  fed ? "are the device's" : "wait for the host");
    }
}

static void judge_signs(const struct ll_evidence *evidence, struct ll_sheet *sheet,
                        struct ll_outcome *outcome)
{
    static const enum ll_paradnn_platform platforms[] = {LL_PARADNN_TPU2, LL_PARADNN_V100};
    const struct ll_survey_result *fc = ll_paradnn_survey(evidence, LL_PARADNN_FC);
    size_t count;
    const struct ll_paradnn_measured *rows = ll_paradnn_rows(evidence, LL_PARADNN_TPU2, &count);
    double *rates = ll_alloc(evidence->arena, count, sizeof *rates);
    for (size_t i = 0; rates && i < count; i++)
        rates[i] = (double)rows[i].batch / rows[i].time_s;
    struct ll_paradnn_weights measured = ll_paradnn_weigh_measured(rows, count, rates, evidence->arena);
    ll_paradnn_put_weights(sheet, "TPU v2, measured", &ll_paradnn_families[LL_PARADNN_FC], &measured);
    for (size_t p = 0; fc && p < 2; p++) {
        const char *name = ll_paradnn_platforms[platforms[p]].name;
        double *column = ll_paradnn_column(fc, platforms[p], ll_paradnn_rate, evidence->arena);
        struct ll_paradnn_weights weights = ll_paradnn_weigh(fc, column, evidence->arena);
        char text[96];
        ll_paradnn_put_weights(sheet, name, fc->survey.family, &weights);
        ll_snprintf(text, sizeof text, "layers %+.2f, nodes %+.2f, batch %+.2f", weights.of[0], weights.of[1],
                    weights.of[4]);
        ll_holds(outcome, weights.of[0] < 0 && weights.of[1] < 0 && weights.of[4] > 0, text, "-, -, +",
                 "%s: weights in examples a second", name);
    }
}

/* Mean rate of what fits at the figure's depth; nothing where no point does. */
static double *rates_at(const struct ll_survey_result *fc, size_t platform, struct ll_arena *arena)
{
    double *rates = ll_paradnn_column(fc, platform, ll_paradnn_rate, arena);
    for (uint64_t i = 0; rates && i < fc->count; i++) {
        bool shown = ll_surveyed_value(fc, i, 0) == FIGURE_DEPTH && ll_surveyed_at(fc, i, platform)->fits;
        rates[i] = shown ? rates[i] * 1e-3 : NAN;
    }
    return rates;
}

static uint64_t count_fits(const struct ll_survey_result *fc, size_t platform)
{
    uint64_t fits = 0;
    for (uint64_t i = 0; i < fc->count; i++)
        fits += ll_surveyed_at(fc, i, platform)->fits;
    return fits;
}

static void judge_room(const struct ll_survey_result *fc, struct ll_outcome *outcome)
{
    uint64_t tpu = count_fits(fc, LL_PARADNN_TPU2), gpu = count_fits(fc, LL_PARADNN_V100),
             cpu = count_fits(fc, LL_PARADNN_CPU);
    char text[96];
    snprintf(text, sizeof text, "%" PRIu64 ", %" PRIu64 ", %" PRIu64 " of %" PRIu64, tpu, gpu, cpu,
             fc->count);
    ll_holds(outcome, tpu < gpu && gpu < cpu, text, "rising",
             "points that fit into TPU v2, V100 and Skylake");
    ll_inform(outcome, cpu == fc->count ? "all" : "not all", "all", "what fits into Skylake's memory");
}

static void draw(const struct ll_survey_result *fc, const struct compared *c, struct ll_arena *arena,
                 struct ll_outcome *outcome)
{
    static const enum ll_paradnn_platform platforms[] = {LL_PARADNN_TPU2, LL_PARADNN_V100, LL_PARADNN_CPU};
    const struct ll_page page = {
        "Examples a second, 64 layers deep",
        "Heat maps of three platforms, grey where memory does not do; simulated over "
        "measured times of a TPU v2.",
        4,
        2,
        560,
        400};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL,
                       "Thousands of examples a second by nodes and batch at 64 layers, grey where "
                       "memory does not do, and simulated over measured steps.")};
    const struct ll_curve series = {NULL, c->measured_s, c->simulated_s, c->count};
    size_t nodes = ll_family_axis(fc->survey.family, "nodes"),
           batch = ll_family_axis(fc->survey.family, "batch");
    ll_page_open(&svg, &page);
    for (size_t p = 0; p < 3; p++) {
        double full = 0,
               *cells = ll_paradnn_cells(fc, rates_at(fc, platforms[p], arena), nodes, batch, arena);
        for (size_t i = 0; cells && i < 81; i++)
            full = fmax(full, isfinite(cells[i]) ? cells[i] : 0);
        ll_paradnn_draw_cells(&svg, ll_page_panel(&page, p),
                              &(struct ll_paradnn_heat){.title = ll_paradnn_platforms[platforms[p]].name,
                                                        .unit = "thousands a second",
                                                        .grey = "out of memory",
                                                        .family = fc->survey.family,
                                                        .row_axis = nodes,
                                                        .column_axis = batch,
                                                        .cells = cells,
                                                        .full = full});
    }
    ll_draw_scatter(&svg, ll_page_panel(&page, 3),
                    &(struct ll_scatter){.title = "TPU v2, simulated over measured",
                                         .x_label = "measured step (s)",
                                         .y_label = "simulated step (s)",
                                         .series = &series,
                                         .series_count = 1,
                                         .band = 0.3});
    ll_svg_close(&svg);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct limits of_tpu = {0.98, 10, 30}, of_gpu = {0.9, 25, INFINITY};
    const struct ll_survey_result *tried = ll_evidence_survey(evidence, ll_paradnn_tried.name);
    const struct ll_survey_result *fc = ll_paradnn_survey(evidence, LL_PARADNN_FC);
    struct ll_sheet *sheet =
        ll_paradnn_weights_sheet(outcome, NULL, "Weights of parameters in examples a second.");
    struct compared tpu = {.count = 0}, gpu = {.count = 0};
    if (tried) {
        judge_memory(tried, outcome);
        if (compare(evidence, tried, LL_PARADNN_TPU2, &tpu))
            judge_times(&tpu, "TPU v2", evidence->measured_count ? "" : ", on which five rates are fitted",
                        &of_tpu, evidence->arena, outcome);
        if (compare(evidence, tried, LL_PARADNN_V100, &gpu))
            judge_times(&gpu, "V100", "", &of_gpu, evidence->arena, outcome);
    }
    judge_signs(evidence, sheet, outcome);
    if (fc)
        judge_room(fc, outcome);
    if (fc && tpu.count)
        draw(fc, &tpu, evidence->arena, outcome);
    ll_note(outcome, "The host's rates and the links' bandwidth of the TPU are fitted on the rows at hand "
                     "(hwconfigs/stacks/paradnn_host.yaml and tpu_v2_core.yaml say which), nothing else is.");
}

const struct ll_study ll_study_P7 = {
    .id = "P7",
    .paper = "ParaDnn, figure 7",
    .title = "Throughput and memory of fully connected networks",
    .doc = "Examples a second fall with depth and width and rise with the batch, on TPU and GPU; large "
           "networks run out "
           "of memory on the TPU first, then on the GPU, and on the CPU never.",
    .compares = true,
    .plan = plan,
    .judge = judge,
};
