/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost_parts.h"

/* The gradient of the input of a convolution that halves 4 images of 8 x 8 x 16 to 32 channels. */
static struct ll_work halving(uint64_t kernel)
{
    struct ll_conv conv = {.batch = 4,
                           .in_h = 8,
                           .in_w = 8,
                           .in_c = 16,
                           .out_h = 4,
                           .out_w = 4,
                           .out_c = 32,
                           .kernel_h = kernel,
                           .kernel_w = kernel,
                           .stride_h = 2,
                           .stride_w = 2,
                           .groups = 1,
                           .pass = LL_CONV_DATA};
    return conv_work(LL_F32, conv);
}

static void what_a_machine_says_nothing_of_is_done_as_it_is(void **state)
{
    (void)state;
    struct ll_software software = {0};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    assert_int_equal(ll_variants(&software, &work, variants), 1);
    assert_null(variants[0].name);
    assert_memory_equal(&variants[0].work, &work, sizeof work);
}

/* dy, filters and dx are 4 * 4 * 4 * 32, 9 * 16 * 32 and 4 * 8 * 8 * 16 numbers, each read and written. */
static void operands_are_laid_out_anew_where_kernels_want_channels_last(void **state)
{
    (void)state;
    struct ll_software software = {.layout_transform = {[LL_F32] = 0.5}};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    assert_int_equal(ll_variants(&software, &work, variants), 1);
    assert_near(variants[0].apart_bytes, 2 * 4 * (4 * 4 * 4 * 32 + 9 * 16 * 32 + 4 * 8 * 8 * 16), 0);
    assert_near(variants[0].apart_share, 0.5, 0);
    software.strided = LL_STRIDED_LIBRARY; /* in each of its ways, beside what scattering moves */
    assert_int_equal(ll_variants(&software, &work, variants), 2);
    assert_near(variants[0].apart_bytes, 2 * 4 * (4 * 4 * 4 * 32 + 9 * 16 * 32 + 4 * 8 * 8 * 16), 0);
    assert_true(variants[1].apart_bytes > variants[0].apart_bytes);
    work = halving(1);
    work.conv.stride_h = work.conv.stride_w = 1; /* a plain product */
    ll_variants(&software, &work, variants);
    assert_near(variants[0].apart_bytes, 0, 0);
}

/* Of 8 x 8 pixels the windows of 1x1 filters with stride 2 see a quarter. */
static void pixels_between_windows_are_laid_out_anew_but_not_read(void **state)
{
    (void)state;
    struct ll_software software = {.layout_transform = {[LL_F32] = 0.5}};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work work = halving(1);
    uint64_t image_bytes = work.c_bytes, result_bytes = work.a_bytes;
    work.conv.pass = LL_CONV_FORWARD;
    work.a_bytes = image_bytes;
    work.c_bytes = result_bytes;
    ll_variants(&software, &work, variants);
    assert_int_equal(variants[0].work.a_bytes, image_bytes / 4);
    assert_near(variants[0].apart_bytes, 2 * (double)(image_bytes + work.b_bytes + result_bytes), 0);
}

/* Each of 4 * 8 * 8 pixels sums 9 taps of 32 channels: four times what is needed. */
static void zeros_between_are_multiplied_too(void **state)
{
    (void)state;
    struct ll_software software = {.strided = LL_STRIDED_LIBRARY};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    assert_int_equal(ll_variants(&software, &work, variants), 2);
    assert_int_equal(variants[0].work.flops, 4 * work.flops);
    assert_int_equal(variants[0].work.gemm.m, 4 * 8 * 8);
    assert_int_equal(variants[0].work.gemm.n, 16);
    assert_int_equal(variants[0].work.gemm.k, 9 * 32);
}

/* A gradient over 10 x 10 pixels of 8 x 8 results without padding multiplies 100 windows for 64; one over
 * 8 x 8 of 4 x 4 with stride 2 as many as it needs. */
