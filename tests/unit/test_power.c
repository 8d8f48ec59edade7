/* SPDX-License-Identifier: Apache-2.0 */
/* What a board's power leaves of a clock. */
#include "check.h"

#include "sim/cost/cost.h"
#include "toy_machine.h"

/* At 1 GHz 100 units of 10 multiply-accumulates each ask for 1e12 * 100 pJ = 100 W beside 20 W that always
 * flow. */
#define MACHINE_WITH(array, bandwidth, energy)                                                               \
    "name: Toy\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, " array ", runs: [matrix]}\n"          \
    "  - {name: simd, model: vector, count: 100, lanes: 10, flops: {f32: 1}}\n"                              \
    "memory: [{name: ram, size: 16GiB, bandwidth: " bandwidth "}]\n"                                         \
    "energy: {mac_pj: {f32: 100}, " energy "}\n"
#define ARRAY "count: 100, macs: {f32: 10}"
#define ONE_UNIT "count: 1, macs: {f32: 1000}"
#define MACHINE_OF(energy) MACHINE_WITH(ARRAY, "1TB/s", energy)
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
    assert_true(ll_cost_op(machine, kind, work, &cost, &trouble));
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

/* At half the rate half the power: 50 W are enough. */
static void what_waits_draws_no_power(void **state)
{
    (void)state;
    static const char slow[] =
        "software: {kernels: [{name: slow, ops: [matmul], compute_efficiency: 0.5}]}\n";
    char limited[1024], unlimited[1024];
    snprintf(limited, sizeof limited, "%s%s", MACHINE(", limit_w: 75"), slow);
    snprintf(unlimited, sizeof unlimited, "%s%s", MACHINE(""), slow);
    double free_s = compute_s(unlimited, LL_OP_MATMUL, &product);
    assert_near(free_s, 2e-3, 1e-12);
    assert_true(compute_s(limited, LL_OP_MATMUL, &product) == free_s);
}

/* 1000 rows and columns in tiles of 128 are 8 x 8 tiles, 1.048576 times as much: 104.8576 W are asked for. */
static void whole_tiles_draw_power(void **state)
{
    (void)state;
#define TILED "count: 64, macs: {f32: 10}, tiles: [128x128x8]"
    const char *text = MACHINE_WITH(TILED, "1TB/s", "static_w: 20");
    assert_near(compute_s(text, LL_OP_MATMUL, &product), 128 * 128 * 1000 / 10 * 1e-9, 1e-12);
    text = MACHINE_WITH(TILED, "1TB/s", "static_w: 20, limit_w: 60");
    assert_near(compute_s(text, LL_OP_MATMUL, &product), 0.1048576 / 40, 1e-12);
}

/* Though the loads of a step do not become faster with it, nor what begins a tile. */
static void a_higher_rate_is_never_slower(void **state)
{
    (void)state;
    static const char *const rates[] = {"10", "11", "20", "1000"};
    static const char *const exponents[] = {"1", "1.15", "3"};
    for (int e = 0; e < 3; e++) {
        double last_s = INFINITY;
        for (int r = 0; r < 4; r++) {
            char text[1024];
            snprintf(text, sizeof text,
                     MACHINE_WITH("count: 64, macs: {f32: %s}, tiles: [128x128x8, 64x64x8], feed: 100, "
                                  "step_cycles: 20, fill_cycles: 300",
                                  "1TB/s", "static_w: 20, limit_w: 60, power_per_clock: %s"),
                     rates[r], exponents[e]);
            double now_s = compute_s(text, LL_OP_MATMUL, &product);
            assert_true(now_s <= last_s * (1 + 1e-12) && now_s > 0);
            last_s = now_s;
        }
    }
}

/* 12 MB at 2 GB/s take 6 ms, longer than the arithmetic at 40 W. One unit, as fast as the hundred: these
 * would each load operands of their own. */
static void behind_a_slower_memory_power_costs_nothing(void **state)
{
    (void)state;
    struct ll_machine *machines[] = {
        ll_toy_machine(MACHINE_WITH(ONE_UNIT, "2GB/s", "static_w: 20")),
        ll_toy_machine(MACHINE_WITH(ONE_UNIT, "2GB/s", "static_w: 20, limit_w: 60")),
    };
    double time_s[2];
    for (int i = 0; i < 2; i++) {
        struct ll_cost cost;
        struct ll_timing timing;
        const char *trouble;
        assert_true(ll_cost_op(machines[i], LL_OP_MATMUL, &product, &cost, &trouble));
        ll_cost_time(machines[i], &cost, NULL, &timing);
        assert_near(cost.compute_s, i ? 2.5e-3 : 1e-3, 1e-12);
        time_s[i] = timing.time_s;
        ll_machine_free(machines[i]);
    }
    assert_true(time_s[0] == time_s[1] && time_s[0] >= 6e-3);
}

/* 12 MB at 5 nJ each are 60 mJ beside the 100 mJ of the arithmetic: 160 W are asked for, of which 40 are
 * left. */
static void what_the_memory_draws_is_gone(void **state)
{
    (void)state;
#define MEMORY(limit) MACHINE_WITH(ONE_UNIT, "1TB/s", "static_w: 20, off_chip_pj: 5000, limit_w: " limit)
    static const char text[] = MEMORY("60"), bytes_alone[] = MEMORY("180");
    assert_near(compute_s(text, LL_OP_MATMUL, &product), 4e-3, 1e-12);
    assert_near(compute_s(bytes_alone, LL_OP_MATMUL, &product), 1e-3, 1e-12);
}

/* 12 MB out of the cache, and 12 MB that come into it on their way from memory or leave it on their way
 * there, at 1 nJ each, are 24 mJ beside the 100 mJ of the arithmetic. */
static void what_a_cache_draws_is_gone(void **state)
{
    (void)state;
    static const char cached[] =
        "name: Toy\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, " ONE_UNIT ", runs: [matrix]}\n"
        "  - {name: simd, model: vector, count: 100, lanes: 10, flops: {f32: 1}}\n"
        "memory:\n  - {name: cache, size: 64MiB, bandwidth: 1TB/s}\n"
        "  - {name: ram, size: 16GiB, bandwidth: 1TB/s}\n"
        "energy: {mac_pj: {f32: 100}, cache_pj_per_byte: 1000, static_w: 20, limit_w: 60}\n";
    assert_near(compute_s(cached, LL_OP_MATMUL, &product), 0.124 / 40, 1e-12);
}

/* Units without work draw nothing: 50 employed ones keep all of their clock, of 100 each keeps more than
 * half. */
static void units_without_work_draw_no_power(void **state)
{
    (void)state;
    double all_s = compute_s(MACHINE(", limit_w: 75, power_per_clock: 1.15") "software: {grain: 0}\n",
                             LL_OP_MATMUL, &product);
    double half_s = compute_s(MACHINE(", limit_w: 75, power_per_clock: 1.15") "software: {grain: 40000000}\n",
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
        cmocka_unit_test(what_waits_draws_no_power),
        cmocka_unit_test(whole_tiles_draw_power),
        cmocka_unit_test(a_higher_rate_is_never_slower),
        cmocka_unit_test(behind_a_slower_memory_power_costs_nothing),
        cmocka_unit_test(what_the_memory_draws_is_gone),
        cmocka_unit_test(what_a_cache_draws_is_gone),
        cmocka_unit_test(units_without_work_draw_no_power),
        cmocka_unit_test(a_limit_that_leaves_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
