/* SPDX-License-Identifier: Apache-2.0 */
/* A record's words as a call. Inner to this room. */
#ifndef LL_INTERPOSE_DECODE_H
#define LL_INTERPOSE_DECODE_H

#include "tracer/interpose/routines.h"

/* Which of the arguments of a call of this symbol are addresses: bit i for word i. Pure. */
uint64_t ll_address_words(uint32_t symbol);

/* Fills in routine, dtype, numbers and operands of a call of this symbol from `count` words of arguments.
 * False when there are not as many as the routine takes, or the symbol is none. Pure. */
bool ll_decode_call(uint32_t symbol, const uint64_t *words, unsigned count, struct ll_call *call);

#endif
