/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/findings.h"

enum { MOST = 400, MOST_OBJECTIVES = 5 };

struct cloud {
    double values[MOST * MOST_OBJECTIVES];
    uint64_t count;
    size_t objectives;
};

static void fill(struct cloud *cloud, uint64_t *random)
{
    uint64_t levels = ll_random_below(random, 2) ? 6 : 1000;
    cloud->count = 1 + ll_random_below(random, MOST - 1);
    cloud->objectives = 1 + ll_random_below(random, MOST_OBJECTIVES);
    for (uint64_t i = 0; i < cloud->count * cloud->objectives; i++)
        cloud->values[i] = ll_random_below(random, 300) ? (double)ll_random_below(random, levels) : NAN;
}

/* Sorts points, so that two lists of them can be compared. */
static void sort(double *values, uint64_t count, size_t objectives)
{
    static double copy[MOST * MOST_OBJECTIVES];
    uint64_t order[MOST], scratch[MOST];
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    memcpy(copy, values, count * objectives * sizeof *values);
    ll_pareto_sort(copy, objectives, 0, order, scratch, count);
    for (uint64_t i = 0; i < count; i++)
        memcpy(&values[i * objectives], &copy[order[i] * objectives], objectives * sizeof *values);
}

static void an_archive_holds_the_front_of_what_was_added(void **state)
{
    (void)state;
    uint64_t random = ll_seed(1), front[MOST], front_count, different = 0;
    static struct cloud cloud, expected;
    for (int round = 0; round < 300; round++) {
        fill(&cloud, &random);
        size_t k = cloud.objectives;
        struct ll_archive archive = {.objectives = k};
        for (uint64_t i = 0; i < cloud.count; i++)
            assert_true(ll_archive_add(&archive, &cloud.values[i * k]));
        assert_int_equal(ll_pareto_front(cloud.values, cloud.count, k, front, &front_count), LL_OK);
        for (uint64_t i = 0; i < front_count; i++)
            memcpy(&expected.values[i * k], &cloud.values[front[i] * k], k * sizeof(double));
        sort(expected.values, front_count, k);
        different = 0;
        for (uint64_t i = 0; i < front_count; i++)
            if (i == 0 ||
                memcmp(&expected.values[i * k], &expected.values[(i - 1) * k], k * sizeof(double)) != 0)
                memmove(&expected.values[different++ * k], &expected.values[i * k], k * sizeof(double));
        assert_int_equal(archive.count, different);
        sort(archive.values, archive.count, k);
        assert_memory_equal(archive.values, expected.values, different * k * sizeof(double));
        ll_archive_release(&archive);
    }
}

static void a_bound_is_beaten_when_some_point_dominates_it(void **state)
{
    (void)state;
    uint64_t random = ll_seed(2);
    static struct cloud cloud;
    for (int round = 0; round < 100; round++) {
        fill(&cloud, &random);
        size_t k = cloud.objectives;
        struct ll_archive archive = {.objectives = k};
        for (uint64_t i = 0; i < cloud.count; i++)
            assert_true(ll_archive_add(&archive, &cloud.values[i * k]));
        for (int question = 0; question < 50; question++) {
            double bound[MOST_OBJECTIVES];
            bool beaten = false;
            for (size_t j = 0; j < k; j++)
                bound[j] = ll_random_below(&random, 9) ? (double)ll_random_below(&random, 8) : -INFINITY;
            for (uint64_t i = 0; i < archive.count; i++)
                beaten |= ll_dominates(&archive.values[i * k], bound, k);
            assert_int_equal(ll_archive_dominates(&archive, bound), beaten);
        }
        ll_archive_release(&archive);
    }
}

/* Points come in any order; those whose bound is beaten are not looked at. */
static void leaving_out_what_is_beaten_keeps_every_point_of_the_front(void **state)
{
    (void)state;
    uint64_t random = ll_seed(3), front[MOST], front_count, left_out = 0;
    static struct cloud cloud, tried;
    for (int round = 0; round < 300; round++) {
        fill(&cloud, &random);
        tried = cloud;
        size_t k = cloud.objectives;
        struct ll_archive archive = {.objectives = k};
        for (uint64_t i = 0; i < cloud.count; i++) {
            double bound[MOST_OBJECTIVES];
            for (size_t j = 0; j < k; j++)
                bound[j] = cloud.values[i * k + j] - (double)ll_random_below(&random, 3);
            if (ll_archive_dominates(&archive, bound)) {
                tried.values[i * k] = NAN;
                left_out++;
            } else
                assert_true(ll_archive_add(&archive, &cloud.values[i * k]));
        }
        assert_int_equal(ll_pareto_front(cloud.values, cloud.count, k, front, &front_count), LL_OK);
        uint64_t again[MOST], again_count;
        assert_int_equal(ll_pareto_front(tried.values, cloud.count, k, again, &again_count), LL_OK);
        assert_int_equal(front_count, again_count);
        assert_memory_equal(front, again, front_count * sizeof *front);
        ll_archive_release(&archive);
    }
    assert_true(left_out > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_archive_holds_the_front_of_what_was_added),
        cmocka_unit_test(a_bound_is_beaten_when_some_point_dominates_it),
        cmocka_unit_test(leaving_out_what_is_beaten_keeps_every_point_of_the_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
