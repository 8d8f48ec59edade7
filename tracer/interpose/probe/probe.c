/* SPDX-License-Identifier: Apache-2.0 */
/* Where a traced process stops: at the entries of routines, and where they return to.
 *
 * An entry's first instruction is moved out of the way for good, so that a thread goes on there without
 * putting the old byte back, which would let other threads pass unseen. */
#define _GNU_SOURCE
#include "tracer/record/elf.h" /* ahead of the system's elf.h, which has a name LL_NONE as well */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/base/map.h"
#include "tracer/interpose/patch/instruction.h"
#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/probe/tracee.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/signatures.h"

/* Beside the symbols of routines.h. */
#define LL_BREAKPOINT_LOADED UINT32_MAX /* the loader tells of libraries that came or went */

struct ll_breakpoint {
    uint64_t address, behind; /* behind: where the first instruction now is, and a jump to the second */
    uint32_t symbol;
    uint8_t byte; /* that stood there */
};

/* A file of the process that was looked at. */
struct ll_probed {
    uint64_t begin, end, bias; /* bias: what its addresses were moved by */
    const char *path;
    bool mapped, looked_at; /* mapped: at the last look */
    bool said;              /* for the user's use */
};

/* All zeros to begin with; freed by its owner. */
struct ll_breakpoints {
    struct ll_arena arena;
    struct ll_breakpoint *items;
    uint64_t count, capacity;
    struct ll_probed *files;
    uint64_t file_count, file_capacity;
    struct ll_map names; /* of routines, by number of the symbol; filled when first needed */
    uint64_t unset;      /* routines that would have one, but their first instruction does not move */
    uint64_t trap;       /* an address at which a thread stops: where routines are made to return to */
};

/* A page near each file takes the instructions that stood where breakpoints now stand. Its first byte is a
 * trap. */

#define LOADER_TELLS "_dl_debug_state"

enum { TRAP = 0xcc, FAR_JUMP_BYTES = 14, SLOT_BYTES = 32, LINE_BYTES = 4352 };

/* A file in memory that is being given breakpoints. */
struct site {
    struct ll_breakpoints *breakpoints;
    const struct ll_tracee *tracee;
    uint64_t bias;
    uint64_t free; /* place for the next moved instruction */
};

/* The breakpoint at this address, NULL when there is none. */
static const struct ll_breakpoint *breakpoints_find(const struct ll_breakpoints *breakpoints,
                                                    uint64_t address)
{
    for (uint64_t i = 0; i < breakpoints->count; i++)
        if (breakpoints->items[i].address == address)
            return &breakpoints->items[i];
    return NULL;
}

/* The instruction at an address, moved to a place of its own, and a jump to the one after it. */
static bool move_first(struct site *site, uint64_t address, uint8_t *first)
{
    static const uint8_t far_jump[] = {0xff, 0x25, 0, 0, 0, 0};
    uint8_t code[LL_MOVED_BYTES] = {0}, moved[SLOT_BYTES] = {0};
    struct ll_instruction instruction;
    if (!ll_tracee_read(site->tracee, address, code, sizeof code) ||
        !ll_read_instruction(code, sizeof code, &instruction))
        return false;
    size_t bytes = ll_move_instruction(moved, site->free, code, address, &instruction);
    if (bytes == 0)
        return false;
    uint64_t next = address + instruction.bytes;
    memcpy(moved + bytes, far_jump, sizeof far_jump);
    memcpy(moved + bytes + sizeof far_jump, &next, sizeof next);
    *first = code[0];
    return ll_tracee_write(site->tracee, site->free, moved, sizeof moved);
}

static void set(struct site *site, uint64_t address, uint32_t symbol)
{
    struct ll_breakpoints *breakpoints = site->breakpoints;
    const uint8_t trap = TRAP;
    uint8_t first;
    if (breakpoints_find(breakpoints, address))
        return;
    if (!move_first(site, address, &first) ||
        !ll_grow(&breakpoints->items, &breakpoints->capacity, breakpoints->count + 1,
                 sizeof *breakpoints->items) ||
        !ll_tracee_write(site->tracee, address, &trap, 1)) {
        breakpoints->unset++;
        return;
    }
    breakpoints->items[breakpoints->count++] = (struct ll_breakpoint){address, site->free, symbol, first};
    site->free += SLOT_BYTES;
}

