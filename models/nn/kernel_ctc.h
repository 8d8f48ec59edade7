/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of the connectionist temporal classification loss. */
#ifndef LL_NN_KERNEL_CTC_H
#define LL_NN_KERNEL_CTC_H

#include "tracer/ops.h"

/* Bytes, for ctc_loss; LL_NO_FIT past 64 bits. */
uint64_t ll_ctc_workspace(const struct ll_op_view *op, unsigned threads);

#endif
