/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of products. */
#ifndef LL_NN_KERNEL_MATMUL_H
#define LL_NN_KERNEL_MATMUL_H

#include "models/nn/kernel.h"

/* Bytes of a matmul for so many threads; outputs known. */
uint64_t ll_matmul_workspace(const struct ll_op_view *op, unsigned threads);

#endif
