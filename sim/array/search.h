/* SPDX-License-Identifier: Apache-2.0 */
/* The best mapping of a problem on an array.
 *
 * All orders of the loops are tried, of dimensions cut into their prime factors, the smallest merged until
 * no more than LL_ARRAY_FACTORS are left (as LOMA: Symons et al., AICAS
 * 2021); with each order all ways to divide the loops among the stores of each operand; and all unrollings
 * over the axes that are allowed, of which those that leave fewest elements idle come first. Energies of
 * operands add up, so each operand has a front of its own, of energy and room, and fronts are joined where
 * stores are shared. What is merged, an unrolling or a point of a front that finds no place among the best,
 * or evaluations that run out make a search of a part: it then says so, and the bound how far from the best
 * its result may be. More room, ports or accumulators only add mappings, so the least energy never rises with
 * them.
 *
 * Pure and thread-safe; no memory is allocated. */
#ifndef LL_SIM_ARRAY_SEARCH_H
#define LL_SIM_ARRAY_SEARCH_H

#include "sim/array/nest.h"

enum { LL_ARRAY_FACTORS = 6 };

/* What a search keeps to, beyond what stores hold. */
struct ll_array_limits {
    /* Axes that a dimension may be unrolled over, a bit each, in several ways; count 0: any over any. */
    uint32_t over[16][LL_ARRAY_DIMS];
    uint8_t ways;
    bool keep[LL_OPERAND_COUNT][LL_ARRAY_STORES]; /* operands that a store must keep, */
    bool pass[LL_OPERAND_COUNT][LL_ARRAY_STORES]; /* and that it must not */
    /* Of the loops of a store, innermost first: those that must come in this order, inside of all others. */
    uint8_t order[LL_ARRAY_STORES][LL_ARRAY_DIMS], ordered[LL_ARRAY_STORES];
    /* Iterations that a store's loops over a dimension make; 0: any. */
    uint64_t factor[LL_ARRAY_STORES][LL_ARRAY_DIMS];
    uint64_t unrolled[LL_ARRAY_AXES][LL_ARRAY_DIMS]; /* the same over an axis */
    bool any;                                        /* something of these is limited */
};

struct ll_array_found {
    struct ll_array_mapping mapping;
    struct ll_array_cost cost;
    struct ll_array_bound bound;
    double objective, bound_of_objective;
    uint64_t evaluated; /* mappings whose energy was computed, of one operand or of all */
    bool cut;           /* evaluations ran out before all orders were looked at */
    bool complete;      /* nothing was left out: no mapping is better. The bound holds in any case. */
};

/* What a mapping costs by an objective: cycles, joules, their product, or bits out of the outermost store and
 * into it. Of equals the other of cycles and joules decides. */
enum ll_array_aim { LL_ARRAY_TIME, LL_ARRAY_ENERGY, LL_ARRAY_EDP, LL_ARRAY_TRAFFIC };

/* False when no mapping fits within the limits. */
bool ll_array_search(const struct ll_array *array, const struct ll_array_problem *problem,
                     const struct ll_array_limits *limits, enum ll_array_aim aim,
                     struct ll_array_found *found);

#endif
