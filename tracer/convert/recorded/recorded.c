/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and events are told in the order of the file; then they are sorted, tied to each other, and what
 * waits for what is derived from numbers where the file has them, and from the order of calls where not. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/convert/recorded/recorded.h"

enum {
    SKEW_NS = 10000,    /* clocks of host and device agree to within this: assumed */
    LOOK_BACK = 256,    /* events that are looked through for the one that a call waited for */
    QUEUE = 512,        /* with more launches that wait a call may wait for room; CUDA's queues hold 1024 */
    BLOCKED_NS = 20000, /* and such a call takes longer than launching does by itself */
    LATENCY_NS = 4000   /* a kernel of less is over before bandwidth counts: a few launch latencies */
};

void ll_recorded_release(struct ll_recorded *r)
{
    ll_timeline_release(&r->timeline);
    ll_map_release(&r->names);
    ll_map_release(&r->tracks);
    free(r->call_numbers);
    free(r->event_numbers);
    free(r->stream_waits);
    *r = (struct ll_recorded){.import = r->import};
}

static uint32_t no_memory(struct ll_recorded *r)
{
    ll_import_no_memory(r->import);
    return LL_NO_PART;
}

uint32_t ll_recorded_name(struct ll_recorded *r, const char *text, size_t length)
{
    bool is_new = false;
    length = length < 60000 ? length : 60000; /* what a frame of the trace takes */
    uint32_t at = ll_map_intern(&r->names, text, length, &is_new);
    if (at == LL_NO_ID || (is_new && ll_timeline_add_name(&r->timeline, text, length) == LL_NO_PART))
        return no_memory(r);
    assert(at < r->timeline.name_count);
    return at;
}

uint32_t ll_recorded_track(struct ll_recorded *r, bool host, uint64_t device, uint64_t stream,
                           const char *label)
{
    const uint64_t key[] = {r->rank, host, device, stream};
    bool is_new = false;
    uint32_t at = ll_map_intern(&r->tracks, key, sizeof key, &is_new);
    if (at == LL_NO_ID)
        return no_memory(r);
    if (!is_new)
        return at;
    struct ll_timeline_track track = {.rank = r->rank, .host = host};
    track.name = ll_recorded_name(r, label, strlen(label));
    if (track.name == LL_NO_PART || ll_timeline_add_track(&r->timeline, &track) == LL_NO_PART)
        return no_memory(r);
    if (r->timeline.rank_count <= r->rank)
        r->timeline.rank_count = r->rank + 1;
    return at;
}

bool ll_recorded_call(struct ll_recorded *r, const struct ll_timeline_call *call, uint64_t number)
{
    uint64_t count = r->timeline.call_count;
    if (!ll_grow(&r->call_numbers, &r->call_number_capacity, count + 1, sizeof number) ||
        ll_timeline_add_call(&r->timeline, call) == LL_NO_PART)
        return ll_import_no_memory(r->import);
    r->call_numbers[count] = number;
    return true;
}

bool ll_recorded_event(struct ll_recorded *r, const struct ll_timeline_event *event, uint64_t number)
{
    uint64_t count = r->timeline.event_count;
    if (!ll_grow(&r->event_numbers, &r->event_number_capacity, count + 1, sizeof number) ||
        ll_timeline_add_event(&r->timeline, event) == LL_NO_PART)
        return ll_import_no_memory(r->import);
    r->event_numbers[count] = number;
    return true;
}

bool ll_recorded_stream_wait(struct ll_recorded *r, const struct ll_stream_wait *wait)
{
    if (!ll_grow(&r->stream_waits, &r->stream_wait_capacity, r->stream_wait_count + 1, sizeof *wait))
        return ll_import_no_memory(r->import);
    r->stream_waits[r->stream_wait_count++] = *wait;
    return true;
}

bool ll_recorded_call_waits(const char *name)
{
    return strstr(name, "Synchronize") != NULL;
}

bool ll_recorded_exchanges(const char *name)
{
    return strstr(name, "nccl") || strstr(name, "rccl");
}

/* --- order --- */

