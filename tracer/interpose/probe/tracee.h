/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stands still while we look into it (ptrace(2)). One thread of ours does all of it. */
#ifndef LL_TRACER_INTERPOSE_PROBE_TRACEE_H
#define LL_TRACER_INTERPOSE_PROBE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "tracer/base/map.h"
#include "tracer/interpose/call.h"

struct ll_tracee {
    pid_t pid;
    int memory; /* its /proc/PID/mem; -1: not open */
};

/* Opens the memory of a process that we trace; false when it is not permitted. */
bool ll_tracee_open(struct ll_tracee *tracee, pid_t pid);
void ll_tracee_release(struct ll_tracee *tracee);

/* All of these bytes, whatever the protection of the memory; false when some are not there: what was read or
 * written of the others is then not told. */
bool ll_tracee_read(const struct ll_tracee *tracee, uint64_t address, void *to, size_t bytes);
bool ll_tracee_write(const struct ll_tracee *tracee, uint64_t address, const void *from, size_t bytes);

/* Memory of its own that may be written and executed, within the reach of a jump below the address; the
 * thread stands still and is left as it was. 0 when there is none. */
uint64_t ll_tracee_map(const struct ll_tracee *tracee, pid_t thread, uint64_t below, size_t bytes);

/* The arguments of a call, read where the caller left them for a function that is just beginning (System V
 * ABI, x86-64, 3.2.3), as the words of a record: the same words that a wrapper writes. */

/* Whether the arguments of this symbol can be read so: those that lead to further data cannot. */
bool ll_probe_knows(uint32_t symbol);

/* Writes the words of this symbol's record behind `words`; how many. *is_query: the call asks for the size of
 * a workspace and computes nothing. What cannot be read is 0. */
unsigned ll_probe_arguments(const struct ll_tracee *tracee, uint32_t symbol,
                            const struct user_regs_struct *registers,
                            const struct user_fpregs_struct *vectors, uint64_t *words, bool *is_query);

#endif
