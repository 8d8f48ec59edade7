/* SPDX-License-Identifier: Apache-2.0 */
/* One platform against another: TPU v2 over V100, V100 over Skylake, by family, and which parameters decide
 * it. */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/study/paradnn.h"
#include "sim/study/study.h"
#include "tracer/base/str.h"

/* A family on two platforms. */
struct race {
    const struct ll_experiment_result *experiment;
    double *speedup;
    uint64_t count; /* of points that fit into both */
    double median, most, faster;
    struct ll_paradnn_weights weights;
};

/* How many times as many samples a second one platform takes as another; NaN where it does not fit into both.
 */
static double *paradnn_speedup(const struct ll_experiment_result *experiment, size_t platform, size_t over,
                               struct ll_arena *arena)
{
    assert(platform < experiment->experiment.platform_count && over < experiment->experiment.platform_count);
    double *speedup = ll_alloc(arena, experiment->count, sizeof *speedup);
    for (uint64_t i = 0; speedup && i < experiment->count; i++) {
        const struct ll_experiment_point *one = ll_experiment_at(experiment, i, platform),
                                         *other = ll_experiment_at(experiment, i, over);
        bool both = one->simulated && other->simulated && one->fits && other->fits;
        speedup[i] = both ? ll_experiment_rate(one) / ll_experiment_rate(other) : NAN;
    }
    return speedup;
}

/* The numbers that there are, moved to the front; how many. */
static uint64_t paradnn_known(double *numbers, uint64_t count)
{
    uint64_t known = 0;
    for (uint64_t i = 0; i < count; i++)
        if (isfinite(numbers[i]))
            numbers[known++] = numbers[i];
    return known;
}

static bool run_race(const struct ll_runs *runs, enum ll_paradnn_family family, size_t platform, size_t over,
                     struct race *race)
{
    race->experiment = ll_paradnn_experiment(runs, family);
    if (!race->experiment)
        return false;
    uint64_t all = race->experiment->count;
    race->speedup = paradnn_speedup(race->experiment, platform, over, runs->arena);
    double *known = race->speedup ? ll_copy(runs->arena, race->speedup, all * sizeof *known) : NULL;
    if (!known)
        return false;
    race->weights = ll_paradnn_weigh(race->experiment, race->speedup, runs->arena);
    race->count = paradnn_known(known, all);
    race->median = ll_quantile(known, race->count, 0.5, runs->arena);
    uint64_t faster = 0;
    for (uint64_t i = 0; i < race->count; i++) {
        race->most = fmax(race->most, known[i]);
        faster += known[i] > 1;
    }
    race->faster = race->count ? (double)faster / (double)race->count : 0;
    return true;
}

static struct ll_study_table *sheet_of_races(struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"family", LL_TEXT_COLUMN},    {"points", 0}, {"median", 2}, {"most", 2}, {"faster (%)", 1},
        {"parameter", LL_TEXT_COLUMN}, {"weight", 3}};
    return ll_study_table_new(
        result, NULL, "How many times as many examples a second, and what each parameter weighs in it.",
        columns, sizeof columns / sizeof *columns);
}

static void put_race(struct ll_study_table *table, const struct race *race)
{
    const struct ll_family *family = race->experiment->experiment.family;
    for (size_t axis = 0; axis < ll_family_axes(family); axis++) {
        ll_table_put_text(table, family->doc);
        ll_table_put_number(table, (double)race->count);
        ll_table_put_number(table, race->median);
        ll_table_put_number(table, race->most);
        ll_table_put_number(table, 100 * race->faster);
        ll_table_put_text(table, family->axes[axis].key);
        ll_table_put_number(table, race->weights.of[axis]);
    }
}

/* A criterion for each parameter of which the paper says in which direction it weighs. */
struct direction {
    const char *key;
    int sign;
};
static void judge_directions(const struct race *race, const struct direction *directions, size_t count,
                             struct ll_study_result *result)
{
    const struct ll_family *family = race->experiment->experiment.family;
    for (size_t i = 0; i < count; i++) {
        double weight = race->weights.of[ll_family_axis(family, directions[i].key)];
        char text[32];
        ll_snprintf(text, sizeof text, "%+.3f", weight);
        ll_criterion_holds(result, directions[i].sign * weight > 0, text,
                           directions[i].sign > 0 ? "above 0" : "below 0", "%s: weight of %s in the speed-up",
                           family->doc, directions[i].key);
    }
}

static const char tpu_over_gpu[] = "Simulated: TPU v2 of eight cores (tpu_v2_core) and V100 (v100_sxm_16gb)";

enum { MOST_RACES = 3 };

static void draw_maxima(struct ll_svg *svg, struct ll_rect box, const struct race *races, size_t count,
                        const double *published)
{
    static const char *const series[] = {"simulated"};
    const char *names[MOST_RACES];
    double most[MOST_RACES];
    for (size_t i = 0; i < count; i++) {
        names[i] = races[i].experiment->experiment.family->doc;
        most[i] = races[i].most;
    }
    ll_draw_bars(svg, box,
                 &(struct ll_bars){.title = "greatest speed-up",
                                   .y_label = "times as fast",
                                   .groups = names,
                                   .group_count = count,
                                   .series = series,
                                   .series_count = 1,
                                   .values = most,
                                   .published = published});
}

