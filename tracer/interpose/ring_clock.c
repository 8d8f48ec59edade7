/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/interpose/ring_clock.h"

#include "tracer/base/clock.h"

#include <math.h>
#include <stdbool.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

enum { LEAST_NS = 10000000, READINGS = 16 };

/* Advanced power management, bit 8: the counter's rate does not change (AMD's and Intel's manuals on CPUID).
 */
static bool has_constant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return false;
#endif
}

uint64_t ll_ring_clock_now(const struct ll_ring_clock_line *line)
{
#if defined(__x86_64__)
    if (line->clock == LL_RING_CLOCK_TSC)
        return __rdtsc();
#endif
    (void)line;
    return ll_now_ns();
}

/* Both clocks at the same moment: of several readings the one that took least. */
static void read_both(const struct ll_ring_clock_line *line, uint64_t *ticks, uint64_t *ns)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = ll_now_ns(), now = ll_ring_clock_now(line), after = ll_now_ns();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        *ticks = now;
        *ns = before + shortest / 2;
    }
}

static void measure(struct ll_ring_clock_line *line, uint64_t ticks, uint64_t ns)
{
    if (ticks <= line->base_ticks || ns <= line->base_ns)
        return;
    line->measured_ns = ns - line->base_ns;
    line->ns_per_tick = (double)line->measured_ns / (double)(ticks - line->base_ticks);
}

static void wait_and_measure(struct ll_ring_clock_line *line)
{
    uint64_t ticks = 0, ns = 0, passed = ll_now_ns() - line->base_ns;
    if (passed < LEAST_NS) {
        struct timespec rest = {.tv_nsec = (long)(LEAST_NS - passed)};
        nanosleep(&rest, NULL);
    }
    read_both(line, &ticks, &ns);
    measure(line, ticks, ns);
}

void ll_ring_clock_choose(struct ll_ring_clock_line *line)
{
    *line = (struct ll_ring_clock_line){.ns_per_tick = 1};
    line->clock = has_constant_counter() ? LL_RING_CLOCK_TSC : LL_RING_CLOCK_NS;
    read_both(line, &line->base_ticks, &line->base_ns);
    if (line->clock == LL_RING_CLOCK_TSC)
        wait_and_measure(line);
}

void ll_ring_clock_begin(struct ll_ring_clock_line *line, const struct ll_ring_control *control)
{
    *line = (struct ll_ring_clock_line){
        .clock = control->clock == LL_RING_CLOCK_TSC ? LL_RING_CLOCK_TSC : LL_RING_CLOCK_NS,
        .base_ticks = control->base_ticks,
        .base_ns = control->base_ns,
        .ns_per_tick = 1,
    };
    if (line->clock == LL_RING_CLOCK_TSC)
        wait_and_measure(line);
}

void ll_ring_clock_refine(struct ll_ring_clock_line *line)
{
    uint64_t ticks = 0, ns = 0;
    if (line->clock != LL_RING_CLOCK_TSC || ll_now_ns() - line->base_ns < 2 * line->measured_ns)
        return;
    read_both(line, &ticks, &ns);
    measure(line, ticks, ns);
}

uint64_t ll_ring_clock_duration_ns(const struct ll_ring_clock_line *line, uint64_t ticks)
{
    double ns = (double)ticks * line->ns_per_tick;
    return ns < 0x1p63 ? (uint64_t)ns : INT64_MAX;
}

uint64_t ll_ring_clock_ns(const struct ll_ring_clock_line *line, uint64_t ticks)
{
    if (ticks >= line->base_ticks)
        return line->base_ns + ll_ring_clock_duration_ns(line, ticks - line->base_ticks);
    uint64_t before = ll_ring_clock_duration_ns(line, line->base_ticks - ticks);
    return before < line->base_ns ? line->base_ns - before : 0;
}
