/* SPDX-License-Identifier: Apache-2.0 */
/* What a virtual machine's work takes depends on where its host puts its processors, and beside whom.
 *
 * Apart: where the host's chip has several last caches, two processors may lie behind different ones,
 * though the machine is told that they share one. A line then takes 310 to 350 ns from one to the other and
 * back, in place of 50 (Zen 4), and a small network's step up to half as long again. While both are busy
 * the host leaves them there, for some 14 s in the mean; one that sleeps and is woken by the other is put
 * beside it, as whoever is woken is thought to share data with who wakes it, if somebody else has taken its
 * place meanwhile: after 0.4 s of that they were together again on one day, after 2 to 11 s on another.
 *
 * Crowded: a neighbour's work, or this machine's own other processor, may run on the other hyperthread of a
 * core, which then adds 1.9 to 3.3 numbers at a time in place of 3.6 (2.5 in place of 4.3 on Emerald Rapids),
 * and takes 1.4 to twice as long. Such work lasts some 20 ms, less for who sleeps meanwhile, since whoever
 * wakes up is put where nobody is. On a host whose cores are all taken that lasts less than a millisecond:
 * who waited is alone at the look, and not for the work, so it waits less. */
#define _GNU_SOURCE
#include "tracer/base/clock.h"
#include "tracer/base/pool_parts.h"

#include <time.h>

enum { TURNS = 20, TURN_NS = 1000000, NAP_NS = 100000 };

/* Lines that cross a chip between two last caches take longer, those within one do not: 50 to 130 ns were
 * measured on Zen 4, Zen 5 and Xeons. */
static const double near_s = 200e-9;

/* A core that has itself alone adds about as many numbers at a time as it ever did; any that this is built
 * for adds four, or nearly so. */
static const double least_width = 3.5, full_share = 0.93;

static const uint64_t between_looks_ns = 1000000;

/* For waiting: so much, and so much of the time since the threads were spread if it has ever helped, or as
 * far as it does. Where neighbours were beside this machine for 60 to 90 % of the time, as long a wait as the
 * work, or half as long again, found cores that nobody shared. */
static const uint64_t patience_ns = 2000000000;
static const double together_share = 1.0 / 7, alone_share = 3.0 / 5, least_hope = 1.0 / 16;

/* Who insists waits longer for threads to be together, and goes on, with less of the time, if that has never
 * helped. It takes half a second or more at a stretch: less is not begun. */
static const uint64_t insistence_ns = 15000000000, stretch_ns = 500000000;
static const double insisting_share = 1.0 / 2, hopeless_share = 1.0 / 8;

/* One thread rests and wakes the others, a turn after the other; they sleep in between. */
struct waking {
    pthread_mutex_t lock;
    pthread_cond_t next;
    unsigned turn, turns, present;
    long turn_ns;
};

static void wake_all(struct waking *waking)
{
    for (unsigned turn = 1; turn <= waking->turns; turn++) {
        nanosleep(&(struct timespec){.tv_nsec = waking->turn_ns}, NULL);
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
    while (self > 0 && waking->turn < waking->turns)
        pthread_cond_wait(&waking->next, &waking->lock);
    pthread_mutex_unlock(&waking->lock);
    if (self == 0)
        wake_all(waking);
}

static void sleep_and_wake(struct ll_pool *pool, unsigned turns, long turn_ns)
{
    struct waking waking = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, turns, 0, turn_ns};
    ll_pool_run(pool, ll_pool_threads(pool), 1, take_turns, &waking);
}

/* Nanoseconds that may still be waited. */
static double left_ns(const struct ll_pool_quiet *quiet, uint64_t least_ns, double share, uint64_t spent_ns)
{
    uint64_t passed_ns = ll_now_ns() - quiet->spread_ns;
    return (double)least_ns + share * (double)passed_ns - (double)spent_ns;
}

static double left_for_together_ns(const struct ll_pool_quiet *quiet)
{
    if (quiet->insists)
        return left_ns(quiet, insistence_ns, quiet->was_together ? insisting_share : hopeless_share,
                       quiet->together_ns);
    return left_ns(quiet, patience_ns, quiet->was_together ? together_share : 0, quiet->together_ns);
}

static bool are_apart(struct ll_pool_look look)
{
    return look.trip_s > near_s;
}

static bool is_crowded(const struct ll_pool_quiet *quiet, struct ll_pool_look look)
{
    double whole = quiet->widest > least_width ? quiet->widest : least_width;
    return look.width > 0 && look.width < full_share * whole;
}

