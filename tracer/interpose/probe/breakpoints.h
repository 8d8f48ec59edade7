/* SPDX-License-Identifier: Apache-2.0 */
/* Where a traced process stops: at the entries of routines, and where they return to.
 *
 * An entry's first instruction is moved out of the way for good, so that a thread goes on there without
 * putting the old byte back, which would let other threads pass unseen. */
#ifndef LL_PROBE_BREAKPOINTS_H
#define LL_PROBE_BREAKPOINTS_H

#include "tracer/base/map.h"
#include "tracer/interpose/probe/tracee.h"

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

#endif