static void phases_multiply_past_the_border_of_what_has_no_padding(void **state)
{
    (void)state;
    struct ll_software software = {.strided = LL_STRIDED_PHASES};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work padded = halving(3), bare = padded;
    assert_int_equal(ll_variants(&software, &padded, variants), 1);
    assert_memory_equal(&variants[0].work, &padded, sizeof padded);
    bare.conv.in_h = bare.conv.in_w = 10;
    bare.conv.out_h = bare.conv.out_w = 8;
    bare.conv.stride_h = bare.conv.stride_w = 1;
    assert_int_equal(ll_variants(&software, &bare, variants), 1);
    assert_int_equal(variants[0].work.flops, bare.flops * 100 / 64);
    assert_int_equal(ll_conv_as_gemm(&variants[0].work.conv).m, 4 * 10 * 10);
    bare.conv.pass = LL_CONV_FORWARD;
    ll_variants(&software, &bare, variants);
    assert_int_equal(variants[0].work.flops, bare.flops);
}

/* dx is 4 * 8 * 8 * 16 numbers; the columns of 4 * 4 * 4 windows are 9 * 16 each, written and read. */
static void scattering_clears_and_moves_columns_where_windows_overlap(void **state)
{
    (void)state;
    struct ll_software software = {.strided = LL_STRIDED_LIBRARY};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work wide = halving(3), narrow = halving(1);
    ll_variants(&software, &wide, variants);
    assert_near(variants[0].rate, 1, 0);
    double dx = 4.0 * 4 * 8 * 8 * 16, columns = 4.0 * (4 * 4 * 4) * 9 * 16;
    assert_near(variants[1].apart_bytes, dx + 2 * columns, 1e-12);
    assert_int_equal(variants[1].work.flops, wide.flops);
    ll_variants(&software, &narrow, variants);
    assert_near(variants[1].apart_bytes, dx, 0);
    wide.conv.kernel_w = 1; /* they overlap one above the other */
    ll_variants(&software, &wide, variants);
    assert_near(variants[1].apart_bytes, dx + 2 * columns / 3, 1e-12);
}

/* 4 images of 8 x 8 x 16, 3 x 3 to 4 x 4 x 32: a product of 16 x 32 x 144 an image; 4 * 16 * 144 numbers of
 * columns are written by a pass of their own, which reads the images. */
static void columns_are_made_and_multiplied_image_by_image(void **state)
{
    (void)state;
    struct ll_software software = {.convolving = LL_CONVOLVING_COLUMNS, .transform_count = 1};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    work.conv.pass = LL_CONV_FORWARD;
    uint64_t dx = work.c_bytes;
    work.c_bytes = work.a_bytes;
    work.a_bytes = dx;
    assert_int_equal(ll_variants(&software, &work, variants), 1);
    const struct ll_work *v = &variants[0].work;
    assert_int_equal(v->kind, LL_WORK_SEQUENCE);
    assert_int_equal(v->sequence.steps, 4);
    assert_int_equal(v->sequence.step.m, 16);
    assert_int_equal(v->sequence.step.n, 32);
    assert_int_equal(v->sequence.step.k, 144);
    assert_int_equal(v->flops, work.flops);
    assert_int_equal(v->a_bytes, 4 * 4 * 16 * 144);
    assert_near(variants[0].apart_bytes, 4.0 * (4 * 16 * 144 + 4 * 8 * 8 * 16), 0);
    assert_int_equal(v->sequence.fresh, 0);
}

/* The filters' gradient, 9 * 16 * 32 numbers, is added to once an image, by its columns and its gradients of
 * 4 * 4 * 32: neither of these stays from image to image. */