static void fill_names(struct ll_map *names)
{
    for (uint32_t i = names->count; i < LL_SYMBOL_COUNT; i++)
        if (ll_map_intern(names, ll_symbol_row(i)->name, strlen(ll_symbol_row(i)->name), NULL) != i)
            return;
}

/* Which routine of ours it is, or LL_BREAKPOINT_LOADED; false: no stop there. */
static bool is_wanted(const struct ll_breakpoints *breakpoints, const struct ll_elf_symbol *symbol,
                      uint32_t *which)
{
    if (!symbol->defined || !symbol->function || symbol->indirect || !symbol->address)
        return false;
    *which = ll_map_find(&breakpoints->names, symbol->name, strlen(symbol->name));
    if (*which != LL_NO_ID)
        return ll_probe_knows(*which);
    *which = LL_BREAKPOINT_LOADED;
    return strcmp(symbol->name, LOADER_TELLS) == 0;
}

static void set_all(struct site *site, const struct ll_elf_symbol *symbols, size_t count)
{
    uint32_t which;
    for (size_t i = 0; i < count; i++)
        if (is_wanted(site->breakpoints, &symbols[i], &which))
            set(site, symbols[i].address + site->bias, which);
}

static size_t count_wanted(const struct ll_breakpoints *breakpoints, const struct ll_elf_symbol *symbols,
                           size_t count)
{
    size_t wanted = 0;
    uint32_t which;
    for (size_t i = 0; i < count; i++)
        wanted += is_wanted(breakpoints, &symbols[i], &which);
    return wanted;
}

static void set_in_file(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread,
                        struct ll_probed *file)
{
    const uint8_t trap = TRAP;
    struct ll_arena arena = {0};
    const struct ll_elf *elf = ll_elf_read(&arena, file->path);
    file->bias = elf && elf->movable ? file->begin : 0;
    size_t wanted = elf ? count_wanted(breakpoints, elf->symbols, elf->symbol_count) +
                              count_wanted(breakpoints, elf->functions, elf->function_count)
                        : 0;
    uint64_t place = wanted ? ll_tracee_map(tracee, thread, file->begin, (wanted + 1) * SLOT_BYTES) : 0;
    if (place && ll_tracee_write(tracee, place, &trap, 1)) {
        struct site site = {breakpoints, tracee, file->bias, place + SLOT_BYTES};
        breakpoints->trap = breakpoints->trap ? breakpoints->trap : place;
        set_all(&site, elf->symbols, elf->symbol_count);
        set_all(&site, elf->functions, elf->function_count);
    }
    ll_arena_release(&arena);
}

/* One line of /proc/PID/maps: what is mapped from a file's beginning on is the file, the rest follows it. */
static void note_mapping(struct ll_breakpoints *breakpoints, uint64_t begin, uint64_t end, uint64_t offset,
                         const char *path)
{
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[i];
        if (begin < file->begin || strcmp(file->path, path) != 0 || (offset == 0 && begin != file->begin))
            continue;
        file->end = end > file->end ? end : file->end;
        file->mapped = true;
        return;
    }
    const char *copy = offset == 0 ? ll_copy_text(&breakpoints->arena, path, strlen(path)) : NULL;
    if (copy && ll_grow(&breakpoints->files, &breakpoints->file_capacity, breakpoints->file_count + 1,
                        sizeof *breakpoints->files))
        breakpoints->files[breakpoints->file_count++] =
            (struct ll_probed){.begin = begin, .end = end, .path = copy, .mapped = true};
}

