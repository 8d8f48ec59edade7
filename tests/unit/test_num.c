/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/num.h"

static void a_product_that_does_not_fit_stays_so(void **state)
{
    (void)state;
    uint64_t huge = ll_mul(UINT64_C(1) << 32, UINT64_C(1) << 32);
    assert_false(ll_fits(huge));
    assert_false(ll_fits(ll_mul(huge, 0)));
    assert_false(ll_fits(ll_mul(0, huge)));
    assert_false(ll_fits(ll_add(huge, 1)));
    assert_false(ll_fits(ll_add(1, huge)));
    assert_false(ll_fits(ll_sub(huge, huge)));
    assert_false(ll_fits(ll_ceil_div(huge, 2)));
    assert_false(ll_fits(ll_ceil_div(2, huge)));
    assert_false(ll_fits(ll_max(huge, 1)));
}

static void the_largest_number_that_fits_is_one_below_the_mark(void **state)
{
    (void)state;
    assert_true(ll_fits(ll_add(UINT64_MAX - 2, 1)));
    assert_false(ll_fits(ll_add(UINT64_MAX - 1, 1)));
    assert_false(ll_fits(ll_add(UINT64_MAX - 1, 2)));
    assert_true(ll_fits(ll_mul(UINT64_MAX / 5 - 1, 5)));
    assert_int_equal(ll_ceil_div(UINT64_MAX - 1, 1), UINT64_MAX - 1);
}

static void a_difference_is_never_negative(void **state)
{
    (void)state;
    assert_int_equal(ll_sub(7, 7), 0);
    assert_int_equal(ll_sub(9, 7), 2);
    assert_false(ll_fits(ll_sub(7, 8)));
}

static void powers_of_two_are_told_from_their_neighbours(void **state)
{
    (void)state;
    assert_false(ll_is_power_of_two(0));
    assert_true(ll_is_power_of_two(1) && ll_is_power_of_two(2) && ll_is_power_of_two(UINT64_C(1) << 63));
    assert_false(ll_is_power_of_two(3) || ll_is_power_of_two((UINT64_C(1) << 63) + 1) ||
                 ll_is_power_of_two(LL_NO_FIT));
}

static void min_and_max_know_that_no_fit_is_largest(void **state)
{
    (void)state;
    assert_int_equal(ll_min(3, LL_NO_FIT), 3);
    assert_int_equal(ll_min(4, 3), 3);
    assert_int_equal(ll_max(4, 3), 4);
    assert_int_equal(ll_max(3, 4), 4);
}

/* The dumb twin has 128 bits. */
static void random_sums_products_and_pieces_are_those_of_wider_numbers(void **state)
{
    (void)state;
    uint64_t random = ll_seed(1);
    for (int i = 0; i < 200000; i++) {
        uint64_t a = ll_random(&random) >> ll_random_below(&random, 64);
        uint64_t b = ll_random(&random) >> ll_random_below(&random, 64);
        unsigned __int128 sum = (unsigned __int128)a + b, product = (unsigned __int128)a * b;
        bool numbers = a != LL_NO_FIT && b != LL_NO_FIT;
        assert_int_equal(ll_add(a, b), numbers && sum < LL_NO_FIT ? (uint64_t)sum : LL_NO_FIT);
        assert_int_equal(ll_mul(a, b), numbers && product < LL_NO_FIT ? (uint64_t)product : LL_NO_FIT);
        if (numbers && b > 0)
            assert_int_equal(ll_ceil_div(a, b), (uint64_t)(((unsigned __int128)a + b - 1) / b));
    }
}

static void the_common_divisor_is_the_greatest(void **state)
{
    (void)state;
    assert_int_equal(ll_common_divisor(12, 18), 6);
    assert_int_equal(ll_common_divisor(18, 12), 6);
    assert_int_equal(ll_common_divisor(35, 12), 1);
    assert_int_equal(ll_common_divisor(0, 7), 7);
    assert_int_equal(ll_common_divisor(7, 0), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_that_does_not_fit_stays_so),
        cmocka_unit_test(the_largest_number_that_fits_is_one_below_the_mark),
        cmocka_unit_test(a_difference_is_never_negative),
        cmocka_unit_test(powers_of_two_are_told_from_their_neighbours),
        cmocka_unit_test(min_and_max_know_that_no_fit_is_largest),
        cmocka_unit_test(the_common_divisor_is_the_greatest),
        cmocka_unit_test(random_sums_products_and_pieces_are_those_of_wider_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
