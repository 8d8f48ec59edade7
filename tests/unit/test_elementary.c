/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials and logarithms of floats against the C library's in double. */
#include "check.h"

#include "models/nn/elementary.h"

#include <math.h>

/* Distance in units in the last place of the exact value. */
static double ulps(float got, double exact)
{
    if (isinf(exact) || isinf(got))
        return (double)got == (double)(float)exact ? 0 : INFINITY;
    double unit = fmax((double)(nextafterf((float)fabs(exact), INFINITY) - (float)fabs(exact)), 0x1p-149);
    return fabs((double)got - exact) / unit;
}

static void expect_near(float (*f)(float), double (*exact)(double), float from, float to, double most)
{
    enum { POINTS = 1000003 };
    for (int i = 0; i <= POINTS; i++) {
        float x = from + (to - from) * ((float)i / POINTS);
        double distance = ulps(f(x), exact((double)x));
        if (!(distance <= most))
            fail_msg("at %.9g: %.9g is %g units off %.9g", (double)x, (double)f(x), distance,
                     exact((double)x));
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void exponentials_are_right_to_two_units(void **state)
{
    (void)state;
    expect_near(ll_exp, exp, -87, 88.7f, 2);
    expect_near(ll_exp, exp, -1, 1, 2);
    expect_near(ll_exp, exp, -103, -87, 2);
    expect_near(ll_tanh, tanh, -12, 12, 2);
    expect_near(ll_tanh, tanh, -0.01f, 0.01f, 2);
    expect_near(ll_sigmoid, sigmoid, -80, 40, 4);
}

static void logarithms_are_right_to_two_units(void **state)
{
    (void)state;
    expect_near(ll_log, log, 0x1p-149f, 0x1p-126f, 2);
    expect_near(ll_log, log, 0x1p-126f, 0x1p-120f, 2);
    expect_near(ll_log, log, 0.001f, 4, 2);
    expect_near(ll_log, log, 0.99f, 1.01f, 2);
    expect_near(ll_log, log, 1, 3e38f, 2);
    expect_near(ll_log1p, log1p, 0, 1, 2);
    expect_near(ll_log1p, log1p, 0, 1e-6f, 2);
    expect_near(ll_log1p, log1p, 0x1p-149f, 1e-30f, 2);
}

static void logarithms_end_where_they_must(void **state)
{
    (void)state;
    assert_true(ll_log(1) == 0);
    assert_true(isinf(ll_log(0)) && ll_log(0) < 0 && isinf(ll_log(-0.0f)) && ll_log(-0.0f) < 0);
    assert_true(isinf(ll_log(INFINITY)) && ll_log(INFINITY) > 0);
    assert_true(isnan(ll_log(-1)) && isnan(ll_log(-INFINITY)) && isnan(ll_log(-0x1p-140f)));
    assert_true(isnan(ll_log(NAN)));
}

static void at_the_ends_they_are_what_they_must_be(void **state)
{
    (void)state;
    assert_true(ll_exp(0) == 1);
    assert_true(ll_exp(-INFINITY) == 0 && ll_exp(-1e30f) == 0);
    assert_true(isinf(ll_exp(INFINITY)) && isinf(ll_exp(1000)));
    assert_true(isnan(ll_exp(NAN)) && isnan(ll_tanh(NAN)));
    assert_true(ll_tanh(0) == 0 && ll_tanh(50) == 1 && ll_tanh(-INFINITY) == -1);
    assert_true(ll_sigmoid(0) == 0.5f && ll_sigmoid(INFINITY) == 1 && ll_sigmoid(-INFINITY) == 0);
}

/* Abramowitz and Stegun, 7.1.26, promise 1.5e-7 of the error function; the density is an exponential. */
static void normal_numbers_fall_below_as_often_as_they_should(void **state)
{
    (void)state;
    for (int i = -12000; i <= 12000; i++) {
        float x = (float)i / 1000;
        assert_true(fabs((double)ll_normal_below(x) - erfc((double)-x / sqrt(2)) / 2) < 3e-7);
        assert_true(fabs((double)ll_normal_density(x) - exp((double)(-x * x) / 2) / sqrt(8 * atan(1))) <
                    2e-7);
    }
    assert_true(ll_normal_below(INFINITY) == 1 && ll_normal_below(-INFINITY) == 0);
    assert_true(isnan(ll_normal_below(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_are_right_to_two_units),
        cmocka_unit_test(logarithms_are_right_to_two_units),
        cmocka_unit_test(logarithms_end_where_they_must),
        cmocka_unit_test(normal_numbers_fall_below_as_often_as_they_should),
        cmocka_unit_test(at_the_ends_they_are_what_they_must_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
