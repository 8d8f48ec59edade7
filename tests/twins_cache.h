/* SPDX-License-Identifier: Apache-2.0 */
/* The dumb twin of sim/memory/cache.c: every level is one list of ways, every question a walk over all of it,
 * every recency a time of day. The rules are those of cache.h, read again. */
#ifndef LL_TESTS_TWINS_CACHE_H
#define LL_TESTS_TWINS_CACHE_H

#include "sim/memory/cache.h"
#include "tests/random.h"

#include <stdlib.h>
#include <string.h>

enum { TWIN_WAYS = 64, TWIN_PAGES = 64, TWIN_LEVELS = 8 };

struct twin_way {
    uint64_t set, way;
    bool full, written, ahead;
    uint64_t line;
    int64_t used, filled, emptied; /* times of day */
};

struct twin_level {
    struct ll_cache_level is;
    struct twin_way *ways;
    /* PLRU: which half of the ways from .. from + span of a set goes next: the upper one? */
    bool *upper;
    uint64_t random;
    uint64_t page[TWIN_PAGES], last[TWIN_PAGES];
    int64_t step[TWIN_PAGES];
    bool wishes;
    uint64_t wish;
    struct ll_cache_counts counts;
};

/* What memory was asked: sums, and a number that depends on each access and on their order. */
struct twin_heard {
    uint64_t read_bytes, written_bytes, single_writes, order;
};

/* An ll_cache_listener, for the real cache and the twin. */
static inline void twin_hear(void *context, uint64_t address, uint64_t bytes, bool write)
{
    struct twin_heard *heard = context;
    heard->read_bytes += write ? 0 : bytes;
    heard->written_bytes += write ? bytes : 0;
    heard->single_writes += bytes == 0;
    heard->order = (heard->order + address + (bytes << 48) + write) * UINT64_C(0x9e3779b97f4a7c15);
    heard->order ^= heard->order >> 29;
}

struct twin_cache {
    struct twin_level level[TWIN_LEVELS];
    size_t count;
    int64_t now;
    struct twin_heard memory;
};

static inline bool *twin_upper(struct twin_level *level, uint64_t set, uint64_t from, uint64_t span)
{
    return &level->upper[(set * TWIN_WAYS + from) * (TWIN_WAYS + 1) + span];
}

static inline struct twin_cache *twin_cache_new(const struct ll_cache_level *levels, size_t count)
{
    struct twin_cache *cache = calloc(1, sizeof *cache);
    cache->count = count;
    for (size_t i = 0; i < count; i++) {
        struct twin_level *level = &cache->level[i];
        level->is = levels[i];
        level->random = levels[i].seed;
        level->ways = calloc(levels[i].sets * levels[i].ways, sizeof *level->ways);
        if (levels[i].policy == LL_CACHE_PLRU)
            level->upper = calloc(levels[i].sets * TWIN_WAYS * (TWIN_WAYS + 1), 1);
        for (uint64_t w = 0; w < levels[i].sets * levels[i].ways; w++)
            level->ways[w] = (struct twin_way){
                .set = w / levels[i].ways, .way = w % levels[i].ways, .emptied = -(int64_t)w - 1};
    }
    return cache;
}

static inline void twin_cache_free(struct twin_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        free(cache->level[i].ways);
        free(cache->level[i].upper);
    }
    free(cache);
}

static inline struct twin_way *twin_find(struct twin_level *level, uint64_t address)
{
    for (uint64_t w = 0; w < level->is.sets * level->is.ways; w++)
        if (level->ways[w].full && level->ways[w].line == address / level->is.line_bytes)
            return &level->ways[w];
    return NULL;
}

static inline void twin_turn(struct twin_level *level, const struct twin_way *way)
{
    uint64_t from = 0;
    for (uint64_t span = level->is.ways; span > 1; span /= 2) {
        bool in_upper = way->way >= from + span / 2;
        *twin_upper(level, way->set, from, span) = !in_upper;
        from += in_upper ? span / 2 : 0;
    }
}

static inline void twin_touch(struct twin_cache *cache, struct twin_level *level, struct twin_way *way)
{
    way->used = cache->now++;
    if (level->is.policy == LL_CACHE_PLRU)
        twin_turn(level, way);
}

static inline uint64_t twin_pointed(struct twin_level *level, uint64_t set)
{
    uint64_t from = 0;
    for (uint64_t span = level->is.ways; span > 1; span /= 2)
        from += *twin_upper(level, set, from, span) ? span / 2 : 0;
    return from;
}

