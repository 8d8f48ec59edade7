/* SPDX-License-Identifier: Apache-2.0 */
/* Attention whose scores never leave the chip (Dao et al., FlashAttention, 2022), as work: one product of a
 * depth that stands for all of its products, and what is computed on scores beside it. Pure. */
#ifndef LL_TRACER_IR_ATTENDED_H
#define LL_TRACER_IR_ATTENDED_H

#include <stdbool.h>

#include "tracer/ir/work.h"

/* Stacks of so many rows, each of which sees `seen` keys on average, rounded up. */
struct ll_attended {
    uint64_t stacks, rows, seen, features;
    bool backward; /* its gradients: scores are computed again */
};

/* Of the products alone: of each score that is seen two of `features` terms forward, five backward.
 * LL_NO_FIT past 64 bits. */
uint64_t ll_attended_flops(const struct ll_attended *attended);

/* Sets the kind of work, its dimensions and what is computed beside; false where these pass 64 bits. Type,
 * FLOPs and bytes are the caller's. */
bool ll_attended_lower(const struct ll_attended *attended, struct ll_work *work);

#endif
