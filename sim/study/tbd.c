/* SPDX-License-Identifier: Apache-2.0 */
/* TBD, tables 2 to 4: layers and data of its workloads, its GPUs. */
#include "sim/study/tbd.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/report/figure/figure.h"
#include "tracer/base/str.h"
#include "tracer/ir/profile.h"

/* The paper does not say how it counts layers; each rule is the one that gives its number, asked of the
 * forward ops of a training step. */
static bool is_image_product(const struct ll_op_signature *signature)
{
    return signature->view.kind == LL_OP_CONV2D || signature->view.kind == LL_OP_MATMUL;
}

/* Shortcuts of a residual network are no layers. */
static bool is_layer(const struct ll_op_signature *signature, const char *scope)
{
    return is_image_product(signature) && !strstr(scope, "shortcut");
}

/* Table II, with the dominant layer; the parameters are those of the suite's code. `counted`: whether layers
 * can be counted by the rule above; of the others a number is shown and not judged. */
static const struct {
    const char *framework, *dominant;
    enum ll_op_class op_class; /* in which that layer's work lies */
    unsigned layers;
    bool counted;
    uint64_t parameters;
} printed[LL_TBD_COUNT] = {
    [LL_TBD_RESNET] = {"TensorFlow, MXNet, CNTK", "CONV", LL_CLASS_CONV, 50, true, 25549483},
    [LL_TBD_INCEPTION] = {"TensorFlow, MXNet, CNTK", "CONV", LL_CLASS_CONV, 42, false, 23817352},
    [LL_TBD_NMT] = {"TensorFlow", "LSTM", LL_CLASS_MATRIX, 5, false, 27190272},
    [LL_TBD_SOCKEYE] = {"MXNet", "LSTM", LL_CLASS_MATRIX, 5, false, 27733021},
    [LL_TBD_TRANSFORMER] = {"TensorFlow", "attention", LL_CLASS_MATRIX, 12, false, 61415424},
    [LL_TBD_FASTER_RCNN] = {"TensorFlow, MXNet", "CONV", LL_CLASS_CONV, 101, false, 47454562},
    [LL_TBD_DEEP_SPEECH] = {"MXNet", "RNN", LL_CLASS_MATRIX, 9, false, 181043613},
    [LL_TBD_WGAN] = {"TensorFlow", "CONV", LL_CLASS_CONV, 28, false, 8540483 + 7491841},
    [LL_TBD_A3C] = {"MXNet", "CONV", LL_CLASS_CONV, 4, false, 677429},
};

static void plan(struct ll_study_plan *plan)
{
    for (size_t row = 0; row < LL_TBD_COUNT; row++)
        ll_tbd_plan_batch(plan, (enum ll_tbd_row)row, ll_tbd[row].batches[0]);
}

/* Of the first step: forward layers, and FLOPs by class. */
struct counts {
    size_t layers;
    double class_flops[LL_CLASS_COUNT], flops;
};

static struct counts count(const struct ll_trace *trace)
{
    struct counts counts = {.layers = 0};
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (trace->ops[i].step != trace->ops[0].step || signature->view.kind == LL_OP_NONE)
            continue;
        const char *scope = trace->strings[signature->scope];
        counts.layers += signature->phase == LL_PHASE_FORWARD && is_layer(signature, scope);
        counts.class_flops[ll_op_class(signature->view.kind)] += (double)signature->flops;
        counts.flops += (double)signature->flops;
    }
    return counts;
}

