/* SPDX-License-Identifier: Apache-2.0 */
/* leadline-probe PROGRAM ARGS...: runs a program into which nothing can be loaded, and records the calls of
 * its routines by stopping it at their entries and where they return to. It stands for the program: same
 * standard streams, same exit status, signals go through it. Its rings are those of the preload library.
 *
 * Each call stops the program twice, which takes some tens of microseconds. Children that the program forks
 * run on unrecorded. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/thread.h"
#include "tracer/interpose/probe/arguments.h"
#include "tracer/interpose/probe/breakpoints.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 126, MOST_THREADS = 1024 };

/* A call on its way. */
struct frame {
    uint64_t stack; /* where its return address lies */
    uint64_t caller, start_ticks;
    uint32_t symbol;
    bool is_query;
    unsigned count;
    uint64_t words[LL_RING_RECORD_WORDS];
};

struct thread {
    pid_t tid; /* 0: free */
    struct ll_thread ring;
    uint32_t depth;
    struct frame frame[LL_DEEPEST];
};

static struct ll_tracee program = {.memory = -1};
static struct ll_breakpoints breakpoints;
static struct thread *threads[MOST_THREADS];
static volatile sig_atomic_t pass_signals_to;

static void pass_signal(int number)
{
    int error = errno;
    if (pass_signals_to)
        kill((pid_t)pass_signals_to, number);
    errno = error;
}

/* A terminal sends its signals to both of us. */
static void arrange_signals(pid_t pid)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = pass_signal, .sa_flags = SA_RESTART};
    pass_signals_to = (sig_atomic_t)pid;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaction(passed[i], &action, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

/* In place of facts.c, which speaks of the process that it runs in. */
void ll_log_host(void)
{
}

void ll_log_libraries(void)
{
    for (uint64_t i = 0; i < breakpoints.file_count; i++) {
        struct ll_probed *file = &breakpoints.files[i];
        uint64_t words[LL_RING_LOG_WORDS] = {0};
        size_t bytes = strlen(file->path) + 1;
        words[1] = file->bias;
        words[2] = file->begin;
        words[3] = file->end;
        if (file->said || bytes > (LL_RING_LOG_WORDS - 4) * sizeof *words)
            continue;
        memcpy(words + 4, file->path, bytes);
        ll_log(LL_RING_LOG_LIBRARY, words, (unsigned)(4 + (bytes + 7) / 8));
        file->said = true;
    }
}

static struct thread *find_thread(pid_t tid)
{
    for (size_t i = 0; i < MOST_THREADS; i++)
        if (threads[i] && threads[i]->tid == tid)
            return threads[i];
    return NULL;
}

static struct thread *add_thread(pid_t tid)
{
    for (size_t i = 0; i < MOST_THREADS; i++) {
        if (!threads[i])
            threads[i] = calloc(1, sizeof *threads[i]);
        if (!threads[i] || threads[i]->tid)
            continue;
        *threads[i] = (struct thread){.tid = tid, .ring.tid = (uint64_t)tid};
        return threads[i];
    }
    return NULL;
}

/* Calls that something jumped out of: what begins now lies no deeper on the stack than they did. */
static void drop_abandoned(struct thread *thread, uint64_t stack)
{
    while (thread->depth && thread->frame[thread->depth - 1].stack < stack)
        thread->depth--;
}

/* The routine is about to begin. It will return to the trap. */
static void enter(struct thread *thread, struct user_regs_struct *registers, const struct ll_breakpoint *at)
{
    struct user_fpregs_struct vectors;
    registers->rip = at->behind;
    drop_abandoned(thread, registers->rsp);
    if (thread->depth == LL_DEEPEST || !breakpoints.trap ||
        ptrace(PTRACE_GETFPREGS, thread->tid, NULL, &vectors) != 0)
        return;
    struct frame *frame = &thread->frame[thread->depth];
    *frame = (struct frame){.stack = registers->rsp, .symbol = at->symbol};
    frame->count = ll_probe_arguments(&program, at->symbol, registers, &vectors,
                                      frame->words + LL_RING_CALL_WORDS, &frame->is_query);
    if (!ll_tracee_read(&program, registers->rsp, &frame->caller, sizeof frame->caller) ||
        !ll_tracee_write(&program, registers->rsp, &breakpoints.trap, sizeof breakpoints.trap))
        return;
    thread->depth++;
    frame->start_ticks = ll_process_control() ? ll_process_ticks() : 0;
}

static void record(struct thread *thread, struct frame *frame, uint64_t ticks)
{
    struct ll_ring_process *page = ll_process_open();
    if (!page)
        return;
    if (frame->is_query) {
        atomic_fetch_add(&page->queries, 1);
        return;
    }
    if (!ll_thread_ready(&thread->ring))
        return;
    unsigned count = LL_RING_CALL_WORDS + frame->count;
    frame->words[0] = ll_ring_header(LL_RING_CALL, count, thread->depth, frame->symbol);
    frame->words[1] = frame->start_ticks;
    frame->words[2] = ticks - frame->start_ticks;
    frame->words[3] = frame->caller;
    ll_thread_push(&thread->ring, frame->words, count);
}

/* The routine has returned, to the trap: the stack lies just above where its return address was. */
static void leave(struct thread *thread, struct user_regs_struct *registers)
{
    uint64_t ticks = ll_process_control() ? ll_process_ticks() : 0;
    drop_abandoned(thread, registers->rsp - sizeof(uint64_t));
    if (thread->depth == 0)
        return;
    struct frame *frame = &thread->frame[--thread->depth];
    registers->rip = frame->caller;
    if (ll_process_control())
        record(thread, frame, ticks);
}

/* Whether the stop was one of ours; it is then dealt with. */
static bool handle_trap(struct thread *thread)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0)
        return false;
    uint64_t address = registers.rip - 1;
    const struct ll_breakpoint *at = ll_breakpoints_find(&breakpoints, address);
    if (!at && address != breakpoints.trap)
        return false;
    if (!at) {
        leave(thread, &registers);
    } else if (at->symbol == LL_BREAKPOINT_LOADED) {
        registers.rip = at->behind;
        ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers);
        ll_breakpoints_set(&breakpoints, &program, thread->tid);
        if (ll_process())
            ll_log_libraries();
        return true;
    } else {
        enter(thread, &registers, at);
    }
    ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers);
    return true;
}

