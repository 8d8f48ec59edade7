/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

/* 8 images of 14 x 14 x 64, 32 filters of 3 x 3, padded: 14 x 14 outputs, which are 49 tiles of 2 x 2. */
static const struct ll_conv padded = {.batch = 8,
                                      .in_h = 14,
                                      .in_w = 14,
                                      .in_c = 64,
                                      .out_h = 14,
                                      .out_w = 14,
                                      .out_c = 32,
                                      .kernel_h = 3,
                                      .kernel_w = 3,
                                      .stride_h = 1,
                                      .stride_w = 1,
                                      .groups = 1};
static const struct ll_transform winograd = {.name = "winograd",
                                             .size = 4,
                                             .least_filter = 3,
                                             .most_filter = 3,
                                             .products = 1,
                                             .rate = {[LL_F32] = 1}};

/* Lavin and Gray 2016: F(2 x 2, 3 x 3) takes 16 multiplications where 36 stood, 2.25 times fewer. */
static void winograds_smallest_saves_a_factor_of_nine_quarters(void **state)
{
    (void)state;
    struct ll_work work = conv_work(LL_F32, padded);
    struct ll_transformed t;
    assert_true(ll_transform(&winograd, &work, &t));
    assert_int_equal(work.flops * 4, t.product.flops * 9);
    assert_int_equal(t.product.gemm.batch, 16);
    assert_int_equal(t.product.gemm.m, 8 * 49);
    assert_int_equal(t.product.gemm.n, 32);
    assert_int_equal(t.product.gemm.k, 64);
}

/* Every operand in both domains, once out of memory or into it. */
static void passes_of_their_own_move_every_operand_in_both_domains(void **state)
{
    (void)state;
    struct ll_work work = conv_work(LL_F32, padded);
    struct ll_transformed t;
    assert_true(ll_transform(&winograd, &work, &t));
    double direct = 4.0 * (8 * 14 * 14 * 64 + 9 * 64 * 32 + 8 * 14 * 14 * 32);
    double points = 16 * 4.0 * (8 * 49 * 64 + 64 * 32 + 8 * 49 * 32);
    assert_near(t.apart_bytes, direct + points, 0);
}

static void passes_that_a_library_leaves_out_are_not_served(void **state)
{
    (void)state;
    struct ll_transform filters = winograd;
    struct ll_work work = conv_work(LL_F32, padded), gradient = work;
    struct ll_transformed t;
    gradient.conv.pass = LL_CONV_FILTER;
    filters.only_filter_gradients = true;
    assert_false(ll_transform(&filters, &work, &t));
    assert_true(ll_transform(&filters, &gradient, &t));
}

static void a_fused_kernel_passes_over_the_filters_only(void **state)
{
    (void)state;
    struct ll_transform fused = winograd;
    struct ll_work work = conv_work(LL_F32, padded);
    struct ll_transformed t;
    fused.fused = true;
    assert_true(ll_transform(&fused, &work, &t));
    assert_int_equal(t.product.flops * 9, work.flops * 4);
    assert_int_equal(t.product.a_bytes, work.a_bytes);
    assert_int_equal(t.product.c_bytes, work.c_bytes);
    assert_near(t.apart_bytes, 4.0 * 64 * 32 * (9 + 16), 0);
}

/* Half of each filter is zero and not stored; images and results are as large as ever, and so is what a
 * filter is transformed to. */
static void pruned_filters_shrink_on_their_way_in_alone(void **state)
{
    (void)state;
    struct ll_work work = conv_work(LL_F32, padded), pruned = work;
    struct ll_transformed whole, t;
    pruned.b_bytes /= 2;
    pruned.flops /= 2;
    pruned.kept = 2;
    pruned.of = 4;
    assert_true(ll_transform(&winograd, &work, &whole) && ll_transform(&winograd, &pruned, &t));
    assert_int_equal(t.product.a_bytes, whole.product.a_bytes);
    assert_int_equal(t.product.b_bytes, whole.product.b_bytes);
    assert_int_equal(t.product.c_bytes, whole.product.c_bytes);
    assert_near(t.apart_bytes, whole.apart_bytes - (double)pruned.b_bytes, 0);
}

