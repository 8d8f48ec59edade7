/* SPDX-License-Identifier: Apache-2.0 */
/* The closed form. With Sr on rows, Sc on columns and T streamed through an array of R x C:
 *
 *                          Sr  Sc  T    lines of a fold
 *       output stationary  m   n   k    T + R + C - 2
 *       weight stationary  k   n   m    T + 2R + C - 2
 *       input stationary   k   m   n    T + 2R + C - 2
 *
 * ceil(Sr / R) ceil(Sc / C) folds follow each other without overlap; those at the edge cost as much as full
 * ones. An output height is ceil((H - FH + S) / S). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scalesim/buffers.h"
#include "sim/scalesim/scalesim.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

static void lay(enum ll_dataflow dataflow, struct ll_scalesim_folds *folds)
{
    bool os = dataflow == LL_OUTPUT_STATIONARY, is = dataflow == LL_INPUT_STATIONARY;
    folds->on_rows = os ? folds->m : folds->k;
    folds->on_columns = is ? folds->m : folds->n;
    folds->streamed = os ? folds->k : is ? folds->n : folds->m;
}

struct ll_scalesim_folds ll_scalesim_fold(const struct ll_scalesim_config *config,
                                          const struct ll_scalesim_layer *layer)
{
    struct ll_scalesim_folds folds = {
        .n = layer->filters,
        .k = ll_mul(ll_mul(layer->filter_h, layer->filter_w), layer->channels),
        .out_h = ll_scalesim_windows(layer->in_h, layer->filter_h, layer->stride_h),
        .out_w = ll_scalesim_windows(layer->in_w, layer->filter_w, layer->stride_w),
    };
    folds.m = ll_mul(folds.out_h, folds.out_w);
    lay(config->dataflow, &folds);
    folds.row_folds = ll_ceil_div(folds.on_rows, config->rows);
    folds.column_folds = ll_ceil_div(folds.on_columns, config->columns);
    uint64_t loading = config->dataflow == LL_OUTPUT_STATIONARY ? 0 : config->rows;
    folds.fold_lines = ll_add(folds.streamed, loading + config->rows + config->columns - 2);
    folds.lines = ll_mul(ll_mul(folds.row_folds, folds.column_folds), folds.fold_lines);
    return folds;
}

/* Every address, first_address included, must be an integer of 32 bits with a sign; beyond, utilizations
 * would not be exact either. */
const char *ll_scalesim_obstacle(const struct ll_scalesim_config *config,
                                 const struct ll_scalesim_layer *layer)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(config, layer);
    if (layer->batch > 1)
        return "it has a batch, and SCALE-Sim computes one sample; `leadline import scalesim` reads it";
    if (layer->zeros.of > 0)
        return "it is sparse, and SCALE-Sim 2 computes all; `leadline import scalesim` reads it";
    uint64_t words[LL_SCALESIM_OPERANDS] = {
        ll_mul(ll_mul(layer->in_h, layer->in_w), layer->channels),
        ll_mul(folds.k, folds.n),
        ll_mul(folds.m, folds.n),
    };
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        if (ll_add(words[i], config->first_address[i]) > INT32_MAX)
            return "its addresses, with the offset of the configuration, pass 2^31 - 1, and SCALE-Sim keeps "
                   "them in 32 bits";
    uint64_t plane = ll_mul((folds.out_h - 1) * layer->stride_h + layer->filter_h,
                            (folds.out_w - 1) * layer->stride_w + layer->filter_w);
    if (ll_mul(plane, layer->channels) > INT32_MAX)
        return "its stride reaches so far outside the image that addresses pass 2^31 - 1";
    if (ll_mul(folds.m, folds.k) > UINT32_MAX)
        return "its windows hold more than 2^32 words, and SCALE-Sim writes all of them out";
    if (ll_mul(folds.lines, config->rows * config->columns) >= UINT64_C(1) << 53)
        return "it takes more than 2^53 steps of a processing element";
    if (ll_mul(ll_mul(ll_mul(folds.m, folds.n), folds.k), 100) >= UINT64_C(1) << 53)
        return "it has more than 2^53 / 100 multiply-accumulates";
    return NULL;
}

/* A layer, line by line: in each cycle the array asks both read buffers and writes what is ready, and all
 * three stand still for the one that waits longest. */

