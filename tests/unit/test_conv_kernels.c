/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels for convolutions do unlike those for GEMMs, on matrix units with a list of tiles. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

/* 100 cores of 100 products a cycle, with tiles of 256 x 64 x 64; memory fast enough not to matter. */
static struct ll_machine cores(void)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 1};
    machine.units[0] = (struct ll_unit){
        .name = "cores", .model = LL_UNIT_MATRIX, .count = 100, .clock_hz = 1e9, .efficiency = 1};
    machine.units[0].matrix =
        (struct ll_matrix){.tiles = {{256, 64, 64}}, .tile_count = 1, .macs = {[LL_F32] = 100}};
    machine.levels[0] =
        (struct ll_level){.name = "memory", .size_bytes = 1 << 30, .bandwidth_Bps = 1e30, .efficiency = 1};
    return machine;
}

/* Padded, so that every pixel of the image is one of the result. */
static struct ll_conv square(uint64_t batch, uint64_t side, uint64_t in_c, uint64_t out_c, uint64_t kernel)
{
    return (struct ll_conv){.batch = batch,
                            .in_h = side,
                            .in_w = side,
                            .in_c = in_c,
                            .out_h = side,
                            .out_w = side,
                            .out_c = out_c,
                            .kernel_h = kernel,
                            .kernel_w = kernel,
                            .stride_h = 1,
                            .stride_w = 1,
                            .groups = 1};
}

static struct ll_cost cost_of(const struct ll_machine *machine, const struct ll_conv *conv)
{
    static const enum ll_op_kind kinds[] = {LL_OP_CONV2D, LL_OP_CONV2D_DATA, LL_OP_CONV2D_FILTER};
    struct ll_work work = conv_work(LL_F32, *conv);
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, kinds[conv->pass], &work, &cost, &trouble));
    return cost;
}

/* A filter of one pixel at every other of 64 x 64: a quarter of the image is read, and the filters by each of
 * four tiles of 256 pixels. */
static void pixels_between_windows_are_not_read(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(1, 64, 64, 64, 1);
    conv.out_h = conv.out_w = 32;
    conv.stride_h = conv.stride_w = 2;
    double image = 4.0 * 64 * 64 * 64, filters = 4.0 * 64 * 64, result = 4.0 * 32 * 32 * 64;
    assert_near(cost_of(&machine, &conv).level_bytes[0], image / 4 + 4 * filters + result, 1e-12);
}

/* Half of the rate is left where the stride is above 1. */
static void strides_leave_a_share_of_the_rate(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(1, 64, 64, 64, 3), strided = conv;
    strided.out_h = strided.out_w = 32;
    strided.stride_h = strided.stride_w = 2;
    double plain_s = cost_of(&machine, &conv).compute_s, before_s = cost_of(&machine, &strided).compute_s;
    machine.software.kernel_count = 1;
    machine.software.kernels[0] = (struct ll_kernel){.name = "convolve",
                                                     .ops = {[LL_OP_CONV2D] = true},
                                                     .compute_efficiency = 1,
                                                     .bandwidth_efficiency = 1,
                                                     .passes = 1,
                                                     .strided_efficiency = 0.5};
    assert_near(cost_of(&machine, &conv).compute_s, plain_s, 1e-15);
    assert_near(cost_of(&machine, &strided).compute_s, 2 * before_s, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_between_windows_are_not_read),
        cmocka_unit_test(strides_leave_a_share_of_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
