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
    uint64_t size_bytes, ways, line_bytes;
    struct ll_gemm dims;
    struct ll_nest_block block;
} products[] = {
#define PRODUCT(name, size, ways, line, m, n, k, bm, bn, bk)                                                 \
    {#name, size, ways, line, {1, m, n, k}, {bm, bn, bk, LL_ORDER_MNK}},
#include "products.def"
#undef PRODUCT
};

static struct ll_cache_counts counts_of(const struct ll_nest *nest, const struct ll_cache_level *level)
{
    uint64_t buffer[ROOM];
    struct ll_arena arena = {0};
    struct ll_stream stream;
    struct ll_cache *cache = ll_cache_new(level, 1, &arena);
    if (!cache)
        return (struct ll_cache_counts){0};
    ll_stream_begin(&stream, nest);
    for (size_t n; (n = ll_stream_fill(&stream, buffer, ROOM));)
        ll_cache_run(cache, buffer, n);
    struct ll_cache_counts counts = ll_cache_counts(cache, 0);
    ll_arena_release(&arena);
    return counts;
}

int main(void)
{
    for (size_t p = 0; p < sizeof products / sizeof products[0]; p++) {
        uint64_t size = products[p].size_bytes, ways = products[p].ways, line = products[p].line_bytes;
        struct ll_nest nest = ll_nest_product(&(struct ll_product){.dims = products[p].dims,
                                                                   .element_bytes = {8, 8, 8},
                                                                   .blocks = {products[p].block},
                                                                   .block_count = 1,
                                                                   .order = LL_ORDER_MNK});
        struct ll_cache_level level = {.sets = size / ways / line, .ways = ways, .line_bytes = line};
        struct ll_cache_counts counts = counts_of(&nest, &level);
        printf("%s %" PRIu64 ",%" PRIu64 ",%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", products[p].name, size,
               ways, line, counts.accesses, counts.misses);
    }
    return 0;
}
