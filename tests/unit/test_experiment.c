/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/study/paradnn.h"

#include <string.h>

/* Wang et al., 2020, table 2: 6 x 9 x 4 x 5 x 9, 8 x 3 x 3 x 3 x 5, 4 x 3 x 3 x 5 x 4. */
static void families_have_as_many_points_as_their_values_multiply_to(void **state)
{
    (void)state;
    static const uint64_t points[] = {9720, 1080, 1080, 720, 720, 720};
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++)
        assert_int_equal(ll_family_size(&ll_paradnn_families[f]), points[f]);
}

/* The last axis changes fastest; every point is another one. */
static void points_come_in_the_order_of_their_values(void **state)
{
    (void)state;
    const struct ll_family *fc = &ll_paradnn_families[LL_PARADNN_FC];
    uint64_t values[LL_MOST_FAMILY_AXES];
    ll_family_point(fc, 0, values);
    assert_memory_equal(values, ((uint64_t[]){4, 32, 2000, 200, 64}), sizeof values);
    ll_family_point(fc, 1, values);
    assert_memory_equal(values, ((uint64_t[]){4, 32, 2000, 200, 128}), sizeof values);
    ll_family_point(fc, 9719, values);
    assert_memory_equal(values, ((uint64_t[]){128, 8192, 8000, 1000, 16384}), sizeof values);
    assert_int_equal(ll_family_axis(fc, "output"), 3);
}

/* A part takes values of the whole, and no others. */
static void parts_are_parts(void **state)
{
    (void)state;
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_family *whole = &ll_paradnn_families[f], *part = &ll_paradnn_parts[f];
        assert_string_equal(whole->name, part->name);
        for (size_t axis = 0; axis < ll_family_axes(whole); axis++) {
            assert_string_equal(whole->axes[axis].key, part->axes[axis].key);
            for (size_t i = 0; i < ll_family_axis_values(&part->axes[axis]); i++) {
                bool found = false;
                for (size_t j = 0; j < ll_family_axis_values(&whole->axes[axis]); j++)
                    found |= whole->axes[axis].values[j] == part->axes[axis].values[i];
                assert_true(found);
            }
        }
    }
}

/* A row is of its platform and model; without rows that somebody brought, half of those published are at
 * hand. */
static void rows_that_were_brought_are_told_apart(void **state)
{
    (void)state;
    static const struct ll_measured rows[] = {
        {.hardware = "NVIDIA V100 (ParaDnn)",
         .dims = "model=paradnn_fc;layers=4;nodes=32;input=2000;output=1000;batch=64;mode=train",
         .time_s = 0.25},
        {.hardware = "Google TPUv2-8 (4 chips)",
         .dims = "model=paradnn_fc;layers=8;nodes=64;input=8000;output=200;batch=128;mode=train",
         .time_s = 0.5},
        {.hardware = "Google TPUv2-8 (4 chips)", .dims = "model=resnet50;batch=64", .time_s = 1},
    };
    struct ll_arena arena = {0};
    struct ll_runs runs = {.measured = rows, .measured_count = 3, .arena = &arena};
    size_t count;
    const struct ll_paradnn_measured *gpu = ll_paradnn_rows(&runs, LL_PARADNN_V100, &count);
    assert_int_equal(count, 1);
    assert_true(gpu[0].layers == 4 && gpu[0].output == 1000 && gpu[0].time_s == 0.25);
    const struct ll_paradnn_measured *tpu = ll_paradnn_rows(&runs, LL_PARADNN_TPU2, &count);
    assert_int_equal(count, 1);
    assert_true(tpu[0].nodes == 64 && tpu[0].input == 8000 && tpu[0].batch == 128);
    runs.measured_count = 0;
    ll_paradnn_rows(&runs, LL_PARADNN_TPU2, &count);
    assert_int_equal(count, 862);
    ll_paradnn_rows(&runs, LL_PARADNN_V100, &count);
    assert_int_equal(count, 0);
    ll_arena_release(&arena);
}

/* Four points of two axes: the number is 3 a - 2 b but for its scale, so that standardised weights are 3 and
 * -2 over the root of 13; means by cell on paper. */
static void weights_and_cells_are_those_made_on_paper(void **state)
{
    (void)state;
    static const struct ll_family family = {
        .name = "toy", .model = "toy", .axes = {{"a", {1, 2}}, {"batch", {1, 2}}}};
    struct ll_experiment_point at[4];
    struct ll_arena arena = {0};
    for (size_t i = 0; i < 4; i++)
        at[i] = (struct ll_experiment_point){.simulated = true};
    const struct ll_experiment_result experiment = {{&family, NULL, 1}, 4, at};
    double numbers[4];
    for (uint64_t i = 0; i < 4; i++)
        numbers[i] = 3 * (double)ll_experiment_value(&experiment, i, 0) -
                     2 * (double)ll_experiment_value(&experiment, i, 1);
    struct ll_paradnn_weights weights = ll_paradnn_weigh(&experiment, numbers, &arena);
    assert_near(weights.of[0], 3 / sqrt(13), 1e-12);
    assert_near(weights.of[1], -2 / sqrt(13), 1e-12);
    assert_near(weights.r2, 1, 1e-12);
    numbers[3] = NAN;
    const double *cells = ll_paradnn_cells(&experiment, numbers, 0, 1, &arena);
    assert_true(cells[0] == 1 && cells[1] == -1 && cells[2] == 4 && isnan(cells[3]));
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_have_as_many_points_as_their_values_multiply_to),
        cmocka_unit_test(points_come_in_the_order_of_their_values),
        cmocka_unit_test(parts_are_parts),
        cmocka_unit_test(rows_that_were_brought_are_told_apart),
        cmocka_unit_test(weights_and_cells_are_those_made_on_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
