/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did when, as a profiler saw it: the timeline of a recorded program.
 *
 *   names    kernels, calls, operators, groups of ranks, each text once
 *   tracks   threads of the host and streams of the devices
 *   calls    of the driver: when the host launched something, or waited for the device
 *   events   kernels, copies, fills and exchanges on the streams, each with the call that launched it
 *   waits    what else an event or the end of a call waits for, beside its launch and its stream
 *
 * Calls and events are sorted by their begin (of equals, the order of the file). Times are nanoseconds from
 * the earliest of them. A timeline stands beside the ops of a trace: ops say what was computed, events when
 * it ran. It owns its arrays, which live on the heap; the names live in an arena of its own. Starts as {0};
 * one thread at a time while it is built, immutable and shared afterwards. */
#ifndef LL_TRACER_IR_TIMELINE_H
#define LL_TRACER_IR_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/arena.h"

/* What an event is: word, name, what it is. */
#define LL_EVENT_LIST(X)                                                                                     \
    X(KERNEL, "kernel", "a kernel, which computes")                                                          \
    X(COPY, "copy", "memory is copied, on the device or between it and the host")                            \
    X(FILL, "fill", "memory is filled with a value")                                                         \
    X(EXCHANGE, "exchange", "a kernel of NCCL or RCCL: devices exchange data")

enum ll_device_event_kind {
#define X(word, name, doc) LL_EVENT_##word,
    LL_EVENT_LIST(X)
#undef X
        LL_EVENT_COUNT
};

/* What a call of the driver does: it launches what runs on a device, it waits for that, or neither. */
enum ll_call_kind { LL_CALL_LAUNCHES, LL_CALL_WAITS, LL_CALL_OTHER, LL_CALL_COUNT };

struct ll_timeline_track {
    uint32_t name; /* what the file calls it */
    uint32_t rank; /* whose it is, below the timeline's rank_count */
    bool host;     /* a thread of the host; else a stream of a device */
};

struct ll_timeline_call {
    uint64_t start_ns, duration_ns;
    uint32_t name, track;
    uint32_t kind; /* enum ll_call_kind */
};

struct ll_timeline_event {
    uint64_t start_ns, duration_ns;
    uint64_t bytes; /* of copies, fills and exchanges; 0: not told */
    uint32_t name, track;
    uint32_t caller; /* name of the operator that launched it; LL_NO_PART: not told */
    uint32_t call;   /* the call that launched it; LL_NO_PART: that is not in the file */
    uint32_t kind;   /* enum ll_device_event_kind */
    /* Of an exchange: the name of its group of ranks, and how many of this rank in the group came before it
     * (exchanges of ranks with the same group and order are one); LL_NO_PART: not told. */
    uint32_t group, order;
};

/* Event `event` begins, or call `call` ends (the other one is LL_NO_PART), after event `after`. */
struct ll_timeline_wait {
    uint32_t event, call, after;
};

#define LL_NO_PART UINT32_MAX

struct ll_device_timeline {
    struct ll_arena arena; /* of the names */
    const char **names;
    struct ll_timeline_track *tracks;
    struct ll_timeline_call *calls;
    struct ll_timeline_event *events;
    struct ll_timeline_wait *waits;
    uint64_t name_count, track_count, call_count, event_count, wait_count;
    uint64_t name_capacity, track_capacity, call_capacity, event_capacity, wait_capacity;
    uint32_t rank_count;
    bool launches; /* some event has its call: one without was launched before the recording */
};

/* Frees everything the timeline owns; it is {0} again. */
void ll_timeline_release(struct ll_device_timeline *timeline);

/* Each appends; its number, or LL_NO_PART when memory ran out. A name is copied, and not looked for among
 * those that are there. */
uint32_t ll_timeline_add_name(struct ll_device_timeline *timeline, const char *text, size_t length);
uint32_t ll_timeline_add_track(struct ll_device_timeline *timeline, const struct ll_timeline_track *track);
uint32_t ll_timeline_add_call(struct ll_device_timeline *timeline, const struct ll_timeline_call *call);
uint32_t ll_timeline_add_event(struct ll_device_timeline *timeline, const struct ll_timeline_event *event);
uint32_t ll_timeline_add_wait(struct ll_device_timeline *timeline, const struct ll_timeline_wait *wait);

/* NULL where every number points to something, kinds are known, calls and events are sorted, times fit in 63
 * bits and waits go back in time order of events; else what is wrong, static storage. Pure. */
const char *ll_timeline_check(const struct ll_device_timeline *timeline);

/* The name of a kind of event; static storage. */
const char *ll_event_name(enum ll_device_event_kind kind);

/* Whether the event takes part: its launch is in the file, or no launch of any is. Pure. */
static inline bool ll_event_counts(const struct ll_device_timeline *timeline,
                                   const struct ll_timeline_event *event)
{
    return !timeline->launches || event->call != LL_NO_PART;
}

/* A stretch of time, in nanoseconds. */
struct ll_stretch_ns {
    double begin, end;
};

/* How long any of the stretches lasts, less what any of `without` covers; sorts both. Ends are not before
 * begins. */
double ll_union_ns(struct ll_stretch_ns *stretches, uint64_t count, struct ll_stretch_ns *without,
                   uint64_t without_count);

#endif
