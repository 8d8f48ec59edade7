/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

#include <math.h>

/* 100 units of 512 products a cycle, 20 cycles to fill; memory fast enough not to matter. */
static struct ll_machine cores(uint64_t tile_count, const struct ll_tile *tiles)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 1};
    machine.levels[0] =
        (struct ll_level){.name = "memory", .size_bytes = 1 << 20, .bandwidth_Bps = 1e30, .efficiency = 1};
    machine.units[0] = (struct ll_unit){
        .name = "cores", .model = LL_UNIT_MATRIX, .count = 100, .clock_hz = 1e9, .efficiency = 1};
    struct ll_matrix *matrix = &machine.units[0].matrix;
    matrix->macs[LL_F16] = 512;
    matrix->fill_cycles = 20;
    matrix->tile_count = tile_count;
    for (uint64_t i = 0; i < tile_count; i++)
        matrix->tiles[i] = tiles[i];
    return machine;
}

static struct ll_cost cost_of_work(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    return cost;
}

static struct ll_cost cost_of(const struct ll_machine *machine, uint64_t batch, uint64_t m, uint64_t n,
                              uint64_t k)
{
    struct ll_work work = gemm_work(LL_F16, batch, m, n, k);
    return cost_of_work(machine, &work);
}

static const struct ll_tile large = {128, 128, 32}, small = {32, 32, 32};

/* 101 tiles on 100 units are two waves. */
static void the_last_wave_costs_as_much_as_a_full_one(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    double wave = 128 * 128 * 64 / 512.0 + 20;
    assert_near(cost_of(&machine, 100, 128, 128, 64).compute_cycles, wave, 1e-15);
    assert_near(cost_of(&machine, 101, 128, 128, 64).compute_cycles, 2 * wave, 1e-15);
}

static void a_partial_tile_costs_a_full_one(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    assert_near(cost_of(&machine, 100, 1, 1, 33).compute_cycles,
                cost_of(&machine, 100, 128, 128, 64).compute_cycles, 1e-15);
}

/* 40 large tiles leave 60 units idle; 640 small ones keep them busy for 7 waves of a sixteenth. */
static void the_menu_offers_the_tile_that_fits_the_work(void **state)
{
    (void)state;
    struct ll_machine machine = cores(2, (struct ll_tile[]){large, small});
    struct ll_cost cost = cost_of(&machine, 40, 128, 128, 32);
    assert_near(cost.compute_cycles, 7 * (32 * 32 * 32 / 512.0 + 20), 1e-15);
    assert_int_equal(cost.units_used, 100);
    assert_near(cost_of(&machine, 100, 128, 128, 32).compute_cycles, 128 * 128 * 32 / 512.0 + 20, 1e-15);
}

/* One tile of output and k = 32 * 1024: 64 parts of 512 run at once. 128 would not fit in a wave. */
static void a_long_k_is_shared_by_idle_units(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    struct ll_cost cost = cost_of(&machine, 1, 128, 128, 32768);
    assert_near(cost.compute_cycles, 128 * 128 * 512 / 512.0 + 20, 1e-15);
    assert_int_equal(cost.units_used, 64);
    assert_int_equal(cost_of(&machine, 1, 128, 128, 64).units_used, 2); /* k has no more than two steps */
    double result = 128 * 128 * 2, sums = 64 * 2 * result, operands = 2 * 128 * 32768 * 2;
    assert_near(cost.level_bytes[0], operands + sums + (sums + result), 1e-15); /* out, back, and their sum */
}

/* A step of k of a 128 x 128 tile takes 32 cycles to multiply and (128 + 128) * 2 / 64 = 8 to take in; of a
 * 32 x 32 tile 2 and 2. */
static void a_small_tile_spends_more_of_its_time_on_taking_operands_in(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    machine.units[0].matrix.feed = 64;
    assert_near(cost_of(&machine, 100, 128, 128, 64).compute_cycles, 64 * (32 + 8) + 20, 1e-15);
    machine.units[0].matrix.tiles[0] = small;
    assert_near(cost_of(&machine, 100, 32, 32, 64).compute_cycles, 64 * (2 + 2) + 20, 1e-15);
}

