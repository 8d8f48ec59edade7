/* SPDX-License-Identifier: Apache-2.0 */
/* TBD, figures 7 and 9: a faster card, and several cards and machines. */
#include <inttypes.h>
#include <math.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/plan.h"
#include "sim/replay/communication.h"
#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"

enum { STEPS = 2 }; /* in a recording */

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
    for (size_t card = 0; card < LL_TBD_CARDS; card++) {
        ll_tbd_plan_card(plan, (enum ll_tbd_card)card);
        ll_tbd_plan_assumption(plan, &ll_tbd_assumptions[LL_TBD_OF_SOCKEYE], (enum ll_tbd_card)card);
    }
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
        const enum ll_tbd_framework first = ll_tbd[row].first;
        const struct ll_result *p4000 =
            ll_tbd_replay(runs, row, largest(row), ll_tbd_target(LL_TBD_P4000, first));
        const struct ll_result *titan =
            ll_tbd_replay(runs, row, largest(row), ll_tbd_target(LL_TBD_TITAN, first));
        if (p4000 && titan)
            pairs[count++] = (struct pair){row, ll_metrics_of(p4000), ll_metrics_of(titan)};
    }
    return count;
}

static void tabulate(const struct pair *pairs, size_t count, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN}, {"framework", LL_TEXT_COLUMN}, {"mini-batch", 0},
        {"TITAN Xp / P4000", 2},      {"GPU, P4000 (%)", 1},         {"GPU, TITAN Xp (%)", 1},
        {"FP32, P4000 (%)", 1},       {"FP32, TITAN Xp (%)", 1}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Throughput and utilizations on both cards, simulated.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        ll_table_put_text(table, ll_tbd[pairs[i].row].name);
        ll_table_put_text(table, ll_tbd_framework_name(ll_tbd[pairs[i].row].first));
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
    const char *const cards[] = {ll_tbd_card_name(LL_TBD_P4000), ll_tbd_card_name(LL_TBD_TITAN)};
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
        ll_study_figure_new(result, NULL, "Both cards side by side, at the largest mini-batch.")};
    const struct ll_page page = {
        "Quadro P4000 and TITAN Xp",
        "Groups of two bars for each workload: throughput, GPU and FP32 utilization.",
        3,
        1,
        760,
        260,
        "Simulated: Quadro P4000 (quadro_p4000) and TITAN Xp (titan_xp)"};
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

