/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory for picking the best of many. */
#ifndef LL_NN_KERNEL_RANK_H
#define LL_NN_KERNEL_RANK_H

#include "tracer/ops.h"

/* Bytes; outputs known. */
uint64_t ll_rank_workspace(const struct ll_op_view *op, unsigned threads);

#endif
