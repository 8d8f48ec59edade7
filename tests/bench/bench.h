/* SPDX-License-Identifier: Apache-2.0 */
/* Timing a piece of the program: one line a bench, the least of several runs, because whatever disturbs a
 * run only makes it longer. */
#ifndef LL_TESTS_BENCH_H
#define LL_TESTS_BENCH_H

#include "tracer/base/clock.h"

#include <stdint.h>
#include <stdio.h>

/* Runs body(context), which does `count` operations over `bytes` bytes, at least five times and for at least
 * 0.2 s, and prints the name, nanoseconds for one operation and, where bytes is not 0, MB/s. */
static inline void ll_bench(const char *name, void (*body)(void *context), void *context, uint64_t count,
                            uint64_t bytes)
{
    uint64_t least_ns = UINT64_MAX, begin_ns = ll_now_ns(), runs = 0;
    for (; runs < 5 || ll_now_ns() - begin_ns < 200000000; runs++) {
        uint64_t start_ns = ll_now_ns();
        body(context);
        uint64_t took_ns = ll_now_ns() - start_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    printf("%-40s %12.2f ns", name, (double)least_ns / (double)count);
    if (bytes)
        printf(" %10.1f MB/s", (double)bytes * 1e3 / (double)least_ns);
    printf("   least of %llu\n", (unsigned long long)runs);
}

#endif
