/* SPDX-License-Identifier: Apache-2.0 */
/* The compute units of a machine, as its file describes them. All functions are pure. */
#ifndef LL_SIM_MACHINE_UNIT_H
#define LL_SIM_MACHINE_UNIT_H

#include "sim/machine/core_types.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/tensor.h"

#include <stdbool.h>
#include <stdint.h>

enum { LL_MAX_TILES = 16, LL_MAX_UNROLLS = 16, LL_ARRAY_PORTS = 8, LL_MAX_REGISTERS = 8 };

/* The left and the right operand and the result of a GEMM; other work has inputs a and b, result c. */
enum ll_operand { LL_OPERAND_A, LL_OPERAND_B, LL_OPERAND_C, LL_OPERAND_COUNT };

/* How a memory tells the places of words that are not zero: it has all words; a bit each place; with each
 * word its place, or the zeros before it. */
enum ll_zero_places { LL_PLACES_DENSE, LL_PLACES_BITMASK, LL_PLACES_COORDINATES, LL_PLACES_RUNS };

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
    bool overlap_folds;    /* the next stationary tile loads while this one computes */
    uint64_t accumulators; /* partial sums that a column keeps below the array; 0: as many as needed */
    bool tap_by_tap;       /* taps of a convolution's filter follow one another; if not, as im2col */
    bool whole_tiles;      /* weights lie in memory in whole tiles of the array, zeros in the last ones */
    double macs[LL_DTYPE_COUNT]; /* multiply-accumulates per processing element and cycle; 0: cannot */
};

/* Sides of a tile of C[m,n] += A[m,k] B[k,n]. */
struct ll_tile {
    uint64_t m, n, k;
};

/* GEMMs of 16 bits and narrower on the tensor cores of a GPU, by the kernels of a library, of which the
 * fastest is used (sim/cost/gemm_kernels.c). Figures are of one unit, a multiprocessor. */
struct ll_gemm_kernels {
    /* Tiles that one unit computes, and those that two units compute together, each loading a part of the
     * operands for both. Each is offered with m and n swapped as well. k counts elements of 16 bits; of other
     * types a step takes as many bytes. */
    struct ll_tile tiles[LL_MAX_TILES], pair_tiles[LL_MAX_TILES];
    uint64_t tile_count, pair_tile_count;
    double boost;                /* times of the unit's clock at which it runs while power suffices */
    double efficiency;           /* share of the peak rate that the main loop sustains */
    double min_step_cycles;      /* of one step along k: a barrier and the latency of its instructions */
    double tile_cycles;          /* that a tile takes beside its steps and its epilogue */
    double operand_bandwidth;    /* bytes per cycle out of shared memory into the tensor cores; 0: any */
    double epilogue_bandwidth;   /* bytes of results per cycle that leave a unit; 0: any */
    double bandwidth_efficiency; /* share of the innermost level's bandwidth */
    double dram_efficiency;      /* the same of the outermost level */
    double write_cost;           /* bytes read that take the outermost level as long as one written */
    double start_s; /* from a kernel's start to its first multiplication and from the last to its end */
    double split_k_reduce_s; /* to start adding up partial sums, where units share k */
    uint64_t occupancy;      /* tiles on a unit at once, each of which hides the steps of the others */
    uint64_t multicast;      /* units that share one read of the wider operand's tile */
    uint64_t full_rate_side; /* tiles both of whose sides are shorter multiply at half the rate */
};

/* The output is cut into tiles, each computed by one unit (sim/cost/unit_matrix.c). The kernels offer a list
 * of tiles, of which the fastest is used. */
struct ll_matrix {
    struct ll_tile tiles[LL_MAX_TILES];
    uint64_t tile_count; /* 0: any tile is possible, and work is divided evenly among the units */
    struct ll_tile few_rows_tiles[LL_MAX_TILES]; /* instead of tiles where all rows fit one; by m */
    uint64_t few_rows_tile_count;
    double macs[LL_DTYPE_COUNT];  /* multiply-accumulates per unit and cycle; 0: cannot */
    double fill_cycles;           /* before the first result of a tile leaves the pipeline */
    double feed;                  /* bytes of operands loaded per cycle without multiplying; 0: at no cost */
    double split_k_reduce_cycles; /* to start adding up partial sums, where units share k */
    /* Strided access (unit_matrix.c): rows out of reach of operands along k that all units together fetch a
     * second, 0: any; the longest row in reach; elements along k until tiles are out of step, 0: at once. */
    double strided_rate_hz;
    uint64_t strided_reach_bytes, strided_drift;
    struct ll_gemm_kernels gemm; /* where gemm_given; plain GEMMs of 16 bits and narrower go by it alone */
    bool gemm_given;
    struct ll_gemm_kernels implicit_gemm; /* the same of convolutions, of all types */
    bool implicit_gemm_given;
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
    /* Of the memory that feeds it, for a pass: the sums of whole rows of the output and the rows of the
     * image that come in, twice. With it, unrolls are used in their order; 0: the fastest is. */
    uint64_t pass_room_bytes;
    double weight_load; /* weights that come into the elements a cycle while these wait; 0: they do not */
};

