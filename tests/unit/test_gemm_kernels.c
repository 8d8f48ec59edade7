/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "sim/cost/gemm_kernels.h"

/* Ten units of 1000 multiply-accumulates a cycle at 1 GHz, tiles of 64 x 128; memory and cache of 1 TB/s. */
static struct ll_machine gpu(void)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 2};
    for (uint64_t l = 0; l < 2; l++)
        machine.levels[l] = (struct ll_level){.name = l ? "memory" : "cache",
                                              .size_bytes = l ? UINT64_C(1) << 36 : 1 << 26,
                                              .bandwidth_Bps = 1e12,
                                              .efficiency = 1,
                                              .latency_s = 1e-6};
    machine.units[0] = (struct ll_unit){
        .name = "tensor", .model = LL_UNIT_MATRIX, .count = 10, .clock_hz = 1e9, .efficiency = 0.7};
    struct ll_matrix *matrix = &machine.units[0].matrix;
    matrix->macs[LL_F16] = 1000;
    matrix->macs[LL_F32] = 500;
    matrix->gemm_given = true;
    matrix->gemm = (struct ll_gemm_kernels){.tiles = {{64, 128, 64}},
                                            .tile_count = 1,
                                            .boost = 1,
                                            .efficiency = 1,
                                            .bandwidth_efficiency = 1,
                                            .dram_efficiency = 1,
                                            .write_cost = 1,
                                            .occupancy = 1,
                                            .multicast = 1};
    return machine;
}

static struct ll_cost cost_of(const struct ll_machine *machine, uint64_t m, uint64_t n, uint64_t k)
{
    struct ll_work work = gemm_work(LL_F16, 1, m, n, k);
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, &work, &cost, &trouble));
    return cost;
}

static double time_of(const struct ll_machine *machine, uint64_t m, uint64_t n, uint64_t k)
{
    struct ll_cost cost = cost_of(machine, m, n, k);
    struct ll_timing timing;
    ll_cost_time(machine, &cost, NULL, &timing);
    return timing.time_s;
}

/* 21 tiles on ten units are three rounds of 64 * 128 * 64 / 1000 cycles; the narrow side may be m or n. */
static void rounds_and_tiles_are_whole(void **state)
{
    struct ll_machine machine = gpu();
    double tile = 64 * 128 * 64 / 1000.0;
    (void)state;
    assert_near(cost_of(&machine, 21 * 64, 128, 64).compute_cycles, 3 * tile, 1e-15);
    assert_near(cost_of(&machine, 128, 21 * 64, 64).compute_cycles, 3 * tile, 1e-15);
    assert_near(cost_of(&machine, 20 * 64 + 1, 100, 33).compute_cycles, 3 * tile, 1e-15);
}

/* A step waits for 1000 cycles where it multiplies for 524; two tiles on a unit hide that for one another. */
static void steps_wait_unless_tiles_hide_them(void **state)
{
    struct ll_machine machine = gpu();
    struct ll_gemm_kernels *gemm = &machine.units[0].matrix.gemm;
    (void)state;
    gemm->min_step_cycles = 1000;
    gemm->tile_cycles = 50;
    assert_near(cost_of(&machine, 20 * 64, 128, 64).compute_cycles, 2 * 1050, 1e-15);
    gemm->occupancy = 2;
    assert_near(cost_of(&machine, 20 * 64, 128, 64).compute_cycles, 2 * (64 * 128 * 64 / 1000.0 + 50), 1e-15);
}

/* One tile of k 64000: eight of ten units take an eighth each, and then 8 sums of 64 x 128 are written and
 * read at 1 TB/s. */
static void k_is_split_where_that_pays(void **state)
{
    struct ll_machine machine = gpu();
    struct ll_gemm_kernels *gemm = &machine.units[0].matrix.gemm;
    (void)state;
    gemm->split_k_reduce_s = 1e-6;
    struct ll_cost cost = cost_of(&machine, 64, 128, 64000);
    assert_near(cost.compute_cycles, 64 * 128 * 8000 / 1000.0, 1e-15); /* the ladder: 8 of ten */
    assert_near(cost.around_s, 1e-6 + 8 * 8 * 64 * 128 / 1e12, 1e-15);
    gemm->split_k_reduce_s = 1;
    assert_near(cost_of(&machine, 64, 128, 64000).compute_cycles, 64 * 128 * 64000 / 1000.0, 1e-15);
}

/* Of 640 x 128 x 64 tiles load a once and b ten times; where two share the wider operand's part, a tile's 128
 * lines of b are half as many. */