/* A row and where it was told. */
struct place {
    uint64_t start_ns;
    uint32_t told;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->told > y->told) - (x->told < y->told);
}

/* Puts rows of `size` bytes, and the numbers beside them, into the order of `places`. */
static bool permute(void *rows, size_t size, uint64_t *numbers, const struct place *places, uint64_t count)
{
    char *copy = count ? malloc(count * size) : NULL;
    uint64_t *told = count ? malloc(count * sizeof *told) : NULL;
    bool fine = count == 0 || (copy && told);
    for (uint64_t i = 0; fine && i < count; i++) {
        memcpy(copy + i * size, (char *)rows + places[i].told * size, size);
        told[i] = numbers[places[i].told];
    }
    if (fine && count) {
        memcpy(rows, copy, count * size);
        memcpy(numbers, told, count * sizeof *told);
    }
    free(copy);
    free(told);
    return fine;
}

static bool sort_all(struct ll_recorded *r)
{
    struct ll_device_timeline *t = &r->timeline;
    uint64_t most = ll_max(t->call_count, t->event_count);
    struct place *places = calloc(most + 1, sizeof *places);
    bool fine = places != NULL;
    for (uint64_t i = 0; fine && i < t->call_count; i++)
        places[i] = (struct place){t->calls[i].start_ns, (uint32_t)i};
    if (fine)
        qsort(places, t->call_count, sizeof *places, by_start);
    fine = fine && permute(t->calls, sizeof *t->calls, r->call_numbers, places, t->call_count);
    for (uint64_t i = 0; fine && i < t->event_count; i++)
        places[i] = (struct place){t->events[i].start_ns, (uint32_t)i};
    if (fine)
        qsort(places, t->event_count, sizeof *places, by_start);
    fine = fine && permute(t->events, sizeof *t->events, r->event_numbers, places, t->event_count);
    free(places);
    return fine;
}

/* --- time --- */

static uint32_t rank_of_call(const struct ll_device_timeline *t, uint64_t i)
{
    return t->tracks[t->calls[i].track].rank;
}

static uint32_t rank_of_event(const struct ll_device_timeline *t, uint64_t i)
{
    return t->tracks[t->events[i].track].rank;
}

/* Moves the clock of each rank: times become those since begin[rank], less back[rank]. */
static void move_clocks(struct ll_device_timeline *t, const uint64_t *begin, const uint64_t *ahead)
{
    for (uint64_t i = 0; i < t->call_count; i++) {
        uint32_t rank = rank_of_call(t, i);
        t->calls[i].start_ns = t->calls[i].start_ns - begin[rank] + ahead[rank];
    }
    for (uint64_t i = 0; i < t->event_count; i++) {
        uint32_t rank = rank_of_event(t, i);
        t->events[i].start_ns = t->events[i].start_ns - begin[rank] + ahead[rank];
    }
}

/* When the exchanges of rank 0 end, to be met by the others. */
struct meeting {
    uint32_t group, order;
};

/* How far the ends of the same exchanges lie ahead on rank 0: the median over them; in *known whether there
 * is any. */
static bool find_offset(const struct ll_device_timeline *t, struct ll_map *first, const uint64_t *ends,
                        uint32_t rank, double *offset_ns, bool *known)
{
    double *ahead = NULL;
    uint64_t count = 0, capacity = 0;
    for (uint64_t i = 0; i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        struct meeting meeting = {event->group, event->order};
        if (event->group == LL_NO_PART || rank_of_event(t, i) != rank)
            continue;
        uint32_t at = ll_map_find(first, &meeting, sizeof meeting);
        if (at == LL_NO_ID)
            continue;
        if (!ll_grow(&ahead, &capacity, count + 1, sizeof *ahead)) {
            free(ahead);
            return false;
        }
        ahead[count++] = (double)ends[at] - (double)(event->start_ns + event->duration_ns);
    }
    *known = count > 0;
    *offset_ns = count ? ll_median(ahead, count) : 0;
    free(ahead);
    return true;
}

