/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/conv_core.h"
#include "sim/cost/cost.h"

/* NVDLA's full configuration (nvdla/hw, nv_full.spec; nvdla.org, unit description). */
static struct ll_unit hardware(void)
{
    struct ll_unit unit = {
        .name = "core", .model = LL_UNIT_CONV_CORE, .count = 1, .clock_hz = 1e9, .efficiency = 1};
    unit.conv_core = (struct ll_conv_core){.channels = 64,
                                           .kernels = 32,
                                           .packing = LL_PACKING_LINES,
                                           .image_channels = 4,
                                           .whole_taps = true,
                                           .least_stripe = 16,
                                           .stripe = 32,
                                           .memory_channels = 1};
    unit.conv_core.macs[LL_INT8] = 1;
    return unit;
}

/* The core of NVDLA's performance sheet (nvdla/hw, perf/NVDLA_OpenSource_Performance.xlsx). */
static struct ll_unit sheet(void)
{
    struct ll_unit unit = hardware();
    unit.conv_core = (struct ll_conv_core){.channels = 16,
                                           .kernels = 16,
                                           .multipliers = 2048,
                                           .packing = LL_PACKING_STRIDE,
                                           .winograd = LL_CORE_WINOGRAD_EXACT,
                                           .least_stripe = 1,
                                           .memory_channels = 16};
    unit.conv_core.macs[LL_INT8] = 1;
    return unit;
}

static struct ll_conv layer(uint64_t batch, uint64_t side, uint64_t in_c, uint64_t out_side, uint64_t out_c,
                            uint64_t kernel, uint64_t stride)
{
    return (struct ll_conv){batch,  side,   side,   in_c, out_side,        out_side, out_c, kernel,
                            kernel, stride, stride, 1,    LL_CONV_FORWARD, 1,        1};
}

static struct ll_kernel_config config_of(const struct ll_unit *unit, const struct ll_work *work,
                                         struct ll_task *task)
{
    struct ll_kernel_config config;
    *task = ll_task_of(work, LL_INT8);
    ll_conv_core_pack(unit, task);
    assert_true(ll_unit_model(LL_UNIT_CONV_CORE)->way(unit, task, 0, &config));
    return config;
}

static double cycles_of(const struct ll_unit *unit, struct ll_conv conv)
{
    struct ll_task task;
    struct ll_work work = conv_work(LL_INT8, conv);
    return config_of(unit, &work, &task).cycles;
}

static double gemm_cycles(const struct ll_unit *unit, uint64_t m, uint64_t n, uint64_t k)
{
    struct ll_task task;
    struct ll_work work = gemm_work(LL_INT8, 1, m, n, k);
    return config_of(unit, &work, &task).cycles;
}

/* The MAC cycles that the sheet has of AlexNet's layers, fully connected ones of an image in a batch of 16.
 * */
static void the_sheets_cycles_of_alexnet(void **state)
{
    (void)state;
    struct ll_unit unit = sheet();
    assert_near(cycles_of(&unit, layer(1, 224, 3, 54, 96, 11, 4)), 49617.5625, 1e-12);
    assert_near(cycles_of(&unit, layer(1, 27, 48, 27, 128, 5, 1)), 54675, 1e-12);
    assert_near(cycles_of(&unit, layer(1, 13, 256, 13, 384, 3, 1)), 32448, 1e-12);
    assert_near(cycles_of(&unit, layer(1, 13, 192, 13, 192, 3, 1)), 12168, 1e-12);
    assert_near(cycles_of(&unit, layer(1, 13, 192, 13, 128, 3, 1)), 8112, 1e-12);
    assert_near(gemm_cycles(&unit, 16, 4096, 9216) / 16, 18432, 1e-12);
    assert_near(gemm_cycles(&unit, 16, 4096, 4096) / 16, 8192, 1e-12);
}

/* KiB of the sheet's AlexNet: 40.5 of weights in the first layer, 1536 by Winograd in the third. */
static void the_sheets_sizes_of_alexnet(void **state)
{
    (void)state;
    struct ll_unit unit = sheet();
    struct ll_task task;
    struct ll_work first = conv_work(LL_INT8, layer(1, 224, 3, 54, 96, 11, 4));
    config_of(&unit, &first, &task);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_A), 147 * 1024, 1e-12);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_B), 40.5 * 1024, 1e-12);
    struct ll_work third = conv_work(LL_INT8, layer(1, 13, 256, 13, 384, 3, 1));
    config_of(&unit, &third, &task);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_A), 42.25 * 1024, 1e-12);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_B), 1536 * 1024, 1e-12);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_C), 63.375 * 1024, 1e-12);
}