/* What a convolution core makes channels of, where an image has few: nothing; the pixels of a stride; or a
 * line of a filter, and lines beside it as long as they fill the dot product. */
enum ll_packing { LL_PACKING_NONE, LL_PACKING_STRIDE, LL_PACKING_LINES };

/* Whether a core convolves by Winograd's F(2 x 2, 3 x 3): never; over the output as it is; or in blocks of
 * 4 x 4 outputs and 4 channels, the last of which are whole. */
enum ll_core_winograd { LL_CORE_WINOGRAD_NONE, LL_CORE_WINOGRAD_EXACT, LL_CORE_WINOGRAD_BLOCKS };

/* A convolution core, as that of NVDLA (sim/cost/unit_conv_core.c). */
struct ll_conv_core {
    uint64_t channels, kernels; /* of a dot product; dot products at once: numbers are rounded up to these */
    uint64_t multipliers;       /* 0: channels * kernels */
    enum ll_packing packing;    /* of images */
    uint64_t image_channels;    /* the most that an image has whose lines are packed */
    bool whole_taps;            /* packed taps come whole; else a part of one takes a part of the time */
    enum ll_core_winograd winograd;
    uint64_t least_stripe;       /* pixels for which weights stay, or as much time; at least 1 */
    uint64_t stripe;             /* the most pixels for which weights stay; 0: all of them */
    uint64_t memory_channels;    /* memory has channels, and results, in multiples of this */
    bool image_by_image;         /* weights of a convolution come anew for each image */
    double fill_cycles;          /* before the first result */
    double macs[LL_DTYPE_COUNT]; /* multiply-accumulates per multiplier and cycle; 0: cannot */
};

/* The directions in which a memory moves words of an operand: out to what lies inside (READ), in from outside
 * (FILL), in from inside (UPDATE: a result or partial sum), out to the outside (DRAIN). */
enum ll_array_way { LL_ARRAY_READ, LL_ARRAY_FILL, LL_ARRAY_UPDATE, LL_ARRAY_DRAIN, LL_ARRAY_WAYS };

/* A port moves so many bits a cycle, and no fewer than min_bits at a time, for the ways that it serves. */
struct ll_array_port {
    double width_bits, min_bits;
    uint8_t serves[LL_OPERAND_COUNT]; /* a bit for each way */
};

/* "64..512 input.read output.update output.drain": a port as a file gives it. Pure. */
enum { LL_PORT_TEXT = 240 };
void ll_port_print(const struct ll_array_port *port, char text[LL_PORT_TEXT]);

/* What an access of a memory is and takes. */
struct ll_accesses {
    struct ll_array_port port[LL_ARRAY_PORTS];
    uint64_t port_count;         /* 0: one for all, as fast as anyone asks */
    double width_bits, min_bits; /* of an access; 0: those of the port */
    double read_j, write_j;      /* of one */
    double update_j;             /* of a partial sum; 0: write_j */
    double leak_j;               /* of an instance in a cycle */
    uint64_t cluster;            /* instances that one access serves, where they work in step; 0, 1: one */
    uint64_t cell_ports;         /* of each cell; 0, 1: one */
    bool by_line;                /* successive transfers share lines; else each takes its own */
};

/* A memory inside an array of elements. */
struct ll_register {
    const char *name;
    uint64_t size_bytes; /* of one instance */
    bool holds[LL_OPERAND_COUNT], holds_given;
    uint64_t serves;    /* a bit for each axis along which all elements share an instance */
    double decode_bits; /* of an address, that each line compares; 0: those that tell its lines apart */
    struct ll_accesses accesses;
    bool accesses_given;
};

/* By whose rules accesses are counted (sim/array/nest.h). */
enum ll_counting { LL_COUNTS_LEADLINE, LL_COUNTS_TIMELOOP, LL_COUNTS_ZIGZAG };

/* Elements along axes, with registers of their own, over which the loops of a nest are unrolled
 * (sim/array). */
struct ll_array_unit {
    struct ll_extents axes;
    struct ll_register registers[LL_MAX_REGISTERS]; /* innermost first */
    uint64_t register_count;
    const char **given; /* "sizes => mapping" of problems whose mapping is given */
    uint64_t given_count;
    const char **unroll; /* loops that axes run, as "D1:K D2:C,FX"; of several the best; none: any */
    uint64_t unroll_count;
    const char **limits; /* what the search keeps to, as "rf: keep weight; order FX FY; factors FX=3" */
    uint64_t limit_count;
    double hop_j;                /* of a bit from element to element; 0: as long as an element is wide */
    double macs[LL_DTYPE_COUNT]; /* multiply-accumulates per element and cycle; 0: cannot */
    enum ll_counting counting;
    bool gated; /* elements at rest do not leak */
};

