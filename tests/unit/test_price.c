/* SPDX-License-Identifier: Apache-2.0 */
/* What a device costs to make: by hand, and the laws of it. */
#include "check.h"
#include "toy_machine.h"

#define PRICED LL_TOY_MACHINE "area: {fixed_mm2: 400}\nprice: {wafer_usd: 9000, "

static struct ll_priced priced(const char *text)
{
    struct ll_machine *machine = ll_toy_machine(text);
    struct ll_priced priced;
    assert_non_null(machine);
    assert_true(ll_machine_price(machine, &priced));
    ll_machine_free(machine);
    return priced;
}

/* 400 mm2 on 300 mm: 70685.83 / 400 - 942.48 / 28.284 = 176.71 - 33.32, so 143 dies. Of 0.1 defects a cm2
 * each meets 0.4: with alpha 2, 1 / 1.2^2 of them are good, spread evenly e^-0.4. */
static void a_die_pays_for_those_that_are_lost(void **state)
{
    (void)state;
    struct ll_priced clustered =
        priced(PRICED "defects_per_cm2: 0.1, clustering: 2, memory_usd_per_GiB: 8, fixed_usd: 20}\n");
    assert_near(clustered.dies_per_wafer, 143, 0);
    assert_near(clustered.yield, 1 / 1.44, 1e-12);
    assert_near(clustered.dies_usd, 9000 / 143.0 * 1.44, 1e-12);
    assert_near(clustered.memory_usd, 8, 1e-12); /* 1 GiB */
    assert_near(clustered.all_usd, 9000 / 143.0 * 1.44 + 28, 1e-12);
    assert_near(priced(PRICED "defects_per_cm2: 0.1}\n").yield, exp(-0.4), 1e-12);
    assert_near(priced(PRICED "}\n").dies_usd, 9000 / 143.0, 1e-12);
}

/* Four dies of 100 mm2 are 640 on a wafer: 706.86 - 66.64. */
static void small_dies_are_cheaper(void **state)
{
    (void)state;
    struct ll_priced whole = priced(PRICED "defects_per_cm2: 0.2}\n"),
                     four = priced(PRICED "defects_per_cm2: 0.2, dies: 4}\n");
    assert_near(four.dies_per_wafer, 640, 0);
    assert_near(four.dies_usd, 4 * 9000 / (640 * exp(-0.2)), 1e-12);
    assert_true(four.dies_usd < whole.dies_usd);
}

static void without_a_price_there_is_none(void **state)
{
    (void)state;
    struct ll_priced none;
    struct ll_machine *machine = ll_toy_machine(LL_TOY_MACHINE);
    assert_false(ll_machine_price(machine, &none));
    ll_machine_free(machine);
    assert_near(priced(LL_TOY_MACHINE "price: {memory_usd_per_GiB: 3}\n").all_usd, 3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_die_pays_for_those_that_are_lost),
        cmocka_unit_test(small_dies_are_cheaper),
        cmocka_unit_test(without_a_price_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
