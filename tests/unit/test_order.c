/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/map.h"

#include <math.h>

static void a_median_is_the_middle_or_the_mean_of_both(void **state)
{
    (void)state;
    double odd[] = {5, -1, 3}, even[] = {8, 1, 4, 2};
    assert_true(ll_median(odd, 3) == 3);
    assert_true(ll_median(even, 4) == 3);
    assert_true(even[0] == 1 && even[1] == 2 && even[2] == 4 && even[3] == 8);
    assert_true(isnan(ll_median(odd, 0)));
}

static void a_quantile_lies_between_two_in_proportion(void **state)
{
    (void)state;
    const double sorted[] = {10, 20, 40};
    assert_true(ll_sorted_quantile(sorted, 3, 0) == 10);
    assert_true(ll_sorted_quantile(sorted, 3, 0.25) == 15);
    assert_true(ll_sorted_quantile(sorted, 3, 0.75) == 30);
    assert_true(ll_sorted_quantile(sorted, 3, 1) == 40);
    assert_true(isnan(ll_sorted_quantile(sorted, 0, 0.5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_is_the_middle_or_the_mean_of_both),
        cmocka_unit_test(a_quantile_lies_between_two_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
