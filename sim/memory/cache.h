/* SPDX-License-Identifier: Apache-2.0 */
/* A hierarchy of caches, fed with addresses: what hits where, what is evicted, what goes back.
 *
 *       addresses -> level 0 -> level 1 -> ... -> memory
 *
 * An access is one 64-bit word: the address of a byte, and LL_CACHE_WRITE added when it is written. What is
 * wider than a line is the caller's to split. A level that misses asks the next one outward for the line
 * (an access there); a line that was written goes back when it is evicted.
 *
 *   slots       an empty slot is filled before any line is evicted: the one emptied last, at first in order
 *   inclusion   non-inclusive: this level and those further in are independent. Inclusive: a line that
 *               leaves here leaves all levels further in. Exclusive: holds what the level just inside
 *               evicted, clean or not, and gives up a line when it is asked for it
 *   writes      write-back marks the line; write-through passes the write on as well. A write that misses
 *               fetches the line, unless writes go around the level: then it is passed on
 *   write-back  what the level inside sends back marks the line here, without being a use of it; where the
 *               line is not, it is passed on outward
 *   admission   a share of the lines that come is let in, so that what comes once displaces little of what
 *               comes often (Qureshi et al., "Adaptive insertion policies for high performance caching",
 *               ISCA 2007). A line that is not let in passes by: a read fetches it for the level inside
 *               alone, a write of the stream goes around the level. What is fetched ahead is let in, and
 *               what an exclusive level gives up written, when there is nobody inside to take it
 *   prefetch    next-line: asked for after a miss, and after the first use of a prefetched line (Smith,
 *               "Cache memories", Computing Surveys 14, 1982: tagged). Stride: in a table of so many
 *               pages, the second equal step in a row between lines of a page asks for the line one step
 *               ahead. A level remembers one request, the last; requests are served once the access is
 *               over, outermost first
 *
 * Time, banks and coherence between cores are not here. A cache belongs to one thread at a time. */
#ifndef LL_SIM_MEMORY_CACHE_H
#define LL_SIM_MEMORY_CACHE_H

#include "sim/machine/cache_shape.h"
#include "tracer/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_CACHE_WRITE (UINT64_C(1) << 63)

/* What happened at one level. A write that goes around misses and fetches nothing. */
struct ll_cache_counts {
    uint64_t accesses;      /* reads and writes asked of it, by the stream or the level inside */
    uint64_t hits, misses;  /* they sum to accesses */
    uint64_t evictions;     /* lines that gave way to another one */
    uint64_t invalidations; /* lines that an inclusive level further out took along */
    uint64_t write_backs;   /* lines that left after they had been written */
    uint64_t passed_writes; /* single writes passed on outward */
    uint64_t prefetches;    /* lines fetched ahead */
    uint64_t useful;        /* prefetched lines that were asked for while they were there */
    uint64_t useless;       /* prefetched lines that left unused; the others are still there */
    uint64_t in_bytes;      /* lines fetched from further out */
    uint64_t out_bytes;     /* lines sent outward, its own and those that only passed; not passed writes */
};

/* Empty caches, innermost first, in the arena; ll_cache_trouble finds nothing in the levels. NULL when
 * memory ran out. */
struct ll_cache;
struct ll_cache *ll_cache_new(const struct ll_cache_level *levels, size_t count, struct ll_arena *arena);

/* Hears what the outermost level asks of memory, each in its turn: a line that is fetched, a line that goes
 * back (of its own size, or of that of a level further in whose lines pass by), or the first byte of a
 * single write that was passed on, with 0 bytes, since a cache does not know how wide it is. */
typedef void ll_cache_listener(void *context, uint64_t address, uint64_t bytes, bool write);

/* Has the listener told from now on; NULL: nobody. */
void ll_cache_tell(struct ll_cache *cache, ll_cache_listener *listener, void *context);

/* Feeds level 0 with accesses in their order. */
void ll_cache_run(struct ll_cache *cache, const uint64_t *accesses, size_t count);

/* Empties all levels, innermost first, slot by slot; what was written goes back. The lines count as no
 * evictions, their write_backs do count, and prefetched ones that nobody asked for become useless. */
void ll_cache_flush(struct ll_cache *cache);

/* What happened at a level so far. */
struct ll_cache_counts ll_cache_counts(const struct ll_cache *cache, size_t level);

/* Whether the level holds the line with this byte. */
bool ll_cache_holds(const struct ll_cache *cache, size_t level, uint64_t address);

#endif
