/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/findings.h"

enum { POINTS = 500 };

static double numbers[4][POINTS], target[POINTS];
static uint32_t choices[POINTS];

static double deviation_of(const double *values)
{
    double mean = 0, square = 0;
    for (int i = 0; i < POINTS; i++)
        mean += values[i] / POINTS;
    for (int i = 0; i < POINTS; i++)
        square += (values[i] - mean) * (values[i] - mean) / POINTS;
    return sqrt(square);
}

static void fill(uint64_t seed)
{
    uint64_t random = ll_seed(seed);
    for (int i = 0; i < POINTS; i++) {
        for (int p = 0; p < 4; p++)
            numbers[p][i] = 1e9 + 1e8 * (double)ll_random_below(&random, 1000);
        choices[i] = (uint32_t)ll_random_below(&random, 3);
    }
}

static void a_sum_of_parameters_gives_its_factors_back(void **state)
{
    (void)state;
    fill(1);
    for (int i = 0; i < POINTS; i++)
        target[i] = 5 + 3 * numbers[0][i] - 2 * numbers[1][i];
    const struct ll_predictor parameters[] = {
        {.numbers = numbers[0]}, {.numbers = numbers[1]}, {.numbers = numbers[2]}};
    double weights[3], r2;
    assert_int_equal(ll_regress(parameters, 3, target, POINTS, weights, &r2), LL_OK);
    assert_near(r2, 1, 1e-9);
    assert_near(weights[0], 3 * deviation_of(numbers[0]) / deviation_of(target), 1e-9);
    assert_near(weights[1], -2 * deviation_of(numbers[1]) / deviation_of(target), 1e-9);
    assert_true(fabs(weights[2]) < 1e-9);
}

/* Weights of numpy.linalg.lstsq on the standardised columns of this table, made with it. */
static void weights_are_those_of_another_library(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 4, 8, 1, 2, 4, 8}, y[] = {3, 1, 2, 5, 9, 7, 8, 6},
                        z[] = {2, 3, 7, 11, 9, 8, 13, 15};
    const struct ll_predictor parameters[] = {{.numbers = x}, {.numbers = y}};
    double weights[2], r2;
    assert_int_equal(ll_regress(parameters, 2, z, 8, weights, &r2), LL_OK);
    assert_near(weights[0], 0.7009575065182994, 1e-12);
    assert_near(weights[1], 0.6299589196502382, 1e-12);
    assert_near(r2, 0.9223417379549508, 1e-12);
}

static void what_follows_from_others_or_never_changes_weighs_nothing(void **state)
{
    (void)state;
    fill(2);
    for (int i = 0; i < POINTS; i++) {
        target[i] = numbers[0][i] + numbers[1][i];
        numbers[2][i] = 7 * numbers[0][i] - 3 * numbers[1][i];
        numbers[3][i] = 0.1;
    }
    const struct ll_predictor parameters[] = {
        {.numbers = numbers[0]}, {.numbers = numbers[1]}, {.numbers = numbers[2]}, {.numbers = numbers[3]}};
    double weights[4], r2;
    assert_int_equal(ll_regress(parameters, 4, target, POINTS, weights, &r2), LL_OK);
    assert_true(weights[0] > 0.5 && weights[1] > 0.5);
    assert_true(weights[2] == 0 && weights[3] == 0);
}

static void choices_weigh_as_much_as_what_they_decide(void **state)
{
    (void)state;
    static const double effect[] = {10, -30, 5};
    double decided[POINTS];
    fill(3);
    for (int i = 0; i < POINTS; i++) {
        decided[i] = effect[choices[i]];
        target[i] = numbers[0][i] / 1e9 + decided[i];
    }
    const struct ll_predictor parameters[] = {{.choices = choices, .choice_count = 3},
                                              {.numbers = numbers[0]}};
    double weights[2], r2;
    assert_int_equal(ll_regress(parameters, 2, target, POINTS, weights, &r2), LL_OK);
    assert_near(r2, 1, 1e-9);
    assert_near(weights[0], deviation_of(decided) / deviation_of(target), 1e-9);
    assert_near(weights[1], deviation_of(numbers[0]) / 1e9 / deviation_of(target), 1e-9);
}

/* The second of two words takes 30 from the target; named the other way round it adds them. */
static void of_two_choices_the_second_has_a_sign(void **state)
{
    (void)state;
    double decided[POINTS];
    for (int turned = 0; turned < 2; turned++) {
        fill(3);
        for (int i = 0; i < POINTS; i++) {
            bool taken = choices[i] == 0;
            choices[i] = turned ? !taken : taken;
            decided[i] = taken ? -30 : 0;
            target[i] = numbers[0][i] / 1e9 + decided[i];
        }
        const struct ll_predictor parameters[] = {{.choices = choices, .choice_count = 2},
                                                  {.numbers = numbers[0]}};
        double weights[2], r2;
        assert_int_equal(ll_regress(parameters, 2, target, POINTS, weights, &r2), LL_OK);
        assert_near(weights[0], (turned ? 1 : -1) * deviation_of(decided) / deviation_of(target), 1e-9);
    }
}

static void points_without_a_result_are_passed_over(void **state)
{
    (void)state;
    fill(4);
    for (int i = 0; i < POINTS; i++)
        target[i] = i % 3 == 0 ? NAN : i % 7 == 0 ? INFINITY : numbers[0][i];
    const struct ll_predictor parameters[] = {{.numbers = numbers[0]}, {.numbers = numbers[1]}};
    double weights[2], r2;
    assert_int_equal(ll_regress(parameters, 2, target, POINTS, weights, &r2), LL_OK);
    assert_near(weights[0], 1, 1e-9);
    assert_near(r2, 1, 1e-9);
}

static void a_target_that_never_moves_is_moved_by_nothing(void **state)
{
    (void)state;
    fill(5);
    for (int i = 0; i < POINTS; i++)
        target[i] = 0.3;
    const struct ll_predictor parameters[] = {{.numbers = numbers[0]},
                                              {.choices = choices, .choice_count = 3}};
    double weights[2], r2;
    assert_int_equal(ll_regress(parameters, 2, target, POINTS, weights, &r2), LL_OK);
    assert_true(weights[0] == 0 && weights[1] == 0 && r2 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_of_parameters_gives_its_factors_back),
        cmocka_unit_test(weights_are_those_of_another_library),
        cmocka_unit_test(what_follows_from_others_or_never_changes_weighs_nothing),
        cmocka_unit_test(choices_weigh_as_much_as_what_they_decide),
        cmocka_unit_test(of_two_choices_the_second_has_a_sign),
        cmocka_unit_test(points_without_a_result_are_passed_over),
        cmocka_unit_test(a_target_that_never_moves_is_moved_by_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
