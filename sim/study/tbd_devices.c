/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/tbd.h"

#include "sim/report/figure/figure.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

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

static size_t collect(const struct ll_evidence *evidence, struct pair pairs[LL_TBD_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < LL_TBD_COUNT; i++) {
        enum ll_tbd_row row = (enum ll_tbd_row)i;
        const struct ll_result *p4000 = ll_tbd_replay(evidence, row, largest(row), LL_TBD_P4000);
        const struct ll_result *titan = ll_tbd_replay(evidence, row, largest(row), LL_TBD_TITAN);
        if (p4000 && titan)
            pairs[count++] = (struct pair){row, ll_metrics_of(p4000), ll_metrics_of(titan)};
    }
    return count;
}

static void tabulate(const struct pair *pairs, size_t count, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"mini-batch", 0},      {"TITAN Xp / P4000", 2},  {"GPU, P4000 (%)", 1},
        {"GPU, TITAN Xp (%)", 1},     {"FP32, P4000 (%)", 1}, {"FP32, TITAN Xp (%)", 1}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Throughput and utilizations on both cards, simulated.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        ll_put_text(sheet, ll_tbd[pairs[i].row].name);
        ll_put_number(sheet, (double)largest(pairs[i].row));
        ll_put_number(sheet, speedup(&pairs[i]));
        ll_put_number(sheet, 100 * pairs[i].p4000.device_utilization);
        ll_put_number(sheet, 100 * pairs[i].titan.device_utilization);
        ll_put_number(sheet, 100 * pairs[i].p4000.fp32_utilization);
        ll_put_number(sheet, 100 * pairs[i].titan.fp32_utilization);
    }
}

static void draw(const struct pair *pairs, size_t count, struct ll_outcome *outcome)
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
            values[m][2 * i] = ll_tbd_value(&pairs[i].p4000, (enum ll_tbd_metric)m);
            values[m][2 * i + 1] = ll_tbd_value(&pairs[i].titan, (enum ll_tbd_metric)m);
        }
    }
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL, "Both cards side by side, at the largest mini-batch.")};
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

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct pair pairs[LL_TBD_COUNT];
    size_t count = collect(evidence, pairs), device = 0, arithmetic = 0;
    char published[64];
    tabulate(pairs, count, outcome);
    draw(pairs, count, outcome);
    for (size_t i = 0; i < count; i++) {
        const char *name = ll_tbd[pairs[i].row].name;
        ll_at_most(outcome, (struct ll_measured_value){speedup(&pairs[i]), 2, ""}, peak_ratio,
                   "%s: throughput on the TITAN Xp over that on the P4000, at most as the peaks are", name);
        if (pairs[i].row != LL_TBD_SOCKEYE)
            ll_holds(outcome, speedup(&pairs[i]) > 1, speedup(&pairs[i]) > 1 ? "faster" : "not faster",
                     "faster", "%s: the TITAN Xp is faster", name);
        device += pairs[i].titan.device_utilization < pairs[i].p4000.device_utilization;
        arithmetic += pairs[i].titan.fp32_utilization < pairs[i].p4000.fp32_utilization;
    }
    ll_at_least(outcome, (struct ll_measured_value){(double)device, 0, ""}, MOST_OFTEN,
                "workloads whose GPU utilization is lower on the TITAN Xp");
    ll_at_least(outcome, (struct ll_measured_value){(double)arithmetic, 0, ""}, MOST_OFTEN,
                "workloads whose FP32 utilization is lower on the TITAN Xp");
    for (size_t i = 0; i < count; i++)
        if (pairs[i].row == LL_TBD_SOCKEYE) {
            ll_snprintf(published, sizeof published, "%.2f", speedup(&pairs[i]));
            ll_inform(outcome, published, "not above 1",
                      "Sockeye: throughput on the TITAN Xp over the P4000's");
        }
    ll_note(outcome, "Both cards under the same framework in the same host, at the largest mini-batch of the "
                     "sweeps of T4; the faster card waits the longer for its ops to be started.");
}

const struct ll_study ll_study_T7 = {
    .id = "T7",
    .paper = "TBD, figure 7",
    .title = "Quadro P4000 and TITAN Xp",
    .doc =
        "The TITAN Xp has 2.29 times the peak of the P4000. All but Sockeye train faster on it, none by so "
        "much, and most use less of it, in time and in arithmetic.",
    .plan = plan,
    .judge = judge,
};
