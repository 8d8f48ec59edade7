/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of the reductions. */
#ifndef LL_NN_KERNEL_REDUCE_H
#define LL_NN_KERNEL_REDUCE_H

#include "tracer/ops.h"

/* A sum over rows has at most this many partial sums, each over at least so many rows. */
enum { LL_PARTIAL_SUMS = 64, LL_LEAST_ROWS = 64 };

/* Bytes; outputs known. */
uint64_t ll_bias_grad_workspace(const struct ll_op_view *op, unsigned threads);

#endif
