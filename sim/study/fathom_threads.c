/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/figure.h"
#include "sim/study/fathom.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    STEPS = 2,
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
static const struct ll_target targets[] = {
    {"1 thread", "i7_6700k_sse", CORES("1")},
    {"2 threads", "i7_6700k_sse", CORES("2")},
    {"4 threads", "i7_6700k_sse", CORES("4")},
    {"8 threads", "i7_6700k_sse", CORES("4")},
};
enum { ONE, TWO, FOUR, EIGHT, THREADS };

static const char *const native_variants[] = {"1 thread here", "2 threads here"};
enum { NATIVE = sizeof native_variants / sizeof *native_variants };

static void plan(struct ll_study_plan *plan)
{
    for (size_t p = 0; p < PANELS; p++) {
        const struct ll_fathom_workload *workload = &ll_fathom[planned[p].row];
        struct ll_recording dry = {.row = workload->name,
                                   .variant = "dry",
                                   .model = workload->model,
                                   .train = true,
                                   .dry_run = true,
                                   .batch = workload->batch,
                                   .steps = STEPS};
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
        ll_study_plan_target(plan, &targets[i]);
}

/* One workload with each number of threads. */
struct panel {
    const char *name;
    const struct ll_result *results[THREADS];
    const struct ll_timeline *native[NATIVE];
};

static bool fill(const struct ll_evidence *evidence, enum ll_fathom_row row, struct panel *panel)
{
    panel->name = ll_fathom[row].name;
    for (size_t t = 0; t < THREADS; t++)
        if (!(panel->results[t] = ll_evidence_replay(evidence, panel->name, "dry", targets[t].name)))
            return false;
    for (size_t i = 0; i < NATIVE; i++) {
        const struct ll_trace *trace = ll_evidence_trace(evidence, panel->name, native_variants[i]);
        if (!trace || !(panel->native[i] = ll_timeline(trace, COLD_STEPS, evidence->arena)))
            return false;
    }
    return true;
}

static double kind_s(const struct ll_result *result, const char *kind)
{
    for (uint64_t i = 0; i < result->kind_count; i++)
        if (strcmp(result->kinds[i].kind, kind) == 0)
            return result->kinds[i].time_s;
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
static double class_share(const struct ll_result *result, enum ll_op_class op_class)
{
    double part = 0, all = 0;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (kind->op_class == LL_CLASS_INPUT)
            continue;
        part += kind->op_class == op_class ? kind->time_s : 0;
        all += kind->time_s;
    }
    return part / all;
}

/* The share of ops whose scope begins so. */
static double scope_share(const struct ll_result *result, const char *scope)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double part = 0, all = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_form *form = &trace->forms[trace->ops[seq].form];
        double time_s = result->ops[seq - prepared->first_op].time_s;
        if (ll_op_class(form->view.kind) == LL_CLASS_INPUT)
            continue;
        part += strncmp(trace->strings[form->scope], scope, strlen(scope)) == 0 ? time_s : 0;
        all += time_s;
    }
    return part / all;
}

static const double least_share = 0.005; /* of op kinds in the table */

