/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and percentiles of values that come one by one (serve.h has the readers).
 *
 * Up to MOST_EXACT values are kept. Beyond, a histogram counts them whose bins are 0.01 % wide, from 1 ns to
 * 10^6 s; values outside go to its ends. */
#ifndef LL_SIM_SERVE_QUANTILES_H
#define LL_SIM_SERVE_QUANTILES_H

#include "sim/serve/serve.h"

/* NULL when memory ran out. Lives in the arena. */
struct ll_quantiles *ll_quantiles_make(struct ll_arena *arena);

/* `times` values that are the same, at least 0 each. */
void ll_quantiles_add(struct ll_quantiles *quantiles, double value, uint64_t times);

#endif
