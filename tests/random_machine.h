/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that nobody built. */
#ifndef LL_TESTS_RANDOM_MACHINE_H
#define LL_TESTS_RANDOM_MACHINE_H

#include "random.h"
#include "tracer/base/arena.h"

#include <math.h>
#include <stdio.h>

/* From low to high, decades alike. */
static inline double ll_epilogue(uint64_t *random, double low, double high)
{
    return low * pow(high / low, (double)ll_random_below(random, 1000) / 999);
}

/* What the shared memory is: software fills it, or it is a cache that others may use as well, or the caches
 * of the units taken together. */
static inline const char *ll_random_cache(uint64_t *random, struct ll_arena *arena)
{
    static const char *const policies[] = {"lru", "random"};
    if (ll_random_below(random, 2))
        return "";
    const char *policy = policies[ll_random_below(random, 2)];
    double corunners = ll_random_below(random, 2) ? ll_epilogue(random, 0.01, 1000) : 0;
    return ll_format(arena, ", cache: {policy: %s, corunners: %.3gGB/s, affinity: %s}", policy, corunners,
                     ll_random_below(random, 2) ? "true" : "false");
}

/* A machine that nobody built, with three memory levels; in the arena. */
static inline char *ll_random_machine(uint64_t *random, struct ll_arena *arena, const char *fusion)
{
    static const char *const dataflows[] = {"os", "ws", "is"};
    char unit[256];
    uint64_t count = 1 + ll_random_below(random, 8);
    uint64_t model = ll_random_below(random, 3);
    if (model == 0)
        snprintf(unit, sizeof unit, "model: systolic, rows: %d, cols: %d, dataflow: %s, overlap_folds: %s",
                 1 << ll_random_below(random, 8), 1 << ll_random_below(random, 8),
                 dataflows[ll_random_below(random, 3)], ll_random_below(random, 2) ? "true" : "false");
    else if (model == 1)
        snprintf(unit, sizeof unit,
                 "model: spatial, elements: 4096, unroll: [K%d C%d, OY%d OX%d / K%d FX3], dataflow: %s",
                 1 << ll_random_below(random, 7), 1 << ll_random_below(random, 7),
                 1 << ll_random_below(random, 7), 1 << ll_random_below(random, 7),
                 1 << ll_random_below(random, 7), dataflows[ll_random_below(random, 3)]);
    else
        snprintf(unit, sizeof unit, "model: matrix, tiles: [%dx%dx8, 8x8x1]", 8 << ll_random_below(random, 5),
                 8 << ll_random_below(random, 5));
    double sram = ll_epilogue(random, 16, 16384), bandwidth = ll_epilogue(random, 1, 3000);
    return ll_format(arena,
                     "name: random\nclock: %.0fMHz\nunits:\n"
                     "  - {name: array, %s, count: %d, macs: {f32: 1}, runs: [matmul, conv2d]}\n"
                     "  - {name: simd, model: vector, count: %d, lanes: %d, flops: {f32: 2, i32: 1}}\n"
                     "memory:\n  - {name: near, size: %.0fKiB, bandwidth: %.0fGB/s, scope: unit}\n"
                     "  - {name: sram, size: %.0fKiB, bandwidth: %.0fGB/s, latency: %dns%s}\n"
                     "  - {name: dram, size: 64GiB, bandwidth: %.0fGB/s, latency: %dns}\n"
                     "software: {op_overhead: %dns, fusion: %s}\nhost: {bandwidth: %.0fGB/s, latency: 1us}\n",
                     ll_epilogue(random, 100, 3000), unit, (int)count, (int)count,
                     1 << ll_random_below(random, 10), fmin(sram / 2, 256) + 1, 4 * bandwidth, sram + 1024,
                     2 * bandwidth, (int)ll_random_below(random, 100), ll_random_cache(random, arena),
                     bandwidth, (int)ll_random_below(random, 1000), (int)ll_random_below(random, 5000),
                     fusion, ll_epilogue(random, 1, 100));
}

#endif
