/* SPDX-License-Identifier: Apache-2.0 */
/* What lanes compute between products, by hand. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

/* Four arrays of 1000 multiply-accumulates in f16 and four times ten lanes of one operation, a cycle of 1
 * ns; a memory that holds nothing back. */
static struct ll_machine simple(void)
{
    struct ll_machine machine = {.unit_count = 2, .level_count = 1};
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
    machine.levels[0] =
        (struct ll_level){.name = "outer", .size_bytes = 1000000000, .bandwidth_Bps = 1e15, .efficiency = 1};
    return machine;
}

static struct ll_cost cost_of(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, NULL, &trouble));
    return cost;
}

/* 4800 operations on 4 x 10 lanes of 32 bits, one a cycle of 1 ns each, are 120 ns. The product of 20 x 40
 * x 50 takes 10 ns beside them. */
static void the_softmax_within_an_attention_takes_its_lanes(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = gemm_work(LL_F16, 1, 20, 40, 50);
    assert_near(cost_of(&machine, &work).compute_s, 10e-9, 1e-12);
    work.between = 4800;
    assert_near(cost_of(&machine, &work).compute_s, 120e-9, 1e-12);
    assert_near(cost_of(&machine, &work).utilization, 10. / 120, 1e-12);
    machine.units[1].vector.flops[LL_F16] = 1000; /* sums are of 32 bits */
    assert_near(cost_of(&machine, &work).compute_s, 120e-9, 1e-12);
    machine.units[1].efficiency = 0.5;
    assert_near(cost_of(&machine, &work).compute_s, 240e-9, 1e-12);
    machine.units[1].vector.lanes = 1000;
    assert_near(cost_of(&machine, &work).compute_s, 10e-9, 1e-12);
}

/* Lanes that multiply cannot do it meanwhile: 40000 multiply-adds and 4800 operations, all on 40 lanes. */
static void lanes_that_multiply_do_the_softmax_behind_it(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = gemm_work(LL_F32, 1, 20, 40, 50);
    work.between = 4800;
    assert_near(cost_of(&machine, &work).compute_s, 2000e-9 + 120e-9, 1e-12);
}

/* Of 10 steps of 1 x 1000 x 100 each takes 25 ns, and 8000 operations on 40 lanes 200 ns. */
static void gates_are_computed_on_lanes_when_products_are_done(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = gemm_work(LL_F16, 1, 1, 1000, 100);
    struct ll_gemm step = work.gemm;
    work.kind = LL_WORK_SEQUENCE;
    work.sequence.steps = 10;
    work.sequence.step = step;
    work.flops = work.flops * 10 + 8000;
    assert_near(cost_of(&machine, &work).compute_s, 250e-9 + 200e-9, 1e-12);
    machine.units[1].runs_listed = true; /* nothing: no unit has lanes for them */
    assert_near(cost_of(&machine, &work).compute_s, 250e-9 + 1e-9, 1e-12);
}

/* With a grain of the whole work one array works, and the lanes beside it. */
static void few_units_have_few_lanes(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = gemm_work(LL_F16, 1, 20, 40, 50);
    work.between = 4800;
    machine.software.grain = (double)work.flops;
    assert_near(cost_of(&machine, &work).compute_s, 480e-9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_softmax_within_an_attention_takes_its_lanes),
        cmocka_unit_test(lanes_that_multiply_do_the_softmax_behind_it),
        cmocka_unit_test(gates_are_computed_on_lanes_when_products_are_done),
        cmocka_unit_test(few_units_have_few_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
