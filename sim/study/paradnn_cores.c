/* SPDX-License-Identifier: Apache-2.0 */
/* One core of a TPU against eight that share the same batch: what of a step does not become shorter.
 *
 * Eight cores have gradients to exchange; each updates all of the weights; and an eighth of the batch fills
 * the array less than all of it does. (The paper finds small batches to be faster on one core than on eight,
 * so both have the same.) By Amdahl's law a share f of the work that is not divided leaves u8 / u1 = 1 / (1 +
 * 7 f) of the utilization, so
 *
 *     f = (u1 / u8 - 1) / 7
 *
 * which is a share as long as eight cores are no slower than one; where they are slower that is said instead.
 * Times are the device's: the host feeds both alike. Only what fits into one core's memory can be compared;
 * of fully connected networks the paper takes batches above 1024. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/study/paradnn.h"
#include "sim/study/study.h"
#include "tracer/base/str.h"

enum { CORES = 8, FAMILIES = 2 };

static const double NEAR = 0.02; /* on the diagonal */

static const enum ll_paradnn_family families[FAMILIES] = {LL_PARADNN_FC, LL_PARADNN_BOTTLENECK};

static void plan(struct ll_study_plan *plan)
{
    for (int i = 0; i < FAMILIES; i++)
        ll_paradnn_plan(plan, families[i]);
    ll_study_plan_machine(
        plan, &(struct ll_study_machine){.name = "TPU v2 core", .machine = "tpu_v2_core+archive/paradnn"});
}

/* What an exchange between all cores takes however little it brings; NaN when memory ran out. */
static double least_exchange_s(const struct ll_machine *core)
{
    struct ll_prices prices = {0};
    struct ll_exchanges *exchanges = ll_exchanges_new(core, CORES, &prices);
    const struct ll_asked asked = {.kind = LL_OP_ALL_REDUCE, .bytes = 4, .devices = CORES, .stride = 1};
    const struct ll_price *price = exchanges ? ll_exchanges_price(exchanges, &asked) : NULL;
    const double time_s = price && !price->trouble ? price->exchanged.time_s : NAN;
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    return time_s;
}

static double amdahl(double u1, double u8)
{
    return (u1 / u8 - 1) / (CORES - 1);
}

static double utilization(const struct ll_experiment_point *at)
{
    return at->flops / (at->peak_flops * at->device_s);
}

/* A family on one core and on eight, in percent. */
struct scaled {
    const struct ll_experiment_result *experiment;
    double *one, *eight, *serial; /* of points compared; NaN of others */
    double most;                  /* share, of those that eight cores do not slow down */
    double at_largest_90, most_one, most_eight;
    uint64_t compared, slower; /* slower: on eight cores than on one */
};

static size_t nodes_axis(const struct ll_experiment_result *experiment)
{
    return ll_family_axis(experiment->experiment.family, "nodes");
}

static bool is_narrow(const struct ll_experiment_result *experiment, uint64_t i)
{
    return ll_experiment_value(experiment, i, nodes_axis(experiment)) < 256;
}

/* Whether the paper would have it, of whatever width. */
static bool is_known(const struct ll_experiment_result *experiment, enum ll_paradnn_family family, uint64_t i,
                     size_t batch)
{
    const struct ll_experiment_point *one = ll_experiment_at(experiment, i, LL_PARADNN_TPU2_CORE);
    const struct ll_experiment_point *eight = ll_experiment_at(experiment, i, LL_PARADNN_TPU2);
    bool large = family != LL_PARADNN_FC || ll_experiment_value(experiment, i, batch) > 1024;
    return large && one->simulated && eight->simulated && one->fits && eight->fits;
}

static bool is_compared(const struct ll_experiment_result *experiment, enum ll_paradnn_family family,
                        uint64_t i, size_t batch)
{
    return is_known(experiment, family, i, batch) && !(family == LL_PARADNN_FC && is_narrow(experiment, i));
}

/* The time on eight cores over that on one. */
static double slowdown(const struct ll_experiment_result *experiment, uint64_t i)
{
    return ll_experiment_at(experiment, i, LL_PARADNN_TPU2)->device_s /
           ll_experiment_at(experiment, i, LL_PARADNN_TPU2_CORE)->device_s;
}

/* Of the points compared. */
static uint64_t largest_batch(const struct ll_experiment_result *experiment, enum ll_paradnn_family family,
                              size_t batch)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < experiment->count; i++)
        if (is_compared(experiment, family, i, batch) && ll_experiment_value(experiment, i, batch) > most)
            most = ll_experiment_value(experiment, i, batch);
    return most;
}

