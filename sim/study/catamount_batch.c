/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 11: the word LM at the size of the paper's frontier, by batch. The time that it draws is not that of
 * the whole step under one roof, which its text gives, but the sum over ops of each under the roof alone. */
#include "sim/report/figure/figure.h"
#include "sim/study/catamount.h"
#include "tracer/base/plain.h"

#include <inttypes.h>
#include <math.h>

#define MACHINE "target accelerator"
#define WORKLOAD "word LM"

/* Read off the paper's vector drawing. */
static const struct point {
    uint64_t batch;
    double intensity, time_s; /* of a sample */
} points[] = {
    {1, 0.2871, 71.2439},         {2, 0.5325, 35.6305},        {4, 1.0244, 17.8239},
    {8, 2.0083, 8.9227},          {16, 3.9776, 4.4711},        {32, 7.9145, 2.2463},
    {64, 15.7614, 1.464},         {80, 19.6741, 1.3506},       {128, 31.3351, 1.181},
    {256, 61.982, 1.0397},        {512, 121.1613, 0.9689},     {1024, 231.6991, 0.9336},
    {1536, 332.7524, 0.9219},     {2048, 425.6564, 0.916},     {2560, 511.0731, 0.9124},
    {3072, 589.9949, 0.91},       {3584, 663.2198, 0.9085},    {4096, 731.1882, 0.9072},
    {4608, 794.6287, 0.9063},     {5120, 853.7817, 0.9054},    {5632, 909.2378, 0.9048},
    {6144, 960.9624, 0.9043},     {8192, 1140.2349, 0.9028},   {12288, 1401.2212, 0.9013},
    {16384, 1582.4634, 0.9006},   {32768, 1962.8243, 0.8995},  {65536, 2230.7957, 0.8989},
    {131072, 2393.8234, 0.8987},  {262144, 2484.4696, 0.8984}, {524288, 2533.2108, 0.8984},
    {1048576, 2557.9388, 0.8984},
};
enum { POINTS = sizeof points / sizeof *points, AT_RIDGE = 7, AT_CHOICE = 8 };

/* A batch is large enough when a sample takes at most so much of what it takes in the largest. */
static const double good_enough = 1.35;

static const char *variant_of(struct ll_arena *arena, size_t i)
{
    const char *name = ll_format(arena, "%" PRIu64, points[i].batch);
    return name ? name : "";
}

static void plan(struct ll_study_plan *plan)
{
    ll_study_plan_target(plan, &(struct ll_target){.name = MACHINE, .machine = "catamount"});
    for (size_t i = 0; i < POINTS; i++)
        ll_study_plan_recording(plan, &(struct ll_recording){.row = WORKLOAD,
                                                             .variant = variant_of(&plan->arena, i),
                                                             .model = "word_lm",
                                                             .settings = {{"hidden", "38100"}},
                                                             .train = true,
                                                             .dry_run = true,
                                                             .batch = points[i].batch,
                                                             .steps = 1});
}

struct curves {
    double batches[POINTS], intensities[POINTS], times_s[POINTS], roof_s[POINTS];
};

static struct curves measure(const struct ll_evidence *evidence, struct ll_catamount_rates rates)
{
    struct curves c;
    for (size_t i = 0; i < POINTS; i++) {
        const struct ll_trace *trace = ll_evidence_trace(evidence, WORKLOAD, variant_of(evidence->arena, i));
        const double batch = (double)points[i].batch;
        struct ll_accounts a;
        bool known = trace && ll_catamount(trace, &a);
        c.batches[i] = batch;
        c.intensities[i] = known ? (double)a.flops / (double)a.bytes : NAN;
        c.times_s[i] = known ? ll_catamount_sum_s(trace, rates.flops, rates.Bps) / batch : NAN;
        c.roof_s[i] = known ? fmax((double)a.flops / rates.flops, (double)a.bytes / rates.Bps) / batch : NAN;
    }
    return c;
}

static void tabulate(const struct curves *c, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"batch", 0},      {"FLOP a byte", 3}, {"figure", 3},       {"off (%)", 2},
        {"s a sample", 4}, {"figure (s)", 4},  {"off (%) of s", 2}, {"under one roof (s)", 4}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "The word LM with 24 billion parameters, by batch.", columns, 8);
    for (size_t i = 0; i < POINTS; i++) {
        ll_put_number(sheet, c->batches[i]);
        ll_put_number(sheet, c->intensities[i]);
        ll_put_number(sheet, points[i].intensity);
        ll_put_number(sheet, ll_percent_off(c->intensities[i], points[i].intensity));
        ll_put_number(sheet, c->times_s[i]);
        ll_put_number(sheet, points[i].time_s);
        ll_put_number(sheet, ll_percent_off(c->times_s[i], points[i].time_s));
        ll_put_number(sheet, c->roof_s[i]);
    }
}

