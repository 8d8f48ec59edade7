/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "check.h"

#include "tracer/base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST = 1000 };

static size_t least_set_bytes; /* as of a machine with many CPUs */

int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    if (bytes >= least_set_bytes)
        return __real_sched_getaffinity(pid, bytes, set);
    errno = EINVAL;
    return -1;
}

struct visits {
    atomic_int seen[MOST]; /* how often each index was visited */
    atomic_int chunks[MOST];
    uint64_t count, grain;
    atomic_int crooked; /* chunks that were not cut as promised */
};

static void visit(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct visits *visits = context;
    bool last = (chunk + 1) * visits->grain >= visits->count;
    if (begin != chunk * visits->grain || end != (last ? visits->count : begin + visits->grain))
        atomic_fetch_add(&visits->crooked, 1);
    atomic_fetch_add(&visits->chunks[chunk], 1);
    for (uint64_t i = begin; i < end; i++)
        atomic_fetch_add(&visits->seen[i], 1);
}

static void expect_all_once(struct ll_pool *pool, uint64_t count, uint64_t grain)
{
    static struct visits visits;
    memset(&visits, 0, sizeof visits);
    visits.count = count;
    visits.grain = grain;
    ll_pool_run(pool, count, grain, visit, &visits);
    uint64_t chunk_count = (count + grain - 1) / grain;
    for (uint64_t i = 0; i < MOST; i++) {
        assert_int_equal(visits.seen[i], i < count);
        assert_int_equal(visits.chunks[i], i < chunk_count);
    }
    assert_int_equal(visits.crooked, 0);
}

/* 1e-40, below the smallest normal float, in each place. */
static void multiply(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    volatile float factor = 1e-20f;
    (void)chunk;
    for (uint64_t i = begin; i < end; i++)
        ((float *)context)[i] = factor * factor;
}

static void all_threads_treat_denormals_as_the_caller_does(void **state)
{
    (void)state;
#ifndef __x86_64__
    skip();
#endif
    struct ll_pool *pool = ll_pool_new(3);
    for (int round = 0; round < 200; round++) {
        float products[MOST];
        ll_set_denormals(round % 2 ? LL_DENORMALS_ZERO : LL_DENORMALS_EXACT);
        ll_pool_run(pool, MOST, 1, multiply, products);
        ll_set_denormals(LL_DENORMALS_EXACT);
        for (int i = 0; i < MOST; i++)
            assert_true((products[i] > 0) == (round % 2 == 0));
    }
    ll_pool_free(pool);
}

static void every_index_is_visited_once_whatever_the_threads(void **state)
{
    (void)state;
    uint64_t random = ll_seed(5);
    for (unsigned threads = 1; threads <= 9; threads += threads < 4 ? 1 : 5) {
        struct ll_pool *pool = ll_pool_new(threads);
        assert_int_equal(ll_pool_threads(pool), threads);
        for (int i = 0; i < 300; i++)
            expect_all_once(pool, ll_random_below(&random, MOST), 1 + ll_random_below(&random, 60));
        ll_pool_free(pool);
    }
}

static void no_pool_means_here_and_in_order(void **state)
{
    (void)state;
    assert_int_equal(ll_pool_threads(NULL), 1);
    expect_all_once(NULL, 100, 7);
    expect_all_once(NULL, 0, 7);
    ll_pool_free(NULL);
}

static void a_grain_larger_than_the_range_gives_one_chunk(void **state)
{
    (void)state;
    struct ll_pool *pool = ll_pool_new(3);
    expect_all_once(pool, 10, 1000);
    expect_all_once(pool, 1, 1);
    expect_all_once(pool, 0, 1);
    ll_pool_free(pool);
}

static void zero_threads_means_one_for_each_cpu(void **state)
{
    (void)state;
    struct ll_pool *pool = ll_pool_new(0);
    assert_true(ll_pool_threads(pool) >= 1);
    expect_all_once(pool, MOST, 3);
    ll_pool_free(pool);
}

static void sum_inverses(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    double *sums = context;
    for (uint64_t i = begin; i < end; i++)
        sums[chunk] += 1.0 / (double)(i + 1);
}

static double harmonic(struct ll_pool *pool)
{
    double sums[64] = {0}, total = 0;
    ll_pool_run(pool, 6400, 100, sum_inverses, sums);
    for (int i = 0; i < 64; i++)
        total += sums[i];
    return total;
}

static void a_sum_by_chunks_has_the_same_bits_at_any_thread_count(void **state)
{
    (void)state;
    double alone = harmonic(NULL);
    for (unsigned threads = 1; threads < 6; threads++) {
        struct ll_pool *pool = ll_pool_new(threads);
        for (int i = 0; i < 50; i++)
            assert_true(harmonic(pool) == alone);
        ll_pool_free(pool);
    }
}

/* Which threads are inside a body at this moment, by the number they say they have. */
struct presence {
    atomic_int inside[8];
    atomic_int trouble;
};

