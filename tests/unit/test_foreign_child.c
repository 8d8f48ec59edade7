/* SPDX-License-Identifier: Apache-2.0 */
/* A program below us and the signals around its start. */
#include "check.h"

#include "sim/cli/command.h"
#include "sim/cli/record_program.h"

#include <time.h>

/* The exit status of a program before whose start a signal came to us (0: none). */
static int status_after(int number, const char *const *words)
{
    const struct ll_launch launch = {0};
    const struct timespec moment = {0, 1000000};
    struct ll_child child = {0};
    int status;
    signal(SIGINT, SIG_DFL); /* a shell ignores it for what runs in the background */
    ll_child_hold_signals(&child);
    if (number)
        raise(number);
    assert_int_equal(ll_child_start(&child, words, &launch), LL_DONE);
    while (!ll_child_ended(&child, &status))
        nanosleep(&moment, NULL);
    return status;
}

static void a_signal_from_before_the_start_reaches_the_program(void **state)
{
    (void)state;
    static const int numbers[] = {SIGTERM, SIGHUP, SIGINT};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_int_equal(status_after(numbers[i], (const char *const[]){"sleep", "30", NULL}),
                         128 + numbers[i]);
}

static void the_program_holds_nothing_back(void **state)
{
    (void)state;
    assert_int_equal(status_after(0, (const char *const[]){"grep", "-q", "^SigBlk:[^0-9a-f]*0*$",
                                                           "/proc/self/status", NULL}),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_from_before_the_start_reaches_the_program),
        cmocka_unit_test(the_program_holds_nothing_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
