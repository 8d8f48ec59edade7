/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/retype.h"

#include "tracer/form.h"

#include <string.h>

bool ll_dtype_is_floating(enum ll_dtype dtype)
{
    return dtype == LL_F64 || dtype == LL_F32 || dtype == LL_TF32 || dtype == LL_F16 || dtype == LL_BF16 ||
           dtype == LL_F8 || dtype == LL_F4;
}

bool ll_dtype_is_multiplied(enum ll_dtype dtype)
{
    return ll_dtype_is_floating(dtype) || dtype == LL_INT8 || dtype == LL_INT4;
}

/* A complex number is of two f64 or two f32; no machine has smaller ones. */
static uint8_t retyped(uint8_t from, enum ll_dtype to)
{
    if (from == LL_C64 || from == LL_C128)
        return to == LL_F64 ? LL_C128 : LL_C64;
    return ll_dtype_is_floating((enum ll_dtype)from) ? (uint8_t)to : from;
}

bool ll_trace_retype(struct ll_trace *trace, enum ll_dtype dtype, const char **trouble)
{
    bool right = true;
    *trouble = NULL;
    for (uint64_t i = 0; i < trace->desc_count && right; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        shape->dtype = retyped(shape->dtype, dtype);
        right = ll_fits(ll_size_bytes(shape));
        if (!right)
            *trouble = "a size does not fit in 64 bits";
    }
    for (uint64_t i = 0; i < trace->form_count && right; i++)
        right = ll_form_renew(trace, &trace->forms[i], trouble);
    return right;
}

enum ll_dtype ll_dtype_find(const char *name)
{
    unsigned dtype = 0;
    while (dtype < LL_DTYPE_COUNT && strcmp(name, ll_dtype_name((enum ll_dtype)dtype)) != 0)
        dtype++;
    return (enum ll_dtype)dtype;
}