static bool scale(const struct ll_runs *runs, enum ll_paradnn_family family, struct scaled *scaled)
{
    const struct ll_experiment_result *experiment = scaled->experiment = ll_paradnn_experiment(runs, family);
    struct ll_arena *arena = runs->arena;
    if (!experiment)
        return false;
    scaled->one = ll_alloc(arena, experiment->count, sizeof *scaled->one);
    scaled->eight = ll_alloc(arena, experiment->count, sizeof *scaled->eight);
    scaled->serial = ll_alloc(arena, experiment->count, sizeof *scaled->serial);
    double *largest = ll_alloc(arena, experiment->count, sizeof *largest);
    size_t batch = ll_family_axis(experiment->experiment.family, "batch"), count = 0;
    if (!scaled->one || !scaled->eight || !scaled->serial || !largest)
        return false;
    uint64_t most_batch = largest_batch(experiment, family, batch);
    for (uint64_t i = 0; i < experiment->count; i++) {
        scaled->one[i] = scaled->eight[i] = scaled->serial[i] = NAN;
        if (!is_compared(experiment, family, i, batch))
            continue;
        scaled->one[i] = 100 * utilization(ll_experiment_at(experiment, i, LL_PARADNN_TPU2_CORE));
        scaled->eight[i] = 100 * utilization(ll_experiment_at(experiment, i, LL_PARADNN_TPU2));
        scaled->serial[i] = 100 * amdahl(scaled->one[i], scaled->eight[i]);
        bool slower = slowdown(experiment, i) > 1;
        scaled->compared++;
        scaled->slower += slower;
        if (!slower)
            scaled->most = fmax(scaled->most, scaled->serial[i]);
        scaled->most_one = fmax(scaled->most_one, scaled->one[i]);
        scaled->most_eight = fmax(scaled->most_eight, scaled->eight[i]);
        if (ll_experiment_value(experiment, i, batch) == most_batch)
            largest[count++] = scaled->serial[i];
    }
    scaled->at_largest_90 = ll_quantile(largest, count, 0.9, arena);
    return true;
}

/* The share of points that eight cores use no better than one, or as well as can be told. */
static double below_diagonal(const struct scaled *scaled)
{
    uint64_t below = 0, compared = 0;
    for (uint64_t i = 0; i < scaled->experiment->count; i++) {
        compared += !isnan(scaled->one[i]);
        below += scaled->eight[i] <= scaled->one[i] * (1 + NEAR);
    }
    return compared ? (double)below / (double)compared : NAN;
}

/* The share of points of which the same network with the next larger batch has no larger share; batches are
 * the axis that changes fastest. */
static double falling(const struct scaled *scaled)
{
    size_t batch = ll_family_axis(scaled->experiment->experiment.family, "batch");
    uint64_t pairs = 0, down = 0;
    for (uint64_t i = 0; i + 1 < scaled->experiment->count; i++) {
        bool rises = ll_experiment_value(scaled->experiment, i + 1, batch) >
                     ll_experiment_value(scaled->experiment, i, batch);
        if (rises && !isnan(scaled->serial[i]) && !isnan(scaled->serial[i + 1])) {
            pairs++;
            down += scaled->serial[i + 1] <= scaled->serial[i];
        }
    }
    return pairs ? (double)down / (double)pairs : NAN;
}

/* The share of wide networks with small batches that are faster on one core. */
static double faster_alone(const struct ll_experiment_result *experiment)
{
    size_t batch = ll_family_axis(experiment->experiment.family, "batch"), nodes = nodes_axis(experiment);
    uint64_t small = 0, faster = 0;
    for (uint64_t i = 0; i < experiment->count; i++) {
        const struct ll_experiment_point *one = ll_experiment_at(experiment, i, LL_PARADNN_TPU2_CORE);
        if (!one->simulated || !one->fits || ll_experiment_value(experiment, i, batch) > 512 ||
            ll_experiment_value(experiment, i, nodes) < 256)
            continue;
        small++;
        faster += one->device_s < ll_experiment_at(experiment, i, LL_PARADNN_TPU2)->device_s;
    }
    return small ? (double)faster / (double)small : NAN;
}

/* Fully connected networks whose cores exchange all gradients at once, where each weight and each bias is
 * exchanged by itself in the simulation: the largest share that is not parallel, in percent, and how many
 * points are slower on eight cores. */
struct combined {
    double least_s; /* time of the smallest exchange */
    double most;
    uint64_t slower;
};

static struct combined combine(const struct scaled *scaled, const struct ll_machine *core)
{
    struct combined combined = {.least_s = least_exchange_s(core)};
    const size_t layers = ll_family_axis(scaled->experiment->experiment.family, "layers");
    for (uint64_t i = 0; i < scaled->experiment->count; i++) {
        if (isnan(scaled->serial[i]))
            continue;
        const double gradients = 2 * ((double)ll_experiment_value(scaled->experiment, i, layers) + 1);
        const double one_s = ll_experiment_at(scaled->experiment, i, LL_PARADNN_TPU2_CORE)->device_s;
        const double eight_s = ll_experiment_at(scaled->experiment, i, LL_PARADNN_TPU2)->device_s -
                               (gradients - 1) * combined.least_s;
        combined.slower += eight_s > one_s;
        if (!(eight_s > one_s))
            combined.most = fmax(combined.most, 100 * amdahl(CORES * eight_s, one_s));
    }
    return combined;
}

