/* SPDX-License-Identifier: Apache-2.0 */
/* What a board's power leaves of a clock. */
#include "check.h"

#include "sim/cost/cost.h"
#include "toy_machine.h"

/* At 1 GHz 100 units of 10 multiply-accumulates each ask for 1e12 * 100 pJ = 100 W beside 20 W that always
 * flow. */
#define MACHINE_OF(energy)                                                                                   \
    "name: Toy\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, count: 100, macs: {f32: 10}, "         \
    "runs: [matrix]}\n  - {name: simd, model: vector, count: 100, lanes: 10, flops: {f32: 1}}\n"             \
    "memory: [{name: ram, size: 16GiB, bandwidth: 1TB/s}]\n"                                                 \
    "energy: {mac_pj: {f32: 100}, " energy "}\n"
#define MACHINE(more) MACHINE_OF("static_w: 20" more)

static const struct ll_work product = {.kind = LL_WORK_GEMM,
                                       .dtype = LL_F32,
                                       .flops = 2ull * 1000 * 1000 * 1000,
                                       .a_bytes = 4000000,
                                       .b_bytes = 4000000,
                                       .c_bytes = 4000000,
                                       .gemm = {.batch = 1, .m = 1000, .n = 1000, .k = 1000}};

static double compute_s(const char *text, enum ll_op_kind kind, const struct ll_work *work)
{
    struct ll_machine *machine = ll_toy_machine(text);
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, kind, work, &cost, NULL, &trouble));
    ll_machine_free(machine);
    return cost.compute_s;
}

static void enough_power_changes_nothing(void **state)
{
    (void)state;
    double free_s = compute_s(MACHINE(""), LL_OP_MATMUL, &product);
    assert_true(compute_s(MACHINE(", limit_w: 120"), LL_OP_MATMUL, &product) == free_s);
    assert_true(compute_s(MACHINE(", limit_w: 300"), LL_OP_MATMUL, &product) == free_s);
}

/* 40 of 100 W are left: as much of the clock, or 0.4^(1 / 1.15), 0.4508 by a pocket calculator. */
static void products_take_longer_where_power_is_short(void **state)
{
    (void)state;
    double free_s = compute_s(MACHINE(""), LL_OP_MATMUL, &product);
    assert_near(free_s / compute_s(MACHINE(", limit_w: 60"), LL_OP_MATMUL, &product), 0.4, 1e-9);
    double follows_s = compute_s(MACHINE(", limit_w: 60, power_per_clock: 1.15"), LL_OP_MATMUL, &product);
    assert_near(free_s / follows_s, 0.4508, 1e-4);
}

static void what_leaks_flows_all_the_time(void **state)
{
    (void)state;
    double given_s = compute_s(MACHINE(", limit_w: 60"), LL_OP_MATMUL, &product);
    double leaks_s = compute_s(MACHINE_OF("leakage_w_per_mm2: 0.5, limit_w: 60") "area: {fixed_mm2: 40}\n",
                               LL_OP_MATMUL, &product);
    assert_near(leaks_s, given_s, 1e-12);
}

static void other_work_keeps_the_clock(void **state)
{
    (void)state;
    struct ll_work add = {.kind = LL_WORK_VECTOR,
                          .dtype = LL_F32,
                          .flops = 1000000,
                          .a_bytes = 8000000,
                          .c_bytes = 4000000,
                          .vector = {.elements = 1000000}};
    double free_s = compute_s(MACHINE(""), LL_OP_ADD, &add);
    assert_true(compute_s(MACHINE(", limit_w: 21"), LL_OP_ADD, &add) == free_s);
}

/* Units without work draw nothing: 50 employed ones keep all of their clock, of 100 each keeps more than
 * half. */
static void units_without_work_draw_no_power(void **state)
{
    (void)state;
    double all_s = compute_s(MACHINE(", limit_w: 70, power_per_clock: 1.15") "software: {grain: 0}\n",
                             LL_OP_MATMUL, &product);
    double half_s = compute_s(MACHINE(", limit_w: 70, power_per_clock: 1.15") "software: {grain: 40000000}\n",
                              LL_OP_MATMUL, &product);
    double free_s = compute_s(MACHINE("") "software: {grain: 40000000}\n", LL_OP_MATMUL, &product);
    assert_true(half_s == free_s && all_s < half_s);
}

static void a_limit_that_leaves_nothing_is_refused(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    assert_null(ll_toy_parse(MACHINE(", limit_w: 20"), NULL, 0, &diags));
    assert_null(ll_toy_parse(MACHINE_OF("leakage_w_per_mm2: 1, limit_w: 40") "area: {fixed_mm2: 40}\n", NULL,
                             0, &diags));
    assert_int_equal(diags.count, 2);
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(diags.kept[i].message, "leaves nothing to work with"));
    ll_diags_release(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_power_changes_nothing),
        cmocka_unit_test(products_take_longer_where_power_is_short),
        cmocka_unit_test(what_leaks_flows_all_the_time),
        cmocka_unit_test(other_work_keeps_the_clock),
        cmocka_unit_test(units_without_work_draw_no_power),
        cmocka_unit_test(a_limit_that_leaves_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
