/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of ParaDnn share: families, platforms and runs; the last section regresses weights of
 * parameters. */
#include "sim/study/paradnn.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/findings.h"
#include "tracer/base/str.h"

#define LL_FAMILY(word, name, doc, model, key, value, ...)                                                   \
    [LL_PARADNN_##word] = {name, doc, model, {{key, value}}, {__VA_ARGS__}},
#define AXIS(name, ...) {name, __VA_ARGS__},

const struct ll_family ll_paradnn_families[] = {
#define ALL(...)                                                                                             \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define SOME(...)
#include "sim/study/paradnn_families.def"
#undef ALL
#undef SOME
};

const struct ll_family ll_paradnn_parts[] = {
#define ALL(...)
#define SOME(...)                                                                                            \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#include "sim/study/paradnn_families.def"
#undef ALL
#undef SOME
};
#undef LL_FAMILY
#undef AXIS

#define LL_TPU_CORES(machine_name, type, times, cores)                                                       \
    .machine = (machine_name), .dtype = (type), .devices = (cores), .batches = (times)
#define LL_TPU(machine_name, type, times) LL_TPU_CORES(machine_name, type, times, 8)
const struct ll_platform ll_paradnn_platforms[LL_PARADNN_PLATFORMS] = {
    [LL_PARADNN_TPU2] = {"TPU v2", LL_TPU("tpu_v2_core+archive/paradnn", "bf16", 1)},
    [LL_PARADNN_V100] = {"V100", "v100_sxm_16gb+archive/paradnn", .dtype = "f16", .devices = 1, .batches = 1},
    [LL_PARADNN_CPU] = {"Skylake", "n1_standard_32", .dtype = "f32", .devices = 1, .batches = 1},
    [LL_PARADNN_TPU3] = {"TPU v3", LL_TPU("archive/tpu_v3_paradnn+archive/paradnn", "bf16", 1)},
    [LL_PARADNN_TPU3_TWICE] = {"TPU v3, twice the batch",
                               LL_TPU("archive/tpu_v3_paradnn+archive/paradnn", "bf16", 2)},
    [LL_PARADNN_TPU2_F32] = {"TPU v2 in f32", LL_TPU("tpu_v2_core+archive/paradnn", "f32", 1)},
    [LL_PARADNN_TPU2_CORE] = {"TPU v2 core", LL_TPU_CORES("tpu_v2_core+archive/paradnn", "bf16", 1, 1)},
};
#undef LL_TPU
#undef LL_TPU_CORES

void ll_paradnn_plan(struct ll_study_plan *plan, enum ll_paradnn_family family)
{
    assert(family < LL_PARADNN_FAMILIES);
    const struct ll_family *families = plan->whole ? ll_paradnn_families : ll_paradnn_parts;
    ll_study_plan_experiment(
        plan, &(struct ll_experiment){&families[family], ll_paradnn_platforms, LL_PARADNN_PLATFORMS});
}

void ll_paradnn_plan_main(struct ll_study_plan *plan)
{
    ll_paradnn_plan(plan, LL_PARADNN_FC);
    ll_paradnn_plan(plan, LL_PARADNN_BOTTLENECK);
    ll_paradnn_plan(plan, LL_PARADNN_RNN);
}

const struct ll_experiment_result *ll_paradnn_experiment(const struct ll_runs *runs,
                                                         enum ll_paradnn_family family)
{
    assert(family < LL_PARADNN_FAMILIES);
    return ll_runs_experiment(runs, ll_paradnn_families[family].name);
}

/* The paper's fourteen observations, and which study looks at each. */

static const struct {
    const char *observation, *study;
} observations[] = {
    {"TPUs are used best by large batches and wide networks", "P2"},
    {"many networks wait for memory", "P3"},
    {"eight cores are used less well than one", "P4"},
    {"many networks wait for their input", "P5"},
    {"TPU v3 is faster in memory, compute and by its capacity", "P6"},
    {"the largest networks need the memory of a CPU", "P7"},
    {"TPU over GPU grows with the batch", "P8"},
    {"GPU over TPU grows with the network", "P8"},
    {"CNN are made for TPUs", "P10"},
    {"real networks follow their family", "P11"},
    {"RNN of wide cells are faster on GPUs than on TPUs", "P10"},
    {"TPU software has gained much", "P12"},
    {"bf16 is faster than f32", "P12"},
    {"GPU software has gained, too", "P12"},
};

static void plan(struct ll_study_plan *plan)
{
    (void)plan;
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"number", 0}, {"observation", LL_TEXT_COLUMN}, {"study", LL_TEXT_COLUMN}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "Observations, in the paper's order.", columns, 3);
    char text[32];
    int looked_at = 0;
    (void)runs;
    for (size_t i = 0; i < sizeof observations / sizeof *observations; i++) {
        ll_table_put_number(table, (double)i + 1);
        ll_table_put_text(table, observations[i].observation);
        ll_table_put_text(table, observations[i].study);
        looked_at += ll_study_find(observations[i].study) != NULL;
    }
    snprintf(text, sizeof text, "%d", looked_at);
    ll_criterion_info(result, "a list, no measurement", text, "14", "observations that a study looks at");
}

