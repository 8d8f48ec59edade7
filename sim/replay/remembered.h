/* SPDX-License-Identifier: Apache-2.0 */
/* What simulations of machines that differ little need not work out again: costs of ops and prices of
 * exchanges. Both are kept by what they depend on, so that no result depends on what is remembered.
 *
 * Starts as {0}; whoever simulates more than once owns it. One thread at a time. */
#ifndef LL_SIM_REPLAY_REMEMBERED_H
#define LL_SIM_REPLAY_REMEMBERED_H

#include "sim/cost/memo.h"
#include "sim/replay/communication.h"

struct ll_remembered {
    struct ll_memo costs;
    struct ll_prices prices;
};

/* Frees both, which can then be used again. */
static inline void ll_remembered_release(struct ll_remembered *remembered)
{
    ll_memo_release(&remembered->costs);
    ll_prices_release(&remembered->prices);
}

#endif