/* What a core can do, two looks in a row see it do; of half a million one or two saw 6.6 additions at a time
 * where 3.6 are the most. */
static struct ll_pool_look look_again(struct ll_pool *pool)
{
    struct ll_pool_quiet *quiet = &pool->quiet;
    struct ll_pool_look look = ll_pool_look(pool);
    double width = look.width < quiet->width ? look.width : quiet->width;
    quiet->widest = width > quiet->widest ? width : quiet->widest;
    quiet->width = look.width;
    return look;
}

/* Sleeps in such turns as long as it has to and may; how things are then. */
static struct ll_pool_look bring_together(struct ll_pool *pool, struct ll_pool_look look)
{
    struct ll_pool_quiet *quiet = &pool->quiet;
    bool begins = left_for_together_ns(quiet) > (double)stretch_ns;
    while (begins && are_apart(look) && left_for_together_ns(quiet) > 0) {
        uint64_t begin_ns = ll_now_ns();
        sleep_and_wake(pool, TURNS, TURN_NS);
        look = look_again(pool);
        quiet->was_together |= !are_apart(look);
        quiet->together_ns += ll_now_ns() - begin_ns;
    }
    return look;
}

/* Of the time since the threads were spread. It never ends where being alone once lasted, for neighbours come
 * and go. */
static double share_for_alone(const struct ll_pool_quiet *quiet)
{
    return alone_share * (quiet->lasts > 0 && quiet->lasts < least_hope ? least_hope : quiet->lasts);
}

static struct ll_pool_look wait_alone(struct ll_pool *pool, struct ll_pool_look look)
{
    struct ll_pool_quiet *quiet = &pool->quiet;
    while (is_crowded(quiet, look) &&
           left_ns(quiet, patience_ns, share_for_alone(quiet), quiet->alone_ns) > 0) {
        uint64_t begin_ns = ll_now_ns();
        sleep_and_wake(pool, 1, NAP_NS);
        look = look_again(pool);
        quiet->waited = true;
        quiet->alone_ns += ll_now_ns() - begin_ns;
    }
    return look;
}

/* What was seen right after a piece of work. */
static void note_end(struct ll_pool_quiet *quiet, struct ll_pool_look look)
{
    enum { LATE = 16 };
    bool crowded = is_crowded(quiet, look);
    quiet->ends++;
    quiet->crowded += crowded;
    if (quiet->waited)
        quiet->lasts += (!crowded - quiet->lasts) / LATE;
    quiet->waited = false;
}

uint64_t ll_pool_settle(struct ll_pool *pool, uint64_t now_ns)
{
    if (!pool || !pool->before.set)
        return 0;
    struct ll_pool_quiet *quiet = &pool->quiet;
    if (quiet->looked_ns && now_ns - quiet->looked_ns < between_looks_ns)
        return 0;
    struct ll_pool_look look = look_again(pool);
    if (quiet->looked_ns)
        note_end(quiet, look);
    if (ll_cpus_are_virtual())
        look = wait_alone(pool, bring_together(pool, look));
    quiet->longest_s = look.trip_s > quiet->longest_s ? look.trip_s : quiet->longest_s;
    quiet->looks++;
    quiet->apart += are_apart(look);
    quiet->crowded += is_crowded(quiet, look);
    quiet->clocks_hz += look.clock_hz;
    quiet->looked_ns = ll_now_ns();
    return quiet->looked_ns - now_ns;
}

void ll_pool_insist(struct ll_pool *pool)
{
    if (pool)
        pool->quiet.insists = true;
}

uint64_t ll_pool_waited_ns(const struct ll_pool *pool)
{
    return pool ? pool->quiet.together_ns + pool->quiet.alone_ns : 0;
}

double ll_pool_round_trip_s(const struct ll_pool *pool)
{
    return pool ? pool->quiet.longest_s : 0;
}

static double share_of(uint64_t some, uint64_t all)
{
    return some > 0 ? (double)some / (double)all : 0;
}

double ll_pool_clock_hz(const struct ll_pool *pool)
{
    return pool && pool->quiet.looks > 0 ? pool->quiet.clocks_hz / (double)pool->quiet.looks : 0;
}

double ll_pool_apart_share(const struct ll_pool *pool)
{
    return pool ? share_of(pool->quiet.apart, pool->quiet.looks) : 0;
}

double ll_pool_crowded_share(const struct ll_pool *pool)
{
    return pool ? share_of(pool->quiet.crowded, pool->quiet.looks + pool->quiet.ends) : 0;
}
