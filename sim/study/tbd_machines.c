/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/plan_file.h"
#include "sim/parallel/step.h"
#include "sim/replay/remembered.h"
#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"
#include "tracer/base/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What figure 9 trains on, from one GPU to four. Machines with one GPU each are joined by their network. */
enum { ONE, ETHERNET, INFINIBAND, TWO, FOUR, SYSTEMS };
static const struct {
    const char *name, *target, *machine;
    uint64_t devices;
} systems[SYSTEMS] = {
    [ONE] = {"1 machine, 1 GPU", LL_TBD_P4000, "quadro_p4000_tbd", 1},
    [ETHERNET] = {"2 machines, Ethernet", "Ethernet", "quadro_p4000_tbd_ethernet", 2},
    [INFINIBAND] = {"2 machines, InfiniBand", "InfiniBand", "quadro_p4000_tbd_infiniband", 2},
    [TWO] = {"1 machine, 2 GPUs", "box", "quadro_p4000_tbd_box", 2},
    [FOUR] = {"1 machine, 4 GPUs", "box", "quadro_p4000_tbd_box", 4},
};

enum { ROWS = 2, BATCHES = 3 };
static const enum ll_tbd_row rows[ROWS] = {LL_TBD_RESNET, LL_TBD_INCEPTION};
static const uint64_t batches[BATCHES] = {8, 16, 32};

static void plan(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            ll_tbd_plan_batch(plan, rows[row], batches[i]);
    for (size_t s = 0; s < FOUR; s++)
        ll_study_plan_target(plan,
                             &(struct ll_target){.name = systems[s].target, .machine = systems[s].machine});
}

static const struct ll_machine *machine_of(const struct ll_evidence *evidence, size_t system)
{
    size_t target = system < FOUR ? system : TWO;
    return evidence->machines[target];
}

/* What a system does with a workload; throughput NaN when it could not be simulated. */
struct trained {
    double throughput_Hz, step_s, exposed_s;
};

static struct trained train(const struct ll_evidence *evidence, enum ll_tbd_row row, uint64_t batch,
                            size_t system)
{
    struct trained trained = {NAN, NAN, NAN};
    const struct ll_trace *trace = ll_tbd_trace(evidence, row, batch);
    struct ll_parallel how = ll_plan_of_one();
    struct ll_remembered remembered = {0};
    how.data = systems[system].devices;
    struct ll_spread *spread =
        trace ? ll_spread_trace(trace, &how, systems[system].devices, evidence->diags) : NULL;
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, machine_of(evidence, system), &remembered, evidence->arena,
                                 evidence->diags)
               : NULL;
    if (result) {
        trained.step_s = result->step_s;
        trained.throughput_Hz = (double)(batch * systems[system].devices) / result->step_s;
        trained.exposed_s = result->exposed_s[LL_TRAFFIC_DATA];
    }
    ll_remembered_release(&remembered);
    ll_spread_free(spread);
    return trained;
}

static void tabulate(struct trained all[ROWS][BATCHES][SYSTEMS], struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                       {"mini-batch a GPU", 0},
                                                       {"system", LL_TEXT_COLUMN},
                                                       {"images/s", 1},
                                                       {"times one GPU", 2},
                                                       {"step (ms)", 1},
                                                       {"waiting for gradients (ms)", 1}};
    struct ll_sheet *sheet = ll_sheet_new(
        outcome, NULL, "Training on several Quadro P4000 with equal mini-batches each, simulated.", columns,
        sizeof columns / sizeof *columns);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t s = 0; s < SYSTEMS; s++) {
                const struct trained *t = &all[row][i][s];
                ll_put_text(sheet, ll_tbd[rows[row]].name);
                ll_put_number(sheet, (double)batches[i]);
                ll_put_text(sheet, systems[s].name);
                ll_put_number(sheet, t->throughput_Hz);
                ll_put_number(sheet, t->throughput_Hz / all[row][i][ONE].throughput_Hz);
                ll_put_number(sheet, 1e3 * t->step_s);
                ll_put_number(sheet, 1e3 * t->exposed_s);
            }
}

static void draw(struct trained all[ROWS][BATCHES][SYSTEMS], struct ll_outcome *outcome)
{
    static const char *const groups[BATCHES] = {"8 a GPU", "16 a GPU", "32 a GPU"};
    const char *names[SYSTEMS];
    double values[BATCHES * SYSTEMS];
    struct ll_svg svg = {ll_drawing_new(outcome, NULL, "Throughput on one to four GPUs, by mini-batch.")};
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

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct trained all[ROWS][BATCHES][SYSTEMS];
    char found[32];
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t s = 0; s < SYSTEMS; s++)
                all[row][i][s] = train(evidence, rows[row], batches[i], s);
    tabulate(all, outcome);
    draw(all, outcome);
    for (size_t i = 0; i < BATCHES; i++)
        ll_at_most(outcome, gain(all, 0, i, ETHERNET), 1,
                   "ResNet-50, %" PRIu64 " images a GPU: two machines on Gigabit Ethernet over one GPU alone",
                   batches[i]);
    ll_at_least(outcome, gain(all, 0, BATCHES - 1, FOUR), 3,
                "ResNet-50, 32 images a GPU: four GPUs on PCI Express over one");
    ll_at_least(outcome, gain(all, 0, BATCHES - 1, INFINIBAND), 1.7,
                "ResNet-50, 32 images a GPU: two machines on InfiniBand over one GPU alone");
    for (size_t s = ETHERNET; s < SYSTEMS; s++) {
        ll_snprintf(found, sizeof found, "%.2f", gain(all, 1, BATCHES - 1, s).value);
        ll_inform(outcome, found, s == ETHERNET ? "degrades" : "scales well",
                  "Inception-v3, 32 images a GPU: %s over one GPU", systems[s].name);
    }
    ll_note(outcome,
            "Replicas exchange gradients by a ring in buckets of 25 MiB while the backward pass goes on; "
            "the paper's frameworks went through servers of parameters, which send as much between two.");
}

const struct ll_study ll_study_T9 = {
    .id = "T9",
    .paper = "TBD, figure 9",
    .title = "Training on several GPUs and machines",
    .doc =
        "On Gigabit Ethernet two machines train more slowly than one; on PCI Express and InfiniBand replicas "
        "scale well.",
    .plan = plan,
    .judge = judge,
};
