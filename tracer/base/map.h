/* SPDX-License-Identifier: Apache-2.0 */
/* Interning: equal things get one number, in the order in which they were first seen.
 *
 * A thing is a run of bytes (a text without its NUL, a packed struct without padding). The map copies
 * what it keeps. It starts as {0} and belongs to one thread at a time. */
#ifndef LL_TRACER_BASE_MAP_H
#define LL_TRACER_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"

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

/* Numbers in an order that only the caller knows, of what they stand for: to look up, put in and take out
 * in the middle, each in about the logarithm of their count.
 *
 * They lie in blocks, and only those of a block move. It starts as {0}; one thread at a time. */

#define LL_NO_NUMBER UINT32_MAX

struct ll_sorted {
    struct ll_sorted_block **blocks; /* none of them empty */
    uint64_t block_count, capacity;
};

/* Between two numbers, or at either end; good until something is put in or taken out. */
struct ll_sorted_place {
    uint64_t block;
    uint32_t item;
};

/* Frees all blocks; it is {0} again. */
void ll_sorted_release(struct ll_sorted *sorted);

enum { LL_SORTED_BLOCK = 510 }; /* with its count 2 KiB */

struct ll_sorted_block {
    uint32_t count;
    uint32_t numbers[LL_SORTED_BLOCK];
};

/* The first place whose number does not stand before what is looked for; of two numbers, the first must
 * never be said to stand behind when the second stands before. Inline, as the comparison then is. */
static inline struct ll_sorted_place ll_sorted_find(const struct ll_sorted *sorted,
                                                    bool (*is_before)(const void *context, uint32_t number),
                                                    const void *context)
{
    uint64_t first = 0, end = sorted->block_count;
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        const struct ll_sorted_block *block = sorted->blocks[middle];
        if (is_before(context, block->numbers[block->count - 1]))
            first = middle + 1;
        else
            end = middle;
    }
    if (first == sorted->block_count)
        return (struct ll_sorted_place){first, 0};
    const struct ll_sorted_block *block = sorted->blocks[first];
    uint32_t low = 0, high = block->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_before(context, block->numbers[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return (struct ll_sorted_place){first, low};
}

/* The number behind the place, LL_NO_NUMBER at the end; and the place behind that number. */
uint32_t ll_sorted_at(const struct ll_sorted *sorted, struct ll_sorted_place place);
struct ll_sorted_place ll_sorted_next(const struct ll_sorted *sorted, struct ll_sorted_place place);

/* False when memory ran out; then nothing has changed. */
bool ll_sorted_put(struct ll_sorted *sorted, struct ll_sorted_place place, uint32_t number);

/* Takes out the number behind the place, of which there must be one. */
void ll_sorted_take(struct ll_sorted *sorted, struct ll_sorted_place place);

/* Numbers by size. Values are finite; pure but for the order of what is handed in. */

/* Ascending. */
void ll_sort_numbers(double *values, size_t count);

/* Sorts them. The middle one, or the mean of both; NaN of none. */
double ll_median(double *values, size_t count);

/* Of values in ascending order: below which `part` (0 to 1) of them lie, between two in proportion. NaN of
 * none. */
double ll_sorted_quantile(const double *sorted, size_t count, double part);

#endif