static void enter_alone(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct presence *presence = context;
    unsigned worker = ll_pool_worker();
    (void)begin, (void)end, (void)chunk;
    if (worker >= 4 || atomic_fetch_add(&presence->inside[worker], 1) != 0)
        atomic_fetch_add(&presence->trouble, 1);
    for (volatile int i = 0; i < 200; i++)
        ;
    if (worker < 4)
        atomic_fetch_sub(&presence->inside[worker], 1);
}

static void no_two_threads_have_one_number(void **state)
{
    (void)state;
    struct presence presence = {0};
    struct ll_pool *pool = ll_pool_new(4);
    for (int i = 0; i < 100; i++)
        ll_pool_run(pool, 64, 1, enter_alone, &presence);
    assert_int_equal(presence.trouble, 0);
    assert_int_equal(ll_pool_worker(), 0);
    ll_pool_free(pool);
}

/* On which processors threads are found at work, by the number they say they have. */
struct places {
    cpu_set_t of[2];
};

static void note_place(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct places *places = context;
    (void)begin, (void)end, (void)chunk;
    for (volatile int i = 0; i < 2000; i++)
        ;
    CPU_SET((size_t)sched_getcpu(), &places->of[ll_pool_worker()]);
}

static void spread_threads_never_share_a_processor(void **state)
{
    (void)state;
    cpu_set_t before, meanwhile, after, shared;
    struct places places = {0};
    sched_getaffinity(0, sizeof before, &before);
    if (CPU_COUNT(&before) < 2 || sched_setaffinity(0, sizeof before, &before) != 0)
        skip(); /* nowhere to go, or not allowed to */
    struct ll_pool *pool = ll_pool_new(2);
    ll_pool_spread(pool);
    sched_getaffinity(0, sizeof meanwhile, &meanwhile);
    for (int i = 0; i < 100; i++)
        ll_pool_run(pool, 64, 1, note_place, &places);
    ll_pool_free(pool);
    sched_getaffinity(0, sizeof after, &after);
    CPU_AND(&shared, &places.of[0], &places.of[1]);
    assert_true(CPU_COUNT(&places.of[0]) > 0);
    assert_int_equal(CPU_COUNT(&shared), 0);
    assert_int_equal(CPU_COUNT(&meanwhile), CPU_COUNT(&before) / 2);
    assert_true(CPU_EQUAL(&before, &after));
}

/* The kernel answers into no set that is smaller than what it could have. */
static void more_cpus_than_a_plain_set_holds_are_counted(void **state)
{
    (void)state;
    unsigned usable = ll_pool_usable_cpus();
    least_set_bytes = 3 * sizeof(cpu_set_t);
    unsigned counted = ll_pool_usable_cpus();
    struct ll_pool *pool = ll_pool_new(2);
    ll_pool_spread(pool);
    expect_all_once(pool, MOST, 3);
    ll_pool_free(pool);
    least_set_bytes = 0;
    assert_int_equal(counted, usable);
    assert_int_equal(ll_pool_usable_cpus(), usable);
}

struct watch {
    pthread_t caller;
    uint64_t calls, last, count;
    bool wrong; /* told by another thread, of fewer chunks than before, or of more than there are */
};

static void take_note(void *context, uint64_t done, uint64_t count)
{
    struct watch *watch = context;
    watch->wrong |= !pthread_equal(watch->caller, pthread_self()) || done < watch->last || done > count ||
                    count != watch->count;
    watch->last = done;
    watch->calls++;
}

static void who_watches_is_told_by_its_own_thread(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct ll_pool *pool = ll_pool_new(threads);
        struct watch watch = {.caller = pthread_self(), .count = 100};
        ll_pool_watch(pool, take_note, &watch);
        expect_all_once(pool, MOST, 10);
        assert_false(watch.wrong);
        assert_true(watch.calls <= 100 && (threads > 1 || (watch.calls == 100 && watch.last == 100)));
        ll_pool_watch(pool, NULL, NULL);
        const uint64_t before = watch.calls;
        expect_all_once(pool, MOST, 10);
        assert_int_equal(watch.calls, before);
        ll_pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_threads_never_share_a_processor),
        cmocka_unit_test(all_threads_treat_denormals_as_the_caller_does),
        cmocka_unit_test(every_index_is_visited_once_whatever_the_threads),
        cmocka_unit_test(no_pool_means_here_and_in_order),
        cmocka_unit_test(a_grain_larger_than_the_range_gives_one_chunk),
        cmocka_unit_test(zero_threads_means_one_for_each_cpu),
        cmocka_unit_test(more_cpus_than_a_plain_set_holds_are_counted),
        cmocka_unit_test(no_two_threads_have_one_number),
        cmocka_unit_test(a_sum_by_chunks_has_the_same_bits_at_any_thread_count),
        cmocka_unit_test(who_watches_is_told_by_its_own_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