/* One of the two read buffers. */
struct reader {
    struct ll_scalesim_demand demand;
    bool user;
    union {
        struct ll_scalesim_window window;
        struct ll_scalesim_prefetch prefetch;
    };
};

struct run {
    const struct ll_scalesim_config *config;
    struct ll_scalesim_folds folds;
    struct reader readers[2];
    struct ll_scalesim_drain drain;
    uint64_t output_delay; /* line of a fold in which the left column's first output leaves */
    bool seen[LL_SCALESIM_OPERANDS];
    struct ll_scalesim_result *result;
};

static bool open_reader(struct run *run, const struct ll_scalesim_layer *layer,
                        enum ll_scalesim_operand operand, struct ll_arena *arena)
{
    struct reader *reader = &run->readers[operand];
    uint64_t words = 1024 * run->config->buffer_kB[operand];
    reader->user = run->config->user_bandwidth;
    if (!ll_scalesim_demand(run->config, layer, operand, arena, &reader->demand))
        return false;
    if (!reader->user)
        return ll_scalesim_window_open(&reader->window, &reader->demand, &run->folds, words, arena);
    return ll_scalesim_prefetch_open(&reader->prefetch, &reader->demand, &run->folds, words,
                                     run->config->words_per_cycle, arena);
}

static bool open(struct run *run, const struct ll_scalesim_layer *layer, struct ll_arena *arena)
{
    const struct ll_scalesim_config *config = run->config;
    bool os = config->dataflow == LL_OUTPUT_STATIONARY;
    run->folds = ll_scalesim_fold(config, layer);
    run->output_delay = os ? run->folds.streamed - 1 : 2 * config->rows - 1;
    run->drain.buffer_words = (int64_t)(1024 * config->buffer_kB[LL_SCALESIM_OFMAP]);
    run->drain.line_words = config->user_bandwidth ? config->words_per_cycle : config->columns;
    return open_reader(run, layer, LL_SCALESIM_IFMAP, arena) &&
           open_reader(run, layer, LL_SCALESIM_FILTER, arena);
}

static void begin_fold(struct reader *reader, uint64_t row_fold, uint64_t column_fold)
{
    if (reader->user)
        ll_scalesim_prefetch_fold(&reader->prefetch, row_fold, column_fold);
    else
        ll_scalesim_window_fold(&reader->window, row_fold, column_fold);
}

static void note_access(struct run *run, enum ll_scalesim_operand operand, int64_t cycle)
{
    struct ll_scalesim_port *port = &run->result->sram[operand];
    if (!run->seen[operand])
        port->start_cycle = cycle;
    port->stop_cycle = cycle;
    run->seen[operand] = true;
}

/* Cycles that the array waits for this operand. A hit takes one cycle, which the pipeline hides. */
static int64_t read_line(struct run *run, enum ll_scalesim_operand operand,
                         const struct ll_scalesim_line *line, int64_t cycle)
{
    struct reader *reader = &run->readers[operand];
    int64_t served = cycle + 1;
    if (!ll_scalesim_line_asks(&reader->demand, line))
        return 0;
    if (!reader->user) {
        ll_scalesim_window_read(&reader->window, line, cycle);
    } else {
        int64_t ready = ll_scalesim_prefetch_read(&reader->prefetch, line);
        served = ready > served ? ready : served;
    }
    note_access(run, operand, served);
    return served - cycle - 1;
}

/* Outputs leave os arrays bottom row first: those of rows not in use would come before. */
static struct ll_scalesim_skew outputs(const struct run *run, uint64_t row_fold, uint64_t column_fold,
                                       uint64_t t)
{
    const struct ll_scalesim_config *config = run->config;
    const struct ll_scalesim_folds *folds = &run->folds;
    uint64_t rows = ll_min(config->rows, folds->on_rows - row_fold * config->rows);
    uint64_t columns = ll_min(config->columns, folds->on_columns - column_fold * config->columns);
    if (config->dataflow == LL_OUTPUT_STATIONARY)
        return ll_scalesim_skew(t, run->output_delay + config->rows - rows, columns, rows);
    return ll_scalesim_skew(t, run->output_delay, columns, folds->streamed);
}