static void gradients_of_filters_are_summed_up_over_images(void **state)
{
    (void)state;
    struct ll_software software = {.convolving = LL_CONVOLVING_COLUMNS, .transform_count = 1};
    struct ll_variant variants[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    work.conv.pass = LL_CONV_FILTER;
    work.a_bytes = 4 * 4 * 8 * 8 * 16;
    work.b_bytes = 4 * 4 * 4 * 4 * 32;
    work.c_bytes = 4 * 9 * 16 * 32;
    assert_int_equal(ll_variants(&software, &work, variants), 1);
    const struct ll_work *v = &variants[0].work;
    assert_int_equal(v->sequence.step.m, 144);
    assert_int_equal(v->sequence.step.n, 32);
    assert_int_equal(v->sequence.step.k, 16);
    assert_int_equal(v->sequence.fresh, 1);
    assert_int_equal(v->a_bytes, 4 * 4 * 16 * 144);
    assert_int_equal(v->b_bytes, work.b_bytes);
    assert_int_equal(v->c_bytes, 4 * work.c_bytes);
}

/* 4 images of 8 x 8 x 16 to 4 x 4 x 32, each channel on its own to two: elements of 9 taps on the lanes, of
 * the filters' gradient sums of as many products as there are. */
static void channels_of_their_own_are_convolved_on_lanes(void **state)
{
    (void)state;
    struct ll_software software = {
        .depthwise_efficiency = 0.25, .transform_count = 1, .strided = LL_STRIDED_LIBRARY};
    struct ll_variant v[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    work.conv.groups = 16;
    work.flops /= 16;
    assert_int_equal(ll_variants(&software, &work, v), 1);
    assert_int_equal(v[0].work.kind, LL_WORK_VECTOR);
    assert_int_equal(v[0].work.vector.elements, 4 * 8 * 8 * 16);
    assert_int_equal(v[0].work.flops, work.flops);
    assert_int_equal(v[0].work.a_bytes, work.a_bytes + work.b_bytes);
    assert_near(v[0].rate, 0.25, 0);
    work.conv.pass = LL_CONV_FORWARD;
    ll_variants(&software, &work, v);
    assert_int_equal(v[0].work.vector.elements, 4 * 4 * 4 * 32);
    work.conv.pass = LL_CONV_FILTER;
    ll_variants(&software, &work, v);
    assert_int_equal(v[0].work.kind, LL_WORK_REDUCE);
    assert_int_equal(v[0].work.reduce.in_elements, 4 * 4 * 4 * 32 * 9);
    assert_int_equal(v[0].work.reduce.out_elements, 32 * 9);
    work.conv.groups = 8; /* two channels a group are a product */
    assert_false(ll_on_lanes(&software, &work));
}

/* Sixteen groups of one channel that becomes two: a block of 8 channels has room for the results of four. */
static void groups_are_computed_together_with_zeros_between(void **state)
{
    (void)state;
    struct ll_software software = {.group_block = 8};
    struct ll_variant v[LL_MOST_VARIANTS];
    struct ll_work work = halving(3);
    work.conv.pass = LL_CONV_FORWARD;
    work.conv.groups = 16;
    work.flops /= 16;
    assert_int_equal(ll_variants(&software, &work, v), 2);
    assert_int_equal(v[0].work.conv.groups, 16);
    assert_int_equal(v[1].work.conv.groups, 4);
    assert_int_equal(v[1].work.flops, 4 * work.flops);
    assert_int_equal(v[1].work.b_bytes, 4 * work.b_bytes);
    assert_int_equal(v[1].work.c_bytes, work.c_bytes);
    work.conv.pass = LL_CONV_FILTER;
    ll_variants(&software, &work, v);
    assert_int_equal(v[1].work.c_bytes, 4 * work.c_bytes);
    software.group_block = 1000;
    ll_variants(&software, &work, v);
    assert_int_equal(v[1].work.conv.groups, 1);
    software.group_block = 3; /* a group has two results, two of them four */
    assert_int_equal(ll_variants(&software, &work, v), 1);
    work.conv.groups = 1;
    software.group_block = 1000;
    assert_int_equal(ll_variants(&software, &work, v), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_computed_together_with_zeros_between),
        cmocka_unit_test(what_a_machine_says_nothing_of_is_done_as_it_is),
        cmocka_unit_test(operands_are_laid_out_anew_where_kernels_want_channels_last),
        cmocka_unit_test(pixels_between_windows_are_laid_out_anew_but_not_read),
        cmocka_unit_test(zeros_between_are_multiplied_too),
        cmocka_unit_test(columns_are_made_and_multiplied_image_by_image),
        cmocka_unit_test(gradients_of_filters_are_summed_up_over_images),
        cmocka_unit_test(phases_multiply_past_the_border_of_what_has_no_padding),
        cmocka_unit_test(channels_of_their_own_are_convolved_on_lanes),
        cmocka_unit_test(scattering_clears_and_moves_columns_where_windows_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
