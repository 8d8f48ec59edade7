/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/cli/foreign_child.h"

#include "sim/cli/command.h"

#include <errno.h>
#include <signal.h>
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

/* Starts it with the signal of a full disk as it would be without us; an errno, 0 on success. */
static int spawn(pid_t *pid, char **words, char **environment)
{
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    error = posix_spawnp(pid, words[0], NULL, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch)
{
    char **all = joined(launch->prefix, words), **environment = environment_with(launch);
    fflush(NULL);
    int error = all && environment ? spawn(&child->pid, all, environment) : ENOMEM;
    free(all);
    free(environment);
    if (error) {
        child->pid = 0;
        ll_failed("%s cannot be run: %s", words[0], strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    forward_signals(child->pid);
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
