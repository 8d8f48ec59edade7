/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/study/study.h"

static struct ll_arena arena;

static int release(void **state)
{
    (void)state;
    ll_arena_release(&arena);
    return 0;
}

/* 2, 4, 6: mean 4, variance 8/3. */
static void deviation_is_relative_to_the_mean(void **state)
{
    (void)state;
    const double values[] = {2, 4, 6};
    assert_near(ll_variation(values, 3), sqrt(8.0 / 3) / 4, 1e-15);
    assert_true(ll_variation(values, 0) == 0);
    assert_true(ll_variation(values, 1) == 0);
}

/* Sorted 1 2 3 4: a quarter of the way from 1 to 4 by ranks is 1.75. */
static void quantiles_lie_between_two_values_in_proportion(void **state)
{
    (void)state;
    const double values[] = {4, 1, 3, 2};
    assert_near(ll_quantile(values, 4, 0.25, &arena), 1.75, 1e-15);
    assert_near(ll_quantile(values, 4, 0.5, &arena), 2.5, 1e-15);
    assert_true(ll_quantile(values, 4, 0, &arena) == 1 && ll_quantile(values, 4, 1, &arena) == 4);
    assert_true(isnan(ll_quantile(values, 0, 0.5, &arena)));
    assert_true(values[0] == 4);
}

/* Quartiles of 1 .. 5 are 2 and 4, the median 3; one value far off changes none of them. */
static void outliers_do_not_widen_the_quartiles(void **state)
{
    (void)state;
    const double quiet[] = {1, 2, 3, 4, 5}, loud[] = {1, 2, 3, 4, 500};
    assert_near(ll_robust_variation(quiet, 5, &arena), 2 / 1.349 / 3, 1e-15);
    assert_near(ll_robust_variation(loud, 5, &arena), 2 / 1.349 / 3, 1e-15);
}

/* 10, 11, 12, 13, 14 gains 4 over a median of 12, and still does with one value far off. */
static void drift_is_the_gain_of_the_line_over_the_median(void **state)
{
    (void)state;
    const double line[] = {10, 11, 12, 13, 14}, outlier[] = {10, 11, 99, 13, 14}, flat[] = {5, 5, 5};
    assert_near(ll_drift(line, 5, &arena), 4.0 / 12, 1e-15);
    assert_near(ll_drift(outlier, 5, &arena), 4.0 / 13, 1e-15);
    assert_true(ll_drift(flat, 3, &arena) == 0 && ll_drift(flat, 1, &arena) == 0);
}

/* Ranks 1 2 3 4 5 against 2 1 4 3 5: 1 - 6 * (1 + 1 + 1 + 1) / (5 * 24) = 0.8. */
static void rank_correlation_is_spearmans(void **state)
{
    (void)state;
    const double x[] = {10, 20, 30, 40, 50}, y[] = {2, 1, 4, 3, 5}, falling[] = {9, 8, 7, 6, 5},
                 same[] = {1, 1, 1, 1, 1};
    assert_near(ll_spearman(x, y, 5, &arena), 0.8, 1e-15);
    assert_near(ll_spearman(x, falling, 5, &arena), -1, 1e-15);
    assert_true(ll_spearman(x, same, 5, &arena) == 0);
}

/* Ties share their ranks: 1 2.5 2.5 4 against 1 2 3 4 is 4.5 / sqrt(4.5 * 5). */
static void ties_share_their_ranks(void **state)
{
    (void)state;
    const double x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4};
    assert_near(ll_spearman(x, y, 4, &arena), 4.5 / sqrt(4.5 * 5), 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deviation_is_relative_to_the_mean),
        cmocka_unit_test(quantiles_lie_between_two_values_in_proportion),
        cmocka_unit_test(outliers_do_not_widen_the_quartiles),
        cmocka_unit_test(drift_is_the_gain_of_the_line_over_the_median),
        cmocka_unit_test(rank_correlation_is_spearmans),
        cmocka_unit_test(ties_share_their_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