/* Sockeye gains nothing in the paper: where ops start slowly, both cards wait for them. */
static void judge_sockeye(const struct ll_runs *runs, const struct pair *pair, struct ll_study_result *result)
{
    static const double near = 0.05;
    const struct ll_tbd_assumption *assumption = &ll_tbd_assumptions[LL_TBD_OF_SOCKEYE];
    const enum ll_tbd_framework first = ll_tbd[LL_TBD_SOCKEYE].first;
    const uint64_t batch = largest(LL_TBD_SOCKEYE);
    const struct ll_result *replay =
        ll_tbd_replay(runs, LL_TBD_SOCKEYE, batch, ll_tbd_target(LL_TBD_P4000, first));
    const double slow_Hz = ll_tbd_assumed(runs, assumption, LL_TBD_P4000).throughput_Hz,
                 fast_Hz = ll_tbd_assumed(runs, assumption, LL_TBD_TITAN).throughput_Hz;
    if (!replay)
        return;
    const double ops = (double)(replay->prepared->end_op - replay->prepared->first_op) / STEPS;
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = assumption->needed,
                                               .reached = {fast_Hz / slow_Hz, 2, ""},
                                               .low = 1 - near,
                                               .high = 1 + near};
    ll_criterion_at_most(result, (struct ll_measured_value){speedup(pair), 2, ""}, 1 + near,
                         "Sockeye: throughput on the TITAN Xp over the P4000's (published: not above 1)");
    ll_criterion_explain(result, &explanation,
                         "an op of Sockeye takes %.0f us on the P4000, little more than the %.0f us in which "
                         "it starts; where it starts more slowly both cards wait, and the P4000 trains with "
                         "%.0f samples/s where the paper has %.0f",
                         1e6 * replay->time_s / ops, 1e6 * replay->starting_s / ops, slow_Hz,
                         assumption->published_Hz);
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
    ll_study_note(
        result, "Both cards under the same framework in the same host, at the largest mini-batch of the "
                "sweeps of T4; of several frameworks the one that the paper shows in figure 9, or MXNet. The "
                "faster card waits longer for kernel launches.");
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
enum { ROWS = 2, BATCHES = 3 };
static const enum ll_tbd_row rows[ROWS] = {LL_TBD_RESNET, LL_TBD_INCEPTION}; /* on MXNet, on TensorFlow */
static const struct {
    const char *name, *targets[ROWS], *machines[ROWS]; /* by row */
    uint64_t devices;
} systems[SYSTEMS] = {
    [ONE] = {"1 machine, 1 GPU",
             {"one, MXNet", "one, TensorFlow"},
             {"quadro_p4000+archive/deepbench+mxnet_2018", "quadro_p4000+archive/deepbench+tensorflow_2018"},
             1},
    [ETHERNET] = {"2 machines, Ethernet",
                  {"Ethernet, MXNet", "Ethernet, TensorFlow"},
                  {"archive/tbd_ethernet+archive/deepbench+mxnet_2018",
                   "archive/tbd_ethernet+archive/deepbench+tensorflow_2018"},
                  2},
    [INFINIBAND] = {"2 machines, InfiniBand",
                    {"InfiniBand, MXNet", "InfiniBand, TensorFlow"},
                    {"archive/tbd_infiniband+archive/deepbench+mxnet_2018",
                     "archive/tbd_infiniband+archive/deepbench+tensorflow_2018"},
                    2},
    [TWO] = {"1 machine, 2 GPUs",
             {"box, MXNet", "box, TensorFlow"},
             {"archive/tbd_box+archive/deepbench+mxnet_2018",
              "archive/tbd_box+archive/deepbench+tensorflow_2018"},
             2},
    [FOUR] = {"1 machine, 4 GPUs",
              {"box, MXNet", "box, TensorFlow"},
              {"archive/tbd_box+archive/deepbench+mxnet_2018",
               "archive/tbd_box+archive/deepbench+tensorflow_2018"},
              4},
};

static const uint64_t batches[BATCHES] = {8, 16, 32};

static void plan_machines(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < BATCHES; i++)
            ll_tbd_plan_batch(plan, rows[row], batches[i]);
    for (size_t s = 0; s < FOUR; s++)
        for (size_t row = 0; row < ROWS; row++)
            ll_study_plan_machine(plan, &(struct ll_study_machine){.name = systems[s].targets[row],
                                                                   .machine = systems[s].machines[row]});
}

static const struct ll_machine *machine_of(const struct ll_runs *runs, size_t system, size_t row)
{
    const size_t target = system < FOUR ? system : TWO;
    return runs->machines[target * ROWS + row];
}

/* What a system does with a workload; throughput NaN when it could not be simulated. */
struct trained {
    double throughput_Hz, step_s, exposed_s;
};

static struct trained train(const struct ll_runs *runs, size_t row, uint64_t batch, size_t system)
{
    struct trained trained = {NAN, NAN, NAN};
    const struct ll_trace *trace = ll_tbd_trace(runs, rows[row], batch);
    struct ll_parallel how = ll_plan_of_one();
    struct ll_remembered remembered = {0};
    how.data = systems[system].devices;
    struct ll_spread *spread =
        trace ? ll_spread_trace(trace, &how, systems[system].devices, runs->diags) : NULL;
    const struct ll_parallel_result *replay =
        spread ? ll_parallel_run(spread, machine_of(runs, system, row), &remembered, runs->arena, runs->diags)
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
                                 300,
                                 "Simulated: Quadro P4000s (quadro_p4000) in one machine or two"};
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
                all[row][i][s] = train(runs, row, batches[i], s);
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
