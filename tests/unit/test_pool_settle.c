/* SPDX-License-Identifier: Apache-2.0 */
/* Threads are brought together where a host has put them apart: by made-up round trips, in made-up time. */
#define _GNU_SOURCE
#include "check.h"

#include "tracer/base/clock.h"
#include "tracer/base/pool_parts.h"

#include <time.h>

static const double near_s = 50e-9, apart_s = 320e-9;

static struct {
    bool made_up, is_virtual;
    int looks, near_from;          /* from this look on threads are near */
    atomic_int rests;              /* between wakings */
    atomic_uint_fast64_t ahead_ns; /* of the real clock */
} host;

double __real_ll_pool_trip(struct ll_pool *pool);
double __wrap_ll_pool_trip(struct ll_pool *pool);
bool __wrap_ll_cpus_are_virtual(void);
uint64_t __real_ll_now_ns(void);
uint64_t __wrap_ll_now_ns(void);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

double __wrap_ll_pool_trip(struct ll_pool *pool)
{
    if (!host.made_up)
        return __real_ll_pool_trip(pool);
    return host.looks++ >= host.near_from ? near_s : apart_s;
}

bool __wrap_ll_cpus_are_virtual(void)
{
    return host.is_virtual;
}

uint64_t __wrap_ll_now_ns(void)
{
    return __real_ll_now_ns() + atomic_load(&host.ahead_ns);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    atomic_fetch_add(&host.rests, 1);
    atomic_fetch_add(&host.ahead_ns, (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
    return 0;
}

/* Two threads, spread; NULL where there is no room for two or the system forbids it. */
static struct ll_pool *spread_pool(bool is_virtual, int near_from)
{
    struct ll_pool *pool = ll_pool_new(2);
    host.made_up = true;
    host.is_virtual = is_virtual;
    host.looks = 0;
    host.near_from = near_from;
    atomic_store(&host.rests, 0);
    ll_pool_spread(pool);
    if (pool->before.set)
        return pool;
    ll_pool_free(pool);
    return NULL;
}

static void pass_ms(uint64_t ms)
{
    atomic_fetch_add(&host.ahead_ns, ms * 1000000);
}

static void threads_near_each_other_are_left_alone(void **state)
{
    (void)state;
    struct ll_pool *pool = spread_pool(true, 0);
    if (!pool)
        skip();
    assert_true(ll_pool_round_trip_s(pool) == 0);
    ll_pool_settle(pool);
    assert_int_equal(host.rests, 0);
    assert_true(ll_pool_round_trip_s(pool) == near_s);
    ll_pool_free(pool);
}

static void threads_apart_wake_each_other_until_they_are_near(void **state)
{
    (void)state;
    struct ll_pool *pool = spread_pool(true, 3);
    if (!pool)
        skip();
    ll_pool_settle(pool);
    assert_int_equal(host.looks, 4);
    assert_int_equal(host.rests, 3 * 20);
    assert_true(ll_pool_round_trip_s(pool) == near_s);
    ll_pool_free(pool);
}

static void patience_ends_and_grows_again_slowly(void **state)
{
    (void)state;
    struct ll_pool *pool = spread_pool(true, INT32_MAX);
    if (!pool)
        skip();
    uint64_t begin_ns = ll_now_ns();
    ll_pool_settle(pool);
    double first_s = (double)(ll_now_ns() - begin_ns) * 1e-9;
    assert_true(first_s > 1.9 && first_s < 2.5);
    assert_true(ll_pool_round_trip_s(pool) == apart_s);
    int rests = host.rests;
    pass_ms(100);
    ll_pool_settle(pool);
    assert_in_range(host.rests, rests, rests + 40);
    rests = host.rests;
    pass_ms(20000);
    ll_pool_settle(pool);
    assert_in_range(host.rests - rests, 900, 1200); /* a second for twenty */
    ll_pool_free(pool);
}

static void nobody_moves_the_processors_of_a_real_machine(void **state)
{
    (void)state;
    struct ll_pool *pool = spread_pool(false, INT32_MAX);
    if (!pool)
        skip();
    ll_pool_settle(pool);
    assert_int_equal(host.looks, 1);
    assert_int_equal(host.rests, 0);
    assert_true(ll_pool_round_trip_s(pool) == apart_s);
    ll_pool_free(pool);
}

static void looks_are_few(void **state)
{
    (void)state;
    struct ll_pool *pool = spread_pool(true, 0);
    if (!pool)
        skip();
    ll_pool_settle(pool);
    ll_pool_settle(pool);
    pass_ms(5);
    ll_pool_settle(pool);
    assert_in_range(host.looks, 1, 2); /* a slow machine may take 20 ms for this */
    pass_ms(20);
    int looks = host.looks;
    ll_pool_settle(pool);
    assert_int_equal(host.looks, looks + 1);
    ll_pool_free(pool);
}

static void a_pool_that_is_not_spread_is_not_looked_at(void **state)
{
    (void)state;
    struct ll_pool *pool = ll_pool_new(2);
    host.made_up = true;
    host.looks = 0;
    ll_pool_settle(pool);
    ll_pool_settle(NULL);
    assert_int_equal(host.looks, 0);
    assert_true(ll_pool_round_trip_s(pool) == 0);
    assert_true(ll_pool_round_trip_s(NULL) == 0);
    ll_pool_free(pool);
}

/* Where threads do not meet at once, on a busy machine, there is no answer; some time there is. */
static void threads_meet(void **state)
{
    (void)state;
    double trip_s = 0;
    host.made_up = false;
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct ll_pool *pool = ll_pool_new(threads);
        trip_s = ll_pool_trip(pool);
        for (int i = 0; i < 10000 && threads > 1 && trip_s == 0; i++)
            trip_s = ll_pool_trip(pool);
        assert_true(threads > 1 ? trip_s > 1e-9 && trip_s < 1 : trip_s == 0);
        ll_pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_near_each_other_are_left_alone),
        cmocka_unit_test(threads_apart_wake_each_other_until_they_are_near),
        cmocka_unit_test(patience_ends_and_grows_again_slowly),
        cmocka_unit_test(nobody_moves_the_processors_of_a_real_machine),
        cmocka_unit_test(looks_are_few),
        cmocka_unit_test(a_pool_that_is_not_spread_is_not_looked_at),
        cmocka_unit_test(threads_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
