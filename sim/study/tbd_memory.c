/* SPDX-License-Identifier: Apache-2.0 */
/* TBD's studies of memory (figure 9), and of the kernels of ResNet-50 that use its GPU least (tables 5 and
 * 6). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/report/figure/figure.h"
#include "sim/study/tbd.h"
#include "tracer/base/str.h"

static const double gib = (double)(1 << 30);

/* The paper's tool tells of the most that was ever allocated, so speech counts with its longest utterances:
 * the suite's last bucket. */
static const struct ll_study_setting longest = {"frames", "1600"};

/* The translators' last bucket, beside the sentences that are usual. */
static const enum ll_tbd_row translators[] = {LL_TBD_NMT, LL_TBD_SOCKEYE};
enum { TRANSLATORS = sizeof translators / sizeof *translators };
static const char longest_variant[] = "100 words";

static void plan_translator(struct ll_study_plan *plan, enum ll_tbd_row row)
{
    ll_study_plan_recording(plan,
                            &(struct ll_recording){.row = ll_tbd[row].name,
                                                   .variant = longest_variant,
                                                   .model = ll_tbd[row].model,
                                                   .settings = {{"source", "100"}, {"target", "100"}},
                                                   .train = true,
                                                   .dry_run = true,
                                                   .batch = ll_tbd[row].batches[ll_tbd_batch_count(row) - 1],
                                                   .steps = 2});
}

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < TRANSLATORS; i++)
        plan_translator(plan, translators[i]);
    for (size_t i = 0; i < LL_TBD_COUNT; i++) {
        enum ll_tbd_row row = (enum ll_tbd_row)i;
        if (row != LL_TBD_DEEP_SPEECH)
            ll_tbd_plan_sweep(plan, row);
        for (size_t b = 0; row == LL_TBD_DEEP_SPEECH && b < ll_tbd_batch_count(row); b++)
            ll_tbd_plan_batch_with(plan, row, ll_tbd[row].batches[b], longest);
    }
    ll_tbd_plan_card(plan, LL_TBD_P4000);
}

/* What a training step holds of each kind at most, by mini-batch. */
struct held {
    enum ll_tbd_row row;
    size_t count; /* 0: there is no such workload */
    double batches[LL_TBD_MOST_BATCHES], bytes[LL_TBD_MOST_BATCHES][LL_HOLDS_COUNT];
    double capacity_bytes;
};

static double total(const struct held *held, size_t at)
{
    double bytes = 0;
    for (int i = 0; i < LL_HOLDS_COUNT; i++)
        bytes += held->bytes[at][i];
    return bytes;
}

static double share(const struct held *held, size_t at, enum ll_training_memory memory)
{
    return 100 * held->bytes[at][memory] / total(held, at);
}

static void collect(const struct ll_runs *runs, struct held all[LL_TBD_COUNT])
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        struct held *held = &all[row];
        *held = (struct held){.row = (enum ll_tbd_row)row};
        for (size_t i = 0; i < ll_tbd_batch_count(held->row); i++) {
            const struct ll_result *replay = ll_tbd_replay(runs, held->row, ll_tbd[row].batches[i],
                                                           ll_tbd_target(LL_TBD_P4000, ll_tbd[row].first));
            if (!replay)
                continue;
            const struct ll_machine *machine = replay->machine;
            held->capacity_bytes = (double)machine->levels[machine->level_count - 1].size_bytes;
            held->batches[held->count] = (double)ll_tbd[row].batches[i];
            for (int m = 0; m < LL_HOLDS_COUNT; m++)
                held->bytes[held->count][m] = (double)replay->prepared->footprint.most_bytes[m];
            held->count++;
        }
    }
}

/* Square of the correlation of feature maps with the mini-batch: 1 on a straight line. */
static double straightness(const struct held *held)
{
    double n = (double)held->count, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < held->count; i++) {
        double b = held->batches[i], bytes = held->bytes[i][LL_HOLDS_FEATURE_MAPS];
        x += b;
        y += bytes;
        xx += b * b;
        yy += bytes * bytes;
        xy += b * bytes;
    }
    double both = n * xy - x * y;
    return both * both / ((n * xx - x * x) * (n * yy - y * y));
}