const struct ll_study ll_study_PT1 = {
    .id = "P-T1",
    .paper = "ParaDnn, table 1",
    .title = "Fourteen observations",
    .doc = "What the paper observes, in our words, and where it is judged here.",
    .plan = plan,
    .judge = judge,
};

/* The platforms: what is printed, what follows from it, and what our machine files have. */

/* Table 3. */
static const struct printed {
    const char *name, *machine;
    double memory_bytes, bandwidth_Bps, flops;
    enum ll_dtype dtype;
} printed[] = {
    {"Skylake", "n1_standard_32", 120e9, 16.6e9, 2e12, LL_F32},
    {"V100", "v100_sxm_16gb+archive/paradnn", 16e9, 900e9, 125e12, LL_F16},
    {"TPU v2", "tpu_v2", 64e9, 2400e9, 180e12, LL_BF16},
    {"TPU v3", "tpu_v3", 128e9, 3600e9, 420e12, LL_BF16},
};
enum { V2 = 2, V3 = 3, PRINTED = sizeof printed / sizeof *printed };

static void plan_hardware(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < PRINTED; i++)
        ll_study_plan_machine(
            plan, &(struct ll_study_machine){.name = printed[i].name, .machine = printed[i].machine});
    ll_study_plan_machine(plan, &(struct ll_study_machine){.name = "TPU v3 core at the paper's clock",
                                                           .machine = "archive/tpu_v3_paradnn"});
}

/* The last criterion is the peak of a TPU v3's machine file, whose clock was published after the paper. The
 * last machine of the plan is a core at the clock that the paper's peak means. */
static void explain_peak(const struct ll_runs *runs, const struct printed *row, double ours_flops,
                         double low_tera, double high_tera, struct ll_study_result *result)
{
    enum { CORES = 8 };
    const double core_flops = ll_machine_peak_flops(runs->machines[PRINTED], row->dtype);
    const double flops_a_cycle = ours_flops / runs->machines[V3]->clock_hz;
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed =
            "the clock of archive/tpu_v3_paradnn, with which the studies of the paper's figures simulate",
        .reached = {CORES * core_flops * 1e-12, 1, " TFLOP/s"},
        .low = low_tera,
        .high = high_tera};
    ll_criterion_explain(result, &explanation,
                         "%.0f TFLOP/s over %.0f FLOP a cycle are a clock of %.0f MHz; of the %.0f MHz that "
                         "were published later come %.0f TFLOP/s",
                         row->flops * 1e-12, flops_a_cycle, row->flops / flops_a_cycle * 1e-6,
                         runs->machines[V3]->clock_hz * 1e-6, ours_flops * 1e-12);
}