/* The speed-up's mean by width and batch, its weights, and its maxima where some are published (else NULL).
 * One scale of shades for all families, to both sides of what is as fast. */
static void draw_races(const struct race *races, const char *const *rows, size_t count, const char *title,
                       const char *note, const char *caption, const double *published, struct ll_arena *arena,
                       struct ll_study_result *result)
{
    double *cells[MOST_RACES], farthest = 1;
    assert(count <= MOST_RACES);
    for (size_t i = 0; i < count; i++) {
        const struct ll_family *family = races[i].experiment->experiment.family;
        size_t row = ll_family_axis(family, rows[i]), column = ll_family_axis(family, "batch");
        size_t size =
            ll_family_axis_values(&family->axes[row]) * ll_family_axis_values(&family->axes[column]);
        cells[i] = ll_paradnn_cells(races[i].experiment, races[i].speedup, row, column, arena);
        for (size_t c = 0; cells[i] && c < size; c++)
            if (isfinite(cells[i][c]) && cells[i][c] > 0)
                farthest = fmax(farthest, fmax(cells[i][c], 1 / cells[i][c]));
    }

    const struct ll_page page = {title, caption, 2 * count + (published != NULL), count, 500, 340, note};
    struct ll_svg svg = {ll_study_figure_new(result, NULL, caption)};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < count; i++) {
        const struct ll_family *family = races[i].experiment->experiment.family;
        ll_paradnn_draw_cells(&svg, ll_page_panel(&page, i),
                              &(struct ll_paradnn_heat){.title = family->doc,
                                                        .unit = "times as fast",
                                                        .family = family,
                                                        .row_axis = ll_family_axis(family, rows[i]),
                                                        .column_axis = ll_family_axis(family, "batch"),
                                                        .cells = cells[i],
                                                        .full = farthest,
                                                        .middle = 1});
        ll_paradnn_draw_weights(&svg, ll_page_panel(&page, count + i), family->doc, family,
                                &races[i].weights);
    }
    if (published)
        draw_maxima(&svg, ll_page_panel(&page, 2 * count), races, count, published);
    ll_svg_close(&svg);
}

static void plan_dense(struct ll_study_plan *plan)
{
    ll_paradnn_plan(plan, LL_PARADNN_FC);
}

static void plan_P8(struct ll_study_plan *plan)
{
    plan_dense(plan);
    ll_study_plan_experiment(
        plan, &(struct ll_experiment){&ll_paradnn_tried, ll_paradnn_platforms, LL_PARADNN_V100 + 1});
}

static const struct ll_paradnn_measured *same_row(const struct ll_paradnn_measured *row,
                                                  const struct ll_paradnn_measured *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(row, &rows[i], offsetof(struct ll_paradnn_measured, time_s)) == 0)
            return &rows[i];
    return NULL;
}

/* Who wins, measured and simulated, where both platforms were measured. */
static void judge_winners(const struct ll_runs *runs, struct ll_study_result *result)
{
    size_t tpu_count, gpu_count, count = 0, right = 0;
    const struct ll_paradnn_measured *tpu = ll_paradnn_rows(runs, LL_PARADNN_TPU2, &tpu_count),
                                     *gpu = ll_paradnn_rows(runs, LL_PARADNN_V100, &gpu_count);
    const struct ll_experiment_result *tried = ll_runs_experiment(runs, ll_paradnn_tried.name);
    double *theirs = ll_alloc(runs->arena, gpu_count + 1, sizeof *theirs),
           *ours = ll_alloc(runs->arena, gpu_count + 1, sizeof *ours);
    for (size_t i = 0; tried && theirs && ours && i < gpu_count; i++) {
        const struct ll_paradnn_measured *row = same_row(&gpu[i], tpu, tpu_count);
        const struct ll_experiment_point *one = ll_paradnn_simulated(tried, LL_PARADNN_TPU2, &gpu[i]),
                                         *other = ll_paradnn_simulated(tried, LL_PARADNN_V100, &gpu[i]);
        if (!row || !one || !other)
            continue;
        theirs[count] = gpu[i].time_s / row->time_s;
        ours[count] = other->step_s / one->step_s;
        right += (theirs[count] > 1) == (ours[count] > 1);
        count++;
    }
    if (count == 0) {
        ll_criterion_info(result, "measured rows of a V100 are not installed", "no rows of a V100 at hand",
                          "85 % of winners right, rank correlation 0.9",
                          "TPU v2 over V100, against measured rows (--data brings some)");
        return;
    }
    ll_criterion_at_least(result, (struct ll_measured_value){100 * (double)right / (double)count, 1, " %"},
                          85, "winners of %zu measured rows that are right", count);
    ll_criterion_at_least(result,
                          (struct ll_measured_value){ll_spearman(theirs, ours, count, runs->arena), 3, ""},
                          0.9, "rank correlation of the speed-up with that of measured rows (Spearman)");
}

static void note_host(struct ll_study_result *result)
{
    ll_study_note(
        result,
        "Much of this speed-up is the host's input pipeline, not the accelerator: more than half of the "
        "measured rows lie within half of what the host takes to prepare their input, on both platforms.");
}

