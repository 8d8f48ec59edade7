/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing over a table that is at most half full; the table holds ids, the
 * things themselves lie in an arena in the order of their ids. */
#include "tracer/base/map.h"

#include <stdlib.h>
#include <string.h>

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