static void judge_machine(const struct ll_runs *runs, size_t which, struct ll_study_table *table,
                          struct ll_study_result *result)
{
    const struct ll_machine *machine = runs->machines[which];
    const struct printed *row = &printed[which];
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    double flops = ll_machine_peak_flops(machine, row->dtype);
    const double ours[] = {(double)memory->size_bytes * 1e-9, memory->bandwidth_Bps * 1e-9, flops * 1e-12};
    const double theirs[] = {row->memory_bytes * 1e-9, row->bandwidth_Bps * 1e-9, row->flops * 1e-12};
    static const char *const what[] = {"memory", "bandwidth", "peak"}, *const units[] = {" GB", " GB/s",
                                                                                         " TFLOP/s"};
    for (int i = 0; i < 3; i++) {
        double tolerance = i == 0 ? 0.075 : 0.03; /* 16 GiB are 17.2 GB */
        ll_table_put_text(table, row->name);
        ll_table_put_text(table, what[i]);
        ll_table_put_number(table, theirs[i]);
        ll_table_put_number(table, ours[i]);
        ll_criterion_between(result, (struct ll_measured_value){ours[i], 1, units[i]},
                             theirs[i] * (1 - tolerance), theirs[i] * (1 + tolerance),
                             "%s: %s of the machine file", row->name, what[i]);
        if (which == V3 && i == 2)
            explain_peak(runs, row, flops, theirs[i] * (1 - tolerance), theirs[i] * (1 + tolerance), result);
    }
}

/* Quotients of printed numbers, and what the paper or public traces say of them, as rounded there. */
static void judge_derived(struct ll_study_result *result)
{
    const struct printed *v2 = &printed[V2], *v3 = &printed[V3];
    const struct {
        struct ll_measured_value value;
        double published, rounding;
        const char *claim;
    } of[] = {
        {{2 * 32 * 16 * 2e9 * 1e-12, 3, " TFLOP/s"}, 2, 0.5, "Skylake: 2 x 32 x 16 x 2 GHz"},
        {{v2->flops / v2->bandwidth_Bps, 1, " FLOP/B"}, 75, 0.5, "ridge of a TPU v2, by the table"},
        {{v3->flops / v3->bandwidth_Bps, 1, " FLOP/B"}, 117, 0.5, "ridge of a TPU v3, by the table"},
        {{v3->flops / v2->flops, 2, ""}, 2.3, 0.05, "peak of a TPU v3 over that of a TPU v2, by the table"},
        {{8 * 281.25 * 1.073741824, 1, " GB/s"},
         2415.8,
         0.15,
         "8 x 281.25 GiB/s, and what the profiler of the public traces divides by"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        ll_criterion_between(result, of[i].value, of[i].published - of[i].rounding,
                             of[i].published + of[i].rounding, "%s", of[i].claim);
}

static void judge_hardware(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"platform", LL_TEXT_COLUMN}, {"quantity", LL_TEXT_COLUMN}, {"printed", 1}, {"ours", 1}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "GB, GB/s and TFLOP/s that the paper prints, and ours.", columns, 4);
    for (size_t i = 0; i < PRINTED; i++)
        judge_machine(runs, i, table, result);
    judge_derived(result);
    ll_study_note(
        result,
        "Google later says 123 TFLOP/s a chip of a TPU v3, 492 a board, which our machine file has; 420, "
        "which the paper prints, were public at its time. Studies of the paper's figures use 420 "
        "(archive/tpu_v3_paradnn+archive/paradnn). 900 GB/s a chip confirm the paper's estimate of 3600.");
}

const struct ll_study ll_study_PT3 = {
    .id = "P-T3",
    .paper = "ParaDnn, table 3",
    .title = "The platforms",
    .doc =
        "Memory, bandwidth and peak of a Skylake, a V100, a TPU v2 and a TPU v3, and what follows from them.",
    .plan = plan_hardware,
    .judge = judge_hardware,
};

/* The ranges of ParaDnn's families, enumerated. */

/* Points as the paper counts them. */
static const double published[LL_PARADNN_FAMILIES] = {
    [LL_PARADNN_FC] = 9720, [LL_PARADNN_BOTTLENECK] = 1080, [LL_PARADNN_RESIDUAL] = 1080,
    [LL_PARADNN_RNN] = 720, [LL_PARADNN_LSTM] = 720,        [LL_PARADNN_GRU] = 720,
};

static void values_of(const struct ll_family_axis *axis, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < ll_family_axis_values(axis); i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i ? ", " : "", axis->values[i]);
}

/* Points come in the order of their values, so each is later than the one before it. */
static bool all_differ(const struct ll_family *family)
{
    uint64_t before[LL_MOST_FAMILY_AXES] = {0}, now[LL_MOST_FAMILY_AXES] = {0};
    for (uint64_t i = 0; i < ll_family_size(family); i++) {
        bool later = false, equal = true;
        ll_family_point(family, i, now);
        for (size_t axis = 0; axis < ll_family_axes(family) && equal; axis++) {
            later = now[axis] > before[axis];
            equal = now[axis] == before[axis];
        }
        if (!later)
            return false;
        for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
            before[axis] = now[axis];
    }
    return true;
}

