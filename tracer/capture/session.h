/* SPDX-License-Identifier: Apache-2.0 */
/* Recording the processes of one command, a trace each, while they run.
 *
 * Events come out of the rings of a folder (tracer/interpose/ring_reader.h). Each process that calls
 * something gets a trace of its own: the one that was started `T.llt`, any other `T.PID.llt`; where the one
 * that was started calls nothing, the first of those that it started, or else of all, has `T.llt` in the end.
 * What a process says of itself while it runs, its libraries and how OpenBLAS sees the CPU, goes into the
 * header, or behind the ops where it comes late. A disk that is full ends the traces; the processes never
 * notice. One thread at a time. */
#ifndef LL_TRACER_CAPTURE_SESSION_H
#define LL_TRACER_CAPTURE_SESSION_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/capture/capture.h"
#include "tracer/interpose/ring_reader.h"

struct ll_session;

struct ll_session_settings {
    const char *folder;  /* where ll_ring_create was */
    const char *output;  /* T.llt */
    uint64_t pid;        /* of the process that was started */
    const char *command; /* as the traces' header shows it */
    /* When that process was started, which no other one was before, and when it had ended; 0: not known. By
     * ll_now_ns. */
    uint64_t started_ns, ended_ns;
    bool killed; /* it ended by a signal */
    /* Where an address of the library lies, as text, or NULL; asked once for each call site, the text is
     * copied. NULL: the library's name and the offset in it. */
    const char *(*site)(void *context, const struct ll_ring_library *library, uint64_t address);
    void *context;
    /* What the trace of a process shall warn of (a fact `warning.pytorch`), or NULL; asked at its end. `torch`:
     * it has loaded PyTorch for Python. NULL: nothing. */
    const char *(*warning)(void *context, uint64_t pid, bool torch);
    void *warning_context;
};

/* Settings stay the caller's, who may fill in pid and times later, and outlive the session. NULL and *status
 * on trouble. */
struct ll_session *ll_session_open(const struct ll_session_settings *settings, enum ll_status *status);

/* Takes in all that is there, then sleeps until there is more, at most so long; writes what has waited for
 * long. */
void ll_session_drain(struct ll_session *session);
void ll_session_wait(struct ll_session *session, uint64_t timeout_ns);

/* Processes that there was no room to record, so far. */
uint64_t ll_session_refused(const struct ll_session *session);

/* A trace that was written. */
struct ll_session_trace {
    const char *path;
    uint64_t pid;
    enum ll_status status;             /* the first trouble */
    struct ll_capture_summary summary; /* without threads */
    uint64_t unresolved, queries, late;
    uint64_t unplaced;      /* events of threads that found no room for a ring, or of signal handlers */
    uint64_t unfollowed;    /* pieces of memory that came or went and found no room */
    uint64_t damaged;       /* rings and logs that were cut off or written over, and given up */
    uint64_t unreturned;    /* calls that had begun and not returned when the process ended; .. */
    const char *longest;    /* .. of these, the routine of the one that began first, NULL where there is .. */
    double longest_s;       /* .. none, and how long before; 0 where nobody saw the end */
    double wall_s, covered; /* summary.wall_ns; its busiest thread's share in calls */
    const char *blas_core, *better_core; /* OpenBLAS took the CPU for another; NULL where it did not */
    bool core_asked_for;                 /* by the environment */
};

/* Nobody writes any more: how many files of processes held nothing that could be read, for they were cut
 * off or written over. */
uint64_t ll_session_unreadable(struct ll_session *session);

/* Nobody writes any more: takes in the rest, writes summaries, closes. The traces, in the arena: of the
 * process that was started, of those that it started, of the others, each in the order in which they
 * appeared. False when memory ran out; the session is freed in any case. */
bool ll_session_close(struct ll_session *session, struct ll_arena *arena, struct ll_session_trace **traces,
                      size_t *count);

#endif
