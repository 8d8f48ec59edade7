/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/sweep.h"

static void a_shuffle_gives_every_number_once(void **state)
{
    (void)state;
    uint64_t random = ll_seed(1);
    static unsigned char seen[5000];
    for (int round = 0; round < 200; round++) {
        uint64_t count = 1 + ll_random_below(&random, round < 20 ? 20 : sizeof seen);
        struct ll_shuffle shuffle = ll_shuffle_of(count, ll_random(&random));
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < count; i++)
            seen[ll_shuffle_at(&shuffle, i)]++;
        for (uint64_t i = 0; i < sizeof seen; i++)
            assert_int_equal(seen[i], i < count);
    }
}

static void shuffles_of_trillions_need_no_list(void **state)
{
    (void)state;
    struct ll_shuffle shuffle = ll_shuffle_of(UINT64_C(1000000000000), 7);
    double sum = 0, product = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        double here = (double)ll_shuffle_at(&shuffle, i) / 1e12,
               next = (double)ll_shuffle_at(&shuffle, i + 1) / 1e12;
        sum += here / 20000;
        product += (here - 0.5) * (next - 0.5) / 20000;
    }
    assert_true(fabs(sum - 0.5) < 0.01); /* five standard errors of a uniform mean */
    assert_true(fabs(product) < 0.003);  /* of neighbours that have nothing to do with each other */
}

static void seeds_shuffle_differently(void **state)
{
    (void)state;
    struct ll_shuffle one = ll_shuffle_of(1000, 1), two = ll_shuffle_of(1000, 2);
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++)
        same += ll_shuffle_at(&one, i) == ll_shuffle_at(&two, i);
    assert_true(same < 12);
}

static void every_value_of_a_hypercube_is_taken_equally_often(void **state)
{
    (void)state;
    uint64_t random = ll_seed(2);
    for (int round = 0; round < 200; round++) {
        uint64_t sizes[4], samples = 1 + ll_random_below(&random, 60), seed = ll_random(&random);
        unsigned taken[4][100] = {0};
        for (size_t d = 0; d < 4; d++)
            sizes[d] = 1 + ll_random_below(&random, 100);
        for (uint64_t i = 0; i < samples; i++) {
            uint32_t point[4];
            ll_latin_point(sizes, 4, samples, seed, i, point);
            for (size_t d = 0; d < 4; d++) {
                assert_true(point[d] < sizes[d]);
                taken[d][point[d]]++;
            }
        }
        for (size_t d = 0; d < 4; d++)
            for (uint64_t value = 0; value < sizes[d]; value++) {
                assert_true(taken[d][value] >= samples / sizes[d]);
                assert_true(taken[d][value] <= samples / sizes[d] + 1);
            }
    }
}

static void dimensions_of_a_hypercube_do_not_follow_each_other(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1000, 1000};
    double product = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint32_t point[2];
        ll_latin_point(sizes, 2, 1000, 3, i, point);
        product += (point[0] / 1000.0 - 0.5) * (point[1] / 1000.0 - 0.5) * 12 / 1000;
    }
    assert_true(fabs(product) < 0.16); /* a correlation, five standard errors wide */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shuffle_gives_every_number_once),
        cmocka_unit_test(shuffles_of_trillions_need_no_list),
        cmocka_unit_test(seeds_shuffle_differently),
        cmocka_unit_test(every_value_of_a_hypercube_is_taken_equally_often),
        cmocka_unit_test(dimensions_of_a_hypercube_do_not_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