static void judge_families(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                     {"parameter", LL_TEXT_COLUMN},
                                                     {"values", LL_TEXT_COLUMN},
                                                     {"points of the family", 0}};
    struct ll_study_table *table = ll_study_table_new(result, NULL, "The ranges of each family.", columns, 4);
    (void)runs;
    for (int s = 0; s < LL_PARADNN_FAMILIES; s++) {
        const struct ll_family *family = &ll_paradnn_families[s];
        uint64_t points = ll_family_size(family);
        for (size_t axis = 0; axis < ll_family_axes(family); axis++) {
            char text[128];
            values_of(&family->axes[axis], text, sizeof text);
            ll_table_put_text(table, family->name);
            ll_table_put_text(table, family->axes[axis].key);
            ll_table_put_text(table, text);
            ll_table_put_number(table, (double)points);
        }
        ll_criterion_between(result, (struct ll_measured_value){(double)points, 0, ""}, published[s],
                             published[s], "points of %s", family->name);
        ll_criterion_holds(result, all_differ(family), all_differ(family) ? "all differ" : "some are equal",
                           "all differ", "points of %s, one by one", family->name);
    }
}

const struct ll_study ll_study_PT2 = {
    .id = "P-T2",
    .paper = "ParaDnn, table 2",
    .title = "Ranges of the families",
    .doc = "Fully connected, convolutional and recurrent networks of which each parameter takes the values "
           "listed: 9,720 "
           "networks and batches, 1,080 for each type of block, 720 for each type of cell.",
    .plan = plan,
    .judge = judge_families,
};

static const struct ll_paradnn_measured at_hand[] = {
#define LL_MEASURED(layers, nodes, input, output, batch, time_s)                                             \
    {layers, nodes, input, output, batch, time_s},
#include "sim/study/paradnn_measured.def"
#undef LL_MEASURED
};

/* What data calls a platform. */
static const char *const hardware[LL_PARADNN_PLATFORMS] = {
    [LL_PARADNN_TPU2] = "Google TPUv2-8 (4 chips)",
    [LL_PARADNN_V100] = "NVIDIA V100 (ParaDnn)",
};

/* 0 where there is none. */
static uint64_t number_of(const struct ll_measured *row, const char *key)
{
    uint64_t number = 0;
    ll_measured_number(row, key, UINT64_C(1) << LL_DIM_BITS, &number);
    return number;
}

static bool is_of(const struct ll_measured *row, enum ll_paradnn_platform platform)
{
    const char *model = ll_measured_text(row, "model");
    return hardware[platform] && strcmp(row->hardware, hardware[platform]) == 0 && model &&
           strncmp(model, "paradnn_fc", strlen("paradnn_fc")) == 0;
}

const struct ll_paradnn_measured *ll_paradnn_rows(const struct ll_runs *runs,
                                                  enum ll_paradnn_platform platform, size_t *count)
{
    assert(platform < LL_PARADNN_PLATFORMS);
    *count = 0;
    if (runs->measured_count == 0) {
        *count = platform == LL_PARADNN_TPU2 ? sizeof at_hand / sizeof *at_hand : 0;
        return at_hand;
    }
    struct ll_paradnn_measured *rows = ll_alloc(runs->arena, runs->measured_count, sizeof *rows);
    for (uint64_t i = 0; rows && i < runs->measured_count; i++) {
        const struct ll_measured *row = &runs->measured[i];
        if (is_of(row, platform))
            rows[(*count)++] = (struct ll_paradnn_measured){
                number_of(row, "layers"), number_of(row, "nodes"), number_of(row, "input"),
                number_of(row, "output"), number_of(row, "batch"), row->time_s};
    }
    return rows;
}

/* What runs out of memory: the grid that was tried on a TPU v2, all of whose outcomes are known. */

