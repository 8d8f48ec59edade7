/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of levels with scope, ports and operands that pass by, with numbers worked out by hand. The unit is
 * a 4 x 4 output stationary array: of a product of 8 x 8 x 8 bytes it asks for A twice, B twice, C once. */
#include "check.h"
#include "samples.h"

#include <math.h>

#include "sim/cost/cost_parts.h"
#include "sim/cost/cost.h"

static struct ll_machine machine_of(uint64_t units)
{
    struct ll_machine machine = {.name = "test", .unit_count = 1, .level_count = 3};
    struct ll_unit *unit = &machine.units[0];
    *unit = (struct ll_unit){.name = "array",
                             .model = LL_UNIT_SYSTOLIC,
                             .count = units,
                             .clock_hz = 1e9,
                             .efficiency = 1,
                             .systolic = {.rows = 4, .cols = 4, .dataflow = LL_OUTPUT_STATIONARY}};
    unit->systolic.macs[LL_INT8] = unit->systolic.macs[LL_F32] = 1;
    static const char *const names[] = {"near", "mid", "far"};
    for (uint64_t l = 0; l < 3; l++)
        machine.levels[l] = (struct ll_level){.name = names[l],
                                              .size_bytes = UINT64_C(1) << (12 + 4 * l),
                                              .bandwidth_Bps = 1e9,
                                              .efficiency = 1,
                                              .scope = l < 1 ? LL_SCOPE_UNIT : LL_SCOPE_DEVICE};
    return machine;
}

static struct ll_cost cost_of_work(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    return cost;
}

static struct ll_cost cost_of(const struct ll_machine *machine)
{
    struct ll_work work = gemm_work(LL_INT8, 1, 8, 8, 8);
    return cost_of_work(machine, &work);
}

static void hold_only(struct ll_level *level, enum ll_operand operand)
{
    level->holds_given = true;
    level->holds[operand] = true;
}

static void what_passes_by_a_level_comes_from_further_out_as_often_as_the_unit_asks(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(1);
    struct ll_cost all = cost_of(&machine);
    assert_near(all.level_bytes[0], 2 * 64 + 2 * 64 + 64, 0);
    assert_near(all.level_bytes[1], 3 * 64, 0); /* all of it fits into `near` */
    hold_only(&machine.levels[0], LL_OPERAND_B);
    struct ll_cost some = cost_of(&machine);
    assert_near(some.level_bytes[0], 2 * 64, 0);
    assert_near(some.level_bytes[1], 2 * 64 + 64 + 64,
                0); /* A passes by, B does not, C leaves the unit once */
    assert_near(some.level_bytes[2], 3 * 64, 0);
}

static void each_operand_has_its_part_of_the_traffic(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(1);
    struct ll_cost all = cost_of(&machine);
    static const double of[LL_OPERAND_COUNT] = {2 * 64, 2 * 64, 64};
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        assert_near(all.level_of[0][i], of[i], 0);
        assert_near(all.level_of[1][i], 64, 0);
    }
    hold_only(&machine.levels[0], LL_OPERAND_B);
    struct ll_cost some = cost_of(&machine);
    assert_near(some.level_of[0][LL_OPERAND_A], 0, 0);
    assert_near(some.level_of[0][LL_OPERAND_B], 2 * 64, 0);
    assert_near(some.level_of[1][LL_OPERAND_A], 2 * 64, 0);
}

static void results_are_what_is_written(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(1);
    struct ll_cost cost = cost_of(&machine);
    for (uint64_t l = 0; l < 3; l++)
        assert_near(cost.level_written[l], 64, 0);
}

/* 256 B in at 0.5 GB/s take longer than 320 B in both directions at 1 GB/s. */
static void a_slow_port_sets_the_pace(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(1);
    machine.levels[0].read_Bps = 0.5e9;
    assert_near(cost_of(&machine).level_s[0], 256 / 0.5e9, 1e-12);
    machine.levels[0].write_Bps = 0.1e9;
    assert_near(cost_of(&machine).level_s[0], 64 / 0.1e9, 1e-12);
}

/* Half of `near` is blocked for what bytes out of `mid` cost, of which those that are read pass a narrow
 * port: now and then partial sums that come and go are better than operands read again. */