/* Explains the last criterion by exchanges of single gradients. */
static void explain_exchanges(const struct combined *combined, struct ll_measured_value reached, double low,
                              double high, struct ll_study_result *result)
{
    const struct ll_explanation explanation = {.cause = LL_ASSUMPTION,
                                               .needed = "one exchange of all gradients",
                                               .reached = reached,
                                               .low = low,
                                               .high = high};
    ll_criterion_explain(
        result, &explanation,
        "an exchange of eight cores takes %.1f us however little it brings, and each weight "
        "and each bias is exchanged by itself: 64 layers have 130 such gradients, %.2f ms a step",
        1e6 * combined->least_s, 130e3 * combined->least_s);
}

/* `combined` is NULL where exchanges explain nothing. */
static void judge_family(const struct scaled *scaled, const struct combined *combined, double low,
                         double high, const char *published, struct ll_study_result *result)
{
    const char *doc = scaled->experiment->experiment.family->doc;
    ll_criterion_at_least(result, (struct ll_measured_value){100 * below_diagonal(scaled), 1, " %"}, 100,
                          "%s: points that eight cores use no better than one", doc);
    ll_criterion_at_least(result, (struct ll_measured_value){100 * falling(scaled), 1, " %"}, 95,
                          "%s: pairs of batches of which the larger has no larger share that is not parallel",
                          doc);
    ll_criterion_between(result, (struct ll_measured_value){scaled->most, 1, " %"}, low, high,
                         "%s: the largest share of a step that is not parallel (published: %s)", doc,
                         published);
    if (combined)
        explain_exchanges(combined, (struct ll_measured_value){combined->most, 1, " %"}, low, high, result);
    ll_criterion_at_most(result, (struct ll_measured_value){(double)scaled->slower, 0, ""}, 0,
                         "%s: points of %" PRIu64
                         " at which eight cores are slower than one and there is no such share",
                         doc, scaled->compared);
    if (combined)
        explain_exchanges(combined, (struct ll_measured_value){(double)combined->slower, 0, " such points"},
                          0, 0, result);
}

/* What is left out of fully connected networks, and why. */
static void note_narrow(const struct ll_experiment_result *fc, struct ll_study_result *result)
{
    size_t batch = ll_family_axis(fc->experiment.family, "batch");
    uint64_t narrow = 0, slower = 0;
    double most = 0;
    for (uint64_t i = 0; i < fc->count; i++)
        if (is_narrow(fc, i) && is_known(fc, LL_PARADNN_FC, i, batch)) {
            narrow++;
            slower += slowdown(fc, i) > 1;
            most = fmax(most, slowdown(fc, i));
        }
    ll_study_note(
        result,
        "Compared are fully connected networks of 256 nodes or more: of %" PRIu64 " narrower ones %" PRIu64
        " are slower on eight cores than on one, the worst taking %.1f times as long, as each of their "
        "many small gradients costs an exchange of 20 us, a figure fitted on steps of eight cores. Points "
        "within 2 %% of the diagonal count as on it.",
        narrow, slower, most);
}

static void tabulate(const struct scaled *scaled, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                     {"most of one core's peak (%)", 1},
                                                     {"of eight cores' (%)", 1},
                                                     {"largest share not parallel, where faster (%)", 1},
                                                     {"90th percentile of it at the largest batch (%)", 1}};
    struct ll_study_table *table = ll_study_table_new(result, NULL, "One core and eight.", columns, 5);
    for (int i = 0; i < FAMILIES; i++) {
        ll_table_put_text(table, scaled[i].experiment->experiment.family->doc);
        ll_table_put_number(table, scaled[i].most_one);
        ll_table_put_number(table, scaled[i].most_eight);
        ll_table_put_number(table, scaled[i].most);
        ll_table_put_number(table, scaled[i].at_largest_90);
    }
}