static void tabulate(const struct held *all, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"workload", LL_TEXT_COLUMN},  {"mini-batch", 0},         {"weights (GiB)", 3},
        {"weight gradients (GiB)", 3}, {"feature maps (GiB)", 3}, {"workspace (GiB)", 3},
        {"dynamic (GiB)", 3},          {"total (GiB)", 3},        {"feature maps (%)", 1}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "The most that training holds of each kind of memory.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        for (size_t i = 0; i < all[row].count; i++) {
            ll_table_put_text(table, ll_tbd[row].name);
            ll_table_put_number(table, all[row].batches[i]);
            for (int m = 0; m < LL_HOLDS_COUNT; m++)
                ll_table_put_number(table, all[row].bytes[i][m] / gib);
            ll_table_put_number(table, total(&all[row], i) / gib);
            ll_table_put_number(table, share(&all[row], i, LL_HOLDS_FEATURE_MAPS));
        }
}

static void draw(const struct held *all, struct ll_study_result *result)
{
    const char *names[LL_TBD_COUNT], *kinds[LL_HOLDS_COUNT];
    double values[(size_t)LL_TBD_COUNT * LL_HOLDS_COUNT];
    size_t count = 0;
    for (int m = 0; m < LL_HOLDS_COUNT; m++)
        kinds[m] = ll_training_memory_name((enum ll_training_memory)m);
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        if (all[row].count == 0)
            continue;
        names[count] = ll_tbd[row].name;
        for (int m = 0; m < LL_HOLDS_COUNT; m++)
            values[count * LL_HOLDS_COUNT + (size_t)m] = all[row].bytes[all[row].count - 1][m] / gib;
        count++;
    }
    if (count == 0)
        return;
    struct ll_svg svg = {
        ll_study_figure_new(result, NULL, "Memory of training at the largest mini-batch, by kind.")};
    const struct ll_page page = {"Memory of training",
                                 "A stack of kinds for each workload.",
                                 1,
                                 1,
                                 760,
                                 340,
                                 "Simulated: Quadro P4000 (quadro_p4000)"};
    ll_page_open(&svg, &page);
    ll_draw_bars(&svg, ll_page_panel(&page, 0),
                 &(struct ll_bars){.y_label = "GiB",
                                   .groups = names,
                                   .group_count = count,
                                   .series = kinds,
                                   .series_count = LL_HOLDS_COUNT,
                                   .values = values,
                                   .stacked = true,
                                   .line = 8,
                                   .line_name = "the card's memory"});
    ll_svg_close(&svg);
}

static void judge_workload(const struct held *held, struct ll_study_result *result)
{
    const char *name = ll_tbd[held->row].name;
    size_t last = held->count - 1;
    const double *bytes = held->bytes[last];
    double largest = 0, low = INFINITY, high = 0;
    for (int m = 0; m < LL_HOLDS_COUNT; m++)
        largest = m == LL_HOLDS_FEATURE_MAPS ? largest : fmax(largest, bytes[m]);
    for (size_t i = 0; i < held->count; i++) {
        low = fmin(low, held->bytes[i][LL_HOLDS_WEIGHTS]);
        high = fmax(high, held->bytes[i][LL_HOLDS_WEIGHTS]);
    }
    ll_criterion_at_least(result, (struct ll_measured_value){bytes[LL_HOLDS_FEATURE_MAPS] / largest, 2, ""},
                          1, "%s: feature maps over the next largest kind of memory", name);
    if (held->count > 2)
        ll_criterion_at_least(result, (struct ll_measured_value){straightness(held), 4, ""}, 0.99,
                              "%s: feature maps are linear in the mini-batch, R2", name);
    if (held->count > 1)
        ll_criterion_at_most(result, (struct ll_measured_value){high - low, 0, " B"}, 0,
                             "%s: by how much weights differ between mini-batches", name);
    ll_criterion_at_most(result, (struct ll_measured_value){total(held, last) / gib, 2, " GiB"},
                         held->capacity_bytes / gib, "%s: total at the largest mini-batch", name);
}

/* From 62 to 89 % in the figure, with the tolerances of the two whose share is printed. */
static const double least_share = 50, most_share = 95;