static void tiles_load_through_the_cache(void **state)
{
    struct ll_machine machine = gpu();
    (void)state;
    assert_near(cost_of(&machine, 640, 128, 64).level_of[0][LL_OPERAND_B], 10 * 128 * 64 * 2, 1e-15);
    machine.units[0].matrix.gemm.multicast = 2;
    struct ll_cost cost = cost_of(&machine, 640, 128, 64);
    assert_near(cost.level_of[0][LL_OPERAND_B], 10 * 128 * 64 * 2 / 2, 1e-15);
    assert_near(cost.level_of[0][LL_OPERAND_A], 640 * 64 * 2, 1e-15);
}

/* Compute and memory overlap in part: (x^3 + y^3)^(1/3); latencies are part of `start`. */
static void memory_overlaps_in_part(void **state)
{
    struct ll_machine machine = gpu();
    (void)state;
    machine.units[0].matrix.gemm.start_s = 2e-6;
    machine.levels[0].bandwidth_Bps = 1e18;
    struct ll_cost cost = cost_of(&machine, 640, 128, 6400);
    double bytes = 2.0 * (640 * 6400 + 128 * 6400 + 640 * 128), x = cost.compute_s, y = bytes / 1e12;
    assert_near(x, 64 * 128 * 6400 / 1000.0 / 1e9, 1e-15);
    assert_near(time_of(&machine, 640, 128, 6400), 2e-6 + cbrt(x * x * x + y * y * y), 1e-12);
    assert_near(ll_partial_overlap_s(3, 4), cbrt(27 + 64), 1e-15);
    assert_near(ll_partial_overlap_s(0, 4), 4, 1e-15);
}

/* Padding multiplies zeros, which take time and no power: 1 W is 5e11 real ones of 2 pJ a second. */
static void padding_takes_no_power(void **state)
{
    struct ll_machine machine = gpu();
    (void)state;
    machine.energy = (struct ll_energy){.mac_j[LL_F16] = 2e-12, .limit_w = 1, .power_per_clock = 1};
    assert_near(cost_of(&machine, 64, 128, 6400).compute_s, 64 * 128 * 6400.0 / 5e11, 1e-12);
    assert_near(cost_of(&machine, 32, 128, 6400).compute_s, 32 * 128 * 6400.0 / 5e11, 1e-12);
}

/* An f8 layer of 40 rows of k 1000: activations are read twice in 2 bytes and written in one, 5 an element,
 * by ten units of 4 bytes a cycle; the GEMM's tile is the one for up to 64 rows. */
static void activations_are_quantized_first(void **state)
{
    struct ll_machine machine = gpu();
    struct ll_work work = gemm_work(LL_F8, 1, 40, 512, 1000);
    struct ll_cost cost, plain;
    const char *trouble;
    (void)state;
    machine.units[0].matrix.macs[LL_F8] = 2000;
    machine.software.linear_count = 1;
    machine.software.linear[0] = (struct ll_linear_kernel){.name = "layer",
                                                           .formats = 1 << LL_LINEAR_FP8,
                                                           .quantize_s = 3e-6,
                                                           .quantize_bandwidth = 4,
                                                           .quantize_passes = 2,
                                                           .efficiency = 0.5,
                                                           .tile_count = 2,
                                                           .tiles = {{32, 32, 32}, {64, 64, 64}}};
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &work, &plain, &trouble));
    assert_true(plain.around_s < 1e-6); /* the sums of a split k at most */
    work.linear = 1 + LL_LINEAR_FP8;
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &work, &cost, &trouble));
    assert_near(cost.around_s, 3e-6 + 5 * 40000 / (10 * 4 * 1e9), 1e-12);
    assert_near(cost.compute_cycles, 64 * 64 * 1024 / (2000 * 0.5), 1e-12);
    machine.software.linear[0].quantize_row_s = 1e-3; /* 40 rows, two on each of ten units: two rounds */
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &work, &cost, &trouble));
    assert_near(cost.around_s, 3e-6 + 2e-3, 1e-12);
    machine.software.linear[0].stream_s = 1;
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &work, &cost, &trouble));
    struct ll_timing timing;
    ll_cost_time(&machine, &cost, NULL, &timing);
    assert_near(timing.time_s, 1, 1e-15);
}

/* As in a trace: a move quantizes the same activations, 40000 elements that come in 2 bytes and go in one;
 * the layer finds them quantized. A cast that no kernel of the software does is one like any other. */
