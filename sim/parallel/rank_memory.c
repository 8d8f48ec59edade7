/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the ops, on which each rank has its own sum of what lives; then the footprint of the rank
 * whose sum was largest, as if nobody else had any storage. */
#include "sim/parallel/rank_memory.h"

#include "sim/memory/footprint.h"

#include <string.h>

struct ranks {
    const struct ll_trace *trace;
    struct ll_life *lives;
    uint32_t *rank_of; /* by storage; LL_NONE where no op touches it */
    struct ll_chains births, deaths;
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

static void sum_lives(struct ranks *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        for (uint32_t s = r->births.first[op]; s != LL_NONE; s = r->births.next[s]) {
            uint32_t rank = r->rank_of[s];
            if (rank == LL_NONE)
                continue;
            r->live_bytes[rank] = ll_add(r->live_bytes[rank], r->lives[s].bytes);
            r->most_bytes[rank] = ll_max(r->most_bytes[rank], r->live_bytes[rank]);
        }
        for (uint32_t s = r->deaths.first[op]; s != LL_NONE; s = r->deaths.next[s]) {
            uint32_t rank = r->rank_of[s];
            if (rank != LL_NONE)
                r->live_bytes[rank] = ll_sub(r->live_bytes[rank], r->lives[s].bytes);
        }
    }
}

static bool make_room(struct ranks *r, uint32_t ranks, struct ll_arena *arena)
{
    const struct ll_trace *trace = r->trace;
    r->lives = ll_lives(trace, arena);
    r->rank_of = ll_alloc(arena, trace->storage_count + 1, sizeof *r->rank_of);
    r->live_bytes = ll_alloc(arena, ranks, sizeof *r->live_bytes);
    r->most_bytes = ll_alloc(arena, ranks, sizeof *r->most_bytes);
    if (!r->lives || !r->rank_of || !r->live_bytes || !r->most_bytes)
        return false;
    memset(r->rank_of, 0xff, trace->storage_count * sizeof *r->rank_of);
    return ll_chain(trace, r->lives, false, &r->births, arena) &&
           ll_chain(trace, r->lives, true, &r->deaths, arena);
}

bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    struct ranks r = {.trace = trace};
    uint32_t fullest = 0;
    bool done = make_room(&r, ranks, &arena);
    if (done) {
        find_owners(&r);
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
