/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as if its workload had run in another type of number: what a network of f32 would ask of a machine
 * in bf16, or quantised to int8. */
#ifndef LL_TRACER_RETYPE_H
#define LL_TRACER_RETYPE_H

#include "tracer/trace.h"

/* Makes all tensors of a floating type tensors of this type, and counts flops and bytes of all forms anew.
 * Integers stay what they are, and so do counts of kinds that this program does not know. To be called before
 * the trace is shared. False when memory ran out or *trouble, a static sentence, says what does not work out;
 * the trace is then of no use. */
bool ll_trace_retype(struct ll_trace *trace, enum ll_dtype dtype, const char **trouble);

/* Whether it is a real number with an exponent. Pure. */
bool ll_dtype_is_floating(enum ll_dtype dtype);

/* Whether networks multiply numbers of this type: floating ones, and int8 and int4, which they are quantised
 * to. Pure. */
bool ll_dtype_is_multiplied(enum ll_dtype dtype);

/* The type of this name, LL_DTYPE_COUNT for none. Pure. */
enum ll_dtype ll_dtype_find(const char *name);

/* Our name of the type that others call so, as f16 of fp16 or float16; NULL where nobody does. Pure. */
const char *ll_dtype_meant(const char *name);

#endif
