/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of caches, on random caches and streams. A failure prints the seed that shows it. */
#include "check.h"
#include "twins_cache.h"

#include "sim/memory/cache.h"

enum { ROUNDS = 3000, LENGTH = 600 };

static uint64_t first_seed;

static uint64_t draw(uint64_t *seed, uint64_t least, uint64_t most)
{
    return least + ll_random_below(seed, most - least + 1);
}

static struct ll_cache_level random_level(uint64_t *seed, const struct ll_cache_level *inside)
{
    struct ll_cache_level level = {
        .sets = draw(seed, 1, 9), .ways = draw(seed, 1, 9), .seed = ll_random(seed)};
    level.policy = (enum ll_cache_policy)ll_random_below(seed, LL_CACHE_POLICY_COUNT);
    level.inclusion = (enum ll_cache_inclusion)ll_random_below(seed, inside ? 3 : 2);
    level.prefetch = (enum ll_cache_prefetch)ll_random_below(seed, 3);
    level.stride_pages = 1 + ll_random_below(seed, TWIN_PAGES);
    level.stride_page_bytes = UINT64_C(256) << ll_random_below(seed, 5);
    level.write_through = draw(seed, 0, 3) == 0;
    level.write_around = draw(seed, 0, 3) == 0;
    level.line_bytes = inside ? inside->line_bytes << draw(seed, 0, 2) : UINT64_C(1) << draw(seed, 0, 6);
    if (draw(seed, 0, 7) == 0) /* wide enough for a table */
        level.ways = draw(seed, 33, 40);
    if (draw(seed, 0, 31) == 0) { /* too large for one, and searched word by word */
        level.ways = draw(seed, 9, 32);
        level.sets = 4096 / level.ways + 1;
    }
    if (level.policy == LL_CACHE_PLRU)
        level.ways = UINT64_C(1) << draw(seed, 0, 6);
    if (level.inclusion == LL_CACHE_EXCLUSIVE) {
        level.line_bytes = inside->line_bytes;
        level.prefetch = LL_PREFETCH_NONE;
    }
    if (level.inclusion == LL_CACHE_NON_INCLUSIVE && draw(seed, 0, 3) == 0)
        level.admission = (double)draw(seed, 1, 8) / 8;
    if (draw(seed, 0, 2) == 0) /* the usual, which has a path of its own */
        level.prefetch = LL_PREFETCH_NONE, level.write_through = level.write_around = false;
    return level;
}

static size_t random_levels(uint64_t *seed, struct ll_cache_level levels[4])
{
    size_t count = draw(seed, 1, 4);
    for (size_t i = 0; i < count; i++)
        levels[i] = random_level(seed, i ? &levels[i - 1] : NULL);
    return count;
}

/* Runs of steps, back and forth, in a range that a few caches can hold. */
static void random_stream(uint64_t *seed, uint64_t *accesses, size_t count)
{
    uint64_t range = UINT64_C(1) << draw(seed, 4, 13), base = draw(seed, 0, 3) * 4096, at = 0, step = 1;
    uint64_t writes = draw(seed, 0, 4);
    for (size_t n = 0; n < count; n++) {
        if (draw(seed, 0, 15) == 0) {
            at = ll_random_below(seed, range);
            step = draw(seed, 0, 1) ? draw(seed, 1, 8) : draw(seed, 1, 4) * 64;
            step = draw(seed, 0, 3) ? step : range - step % range;
        }
        at = (at + step) % range;
        accesses[n] = (base + at) | (ll_random_below(seed, 8) < writes ? LL_CACHE_WRITE : 0);
    }
}

static void every_count_is_that_of_the_dumb_twin(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + ROUNDS; s++) {
        uint64_t seed = s, accesses[LENGTH];
        struct ll_cache_level levels[4];
        size_t count = random_levels(&seed, levels), half = draw(&seed, 0, LENGTH);
        random_stream(&seed, accesses, LENGTH);
        assert_null(ll_cache_trouble(levels, count, NULL));
        struct ll_arena arena = {0};
        struct ll_cache *cache = ll_cache_new(levels, count, &arena);
        struct twin_cache *twin = twin_cache_new(levels, count);
        struct twin_heard heard = {0};
        if (s % 4) /* without a listener there is a path of its own */
            ll_cache_tell(cache, twin_hear, &heard);
        ll_cache_run(cache, accesses, half);
        ll_cache_run(cache, accesses + half, LENGTH - half);
        twin_cache_run(twin, accesses, LENGTH);
        for (int flushed = 0; flushed < 2; flushed++) {
            for (size_t i = 0; i < count; i++) {
                struct ll_cache_counts counts = ll_cache_counts(cache, i);
                if (memcmp(&counts, &twin->level[i].counts, sizeof counts) != 0)
                    fail_msg("seed %llu: level %zu differs", (unsigned long long)s, i);
            }
            if (s % 4 && memcmp(&heard, &twin->memory, sizeof heard) != 0)
                fail_msg("seed %llu: memory is asked otherwise", (unsigned long long)s);
            ll_cache_flush(cache);
            twin_cache_flush(twin);
        }
        twin_cache_free(twin);
        ll_arena_release(&arena);
    }
}

