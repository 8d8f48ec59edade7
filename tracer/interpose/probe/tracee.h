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

/* Where a traced process stops: at the entries of routines, and where they return to.
 *
 * An entry's first instruction is moved out of the way for good, so that a thread goes on there without
 * putting the old byte back, which would let other threads pass unseen. */

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

/* Sets breakpoints in all files that the process has mapped since the last time, and forgets those of files
 * that are gone: at every routine of symbols.def that they define, in .symtab as well, and where the loader
 * tells of libraries. `thread` stands still. What cannot be set is left out. */
void ll_breakpoints_set(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread);

/* The breakpoint at this address, NULL when there is none. */
const struct ll_breakpoint *ll_breakpoints_find(const struct ll_breakpoints *breakpoints, uint64_t address);

/* Puts back what stood there, in the memory of a process with the same code. */
void ll_breakpoints_clear(const struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee);

/* Those of another process with the same memory; false when memory ran out. */
bool ll_breakpoints_copy(struct ll_breakpoints *breakpoints, const struct ll_breakpoints *from);

/* Frees the list, which is {0} again; breakpoints that are set in a program stay there. */
void ll_breakpoints_release(struct ll_breakpoints *breakpoints);

/* The arguments of a call, read where the caller left them for a function that is just beginning (System V
 * ABI, x86-64, 3.2.3), as the words of a record: the same words that a wrapper writes. */

/* Writes the words of this symbol's record behind `words`; how many. *is_query: the call asks for the size of
 * a workspace and computes nothing. What cannot be read is 0. */
unsigned ll_probe_arguments(const struct ll_tracee *tracee, uint32_t symbol,
                            const struct user_regs_struct *registers,
                            const struct user_fpregs_struct *vectors, uint64_t *words, bool *is_query);

#endif
