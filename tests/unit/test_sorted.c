/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/random.h"
#include "tracer/base/map.h"

#include <string.h>

enum { MOST = 20000, ROUNDS = 60000 };

static bool stands_before(const void *context, uint32_t number)
{
    return number < *(const uint32_t *)context;
}

/* The dumb twin is an array of whether a number is there. */
static void check_against(const struct ll_sorted *sorted, const bool *there)
{
    struct ll_sorted_place place = {0, 0};
    for (uint32_t number = 0; number < MOST; number++) {
        if (!there[number])
            continue;
        assert_int_equal(ll_sorted_at(sorted, place), number);
        place = ll_sorted_next(sorted, place);
    }
    assert_int_equal(ll_sorted_at(sorted, place), LL_NO_NUMBER);
}

static void numbers_stand_in_order_however_they_come_and_go(void **state)
{
    (void)state;
    static bool there[MOST];
    struct ll_sorted sorted = {0};
    uint64_t filled = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t number = (uint32_t)(ll_random_bits(7, round) % MOST);
        /* at first more come than go, in the end all go */
        bool goes = round > ROUNDS / 2 || ll_random_bits(8, round) % 4 == 0;
        struct ll_sorted_place place = ll_sorted_find(&sorted, stands_before, &number);
        assert_true((ll_sorted_at(&sorted, place) == number) == there[number]);
        if (goes && there[number])
            ll_sorted_take(&sorted, place);
        else if (!goes && !there[number])
            assert_true(ll_sorted_put(&sorted, place, number));
        there[number] = !goes;
        if (round % 5000 == 0)
            check_against(&sorted, there);
        filled = sorted.block_count > filled ? sorted.block_count : filled;
    }
    check_against(&sorted, there);
    assert_true(filled > 20); /* of up to some 500 numbers each */
    for (uint32_t number = 0; number < MOST; number++) {
        struct ll_sorted_place place = ll_sorted_find(&sorted, stands_before, &number);
        if (there[number])
            ll_sorted_take(&sorted, place);
    }
    assert_int_equal(sorted.block_count, 0);
    ll_sorted_release(&sorted);
}

/* Each loses all but its first, which from either end leaves few. */
static void blocks_that_are_nearly_empty_are_joined(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        struct ll_sorted sorted = {0};
        for (uint32_t number = 0; number < MOST; number++)
            assert_true(ll_sorted_put(&sorted, ll_sorted_find(&sorted, stands_before, &number), number));
        uint64_t filled = sorted.block_count;
        for (uint32_t i = 0; i < MOST; i++) {
            uint32_t number = backward ? MOST - 1 - i : i;
            if (number % 100)
                ll_sorted_take(&sorted, ll_sorted_find(&sorted, stands_before, &number));
        }
        assert_true(filled > 20);
        assert_in_range(sorted.block_count, 1, 3); /* of two hundred numbers */
        ll_sorted_release(&sorted);
    }
}

static void numbers_that_come_in_order_stay_so_from_either_end(void **state)
{
    (void)state;
    static bool there[MOST];
    struct ll_sorted sorted = {0};
    for (uint32_t i = 0; i < MOST; i++) {
        uint32_t number = i % 2 ? MOST / 2 + i / 2 : MOST / 2 - 1 - i / 2;
        assert_true(ll_sorted_put(&sorted, ll_sorted_find(&sorted, stands_before, &number), number));
    }
    memset(there, true, sizeof there);
    check_against(&sorted, there);
    ll_sorted_release(&sorted);
    assert_int_equal(ll_sorted_at(&sorted, (struct ll_sorted_place){0, 0}), LL_NO_NUMBER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stand_in_order_however_they_come_and_go),
        cmocka_unit_test(blocks_that_are_nearly_empty_are_joined),
        cmocka_unit_test(numbers_that_come_in_order_stay_so_from_either_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
