/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/scalesim/buffers.h"
#include "sim/scalesim/sparse.h"
#include "tracer/base/num.h"

/* The closed form. With Sr on rows, Sc on columns and T streamed through an array of R x C:
 *
 *                          Sr  Sc  T    lines of a fold
 *       output stationary  m   n   k    T + R + C - 2
 *       weight stationary  k   n   m    T + 2R + C - 2
 *       input stationary   k   m   n    T + 2R + C - 2
 *
 * ceil(Sr / R) ceil(Sc / C) folds follow each other without overlap; those at the edge cost as much as full
 * ones. An output height is ceil((H - FH + S) / S). */

/* Which sizes of the GEMM lie on the array's rows and columns, and which one streams. */
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
    assert(config->rows > 0 && config->columns > 0);
    struct ll_scalesim_folds folds = {
        .n = layer->filters,
        .dense_k = ll_mul(ll_mul(layer->filter_h, layer->filter_w), layer->channels),
        .out_h = ll_scalesim_windows(layer->in_h, layer->filter_h, layer->stride_h),
        .out_w = ll_scalesim_windows(layer->in_w, layer->filter_w, layer->stride_w),
    };
    folds.k = ll_scalesim_taps(config, layer, LL_SCALESIM_FILTER, folds.dense_k).count;
    folds.m = ll_mul(folds.out_h, folds.out_w);
    lay(config->dataflow, &folds);
    folds.row_folds = ll_ceil_div(folds.on_rows, config->rows);
    folds.column_folds = ll_ceil_div(folds.on_columns, config->columns);
    uint64_t loading = config->dataflow == LL_OUTPUT_STATIONARY ? 0 : config->rows;
    folds.fold_lines = ll_add(folds.streamed, loading + config->rows + config->columns - 2);
    folds.lines = ll_mul(ll_mul(folds.row_folds, folds.column_folds), folds.fold_lines);
    return folds;
}

static const char *sparse_obstacle(const struct ll_scalesim_config *config,
                                   const struct ll_scalesim_layer *layer)
{
    if (!config->version3 && layer->zeros.of > 0)
        return "it is sparse, and SCALE-Sim 2 computes all; `leadline import scalesim` reads it";
    if (config->sparse && layer->zeros.unstructured)
        return "its zeros lie anywhere, and SCALE-Sim 3 knows N of M neighbours alone";
    if (config->sparse && config->row_wise && config->dataflow != LL_WEIGHT_STATIONARY)
        return "OptimizedMapping is for weights that stay in the array, Dataflow: ws";
    if (config->sparse && config->row_wise && 2 * config->rows % config->block)
        return "BlockSize does not divide twice the array's rows, and SCALE-Sim's blocks would not fit";
    return NULL;
}

/* Every address, first_address included, must be an integer of 32 bits with a sign; beyond, utilizations
 * would not be exact either. */
