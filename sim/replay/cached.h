/* SPDX-License-Identifier: Apache-2.0 */
/* One op's loops through the caches of a machine, beside what the formulas say.
 *
 * sim/cost/tiling.h promises how often a product's operands pass between a level and the next one outward
 * when it is blocked for half of that level. Here one unit does the op alone in just these blocks, element by
 * element, and every address goes through the caches that the machine describes: what set conflicts, lines
 * and policies add to the promise, and what leftovers save. Work that is no product sweeps its operands. */
#ifndef LL_SIM_REPLAY_CACHED_H
#define LL_SIM_REPLAY_CACHED_H

#include "sim/cost/tiling.h"
#include "sim/memory/cache.h"
#include "sim/memory/streams.h"
#include "sim/replay/replay.h"

struct ll_cached_level {
    uint64_t level; /* in machine->levels */
    struct ll_cache_level shape;
    struct ll_cache_counts counts;
    uint64_t traffic_bytes; /* to and from the next level outward, what was passed on included */
};

struct ll_cached_op {
    struct ll_cached_level levels[LL_MAX_LEVELS]; /* innermost first */
    size_t level_count;
    size_t blocked_for; /* index in `levels` */
    bool blocked; /* it is a product, and this is its blocking, in which more may stream past at a time */
    struct ll_tiling tiling;
    double formula_bytes; /* out of the level outside that one, and back */
    uint64_t accesses;    /* made */
    bool whole;           /* all there are: then written lines went back at the end */
};

/* Whether the op has loops: a view, a collective, what the host does, and empty tensors have none. */
bool ll_has_loops(const struct ll_prepared *prepared, uint32_t seq);

/* Whether each of its elements has an address of its own. */
bool ll_has_whole_bytes(const struct ll_prepared *prepared, uint32_t seq);

/* Told every few thousand accesses how many were made; NULL: nobody. */
typedef void (*ll_cached_progress)(void *context, uint64_t accesses);

/* Replays op seq, which is among the prepared ones and has loops and whole bytes, with at most `most`
 * accesses, blocked for this level of the machine, which is a cache. False when memory ran out. Takes about
 * 10 ns an access. */
bool ll_run_cached(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                   uint64_t level, uint64_t most, ll_cached_progress progress, void *context,
                   struct ll_cached_op *cached);

/* The loops of an op in these blocks; tiling as ll_tile found it for the op's product. Pure. */
struct ll_nest ll_nest_of_op(const struct ll_op_view *op, const struct ll_work *work,
                             const struct ll_tiling *tiling);

#endif
