/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a KV cache (scheduler.h): a queue of free ones, longest free first, and a table from contents to
 * blocks, open addressing with linear probing. Memory is touched as blocks are taken. */
#include <assert.h>
#include <math.h>

#include "sim/serve/scheduler.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

struct block {
    uint64_t content; /* 0: none; even: it is not in the table */
    uint32_t holders;
    uint32_t queued; /* when it was put into the queue last */
};

struct ll_kv_blocks {
    struct block *at;
    uint32_t count, free;
    uint32_t fresh; /* blocks from this one on were never taken: they are free, ahead of the queue */
    /* A ring of at least twice as many places as blocks, which the numbers first to last - 1 lie in. A block
     * that was held again, or came back since, is in it still, but was not queued then. */
    uint32_t *queue, first, last, queue_mask;
    uint32_t *slots; /* block + 1; 0: empty; at most half of them are taken, while memory lasts */
    uint32_t mask, taken;
    struct ll_arena *arena;
};

struct ll_kv_blocks *ll_kv_make(uint64_t count, struct ll_arena *arena)
{
    struct ll_kv_blocks *b = ll_alloc(arena, 1, sizeof *b);
    enum { FIRST_SLOTS = 1024 };
    if (!b || count >= (1u << 30))
        return NULL;
    uint64_t places = 2;
    while (places < 2 * count)
        places *= 2;
    *b = (struct ll_kv_blocks){.at = ll_alloc(arena, count, sizeof *b->at),
                               .count = (uint32_t)count,
                               .free = (uint32_t)count,
                               .queue = ll_alloc(arena, places, sizeof *b->queue),
                               .queue_mask = (uint32_t)(places - 1),
                               .slots = ll_alloc(arena, FIRST_SLOTS, sizeof *b->slots),
                               .mask = FIRST_SLOTS - 1,
                               .arena = arena};
    return b->at && b->queue && b->slots ? b : NULL;
}

uint64_t ll_kv_count(const struct ll_kv_blocks *b)
{
    return b->count;
}

uint64_t ll_kv_free(const struct ll_kv_blocks *b)
{
    return b->free;
}

static uint32_t slot_of(const struct ll_kv_blocks *b, uint64_t content)
{
    uint32_t slot = (uint32_t)ll_random_mix(content) & b->mask;
    while (b->slots[slot] != 0 && b->at[b->slots[slot] - 1].content != content)
        slot = (slot + 1) & b->mask;
    return slot;
}

static void forget(struct ll_kv_blocks *b, uint32_t block)
{
    uint32_t slot = slot_of(b, b->at[block].content), next = slot;
    assert(b->slots[slot] == block + 1);
    b->slots[slot] = 0;
    b->taken--;
    for (;;) { /* those behind it that a hole would hide move up */
        next = (next + 1) & b->mask;
        if (b->slots[next] == 0)
            return;
        uint32_t home = (uint32_t)ll_random_mix(b->at[b->slots[next] - 1].content) & b->mask;
        if (((next - home) & b->mask) >= ((next - slot) & b->mask)) {
            b->slots[slot] = b->slots[next];
            b->slots[next] = 0;
            slot = next;
        }
    }
}

/* Whether the block that was queued so lies there still. */
static bool is_queued(const struct ll_kv_blocks *b, uint32_t number)
{
    const struct block *block = &b->at[b->queue[number & b->queue_mask]];
    return block->holders == 0 && block->queued == number;
}

/* At the end of the queue; where the ring is full it keeps what is queued still, at most half of it. */
static void queue(struct ll_kv_blocks *b, uint32_t block)
{
    if (b->last - b->first > b->queue_mask) {
        uint32_t kept = b->last;
        for (uint32_t number = b->last; number-- != b->first;)
            if (is_queued(b, number)) {
                const uint32_t id = b->queue[number & b->queue_mask];
                b->queue[--kept & b->queue_mask] = id;
                b->at[id].queued = kept;
            }
        b->first = kept;
    }
    b->at[block].queued = b->last;
    b->queue[b->last++ & b->queue_mask] = block;
}

uint32_t ll_kv_take(struct ll_kv_blocks *b)
{
    uint32_t block = b->fresh;
    assert(b->free > 0);
    if (block < b->count) {
        b->fresh++;
    } else {
        enum { AHEAD = 8 }; /* of blocks that were touched long ago, too */
        while (!is_queued(b, b->first))
            b->first++;
        block = b->queue[b->first++ & b->queue_mask];
        __builtin_prefetch(&b->at[b->queue[(b->first + AHEAD) & b->queue_mask]]);
    }
    b->free--;
    if (b->at[block].content & 1)
        forget(b, block);
    b->at[block].content = 0;
    b->at[block].holders = 1;
    return block;
}

