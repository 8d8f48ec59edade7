/* SPDX-License-Identifier: Apache-2.0 */
/* One op's loops through the caches of a machine, beside what the formulas say.
 *
 * sim/cost/cost_parts.h promises how often a GEMM's operands pass between a level and the next one outward
 * when it is blocked for half of that level, or for all of one without double buffering. Here one unit
 * does the op alone in just these blocks, element by element, and every address goes through the caches
 * that the machine describes: what set conflicts, lines and policies add to the promise, and what
 * leftovers save. Work that is no GEMM sweeps its operands. What the outermost cache asks of memory is
 * played on its DRAM, where the machine says which it has, as fast as that takes it: no op that asks in
 * this order can have more of its bandwidth. */
#ifndef LL_SIM_REPLAY_CACHED_H
#define LL_SIM_REPLAY_CACHED_H

#include "sim/cost/cost_parts.h"
#include "sim/memory/cache.h"
#include "sim/memory/dram.h"
#include "sim/memory/streams.h"
#include "sim/replay/replay.h"

struct ll_cached_level {
    uint64_t level; /* in machine->levels */
    struct ll_cache_level shape;
    struct ll_cache_counts counts;
    uint64_t traffic_bytes; /* to and from the next level outward, what was passed on included */
};

/* The level outside of all caches. What was asked of it, in whole lines and single writes; and how that went
 * where it has a `dram` of at most LL_DRAM_MOST_CHANNELS channels. */
struct ll_cached_memory {
    uint64_t level; /* in machine->levels */
    uint64_t read_bytes, written_bytes;
    bool is_timed;
    struct ll_dram_result timed;
    double efficiency;         /* of whole bursts: share of all channels' peak */
    double formula_efficiency; /* share of the peak that the cost model assumes for this op */
};

struct ll_cached_op {
    struct ll_cached_level levels[LL_MAX_LEVELS]; /* innermost first */
    size_t level_count;
    size_t blocked_for; /* index in `levels` */
    bool blocked;       /* it is a GEMM, and this is its blocking, in which more may stream past at a time */
    struct ll_tiling tiling;
    double formula_bytes; /* out of the level outside that one, and back */
    uint64_t accesses;    /* made */
    bool whole;           /* all there are: then written lines went back at the end */
    struct ll_cached_memory memory;
};

/* Whether the op has loops: a view, a collective, what the host does, and empty tensors have none. */
bool ll_has_loops(const struct ll_prepared *prepared, uint32_t seq);

/* Whether each of its elements has an address of its own. */
bool ll_has_whole_bytes(const struct ll_prepared *prepared, uint32_t seq);

/* Told every few thousand accesses how many were made; whether to go on. */
typedef bool (*ll_cached_progress)(void *context, uint64_t accesses);

struct ll_cached_request {
    uint32_t seq;                /* the op: among the prepared ones, with loops and whole bytes */
    uint64_t level;              /* of the machine, a cache: the one for which it is blocked */
    uint64_t most;               /* accesses, after which it stops; not 0 */
    ll_cached_progress progress; /* NULL: nobody is told */
    void *progress_context;
    ll_cache_listener
        *listener; /* hears what memory is asked, single writes with their width; NULL: nobody */
    void *listener_context;
};

/* Replays an op. False when memory ran out. Takes about 10 ns an access, and 60 to 230 ns for a burst of a
 * timed memory. */
bool ll_run_cached(const struct ll_prepared *prepared, const struct ll_machine *machine,
                   const struct ll_cached_request *request, struct ll_cached_op *cached);

/* The loops of an op in these blocks; tiling as ll_tile found it for the op's GEMM. Pure. */
struct ll_nest ll_nest_of_op(const struct ll_op_view *op, const struct ll_work *work,
                             const struct ll_tiling *tiling);

#endif
