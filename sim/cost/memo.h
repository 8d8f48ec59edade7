/* SPDX-License-Identifier: Apache-2.0 */
/* A trace repeats itself: costs already computed, by kind and work.
 *
 * One memo serves one machine after the other, and one thread. It starts as {.machine = machine}. Turned to
 * another machine it forgets the costs that depend on what differs: a machine has a signature for each of its
 * units, a hash of all that the cost of work on that unit can depend on, and a cost is good as long as its
 * unit's signature is the same. */
#ifndef LL_SIM_COST_MEMO_H
#define LL_SIM_COST_MEMO_H

#include "sim/cost/cost.h"
#include "tracer/base/map.h"

struct ll_memo_entry {
    struct ll_cost cost;
    struct ll_cost *ways; /* each, where there are several and they were asked for; else NULL */
    const char *trouble;  /* NULL: the costs are good */
    uint64_t signature;   /* of what they were computed for */
};

struct ll_memo {
    const struct ll_machine *machine;
    uint64_t signatures[LL_MAX_UNITS + 1]; /* by unit, then of what needs none; 0 before any turn */
    uint64_t all_units;                    /* what a signature is mixed with where another unit works, too */
    struct ll_map keys;
    struct ll_memo_entry *entries; /* by key */
    uint64_t capacity;
};

/* ll_cost_op, remembered. NULL when it was refused (*trouble says why, a static sentence) or when memory ran
 * out (*trouble is NULL). The pointer is good until the next call. */
const struct ll_cost *ll_memo_cost(struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work,
                                   const char **trouble);

/* ll_cost_algorithm of each of its ways, remembered: as many as `ways` of what ll_memo_cost has told of this
 * work. NULL when memory ran out. Good as long. */
const struct ll_cost *ll_memo_algorithms(struct ll_memo *memo, enum ll_op_kind kind,
                                         const struct ll_work *work);

/* From now on it serves this machine. */
void ll_memo_turn(struct ll_memo *memo, const struct ll_machine *machine);

/* Forgets all costs; empty and usable afterwards, for the same machine. */
void ll_memo_release(struct ll_memo *memo);

#endif