static void judge_share(const struct held *held, struct ll_study_result *result)
{
    ll_criterion_between(
        result, (struct ll_measured_value){share(held, held->count - 1, LL_HOLDS_FEATURE_MAPS), 1, " %"},
        least_share, most_share,
        "%s: share of feature maps at the largest mini-batch (published: 62 to 89 %%)",
        ll_tbd[held->row].name);
}

/* The translators with the longest sentences, for which most is ever allocated. */
static void judge_sentences(const struct ll_runs *runs, enum ll_tbd_row row, struct ll_study_result *result)
{
    const struct ll_result *replay = ll_runs_replay(runs, ll_tbd[row].name, longest_variant,
                                                    ll_tbd_target(LL_TBD_P4000, ll_tbd[row].first));
    const bool printed = row == LL_TBD_SOCKEYE; /* 89 %, as ResNet-50's */
    double all = 0;
    if (!replay)
        return;
    const uint64_t *bytes = replay->prepared->footprint.most_bytes;
    for (int m = 0; m < LL_HOLDS_COUNT; m++)
        all += (double)bytes[m];
    ll_criterion_between(
        result, (struct ll_measured_value){100 * (double)bytes[LL_HOLDS_FEATURE_MAPS] / all, 1, " %"},
        printed ? 80 : least_share, most_share,
        "%s with sentences of 100 words, the suite's longest: share of feature maps (published: %s)",
        ll_tbd[row].name, printed ? "89 %" : "62 to 89 %");
}

static bool translates(size_t row)
{
    bool found = false;
    for (size_t i = 0; i < TRANSLATORS; i++)
        found |= translators[i] == row;
    return found;
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct held all[LL_TBD_COUNT];
    collect(runs, all);
    tabulate(all, result);
    draw(all, result);
    const struct held *resnet = &all[LL_TBD_RESNET], *speech = &all[LL_TBD_DEEP_SPEECH];
    double of_resnet = resnet->count ? share(resnet, resnet->count - 1, LL_HOLDS_FEATURE_MAPS) : NAN;
    double of_speech = speech->count ? share(speech, speech->count - 1, LL_HOLDS_FEATURE_MAPS) : NAN;
    ll_criterion_between(result, (struct ll_measured_value){of_resnet, 1, " %"}, 80, 95,
                         "ResNet-50 with 32 images: share of feature maps (89 %% published)");
    ll_criterion_between(result, (struct ll_measured_value){of_speech, 1, " %"}, 50, 75,
                         "Deep Speech 2: share of feature maps (62 %% published)");
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        if (all[row].count > 0)
            judge_workload(&all[row], result);
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        if (all[row].count > 0 && row != LL_TBD_RESNET && row != LL_TBD_DEEP_SPEECH && !translates(row))
            judge_share(&all[row], result);
    for (size_t i = 0; i < TRANSLATORS; i++)
        judge_sentences(runs, translators[i], result);
    ll_study_note(
        result,
        "Of each kind the most that ever lives, as the paper's tool counts allocations; kinds need not be "
        "at their most at the same moment. Utterances of Deep Speech 2 are of 16 s, the suite's longest "
        "bucket. Gradients that no update reads are feature maps. The scratch memory of libraries' "
        "kernels is not in a trace, so workspace is less than the paper's.");
}

const struct ll_study ll_study_T8 = {
    .id = "T8",
    .paper = "TBD, figure 8",
    .title = "Memory of training by kind",
    .doc = "Feature maps take most of the memory, 62 % (Deep Speech 2) to 89 % (ResNet-50, Sockeye), and "
           "grow with "
           "the mini-batch, while weights do not: to fit more, feature maps must shrink.",
    .plan = plan,
    .judge = judge,
};

/* Tables V and VI ask which kernels are worth making better: long ones of low utilization. Here a kernel is
 * all ops of a kind in a phase. */

enum { BATCH = 32, LONGEST = 5, SHOWN = 10, MOST_KINDS = 64 };

