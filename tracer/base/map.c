/* SPDX-License-Identifier: Apache-2.0 */
/* Interning by hash, sorted sets of numbers in blocks, and sorting with medians and quantiles. */
#include "tracer/base/map.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"

/* Open addressing with linear probing over a table that is at most half full; the table holds ids, the
 * things themselves lie in an arena in the order of their ids. */

/* Eight bytes at a time, mixed by multiplication and a shift (after the finaliser of MurmurHash3). */
static uint32_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length;
    for (; length >= 8; p += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    if (length)
        memcpy(&rest, p, length);
    hash = (hash ^ rest) * 0xC4CEB9FE1A85EC53u;
    return (uint32_t)(hash ^ (hash >> 32));
}

static uint32_t probe(const struct ll_map *map, const void *bytes, size_t length, uint32_t hash)
{
    uint32_t mask = map->slot_count - 1, slot = hash & mask;
    for (; map->slots[slot]; slot = (slot + 1) & mask) {
        const struct ll_map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->hash == hash && entry->length == length &&
            (!length || !memcmp(entry->bytes, bytes, length)))
            break;
    }
    return slot;
}

static bool rehash(struct ll_map *map)
{
    uint32_t slot_count = map->slot_count ? map->slot_count * 2 : 64;
    uint32_t *slots = slot_count > map->slot_count ? calloc(slot_count, sizeof *slots) : NULL;
    if (!slots)
        return false;
    for (uint32_t id = 0; id < map->count; id++) {
        uint32_t slot = map->entries[id].hash & (slot_count - 1);
        while (slots[slot])
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = id + 1;
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    return true;
}

uint32_t ll_map_find(const struct ll_map *map, const void *bytes, size_t length)
{
    if (!map->slot_count || length > UINT32_MAX)
        return LL_NO_ID;
    uint32_t found = map->slots[probe(map, bytes, length, hash_bytes(bytes, length))];
    return found ? found - 1 : LL_NO_ID;
}

uint32_t ll_map_intern(struct ll_map *map, const void *bytes, size_t length, bool *is_new)
{
    if (is_new)
        *is_new = false;
    if (length > UINT32_MAX)
        return LL_NO_ID;
    uint32_t hash = hash_bytes(bytes, length), slot = 0;
    if (map->slot_count) {
        slot = probe(map, bytes, length, hash);
        if (map->slots[slot])
            return map->slots[slot] - 1;
    }
    if (!ll_grow(&map->entries, &map->capacity, map->count + 1u, sizeof *map->entries))
        return LL_NO_ID;
    if (map->count + 1u > map->slot_count / 2) {
        if (!rehash(map))
            return LL_NO_ID;
        slot = probe(map, bytes, length, hash);
    }
    const void *copy = ll_copy_text(&map->arena, bytes, length);
    if (!copy)
        return LL_NO_ID;
    map->entries[map->count] = (struct ll_map_entry){copy, (uint32_t)length, hash};
    map->slots[slot] = ++map->count;
    if (is_new)
        *is_new = true;
    return map->count - 1;
}

void ll_map_release(struct ll_map *map)
{
    ll_arena_release(&map->arena);
    free(map->entries);
    free(map->slots);
    *map = (struct ll_map){0};
}

/* A full block becomes two halves, and two neighbours of which a number was taken become one where they fill
 * no more than half a block: so there are at most about four times as many blocks as full ones would be. */

enum { BLOCK = LL_SORTED_BLOCK };

void ll_sorted_release(struct ll_sorted *sorted)
{
    for (uint64_t i = 0; i < sorted->block_count; i++)
        free(sorted->blocks[i]);
    free(sorted->blocks);
    *sorted = (struct ll_sorted){0};
}

uint32_t ll_sorted_at(const struct ll_sorted *sorted, struct ll_sorted_place place)
{
    return place.block < sorted->block_count ? sorted->blocks[place.block]->numbers[place.item]
                                             : LL_NO_NUMBER;
}

struct ll_sorted_place ll_sorted_next(const struct ll_sorted *sorted, struct ll_sorted_place place)
{
    assert(place.block < sorted->block_count);
    if (++place.item < sorted->blocks[place.block]->count)
        return place;
    return (struct ll_sorted_place){place.block + 1, 0};
}

/* An empty block at this place of the list, which is filled by the caller; NULL when memory ran out. */
static struct ll_sorted_block *open_block(struct ll_sorted *sorted, uint64_t at)
{
    if (!ll_grow(&sorted->blocks, &sorted->capacity, sorted->block_count + 1,
                 sizeof(struct ll_sorted_block *)))
        return NULL;
    struct ll_sorted_block *block = malloc(sizeof *block);
    if (!block)
        return NULL;
    block->count = 0;
    memmove(sorted->blocks + at + 1, sorted->blocks + at,
            (sorted->block_count - at) * sizeof *sorted->blocks);
    sorted->blocks[at] = block;
    sorted->block_count++;
    return block;
}

/* Moves the second half of a full block into one of its own. */
static bool halve(struct ll_sorted *sorted, uint64_t at)
{
    struct ll_sorted_block *back = open_block(sorted, at + 1), *front = sorted->blocks[at];
    if (!back)
        return false;
    front->count = BLOCK / 2;
    back->count = BLOCK - BLOCK / 2;
    memcpy(back->numbers, front->numbers + BLOCK / 2, back->count * sizeof *back->numbers);
    return true;
}

bool ll_sorted_put(struct ll_sorted *sorted, struct ll_sorted_place place, uint32_t number)
{
    if (sorted->block_count == 0 && !open_block(sorted, 0))
        return false;
    if (place.block == sorted->block_count) { /* at the end: of the last block */
        place.block--;
        place.item = sorted->blocks[place.block]->count;
    }
    if (sorted->blocks[place.block]->count == BLOCK) {
        if (!halve(sorted, place.block))
            return false;
        if (place.item > BLOCK / 2)
            place = (struct ll_sorted_place){place.block + 1, place.item - BLOCK / 2};
    }
    struct ll_sorted_block *block = sorted->blocks[place.block];
    memmove(block->numbers + place.item + 1, block->numbers + place.item,
            (block->count - place.item) * sizeof *block->numbers);
    block->numbers[place.item] = number;
    block->count++;
    return true;
}

static void close_block(struct ll_sorted *sorted, uint64_t at)
{
    free(sorted->blocks[at]);
    sorted->block_count--;
    memmove(sorted->blocks + at, sorted->blocks + at + 1,
            (sorted->block_count - at) * sizeof *sorted->blocks);
}

/* The block takes in the next one, where there is one and both are not too many. */
static bool join(struct ll_sorted *sorted, uint64_t at)
{
    if (at + 1 >= sorted->block_count)
        return false;
    struct ll_sorted_block *block = sorted->blocks[at], *next = sorted->blocks[at + 1];
    if (block->count + next->count > BLOCK / 2)
        return false;
    memcpy(block->numbers + block->count, next->numbers, next->count * sizeof *next->numbers);
    block->count += next->count;
    close_block(sorted, at + 1);
    return true;
}

void ll_sorted_take(struct ll_sorted *sorted, struct ll_sorted_place place)
{
    assert(place.block < sorted->block_count);
    struct ll_sorted_block *block = sorted->blocks[place.block];
    block->count--;
    memmove(block->numbers + place.item, block->numbers + place.item + 1,
            (block->count - place.item) * sizeof *block->numbers);
    if (block->count == 0)
        close_block(sorted, place.block);
    else if (!join(sorted, place.block) && place.block > 0)
        join(sorted, place.block - 1);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void ll_sort_numbers(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, by_size);
}

double ll_median(double *values, size_t count)
{
    ll_sort_numbers(values, count);
    if (count == 0)
        return NAN;
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double ll_sorted_quantile(const double *sorted, size_t count, double part)
{
    if (count == 0)
        return NAN;
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    double above = sorted[below + 1 < count ? below + 1 : below];
    return sorted[below] + (place - (double)below) * (above - sorted[below]);
}
