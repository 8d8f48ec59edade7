/* SPDX-License-Identifier: Apache-2.0 */
/* A host moves the processors of a virtual machine about. Where its chip has several last caches, two of them
 * may lie behind different ones, though the machine is told that they share one: a line then takes 310 to
 * 350 ns from one to the other and back, in place of 50 (two virtual processors of Zen 4), and a small
 * network's step takes up to half as long again. While both are busy the host leaves them there, for some
 * 14 s in the mean; one that sleeps and is woken by the other is put beside it, as whoever is woken for is
 * thought to share data: after 0.4 s of that they were together again. */
#define _GNU_SOURCE
#include "tracer/base/clock.h"
#include "tracer/base/pool_parts.h"

#include <time.h>

enum { TURNS = 20, TURN_NS = 1000000 };

/* Lines that cross a chip between two last caches take longer, those within one do not: 50 to 130 ns were
 * measured on Zen 4, Zen 5 and Xeons. */
static const double near_s = 200e-9;

static const uint64_t between_looks_ns = 20000000;

/* For bringing threads together: so much, and a twentieth of the time since they were spread. */
static const uint64_t patience_ns = 2000000000, patience_part = 20;

/* One thread rests and wakes the others, a turn after the other; they sleep in between. */
struct waking {
    pthread_mutex_t lock;
    pthread_cond_t next;
    unsigned turn, present;
};

static void wake_all(struct waking *waking)
{
    for (unsigned turn = 1; turn <= TURNS; turn++) {
        nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
        pthread_mutex_lock(&waking->lock);
        waking->turn = turn;
        pthread_cond_broadcast(&waking->next);
        pthread_mutex_unlock(&waking->lock);
    }
}

static void take_turns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct waking *waking = context;
    (void)begin, (void)end, (void)chunk;
    pthread_mutex_lock(&waking->lock);
    unsigned self = waking->present++;
    while (self > 0 && waking->turn < TURNS)
        pthread_cond_wait(&waking->next, &waking->lock);
    pthread_mutex_unlock(&waking->lock);
    if (self == 0)
        wake_all(waking);
}

static void wake_each_other(struct ll_pool *pool)
{
    struct waking waking = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    ll_pool_run(pool, ll_pool_threads(pool), 1, take_turns, &waking);
}

static bool is_patient(const struct ll_pool_nearness *nearness, uint64_t now_ns)
{
    return nearness->spent_ns < patience_ns + (now_ns - nearness->spread_ns) / patience_part;
}

/* Until they are, or patience ends; how far they are then. */
static double bring_together(struct ll_pool *pool, double trip_s)
{
    uint64_t begin_ns = ll_now_ns();
    while (trip_s > near_s && is_patient(&pool->nearness, begin_ns)) {
        wake_each_other(pool);
        trip_s = ll_pool_trip(pool);
        uint64_t now_ns = ll_now_ns();
        pool->nearness.spent_ns += now_ns - begin_ns;
        begin_ns = now_ns;
    }
    return trip_s;
}

void ll_pool_settle(struct ll_pool *pool)
{
    if (!pool || !pool->before.set)
        return;
    struct ll_pool_nearness *nearness = &pool->nearness;
    if (nearness->looked_ns && ll_now_ns() - nearness->looked_ns < between_looks_ns)
        return;
    double trip_s = ll_pool_trip(pool);
    if (trip_s > near_s && ll_cpus_are_virtual())
        trip_s = bring_together(pool, trip_s);
    nearness->longest_s = trip_s > nearness->longest_s ? trip_s : nearness->longest_s;
    nearness->looked_ns = ll_now_ns();
}

double ll_pool_round_trip_s(const struct ll_pool *pool)
{
    return pool ? pool->nearness.longest_s : 0;
}
