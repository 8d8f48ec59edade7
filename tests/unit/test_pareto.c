/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "hypervolume.h"

#include "tracer/base/clock.h"

enum { MOST = 300, MOST_OBJECTIVES = 6 };

struct cloud {
    double values[MOST * MOST_OBJECTIVES];
    uint64_t count;
    size_t objectives;
};

/* Few different values, so that equal points and equal coordinates are common; some values missing. */
static void fill(struct cloud *cloud, uint64_t *random)
{
    cloud->count = ll_random_below(random, MOST);
    cloud->objectives = 1 + ll_random_below(random, 6);
    uint64_t levels = ll_random_below(random, 2) ? 4 : 1000;
    for (uint64_t i = 0; i < cloud->count * cloud->objectives; i++)
        cloud->values[i] =
            ll_random_below(random, 200) == 0 ? NAN : (double)ll_random_below(random, levels) - 1;
}

static bool has_nan(const struct cloud *cloud, uint64_t i)
{
    for (size_t k = 0; k < cloud->objectives; k++)
        if (isnan(cloud->values[i * cloud->objectives + k]))
            return true;
    return false;
}

/* The dumb twin: every pair. */
static bool on_front(const struct cloud *cloud, uint64_t i)
{
    size_t k = cloud->objectives;
    for (uint64_t j = 0; j < cloud->count; j++)
        if (!has_nan(cloud, j) && ll_dominates(&cloud->values[j * k], &cloud->values[i * k], k))
            return false;
    return !has_nan(cloud, i);
}

static void the_front_is_what_comparing_every_pair_leaves(void **state)
{
    (void)state;
    uint64_t random = ll_seed(1), front[MOST], front_count;
    static struct cloud cloud;
    for (int round = 0; round < 600; round++) {
        fill(&cloud, &random);
        assert_int_equal(ll_pareto_front(cloud.values, cloud.count, cloud.objectives, front, &front_count),
                         LL_OK);
        uint64_t at = 0;
        for (uint64_t i = 0; i < cloud.count; i++)
            if (on_front(&cloud, i)) {
                assert_true(at < front_count);
                assert_int_equal(front[at++], i);
            }
        assert_int_equal(at, front_count);
    }
}

static void a_million_points_take_seconds_whatever_the_objectives(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    uint64_t random = ll_seed(2), *front = malloc(MANY * sizeof *front), front_count;
    double *values = malloc(3 * MANY * sizeof *values);
    assert_true(front && values);
    for (size_t objectives = 2; objectives <= 3; objectives++) {
        for (uint64_t i = 0; i < objectives * MANY; i++)
            values[i] = (double)ll_random_below(&random, UINT64_C(1) << 40);
        uint64_t begin = ll_now_ns();
        assert_int_equal(ll_pareto_front(values, MANY, objectives, front, &front_count), LL_OK);
        double time_s = (double)(ll_now_ns() - begin) * 1e-9;
        print_message("%zu objectives: %.2f s, %llu on the front\n", objectives, time_s,
                      (unsigned long long)front_count);
        assert_true(time_s < 30); /* a comparison of every pair would take an hour */
    }
    free(front);
    free(values);
}

/* The dumb twin of a volume: unit cells that some point dominates. Values are whole numbers from 0 to 5. */
static double cells(const struct cloud *cloud, const double *reference)
{
    double sum = 0;
    uint64_t cell_count = 1;
    for (size_t k = 0; k < cloud->objectives; k++)
        cell_count *= 6;
    for (uint64_t cell = 0; cell < cell_count; cell++) {
        double corner[MOST_OBJECTIVES];
        uint64_t rest = cell;
        bool inside = true, covered = false;
        for (size_t k = 0; k < cloud->objectives; k++, rest /= 6) {
            corner[k] = (double)(rest % 6);
            inside &= corner[k] < reference[k];
        }
        for (uint64_t i = 0; i < cloud->count && inside && !covered; i++) {
            covered = true;
            for (size_t k = 0; k < cloud->objectives; k++)
                covered &= cloud->values[i * cloud->objectives + k] <= corner[k];
        }
        sum += inside && covered;
    }
    return sum;
}