static void draw(const struct scaled *scaled, struct ll_study_result *result)
{
    struct ll_curve curves[FAMILIES];
    const struct ll_page page = {"Utilization of eight cores over that of one",
                                 "Points of two families, all below the diagonal.",
                                 1,
                                 1,
                                 560,
                                 420,
                                 "Simulated: one core and eight cores of a TPU v2 (tpu_v2_core)"};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL,
                            "Each point a network: percent of eight cores' peak over percent of "
                            "one's; both are equal on the line.")};
    for (int i = 0; i < FAMILIES; i++)
        curves[i] = (struct ll_curve){scaled[i].experiment->experiment.family->doc, scaled[i].one,
                                      scaled[i].eight, scaled[i].experiment->count};
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "one core (% of its peak)",
                                     .y_label = "eight cores (% of their peak)",
                                     .curves = curves,
                                     .curve_count = FAMILIES,
                                     .x_high = 100,
                                     .y_high = 100,
                                     .diagonal = true});
    ll_svg_close(&svg);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct scaled scaled[FAMILIES] = {{0}};
    ll_criterion_between(result, (struct ll_measured_value){100 * amdahl(100, 62), 1, " %"}, 8.7, 8.8,
                         "the formula: of 100 %% on one core and 62 %% on eight follows a share of");
    if (!scale(runs, families[0], &scaled[0]) || !scale(runs, families[1], &scaled[1]))
        return;
    tabulate(scaled, result);
    const struct combined combined = combine(&scaled[0], runs->machines[0]);
    judge_family(&scaled[0], &combined, 40, 80, "60 %", result);
    judge_family(&scaled[1], NULL, 20, 60, "40 %", result);
    ll_criterion_at_least(result, (struct ll_measured_value){scaled[0].most - scaled[1].most, 1, " %"}, 0,
                          "how much larger that of fully connected networks is");
    ll_criterion_at_least(
        result, (struct ll_measured_value){100 * faster_alone(scaled[0].experiment), 1, " %"}, 95,
        "fully connected: networks of 256 nodes or more, with batches of 512 or fewer, faster on one core "
        "(published: all)");
    note_narrow(scaled[0].experiment, result);
    draw(scaled, result);
}

const struct ll_study ll_study_P4 = {
    .id = "P4",
    .paper = "ParaDnn, figure 4",
    .title = "One core of a TPU and eight",
    .doc = "Eight cores use their peak no better than one uses its own, for they exchange gradients: the "
           "share of a step "
           "that is not parallel falls with the batch.",
    .plan = plan,
    .judge = judge,
};

/* How much of a step a TPU waits for its input, by how much there is to compute for an image. */

/* What the host is taken to decode: an eighth of 0.8 GB of pixels in bf16 a second, 2,650 images of 224 x
 * 224. */
#define DECODED "100MB/s"

static const struct ll_platform infeed_of[] = {{"TPU v2 fed with images",
                                                "tpu_v2_core+archive/paradnn",
                                                {{"host.prepare_bandwidth", DECODED}},
                                                "bf16",
                                                8,
                                                1}};

/* Networks as ResNet is one, of other depths and widths, and the real ones of the paper. */
#define LL_IMAGES                                                                                            \
    .model = "paradnn_cnn", .axes = {{"blocks", {1, 2, 3, 4, 5, 6, 7, 8}},                                   \
                                     {"filters", {16, 32, 64}},                                              \
                                     {"image", {224}},                                                       \
                                     {"output", {1000}},                                                     \
                                     {"batch", {1024}}}
#define LL_REAL(word, model_name, samples)                                                                   \
    {                                                                                                        \
        .name = word, .doc = word, .model = model_name, .axes = { {"batch", {samples}} }                     \
    }
enum { BOTTLENECKS, RESIDUALS, RESNET, RETINANET, SQUEEZENET, MOBILENET, DENSENET, INFEED_FAMILIES };
static const struct ll_family infeed_families[INFEED_FAMILIES] = {
    {.name = "bottlenecks", .doc = "bottlenecks", .fixed = {{"block", "bottleneck"}}, LL_IMAGES},
    {.name = "residuals", .doc = "residual blocks", .fixed = {{"block", "residual"}}, LL_IMAGES},
    LL_REAL("ResNet-50", "resnet_v1", 1024),
    LL_REAL("RetinaNet", "retinanet", 64),
    LL_REAL("SqueezeNet", "squeezenet", 1024),
    LL_REAL("MobileNet", "mobilenet", 1024),
    LL_REAL("DenseNet", "densenet", 1024),
};
enum { MOST_POINTS = 2 * 24 + INFEED_FAMILIES };

static void plan_infeed(struct ll_study_plan *plan)
{
    for (int f = 0; f < INFEED_FAMILIES; f++)
        ll_study_plan_experiment(plan, &(struct ll_experiment){&infeed_families[f], infeed_of, 1});
}

struct points {
    double work[MOST_POINTS], share[MOST_POINTS], utilization[MOST_POINTS]; /* GFLOP an image; percent */
    size_t count;
};

static double share_of(const struct ll_experiment_point *at)
{
    return 1 - at->device_s / at->step_s;
}

/* What input that is there already gains. */
static double gain_of(double share)
{
    return 1 / (1 - share) - 1;
}

