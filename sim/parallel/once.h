/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does once a step, not with every micro-batch. Private to sim/parallel. */
#ifndef LL_SIM_PARALLEL_ONCE_H
#define LL_SIM_PARALLEL_ONCE_H

#include "tracer/ir/trace.h"

/* Ops of the phases comm and update, and casts that serve a whole step. Pure. */
bool ll_is_once(const struct ll_trace *program, const struct ll_form *form);

/* Whether it casts a weight to memory of the class workspace, where the cast lies until the weight changes,
 * as casts to the type of products do (tracer/products.h): several micro-batches read the same. Pure. */
bool ll_is_lasting_cast(const struct ll_trace *program, const struct ll_form *form);

#endif