/* Clocks of several hosts differ; what they exchanged ended at one moment. */
static bool align_ranks(struct ll_device_timeline *t)
{
    struct ll_map first = {0};
    uint64_t *ends = calloc(t->event_count + 1, sizeof *ends);
    double *offsets = calloc(t->rank_count, sizeof *offsets), least = 0;
    uint64_t *zero = calloc(t->rank_count, sizeof *zero), *ahead = calloc(t->rank_count, sizeof *ahead);
    bool fine = ends && offsets && zero && ahead, known;
    for (uint64_t i = 0; fine && i < t->event_count; i++) {
        struct meeting meeting = {t->events[i].group, t->events[i].order};
        if (meeting.group == LL_NO_PART || rank_of_event(t, i) != 0)
            continue;
        uint32_t at = ll_map_intern(&first, &meeting, sizeof meeting, NULL);
        fine = at != LL_NO_ID;
        if (fine)
            ends[at] = t->events[i].start_ns + t->events[i].duration_ns;
    }
    for (uint32_t rank = 1; fine && rank < t->rank_count; rank++) {
        fine = find_offset(t, &first, ends, rank, &offsets[rank], &known);
        least = offsets[rank] < least ? offsets[rank] : least;
    }
    for (uint32_t rank = 0; fine && rank < t->rank_count; rank++)
        ahead[rank] = (uint64_t)(offsets[rank] - least + 0.5);
    if (fine)
        move_clocks(t, zero, ahead);
    ll_map_release(&first);
    free(ends);
    free(offsets);
    free(zero);
    free(ahead);
    return fine;
}

/* All times count from the earliest of their rank. Times that do not fit are those of no clock and cut. */
static bool normalise(struct ll_device_timeline *t)
{
    uint64_t *begin = calloc(t->rank_count + 1u, sizeof *begin),
             *ahead = calloc(t->rank_count + 1u, sizeof *ahead);
    bool fine = begin && ahead;
    const uint64_t most_ns = INT64_MAX / 4;
    for (uint32_t rank = 0; fine && rank < t->rank_count; rank++)
        begin[rank] = most_ns;
    for (uint64_t i = 0; fine && i < t->call_count; i++) {
        struct ll_timeline_call *call = &t->calls[i];
        call->start_ns = ll_min(call->start_ns, most_ns);
        call->duration_ns = ll_min(call->duration_ns, most_ns - call->start_ns);
        begin[rank_of_call(t, i)] = ll_min(begin[rank_of_call(t, i)], call->start_ns);
    }
    for (uint64_t i = 0; fine && i < t->event_count; i++) {
        struct ll_timeline_event *event = &t->events[i];
        event->start_ns = ll_min(event->start_ns, most_ns);
        event->duration_ns = ll_min(event->duration_ns, most_ns - event->start_ns);
        begin[rank_of_event(t, i)] = ll_min(begin[rank_of_event(t, i)], event->start_ns);
    }
    if (fine)
        move_clocks(t, begin, ahead);
    free(begin);
    free(ahead);
    return fine;
}

/* --- ties --- */

struct tie {
    uint64_t rank, number;
};

/* Places of calls by their number, from 0; the first of those that have the same. */
struct calls {
    struct ll_map numbers;
    uint32_t *at;
    uint64_t capacity;
};

static bool index_calls(const struct ll_recorded *r, struct calls *calls)
{
    for (uint64_t i = 0; i < r->timeline.call_count; i++) {
        const struct tie tie = {rank_of_call(&r->timeline, i), r->call_numbers[i]};
        bool is_new = false;
        if (tie.number == 0)
            continue;
        uint32_t at = ll_map_intern(&calls->numbers, &tie, sizeof tie, &is_new);
        if (at == LL_NO_ID || !ll_grow(&calls->at, &calls->capacity, (uint64_t)at + 1, sizeof *calls->at))
            return false;
        if (is_new)
            calls->at[at] = (uint32_t)i;
    }
    return true;
}

