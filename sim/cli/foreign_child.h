/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs below us as it would alone: its own standard streams, the signals that come to us, its
 * own exit status. One at a time. */
#ifndef LL_SIM_CLI_FOREIGN_CHILD_H
#define LL_SIM_CLI_FOREIGN_CHILD_H

#include "tracer/binary/coverage.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct ll_child {
    pid_t pid;      /* 0: it was not started */
    int ended_by;   /* the signal that ended it, 0: none */
    sigset_t usual; /* the signals that are held back without us */
};

/* Holds back the signals that would end us before there is a child to get them: until it is started, or until
 * they are let go. */
void ll_child_hold_signals(struct ll_child *child);
void ll_child_let_go_signals(const struct ll_child *child);

/* Starts the command line (ended by NULL) as the launch wants it, signals being held. LL_DONE, or the exit
 * status of a shell that cannot run a program, after saying why. */
int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch);

/* Whether it has ended; *status is then its exit status, or 128 and the signal that ended it. */
bool ll_child_ended(struct ll_child *child, int *status);

#endif