/* The released runs: two inputs, two outputs, all else as in table 2. */
const struct ll_family ll_paradnn_tried = {
    "tried", "fully connected, as tried", "paradnn_fc",
    .axes = {{"layers", {4, 8, 16, 32, 64, 128}},
             {"nodes", {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}},
             {"input", {2000, 8000}},
             {"output", {200, 1000}},
             {"batch", {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}}}};

const struct ll_experiment_point *ll_paradnn_simulated(const struct ll_experiment_result *experiment,
                                                       enum ll_paradnn_platform platform,
                                                       const struct ll_paradnn_measured *row)
{
    const uint64_t wanted[] = {row->layers, row->nodes, row->input, row->output, row->batch};
    uint64_t point = 0;
    for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++) {
        const struct ll_family_axis *of = &experiment->experiment.family->axes[axis];
        uint64_t place = 0, count = ll_family_axis_values(of);
        while (place < count && of->values[place] != wanted[axis])
            place++;
        if (place == count)
            return NULL;
        point = point * count + place;
    }
    const struct ll_experiment_point *at = ll_experiment_at(experiment, point, platform);
    return at->simulated ? at : NULL;
}

/* What the figures of ParaDnn are made of: numbers by point, their regression on the parameters, means by
 * cells. */

double *ll_paradnn_column(const struct ll_experiment_result *experiment, size_t platform,
                          ll_experiment_number *number, struct ll_arena *arena)
{
    assert(platform < experiment->experiment.platform_count);
    double *column = ll_alloc(arena, experiment->count, sizeof *column);
    for (uint64_t i = 0; column && i < experiment->count; i++)
        column[i] =
            ll_experiment_at(experiment, i, platform)->simulated ? number(experiment, i, platform) : NAN;
    return column;
}

double ll_paradnn_utilization(const struct ll_experiment_result *experiment, uint64_t i, size_t platform)
{
    assert(i < experiment->count && platform < experiment->experiment.platform_count);
    return ll_experiment_utilization(ll_experiment_at(experiment, i, platform));
}

/* Regresses on `axes` columns of `count` values each. */
static struct ll_paradnn_weights weigh(double *const *values, size_t axes, const double *numbers,
                                       uint64_t count)
{
    struct ll_predictor predictors[LL_MOST_FAMILY_AXES] = {{0}};
    struct ll_paradnn_weights weights = {.r2 = NAN};
    for (size_t axis = 0; axis < axes; axis++) {
        predictors[axis].numbers = values[axis];
        weights.of[axis] = NAN;
        if (!values[axis])
            return weights;
    }
    if (numbers)
        ll_regress(predictors, axes, numbers, count, weights.of, &weights.r2);
    return weights;
}

struct ll_paradnn_weights ll_paradnn_weigh(const struct ll_experiment_result *experiment,
                                           const double *numbers, struct ll_arena *arena)
{
    assert(numbers);
    double *values[LL_MOST_FAMILY_AXES];
    size_t axes = ll_family_axes(experiment->experiment.family);
    for (size_t axis = 0; axis < axes; axis++) {
        values[axis] = ll_alloc(arena, experiment->count, sizeof **values);
        for (uint64_t i = 0; values[axis] && i < experiment->count; i++)
            values[axis][i] = (double)ll_experiment_value(experiment, i, axis);
    }
    return weigh(values, axes, numbers, experiment->count);
}

struct ll_paradnn_weights ll_paradnn_weigh_measured(const struct ll_paradnn_measured *rows, size_t count,
                                                    const double *numbers, struct ll_arena *arena)
{
    assert(rows || count == 0);
    double *values[LL_MOST_FAMILY_AXES];
    for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
        values[axis] = ll_alloc(arena, count, sizeof **values);
    for (size_t i = 0; i < count; i++) {
        const uint64_t of[] = {rows[i].layers, rows[i].nodes, rows[i].input, rows[i].output, rows[i].batch};
        for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
            if (values[axis])
                values[axis][i] = (double)of[axis];
    }
    return weigh(values, LL_MOST_FAMILY_AXES, numbers, count);
}

struct ll_study_table *ll_paradnn_weights_table(struct ll_study_result *result, const char *name,
                                                const char *caption)
{
    static const struct ll_study_column columns[] = {
        {"family", LL_TEXT_COLUMN}, {"parameter", LL_TEXT_COLUMN}, {"weight", 3}, {"R2", 3}};
    return ll_study_table_new(result, name, caption, columns, sizeof columns / sizeof *columns);
}

