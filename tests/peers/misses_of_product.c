/* SPDX-License-Identifier: Apache-2.0 */
/* What sim/memory/cache.h counts for the kernels of blocked_product.c: a line for each row of products.def,
 * with its name, its cache as cachegrind takes it, accesses and misses. */
#include "sim/memory/cache.h"
#include "sim/memory/streams.h"

#include <inttypes.h>
#include <stdio.h>

enum { ROOM = 4096 };

static const struct {
    const char *name;
    uint64_t bytes[2], ways[2], line_bytes;
    struct ll_gemm dims;
    struct ll_nest_block block;
} products[] = {
#define PRODUCT(name, d1, d1_ways, ll, ll_ways, line, m, n, k, bm, bn, bk)                                   \
    {#name, {d1, ll}, {d1_ways, ll_ways}, line, {1, m, n, k}, {bm, bn, bk, LL_ORDER_MNK}},
#include "products.def"
#undef PRODUCT
};

static void count(const struct ll_nest *nest, const struct ll_cache_level levels[2],
                  struct ll_cache_counts counts[2])
{
    uint64_t buffer[ROOM];
    struct ll_arena arena = {0};
    struct ll_stream stream;
    struct ll_cache *cache = ll_cache_new(levels, 2, &arena);
    ll_stream_begin(&stream, nest);
    for (size_t n; cache && (n = ll_stream_fill(&stream, buffer, ROOM));)
        ll_cache_run(cache, buffer, n);
    for (size_t i = 0; cache && i < 2; i++)
        counts[i] = ll_cache_counts(cache, i);
    ll_arena_release(&arena);
}

int main(void)
{
    for (size_t p = 0; p < sizeof products / sizeof products[0]; p++) {
        struct ll_nest nest = ll_nest_product(&(struct ll_product){.dims = products[p].dims,
                                                                   .element_bytes = {8, 8, 8},
                                                                   .blocks = {products[p].block},
                                                                   .block_count = 1,
                                                                   .order = LL_ORDER_MNK});
        struct ll_cache_level levels[2] = {0};
        struct ll_cache_counts counts[2] = {0};
        printf("%s", products[p].name);
        for (int i = 0; i < 2; i++) {
            uint64_t bytes = products[p].bytes[i], ways = products[p].ways[i], line = products[p].line_bytes;
            levels[i] =
                (struct ll_cache_level){.sets = bytes / ways / line, .ways = ways, .line_bytes = line};
            printf(" %" PRIu64 ",%" PRIu64 ",%" PRIu64, bytes, ways, line);
        }
        count(&nest, levels, counts);
        printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", counts[0].accesses, counts[0].misses,
               counts[1].misses);
    }
    return 0;
}
