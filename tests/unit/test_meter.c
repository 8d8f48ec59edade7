/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/record/recorder.h"

static void work(uint64_t ns)
{
    for (uint64_t begin_ns = ll_now_ns(); ll_now_ns() - begin_ns < ns;)
        ;
}

static void about_one_call_in_eight_is_sampled(void **state)
{
    (void)state;
    struct ll_meter meter;
    ll_meter_start(&meter);
    for (int i = 0; i < 64000; i++) {
        struct ll_meter_mark mark = ll_meter_enter(&meter);
        ll_meter_leave(&meter, &mark);
    }
    assert_int_equal(meter.calls, 64000);
    assert_in_range(meter.samples, 8300, 8800); /* distances of 4 to 11, 7.5 on average: 8533 */
}

/* A loop of 64 calls of which one is long: samples at even distances would see it always or never. */
static void a_loop_does_not_fall_in_step_with_the_samples(void **state)
{
    (void)state;
    struct ll_meter meter;
    uint64_t long_calls_sampled = 0;
    ll_meter_start(&meter);
    for (int i = 0; i < 640000; i++) {
        struct ll_meter_mark mark = ll_meter_enter(&meter);
        long_calls_sampled += mark.timed && i % 64 == 0;
        ll_meter_leave(&meter, &mark);
    }
    assert_in_range(long_calls_sampled, 1100, 1600); /* of some 85333 samples one in 64, 1333 */
}

static void the_mean_is_what_a_call_takes(void **state)
{
    (void)state;
    struct ll_meter meter;
    ll_meter_start(&meter);
    for (int i = 0; i < 20000; i++) {
        struct ll_meter_mark mark = ll_meter_enter(&meter);
        if (mark.timed)
            work(2000);
        ll_meter_leave(&meter, &mark);
    }
    assert_true(ll_meter_mean_ns(&meter) > 1900 && ll_meter_mean_ns(&meter) < 20000);
}

static void long_work_is_timed_whole_and_counted_once(void **state)
{
    (void)state;
    struct ll_meter meter;
    ll_meter_start(&meter);
    for (int i = 0; i < 1000; i++) {
        struct ll_meter_mark mark = ll_meter_enter(&meter);
        uint64_t begin_ns = ll_now_ns();
        if (mark.timed) {
            work(50000);
            ll_meter_long(&meter, begin_ns);
        }
        ll_meter_leave(&meter, &mark);
    }
    assert_true(meter.long_ns > 10 * 49000);
    assert_true(ll_meter_mean_ns(&meter) < 20000);
}

static void an_interruption_is_left_out(void **state)
{
    (void)state;
    struct ll_meter meter;
    ll_meter_start(&meter);
    for (int i = 0; i < 1000; i++) {
        struct ll_meter_mark mark = ll_meter_enter(&meter);
        if (mark.timed)
            work(100000);
        ll_meter_leave(&meter, &mark);
    }
    assert_int_equal(meter.samples, 0);
    assert_near(ll_meter_mean_ns(&meter), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(about_one_call_in_eight_is_sampled),
        cmocka_unit_test(a_loop_does_not_fall_in_step_with_the_samples),
        cmocka_unit_test(the_mean_is_what_a_call_takes),
        cmocka_unit_test(long_work_is_timed_whole_and_counted_once),
        cmocka_unit_test(an_interruption_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
