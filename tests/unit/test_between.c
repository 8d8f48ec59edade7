/* SPDX-License-Identifier: Apache-2.0 */
/* What lanes compute between products, by hand. */
#include "array_and_lanes.h"
#include "check.h"
#include "samples.h"

static const double holds_nothing_back_Bps = 1e15;

/* 4800 operations on 4 x 10 lanes of 32 bits, one a cycle of 1 ns each, are 120 ns. The product of 20 x 40
 * x 50 takes 10 ns beside them. */
static void the_softmax_within_an_attention_takes_its_lanes(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(holds_nothing_back_Bps);
    struct ll_work work = gemm_work(LL_F16, 1, 20, 40, 50);
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 10e-9, 1e-12);
    work.between = 4800;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 120e-9, 1e-12);
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).utilization, 10. / 120, 1e-12);
    machine.units[1].vector.flops[LL_F16] = 1000; /* sums are of 32 bits */
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 120e-9, 1e-12);
    machine.units[1].efficiency = 0.5;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 240e-9, 1e-12);
    machine.units[1].vector.lanes = 1000;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 10e-9, 1e-12);
}

/* 800 exponentials on 4 x 10 lanes, one in 8 cycles each, are 160 ns. */
static void exponentials_have_hardware_of_their_own(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(holds_nothing_back_Bps);
    struct ll_work work = gemm_work(LL_F16, 1, 20, 40, 50);
    work.between = 4800;
    work.specials = 800;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 120e-9, 1e-12);
    machine.units[1].vector.specials = 1. / 8;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 160e-9, 1e-12);
    machine.units[1].vector.specials = 1. / 4;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 120e-9, 1e-12);
}

/* 1025 elements of 6 operations on 40 lanes take 26 * 6 = 156 ns; of 2 special functions, one in 4 cycles on
 * each lane, 26 * 8 = 208. */
static void elements_wait_for_slow_special_functions(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(holds_nothing_back_Bps);
    struct ll_work work = {
        .kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = 1025 * 6, .vector = {.elements = 1025}};
    machine.units[1].vector.specials = 1. / 4;
    assert_near(cost_of(&machine, LL_OP_SIGMOID, &work).compute_s, 156e-9, 1e-12);
    work.specials = 1025 * 2;
    assert_near(cost_of(&machine, LL_OP_SIGMOID, &work).compute_s, 208e-9, 1e-12);
    machine.units[1].efficiency = 0.5;
    assert_near(cost_of(&machine, LL_OP_SIGMOID, &work).compute_s, 416e-9, 1e-12);
    machine.units[1].vector.specials = 1;
    assert_near(cost_of(&machine, LL_OP_SIGMOID, &work).compute_s, 312e-9, 1e-12);
}

/* Lanes that multiply cannot do it meanwhile: 40000 multiply-adds and 4800 operations, all on 40 lanes. */
static void lanes_that_multiply_do_the_softmax_behind_it(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(holds_nothing_back_Bps);
    struct ll_work work = gemm_work(LL_F32, 1, 20, 40, 50);
    work.between = 4800;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 2000e-9 + 120e-9, 1e-12);
}

/* Of 10 steps of 1 x 1000 x 100 each takes 25 ns, and 8000 operations on 40 lanes 200 ns. */
static void gates_are_computed_on_lanes_when_products_are_done(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(holds_nothing_back_Bps);
    struct ll_work work = gemm_work(LL_F16, 1, 1, 1000, 100);
    struct ll_gemm step = work.gemm;
    work.kind = LL_WORK_SEQUENCE;
    work.sequence.steps = 10;
    work.sequence.step = step;
    work.flops = work.flops * 10 + 8000;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 250e-9 + 200e-9, 1e-12);
    machine.units[1].runs_listed = true; /* nothing: no unit has lanes for them */
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 250e-9 + 1e-9, 1e-12);
}

/* With a grain of the whole work one array works, and the lanes beside it. */
static void few_units_have_few_lanes(void **state)
{
    (void)state;
    struct ll_machine machine = array_and_lanes_on(holds_nothing_back_Bps);
    struct ll_work work = gemm_work(LL_F16, 1, 20, 40, 50);
    work.between = 4800;
    machine.software.grain = (double)work.flops;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 480e-9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_softmax_within_an_attention_takes_its_lanes),
        cmocka_unit_test(exponentials_have_hardware_of_their_own),
        cmocka_unit_test(elements_wait_for_slow_special_functions),
        cmocka_unit_test(lanes_that_multiply_do_the_softmax_behind_it),
        cmocka_unit_test(gates_are_computed_on_lanes_when_products_are_done),
        cmocka_unit_test(few_units_have_few_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
