/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "tracer/base/clock.h"

#include <time.h>

static void time_never_goes_back(void **state)
{
    (void)state;
    uint64_t before = ll_now_ns();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = ll_now_ns();
        assert_true(now >= before);
        before = now;
    }
}

static void time_is_that_of_the_monotonic_clock(void **state)
{
    (void)state;
    struct timespec twin;
    uint64_t before = ll_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &twin);
    uint64_t after = ll_now_ns();
    assert_in_range((uint64_t)twin.tv_sec * 1000000000 + (uint64_t)twin.tv_nsec, before, after);
}

/* A clock that ticks slower than a millisecond could not time an op. */
static void the_resolution_is_a_small_number_above_zero(void **state)
{
    (void)state;
    uint64_t resolution_ns = ll_clock_resolution_ns();
    assert_true(resolution_ns > 0);
    assert_true(resolution_ns < 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(time_is_that_of_the_monotonic_clock),
        cmocka_unit_test(the_resolution_is_a_small_number_above_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
