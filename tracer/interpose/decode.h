/* SPDX-License-Identifier: Apache-2.0 */
/* A record's words as a call. Inner to this room. */
#ifndef LL_TRACER_INTERPOSE_DECODE_H
#define LL_TRACER_INTERPOSE_DECODE_H

#include "tracer/interpose/primitive.h"
#include "tracer/interpose/routines.h"

/* Which of the arguments of a call of this symbol are addresses: bit i for word i. Pure. */
uint64_t ll_address_words(uint32_t symbol);

/* Fills in routine, dtype, numbers and operands of a call of this symbol from `count` words of arguments.
 * False when there are not as many as the routine takes, or the symbol is none. Pure. */
bool ll_decode_call(uint32_t symbol, const uint64_t *words, unsigned count, struct ll_call *call);

/* A described primitive of oneDNN as a call. Inner to this room. */

/* A description, ready for its executions: the call with offsets in place of addresses, and which argument
 * each operand is. */
struct ll_described {
    struct ll_call call;
    uint64_t argument[LL_MAX_OPERANDS]; /* in oneDNN's numbers */
};

/* From an entry of the log, of `count` words. False when it is not whole. Pure. */
bool ll_describe(const uint64_t *entry, unsigned count, struct ll_described *described);

/* Fills in routine, dtype, numbers and operands of an execution from its pairs of argument and address;
 * operands without an address are left out. Pure. */
void ll_decode_execution(const struct ll_described *described, const uint64_t *pairs, unsigned pair_count,
                         struct ll_call *call);

#endif
