/* SPDX-License-Identifier: Apache-2.0 */
/* Memory allocators on the storages of a trace: ideal, a best-fit arena, and PyTorch's caching allocator.
 *
 * The first section is a heap of blocks that are taken, given back, split and joined (heap.h). Each allocator
 * then is a function that places every storage and reports its peak. */
#include "sim/memory/allocators.h"

#include <assert.h>
#include <stdlib.h>

#include "sim/memory/footprint.h"
#include "tracer/base/arena.h"

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

/* A new segment of these bytes as one free chunk behind all others. False when memory ran out or addresses
 * do. */
static bool heap_grow(struct ll_heap *heap, uint64_t bytes, uint32_t pool)
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
        if (!heap_grow(heap, bytes, 0))
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

/* The caching allocator follows c10/cuda/CUDACachingAllocator.cpp of PyTorch as its documentation and
 * comments describe it: sizes are rounded up to 512 bytes; up to 1 MiB come out of segments of 2 MiB; larger
 * ones below 10 MiB out of segments of 20 MiB; the rest have segments of their own, rounded up to 2 MiB.
 * Small pieces are split when more than 512 bytes are left, others when more than 1 MiB is. Segments are
 * kept. */

enum { ARENA_GRAIN = 256 };
enum {
    GRAIN = 512,
    SMALL_MOST = 1 << 20,
    SMALL_SEGMENT = 2 << 20,
    MIDDLE_LESS = 10 << 20,
    MIDDLE_SEGMENT = 20 << 20,
    LARGE_GRAIN = 2 << 20,
    SMALL_LEFT = GRAIN - 1, /* one grain is worth keeping apart */
    LARGE_LEFT = 1 << 20
};
enum { POOL_SMALL, POOL_LARGE };

static uint64_t rounded(uint64_t bytes, uint64_t grain)
{
    return ll_mul(ll_ceil_div(ll_max(bytes, 1), grain), grain);
}

/* Each finds memory of so many bytes: its chunk, UINT32_MAX when there is no more. */

static uint32_t take_IDEAL(struct ll_heap *heap, uint64_t bytes)
{
    (void)heap;
    (void)bytes;
    return 0;
}

/* The best hole, or the end: a hole there only has to grow. */
static uint32_t take_ARENA(struct ll_heap *heap, uint64_t bytes)
{
    uint64_t size = rounded(bytes, ARENA_GRAIN);
    uint32_t chunk = ll_heap_find(heap, size, 0);
    if (chunk == UINT32_MAX && ll_heap_stretch(heap, size))
        chunk = ll_heap_find(heap, size, 0);
    return chunk != UINT32_MAX && ll_heap_take(heap, chunk, size, 0) ? chunk : UINT32_MAX;
}

static uint64_t segment_bytes(uint64_t size)
{
    if (size <= SMALL_MOST)
        return SMALL_SEGMENT;
    return size < MIDDLE_LESS ? MIDDLE_SEGMENT : rounded(size, LARGE_GRAIN);
}

static uint32_t take_CACHING(struct ll_heap *heap, uint64_t bytes)
{
    uint64_t size = rounded(bytes, GRAIN);
    uint32_t pool = size <= SMALL_MOST ? POOL_SMALL : POOL_LARGE, chunk = ll_heap_find(heap, size, pool);
    if (chunk == UINT32_MAX && heap_grow(heap, segment_bytes(size), pool))
        chunk = ll_heap_find(heap, size, pool);
    uint64_t least = pool == POOL_SMALL ? SMALL_LEFT : LARGE_LEFT;
    return chunk != UINT32_MAX && ll_heap_take(heap, chunk, size, least) ? chunk : UINT32_MAX;
}

static const struct {
    const char *name, *help;
    uint32_t (*take)(struct ll_heap *heap, uint64_t bytes);
} allocators[] = {
#define LL_ALLOCATOR(word, name, help) {name, help, take_##word},
#include "sim/memory/allocators.def"
#undef LL_ALLOCATOR
};

const char *ll_allocator_name(enum ll_allocator allocator)
{
    return allocators[allocator].name;
}

const char *ll_allocator_help(enum ll_allocator allocator)
{
    return allocators[allocator].help;
}