/* Forgets what was unmapped: another file may lie there next. */
static void forget_unmapped(struct ll_breakpoints *breakpoints)
{
    uint64_t files = 0;
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        const struct ll_probed *file = &breakpoints->files[i];
        uint64_t kept = 0;
        for (uint64_t at = 0; !file->mapped && at < breakpoints->count; at++)
            if (breakpoints->items[at].address < file->begin || breakpoints->items[at].address >= file->end)
                breakpoints->items[kept++] = breakpoints->items[at];
        if (file->mapped)
            breakpoints->files[files++] = *file;
        else
            breakpoints->count = kept;
    }
    breakpoints->file_count = files;
}

/* Sets breakpoints in all files that the process has mapped since the last time, and forgets those of files
 * that are gone: at every routine of symbols.def that they define, in .symtab as well, and where the loader
 * tells of libraries. `thread` stands still. What cannot be set is left out. */
static void breakpoints_set(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread)
{
    char line[LINE_BYTES];
    uint64_t begin, end, offset;
    for (uint64_t i = 0; i < breakpoints->file_count; i++)
        breakpoints->files[i].mapped = false;
    snprintf(line, sizeof line, "/proc/%d/maps", (int)tracee->pid);
    FILE *maps = fopen(line, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end, &offset,
                   &path_at) == 3 &&
            path_at && line[path_at] == '/')
            note_mapping(breakpoints, begin, end, offset, line + path_at);
    }
    if (maps)
        fclose(maps);
    forget_unmapped(breakpoints);
    fill_names(&breakpoints->names);
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        if (!breakpoints->files[i].looked_at)
            set_in_file(breakpoints, tracee, thread, &breakpoints->files[i]);
        breakpoints->files[i].looked_at = true;
    }
}

/* Puts back what stood there, in the memory of a process with the same code. */
static void breakpoints_clear(const struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee)
{
    for (uint64_t i = 0; i < breakpoints->count; i++)
        ll_tracee_write(tracee, breakpoints->items[i].address, &breakpoints->items[i].byte, 1);
}

/* Those of another process with the same memory; false when memory ran out. */
static bool breakpoints_copy(struct ll_breakpoints *breakpoints, const struct ll_breakpoints *from)
{
    *breakpoints = (struct ll_breakpoints){.trap = from->trap, .unset = from->unset};
    if (!ll_grow(&breakpoints->items, &breakpoints->capacity, from->count, sizeof *from->items) ||
        !ll_grow(&breakpoints->files, &breakpoints->file_capacity, from->file_count, sizeof *from->files))
        return false;
    if (from->count)
        memcpy(breakpoints->items, from->items, from->count * sizeof *from->items);
    breakpoints->count = from->count;
    for (uint64_t i = 0; i < from->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[breakpoints->file_count++];
        *file = from->files[i];
        file->said = false;
        file->path = ll_copy_text(&breakpoints->arena, from->files[i].path, strlen(from->files[i].path));
        if (!file->path)
            return false;
    }
    return true;
}

/* Frees the list, which is {0} again; breakpoints that are set in a program stay there. */
static void breakpoints_release(struct ll_breakpoints *breakpoints)
{
    ll_arena_release(&breakpoints->arena);
    ll_map_release(&breakpoints->names);
    free(breakpoints->items);
    free(breakpoints->files);
    *breakpoints = (struct ll_breakpoints){0};
}

/* Processes and threads that leadline-probe follows: a program, what it forks, and what those become. One
 * tracer, one thread; all of it lives until the tracer ends or the process does. */

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

/* A thread at a breakpoint: a routine begins, or has returned to the trap that was put in its caller's place.
 */

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

/* A new process, whose program is looked at by ll_probed_look; NULL when memory ran out. */
static struct ll_probed_process *ll_follow(pid_t pid, pid_t parent)
{
    struct ll_probed_process *process = free_process();
    if (process)
        *process = (struct ll_probed_process){.pid = pid, .parent = parent, .tracee.memory = -1};
    if (process)
        process->file = ll_process_file((uint64_t)pid, (uint64_t)parent);
    return process;
}

