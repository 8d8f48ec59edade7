/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "check.h"

#include "tracer/interpose/probe/tracee.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
enum { HEARD = 7, DEAF = 8, FREE = 9 };

static void hear(int number)
{
    (void)number;
    _exit(HEARD);
}

/* Stops, and tells by its end whether a signal has reached it meanwhile; FREE when nobody may trace it. */
static void be_traced(void)
{
    signal(SIGUSR1, hear);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(FREE);
    raise(SIGSTOP);
    _exit(DEAF);
}

static void a_signal_that_comes_while_memory_is_made_is_delivered(void **state)
{
    (void)state;
    struct ll_tracee tracee;
    int status;
    pid_t pid = fork();
    if (pid == 0)
        be_traced();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        skip();
    assert_true(ll_tracee_open(&tracee, pid));
    kill(pid, SIGUSR1);
    assert_true(ll_tracee_map(&tracee, pid, (uint64_t)(uintptr_t)be_traced, 4096) != 0);
    for (int number = 0; !WIFEXITED(status); number = WIFSTOPPED(status) ? WSTOPSIG(status) : 0) {
        assert_false(WIFSIGNALED(status));
        ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)number);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    assert_int_equal(WEXITSTATUS(status), HEARD);
    ll_tracee_release(&tracee);
}

#else
static void a_signal_that_comes_while_memory_is_made_is_delivered(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_that_comes_while_memory_is_made_is_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
