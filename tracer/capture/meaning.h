/* SPDX-License-Identifier: Apache-2.0 */
/* What a call means as an op of the op table: a row of meanings.def each. Pure; thread-safe. */
#ifndef LL_TRACER_CAPTURE_MEANING_H
#define LL_TRACER_CAPTURE_MEANING_H

#include "tracer/interpose/call.h"
#include "tracer/ir/ops.h"

/* An op behind another one of the same call, on what that gave and on an operand of the call. */
struct ll_meant_behind {
    enum ll_op_kind kind;
    uint8_t operand;
    struct ll_shape shape; /* of the operand */
};
enum { LL_MEANT_BEHIND = 2 };

/* An op in the making. Inputs and outputs are operands of the call, in the op's order; shapes as the op's
 * rules want them. */
struct ll_meant {
    struct ll_op_view view; /* points into this struct */
    enum ll_phase phase;
    uint8_t inputs[LL_MAX_OPERANDS], outputs[LL_MAX_OPERANDS];
    uint32_t placed; /* outputs from here on lie in no operand: a number that the call returns */
    struct ll_shape in[LL_MAX_OPERANDS], out[LL_MAX_OPERANDS];
    struct ll_attr attrs[LL_MAX_ATTRS];
    struct ll_meant_behind behind[LL_MEANT_BEHIND]; /* one on the other; the last gives outputs[0] */
    uint32_t behind_count;
};

/* The row of each routine. */
struct ll_meaning_row;
struct ll_meanings {
    const struct ll_meaning_row *rows[LL_ROUTINE_COUNT]; /* NULL: none */
};
void ll_meanings(struct ll_meanings *meanings);

/* FLOPs of all ops that a call is. */
uint64_t ll_meant_flops(const struct ll_meant *meant);

/* Fills `meant`. A call that has no row, or that its kind's rule refuses, becomes LL_OP_OPAQUE with all that
 * it read and wrote. */
void ll_meaning_of(const struct ll_meanings *meanings, const struct ll_call *call, struct ll_meant *meant);

#endif
