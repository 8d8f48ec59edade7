/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of random ops share. For kernel files only. */
#ifndef LL_NN_KERNEL_RANDOM_H
#define LL_NN_KERNEL_RANDOM_H

#include "models/nn/kernel.h"
#include "tracer/base/random.h"

/* The stream of an op in this step. */
static inline uint64_t ll_drawing_key(const struct ll_op_view *op, const real *step)
{
    uint64_t seed = (uint64_t)ll_attr_count(op, LL_ATTR_SEED, 0);
    uint64_t stream = (uint64_t)ll_attr_count(op, LL_ATTR_STREAM, 0);
    return ll_random_key(ll_random_key(seed, stream), (uint64_t)(int64_t)*step);
}

#endif
