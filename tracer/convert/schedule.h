/* SPDX-License-Identifier: Apache-2.0 */
/* When ops run where: as recorded, or as somebody has simulated them. What exporters need of either, as plain
 * data. */
#ifndef LL_CONVERT_SCHEDULE_H
#define LL_CONVERT_SCHEDULE_H

#include "tracer/ir/trace.h"

struct ll_scheduled {
    double start_s, time_s;
    uint32_t track;
    const char *bound; /* what it is bound by; NULL: nobody knows */
};

struct ll_op_schedule {
    const char *name;          /* of the machine; NULL: as recorded */
    const char *const *tracks; /* the names of what ops run on */
    uint32_t track_count;
    uint32_t first_op, op_count; /* the ops of the trace that are scheduled */
    const struct ll_scheduled *ops;
    uint32_t level_count;      /* of memory whose traffic is known */
    const char *const *levels; /* their names */
    const double *level_bytes; /* what each op moves, level_count for each op */
};

/* As recorded: a track for each thread, traffic as the ops' own bytes. NULL when memory ran out, or with
 * *timed false when nothing has a time. Lives in the arena. */
const struct ll_op_schedule *ll_schedule_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                  bool *timed);

#endif
