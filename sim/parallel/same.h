/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two programs ask the same of a device, whatever their scopes and tensors are called. */
#ifndef LL_SIM_PARALLEL_SAME_H
#define LL_SIM_PARALLEL_SAME_H

#include "tracer/ir/trace.h"

/* Same ops on tensors of the same looks, with the same dependencies. Programs that do may be found to differ
 * where names made the recorder number things otherwise. Pure. */
bool ll_same_program(const struct ll_trace *a, const struct ll_trace *b);

/* Whether two forms of ops say the same but for their scopes and the names of tensors. Pure. */
bool ll_same_form(const struct ll_trace *a, const struct ll_form *x, const struct ll_trace *b,
                  const struct ll_form *y);

#endif
