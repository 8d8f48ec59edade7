/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the cache simulator is: one level of 32 KiB, lines of 64 bytes, fed with a blocked product, a
 * sweep, and random addresses of which some or many miss; and three levels of a processor. First, how fast
 * such addresses are made. */
#include "sim/memory/cache.h"
#include "sim/memory/streams.h"
#include "tests/bench/bench.h"
#include "tests/random.h"

#include <stdlib.h>

enum { COUNT = 1 << 20 };

struct load {
    struct ll_cache *cache;
    uint64_t *accesses;
};

static void feed(void *context)
{
    const struct load *load = context;
    ll_cache_run(load->cache, load->accesses, COUNT);
}

/* c[i][j] += a[i][p] b[p][j] over doubles, 32 x 32 x 32. */
static uint64_t blocked(uint64_t n)
{
    uint64_t p = n / 2 % 32, j = n / 64 % 32, i = n / 2048 % 32;
    return n % 2 ? 8192 + 8 * (32 * p + j) : 8 * (32 * i + p);
}

/* The addresses of a product of 256 x 256 x 256 in blocks of 32 x 32 x 32, without a cache: as many as COUNT.
 */
static void make_stream(void *context)
{
    const struct load *load = context;
    static const struct ll_product product = {.dims = {1, 256, 256, 256},
                                              .element_bytes = {4, 4, 4},
                                              .blocks = {{32, 32, 32, LL_ORDER_MNK}},
                                              .block_count = 1,
                                              .order = LL_ORDER_MNK};
    struct ll_nest nest = ll_nest_product(&product);
    struct ll_stream stream;
    ll_stream_begin(&stream, &nest);
    for (size_t made = 0; made < COUNT;)
        made += ll_stream_fill(&stream, load->accesses, 4096);
}

static uint64_t sweep(uint64_t n)
{
    return 8 * n;
}

static uint64_t spread(uint64_t n, uint64_t bytes)
{
    uint64_t state = n;
    return ll_random_below(&state, bytes) | (ll_random(&state) & LL_CACHE_WRITE);
}

static uint64_t most_hit(uint64_t n)
{
    return spread(n, 34 << 10);
}

static uint64_t most_miss(uint64_t n)
{
    return spread(n, 1 << 24);
}

static void fill(struct load *load, uint64_t (*address)(uint64_t n))
{
    for (uint64_t n = 0; n < COUNT; n++)
        load->accesses[n] = address(n);
}

static const struct {
    const char *name;
    uint64_t (*address)(uint64_t n);
} streams[] = {{"blocked product", blocked},
               {"sweep", sweep},
               {"random, 6 % miss", most_hit},
               {"random, all miss", most_miss}};

static const struct {
    const char *name;
    struct ll_cache_level levels[3];
    size_t count;
} caches[] = {
    {"8 ways lru", {{.sets = 64, .ways = 8, .line_bytes = 64}}, 1},
    {"8 ways plru", {{.sets = 64, .ways = 8, .line_bytes = 64, .policy = LL_CACHE_PLRU}}, 1},
    {"8 ways random", {{.sets = 64, .ways = 8, .line_bytes = 64, .policy = LL_CACHE_RANDOM}}, 1},
    {"8 ways fifo", {{.sets = 64, .ways = 8, .line_bytes = 64, .policy = LL_CACHE_FIFO}}, 1},
    {"16 ways lru", {{.sets = 32, .ways = 16, .line_bytes = 64}}, 1},
    {"direct mapped", {{.sets = 512, .ways = 1, .line_bytes = 64}}, 1},
    {"48 sets of 11 ways lru", {{.sets = 48, .ways = 11, .line_bytes = 64}}, 1},
    {"fully associative lru", {{.sets = 1, .ways = 512, .line_bytes = 64}}, 1},
    {"three levels lru",
     {{.sets = 64, .ways = 8, .line_bytes = 64},
      {.sets = 1024, .ways = 8, .line_bytes = 64},
      {.sets = 8192, .ways = 16, .line_bytes = 64, .inclusion = LL_CACHE_INCLUSIVE}},
     3},
};

int main(void)
{
    struct load load = {.accesses = malloc(COUNT * sizeof *load.accesses)};
    if (load.accesses)
        ll_bench("addresses of a blocked product", make_stream, &load, COUNT, 0);
    for (size_t s = 0; load.accesses && s < sizeof streams / sizeof streams[0]; s++) {
        fill(&load, streams[s].address);
        for (size_t c = 0; c < sizeof caches / sizeof caches[0]; c++) {
            struct ll_arena arena = {0};
            char name[64];
            load.cache = ll_cache_new(caches[c].levels, caches[c].count, &arena);
            snprintf(name, sizeof name, "%s, %s", streams[s].name, caches[c].name);
            if (load.cache)
                ll_bench(name, feed, &load, COUNT, 0);
            ll_arena_release(&arena);
        }
    }
    free(load.accesses);
    return 0;
}
