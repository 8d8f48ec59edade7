/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stands still while we look into it (ptrace(2)). One thread of ours does all of it. */
#ifndef LL_PROBE_TRACEE_H
#define LL_PROBE_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
