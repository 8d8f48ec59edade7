/* SPDX-License-Identifier: Apache-2.0 */
/* What zeros save on an array: accesses and multiplications that do not happen, the places of what is left.
 *
 * From the counts of a mapping without zeros follow those with zeros, by expectation. A store may hold an
 * operand compressed: its zeros are neither stored nor moved, but the places of the other words are. An
 * access to one operand may depend on others: where all that it would meet of them is zero it is *gated*,
 * which saves its energy, or *skipped*, which saves its time as well (Wu et al., "Sparseloop", MICRO 2022,
 * section 5). What an access would meet is a tile: of the other operand, all words that are used while one
 * transfer lasts.
 *
 * All functions are pure and thread-safe; structs are plain data of the caller. */
#ifndef LL_SIM_ARRAY_SPARSE_H
#define LL_SIM_ARRAY_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/array/nest.h"

/* Where the words of an operand that are not zero lie: anywhere, each set of places as likely as any other
 * (hypergeometric), or evenly, so that each tile has its share, as N of M neighbours have. */
struct ll_array_density {
    double share; /* of the words that are not zero, above 0, at most 1 */
    bool even;
};

/* The probability that a tile of so many words out of `all` holds zeros alone. */
double ll_array_empty(const struct ll_array_density *density, double tile, double all);

/* How many groups of `width` the words of a tile that are not zero make, in the mean, in whole groups: what a
 * unit takes that packs them into steps of `width`. At least 0, at most ceil(tile / width). */
double ll_array_groups(const struct ll_array_density *density, uint64_t tile, uint64_t width);

/* How the places of an operand's words are told. */
enum ll_array_places {
    LL_ARRAY_DENSE,       /* all words are there */
    LL_ARRAY_BITMASK,     /* a bit each place */
    LL_ARRAY_COORDINATES, /* `bits` with each word: its place in its fiber */
    LL_ARRAY_RUNS,        /* `bits` with each word: zeros before it */
    LL_ARRAY_CSR,         /* coordinates, and `bits` of a pointer for each fiber of so many places */
    LL_ARRAY_BLOCKS       /* a bit for each block of `fiber` places, dense inside */
};

struct ll_array_format {
    enum ll_array_places places;
    double bits, fiber;
};

/* What of a tile moves: words of data, and bits of their places, for one of so many places. */
struct ll_array_stored {
    double words, place_bits;
};
struct ll_array_stored ll_array_stored(const struct ll_array_format *format,
                                       const struct ll_array_density *density, double places);

/* Accesses to `target` in a store that happen only where what they meet of all operands in `on` (a bit each)
 * is not zero. With a `width`, elements take what the store holds of those packed, so many words at a time,
 * and `target` is read once for each. */
struct ll_array_saving {
    uint8_t store;
    enum ll_operand target;
    uint32_t on;
    bool skips; /* else it gates */
    uint64_t width;
};

enum { LL_ARRAY_SAVINGS = 16 };

/* What an array and its work say about zeros. */
struct ll_array_sparse {
    struct ll_array_density density[LL_OPERAND_COUNT];
    struct ll_array_format format[LL_OPERAND_COUNT][LL_ARRAY_STORES];
    struct ll_array_saving saving[LL_ARRAY_SAVINGS];
    uint8_t savings;
    uint32_t skipped_by_macs,
        gated_by_macs; /* operands whose zeros no multiplication takes time, or energy, for */
    uint32_t
        packed; /* operands whose zeros take no element: a mapping unrolls over more words than elements are */
    bool gated_saves_time; /* as Sparseloop counts: computing that is gated takes none either */
    /* Words that an instance of a store reads, and takes, in a cycle, places of what is compressed among them at
     * word_bits; 0: any number. Where `one_port` both share the first. */
    double reads[LL_ARRAY_STORES], writes[LL_ARRAY_STORES], word_bits[LL_ARRAY_STORES];
    bool one_port[LL_ARRAY_STORES];
};

/* Words of one instance in one direction; together with what is left of zeros that are not stored, all of a
 * mapping without zeros. */
struct ll_array_kinds {
    double actual, gated, skipped; /* words */
    double place_bits;             /* that move with the actual ones */
};

struct ll_array_sparse_cost {
    struct ll_array_kinds moves[LL_OPERAND_COUNT][LL_ARRAY_STORES][LL_ARRAY_WAYS];
    double macs, gated_macs, skipped_macs; /* of all multiplications of the problem */
    double compute_cycles, cycles;
    double busy_cycles[LL_ARRAY_STORES];
    uint8_t slowest; /* store whose ports make elements wait; `stores` where none does */
    double store_j[LL_ARRAY_STORES], mac_j,
        energy_j; /* of what happens; nothing of what is gated or skipped */
};

/* `dense` is ll_array_evaluate's cost of the same mapping. */
void ll_array_sparse_evaluate(const struct ll_array *array, const struct ll_array_problem *problem,
                              const struct ll_array_mapping *mapping, const struct ll_array_cost *dense,
                              const struct ll_array_sparse *sparse, struct ll_array_sparse_cost *cost);

#endif
