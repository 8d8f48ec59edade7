/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a cost is found, cold and from the memo, and how fast a product is blocked for one memory. */
#include "samples.h"

#include "sim/cost/memo.h"
#include "sim/cost/cost_parts.h"
#include "tests/bench/bench.h"

#include <stdlib.h>

enum { COUNT = 2000 };

static struct ll_machine gpu_like(void)
{
    struct ll_machine machine = {.name = "bench", .unit_count = 2, .level_count = 3};
    machine.units[0] = (struct ll_unit){
        .name = "cores",
        .model = LL_UNIT_MATRIX,
        .count = 108,
        .clock_hz = 1.41e9,
        .efficiency = 1,
        .matrix = {
            .tiles =
                {{256, 128, 32}, {128, 256, 32}, {128, 128, 32}, {128, 64, 32}, {64, 128, 32}, {64, 64, 32}},
            .tile_count = 6}};
    machine.units[1] = (struct ll_unit){.name = "lanes",
                                        .model = LL_UNIT_VECTOR,
                                        .count = 108,
                                        .clock_hz = 1.41e9,
                                        .efficiency = 1,
                                        .vector = {.lanes = 64}};
    for (int i = 0; i < LL_DTYPE_COUNT; i++) {
        machine.units[0].matrix.macs[i] = 1024;
        machine.units[1].vector.flops[i] = 2;
    }
    machine.levels[0] = (struct ll_level){.name = "l1",
                                          .size_bytes = 192 << 10,
                                          .bandwidth_Bps = 1.8e11,
                                          .efficiency = 1,
                                          .latency_s = 3e-8,
                                          .scope = LL_SCOPE_UNIT};
    machine.levels[1] = (struct ll_level){
        .name = "l2", .size_bytes = 40 << 20, .bandwidth_Bps = 5e12, .efficiency = 1, .latency_s = 2e-7};
    machine.levels[2] = (struct ll_level){.name = "hbm",
                                          .size_bytes = UINT64_C(40) << 30,
                                          .bandwidth_Bps = 1.55e12,
                                          .efficiency = 0.9,
                                          .latency_s = 5e-7};
    return machine;
}

/* A machine and what it is asked; the sum keeps the compiler from leaving the work out. */
struct load {
    struct ll_machine machine;
    struct ll_memo memo;
    struct ll_work works[COUNT];
    double sum;
};

static void cold(void *context)
{
    struct load *load = context;
    struct ll_cost cost;
    const char *trouble;
    for (int i = 0; i < COUNT; i++)
        if (ll_cost_op(&load->machine, LL_OP_MATMUL, &load->works[i], &cost, &trouble))
            load->sum += cost.compute_s;
}

static void from_memo(void *context)
{
    struct load *load = context;
    const char *trouble;
    for (int i = 0; i < COUNT; i++)
        load->sum += ll_memo_cost(&load->memo, LL_OP_MATMUL, &load->works[i], &trouble)->compute_s;
}

static void tile(void *context)
{
    struct load *load = context;
    for (int i = 0; i < COUNT; i++) {
        struct ll_task task = ll_task_of(&load->works[i], LL_F16);
        load->sum += ll_tile(&task.problem, (double)load->machine.levels[0].size_bytes / 2).bytes;
    }
}

int main(void)
{
    struct load *load = calloc(1, sizeof *load);
    struct dice dice = {1};
    if (!load)
        return 1;
    load->machine = gpu_like();
    load->memo.machine = &load->machine;
    for (int i = 0; i < COUNT; i++)
        load->works[i] = gemm_work(LL_F16, roll_size(&dice, 64), roll_size(&dice, 8192),
                                   roll_size(&dice, 8192), roll_size(&dice, 8192));
    ll_bench("cost of a product, cold", cold, load, COUNT, 0);
    ll_bench("cost of a product, remembered", from_memo, load, COUNT, 0);
    ll_bench("best blocking of a product", tile, load, COUNT, 0);
    for (int i = 0; i < COUNT; i++)
        load->works[i] = random_conv(&dice, LL_F16);
    ll_bench("cost of a convolution, cold", cold, load, COUNT, 0);
    ll_bench("best blocking of a convolution", tile, load, COUNT, 0);
    ll_memo_release(&load->memo);
    free(load);
    return 0;
}
