/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of an address space: taken, given back, split and joined. Private to sim/memory/allocators.c.
 *
 * A block knows its neighbours in its segment; free ones are also in a list sorted by size and address, in
 * which the best fit is found by halving. One thread at a time. */
#ifndef LL_SIM_MEMORY_HEAP_H
#define LL_SIM_MEMORY_HEAP_H

#include "tracer/base/num.h"
#include "tracer/base/map.h"

#include <stdbool.h>
#include <stdint.h>

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

/* A new segment of these bytes as one free chunk behind all others. False when memory ran out or addresses
 * do. */
bool ll_heap_grow(struct ll_heap *heap, uint64_t bytes, uint32_t pool);

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
