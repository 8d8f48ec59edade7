/* SPDX-License-Identifier: Apache-2.0 */
/* A loop nest on an array of processing elements, counted exactly.
 *
 * A problem is a nest of loops over dimensions, with three operands that each index some of them. An array is
 * axes of elements, and memories (stores) that each serve some axes: one instance for all elements along an
 * axis that it serves, one per position along every other. Registers in an element serve no axis. A mapping
 * says how loops are unrolled over axes, in which order the others run, and for each operand which loops each
 * store holds. From these three follow, by a pure function, the words that cross each boundary in each
 * direction, the cycles, and the energy. Nothing is searched here and nothing is allocated.
 *
 * Words: a *tile* is what a store holds of an operand; a *transfer* moves one tile across the boundary above
 * or below; an *access* is one use of a store's port at full width. All counts are doubles, exact below 2^53.
 *
 * All functions are pure and thread-safe; structs are plain data of the caller. */
#ifndef LL_SIM_ARRAY_NEST_H
#define LL_SIM_ARRAY_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/machine/machine.h"

enum {
    LL_ARRAY_DIMS = 12,
    LL_ARRAY_RANKS = 6,
    LL_ARRAY_TERMS = 3,
    LL_ARRAY_AXES = 8,
    LL_ARRAY_STORES = 24,
    LL_ARRAY_LOOPS = 48
};

/* --- the problem --- */

/* One rank of an operand: the sum of step * iteration over its terms, as 2 ox + fx. */
struct ll_array_rank {
    uint8_t terms, dim[LL_ARRAY_TERMS];
    uint64_t step[LL_ARRAY_TERMS];
    uint64_t extent; /* of the tensor, where padding makes it smaller than the loops; 0: as the loops say */
};

struct ll_array_operand {
    struct ll_array_rank rank[LL_ARRAY_RANKS];
    uint8_t ranks;
    double bits;     /* of a word; of the result, when it is whole */
    double sum_bits; /* of a partial sum; the result alone */
};

/* Operand LL_OPERAND_C is the result; it is summed over all dimensions that it does not index. */
struct ll_array_problem {
    uint8_t dims;
    uint64_t of[LL_ARRAY_DIMS];
    char name[LL_ARRAY_DIMS][8];
    struct ll_array_operand operand[LL_OPERAND_COUNT];
    /* By ll_array_prepare: dimensions that an operand indexes, and those of them that share a rank. */
    uint32_t indexes[LL_OPERAND_COUNT], windows[LL_OPERAND_COUNT];
    double macs;
};

/* Fills in what follows from the loops and ranks. */
void ll_array_prepare(struct ll_array_problem *problem);

/* C[m,n] += A[m,k] B[k,n], `batch` times, with dimensions B, M, N, K. */
struct ll_array_problem ll_array_gemm(uint64_t batch, uint64_t m, uint64_t n, uint64_t k);

/* A convolution by its loops G B K C OY OX FY FX (LL_LOOP_...), steps and the image's true sides; any
 * pass. */
struct ll_array_problem ll_array_conv(const struct ll_conv *conv);

/* --- the array --- */

struct ll_array_store {
    const char *name;
    double size_bits; /* of one instance; INFINITY: any */
    bool holds[LL_OPERAND_COUNT];
    uint32_t serves;  /* axes, a bit each */
    double instances; /* that exist */
    struct ll_array_port port[LL_ARRAY_PORTS];
    uint8_t ports;                    /* 0: ports are no limit, and an access moves width_bits */
    double width_bits, min_bits;      /* of an access through no port */
    double read_j, write_j, update_j; /* of an access: reads and drains, fills, updates */
    double leak_j;                    /* of one instance in one cycle */
    double cluster; /* instances that one access serves; those at work lie evenly in all clusters; 0: 1 */
    /* Whether accesses of successive transfers share lines; else each transfer takes whole ones of min_bits. */
    bool coalesces;
};

/* What counts as an access, and what waits for what, where descriptions of the same machine leave it open. */
struct ll_array_rules {
    /* A multiplier keeps an input while loops run that do not index it: always, or only where a network lies
     * between the innermost store and the elements. Else it is read again in each cycle. */
    bool latches, latches_behind_network;
    bool drains_are_read; /* a result that leaves a store is read there first */
    bool sums_start_read; /* the first partial sum is read, a zero, as all others are */
    bool halo_stays;      /* of a window that moves in the innermost loop, only new words come */
    bool halo_shared;     /* elements side by side share words of windows that overlap */
    bool spans;           /* a tile of a strided operand has the words between its own, too */
    bool steady;          /* cycles are those of the slowest port or of computing; nothing begins or ends */
    bool gated;           /* idle instances do not leak */
    bool
        floors; /* time goes by the whole part of an unrolled loop that does not divide, else by what is above */
    /* What comes once is shortened, while ports are idle, in turn and together with what was shortened before
     * (ZigZag 3.8, reduce_balanced), down to a tile of the innermost store; else each down to what the first
     * cycle needs. */
    bool loads_in_turn;
    /* Where an iteration takes several cycles, ports get no more time than if it took one: the rest is added to
     * the time (ZigZag 3.8, CostModelEvaluationForIMC). Else transfers go on in all cycles of an iteration. */
    bool serial_apart;
};
extern const struct ll_array_rules ll_array_rules_leadline, ll_array_rules_timeloop, ll_array_rules_zigzag;

