/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of local response normalisation. */
#ifndef LL_NN_KERNEL_LRN_H
#define LL_NN_KERNEL_LRN_H

#include "tracer/ops.h"

/* Bytes; outputs known. */
uint64_t ll_lrn_workspace(const struct ll_op_view *op, unsigned threads);

#endif
