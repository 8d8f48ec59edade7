/* SPDX-License-Identifier: Apache-2.0 */
/* What a format of timelines is: functions that append to an export what timeline.c has put in order. Private
 * to this folder. Events of a process come in order of time; slices of a lane do not overlap, but for those
 * without length, which lie within others. */
#ifndef LL_TRACER_CONVERT_TIMELINE_WRITERS_H
#define LL_TRACER_CONVERT_TIMELINE_WRITERS_H

#include "tracer/convert/timeline/timeline.h"

/* Where a timeline goes. */
struct ll_timeline_sink {
    struct ll_export *export;
    uint32_t process;    /* the process under way, from 1 */
    uint64_t process_id; /* its number among lanes, counters and processes */
    bool goes_on;        /* an event has been written (chrome.c) */
    struct ll_perfetto *perfetto;
};

/* A track as it is written: one whose slices do not overlap. */
struct ll_timeline_lane {
    uint64_t id;     /* unique in the timeline, from 1 */
    uint32_t number; /* in the process, from 0 */
    uint32_t rank;   /* the number of its track: lanes are shown in this order */
    const char *name;
    uint64_t end_ns; /* of the slices on it so far */
};

/* A counter as it is written. */
struct ll_timeline_gauge {
    struct ll_timeline_counter counter;
    uint64_t id, group_id;  /* unique in the timeline, from 1; group_id 0: no group */
    uint32_t rank;          /* shown in this order, among lanes */
    int64_t steps, written; /* the value now, and the one written last */
    bool is_written;        /* some value has been written */
    bool changed;           /* the value differs from the one written last */
};

struct ll_timeline_writer {
    bool (*open)(struct ll_timeline_sink *sink); /* before the first process; false when memory ran out */
    void (*process)(struct ll_timeline_sink *sink, const char *name);
    void (*lane)(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane);
    /* opens_group: it is the first of its group. */
    void (*gauge)(struct ll_timeline_sink *sink, const struct ll_timeline_gauge *gauge, bool opens_group);
    void (*begin)(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane,
                  const struct ll_timeline_slice *slice);
    void (*end)(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane, uint64_t at_ns);
    /* All gauges of a group, or one without group, where the value of any changed. */
    void (*values)(struct ll_timeline_sink *sink, const struct ll_timeline_gauge *gauges, uint32_t count,
                   uint64_t at_ns);
    void (*close)(struct ll_timeline_sink *sink); /* after the last process; frees what open made */
};

extern const struct ll_timeline_writer ll_timeline_chrome, ll_timeline_perfetto;

#endif
