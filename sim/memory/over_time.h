/* SPDX-License-Identifier: Apache-2.0 */
/* Memory as it is held while a trace runs, op by op (tracer/lives.h): how much of each class, and by what at
 * one moment. Both live in the arena; NULL when memory ran out. Pure otherwise, thread-safe. */
#ifndef LL_SIM_MEMORY_OVER_TIME_H
#define LL_SIM_MEMORY_OVER_TIME_H

#include "tracer/ir/trace.h"

/* What lives while an op runs. */
struct ll_memory_held {
    uint32_t op;
    uint64_t bytes, class_bytes[LL_MEMORY_COUNT]; /* by enum ll_memory_class, summing to bytes */
};

struct ll_over_time {
    const struct ll_memory_held *at;
    uint32_t count;
};

/* At most `most` (at least 1) points from the first op to the last, each the fullest of the ops that it
 * stands for, so that the peak is one of them. */
const struct ll_over_time *ll_over_time(const struct ll_trace *trace, uint32_t most, struct ll_arena *arena);

/* Something that lives. */
struct ll_alive {
    uint32_t storage;
    const char *name;  /* of the first tensor on it */
    const char *scope; /* of the op that made it; "" for what the model brought */
    enum ll_memory_class memory;
    uint64_t bytes;
    uint32_t first, last; /* ops, both inclusive */
};

/* All that lives while op runs, largest first, equals in the order of their making. */
struct ll_all_alive {
    const struct ll_alive *at;
    uint64_t count;
};
const struct ll_all_alive *ll_alive_at(const struct ll_trace *trace, uint32_t op, struct ll_arena *arena);

#endif