static void judge_P8(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct direction directions[] = {{"batch", 1}, {"nodes", -1}, {"layers", -1}, {"input", -1}};
    struct race race = {0};
    struct ll_study_table *table = sheet_of_races(result);
    if (!run_race(runs, LL_PARADNN_FC, LL_PARADNN_TPU2, LL_PARADNN_V100, &race))
        return;
    put_race(table, &race);
    ll_criterion_between(result, (struct ll_measured_value){100 * race.faster, 1, " %"}, 50, 75,
                         "fully connected networks that are faster on the TPU (published: 62 %%)");
    judge_directions(&race, directions, 4, result);
    judge_winners(runs, result);
    note_host(result);
    draw_races(&race, (const char *const[]){"nodes"}, 1, "TPU v2 over V100", tpu_over_gpu,
               "Examples a second of a TPU v2 over those of a V100, and what each parameter weighs in it.",
               NULL, runs->arena, result);
}

static void judge_P9(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct direction directions[] = {{"nodes", 1}, {"batch", 1}};
    struct race race = {0};
    struct ll_study_table *table = sheet_of_races(result);
    if (!run_race(runs, LL_PARADNN_FC, LL_PARADNN_V100, LL_PARADNN_CPU, &race))
        return;
    put_race(table, &race);
    judge_directions(&race, directions, 2, result);
    draw_races(&race, (const char *const[]){"nodes"}, 1, "V100 over Skylake",
               "Simulated: V100 (v100_sxm_16gb) and Skylake (n1_standard_32)",
               "Examples a second of a V100 over those of a Skylake, and what each parameter weighs in it.",
               NULL, runs->arena, result);
}

/* Of recurrent networks all points: the longest and deepest ones decide what weighs most. */
static void plan_P10(struct ll_study_plan *plan)
{
    ll_paradnn_plan(plan, LL_PARADNN_BOTTLENECK);
    ll_study_plan_experiment(plan, &(struct ll_experiment){&ll_paradnn_families[LL_PARADNN_RNN],
                                                           ll_paradnn_platforms, LL_PARADNN_V100 + 1});
}

static void judge_P10(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct direction grows[] = {{"batch", 1}, {"filters", 1}, {"blocks", 1}};
    struct race races[2] = {{0}};
    struct ll_study_table *table = sheet_of_races(result);
    bool cnn = run_race(runs, LL_PARADNN_BOTTLENECK, LL_PARADNN_TPU2, LL_PARADNN_V100, &races[0]);
    bool rnn = run_race(runs, LL_PARADNN_RNN, LL_PARADNN_TPU2, LL_PARADNN_V100, &races[1]);
    if (cnn) {
        put_race(table, &races[0]);
        ll_criterion_at_least(result, (struct ll_measured_value){100 * races[0].faster, 1, " %"}, 100,
                              "CNN that are faster on the TPU");
        judge_directions(&races[0], grows, 3, result);
    }
    if (rnn) {
        const double *of = races[1].weights.of;
        char text[96];
        put_race(table, &races[1]);
        ll_snprintf(text, sizeof text, "layers %+.2f, embed %+.2f, length %+.2f, vocab %+.2f, batch %+.2f",
                    of[0], of[1], of[2], of[3], of[4]);
        bool most = true;
        for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
            most = most && (axis == 1 || fabs(of[axis]) < fabs(of[1]));
        ll_criterion_holds(result, most && of[1] < 0, text, "embed, below 0",
                           "RNN: what weighs most in the speed-up");
        ll_criterion_between(result, (struct ll_measured_value){races[1].most, 1, " times"}, 10, 40,
                             "RNN: the most that the TPU is faster (published: up to 20 times)");
    }
    if (cnn && rnn)
        draw_races(
            races, (const char *const[]){"filters", "embed"}, 2, "TPU v2 over V100", tpu_over_gpu,
            "Examples a second of a TPU v2 over those of a V100, and what each parameter weighs in it.", NULL,
            runs->arena, result);
}

static void plan_P6(struct ll_study_plan *plan)
{
    ll_paradnn_plan_main(plan);
}

/* Speed-ups that follow from the rooflines alone: of what computes, of GEMMs that wait for their weights,
 * which do not grow with the batch, and of the rest that waits for memory. */
static void judge_saturation(const struct ll_experiment_result *experiment, struct ll_study_result *result)
{
    const struct ll_experiment_point *v2 = ll_experiment_at(experiment, 0, LL_PARADNN_TPU2),
                                     *v3 = ll_experiment_at(experiment, 0, LL_PARADNN_TPU3_TWICE);
    double peaks = v3->peak_flops / v2->peak_flops, bandwidths = v3->memory_Bps / v2->memory_Bps;
    double batches = v3->samples / v2->samples;
    const struct ll_measured_value of[] = {
        {peaks, 3, ""}, {batches * bandwidths, 3, ""}, {bandwidths, 3, ""}};
    static const char *const what[] = {"what computes", "GEMMs that wait for their weights",
                                       "other ops that wait for memory"};
    static const double published[] = {7.0 / 3, 3, 1.5};
    for (int i = 0; i < 3; i++)
        ll_criterion_between(result, of[i], published[i] - 1e-3, published[i] + 1e-3,
                             "%s: speed-up of a TPU v3 with twice the batch, by the roofline", what[i]);
}