/* A line of AlexNet's first filters is 33 channels, which leave no room for a second one; of 4 x 4 filters
 * over 4 channels all lines are one dot product (nvdla.org, unit description: a quarter busy without, all
 * with). */
static void lines_of_images_become_channels(void **state)
{
    (void)state;
    struct ll_unit unit = hardware();
    assert_near(cycles_of(&unit, layer(1, 227, 3, 55, 96, 11, 4)), 55 * 55 * 3 * 11, 1e-12);
    assert_near(cycles_of(&unit, layer(1, 19, 4, 16, 32, 4, 1)), 16 * 16, 1e-12);
    unit.conv_core.packing = LL_PACKING_NONE;
    assert_near(cycles_of(&unit, layer(1, 19, 4, 16, 32, 4, 1)), 16 * 16 * 16, 1e-12);
}

/* A fully connected layer of one image uses a sixteenth (6.25 %), of 16 images all. */
static void weights_stay_for_a_stripe(void **state)
{
    (void)state;
    struct ll_unit unit = hardware();
    assert_near(gemm_cycles(&unit, 1, 4096, 4096), 16.0 * 64 * 128, 1e-12);
    assert_near(gemm_cycles(&unit, 16, 4096, 4096), 16.0 * 64 * 128, 1e-12);
    assert_near(gemm_cycles(&unit, 17, 4096, 4096), 17.0 * 64 * 128, 1e-12);
}

/* 13 x 13 outputs are 4 x 4 blocks, each four atomic operations for each 4 channels and 32 kernels; of 3
 * channels an image's lines are faster. */
static void winograd_works_in_blocks(void **state)
{
    (void)state;
    struct ll_unit unit = hardware();
    unit.conv_core.winograd = LL_CORE_WINOGRAD_BLOCKS;
    assert_near(cycles_of(&unit, layer(1, 13, 256, 13, 384, 3, 1)), 16 * 4 * 64 * 12, 1e-12);
    assert_near(cycles_of(&unit, layer(2, 13, 256, 13, 384, 3, 1)), 2 * 16 * 4 * 64 * 12, 1e-12);
    assert_near(cycles_of(&unit, layer(1, 224, 3, 224, 64, 3, 1)), 224 * 224 * 1 * 2, 1e-12);
}

/* Of a 1 x 1 filter with stride 2 three of four packed taps are zeros. */
static void filters_that_strides_do_not_divide_have_zeros(void **state)
{
    (void)state;
    struct ll_unit unit = sheet();
    struct ll_task task;
    struct ll_work work = conv_work(LL_INT8, layer(1, 56, 256, 28, 512, 1, 2));
    work.a_bytes /= 4; /* pixels in windows */
    config_of(&unit, &work, &task);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_B), 4 * 256 * 512, 1e-12);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_A), 56 * 56 * 256, 1e-12);
}

static void weights_come_for_each_image(void **state)
{
    (void)state;
    struct ll_unit unit = sheet();
    struct ll_task task;
    struct ll_work work = conv_work(LL_INT8, layer(4, 13, 256, 13, 384, 3, 1));
    double together = config_of(&unit, &work, &task).cycles;
    double bytes = ll_operand_bytes(&task.problem, LL_OPERAND_B);
    unit.conv_core.image_by_image = true;
    assert_near(config_of(&unit, &work, &task).cycles, together, 1e-12);
    assert_near(ll_operand_bytes(&task.problem, LL_OPERAND_B), 4 * bytes, 1e-12);
    assert_int_equal(task.problem.dims.batch, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sheets_cycles_of_alexnet),
        cmocka_unit_test(the_sheets_sizes_of_alexnet),
        cmocka_unit_test(lines_of_images_become_channels),
        cmocka_unit_test(weights_stay_for_a_stripe),
        cmocka_unit_test(winograd_works_in_blocks),
        cmocka_unit_test(filters_that_strides_do_not_divide_have_zeros),
        cmocka_unit_test(weights_come_for_each_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
