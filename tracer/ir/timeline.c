/* SPDX-License-Identifier: Apache-2.0 */
/* Building and checking timelines, and the measure of overlapping stretches of time. */
#include <stdlib.h>
#include <string.h>

#include "tracer/ir/timeline.h"

void ll_timeline_release(struct ll_device_timeline *timeline)
{
    ll_arena_release(&timeline->arena);
    free(timeline->names);
    free(timeline->tracks);
    free(timeline->calls);
    free(timeline->events);
    free(timeline->waits);
    *timeline = (struct ll_device_timeline){.rank_count = 0};
}

/* Appends an item to one of the lists; its number. */
static uint32_t append(void *items, uint64_t *count, uint64_t *capacity, const void *item, size_t size)
{
    if (*count >= LL_NO_PART || !ll_grow(items, capacity, *count + 1, size))
        return LL_NO_PART;
    char *first;
    memcpy(&first, items, sizeof first);
    memcpy(first + *count * size, item, size);
    return (uint32_t)(*count)++;
}

uint32_t ll_timeline_add_name(struct ll_device_timeline *timeline, const char *text, size_t length)
{
    const char *copy = ll_copy_text(&timeline->arena, text, length);
    return copy
               ? append(&timeline->names, &timeline->name_count, &timeline->name_capacity, &copy, sizeof copy)
               : LL_NO_PART;
}

uint32_t ll_timeline_add_track(struct ll_device_timeline *timeline, const struct ll_timeline_track *track)
{
    return append(&timeline->tracks, &timeline->track_count, &timeline->track_capacity, track, sizeof *track);
}

uint32_t ll_timeline_add_call(struct ll_device_timeline *timeline, const struct ll_timeline_call *call)
{
    return append(&timeline->calls, &timeline->call_count, &timeline->call_capacity, call, sizeof *call);
}

uint32_t ll_timeline_add_event(struct ll_device_timeline *timeline, const struct ll_timeline_event *event)
{
    return append(&timeline->events, &timeline->event_count, &timeline->event_capacity, event, sizeof *event);
}

uint32_t ll_timeline_add_wait(struct ll_device_timeline *timeline, const struct ll_timeline_wait *wait)
{
    return append(&timeline->waits, &timeline->wait_count, &timeline->wait_capacity, wait, sizeof *wait);
}

const char *ll_event_name(enum ll_device_event_kind kind)
{
    static const char *const names[] = {
#define X(word, name, doc) name,
        LL_EVENT_LIST(X)
#undef X
    };
    return names[kind];
}

static bool fits(uint64_t start_ns, uint64_t duration_ns)
{
    return start_ns <= INT64_MAX && duration_ns <= INT64_MAX - start_ns;
}

static const char *check_calls(const struct ll_device_timeline *t)
{
    for (uint64_t i = 0; i < t->call_count; i++) {
        const struct ll_timeline_call *call = &t->calls[i];
        if (call->name >= t->name_count || call->track >= t->track_count || !t->tracks[call->track].host)
            return "a call of the driver is of no thread, or has no name";
        if (call->kind >= LL_CALL_COUNT || !fits(call->start_ns, call->duration_ns))
            return "a call of the driver is of no known kind, or at no possible time";
        if (i > 0 && call->start_ns < t->calls[i - 1].start_ns)
            return "calls of the driver are not in the order of time";
    }
    return NULL;
}

static const char *check_event(const struct ll_device_timeline *t, const struct ll_timeline_event *event)
{
    if (event->name >= t->name_count || event->track >= t->track_count || t->tracks[event->track].host)
        return "an event is on no stream, or has no name";
    if (event->kind >= LL_EVENT_COUNT || !fits(event->start_ns, event->duration_ns))
        return "an event is of no known kind, or at no possible time";
    if ((event->call != LL_NO_PART && event->call >= t->call_count) ||
        (event->caller != LL_NO_PART && event->caller >= t->name_count) ||
        (event->group != LL_NO_PART && event->group >= t->name_count))
        return "an event was launched by a call that there is not";
    if (event->call != LL_NO_PART &&
        t->tracks[t->calls[event->call].track].rank != t->tracks[event->track].rank)
        return "an event was launched by a call of another rank";
    return NULL;
}

const char *ll_timeline_check(const struct ll_device_timeline *t)
{
    if (t->rank_count == 0 || t->rank_count > t->track_count)
        return "there are no ranks, or more than tracks";
    for (uint64_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].name >= t->name_count || t->tracks[i].rank >= t->rank_count)
            return "a track is of no rank, or has no name";
    const char *trouble = check_calls(t);
    for (uint64_t i = 0; !trouble && i < t->event_count; i++) {
        trouble = check_event(t, &t->events[i]);
        if (!trouble && i > 0 && t->events[i].start_ns < t->events[i - 1].start_ns)
            trouble = "events are not in the order of time";
    }
    for (uint64_t i = 0; !trouble && i < t->wait_count; i++) {
        const struct ll_timeline_wait *wait = &t->waits[i];
        bool of_event = wait->event != LL_NO_PART && wait->event < t->event_count && wait->call == LL_NO_PART;
        bool of_call = wait->call != LL_NO_PART && wait->call < t->call_count && wait->event == LL_NO_PART;
        if ((!of_event && !of_call) || wait->after >= t->event_count ||
            (of_event && wait->after >= wait->event))
            trouble = "what waits, or what it waits for, is not there";
    }
    return trouble;
}

static int by_begin(const void *a, const void *b)
{
    const struct ll_stretch_ns *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Joins what overlaps, in place; how many are left. */
static uint64_t join(struct ll_stretch_ns *stretches, uint64_t count)
{
    uint64_t kept = 0;
    if (count > 1)
        qsort(stretches, count, sizeof *stretches, by_begin);
    for (uint64_t i = 0; i < count; i++)
        if (kept > 0 && stretches[i].begin <= stretches[kept - 1].end) {
            if (stretches[i].end > stretches[kept - 1].end)
                stretches[kept - 1].end = stretches[i].end;
        } else {
            stretches[kept++] = stretches[i];
        }
    return kept;
}

double ll_union_ns(struct ll_stretch_ns *stretches, uint64_t count, struct ll_stretch_ns *without,
                   uint64_t without_count)
{
    const uint64_t kept = join(stretches, count), covers = join(without, without_count);
    double sum = 0;
    for (uint64_t i = 0, first = 0; i < kept; i++) {
        double at = stretches[i].begin, end = stretches[i].end;
        while (first < covers && without[first].end <= at)
            first++;
        for (uint64_t c = first; c < covers && without[c].begin < end; c++) {
            sum += without[c].begin > at ? without[c].begin - at : 0;
            at = without[c].end > at ? without[c].end : at;
        }
        sum += end > at ? end - at : 0;
    }
    return sum;
}
