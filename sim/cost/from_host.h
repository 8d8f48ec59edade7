/* SPDX-License-Identifier: Apache-2.0 */
/* What comes from the host, goes there, or comes back. */
#ifndef LL_SIM_COST_FROM_HOST_H
#define LL_SIM_COST_FROM_HOST_H

#include "sim/cost/cost.h"

/* Prepared, then on its way. The latency is that of bringing input at all: what is made of input that came
 * before goes with it. */
void ll_host_sends(const struct ll_host *host, enum ll_op_kind kind, const struct ll_work *work,
                   struct ll_cost *cost, struct ll_explain *why);

/* To the host or back: over the same link, nothing to prepare. */
void ll_host_swaps(const struct ll_host *host, const struct ll_work *work, struct ll_cost *cost,
                   struct ll_explain *why);

#endif
