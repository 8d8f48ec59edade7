/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a trace needs: the peak of its live storages (tracer/ir/trace.h), its classes, live bytes
 * over time, and smaller footprints of the same step under other orders of execution. */
#ifndef LL_SIM_MEMORY_FOOTPRINT_H
#define LL_SIM_MEMORY_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/ir/trace.h"

/* What training keeps in memory, as Zhu et al. (TBD, 2018) tell it apart: gradients that an update reads are
 * weight gradients; those in between are feature maps, as what they are gradients of. DYNAMIC: the
 * optimizer's state and what comes from the host. Word, name. */
#define LL_TRAINING_MEMORY_LIST(X)                                                                           \
    X(WEIGHTS, "weights")                                                                                    \
    X(WEIGHT_GRADIENTS, "weight_gradients")                                                                  \
    X(FEATURE_MAPS, "feature_maps")                                                                          \
    X(WORKSPACE, "workspace")                                                                                \
    X(DYNAMIC, "dynamic")
enum ll_training_memory {
#define X(word, name) LL_HOLDS_##word,
    LL_TRAINING_MEMORY_LIST(X)
#undef X
        LL_HOLDS_COUNT
};

/* As in the list; static storage. */
const char *ll_training_memory_name(enum ll_training_memory memory);

/* Of a storage with such a life. */
enum ll_training_memory ll_training_memory_of(const struct ll_liveness *life);

struct ll_footprint {
    uint64_t peak_bytes; /* LL_NO_FIT past 64 bits */
    uint32_t peak_op;    /* the first op at which the peak is reached; LL_NONE without ops */
    uint64_t class_bytes[LL_MEMORY_COUNT]; /* of the peak, by enum ll_memory_class; they sum to it */
    uint64_t most_bytes[LL_HOLDS_COUNT];   /* of each, wherever it has its own peak */
    uint64_t outside_bytes; /* of the device's memory, beside the peak: contexts, buffers of communicators */
    bool unknown; /* the trace does not know which tensors are the same: these numbers say nothing */
};

/* Whether it fits into so many bytes; what nobody knows is not said to be too large. */
static inline bool ll_footprint_fits(const struct ll_footprint *footprint, uint64_t size_bytes)
{
    return footprint->unknown || (footprint->peak_bytes <= size_bytes &&
                                  footprint->outside_bytes <= size_bytes - footprint->peak_bytes);
}

/* Whether the trace's memory is known: its header says where it is not. */
bool ll_memory_is_known(const struct ll_trace *trace);

/* Fills *footprint in time linear in the trace. False when memory ran out. Pure otherwise, thread-safe. */
bool ll_footprint(const struct ll_trace *trace, struct ll_footprint *footprint);

/* The same with lives, by storage, that are other than as recorded. */
bool ll_footprint_of_lives(const struct ll_trace *trace, const struct ll_liveness *lives,
                           struct ll_footprint *footprint);

/* Storages by the op at which they are born or die. */

/* From an op's first storage to the next, in their order, up to LL_NONE. */
struct ll_chains {
    uint32_t *first; /* by op */
    uint32_t *next;  /* by storage */
};

/* The footprint of such lives, in one walk over them. */
void ll_footprint_of_chains(const struct ll_trace *trace, const struct ll_liveness *lives,
                            const struct ll_chains *births, const struct ll_chains *deaths,
                            struct ll_footprint *footprint);

/* Lists live in the arena. False when memory ran out. */
bool ll_chain(const struct ll_trace *trace, const struct ll_liveness *lives, bool deaths,
              struct ll_chains *chains, struct ll_arena *arena);

/* Memory as it is held while a trace runs, op by op (tracer/ir/trace.h): how much of each class, and by what
 * at one moment. Both live in the arena; NULL when memory ran out. Pure otherwise, thread-safe. */

/* What lives while an op runs. */
struct ll_memory_held {
    uint32_t op;
    uint64_t bytes, class_bytes[LL_MEMORY_COUNT]; /* by enum ll_memory_class, summing to bytes */
};

struct ll_over_time {
    const struct ll_memory_held *at;
    uint32_t count;
};

/* At most `most` (at least 1) points from the first op to the last, each the fullest of the ops that it
 * stands for, so that the peak is one of them. */
const struct ll_over_time *ll_over_time(const struct ll_trace *trace, uint32_t most, struct ll_arena *arena);

/* Something that lives. */
struct ll_alive {
    uint32_t storage;
    const char *name;  /* of the first tensor on it */
    const char *scope; /* of the op that made it; "" for what the model brought */
    enum ll_memory_class memory;
    uint64_t bytes;
    uint32_t first, last; /* ops, both inclusive */
};

/* All that lives while op runs, largest first, equals in the order of their making. */
struct ll_all_alive {
    const struct ll_alive *at;
    uint64_t count;
};
const struct ll_all_alive *ll_alive_at(const struct ll_trace *trace, uint32_t op, struct ll_arena *arena);

/* How much memory a step needs when a compiler puts each update right behind its gradient, as XLA does: then
 * gradients of weights need not live until the end of the step.
 *
 * An op of the update phase moves to the last op before it that touched anything it reads: no sooner is its
 * gradient there, and the weight that it overwrites free. All other ops stay where they are. Where that needs
 * more, since what an update makes lives longer then, none moves. */