static void put_row(struct ll_study_table *table, size_t row, const struct counts *counts, double parameters)
{
    ll_table_put_text(table, ll_tbd[row].name);
    ll_table_put_text(table, printed[row].framework);
    ll_table_put_number(table, printed[row].layers);
    ll_table_put_number(table, (double)counts->layers);
    ll_table_put_text(table, printed[row].dominant);
    ll_table_put_number(table, 100 * counts->class_flops[printed[row].op_class] / counts->flops);
    ll_table_put_number(table, parameters);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"frameworks", LL_TEXT_COLUMN},
                                                     {"layers", 0},
                                                     {"GEMMs simulated", 0},
                                                     {"dominant layer", LL_TEXT_COLUMN},
                                                     {"its class' FLOPs (%)", 1},
                                                     {"parameters", 0}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL,
                           "The workloads as the paper lists them, and as they are "
                           "here.",
                           columns, sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_TBD_COUNT; row++) {
        char variant[32];
        snprintf(variant, sizeof variant, "batch %d", (int)ll_tbd[row].batches[0]);
        const struct ll_trace *trace = ll_runs_trace(runs, ll_tbd[row].name, variant);
        const struct ll_profile *profile = trace ? ll_profile(trace, runs->arena) : NULL;
        if (!profile)
            continue;
        const struct counts counts = count(trace);
        put_row(table, row, &counts, (double)profile->parameters);
        ll_criterion_between(result, (struct ll_measured_value){(double)profile->parameters, 0, ""},
                             (double)printed[row].parameters, (double)printed[row].parameters,
                             "%s: parameters", ll_tbd[row].name);
        ll_criterion_at_least(result,
                              (struct ll_measured_value){
                                  100 * counts.class_flops[printed[row].op_class] / counts.flops, 1, " %"},
                              50, "%s: most work is in its dominant layers (%s)", ll_tbd[row].name,
                              printed[row].dominant);
        if (printed[row].counted)
            ll_criterion_between(result, (struct ll_measured_value){(double)counts.layers, 0, ""},
                                 printed[row].layers, printed[row].layers,
                                 "%s: layers, counting convolutions and GEMMs but for shortcuts",
                                 ll_tbd[row].name);
    }
    ll_study_note(
        result,
        "Layers as the paper counts them: whole LSTM layers or attention blocks, convolutions for "
        "Inception (42 of 94), both networks of WGAN (14 and 14), five recurrent layers in the run of "
        "Deep Speech 2 that the table gives nine. The GEMMs of an unrolled network are counted at "
        "each of its steps, WGAN's in all its passes.");
}

const struct ll_study ll_study_TT2 = {
    .id = "T-T2",
    .paper = "TBD, table II",
    .title = "The workloads",
    .doc = "The workloads of the suite with their frameworks, number of layers and dominant layers.",
    .plan = plan,
    .judge = judge,
};

enum { MOST_DIMS = 3 };

/* Table III, and what of it a network's input shows: dimensions of one sample, 0 for any, or the words that a
 * table of embeddings has beside those that are none. */
static const struct {
    enum ll_tbd_row row;
    const char *dataset, *samples, *size, *special;
    uint64_t dims[MOST_DIMS]; /* of the first input, without the batch; ended by 0 */
    const char *shown;        /* how that follows from the size */
} data_printed[] = {
    {LL_TBD_RESNET, "ImageNet1K", "1.2 million", "3x256x256", "images", {224, 224, 3}, "cropped"},
    {LL_TBD_INCEPTION, "ImageNet1K", "1.2 million", "3x256x256", "images", {299, 299, 3}, "resized"},
    {LL_TBD_NMT, "IWSLT15", "133,000", "20-30 words", "17,188 words", {0}, ""},
    {LL_TBD_SOCKEYE, "IWSLT15", "133,000", "20-30 words", "17,188 words", {0}, ""},
    {LL_TBD_TRANSFORMER, "WMT-14", "4.5 million", "up to 50 words", "37,000 words", {0}, ""},
    {LL_TBD_FASTER_RCNN,
     "Pascal VOC 2007",
     "5,011",
     "about 500x350",
     "12,608 objects",
     {600, 1000, 3},
     "resized"},
    {LL_TBD_DEEP_SPEECH, "LibriSpeech", "280,000", "1000 hours", "100 hours used", {0}, ""},
    {LL_TBD_WGAN, "Downsampled ImageNet", "1.2 million", "3x64x64", "images", {64, 64, 3}, "as it is"},
    {LL_TBD_A3C, "Atari 2600", "a game", "4x84x84", "frames", {84, 84, 4}, "as it is"},
};
enum { ROWS = sizeof data_printed / sizeof *data_printed };

