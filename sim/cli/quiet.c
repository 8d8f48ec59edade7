/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of others is that of all programs less the own one. The first line of /proc/stat has the
 * former in clock ticks: user, nice, system, idle, iowait, irq, softirq, steal (man 5 proc); all but idle
 * and iowait are work, of this machine or, stolen, of another one on the same host. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */
#include "sim/cli/quiet.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double look_s = 0.5;

static double seconds(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* NaN where the system does not say. */
static double all_programs_s(void)
{
    enum { FIELDS = 8, IDLE = 3, IOWAIT = 4 };
    unsigned long long ticks[FIELDS];
    FILE *file = fopen("/proc/stat", "re");
    int found = file ? fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
                              &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7])
                     : 0;
    const long ticks_per_s = sysconf(_SC_CLK_TCK);
    double sum = 0;
    if (file)
        fclose(file);
    for (int i = 0; i < found; i++)
        sum += i == IDLE || i == IOWAIT ? 0 : (double)ticks[i];
    return found == FIELDS && ticks_per_s > 0 ? sum / (double)ticks_per_s : NAN;
}

struct ll_quiet_mark ll_quiet_mark(void)
{
    return (struct ll_quiet_mark){seconds(CLOCK_MONOTONIC), all_programs_s(),
                                  seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

double ll_quiet_others(const struct ll_quiet_mark *since)
{
    const struct ll_quiet_mark now = ll_quiet_mark();
    assert(now.at_s >= since->at_s && now.own_s >= since->own_s);
    const double others_s = (now.all_s - since->all_s) - (now.own_s - since->own_s);
    return fmax(0, others_s) / (now.at_s - since->at_s);
}

bool ll_quiet_wait(double limit_s)
{
    const double end_s = seconds(CLOCK_MONOTONIC) + limit_s;
    assert(limit_s >= 0);
    do {
        const struct ll_quiet_mark mark = ll_quiet_mark();
        const struct timespec pause = {(time_t)look_s, (long)(1e9 * (look_s - floor(look_s)))};
        nanosleep(&pause, NULL);
        const double others = ll_quiet_others(&mark);
        if (others < LL_QUIET_CPUS)
            return true;
        if (isnan(others))
            return false;
    } while (seconds(CLOCK_MONOTONIC) < end_s);
    return false;
}

/* Sums of 4,096 numbers, which fill half of a first cache, over and over: 2 x 400 operations for each. */
enum { NUMBERS = 4096, PASSES = 400 };
static float arithmetic(float *numbers, float factor)
{
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < NUMBERS; i++)
            numbers[i] = numbers[i] * factor + 1;
    return numbers[NUMBERS - 1];
}

/* Twice as much as second caches hold, and twice as much as most last ones. */
enum { COPIED_BYTES = 4 << 20, SUMMED_BYTES = 64 << 20 };

static uint64_t sum(const uint64_t *words, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

void ll_steady_init(struct ll_steady *steady)
{
    *steady = (struct ll_steady){.space = malloc(SUMMED_BYTES + 2 * COPIED_BYTES)};
    if (steady->space)
        memset(steady->space, 1, SUMMED_BYTES + 2 * COPIED_BYTES); /* pages come with the first touch */
}

void ll_steady_release(struct ll_steady *steady)
{
    free(steady->space);
    steady->space = NULL;
}

/* What a copy moves is brought into the last cache by one that is not timed. */
void ll_steady_look(struct ll_steady *steady)
{
    static volatile float half = 0.5F, last; /* neither known to the compiler */
    static volatile uint64_t total;
    float numbers[NUMBERS] = {0};
    double at_s[LL_STEADY_WORKS + 1];
    if (!steady->space || steady->count == LL_STEADY_LOOKS)
        return;
    char *from = steady->space, *to = from + COPIED_BYTES;
    memcpy(to, from, COPIED_BYTES);
    for (int work = 0; work < LL_STEADY_WORKS; work++) {
        at_s[work] = seconds(CLOCK_MONOTONIC);
        if (work == LL_STEADY_ARITHMETIC)
            last = arithmetic(numbers, half);
        else if (work == LL_STEADY_COPY)
            memcpy(to, from, COPIED_BYTES);
        else
            total = sum((const uint64_t *)(const void *)(to + COPIED_BYTES), SUMMED_BYTES / sizeof total);
    }
    at_s[LL_STEADY_WORKS] = seconds(CLOCK_MONOTONIC);
    for (int work = 0; work < LL_STEADY_WORKS; work++)
        steady->time_s[work][steady->count] = at_s[work + 1] - at_s[work];
    steady->count++;
    (void)last, (void)total;
}
