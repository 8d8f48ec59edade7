/* SPDX-License-Identifier: Apache-2.0 */
/* Expected numbers follow from the formulas at the head of sim/cost/gemm_work.c, by hand. */
#include "check.h"

#include "sim/cost/cost_parts.h"

static struct ll_work product(uint64_t batch, uint64_t m, uint64_t n, uint64_t k)
{
    return (struct ll_work){.kind = LL_WORK_GEMM,
                            .dtype = LL_F32,
                            .flops = 2 * batch * m * n * k,
                            .a_bytes = 4 * batch * m * k,
                            .b_bytes = 4 * batch * k * n,
                            .c_bytes = 4 * batch * m * n,
                            .gemm = {batch, m, n, k}};
}

/* Two images of 10 x 10 x 6, windows of 3 x 3, padded, to 8 channels. */
static struct ll_work convolution(enum ll_conv_pass pass)
{
    struct ll_work work = {.kind = LL_WORK_CONV, .dtype = LL_F32, .flops = 2 * 200 * 54 * 8};
    work.conv = (struct ll_conv){2, 10, 10, 6, 10, 10, 8, 3, 3, 1, 1, 1, pass, 1, 1};
    uint64_t image = 4 * 200 * 6, result = 4 * 200 * 8, filter = 4 * 54 * 8;
    work.a_bytes = pass == LL_CONV_DATA ? result : image;
    work.b_bytes = pass == LL_CONV_FILTER ? result : filter;
    work.c_bytes = pass == LL_CONV_FORWARD ? result : pass == LL_CONV_DATA ? image : filter;
    return work;
}

static struct ll_layout layout_of(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units)
{
    struct ll_task task = ll_task_of(work, LL_F32);
    return ll_layout_of(kernel, &task, units, (double)units, NULL);
}

static void without_a_word_about_it_a_product_is_dealt_evenly(void **state)
{
    (void)state;
    struct ll_work work = product(1, 100, 3, 5);
    struct ll_layout layout = layout_of(&(struct ll_kernel){0}, &work, 7);
    assert_int_equal(layout.units, 7);
    assert_near(layout.imbalance, 1, 0);
    assert_near(layout.layout_s, 0, 0);
}

static void whole_slices_leave_units_idle(void **state)
{
    struct ll_kernel kernel = {.slice = 96};
    (void)state;
    struct ll_work few = product(1, 98, 10, 5); /* 96 and 2 lines on two units */
    assert_near(layout_of(&kernel, &few, 2).imbalance, 96.0 / 49, 1e-12);
    struct ll_work rest = product(1, 10, 200, 5); /* 96, 96 and 8: the longer side is cut */
    assert_near(layout_of(&kernel, &rest, 2).imbalance, 104.0 / 100, 1e-12);
    struct ll_work one = product(1, 50, 50, 5);
    assert_int_equal(layout_of(&kernel, &one, 4).units, 1);
    assert_near(layout_of(&kernel, &one, 4).imbalance, 4, 1e-12);
    struct ll_work stack = product(5, 200, 200, 5); /* of a stack the matrices are dealt */
    assert_near(layout_of(&kernel, &stack, 2).imbalance, 3 / 2.5, 1e-12);
}

/* Two products of 8 x 2 x 5 on four units, two of them a product: each copies half of its A, 80 B, and
 * its whole B, 40 B; five on two units are two and a half for each. A single product is shared in the
 * same way. */
static void without_slices_units_share_the_products_of_a_stack(void **state)
{
    struct ll_kernel kernel = {.packing_Bps = 1e9};
    (void)state;
    struct ll_work two = product(2, 8, 2, 5), five = product(5, 8, 2, 5), one = product(1, 8, 2, 5);
    assert_int_equal(layout_of(&kernel, &two, 4).units, 4);
    assert_near(layout_of(&kernel, &two, 4).imbalance, 1, 0);
    assert_near(layout_of(&kernel, &two, 4).layout_s, (80 + 40) / 1e9, 1e-12);
    assert_near(layout_of(&kernel, &five, 2).imbalance, 1, 0);
    assert_near(layout_of(&kernel, &five, 2).layout_s, 2.5 * (160 + 40) / 1e9, 1e-12);
    assert_near(layout_of(&kernel, &one, 4).layout_s, (40 + 40) / 1e9, 1e-12);
}