const char *ll_scalesim_obstacle(const struct ll_scalesim_config *config,
                                 const struct ll_scalesim_layer *layer)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(config, layer);
    if (layer->batch > 1)
        return "it has a batch, and SCALE-Sim computes one sample; `leadline import scalesim` reads it";
    const char *sparse = sparse_obstacle(config, layer);
    if (sparse)
        return sparse;
    uint64_t words[LL_SCALESIM_OPERANDS] = {
        ll_mul(ll_mul(layer->in_h, layer->in_w), layer->channels),
        ll_mul(folds.dense_k, folds.n),
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
    if (ll_mul(folds.m, folds.dense_k) > UINT32_MAX)
        return "its windows hold more than 2^32 words, and SCALE-Sim writes all of them out";
    if (ll_mul(folds.lines, config->rows * config->columns) >= UINT64_C(1) << 53)
        return "it takes more than 2^53 steps of a processing element";
    if (ll_mul(ll_mul(ll_mul(folds.m, folds.n), folds.dense_k), 100) >= UINT64_C(1) << 53)
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

/* One layer in progress. */
struct run {
    const struct ll_scalesim_config *config;
    struct ll_scalesim_folds folds;
    struct reader readers[2];
    struct ll_scalesim_drain drain;
    uint64_t output_delay;           /* line of a fold in which the left column's first output leaves */
    bool seen[LL_SCALESIM_OPERANDS]; /* operands whose SRAM was accessed before, so that start_cycle is set */
    struct ll_scalesim_result *result;
    const struct ll_scalesim_watch *watch; /* NULL: nobody looks */
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
    return ll_scalesim_prefetch_open(&reader->prefetch, run->config, layer, operand, &reader->demand,
                                     &run->folds, arena);
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
    if (reader->user)
        served = ll_scalesim_prefetch_read(&reader->prefetch, line, cycle);
    else
        ll_scalesim_window_read(&reader->window, line, cycle);
    note_access(run, operand, served);
    return served - cycle - 1;
}

/* Outputs leave os arrays bottom row first: those of rows not in use would come before. */
static struct ll_scalesim_ramp outputs(const struct run *run, uint64_t row_fold, uint64_t column_fold)
{
    const struct ll_scalesim_config *config = run->config;
    const struct ll_scalesim_folds *folds = &run->folds;
    uint64_t rows = ll_min(config->rows, folds->on_rows - row_fold * config->rows);
    uint64_t columns = ll_min(config->columns, folds->on_columns - column_fold * config->columns);
    if (config->dataflow == LL_OUTPUT_STATIONARY)
        return (struct ll_scalesim_ramp){run->output_delay + config->rows - rows, columns, rows, false};
    return (struct ll_scalesim_ramp){run->output_delay, columns, folds->streamed, false};
}

static void run_line(struct run *run, uint64_t row_fold, uint64_t column_fold, uint64_t t, int64_t line_index)
{
    struct ll_scalesim_ramp ramp = outputs(run, row_fold, column_fold);
    struct ll_scalesim_result *result = run->result;
    int64_t cycle = line_index + result->stall_cycles, longest = 0, done = cycle;
    for (enum ll_scalesim_operand i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER; i++) {
        struct ll_scalesim_line line = asked_line(&run->readers[i].demand, row_fold, column_fold, t);
        int64_t waits = line.count ? read_line(run, i, &line, cycle) : 0;
        longest = waits > longest ? waits : longest;
    }
    uint64_t words = skewed(t, ramp.delay, ramp.width, ramp.length).count;
    if (words) {
        done = ll_scalesim_drain_write(&run->drain, words, cycle);
        note_access(run, LL_SCALESIM_OFMAP, done);
    }
    result->total_cycles = done;
    result->stall_cycles += done - cycle > longest ? done - cycle : longest;
}

/* The SRAM accesses of lines [t, end) of a fold, in which nothing waits. */
static void note_lines(struct run *run, enum ll_scalesim_operand operand, const struct ll_scalesim_ramp *ramp,
                       uint64_t t, uint64_t end, int64_t line_0_cycle)
{
    uint64_t first = ll_max(t, ramp->delay), last = ll_min(end, ramp_last(ramp) + 1);
    if (first >= last)
        return;
    note_access(run, operand, line_0_cycle + (int64_t)first);
    note_access(run, operand, line_0_cycle + (int64_t)last - 1);
}

/* Whether lines of this fold can be taken many at a time. */
static bool can_pass(const struct run *run)
{
    bool passes = true;
    for (int i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER; i++) {
        const struct reader *reader = &run->readers[i];
        passes =
            passes && (reader->user ? reader->prefetch.computed : ll_scalesim_window_passes(&reader->window));
    }
    return passes;
}

/* A fold, lines in which nothing waits at once. In CALC mode only the ofmap may wait, whose lines are then
 * taken one by one with all that are left, since windows take folds whole. */
static void run_fold(struct run *run, uint64_t row_fold, uint64_t column_fold, int64_t line_index)
{
    struct ll_scalesim_ramp out = outputs(run, row_fold, column_fold);
    uint64_t lines = run->folds.fold_lines;
    bool passes = can_pass(run), user = run->config->user_bandwidth;
    for (uint64_t t = 0; t < lines;) {
        int64_t cycle = line_index + run->result->stall_cycles;
        uint64_t until = passes ? lines : t;
        for (int i = LL_SCALESIM_IFMAP; user && passes && i <= LL_SCALESIM_FILTER; i++)
            until = ll_scalesim_prefetch_next(&run->readers[i].prefetch, row_fold, column_fold, t, until);
        const struct ll_scalesim_drain before = run->drain;
        if (until > t)
            until = ll_scalesim_drain_pass(&run->drain, &out, t, until, cycle);
        if (!user && passes && until < lines) {
            struct ll_scalesim_drain back = before; /* but for its memory, which has grown at most */
            back.short_lines = run->drain.short_lines;
            back.short_capacity = run->drain.short_capacity;
            back.failed = run->drain.failed;
            run->drain = back;
            passes = false;
            continue;
        }
        for (int i = LL_SCALESIM_IFMAP; until > t && i <= LL_SCALESIM_FILTER; i++) {
            struct ll_scalesim_ramp asked = ask_ramp(&run->readers[i].demand, row_fold, column_fold);
            if (!user)
                ll_scalesim_window_pass(&run->readers[i].window, row_fold, column_fold, cycle);
            note_lines(run, (enum ll_scalesim_operand)i, &asked, t, until, cycle + 1);
        }
        if (until > t) {
            note_lines(run, LL_SCALESIM_OFMAP, &out, t, until, cycle);
            run->result->total_cycles = cycle + (int64_t)until - 1;
        }
        t = until;
        if (t < lines)
            run_line(run, row_fold, column_fold, t, line_index + (int64_t)t);
        t++;
    }
}

enum { LINES_A_TELL = 1 << 20 };

static void run_folds(struct run *run)
{
    const struct ll_scalesim_folds *folds = &run->folds;
    int64_t line = 0, told = 0;
    for (uint64_t column_fold = 0; column_fold < folds->column_folds; column_fold++)
        for (uint64_t row_fold = 0; row_fold < folds->row_folds; row_fold++) {
            begin_fold(&run->readers[LL_SCALESIM_IFMAP], row_fold, column_fold);
            begin_fold(&run->readers[LL_SCALESIM_FILTER], row_fold, column_fold);
            run_fold(run, row_fold, column_fold, line);
            line += (int64_t)folds->fold_lines;
            if (run->watch && (line - told >= LINES_A_TELL || line == (int64_t)folds->lines)) {
                run->watch->tell(run->watch->context, (uint64_t)(line - told));
                told = line;
            }
        }
    ll_scalesim_drain_all(&run->drain, run->result->total_cycles);
}

/* Elements of a fold that hold something: all that lie on both sides, but for holes of row-wise sparsity. */
static uint64_t mapped_elements(const struct run *run, uint64_t row_fold, uint64_t column_fold, uint64_t rows,
                                uint64_t columns)
{
    const struct ll_scalesim_demand *filter = &run->readers[LL_SCALESIM_FILTER].demand;
    uint64_t first = row_fold * run->config->rows, left = column_fold * run->config->columns, count = 0;
    if (!filter->rank)
        return rows * columns;
    for (uint64_t row = first; row < first + rows; row++)
        for (uint64_t column = left; column < left + columns; column++)
            count += filter->rank[row] < filter->kept[column];
    return count;
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
            mapped += (double)mapped_elements(run, r, c, rows, columns) / elements;
            computed += (double)(rows * columns * folds->streamed) / (elements * fold_cycles);
        }
    double count = (double)(folds->row_folds * folds->column_folds);
    uint64_t products = folds->m * folds->n * folds->dense_k;
    run->result->overall_util_pct = (double)(products * 100) / ((double)run->result->total_cycles * elements);
    run->result->mapping_pct = mapped / count * 100;
    run->result->compute_util_pct = computed / count * 100;
}