static void judge_P6(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct {
        enum ll_paradnn_family family;
        const char *width;
        bool fitted; /* the links, on the published maximum */
        double published;
    } of[] = {{LL_PARADNN_FC, "nodes", true, 2.83},
              {LL_PARADNN_BOTTLENECK, "filters", true, 2.31},
              {LL_PARADNN_RNN, "embed", false, 3.11}};
    struct race races[3] = {{0}};
    struct ll_study_table *table = sheet_of_races(result);
    bool all = true;
    for (size_t i = 0; i < 3; i++) {
        if (!run_race(runs, of[i].family, LL_PARADNN_TPU3_TWICE, LL_PARADNN_TPU2, &races[i])) {
            all = false;
            continue;
        }
        char text[32], published[32];
        const char *doc = races[i].experiment->experiment.family->doc;
        put_race(table, &races[i]);
        if (i == 0)
            judge_saturation(races[0].experiment, result);
        ll_snprintf(text, sizeof text, "%.2f", races[i].most);
        ll_snprintf(published, sizeof published, "%.2f", of[i].published);
        if (of[i].fitted) {
            const struct direction wider = {of[i].width, 1};
            ll_criterion_info(result, "the links of the TPU v3 were fitted on this maximum", text, published,
                              "%s: the greatest speed-up of a step's examples, on which the links are fitted",
                              doc);
            judge_directions(&races[i], &wider, 1, result);
        } else
            ll_criterion_between(result, (struct ll_measured_value){races[i].most, 2, ""},
                                 0.8 * of[i].published, 1.2 * of[i].published,
                                 "%s: the greatest speed-up, more than the roofline's 3.0 (published: 3.11)",
                                 doc);
    }
    ll_study_note(
        result,
        "What the links of a TPU v3 carry, 45 GB/s where rates of links would say 47.6, is chosen by the two "
        "published maxima, 2.83 and 2.31; both follow from the one number.");
    if (all)
        draw_races(races, (const char *const[]){"nodes", "filters", "embed"}, 3,
                   "TPU v3 with twice the batch over TPU v2",
                   "Simulated: TPU v3 (archive/tpu_v3_paradnn) and TPU v2 (tpu_v2_core), of eight cores each",
                   "Examples a second of a TPU v3, which has the memory for twice the batch, over those of a "
                   "TPU v2; and the greatest speed-ups.",
                   (const double[]){of[0].published, of[1].published, of[2].published}, runs->arena, result);
}

const struct ll_study ll_study_P6 = {
    .id = "P6",
    .paper = "ParaDnn, figure 6",
    .title = "TPU v3 over TPU v2",
    .doc = "What computes gains 2.3 times, GEMMs that wait for their weights 3 times, for they have twice "
           "the batch, "
           "the rest 1.5 times; wide networks gain most.",
    .plan = plan_P6,
    .judge = judge_P6,
};

const struct ll_study ll_study_P8 = {
    .id = "P8",
    .paper = "ParaDnn, figure 8",
    .title = "TPU v2 over V100, fully connected",
    .doc = "Most networks are faster on the TPU; large batches help it, wide and deep networks and large "
           "inputs do not.",
    .compares = true,
    .plan = plan_P8,
    .judge = judge_P8,
};

const struct ll_study ll_study_P9 = {
    .id = "P9",
    .paper = "ParaDnn, figure 9",
    .title = "V100 over Skylake, fully connected",
    .doc = "The GPU gains most with wide networks and large batches.",
    .plan = plan_dense,
    .judge = judge_P9,
};

const struct ll_study ll_study_P10 = {
    .id = "P10",
    .paper = "ParaDnn, figure 10",
    .title = "TPU v2 over V100, CNN and RNN",
    .doc = "All CNN are faster on the TPU, the more so the larger batch, filters and depth; RNN the less the "
           "wider they "
           "are.",
    .plan = plan_P10,
    .judge = judge_P10,
};

/* Distributions over whole families: TPU over GPU, utilization of three platforms, bf16 over f32. Boxes are
 * the paper's: percentiles 2, 9, 50, 91 and 98. */

static const double percentiles[] = {2, 9, 50, 91, 98};
enum { PERCENTILES = 5, MEDIAN = 2 };

static struct ll_study_table *sheet_of_boxes(struct ll_study_result *result, const char *name,
                                             const char *caption)
{
    static const struct ll_study_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                     {"of", LL_TEXT_COLUMN},
                                                     {"points", 0},
                                                     {"2nd percentile", 3},
                                                     {"9th", 3},
                                                     {"median", 3},
                                                     {"91st", 3},
                                                     {"98th", 3},
                                                     {"90th", 3},
                                                     {"most", 3}};
    return ll_study_table_new(result, name, caption, columns, sizeof columns / sizeof *columns);
}

struct box {
    uint64_t count;
    double at[PERCENTILES], ninety, most;
};

/* Of the numbers that there are; their order is lost. */
static struct box box_of(double *numbers, uint64_t count, struct ll_arena *arena)
{
    struct box box = {.count = paradnn_known(numbers, count)};
    for (int i = 0; i < PERCENTILES; i++)
        box.at[i] = ll_quantile(numbers, box.count, percentiles[i] / 100, arena);
    box.ninety = ll_quantile(numbers, box.count, 0.9, arena);
    box.most = ll_quantile(numbers, box.count, 1, arena);
    return box;
}

static void put_box(struct ll_study_table *table, const char *family, const char *of, const struct box *box)
{
    ll_table_put_text(table, family);
    ll_table_put_text(table, of);
    ll_table_put_number(table, (double)box->count);
    for (int i = 0; i < PERCENTILES; i++)
        ll_table_put_number(table, box->at[i]);
    ll_table_put_number(table, box->ninety);
    ll_table_put_number(table, box->most);
}

