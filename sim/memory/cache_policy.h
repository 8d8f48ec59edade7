/* SPDX-License-Identifier: Apache-2.0 */
/* What a level is made of, and the policies: four short functions each, named in
 * sim/machine/cache_policies.def. Private to
 * cache.c, which puts them into its loops.
 *
 * A slot is a place for a line: slot = set * ways + way. LRU and FIFO keep the ways of a set in order,
 * newest first: up to 16 of them as the digits of one word, the newest lowest, so that nothing is decided
 * where none can be foreseen; more as a ring, where the oldest stands just before the newest, so that a set
 * which is swept turns its ring and moves nothing. */
#ifndef LL_SIM_MEMORY_CACHE_POLICY_H
#define LL_SIM_MEMORY_CACHE_POLICY_H

#include "sim/memory/cache.h"
#include "tracer/base/random.h"

#define NO_LINE UINT64_MAX

enum { ORDERED_WAYS = 16 };

struct ring {
    uint32_t older, newer;
};

/* What a page's lines were asked in. */
struct stride {
    uint64_t page, line; /* page counts from 1: 0 is no page */
    int64_t step;
};

struct level {
    struct ll_cache_level is;
    uint32_t line_shift, ways;
    uint64_t set_mask; /* 0 when the number of sets is no power of two */
    uint64_t *lines;   /* number of the line in each slot, NO_LINE when empty */
    uint8_t *flags;    /* of each slot: WRITTEN, AHEAD */
    uint32_t *empty;   /* ways of each set that are empty, as a stack: slots set * ways and up */
    uint32_t *empty_count;
    uint64_t *tags; /* a byte a way, tag_words words a set; or NULL */
    uint32_t tag_words;
    uint32_t *table;     /* finds the slot of a line where a set is too wide to be searched; or NULL */
    uint32_t table_bits; /* log2 of its size */
    uint64_t *orders;    /* LRU, FIFO, of each set: its ways; NULL where there are more than ORDERED_WAYS */
    struct ring *rings;  /* then of each slot */
    uint32_t *newest;    /* then of each set: slot */
    uint64_t *trees;     /* PLRU: bit i of a set's is where node i points; the root is node 1 */
    uint64_t *turned_away, *turns; /* PLRU: of each way, the bits to keep and to set when it is used */
    uint64_t draws;                /* of 32 bits, by RANDOM and for admission */
    struct stride *strides; /* prefetch STRIDE: of is.stride_pages pages, each at its number modulo so many */
    uint64_t wish;          /* line to fetch ahead, NO_LINE for none */
    struct ll_cache_counts counts;
};

static inline uint64_t draw(struct level *level)
{
    return ll_random_bits(level->is.seed, level->draws++) >> 32;
}

static inline bool prepare_orders(struct level *level, struct ll_arena *arena)
{
    level->orders = ll_alloc(arena, level->is.sets, sizeof *level->orders);
    for (uint64_t set = 0; level->orders && set < level->is.sets; set++)
        level->orders[set] = UINT64_C(0xfedcba9876543210);
    return level->orders != NULL;
}

static inline bool prepare_rings(struct level *level, struct ll_arena *arena)
{
    uint64_t sets = level->is.sets, ways = level->ways;
    level->rings = ll_alloc(arena, sets * ways, sizeof *level->rings);
    level->newest = ll_alloc(arena, sets, sizeof *level->newest);
    if (!level->rings || !level->newest)
        return false;
    for (uint64_t slot = 0; slot < sets * ways; slot++) {
        uint64_t first = slot - slot % ways, way = slot % ways;
        level->rings[slot].older = (uint32_t)(first + (way + 1) % ways);
        level->rings[slot].newer = (uint32_t)(first + (way + ways - 1) % ways);
    }
    for (uint64_t set = 0; set < sets; set++)
        level->newest[set] = (uint32_t)(set * ways);
    return true;
}

/* The digit of the way is taken out, those below it move up. Where it stands: its digit alone is zero in
 * `apart`, and the lowest zero digit is the lowest whose top bit is set in `zeros`. */
static inline uint64_t put_first(uint64_t order, uint64_t way)
{
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint64_t apart = order ^ way * ones, zeros = (apart - ones) & ~apart & ones << 3;
    unsigned shift = (unsigned)__builtin_ctzll(zeros) - 3;
    uint64_t below = (UINT64_C(1) << shift) - 1, up_to = below << 4 | 15;
    return (order & ~up_to) | (order & below) << 4 | way;
}

