/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks form a list from newest to oldest; only the newest is filled further. A thing larger than
 * a block gets a block of its own size. Blocks begin small, since they are zeroed and most arenas
 * stay small. Under AddressSanitizer each thing is followed by a poisoned gap, so that running over
 * its end is seen although the block goes on. */
#define _DEFAULT_SOURCE
#include "tracer/base/arena.h"

#include "tracer/base/str.h"
#include "tracer/base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef LL_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { ALIGN = 16, FIRST_BYTES = 4 * 1024, BLOCK_BYTES = 64 * 1024, LARGE_PAGE_BYTES = 2 << 20 };
#ifdef LL_ASAN
enum { GAP = 16 };
#else
enum { GAP = 0 };
#endif

struct ll_arena_block {
    struct ll_arena_block *older;
    size_t size_bytes;
    _Alignas(ALIGN) unsigned char bytes[];
};

static struct ll_arena_block *add_block(struct ll_arena *arena, size_t needed)
{
    size_t usual = arena->newest ? 2 * arena->newest->size_bytes : FIRST_BYTES;
    usual = usual < BLOCK_BYTES ? usual : BLOCK_BYTES;
    size_t size = needed > usual ? needed : usual;
    if (size > SIZE_MAX - sizeof(struct ll_arena_block))
        return NULL;
    struct ll_arena_block *block = calloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    block->older = arena->newest;
    block->size_bytes = size;
    ASAN_POISON_MEMORY_REGION(block->bytes, size);
    arena->newest = block;
    arena->used_bytes = 0;
    return block;
}

void *ll_alloc(struct ll_arena *arena, size_t count, size_t size)
{
    size_t bytes, padded;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, GAP + ALIGN - 1, &padded)) {
        ll_note_no_memory();
        return NULL;
    }
    padded &= ~(size_t)(ALIGN - 1);
    struct ll_arena_block *block = arena->newest;
    if (!block || block->size_bytes - arena->used_bytes < padded)
        block = add_block(arena, padded);
    if (!block)
        return NULL;
    void *memory = block->bytes + arena->used_bytes;
    arena->used_bytes += padded;
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    return memory;
}

void *ll_copy(struct ll_arena *arena, const void *bytes, size_t size)
{
    void *copy = ll_alloc(arena, size, 1);
    if (copy && size)
        memcpy(copy, bytes, size);
    return copy;
}

char *ll_copy_text(struct ll_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = ll_alloc(arena, length + 1, 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *ll_format(struct ll_arena *arena, const char *format, ...)
{
    va_list measured, written;
    va_start(measured, format);
    va_copy(written, measured);
    int length = ll_vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    char *text = length < 0 ? NULL : ll_alloc(arena, (size_t)length + 1, 1);
    if (text)
        ll_vsnprintf(text, (size_t)length + 1, format, written);
    va_end(written);
    return text;
}

void ll_arena_release(struct ll_arena *arena)
{
    for (struct ll_arena_block *block = arena->newest, *older; block; block = older) {
        older = block->older;
        ASAN_UNPOISON_MEMORY_REGION(block->bytes, block->size_bytes);
        free(block);
    }
    *arena = (struct ll_arena){0};
}

void ll_arena_join(struct ll_arena *arena, struct ll_arena *other)
{
    struct ll_arena_block *oldest = arena->newest;
    while (oldest && oldest->older)
        oldest = oldest->older;
    if (oldest)
        oldest->older = other->newest;
    else
        *arena = *other;
    *other = (struct ll_arena){0};
}

void ll_arena_reset(struct ll_arena *arena)
{
    struct ll_arena_block *newest = arena->newest;
    if (!newest)
        return;
    if (!newest->older) {
        ASAN_UNPOISON_MEMORY_REGION(newest->bytes, newest->size_bytes);
        memset(newest->bytes, 0, arena->used_bytes);
        ASAN_POISON_MEMORY_REGION(newest->bytes, newest->size_bytes);
        arena->used_bytes = 0;
        return;
    }
    size_t total = 0; /* one block for all */
    for (const struct ll_arena_block *block = newest; block; block = block->older)
        total += block->size_bytes;
    ll_arena_release(arena);
    add_block(arena, total);
}

/* As realloc, of an array that had old_size bytes. Memory that is touched for the first time costs a fault a
 * page, which is most of the time of filling a large array: it moves to large pages, where the system has
 * them. */
static void *resize(void *present, size_t old_size, size_t size)
{
    size_t whole = size & ~((size_t)LARGE_PAGE_BYTES - 1);
    if (whole < 2 * LARGE_PAGE_BYTES || size > SIZE_MAX - LARGE_PAGE_BYTES)
        return realloc(present, size);
    void *moved = aligned_alloc(LARGE_PAGE_BYTES, whole + (size > whole ? LARGE_PAGE_BYTES : 0));
    if (!moved)
        return NULL;
    madvise(moved, whole, MADV_HUGEPAGE); /* a wish: the memory is as good without */
    if (old_size)
        memcpy(moved, present, old_size);
    free(present);
    return moved;
}

/* The pointer behind `items` has a type that is not known here, so it is read and written as bytes. */
bool ll_grow(void *items, uint64_t *capacity, uint64_t needed, size_t item_size)
{
    if (needed <= *capacity)
        return true;
    uint64_t count = *capacity < 16 ? 16 : *capacity;
    while (count < needed)
        if (__builtin_mul_overflow(count, 2, &count))
            return false;
    size_t bytes;
    if (__builtin_mul_overflow(count, item_size, &bytes))
        return false;
    void *present;
    memcpy(&present, items, sizeof present);
    void *moved = resize(present, *capacity * item_size, bytes);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    *capacity = count;
    return true;
}
