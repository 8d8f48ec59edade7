/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/heap.h"

#include "tracer/base/arena.h"

#include <assert.h>
#include <stdlib.h>

#define NONE UINT32_MAX

void ll_heap_release(struct ll_heap *heap)
{
    free(heap->chunks);
    free(heap->spare);
    ll_sorted_release(&heap->sorted);
    *heap = (struct ll_heap){0};
}

struct looking {
    const struct ll_heap *heap;
    uint32_t pool;
    uint64_t bytes, address;
};

static bool stands_before(const void *context, uint32_t number)
{
    const struct looking *looking = context;
    const struct ll_chunk *c = &looking->heap->chunks[number];
    return c->pool != looking->pool     ? c->pool < looking->pool
           : c->bytes != looking->bytes ? c->bytes < looking->bytes
                                        : c->address < looking->address;
}

/* Where a free chunk of this pool, size and address is, or would be. */
static struct ll_sorted_place place_of(const struct ll_heap *heap, uint32_t pool, uint64_t bytes,
                                       uint64_t address)
{
    const struct looking looking = {heap, pool, bytes, address};
    return ll_sorted_find(&heap->sorted, stands_before, &looking);
}

static bool list(struct ll_heap *heap, uint32_t chunk)
{
    struct ll_chunk *c = &heap->chunks[chunk];
    c->free = ll_sorted_put(&heap->sorted, place_of(heap, c->pool, c->bytes, c->address), chunk);
    return c->free;
}

static void unlist(struct ll_heap *heap, uint32_t chunk)
{
    struct ll_chunk *c = &heap->chunks[chunk];
    struct ll_sorted_place place = place_of(heap, c->pool, c->bytes, c->address);
    assert(ll_sorted_at(&heap->sorted, place) == chunk);
    ll_sorted_take(&heap->sorted, place);
    c->free = false;
}

static uint32_t new_chunk(struct ll_heap *heap, struct ll_chunk chunk)
{
    if (heap->spare_count > 0) {
        uint32_t number = heap->spare[--heap->spare_count];
        heap->chunks[number] = chunk;
        return number;
    }
    if (!ll_grow(&heap->chunks, &heap->capacity, heap->count + 1u, sizeof *heap->chunks))
        return NONE;
    heap->chunks[heap->count] = chunk;
    return heap->count++;
}

bool ll_heap_grow(struct ll_heap *heap, uint64_t bytes, uint32_t pool)
{
    struct ll_chunk chunk = {heap->end, bytes, NONE, NONE, pool, false};
    uint64_t end = ll_add(heap->end, bytes);
    uint32_t number = ll_fits(end) ? new_chunk(heap, chunk) : NONE;
    if (number == NONE || !list(heap, number))
        return false;
    heap->end = end;
    heap->last = number;
    return true;
}

uint32_t ll_heap_find(const struct ll_heap *heap, uint64_t bytes, uint32_t pool)
{
    uint32_t chunk = ll_sorted_at(&heap->sorted, place_of(heap, pool, bytes, 0));
    return chunk != LL_NO_NUMBER && heap->chunks[chunk].pool == pool ? chunk : NONE;
}

bool ll_heap_take(struct ll_heap *heap, uint32_t chunk, uint64_t bytes, uint64_t least)
{
    unlist(heap, chunk);
    struct ll_chunk *c = &heap->chunks[chunk];
    uint64_t left = c->bytes - bytes;
    if (left == 0 || left <= least)
        return true;
    struct ll_chunk rest = {c->address + bytes, left, chunk, c->after, c->pool, false};
    uint32_t number = new_chunk(heap, rest);
    if (number == NONE)
        return false;
    c = &heap->chunks[chunk];
    if (c->after != NONE)
        heap->chunks[c->after].before = number;
    heap->last = heap->last == chunk ? number : heap->last;
    c->after = number;
    c->bytes = bytes;
    return list(heap, number);
}

static bool spare(struct ll_heap *heap, uint32_t chunk)
{
    if (!ll_grow(&heap->spare, &heap->spare_capacity, heap->spare_count + 1u, sizeof *heap->spare))
        return false;
    heap->spare[heap->spare_count++] = chunk;
    return true;
}

/* The second of two neighbours, neither of which is listed, becomes part of the first. */
static bool join(struct ll_heap *heap, uint32_t first, uint32_t second)
{
    struct ll_chunk *a = &heap->chunks[first], *b = &heap->chunks[second];
    a->bytes += b->bytes;
    a->after = b->after;
    if (b->after != NONE)
        heap->chunks[b->after].before = first;
    heap->last = heap->last == second ? first : heap->last;
    return spare(heap, second);
}

bool ll_heap_give(struct ll_heap *heap, uint32_t chunk)
{
    uint32_t before = heap->chunks[chunk].before, after = heap->chunks[chunk].after;
    if (after != NONE && heap->chunks[after].free) {
        unlist(heap, after);
        if (!join(heap, chunk, after))
            return false;
    }
    if (before != NONE && heap->chunks[before].free) {
        unlist(heap, before);
        if (!join(heap, before, chunk))
            return false;
        chunk = before;
    }
    return list(heap, chunk);
}

bool ll_heap_stretch(struct ll_heap *heap, uint64_t bytes)
{
    uint32_t last = heap->last;
    bool empty = heap->end == 0; /* as at first, or when all was trimmed away: there is no last chunk */
    if (empty || !heap->chunks[last].free) {
        if (!ll_heap_grow(heap, bytes, 0))
            return false;
        if (!empty) {
            heap->chunks[heap->last].before = last;
            heap->chunks[last].after = heap->last;
        }
        return true;
    }
    uint64_t end = ll_add(heap->chunks[last].address, bytes);
    if (!ll_fits(end))
        return false;
    unlist(heap, last);
    heap->chunks[last].bytes = bytes;
    heap->end = end;
    return list(heap, last);
}

bool ll_heap_trim(struct ll_heap *heap)
{
    uint32_t last = heap->last;
    if (heap->end == 0 || !heap->chunks[last].free)
        return true;
    unlist(heap, last);
    heap->end = heap->chunks[last].address;
    heap->last = heap->chunks[last].before;
    if (heap->last != NONE)
        heap->chunks[heap->last].after = NONE;
    return spare(heap, last);
}
