/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/retype.h"

#include "tracer/base/str.h"
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

/* What frameworks and data sheets call the types. */
static const struct {
    const char *theirs;
    enum ll_dtype ours;
} spellings[] = {
    {"double", LL_F64},  {"float64", LL_F64},   {"fp64", LL_F64},      {"float", LL_F32},
    {"float32", LL_F32}, {"fp32", LL_F32},      {"half", LL_F16},      {"float16", LL_F16},
    {"fp16", LL_F16},    {"bfloat16", LL_BF16}, {"bfloat", LL_BF16},   {"float8", LL_F8},
    {"fp8", LL_F8},      {"e4m3", LL_F8},       {"e5m2", LL_F8},       {"float4", LL_F4},
    {"fp4", LL_F4},      {"e2m1", LL_F4},       {"long", LL_I64},      {"int64", LL_I64},
    {"int", LL_I32},     {"int32", LL_I32},     {"int16", LL_I16},     {"i8", LL_INT8},
    {"i4", LL_INT4},     {"uint8", LL_U8},      {"complex64", LL_C64}, {"complex128", LL_C128},
};

const char *ll_dtype_meant(const char *name)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (ll_same_but_case(name, spellings[i].theirs))
            return ll_dtype_name(spellings[i].ours);
    return NULL;
}