static void each_slice_copies_the_other_operand_again(void **state)
{
    struct ll_kernel kernel = {.slice = 50, .packing_Bps = 1e9};
    (void)state;
    struct ll_work work = product(1, 200, 10, 30); /* A: 24,000 B, B: 1,200 B for each of four slices */
    assert_near(layout_of(&kernel, &work, 1).layout_s, (24000 + 4 * 1200) / 1e9, 1e-12);
    assert_near(layout_of(&kernel, &work, 2).layout_s, (24000 + 4 * 1200) / 2e9, 1e-12);
    /* 96 and 2 lines on two units: the other operand stands before the second unit, too, not twice before
     * the first. */
    kernel.slice = 96;
    struct ll_work few = product(1, 98, 10, 30);
    assert_near(layout_of(&kernel, &few, 2).layout_s, (96 * 30 * 4 + 1200) / 1e9, 1e-12);
    assert_near(layout_of(&kernel, &few, 1).layout_s, (98 * 30 * 4 + 2 * 1200) / 1e9, 1e-12);
}

/* Slices of 50 x 10 x 30 multiply-adds. */
static void small_slices_are_multiplied_in_place(void **state)
{
    struct ll_kernel kernel = {.slice = 50, .packing_Bps = 1e9, .small = 15000};
    (void)state;
    struct ll_work work = product(1, 200, 10, 30), stack = product(7, 50, 10, 30);
    assert_near(layout_of(&kernel, &work, 2).layout_s, 0, 0);
    assert_near(layout_of(&kernel, &stack, 7).layout_s, 0, 0);
    work.along_k = LL_LINES_OF_B;
    assert_near(layout_of(&kernel, &work, 1).layout_s, (24000 + 4 * 1200) / 1e9, 1e-12);
    work.along_k = LL_LINES_OF_A;
    assert_near(layout_of(&kernel, &work, 1).layout_s, 0, 0);
    kernel.small--;
    assert_near(layout_of(&kernel, &work, 1).layout_s, (24000 + 4 * 1200) / 1e9, 1e-12);
    kernel.small = 1 << 20; /* windows are copied all the same */
    struct ll_work conv = convolution(LL_CONV_FORWARD);
    assert_true(layout_of(&kernel, &conv, 1).layout_s > 0);
    struct ll_work short_side = product(1, 40, 10, 30); /* the slice is no longer than the product */
    kernel.small = 40 * 10 * 30;
    assert_near(layout_of(&kernel, &short_side, 1).layout_s, 0, 0);
}

/* Two images of 10 x 10, windows of 54 elements: 200 lines. */
static void slices_hold_so_many_elements_of_what_is_cut(void **state)
{
    struct ll_kernel kernel = {.slice = 20, .slice_elements = 54 * 75, .slice_step = 32, .slice_most = 48};
    struct ll_work work = convolution(LL_CONV_FORWARD);
    (void)state;
    /* 75 lines in steps of 32 are 64, of which 48 are taken: 48 * 4 + 8, the busiest of two has 104. */
    assert_near(layout_of(&kernel, &work, 2).imbalance, 104.0 / 100, 1e-12);
    kernel.slice_most = 0; /* 64 * 3 + 8: two of 64 each, then 64 and 8 */
    assert_near(layout_of(&kernel, &work, 2).imbalance, 128.0 / 100, 1e-12);
    kernel.slice_elements = 54 * 5; /* five lines are less than the least */
    assert_int_equal(layout_of(&kernel, &work, 16).units, 10);
    struct ll_work by_columns = product(1, 10, 200, 54); /* the longer side is cut, lines of 54 */
    kernel = (struct ll_kernel){.slice_elements = 54 * 120};
    assert_near(layout_of(&kernel, &by_columns, 2).imbalance, 120.0 / 100, 1e-12);
}

/* The input's gradient with strides of 2: four products of 50 pixels each, one after the other. */
static void phases_of_strides_are_cut_one_by_one(void **state)
{
    struct ll_kernel kernel = {.slice = 48, .packing_Bps = 1e9};
    struct ll_work work = convolution(LL_CONV_DATA);
    (void)state;
    work.conv.stride_h = work.conv.stride_w = 2;
    struct ll_layout layout = layout_of(&kernel, &work, 2);
    assert_near(layout.imbalance, 48.0 / 25, 1e-12);
    assert_int_equal(layout.units, 2);
    work.conv.stride_h = work.conv.stride_w = UINT64_C(1) << 32; /* more phases than can be counted */
    assert_near(layout_of(&kernel, &work, 2).imbalance, 2, 1e-12);
    work.conv.stride_h = work.conv.stride_w = 1; /* all 200 at once: 48 * 4 + 8 */
    assert_near(layout_of(&kernel, &work, 2).imbalance, 104.0 / 100, 1e-12);
}