/* What version 3 counts for a sparse filter that stays in the array: row-wise all that a line asks,
 * layer-wise each word as often as M / N, added up fold by fold. */
static void add_sparse_reads(struct run *run, const struct ll_scalesim_layer *layer)
{
    const struct ll_scalesim_config *config = run->config;
    const struct ll_scalesim_folds *f = &run->folds;
    const struct ll_scalesim_demand *demand = &run->readers[LL_SCALESIM_IFMAP].demand;
    struct ll_scalesim_port *port = &run->result->sram[LL_SCALESIM_IFMAP];
    if (!config->sparse || config->dataflow != LL_WEIGHT_STATIONARY)
        return;
    if (config->row_wise) {
        uint64_t lines = f->row_folds * f->column_folds * (f->m + config->rows - 1);
        port->words = lines * demand->blocks * demand->copies * demand->block;
        return;
    }
    double ratio = layer->zeros.of ? (double)layer->zeros.of / (double)layer->zeros.kept : 1, reads = 0;
    for (uint64_t i = 0; i < f->column_folds * f->row_folds; i++) {
        uint64_t row_fold = i % f->row_folds;
        reads += (double)(f->m * ll_min(config->rows, f->k - row_fold * config->rows)) * ratio;
    }
    run->result->sparse_ifmap_reads = reads;
    port->words = (uint64_t)reads;
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
        result->dram[i] = reader->user ? ll_scalesim_prefetch_close(&reader->prefetch)
                                       : ll_scalesim_window_close(&reader->window);
    }
    result->dram[LL_SCALESIM_OFMAP] = (struct ll_scalesim_port){
        .start_cycle = drain->first_cycle,
        .stop_cycle = run->config->version3 ? drain->latest_cycle : drain->end_cycle,
        .words = drain->words};
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        struct ll_scalesim_port *dram = &result->dram[i], *sram = &result->sram[i];
        double words = i == LL_SCALESIM_IFMAP && result->sparse_ifmap_reads > 0 ? result->sparse_ifmap_reads
                                                                                : (double)sram->words;
        sram->bandwidth = words / (double)result->total_cycles;
        dram->bandwidth = (double)dram->words / (double)(dram->stop_cycle - dram->start_cycle + 1);
    }
    int64_t first = result->dram[LL_SCALESIM_IFMAP].start_cycle;
    if (result->dram[LL_SCALESIM_FILTER].start_cycle < first)
        first = result->dram[LL_SCALESIM_FILTER].start_cycle;
    result->prefetch_cycles = result->dram[LL_SCALESIM_OFMAP].stop_cycle - first;
}

bool ll_scalesim_run(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                     const struct ll_scalesim_watch *watch, struct ll_scalesim_result *result)
{
    struct ll_arena arena = {0};
    assert(!ll_scalesim_obstacle(config, layer));
    *result = (struct ll_scalesim_result){0};
    struct run run = {.config = config, .result = result, .watch = watch};
    bool opened = open(&run, layer, &arena);
    if (opened) {
        run_folds(&run);
        add_utilization(&run);
        add_sram_words(&run);
        add_sparse_reads(&run, layer);
        add_ports(&run);
        if (config->sparse)
            ll_scalesim_store(config, layer, &run.folds, run.readers[LL_SCALESIM_FILTER].demand.kept, result);
        assert(result->stall_cycles >= 0 && result->mapping_pct <= 100 + 1e-9);
    }
    bool whole = opened && !run.drain.failed;
    ll_scalesim_drain_release(&run.drain);
    ll_arena_release(&arena);
    return whole;
}
