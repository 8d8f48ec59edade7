/* SPDX-License-Identifier: Apache-2.0 */
/* Caches whose misses are waited for in turn, by hand. Seconds: 100 bytes take 10 out of near, 20 out of
 * mid, and 40 out of far. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

static struct ll_machine machine_of(bool near_waits, bool mid_waits)
{
    return (struct ll_machine){
        .unit_count = 1,
        .level_count = 3,
        .units = {{.name = "core"}},
        .levels = {{.name = "near", .cache_given = true, .cache.non_overlapping = near_waits},
                   {.name = "mid", .cache_given = true, .cache.non_overlapping = mid_waits},
                   {.name = "far"}}};
}

static struct ll_cost moving(double bytes)
{
    return (struct ll_cost){.level_bytes = {bytes, bytes, bytes},
                            .level_price = {bytes, bytes, bytes},
                            .level_s = {bytes * 0.1, bytes * 0.2, bytes * 0.4}};
}

static struct ll_timing timing_of(struct ll_machine machine, struct ll_cost cost, double saved_mid,
                                  double saved_far)
{
    struct ll_timing timing;
    ll_cost_time(&machine, &cost, &(struct ll_warm_bytes){.saved_bytes = {0, saved_mid, saved_far}}, &timing);
    return timing;
}

/* A quarter comes from far in 10 s, a quarter from mid in 5, half from near in 5. */
static void each_byte_takes_as_long_as_out_of_where_it_is(void **state)
{
    (void)state;
    struct ll_timing timing = timing_of(machine_of(true, true), moving(100), 50, 75);
    assert_near(timing.time_s, 5 + 5 + 10, 1e-12);
    assert_int_equal(timing.bound, LL_BOUND_LEVEL + 2);
    timing =
        timing_of(machine_of(true, true), moving(100), 20, 80); /* 20 from near, 60 from mid, 20 from far */
    assert_near(timing.time_s, 2 + 12 + 8, 1e-12);
    assert_int_equal(timing.bound, LL_BOUND_LEVEL + 1);
    assert_near(timing_of(machine_of(true, true), moving(100), 100, 100).time_s, 10, 1e-12);
    assert_near(timing_of(machine_of(true, true), moving(100), 0, 0).time_s, 40, 1e-12);
}

/* 25 bytes of 50 from far: out of mid in turn 5 + 10, beside 10 s out of near. */
static void beside_caches_that_do_not_wait_the_slower_counts(void **state)
{
    (void)state;
    assert_near(timing_of(machine_of(false, true), moving(100), 50, 75).time_s, 15, 1e-12);
    assert_near(timing_of(machine_of(true, false), moving(100), 50, 75).time_s, 5 + 10, 1e-12);
    assert_near(timing_of(machine_of(false, false), moving(100), 50, 75).time_s, 10, 1e-12);
}

/* What comes from far comes through near, at 1 s a byte, and takes 1 s there as well. */
static void nothing_is_faster_for_coming_from_further_out(void **state)
{
    (void)state;
    struct ll_cost cost = moving(100);
    cost.level_s[0] = 100;
    struct ll_timing timing = timing_of(machine_of(true, true), cost, 50, 75);
    assert_near(timing.time_s, 100, 1e-12);
    assert_int_equal(timing.bound, LL_BOUND_LEVEL);
}

/* More comes out of far than is asked for: whole rows. 160 bytes take 64 s, of which 8 go with the others. */
static void what_comes_beyond_what_was_asked_for_takes_its_time(void **state)
{
    (void)state;
    struct ll_cost cost = moving(100);
    cost.level_bytes[2] = cost.level_price[2] = 160;
    cost.level_s[2] = 64;
    assert_near(timing_of(machine_of(true, true), cost, 0, 0).time_s, 64, 1e-12);
    assert_near(timing_of(machine_of(true, true), cost, 0, 140).time_s, 8 + 16, 1e-12);
}

/* A share of the others is added, but not of what is one stage with them. */
static void what_is_added_up_counts_once(void **state)
{
    (void)state;
    struct ll_cost cost = moving(100);
    cost.serial = 0.5;
    cost.compute_s = 8;
    assert_near(timing_of(machine_of(true, true), cost, 50, 75).time_s, 20 + 4, 1e-12);
    assert_near(timing_of(machine_of(false, false), cost, 50, 75).time_s, 10 + (8 + 10 + 10) / 2.0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_takes_as_long_as_out_of_where_it_is),
        cmocka_unit_test(beside_caches_that_do_not_wait_the_slower_counts),
        cmocka_unit_test(nothing_is_faster_for_coming_from_further_out),
        cmocka_unit_test(what_comes_beyond_what_was_asked_for_takes_its_time),
        cmocka_unit_test(what_is_added_up_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
