/* SPDX-License-Identifier: Apache-2.0 */
/* A memory in nodes, by hand. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

#include <math.h>

/* Four nodes of 25 GB/s, joined by links of 2 GB/s; 8 units of so many lanes that they hold nothing back. */
static struct ll_machine nodes(void)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 1};
    machine.units[0] = (struct ll_unit){.name = "lanes",
                                        .model = LL_UNIT_VECTOR,
                                        .count = 8,
                                        .clock_hz = 1e9,
                                        .efficiency = 1,
                                        .vector = {.lanes = 100000}};
    machine.units[0].vector.flops[LL_F32] = 1;
    machine.levels[0] = (struct ll_level){.name = "dram",
                                          .size_bytes = UINT64_C(1) << 40,
                                          .bandwidth_Bps = 100e9,
                                          .efficiency = 1,
                                          .latency_s = 80e-9,
                                          .numa_given = true,
                                          .numa = {4, 2e9, 40e-9}};
    return machine;
}

static struct ll_cost cost_of(const struct ll_machine *machine)
{
    struct ll_work work = {
        .kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = 1000000, .a_bytes = 4000000, .c_bytes = 4000000};
    struct ll_cost cost;
    const char *trouble;
    work.vector.elements = 1000000;
    assert_true(ll_cost_op(machine, LL_OP_RELU, &work, &cost, &trouble));
    return cost;
}

/* Of 8 MB each of four nodes moves 2, a fourth of it from each node: 0.5 MB over each link. Three of four
 * accesses wait for another node. */
static void pages_in_turn_cross_all_links(void **state)
{
    (void)state;
    struct ll_machine machine = nodes();
    assert_near(cost_of(&machine).level_s[0], 0.5e6 / 2e9, 1e-12);
    assert_near(cost_of(&machine).level_wait_s[0], 80e-9 + 0.75 * 40e-9, 1e-12);
    machine.levels[0].numa.link_Bps = 100e9;
    assert_near(cost_of(&machine).level_s[0], 8e6 / 100e9, 1e-12);
}

/* One unit alone: 6 MB come from the three other nodes; two of eight units: 4 MB to each of two nodes,
 * of which 1 MB over each of its links. */
static void few_units_draw_from_all_nodes(void **state)
{
    (void)state;
    struct ll_machine machine = nodes();
    machine.software.grain = 8e6;
    assert_near(cost_of(&machine).level_s[0], 2e6 / 2e9, 1e-12);
    assert_near(ll_numa_remote(&machine.levels[0]), 0.75, 1e-12);
    machine.software.grain = 4e6;
    assert_near(cost_of(&machine).level_s[0], 1e6 / 2e9, 1e-12);
}

static void memory_in_one_piece_has_no_links(void **state)
{
    (void)state;
    struct ll_machine machine = nodes();
    machine.levels[0].numa_given = false;
    assert_int_equal(ll_numa_working(&machine.levels[0], 8), 1);
    assert_true(isinf(ll_numa_Bps(&machine.levels[0], 8)));
    assert_near(ll_numa_latency_s(&machine.levels[0]), 80e-9, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_in_turn_cross_all_links),
        cmocka_unit_test(few_units_draw_from_all_nodes),
        cmocka_unit_test(memory_in_one_piece_has_no_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