/* Real convolutional networks, with what the paper says of them. */
#define LL_REAL(word, model_name, samples)                                                                   \
    {                                                                                                        \
        .name = word, .doc = word, .model = model_name, .axes = { {"batch", {samples}} }                     \
    }
static const struct ll_family real[] = {
    LL_REAL("DenseNet-121", "densenet", 256), LL_REAL("ResNet-50", "resnet_v1", 256),
    LL_REAL("MobileNet", "mobilenet", 256), LL_REAL("SqueezeNet", "squeezenet", 256),
    LL_REAL("RetinaNet", "retinanet", 8)};
/* The paper's speed-ups, or 0 where it prints none but those that theirs lie between. */
static const struct {
    double low, high;
    const char *text;
} real_published[] = {{3, 3, "3"},
                      {4.2, 6.2, "4.2 and 6.2"},
                      {0, 0, "between 3 and 6.8"},
                      {6.8, 6.8, "6.8"},
                      {0, 0, "between 3 and 6.8"}};
enum { REAL = sizeof real / sizeof *real };

static void plan_all(struct ll_study_plan *plan)
{
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++)
        ll_paradnn_plan(plan, (enum ll_paradnn_family)f);
    for (size_t i = 0; i < REAL; i++)
        ll_study_plan_experiment(
            plan, &(struct ll_experiment){&real[i], ll_paradnn_platforms, LL_PARADNN_V100 + 1});
}

/* Ranks 2, 9, 50, 91 and 98 of 0, 1, ..., 100 are these numbers. */
static void judge_percentiles(struct ll_arena *arena, struct ll_study_result *result)
{
    double numbers[101];
    bool right = true;
    for (int i = 0; i <= 100; i++)
        numbers[i] = 100 - i;
    struct box box = box_of(numbers, 101, arena);
    for (int i = 0; i < PERCENTILES; i++)
        right = right && fabs(box.at[i] - percentiles[i]) < 1e-12;
    ll_criterion_holds(result, right, right ? "2, 9, 50, 91, 98" : "others", "2, 9, 50, 91, 98",
                       "percentiles of the whole numbers from 0 to 100");
}

/* A box for each family; NULL where the family is missing. */
enum { MOST_DRAWN = 8 };
struct drawn {
    const char *names[MOST_DRAWN];
    struct ll_five five[MOST_DRAWN], published[MOST_DRAWN];
    size_t count;
};

/* `published` is one number of the box; NaN: there is none. */
static void add_drawn(struct drawn *drawn, const char *name, const struct box *box, double published)
{
    assert(drawn->count < MOST_DRAWN);
    struct ll_five *five = &drawn->five[drawn->count];
    drawn->published[drawn->count] = (struct ll_five){{NAN, NAN, NAN, NAN, published}};
    drawn->names[drawn->count++] = name;
    for (int i = 0; i < PERCENTILES; i++)
        five->at[i] = box->at[i];
}

static void draw(const struct drawn *left, const struct drawn *right, struct ll_study_result *result)
{
    const struct ll_page page = {
        "Families as boxes: percentiles 2, 9, 50, 91, 98",
        "Boxes of speed-ups by family, and of utilization by platform.",
        2,
        2,
        560,
        380,
        "Simulated: TPU v2 of eight cores (tpu_v2_core), V100 (v100_sxm_16gb), Skylake (n1_standard_32)"};
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL,
                            "Left, examples a second of a TPU v2 over those of a V100; right, utilization "
                            "of recurrent networks. Boxes from the 9th to the 91st percentile, whiskers from "
                            "the 2nd to the 98th.")};
    ll_page_open(&svg, &page);
    ll_draw_boxes(&svg, ll_page_panel(&page, 0),
                  &(struct ll_boxes){.title = "TPU v2 over V100",
                                     .y_label = "times as many examples a second",
                                     .names = left->names,
                                     .boxes = left->five,
                                     .count = left->count,
                                     .log = true});
    ll_draw_boxes(&svg, ll_page_panel(&page, 1),
                  &(struct ll_boxes){.title = "Utilization of recurrent networks",
                                     .y_label = "% of peak",
                                     .names = right->names,
                                     .boxes = right->five,
                                     .published = right->published,
                                     .published_name = "published: the most of each",
                                     .count = right->count});
    ll_svg_close(&svg);
}

/* Real networks are within twice what is printed of them; of which nothing is, follow the family: they lie
 * between the whiskers of the convolutional ones. */
static void judge_real(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_experiment_result *family = ll_paradnn_experiment(runs, LL_PARADNN_BOTTLENECK);
    double *speedup = family ? paradnn_speedup(family, LL_PARADNN_TPU2, LL_PARADNN_V100, runs->arena) : NULL;
    if (!speedup)
        return;
    double *sorted = ll_copy(runs->arena, speedup, family->count * sizeof *sorted);
    if (!sorted)
        return;
    const struct box box = box_of(sorted, family->count, runs->arena);
    for (size_t i = 0; i < REAL; i++) {
        const struct ll_experiment_result *experiment = ll_runs_experiment(runs, real[i].name);
        const double *times =
            experiment ? paradnn_speedup(experiment, LL_PARADNN_TPU2, LL_PARADNN_V100, runs->arena) : NULL;
        if (!times)
            continue;
        bool printed = real_published[i].low > 0;
        double low = printed ? real_published[i].low / 2 : box.at[0],
               high = printed ? real_published[i].high * 2 : box.at[PERCENTILES - 1];
        ll_criterion_between(result, (struct ll_measured_value){times[0], 2, ""}, low, high,
                             "%s: TPU v2 over V100, %s (published: %s)", real[i].doc,
                             printed ? "within twice the paper's" : "as nearly all CNN of bottlenecks",
                             real_published[i].text);
    }
}