static uint32_t call_of(const struct calls *calls, uint32_t rank, uint64_t number)
{
    const struct tie tie = {rank, number};
    uint32_t at = number ? ll_map_find(&calls->numbers, &tie, sizeof tie) : LL_NO_ID;
    return at == LL_NO_ID ? LL_NO_PART : calls->at[at];
}

/* Each event finds its call; calls that nothing needs any more have the kind that their name says. */
static void tie_events(struct ll_recorded *r, const struct calls *calls)
{
    struct ll_device_timeline *t = &r->timeline;
    for (uint64_t i = 0; i < t->call_count; i++)
        t->calls[i].kind = ll_recorded_call_waits(t->names[t->calls[i].name]) ? LL_CALL_WAITS : LL_CALL_OTHER;
    t->launches = false;
    for (uint64_t i = 0; i < t->event_count; i++) {
        struct ll_timeline_event *event = &t->events[i];
        event->call = call_of(calls, rank_of_event(t, i), r->event_numbers[i]);
        if (event->call == LL_NO_PART)
            continue;
        t->calls[event->call].kind = LL_CALL_LAUNCHES;
        t->launches = true;
    }
}

/* Exchanges whose group nobody tells are of one group, where all ranks have as many of them. False when
 * memory ran out. */
static bool group_exchanges(struct ll_recorded *r)
{
    struct ll_device_timeline *t = &r->timeline;
    uint64_t *counts = calloc(t->rank_count + 1u, sizeof *counts);
    bool equal = counts && t->rank_count > 1;
    for (uint64_t i = 0; counts && i < t->event_count; i++)
        counts[rank_of_event(t, i)] +=
            t->events[i].kind == LL_EVENT_EXCHANGE && t->events[i].group == LL_NO_PART;
    for (uint32_t rank = 1; equal && rank < t->rank_count; rank++)
        equal = counts[rank] == counts[0];
    uint32_t group = equal && counts[0] ? ll_recorded_name(r, "all ranks", strlen("all ranks")) : LL_NO_PART;
    for (uint64_t i = 0; equal && i < t->event_count; i++)
        if (t->events[i].kind == LL_EVENT_EXCHANGE && t->events[i].group == LL_NO_PART)
            t->events[i].group = group;
    free(counts);
    return counts && r->import->status == LL_OK;
}

/* How many exchanges of its rank in the same group came before each. */
static bool order_exchanges(struct ll_device_timeline *t)
{
    struct ll_map groups = {0};
    uint32_t *counts = NULL;
    uint64_t capacity = 0;
    bool fine = true;
    for (uint64_t i = 0; fine && i < t->event_count; i++) {
        struct ll_timeline_event *event = &t->events[i];
        const uint32_t key[] = {rank_of_event(t, i), event->group};
        bool is_new = false;
        event->order = LL_NO_PART;
        if (event->group == LL_NO_PART)
            continue;
        uint32_t at = ll_map_intern(&groups, key, sizeof key, &is_new);
        fine = at != LL_NO_ID && ll_grow(&counts, &capacity, (uint64_t)at + 1, sizeof *counts);
        if (!fine)
            break;
        counts[at] = is_new ? 0 : counts[at] + 1;
        event->order = counts[at];
    }
    ll_map_release(&groups);
    free(counts);
    return fine;
}

static uint64_t end_ns(const struct ll_timeline_event *event)
{
    return event->start_ns + event->duration_ns;
}

/* --- what waits for what --- */

static bool add_wait(struct ll_recorded *r, uint32_t event, uint32_t call, uint32_t after)
{
    const struct ll_timeline_wait wait = {event, call, after};
    return ll_timeline_add_wait(&r->timeline, &wait) != LL_NO_PART;
}

