/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic memory in the simple mode and in machine files: figures of the standards, and of arithmetic by
 * hand. */
#include "check.h"

#include "sim/machine/dram.h"
#include "sim/memory/dram.h"
#include "toy_machine.h"

static double efficiency(const char *name, uint64_t channels, struct ll_dram_pattern pattern)
{
    struct ll_dram_estimate estimate;
    ll_dram_estimate(ll_dram_find(name), channels, &pattern, &estimate);
    return estimate.efficiency;
}

/* DDR4-2400 has 19.2 GB/s a channel, HBM2 at 2 Gb/s 256 GB/s in sixteen pseudo channels, GDDR6 at 14 Gb/s
 * 28 GB/s on sixteen pins. */
static void a_channel_has_the_bandwidth_of_its_standard(void **state)
{
    (void)state;
    assert_near(ll_dram_channel_Bps(ll_dram_find("ddr4-2400")), 19.2e9, 1e-12);
    assert_near(16 * ll_dram_channel_Bps(ll_dram_find("hbm2")), 256e9, 1e-12);
    assert_near(32 * ll_dram_channel_Bps(ll_dram_find("hbm3")), 819.2e9, 1e-12);
    assert_near(ll_dram_channel_Bps(ll_dram_find("gddr6")), 28e9, 1e-12);
    assert_near(ll_dram_clock_hz(ll_dram_find("ddr4-2400")), 1.2e9, 1e-12);
    assert_near(ll_dram_clock_hz(ll_dram_find("lpddr5")), 0.8e9, 1e-12);
    assert_int_equal(ll_dram_burst_bytes(ll_dram_find("ddr5-4800")), 64);
    assert_null(ll_dram_find("ddr9"));
}

/* From the data of a closed bank: cl + rcd + burst, in the public table of Ramulator 2.1's presets 30.0 ns
 * for DDR4-2400, 31.6 for DDR5-4800AN, 33.1 for HBM3-6400 and 30.2 for GDDR6-14000; bins differ. */
static void a_closed_bank_answers_after_some_thirty_nanoseconds(void **state)
{
    (void)state;
    size_t count;
    const struct ll_dram *all = ll_dram_presets(&count);
    for (size_t i = 0; i < count; i++) {
        const struct ll_dram_cycles *c = &all[i].cycles;
        double latency_s = (c->cl + c->rcd + all[i].burst_cycles) / ll_dram_clock_hz(&all[i]);
        assert_true(latency_s > 24e-9 && latency_s < 48e-9);
        assert_true(c->refi / ll_dram_clock_hz(&all[i]) > 1.8e-6);
        assert_true(c->ccd_s >= all[i].burst_cycles && c->ccd_l >= c->ccd_s && c->rrd_l >= c->rrd_s);
        assert_true(c->cl + all[i].burst_cycles + LL_DRAM_TURN_CYCLES >= c->cwl);
        assert_true(strlen(all[i].source) > 0);
    }
}

/* Ramulator 2.0 streams at most 281.1 GB/s from sixteen channels of DDR5-4800 (Bostanci et al., Cleaning up
 * the Mess, 2025, section 4; mess/README.md of its repository). Its bin is 4800AN, ours 4800B: that changes
 * what opening a row takes, once in 64 bursts. */
static void a_stream_is_as_fast_as_ramulators(void **state)
{
    (void)state;
    const struct ll_dram_pattern reads = {.bytes = 256, .stride = 256};
    struct ll_dram_result result;
    double share;
    assert_true(ll_dram_play(ll_dram_find("ddr5-4800"), 16, &reads, 1 << 16, &result, &share));
    assert_near(result.moved_Bps, 281.1e9, 2e-3);
    assert_near(16 * 19.2e9 * ll_dram_stream_efficiency(ll_dram_find("ddr5-4800")), 281.1e9, 2e-3);
}

/* DDR4-2400 loses 420 + 9 + 16 + 16 - 4 cycles of 9364 to refresh. */
static void a_stream_loses_what_refresh_takes(void **state)
{
    (void)state;
    assert_near(ll_dram_stream_efficiency(ll_dram_find("ddr4-2400")), 1 - 457.0 / 9364, 1e-12);
}

/* A row of 64 B in DDR4-2400: 4 cycles of data, but activations 6.5 cycles apart (faw 26, four of them). In
 * LPDDR4X, 2 bursts of 8 cycles, and activations 22 apart. */
static void scattered_rows_wait_for_activations(void **state)
{
    (void)state;
    struct ll_dram_pattern rows = {.bytes = 64};
    assert_near(efficiency("ddr4-2400", 1, rows), 4 / 6.5 * (1 - 457.0 / 9364), 1e-12);
    assert_near(efficiency("ddr4-2400", 2, rows), 4 / 6.5 * (1 - 457.0 / 9364), 1e-12);
    assert_near(efficiency("lpddr4x", 4, rows), 16 / 22.0 * (1 - (812 + 17 + 39 + 39 - 8) / 8341.0), 1e-12);
}

/* Baskett and Smith's formula by hand: rows of 64 B are two bursts of HBM2, so that 32 of them wait for 16
 * banks: 47.5 - sqrt(47.5^2 - 2 * 16 * 32) = 12.397. A row takes 28 + 14 cycles of its bank. */
static void waiting_rows_keep_most_banks_busy(void **state)
{
    (void)state;
    struct ll_dram_pattern rows = {.bytes = 64};
    struct ll_dram_estimate estimate;
    ll_dram_estimate(ll_dram_find("hbm2"), 1, &rows, &estimate);
    assert_near(estimate.busy_banks, 47.5 - sqrt(1232.25), 1e-12);
    assert_near(estimate.bank_cycles, 42 / 12.397, 1e-4);
    assert_near(estimate.command_cycles, 2, 1e-12);
}