/* A forked child has a copy of our breakpoints and traps; it gets the program as it was, and goes its way. */
static void free_child(pid_t pid)
{
    struct ll_tracee child;
    if (ll_tracee_open(&child, pid))
        ll_breakpoints_clear(&breakpoints, &child);
    for (size_t i = 0; i < MOST_THREADS && child.memory >= 0; i++)
        for (uint32_t at = 0; threads[i] && threads[i]->tid && at < threads[i]->depth; at++)
            ll_tracee_write(&child, threads[i]->frame[at].stack, &threads[i]->frame[at].caller,
                            sizeof(uint64_t));
    ll_tracee_release(&child);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* The program, or what it has just become: all that we knew of another one is gone. */
static void begin(void)
{
    ll_breakpoints_release(&breakpoints);
    ll_tracee_release(&program);
    for (size_t i = 0; i < MOST_THREADS; i++)
        if (threads[i])
            threads[i]->tid = 0;
    add_thread(program.pid);
    if (ll_tracee_open(&program, program.pid))
        ll_breakpoints_set(&breakpoints, &program, program.pid);
}

/* Threads, and children until they run a program of their own (vfork), live in the same memory. */
static bool shares_memory(pid_t tid)
{
    return syscall(SYS_kcmp, (long)program.pid, (long)tid, (long)KCMP_VM, 0L, 0L) == 0;
}

/* A thread or process that we see for the first time; the kernel has stopped it. */
static void welcome(pid_t tid)
{
    if (shares_memory(tid) && add_thread(tid))
        ptrace(PTRACE_CONT, tid, NULL, NULL);
    else
        free_child(tid);
}

/* One stop of one thread, which goes on afterwards. */
static void handle_stop(pid_t tid, int status)
{
    int event = status >> 16, number = WSTOPSIG(status);
    struct thread *thread = find_thread(tid);
    if (event == PTRACE_EVENT_EXEC && tid != program.pid) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
        return;
    }
    if (event == PTRACE_EVENT_EXEC)
        begin();
    if (!thread && event == 0 && number == SIGSTOP) {
        welcome(tid);
        return;
    }
    bool ours = event != 0 || (number == SIGTRAP && thread && handle_trap(thread));
    ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)(ours ? 0 : number));
}

static void drop_thread(pid_t tid)
{
    struct thread *thread = find_thread(tid);
    if (thread)
        thread->tid = 0;
}

/* Follows the program until nothing of it is left; how it ended, as waitpid says it. */
static int follow(void)
{
    int status, end = 0;
    pid_t tid;
    while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (tid > 0 && WIFSTOPPED(status))
            handle_stop(tid, status);
        else if (tid > 0)
            drop_thread(tid);
        if (tid == program.pid && !WIFSTOPPED(status))
            end = status;
    }
    return end;
}

/* Ends as the program did. */
static int end_as(int status)
{
    const struct rlimit no_core = {0, 0};
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    ll_log_libraries();
    setrlimit(RLIMIT_CORE, &no_core);
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    return CANNOT_RUN;
}

/* Without arguments: whether this machine lets one process look into another. Status 0: it does. */
static int ask_permission(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            kill(getpid(), SIGKILL);
        return CANNOT_RUN;
    }
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid;
    return ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : CANNOT_RUN;
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    int status;
    if (argc < 2)
        return ask_permission();
    program = (struct ll_tracee){fork(), -1};
    if (program.pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL); /* where that is not permitted the program runs unrecorded */
        execvp(argv[1], argv + 1);
        kill(getpid(), SIGKILL);
    }
    if (program.pid < 0)
        return CANNOT_RUN;
    arrange_signals(program.pid);
    while (waitpid(program.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFSTOPPED(status))
        return end_as(status);
    ptrace(PTRACE_SETOPTIONS, program.pid, NULL, (void *)options);
    begin();
    ptrace(PTRACE_CONT, program.pid, NULL, NULL);
    return end_as(follow());
}
