/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that no handler sees. Both do what the C library's do, and may be called by signal handlers. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A child of vfork lives in its parent's memory, and its end is not the parent's. */
static _Noreturn void leave(int status)
{
    struct ll_ring_process *page = ll_process();
    if (page && page->pid == (uint64_t)getpid())
        ll_process_ends();
    for (;;)
        syscall(SYS_exit_group, status);
}

LL_EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

LL_EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}
