/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is made by letting the stopped thread do the system call itself: its registers and the two bytes
 * that it would run next are put back afterwards. */
#define _GNU_SOURCE
#include "tracer/interpose/probe/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ATTEMPTS = 9 };

bool ll_tracee_open(struct ll_tracee *tracee, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    *tracee = (struct ll_tracee){pid, open(path, O_RDWR | O_CLOEXEC)};
    return tracee->memory >= 0;
}

void ll_tracee_release(struct ll_tracee *tracee)
{
    if (tracee->memory >= 0)
        close(tracee->memory);
    tracee->memory = -1;
}

bool ll_tracee_read(const struct ll_tracee *tracee, uint64_t address, void *to, size_t bytes)
{
    return pread(tracee->memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool ll_tracee_write(const struct ll_tracee *tracee, uint64_t address, const void *from, size_t bytes)
{
    return pwrite(tracee->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Lets the thread run one instruction. Signals that come before it are sent anew once it is done: not every
 * stop can be left with one. */
static bool step(const struct ll_tracee *tracee, pid_t thread)
{
    int status = 0;
    uint64_t held = 0; /* bit i: signal i + 1 */
    while (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) == 0 && waitpid(thread, &status, __WALL) == thread &&
           WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP)
        held |= UINT64_C(1) << (WSTOPSIG(status) - 1);
    for (int i = 0; i < 64; i++)
        if (held >> i & 1)
            syscall(SYS_tgkill, tracee->pid, thread, i + 1);
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

/* mmap at this place or nowhere. */
static uint64_t map_at(const struct ll_tracee *tracee, pid_t thread, uint64_t address, size_t bytes)
{
    static const uint8_t syscall_code[] = {0x0f, 0x05};
    struct user_regs_struct before, now;
    uint8_t code[sizeof syscall_code];
    if (ptrace(PTRACE_GETREGS, thread, NULL, &before) != 0 ||
        !ll_tracee_read(tracee, before.rip, code, sizeof code))
        return 0;
    now = before;
    now.rax = SYS_mmap;
    now.orig_rax = UINT64_MAX; /* no call of its own is to be started anew */
    now.rdi = address;
    now.rsi = bytes;
    now.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
    now.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    now.r8 = UINT64_MAX;
    now.r9 = 0;
    bool done = ll_tracee_write(tracee, before.rip, syscall_code, sizeof code) &&
                ptrace(PTRACE_SETREGS, thread, NULL, &now) == 0 && step(tracee, thread) &&
                ptrace(PTRACE_GETREGS, thread, NULL, &now) == 0;
    ll_tracee_write(tracee, before.rip, code, sizeof code);
    ptrace(PTRACE_SETREGS, thread, NULL, &before);
    return done && now.rax == address ? address : 0;
}

uint64_t ll_tracee_map(const struct ll_tracee *tracee, pid_t thread, uint64_t below, size_t bytes)
{
    uint64_t begin = below & ~(uint64_t)0xffff, distance = 1 << 20;
    for (int i = 0; i < ATTEMPTS && distance < begin; i++, distance *= 2) {
        uint64_t made = map_at(tracee, thread, begin - distance, bytes);
        if (made)
            return made;
    }
    return 0;
}
