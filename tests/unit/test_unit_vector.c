/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost_parts.h"

static struct ll_kernel_config way_of(uint64_t lanes, uint64_t count, const struct ll_work *work)
{
    struct ll_unit unit = {
        .name = "lanes", .model = LL_UNIT_VECTOR, .count = count, .clock_hz = 1e9, .efficiency = 1};
    unit.vector.lanes = lanes;
    unit.vector.flops[LL_F32] = 2;
    struct ll_kernel_config way;
    struct ll_task task = ll_task_of(work, LL_F32);
    assert_true(ll_unit_model(unit.model)->way(&unit, &task, 0, &way));
    return way;
}

static struct ll_work vector_work(uint64_t elements, uint64_t each)
{
    return (struct ll_work){
        .kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = elements * each, .vector = {.elements = elements}};
}

static struct ll_work reduce_work(uint64_t in_elements, uint64_t out_elements)
{
    return (struct ll_work){.kind = LL_WORK_REDUCE,
                            .dtype = LL_F32,
                            .flops = in_elements,
                            .reduce = {in_elements, out_elements, 0}};
}

/* 1025 elements on 4 x 64 lanes are 5 vectors of 6 operations, two a cycle. */
static void the_last_vector_costs_as_much_as_a_full_one(void **state)
{
    (void)state;
    struct ll_work work = vector_work(1025, 6);
    assert_near(way_of(64, 4, &work).cycles, 5 * 6 / 2.0, 1e-15);
    assert_int_equal(way_of(64, 4, &work).units_used, 4);
}

static void few_elements_keep_few_units_busy(void **state)
{
    (void)state;
    struct ll_work work = vector_work(3, 1);
    assert_int_equal(way_of(64, 4, &work).units_used, 3);
    work = reduce_work(3, 1);
    assert_int_equal(way_of(64, 4, &work).units_used, 3);
    work = reduce_work(1000, 1);
    assert_int_equal(way_of(64, 4, &work).units_used, 4);
}

/* 1024 elements on 256 lanes: 4 vectors, then 8 halvings. */
static void lanes_of_one_result_join_in_a_tree(void **state)
{
    (void)state;
    struct ll_work work = reduce_work(1024, 1);
    assert_near(way_of(64, 4, &work).cycles, (4 + 8) / 2.0, 1e-15);
}

static void with_a_result_for_each_lane_there_is_no_tree(void **state)
{
    (void)state;
    struct ll_work work = reduce_work(1024, 256);
    assert_near(way_of(64, 4, &work).cycles, 4 / 2.0, 1e-15);
}

static void more_lanes_never_slow_a_reduction(void **state)
{
    (void)state;
    for (uint64_t elements = 1; elements < 70; elements++)
        for (uint64_t results = 1; results <= elements; results++) {
            struct ll_work work = reduce_work(elements, results);
            double before = INFINITY;
            for (uint64_t lanes = 1; lanes < 90; lanes++) {
                double cycles = way_of(lanes, 1, &work).cycles;
                assert_true(cycles <= before);
                before = cycles;
            }
        }
}

static void bytes_that_only_move_take_no_cycle(void **state)
{
    (void)state;
    struct ll_work work = {.kind = LL_WORK_MOVE, .dtype = LL_I64, .a_bytes = 1000, .c_bytes = 1000};
    assert_near(way_of(64, 4, &work).cycles, 0, 0);
}

/* 10 x 20 x 30 products on 64 lanes, a multiply-accumulate a cycle. A row of 20 outputs lies on the lanes, so
 * A is read once and B for each of the 10 rows. */
static void products_run_one_a_lane(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 1, 10, 20, 30);
    struct ll_kernel_config way = way_of(64, 1, &work);
    assert_near(way.cycles, 94, 1e-15); /* ceil(6000 / 64) */
    assert_near(way.unit_bytes, 4 * (10 * 30 + 10 * 30 * 20 + 10 * 20), 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_vector_costs_as_much_as_a_full_one),
        cmocka_unit_test(few_elements_keep_few_units_busy),
        cmocka_unit_test(lanes_of_one_result_join_in_a_tree),
        cmocka_unit_test(with_a_result_for_each_lane_there_is_no_tree),
        cmocka_unit_test(more_lanes_never_slow_a_reduction),
        cmocka_unit_test(bytes_that_only_move_take_no_cycle),
        cmocka_unit_test(products_run_one_a_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
