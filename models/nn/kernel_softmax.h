/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a softmax. For kernel files only. */
#ifndef LL_NN_KERNEL_SOFTMAX_H
#define LL_NN_KERNEL_SOFTMAX_H

#include "models/nn/elementary.h"
#include "models/nn/kernel_largest.h"

/* y = exp(x - most), which may lie where x lies; their sum. */
LL_INLINE double ll_exponentials(const real *x, real most, real *y, uint64_t count)
{
    double sum = 0;
#pragma omp simd
    for (uint64_t i = 0; i < count; i++)
        y[i] = ll_exp(x[i] - most);
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < count; i++)
        sum += (double)y[i];
    return sum;
}

/* y times a factor. */
LL_INLINE void ll_scale_line(real *y, uint64_t count, real factor)
{
    for (uint64_t i = 0; i < count; i++)
        y[i] *= factor;
}

#endif
