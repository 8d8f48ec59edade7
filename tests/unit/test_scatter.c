/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked by index: what memories move for them, and how long that takes. */
#include "check.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "sim/machine/dram.h"
#include "toy_machine.h"

#define MACHINE(ram)                                                                                         \
    "name: Toy\nclock: 1GHz\nunits: [{name: simd, model: vector, lanes: 1024, flops: {f32: 4}}]\n"           \
    "memory: [{name: ram, size: 16GiB, " ram "}]\n"

/* 1000 rows, their indices of eight bytes, and the result. */
static struct ll_work gather(uint64_t row_bytes)
{
    return (struct ll_work){.kind = LL_WORK_GATHER,
                            .dtype = LL_F32,
                            .a_bytes = 1000 * (row_bytes + 8),
                            .c_bytes = 1000 * row_bytes,
                            .gather = {.rows = 1000, .row_bytes = row_bytes}};
}

static struct ll_cost cost_of(const char *text, const struct ll_work *work)
{
    struct ll_machine *machine = ll_toy_machine(text);
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_GATHER, work, &cost, &trouble));
    ll_machine_free(machine);
    return cost;
}

/* A thousand rows of a table of 40: a scratchpad loads it once, but for one that has no room for it, and two
 * of which each unit has one. */
static void what_is_picked_again_is_at_hand(void **state)
{
    static const char *const text =
        "name: Toy\nclock: 1GHz\n"
        "units: [{name: simd, model: vector, lanes: 1024, count: 2, flops: {f32: 4}}]\n"
        "memory: [{name: pad, size: %s, bandwidth: 100GB/s, scope: %s, double_buffer: false},"
        "         {name: ram, size: 16GiB, bandwidth: 10GB/s, access: 64B}]\n";
    static const struct {
        const char *size, *scope;
        uint64_t table_bytes;
        double out_of_ram;
    } cases[] = {{"2KiB", "device", 1600, 88000 - 40000 + 40 * 64},
                 {"1KiB", "device", 1600, 88000 + 24000},
                 {"2KiB", "unit", 1600, 88000 + 24000},
                 {"2KiB", "device", 0, 88000 + 24000},
                 {"64KiB", "device", 48000, 88000 + 24000}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char machine[512];
        struct ll_work work = gather(40);
        work.gather.table_bytes = cases[i].table_bytes;
        snprintf(machine, sizeof machine, text, cases[i].size, cases[i].scope);
        struct ll_cost cost = cost_of(machine, &work);
        assert_near(cost.level_bytes[0], 88000, 1e-12);
        assert_near(cost.level_bytes[1], cases[i].out_of_ram, 1e-12);
    }
}

static void rows_move_in_whole_accesses(void **state)
{
    (void)state;
    struct ll_work work = gather(40);
    struct ll_cost plain = cost_of(MACHINE("bandwidth: 10GB/s"), &work);
    struct ll_cost lines = cost_of(MACHINE("bandwidth: 10GB/s, access: 64B"), &work);
    assert_near(plain.level_bytes[0], 88000, 1e-12);
    assert_near(lines.level_bytes[0], 88000 + 24000, 1e-12);
    assert_near(lines.level_s[0], 112000 / 10e9, 1e-12);
}

/* In one channel of DDR4-2400, rows of 64 B go at 4 cycles in 6.5 of a stream's pace; the indices and the
 * result are streams. */
static void scattered_rows_go_at_their_own_pace(void **state)
{
    (void)state;
    struct ll_work work = gather(64);
    struct ll_cost cost = cost_of(MACHINE("dram: ddr4-2400"), &work);
    double stream_Bps = 19.2e9 * ll_dram_stream_efficiency(ll_dram_find("ddr4-2400"));
    assert_near(cost.level_bytes[0], 136000, 1e-12);
    assert_near(cost.level_s[0], (72000 + 64000 * 6.5 / 4) / stream_Bps, 1e-12);
}

static void rows_of_four_bytes_move_a_burst_each(void **state)
{
    (void)state;
    struct ll_work work = gather(4);
    struct ll_cost cost = cost_of(MACHINE("dram: ddr4-2400"), &work);
    assert_near(cost.level_bytes[0], 16000 + 1000 * 60, 1e-12);
}

