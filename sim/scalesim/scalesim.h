/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim v2 (Samajdar et al., ISPASS 2020) and v3 (Raj et al., ISPASS 2025), reproduced: their inputs,
 * their reports, the same digits.
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

/* Where v3's layout file puts the words of ifmap and filter. Factors and orders of the ifmap are of H, W, C;
 * those of the filter of K, C, R, S. A line of a buffer holds the product of the factors; orders list
 * dimensions from the slowest to the fastest. */
struct ll_scalesim_layout {
    uint64_t ifmap_factor[3], filter_factor[4];
    unsigned ifmap_lines[3], ifmap_in_line[3], filter_lines[4], filter_in_line[4];
};

/* How v3 stores sparse filters. */
enum ll_scalesim_storage { LL_SCALESIM_CSR, LL_SCALESIM_CSC, LL_SCALESIM_ELLPACK };

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
    bool version1;            /* sizes of buffers without kB, and no bandwidth */
    /* Of version 3, by operand, ifmap and filter: */
    bool version3;
    uint64_t
        read_words[2]; /* per cycle, of its channel to memory in USER mode; a set's words with a layout */
    uint64_t banks[2], ports[2]; /* of its buffer, ports of each bank; they count with a layout alone */
    bool own_layout[2];          /* its words lie as `layout` says */
    const struct ll_scalesim_layout *layout; /* NULL: none is given */
    bool sparse, row_wise; /* filters are compressed; each in its own ratio, drawn at random */
    enum ll_scalesim_storage storage;
    uint64_t block, seed; /* of row-wise sparsity: neighbours among which it draws; of the draws */
};

/* Told now and then how many cycles more of a layer, without its stalls, are simulated. */
struct ll_scalesim_watch {
    void (*tell)(void *context, uint64_t lines);
    void *context;
};

/* How a layer lies on the array: Sr and Sc are cut into folds, each of which takes fold_lines cycles.
 * SCALE-Sim calls the lines of its demand matrices cycles, and reports the index of the last one. */
struct ll_scalesim_folds {
    uint64_t m, n, k;                       /* of the layer's GEMM, k without what is compressed away */
    uint64_t dense_k;                       /* k with it */
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
    /* Of version 3: cycles from the first word out of memory to the last one into it. */
    int64_t prefetch_cycles;
    /* Of sparse filters: words without and with compression, its metadata alone, the latter per cycle. */
    uint64_t filter_words;
    double stored_words, metadata_words, metadata_bandwidth;
    double sparse_ifmap_reads; /* sram[LL_SCALESIM_IFMAP].words where SCALE-Sim counts fractions; else 0 */
};

/* The version whose keys a .cfg has: 3 with a section of its own, 1 where sizes of buffers are without kB. */
int ll_scalesim_version_of(const char *text);

/* Reads a .cfg of version 1, 2 or 3; `name` stands for the file in complaints. Unknown keys are ignored, as
 * SCALE-Sim does. False after complaints or when memory ran out. */
bool ll_scalesim_read_config(const char *text, size_t length, const char *name, int version,
                             struct ll_arena *arena, struct ll_diags *diags,
                             struct ll_scalesim_config *config);

/* Reads a layout file of version 3. As SCALE-Sim does, all layers take the first row. NULL after complaints
 * or when memory ran out. */
const struct ll_scalesim_layout *ll_scalesim_read_layout(const char *text, size_t length, const char *name,
                                                         struct ll_arena *arena, struct ll_diags *diags);

/* Why SCALE-Sim would not take the configuration's layout, or NULL; static storage. */
const char *ll_scalesim_layout_obstacle(const struct ll_scalesim_config *config);

/* The closed form of compute time: without stalls SCALE-Sim reports lines - 1 cycles. Numbers past 64 bits
 * stay LL_NO_FIT. */
struct ll_scalesim_folds ll_scalesim_fold(const struct ll_scalesim_config *config,
                                          const struct ll_scalesim_layer *layer);

/* Why SCALE-Sim could not run this layer (addresses are 32-bit integers there), or NULL; static storage. */
const char *ll_scalesim_obstacle(const struct ll_scalesim_config *config,
                                 const struct ll_scalesim_layer *layer);

/* All that the reports say of a layer without obstacle. `watch` may be NULL. False when memory ran out. */
bool ll_scalesim_run(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                     const struct ll_scalesim_watch *watch, struct ll_scalesim_result *result);

/* The reports: file name, first line, and one line for each layer, which is the layer_id-th. */
struct ll_scalesim_report {
    const char *file;
    void (*add_header)(const struct ll_scalesim_config *config, struct ll_str *out);
    void (*add_line)(const struct ll_scalesim_config *config, const struct ll_scalesim_result *result,
                     uint64_t layer_id, struct ll_str *out);
};
enum { LL_SCALESIM_REPORTS = 4 };
extern const struct ll_scalesim_report ll_scalesim_reports[LL_SCALESIM_REPORTS];

/* How many of ll_scalesim_reports there are for this configuration, the first ones: the last is of
 * sparsity. */
int ll_scalesim_report_count(const struct ll_scalesim_config *config);

/* A number as Python writes a float: the fewest digits that read back, always with a point or an exponent. */
void ll_scalesim_float_text(double value, char text[static 32]);

/* The configuration as a machine of ours (YAML): the same array and bandwidth at 1 GHz, one memory of all
 * three buffers. `overlap` is overlap_folds. */
void ll_scalesim_machine_yaml(const struct ll_scalesim_config *config, bool overlap, struct ll_str *out);

/* The layer as work for such a machine. */
struct ll_work ll_scalesim_work(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds);

#endif