static inline struct twin_way *twin_victim(struct twin_level *level, uint64_t set)
{
    struct twin_way *first = &level->ways[set * level->is.ways], *victim = first;
    switch (level->is.policy) {
    case LL_CACHE_PLRU:
        return first + twin_pointed(level, set);
    case LL_CACHE_RANDOM:
        return first + ((ll_random(&level->random) >> 32) * level->is.ways >> 32);
    case LL_CACHE_LRU:
        for (uint64_t w = 0; w < level->is.ways; w++)
            victim = first[w].used < victim->used ? &first[w] : victim;
        return victim;
    default:
        for (uint64_t w = 0; w < level->is.ways; w++)
            victim = first[w].filled < victim->filled ? &first[w] : victim;
        return victim;
    }
}

static inline void twin_empty(struct twin_cache *cache, struct twin_way *way)
{
    way->full = way->written = way->ahead = false;
    way->emptied = cache->now++;
}

static inline void twin_give_back(struct twin_cache *cache, size_t i, uint64_t address, uint64_t bytes)
{
    if (i == cache->count) {
        twin_hear(&cache->memory, address, bytes, true);
        return;
    }
    struct twin_way *way = twin_find(&cache->level[i], address);
    if (way && !cache->level[i].is.write_through) {
        way->written = true;
        return;
    }
    cache->level[i].counts.out_bytes += bytes;
    twin_give_back(cache, i + 1, address, bytes);
}

/* Takes everything between address and address + bytes out of a level; whether any of it was written. */
static inline bool twin_take_along(struct twin_cache *cache, struct twin_level *level, uint64_t address,
                                   uint64_t bytes)
{
    bool written = false;
    for (uint64_t a = address; a < address + bytes; a += level->is.line_bytes) {
        struct twin_way *way = twin_find(level, a);
        if (!way)
            continue;
        level->counts.invalidations++;
        level->counts.useless += way->ahead;
        level->counts.write_backs += way->written;
        level->counts.out_bytes += way->written * level->is.line_bytes;
        written = written || way->written;
        twin_empty(cache, way);
    }
    return written;
}

static inline struct twin_way *twin_put(struct twin_cache *cache, size_t i, uint64_t address, bool written,
                                        bool ahead)
{
    struct twin_level *level = &cache->level[i];
    uint64_t line = address / level->is.line_bytes, set = line % level->is.sets;
    struct twin_way *place = NULL;
    for (uint64_t w = set * level->is.ways; w < (set + 1) * level->is.ways; w++)
        if (!level->ways[w].full && (!place || level->ways[w].emptied > place->emptied))
            place = &level->ways[w];
    if (!place) {
        place = twin_victim(level, set);
        uint64_t old = place->line * level->is.line_bytes, bytes = level->is.line_bytes;
        bool old_written = place->written, outer_excludes = false;
        level->counts.evictions++;
        level->counts.useless += place->ahead;
        twin_empty(cache, place);
        if (level->is.inclusion == LL_CACHE_INCLUSIVE)
            for (size_t inner = 0; inner < i; inner++)
                old_written = twin_take_along(cache, &cache->level[inner], old, bytes) || old_written;
        if (i + 1 < cache->count)
            outer_excludes = cache->level[i + 1].is.inclusion == LL_CACHE_EXCLUSIVE;
        level->counts.write_backs += old_written;
        if (old_written || outer_excludes)
            level->counts.out_bytes += bytes;
        if (outer_excludes)
            twin_put(cache, i + 1, old, old_written, false);
        else if (old_written)
            twin_give_back(cache, i + 1, old, bytes);
    }
    place->full = true;
    place->written = written;
    place->ahead = ahead;
    place->line = line;
    place->filled = cache->now++;
    twin_touch(cache, level, place);
    return place;
}

static inline void twin_dream(struct twin_level *level, uint64_t address, bool news)
{
    uint64_t line = address / level->is.line_bytes, next = line + 1;
    if (level->is.prefetch == LL_PREFETCH_NONE)
        return;
    if (level->is.prefetch == LL_PREFETCH_STRIDE) {
        uint64_t page = line * level->is.line_bytes / level->is.stride_page_bytes,
                 at = (page + 1) % level->is.stride_pages;
        bool same = level->page[at] == page + 1;
        int64_t step = same ? (int64_t)line - (int64_t)level->last[at] : 0;
        news = same && step != 0 && step == level->step[at];
        if (!same || step != 0)
            level->step[at] = step;
        level->page[at] = page + 1;
        level->last[at] = line;
        next = (uint64_t)((int64_t)line + step);
    }
    if (!news || next >= LL_CACHE_WRITE / level->is.line_bytes)
        return;
    level->wishes = true;
    level->wish = next * level->is.line_bytes;
}

