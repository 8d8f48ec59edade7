/* SPDX-License-Identifier: Apache-2.0 */
/* A trace repeats itself: costs already computed, by kind and work.
 *
 * One memo serves one machine and one thread. It starts as {.machine = machine}. */
#ifndef LL_SIM_COST_MEMO_H
#define LL_SIM_COST_MEMO_H

#include "sim/cost/cost.h"
#include "tracer/base/map.h"

struct ll_memo_entry {
    struct ll_cost cost;
    const char *trouble; /* NULL: the cost is good */
};

struct ll_memo {
    const struct ll_machine *machine;
    struct ll_map keys;
    struct ll_memo_entry *entries; /* by key */
    uint64_t capacity;
};

/* ll_cost_op, remembered. NULL when it was refused (*trouble says why, a static sentence) or when memory ran
 * out (*trouble is NULL). The pointer is good until the next call. */
const struct ll_cost *ll_memo_cost(struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work,
                                   const char **trouble);

void ll_memo_release(struct ll_memo *memo);

#endif