static void judge_speedups(const struct ll_runs *runs, struct drawn *drawn, struct ll_study_result *result)
{
    struct ll_study_table *table =
        sheet_of_boxes(result, NULL, "Examples a second of a TPU v2 over those of a V100.");
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_experiment_result *experiment =
            ll_paradnn_experiment(runs, (enum ll_paradnn_family)f);
        double *speedup =
            experiment ? paradnn_speedup(experiment, LL_PARADNN_TPU2, LL_PARADNN_V100, runs->arena) : NULL;
        if (!speedup)
            continue;
        struct box box = box_of(speedup, experiment->count, runs->arena);
        put_box(table, experiment->experiment.family->doc, "TPU v2 / V100", &box);
        add_drawn(drawn, experiment->experiment.family->name, &box, NAN);
        if (f == LL_PARADNN_BOTTLENECK || f == LL_PARADNN_RESIDUAL)
            ll_criterion_at_least(result, (struct ll_measured_value){box.at[MEDIAN], 2, ""}, 1,
                                  "%s: median of TPU v2 over V100", experiment->experiment.family->doc);
    }
}

/* The most of its peak, in percent, that a platform would reach if each layer took so much longer in each
 * step of time. */
static double most_with_loops(const struct ll_experiment_result *experiment, size_t platform, double loop_s)
{
    const struct ll_family *family = experiment->experiment.family;
    const size_t layers = ll_family_axis(family, "layers"), length = ll_family_axis(family, "length");
    double most = 0;
    for (uint64_t i = 0; i < experiment->count; i++) {
        const struct ll_experiment_point *at = ll_experiment_at(experiment, i, platform);
        const double loops = (double)ll_experiment_value(experiment, i, layers) *
                             (double)ll_experiment_value(experiment, i, length);
        if (at->simulated)
            most = fmax(most, 100 * at->flops / at->peak_flops / (at->step_s + loops * loop_s));
    }
    return most;
}

/* Explains the last criterion by what a framework takes for each step of its loops: in whole microseconds, so
 * much that the platform reaches what is published. */
static void explain_loops(const struct ll_experiment_result *experiment, size_t platform, double published,
                          struct ll_study_result *result)
{
    enum { MOST_US = 100000 };
    static const double rounding = 0.5; /* percent points */
    unsigned low = 0, high = MOST_US;
    while (low < high) { /* the share falls as loops take longer */
        const unsigned middle = low + (high - low) / 2;
        if (most_with_loops(experiment, platform, 1e-6 * middle) > published)
            low = middle + 1;
        else
            high = middle;
    }
    char needed[128];
    ll_snprintf(needed, sizeof needed, "loops that take %u us more for each layer and step of time", low);
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = needed,
        .reached = {most_with_loops(experiment, platform, 1e-6 * low), 1, " %"},
        .low = published - rounding,
        .high = published + rounding};
    ll_criterion_explain(result, &explanation,
                         "steps of time are unrolled here, and GEMMs of 900 and batches of 1024 fill the "
                         "device: %.1f %% of its peak; TensorFlow of 2018 ran a loop whose steps the paper "
                         "does not time",
                         most_with_loops(experiment, platform, 0));
}

/* The order of three platforms, and the paper's largest utilizations. */
static void judge_recurrent(const struct ll_runs *runs, struct drawn *drawn, struct ll_study_result *result)
{
    static const enum ll_paradnn_platform platforms[] = {LL_PARADNN_CPU, LL_PARADNN_TPU2, LL_PARADNN_V100};
    static const double published[] = {46, 26, 9};
    const struct ll_experiment_result *experiment = ll_paradnn_experiment(runs, LL_PARADNN_RNN);
    struct ll_study_table *table =
        sheet_of_boxes(result, "utilization", "Utilization of recurrent networks, in percent.");
    double medians[3], most[3];
    char text[96];
    for (int p = 0; experiment && p < 3; p++) {
        const char *name = ll_paradnn_platforms[platforms[p]].name;
        double *column = ll_paradnn_column(experiment, platforms[p], ll_paradnn_utilization, runs->arena);
        for (uint64_t i = 0; column && i < experiment->count; i++)
            column[i] *= 100;
        struct box box = column ? box_of(column, experiment->count, runs->arena) : (struct box){0};
        put_box(table, experiment->experiment.family->doc, name, &box);
        add_drawn(drawn, name, &box, published[p]);
        medians[p] = box.at[MEDIAN];
        most[p] = box.most;
        ll_criterion_between(result, (struct ll_measured_value){most[p], 1, " %"}, published[p] / 2,
                             2 * published[p], "RNN on %s: the most of its peak (published: %s%.0f %%)", name,
                             p ? "below " : "up to ", published[p]);
        explain_loops(experiment, platforms[p], published[p], result);
    }
    if (!experiment)
        return;
    ll_snprintf(text, sizeof text, "%.2f, %.2f, %.2f %%", medians[0], medians[1], medians[2]);
    ll_criterion_holds(result, medians[0] > medians[1] && medians[1] > medians[2], text, "falling",
                       "RNN: median utilization of Skylake, TPU v2 and V100");
}

