/* SPDX-License-Identifier: Apache-2.0 */
/* A trace repeats itself: costs already computed, by kind and work.
 *
 * One memo serves one machine after the other, and one thread. It starts as {.machine = machine}. Turned to
 * another machine it computes the costs anew that depend on what differs: a machine has a signature for each
 * of its units, a hash of all that the cost of work on that unit can depend on, and a cost is good for
 * machines whose signature of its unit is the same. */
#ifndef LL_SIM_COST_MEMO_H
#define LL_SIM_COST_MEMO_H

#include "sim/cost/cost.h"
#include "tracer/base/map.h"

/* The costs of work for machines with one signature. */
struct ll_memo_version {
    struct ll_cost *costs; /* of all algorithms, the fastest first; NULL: there are none yet, or trouble */
    const char *trouble;   /* NULL: the costs are good */
    uint64_t signature;    /* of what they were computed for */
    uint64_t starts;       /* the same of what starting an op takes */
    bool known;
};

/* Two versions, the second of which gives way: so a machine of which one thing after the other is changed,
 * and changed back, finds its costs again. */
struct ll_memo_entry {
    struct ll_memo_version versions[2];
    uint32_t latest; /* that served */
};

struct ll_memo {
    const struct ll_machine *machine;
    uint64_t signatures[LL_MAX_UNITS + 1]; /* by unit, then of what needs none; 0 before any turn */
    uint64_t all_units;                    /* what a signature is mixed with where another unit works, too */
    uint64_t starts; /* of what starting an op takes, which is in no signature: costs are made to follow */
    struct ll_map keys;
    struct ll_memo_entry *entries; /* by key */
    uint64_t capacity;
};

/* ll_cost_algorithms, remembered: `ways` of the first of them, the fastest. NULL when it was refused
 * (*trouble says why, a static sentence) or when memory ran out (*trouble is NULL). Good until the memo is
 * turned. */
const struct ll_cost *ll_memo_cost(struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work,
                                   const char **trouble);

/* What served last does not give way until this is asked again. */
void ll_memo_settle(struct ll_memo *memo);

/* Whether the costs that served last before they were settled are good for its machine as they are. Pure. */
bool ll_memo_keeps(const struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work);

/* From now on it serves this machine. */
void ll_memo_turn(struct ll_memo *memo, const struct ll_machine *machine);

/* Forgets all costs; empty and usable afterwards, for the same machine. */
void ll_memo_release(struct ll_memo *memo);

#endif
