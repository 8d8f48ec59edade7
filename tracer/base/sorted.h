/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in an order that only the caller knows, of what they stand for: to look up, put in and take out
 * in the middle, each in about the logarithm of their count.
 *
 * They lie in blocks, and only those of a block move. It starts as {0}; one thread at a time. */
#ifndef LL_BASE_SORTED_H
#define LL_BASE_SORTED_H

#include <stdbool.h>
#include <stdint.h>

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

/* The first place whose number does not stand before what is looked for; of two numbers, the first must
 * never be said to stand behind when the second stands before. */
struct ll_sorted_place ll_sorted_find(const struct ll_sorted *sorted,
                                      bool (*is_before)(const void *context, uint32_t number),
                                      const void *context);

/* The number behind the place, LL_NO_NUMBER at the end; and the place behind that number. */
uint32_t ll_sorted_at(const struct ll_sorted *sorted, struct ll_sorted_place place);
struct ll_sorted_place ll_sorted_next(const struct ll_sorted *sorted, struct ll_sorted_place place);

/* False when memory ran out; then nothing has changed. */
bool ll_sorted_put(struct ll_sorted *sorted, struct ll_sorted_place place, uint32_t number);

/* Takes out the number behind the place, of which there must be one. */
void ll_sorted_take(struct ll_sorted *sorted, struct ll_sorted_place place);

#endif
