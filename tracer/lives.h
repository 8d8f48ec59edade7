/* SPDX-License-Identifier: Apache-2.0 */
/* What lives when: the storages of a trace, from birth to death.
 *
 * A storage is live from the op that first writes it (from the start when the model brought it) to the last
 * op that touches it; weights and optimizer state are live throughout. Where ops are missing
 * (ll_trace_has_holes) nobody knows what is brought: all begins with the op that first touches it, and ends
 * with the last. Its size is that of the largest tensor on it, its class that of its first tensor. */
#ifndef LL_TRACER_LIVES_H
#define LL_TRACER_LIVES_H

#include "tracer/trace.h"

struct ll_life {
    uint64_t bytes;
    uint32_t first,
        last; /* ops, both inclusive; first is LL_NONE when no tensor lies on it, or no op touches it */
    uint32_t memory; /* enum ll_memory_class */
    bool updates;    /* an op of the update phase reads it */
};

/* By storage, in the arena, in time linear in the trace; NULL when memory ran out. The trace has ops. Pure
 * otherwise, thread-safe. */
struct ll_life *ll_lives(const struct ll_trace *trace, struct ll_arena *arena);

#endif