static struct ll_cache_counts counts_of(struct ll_cache_level level, const uint64_t *accesses)
{
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(&level, 1, &arena);
    ll_cache_run(cache, accesses, LENGTH);
    struct ll_cache_counts counts = ll_cache_counts(cache, 0);
    ll_arena_release(&arena);
    return counts;
}

/* What memory hears is what the outermost level counts. */
static void memory_is_asked_what_the_last_level_counts(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + ROUNDS; s++) {
        uint64_t seed = s, accesses[LENGTH];
        struct ll_cache_level levels[4];
        size_t count = random_levels(&seed, levels);
        struct twin_heard heard = {0};
        random_stream(&seed, accesses, LENGTH);
        struct ll_arena arena = {0};
        struct ll_cache *cache = ll_cache_new(levels, count, &arena);
        ll_cache_tell(cache, twin_hear, &heard);
        ll_cache_run(cache, accesses, LENGTH);
        ll_cache_flush(cache);
        struct ll_cache_counts last = ll_cache_counts(cache, count - 1);
        if (heard.read_bytes != last.in_bytes || heard.written_bytes != last.out_bytes ||
            heard.single_writes != last.passed_writes)
            fail_msg("seed %llu", (unsigned long long)s);
        ll_arena_release(&arena);
    }
}

/* Mattson et al., 1970: what n ways hold under LRU, n + 1 hold too. */
static void more_ways_of_lru_never_miss_more(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + ROUNDS; s++) {
        uint64_t seed = s, accesses[LENGTH], before = UINT64_MAX;
        random_stream(&seed, accesses, LENGTH);
        struct ll_cache_level level = {.sets = draw(&seed, 1, 5),
                                       .line_bytes = UINT64_C(1) << draw(&seed, 0, 6)};
        for (level.ways = 1; level.ways < 50; level.ways += draw(&seed, 1, 9)) {
            uint64_t misses = counts_of(level, accesses).misses;
            if (misses > before)
                fail_msg("seed %llu: %llu ways miss more", (unsigned long long)s,
                         (unsigned long long)level.ways);
            before = misses;
        }
    }
}

/* Every line that is let in is there, was evicted, or was taken along; prefetched ones are used, wasted, or
 * there. */
static void lines_are_conserved(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + ROUNDS; s++) {
        uint64_t seed = s, accesses[LENGTH];
        struct ll_cache_level level = random_level(&seed, NULL);
        random_stream(&seed, accesses, LENGTH);
        struct ll_cache_counts c = counts_of(level, accesses);
        uint64_t came = c.in_bytes / level.line_bytes, room = level.sets * level.ways;
        if (level.admission > 0 && level.admission < 1)
            room = came; /* some only passed */
        bool holds = c.accesses == LENGTH && c.hits + c.misses == c.accesses && c.evictions <= came &&
                     came - c.evictions <= room && c.invalidations == 0 &&
                     c.useful + c.useless <= c.prefetches && came <= c.misses + c.prefetches &&
                     c.write_backs <= c.evictions;
        if (!holds)
            fail_msg("seed %llu", (unsigned long long)s);
    }
}

/* Whatever is in a level inside is in an inclusive level outside; never in an exclusive one. */
static void inclusion_is_kept(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + ROUNDS / 4; s++) {
        uint64_t seed = s, accesses[LENGTH];
        struct ll_cache_level levels[4];
        size_t count = random_levels(&seed, levels);
        random_stream(&seed, accesses, LENGTH);
        struct ll_arena arena = {0};
        struct ll_cache *cache = ll_cache_new(levels, count, &arena);
        for (size_t n = 0; n < LENGTH; n += 20) {
            ll_cache_run(cache, accesses + n, 20);
            for (size_t m = 0; m < n; m++)
                for (size_t i = 1; i < count; i++) {
                    uint64_t address = accesses[m] & ~LL_CACHE_WRITE;
                    bool here = ll_cache_holds(cache, i, address),
                         inside = ll_cache_holds(cache, i - 1, address);
                    if (levels[i].inclusion == LL_CACHE_INCLUSIVE)
                        for (size_t k = 0; k < i; k++)
                            assert_true(here || !ll_cache_holds(cache, k, address));
                    if (levels[i].inclusion == LL_CACHE_EXCLUSIVE)
                        assert_false(here && inside);
                }
        }
        ll_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_is_that_of_the_dumb_twin),
        cmocka_unit_test(memory_is_asked_what_the_last_level_counts),
        cmocka_unit_test(more_ways_of_lru_never_miss_more),
        cmocka_unit_test(lines_are_conserved),
        cmocka_unit_test(inclusion_is_kept),
    };
    first_seed = ll_seed(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
