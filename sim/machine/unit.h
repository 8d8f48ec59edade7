/* SPDX-License-Identifier: Apache-2.0 */
/* The compute units of a machine, as its file describes them. All functions are pure. */
#ifndef LL_SIM_MACHINE_UNIT_H
#define LL_SIM_MACHINE_UNIT_H

#include "sim/machine/catalogue.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/tensor.h"

#include <stdbool.h>
#include <stdint.h>

enum { LL_MAX_TILES = 16, LL_MAX_UNROLLS = 16 };

enum ll_unit_kind {
#define LL_UNIT_MODEL(word, ...) LL_UNIT_##word,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
    LL_UNIT_MODEL_COUNT
};

enum ll_dataflow { LL_OUTPUT_STATIONARY, LL_WEIGHT_STATIONARY, LL_INPUT_STATIONARY };

struct ll_systolic {
    uint64_t rows, cols;
    enum ll_dataflow dataflow;
    bool overlap_folds;          /* the next stationary tile loads while this one computes */
    uint64_t load_cycles;        /* until what stays is there, or results have left; 0: as many as rows */
    uint64_t accumulators;       /* partial sums that a column keeps below the array; 0: as many as needed */
    double macs[LL_DTYPE_COUNT]; /* multiply-accumulates per processing element and cycle; 0: cannot */
};

/* The output is cut into tiles, each computed by one unit (sim/cost/unit_matrix.c). The kernels offer a menu
 * of tiles, of which the fastest is used, unless the library goes by a catalogue. */
struct ll_matrix {
    struct ll_tile tiles[LL_MAX_TILES];
    uint64_t tile_count;
    const struct ll_catalogue *catalogue; /* of products of its dtype, not of convolutions; NULL: none */

    /* Of kernels that read a convolution's windows in place. */
    struct ll_tile conv_tiles[LL_MAX_TILES];
    uint64_t conv_tile_count;              /* 0: they have the same menu */
    double whole_channels[LL_DTYPE_COUNT]; /* channels of a window element processed at once; 0: any */
    bool whole_filters; /* where that is given, filter gradients take a whole tile of channels */
    double windows;     /* share of the rate that remains for convolutions; 0: all */

    double macs[LL_DTYPE_COUNT]; /* multiply-accumulates per unit and cycle */
    double fill_cycles;          /* before the first product of a tile leaves the pipeline */
    double feed;                 /* bytes of operands loaded per cycle without multiplying; 0: at no cost */
    double step_cycles;          /* least cycles of a step along a tile's k */
    uint64_t resident;           /* elements of results of the tiles in progress at once; 0: one tile */
    double join_cycles;          /* to start adding up partial sums, when units share k */
    uint64_t most_parts;         /* of k, for as many units: 1, 2, 4, ... */
    uint64_t filter_waves;       /* of tiles, that the parts of a filter's gradient may take; at least 1 */

    /* Waits for operand lines that run along k, of each of which a step reads a piece. */
    double line_cycles;     /* for each line out of reach */
    uint64_t line_reach;    /* longest line, in bytes, of which all lines of a tile are in reach */
    uint64_t line_drift;    /* products along k until tiles that began together are out of step; 0: at once */
    uint64_t line_channels; /* of the memory, in which lines may begin; 0 or 1: not looked at */
    uint64_t line_interleave; /* bytes in a row that one channel holds, at least 1 */
};

/* The loops of a convolution, by the names that ZigZag gives them (Mei et al., IEEE TC 70, 2021): word, what
 * it counts. */
#define LL_LOOP_LIST(X)                                                                                      \
    X(G, "groups")                                                                                           \
    X(B, "images")                                                                                           \
    X(K, "filters of a group")                                                                               \
    X(C, "channels of a group")                                                                              \
    X(OY, "rows of the output")                                                                              \
    X(OX, "columns of the output")                                                                           \
    X(FY, "rows of a filter")                                                                                \
    X(FX, "columns of a filter")

enum ll_loop {
#define X(word, ...) LL_LOOP_##word,
    LL_LOOP_LIST(X)
#undef X
        LL_LOOP_COUNT
};

/* How many iterations of each loop run side by side, and how many of these each element does one after the
 * other, with what it has in its registers. At least 1. */
struct ll_unroll {
    uint32_t by[LL_LOOP_COUNT], each[LL_LOOP_COUNT];
};

/* Processing elements each of which does one iteration of some loops (sim/cost/unit_spatial.c). */
struct ll_spatial {
    uint64_t elements;
    struct ll_unroll unrolls[LL_MAX_UNROLLS]; /* of which the fastest is used */
    uint64_t unroll_count;                    /* at least 1 */
    enum ll_dataflow dataflow;                /* what stays in the elements from step to step */
    uint64_t accumulators;                    /* partial sums that a unit keeps; 0: as many as needed */
    double fill_cycles;                       /* before the first sum leaves the unit */
    double macs[LL_DTYPE_COUNT];              /* multiply-accumulates per element and cycle; 0: cannot */
};

struct ll_vector {
    uint64_t lanes;
    double flops[LL_DTYPE_COUNT]; /* per lane and cycle */
    double casts[LL_DTYPE_COUNT]; /* conversions per cycle of a type that has no instructions; 0: free */
    double specials;              /* special functions per lane and cycle, beside the rest; 0: as the rest */
};

struct ll_unit {
    const char *name;
    enum ll_unit_kind model;
    uint64_t count;
    double clock_hz;         /* its own, or the machine's */
    double efficiency;       /* sustained share of the peak rate; 1 when not given */
    bool runs[LL_OP_NONE];  /* op kinds that it runs */
    bool runs_listed;        /* false: no `runs` key; it runs what no other unit lists */
    uint64_t align;          /* runs unbatched products with two sides divisible by this; 0: any work */
    uint64_t line_align;     /* runs products whose n and k are multiples of so many bytes; 0: any work */
    uint64_t sum_bytes;      /* of a partial sum, no fewer than its result has; 0: four */
    struct ll_pattern skips; /* of each `of` neighbours of the right operand along k it multiplies `kept` */
    /* It multiplies only what is not zero of the right operand; so many columns wait for each other; 0: all */
    uint64_t skips_unstructured;
    union {
        struct ll_systolic systolic;
        struct ll_matrix matrix;
        struct ll_spatial spatial;
        struct ll_vector vector;
    };
};

/* Loops side by side and within each element as a file gives them, "K16 C16 / FX3", those of one iteration
 * left out; "G1" where nothing is side by side. Pure. */
enum { LL_UNROLL_TEXT = 160 };
void ll_unroll_print(const struct ll_unroll *unroll, char text[LL_UNROLL_TEXT]);

/* What one instance computes in a cycle: so many elements side by side, each at its rate by dtype, of which
 * one counts as so many FLOPs (a multiply-accumulate is two). */
struct ll_arithmetic {
    double elements;
    const double *rates; /* [LL_DTYPE_COUNT], of the unit; 0: it cannot compute in this type */
    double flops;
};

/* Pure; lives as long as the unit. */
struct ll_arithmetic ll_unit_arithmetic(const struct ll_unit *unit);

/* FLOPs per cycle of one instance, without efficiency; 0: it cannot compute in this type. Pure. */
double ll_unit_flops_per_cycle(const struct ll_unit *unit, enum ll_dtype dtype);

#endif
