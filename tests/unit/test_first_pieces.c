/* SPDX-License-Identifier: Apache-2.0 */
/* First pieces: each unit that works gets one before it begins, and those that idle get none. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

/* Seconds by hand: computing takes 10, of which the first piece 1; out of near come 2 bytes in 2 s, a piece
 * in 0.1; out of outer 4 bytes in 4 s, a piece in 0.25, and one for each of four units. */
static struct ll_cost four_units(void)
{
    return (struct ll_cost){.compute_s = 10,
                            .compute_first_s = 1,
                            .level_bytes = {2, 4},
                            .level_s = {2, 4},
                            .level_first_s = {0.1, 0.25},
                            .level_pieces = {1, 4}};
}

static struct ll_machine two_levels(void)
{
    return (struct ll_machine){.unit_count = 1,
                               .level_count = 2,
                               .units = {{.name = "array"}},
                               .levels = {{.name = "near"}, {.name = "outer"}}};
}

static struct ll_timing timing_of(const struct ll_machine *machine, const struct ll_cost *cost,
                                  const struct ll_warm_bytes *found)
{
    struct ll_timing timing;
    ll_cost_time(machine, cost, found, &timing);
    return timing;
}

/* 1 + 0.1 + 0.25 for the first unit's, 3 * 0.25 until the fourth has its own, and 9 for what it computes. */
static void the_last_unit_waits_for_those_before_it(void **state)
{
    (void)state;
    struct ll_machine machine = two_levels();
    struct ll_cost cost = four_units();
    assert_near(timing_of(&machine, &cost, NULL).time_s, 1.35 + 0.75 + 9, 1e-12);
    cost.level_pieces[0] = 50; /* 49 of them would take 4.9, but all but one take 1.9 */
    assert_near(timing_of(&machine, &cost, NULL).time_s, 1.35 + 1.9 + 9, 1e-12);
}

/* 0.5 s are left, half of which the first piece takes. */
static void pieces_that_are_there_already_are_not_waited_for(void **state)
{
    (void)state;
    struct ll_machine machine = two_levels();
    struct ll_cost cost = four_units();
    assert_near(timing_of(&machine, &cost, &(struct ll_warm_bytes){.saved_bytes = {0, 3.5}}).time_s,
                1.35 + 0.25 + 9, 1e-12);
    assert_near(timing_of(&machine, &cost, &(struct ll_warm_bytes){.saved_bytes = {0, 4}}).time_s, 1.1 + 9,
                1e-12);
}

/* Where memory is the slower, it goes on all the time, and it is all one who gets which piece. */
static void they_are_part_of_what_a_slower_memory_moves(void **state)
{
    (void)state;
    struct ll_machine machine = two_levels();
    struct ll_cost cost = four_units();
    cost.compute_s = 3;
    assert_near(timing_of(&machine, &cost, NULL).time_s, 1.35 + 3.75, 1e-12);
}

/* A memory of one block is filled before any unit gets a piece of it. */
static void behind_a_single_buffer_nobody_waits_in_turn(void **state)
{
    (void)state;
    struct ll_machine machine = two_levels();
    struct ll_cost cost = four_units();
    machine.levels[0].buffering = LL_BUFFER_SINGLE;
    assert_near(timing_of(&machine, &cost, NULL).time_s, 1.35 + 9 + 3.75, 1e-12);
}

/* Computing goes on for 0.2 s, and until then the outer memory provides pieces for 0.75. */
static void who_is_fed_late_is_held_back_by_memory(void **state)
{
    (void)state;
    struct ll_machine machine = two_levels();
    struct ll_cost cost = four_units();
    cost.compute_s = 0.2;
    cost.compute_first_s = 0.1;
    cost.level_bytes[1] = cost.level_s[1] = 1;
    cost.level_bytes[0] = cost.level_s[0] = 0.2;
    struct ll_timing timing = timing_of(&machine, &cost, NULL);
    assert_near(timing.time_s, 0.45 + 0.75 + 0.1, 1e-12);
    assert_int_equal(timing.bound, LL_BOUND_LEVEL + 1);
}

/* Ever more arrays, of which a product of 32 x 512 x 2048 has work for a few. */
static void arrays_that_idle_get_none(void **state)
{
    (void)state;
    struct ll_machine machine = two_levels();
    struct ll_work work = gemm_work(LL_F32, 1, 32, 512, 2048);
    double before_s = INFINITY;
    machine.units[0] = (struct ll_unit){
        .name = "array",
        .model = LL_UNIT_SYSTOLIC,
        .clock_hz = 1e9,
        .efficiency = 1,
        .systolic = {.rows = 256, .cols = 256, .dataflow = LL_WEIGHT_STATIONARY, .overlap_folds = true}};
    machine.units[0].systolic.macs[LL_F32] = 1;
    machine.levels[0] = (struct ll_level){.name = "near",
                                          .size_bytes = 8 << 20,
                                          .bandwidth_Bps = 4e12,
                                          .efficiency = 1,
                                          .scope = LL_SCOPE_DEVICE};
    machine.levels[1] = (struct ll_level){.name = "outer",
                                          .size_bytes = UINT64_C(16) << 30,
                                          .bandwidth_Bps = 8e11,
                                          .efficiency = 1,
                                          .scope = LL_SCOPE_DEVICE};
    for (uint64_t count = 1; count <= 1024; count *= 2) {
        const char *trouble;
        struct ll_cost cost;
        machine.units[0].count = count;
        assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &work, &cost, &trouble));
        double time_s = timing_of(&machine, &cost, NULL).time_s;
        assert_near(cost.level_pieces[1], (double)cost.units_used, 0);
        assert_true(time_s <= before_s);
        before_s = time_s;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_unit_waits_for_those_before_it),
        cmocka_unit_test(pieces_that_are_there_already_are_not_waited_for),
        cmocka_unit_test(they_are_part_of_what_a_slower_memory_moves),
        cmocka_unit_test(behind_a_single_buffer_nobody_waits_in_turn),
        cmocka_unit_test(who_is_fed_late_is_held_back_by_memory),
        cmocka_unit_test(arrays_that_idle_get_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
