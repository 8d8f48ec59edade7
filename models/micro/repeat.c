/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "models/micro/repeat.h"

#include "models/nn/kernel.h"
#include "tracer/base/clock.h"
#include "tracer/base/map.h"

#include <string.h>
#include <sys/mman.h>

enum { RUNS = 128, LEAST_RUNS = 8 };

struct ll_figure ll_rate_of(struct ll_pool *pool, void (*body)(void *context), void *context, double amount)
{
    static const uint64_t enough_ns = 1000000000;
    double rates[RUNS];
    size_t runs = 0;
    body(context);
    for (uint64_t begin_ns = ll_now_ns(), start_ns = begin_ns;
         runs < LEAST_RUNS || (runs < RUNS && start_ns - begin_ns < enough_ns); runs++) {
        ll_pool_settle(pool, ll_now_ns());
        start_ns = ll_now_ns();
        body(context);
        rates[runs] = amount * 1e9 / (double)(ll_now_ns() - start_ns + 1);
    }
    ll_sort_numbers(rates, runs);
    double lower = rates[runs / 4], upper = rates[runs * 3 / 4], middle = rates[runs / 2];
    return (struct ll_figure){rates[runs - 1], middle, (upper - lower) / middle};
}

void *ll_probe_memory(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE); /* a wish */
    return memset(memory, 0, bytes);
}

void ll_probe_release(void *memory, uint64_t bytes)
{
    munmap(memory, bytes);
}

/* As many sums as keep additions from waiting for each other, added up in pairs at the end. */
LL_FAST float ll_probe_sum(const float *x, uint64_t count)
{
    enum { SUMS = 128 };
    float sums[SUMS] = {0}, sum = 0;
    uint64_t i = 0;
    for (; i + SUMS <= count; i += SUMS)
        for (int j = 0; j < SUMS; j++)
            sums[j] += x[i + j];
    for (; i < count; i++)
        sum += x[i];
    for (int half = SUMS / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            sums[j] += sums[j + half];
    return sum + sums[0];
}
