/* SPDX-License-Identifier: Apache-2.0 */
/* Recording the processes of one command, a trace each, while they run.
 *
 * Events come out of the rings of a folder (tracer/interpose/ring_reader.h). Each process that calls
 * something gets a trace of its own: the one that was started `T.llt`, any other `T.PID.llt`; where the one
 * that was started calls nothing, the first of those that it started, or else of all, has `T.llt` in the end.
 * What a process says of itself while it runs, its libraries and how OpenBLAS sees the CPU, goes into the
 * header, or behind the ops where it comes late. A disk that is full ends the traces; the processes never
 * notice. One thread at a time. */
#ifndef LL_TRACER_CAPTURE_CAPTURE_H
#define LL_TRACER_CAPTURE_CAPTURE_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring_reader.h"
#include "tracer/record/recorder.h"

/* A trace of an external program, from the events that were seen of it.
 *
 * Events come in the order in which they began. A call of the program becomes an op, on the tensors that lie
 * in the memory it touched (memory.h); a call from within another counts as nested and is part of that one.
 * Where a thread does something else between its calls, an op `gap` takes that time. Each op waits for what
 * made its inputs, for those whose memory it overwrites, and for what its thread did before. Steps are those
 * that the program marks; a program that marks none is searched for what it repeats.
 *
 * One capture is one process, and belongs to one thread at a time. */

struct ll_capture;

struct ll_capture_settings {
    struct ll_recorder *recorder; /* outlives the capture, and gets nothing but what the capture tells it */
    uint64_t origin_ns;           /* when the process began, by ll_now_ns */
    /* Where a call returns to, as text (`libtorch_cpu.so+0x108edf0`), asked once for each address and mapping
     * (struct ll_call); the text is copied. NULL: the address. */
    const char *(*site)(void *context, uint64_t address, uint32_t mapping);
    void *context;
    uint64_t rows_free; /* see `coarse`; 0: 131072, and 64 for each call */
};

enum ll_steps_by { LL_STEPS_NONE, LL_STEPS_BY_MARKS, LL_STEPS_BY_REPETITION };

/* What was seen of a thread; times in ns. */
struct ll_seen_thread {
    uint64_t calls, in_calls_ns, in_gaps_ns, begin_ns, end_ns;
};

/* An honest account of a capture. */
struct ll_capture_summary {
    uint64_t calls;     /* that became ops */
    uint64_t nested;    /* within these, not counted again */
    uint64_t opaque;    /* of the calls: that nobody knows what they compute */
    uint64_t empty;     /* on matrices or vectors without elements: no ops */
    uint64_t lost;      /* events that found no room */
    uint64_t waited_ns; /* all threads together, for room */
    uint64_t gaps, views;
    uint64_t steps; /* whole ones; known when the capture is finished */
    uint64_t
        coarse; /* of the calls: where rows lay apart they counted as one run, for it had taken too long */
    double flops;
    enum ll_steps_by steps_by;
    uint64_t period;  /* calls in a step that was found by repetition */
    uint64_t wall_ns; /* from the process's start to its end, or to its last call where nobody saw it end */
    const struct ll_seen_thread *threads;
    uint32_t thread_count;
};

struct ll_unreturned {
    const char *routine; /* its name, which is the op's scope */
    uint32_t thread;     /* as of events */
    uint64_t start_ns, end_ns;
};

/* NULL when memory ran out. */
struct ll_capture *ll_capture_open(const struct ll_capture_settings *settings);

/* Takes one event in. Trouble is the recorder's (ll_recorder_status). */
void ll_capture_event(struct ll_capture *capture, const struct ll_event *event);

/* A thread's last call began and had not returned when the process ended: an op without operands, of unknown
 * FLOPs, that takes the time in between. No event of the thread follows. */
void ll_capture_unreturned(struct ll_capture *capture, const struct ll_unreturned *last);

/* What was seen so far; valid until the next event. */
struct ll_capture_summary ll_capture_summary(struct ll_capture *capture);

/* No event follows: finds the steps and writes them and the summary's facts (summary.*, tracer/ir/trace.h) to
 * the recorder, which its owner then closes. `nested` calls within others were counted and gave no event. The
 * process ended at end_ns, by ll_now_ns; 0 where nobody saw it. */
void ll_capture_finish(struct ll_capture *capture, uint64_t nested, uint64_t end_ns);

/* Frees the capture; NULL is fine. */
void ll_capture_close(struct ll_capture *capture);

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
