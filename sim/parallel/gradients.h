/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of a trace are gradients of weights, and what the updates that read them keep. Private to
 * sim/parallel. */
#ifndef LL_SIM_PARALLEL_GRADIENTS_H
#define LL_SIM_PARALLEL_GRADIENTS_H

#include "tracer/ir/trace.h"

enum ll_gradient_kind { LL_NO_GRADIENT, LL_DENSE_GRADIENT, LL_ROWS_GRADIENT };

struct ll_gradients {
    /* By tensor, enum ll_gradient_kind: made going backward, read by updates or, where no update reads any,
     * by nobody in its step; rows: of a table. */
    uint8_t *kind;
    bool *in_parts; /* by tensor: as long as a dense gradient and updated element by element with it */
    bool *sharded;  /* by storage: weights and states of the optimizer that are so */
    bool *last;     /* by tensor: a step writes its storage no more */
    bool *experts;  /* by tensor: of the updates of weights of which replicas have some experts each */
};

/* Fills *gradients in time linear in the trace; lists live in the arena. False when memory ran out. */
bool ll_gradients_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_gradients *gradients);

/* Whether a trace has no gradient of a weight although it learns and has weights, or although nobody says
 * what it does (mode program): replicas would have nothing to exchange, though they must. *lacks; false when
 * memory ran out. */
bool ll_gradients_lack(const struct ll_trace *trace, bool *lacks);

#endif