void ll_kv_hold(struct ll_kv_blocks *b, uint32_t block)
{
    b->free -= b->at[block].holders++ == 0;
}

void ll_kv_give(struct ll_kv_blocks *b, uint32_t block)
{
    assert(b->at[block].holders > 0);
    if (--b->at[block].holders > 0)
        return;
    queue(b, block);
    b->free++;
}

/* Twice the slots. Without memory they fill up to all but one, and further contents are not named. */
static bool has_room(struct ll_kv_blocks *b)
{
    if (2 * (uint64_t)b->taken < b->mask)
        return true;
    const uint32_t *old = b->slots, count = b->mask + 1;
    uint32_t *more = b->mask < UINT32_MAX / 4 ? ll_alloc(b->arena, 2 * (size_t)count, sizeof *more) : NULL;
    if (!more)
        return b->taken < b->mask;
    b->slots = more;
    b->mask = 2 * count - 1;
    for (uint32_t i = 0; i < count; i++)
        if (old[i] != 0)
            more[slot_of(b, b->at[old[i] - 1].content)] = old[i];
    return true;
}

void ll_kv_name(struct ll_kv_blocks *b, uint32_t block, uint64_t content)
{
    assert(content != 0 && b->at[block].content == 0);
    if (!(content & 1)) {
        b->at[block].content = content;
        return;
    }
    if (!has_room(b))
        return;
    uint32_t slot = slot_of(b, content);
    if (b->slots[slot] != 0)
        return;
    b->at[block].content = content;
    b->slots[slot] = block + 1;
    b->taken++;
}

uint32_t ll_kv_find(const struct ll_kv_blocks *b, uint64_t content, bool *is_free)
{
    uint32_t slot = slot_of(b, content);
    if (b->slots[slot] == 0)
        return LL_NO_BLOCK;
    *is_free = b->at[b->slots[slot] - 1].holders == 0;
    return b->slots[slot] - 1;
}

bool ll_kv_has(const struct ll_kv_blocks *b, uint32_t block, uint64_t content, bool *is_free)
{
    *is_free = b->at[block].holders == 0;
    return b->at[block].content == content;
}

/* --- tiers behind it ---
 *
 * A store is a cache of blocks that nobody holds: what it was given last is forgotten last. All full blocks
 * are written to every tier when they are computed (write-through), which takes no time of a step: copies go
 * the other way than loads and beside computing. */

struct ll_kv_tiers {
    uint64_t count, block;
    struct tier {
        struct ll_kv_blocks *store;
        double block_s; /* to load a block */
        double free_s;  /* when the loads before have ended */
    } at[LL_MOST_KV_TIERS];
};

struct ll_kv_tiers *ll_kv_tiers_make(const struct ll_server_pool *pool, const struct ll_kv_tiers *sharing,
                                     struct ll_arena *arena)
{
    const uint64_t block = pool->engine.block;
    struct ll_kv_tiers *t = ll_alloc(arena, 1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct ll_kv_tiers){.count = pool->tier_count, .block = block};
    assert(t->count <= LL_MOST_KV_TIERS);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct ll_kv_tier *tier = &pool->tiers[i];
        t->at[i].block_s = tier->token_s * (double)block;
        t->at[i].store = tier->shared && sharing ? sharing->at[i].store
                                                 : ll_kv_make(ll_max(1, tier->tokens / block), arena);
        if (!t->at[i].store)
            return NULL;
    }
    return t;
}

void ll_kv_tiers_keep(struct ll_kv_tiers *t, uint64_t content)
{
    for (uint64_t i = 0; i < t->count; i++) {
        struct ll_kv_blocks *store = t->at[i].store;
        bool is_free;
        uint32_t block = ll_kv_find(store, content, &is_free);
        if (block == LL_NO_BLOCK) {
            block = ll_kv_take(store);
            ll_kv_name(store, block, content);
        } else {
            ll_kv_hold(store, block);
        }
        ll_kv_give(store, block); /* to the end of those that are forgotten */
    }
}

uint64_t ll_kv_tiers_find(const struct ll_kv_tiers *t, uint64_t content)
{
    bool is_free;
    for (uint64_t i = 0; i < t->count; i++)
        if (ll_kv_find(t->at[i].store, content, &is_free) != LL_NO_BLOCK)
            return i;
    return LL_MOST_KV_TIERS;
}

double ll_kv_tiers_load(struct ll_kv_tiers *t, const uint64_t blocks[static LL_MOST_KV_TIERS], double now_s)
{
    double until_s = now_s;
    for (uint64_t i = 0; i < t->count; i++) {
        if (blocks[i] == 0)
            continue;
        t->at[i].free_s = fmax(now_s, t->at[i].free_s) + (double)blocks[i] * t->at[i].block_s;
        until_s = fmax(until_s, t->at[i].free_s);
    }
    return until_s;
}