static inline void put_first_in_ring(struct level *level, uint64_t set, uint32_t slot)
{
    uint32_t newest = level->newest[set];
    if (slot == newest)
        return;
    struct ring *rings = level->rings;
    uint32_t oldest = rings[newest].newer;
    level->newest[set] = slot;
    if (slot == oldest)
        return;
    struct ring *ring = &rings[slot];
    rings[ring->older].newer = ring->newer;
    rings[ring->newer].older = ring->older;
    *ring = (struct ring){.older = newest, .newer = oldest};
    rings[newest].newer = slot;
    rings[oldest].older = slot;
}

static inline bool prepare_LRU(struct level *level, struct ll_arena *arena)
{
    return level->ways <= ORDERED_WAYS ? prepare_orders(level, arena) : prepare_rings(level, arena);
}

static inline void used_LRU(struct level *level, uint64_t set, uint32_t slot)
{
    if (level->orders)
        level->orders[set] = put_first(level->orders[set], slot - (uint32_t)set * level->ways);
    else
        put_first_in_ring(level, set, slot);
}

static inline void filled_LRU(struct level *level, uint64_t set, uint32_t slot)
{
    used_LRU(level, set, slot);
}

static inline uint32_t victim_LRU(struct level *level, uint64_t set)
{
    if (level->orders)
        return (uint32_t)set * level->ways + (level->orders[set] >> 4 * (level->ways - 1) & 15);
    return level->rings[level->newest[set]].newer;
}

static inline bool prepare_FIFO(struct level *level, struct ll_arena *arena)
{
    return prepare_LRU(level, arena);
}

static inline void used_FIFO(struct level *level, uint64_t set, uint32_t slot)
{
    (void)level, (void)set, (void)slot;
}

static inline void filled_FIFO(struct level *level, uint64_t set, uint32_t slot)
{
    used_LRU(level, set, slot);
}

static inline uint32_t victim_FIFO(struct level *level, uint64_t set)
{
    return victim_LRU(level, set);
}

/* A set's ways are the leaves of a binary tree. Each node on the way to a leaf that is used turns away from
 * it; the leaf that all nodes point to goes. Node i has children 2 i and 2 i + 1; bit i set points to 2 i
 * + 1. */
static inline bool prepare_PLRU(struct level *level, struct ll_arena *arena)
{
    level->trees = ll_alloc(arena, level->is.sets, sizeof *level->trees);
    level->turned_away = ll_alloc(arena, level->ways, sizeof *level->turned_away);
    level->turns = ll_alloc(arena, level->ways, sizeof *level->turns);
    if (!level->trees || !level->turned_away || !level->turns)
        return false;
    for (uint32_t way = 0; way < level->ways; way++) {
        uint64_t path = 0, set = 0;
        for (uint32_t node = level->ways + way; node > 1; node /= 2) {
            path |= UINT64_C(1) << node / 2;
            set |= (uint64_t)(node % 2 == 0) << node / 2;
        }
        level->turned_away[way] = ~path;
        level->turns[way] = set;
    }
    return true;
}

static inline void used_PLRU(struct level *level, uint64_t set, uint32_t slot)
{
    uint32_t way = slot - (uint32_t)set * level->ways;
    level->trees[set] = (level->trees[set] & level->turned_away[way]) | level->turns[way];
}

static inline void filled_PLRU(struct level *level, uint64_t set, uint32_t slot)
{
    used_PLRU(level, set, slot);
}

static inline uint32_t victim_PLRU(struct level *level, uint64_t set)
{
    uint64_t tree = level->trees[set];
    uint32_t node = 1;
    while (node < level->ways)
        node = 2 * node + (tree >> node & 1);
    return (uint32_t)set * level->ways + node - level->ways;
}

static inline bool prepare_RANDOM(struct level *level, struct ll_arena *arena)
{
    (void)level, (void)arena;
    return true;
}

static inline void used_RANDOM(struct level *level, uint64_t set, uint32_t slot)
{
    (void)level, (void)set, (void)slot;
}

static inline void filled_RANDOM(struct level *level, uint64_t set, uint32_t slot)
{
    (void)level, (void)set, (void)slot;
}

static inline uint32_t victim_RANDOM(struct level *level, uint64_t set)
{
    return (uint32_t)(set * level->ways + (draw(level) * level->ways >> 32));
}

#endif
