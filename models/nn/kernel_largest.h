/* SPDX-License-Identifier: Apache-2.0 */
/* Maxima as vector code. A comparison that fails keeps what there was: what is no number is passed over,
 * except in the first place. For kernel files only. */
#ifndef LL_NN_KERNEL_LARGEST_H
#define LL_NN_KERNEL_LARGEST_H

#include "models/nn/kernel.h"

/* Raises each element of `most` to that of x. */
LL_INLINE void ll_take_largest(const real *restrict x, real *restrict most, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        most[i] = x[i] > most[i] ? x[i] : most[i];
}

/* The largest of at least one number. Lanes that do not wait for each other share the work. */
LL_INLINE real ll_largest(const real *x, uint64_t count)
{
    enum { LANES = 32 };
    real lane[LANES], most = x[0];
    uint64_t i = 0;
    for (int k = 0; k < LANES; k++)
        lane[k] = most;
    for (; i + LANES <= count; i += LANES)
        ll_take_largest(x + i, lane, LANES);
    for (; i < count; i++)
        most = x[i] > most ? x[i] : most;
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
    return most;
}

#endif
