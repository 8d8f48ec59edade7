/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads that leadline-probe follows: a program, what it forks, and what those become. One
 * tracer, one thread; all of it lives until the tracer ends or the process does. */
#ifndef LL_PROBE_FOLLOWED_H
#define LL_PROBE_FOLLOWED_H

#include "tracer/interpose/preload/thread.h"
#include "tracer/interpose/probe/breakpoints.h"

#include <sys/types.h>

/* One address space. What shares it, threads and children of vfork until they run a program of their own, are
 * its threads. */
struct ll_probed_process {
    pid_t pid, parent; /* pid 0: free */
    uint32_t threads;
    struct ll_tracee tracee;
    struct ll_breakpoints breakpoints;
    struct ll_process_file *file; /* where its rings go; NULL: nowhere */
};

/* A call on its way. */
struct ll_probed_call {
    uint64_t stack; /* where its return address lies */
    uint64_t caller, start_ticks;
    uint32_t symbol;
    bool is_query;
    unsigned count;
    uint64_t words[LL_RING_RECORD_WORDS];
};

struct ll_probed_thread {
    pid_t tid; /* 0: free */
    struct ll_probed_process *process;
    struct ll_thread ring;
    uint32_t depth;
    struct ll_probed_call call[LL_DEEPEST];
};

/* A new process, whose program is looked at by ll_probed_look; NULL when memory ran out. */
struct ll_probed_process *ll_follow(pid_t pid, pid_t parent);

/* The same for a child just forked from another: its memory is a copy, breakpoints included. */
struct ll_probed_process *ll_follow_copy(pid_t pid, const struct ll_probed_process *parent);

/* Sets breakpoints in the program that the process runs or has just become; all that was known of another one
 * is gone, and its threads but this one. `thread` stands still. */
void ll_probed_look(struct ll_probed_process *process, pid_t thread);

/* A thread of the process; NULL when memory ran out. The one of this number; NULL: not followed. */
struct ll_probed_thread *ll_probed_add(struct ll_probed_process *process, pid_t tid);
struct ll_probed_thread *ll_probed_find(pid_t tid);

/* All its threads are dropped, so the process is over. */
void ll_probed_drop_all(struct ll_probed_process *process);

/* The thread ended, or goes to another process. With its last thread a process ends as well; `in_order`: not
 * by a signal. */
void ll_probed_drop(struct ll_probed_thread *thread, bool in_order);

/* From now on records go to the rings of this process. */
void ll_probed_use(const struct ll_probed_process *process);

/* Whether the thread or process of this number lives in the process's memory. */
bool ll_probed_shares(const struct ll_probed_process *process, pid_t tid);

/* Gives the program in a process with the same code as `like` back as it was, and lets it go its way. */
void ll_probed_free(pid_t tid, const struct ll_probed_process *like);

#endif