/* The same for a child just forked from another: its memory is a copy, breakpoints included. */
static struct ll_probed_process *ll_follow_copy(pid_t pid, const struct ll_probed_process *parent)
{
    struct ll_probed_process *process = ll_follow(pid, parent->pid);
    if (!process)
        return NULL;
    if (ll_tracee_open(&process->tracee, pid) &&
        breakpoints_copy(&process->breakpoints, &parent->breakpoints))
        return process;
    free(process->file);
    ll_tracee_release(&process->tracee);
    breakpoints_release(&process->breakpoints);
    process->pid = 0;
    return NULL;
}

static void probed_drop(struct ll_probed_thread *thread, bool in_order);

/* Sets breakpoints in the program that the process runs or has just become; all that was known of another one
 * is gone, and its threads but this one. `thread` stands still. */
static void probed_look(struct ll_probed_process *process, pid_t thread)
{
    breakpoints_release(&process->breakpoints);
    ll_tracee_release(&process->tracee);
    for (uint64_t i = 0; i < thread_count; i++)
        if (threads[i]->tid && threads[i]->process == process && threads[i]->tid != thread)
            probed_drop(threads[i], false);
    if (ll_tracee_open(&process->tracee, process->pid))
        breakpoints_set(&process->breakpoints, &process->tracee, thread);
}

static struct ll_probed_thread *probed_find(pid_t tid)
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

/* A thread of the process; NULL when memory ran out. The one of this number; NULL: not followed. */
static struct ll_probed_thread *probed_add(struct ll_probed_process *process, pid_t tid)
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
    breakpoints_release(&process->breakpoints);
    process->pid = 0;
}

static void probed_use(const struct ll_probed_process *process);

/* The thread ended, or goes to another process. With its last thread a process ends as well; `in_order`: not
 * by a signal. */
static void probed_drop(struct ll_probed_thread *thread, bool in_order)
{
    struct ll_probed_process *process = thread->process;
    probed_use(process);
    ll_thread_leave(&thread->ring);
    thread->tid = 0;
    if (--process->threads == 0)
        end_process(process, in_order);
}

/* All its threads are dropped, so the process is over. */
static void probed_drop_all(struct ll_probed_process *process)
{
    for (uint64_t i = 0; i < thread_count; i++)
        if (threads[i]->tid && threads[i]->process == process)
            probed_drop(threads[i], false);
}

/* From now on records go to the rings of this process. */
static void probed_use(const struct ll_probed_process *process)
{
    ll_process_use(process->file);
}

/* Whether the thread or process of this number lives in the process's memory. */
static bool probed_shares(const struct ll_probed_process *process, pid_t tid)
{
    return syscall(SYS_kcmp, (long)process->pid, (long)tid, (long)KCMP_VM, 0L, 0L) == 0;
}