void ll_paradnn_put_weights(struct ll_study_table *table, const char *what, const struct ll_family *family,
                            const struct ll_paradnn_weights *weights)
{
    for (size_t axis = 0; axis < ll_family_axes(family); axis++) {
        ll_table_put_text(table, what);
        ll_table_put_text(table, family->axes[axis].key);
        ll_table_put_number(table, weights->of[axis]);
        ll_table_put_number(table, weights->r2);
    }
}

/* What a parameter raises stands above the line, what it lowers hangs from it. */
void ll_paradnn_draw_weights(struct ll_svg *svg, struct ll_rect box, const char *title,
                             const struct ll_family *family, const struct ll_paradnn_weights *weights)
{
    static const char *const series[] = {"weight"};
    const char *groups[LL_MOST_FAMILY_AXES];
    size_t axes = ll_family_axes(family);
    for (size_t axis = 0; axis < axes; axis++)
        groups[axis] = family->axes[axis].key;
    ll_draw_bars(svg, box,
                 &(struct ll_bars){.title = title,
                                   .y_label = "weight (standard deviations)",
                                   .groups = groups,
                                   .group_count = axes,
                                   .series = series,
                                   .series_count = 1,
                                   .values = weights->of});
}

static size_t place_of(const struct ll_family_axis *axis, uint64_t value)
{
    size_t place = 0;
    while (axis->values[place] != value)
        place++;
    return place;
}

double *ll_paradnn_cells(const struct ll_experiment_result *experiment, const double *numbers,
                         size_t row_axis, size_t column_axis, struct ll_arena *arena)
{
    assert(row_axis != column_axis && row_axis < LL_MOST_FAMILY_AXES && column_axis < LL_MOST_FAMILY_AXES);
    const struct ll_family_axis *rows = &experiment->experiment.family->axes[row_axis],
                                *columns = &experiment->experiment.family->axes[column_axis];
    size_t width = ll_family_axis_values(columns), cells = ll_family_axis_values(rows) * width;
    double *sums = ll_alloc(arena, cells, sizeof *sums), *counts = ll_alloc(arena, cells, sizeof *counts);
    for (uint64_t i = 0; sums && counts && numbers && i < experiment->count; i++) {
        size_t cell = place_of(rows, ll_experiment_value(experiment, i, row_axis)) * width +
                      place_of(columns, ll_experiment_value(experiment, i, column_axis));
        if (isfinite(numbers[i])) {
            sums[cell] += numbers[i];
            counts[cell]++;
        }
    }
    for (size_t i = 0; sums && counts && i < cells; i++)
        sums[i] = counts[i] > 0 ? sums[i] / counts[i] : NAN;
    return counts ? sums : NULL;
}

struct labels {
    char text[LL_MOST_FAMILY_VALUES][24];
    const char *at[LL_MOST_FAMILY_VALUES];
    size_t count;
};

/* "nodes 32", then the numbers alone. */
static struct labels *label(const struct ll_family_axis *axis, struct labels *labels)
{
    labels->count = ll_family_axis_values(axis);
    for (size_t i = 0; i < labels->count; i++) {
        snprintf(labels->text[i], sizeof labels->text[i], "%s %" PRIu64, axis->key, axis->values[i]);
        labels->at[i] = labels->text[i];
    }
    return labels;
}

void ll_paradnn_draw_cells(struct ll_svg *svg, struct ll_rect box, const struct ll_paradnn_heat *heat)
{
    assert(heat->row_axis != heat->column_axis);
    struct labels rows, columns;
    label(&heat->family->axes[heat->row_axis], &rows);
    label(&heat->family->axes[heat->column_axis], &columns);
    if (heat->cells)
        ll_draw_heat(svg, box,
                     &(struct ll_heat){.title = heat->title,
                                       .unit = heat->unit,
                                       .grey = heat->grey,
                                       .rows = rows.at,
                                       .row_count = rows.count,
                                       .columns = columns.at,
                                       .column_count = columns.count,
                                       .values = heat->cells,
                                       .full = heat->full,
                                       .middle = heat->middle,
                                       .decimals = heat->full < 10 || heat->middle > 0 ? 1 : 0});
}
