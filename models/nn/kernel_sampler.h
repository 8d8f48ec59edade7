/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of the candidate sampler. */
#ifndef LL_NN_KERNEL_SAMPLER_H
#define LL_NN_KERNEL_SAMPLER_H

#include "tracer/ops.h"

/* Bytes, for log_uniform_sample. */
uint64_t ll_sampler_workspace(const struct ll_op_view *op, unsigned threads);

#endif