static void draw_panel(struct ll_svg *svg, struct ll_rect box, const char *y_label, const struct curves *c,
                       const double *ours, const double *figure)
{
    const struct ll_curve curves[] = {{"here", c->batches, ours, POINTS},
                                      {"figure", c->batches, figure, POINTS}};
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.x_label = "samples a step",
                                     .y_label = y_label,
                                     .curves = curves,
                                     .curve_count = 2,
                                     .joined = true,
                                     .x_log = true,
                                     .y_log = true});
}

static void draw(const struct curves *c, struct ll_outcome *outcome)
{
    const struct ll_page page = {
        "Batch, intensity and time", "FLOP a byte and seconds a sample by batch", 2, 2, 420, 320};
    double intensities[POINTS], times_s[POINTS];
    struct ll_svg svg = {
        .out = ll_drawing_new(outcome, NULL, "Intensity and time by batch, here and in the figure.")};
    for (size_t i = 0; i < POINTS; i++) {
        intensities[i] = points[i].intensity;
        times_s[i] = points[i].time_s;
    }
    ll_page_open(&svg, &page);
    draw_panel(&svg, ll_page_panel(&page, 0), "FLOP a byte", c, c->intensities, intensities);
    draw_panel(&svg, ll_page_panel(&page, 1), "s a sample", c, c->times_s, times_s);
    ll_svg_close(&svg);
}

/* The first batch for which the condition holds; NaN when there is none. */
static double first_batch(const struct curves *c, const double *values, double bound, bool above)
{
    for (size_t i = 0; i < POINTS; i++)
        if (above ? values[i] >= bound : values[i] <= bound)
            return c->batches[i];
    return NAN;
}

/* Samples a second at a batch, of those with the largest one: ours, and the figure's own. */
static void inform_rate(const struct curves *c, size_t at, const char *published, struct ll_outcome *outcome)
{
    char text[64];
    ll_snprintf(text, sizeof text, "%.0f %% (figure: %.0f %%)", 100 * c->times_s[POINTS - 1] / c->times_s[at],
                100 * points[POINTS - 1].time_s / points[at].time_s);
    ll_inform(outcome, text, published, "share of the most samples a second at batch %.0f", c->batches[at]);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_catamount_rates rates = ll_catamount_rates(evidence->machines[0]);
    const struct curves c = measure(evidence, rates);
    const double ridge = 19.9; /* as printed */
    double intensity_off = 0, time_off = 0;
    tabulate(&c, outcome);
    draw(&c, outcome);
    for (size_t i = 0; i < POINTS; i++) {
        const double intensity = fabs(ll_percent_off(c.intensities[i], points[i].intensity));
        const double time = fabs(ll_percent_off(c.times_s[i], points[i].time_s));
        intensity_off = intensity > intensity_off || isnan(intensity) ? intensity : intensity_off;
        time_off = time > time_off || isnan(time) ? time : time_off;
    }
    ll_at_most(outcome, (struct ll_measured_value){intensity_off, 2, " %"}, 3,
               "operational intensity is at most so far from the figure at all batches");
    ll_at_most(outcome, (struct ll_measured_value){time_off, 2, " %"}, 3,
               "time of a sample is at most so far from the figure at all batches");
    ll_between(outcome, (struct ll_measured_value){first_batch(&c, c.intensities, ridge, true), 0, ""}, 80,
               80, "smallest batch whose intensity reaches the ridge of what is achievable");
    ll_between(outcome,
               (struct ll_measured_value){
                   first_batch(&c, c.times_s, good_enough * c.times_s[POINTS - 1], false), 0, ""},
               128, 128,
               "smallest batch in which a sample takes at most 1.35 of the least time: the paper's choice");
    inform_rate(&c, AT_RIDGE, "60 % (\"40 % loss\")", outcome);
    inform_rate(&c, AT_CHOICE, "79 %", outcome);
    ll_note(outcome,
            "The figure's model has h = 38,000, ours 38,100: 0.8 %% less parameters. The column under one "
            "roof is what the text's formula would give.");
}

const struct ll_study ll_study_C11 = {
    .id = "C11",
    .paper = "Catamount, figure 11",
    .title = "Batch, operational intensity and time",
    .doc = "How many samples a step the frontier's word LM should have: its intensity meets the "
           "accelerator's ridge at "
           "80, the time of a sample falls until 128 and hardly any further.",
    .plan = plan,
    .judge = judge,
};
