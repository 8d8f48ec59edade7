/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with a common lifetime.
 *
 * What is built together is freed together: a trace, a machine and a run each own one arena, and
 * whoever builds for them takes it as first argument. There is no free of a single thing. An arena
 * starts as all zeros ({0}) and belongs to one thread at a time. */
#ifndef LL_BASE_ARENA_H
#define LL_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_arena_block;
struct ll_arena {
    struct ll_arena_block *newest;
    size_t used_bytes; /* of the newest block */
};

/* Zeroed, aligned for any type, lives until the arena is released. NULL when memory ran out or
 * count * size does not fit. A count of zero gives a valid pointer to nothing. */
void *ll_alloc(struct ll_arena *arena, size_t count, size_t size);

/* A copy of size bytes; NULL when memory ran out. */
void *ll_copy(struct ll_arena *arena, const void *bytes, size_t size);

/* A NUL-terminated copy of length characters of text; NULL when memory ran out. */
char *ll_copy_text(struct ll_arena *arena, const char *text, size_t length);

/* printf into the arena; NULL when memory ran out. */
char *ll_format(struct ll_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees everything at once; the arena is empty and usable afterwards. */
void ll_arena_release(struct ll_arena *arena);

/* What another arena holds lives as long as this one from now on; the other is empty afterwards. */
void ll_arena_join(struct ll_arena *arena, struct ll_arena *other);

/* Forgets everything, but keeps room for as much again, so that what is built the same way over and over
 * asks the system for memory but once. */
void ll_arena_reset(struct ll_arena *arena);

/* Growth of a plain array on the heap: makes room for at least `needed` items, doubling. items is the
 * address of the pointer to the first one, which realloc moves and the owner frees with free(). False
 * leaves everything as it was. */
bool ll_grow(void *items, uint64_t *capacity, uint64_t needed, size_t item_size);

#endif