/* clang-format off */
/* The two tables: kernel, share of the step's GPU time and FP32 utilization in percent. */
static const struct {
    const char *framework, *kernel;
    double share, utilization;
} printed[] = {
    {"TensorFlow", "magma sgemm", 8.36, 30.0},
    {"TensorFlow", "batch norm, forward", 5.53, 42.3},
    {"TensorFlow", "batch norm, forward (training)", 4.65, 46.3},
    {"TensorFlow", "Eigen, element-wise", 3.12, 20.0},
    {"TensorFlow", "bias", 2.48, 40.0},
    {"MXNet", "batch norm, backward", 9.43, 40.7},
    {"MXNet", "batch norm, forward (training)", 7.96, 44.0},
    {"MXNet", "activation, backward", 5.14, 10.0},
    {"MXNet", "activation, forward", 3.52, 10.0},
    {"MXNet", "generic", 2.85, 25.4},
};
/* clang-format on */

static void plan_kernels(struct ll_study_plan *plan)
{
    ll_tbd_plan_batch(plan, LL_TBD_RESNET, BATCH);
    ll_tbd_plan_card(plan, LL_TBD_P4000);
}

struct kernel {
    enum ll_op_kind kind;
    const char *name;
    double active_s, flops;
    double share, utilization; /* of the device's active time; of the peak meanwhile */
    size_t order;
};

struct kernels {
    struct kernel at[MOST_KINDS];
    size_t count;
    double mean; /* of utilization, each kernel counting as long as it takes */
};

static struct kernel *find(struct kernels *kernels, enum ll_op_kind kind, const char *name)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->at[i].kind == kind)
            return &kernels->at[i];
    if (kernels->count == MOST_KINDS)
        return &kernels->at[MOST_KINDS - 1]; /* the last takes all others */
    kernels->at[kernels->count] = (struct kernel){.kind = kind, .name = name, .order = kernels->count};
    return &kernels->at[kernels->count++];
}

static int by_time(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    if (a->active_s != b->active_s)
        return a->active_s < b->active_s ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

static void collect_kernels(const struct ll_result *replay, struct kernels *kernels)
{
    const struct ll_prepared *prepared = replay->prepared;
    const struct ll_trace *trace = prepared->trace;
    enum ll_dtype computed;
    double peak = ll_computed_peak_flops(replay->machine, prepared->dtype, &computed), active_s = 0,
           flops = 0;
    *kernels = (struct kernels){.count = 0};
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
        if (ll_op_class(signature->view.kind) == LL_CLASS_INPUT)
            continue;
        struct kernel *kernel = find(kernels, signature->view.kind, trace->strings[signature->kind_name]);
        kernel->active_s += replay->ops[seq - prepared->first_op].active_s;
        kernel->flops += (double)signature->flops;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        active_s += kernels->at[i].active_s;
        flops += kernels->at[i].flops;
    }
    qsort(kernels->at, kernels->count, sizeof *kernels->at, by_time);
    for (size_t i = 0; i < kernels->count; i++) {
        struct kernel *kernel = &kernels->at[i];
        kernel->share = kernel->active_s / active_s;
        kernel->utilization = kernel->active_s > 0 ? kernel->flops / (peak * kernel->active_s) : 0;
    }
    kernels->mean = flops / (peak * active_s);
}

static bool begins(const struct kernel *kernel, const char *text)
{
    return strncmp(kernel->name, text, strlen(text)) == 0;
}

static void tabulate_kernels(const struct kernels *kernels, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"op kind", LL_TEXT_COLUMN},
                                                     {"share of GPU time (%)", 2},
                                                     {"FP32 utilization (%)", 1},
                                                     {"below the mean", LL_TEXT_COLUMN}};
    static const struct ll_study_column theirs[] = {{"framework", LL_TEXT_COLUMN},
                                                    {"kernel", LL_TEXT_COLUMN},
                                                    {"share of GPU time (%)", 2},
                                                    {"FP32 utilization (%)", 1}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "ResNet-50 with 32 images, simulated: op kinds by time.", columns,
                           sizeof columns / sizeof *columns);
    for (size_t i = 0; i < kernels->count; i++) {
        ll_table_put_text(table, kernels->at[i].name);
        ll_table_put_number(table, 100 * kernels->at[i].share);
        ll_table_put_number(table, 100 * kernels->at[i].utilization);
        ll_table_put_text(table, kernels->at[i].utilization < kernels->mean ? "yes" : "no");
    }
    table = ll_study_table_new(result, "printed", "The five longest kernels below the average, as printed.",
                               theirs, sizeof theirs / sizeof *theirs);
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        ll_table_put_text(table, printed[i].framework);
        ll_table_put_text(table, printed[i].kernel);
        ll_table_put_number(table, printed[i].share);
        ll_table_put_number(table, printed[i].utilization);
    }
}

