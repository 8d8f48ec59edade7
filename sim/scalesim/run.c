/* SPDX-License-Identifier: Apache-2.0 */
/* A layer, line by line: in each cycle the array asks both read buffers and writes what is ready, and all
 * three stand still for the one that waits longest. */
#include "sim/scalesim/drain.h"
#include "sim/scalesim/prefetch.h"
#include "sim/scalesim/window.h"

#include "tracer/base/num.h"

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
