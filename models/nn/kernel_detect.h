/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of what detectors do with boxes. */
#ifndef LL_NN_KERNEL_DETECT_H
#define LL_NN_KERNEL_DETECT_H

#include "tracer/ops.h"

/* Bytes; outputs known. */
uint64_t ll_nms_workspace(const struct ll_op_view *op, unsigned threads);
uint64_t ll_box_sample_workspace(const struct ll_op_view *op, unsigned threads);

#endif
