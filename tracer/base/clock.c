/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/clock.h"

#include <time.h>

uint64_t ll_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double ll_cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

uint64_t ll_clock_resolution_ns(void)
{
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = ll_now_ns(), after;
        do
            after = ll_now_ns();
        while (after == before);
        if (after - before < smallest)
            smallest = after - before;
    }
    return smallest;
}