static void run_line(struct run *run, uint64_t row_fold, uint64_t column_fold, uint64_t t, int64_t line_index)
{
    struct ll_scalesim_result *result = run->result;
    int64_t cycle = line_index + result->stall_cycles, longest = 0, done = cycle;
    for (enum ll_scalesim_operand i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER; i++) {
        struct ll_scalesim_line line = ll_scalesim_line(&run->readers[i].demand, row_fold, column_fold, t);
        int64_t waits = line.count ? read_line(run, i, &line, cycle) : 0;
        longest = waits > longest ? waits : longest;
    }
    uint64_t words = outputs(run, row_fold, column_fold, t).count;
    if (words) {
        done = ll_scalesim_drain_write(&run->drain, words, cycle);
        note_access(run, LL_SCALESIM_OFMAP, done);
    }
    result->total_cycles = done;
    result->stall_cycles += done - cycle > longest ? done - cycle : longest;
}

static void run_folds(struct run *run)
{
    const struct ll_scalesim_folds *folds = &run->folds;
    int64_t line = 0;
    for (uint64_t column_fold = 0; column_fold < folds->column_folds; column_fold++)
        for (uint64_t row_fold = 0; row_fold < folds->row_folds; row_fold++) {
            begin_fold(&run->readers[LL_SCALESIM_IFMAP], row_fold, column_fold);
            begin_fold(&run->readers[LL_SCALESIM_FILTER], row_fold, column_fold);
            for (uint64_t t = 0; t < folds->fold_lines; t++, line++)
                run_line(run, row_fold, column_fold, t, line);
        }
    ll_scalesim_drain_all(&run->drain, run->result->total_cycles);
}

/* Means over folds, added up in the order and in the precision in which SCALE-Sim does. Its fold length for
 * what stays in the array counts a skew of C - 1 that is not there. */
static void add_utilization(struct run *run)
{
    const struct ll_scalesim_config *config = run->config;
    const struct ll_scalesim_folds *folds = &run->folds;
    double elements = (double)(config->rows * config->columns), mapped = 0, computed = 0;
    bool os = config->dataflow == LL_OUTPUT_STATIONARY;
    double fold_cycles = (double)(folds->fold_lines + (os ? 0 : config->columns - 1));
    for (uint64_t c = 0; c < folds->column_folds; c++)
        for (uint64_t r = 0; r < folds->row_folds; r++) {
            uint64_t rows = ll_min(config->rows, folds->on_rows - r * config->rows);
            uint64_t columns = ll_min(config->columns, folds->on_columns - c * config->columns);
            mapped += (double)(rows * columns) / elements;
            computed += (double)(rows * columns * folds->streamed) / (elements * fold_cycles);
        }
    double count = (double)(folds->row_folds * folds->column_folds);
    uint64_t products = folds->m * folds->n * folds->k;
    run->result->overall_util_pct = (double)(products * 100) / ((double)run->result->total_cycles * elements);
    run->result->mapping_pct = mapped / count * 100;
    run->result->compute_util_pct = computed / count * 100;
}

/* What moves is read again for each fold of the other side; in an os array the counter of outputs goes on by
 * R + C in each fold. */
static void add_sram_words(struct run *run)
{
    const struct ll_scalesim_folds *f = &run->folds;
    bool os = run->config->dataflow == LL_OUTPUT_STATIONARY,
         is = run->config->dataflow == LL_INPUT_STATIONARY;
    bool ws = run->config->dataflow == LL_WEIGHT_STATIONARY;
    uint64_t extra = f->row_folds * f->column_folds * (run->config->rows + run->config->columns);
    run->result->sram[LL_SCALESIM_IFMAP].words = f->m * f->k * (is ? 1 : f->column_folds);
    run->result->sram[LL_SCALESIM_FILTER].words = f->k * f->n *
                                                  (os   ? f->row_folds
                                                   : ws ? 1
                                                        : f->column_folds);
    run->result->sram[LL_SCALESIM_OFMAP].words = f->m * f->n * (os ? 1 : f->row_folds) + (os ? extra : 0);
}

static void add_ports(struct run *run)
{
    struct ll_scalesim_result *result = run->result;
    const struct ll_scalesim_drain *drain = &run->drain;
    for (int i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER; i++) {
        const struct reader *reader = &run->readers[i];
        result->dram[i] = reader->user
                              ? ll_scalesim_prefetch_close(&reader->prefetch, run->config->words_per_cycle)
                              : ll_scalesim_window_close(&reader->window);
    }
    result->dram[LL_SCALESIM_OFMAP] = (struct ll_scalesim_port){
        .start_cycle = drain->first_cycle, .stop_cycle = drain->end_cycle, .words = drain->words};
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        struct ll_scalesim_port *dram = &result->dram[i], *sram = &result->sram[i];
        sram->bandwidth = (double)sram->words / (double)result->total_cycles;
        dram->bandwidth = (double)dram->words / (double)(dram->stop_cycle - dram->start_cycle + 1);
    }
}

