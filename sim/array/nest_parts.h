/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the evaluator of mappings: what counting (nest.c) and time (nest_time.c) share. */
#ifndef LL_SIM_ARRAY_NEST_PARTS_H
#define LL_SIM_ARRAY_NEST_PARTS_H

#include "sim/array/nest.h"

/* An evaluation under way. The chain of an operand: which stores it passes, innermost first. */
struct ll_array_walk {
    const struct ll_array *array;
    const struct ll_array_problem *problem;
    const struct ll_array_mapping *mapping;
    struct ll_array_cost *cost;
    double by[LL_ARRAY_LOOPS]; /* of each unrolling: the mean, or whole */
    double cycles;             /* of all temporal iterations, as ports see them */
    struct ll_array_chain {
        uint8_t store[LL_ARRAY_STORES], count;
        /* Of place i, 0 the multipliers, i + 1 store[i]: */
        uint8_t held[LL_ARRAY_STORES + 1];    /* loops whose tile it keeps */
        uint8_t lasting[LL_ARRAY_STORES + 1]; /* those, and loops that leave the tile as it is */
        uint32_t axes[LL_ARRAY_STORES + 1];   /* that it serves */
        double tile[LL_ARRAY_STORES + 1];     /* words */
        double beside[LL_ARRAY_STORES + 1];   /* distinct tiles of place i for one instance of place i + 1 */
        double period[LL_ARRAY_STORES + 1];
    } chain[LL_OPERAND_COUNT];
};

/* Whether a dimension moves the tile of an operand. */
static inline bool ll_array_indexes(const struct ll_array_walk *w, enum ll_operand o, uint8_t dim)
{
    return w->problem->indexes[o] >> dim & 1;
}

/* Whether loops that a result is summed over run outside: further than `held` loops, or over axes that are
 * not served. */
bool ll_array_is_partial(const struct ll_array_walk *w, uint8_t held, uint32_t axes);

/* Cycles in which an element multiplies once: several where it takes operands bit by bit. */
static inline double ll_array_cycles_each(const struct ll_array *array)
{
    return array->macs_per_cycle > 0 && array->macs_per_cycle < 1 ? 1 / array->macs_per_cycle : 1;
}

/* Cycles of one iteration, as ports see it. */
static inline double ll_array_port_cycles_each(const struct ll_array *array)
{
    return array->rules.serial_apart ? 1 : ll_array_cycles_each(array);
}

/* Bits of an operand's tile in a place: of its result at full width while sums are not whole outside of
 * it. */
double ll_array_held_bits(const struct ll_array_walk *w, enum ll_operand o, int place);

/* Bits that it takes of the store's room: sums are wide as long as something is added to them there. */
double ll_array_room_bits(const struct ll_array_walk *w, enum ll_operand o, int place);

/* Cycles, utilization, room: fills these of w->cost, whose moves are counted. */
void ll_array_time(struct ll_array_walk *w);

#endif
