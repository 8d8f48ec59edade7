/* SPDX-License-Identifier: Apache-2.0 */
/* Interning: equal things get one number, in the order in which they were first seen.
 *
 * A thing is a run of bytes (a text without its NUL, a packed struct without padding). The map copies
 * what it keeps. It starts as {0} and belongs to one thread at a time. */
#ifndef LL_BASE_MAP_H
#define LL_BASE_MAP_H

#include "tracer/base/arena.h"

#include <stddef.h>
#include <stdint.h>

#define LL_NO_ID UINT32_MAX

struct ll_map_entry {
    const void *bytes;
    uint32_t length;
    uint32_t hash;
};

struct ll_map {
    struct ll_arena arena;
    struct ll_map_entry *entries; /* by id */
    uint64_t capacity;
    uint32_t count;
    uint32_t *slots; /* id + 1, 0 for empty */
    uint32_t slot_count;
};

/* The id of these bytes, added when new (then *is_new is true; is_new may be NULL). LL_NO_ID when memory
 * ran out or there are 2^30 things already. */
uint32_t ll_map_intern(struct ll_map *map, const void *bytes, size_t length, bool *is_new);

/* The id of these bytes, or LL_NO_ID when they were never interned. */
uint32_t ll_map_find(const struct ll_map *map, const void *bytes, size_t length);

/* Frees everything; the map is empty and usable afterwards. */
void ll_map_release(struct ll_map *map);

#endif
