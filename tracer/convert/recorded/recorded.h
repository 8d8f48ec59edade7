/* SPDX-License-Identifier: Apache-2.0 */
/* From a profiler's records to a timeline: what all readers of such files share.
 *
 * A reader tells calls of the driver and events of the devices in the order of the file, each with a number
 * that ties an event to the call that launched it. ll_recorded_finish sorts them, ties them and derives what
 * waits for what:
 *
 *   launch       an event waits for the call that has its number
 *   stream       events of a stream wait for each other; that needs no word
 *   event        behind a "wait for event" of a stream, its next event waits for what the other stream had
 *                been given before that event was recorded: by the numbers that the file has for these, or,
 *                where it has none, by the order of calls on the thread, unless the times contradict
 *   host         a call that synchronizes, or copies and returns only then, ends after the latest event that
 *                was launched before it and had ended by then; so does a launch that took long while the
 *                device's queue was full
 *
 * Exchanges of several ranks are one where they are of a group of one name and as many came before them.
 * Private to tracer/convert. */
#ifndef LL_TRACER_CONVERT_RECORDED_RECORDED_H
#define LL_TRACER_CONVERT_RECORDED_RECORDED_H

#include "tracer/base/map.h"
#include "tracer/convert/convert.h"
#include "tracer/ir/timeline.h"

/* What a file says of a stream that waits for another. */
struct ll_stream_wait {
    uint32_t track, after; /* streams; */
    uint64_t wait, record; /* numbers of the call that makes it wait and of that which recorded the event */
    uint32_t rank;
};

/* Starts as {.import = import}; released with ll_recorded_release. */
struct ll_recorded {
    struct ll_import *import;
    struct ll_device_timeline timeline;
    uint32_t rank; /* of the file that is read, from 0 */
    struct ll_map names, tracks;
    uint64_t *call_numbers, *event_numbers; /* as told, in the order of telling; 0: none */
    uint64_t call_number_capacity, event_number_capacity;
    struct ll_stream_wait *stream_waits;
    uint64_t stream_wait_count, stream_wait_capacity;
};

void ll_recorded_release(struct ll_recorded *recorded);

/* The number of a text; equal texts have one. LL_NO_PART after import->status is set. */
uint32_t ll_recorded_name(struct ll_recorded *recorded, const char *text, size_t length);

/* The track that the file numbers so, of this rank; `label` names it when it is new. LL_NO_PART likewise. */
uint32_t ll_recorded_track(struct ll_recorded *recorded, bool host, uint64_t device, uint64_t stream,
                           const char *label);

/* Adds a call or an event; times are in any nanoseconds, of one clock a rank. False with import->status. */
bool ll_recorded_call(struct ll_recorded *recorded, const struct ll_timeline_call *call, uint64_t number);
bool ll_recorded_event(struct ll_recorded *recorded, const struct ll_timeline_event *event, uint64_t number);
bool ll_recorded_stream_wait(struct ll_recorded *recorded, const struct ll_stream_wait *wait);

/* Whether the name of a call of CUDA's or HIP's runtime says that it waits for the device. Pure. */
bool ll_recorded_call_waits(const char *name);

/* Whether a kernel's name says that it is one of NCCL's or RCCL's. Pure. */
bool ll_recorded_exchanges(const char *name);

/* All was told: the timeline is complete afterwards (ll_timeline_check), its time begins with 0. Clocks of
 * further ranks are turned so that exchanges end together. False with import->status set. */
bool ll_recorded_finish(struct ll_recorded *recorded);

/* What holds a kernel back of which nothing is known but its name and time: the attribute `bound_by` of op
 * `kernel`. */
enum ll_kernel_bound {
    LL_KERNEL_BY_MEMORY,  /* as most kernels are */
    LL_KERNEL_BY_COMPUTE, /* its name says that it multiplies matrices */
    LL_KERNEL_BY_LATENCY, /* it is over before either counts */
    LL_KERNEL_BY_NETWORK, /* an exchange */
    LL_KERNEL_BY_HOST     /* a copy from the host or to it */
};
enum ll_kernel_bound ll_recorded_bound(const char *name, enum ll_device_event_kind kind,
                                       uint64_t duration_ns);

/* Records an op for each event that counts, one after the other, in one step: `kernel` with its recorded
 * time, its name the scope. Adds facts and begins the import, unless it has begun; `source` is the fact of
 * that name. False after complaints, as where there is no event, or with import->status set. */
bool ll_recorded_ops(struct ll_recorded *recorded, const char *source);

/* Hands the timeline to the recorder of the import, which has begun. */
void ll_recorded_keep(struct ll_recorded *recorded);

#endif
