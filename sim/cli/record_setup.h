/* SPDX-License-Identifier: Apache-2.0 */
/* How an external program will be recorded, decided before it starts. */
#ifndef LL_SIM_CLI_RECORD_SETUP_H
#define LL_SIM_CLI_RECORD_SETUP_H

#include "sim/cli/command.h"
#include "tracer/binary/coverage.h"
#include "tracer/capture/capture.h"

struct ll_foreign_plan {
    struct ll_closure closure; /* of no binaries when there is no such program: who starts it will say so */
    struct ll_coverage coverage;
    enum ll_mechanism mechanism; /* of --mech, or what the coverage chooses */
};

/* Reads the program that the words name and what it loads. LL_DONE, or LL_WRONG or LL_FAILED after saying
 * what is wrong with --mech or why such a program cannot be recorded. */
int ll_plan_foreign(const struct ll_args *args, struct ll_foreign_plan *plan);

/* --coverage: prints what would be seen, runs nothing. An exit status. */
int ll_show_coverage(const struct ll_args *args);

/* One line to standard error where recording is not as plain as can be: another mechanism than preloading, or
 * calls that will not be seen. */
void ll_tell_plan(const struct ll_foreign_plan *plan);

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
