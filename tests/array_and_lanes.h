/* SPDX-License-Identifier: Apache-2.0 */
/* Two units of which all numbers round, so that times can be followed by hand. */
#ifndef LL_TESTS_ARRAY_AND_LANES_H
#define LL_TESTS_ARRAY_AND_LANES_H

#include "check.h"
#include "sim/cost/cost.h"

/* Four arrays of 1000 multiply-accumulates in f16 for products, and four times ten lanes of one operation
 * in f32 and f16, a cycle of 1 ns. */
static inline struct ll_machine array_and_lanes(void)
{
    struct ll_machine machine = {.unit_count = 2};
    machine.units[0] = (struct ll_unit){.name = "array",
                                        .model = LL_UNIT_MATRIX,
                                        .count = 4,
                                        .clock_hz = 1e9,
                                        .efficiency = 1,
                                        .runs_listed = true};
    machine.units[0].runs[LL_OP_MATMUL] = true;
    machine.units[0].matrix.macs[LL_F16] = 1000;
    machine.units[1] = (struct ll_unit){.name = "lanes",
                                        .model = LL_UNIT_VECTOR,
                                        .count = 4,
                                        .clock_hz = 1e9,
                                        .efficiency = 1,
                                        .vector = {.lanes = 10}};
    machine.units[1].vector.flops[LL_F32] = machine.units[1].vector.flops[LL_F16] = 1;
    return machine;
}

/* The same with one memory of this bandwidth, both directions together. */
static inline struct ll_machine array_and_lanes_on(double bandwidth_Bps)
{
    struct ll_machine machine = array_and_lanes();
    machine.level_count = 1;
    machine.levels[0] = (struct ll_level){
        .name = "outer", .size_bytes = 1000000000, .bandwidth_Bps = bandwidth_Bps, .efficiency = 1};
    return machine;
}

static inline struct ll_cost cost_of(const struct ll_machine *machine, enum ll_op_kind kind,
                                     const struct ll_work *work)
{
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, kind, work, &cost, &trouble));
    assert_null(trouble);
    return cost;
}

#endif