static void judge_P11(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct drawn speedups = {.count = 0}, utilizations = {.count = 0};
    judge_percentiles(runs->arena, result);
    judge_speedups(runs, &speedups, result);
    judge_recurrent(runs, &utilizations, result);
    judge_real(runs, result);
    ll_study_note(result,
                  "Real networks run the same here on both platforms; in the paper their GPU code is another "
                  "one than the TPU's, so its numbers stand beside ours without being judged. They have "
                  "batches of 256, RetinaNet of 8, which fit into the V100.");
    if (speedups.count && utilizations.count)
        draw(&speedups, &utilizations, result);
}

/* The figure of a name: a box for each range. */
static void draw_P12(const struct drawn *drawn, const char *name, const char *title, const char *machine,
                     const char *caption, struct ll_study_result *result)
{
    const struct ll_page page = {title, "A box for each family.", 1, 1, 760, 380, machine};
    struct ll_svg svg = {ll_study_figure_new(result, name, caption)};
    ll_page_open(&svg, &page);
    ll_draw_boxes(&svg, ll_page_panel(&page, 0),
                  &(struct ll_boxes){.y_label = "times as many examples a second",
                                     .names = drawn->names,
                                     .boxes = drawn->five,
                                     .published = drawn->published,
                                     .published_name = "published: 90th percentile",
                                     .count = drawn->count});
    ll_svg_close(&svg);
}

/* Versions of software: of each range of networks a part, under the software of this study and under an older
 * one, a stack of its own for each range. One figure of it is fitted so that the 90th percentile of what the
 * newer one gains is the printed one. */
enum { NEWER, OLDER, VERSIONS };
#define LL_VERSIONS(of_name, of_model, of_key, of_value, newer, older, type, cores, ...)                     \
    {                                                                                                        \
        .family = {of_name, of_name, of_model, {{of_key, of_value}}, {__VA_ARGS__}}, .platforms = {          \
            {"newer", .machine = (newer), .dtype = (type), .devices = (cores), .batches = 1},                \
            {"older", .machine = (newer older), .dtype = (type), .devices = (cores), .batches = 1}           \
        }                                                                                                    \
    }
#define DENSE                                                                                                \
    {"layers", {4, 16, 64}}, {"nodes", {32, 128, 512, 2048, 8192}}, {"input", {2000}}, {"output", {1000}},   \
    {                                                                                                        \
        "batch",                                                                                             \
        {                                                                                                    \
            64, 256, 1024, 4096, 16384                                                                       \
        }                                                                                                    \
    }
#define CONVOLUTIONAL                                                                                        \
    {"blocks", {1, 4, 8}}, {"filters", {16, 32, 64}}, {"image", {200}}, {"output", {1000}},                  \
    {                                                                                                        \
        "batch",                                                                                             \
        {                                                                                                    \
            64, 256, 1024                                                                                    \
        }                                                                                                    \
    }
#define RECURRENT                                                                                            \
    {"layers", {1, 5}}, {"embed", {100, 500, 900}}, {"length", {10, 50}}, {"vocabulary", {512}},             \
    {                                                                                                        \
        "batch",                                                                                             \
        {                                                                                                    \
            16, 64, 256, 1024                                                                                \
        }                                                                                                    \
    }
#define ON_TPU(name, model, key, value, range, ...)                                                          \
    LL_VERSIONS(name ", TPU v2", model, key, value, "tpu_v2_core+archive/paradnn",                           \
                "+archive/tensorflow_1_7_" range, "f32", 8, __VA_ARGS__)
#define ON_GPU(name, model, key, value, range, ...)                                                          \
    LL_VERSIONS(name ", V100", model, key, value, "v100_sxm_16gb+archive/paradnn", "+archive/cuda_9_" range, \
                "f32", 1, __VA_ARGS__)
static const struct versions {
    struct ll_family family;
    struct ll_platform platforms[VERSIONS];
} versions[] = {
    ON_TPU("fully connected", "paradnn_fc", NULL, NULL, "fc", DENSE),
    ON_TPU("CNN, residual", "paradnn_cnn", "block", "residual", "residual", CONVOLUTIONAL),
    ON_TPU("CNN, bottlenecks", "paradnn_cnn", "block", "bottleneck", "bottleneck", CONVOLUTIONAL),
    ON_TPU("RNN", "paradnn_rnn", "cell", "rnn", "rnn", RECURRENT),
    ON_TPU("LSTM", "paradnn_rnn", "cell", "lstm", "lstm", RECURRENT),
    ON_GPU("fully connected", "paradnn_fc", NULL, NULL, "fc", DENSE),
    ON_GPU("CNN, bottlenecks", "paradnn_cnn", "block", "bottleneck", "cnn", CONVOLUTIONAL),
    ON_GPU("RNN", "paradnn_rnn", "cell", "rnn", "rnn", RECURRENT),
};
#undef LL_VERSIONS
#undef DENSE
#undef CONVOLUTIONAL
#undef RECURRENT
#undef ON_TPU
#undef ON_GPU
enum { RANGES = sizeof versions / sizeof *versions };
static const double gained[RANGES] = {7, 1.5, 2.5, 9.7, 6.3, 5.2, 2.9, 1.086}; /* 90th percentiles, printed */

