/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a layer of experts on a machine whose software has a grouped GEMM for it
 * (sim/machine/kernel_figures.h). All functions are pure and thread-safe. */
#ifndef LL_SIM_COST_EXPERTS_H
#define LL_SIM_COST_EXPERTS_H

#include "sim/cost/cost.h"

/* Fills the cost of experts (kind LL_WORK_EXPERTS), of which one has rows. Software that has no kernel for
 * their format runs them in 16 bits, whose weights it holds then.
 *
 * False, and *cost untouched, where the software describes no kernels of experts at all: then they are costed
 * as ll_experts_as_gemm; or where none of its kernels can run them: then *trouble, a static sentence, says
 * so (else it is NULL). *launches: whether the kernel's figures have all launches of the call; else they are
 * those of the op's kernel. */
bool ll_experts_cost(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_cost *cost, bool *launches, const char **trouble);

/* Prints how that cost comes about, up to the times of its stages; nothing where it is false. */
void ll_experts_explain(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        struct ll_explain *why);

#endif