bool ll_scalesim_run(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                     struct ll_scalesim_result *result)
{
    struct ll_arena arena = {0};
    *result = (struct ll_scalesim_result){0};
    struct run run = {.config = config, .result = result};
    bool opened = open(&run, layer, &arena);
    if (opened) {
        run_folds(&run);
        add_utilization(&run);
        add_sram_words(&run);
        add_ports(&run);
    }
    bool whole = opened && !run.drain.failed;
    ll_scalesim_drain_release(&run.drain);
    ll_arena_release(&arena);
    return whole;
}

/* SCALE-Sim's three files, byte by byte: blanks behind commas, a comma at the end of each line. */

/* The fewest digits that read back: "d.ddde+xx", at most 23 characters. */
static void shortest_text(double value, char text[static 32])
{
    for (int precision = 0; precision <= 16; precision++) {
        ll_snprintf(text, 32, "%.*e", precision, value);
        if (ll_strtod(text, NULL) == value)
            return;
    }
}

/* Python's repr writes an exponent below 10^-4 and from 10^16 on. */
void ll_scalesim_float_text(double value, char text[static 32])
{
    if (!isfinite(value)) {
        snprintf(text, 32, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    shortest_text(value, text);
    const char *e = strchr(text, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10);
    int digits = (int)(e - text) - (value < 0) - (e - text > 2 + (value < 0));
    if (exponent < -4 || exponent >= 16)
        return;
    ll_snprintf(text, 32, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, value);
}

static void add_float(struct ll_str *out, double value)
{
    char text[32];
    ll_scalesim_float_text(value, text);
    ll_str_addf(out, ", %s", text);
}

static void add_compute(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64 ", %" PRId64 ", %" PRId64, layer_id, result->total_cycles,
                result->stall_cycles);
    add_float(out, result->overall_util_pct);
    add_float(out, result->mapping_pct);
    add_float(out, result->compute_util_pct);
    ll_str_add(out, ",\n");
}

static void add_bandwidth(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, layer_id);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_float(out, result->sram[i].bandwidth);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_float(out, result->dram[i].bandwidth);
    ll_str_add(out, ",\n");
}

static void add_port(struct ll_str *out, const struct ll_scalesim_port *port)
{
    add_float(out, (double)port->start_cycle);
    add_float(out, (double)port->stop_cycle);
    ll_str_addf(out, ", %" PRIu64, port->words);
}

static void add_detail(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, layer_id);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_port(out, &result->sram[i]);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_port(out, &result->dram[i]);
    ll_str_add(out, ",\n");
}

const struct ll_scalesim_report ll_scalesim_reports[LL_SCALESIM_REPORTS] = {
    {"COMPUTE_REPORT.csv",
     "LayerID, Total Cycles, Stall Cycles, Overall Util %, Mapping Efficiency %, Compute Util %,\n",
     add_compute},
    {"BANDWIDTH_REPORT.csv",
     "LayerID, Avg IFMAP SRAM BW, Avg FILTER SRAM BW, Avg OFMAP SRAM BW, "
     "Avg IFMAP DRAM BW, Avg FILTER DRAM BW, Avg OFMAP DRAM BW,\n",
     add_bandwidth},
    {"DETAILED_ACCESS_REPORT.csv",
     "LayerID, SRAM IFMAP Start Cycle, SRAM IFMAP Stop Cycle, SRAM IFMAP Reads, "
     "SRAM Filter Start Cycle, SRAM Filter Stop Cycle, SRAM Filter Reads, "
     "SRAM OFMAP Start Cycle, SRAM OFMAP Stop Cycle, SRAM OFMAP Writes, "
     "DRAM IFMAP Start Cycle, DRAM IFMAP Stop Cycle, DRAM IFMAP Reads, "
     "DRAM Filter Start Cycle, DRAM Filter Stop Cycle, DRAM Filter Reads, "
     "DRAM OFMAP Start Cycle, DRAM OFMAP Stop Cycle, DRAM OFMAP Writes,\n",
     add_detail},
};
