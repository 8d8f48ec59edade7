/* SPDX-License-Identifier: Apache-2.0 */
/* What repeats of calls: everything but where their data lies and when they were made. Whoever gives calls
 * may know their forms and number them; of others the form is found by its looks. One thread at a time; {0}
 * to begin with. */
#ifndef LL_TRACER_CAPTURE_FORMS_H
#define LL_TRACER_CAPTURE_FORMS_H

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"
#include "tracer/capture/meaning.h"
#include "tracer/record/recorder.h"

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
    struct ll_map keys;
    struct ll_call_form **forms; /* by id of their key */
    uint64_t capacity;
    struct ll_call_form **numbered; /* by the number that calls bring */
    uint64_t numbered_count, numbered_capacity;
};

/* The form of a call; NULL when memory ran out. Valid until the forms are released. */
struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call);
void ll_call_forms_release(struct ll_call_forms *forms);

#endif
