/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace's memory takes once it has addresses.
 *
 * Storages are asked for when they are born and given back when they die (tracer/ir/trace.h), in the order of
 * the ops; what the model brought comes first. Fragmentation is what was taken at most over what lived at
 * most. */
#ifndef LL_SIM_MEMORY_ALLOCATORS_H
#define LL_SIM_MEMORY_ALLOCATORS_H

#include "sim/memory/footprint.h"
#include "tracer/ir/trace.h"

enum ll_allocator {
#define LL_ALLOCATOR(word, name, help) LL_ALLOCATOR_##word,
#include "sim/memory/allocators.def"
#undef LL_ALLOCATOR
    LL_ALLOCATOR_COUNT
};

/* Static storage; in range. */
const char *ll_allocator_name(enum ll_allocator allocator);
const char *ll_allocator_help(enum ll_allocator allocator);

struct ll_allocated {
    uint64_t live_bytes;  /* at most, as asked for */
    uint64_t taken_bytes; /* at most, from the device */
    double fragmentation; /* taken over live, at least 1; 1 for nothing */
};

/* Where each storage that has bytes lies while it lives, in the best-fit arena. By storage, in the arena
 * given; NULL when memory ran out, or a size does not fit in 64 bits. As ll_allocate otherwise. */
const uint64_t *ll_arena_addresses(const struct ll_trace *trace, const struct ll_liveness *lives,
                                   const struct ll_chains *births, const struct ll_chains *deaths,
                                   struct ll_arena *arena);

/* False when memory ran out, or a size does not fit in 64 bits. About n log n in the storages. Pure
 * otherwise, thread-safe. */
bool ll_allocate(const struct ll_trace *trace, enum ll_allocator allocator, struct ll_allocated *allocated);

#endif
