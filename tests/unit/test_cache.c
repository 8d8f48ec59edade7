/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/memory/cache.h"

#include <math.h>

enum { WRITE = 1000 }; /* added to a line's number below: it is written */

/* Counts of a level of such caches after reading or writing lines of 64 bytes by number. */
static struct ll_cache_counts after(const struct ll_cache_level *levels, size_t count, size_t level,
                                    const uint64_t *lines, size_t line_count)
{
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(levels, count, &arena);
    for (size_t i = 0; i < line_count; i++) {
        uint64_t access = 64 * (lines[i] % WRITE) | (lines[i] >= WRITE ? LL_CACHE_WRITE : 0);
        ll_cache_run(cache, &access, 1);
    }
    struct ll_cache_counts counts = ll_cache_counts(cache, level);
    ll_arena_release(&arena);
    return counts;
}
#define LINES(...) (const uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t)

static struct ll_cache_level wide(enum ll_cache_policy policy, uint64_t ways)
{
    return (struct ll_cache_level){.sets = 1, .ways = ways, .line_bytes = 64, .policy = policy};
}

/* Belady, Nelson and Shedler, "An anomaly in space-time characteristics of certain programs running in a
 * paging machine", CACM 12, 1969: their string, 9 faults with three frames and 10 with four. */
static void fifo_has_the_anomaly_of_belady(void **state)
{
    (void)state;
    struct ll_cache_level three = wide(LL_CACHE_FIFO, 3), four = wide(LL_CACHE_FIFO, 4);
    assert_int_equal(after(&three, 1, 0, LINES(1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5)).misses, 9);
    assert_int_equal(after(&four, 1, 0, LINES(1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5)).misses, 10);
}

/* By hand: 1 was used after 2, so 4 takes the place of 2 under LRU, of 1 under FIFO. */
static void a_use_saves_a_line_from_lru_but_not_from_fifo(void **state)
{
    (void)state;
    struct ll_cache_level lru = wide(LL_CACHE_LRU, 3), fifo = wide(LL_CACHE_FIFO, 3);
    assert_int_equal(after(&lru, 1, 0, LINES(1, 2, 3, 1, 4, 1)).misses, 4);
    assert_int_equal(after(&fifo, 1, 0, LINES(1, 2, 3, 1, 4, 1)).misses, 5);
}

/* By hand: after 0 1 2 3 and a use of 0 the root points to the right half and its node to 2, which LRU would
 * keep: 1 is older. */
static void a_tree_is_not_quite_lru(void **state)
{
    (void)state;
    struct ll_cache_level plru = wide(LL_CACHE_PLRU, 4), lru = wide(LL_CACHE_LRU, 4);
    assert_int_equal(after(&plru, 1, 0, LINES(0, 1, 2, 3, 0, 4, 1)).misses, 5);
    assert_int_equal(after(&plru, 1, 0, LINES(0, 1, 2, 3, 0, 4, 2)).misses, 6);
    assert_int_equal(after(&lru, 1, 0, LINES(0, 1, 2, 3, 0, 4, 2)).misses, 5);
}

static void written_lines_go_back_once_when_they_leave(void **state)
{
    (void)state;
    struct ll_cache_level levels[2] = {wide(LL_CACHE_LRU, 2), wide(LL_CACHE_LRU, 4)};
    struct ll_cache_counts inner = after(levels, 2, 0, LINES(WRITE + 1, WRITE + 1, 2, 3, 4, WRITE + 5));
    assert_int_equal(inner.accesses, 6);
    assert_int_equal(inner.hits, 1);
    assert_int_equal(inner.evictions, 3);
    assert_int_equal(inner.write_backs, 1);
    assert_int_equal(inner.in_bytes, 5 * 64);
    assert_int_equal(inner.out_bytes, 64);
    /* Line 1 came back while the outer level had it, which lets it go for line 5. */
    struct ll_cache_counts outer = after(levels, 2, 1, LINES(WRITE + 1, WRITE + 1, 2, 3, 4, WRITE + 5));
    assert_int_equal(outer.accesses, 5);
    assert_int_equal(outer.evictions, 1);
    assert_int_equal(outer.write_backs, 1);
}

