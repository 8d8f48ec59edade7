/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/study/fathom.h"
#include "sim/study/study.h"

static void the_cosine_is_that_of_the_angle(void **state)
{
    (void)state;
    const double a[] = {3, 4}, b[] = {4, 3}, c[] = {-4, 3}, none[] = {0, 0};
    assert_near(ll_cosine(a, b, 2), 24.0 / 25, 1e-15);
    assert_near(ll_cosine(a, a, 2), 1, 1e-15);
    assert_true(fabs(ll_cosine(a, c, 2)) < 1e-15);
    assert_true(ll_cosine(a, none, 2) == 0);
}

/* (1,0) and (4,1) are nearest; their centroid points along (5,1), and (0,1) is 1 - 1/sqrt(26) from that. */
static void centroids_take_the_place_of_what_was_merged(void **state)
{
    (void)state;
    const double profiles[] = {1, 0, 0, 1, 4, 1};
    struct ll_merge merges[2];
    ll_cluster(profiles, 3, 2, merges);
    assert_int_equal(merges[0].left, 0);
    assert_int_equal(merges[0].right, 2);
    assert_near(merges[0].distance, 1 - 4 / sqrt(17), 1e-12);
    assert_int_equal(merges[1].left, 3);
    assert_int_equal(merges[1].right, 1);
    assert_near(merges[1].distance, 1 - 1 / sqrt(26), 1e-12);
    assert_int_equal(ll_members(merges, 3, 3), 1 | 4);
    assert_int_equal(ll_members(merges, 3, 4), 7);
}

/* Figure 4 of Fathom, recomputed from the numbers printed in its figure 3 by another program; the paper says
 * "about 0.4" of the sixth. */
static void the_published_profiles_give_the_published_tree(void **state)
{
    (void)state;
    enum { CONV = 1 << LL_RESIDUAL | 1 << LL_VGG, RECURRENT = 1 << LL_SEQ2SEQ | 1 << LL_MEMNET };
    enum { DENSE = 1 << LL_SPEECH | 1 << LL_AUTOENC };
    static const struct {
        unsigned long members;
        double distance;
    } expected[] = {
        {CONV, 0.0029},
        {CONV | 1 << LL_ALEXNET, 0.0150},
        {DENSE, 0.0262},
        {CONV | 1 << LL_ALEXNET | 1 << LL_DEEPQ, 0.0422},
        {RECURRENT, 0.2287},
        {RECURRENT | DENSE, 0.4347},
        {(1 << LL_FATHOM_COUNT) - 1, 0.9218},
    };
    struct ll_merge merges[LL_FATHOM_COUNT - 1];
    (void)state;
    ll_cluster(ll_fathom_published[0], LL_FATHOM_COUNT, LL_FATHOM_TYPES, merges);
    for (size_t i = 0; i + 1 < LL_FATHOM_COUNT; i++) {
        assert_int_equal(ll_members(merges, LL_FATHOM_COUNT, LL_FATHOM_COUNT + i), expected[i].members);
        assert_true(fabs(merges[i].distance - expected[i].distance) <= 1e-4);
    }
}

/* Whatever the profiles: a cluster joins two that were there and have nothing in common. */
static void a_tree_holds_every_profile_once(void **state)
{
    (void)state;
    enum { ROUNDS = 200, COUNT = 12, SIZE = 5 };
    uint64_t random = ll_seed(1);
    for (int round = 0; round < ROUNDS; round++) {
        double profiles[COUNT * SIZE];
        struct ll_merge merges[COUNT - 1];
        for (size_t i = 0; i < COUNT * SIZE; i++)
            profiles[i] = (double)ll_random_below(&random, 100);
        ll_cluster(profiles, COUNT, SIZE, merges);
        for (size_t i = 0; i + 1 < COUNT; i++) {
            unsigned long left = ll_members(merges, COUNT, merges[i].left);
            unsigned long right = ll_members(merges, COUNT, merges[i].right);
            assert_true(merges[i].left < COUNT + i && merges[i].right < COUNT + i);
            assert_int_equal(left & right, 0);
            assert_true(merges[i].distance > -1e-12 && merges[i].distance <= 1 + 1e-12);
        }
        assert_int_equal(ll_members(merges, COUNT, 2 * COUNT - 2), (1ul << COUNT) - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cosine_is_that_of_the_angle),
        cmocka_unit_test(centroids_take_the_place_of_what_was_merged),
        cmocka_unit_test(the_published_profiles_give_the_published_tree),
        cmocka_unit_test(a_tree_holds_every_profile_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