/* Changing rows reads and writes them: twice the waste. */
static void picked_rows_are_read_and_written(void **state)
{
    (void)state;
    struct ll_work work = {.kind = LL_WORK_VECTOR,
                           .dtype = LL_F32,
                           .flops = 20000,
                           .a_bytes = 88000,
                           .c_bytes = 40000,
                           .vector = {.elements = 10000, .picked = 1000, .picked_bytes = 40}};
    struct ll_cost cost = cost_of(MACHINE("bandwidth: 10GB/s, access: 64B"), &work);
    assert_near(cost.level_bytes[0], 128000 + 2 * 24000, 1e-12);
    cost = cost_of(MACHINE("bandwidth: 10GB/s, write_bandwidth: 1GB/s, access: 64B"), &work);
    assert_near(cost.level_written[0], 40000 + 24000, 1e-12);
    assert_near(cost.level_s[0], 64000 / 1e9, 1e-12);
    struct ll_cost dram = cost_of(MACHINE("dram: hbm2, bandwidth: 10GB/s, efficiency: 1"), &work);
    assert_true(dram.level_s[0] > dram.level_bytes[0] / 10e9);
}

/* hbm2 moves 32 bytes at once: an access of 40 takes two bursts, as one of 64 does. Halving accesses never
 * costs time. */
static void an_access_takes_whole_bursts(void **state)
{
    (void)state;
    struct ll_machine machine = {
        .level_count = 1, .levels = {{.name = "ram", .dram = "hbm2", .channels = 8, .access_bytes = 40}}};
    struct ll_work work = gather(4);
    double written;
    assert_near(ll_gather_over_fetch(&machine, &work, 0, &written), 1000 * 60, 1e-12);
    double last_s = INFINITY;
    for (uint64_t access = 1000; access > 0; access /= 2) {
        machine.levels[0].access_bytes = access;
        double bytes =
            (double)(work.a_bytes + work.c_bytes) + ll_gather_over_fetch(&machine, &work, 0, &written);
        double moved_s = bytes * ll_gather_slowdown(&machine, &work, 0);
        assert_true(moved_s <= last_s * (1 + 1e-12));
        last_s = moved_s;
    }
}

static void streams_are_as_fast_as_ever(void **state)
{
    (void)state;
    struct ll_work work = {.kind = LL_WORK_MOVE, .dtype = LL_F32, .a_bytes = 1000, .c_bytes = 1000};
    struct ll_machine machine = {
        .level_count = 1, .levels = {{.name = "ram", .dram = "hbm2", .channels = 8, .access_bytes = 64}}};
    double written;
    assert_true(ll_gather_over_fetch(&machine, &work, 0, &written) == 0);
    assert_true(ll_gather_slowdown(&machine, &work, 0) == 1);
}

/* The longer the rows, the nearer to a stream; never faster. */
static void longer_rows_suffer_less(void **state)
{
    (void)state;
    struct ll_machine machine = {.level_count = 1,
                                 .levels = {{.name = "ram", .dram = "gddr6", .channels = 16}}};
    double last = INFINITY;
    for (uint64_t bytes = 64; bytes <= 1 << 20; bytes *= 4) {
        struct ll_work work = gather(bytes);
        work.a_bytes = work.c_bytes; /* no indices, which are a stream */
        double slowdown = ll_gather_slowdown(&machine, &work, 0);
        assert_true(slowdown >= 1 && slowdown <= last * (1 + 1e-3));
        last = slowdown;
    }
    assert_near(last, 1, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_move_in_whole_accesses),
        cmocka_unit_test(what_is_picked_again_is_at_hand),
        cmocka_unit_test(scattered_rows_go_at_their_own_pace),
        cmocka_unit_test(rows_of_four_bytes_move_a_burst_each),
        cmocka_unit_test(picked_rows_are_read_and_written),
        cmocka_unit_test(an_access_takes_whole_bursts),
        cmocka_unit_test(streams_are_as_fast_as_ever),
        cmocka_unit_test(longer_rows_suffer_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