/* Fills *footprint in time linear in the trace; its peak is at most that of ll_footprint, its peak_op a place
 * in the order of the trace. False when memory ran out. Pure otherwise, thread-safe. */
bool ll_footprint_early(const struct ll_trace *trace, struct ll_footprint *footprint);

/* The one or the other, as software says. */
static inline bool ll_footprint_of(const struct ll_trace *trace, bool early, struct ll_footprint *footprint)
{
    return early ? ll_footprint_early(trace, footprint) : ll_footprint(trace, footprint);
}

/* The least memory in which a step can run, as Catamount (Hestness et al., 2019) has it: go over the ops in
 * an order in which each comes after those that it waits for, count what an op writes from then on, and take
 * it off after its last reader.
 *
 * Catamount takes any such order and so gives another number each time; here it is that of recording. What
 * else is particular to it is kept, so that numbers can be compared:
 *   - what changes in place, and what loops read and write step by step, takes no memory and is no reader;
 *     what only such ops read stays to the end;
 *   - what a loop reads in each of its steps stays, for a loop is an op of its own, whose body runs many
 *     times; so weights that loops read stay to the end, and others, there from the start, go after their
 *     last reader.
 *     A loop is what lies in a scope `while`. What its steps hand on from one to the next goes as it
 *     is read, and so does what its forward steps leave for its backward steps. */

/* Of the typical step (tracer/ir/profile.h); LL_NO_FIT past 64 bits. False when memory ran out. Pure
 * otherwise, thread-safe. */
bool ll_minimal_footprint(const struct ll_trace *trace, uint64_t *bytes);

/* The same of a device with a part of the network: ops whose scope, and weights whose name, `part` has true,
 * which is by string of the trace. What it reads of others it does not keep. NULL: all. */
bool ll_minimal_footprint_of(const struct ll_trace *trace, const bool *part, uint64_t *bytes);

/* What a trace's memory takes once it has addresses.
 *
 * Storages are asked for when they are born and given back when they die (tracer/ir/trace.h), in the order of
 * the ops; what the model brought comes first. Fragmentation is what was taken at most over what lived at
 * most. */

enum ll_allocator {
#define LL_ALLOCATOR(word, name, help) LL_ALLOCATOR_##word,
#include "sim/memory/allocators.def"
#undef LL_ALLOCATOR
    LL_ALLOCATOR_COUNT
};

/* Static storage; in range. */
const char *ll_allocator_name(enum ll_allocator allocator);
const char *ll_allocator_help(enum ll_allocator allocator);

struct ll_allocated {
    uint64_t live_bytes;  /* at most, as asked for */
    uint64_t taken_bytes; /* at most, from the device */
    double fragmentation; /* taken over live, at least 1; 1 for nothing */
};

/* Where each storage that has bytes lies while it lives, in the best-fit arena. By storage, in the arena
 * given; NULL when memory ran out, or a size does not fit in 64 bits. As ll_allocate otherwise. */
const uint64_t *ll_arena_addresses(const struct ll_trace *trace, const struct ll_liveness *lives,
                                   const struct ll_chains *births, const struct ll_chains *deaths,
                                   struct ll_arena *arena);

/* False when memory ran out, or a size does not fit in 64 bits. About n log n in the storages. Pure
 * otherwise, thread-safe. */
bool ll_allocate(const struct ll_trace *trace, enum ll_allocator allocator, struct ll_allocated *allocated);

/* Blocks of an address space: taken, given back, split and joined.
 *
 * A block knows its neighbours in its segment; free ones are also in a list sorted by size and address, in
 * which the best fit is found by halving. One thread at a time. */

struct ll_chunk {
    uint64_t address, bytes;
    uint32_t before, after; /* neighbours, UINT32_MAX at the ends of a segment */
    uint32_t pool;
    bool free;
};

/* {0} to begin with; released with ll_heap_release. */
struct ll_heap {
    struct ll_chunk *chunks;
    uint64_t capacity, spare_capacity;
    uint32_t count;
    uint32_t *spare; /* numbers of chunks that were joined away */
    uint32_t spare_count;
    struct ll_sorted sorted; /* free chunks by pool, size, address */
    uint64_t end;            /* addresses begin here again */
    uint32_t last;           /* the chunk that ends there, when there is any */
};

/* Frees the tables of the heap, which is {0} again. */
void ll_heap_release(struct ll_heap *heap);

/* The smallest free chunk of the pool with at least these bytes, the lowest of equals; UINT32_MAX for none.
 */
uint32_t ll_heap_find(const struct ll_heap *heap, uint64_t bytes, uint32_t pool);

/* Takes a free chunk; what is left of it behind `bytes` stays free if it has more than `least`. False when
 * memory ran out. */
bool ll_heap_take(struct ll_heap *heap, uint32_t chunk, uint64_t bytes, uint64_t least);

/* Gives a chunk back and joins it with free neighbours. False when memory ran out. */
bool ll_heap_give(struct ll_heap *heap, uint32_t chunk);

/* Makes the chunk at the end of the address space, if it is free, longer until it has these bytes; else adds
 * a free one of them to its segment. False when memory ran out, or addresses did. */
bool ll_heap_stretch(struct ll_heap *heap, uint64_t bytes);

/* Ends the address space before the chunk at its end, if that is free. False when memory ran out. */
bool ll_heap_trim(struct ll_heap *heap);

#endif
