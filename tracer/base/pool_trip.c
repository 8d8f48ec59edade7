/* SPDX-License-Identifier: Apache-2.0 */
/* All threads meet; the first one there asks each of the others in turn, over one line of memory that goes
 * from cache to cache and back. Who comes late is not waited for: then there is no answer. */
#include "tracer/base/clock.h"
#include "tracer/base/pool_parts.h"

enum { TRIPS = 32, ROUNDS = 8, WAIT_NS = 2000000 };

static const unsigned over = UINT32_MAX;

struct meeting {
    _Alignas(64) atomic_uint line;    /* 2 i: thread i is asked; 2 i + 1: it answers; `over`: all may go */
    _Alignas(64) atomic_uint present; /* each arrival's number is that of the thread */
    unsigned threads;
    double longest_s;
};

/* False when it does not within the wait. */
static bool becomes(const atomic_uint *word, unsigned value)
{
    for (uint64_t end_ns = 0;;) {
        for (int i = 0; i < 256; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) == value)
                return true;
            ll_relax();
        }
        uint64_t now_ns = ll_now_ns();
        end_ns = end_ns ? end_ns : now_ns + WAIT_NS;
        if (now_ns >= end_ns)
            return false;
    }
}

static bool ask(struct meeting *meeting, unsigned other)
{
    for (int trip = 0; trip < TRIPS; trip++) {
        atomic_store_explicit(&meeting->line, 2 * other, memory_order_release);
        if (!becomes(&meeting->line, 2 * other + 1))
            return false;
    }
    return true;
}

/* Whatever else the machine does makes a trip longer: the shortest round counts. */
static double trip_to(struct meeting *meeting, unsigned other)
{
    uint64_t shortest_ns = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin_ns = ll_now_ns();
        if (!ask(meeting, other))
            break;
        uint64_t took_ns = ll_now_ns() - begin_ns;
        shortest_ns = round == 0 || took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    return (double)shortest_ns * 1e-9 / TRIPS;
}

static void ask_all(struct meeting *meeting)
{
    if (becomes(&meeting->present, meeting->threads))
        for (unsigned i = 1; i < meeting->threads; i++) {
            double trip_s = trip_to(meeting, i);
            meeting->longest_s = trip_s > meeting->longest_s ? trip_s : meeting->longest_s;
        }
    atomic_store(&meeting->line, over);
}

static void answer(struct meeting *meeting, unsigned self)
{
    for (unsigned asked; (asked = atomic_load_explicit(&meeting->line, memory_order_acquire)) != over;)
        if (asked == 2 * self)
            atomic_store_explicit(&meeting->line, asked + 1, memory_order_release);
        else
            ll_relax();
}

static void meet(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct meeting *meeting = context;
    (void)begin, (void)end, (void)chunk;
    unsigned self = atomic_fetch_add(&meeting->present, 1);
    if (self == 0)
        ask_all(meeting);
    else
        answer(meeting, self);
}

double ll_pool_trip(struct ll_pool *pool)
{
    struct meeting meeting = {.threads = ll_pool_threads(pool)};
    if (meeting.threads > 1)
        ll_pool_run(pool, meeting.threads, 1, meet, &meeting);
    return meeting.longest_s;
}