/* The number of events that begin before this time. */
static uint64_t events_before(const struct ll_device_timeline *t, uint64_t time_ns)
{
    uint64_t low = 0, high = t->event_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (t->events[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The event that ended last of those launched before a call and over when it returned; LL_NO_PART: none. */
static uint32_t awaited_by(const struct ll_device_timeline *t, uint32_t call)
{
    const uint64_t over_ns = t->calls[call].start_ns + t->calls[call].duration_ns + SKEW_NS;
    uint32_t best = LL_NO_PART;
    uint64_t at = events_before(t, over_ns);
    for (uint64_t looked = 0; at-- > 0 && looked < LOOK_BACK; looked++) {
        const struct ll_timeline_event *event = &t->events[at];
        bool fits =
            rank_of_event(t, at) == rank_of_call(t, call) && event->call < call && end_ns(event) <= over_ns;
        if (fits && (best == LL_NO_PART || end_ns(event) > end_ns(&t->events[best])))
            best = (uint32_t)at;
    }
    return best;
}

/* Calls that synchronize; copies after which the host goes on only when they are over. */
static bool host_waits(struct ll_recorded *r)
{
    struct ll_device_timeline *t = &r->timeline;
    bool fine = true;
    for (uint32_t i = 0; fine && i < t->call_count; i++) {
        uint32_t after = t->calls[i].kind == LL_CALL_WAITS ? awaited_by(t, i) : LL_NO_PART;
        fine = after == LL_NO_PART || add_wait(r, LL_NO_PART, i, after);
    }
    for (uint32_t i = 0; fine && i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        const struct ll_timeline_call *call = event->call == LL_NO_PART ? NULL : &t->calls[event->call];
        if (call && strstr(t->names[call->name], "emcpy") && event->start_ns >= call->start_ns &&
            end_ns(event) <= call->start_ns + call->duration_ns)
            fine = add_wait(r, LL_NO_PART, event->call, i);
    }
    return fine;
}

/* What a rank has launched and what of that has begun, as its calls are gone through. */
struct queue {
    uint64_t launched, begun;
};

/* Launches that took long while many waited before them: they returned when there was room in the queue, as
 * soon as some event was over. */
static bool full_queues(struct ll_recorded *r)
{
    struct ll_device_timeline *t = &r->timeline;
    struct queue *queues = calloc(t->rank_count + 1u, sizeof *queues);
    uint32_t *launched = calloc(t->call_count + 1, sizeof *launched);
    uint64_t next = 0;
    bool fine = queues && launched;
    for (uint64_t i = 0; fine && i < t->event_count; i++)
        if (t->events[i].call != LL_NO_PART)
            launched[t->events[i].call]++;
    for (uint32_t i = 0; fine && i < t->call_count; i++) {
        const struct ll_timeline_call *call = &t->calls[i];
        struct queue *queue = &queues[rank_of_call(t, i)];
        for (; next < t->event_count && t->events[next].start_ns < call->start_ns; next++)
            queues[rank_of_event(t, next)].begun += t->events[next].call != LL_NO_PART;
        bool full = queue->launched > queue->begun + QUEUE && call->duration_ns > BLOCKED_NS;
        uint32_t after = full && call->kind == LL_CALL_LAUNCHES ? awaited_by(t, i) : LL_NO_PART;
        fine = after == LL_NO_PART || add_wait(r, LL_NO_PART, i, after);
        queue->launched += launched[i];
    }
    free(queues);
    free(launched);
    return fine;
}

/* Events that were launched, by the stream they are on; those of a stream in the order of their calls, which
 * is theirs. */
struct streams {
    uint32_t *first; /* by track, and one behind the last: its place in `events` */
    uint32_t *events;
};

static bool sort_streams(const struct ll_device_timeline *t, struct streams *streams)
{
    streams->first = calloc(t->track_count + 2, sizeof *streams->first);
    streams->events = calloc(t->event_count + 1, sizeof *streams->events);
    if (!streams->first || !streams->events)
        return false;
    for (uint64_t i = 0; i < t->event_count; i++)
        streams->first[t->events[i].track + 2] += t->events[i].call != LL_NO_PART;
    for (uint64_t i = 2; i < t->track_count + 2; i++)
        streams->first[i] += streams->first[i - 1];
    for (uint64_t i = 0; i < t->event_count; i++)
        if (t->events[i].call != LL_NO_PART)
            streams->events[streams->first[t->events[i].track + 1]++] = (uint32_t)i;
    return true;
}

/* The place of the first event of a stream that a call behind this one launched. */
static uint32_t behind(const struct ll_device_timeline *t, const struct streams *streams, uint32_t track,
                       uint32_t call)
{
    uint32_t low = streams->first[track], high = streams->first[track + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->events[streams->events[middle]].call <= call)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A wait between events, unless their times contradict it. */
static bool event_waits(struct ll_recorded *r, uint32_t event, uint32_t after)
{
    const struct ll_device_timeline *t = &r->timeline;
    bool possible = event != LL_NO_PART && after != LL_NO_PART && after < event &&
                    t->events[after].track != t->events[event].track &&
                    end_ns(&t->events[after]) <= t->events[event].start_ns + SKEW_NS;
    return !possible || add_wait(r, event, LL_NO_PART, after);
}

/* Streams that wait for each other by the numbers of their calls. */
static bool told_waits(struct ll_recorded *r, const struct calls *calls)
{
    const struct ll_device_timeline *t = &r->timeline;
    struct streams streams = {.first = NULL};
    bool fine = sort_streams(t, &streams);
    for (uint64_t i = 0; fine && i < r->stream_wait_count; i++) {
        const struct ll_stream_wait *wait = &r->stream_waits[i];
        uint32_t waiting = call_of(calls, wait->rank, wait->wait),
                 record = call_of(calls, wait->rank, wait->record);
        if (waiting == LL_NO_PART || record == LL_NO_PART)
            continue;
        uint32_t next = behind(t, &streams, wait->track, waiting),
                 last = behind(t, &streams, wait->after, record);
        if (next < streams.first[wait->track + 1] && last > streams.first[wait->after])
            fine = event_waits(r, streams.events[next], streams.events[last - 1]);
    }
    free(streams.first);
    free(streams.events);
    return fine;
}

/* What a thread did last, as its calls are gone through. */
struct thread {
    uint32_t recorded; /* the event that it had launched last when it recorded one; LL_NO_PART: none */
    uint32_t launched; /* the last event that it launched */
    uint32_t waits;    /* as `recorded`, of a stream that was told to wait, until the next launch */
};

static bool says(const struct ll_device_timeline *t, const struct ll_timeline_call *call, const char *what)
{
    return strstr(t->names[call->name], what) != NULL;
}

/* The file has no numbers of events: a thread that records one, lets a stream wait and launches there means
 * what it launched before. */
static bool guessed_waits(struct ll_recorded *r)
{
    struct ll_device_timeline *t = &r->timeline;
    struct thread *threads = calloc(t->track_count + 1, sizeof *threads);
    uint32_t *first = calloc(t->call_count + 1, sizeof *first); /* 1 + the first event of a call */
    bool fine = threads && first;
    for (uint64_t i = 0; fine && i < t->track_count; i++)
        threads[i] = (struct thread){LL_NO_PART, LL_NO_PART, LL_NO_PART};
    for (uint64_t i = t->event_count; fine && i-- > 0;)
        if (t->events[i].call != LL_NO_PART)
            first[t->events[i].call] = (uint32_t)i + 1;
    for (uint64_t i = 0; fine && i < t->call_count; i++) {
        const struct ll_timeline_call *call = &t->calls[i];
        struct thread *thread = &threads[call->track];
        if (says(t, call, "EventRecord"))
            thread->recorded = thread->launched;
        else if (says(t, call, "StreamWaitEvent"))
            thread->waits = thread->recorded;
        if (!first[i])
            continue;
        if (thread->waits != LL_NO_PART)
            fine = event_waits(r, first[i] - 1, thread->waits);
        thread->launched = first[i] - 1;
        thread->waits = LL_NO_PART;
    }
    free(threads);
    free(first);
    return fine;
}

bool ll_recorded_finish(struct ll_recorded *r)
{
    struct calls calls = {.at = NULL};
    struct ll_device_timeline *t = &r->timeline;
    if (r->import->status != LL_OK)
        return false;
    bool fine = normalise(t) && sort_all(r) && group_exchanges(r) && order_exchanges(t) &&
                (t->rank_count < 2 || (align_ranks(t) && sort_all(r))) && index_calls(r, &calls);
    if (fine) {
        tie_events(r, &calls);
        fine = host_waits(r) && full_queues(r) &&
               (r->stream_wait_count ? told_waits(r, &calls) : guessed_waits(r));
    }
    ll_map_release(&calls.numbers);
    free(calls.at);
    assert(!fine || t->track_count == 0 || !ll_timeline_check(t));
    return fine || ll_import_no_memory(r->import);
}

/* --- ops --- */

enum ll_kernel_bound ll_recorded_bound(const char *name, enum ll_device_event_kind kind, uint64_t duration_ns)
{
    static const char *const multiply[] = {"gemm",      "Gemm",     "GEMM",  "matmul", "MatMul",  "Cijk_",
                                           "conv",      "Conv",     "wgrad", "dgrad",  "attn",    "attention",
                                           "Attention", "fmha",     "flash", "bmm",    "cutlass", "xmma",
                                           "implicit",  "winograd", NULL};
    if (kind == LL_EVENT_EXCHANGE)
        return LL_KERNEL_BY_NETWORK;
    if (kind == LL_EVENT_COPY && (strstr(name, "HtoD") || strstr(name, "DtoH") || strstr(name, "Host")))
        return LL_KERNEL_BY_HOST;
    if (duration_ns < LATENCY_NS)
        return LL_KERNEL_BY_LATENCY;
    for (const char *const *word = multiply; *word && kind == LL_EVENT_KERNEL; word++)
        if (strstr(name, *word))
            return LL_KERNEL_BY_COMPUTE;
    return LL_KERNEL_BY_MEMORY;
}

static const char *record_event(struct ll_series *series, const struct ll_device_timeline *t,
                                const struct ll_timeline_event *event)
{
    const char *name = t->names[event->name];
    const struct ll_attr bound = {
        LL_ATTR_BOUND_BY, {.count = (int64_t)ll_recorded_bound(name, event->kind, event->duration_ns)}};
    series->scope = name;
    series->clock_ns = event->start_ns + 1;
    series->duration_ns = event->duration_ns;
    return ll_series_record(
        series, &(struct ll_import_op){.kind = LL_OP_KERNEL, .attrs = &bound, .attr_count = 1}, NULL);
}

static void add_facts(struct ll_recorded *r, const char *source)
{
    struct ll_facts *facts = &r->import->facts;
    const char *model = ll_import_choice(r->import, "model");
    ll_facts_add(facts, "model", "%s", model ? model : ll_import_stem(r->import, "profile"));
    ll_facts_add(facts, "mode", "infer");
    ll_facts_add(facts, "source", "%s", source);
    ll_facts_add(facts, "coverage", "1");
    ll_facts_add(facts, "memory.unknown", "yes");
}

bool ll_recorded_ops(struct ll_recorded *r, const char *source)
{
    struct ll_import *import = r->import;
    const struct ll_device_timeline *t = &r->timeline;
    struct ll_series series = {.import = import, .phase = LL_PHASE_FORWARD};
    const char *trouble = NULL;
    uint64_t counted = 0;
    for (uint64_t i = 0; i < t->event_count; i++)
        counted += ll_event_counts(t, &t->events[i]) && rank_of_event(t, i) == 0;
    if (counted == 0)
        return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                           "there is no event of a device in it");
    if (!import->recorder) {
        add_facts(r, source);
        if (!ll_import_begin(import))
            return false;
    }
    for (uint64_t i = 0; !trouble && i < t->event_count; i++)
        if (ll_event_counts(t, &t->events[i]) && rank_of_event(t, i) == 0)
            trouble = record_event(&series, t, &t->events[i]);
    if (trouble)
        return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path}, "%s", trouble);
    ll_recorded_keep(r);
    return import->status == LL_OK;
}

void ll_recorded_keep(struct ll_recorded *r)
{
    assert(r->import->recorder);
    if (r->timeline.track_count > 0)
        ll_recorder_timeline(r->import->recorder, &r->timeline);
}