static inline bool twin_admits(struct twin_level *level)
{
    return level->is.admission == 0 || level->is.admission == 1 ||
           (double)(ll_random(&level->random) >> 32) < level->is.admission * 4294967296.0;
}

/* A read by the level inside, or (i is 0) by the stream, or a write: what an access does besides writing. */
static inline struct twin_way *twin_ask(struct twin_cache *cache, size_t i, uint64_t address, bool write,
                                        bool *came_written)
{
    if (i == cache->count) {
        uint64_t line = cache->level[i - 1].is.line_bytes;
        twin_hear(&cache->memory, address / line * line, line, false);
        return NULL;
    }
    struct twin_level *level = &cache->level[i];
    struct twin_way *way = twin_find(level, address);
    bool exclusive = level->is.inclusion == LL_CACHE_EXCLUSIVE, news = !way || way->ahead;
    level->counts.accesses++;
    level->counts.hits += way != NULL;
    level->counts.misses += way == NULL;
    level->counts.useful += way && way->ahead;
    if (way) {
        way->ahead = false;
        twin_touch(cache, level, way);
    }
    if (exclusive && !write) {
        if (way) {
            *came_written = way->written;
            twin_empty(cache, way);
        } else {
            level->counts.in_bytes += level->is.line_bytes;
            twin_ask(cache, i + 1, address, false, came_written);
        }
        return NULL;
    }
    if (!way && !(write && (exclusive || level->is.write_around))) {
        bool written = false, welcome = twin_admits(level);
        if (welcome || !write) {
            level->counts.in_bytes += level->is.line_bytes;
            twin_ask(cache, i + 1, address / level->is.line_bytes * level->is.line_bytes, false, &written);
        }
        if (welcome || (i == 0 && written))
            way = twin_put(cache, i, address, written, false);
        else
            *came_written = written;
    }
    twin_dream(level, address, news);
    return way;
}

static inline void twin_access(struct twin_cache *cache, size_t i, uint64_t address, bool write)
{
    bool came_written = false;
    if (i == cache->count) {
        twin_hear(&cache->memory, address, 0, true);
        return;
    }
    struct twin_way *way = twin_ask(cache, i, address, write, &came_written);
    if (write && way && !cache->level[i].is.write_through) {
        way->written = true;
    } else if (write) {
        cache->level[i].counts.passed_writes++;
        twin_access(cache, i + 1, address, true);
    }
}

/* Until no level wishes any more, the outermost wish comes true. */
static inline void twin_dreams_come_true(struct twin_cache *cache)
{
    for (;;) {
        size_t i = cache->count;
        while (i > 0 && !cache->level[i - 1].wishes)
            i--;
        if (i-- == 0)
            return;
        struct twin_level *level = &cache->level[i];
        bool written = false;
        level->wishes = false;
        if (twin_find(level, level->wish))
            continue;
        level->counts.prefetches++;
        level->counts.in_bytes += level->is.line_bytes;
        twin_ask(cache, i + 1, level->wish, false, &written);
        twin_put(cache, i, level->wish, written, true);
    }
}

static inline void twin_cache_run(struct twin_cache *cache, const uint64_t *accesses, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        twin_access(cache, 0, accesses[n] & ~LL_CACHE_WRITE, accesses[n] >= LL_CACHE_WRITE);
        twin_dreams_come_true(cache);
    }
}

static inline void twin_cache_flush(struct twin_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        for (uint64_t w = 0; w < cache->level[i].is.sets * cache->level[i].is.ways; w++) {
            struct twin_level *level = &cache->level[i];
            struct twin_way *way = &level->ways[w];
            level->counts.useless += way->full && way->ahead;
            if (way->full && way->written) {
                level->counts.write_backs++;
                level->counts.out_bytes += level->is.line_bytes;
                way->full = false;
                twin_give_back(cache, i + 1, way->line * level->is.line_bytes, level->is.line_bytes);
            }
            if (way->full || way->written)
                twin_empty(cache, way);
        }
}

#endif
