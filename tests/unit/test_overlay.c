/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/cost/cost_parts.h"

static const struct ll_work product = {.kind = LL_WORK_GEMM,
                                       .dtype = LL_F32,
                                       .flops = 2 * 8 * 64 * 32,
                                       .gemm = {.batch = 2, .m = 4, .n = 64, .k = 32}};

static struct ll_machine two_levels(void)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 2};
    machine.units[0].count = 2;
    machine.units[0].clock_hz = machine.units[0].efficiency = 1;
    machine.levels[0].name = "near";
    machine.levels[1].name = "far";
    return machine;
}

static struct ll_cost even_cost(void)
{
    return (struct ll_cost){.compute_s = 1,
                            .compute_first_s = 1,
                            .clock_hz = 1,
                            .compute_cycles = 0.5, /* by half of the unit's rate, of 1 Hz */
                            .level_s = {1, 1},
                            .level_first_s = {1, 1},
                            .level_wait_s = {1, 1},
                            .overhead_s = 1,
                            .behind_s = 1,
                            .serial = 0.5,
                            .units_used = 2,
                            .utilization = 0.7};
}

static void apply(const struct ll_shape_ratio *shapes, uint64_t count, struct ll_cost *cost)
{
    struct ll_machine machine = two_levels();
    const struct ll_kernel kernel = {.name = "dense", .compute_efficiency = 0.5, .bandwidth_efficiency = 0.6};
    machine.overlay_count = 1;
    machine.overlays[0] = (struct ll_overlay){"dense", shapes, count};
    struct ll_correction by = ll_overlay_of(&machine, &kernel, &product, cost);
    assert_int_equal(by.shapes, count);
    if (count > 0)
        ll_overlay_apply(&machine, &by, cost);
}

static struct ll_cost applied(const struct ll_shape_ratio *shapes, uint64_t count)
{
    struct ll_cost cost = even_cost();
    apply(shapes, count, &cost);
    return cost;
}

static void a_shape_is_told_by_its_sides(void **state)
{
    (void)state;
    struct ll_work move = {.kind = LL_WORK_MOVE, .a_bytes = 400, .c_bytes = 200};
    uint64_t shape[3];
    ll_overlay_shape(&product, shape);
    assert_true(shape[0] == 8 && shape[1] == 64 && shape[2] == 32);
    ll_overlay_shape(&move, shape);
    assert_true(shape[0] == 1 && shape[1] == 400 && shape[2] == 200);
}

static void without_shapes_nothing_changes(void **state)
{
    (void)state;
    struct ll_cost cost = applied(NULL, 0), even = even_cost();
    assert_memory_equal(&cost, &even, sizeof cost);
}

/* At the shape itself the weight is (1/16)^-1.5 = 64, beside the 1/16 of a ratio of 1. */
static void what_is_near_and_what_is_far_take_their_own_times(void **state)
{
    (void)state;
    struct ll_shape_ratio shapes = {{8, 64, 32}, 2, 3};
    struct ll_cost cost = applied(&shapes, 1);
    double near = exp(64 * log(2) / 64.0625), far = exp(64 * log(3) / 64.0625);
    assert_near(cost.compute_s, near, 1e-14);
    assert_near(cost.compute_first_s, near, 1e-14);
    assert_near(cost.level_s[0], near, 1e-14);
    assert_near(cost.overhead_s, near, 1e-14);
    assert_near(cost.level_s[1], far, 1e-14);
    assert_near(cost.level_first_s[1], far, 1e-14);
    assert_near(cost.level_wait_s[1], far, 1e-14);
}

/* Half as long and twice as long: as far away, their ratios 2 and 1/2 meet in the middle. */
static void shapes_between_take_the_mean_of_ratios(void **state)
{
    (void)state;
    struct ll_shape_ratio shapes[] = {{{4, 64, 32}, 2, 1}, {{16, 64, 32}, 0.5, 1}};
    assert_near(applied(shapes, 2).compute_s, 1, 1e-14);
    shapes[1].near = 2;
    double weight = pow(1 + 1.0 / 16, -1.5);
    assert_near(applied(shapes, 2).compute_s, exp(2 * weight * log(2) / (2 * weight + 1.0 / 16)), 1e-14);
}

/* Of the rate that the kernel reaches, half of the peak, 0.7 is in use, of bandwidths 0.6. */
static void nothing_is_faster_than_the_machine(void **state)
{
    (void)state;
    struct ll_shape_ratio shapes = {{8, 64, 32}, 0.01, 0.01};
    struct ll_cost cost = applied(&shapes, 1);
    assert_near(cost.compute_s, 0.35, 1e-14);
    assert_near(cost.level_s[0], 0.6, 1e-14);
    assert_near(cost.level_s[1], 0.6, 1e-14);
}

/* One of two at work, which both together would use 0.4, has 0.8 of its own rate. */
static void fewer_units_are_no_faster_than_their_own_peak(void **state)
{
    (void)state;
    struct ll_shape_ratio shapes = {{8, 64, 32}, 0.01, 1};
    struct ll_cost cost = even_cost();
    cost.units_used = 1;
    cost.utilization = 0.4;
    apply(&shapes, 1, &cost);
    assert_near(cost.compute_s, 0.4, 1e-14);
}

static void what_is_faster_waits_less_and_what_is_slower_no_more(void **state)
{
    (void)state;
    struct ll_shape_ratio shapes = {{8, 64, 32}, 0.25, 1};
    assert_near(applied(&shapes, 1).serial, 0.5 * exp(64 * log(0.25) / 64.0625), 1e-14);
    shapes.near = 4;
    assert_near(applied(&shapes, 1).serial, 0.5, 0);
}

static void shapes_far_away_do_not_count(void **state)
{
    (void)state;
    struct ll_shape_ratio shapes = {{UINT64_C(1) << 40, UINT64_C(1) << 40, UINT64_C(1) << 40}, 30, 30};
    assert_true(applied(&shapes, 1).compute_s < 1.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_is_told_by_its_sides),
        cmocka_unit_test(without_shapes_nothing_changes),
        cmocka_unit_test(what_is_near_and_what_is_far_take_their_own_times),
        cmocka_unit_test(shapes_between_take_the_mean_of_ratios),
        cmocka_unit_test(nothing_is_faster_than_the_machine),
        cmocka_unit_test(fewer_units_are_no_faster_than_their_own_peak),
        cmocka_unit_test(what_is_faster_waits_less_and_what_is_slower_no_more),
        cmocka_unit_test(shapes_far_away_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
