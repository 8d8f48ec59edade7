/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels for convolutions do unlike those for products, on matrix units with a menu. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

/* 100 cores of 100 products a cycle, with tiles of 64 x 64 x 64 for products and of 256 x 64 x 64 for
 * windows; memory fast enough not to matter. */
static struct ll_machine cores(void)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 1};
    machine.units[0] = (struct ll_unit){
        .name = "cores", .model = LL_UNIT_MATRIX, .count = 100, .clock_hz = 1e9, .efficiency = 1};
    machine.units[0].matrix = (struct ll_matrix){.tiles = {{64, 64, 64}},
                                                 .tile_count = 1,
                                                 .conv_tiles = {{256, 64, 64}},
                                                 .conv_tile_count = 1,
                                                 .most_parts = 512,
                                                 .filter_waves = 4,
                                                 .macs = {[LL_F32] = 100}};
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
    assert_true(ll_cost_op(machine, kinds[conv->pass], &work, &cost, NULL, &trouble));
    return cost;
}

static double cycles_of(const struct ll_machine *machine, const struct ll_conv *conv)
{
    return cost_of(machine, conv).compute_cycles;
}

/* 128 * 14 * 14 pixels are 98 tiles of 256, one wave of 9 steps. Tiles of 2 x 2 are 128 * 49 for each of 16
 * points: 98 of 64 tiles, with 32 filters beside; 1,568 tiles of one step are 16 waves. */
static void windows_and_transforms_have_menus_of_their_own(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(128, 14, 64, 32, 3);
    assert_near(cycles_of(&machine, &conv), 9 * (256 * 64 * 64 / 100.0), 1e-12);
    machine.software.transform_count = 1;
    machine.software.transforms[0] = (struct ll_transform){.name = "winograd",
                                                           .size = 4,
                                                           .least_filter = 3,
                                                           .most_filter = 3,
                                                           .products = 1,
                                                           .rate = {[LL_F32] = 1},
                                                           .tiles = {{64, 32, 64}},
                                                           .tile_count = 1,
                                                           .memory = 1};
    assert_near(cycles_of(&machine, &conv), 16 * (64 * 32 * 64 / 100.0), 1e-12);
}

/* One tile of 256 pixels, k = 9 * 64: 8 parts of two steps would be faster, and are without a menu for
 * windows. */
static void kernels_for_windows_leave_k_whole(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(1, 16, 64, 64, 3);
    assert_near(cycles_of(&machine, &conv), 9 * (256 * 64 * 64 / 100.0), 1e-12);
    machine.units[0].matrix.tiles[0] = machine.units[0].matrix.conv_tiles[0];
    machine.units[0].matrix.conv_tile_count = 0;
    assert_near(cycles_of(&machine, &conv), 2 * (256 * 64 * 64 / 100.0), 1e-12);
}

/* 60 tiles of a gradient, sums over 128 * 64 pixels in 128 steps. In 2 parts they do not fit on 100 cores at
 * once, so other products are not cut; 4 parts of 32 steps make 240 tiles, three waves. */
static void parts_of_a_filters_gradient_may_take_several_waves(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(2, 64, 256 * 60, 64, 1);
    conv.pass = LL_CONV_FILTER;
    assert_near(cycles_of(&machine, &conv), 3 * 32 * (256 * 64 * 64 / 100.0), 1e-12);
    machine.units[0].matrix.filter_waves = 2; /* 2 parts of 64 steps, 120 tiles */
    assert_near(cycles_of(&machine, &conv), 2 * 64 * (256 * 64 * 64 / 100.0), 1e-12);
    machine.units[0].matrix.filter_waves = 1;
    assert_near(cycles_of(&machine, &conv), 128 * (256 * 64 * 64 / 100.0), 1e-12);
}

/* 3 channels of 9 elements are 27 of k, one step; taken 32 at a time they are 288, five steps. */
static void channels_of_an_element_may_have_to_be_whole(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(100, 16, 3, 64, 3);
    assert_near(cycles_of(&machine, &conv), 256 * 64 * 64 / 100.0, 1e-12);
    double bytes = cost_of(&machine, &conv).level_bytes[0];
    machine.units[0].matrix.whole_channels[LL_F32] = 32;
    assert_near(cycles_of(&machine, &conv), 5 * (256 * 64 * 64 / 100.0), 1e-12);
    assert_near(cost_of(&machine, &conv).level_bytes[0], bytes, 1e-12); /* what is added is not there */
    conv.in_c = 64;
    assert_near(cycles_of(&machine, &conv), 9 * (256 * 64 * 64 / 100.0), 1e-12);
}

/* 9 * 3 rows fit in a tile of 256, whose 400 steps are done fastest in 256 parts of 2, three waves; with a
 * tile for each of 9 elements in 32 parts of 13 steps, three waves too. */
static void a_filters_gradient_may_take_a_tile_for_each_element(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv conv = square(100, 16, 3, 64, 3);
    conv.pass = LL_CONV_FILTER;
    machine.units[0].matrix.whole_channels[LL_F32] = 32;
    assert_near(cycles_of(&machine, &conv), 3 * 2 * (256 * 64 * 64 / 100.0), 1e-12);
    machine.units[0].matrix.whole_filters = true;
    assert_near(cycles_of(&machine, &conv), 3 * 13 * (256 * 64 * 64 / 100.0), 1e-12);
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

/* 32 x 32 pixels of a result are four tiles of one step, all at once, at half of a rate of a half. */
static void strides_leave_a_share_of_the_rate(void **state)
{
    (void)state;
    struct ll_machine machine = cores();
    struct ll_conv plain = square(1, 32, 64, 64, 1), halving = plain;
    halving.in_h = halving.in_w = 64;
    halving.stride_w = 2;
    double step_s = 256 * 64 * 64 / 100.0 / 1e9;
    machine.software.kernel_count = 1;
    machine.software.kernels[0] = (struct ll_kernel){
        .name = "convolve", .compute = 0.5, .memory = 1, .passes = 1, .reads = 1, .work = 1};
    machine.software.kernels[0].ops[LL_OP_CONV2D] = true;
    assert_near(cost_of(&machine, &halving).compute_s, step_s / 0.5, 1e-12);
    machine.software.kernels[0].strided = 0.5;
    assert_near(cost_of(&machine, &halving).compute_s, step_s / 0.25, 1e-12);
    assert_near(cost_of(&machine, &plain).compute_s, step_s / 0.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_and_transforms_have_menus_of_their_own),
        cmocka_unit_test(kernels_for_windows_leave_k_whole),
        cmocka_unit_test(parts_of_a_filters_gradient_may_take_several_waves),
        cmocka_unit_test(channels_of_an_element_may_have_to_be_whole),
        cmocka_unit_test(a_filters_gradient_may_take_a_tile_for_each_element),
        cmocka_unit_test(pixels_between_windows_are_not_read),
        cmocka_unit_test(strides_leave_a_share_of_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
