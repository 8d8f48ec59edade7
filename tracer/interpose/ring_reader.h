/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's end of the rings: makes the folder, follows the processes and threads that appear in it, and
 * gives what they did in the order in which it began.
 *
 * A reader belongs to one thread. It believes nothing of what it reads: a program may scribble over its own
 * rings, and then loses at most what they held. */
#ifndef LL_INTERPOSE_RING_READER_H
#define LL_INTERPOSE_RING_READER_H

#include "tracer/base/diag.h"
#include "tracer/interpose/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_ring_settings {
    uint64_t ring_bytes; /* of a process's first ring: a power of two; 0: 8 MiB; the others have an eighth */
    uint64_t least_allocation; /* memory smaller than this is not followed; 0: none is */
    bool lossy; /* no thread waits for the reader: what finds no room in a ring is lost, and counted */
};

struct ll_ring_fact {
    const char *key, *value;
};

/* A loaded library: addresses in its file are shifted by `base`; it lies in [begin, end). */
struct ll_ring_library {
    uint64_t base, begin, end;
    const char *path; /* empty: the program itself */
    bool replaces;    /* another one lay there, or in parts of it, before */
};

/* Whether it came to lie at this address where another one lay. */
static inline bool ll_ring_library_replaces(const struct ll_ring_library *library, uint64_t address)
{
    return library->replaces && address >= library->begin && address < library->end;
}

/* What is known of one process; texts and lists live until the reader is closed, lists may move as they grow.
 */
struct ll_ring_process_info {
    uint64_t pid, parent_pid;
    uint64_t started_ns, ended_ns; /* by ll_now_ns; ended_ns 0: it runs, or did not say that it ended */
    uint64_t unresolved, abandoned, queries, ringless, unsaid, nested, unfollowed; /* as in ring.h */
    uint64_t lost;    /* records that found no room */
    uint64_t damaged; /* rings and logs that were cut off or held nonsense, and were given up */
    uint64_t late;    /* events given out after one that began later */
    const struct ll_ring_fact *facts;
    size_t fact_count;
    const struct ll_ring_library *libraries; /* as they were said */
    size_t library_count;
};

/* An outermost call that has begun and not returned: it is in progress, or something jumped out of it. */
struct ll_unreturned_call {
    size_t process;
    uint32_t thread; /* as of events */
    uint32_t symbol;
    uint64_t start_ns;
};

struct ll_ring_reader;

/* Makes `control` in a folder that exists, for programs that find the folder in LL_RING_FOLDER_VARIABLE. */
enum ll_status ll_ring_create(const char *folder, const struct ll_ring_settings *settings);

/* Reads such a folder, now and as it grows. NULL when it has no control file of ours or memory ran out;
 * *status, which may be NULL, says which. The caller closes the reader. */
struct ll_ring_reader *ll_ring_open(const char *folder, enum ll_status *status);
void ll_ring_close(struct ll_ring_reader *reader);

/* The next event; false when there is none to be had now. An event waits until no call that may have begun
 * before it is still in progress, though not longer than some hundred thousand further ones of its thread.
 * While nobody asks for events, threads of programs soon wait for room in their rings. */
bool ll_ring_next(struct ll_ring_reader *reader, struct ll_event *event);

/* From now on nobody writes: whatever is there is given out. */
void ll_ring_finish(struct ll_ring_reader *reader);

/* The next thread's call that has not returned, each thread's once; *at is 0 to begin with. */
bool ll_ring_next_unreturned(const struct ll_ring_reader *reader, uint64_t *at,
                             struct ll_unreturned_call *call);

/* Sleeps, at most so long, and the shorter the less time ago there was an event. */
void ll_ring_wait(struct ll_ring_reader *reader, uint64_t timeout_ns);

/* Processes of which nothing is seen, because there was no room for their files. */
uint64_t ll_ring_refused(const struct ll_ring_reader *reader);

/* Processes of whose files nothing can be read: they were cut off before the reader saw them, or are in the
 * making. */
uint64_t ll_ring_unreadable(const struct ll_ring_reader *reader);

/* Processes in the order in which they were found, from 0; which of them a thread, one of an event, belongs
 * to. */
size_t ll_ring_process_count(const struct ll_ring_reader *reader);
struct ll_ring_process_info ll_ring_process_info(const struct ll_ring_reader *reader, size_t process);
/* The library that lay at an address when a call was made: address and mapping are the call's. NULL when it
 * is not known. */
const struct ll_ring_library *ll_ring_library_at(const struct ll_ring_process_info *process, uint64_t address,
                                                 uint32_t mapping);
size_t ll_ring_thread_process(const struct ll_ring_reader *reader, uint32_t thread);

#endif
