/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the ops, on which each rank has its own sum of what lives; then the footprint of the rank
 * whose sum was largest, as if nobody else had any storage. */
#include "sim/parallel/rank_memory.h"

#include <string.h>

struct ranks {
    const struct ll_trace *trace;
    struct ll_life *lives;
    uint32_t *rank_of;                 /* by storage; LL_NONE where no op touches it */
    uint32_t *first_born, *born;       /* by op the first storage, by storage the next that is born with it */
    uint32_t *first_dead, *dead;       /* the same of deaths */
    uint64_t *live_bytes, *most_bytes; /* by rank */
};

static void claim(struct ranks *r, uint32_t tensor, uint32_t rank)
{
    uint32_t *owner = &r->rank_of[r->trace->tensors[tensor].storage];
    *owner = *owner == LL_NONE ? rank : *owner;
}

static void find_owners(struct ranks *r)
{
    const struct ll_trace *trace = r->trace;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
        for (uint32_t i = 0; i < view->input_count; i++)
            claim(r, ll_op_input(trace, op, i), trace->ops[op].thread);
        for (uint32_t i = 0; i < view->output_count; i++)
            claim(r, ll_op_output(trace, op, i), trace->ops[op].thread);
    }
}

static bool is_owned(const struct ranks *r, uint64_t storage)
{
    return r->rank_of[storage] != LL_NONE && r->lives[storage].first != LL_NONE;
}

static void chain_storages(struct ranks *r)
{
    for (uint32_t s = 0; s < r->trace->storage_count; s++) {
        if (!is_owned(r, s))
            continue;
        uint32_t first = r->lives[s].first, last = r->lives[s].last;
        r->born[s] = r->first_born[first];
        r->first_born[first] = s;
        r->dead[s] = r->first_dead[last];
        r->first_dead[last] = s;
    }
}

static void sum_lives(struct ranks *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        for (uint32_t s = r->first_born[op]; s != LL_NONE; s = r->born[s]) {
            uint32_t rank = r->rank_of[s];
            r->live_bytes[rank] = ll_add(r->live_bytes[rank], r->lives[s].bytes);
            r->most_bytes[rank] = ll_max(r->most_bytes[rank], r->live_bytes[rank]);
        }
        for (uint32_t s = r->first_dead[op]; s != LL_NONE; s = r->dead[s]) {
            uint32_t rank = r->rank_of[s];
            r->live_bytes[rank] = ll_sub(r->live_bytes[rank], r->lives[s].bytes);
        }
    }
}

static uint32_t *none(struct ll_arena *arena, uint64_t count)
{
    uint32_t *list = ll_alloc(arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    return list;
}

static bool make_room(struct ranks *r, uint32_t ranks, struct ll_arena *arena)
{
    uint64_t ops = r->trace->op_count, storages = r->trace->storage_count;
    r->lives = ll_lives(r->trace, arena);
    r->rank_of = none(arena, storages);
    r->born = none(arena, storages);
    r->dead = none(arena, storages);
    r->first_born = none(arena, ops);
    r->first_dead = none(arena, ops);
    r->live_bytes = ll_alloc(arena, ranks, sizeof *r->live_bytes);
    r->most_bytes = ll_alloc(arena, ranks, sizeof *r->most_bytes);
    return r->lives && r->rank_of && r->born && r->dead && r->first_born && r->first_dead && r->live_bytes &&
           r->most_bytes;
}

bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    struct ranks r = {.trace = trace};
    uint32_t fullest = 0;
    bool done = make_room(&r, ranks, &arena);
    if (done) {
        find_owners(&r);
        chain_storages(&r);
        sum_lives(&r);
        for (uint32_t rank = 1; rank < ranks; rank++)
            fullest = r.most_bytes[rank] > r.most_bytes[fullest] ? rank : fullest;
        for (uint64_t s = 0; s < trace->storage_count; s++)
            r.lives[s].first = r.rank_of[s] == fullest ? r.lives[s].first : LL_NONE;
        done = ll_footprint_of_lives(trace, r.lives, footprint);
    }
    ll_arena_release(&arena);
    return done;
}