/* When converters read sums: after each slice of an input, or once all slices have been summed up. */
enum ll_converting { LL_CONVERTS_SLICES, LL_CONVERTS_SUMS };

/* An array that computes in memory (sim/cost/unit_in_memory.c): a weight lies in cells side by side along a
 * row, an input comes to a row in slices, a column sums up what its rows give. */
struct ll_in_memory {
    uint64_t rows, columns;   /* of cells that are addressed at once */
    uint64_t sets;            /* of weights that lie behind each other; one works */
    uint64_t cell_bits;       /* of a weight in a cell */
    uint64_t cells;           /* for each part of a weight: 2 for pairs that stand for signed ones */
    uint64_t dac_bits;        /* of an input in a slice; 0: an input is a number of pulses */
    uint64_t rows_at_once;    /* that a column sums up at once; 0: all */
    uint64_t columns_per_adc; /* that share a converter; 0: there is none (digital sums) */
    enum ll_converting converts;
    bool pipelined;           /* a slice is summed while the one before is converted */
    double slice_cycles;      /* of a slice: driving rows, summing */
    double conversion_cycles; /* of a conversion */
    double write_cycles;      /* to write a row of cells */
    double cell_j;            /* of a cell in a slice */
    double drive_j;           /* of driving a row in a slice; 0: by the bits of a slice */
    double convert_j;         /* of a conversion; 0: by adc_bits */
    double adc_bits;          /* of a converter; 0: not described */
    double add_j;             /* of shifting and adding what a weight's columns give for a slice */
    double slice_j;           /* of an array in a slice, whatever part of it works: control, clocks */
    double write_j;           /* of writing a cell */
    double weight_bits[LL_DTYPE_COUNT], input_bits[LL_DTYPE_COUNT]; /* 0: cannot; as the weight's */
    double macs[LL_DTYPE_COUNT]; /* at full use: multiply-accumulates per array and cycle, from the above */
    double conversion_j,
        driving_j; /* from bits and the technology; for convert_j and drive_j where these are 0 */
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
    double clock_hz;       /* its own, or the machine's */
    double efficiency;     /* sustained share of the peak rate; 1 when not given */
    double rate_of_full;   /* its rate over that of the family's full parts, on which kernels were measured */
    bool runs[LL_OP_NONE]; /* op kinds that it runs */
    bool runs_listed;      /* false: no `runs` key; it runs what no other unit lists */
    uint64_t align;        /* runs unbatched GEMMs with two sides divisible by this; 0: any work */
    uint64_t line_align;   /* runs GEMMs whose n and k are multiples of so many bytes; 0: any work */
    uint64_t sum_bytes;    /* of a partial sum, no fewer than its result has; 0: four */
    struct ll_pattern skips; /* of each `of` neighbours of the right operand along k it multiplies `kept` */
    /* It multiplies only what is not zero of the right operand; so many columns wait for each other; 0: all
     */
    uint64_t skips_unstructured;
    uint64_t skips_inputs; /* the same of the left operand: so many rows wait for each other; 0: all */
    /* Elements take what is not zero of so many rows packed, `row_step` at a time, of columns likewise; 0: not. */
    uint64_t packs_rows, row_step, packs_columns, column_step;
    bool gates_zeros;       /* a multiplication by zero takes no energy */
    uint64_t inputs_stored; /* enum ll_zero_places: how memories hold zeros of the left operand */
    double place_bits;      /* of a word that is not zero, where places go with words */
    union {
        struct ll_systolic systolic;
        struct ll_matrix matrix;
        struct ll_spatial spatial;
        struct ll_conv_core conv_core;
        struct ll_array_unit array;
        struct ll_in_memory in_memory;
        struct ll_vector vector;
    };
};

/* The share of the peak rate that a kernel reaches whose share on the family's full parts is this: what it
 * loses beside the multiplications takes as many cycles on a part that multiplies at a lower rate. Pure. */
static inline double ll_unit_share(const struct ll_unit *unit, double share)
{
    return share > 0 && unit->rate_of_full > 0 ? 1 / (1 + (1 / share - 1) * unit->rate_of_full) : share;
}

/* How an array in memory takes numbers of a type: columns that a weight takes; slices in which an input
 * comes; groups of rows that are summed one after the other; cycles until all sums of one input vector are
 * there. */
struct ll_in_memory_steps {
    double columns_each, weights, slices, groups, conversions, cycles;
};

/* Of a vector that so many rows and weights side by side take; all zero of a type that it does not take.
 * Pure. */
struct ll_in_memory_steps ll_in_memory_steps(const struct ll_in_memory *array, enum ll_dtype dtype,
                                             double rows, double weights);

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
