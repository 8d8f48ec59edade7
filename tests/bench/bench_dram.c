/* SPDX-License-Identifier: Apache-2.0 */
/* How many bursts a second the timed mode of dynamic memory plays: streams, and rows all over the place; and
 * how long the closed form takes. */
#include "sim/memory/dram.h"
#include "tests/bench/bench.h"

enum { ACCESSES = 1 << 20, ESTIMATES = 10000 };

struct load {
    const struct ll_dram *dram;
    struct ll_dram_pattern pattern;
    double sum; /* keeps the compiler from leaving the work out */
};

static void play(void *context)
{
    struct load *load = context;
    struct ll_dram_result result;
    double efficiency;
    if (ll_dram_play(load->dram, 8, &load->pattern, ACCESSES, &result, &efficiency))
        load->sum += efficiency;
}

static void estimate(void *context)
{
    struct load *load = context;
    struct ll_dram_estimate result;
    for (uint64_t i = 1; i <= ESTIMATES; i++) {
        struct ll_dram_pattern rows = {.bytes = i};
        ll_dram_estimate(load->dram, 8, &rows, &result);
        load->sum += result.efficiency;
    }
}

int main(void)
{
    struct load load = {.dram = ll_dram_find("ddr4-2400"), .pattern = {.bytes = 64, .stride = 64}};
    ll_bench("DDR4, timed, a burst of a stream", play, &load, ACCESSES, (uint64_t)ACCESSES * 64);
    load.pattern.stride = 0;
    ll_bench("DDR4, timed, a burst of a row of 64 B", play, &load, ACCESSES, (uint64_t)ACCESSES * 64);
    load.dram = ll_dram_find("hbm2");
    load.pattern.stride = 64;
    ll_bench("HBM2, timed, a burst of a stream", play, &load, UINT64_C(2) * ACCESSES,
             (uint64_t)ACCESSES * 64);
    ll_bench("HBM2, closed form", estimate, &load, ESTIMATES, 0);
    return load.sum == 0;
}