static void a_write_that_goes_around_passes_on(void **state)
{
    (void)state;
    struct ll_cache_level level = wide(LL_CACHE_LRU, 2);
    level.write_around = true;
    struct ll_cache_counts counts = after(&level, 1, 0, LINES(WRITE + 1, WRITE + 1, 1, WRITE + 1));
    assert_int_equal(counts.misses, 3);
    assert_int_equal(counts.passed_writes, 2);
    assert_int_equal(counts.in_bytes, 64);
    level.write_through = true;
    assert_int_equal(after(&level, 1, 0, LINES(WRITE + 1, WRITE + 1, 1, WRITE + 1)).passed_writes, 3);
}

/* A sweep misses its first line alone, whether each next line or each step of one line is foreseen; every
 * other line is foreseen by the step only, and by the next line in vain. */
static void prefetch_foresees_what_it_is_made_for(void **state)
{
    (void)state;
    struct ll_cache_level next = wide(LL_CACHE_LRU, 4), stride = next;
    next.prefetch = LL_PREFETCH_NEXT_LINE;
    stride.prefetch = LL_PREFETCH_STRIDE;
    stride.stride_pages = 1;
    stride.stride_page_bytes = 1024; /* 16 lines */
    struct ll_cache_counts c = after(&next, 1, 0, LINES(0, 1, 2, 3, 4, 5, 6, 7));
    assert_int_equal(c.misses, 1);
    assert_int_equal(c.useful, 7);
    c = after(&stride, 1, 0, LINES(0, 1, 2, 3, 4, 5, 6, 7));
    assert_int_equal(c.misses, 3); /* two steps tell the stride */
    c = after(&stride, 1, 0, LINES(0, 2, 4, 6, 8, 10, 12, 14));
    assert_int_equal(c.misses, 3);
    assert_int_equal(c.useful, 5);
    c = after(&next, 1, 0, LINES(0, 2, 4, 6, 8, 10, 12, 14));
    assert_int_equal(c.misses, 8);
    assert_int_equal(c.useful, 0);
    assert_int_equal(c.useless, 6); /* the last two are still there */
}

static void an_inclusive_level_takes_lines_along_and_an_exclusive_one_catches_them(void **state)
{
    (void)state;
    struct ll_cache_level levels[2] = {wide(LL_CACHE_LRU, 2), wide(LL_CACHE_LRU, 2)};
    levels[1].inclusion = LL_CACHE_INCLUSIVE;
    /* 1 is used inside, which the outer level does not see: 3 takes its place there, hence here too. */
    assert_int_equal(after(levels, 2, 0, LINES(1, 2, 1, 1, 3, 1)).invalidations, 2);
    assert_int_equal(after(levels, 2, 0, LINES(1, 2, 1, 1, 3, 1)).misses, 4);
    levels[1].inclusion = LL_CACHE_EXCLUSIVE;
    struct ll_cache_counts outer = after(levels, 2, 1, LINES(1, 2, 3, 4, 1, 2, 3, 4));
    assert_int_equal(outer.misses, 4); /* four lines, two and two */
    assert_int_equal(outer.hits, 4);
    assert_int_equal(outer.evictions, 0);
}

/* So small a share that none of these few is let in. */
static void a_line_that_is_not_let_in_passes_by(void **state)
{
    (void)state;
    struct ll_cache_level level = wide(LL_CACHE_LRU, 2);
    level.admission = 1e-9;
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(&level, 1, &arena);
    const uint64_t reads[] = {0, 0}, write = LL_CACHE_WRITE | 64;
    ll_cache_run(cache, reads, 2);
    assert_false(ll_cache_holds(cache, 0, 0));
    assert_int_equal(ll_cache_counts(cache, 0).in_bytes, 128);
    ll_cache_run(cache, &write, 1);
    assert_int_equal(ll_cache_counts(cache, 0).passed_writes, 1);
    assert_int_equal(ll_cache_counts(cache, 0).in_bytes, 128);
    assert_false(ll_cache_holds(cache, 0, 64));
    ll_arena_release(&arena);
}