static void the_blocking_is_the_one_that_the_ports_make_cheapest(void **state)
{
    (void)state;
    struct dice dice = {64};
    int other = 0;
    for (int i = 0; i < 200; i++) {
        struct ll_machine machine = machine_of(1);
        machine.levels[1].read_Bps = 0.05e9;
        struct ll_work work =
            gemm_work(LL_F32, 1, roll_size(&dice, 9000), roll_size(&dice, 9000), roll_size(&dice, 9000));
        struct ll_problem problem = {.dims = work.gemm, .element = {4, 4, 4}};
        struct ll_tiling plain = ll_tile(&problem, 2048);
        problem.toll.read = 20;
        struct ll_tiling cheapest = ll_tile(&problem, 2048);
        assert_near(cost_of_work(&machine, &work).level_s[1], cheapest.price / 1e9, 1e-12);
        other += plain.written < cheapest.written;
    }
    assert_true(other > 0);
}

static void a_level_of_a_cluster_has_one_instance_for_each(void **state)
{
    (void)state;
    struct ll_level level = {.scope = LL_SCOPE_CLUSTER, .share = 4};
    assert_int_equal(ll_level_instances(&level, 1), 1);
    assert_int_equal(ll_level_instances(&level, 8), 2);
    assert_int_equal(ll_level_instances(&level, 9), 3);
    level.scope = LL_SCOPE_UNIT;
    assert_int_equal(ll_level_instances(&level, 9), 9);
    level.scope = LL_SCOPE_DEVICE;
    assert_int_equal(ll_level_instances(&level, 9), 1);
}

/* Four units work on a quarter of the output each, since they are slow. Two of them have A in common, and two
 * B: what two units of a cluster share passes into it once. */
static void units_of_a_cluster_fetch_once_what_they_have_in_common(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(4);
    machine.units[0].clock_hz = 1e6;
    double alone = cost_of(&machine).level_bytes[1];
    assert_near(alone, 4 * (32 + 32 + 16), 0);
    machine.levels[0].scope = LL_SCOPE_CLUSTER;
    machine.levels[0].share = 2;
    assert_near(cost_of(&machine).level_bytes[1], 2 * (32 + 64 + 32), 0);
    machine.levels[0].share = 4;
    assert_near(cost_of(&machine).level_bytes[1], 3 * 64, 0);
}

/* A unit without tiles takes what there is room for: of 8 x 8 results 3 x 3 with a line of 3 of A and of B in
 * 16 bytes, so that A and B come three times; in 80 all of B with a line of A and of the result. Through one
 * byte each product fetches its own operands: 512 of A and of B. */
static void into_a_small_memory_a_unit_without_tiles_loads_its_operands_again(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(1);
    machine.units[0] = (struct ll_unit){
        .name = "ideal", .model = LL_UNIT_MATRIX, .count = 1, .clock_hz = 1e9, .efficiency = 1};
    machine.units[0].matrix.macs[LL_INT8] = 1;
    machine.levels[0].size_bytes = 2 * (64 + 8 + 8);
    assert_near(cost_of(&machine).level_bytes[1], 3 * 64, 0);
    machine.levels[0].size_bytes = 2 * 16;
    assert_near(cost_of(&machine).level_bytes[1], 3 * 64 + 3 * 64 + 64, 0);
    machine.levels[0].size_bytes = 1;
    assert_true(cost_of(&machine).level_bytes[1] >= 512 + 512 + 64);
}

/* What fills a level without a second buffer waits, so that both stages add up. */
static void without_a_second_buffer_filling_waits(void **state)
{
    (void)state;
    struct ll_machine machine = machine_of(1);
    struct ll_timing overlapped, waiting;
    struct ll_cost cost = cost_of(&machine);
    ll_cost_time(&machine, &cost, NULL, &overlapped);
    machine.levels[1].buffering = LL_BUFFER_SINGLE;
    cost = cost_of(&machine);
    ll_cost_time(&machine, &cost, NULL, &waiting);
    assert_near(waiting.time_s - overlapped.time_s, cost.level_s[2] - cost.level_first_s[2], 1e-9);
}

