/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/cli/foreign_child.h"

#include "sim/cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As shells answer. */
enum { CANNOT_RUN = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

static volatile sig_atomic_t forward_to;

static void forward(int number)
{
    int error = errno;
    if (forward_to)
        kill((pid_t)forward_to, number);
    errno = error;
}

/* A terminal sends its own signals to both of us; what is sent to us alone goes on to the program. */
static void forward_signals(pid_t pid)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
    static const int ignored[] = {SIGINT, SIGQUIT};
    struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};
    forward_to = (sig_atomic_t)pid;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaction(passed[i], &action, NULL);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
}

static bool set_environment(const struct ll_launch *launch)
{
    for (size_t i = 0; launch->settings[i]; i++)
        if (putenv((char *)(uintptr_t)launch->settings[i]) != 0)
            return false;
    return true;
}

/* The command line behind the words that go before it; in memory of the child. */
static const char *const *all_words(const char *const *words, const struct ll_launch *launch)
{
    size_t count = 0, before = 0;
    while (words[count])
        count++;
    while (launch->prefix[before])
        before++;
    const char **all = calloc(before + count + 1, sizeof *all);
    if (all) {
        memcpy(all, launch->prefix, before * sizeof *all);
        memcpy(all + before, words, count * sizeof *all);
    }
    return all;
}

/* Becomes the program; on trouble writes errno into the pipe. */
static _Noreturn void become(const char *const *words, const struct ll_launch *launch, int pipe_end)
{
    signal(SIGXFSZ, SIG_DFL);
    const char *const *all = all_words(words, launch);
    if (all && set_environment(launch))
        execvp(all[0], (char *const *)(uintptr_t)all);
    int error = errno;
    ssize_t written = write(pipe_end, &error, sizeof error);
    _exit(written == sizeof error ? NOT_FOUND : CANNOT_RUN);
}

/* The errno for which the program was not started, 0 when it was: the pipe is closed by a start. */
static int start_error(int pipe_end)
{
    int error = 0;
    ssize_t got;
    do
        got = read(pipe_end, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    return got == sizeof error ? error : 0;
}

int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch)
{
    int ends[2];
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ll_failed("no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(words, launch, ends[1]);
    close(ends[1]);
    int error = pid < 0 ? errno : start_error(ends[0]);
    close(ends[0]);
    if (error) {
        if (pid > 0)
            waitpid(pid, NULL, 0);
        ll_failed("%s cannot be run: %s", words[0], strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    child->pid = pid;
    forward_signals(pid);
    return LL_DONE;
}

bool ll_child_ended(struct ll_child *child, int *status)
{
    int how;
    pid_t ended = waitpid(child->pid, &how, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    *status = ended < 0 ? LL_FAILED : WIFEXITED(how) ? WEXITSTATUS(how) : BY_SIGNAL + WTERMSIG(how);
    forward_to = 0;
    return true;
}