static void windows_are_gathered_line_by_line(void **state)
{
    struct ll_kernel kernel = {.line_s = 1e-9};
    (void)state;
    struct ll_work forward = convolution(LL_CONV_FORWARD), data = convolution(LL_CONV_DATA);
    struct ll_work filter = convolution(LL_CONV_FILTER);
    assert_near(layout_of(&kernel, &forward, 1).layout_s, 200 * 3 * 1e-9, 1e-12);
    assert_near(layout_of(&kernel, &data, 1).layout_s, 200 * 3 * 1e-9, 1e-12);
    assert_near(layout_of(&kernel, &filter, 1).layout_s, 200 * 3 * 1e-9, 1e-12);
    kernel.slice = 9; /* of 54 taps: six pieces of each window */
    assert_near(layout_of(&kernel, &filter, 1).layout_s, 200 * 6 * 1e-9, 1e-12);
    assert_near(layout_of(&kernel, &filter, 4).layout_s, 200 * 2 * 1e-9, 1e-12);
}

static void what_is_moved_again_is_the_result(void **state)
{
    struct ll_kernel kernel = {.rewrites = 2};
    struct ll_work work = product(1, 10, 10, 10); /* three operands of the same size */
    struct ll_task task = ll_task_of(&work, LL_F32);
    (void)state;
    assert_near(ll_layout_rewriting(&kernel, &task, 0, ll_work_bytes(task.work)), 5.0 / 3, 1e-12);
    struct ll_work sum = {.kind = LL_WORK_VECTOR, .a_bytes = 20, .c_bytes = 10}, over = sum;
    over.in_place = 1;
    struct ll_task task_of_sum = ll_task_of(&sum, LL_F32), task_over = ll_task_of(&over, LL_F32);
    assert_near(ll_layout_rewriting(&kernel, &task_of_sum, 0, ll_work_bytes(task_of_sum.work)), 1, 0);
    assert_near(ll_layout_rewriting(&kernel, &task_of_sum, 1, ll_work_bytes(task_of_sum.work)), 5.0 / 3,
                1e-12);
    assert_near(ll_layout_rewriting(&kernel, &task_over, 1, ll_work_bytes(task_over.work)), 1, 0);
}

/* The law: one unit more never gives the busiest more to do. */
static void more_units_are_never_slower(void **state)
{
    uint64_t seed = ll_seed(96);
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct ll_kernel kernel = {
            .slice = 1 + ll_random_below(&seed, 100), .packing_Bps = 1e9, .line_s = 1e-9};
        struct ll_work work = product(1 + ll_random_below(&seed, 3), 1 + ll_random_below(&seed, 500),
                                      1 + ll_random_below(&seed, 500), 1 + ll_random_below(&seed, 9));
        double before = INFINITY, layout_s = INFINITY;
        for (uint64_t units = 1; units < 20; units++) {
            struct ll_layout layout = layout_of(&kernel, &work, units);
            assert_true(layout.imbalance / (double)units <= before * (1 + 1e-12));
            assert_true(layout.layout_s <= layout_s * (1 + 1e-12));
            before = layout.imbalance / (double)units;
            layout_s = layout.layout_s;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_word_about_it_a_product_is_dealt_evenly),
        cmocka_unit_test(whole_slices_leave_units_idle),
        cmocka_unit_test(without_slices_units_share_the_products_of_a_stack),
        cmocka_unit_test(each_slice_copies_the_other_operand_again),
        cmocka_unit_test(small_slices_are_multiplied_in_place),
        cmocka_unit_test(slices_hold_so_many_elements_of_what_is_cut),
        cmocka_unit_test(phases_of_strides_are_cut_one_by_one),
        cmocka_unit_test(windows_are_gathered_line_by_line),
        cmocka_unit_test(what_is_moved_again_is_the_result),
        cmocka_unit_test(more_units_are_never_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