static void a_move_quantizes_for_the_layer_behind_it(void **state)
{
    struct ll_machine machine = gpu();
    struct ll_work layer = gemm_work(LL_F8, 1, 40, 512, 1000);
    struct ll_work move = {.kind = LL_WORK_MOVE,
                           .dtype = LL_BF16,
                           .a_bytes = 80000,
                           .c_bytes = 40000,
                           .linear = 1 + LL_LINEAR_FP8_BLOCK,
                           .quantize = {40, 1000}};
    struct ll_cost within, cost, quantizing;
    const char *trouble;
    (void)state;
    machine.units[0].matrix.macs[LL_F8] = 2000;
    machine.software.linear_count = 1;
    machine.software.linear[0] = (struct ll_linear_kernel){.name = "layer",
                                                           .formats = 1 << LL_LINEAR_FP8,
                                                           .quantize_s = 3e-6,
                                                           .quantize_bandwidth = 4,
                                                           .efficiency = 0.5,
                                                           .tile_count = 1,
                                                           .tiles = {{64, 64, 64}}};
    layer.linear =
        1 + LL_LINEAR_FP8_BLOCK; /* for which there is none: that of the other format with 8 bits */
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &layer, &within, &trouble));
    layer.quantized = 1;
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &layer, &cost, &trouble));
    assert_near(cost.compute_cycles, within.compute_cycles, 1e-12);
    assert_true(ll_cost_op(&machine, LL_OP_CAST, &move, &quantizing, &trouble));
    assert_near(quantizing.gap_s, 3e-6, 1e-12);
    assert_near(quantizing.compute_s, 3 * 40000 / (10 * 4 * 1e9), 1e-12);
    assert_near(within.around_s - cost.around_s, quantizing.gap_s + quantizing.compute_s, 1e-12);
    machine.software.linear[0].quantize_bandwidth = 0;
    assert_false(ll_cost_op(&machine, LL_OP_CAST, &move, &quantizing, &trouble)); /* no lanes cast here */
}

/* Cycles of a 3x3 convolution of one image; units_used: where asked for, and k may be split. */
static double convolved(struct ll_conv conv, uint64_t *units_used)
{
    struct ll_machine machine = gpu();
    machine.units[0].matrix.implicit_gemm = machine.units[0].matrix.gemm;
    machine.units[0].matrix.implicit_gemm_given = true;
    machine.units[0].matrix.implicit_gemm.split_k_reduce_s = units_used ? 0 : 1;
    conv.batch = conv.groups = 1;
    conv.kernel_h = conv.kernel_w = 3;
    struct ll_work work = conv_work(LL_F16, conv);
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(&machine, LL_OP_CONV2D, &work, &cost, &trouble));
    assert_true(cost.partly_overlaps);
    if (units_used)
        *units_used = cost.units_used;
    return cost.compute_cycles;
}

/* Three channels are loaded as eight: 9 * 8 of k are two steps of 64. A gradient of the image at a stride of
 * 2 has 256 pixels and a quarter of 9 * 64 of k in three steps. That of filters has 9 * 8 x 128 results, two
 * tiles, and four units share the pixels of each. */
static void convolutions_are_implicit_gemms(void **state)
{
    struct ll_conv conv = {.in_h = 10, .in_w = 10, .in_c = 3, .out_h = 8, .out_w = 8, .out_c = 128};
    uint64_t units_used;
    (void)state;
    conv.stride_h = conv.stride_w = 1;
    assert_near(convolved(conv, NULL), 64 * 128 * 128 / 1000.0, 1e-12);
    conv.in_h = conv.in_w = 16, conv.in_c = 128, conv.out_c = 64;
    conv.stride_h = conv.stride_w = 2;
    conv.pass = LL_CONV_DATA;
    assert_near(convolved(conv, NULL), 64 * 128 * 192 / 1000.0, 1e-12);
    conv.in_h = conv.in_w = conv.out_h = conv.out_w = 256;
    conv.in_c = 7, conv.out_c = 128;
    conv.stride_h = conv.stride_w = 1;
    conv.pass = LL_CONV_FILTER;
    assert_near(convolved(conv, &units_used), 64 * 128 * 16384 / 1000.0, 1e-12);
    assert_int_equal(units_used, 8);
}

/* f32, and what goes on between GEMMs of an attention, go by the unit's own tiles. */
static void other_work_goes_by_the_unit(void **state)
{
    struct ll_machine machine = gpu();
    struct ll_work wide = gemm_work(LL_F32, 1, 640, 128, 64), attention = gemm_work(LL_F16, 1, 640, 128, 64);
    struct ll_cost cost;
    const char *trouble;
    (void)state;
    attention.along_k = LL_LINES_ELSEWHERE;
    assert_true(cost_of(&machine, 640, 128, 64).partly_overlaps);
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &wide, &cost, &trouble));
    assert_false(cost.partly_overlaps);
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &attention, &cost, &trouble));
    assert_false(cost.partly_overlaps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_and_tiles_are_whole),
        cmocka_unit_test(steps_wait_unless_tiles_hide_them),
        cmocka_unit_test(k_is_split_where_that_pays),
        cmocka_unit_test(tiles_load_through_the_cache),
        cmocka_unit_test(memory_overlaps_in_part),
        cmocka_unit_test(padding_takes_no_power),
        cmocka_unit_test(activations_are_quantized_first),
        cmocka_unit_test(a_move_quantizes_for_the_layer_behind_it),
        cmocka_unit_test(convolutions_are_implicit_gemms),
        cmocka_unit_test(other_work_goes_by_the_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