static void collect(const struct ll_runs *runs, struct points *points, double gains[INFEED_FAMILIES],
                    struct ll_study_table *table)
{
    for (int f = 0; f < INFEED_FAMILIES; f++) {
        const struct ll_experiment_result *experiment = ll_runs_experiment(runs, infeed_families[f].name);
        gains[f] = NAN;
        for (uint64_t i = 0; experiment && i < experiment->count; i++) {
            const struct ll_experiment_point *at = ll_experiment_at(experiment, i, 0);
            size_t n = points->count++;
            points->work[n] = at->flops / at->samples * 1e-9;
            points->share[n] = 100 * share_of(at);
            points->utilization[n] = 100 * ll_experiment_utilization(at);
            gains[f] = gain_of(share_of(at));
            ll_table_put_text(table, infeed_families[f].doc);
            ll_table_put_number(table, points->work[n]);
            ll_table_put_number(table, points->share[n]);
            ll_table_put_number(table, points->utilization[n]);
            ll_table_put_number(table, 100 * gains[f]);
        }
    }
}

static void judge_identity(struct ll_study_result *result)
{
    static const struct {
        const char *name;
        double share, published;
    } of[] = {{"RetinaNet", 27, 37}, {"ResNet", 25.4, 34}, {"SqueezeNet", 64.3, 180}};
    for (size_t i = 0; i < 3; i++)
        ll_criterion_between(result, (struct ll_measured_value){100 * gain_of(of[i].share / 100), 1, " %"},
                             of[i].published - 0.5, of[i].published + 0.5,
                             "%s: what a share of %.1f %% says that input that is there gains", of[i].name,
                             of[i].share);
}

static void draw_infeed(const struct points *points, struct ll_study_result *result)
{
    const struct ll_page page = {"Waiting for input",
                                 "Infeed share over work, and over utilization.",
                                 2,
                                 2,
                                 520,
                                 380,
                                 "Simulated: TPU v2 of eight cores (tpu_v2_core), input from its host"};
    const struct ll_curve work = {NULL, points->work, points->share, points->count};
    const struct ll_curve use = {NULL, points->share, points->utilization, points->count};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL,
                            "Left, the share of a step that waits for input by what there is to compute for "
                            "an image; right, what of the peak is used by that share.")};
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "GFLOP an image",
                                     .y_label = "infeed (% of a step)",
                                     .curves = &work,
                                     .curve_count = 1,
                                     .x_log = true,
                                     .y_high = 100});
    ll_draw_lines(&svg, ll_page_panel(&page, 1),
                  &(struct ll_lines){.x_label = "infeed (% of a step)",
                                     .y_label = "FLOPs (% of peak)",
                                     .curves = &use,
                                     .curve_count = 1,
                                     .x_high = 100});
    ll_svg_close(&svg);
}

/* What each real network gains, against the paper, as the ratio of both steps; and the rate at which the host
 * would have to prepare images for the published gain. */
static void judge_gains(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct {
        int family;
        double published;
    } of[] = {{SQUEEZENET, 180}, {RETINANET, 37}, {RESNET, 34}};
    static const double tolerance = 0.25, rounding = 0.5;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct ll_family *family = &infeed_families[of[i].family];
        const struct ll_experiment_result *experiment = ll_runs_experiment(runs, family->name);
        if (!experiment)
            continue;
        const struct ll_experiment_point *at = ll_experiment_at(experiment, 0, 0);
        const double times = at->step_s / at->device_s, published = 1 + of[i].published / 100;
        const double images = at->samples / at->host_s,
                     rate = round(at->samples / (published * at->device_s));
        char needed[96];
        ll_snprintf(needed, sizeof needed, "a host that prepares %.0f such images a second", rate);
        const struct ll_explanation explanation = {
            .cause = LL_ASSUMPTION,
            .needed = needed,
            .reached = {100 * (fmax(1, at->samples / rate / at->device_s) - 1), 1, " % gained"},
            .low = of[i].published - rounding,
            .high = of[i].published + rounding};
        ll_criterion_between(result, (struct ll_measured_value){100 * (times - 1), 0, " %"},
                             100 * (published * (1 - tolerance) - 1), 100 * (published * (1 + tolerance) - 1),
                             "%s: what it gains without preparation (published: %.0f %%)", family->doc,
                             of[i].published);
        ll_criterion_explain(result, &explanation,
                             "the device alone takes %.0f images a second, the host here prepares %.0f, and "
                             "the gain is their ratio less one; what the host of the paper prepares of each "
                             "network's images is not printed",
                             at->samples / at->device_s, images);
    }
}