static void what_the_transform_is_not_for_is_left_alone(void **state)
{
    (void)state;
    struct ll_transformed t;
    struct ll_conv strided = padded, grouped = padded, larger = padded, dilated = padded;
    strided.stride_w = 2;
    grouped.groups = 2;
    larger.kernel_h = 5;
    dilated.dilation_h = 2;
    const struct ll_conv *const others[] = {&strided, &grouped, &larger, &dilated};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct ll_work work = conv_work(LL_F32, *others[i]);
        assert_false(ll_transform(&winograd, &work, &t));
    }
    struct ll_work half = conv_work(LL_F16, padded);
    assert_false(ll_transform(&winograd, &half, &t));
}

/* F(3 x 3, 2 x 2): 16 points for each tile of 2 x 2 gradients, channel and filter, summed over the tiles. */
static void the_gradient_of_a_filter_sums_over_the_tiles(void **state)
{
    (void)state;
    struct ll_conv conv = padded;
    struct ll_transform fused = winograd;
    struct ll_transformed t;
    conv.pass = LL_CONV_FILTER;
    fused.fused = true;
    struct ll_work work = conv_work(LL_F32, conv);
    assert_false(ll_transform(&fused, &work, &t));
    assert_true(ll_transform(&winograd, &work, &t));
    assert_int_equal(t.product.flops * 9, work.flops * 4);
    assert_int_equal(t.product.gemm.k, 8 * 49);
    double direct = 4.0 * (8 * 14 * 14 * 64 + 9 * 64 * 32 + 8 * 14 * 14 * 32);
    double points = 16 * 4.0 * (8 * 49 * 64 + 64 * 32 + 8 * 49 * 32);
    assert_near(t.apart_bytes, direct + points, 0);
}

/* One core of 100 products a cycle and a memory too fast to matter: the product takes 4/9 of the time, until
 * starting it costs more than it saves. */
static void the_fastest_way_to_convolve_is_taken(void **state)
{
    (void)state;
    struct ll_machine machine = {.unit_count = 1, .level_count = 1};
    machine.units[0] = (struct ll_unit){
        .name = "core", .model = LL_UNIT_MATRIX, .count = 1, .clock_hz = 1e9, .efficiency = 1};
    machine.units[0].matrix.macs[LL_F32] = 100;
    machine.levels[0] =
        (struct ll_level){.name = "memory", .size_bytes = 1 << 30, .bandwidth_Bps = 1e30, .efficiency = 1};
    struct ll_work work = conv_work(LL_F32, padded);
    struct ll_cost direct, transformed, direct_again;
    const char *trouble;
    assert_true(ll_cost_op(&machine, LL_OP_CONV2D, &work, &direct, &trouble));
    machine.software.transform_count = 1;
    machine.software.transforms[0] = winograd;
    assert_true(ll_cost_op(&machine, LL_OP_CONV2D, &work, &transformed, &trouble));
    assert_near(transformed.compute_s * 9, direct.compute_s * 4, 1e-12);
    assert_near(transformed.utilization, 2.25, 1e-12);
    machine.software.transforms[0].absent = true;
    assert_true(ll_cost_op(&machine, LL_OP_CONV2D, &work, &direct_again, &trouble));
    assert_near(direct_again.compute_s, direct.compute_s, 0);
    machine.software.transforms[0].absent = false;
    machine.software.transforms[0].overhead_s = direct.compute_s;
    assert_true(ll_cost_op(&machine, LL_OP_CONV2D, &work, &direct_again, &trouble));
    assert_near(direct_again.compute_s, direct.compute_s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(winograds_smallest_saves_a_factor_of_nine_quarters),
        cmocka_unit_test(passes_of_their_own_move_every_operand_in_both_domains),
        cmocka_unit_test(passes_that_a_library_leaves_out_are_not_served),
        cmocka_unit_test(a_fused_kernel_passes_over_the_filters_only),
        cmocka_unit_test(pruned_filters_shrink_on_their_way_in_alone),
        cmocka_unit_test(what_the_transform_is_not_for_is_left_alone),
        cmocka_unit_test(the_gradient_of_a_filter_sums_over_the_tiles),
        cmocka_unit_test(the_fastest_way_to_convolve_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
