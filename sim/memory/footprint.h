/* SPDX-License-Identifier: Apache-2.0 */
/* What lives when: how much memory a trace needs.
 *
 * A storage is live from the op that first writes it (from the start when the model brought it) to the last
 * op that touches it; weights and optimizer state are live throughout. Its size is that of the largest
 * tensor on it, its class that of its first tensor. */
#ifndef LL_SIM_MEMORY_FOOTPRINT_H
#define LL_SIM_MEMORY_FOOTPRINT_H

#include "tracer/trace.h"

struct ll_footprint {
    uint64_t peak_bytes; /* LL_NO_FIT past 64 bits */
    uint32_t peak_op;    /* the first op at which the peak is reached; LL_NONE without ops */
    uint64_t class_bytes[LL_MEMORY_COUNT]; /* of the peak, by enum ll_memory_class; they sum to it */
};

/* Fills *footprint in time linear in the trace. False when memory ran out. Pure otherwise, thread-safe. */
bool ll_footprint(const struct ll_trace *trace, struct ll_footprint *footprint);

#endif
