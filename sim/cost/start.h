/* SPDX-License-Identifier: Apache-2.0 */
/* What the software needs to start an op.
 *
 * Every way of doing an op occupies the host for as long (overhead_s), however many kernels it has: what a
 * way of several kernels takes beyond that delays this op and no other (more_s), as if another thread of the
 * host did it. So a way that is faster on the device never lets later ops wait longer for the host, and more
 * of any resource never makes a program slower. */
#ifndef LL_SIM_COST_START_H
#define LL_SIM_COST_START_H

#include "sim/cost/cost.h"

/* Fills overhead_s, behind_s and more_s; way_s: what starting this way costs in all, 0: as any. Pure. */
void ll_cost_start(const struct ll_machine *machine, const struct ll_kernel *kernel, double way_s,
                   struct ll_cost *cost, struct ll_explain *why);

#endif
