/* SPDX-License-Identifier: Apache-2.0 */
/* A step on the cores of one chip as a timeline: a track for each core with its tiles, for each core and the
 * outermost memory one with what is on its way there, and a counter for each memory in which tiles wait. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sim/cli/timeline.h"
#include "tracer/convert/timeline/timeline.h"

/* What happens at a time: a tile begins, a transfer begins, room is made or given back. */
enum event_kind { EVENT_TILE, EVENT_TRANSFER, EVENT_ROOM, EVENT_ROOM_BACK };

struct event {
    double at_s;
    enum event_kind kind;
    uint32_t index;
};

struct drawing {
    const struct ll_fused_step *fusion;
    struct ll_timeline_file *timeline;
    struct ll_timeline_ops ops;
    uint32_t first_core, first_way, first_pool;
};

static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* All that happens, in order. NULL when memory ran out. */
static struct event *list_events(const struct ll_fused_step *fusion, uint64_t *count)
{
    uint64_t room = fusion->task_count + fusion->transfer_count + 2 * fusion->copy_count;
    struct event *events = malloc((room + 1) * sizeof *events);
    *count = 0;
    for (uint32_t t = 0; events && t < fusion->task_count; t++)
        events[(*count)++] = (struct event){fusion->tasks[t].start_s, EVENT_TILE, t};
    for (uint32_t t = 0; events && t < fusion->transfer_count; t++)
        events[(*count)++] = (struct event){fusion->transfers[t].start_s, EVENT_TRANSFER, t};
    for (uint32_t c = 0; events && c < fusion->copy_count; c++) {
        events[(*count)++] = (struct event){fusion->copies[c].from_s, EVENT_ROOM, c};
        events[(*count)++] = (struct event){fusion->copies[c].until_s, EVENT_ROOM_BACK, c};
    }
    if (events)
        qsort(events, *count, sizeof *events, by_time);
    return events;
}

static void add_count(struct ll_timeline_slice *slice, const char *name, uint64_t count)
{
    if (slice->arg_count < LL_TIMELINE_ARGS)
        slice->args[slice->arg_count++] =
            (struct ll_timeline_arg){.name = name, .kind = LL_TIMELINE_COUNT, .count = count};
}

static bool add_tile(struct drawing *d, uint32_t index)
{
    const struct ll_fusion_task *task = &d->fusion->tasks[index];
    struct ll_timeline_slice slice = {.track = d->first_core + task->core,
                                      .begin_ns = ll_timeline_ns(task->start_s),
                                      .end_ns = ll_timeline_ns(task->end_s)};
    if (!ll_timeline_describe(&d->ops, task->op, NULL, &slice))
        return false;
    add_count(&slice, "stack", task->stack);
    add_count(&slice, "first row", task->rows[0]);
    add_count(&slice, "rows", task->rows[1] - task->rows[0]);
    add_count(&slice, "first column", task->columns[0]);
    add_count(&slice, "columns", task->columns[1] - task->columns[0]);
    return ll_timeline_slice(d->timeline, &slice);
}

/* On the track of the first end that it goes to. */
static bool add_transfer(struct drawing *d, uint32_t index)
{
    const struct ll_fusion_transfer *transfer = &d->fusion->transfers[index];
    const struct ll_fused_step *f = d->fusion;
    uint32_t to = transfer->there_count ? f->pools[f->copies[f->there[transfer->first_there]].pool].core
                                        : f->core_count;
    const struct ll_fusion_copy *copy = &f->copies[transfer->copy];
    struct ll_timeline_slice slice = {.track = d->first_way + to,
                                      .begin_ns = ll_timeline_ns(transfer->start_s),
                                      .end_ns = ll_timeline_ns(transfer->end_s),
                                      .name = transfer->from == f->core_count ? f->links[0].name
                                                                              : f->core_names[transfer->from],
                                      .category = "transfer"};
    add_count(&slice, "bytes", (uint64_t)transfer->bytes);
    add_count(&slice, "first row", copy->rows[0]);
    add_count(&slice, "rows", copy->rows[1] - copy->rows[0]);
    add_count(&slice, "memories", transfer->there_count);
    return ll_timeline_slice(d->timeline, &slice);
}

static bool add_tracks(struct drawing *d, struct ll_arena *arena)
{
    const struct ll_fused_step *f = d->fusion;
    for (uint32_t c = 0; c < f->core_count; c++) {
        uint32_t track = ll_timeline_track(d->timeline, f->core_names[c]);
        d->first_core = c == 0 ? track : d->first_core;
    }
    for (uint32_t c = 0; c <= f->core_count; c++) {
        const char *name = ll_format(arena, "to %s", c < f->core_count ? f->core_names[c] : f->links[0].name);
        if (!name)
            return false;
        uint32_t track = ll_timeline_track(d->timeline, name);
        d->first_way = c == 0 ? track : d->first_way;
    }
    for (uint64_t p = 0; p < f->pool_count; p++) {
        const char *name = ll_format(arena, "%s %s", f->core_names[f->pools[p].core], f->pools[p].name);
        struct ll_timeline_counter counter = {.name = name, .unit = "bytes", .scale = 1};
        if (!name)
            return false;
        uint32_t number = ll_timeline_counter(d->timeline, &counter);
        d->first_pool = p == 0 ? number : d->first_pool;
    }
    return true;
}

static bool add_events(struct drawing *d)
{
    uint64_t count;
    struct event *events = list_events(d->fusion, &count);
    bool good = events != NULL;
    for (uint64_t i = 0; good && i < count; i++) {
        const struct ll_fusion_copy *copy = &d->fusion->copies[events[i].index];
        int64_t bytes = events[i].kind >= EVENT_ROOM ? llround(copy->bytes) : 0;
        if (events[i].kind == EVENT_TILE)
            good = add_tile(d, events[i].index);
        else if (events[i].kind == EVENT_TRANSFER)
            good = add_transfer(d, events[i].index);
        else
            ll_timeline_add(d->timeline, d->first_pool + copy->pool, ll_timeline_ns(events[i].at_s),
                            events[i].kind == EVENT_ROOM ? bytes : -bytes);
    }
    free(events);
    return good;
}

bool ll_export_cores(struct ll_export *export)
{
    const struct ll_cores_export *request = (const struct ll_cores_export *)export;
    struct ll_arena arena = {0};
    struct drawing d = {.fusion = request->fusion,
                        .timeline = ll_timeline_open(export),
                        .ops = {.trace = export->trace, .arena = &arena}};
    bool done = d.timeline != NULL;
    if (done) {
        ll_timeline_process(d.timeline, request->fusion->machine->stem);
        done = add_tracks(&d, &arena) && add_events(&d);
    }
    done = ll_timeline_close(d.timeline) && done;
    ll_arena_release(&arena);
    return done;
}
