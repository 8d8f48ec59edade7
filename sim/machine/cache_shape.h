/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache is: what a machine file may say of one, and what can be. How it behaves: sim/memory/cache.h.
 * All functions are pure. */
#ifndef LL_SIM_MACHINE_CACHE_SHAPE_H
#define LL_SIM_MACHINE_CACHE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ll_cache_policy {
#define LL_CACHE_POLICY(word, ...) LL_CACHE_##word,
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY
    LL_CACHE_POLICY_COUNT
};

enum ll_cache_inclusion { LL_CACHE_NON_INCLUSIVE, LL_CACHE_INCLUSIVE, LL_CACHE_EXCLUSIVE };
/* Of a machine's cache the prefetcher STRIDE remembers the strides of so many pages, of so many bytes. */
enum { LL_STRIDE_PAGES = 64, LL_STRIDE_PAGE_BYTES = 4096 };
enum ll_cache_prefetch { LL_PREFETCH_NONE, LL_PREFETCH_NEXT_LINE, LL_PREFETCH_STRIDE };

/* One level; what is left zero is the usual: LRU, non-inclusive, no prefetch, write-back, a write fetches its
 * line. */
struct ll_cache_level {
    uint64_t sets;       /* any number; 1 is fully associative */
    uint64_t ways;       /* any number; 1 is direct mapped */
    uint64_t line_bytes; /* a power of two, at least that of the level inside */
    enum ll_cache_policy policy;
    enum ll_cache_inclusion inclusion; /* towards the levels further in */
    enum ll_cache_prefetch prefetch;
    uint64_t stride_pages, stride_page_bytes; /* of STRIDE: pages that it remembers, bytes of one */
    bool write_through;
    bool write_around;    /* a write that misses fetches nothing and goes on outward */
    double admission;     /* share of the lines that come that it lets in; 0: all */
    uint64_t seed;        /* of RANDOM, and of admission */
    bool non_overlapping; /* what it does not have comes instead of what it has (sim/cost/types.h) */
    /* For what ops find of earlier ones alone (sim/memory/residency.h): */
    bool affinity;         /* it stands for the units' own caches, taken together */
    double invalidation_s; /* to have other units drop their copies of a line that is overwritten */
    double corunners_Bps;  /* what programs that are not simulated bring into it */
};

/* Why no such caches, innermost first, can be: a static sentence, and which level it is about; NULL when they
 * can. `which` may be NULL. */
const char *ll_cache_trouble(const struct ll_cache_level *levels, size_t count, size_t *which);

/* The share of new lines that it lets in, above 0 and at most 1. */
double ll_cache_admission(const struct ll_cache_level *level);

/* Of lines that a cache which replaces by age had, the share that it still has when `came` times what it
 * holds, `size_bytes`, have come since: its sets fill at random (sim/memory/residency.h), one set keeps all
 * or nothing. Its ways as in the file: 0 for one set. */
double ll_cache_left(const struct ll_cache_level *level, uint64_t size_bytes, double came);

/* As machine files spell it: "lru". Static storage. */
const char *ll_cache_policy_name(enum ll_cache_policy policy);

#endif