struct ll_array {
    uint8_t axes;
    uint64_t axis[LL_ARRAY_AXES];                 /* elements along each */
    struct ll_array_store store[LL_ARRAY_STORES]; /* innermost first; the last one holds all operands */
    uint8_t stores;
    double mac_j;
    double hop_j;          /* of a bit from one element to the next along an axis; 0: not described */
    double macs_per_cycle; /* of an element; below 1 an iteration takes several cycles; 0: 1 */
    struct ll_array_rules rules;
};

/* --- the mapping --- */

struct ll_array_loop {
    uint8_t dim;
    uint64_t by;
};

/* `by` iterations side by side along an axis. What does not divide leaves elements idle in the last pass:
 * energy goes by the mean, time by the whole number above. */
struct ll_array_unroll {
    uint8_t dim, axis;
    double by;
};

struct ll_array_mapping {
    struct ll_array_loop loop[LL_ARRAY_LOOPS]; /* innermost first */
    struct ll_array_unroll unroll[LL_ARRAY_LOOPS];
    uint8_t loops, unrolls;
    bool keeps[LL_OPERAND_COUNT][LL_ARRAY_STORES];    /* the outermost store keeps all operands */
    uint8_t holds[LL_OPERAND_COUNT][LL_ARRAY_STORES]; /* loops that it holds, of the innermost ones */
};

/* Whether the mapping covers the problem, each store keeps no more than it holds, loops nest, and unrolling
 * has room; else *why is a static sentence. Capacity is judged by ll_array_cost.fits. */
bool ll_array_mapping_check(const struct ll_array *array, const struct ll_array_problem *problem,
                            const struct ll_array_mapping *mapping, const char **why);

/* --- the cost --- */

/* What one instance of a store moves of an operand in one direction. */
struct ll_array_moves {
    double words;  /* in all */
    double bits;   /* of a word */
    double amount; /* words of a transfer */
    double transfers;
    double period;   /* cycles from one transfer to the next */
    double accesses; /* at full width, all instances together */
    double energy_j; /* of them */
};

struct ll_array_cost {
    struct ll_array_moves moves[LL_OPERAND_COUNT][LL_ARRAY_STORES][LL_ARRAY_WAYS];
    double tile_words[LL_OPERAND_COUNT][LL_ARRAY_STORES];
    double used[LL_ARRAY_STORES];        /* instances at work, in the mean */
    double held_bits[LL_ARRAY_STORES];   /* of one instance */
    double busy_cycles[LL_ARRAY_STORES]; /* of its busiest port */
    double store_j[LL_ARRAY_STORES];     /* accesses and leakage */
    double leak_j, network_j, mac_j, energy_j;
    double compute_cycles;            /* in which elements multiply */
    double stall_cycles;              /* in which they wait for ports */
    double load_cycles, drain_cycles; /* before the first and behind the last */
    double cycles;                    /* the sum */
    double utilization;               /* multiply-accumulates over elements times cycles */
    uint8_t slowest;                  /* store whose port makes them wait; `stores` where none does */
    bool fits;
};

/* The mapping is one that ll_array_mapping_check lets pass. */
void ll_array_evaluate(const struct ll_array *array, const struct ll_array_problem *problem,
                       const struct ll_array_mapping *mapping, struct ll_array_cost *cost);

/* The energy of one operand's accesses and hops alone, and the bits that it takes of each store, whose sum
 * over operands is held_bits. Energies of operands add up: with arithmetic and leakage they are energy_j. */
double ll_array_operand_j(const struct ll_array *array, const struct ll_array_problem *problem,
                          const struct ll_array_mapping *mapping, enum ll_operand operand,
                          double held_bits[LL_ARRAY_STORES]);

/* What no mapping beats: cycles of all elements at work and of all words through the outermost ports once;
 * energy of arithmetic and of all words out of the outermost store, or into it, once. */
struct ll_array_bound {
    double cycles, energy_j;
};
struct ll_array_bound ll_array_least(const struct ll_array *array, const struct ll_array_problem *problem);

#endif