/* Rows of a table of embeddings: the words of IWSLT's vocabulary and TensorFlow's three, to which our data
 * adds none. */
static const uint64_t translator_words = 17191, plain_words = 17188;

static void plan_data(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < ROWS; i++)
        ll_tbd_plan_batch(plan, data_printed[i].row, ll_tbd[data_printed[i].row].batches[0]);
}

static const struct ll_shape *first_input(const struct ll_trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind == LL_OP_HOST_INPUT && signature->view.out[0].rank == MOST_DIMS + 1)
            return &signature->view.out[0];
    }
    return NULL;
}

/* Whether a weight has so many rows. */
static bool has_table(const struct ll_trace *trace, uint64_t rows)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_WEIGHT && trace->descs[i].shape.rank == 2 &&
            trace->descs[i].shape.dim[0] == rows)
            return true;
    return false;
}

static void judge_input(size_t i, const struct ll_trace *trace, struct ll_study_result *result)
{
    const struct ll_shape *shape = first_input(trace);
    const uint64_t *dims = data_printed[i].dims;
    char measured[64] = "none", wanted[64];
    bool same = shape != NULL;
    if (shape)
        snprintf(measured, sizeof measured, "%dx%dx%d", (int)shape->dim[1], (int)shape->dim[2],
                 (int)shape->dim[3]);
    snprintf(wanted, sizeof wanted, "%dx%dx%d", (int)dims[0], (int)dims[1], (int)dims[2]);
    for (size_t d = 0; d < MOST_DIMS && same; d++)
        same = shape->dim[d + 1] == dims[d];
    ll_criterion_holds(result, same, measured, wanted, "%s: a sample's size, %s %s",
                       ll_tbd[data_printed[i].row].name, data_printed[i].size, data_printed[i].shown);
}

/* The words that a table of embeddings has most of. */
static void inform_vocabulary(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_trace *trace =
        ll_tbd_trace(runs, LL_TBD_TRANSFORMER, ll_tbd[LL_TBD_TRANSFORMER].batches[0]);
    uint64_t rows = 0;
    char text[32];
    for (uint64_t i = 0; trace && i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_WEIGHT && trace->descs[i].shape.rank == 2)
            rows = ll_max(rows, trace->descs[i].shape.dim[0]);
    snprintf(text, sizeof text, "%d", (int)rows);
    if (trace)
        ll_criterion_info(result, "the suite's code and the table differ, and the workload is the code's",
                          text, "37000",
                          "Transformer: words of the vocabulary (the suite's code builds fewer)");
}

static void judge_data(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                     {"dataset", LL_TEXT_COLUMN},
                                                     {"samples", LL_TEXT_COLUMN},
                                                     {"size", LL_TEXT_COLUMN},
                                                     {"special", LL_TEXT_COLUMN}};
    struct ll_study_table *table = ll_study_table_new(result, NULL, "The data sets as the paper lists them.",
                                                      columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ROWS; i++) {
        const struct ll_tbd_workload *workload = &ll_tbd[data_printed[i].row];
        char variant[32];
        const char *texts[] = {workload->name, data_printed[i].dataset, data_printed[i].samples,
                               data_printed[i].size, data_printed[i].special};
        for (size_t c = 0; c < sizeof texts / sizeof *texts; c++)
            ll_table_put_text(table, texts[c]);
        snprintf(variant, sizeof variant, "batch %d", (int)workload->batches[0]);
        const struct ll_trace *trace = ll_runs_trace(runs, workload->name, variant);
        if (trace && data_printed[i].dims[0])
            judge_input(i, trace, result);
        if (trace && workload->style == LL_TBD_RECURRENT && data_printed[i].row != LL_TBD_DEEP_SPEECH)
            ll_criterion_holds(result, has_table(trace, translator_words) || has_table(trace, plain_words),
                               "a table of embeddings", "of 17188 words and what is none",
                               "%s: reads the words of IWSLT15's vocabulary", workload->name);
    }
    inform_vocabulary(runs, result);
    ll_study_note(result,
                  "The data itself is made up here, of the sizes of the data sets' samples; models that can "
                  "read real data say so (leadline models NAME).");
}