/* Gives the program in a process with the same code as `like` back as it was, and lets it go its way. */
static void probed_free(pid_t tid, const struct ll_probed_process *like)
{
    struct ll_tracee child;
    if (ll_tracee_open(&child, tid))
        breakpoints_clear(&like->breakpoints, &child);
    for (uint64_t i = 0; i < thread_count && child.memory >= 0; i++)
        for (uint32_t at = 0; threads[i]->tid && threads[i]->process == like && at < threads[i]->depth; at++)
            ll_tracee_write(&child, threads[i]->call[at].stack, &threads[i]->call[at].caller,
                            sizeof(uint64_t));
    ll_tracee_release(&child);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* Calls that something jumped out of: what begins or returns now lies higher on the stack than they did. */
static void drop_abandoned(struct ll_probed_thread *thread, uint64_t stack)
{
    while (thread->depth && thread->call[thread->depth - 1].stack < stack)
        thread->depth--;
}

/* The routine is about to begin; its registers go on behind the breakpoint, and it will return to the trap.
 */
static void probe_enter(struct ll_probed_thread *thread, struct user_regs_struct *registers,
                        const struct ll_breakpoint *at)
{
    const struct ll_tracee *tracee = &thread->process->tracee;
    const uint64_t *trap = &thread->process->breakpoints.trap;
    struct user_fpregs_struct vectors;
    uint64_t caller;
    registers->rip = at->behind;
    if (!ll_tracee_read(tracee, registers->rsp, &caller, sizeof caller))
        return;
    /* Where a call in progress returns to, only one that it ends with (a tail call) leaves that untouched. */
    drop_abandoned(thread, registers->rsp + (caller != *trap));
    if (thread->depth == LL_DEEPEST || !*trap || ptrace(PTRACE_GETFPREGS, thread->tid, NULL, &vectors) != 0)
        return;
    struct ll_probed_call *call = &thread->call[thread->depth];
    call->stack = registers->rsp;
    call->caller = caller;
    call->symbol = at->symbol;
    call->is_query = false;
    call->count = ll_probe_arguments(tracee, at->symbol, registers, &vectors,
                                     call->words + LL_RING_CALL_WORDS, &call->is_query);
    if (!ll_tracee_write(tracee, registers->rsp, trap, sizeof *trap))
        return;
    thread->depth++;
    call->start_ticks = ll_process_control() ? ll_process_ticks() : 0;
}

static void record(struct ll_probed_thread *thread, struct ll_probed_call *call, uint64_t ticks)
{
    struct ll_ring_process *page = ll_process_open();
    if (!page)
        return;
    if (call->is_query) {
        atomic_fetch_add(&page->queries, 1);
        return;
    }
    if (!ll_thread_ready(&thread->ring, NULL))
        return;
    unsigned count = LL_RING_CALL_WORDS + call->count;
    call->words[0] = ll_ring_header(LL_RING_CALL, count, thread->depth, call->symbol);
    call->words[1] = call->start_ticks;
    call->words[2] = ticks - call->start_ticks;
    call->words[3] = call->caller;
    ll_thread_push(&thread->ring, call->words, count);
}

/* The stack lies just above where the return address was. */
static void probe_leave(struct ll_probed_thread *thread, struct user_regs_struct *registers)
{
    uint64_t ticks = ll_process_control() ? ll_process_ticks() : 0;
    drop_abandoned(thread, registers->rsp - sizeof(uint64_t));
    if (thread->depth == 0)
        return;
    struct ll_probed_call *call = &thread->call[--thread->depth];
    registers->rip = call->caller;
    if (ll_process_control())
        record(thread, call, ticks);
}

/* leadline-probe PROGRAM ARGS...: runs a program into which nothing can be loaded, and records the calls of
 * its routines by stopping it at their entries and where they return to. It stands for the program: same
 * standard streams, same exit status, signals go through it. Its rings are those of the preload library.
 *
 * Each call stops the program twice, which takes some tens of microseconds. Children are followed, and what
 * they become: a second process is the tracer of them all, so that the first one can end with the program
 * while its children go on. */

enum { CANNOT_RUN = 126, NOT_FOUND = 127 }; /* as shells answer */

static volatile sig_atomic_t pass_signals_to;
static struct ll_breakpoints *breakpoints; /* of the process whose thread stands still */

static void pass_signal(int number)
{
    int error = errno;
    if (pass_signals_to)
        kill((pid_t)pass_signals_to, number);
    errno = error;
}

/* A terminal sends its signals to all of us. */
static void arrange_signals(void (*passed)(int))
{
    static const int numbers[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = passed, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

/* In place of facts.c, which speaks of the process that it runs in: how many routines stop the program, and
 * how many cannot be made to, for their first instruction does not move. */
void ll_log_host(void)
{
    const struct {
        const char *key;
        uint64_t number;
    } facts[] = {{"probe.routines", breakpoints->count}, {"probe.routines_unseen", breakpoints->unset}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        uint64_t words[16] = {0};
        char *text = (char *)(words + 1);
        int length = snprintf(text, sizeof words - sizeof *words, "%s%c%llu", facts[i].key, '\0',
                              (unsigned long long)facts[i].number);
        ll_log(LL_RING_LOG_FACT, words, (unsigned)(1 + (length + 8) / 8));
    }
}

void ll_log_libraries(void)
{
    for (uint64_t i = 0; breakpoints && i < breakpoints->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[i];
        uint64_t words[LL_RING_LOG_WORDS] = {0};
        size_t bytes = strlen(file->path) + 1;
        words[LL_RING_BIAS_WORD] = file->bias;
        words[LL_RING_BEGIN_WORD] = file->begin;
        words[LL_RING_END_WORD] = file->end;
        words[LL_RING_SEEN_WORD] = ll_process_ticks();
        if (file->said || bytes > (LL_RING_LOG_WORDS - LL_RING_LIBRARY_WORDS) * sizeof *words)
            continue;
        memcpy(words + LL_RING_LIBRARY_WORDS, file->path, bytes);
        ll_log(LL_RING_LOG_LIBRARY, words, (unsigned)(LL_RING_LIBRARY_WORDS + (bytes + 7) / 8));
        file->said = true;
    }
}

/* From now on all is about this process. */
static void turn_to(struct ll_probed_process *process)
{
    breakpoints = &process->breakpoints;
    probed_use(process);
}

/* Whether the stop was one of ours; it is then dealt with. */
static bool handle_trap(struct ll_probed_thread *thread)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0)
        return false;
    uint64_t address = registers.rip - 1;
    const struct ll_breakpoint *at = breakpoints_find(breakpoints, address);
    if (!at && address != breakpoints->trap)
        return false;
    if (!at) {
        probe_leave(thread, &registers);
    } else if (at->symbol == LL_BREAKPOINT_LOADED) {
        registers.rip = at->behind;
        ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers);
        breakpoints_set(breakpoints, &thread->process->tracee, thread->tid);
        if (ll_process())
            ll_log_libraries();
        return true;
    } else {
        probe_enter(thread, &registers, at);
    }
    ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers);
    return true;
}