/* With 3000 cycles to join, 64 parts of 512 steps still pay off against one of 32768, for k = 64 two do not.
 */
static void units_share_k_only_where_joining_pays_off(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    machine.units[0].matrix.split_k_reduce_cycles = 3000;
    assert_near(cost_of(&machine, 1, 128, 128, 32768).compute_cycles, 32 * 512 + 20 + 3000, 1e-15);
    assert_int_equal(cost_of(&machine, 1, 128, 128, 64).units_used, 1);
}

/* 16 rows fit the tile of few rows, whose 64 columns take two of its tiles, side by side; 17 do not. */
static void few_rows_go_by_tiles_of_their_own(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    struct ll_matrix *matrix = &machine.units[0].matrix;
    matrix->few_rows_tiles[0] = (struct ll_tile){8, 64, 32};
    matrix->few_rows_tiles[1] = (struct ll_tile){16, 32, 32};
    matrix->few_rows_tile_count = 2;
    struct ll_cost cost = cost_of(&machine, 1, 16, 64, 32);
    assert_near(cost.compute_cycles, 16 * 32 * 32 / 512.0 + 20, 1e-15);
    assert_int_equal(cost.units_used, 2);
    assert_near(cost_of(&machine, 1, 8, 64, 32).compute_cycles, 8 * 64 * 32 / 512.0 + 20, 1e-15);
    assert_near(cost_of(&machine, 1, 17, 64, 32).compute_cycles, 128 * 128 * 32 / 512.0 + 20, 1e-15);
}

/* Rows of 8192 halves, of which a quarter is in reach: of 100 tiles, one row of them, each fetches its own
 * 128 rows of b, and while all are in step a hundredth of the 128 rows of a, at 1e10 rows a second. */
static void rows_out_of_reach_are_waited_for(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    struct ll_matrix *matrix = &machine.units[0].matrix;
    struct ll_work work = gemm_work(LL_F16, 1, 128, 12800, 8192);
    const double steps = 8192 / 32, multiply = 128 * 128 * 32 / 512.0, far = 0.75;
    work.along_k = LL_LINES_OF_A | LL_LINES_OF_B;
    matrix->strided_reach_bytes = 4096;
    assert_near(cost_of_work(&machine, &work).compute_cycles, steps * multiply + 20, 1e-15);
    matrix->strided_rate_hz = 1e10;
    assert_near(cost_of_work(&machine, &work).compute_cycles, steps * 100 * far * 256 / 10 + 20, 1e-12);
    matrix->strided_drift = 8192; /* so far do they go: in step for 1 / sqrt 2 */
    double missed = 128 * (1 - 0.99 / sqrt(2));
    assert_near(cost_of_work(&machine, &work).compute_cycles, steps * 100 * far * (128 + missed) / 10 + 20,
                1e-12);
    work.along_k = LL_LINES_OF_A; /* which a tile of its own fetches less often than it multiplies */
    double alone = 100 * far * missed / 10;
    assert_near(cost_of_work(&machine, &work).compute_cycles, steps * fmax(multiply, alone) + 20, 1e-12);
    work.along_k = 0;
    assert_near(cost_of_work(&machine, &work).compute_cycles, steps * multiply + 20, 1e-15);
}

static void without_a_menu_the_work_is_dealt_evenly(void **state)
{
    (void)state;
    struct ll_machine machine = cores(0, NULL);
    assert_near(cost_of(&machine, 3, 77, 55, 11).compute_cycles, 3 * 77 * 55 * 11 / 51200.0 + 20, 1e-15);
}

