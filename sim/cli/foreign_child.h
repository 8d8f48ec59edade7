/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs below us as it would alone: its own standard streams, the signals that come to us, its
 * own exit status. One at a time. */
#ifndef LL_SIM_CLI_FOREIGN_CHILD_H
#define LL_SIM_CLI_FOREIGN_CHILD_H

#include "tracer/binary/launch.h"

#include <stdbool.h>
#include <sys/types.h>

struct ll_child {
    pid_t pid; /* 0: it was not started */
};

/* Starts the command line (ended by NULL) as the launch wants it. LL_DONE, or the exit status of a shell that
 * cannot run a program, after saying why. */
int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch);

/* Whether it has ended; *status is then its exit status, or 128 and the signal that ended it. */
bool ll_child_ended(struct ll_child *child, int *status);

#endif
