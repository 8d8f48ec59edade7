/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a KV cache (scheduler.h): a list of free ones, longest free first, and a table from contents to
 * blocks, open addressing with linear probing. */
#include <assert.h>
#include <string.h>

#include "sim/serve/scheduler.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

struct block {
    uint64_t content;                 /* 0: none */
    uint32_t holders, before, behind; /* neighbours in the list of free ones */
};

struct ll_kv_blocks {
    struct block *at; /* `count`, and one more as the list's ends */
    uint32_t count, free;
    uint32_t *slots; /* block + 1; 0: empty */
    uint32_t mask;
};

struct ll_kv_blocks *ll_kv_make(uint64_t count, struct ll_arena *arena)
{
    struct ll_kv_blocks *b = ll_alloc(arena, 1, sizeof *b);
    uint64_t slots = 16;
    if (!b || count >= (1u << 30))
        return NULL;
    while (slots < 2 * count)
        slots *= 2;
    *b = (struct ll_kv_blocks){.at = ll_alloc(arena, count + 1, sizeof *b->at),
                               .count = (uint32_t)count,
                               .free = (uint32_t)count,
                               .slots = ll_alloc(arena, slots, sizeof *b->slots),
                               .mask = (uint32_t)slots - 1};
    if (!b->at || !b->slots)
        return NULL;
    memset(b->slots, 0, slots * sizeof *b->slots);
    for (uint32_t i = 0; i <= count; i++)
        b->at[i] = (struct block){.before = i == 0 ? b->count : i - 1, .behind = i == count ? 0 : i + 1};
    return b;
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
    b->at[block].content = 0;
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

static void unlink_free(struct ll_kv_blocks *b, uint32_t block)
{
    struct block *x = &b->at[block];
    b->at[x->before].behind = x->behind;
    b->at[x->behind].before = x->before;
    b->free--;
}

uint32_t ll_kv_take(struct ll_kv_blocks *b)
{
    uint32_t block = b->at[b->count].behind;
    assert(b->free > 0);
    unlink_free(b, block);
    if (b->at[block].content != 0)
        forget(b, block);
    b->at[block].holders = 1;
    return block;
}

void ll_kv_hold(struct ll_kv_blocks *b, uint32_t block)
{
    if (b->at[block].holders++ == 0)
        unlink_free(b, block);
}

void ll_kv_give(struct ll_kv_blocks *b, uint32_t block)
{
    struct block *x = &b->at[block], *end = &b->at[b->count];
    assert(x->holders > 0);
    if (--x->holders > 0)
        return;
    x->before = end->before;
    x->behind = b->count;
    b->at[end->before].behind = block;
    end->before = block;
    b->free++;
}

void ll_kv_name(struct ll_kv_blocks *b, uint32_t block, uint64_t content)
{
    uint32_t slot = slot_of(b, content);
    assert(content != 0 && b->at[block].content == 0);
    if (b->slots[slot] != 0)
        return;
    b->at[block].content = content;
    b->slots[slot] = block + 1;
}

uint32_t ll_kv_find(const struct ll_kv_blocks *b, uint64_t content, bool *is_free)
{
    uint32_t slot = slot_of(b, content);
    if (b->slots[slot] == 0)
        return LL_NO_BLOCK;
    *is_free = b->at[b->slots[slot] - 1].holders == 0;
    return b->slots[slot] - 1;
}