static void judge_infeed(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"network", LL_TEXT_COLUMN},
                                                     {"GFLOP an image", 2},
                                                     {"infeed (%)", 1},
                                                     {"FLOPs (% of peak)", 1},
                                                     {"gain without (%)", 1}};
    struct points points = {.count = 0};
    double gains[INFEED_FAMILIES];
    char text[96];
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Training on a TPU v2 fed with images.", columns, 5);
    collect(runs, &points, gains, table);
    judge_identity(result);
    if (points.count == 0)
        return;
    ll_criterion_at_most(
        result,
        (struct ll_measured_value){ll_spearman(points.work, points.share, points.count, runs->arena), 2, ""},
        -0.7, "rank correlation of the infeed share with FLOPs an image (Spearman)");
    ll_snprintf(text, sizeof text, "%.0f, %.0f, %.0f %%", 100 * gains[SQUEEZENET], 100 * gains[RETINANET],
                100 * gains[RESNET]);
    ll_criterion_holds(result, gains[SQUEEZENET] > gains[RETINANET] && gains[SQUEEZENET] > gains[RESNET],
                       text, "the first is the most",
                       "what SqueezeNet, RetinaNet and ResNet-50 gain without preparation");
    judge_gains(runs, result);
    ll_study_note(result, "What the host decodes is an input of the study, not a prediction: " DECODED
                          " a core, 2,650 images of 224 x 224 a second for the board.");
    draw_infeed(&points, result);
}

const struct ll_study ll_study_P5 = {
    .id = "P5",
    .paper = "ParaDnn, figure 5",
    .title = "Waiting for input",
    .doc = "The less there is to compute for an image, the more of a step a TPU waits for the host to "
           "prepare it; without "
           "preparing SqueezeNet would be 2.8 times as fast.",
    .plan = plan_infeed,
    .judge = judge_infeed,
};

/* Examples a second of fully connected networks, and what finds no room: simulated against measured. */

enum { FIGURE_DEPTH = 64 };

static void plan_throughput(struct ll_study_plan *plan)
{
    ll_study_plan_experiment(
        plan, &(struct ll_experiment){&ll_paradnn_tried, ll_paradnn_platforms, LL_PARADNN_V100 + 1});
    ll_paradnn_plan(plan, LL_PARADNN_FC);
}

static double parameters(const double v[LL_MOST_FAMILY_AXES])
{
    return v[2] * v[1] + v[1] + (v[0] - 1) * (v[1] * v[1] + v[1]) + v[1] * v[3] + v[3];
}

/* Whether point i of this family ran; else memory ran out. The outcomes are known as a rule that says all of
 * them right: 12 bytes for each parameter and 4 for each number of a layer's and a sample of an eighth of the
 * batch, in 8 GiB. It stands for the list, and nothing is simulated with it. */
static bool paradnn_ran(const struct ll_experiment_result *experiment, uint64_t i)
{
    double v[LL_MOST_FAMILY_AXES], widths, samples, bytes;
    for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
        v[axis] = (double)ll_experiment_value(experiment, i, axis);
    widths = v[0] * v[1] + v[3];
    samples = v[4] / 8;
    assert(widths >= 0 && samples > 0);
    bytes = 12 * parameters(v) + 4 * samples * widths;
    return bytes <= 8 * 1024.0 * 1024 * 1024;
}

static double paradnn_rate(const struct ll_experiment_result *experiment, uint64_t i, size_t platform)
{
    assert(i < experiment->count && platform < experiment->experiment.platform_count);
    return ll_experiment_rate(ll_experiment_at(experiment, i, platform));
}

/* How the runs that were tried went, and how they go here. */
static void judge_memory(const struct ll_experiment_result *tried, struct ll_study_result *result)
{
    uint64_t ran = 0, ran_right = 0, failed_right = 0;
    char measured[64], wanted[64];
    for (uint64_t i = 0; i < tried->count; i++) {
        bool there = paradnn_ran(tried, i), here = ll_experiment_at(tried, i, LL_PARADNN_TPU2)->fits;
        ran += there;
        ran_right += there && here;
        failed_right += !there && !here;
    }
    snprintf(measured, sizeof measured, "%" PRIu64 " fit, %" PRIu64 " do not", ran_right, failed_right);
    snprintf(wanted, sizeof wanted, "%" PRIu64 " and %" PRIu64, ran, tried->count - ran);
    ll_criterion_holds(
        result, ran_right == ran && failed_right == tried->count - ran, measured, wanted,
        "what ran and what ran out of memory on a TPU v2, from the lives of tensors and 8 GiB a core");
}

/* The times of rows of a platform, theirs and ours, and how far ours are off. */
struct compared {
    double *measured_s, *simulated_s, *errors;
    bool *fed; /* the host was faster than the device */
    size_t count;
};

