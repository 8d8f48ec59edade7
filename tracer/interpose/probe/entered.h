/* SPDX-License-Identifier: Apache-2.0 */
/* A thread at a breakpoint: a routine begins, or has returned to the trap that was put in its caller's place.
 */
#ifndef LL_PROBE_ENTERED_H
#define LL_PROBE_ENTERED_H

#include "tracer/interpose/probe/followed.h"

#include <sys/user.h>

/* The routine is about to begin; its registers go on behind the breakpoint, and it will return to the trap.
 */
void ll_probe_enter(struct ll_probed_thread *thread, struct user_regs_struct *registers,
                    const struct ll_breakpoint *at);

/* The routine has returned, to the trap: the registers go on where it was called, and the call is recorded.
 */
void ll_probe_leave(struct ll_probed_thread *thread, struct user_regs_struct *registers);

#endif