/* Of 4,096 lines that come around in a cache that holds them all, 1 - (3/4)^n are there after n times; four
 * standard deviations of a binomial distribution are 0.032 at most. */
static void each_time_a_quarter_is_let_in_of_what_is_not_there(void **state)
{
    enum { LINES_IN_ALL = 4096 };
    (void)state;
    struct ll_cache_level level = {
        .sets = 512, .ways = 16, .line_bytes = 64, .policy = LL_CACHE_LRU, .admission = 0.25, .seed = 7};
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(&level, 1, &arena);
    double misses = 1;
    for (int time = 1; time <= 6; time++) {
        uint64_t before = ll_cache_counts(cache, 0).hits;
        for (uint64_t line = 0; line < LINES_IN_ALL; line++)
            ll_cache_run(cache, &(uint64_t){64 * line}, 1);
        double hits = (double)(ll_cache_counts(cache, 0).hits - before) / LINES_IN_ALL;
        assert_true(fabs(hits - (1 - misses)) < 0.032);
        misses *= 0.75;
    }
    ll_arena_release(&arena);
}

static void impossible_caches_are_named(void **state)
{
    (void)state;
    struct ll_cache_level two[2] = {wide(LL_CACHE_LRU, 2), wide(LL_CACHE_LRU, 2)};
    size_t which;
    assert_null(ll_cache_trouble(two, 2, &which));
    two[0].inclusion = LL_CACHE_EXCLUSIVE;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "innermost"));
    two[0] = wide(LL_CACHE_PLRU, 3);
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "PLRU"));
    two[0].ways = 64;
    assert_null(ll_cache_trouble(two, 2, &which));
    two[0].ways = 128;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "PLRU"));
    two[0] = wide(LL_CACHE_LRU, 2);
    two[0].admission = 0.5;
    assert_null(ll_cache_trouble(two, 2, &which));
    two[0].inclusion = LL_CACHE_INCLUSIVE;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "non-inclusive"));
    two[0] = wide(LL_CACHE_LRU, 0);
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "one way"));
    two[0] = wide(LL_CACHE_LRU, 1u << 31);
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "million"));
    two[0] = wide(LL_CACHE_LRU, 2);
    two[0].line_bytes = 48;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "power"));
    two[0].line_bytes = 128;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "shorter"));
    two[0].line_bytes = 32;
    two[1].inclusion = LL_CACHE_EXCLUSIVE;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "as long as"));
    two[0].line_bytes = 64;
    two[1].prefetch = LL_PREFETCH_STRIDE;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "one page"));
    two[1].stride_pages = 64;
    two[1].stride_page_bytes = 4096;
    assert_non_null(strstr(ll_cache_trouble(two, 2, &which), "ahead"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifo_has_the_anomaly_of_belady),
        cmocka_unit_test(a_use_saves_a_line_from_lru_but_not_from_fifo),
        cmocka_unit_test(a_tree_is_not_quite_lru),
        cmocka_unit_test(written_lines_go_back_once_when_they_leave),
        cmocka_unit_test(a_write_that_goes_around_passes_on),
        cmocka_unit_test(prefetch_foresees_what_it_is_made_for),
        cmocka_unit_test(an_inclusive_level_takes_lines_along_and_an_exclusive_one_catches_them),
        cmocka_unit_test(a_line_that_is_not_let_in_passes_by),
        cmocka_unit_test(each_time_a_quarter_is_let_in_of_what_is_not_there),
        cmocka_unit_test(impossible_caches_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
