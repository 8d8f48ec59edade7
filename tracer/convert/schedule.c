/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/convert/schedule.h"

#include "tracer/base/map.h"

/* The names of threads, by place in the map. */
static const char **name_threads(const struct ll_map *threads, struct ll_arena *arena)
{
    const char **names = ll_alloc(arena, threads->count, sizeof *names);
    for (uint32_t i = 0; names && i < threads->count; i++) {
        const uint32_t *thread = threads->entries[i].bytes;
        names[i] = ll_format(arena, "thread %u", *thread);
        if (!names[i])
            return NULL;
    }
    return names;
}

static bool place_ops(const struct ll_trace *trace, struct ll_map *threads, struct ll_scheduled *ops,
                      double *bytes, bool *timed)
{
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op *op = &trace->ops[i];
        const struct ll_form *form = &trace->forms[op->form];
        uint32_t track = ll_map_intern(threads, &op->thread, sizeof op->thread, NULL);
        if (track == LL_NO_ID)
            return false;
        ops[i] = (struct ll_scheduled){
            .start_s = (double)op->start_ns * 1e-9, .time_s = (double)op->duration_ns * 1e-9, .track = track};
        bytes[i] = (double)form->bytes_read + (double)form->bytes_written;
        *timed = *timed || op->duration_ns > 0;
    }
    return true;
}

const struct ll_op_schedule *ll_schedule_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                  bool *timed)
{
    static const char *const levels[] = {"memory"};
    struct ll_map threads = {0};
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    struct ll_scheduled *ops = ll_alloc(arena, trace->op_count, sizeof *ops);
    double *bytes = ll_alloc(arena, trace->op_count, sizeof *bytes);
    *timed = false;
    bool done = schedule && ops && bytes && place_ops(trace, &threads, ops, bytes, timed);
    const char **tracks = done ? name_threads(&threads, arena) : NULL;
    uint32_t track_count = threads.count;
    ll_map_release(&threads);
    if (!tracks)
        return NULL;
    *schedule = (struct ll_op_schedule){.tracks = tracks,
                                        .track_count = track_count,
                                        .op_count = (uint32_t)trace->op_count,
                                        .ops = ops,
                                        .level_count = 1,
                                        .levels = levels,
                                        .level_bytes = bytes};
    return schedule;
}
