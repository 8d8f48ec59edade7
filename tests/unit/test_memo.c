/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/memo.h"

#include <string.h>

static void a_remembered_cost_is_the_computed_one(void **state)
{
    (void)state;
    struct dice dice = {30};
    for (int round = 0; round < 50; round++) {
        struct ll_machine machine = random_machine(&dice);
        struct ll_memo memo = {.machine = &machine};
        struct ll_work works[20];
        for (int i = 0; i < 60; i++) {
            struct ll_cost fresh = {0};
            const char *trouble;
            if (i < 20)
                works[i] = random_work(&dice);
            const struct ll_cost *kept = ll_memo_cost(&memo, LL_OP_ADD, &works[i % 20], &trouble);
            assert_true(ll_cost_op(&machine, LL_OP_ADD, &works[i % 20], &fresh, NULL, &trouble));
            assert_memory_equal(kept, &fresh, sizeof fresh);
        }
        assert_true(memo.keys.count <= 20);
        ll_memo_release(&memo);
    }
}

static void a_refusal_is_remembered_with_its_reason(void **state)
{
    (void)state;
    struct dice dice = {31};
    struct ll_machine machine = random_machine(&dice);
    struct ll_memo memo = {.machine = &machine};
    struct ll_work work = {.kind = LL_WORK_COLLECTIVE};
    for (int i = 0; i < 2; i++) {
        const char *trouble = NULL;
        assert_null(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble));
        assert_non_null(trouble);
    }
    assert_int_equal(memo.keys.count, 1);
    ll_memo_release(&memo);
}

static void what_is_remembered_is_not_computed_again(void **state)
{
    (void)state;
    struct dice dice = {33};
    struct ll_machine machine = random_machine(&dice);
    struct ll_memo memo = {.machine = &machine};
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    const char *trouble;
    double before_s = ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s;
    machine.units[0].clock_hz *= 2; /* nobody may do this; it shows who computes */
    assert_near(ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s, before_s, 0);
    ll_memo_release(&memo);
}

static void kinds_are_kept_apart(void **state)
{
    (void)state;
    struct dice dice = {32};
    struct ll_machine machine = random_machine(&dice);
    struct ll_memo memo = {.machine = &machine};
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    const char *trouble;
    ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble);
    ll_memo_cost(&memo, LL_OP_CONV2D, &work, &trouble);
    assert_int_equal(memo.keys.count, 2);
    ll_memo_release(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remembered_cost_is_the_computed_one),
        cmocka_unit_test(a_refusal_is_remembered_with_its_reason),
        cmocka_unit_test(what_is_remembered_is_not_computed_again),
        cmocka_unit_test(kinds_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
