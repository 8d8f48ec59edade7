/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/interpose/probe/followed.h"

#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tables of addresses: what they lead to stays where it is. */
static struct ll_probed_process **processes;
static struct ll_probed_thread **threads;
static uint64_t process_count, process_capacity, thread_count, thread_capacity;

static struct ll_probed_process *free_process(void)
{
    for (uint64_t i = 0; i < process_count; i++)
        if (processes[i]->pid == 0)
            return processes[i];
    if (!ll_grow(&processes, &process_capacity, process_count + 1, sizeof *processes) ||
        !(processes[process_count] = calloc(1, sizeof **processes)))
        return NULL;
    return processes[process_count++];
}

struct ll_probed_process *ll_follow(pid_t pid, pid_t parent)
{
    struct ll_probed_process *process = free_process();
    if (process)
        *process = (struct ll_probed_process){.pid = pid, .parent = parent, .tracee.memory = -1};
    if (process)
        process->file = ll_process_file((uint64_t)pid, (uint64_t)parent);
    return process;
}

struct ll_probed_process *ll_follow_copy(pid_t pid, const struct ll_probed_process *parent)
{
    struct ll_probed_process *process = ll_follow(pid, parent->pid);
    if (!process)
        return NULL;
    if (ll_tracee_open(&process->tracee, pid) &&
        ll_breakpoints_copy(&process->breakpoints, &parent->breakpoints))
        return process;
    free(process->file);
    ll_tracee_release(&process->tracee);
    ll_breakpoints_release(&process->breakpoints);
    process->pid = 0;
    return NULL;
}

void ll_probed_look(struct ll_probed_process *process, pid_t thread)
{
    ll_breakpoints_release(&process->breakpoints);
    ll_tracee_release(&process->tracee);
    for (uint64_t i = 0; i < thread_count; i++)
        if (threads[i]->tid && threads[i]->process == process && threads[i]->tid != thread)
            ll_probed_drop(threads[i], false);
    if (ll_tracee_open(&process->tracee, process->pid))
        ll_breakpoints_set(&process->breakpoints, &process->tracee, thread);
}

struct ll_probed_thread *ll_probed_find(pid_t tid)
{
    for (uint64_t i = 0; i < thread_count; i++)
        if (threads[i]->tid == tid)
            return threads[i];
    return NULL;
}

static struct ll_probed_thread *free_thread(void)
{
    for (uint64_t i = 0; i < thread_count; i++)
        if (threads[i]->tid == 0)
            return threads[i];
    if (!ll_grow(&threads, &thread_capacity, thread_count + 1, sizeof *threads) ||
        !(threads[thread_count] = calloc(1, sizeof **threads)))
        return NULL;
    return threads[thread_count++];
}

struct ll_probed_thread *ll_probed_add(struct ll_probed_process *process, pid_t tid)
{
    struct ll_probed_thread *thread = free_thread();
    if (!thread)
        return NULL;
    thread->tid = tid;
    thread->process = process;
    thread->ring = (struct ll_thread){.tid = (uint64_t)tid};
    thread->depth = 0;
    process->threads++;
    return thread;
}

static void end_process(struct ll_probed_process *process, bool in_order)
{
    if (in_order)
        ll_process_finish();
    ll_process_use(NULL);
    free(process->file);
    ll_tracee_release(&process->tracee);
    ll_breakpoints_release(&process->breakpoints);
    process->pid = 0;
}

void ll_probed_drop(struct ll_probed_thread *thread, bool in_order)
{
    struct ll_probed_process *process = thread->process;
    ll_probed_use(process);
    ll_thread_leave(&thread->ring);
    thread->tid = 0;
    if (--process->threads == 0)
        end_process(process, in_order);
}

void ll_probed_drop_all(struct ll_probed_process *process)
{
    for (uint64_t i = 0; i < thread_count; i++)
        if (threads[i]->tid && threads[i]->process == process)
            ll_probed_drop(threads[i], false);
}

void ll_probed_use(const struct ll_probed_process *process)
{
    ll_process_use(process->file);
}

bool ll_probed_shares(const struct ll_probed_process *process, pid_t tid)
{
    return syscall(SYS_kcmp, (long)process->pid, (long)tid, (long)KCMP_VM, 0L, 0L) == 0;
}

void ll_probed_free(pid_t tid, const struct ll_probed_process *like)
{
    struct ll_tracee child;
    if (ll_tracee_open(&child, tid))
        ll_breakpoints_clear(&like->breakpoints, &child);
    for (uint64_t i = 0; i < thread_count && child.memory >= 0; i++)
        for (uint32_t at = 0; threads[i]->tid && threads[i]->process == like && at < threads[i]->depth; at++)
            ll_tracee_write(&child, threads[i]->call[at].stack, &threads[i]->call[at].caller,
                            sizeof(uint64_t));
    ll_tracee_release(&child);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
}
