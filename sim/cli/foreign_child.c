/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/cli/foreign_child.h"

#include "sim/cli/command.h"

#include <errno.h>
#include <spawn.h>
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
static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
static const int ignored[] = {SIGINT, SIGQUIT};

void ll_child_hold_signals(struct ll_child *child)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaddset(&held, passed[i]);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        sigaddset(&held, ignored[i]);
    sigprocmask(SIG_BLOCK, &held, &child->usual);
}

void ll_child_let_go_signals(const struct ll_child *child)
{
    sigprocmask(SIG_SETMASK, &child->usual, NULL);
}

/* One that a terminal sent before the program was there, it has not got: ignored now, it would be lost. */
static void forward_signals(pid_t pid)
{
    struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};
    sigset_t waiting;
    sigpending(&waiting);
    forward_to = (sig_atomic_t)pid;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaction(passed[i], &action, NULL);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (sigismember(&waiting, ignored[i]) == 1)
            kill(pid, ignored[i]);
        signal(ignored[i], SIG_IGN);
    }
}

/* Both lists, one behind the other, ended by NULL; the caller frees it. NULL when memory ran out. */
static char **joined(const char *const *first, const char *const *second)
{
    size_t before = 0, count = 0;
    while (first[before])
        before++;
    while (second[count])
        count++;
    char **all = calloc(before + count + 1, sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, first, before * sizeof *all);
    memcpy(all + before, second, count * sizeof *all);
    return all;
}

static bool same_variable(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length + 1) == 0;
}

/* The environment, in which the launch's settings take the place of what was set. */
static char **environment_with(const struct ll_launch *launch)
{
    char **all = joined(launch->settings, (const char *const *)environ);
    size_t settings = 0, kept;
    while (launch->settings[settings])
        settings++;
    kept = settings;
    for (size_t i = settings; all && all[i]; i++) {
        bool replaced = false;
        for (size_t s = 0; s < settings; s++)
            replaced |= same_variable(all[s], all[i]);
        if (!replaced)
            all[kept++] = all[i];
    }
    if (all)
        all[kept] = NULL;
    return all;
}

/* Starts it with the signal of a full disk, and those that are held, as they would be without us; an errno, 0
 * on success. */
static int spawn(struct ll_child *child, char **words, char **environment)
{
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setsigmask(&attributes, &child->usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    error = posix_spawnp(&child->pid, words[0], NULL, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch)
{
    char **all = joined(launch->prefix, words), **environment = environment_with(launch);
    fflush(NULL);
    int error = all && environment ? spawn(child, all, environment) : ENOMEM;
    free(all);
    free(environment);
    if (error) {
        child->pid = 0;
        ll_failed("%s cannot be run: %s", words[0], strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    forward_signals(child->pid);
    ll_child_let_go_signals(child);
    return LL_DONE;
}

bool ll_child_ended(struct ll_child *child, int *status)
{
    int how;
    pid_t ended = waitpid(child->pid, &how, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    *status = ended < 0 ? LL_FAILED : WIFEXITED(how) ? WEXITSTATUS(how) : BY_SIGNAL + WTERMSIG(how);
    child->ended_by = ended > 0 && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    forward_to = 0;
    return true;
}