static void plan_P12(struct ll_study_plan *plan)
{
    ll_paradnn_plan(plan, LL_PARADNN_FC);
    ll_paradnn_plan(plan, LL_PARADNN_BOTTLENECK);
    ll_paradnn_plan(plan, LL_PARADNN_RESIDUAL);
    for (size_t i = 0; i < RANGES; i++)
        ll_study_plan_experiment(
            plan, &(struct ll_experiment){&versions[i].family, versions[i].platforms, VERSIONS});
}

/* What is fitted is shown; that nothing gets slower with the newer software, which the paper says of all its
 * networks, is judged. */
static void judge_versions(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct ll_study_table *table =
        sheet_of_boxes(result, "versions",
                       "Examples a second under the newer software over those under the older: TensorFlow "
                       "1.12 over 1.7 on a "
                       "TPU v2, TensorFlow 1.12 with CUDA 10 over 1.7 with CUDA 9 on a V100.");
    struct drawn drawn = {.count = 0};
    for (size_t i = 0; i < RANGES; i++) {
        const struct ll_experiment_result *experiment = ll_runs_experiment(runs, versions[i].family.name);
        double *speedup = experiment ? paradnn_speedup(experiment, NEWER, OLDER, runs->arena) : NULL;
        double least = INFINITY;
        char text[32], printed[32];
        if (!speedup)
            continue;
        for (uint64_t p = 0; p < experiment->count; p++)
            least = fmin(least, speedup[p]);
        const struct box box = box_of(speedup, experiment->count, runs->arena);
        put_box(table, versions[i].family.name, "newer / older", &box);
        add_drawn(&drawn, versions[i].family.name, &box, gained[i]);
        ll_snprintf(text, sizeof text, "%.2f", box.ninety);
        ll_snprintf(printed, sizeof printed, "%.4g", gained[i]);
        ll_criterion_info(result, "the older software's stack is fitted on it", text, printed,
                          "%s: 90th percentile of what the newer software gains", versions[i].family.name);
        ll_criterion_at_least(result, (struct ll_measured_value){least, 3, ""}, 1,
                              "%s: the least that the newer software gains", versions[i].family.name);
    }
    if (drawn.count)
        draw_P12(
            &drawn, "versions", "Newer over older software",
            "Simulated: TPU v2 of eight cores (tpu_v2_core), V100",
            "Examples a second under TensorFlow 1.12 over those under 1.7 (TPU v2), with CUDA 10 over CUDA 9 "
            "(V100); the older stacks are fitted on the printed 90th percentiles.",
            result);
}

static void judge_P12(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct drawn drawn = {.count = 0};
    static const enum ll_paradnn_family families[] = {LL_PARADNN_FC, LL_PARADNN_BOTTLENECK,
                                                      LL_PARADNN_RESIDUAL};
    static const double published[] = {1.8, 1.8, 1.3};
    struct ll_study_table *table =
        sheet_of_boxes(result, NULL, "Examples a second of a TPU v2 in bf16 over those in f32.");
    for (int i = 0; i < 3; i++) {
        const struct ll_experiment_result *experiment = ll_paradnn_experiment(runs, families[i]);
        double *speedup = experiment
                              ? paradnn_speedup(experiment, LL_PARADNN_TPU2, LL_PARADNN_TPU2_F32, runs->arena)
                              : NULL;
        if (!speedup)
            continue;
        struct box box = box_of(speedup, experiment->count, runs->arena);
        put_box(table, experiment->experiment.family->doc, "bf16 / f32", &box);
        add_drawn(&drawn, experiment->experiment.family->name, &box, published[i]);
        ll_criterion_between(result, (struct ll_measured_value){box.ninety, 2, ""}, 1.3, 2.0,
                             "%s: 90th percentile of bf16 over f32 (published: %.1f)",
                             experiment->experiment.family->doc, published[i]);
    }
    judge_versions(runs, result);
    ll_study_note(
        result,
        "What changed between versions of TensorFlow (March to November 2018, 221 days; the paper says "
        "222) and of CUDA is not described. Each older stack (archive/tensorflow_1_7_..., "
        "archive/cuda_9_...) has one figure of its own, fitted on the printed 90th percentile of its "
        "range.");
    if (drawn.count)
        draw_P12(&drawn, NULL, "bf16 over f32", "Simulated: TPU v2 of eight cores (tpu_v2_core)",
                 "Examples a second of a TPU v2 in bf16 over those in f32. Boxes from the 9th to the 91st "
                 "percentile, whiskers from the 2nd to the 98th.",
                 result);
}

const struct ll_study ll_study_P11 = {
    .id = "P11",
    .paper = "ParaDnn, figure 11",
    .title = "Families as boxes",
    .doc = "CNN are faster on the TPU, RNN use a small part of any platform's peak, most of the CPU's and "
           "least of the "
           "GPU's.",
    .plan = plan_all,
    .judge = judge_P11,
};

const struct ll_study ll_study_P12 = {
    .id = "P12",
    .paper = "ParaDnn, figure 12",
    .title = "Versions of software, and bf16 over f32",
    .doc = "What newer versions of TensorFlow and CUDA gained, and what bf16 gains over f32 on a TPU.",
    .plan = plan_P12,
    .judge = judge_P12,
};
