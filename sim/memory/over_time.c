/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/over_time.h"

#include "sim/memory/chains.h"

#include <stdlib.h>
#include <string.h>

static void follow(const struct ll_chains *chains, const struct ll_life *lives, uint32_t op, bool deaths,
                   struct ll_memory_held *held)
{
    for (uint32_t s = chains->first[op]; s != LL_NONE; s = chains->next[s]) {
        uint64_t *of_class = &held->class_bytes[lives[s].memory];
        held->bytes = deaths ? ll_sub(held->bytes, lives[s].bytes) : ll_add(held->bytes, lives[s].bytes);
        *of_class = deaths ? ll_sub(*of_class, lives[s].bytes) : ll_add(*of_class, lives[s].bytes);
    }
}

/* Of ops first to last of `spans` equal spans the fullest. */
static void walk(const struct ll_trace *trace, const struct ll_life *lives, const struct ll_chains *births,
                 const struct ll_chains *deaths, struct ll_memory_held *points, uint32_t count)
{
    struct ll_memory_held held = {0};
    for (uint32_t op = 0; op < trace->op_count; op++) {
        struct ll_memory_held *point = &points[(uint64_t)op * count / trace->op_count];
        follow(births, lives, op, false, &held);
        held.op = op;
        if (held.bytes > point->bytes || point->op == LL_NONE)
            *point = held;
        follow(deaths, lives, op, true, &held);
    }
}

const struct ll_over_time *ll_over_time(const struct ll_trace *trace, uint32_t most, struct ll_arena *arena)
{
    uint32_t count = (uint32_t)ll_min(most, trace->op_count);
    struct ll_over_time *over_time = ll_alloc(arena, 1, sizeof *over_time);
    struct ll_memory_held *points = ll_alloc(arena, count + 1u, sizeof *points);
    struct ll_arena scratch = {0};
    const struct ll_life *lives = trace->op_count ? ll_lives(trace, &scratch) : NULL;
    struct ll_chains births, deaths;
    bool done = over_time && points &&
                (!trace->op_count || (lives && ll_chain(trace, lives, false, &births, &scratch) &&
                                      ll_chain(trace, lives, true, &deaths, &scratch)));
    for (uint32_t i = 0; done && i < count; i++)
        points[i].op = LL_NONE;
    if (done && count)
        walk(trace, lives, &births, &deaths, points, count);
    if (done)
        *over_time = (struct ll_over_time){points, count};
    ll_arena_release(&scratch);
    return done ? over_time : NULL;
}

static int by_size(const void *left, const void *right)
{
    const struct ll_alive *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->storage < b->storage ? -1 : a->storage > b->storage;
}

/* Names come from the first tensor of each storage; tensors are numbered in the order of recording. */
static void name(const struct ll_trace *trace, struct ll_alive *alive, uint64_t count, uint32_t *place)
{
    for (uint64_t i = 0; i < count; i++)
        place[alive[i].storage] = (uint32_t)i;
    for (uint64_t t = trace->tensor_count; t-- > 0;) {
        const struct ll_tensor *tensor = &trace->tensors[t];
        if (place[tensor->storage] == LL_NONE)
            continue;
        struct ll_alive *named = &alive[place[tensor->storage]];
        named->name = trace->strings[trace->descs[tensor->desc].name];
        named->scope = tensor->producer == LL_NONE
                           ? ""
                           : trace->strings[trace->forms[trace->ops[tensor->producer].form].scope];
    }
}

const struct ll_all_alive *ll_alive_at(const struct ll_trace *trace, uint32_t op, struct ll_arena *arena)
{
    struct ll_arena scratch = {0};
    struct ll_all_alive *all = ll_alloc(arena, 1, sizeof *all);
    struct ll_alive *alive = ll_alloc(arena, trace->storage_count + 1, sizeof *alive);
    uint32_t *place = ll_alloc(&scratch, trace->storage_count + 1, sizeof *place);
    const struct ll_life *lives = trace->op_count ? ll_lives(trace, &scratch) : NULL;
    bool done = all && alive && place && (lives || !trace->op_count);
    uint64_t count = 0;
    for (uint64_t s = 0; done && lives && s < trace->storage_count; s++)
        if (lives[s].first != LL_NONE && lives[s].first <= op && lives[s].last >= op && lives[s].bytes > 0)
            alive[count++] = (struct ll_alive){.storage = (uint32_t)s,
                                               .memory = (enum ll_memory_class)lives[s].memory,
                                               .bytes = lives[s].bytes,
                                               .first = lives[s].first,
                                               .last = lives[s].last};
    if (done) {
        memset(place, 0xff, trace->storage_count * sizeof *place);
        name(trace, alive, count, place);
        qsort(alive, count, sizeof *alive, by_size);
        *all = (struct ll_all_alive){alive, count};
    }
    ll_arena_release(&scratch);
    return done ? all : NULL;
}
