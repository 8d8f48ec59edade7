/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers of a KV cache (scheduler.h). A store is a cache of blocks that nobody holds: what it was given last
 * is forgotten last. All full blocks are written to every tier when they are computed (write-through), which
 * takes no time of a step: copies go the other way than loads and beside computing. */
#include <assert.h>
#include <math.h>

#include "sim/serve/scheduler.h"
#include "tracer/base/num.h"

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
