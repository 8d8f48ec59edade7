/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/figure.h"
#include "sim/study/fathom.h"
#include "sim/study/statistics.h"

#include <math.h>
#include <string.h>

enum { STEPS = 220, COLD_STEPS = 20, DRAWN_KINDS = 3 };
static const double least_share = 0.01; /* of the op types that are judged, as figure 3 has it */

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        struct ll_recording recording = {.row = ll_fathom[i].name,
                                         .variant = "long",
                                         .model = ll_fathom[i].model,
                                         .train = true,
                                         .batch = ll_fathom[i].long_batch,
                                         .steps = STEPS,
                                         .threads = 1};
        memcpy(recording.settings, ll_fathom[i].long_run, sizeof recording.settings);
        ll_study_plan_recording(plan, &recording);
    }
    ll_study_plan_target(plan, &(struct ll_target){.name = "CPU", .machine = "i7_6700k"});
}

/* What is judged of a workload: the worst of its op types that matter, and what lies between its ops. */
struct finding {
    const char *drifting, *varying;
    double drift, variation, plain_variation, gap;
    size_t judged_kinds;
};

static struct finding find(const struct ll_timeline *timeline, struct ll_arena *arena)
{
    struct finding f = {.drifting = "", .varying = ""};
    double *gaps = ll_alloc(arena, timeline->step_count, sizeof *gaps);
    for (size_t i = 0; i < timeline->kind_count; i++) {
        const struct ll_timeline_kind *kind = &timeline->kinds[i];
        if (kind->share < least_share)
            continue;
        double drift = fabs(ll_drift(kind->time_s, timeline->step_count, arena));
        double variation = ll_robust_variation(kind->time_s, timeline->step_count, arena);
        f.plain_variation = fmax(f.plain_variation, ll_variation(kind->time_s, timeline->step_count));
        f.judged_kinds++;
        if (drift >= f.drift) {
            f.drift = drift;
            f.drifting = kind->name;
        }
        if (variation >= f.variation) {
            f.variation = variation;
            f.varying = kind->name;
        }
    }
    for (size_t i = 0; gaps && i < timeline->step_count; i++)
        gaps[i] = (timeline->wall_s[i] - timeline->ops_s[i] - timeline->recording_s[i]) / timeline->wall_s[i];
    f.gap = gaps ? ll_quantile(gaps, timeline->step_count, 0.5, arena) : NAN;
    return f;
}

static void draw_workload(struct ll_svg *svg, struct ll_rect box, const char *name,
                          const struct ll_timeline *timeline, struct ll_arena *arena)
{
    struct ll_curve curves[DRAWN_KINDS] = {{0}};
    size_t count = timeline->kind_count < DRAWN_KINDS ? timeline->kind_count : DRAWN_KINDS;
    double *steps = ll_alloc(arena, timeline->step_count, sizeof *steps);
    for (size_t i = 0; steps && i < timeline->step_count; i++)
        steps[i] = (double)i;
    for (size_t k = 0; k < count; k++) {
        double *relative = ll_alloc(arena, timeline->step_count, sizeof *relative);
        if (!relative || !steps)
            return;
        double median_s = ll_quantile(timeline->kinds[k].time_s, timeline->step_count, 0.5, arena);
        for (size_t i = 0; i < timeline->step_count; i++)
            relative[i] = timeline->kinds[k].time_s[i] / median_s;
        curves[k] = (struct ll_curve){timeline->kinds[k].name, steps, relative, timeline->step_count};
    }
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.title = name,
                                     .x_label = "step",
                                     .y_label = "time / median",
                                     .curves = curves,
                                     .curve_count = count,
                                     .joined = true,
                                     .y_high = 2});
}