static bool compare(const struct ll_runs *runs, const struct ll_experiment_result *tried,
                    enum ll_paradnn_platform platform, struct compared *c)
{
    size_t count;
    const struct ll_paradnn_measured *rows = ll_paradnn_rows(runs, platform, &count);
    c->measured_s = ll_alloc(runs->arena, count, sizeof *c->measured_s);
    c->simulated_s = ll_alloc(runs->arena, count, sizeof *c->simulated_s);
    c->errors = ll_alloc(runs->arena, count, sizeof *c->errors);
    c->fed = ll_alloc(runs->arena, count, sizeof *c->fed);
    if (!c->measured_s || !c->simulated_s || !c->errors || !c->fed)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct ll_experiment_point *at = ll_paradnn_simulated(tried, platform, &rows[i]);
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
                        const struct limits *limits, struct ll_arena *arena, struct ll_study_result *result)
{
    double ranks = ll_spearman(c->measured_s, c->simulated_s, c->count, arena);
    ll_criterion_at_least(result, (struct ll_measured_value){ranks, 4, ""}, limits->ranks,
                          "%s, %zu rows%s: rank correlation of simulated and measured steps (Spearman)", name,
                          c->count, fitted);
    ll_criterion_at_most(
        result, (struct ll_measured_value){100 * ll_quantile(c->errors, c->count, 0.5, arena), 1, " %"},
        limits->median, "%s: median error of a step on these rows", name);
    ll_criterion_at_most(
        result, (struct ll_measured_value){100 * ll_quantile(c->errors, c->count, 0.9, arena), 1, " %"},
        limits->nine, "%s: error that nine in ten steps on these rows have at most", name);
    double *errors = ll_alloc(arena, c->count, sizeof *errors);
    for (int fed = 0; errors && fed < 2; fed++) {
        char text[96];
        size_t count = errors_of(c, fed, errors);
        ll_snprintf(text, sizeof text, "%zu steps: median %.1f %%, nine in ten %.1f %%", count,
                    100 * ll_quantile(errors, count, 0.5, arena),
                    100 * ll_quantile(errors, count, 0.9, arena));
        ll_criterion_info(result, "all rows together are judged above", text, "", "%s: steps that %s", name,
                          fed ? "are the device's" : "wait for the host");
    }
}

static void judge_signs(const struct ll_runs *runs, struct ll_study_table *table,
                        struct ll_study_result *result)
{
    static const enum ll_paradnn_platform platforms[] = {LL_PARADNN_TPU2, LL_PARADNN_V100};
    const struct ll_experiment_result *fc = ll_paradnn_experiment(runs, LL_PARADNN_FC);
    size_t count;
    const struct ll_paradnn_measured *rows = ll_paradnn_rows(runs, LL_PARADNN_TPU2, &count);
    double *rates = ll_alloc(runs->arena, count, sizeof *rates);
    for (size_t i = 0; rates && i < count; i++)
        rates[i] = (double)rows[i].batch / rows[i].time_s;
    struct ll_paradnn_weights measured = ll_paradnn_weigh_measured(rows, count, rates, runs->arena);
    ll_paradnn_put_weights(table, "TPU v2, measured", &ll_paradnn_families[LL_PARADNN_FC], &measured);
    for (size_t p = 0; fc && p < 2; p++) {
        const char *name = ll_paradnn_platforms[platforms[p]].name;
        double *column = ll_paradnn_column(fc, platforms[p], paradnn_rate, runs->arena);
        struct ll_paradnn_weights weights = ll_paradnn_weigh(fc, column, runs->arena);
        char text[96];
        ll_paradnn_put_weights(table, name, fc->experiment.family, &weights);
        ll_snprintf(text, sizeof text, "layers %+.2f, nodes %+.2f, batch %+.2f", weights.of[0], weights.of[1],
                    weights.of[4]);
        ll_criterion_holds(result, weights.of[0] < 0 && weights.of[1] < 0 && weights.of[4] > 0, text,
                           "-, -, +", "%s: weights in examples a second", name);
    }
}

/* Mean rate of what fits at the figure's depth; nothing where no point does. */
static double *rates_at(const struct ll_experiment_result *fc, size_t platform, struct ll_arena *arena)
{
    double *rates = ll_paradnn_column(fc, platform, paradnn_rate, arena);
    for (uint64_t i = 0; rates && i < fc->count; i++) {
        bool shown = ll_experiment_value(fc, i, 0) == FIGURE_DEPTH && ll_experiment_at(fc, i, platform)->fits;
        rates[i] = shown ? rates[i] * 1e-3 : NAN;
    }
    return rates;
}

static uint64_t count_fits(const struct ll_experiment_result *fc, size_t platform)
{
    uint64_t fits = 0;
    for (uint64_t i = 0; i < fc->count; i++)
        fits += ll_experiment_at(fc, i, platform)->fits;
    return fits;
}