const struct ll_study ll_study_TT3 = {
    .id = "T-T3",
    .paper = "TBD, table III",
    .title = "The data sets",
    .doc = "Number, size and peculiarities of the samples that the workloads are trained on.",
    .plan = plan_data,
    .judge = judge_data,
};

/* Table IV; 0 where it prints nothing. Of the processor it has the cache and the bandwidth of one socket, but
 * 28 cores, which are two sockets or a socket's threads. */
static const struct hardware_printed {
    const char *name, *machine, *unit; /* the unit whose instances are multiprocessors or cores */
    double multiprocessors, cores, clock_MHz, memory_GB, cache_MB, bandwidth_GBps;
} hardware_printed[] = {
    {"TITAN Xp", "titan_xp+archive/deepbench", "fma", 30, 3840, 1582, 12, 3, 547.6},
    {"Quadro P4000", "quadro_p4000+archive/deepbench", "fma", 14, 1792, 1480, 8, 2, 243},
    {"Xeon E5-2680", "xeon_e5_2680v4", "fma", 0, 28, 2900, 128, 35, 76.8},
};
enum { DEVICES = sizeof hardware_printed / sizeof *hardware_printed, TITAN = 0, P4000 = 1 };

/* What follows from clock, bus and lanes: 2 x cores x clock, and twice the memory's clock over its bus. */
static const double printed_peaks[DEVICES] = {12.15, 5.304, NAN};
static const struct {
    size_t device;
    double memory_MHz, bus_bits;
} buses[] = {{TITAN, 5705, 384}, {P4000, 3802, 256}};
static const double peak_ratio = 2.291, share = 1e-3, rounding = 2e-3;

static void plan_hardware(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < DEVICES; i++)
        ll_study_plan_machine(plan, &(struct ll_study_machine){.name = hardware_printed[i].name,
                                                               .machine = hardware_printed[i].machine});
}

static const struct ll_machine *machine_of(const struct ll_runs *runs, const char *name)
{
    for (uint64_t i = 0; i < runs->plan->target_count; i++)
        if (strcmp(runs->plan->targets[i].name, name) == 0)
            return runs->machines[i];
    return NULL;
}

static const struct ll_unit *unit_of(const struct ll_machine *machine, const char *name)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (strcmp(machine->units[i].name, name) == 0)
            return &machine->units[i];
    return NULL;
}

/* The same columns of a machine file. Cores of a GPU are lanes; a processor's are its units. */
static struct hardware_printed described(const struct ll_machine *machine, const struct hardware_printed *row)
{
    const struct ll_unit *unit = unit_of(machine, row->unit);
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    double count = unit ? (double)unit->count : NAN;
    double lanes = unit && row->multiprocessors > 0 ? unit->matrix.macs[LL_F32] : 1;
    const struct ll_level *cache = machine->level_count > 1 ? outermost - 1 : outermost;
    return (struct hardware_printed){.multiprocessors = row->multiprocessors > 0 ? count : 0,
                                     .cores = count * lanes,
                                     .clock_MHz = machine->clock_hz * 1e-6,
                                     .memory_GB = (double)outermost->size_bytes / 0x1p30,
                                     .cache_MB = (double)cache->size_bytes / 0x1p20,
                                     .bandwidth_GBps = outermost->bandwidth_Bps * 1e-9};
}

static void put_hardware_row(struct ll_study_table *table, const char *name, const char *source,
                             const struct hardware_printed *row, double peak)
{
    ll_table_put_text(table, name);
    ll_table_put_text(table, source);
    ll_table_put_number(table, row->multiprocessors > 0 ? row->multiprocessors : NAN);
    ll_table_put_number(table, row->cores);
    ll_table_put_number(table, row->clock_MHz);
    ll_table_put_number(table, row->memory_GB);
    ll_table_put_number(table, row->cache_MB);
    ll_table_put_number(table, row->bandwidth_GBps);
    ll_table_put_number(table, peak);
}

