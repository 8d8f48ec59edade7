/* SPDX-License-Identifier: Apache-2.0 */
/* Ends that no handler sees. Both do what the C library's do, and may be called by signal handlers. They
 * may also be a child's that lives in its parent's memory (vfork); the parent takes the mark back when it
 * goes on. Whose end it is, a system call would tell, which the program may have forbidden. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Noreturn void leave(int status)
{
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
