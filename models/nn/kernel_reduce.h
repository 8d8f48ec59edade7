/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of the reductions. */
#ifndef LL_NN_KERNEL_REDUCE_H
#define LL_NN_KERNEL_REDUCE_H

#include "tracer/ops.h"

/* Bytes, for sums, means and bias_grad. */
uint64_t ll_reduce_workspace(const struct ll_op_view *op, unsigned threads);

#endif
