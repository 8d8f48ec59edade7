/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of attention as one op. */
#ifndef LL_NN_KERNEL_ATTENTION_H
#define LL_NN_KERNEL_ATTENTION_H

#include "tracer/ops.h"

/* Bytes: a row of scores for each thread. */
uint64_t ll_attention_workspace(const struct ll_op_view *op, unsigned threads);

#endif