/* A thread or process comes twice: it stands still at its beginning, and who made it tells its number. Who
 * comes first waits for the other, so that neither is gone when they meet. */
struct birth {
    pid_t child, parent; /* parent 0: the child has come, else the parent has */
};
static struct birth *births;
static uint64_t birth_count, birth_capacity;

/* Takes the birth out if one of the two has come before, else notes that one has. */
static bool is_born(pid_t child, pid_t parent, struct birth *birth)
{
    for (uint64_t i = 0; i < birth_count; i++) {
        if (births[i].child != child)
            continue;
        if ((births[i].parent == 0) == (parent == 0))
            return false;
        *birth = (struct birth){child, births[i].parent + parent};
        births[i] = births[--birth_count];
        return true;
    }
    if (ll_grow(&births, &birth_capacity, birth_count + 1, sizeof *births))
        births[birth_count++] = (struct birth){child, parent};
    return false;
}

/* A child in memory of its own, whose one thread is amid the calls that its maker is in. */
static struct ll_probed_thread *follow_copy(pid_t pid, const struct ll_probed_thread *maker)
{
    struct ll_probed_process *process = ll_follow_copy(pid, maker->process);
    struct ll_probed_thread *thread = process ? probed_add(process, pid) : NULL;
    if (thread) {
        thread->depth = maker->depth;
        memcpy(thread->call, maker->call, maker->depth * sizeof *maker->call);
    }
    return thread;
}

/* The two have met, and both go on. */
static void welcome(const struct birth *birth)
{
    const struct ll_probed_thread *maker = probed_find(birth->parent);
    struct ll_probed_thread *thread = NULL;
    if (maker && probed_shares(maker->process, birth->child))
        thread = probed_add(maker->process, birth->child);
    else if (maker && !(thread = follow_copy(birth->child, maker)))
        probed_free(birth->child, maker->process);
    if (!thread)
        ll_process_refused();
    ptrace(PTRACE_CONT, birth->child, NULL, NULL);
    ptrace(PTRACE_CONT, birth->parent, NULL, NULL);
}

/* A child that was killed before it came: who made it waits in vain. */
static void forget_birth(pid_t child)
{
    struct birth birth;
    if (is_born(child, 0, &birth))
        ptrace(PTRACE_CONT, birth.parent, NULL, NULL);
}

/* A child of vfork leaves its parent's memory. Any other process goes on in a further file where it has
 * written into one: addresses mean something else from now on. */
