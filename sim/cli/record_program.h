/* SPDX-License-Identifier: Apache-2.0 */
/* Recording an external program. */
#ifndef LL_SIM_CLI_RECORD_PROGRAM_H
#define LL_SIM_CLI_RECORD_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sim/cli/command.h"
#include "tracer/base/arena.h"
#include "tracer/binary/coverage.h"
#include "tracer/interpose/ring_reader.h"

/* A program that runs below us as it would alone: its own standard streams, the signals that come to us, its
 * own exit status. One at a time. */

struct ll_child {
    pid_t pid;      /* 0: it was not started */
    int ended_by;   /* the signal that ended it, 0: none */
    sigset_t usual; /* the signals that are held back without us */
};

/* Holds back the signals that would end us before there is a child to get them: until it is started, or until
 * they are let go. */
void ll_child_hold_signals(struct ll_child *child);

/* Starts the command line (ended by NULL) as the launch wants it, signals being held. LL_DONE, or the exit
 * status of a shell that cannot run a program, after saying why. */
int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch);

/* Whether it has ended; *status is then its exit status, or 128 and the signal that ended it. */
bool ll_child_ended(struct ll_child *child, int *status);

/* The folder through which a recorded program and its recorder speak: rings of several megabytes, in memory
 * where there is a file system for that. */

struct ll_foreign_folder {
    const char *path; /* in the arena */
    int lock;         /* held as long as the recorder lives */
};

/* Call sites of a recorded program as text: the files that it loaded are read when a call from them is first
 * seen. One thread at a time; {0} to begin with. */

struct ll_library_sites;
struct ll_foreign_sites {
    struct ll_arena arena;
    struct ll_library_sites *first;
};

/* leadline record -- PROGRAM: an external program runs as it would alone, and its calls of BLAS,
 * LAPACK and oneDNN are recorded while it runs. */

/* Runs the command line that the words are. The program's exit status; LL_FAILED or LL_WRONG after saying why
 * it was not started. What cannot be recorded is said and does not concern the program. */
int ll_record_foreign(const struct ll_args *args);

#endif
