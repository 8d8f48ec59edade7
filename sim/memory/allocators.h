/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace's memory takes once it has addresses.
 *
 * Storages are asked for when they are born and given back when they die (tracer/ir/trace.h), in the order of
 * the ops; what the model brought comes first. Fragmentation is what was taken at most over what lived at
 * most. */
#ifndef LL_SIM_MEMORY_ALLOCATORS_H
#define LL_SIM_MEMORY_ALLOCATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory/footprint.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
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

/* Blocks of an address space: taken, given back, split and joined. Private to sim/memory/allocators.c.
 *
 * A block knows its neighbours in its segment; free ones are also in a list sorted by size and address, in
 * which the best fit is found by halving. One thread at a time. */

struct ll_chunk {
    uint64_t address, bytes;
    uint32_t before, after; /* neighbours, UINT32_MAX at the ends of a segment */
    uint32_t pool;
    bool free;
};

/* {0} to begin with; released with ll_heap_release. */
struct ll_heap {
    struct ll_chunk *chunks;
    uint64_t capacity, spare_capacity;
    uint32_t count;
    uint32_t *spare; /* numbers of chunks that were joined away */
    uint32_t spare_count;
    struct ll_sorted sorted; /* free chunks by pool, size, address */
    uint64_t end;            /* addresses begin here again */
    uint32_t last;           /* the chunk that ends there, when there is any */
};

/* Frees the tables of the heap, which is {0} again. */
void ll_heap_release(struct ll_heap *heap);

/* The smallest free chunk of the pool with at least these bytes, the lowest of equals; UINT32_MAX for none.
 */
uint32_t ll_heap_find(const struct ll_heap *heap, uint64_t bytes, uint32_t pool);

/* Takes a free chunk; what is left of it behind `bytes` stays free if it has more than `least`. False when
 * memory ran out. */
bool ll_heap_take(struct ll_heap *heap, uint32_t chunk, uint64_t bytes, uint64_t least);

/* Gives a chunk back and joins it with free neighbours. False when memory ran out. */
bool ll_heap_give(struct ll_heap *heap, uint32_t chunk);

/* Makes the chunk at the end of the address space, if it is free, longer until it has these bytes; else adds
 * a free one of them to its segment. False when memory ran out, or addresses did. */
bool ll_heap_stretch(struct ll_heap *heap, uint64_t bytes);

/* Ends the address space before the chunk at its end, if that is free. False when memory ran out. */
bool ll_heap_trim(struct ll_heap *heap);

#endif
