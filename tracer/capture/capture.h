/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of a program that we did not write, from the events that were seen of it.
 *
 * Events come in the order in which they began. A call of the program becomes an op, on the tensors that lie
 * in the memory it touched (memory.h); a call from within another counts as nested and is part of that one.
 * Where a thread does something else between its calls, an op `gap` takes that time. Each op waits for what
 * made its inputs, for those whose memory it overwrites, and for what its thread did before. Steps are those
 * that the program marks; a program that marks none is searched for what it repeats (steps.h).
 *
 * One capture is one process, and belongs to one thread at a time. */
#ifndef LL_TRACER_CAPTURE_CAPTURE_H
#define LL_TRACER_CAPTURE_CAPTURE_H

#include "tracer/interpose/call.h"
#include "tracer/record/recorder.h"

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

#endif