struct allocating {
    const struct ll_trace *trace;
    const struct ll_liveness *lives;
    enum ll_allocator allocator;
    struct ll_heap heap;
    uint32_t *chunk;   /* by storage */
    uint64_t *address; /* likewise; NULL: nobody asks */
    struct ll_allocated *allocated;
};

static bool is_born(struct allocating *a, uint32_t storage, uint64_t *live_bytes)
{
    uint64_t bytes = a->lives[storage].bytes;
    *live_bytes = ll_add(*live_bytes, bytes);
    a->chunk[storage] = bytes ? allocators[a->allocator].take(&a->heap, bytes) : UINT32_MAX;
    if (a->address && a->chunk[storage] != UINT32_MAX)
        a->address[storage] = a->heap.chunks[a->chunk[storage]].address;
    return ll_fits(*live_bytes) && (bytes == 0 || a->chunk[storage] != UINT32_MAX);
}

static bool dies(struct allocating *a, uint32_t storage, uint64_t *live_bytes)
{
    uint64_t bytes = a->lives[storage].bytes;
    *live_bytes -= bytes;
    return bytes == 0 || a->allocator == LL_ALLOCATOR_IDEAL || ll_heap_give(&a->heap, a->chunk[storage]);
}

/* Programs that plan their memory plan one step, and each step is laid out so: it does not see how far the
 * one before it has come. */
static bool begin_steps(struct allocating *a, uint32_t op, uint64_t *step)
{
    uint64_t before = *step;
    while (*step < a->trace->step_count && a->trace->steps[*step].first_op <= op)
        ++*step;
    return *step == before || a->allocator != LL_ALLOCATOR_ARENA || ll_heap_trim(&a->heap);
}

static bool play(struct allocating *a, const struct ll_chains *births, const struct ll_chains *deaths)
{
    uint64_t live_bytes = 0;
    uint64_t step = 0;
    bool right = true;
    for (uint32_t op = 0; right && op < a->trace->op_count; op++) {
        right = begin_steps(a, op, &step);
        for (uint32_t s = births->first[op]; right && s != LL_NONE; s = births->next[s])
            right = is_born(a, s, &live_bytes);
        a->allocated->live_bytes = ll_max(a->allocated->live_bytes, live_bytes);
        for (uint32_t s = deaths->first[op]; right && s != LL_NONE; s = deaths->next[s])
            right = dies(a, s, &live_bytes);
    }
    return right;
}

const uint64_t *ll_arena_addresses(const struct ll_trace *trace, const struct ll_liveness *lives,
                                   const struct ll_chains *births, const struct ll_chains *deaths,
                                   struct ll_arena *arena)
{
    struct ll_allocated allocated = {.fragmentation = 1};
    struct allocating a = {.trace = trace,
                           .lives = lives,
                           .allocator = LL_ALLOCATOR_ARENA,
                           .chunk = ll_alloc(arena, trace->storage_count + 1, sizeof *a.chunk),
                           .address = ll_alloc(arena, trace->storage_count + 1, sizeof *a.address),
                           .allocated = &allocated};
    bool done = a.chunk && a.address && play(&a, births, deaths);
    ll_heap_release(&a.heap);
    return done ? a.address : NULL;
}

bool ll_allocate(const struct ll_trace *trace, enum ll_allocator allocator, struct ll_allocated *allocated)
{
    struct ll_arena arena = {0};
    struct allocating a = {.trace = trace, .allocator = allocator, .allocated = allocated};
    struct ll_chains births, deaths;
    *allocated = (struct ll_allocated){.fragmentation = 1};
    if (trace->op_count == 0)
        return true;
    a.lives = ll_trace_liveness(trace, &arena);
    a.chunk = ll_alloc(&arena, trace->storage_count + 1, sizeof *a.chunk);
    bool done = a.lives && a.chunk && ll_chain(trace, a.lives, false, &births, &arena) &&
                ll_chain(trace, a.lives, true, &deaths, &arena) && play(&a, &births, &deaths);
    allocated->taken_bytes = allocator == LL_ALLOCATOR_IDEAL ? allocated->live_bytes : a.heap.end;
    if (allocated->live_bytes > 0)
        allocated->fragmentation = (double)allocated->taken_bytes / (double)allocated->live_bytes;
    ll_heap_release(&a.heap);
    ll_arena_release(&arena);
    return done;
}
