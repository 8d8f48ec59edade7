/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of batch normalisation. */
#ifndef LL_NN_KERNEL_NORM_H
#define LL_NN_KERNEL_NORM_H

#include "tracer/ops.h"

/* Bytes, for the training form, its gradient and the inference form. */
uint64_t ll_norm_workspace(const struct ll_op_view *op, unsigned threads);

#endif