static void the_volume_is_what_counting_cells_gives(void **state)
{
    (void)state;
    uint64_t random = ll_seed(3);
    static struct cloud cloud;
    for (int round = 0; round < 300; round++) {
        double reference[MOST_OBJECTIVES];
        cloud.objectives = 1 + ll_random_below(&random, 5);
        cloud.count = ll_random_below(&random, 30);
        for (uint64_t i = 0; i < cloud.count * cloud.objectives; i++)
            cloud.values[i] = (double)ll_random_below(&random, 6);
        for (size_t k = 0; k < cloud.objectives; k++)
            reference[k] = (double)(2 + ll_random_below(&random, 5));
        assert_near(hypervolume(cloud.values, cloud.count, cloud.objectives, reference),
                    cells(&cloud, reference), 1e-12);
    }
}

static void a_sphere_has_the_volume_of_its_octant(void **state)
{
    (void)state;
    /* Points of the unit sphere around (1, 1, 1), so the volume up to there tends to pi / 6 from below. */
    enum { POINTS = 4000 };
    static double values[POINTS * 3];
    for (int i = 0; i < POINTS; i++) {
        double z = (i + 0.5) / POINTS, angle = fmod(i * 0.6180339887498949, 1) * acos(0), r = sqrt(1 - z * z);
        values[3 * i] = 1 - z;
        values[3 * i + 1] = 1 - r * cos(angle);
        values[3 * i + 2] = 1 - r * sin(angle);
    }
    double volume = hypervolume(values, POINTS, 3, (double[]){1, 1, 1});
    assert_true(volume < acos(-1) / 6 && volume > 0.97 * acos(-1) / 6);
}

static void fronts_are_peeled_one_after_the_other(void **state)
{
    (void)state;
    uint64_t random = ll_seed(4), front[MOST], front_count;
    static struct cloud cloud, rest;
    uint32_t ranks[MOST];
    for (int round = 0; round < 100; round++) {
        fill(&cloud, &random);
        size_t k = cloud.objectives;
        for (uint64_t i = 0; i < cloud.count * k; i++)
            cloud.values[i] = isnan(cloud.values[i]) ? 7 : cloud.values[i];
        assert_int_equal(ll_pareto_ranks(cloud.values, NULL, cloud.count, k, ranks), LL_OK);
        rest = cloud;
        for (uint32_t rank = 0, left = 1; left; rank++) {
            assert_int_equal(ll_pareto_front(rest.values, rest.count, k, front, &front_count), LL_OK);
            for (uint64_t f = 0; f < front_count; f++) {
                assert_int_equal(ranks[front[f]], rank);
                rest.values[front[f] * k] = NAN; /* taken away */
            }
            left = front_count > 0;
        }
    }
}

static void a_point_within_the_constraints_comes_before_any_that_breaks_them(void **state)
{
    (void)state;
    const double values[] = {5, 5, 1, 1, 2, 2, 0, 0}, violations[] = {0, 2, 1, 1};
    uint32_t ranks[4];
    assert_int_equal(ll_pareto_ranks(values, violations, 4, 2, ranks), LL_OK);
    assert_int_equal(ranks[0], 0);
    assert_int_equal(ranks[3], 1); /* of the two that break as little, the better one */
    assert_int_equal(ranks[2], 2);
    assert_int_equal(ranks[1], 3);
}

static void crowding_is_the_extent_of_the_neighbours(void **state)
{
    (void)state;
    const double values[] = {0, 10, 1, 6, 4, 2, 10, 0};
    const uint64_t members[] = {3, 0, 1, 2};
    double distances[4];
    assert_int_equal(ll_pareto_crowding(values, 2, members, 4, distances), LL_OK);
    assert_true(isinf(distances[0]) && isinf(distances[1]));
    assert_near(distances[2], (4 - 0) / 10.0 + (10 - 2) / 10.0, 1e-15);
    assert_near(distances[3], (10 - 1) / 10.0 + (6 - 0) / 10.0, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_front_is_what_comparing_every_pair_leaves),
        cmocka_unit_test(a_million_points_take_seconds_whatever_the_objectives),
        cmocka_unit_test(the_volume_is_what_counting_cells_gives),
        cmocka_unit_test(a_sphere_has_the_volume_of_its_octant),
        cmocka_unit_test(fronts_are_peeled_one_after_the_other),
        cmocka_unit_test(a_point_within_the_constraints_comes_before_any_that_breaks_them),
        cmocka_unit_test(crowding_is_the_extent_of_the_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
