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
#include "tracer/capture/capture.h"
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

/* leadline record -- PROGRAM: an external program runs as it would alone, and its calls of BLAS,
 * LAPACK and oneDNN are recorded while it runs. */

/* Runs the command line that the words are. The program's exit status; LL_FAILED or LL_WRONG after saying why
 * it was not started. What cannot be recorded is said and does not concern the program. */
int ll_record_foreign(const struct ll_args *args);

/* How an external program will be recorded, decided before it starts. */

struct ll_foreign_plan {
    struct ll_closure closure; /* of no binaries when there is no such program: who starts it will say so */
    struct ll_coverage coverage;
    enum ll_mechanism mechanism; /* of --mech, or what the coverage chooses */
};

/* --coverage: prints what would be seen, runs nothing. An exit status. */
int ll_show_coverage(const struct ll_args *args);

/* Where a recorded program is Python with PyTorch, what PyTorch itself tells of a step: more than its calls
 * of BLAS and oneDNN show. Two files in the folder of rings, first on the program's PYTHONPATH, switch its
 * observer on (tracer/capture/pytorch); what the observer has written there is imported and becomes the
 * trace. */

/* What PyTorch told of one process. */
struct ll_torch_told {
    uint64_t pid;
    const char *imported; /* a trace in the folder of rings; NULL: trouble says why there is none */
    const char *trouble;  /* a part of a sentence */
    const char *warning;  /* the whole of it, and what helps */
    uint64_t ops, steps;  /* of the step that was taken; that there were, 0: nobody has counted them */
    bool opaque;          /* some operator of it is known to nobody, and moves its bytes */
    bool joined;          /* it became a trace of the recording */
};

struct ll_torch {
    struct ll_arena *arena;
    const char *folder, *command; /* of rings; of the program, as its traces show it */
    struct ll_torch_told *told;   /* on the heap, in the order in which processes were asked for */
    uint64_t count, capacity;
};

/* Puts the files into the folder, and the folder in front of PYTHONPATH; nothing where that could not name
 * the folder. LL_NO_MEMORY, or why the files could not be written. */
enum ll_status ll_torch_prepare(struct ll_arena *arena, const char *folder, struct ll_launch *launch);

/* For struct ll_session_settings: imports what PyTorch told of that process, where it did; a warning where it
 * should have. */
const char *ll_torch_warning(void *torch, uint64_t pid, bool loaded);

/* Makes the recorded traces those of PyTorch, with the header, the summary and the times of the recorded
 * calls. A process that called nothing else gets a trace of its own; *traces and *count grow. False when
 * memory ran out. */
bool ll_torch_join(struct ll_torch *torch, const char *output, struct ll_session_trace **traces,
                   size_t *count);

/* What PyTorch told of a process; NULL where it is none of its. */
const struct ll_torch_told *ll_torch_of(const struct ll_torch *torch, uint64_t pid);

void ll_torch_release(struct ll_torch *torch);

#endif