static void become(struct ll_probed_thread *thread)
{
    struct ll_probed_process *process = thread->process;
    pid_t tid = thread->tid;
    bool leaves = tid != process->pid;
    if (leaves || ll_process()) {
        struct ll_probed_process *other = ll_follow(tid, leaves ? process->pid : process->parent);
        if (leaves)
            probed_drop(thread, false);
        else
            probed_drop_all(process);
        process = other && probed_add(other, tid) ? other : NULL;
    }
    if (process)
        probed_look(process, tid);
    else
        ll_process_refused();
}

/* One stop of one thread, which goes on afterwards. */
static void handle_stop(pid_t tid, int status)
{
    int event = status >> 16, number = WSTOPSIG(status);
    struct ll_probed_thread *thread = probed_find(tid);
    struct birth birth;
    unsigned long made = 0;
    if (!thread && event == 0 && number == SIGSTOP) {
        if (is_born(tid, 0, &birth))
            welcome(&birth);
        return;
    }
    if (thread)
        turn_to(thread->process);
    if (event == PTRACE_EVENT_EXEC && thread) {
        become(thread);
    } else if (event != 0 && ptrace(PTRACE_GETEVENTMSG, tid, NULL, &made) == 0) {
        if (is_born((pid_t)made, tid, &birth))
            welcome(&birth);
        return;
    }
    bool ours = event != 0 || (number == SIGTRAP && thread && handle_trap(thread));
    ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)(ours ? 0 : number));
}

static void handle_end(pid_t tid, int status)
{
    struct ll_probed_thread *thread = probed_find(tid);
    if (!thread) {
        forget_birth(tid);
        return;
    }
    turn_to(thread->process);
    ll_log_libraries();
    probed_drop(thread, WIFEXITED(status));
    breakpoints = NULL;
}

/* Follows the program until nothing of it is left, and tells how it ended, as waitpid says it, when it did.
 */
static void follow(pid_t program, int tell)
{
    int status;
    pid_t tid;
    while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (tid > 0 && WIFSTOPPED(status))
            handle_stop(tid, status);
        else if (tid > 0)
            handle_end(tid, status);
        if (tid == program && !WIFSTOPPED(status) && write(tell, &status, sizeof status) < 0)
            return;
    }
}

/* The tracer: starts the program, tells its number and then its end. */
static void trace(char **argv, int tell)
{
    const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        close(tell);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL); /* where that is not permitted the program runs unrecorded */
        execvp(argv[0], argv);
        _exit(errno == ENOENT ? NOT_FOUND : CANNOT_RUN);
    }
    arrange_signals(SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    struct ll_probed_process *program = pid > 0 ? ll_follow(pid, getppid()) : NULL;
    if (!program || write(tell, &pid, sizeof pid) < 0 || !freopen("/dev/null", "r+", stdin) ||
        dup2(STDIN_FILENO, STDOUT_FILENO) < 0 || dup2(STDIN_FILENO, STDERR_FILENO) < 0)
        return;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFSTOPPED(status)) {
        tell = write(tell, &status, sizeof status) < 0 ? -1 : tell;
        return;
    }
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options);
    turn_to(program);
    if (probed_add(program, pid))
        probed_look(program, pid);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    follow(pid, tell);
}

/* Ends as the program did. */
static int end_as(int status)
{
    const struct rlimit no_core = {0, 0};
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
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

/* The next number from the tracer; false: it is gone. */
static bool hear(int from, int *number)
{
    ssize_t bytes;
    while ((bytes = read(from, number, sizeof *number)) < 0 && errno == EINTR)
        ;
    return bytes == sizeof *number;
}

int main(int argc, char **argv)
{
    int ends[2], program, status;
    if (argc < 2)
        return ask_permission();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return CANNOT_RUN;
    pid_t tracer = fork();
    if (tracer == 0) {
        close(ends[0]);
        trace(argv + 1, ends[1]);
        return CANNOT_RUN;
    }
    close(ends[1]);
    arrange_signals(pass_signal);
    if (tracer < 0 || !hear(ends[0], &program))
        return CANNOT_RUN;
    pass_signals_to = program;
    return hear(ends[0], &status) ? end_as(status) : CANNOT_RUN;
}