/* By rows, columns and products: what each of so many gets. */
static void shares_are_cut_so_that_least_is_loaded(void **state)
{
    static const struct {
        struct ll_gemm dims;
        uint64_t count;
        struct ll_gemm share;
        uint64_t used;
    } cuts[] = {{{1, 8, 1024, 512}, 2, {1, 8, 512, 512}, 2}, /* twice the few rows, not all columns twice */
                {{1, 1024, 8, 512}, 2, {1, 512, 8, 512}, 2}, /* the same, turned */
                {{1, 64, 64, 7}, 16, {1, 16, 16, 7}, 16},    /* squares of a square */
                {{1, 64, 256, 7}, 16, {1, 32, 32, 7}, 16},   /* and of what is none */
                {{6, 64, 256, 7}, 4, {2, 64, 256, 7}, 3},    /* whole products */
                {{2, 64, 256, 7}, 32, {1, 32, 32, 7}, 32},   /* then parts of each */
                {{1, 64, 64, 7}, 8, {1, 16, 32, 7}, 8},      /* not 6 of 8 in nearer squares */
                {{1, 64, 64, 7}, 3, {1, 22, 64, 7}, 3},      /* nor 2 of 3 */
                {{1, 64, 128, 7}, 4, {1, 32, 64, 7}, 4},     {{1, 1, 1, 7}, 32, {1, 1, 1, 7}, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct ll_split split = ll_split_evenly(&cuts[i].dims, cuts[i].count);
        assert_memory_equal(&split.share, &cuts[i].share, sizeof split.share);
        assert_int_equal(split.used, cuts[i].used);
    }
}

static void no_other_cut_lets_a_share_load_less(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        struct ll_gemm dims = {1, 1 + i * 7919 % 97, 1 + i * 104729 % 101, 7};
        uint64_t count = 1 + i % 67;
        struct ll_gemm share = ll_split_evenly(&dims, count).share;
        for (uint64_t columns = 1; columns <= count; columns++) {
            struct ll_gemm other = ll_split(&dims, 1, count / columns, columns, 1, 1).share;
            assert_true(share.m + share.n <= other.m + other.n);
        }
    }
}

/* A tile of 128 x 128 reads a line of each operand for every 128 products: m n k / 128 elements of each. */
static void larger_tiles_read_operands_less_often(void **state)
{
    (void)state;
    struct ll_machine machine = cores(1, &large);
    assert_near(cost_of(&machine, 1, 1024, 2048, 512).level_bytes[0],
                2 * (1024.0 * 512 * 2048 / 128 + 512.0 * 2048 * 1024 / 128 + 1024 * 2048), 1e-15);
}

/* Twelve parts of a product of 2 x 8 x 9 x 10 that has 2-byte elements: a batch of one, 4 x 3 x 5 of it. Each
 * passes its own operands so often. */
static void units_ask_for_the_operands_of_their_shares(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F16, 2, 8, 9, 10);
    struct ll_task task = ll_task_of(&work, LL_F16);
    const struct ll_gemm share = {1, 4, 3, 5};
    const double passes[LL_OPERAND_COUNT] = {3, 2, 7};
    double by_operand[LL_OPERAND_COUNT], sum = ll_unit_bytes(&task, &share, 12, passes, by_operand);
    assert_near(by_operand[LL_OPERAND_A], 12 * 3 * 2 * 4 * 5, 1e-12);
    assert_near(by_operand[LL_OPERAND_B], 12 * 2 * 2 * 5 * 3, 1e-12);
    assert_near(by_operand[LL_OPERAND_C], 12 * 7 * 2 * 4 * 3, 1e-12);
    assert_near(sum, 12 * 2 * (3 * 20 + 2 * 15 + 7 * 12), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_wave_costs_as_much_as_a_full_one),
        cmocka_unit_test(a_partial_tile_costs_a_full_one),
        cmocka_unit_test(the_menu_offers_the_tile_that_fits_the_work),
        cmocka_unit_test(a_long_k_is_shared_by_idle_units),
        cmocka_unit_test(a_small_tile_spends_more_of_its_time_on_taking_operands_in),
        cmocka_unit_test(units_share_k_only_where_joining_pays_off),
        cmocka_unit_test(few_rows_go_by_tiles_of_their_own),
        cmocka_unit_test(rows_out_of_reach_are_waited_for),
        cmocka_unit_test(without_a_menu_the_work_is_dealt_evenly),
        cmocka_unit_test(shares_are_cut_so_that_least_is_loaded),
        cmocka_unit_test(no_other_cut_lets_a_share_load_less),
        cmocka_unit_test(larger_tiles_read_operands_less_often),
        cmocka_unit_test(units_ask_for_the_operands_of_their_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