/* Of a burst of 32 B four bytes are wanted; rows of 48 B lie in two bursts wherever they begin, and rows of
 * 40 B, which begin at multiples of 8, in (40 - 8) / 32 + 1 = 2 on average. */
static void what_is_not_wanted_moves_too(void **state)
{
    (void)state;
    struct ll_dram_pattern four = {.bytes = 4}, burst = {.bytes = 32}, odd = {.bytes = 48},
                           other = {.bytes = 40};
    struct ll_dram_estimate estimate;
    assert_near(efficiency("hbm2", 8, four), efficiency("hbm2", 8, burst) / 8, 1e-12);
    ll_dram_estimate(ll_dram_find("hbm2"), 8, &odd, &estimate);
    assert_near(estimate.bursts, 2, 1e-12);
    ll_dram_estimate(ll_dram_find("hbm2"), 8, &other, &estimate);
    assert_near(estimate.bursts, 2, 1e-12);
}

/* A quarter of the bytes of a sweep by four: DDR4 bursts are read whole. */
static void a_sweep_pays_for_what_it_leaves_out(void **state)
{
    (void)state;
    struct ll_dram_pattern sweep = {.bytes = 4, .stride = 16}, sparse = {.bytes = 64, .stride = 128};
    double stream = ll_dram_stream_efficiency(ll_dram_find("ddr4-3200"));
    assert_near(efficiency("ddr4-3200", 2, sweep), stream / 4, 1e-12);
    assert_near(efficiency("ddr4-3200", 2, sparse), stream, 1e-12);
}

/* Counted access by access, until their places within a burst repeat: two accesses share no burst where more
 * than one lies between them, and without any room between them all bursts are read once. */
static void a_sweep_reads_the_bursts_that_it_touches(void **state)
{
    (void)state;
    const struct ll_dram *dram = ll_dram_find("hbm2");
    const uint64_t burst = ll_dram_burst_bytes(dram);
    uint64_t random = ll_seed(91);
    for (int i = 0; i < 300; i++) {
        struct ll_dram_pattern p = {.bytes = 1 + ll_random_below(&random, 5 * burst)};
        p.stride = p.bytes + (i % 3 ? burst + ll_random_below(&random, 5 * burst) : 0);
        double touched = 0;
        for (uint64_t access = 0; access < burst; access++) {
            uint64_t first = access * p.stride / burst, last = (access * p.stride + p.bytes - 1) / burst;
            touched += (double)(last - first + 1) / (double)burst;
        }
        struct ll_dram_estimate e;
        ll_dram_estimate(dram, 4, &p, &e);
        assert_near(e.bursts, i % 3 ? touched : (double)p.bytes / (double)burst, 1e-12);
    }
}

static void writing_turns_the_wires(void **state)
{
    (void)state;
    struct ll_dram_pattern copy = {.bytes = 256, .stride = 256, .write_share = 0.5};
    double stream = ll_dram_stream_efficiency(ll_dram_find("ddr4-2400"));
    double opening = 64.0 / 8192 * 2 * (16 + 16); /* rows that are not open, of a burst */
    double along = 4 * 0.5 / (1 - 0.5);           /* bursts that are written until the next access reads */
    double turn = 0.5 * (16 + 2 + 3 + opening) / (64 + along);
    assert_near(efficiency("ddr4-2400", 1, copy), stream * 4 / (4 + turn), 1e-3);
}

#define MACHINE(ram)                                                                                         \
    "name: Toy\nclock: 1GHz\nunits: [{name: simd, model: vector, lanes: 16, flops: {f32: 1}}]\n"             \
    "memory:\n  - {name: sram, size: 1MiB, bandwidth: 64B/cycle}\n  - {name: ram, size: 16GiB, " ram "}\n"

static void a_level_follows_its_preset(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(MACHINE("dram: hbm2, channels: 32"));
    assert_near(machine->levels[1].bandwidth_Bps, 512e9, 1e-12);
    assert_near(machine->levels[1].efficiency, ll_dram_stream_efficiency(ll_dram_find("hbm2")), 1e-12);
    ll_machine_free(machine);
    machine = ll_toy_machine(MACHINE("dram: ddr4-2400"));
    assert_near(machine->levels[1].bandwidth_Bps, 19.2e9, 1e-12);
    assert_int_equal(machine->levels[1].channels, 1);
    ll_machine_free(machine);
}

static void what_the_file_says_stands(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(MACHINE("dram: hbm2, bandwidth: 900GB/s, efficiency: 0.8"));
    assert_near(machine->levels[1].bandwidth_Bps, 900e9, 1e-12);
    assert_near(machine->levels[1].efficiency, 0.8, 1e-12);
    assert_int_equal(machine->levels[1].channels, 56); /* 900 / 16 */
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_has_the_bandwidth_of_its_standard),
        cmocka_unit_test(a_closed_bank_answers_after_some_thirty_nanoseconds),
        cmocka_unit_test(a_stream_is_as_fast_as_ramulators),
        cmocka_unit_test(a_stream_loses_what_refresh_takes),
        cmocka_unit_test(scattered_rows_wait_for_activations),
        cmocka_unit_test(waiting_rows_keep_most_banks_busy),
        cmocka_unit_test(what_is_not_wanted_moves_too),
        cmocka_unit_test(a_sweep_pays_for_what_it_leaves_out),
        cmocka_unit_test(a_sweep_reads_the_bursts_that_it_touches),
        cmocka_unit_test(writing_turns_the_wires),
        cmocka_unit_test(a_level_follows_its_preset),
        cmocka_unit_test(what_the_file_says_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