static void draw(const struct ll_timeline *const timelines[], struct ll_arena *arena,
                 struct ll_outcome *outcome)
{
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL,
                       "The three op types with most time of each workload: time in each step over the "
                       "median of all steps. Values above 2 are drawn at 2.")};
    size_t there = 0;
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        there += timelines[row] != NULL;
    const struct ll_page page = {
        "Op times over 200 training steps on one thread",
        "A panel for each workload: the time of its largest op types against the step.",
        there,
        4,
        300,
        230};
    ll_page_open(&svg, &page);
    for (size_t row = 0, panel = 0; row < LL_FATHOM_COUNT; row++)
        if (timelines[row])
            draw_workload(&svg, ll_page_panel(&page, panel++), ll_fathom[row].name, timelines[row], arena);
    ll_svg_close(&svg);
}

static void judge_row(const struct ll_evidence *evidence, const char *name, const struct finding *f,
                      struct ll_outcome *outcome)
{
    ll_at_most(outcome, (struct ll_measured_value){100 * f->drift, 1, " %"}, 5,
               "%s: drift over all steps, worst op type (%s)", name, f->drifting);
    ll_at_most(outcome, (struct ll_measured_value){100 * f->variation, 1, " %"}, 15,
               "%s: deviation over median, worst op type (%s)", name, f->varying);
    ll_at_most(outcome, (struct ll_measured_value){100 * f->gap, 2, " %"}, 2, "%s: time outside of ops",
               name);
    const struct ll_result *once = ll_evidence_replay(evidence, name, "long", "CPU");
    const struct ll_result *again = ll_evidence_replay(evidence, name, "long", "CPU");
    if (once && again)
        ll_holds(outcome, once->time_s == again->time_s,
                 once->time_s == again->time_s ? "the same" : "another", "the same",
                 "%s: time when simulated twice", name);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"steps", 0},           {"median step (ms)", 2},
        {"op types above 1 %", 0},    {"worst drift (%)", 1}, {"of", LL_TEXT_COLUMN},
        {"worst deviation (%)", 1},   {"of", LL_TEXT_COLUMN}, {"with outliers (%)", 1},
        {"outside of ops (%)", 2}};
    const struct ll_timeline *timelines[LL_FATHOM_COUNT] = {NULL};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "How steady op types are that take more than 1 % of the time.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_trace *trace = ll_evidence_trace(evidence, ll_fathom[row].name, "long");
        timelines[row] = trace ? ll_timeline(trace, COLD_STEPS, evidence->arena) : NULL;
        if (!timelines[row])
            continue;
        struct finding f = find(timelines[row], evidence->arena);
        ll_put_text(sheet, ll_fathom[row].name);
        ll_put_number(sheet, (double)timelines[row]->step_count);
        ll_put_number(sheet, 1e3 * ll_quantile(timelines[row]->wall_s, timelines[row]->step_count, 0.5,
                                               evidence->arena));
        ll_put_number(sheet, (double)f.judged_kinds);
        ll_put_number(sheet, 100 * f.drift);
        ll_put_text(sheet, f.drifting);
        ll_put_number(sheet, 100 * f.variation);
        ll_put_text(sheet, f.varying);
        ll_put_number(sheet, 100 * f.plain_variation);
        ll_put_number(sheet, 100 * f.gap);
        judge_row(evidence, ll_fathom[row].name, &f, outcome);
    }
    draw(timelines, evidence->arena, outcome);
    ll_note(
        outcome,
        "Drift is what a line through the op type's times gains from the first step to the last, over their "
        "median; its slope is the median of those of all pairs of steps. Deviation is the distance of the "
        "quartiles, scaled to standard deviations, over the median, so that the few steps in which something "
        "else "
        "had the core do not count; with them it is the column \"with outliers\", the plain standard "
        "deviation "
        "over the mean. Time outside of ops is a step's time less that of its ops and of the recorder, the "
        "median "
        "of all steps.");
}

const struct ll_study ll_study_F1 = {
    .id = "F1",
    .paper = "Fathom, figure 1",
    .title = "Op times are stationary",
    .doc = "Op times, sampled across the life of a program, are stationary and have low variance, so that a "
           "few steps stand for "
           "all; and less than 1 to 2 % of the time is spent outside of ops.",
    .plan = plan,
    .judge = judge,
};
