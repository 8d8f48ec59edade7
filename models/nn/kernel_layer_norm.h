/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of layer normalisation's gradient. */
#ifndef LL_NN_KERNEL_LAYER_NORM_H
#define LL_NN_KERNEL_LAYER_NORM_H

#include "tracer/ops.h"

/* Bytes, for the gradients of layer_norm and rms_norm. */
uint64_t ll_layer_norm_workspace(const struct ll_op_view *op, unsigned threads);

#endif