static void tabulate(const struct panel *panels, size_t count, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                       {"op kind", LL_TEXT_COLUMN},
                                                       {"1 thread (ms)", 3},
                                                       {"2 threads (ms)", 3},
                                                       {"4 threads (ms)", 3},
                                                       {"8 threads (ms)", 3},
                                                       {"1/8", 2},
                                                       {"here, 1 thread (ms)", 3},
                                                       {"here, 2 threads (ms)", 3}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL,
                                          "Time of a training step by op kind: simulated i7-6700K, and "
                                          "measured here; those with at least 0.5 % on one thread.",
                                          columns, sizeof columns / sizeof *columns);
    for (size_t p = 0; p < count; p++)
        for (uint64_t k = 0; k < panels[p].results[ONE]->kind_count; k++) {
            const struct ll_kind_result *kind = &panels[p].results[ONE]->kinds[k];
            if (kind->op_class == LL_CLASS_INPUT || kind->share < least_share)
                continue;
            ll_put_text(sheet, panels[p].name);
            ll_put_text(sheet, kind->kind);
            for (size_t t = 0; t < THREADS; t++)
                ll_put_number(sheet, 1e3 * kind_s(panels[p].results[t], kind->kind));
            ll_put_number(sheet, kind->time_s / kind_s(panels[p].results[EIGHT], kind->kind));
            for (size_t i = 0; i < NATIVE; i++)
                ll_put_number(sheet, 1e3 * native_kind_s(panels[p].native[i], kind->kind));
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

static void draw(const struct panel *panels, size_t count, struct ll_outcome *outcome)
{
    struct ll_svg svg = {ll_drawing_new(
        outcome, NULL,
        "Simulated time of a training step on the i7-6700K, the op kinds that take most on one thread.")};
    const struct ll_page page = {
        "Time by op kind and number of threads",
        "A panel for each workload: groups of bars, one group an op kind, one bar a number of threads.",
        PANELS,
        PANELS,
        430,
        360};
    ll_page_open(&svg, &page);
    for (size_t p = 0; p < count; p++)
        draw_panel(&svg, ll_page_panel(&page, p), &panels[p]);
    ll_svg_close(&svg);
}

static void judge_deepq(const struct panel *panel, struct ll_outcome *outcome)
{
    const struct ll_result *one = panel->results[ONE], *eight = panel->results[EIGHT];
    double products = class_share(one, LL_CLASS_CONV) + class_share(one, LL_CLASS_MATRIX);
    ll_at_most(outcome, (struct ll_measured_value){100 * class_share(one, LL_CLASS_OPTIMIZATION), 1, " %"}, 3,
               "deepq, 1 thread: share of the optimizer");
    ll_between(outcome, (struct ll_measured_value){100 * class_share(eight, LL_CLASS_OPTIMIZATION), 1, " %"},
               4, 10, "deepq, 8 threads: share of the optimizer");
    ll_at_least(outcome, (struct ll_measured_value){100 * products, 1, " %"}, 90,
                "deepq, 1 thread: share of convolutions and products");
}

static void judge_seq2seq(const struct panel *panel, struct ll_outcome *outcome)
{
    char measured[96];
    double shares[THREADS];
    bool grows = true;
    for (size_t t = 0; t < THREADS; t++) {
        shares[t] = 100 * scope_share(panel->results[t], "loss");
        grows = grows && (t == 0 || shares[t] >= shares[t - 1]);
    }
    ll_snprintf(measured, sizeof measured, "%.1f, %.1f, %.1f, %.1f %%", shares[ONE], shares[TWO],
                shares[FOUR], shares[EIGHT]);
    ll_holds(outcome, grows && shares[EIGHT] > shares[ONE], measured, "grows",
             "seq2seq: the loss grows in share with 1, 2, 4, 8 threads");
}

static void judge_memnet(const struct panel *panel, struct ll_outcome *outcome)
{
    static const char *const wide[] = {"mul", "adam"};
    const struct ll_result *one = panel->results[ONE], *eight = panel->results[EIGHT];
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        ll_at_least(outcome, (struct ll_measured_value){kind_s(one, wide[i]) / kind_s(eight, wide[i]), 2, ""},
                    1.5, "memnet: 8 threads speed up %s", wide[i]);
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
    if (fastest)
        ll_at_most(outcome, (struct ll_measured_value){most, 2, ""}, 1.2,
                   "memnet: what 8 threads speed up most of all other op kinds (%s)", fastest->kind);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static void (*const judges[PANELS])(const struct panel *,
                                        struct ll_outcome *) = {judge_deepq, judge_seq2seq, judge_memnet};
    struct panel panels[PANELS];
    size_t count = 0;
    for (size_t p = 0; p < PANELS; p++)
        if (fill(evidence, planned[p].row, &panels[count])) {
            judges[p](&panels[count], outcome);
            const struct panel *panel = &panels[count++];
            ll_at_most(outcome,
                       (struct ll_measured_value){panel->results[ONE]->time_s / panel->results[EIGHT]->time_s,
                                                  2, ""},
                       5, "%s: 8 threads on 4 cores speed up a step", panel->name);
        }
    tabulate(panels, count, outcome);
    draw(panels, count, outcome);
    ll_note(outcome, "A thread is a core. The i7-6700K has four: eight threads are two to a core, share its "
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
    .doc = "As threads are added, products and convolutions shrink and what does not parallelize begins to "
           "show: the optimizer "
           "of deepq, the loss of seq2seq, the small skinny tensors of memnet.",
    .plan = plan,
    .judge = judge,
};
