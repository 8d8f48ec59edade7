/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a cost is found, cold and from the memo, and how many tilings are tried per second. */
#include "samples.h"

#include "sim/cost/memo.h"
#include "sim/cost/task.h"
#include "sim/cost/tiling.h"
#include "tracer/base/clock.h"

#include <stdio.h>

enum { COUNT = 2000, REPEATS = 9 };

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
    machine.levels[0] = (struct ll_level){"l1", 192 << 10, 1.8e11, 1, 3e-8, LL_SCOPE_UNIT};
    machine.levels[1] = (struct ll_level){"l2", 40 << 20, 5e12, 1, 2e-7, LL_SCOPE_DEVICE};
    machine.levels[2] = (struct ll_level){"hbm", UINT64_C(40) << 30, 1.55e12, 0.9, 5e-7, LL_SCOPE_DEVICE};
    return machine;
}

static struct ll_work works[COUNT];

static uint64_t cold_ns(const struct ll_machine *machine)
{
    struct ll_cost cost;
    const char *trouble;
    uint64_t start_ns = ll_now_ns();
    for (int i = 0; i < COUNT; i++)
        ll_cost_op(machine, LL_OP_MATMUL, &works[i], &cost, NULL, &trouble);
    return (ll_now_ns() - start_ns) / COUNT;
}

static uint64_t memo_ns(const struct ll_machine *machine)
{
    struct ll_memo memo = {.machine = machine};
    const char *trouble;
    for (int i = 0; i < COUNT; i++)
        ll_memo_cost(&memo, LL_OP_MATMUL, &works[i], &trouble);
    uint64_t start_ns = ll_now_ns();
    for (int i = 0; i < COUNT; i++)
        ll_memo_cost(&memo, LL_OP_MATMUL, &works[i], &trouble);
    uint64_t ns = (ll_now_ns() - start_ns) / COUNT;
    ll_memo_release(&memo);
    return ns;
}

static uint64_t tile_ns(const struct ll_machine *machine)
{
    double sum = 0;
    uint64_t start_ns = ll_now_ns();
    for (int i = 0; i < COUNT; i++) {
        struct ll_task task = ll_task_of(&works[i], LL_F16);
        sum += ll_tile(&task.problem, (double)machine->levels[0].size_bytes / 2).bytes;
    }
    uint64_t ns = (ll_now_ns() - start_ns) / COUNT;
    return sum > 0 ? ns : 0;
}

static void report(const char *what, const struct ll_machine *machine,
                   uint64_t (*measure)(const struct ll_machine *))
{
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < REPEATS; i++)
        best_ns = ll_min(best_ns, measure(machine));
    printf("%-28s %8llu ns\n", what, (unsigned long long)best_ns);
}

int main(void)
{
    struct ll_machine machine = gpu_like();
    struct dice dice = {1};
    for (int i = 0; i < COUNT; i++)
        works[i] = gemm_work(LL_F16, roll_size(&dice, 64), roll_size(&dice, 8192), roll_size(&dice, 8192),
                             roll_size(&dice, 8192));
    report("cost, product, cold", &machine, cold_ns);
    report("cost, from the memo", &machine, memo_ns);
    report("best blocking, product", &machine, tile_ns);
    for (int i = 0; i < COUNT; i++)
        works[i] = random_conv(&dice, LL_F16);
    report("cost, convolution, cold", &machine, cold_ns);
    report("best blocking, convolution", &machine, tile_ns);
    return 0;
}
