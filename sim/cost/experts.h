/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a layer of experts on a machine whose software has a grouped GEMM for it
 * (sim/machine/kernel_figures.h). All functions are pure and thread-safe. */
#ifndef LL_SIM_COST_EXPERTS_H
#define LL_SIM_COST_EXPERTS_H

#include "sim/cost/cost.h"

/* Fills the cost of experts (kind LL_WORK_EXPERTS). False, and *cost untouched, where the software has no
 * kernel for their format or no unit computes in it: then they are costed as ll_experts_as_gemm.
 * *launches: whether the kernel's figures have all launches of the call; else they are those of the op's
 * kernel. */
bool ll_experts_cost(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_cost *cost, bool *launches);

/* Prints how that cost comes about, up to the times of its stages; nothing where it is false. */
void ll_experts_explain(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        struct ll_explain *why);

#endif
