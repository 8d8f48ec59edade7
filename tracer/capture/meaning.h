/* SPDX-License-Identifier: Apache-2.0 */
/* What a call means as an op of the op table: a row of meanings.def each. Pure; thread-safe. */
#ifndef LL_TRACER_CAPTURE_MEANING_H
#define LL_TRACER_CAPTURE_MEANING_H

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"
#include "tracer/ir/ops.h"
#include "tracer/record/recorder.h"

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

/* What repeats of calls: everything but where their data lies and when they were made. Whoever gives calls
 * may know their forms and number them; of others the form is found by its looks. One thread at a time; {0}
 * to begin with. */

/* What a form of call means as an op, and as ops behind that one, in the recorder's numbers. Inputs and
 * outputs are operands of the call, in the op's order. */
struct ll_call_form {
    bool told;           /* the rest is there: for whoever asked for the form to fill in */
    struct ll_record op; /* but for its thread, times, inputs and controls */
    uint32_t look;       /* equal for forms that do the same at the same place */
    uint32_t placed;     /* outputs from here on lie in no operand: a number that the call returns */
    uint32_t updated;    /* bit i: output i lies in an operand that is an input, too */
    uint8_t inputs[LL_MAX_OPERANDS], outputs[LL_MAX_OPERANDS];
    uint32_t in_descs[LL_MAX_OPERANDS], out_descs[LL_MAX_OPERANDS];
    double flops; /* of all ops */
    struct {
        enum ll_op_kind kind;
        uint8_t operand;
        uint32_t desc; /* of the operand; what it gives looks like what the op before gave */
    } behind[LL_MEANT_BEHIND];
    uint32_t behind_count;
};

struct ll_call_forms {
    struct ll_arena arena;
    struct ll_map keys;          /* all of a call but its times and addresses, as bytes */
    struct ll_call_form **forms; /* by id of their key */
    uint64_t capacity;
    struct ll_call_form **numbered; /* by the number that calls bring */
    uint64_t numbered_count, numbered_capacity;
};

/* The form of a call; NULL when memory ran out. Valid until the forms are released. */
struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call);
void ll_call_forms_release(struct ll_call_forms *forms);

#endif
