/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that are whole only while a pass uses them (ZeRO 3, or on the host) are cast to the type of
 * products (tracer/transform/dtype.h) in each pass anew: nobody has the room to keep what is cast of all of
 * them. */
#ifndef LL_SIM_PARALLEL_RECAST_H
#define LL_SIM_PARALLEL_RECAST_H

#include "tracer/ir/trace.h"

/* Whether a program keeps casts of weights for a whole step (spread.h). Pure. */
bool ll_has_lasting_casts(const struct ll_trace *program);

/* A trace whose casts of weights, and looks at them, last for one pass: going backward they are made again
 * before their first reader. All else is as before. Free with ll_trace_free. NULL and *trouble, a static
 * sentence. Thread-safe. */
struct ll_trace *ll_recast(const struct ll_trace *program, const char **trouble);

#endif