/* A unit that asks for A twice, B four times and C once has blocks of 2 x 4 of the 8 x 8 results. */
static void what_passes_by_bounds_the_blocks_of_the_others(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 1, 8, 8, 4);
    struct ll_task task = ll_task_of(&work, LL_F32);
    struct ll_machine machine = machine_of(6);
    struct ll_kernel_config way = {
        .units_used = 6, .share = work.gemm, .shares = 1, .asked_bytes = {2 * 128, 4 * 128, 256}};
    struct ll_port_cost none = {0}, toll = {0};
    ll_bind_blocks(&machine, &task, &way, 0, &toll);
    assert_memory_equal(&toll, &none, sizeof toll);

    hold_only(&machine.levels[0], LL_OPERAND_C); /* both others go to the unit */
    ll_bind_blocks(&machine, &task, &way, 0, &toll);
    assert_true(toll.roomless[LL_OPERAND_A] && toll.roomless[LL_OPERAND_B] && !toll.roomless[LL_OPERAND_C]);
    assert_true(toll.rows == 2 && toll.columns == 4 && toll.most_sums == 0);

    /* Results are summed up in the near memory of each unit: half of 4096 bytes, six times. */
    toll = none;
    hold_only(&machine.levels[1], LL_OPERAND_A);
    ll_bind_blocks(&machine, &task, &way, 1, &toll);
    assert_true(toll.rows == 2 && toll.columns == 0 && toll.most_sums == 6.0 * 2048 / 4);

    /* And here in the units, by 2 x 4 each. */
    machine.levels[0] = machine_of(6).levels[0];
    hold_only(&machine.levels[0], LL_OPERAND_A);
    ll_bind_blocks(&machine, &task, &way, 0, &toll);
    assert_true(toll.rows == 2 && toll.most_sums == 8);
    ll_bind_blocks(&machine, &task, &way, 1, &toll);
    assert_true(toll.most_sums == 6 * 8);
}

/* A large product through a near memory that lets results by: with more of k than it has room for, it is no
 * help, for the array sums up 4 x 4 results to the end before others. */
static void a_memory_that_lets_results_by_saves_nothing_that_the_unit_would_undo(void **state)
{
    (void)state;
    struct ll_machine all = machine_of(1), without = all;
    hold_only(&without.levels[0], LL_OPERAND_A);
    hold_only(&without.levels[0], LL_OPERAND_B);
    struct ll_work work = gemm_work(LL_INT8, 1, 256, 256, 4096);
    struct ll_cost kept = cost_of_work(&all, &work), passed = cost_of_work(&without, &work);
    assert_true(kept.level_bytes[1] < passed.level_bytes[1]);
    assert_near(passed.level_bytes[1], 2 * 64 * 256 * 4096 + 256 * 256, 0);
    work = gemm_work(LL_INT8, 1, 256, 256, 64); /* 2048 bytes are 31 rows of A with all of k and one of B */
    passed = cost_of_work(&without, &work);
    assert_near(passed.level_bytes[1], 256 * 64 + 9 * 256 * 64 + 256 * 256, 0);
}

/* Ten steps of a layer of 64 x 64 weights: with its other operands, 128 bytes a step, it just fits. A memory
 * of software's needs as much again for the next block; a cache of one way has lost all but e^-1 of the
 * weights when they come again, and one of two ways all but 3 e^-2. */
static void a_cache_loses_weights_bit_by_bit(void **state)
{
    (void)state;
    const struct ll_work work = {.kind = LL_WORK_SEQUENCE,
                                 .dtype = LL_INT8,
                                 .flops = 10 * 2 * 64 * 64,
                                 .a_bytes = 640,
                                 .b_bytes = 4096,
                                 .c_bytes = 640,
                                 .sequence = {.step = {1, 1, 64, 64}, .steps = 10}};
    const struct {
        bool is_cache;
        uint64_t ways;
        double again;
    } cases[] = {{false, 0, 1}, {true, 0, 1}, {true, 1, 1 - exp(-1)}, {true, 2, 1 - 3 * exp(-2)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_machine machine = machine_of(1);
        machine.levels[0].size_bytes = 64;
        machine.levels[1].size_bytes = 4096 + 128;
        machine.levels[1].cache_given = cases[i].is_cache;
        machine.levels[1].cache =
            (struct ll_cache_level){.ways = cases[i].ways, .line_bytes = 64, .policy = LL_CACHE_LRU};
        struct ll_cost cost = cost_of_work(&machine, &work);
        assert_near(cost.level_bytes[2], 4096 * (1 + 9 * cases[i].again) + 1280, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_by_a_level_comes_from_further_out_as_often_as_the_unit_asks),
        cmocka_unit_test(what_passes_by_bounds_the_blocks_of_the_others),
        cmocka_unit_test(a_memory_that_lets_results_by_saves_nothing_that_the_unit_would_undo),
        cmocka_unit_test(each_operand_has_its_part_of_the_traffic),
        cmocka_unit_test(results_are_what_is_written),
        cmocka_unit_test(a_slow_port_sets_the_pace),
        cmocka_unit_test(the_blocking_is_the_one_that_the_ports_make_cheapest),
        cmocka_unit_test(a_level_of_a_cluster_has_one_instance_for_each),
        cmocka_unit_test(units_of_a_cluster_fetch_once_what_they_have_in_common),
        cmocka_unit_test(into_a_small_memory_a_unit_without_tiles_loads_its_operands_again),
        cmocka_unit_test(without_a_second_buffer_filling_waits),
        cmocka_unit_test(a_cache_loses_weights_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