static void judge_room(const struct ll_experiment_result *fc, struct ll_study_result *result)
{
    uint64_t tpu = count_fits(fc, LL_PARADNN_TPU2), gpu = count_fits(fc, LL_PARADNN_V100),
             cpu = count_fits(fc, LL_PARADNN_CPU);
    char text[96];
    snprintf(text, sizeof text, "%" PRIu64 ", %" PRIu64 ", %" PRIu64 " of %" PRIu64, tpu, gpu, cpu,
             fc->count);
    ll_criterion_holds(result, tpu < gpu && gpu < cpu, text, "rising",
                       "points that fit into TPU v2, V100 and Skylake");
    ll_criterion_holds(result, cpu == fc->count, cpu == fc->count ? "all" : "not all", "all",
                       "what fits into Skylake's memory");
}

static void draw_throughput(const struct ll_experiment_result *fc, const struct compared *c,
                            struct ll_arena *arena, struct ll_study_result *result)
{
    static const enum ll_paradnn_platform platforms[] = {LL_PARADNN_TPU2, LL_PARADNN_V100, LL_PARADNN_CPU};
    const struct ll_page page = {
        "Examples a second, 64 layers deep",
        "Heat maps of three platforms, grey where memory does not do; simulated over "
        "measured times of a TPU v2.",
        4,
        2,
        560,
        400,
        "Simulated: TPU v2 of eight cores (tpu_v2_core), V100 (v100_sxm_16gb), Skylake (n1_standard_32); one "
        "scale of shades"};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL,
                            "Thousands of examples a second by nodes and batch at 64 layers, grey where "
                            "memory does not do, and simulated over measured steps.")};
    const struct ll_curve series = {NULL, c->measured_s, c->simulated_s, c->count};
    size_t nodes = ll_family_axis(fc->experiment.family, "nodes"),
           batch = ll_family_axis(fc->experiment.family, "batch");
    const size_t size = ll_family_axis_values(&fc->experiment.family->axes[nodes]) *
                        ll_family_axis_values(&fc->experiment.family->axes[batch]);
    ll_page_open(&svg, &page);
    double full = 0, *cells[3]; /* one scale for all platforms, so that they can be compared */
    for (size_t p = 0; p < 3; p++) {
        cells[p] = ll_paradnn_cells(fc, rates_at(fc, platforms[p], arena), nodes, batch, arena);
        for (size_t i = 0; cells[p] && i < size; i++)
            full = fmax(full, isfinite(cells[p][i]) ? cells[p][i] : 0);
    }
    for (size_t p = 0; p < 3; p++)
        ll_paradnn_draw_cells(&svg, ll_page_panel(&page, p),
                              &(struct ll_paradnn_heat){.title = ll_paradnn_platforms[platforms[p]].name,
                                                        .unit = "thousands a second",
                                                        .grey = "out of memory",
                                                        .family = fc->experiment.family,
                                                        .row_axis = nodes,
                                                        .column_axis = batch,
                                                        .cells = cells[p],
                                                        .full = full});
    ll_draw_scatter(&svg, ll_page_panel(&page, 3),
                    &(struct ll_scatter){.title = "TPU v2, simulated over measured",
                                         .x_label = "measured step (s)",
                                         .y_label = "simulated step (s)",
                                         .series = &series,
                                         .series_count = 1,
                                         .band = 0.3});
    ll_svg_close(&svg);
}

static void judge_throughput(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct limits of_tpu = {0.98, 10, 30}, of_gpu = {0.9, 25, INFINITY};
    const struct ll_experiment_result *tried = ll_runs_experiment(runs, ll_paradnn_tried.name);
    const struct ll_experiment_result *fc = ll_paradnn_experiment(runs, LL_PARADNN_FC);
    struct ll_study_table *table =
        ll_paradnn_weights_table(result, NULL, "Weights of parameters in examples a second.");
    struct compared tpu = {.count = 0}, gpu = {.count = 0};
    if (tried) {
        judge_memory(tried, result);
        if (compare(runs, tried, LL_PARADNN_TPU2, &tpu))
            judge_times(&tpu, "TPU v2", runs->measured_count ? "" : ", on which five rates are fitted",
                        &of_tpu, runs->arena, result);
        if (compare(runs, tried, LL_PARADNN_V100, &gpu))
            judge_times(&gpu, "V100", "", &of_gpu, runs->arena, result);
    }
    judge_signs(runs, table, result);
    if (fc)
        judge_room(fc, result);
    if (fc && tpu.count)
        draw_throughput(fc, &tpu, runs->arena, result);
    ll_study_note(result,
                  "The host's rates and the links' bandwidth of the TPU are fitted on the rows at hand "
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
    .plan = plan_throughput,
    .judge = judge_throughput,
};