static void draw_kernels(const struct kernels *kernels, struct ll_study_result *result)
{
    static const char *const series[] = {"share of GPU time", "FP32 utilization"};
    const char *names[SHOWN];
    double values[2 * SHOWN];
    size_t count = kernels->count < SHOWN ? kernels->count : SHOWN;
    for (size_t i = 0; i < count; i++) {
        names[i] = kernels->at[i].name;
        values[2 * i] = 100 * kernels->at[i].share;
        values[2 * i + 1] = 100 * fmin(kernels->at[i].utilization, 1.5);
    }
    struct ll_svg svg = {ll_study_figure_new(
        result, NULL, "The op kinds that take longest, and how much of the arithmetic they use.")};
    const struct ll_page page = {"ResNet-50 with 32 images on a Quadro P4000",
                                 "Groups of two bars: share of time and utilization of an op kind.",
                                 1,
                                 1,
                                 760,
                                 380,
                                 "Simulated: Quadro P4000 (quadro_p4000)"};
    ll_page_open(&svg, &page);
    ll_draw_bars(&svg, ll_page_panel(&page, 0),
                 &(struct ll_bars){.y_label = "%",
                                   .groups = names,
                                   .group_count = count,
                                   .series = series,
                                   .series_count = 2,
                                   .values = values,
                                   .line = 100 * kernels->mean,
                                   .line_name = "mean utilization"});
    ll_svg_close(&svg);
}

/* What is among the five longest below the mean, and how long batch normalisation takes. */
static void judge_longest(const struct kernels *kernels, struct ll_study_result *result)
{
    struct ll_str names = {0};
    size_t listed = 0;
    double norms = 0;
    bool has_norm = false, has_activation = false;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct kernel *kernel = &kernels->at[i];
        norms += begins(kernel, "batch_norm") ? kernel->share : 0;
        if (kernel->utilization >= kernels->mean || listed == LONGEST)
            continue;
        ll_str_addf(&names, "%s%s", listed++ ? ", " : "", kernel->name);
        has_norm |= begins(kernel, "batch_norm");
        has_activation |= begins(kernel, "relu");
    }
    result->failed |= names.failed;
    ll_criterion_holds(result, has_norm && has_activation, names.text ? names.text : "",
                       "batch_norm and relu", "the five longest below the mean utilization");
    ll_criterion_between(result, (struct ll_measured_value){100 * norms, 1, " %"}, 8, 25,
                         "share of batch normalisation in the GPU's time (printed: at least 10.2 and 17.4)");
    ll_str_release(&names);
}

static void judge_kernels(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_result *replay =
        ll_tbd_replay(runs, LL_TBD_RESNET, BATCH, ll_tbd_target(LL_TBD_P4000, ll_tbd[LL_TBD_RESNET].first));
    struct kernels kernels;
    if (!replay)
        return;
    collect_kernels(replay, &kernels);
    tabulate_kernels(&kernels, result);
    draw_kernels(&kernels, result);
    judge_longest(&kernels, result);
    ll_study_note(
        result, "Utilization is algorithmic FLOPs over the peak: a convolution in a transformed domain may "
                "pass 100 %%, and a batch normalisation comes to a few percent, for which cuDNN's counters "
                "say 40 because they count all FP32 instructions. So the ranking compares, not the numbers.");
}

const struct ll_study ll_study_TT5 = {
    .id = "T-T5/T6",
    .paper = "TBD, tables V and VI",
    .title = "Long kernels of low utilization",
    .doc =
        "What to make better in ResNet-50: after the convolutions, batch normalisation and activations take "
        "longest, and use little of the arithmetic.",
    .plan = plan_kernels,
    .judge = judge_kernels,
};