static void judge_same(const char *name, const char *what, double found, double expected,
                       struct ll_study_result *result)
{
    ll_criterion_between(result, (struct ll_measured_value){found, 1, ""}, expected * (1 - share),
                         expected * (1 + share), "%s: %s of the machine file, as printed", name, what);
}

static void judge_hardware_row(const struct hardware_printed *row, const struct hardware_printed *found,
                               struct ll_study_result *result)
{
    if (row->multiprocessors > 0) {
        judge_same(row->name, "multiprocessors", found->multiprocessors, row->multiprocessors, result);
        judge_same(row->name, "cores", found->cores, row->cores, result);
    }
    judge_same(row->name, "clock (MHz)", found->clock_MHz, row->clock_MHz, result);
    judge_same(row->name, "memory (GB)", found->memory_GB, row->memory_GB, result);
    judge_same(row->name, "last cache (MB)", found->cache_MB, row->cache_MB, result);
    judge_same(row->name, "bandwidth (GB/s)", found->bandwidth_GBps, row->bandwidth_GBps, result);
}

static void judge_hardware(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"device", LL_TEXT_COLUMN}, {"source", LL_TEXT_COLUMN},
                                                     {"multiprocessors", 0},     {"cores", 0},
                                                     {"clock (MHz)", 0},         {"memory (GB)", 0},
                                                     {"last cache (MB)", 0},     {"bandwidth (GB/s)", 1},
                                                     {"f32 peak (TFLOP/s)", 3}};
    struct ll_study_table *table = ll_study_table_new(result, NULL,
                                                      "The devices as the paper prints them, and as their "
                                                      "machine files describe them.",
                                                      columns, sizeof columns / sizeof *columns);
    double peaks[DEVICES], cores = NAN; /* those of the last, the processor */
    char text[32];
    for (size_t i = 0; i < DEVICES; i++) {
        const struct ll_machine *machine = machine_of(runs, hardware_printed[i].name);
        struct hardware_printed found = described(machine, &hardware_printed[i]);
        cores = found.cores;
        peaks[i] = ll_machine_peak_flops(machine, LL_F32) * 1e-12;
        put_hardware_row(table, hardware_printed[i].name, "printed", &hardware_printed[i], printed_peaks[i]);
        put_hardware_row(table, hardware_printed[i].name, machine->stem, &found, peaks[i]);
        judge_hardware_row(&hardware_printed[i], &found, result);
        if (isfinite(printed_peaks[i]))
            judge_same(hardware_printed[i].name, "f32 peak (TFLOP/s)", peaks[i], printed_peaks[i], result);
    }
    for (size_t i = 0; i < sizeof buses / sizeof *buses; i++)
        ll_criterion_between(
            result,
            (struct ll_measured_value){2 * buses[i].memory_MHz * buses[i].bus_bits / 8 * 1e-3, 1, " GB/s"},
            hardware_printed[buses[i].device].bandwidth_GBps * (1 - rounding),
            hardware_printed[buses[i].device].bandwidth_GBps * (1 + rounding),
            "%s: bandwidth as printed, twice the memory's clock over its bus",
            hardware_printed[buses[i].device].name);
    ll_criterion_between(result, (struct ll_measured_value){peaks[TITAN] / peaks[P4000], 3, ""},
                         peak_ratio * (1 - share), peak_ratio * (1 + share),
                         "peak of the TITAN Xp over that of the P4000");
    snprintf(text, sizeof text, "%.0f", cores);
    ll_criterion_info(result, "the row mixes a socket with a server", text, "28",
                      "Xeon E5-2680: cores of a socket, whose cache and bandwidth are printed");
    ll_study_note(result,
                  "Peaks are 2 x cores x clock. The table's row of the processor mixes a socket's last cache "
                  "and bandwidth with 28 cores; its machine file is a socket.");
}

const struct ll_study ll_study_TT4 = {
    .id = "T-T4",
    .paper = "TBD, table IV",
    .title = "The hardware",
    .doc = "Two GPUs and the processor of their host: what the table prints, and what follows from it.",
    .plan = plan_hardware,
    .judge = judge_hardware,
};
