/* SPDX-License-Identifier: Apache-2.0 */
/* All threads meet. Each counts how many additions its core makes in a second and at a time; then the first
 * one there asks each of the others in turn, over one line of memory that goes from cache to cache and back.
 * Who comes late is not waited for: then there is no answer. */
#include "tracer/base/clock.h"
#include "tracer/base/map.h"
#include "tracer/base/pool_parts.h"

#include <math.h>

enum { TRIPS = 32, ROUNDS = 3, WAIT_NS = 2000000 };

static const unsigned over = UINT32_MAX;

/* Of one core; 0: not known. */
struct counted {
    double width, clock_hz;
};

struct meeting {
    _Alignas(64) atomic_uint line;    /* 2 i: thread i is asked; 2 i + 1: it answers; `over`: all may go */
    _Alignas(64) atomic_uint present; /* each arrival's number is that of the thread */
    unsigned threads;
    double longest_s;
    _Atomic(double) narrowest, slowest_hz;
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

/* Who answers late finds another word on the line than that which it read, and leaves it. */
static void answer(struct meeting *meeting, unsigned self)
{
    for (unsigned asked; (asked = atomic_load_explicit(&meeting->line, memory_order_acquire)) != over;)
        if (asked == 2 * self)
            atomic_compare_exchange_strong(&meeting->line, &asked, asked + 1);
        else
            ll_relax();
}

#ifdef __x86_64__
enum { IN_A_ROW = 4096, SIDE_BY_SIDE = 8192, WIDTHS = 8 };
/* Adds a register: constants that are added in a row Golden Cove adds up before any adder sees them. */
#define LL_ADD(x, a, b, c, d)                                                                                \
    "add %" #x ", %" #a "; add %" #x ", %" #b "; add %" #x ", %" #c "; add %" #x ", %" #d ";"

/* Nanoseconds of additions of which each waits for the one before, and of some of which eight never do. */
static uint64_t in_a_row_ns(void)
{
    uint64_t begin_ns = ll_now_ns(), a = 0, x = 1;
    for (int i = 0; i < IN_A_ROW; i += 16)
        __asm__ volatile(LL_ADD(1, 0, 0, 0, 0) LL_ADD(1, 0, 0, 0, 0) LL_ADD(1, 0, 0, 0, 0)
                             LL_ADD(1, 0, 0, 0, 0)
                         : "+r"(a)
                         : "r"(x)
                         : "cc");
    return ll_now_ns() - begin_ns;
}

static uint64_t side_by_side_ns(void)
{
    uint64_t begin_ns = ll_now_ns(), a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, x = 1;
    for (int i = 0; i < SIDE_BY_SIDE; i += 16)
        __asm__ volatile(LL_ADD(8, 0, 1, 2, 3) LL_ADD(8, 4, 5, 6, 7) LL_ADD(8, 0, 1, 2, 3)
                             LL_ADD(8, 4, 5, 6, 7)
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
                         : "r"(x)
                         : "cc");
    return ll_now_ns() - begin_ns;
}

/* What a neighbour on the other hyperthread takes comes and goes within a microsecond when it waits for
 * memory: of the times side by side nearly the longest counts. What waits in a row it hardly slows down. */
static struct counted count_additions(void)
{
    double side_ns[WIDTHS], row_ns[WIDTHS / 4];
    for (int i = 0; i < WIDTHS; i++) {
        side_ns[i] = (double)side_by_side_ns() + 1;
        if (i % 4 == 0)
            row_ns[i / 4] = (double)in_a_row_ns() + 1;
    }
    ll_sort_numbers(side_ns, WIDTHS);
    ll_sort_numbers(row_ns, WIDTHS / 4);
    return (struct counted){.width = row_ns[0] / IN_A_ROW * SIDE_BY_SIDE / side_ns[WIDTHS - 2],
                            .clock_hz = IN_A_ROW / row_ns[0] * 1e9};
}
#else
static struct counted count_additions(void)
{
    return (struct counted){0, 0};
}
#endif

static void note_least(_Atomic(double) *least, double mine)
{
    double so_far = atomic_load(least);
    while (mine < so_far && !atomic_compare_exchange_weak(least, &so_far, mine))
        ;
}

static void note_additions(struct meeting *meeting)
{
    struct counted counted = count_additions();
    note_least(&meeting->narrowest, counted.width);
    note_least(&meeting->slowest_hz, counted.clock_hz);
}

static void meet(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct meeting *meeting = context;
    (void)begin, (void)end, (void)chunk;
    unsigned self = atomic_fetch_add(&meeting->present, 1);
    note_additions(meeting);
    if (self == 0)
        ask_all(meeting);
    else
        answer(meeting, self);
}

struct ll_pool_look ll_pool_look(struct ll_pool *pool)
{
    struct meeting meeting = {
        .threads = ll_pool_threads(pool), .narrowest = INFINITY, .slowest_hz = INFINITY};
    if (meeting.threads < 2)
        return (struct ll_pool_look){0, 0, 0};
    ll_pool_run(pool, meeting.threads, 1, meet, &meeting);
    return (struct ll_pool_look){meeting.longest_s, meeting.narrowest, meeting.slowest_hz};
}
