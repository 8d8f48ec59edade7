/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim v2 (Samajdar et al., ISPASS 2020), reproduced: its inputs, its three reports, the same digits.
 *
 * A layer is a GEMM C[m,n] = A[m,k] B[k,n] on an array of rows x columns; A is the ifmap, B the filter, C
 * the ofmap. A word is one element and one byte. What SCALE-Sim counts wrongly is counted wrongly here too;
 * the README of this room lists it. Everything read lives in the caller's arena. All functions are free of
 * hidden state: different threads may work on different arenas. */
#ifndef LL_SIM_SCALESIM_SCALESIM_H
#define LL_SIM_SCALESIM_SCALESIM_H

#include "sim/machine/machine.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"
#include "tracer/convert/scalesim/scalesim.h"
#include "tracer/ir/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ll_scalesim_operand { LL_SCALESIM_IFMAP, LL_SCALESIM_FILTER, LL_SCALESIM_OFMAP, LL_SCALESIM_OPERANDS };

/* What SCALE-Sim's .cfg says. */
struct ll_scalesim_config {
    const char *run_name;
    uint64_t rows, columns;                       /* of the array, in processing elements; at least 1 */
    uint64_t buffer_kB[LL_SCALESIM_OPERANDS];     /* both halves of an operand's buffer, 1024 words each kB */
    uint64_t first_address[LL_SCALESIM_OPERANDS]; /* IfmapOffset, ...: they only bound what is addressable */
    enum ll_dataflow dataflow;
    bool user_bandwidth;      /* InterfaceBandwidth is USER, not CALC */
    uint64_t words_per_cycle; /* of each operand's channel to memory, in USER mode */
    const char *beyond;       /* a switch of version 3 that is on, and changes nothing here; NULL: none */
    uint64_t beyond_line;     /* the line that switches `beyond` on, from 1 */
};

/* How a layer lies on the array: Sr and Sc are cut into folds, each of which takes fold_lines cycles.
 * SCALE-Sim calls the lines of its demand matrices cycles, and reports the index of the last one. */
struct ll_scalesim_folds {
    uint64_t m, n, k;                       /* of the layer's GEMM */
    uint64_t out_h, out_w;                  /* of the ofmap, m = out_h * out_w */
    uint64_t on_rows, on_columns, streamed; /* Sr, Sc, T: which of m, n, k, the dataflow says */
    uint64_t row_folds, column_folds;       /* ceil(Sr / rows), ceil(Sc / columns) */
    uint64_t fold_lines, lines;             /* cycles of one fold, of all folds */
};

/* Traffic at one side of a buffer, in words, between two cycles (before cycle 0 where buffers are filled in
 * advance); bandwidth in words per cycle as SCALE-Sim averages it. */
struct ll_scalesim_port {
    int64_t start_cycle, stop_cycle;
    uint64_t words;
    double bandwidth;
};

/* What the three reports say of a layer. Utilizations are in percent and means over folds. */
struct ll_scalesim_result {
    int64_t total_cycles,
        stall_cycles; /* index of the last cycle; cycles that the array waited for buffers */
    double overall_util_pct, mapping_pct, compute_util_pct;
    struct ll_scalesim_port sram[LL_SCALESIM_OPERANDS], dram[LL_SCALESIM_OPERANDS];
};

/* Reads a .cfg; `name` stands for the file in complaints. Unknown keys are ignored, as SCALE-Sim does. False
 * after complaints or when memory ran out. */
bool ll_scalesim_read_config(const char *text, size_t length, const char *name, struct ll_arena *arena,
                             struct ll_diags *diags, struct ll_scalesim_config *config);

/* The closed form of compute time: without stalls SCALE-Sim reports lines - 1 cycles. Numbers past 64 bits
 * stay LL_NO_FIT. */
struct ll_scalesim_folds ll_scalesim_fold(const struct ll_scalesim_config *config,
                                          const struct ll_scalesim_layer *layer);

/* Why SCALE-Sim could not run this layer (addresses are 32-bit integers there), or NULL; static storage. */
const char *ll_scalesim_obstacle(const struct ll_scalesim_config *config,
                                 const struct ll_scalesim_layer *layer);

/* All that the three reports say of a layer without obstacle. False when memory ran out. */
bool ll_scalesim_run(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                     struct ll_scalesim_result *result);

/* The three reports: file name, first line, and one line for each layer, which is the layer_id-th. */
struct ll_scalesim_report {
    const char *file, *header;
    void (*add_line)(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out);
};
enum { LL_SCALESIM_REPORTS = 3 };
extern const struct ll_scalesim_report ll_scalesim_reports[LL_SCALESIM_REPORTS];

/* A number as Python writes a float: the fewest digits that read back, always with a point or an exponent. */
void ll_scalesim_float_text(double value, char text[static 32]);

/* The configuration as a machine of ours (YAML): the same array and bandwidth at 1 GHz, one memory of all
 * three buffers. `overlap` is overlap_folds. */
void ll_scalesim_machine_yaml(const struct ll_scalesim_config *config, bool overlap, struct ll_str *out);

/* The layer as work for such a machine. */
struct ll_work ll_scalesim_work(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds);

#endif
