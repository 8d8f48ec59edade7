/* SPDX-License-Identifier: Apache-2.0 */
/* The replay of a timeline goes through its moments, a begin and an end of each call and a begin of each
 * event, in the order in which they were recorded, and gives each a new time from those before it. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/replay/recorded.h"
#include "tracer/base/map.h"

enum moment_kind { CALL_BEGINS, EVENT_BEGINS, EVENT_ENDS, CALL_ENDS };

struct moment {
    uint64_t at_ns;
    uint32_t kind, item;
};

/* A moment that another follows from: a call's begin or end, an event's end. */
struct cause {
    uint32_t kind, item; /* LL_NO_PART: none */
};

/* When something was, and is now. */
struct time {
    double then_ns, now_ns;
};

/* What a thread or stream did last. */
struct last {
    struct time time;
    struct cause cause; /* item LL_NO_PART: nothing yet */
};

struct replay {
    const struct ll_device_timeline *timeline;
    struct ll_timeline_change *changes;
    uint64_t change_count;
    struct ll_arena *arena;
    struct moment *moments;
    uint64_t moment_count;
    double *factors;              /* by event; -1: dropped */
    bool *call_gone;              /* by call: all that it launched is dropped */
    struct time *begins, *ends;   /* by event */
    struct time *called, *back;   /* by call */
    bool *begun, *over, *is_back; /* by event, event, call: its moment has been */
    struct cause *event_causes, *call_causes, *back_causes;
    struct last *tracks;  /* by track */
    struct last *latest;  /* by rank: the call that ended last on any thread */
    uint32_t *first_wait; /* by event, then by call: places in `waits` */
    uint32_t *waits;      /* events */
    uint32_t *partners,
        *partner_first; /* events of the same exchange; by event: its first, LL_NO_PART for none */
    uint32_t *next_partner;
    double launch_ns;
};

/* --- patterns --- */

/* Whether the text begins with what the pattern says. */
static bool begins_with(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;
    for (;;) {
        if (*pattern == '\0')
            return true;
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*text && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (star && *again) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
}

bool ll_pattern_matches(const char *pattern, const char *text)
{
    if (*pattern == '\0')
        return false;
    for (const char *at = text; *at; at++)
        if (begins_with(pattern, at))
            return true;
    return false;
}

/* By name of the timeline: whether the pattern matches it. NULL when memory ran out. */
static bool *match_names(const struct replay *r, const char *pattern)
{
    const struct ll_device_timeline *t = r->timeline;
    bool *matches = calloc(t->name_count + 1, sizeof *matches);
    for (uint64_t i = 0; matches && i < t->name_count; i++)
        matches[i] = ll_pattern_matches(pattern, t->names[i]);
    return matches;
}

static bool apply(struct replay *r, struct ll_timeline_change *change)
{
    const struct ll_device_timeline *t = r->timeline;
    bool *matches = match_names(r, change->pattern);
    change->count = 0;
    change->time_s = 0;
    for (uint64_t i = 0; matches && i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        if (!ll_event_counts(t, event) ||
            (!matches[event->name] && (event->caller == LL_NO_PART || !matches[event->caller])))
            continue;
        r->factors[i] = change->drop ? -1 : change->factor;
        change->count++;
        change->time_s += (double)event->duration_ns * 1e-9;
    }
    free(matches);
    return matches != NULL;
}

static bool apply_changes(struct replay *r)
{
    const struct ll_device_timeline *t = r->timeline;
    bool fine = true;
    for (uint64_t i = 0; i < t->event_count; i++)
        r->factors[i] = 1;
    for (uint64_t i = 0; fine && i < r->change_count; i++)
        fine = apply(r, &r->changes[i]);
    for (uint64_t i = 0; i < t->event_count; i++) /* a call is gone when all that it launched is */
        if (t->events[i].call != LL_NO_PART && r->factors[i] < 0)
            r->call_gone[t->events[i].call] = true;
    for (uint64_t i = 0; i < t->event_count; i++)
        if (t->events[i].call != LL_NO_PART && r->factors[i] >= 0)
            r->call_gone[t->events[i].call] = false;
    return fine;
}

/* --- moments --- */

static uint64_t end_of(const struct ll_timeline_event *event)
{
    return event->start_ns + event->duration_ns;
}

/* Of equals: calls begin, then events end before others begin, then calls end. */
static int by_time(const void *a, const void *b)
{
    static const int order[] = {[CALL_BEGINS] = 0, [EVENT_ENDS] = 1, [EVENT_BEGINS] = 2, [CALL_ENDS] = 3};
    const struct moment *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->kind != y->kind)
        return order[x->kind] - order[y->kind];
    return (x->item > y->item) - (x->item < y->item);
}

static void list_moments(struct replay *r)
{
    const struct ll_device_timeline *t = r->timeline;
    for (uint32_t i = 0; i < t->call_count; i++) {
        const struct ll_timeline_call *call = &t->calls[i];
        r->moments[r->moment_count++] = (struct moment){call->start_ns, CALL_BEGINS, i};
        r->moments[r->moment_count++] = (struct moment){call->start_ns + call->duration_ns, CALL_ENDS, i};
    }
    for (uint32_t i = 0; i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        if (!ll_event_counts(t, event))
            continue;
        uint64_t begin_ns = event->start_ns;
        if (event->call != LL_NO_PART && t->calls[event->call].start_ns > begin_ns)
            begin_ns = t->calls[event->call].start_ns; /* clocks of host and device differ a little */
        r->moments[r->moment_count++] = (struct moment){begin_ns, EVENT_BEGINS, i};
        if (r->partner_first[i] != LL_NO_PART)
            r->moments[r->moment_count++] =
                (struct moment){end_of(event) > begin_ns ? end_of(event) : begin_ns, EVENT_ENDS, i};
    }
    if (r->moment_count)
        qsort(r->moments, r->moment_count, sizeof *r->moments, by_time);
}

/* Waits by who waits: events first, then calls. */
static bool list_waits(struct replay *r)
{
    const struct ll_device_timeline *t = r->timeline;
    uint64_t count = t->event_count + t->call_count;
    r->first_wait = ll_alloc(r->arena, count + 2, sizeof *r->first_wait);
    r->waits = ll_alloc(r->arena, t->wait_count + 1, sizeof *r->waits);
    if (!r->first_wait || !r->waits)
        return false;
    for (uint64_t i = 0; i < t->wait_count; i++) {
        const struct ll_timeline_wait *wait = &t->waits[i];
        r->first_wait[(wait->event != LL_NO_PART ? wait->event : t->event_count + wait->call) + 2]++;
    }
    for (uint64_t i = 2; i < count + 2; i++)
        r->first_wait[i] += r->first_wait[i - 1];
    for (uint64_t i = 0; i < t->wait_count; i++) {
        const struct ll_timeline_wait *wait = &t->waits[i];
        uint64_t who = wait->event != LL_NO_PART ? wait->event : t->event_count + wait->call;
        r->waits[r->first_wait[who + 1]++] = wait->after;
    }
    return true;
}

/* Events of one exchange on several ranks form a ring by `next_partner`. */
static bool list_partners(struct replay *r)
{
    const struct ll_device_timeline *t = r->timeline;
    struct ll_map exchanges = {0};
    uint32_t *newest = NULL;
    uint64_t capacity = 0;
    bool fine = true;
    for (uint64_t i = 0; i < t->event_count; i++)
        r->partner_first[i] = r->next_partner[i] = LL_NO_PART;
    for (uint32_t i = 0; fine && t->rank_count > 1 && i < t->event_count; i++) {
        const uint32_t key[] = {t->events[i].group, t->events[i].order};
        bool is_new = false;
        if (t->events[i].group == LL_NO_PART || !ll_event_counts(t, &t->events[i]))
            continue;
        uint32_t at = ll_map_intern(&exchanges, key, sizeof key, &is_new);
        fine = at != LL_NO_ID && ll_grow(&newest, &capacity, (uint64_t)at + 1, sizeof *newest);
        if (!fine)
            break;
        if (!is_new) {
            uint32_t before = newest[at];
            if (r->partner_first[before] == LL_NO_PART)
                r->partner_first[before] = before;
            r->partner_first[i] = r->partner_first[before];
            r->next_partner[before] = i;
        }
        newest[at] = i;
    }
    ll_map_release(&exchanges);
    free(newest);
    return fine;
}

/* --- a moment's new time --- */

/* The latest of what a moment follows from: as recorded, and now. */
struct base {
    double then_ns, now_ns;
    struct cause cause; /* of now */
    bool any;
};

static void follow(struct base *base, struct time time, struct cause cause)
{
    base->then_ns = base->any ? fmax(base->then_ns, time.then_ns) : time.then_ns;
    if (!base->any || time.now_ns > base->now_ns) {
        base->now_ns = time.now_ns;
        base->cause = cause;
    }
    base->any = true;
}

static uint32_t rank_of(const struct ll_device_timeline *t, uint32_t track)
{
    return t->tracks[track].rank;
}

static void call_begins(struct replay *r, uint32_t i)
{
    const struct ll_device_timeline *t = r->timeline;
    const struct ll_timeline_call *call = &t->calls[i];
    struct last *thread = &r->tracks[call->track], *other = &r->latest[rank_of(t, call->track)];
    struct base base = {.cause.item = LL_NO_PART};
    if (thread->cause.item != LL_NO_PART)
        follow(&base, thread->time, thread->cause);
    /* A thread that was idle while another was not begins when that one hands over to it. */
    if (other->cause.item != LL_NO_PART && (!base.any || other->time.then_ns > base.then_ns))
        follow(&base, other->time, other->cause);
    double then_ns = (double)call->start_ns;
    r->called[i] = (struct time){then_ns, base.any ? base.now_ns + (then_ns - base.then_ns) : then_ns};
    r->call_causes[i] = base.cause;
    *thread = (struct last){r->called[i], {CALL_BEGINS, i}};
}

static void call_ends(struct replay *r, uint32_t i)
{
    const struct ll_device_timeline *t = r->timeline;
    const struct ll_timeline_call *call = &t->calls[i];
    struct last *thread = &r->tracks[call->track];
    struct base base = {.cause.item = LL_NO_PART};
    uint64_t who = t->event_count + i;
    follow(&base, thread->time, thread->cause);
    for (uint32_t w = r->first_wait[who]; w < r->first_wait[who + 1]; w++)
        if (r->over[r->waits[w]])
            follow(&base, r->ends[r->waits[w]], (struct cause){EVENT_ENDS, r->waits[w]});
    double then_ns = (double)(call->start_ns + call->duration_ns);
    double own_ns = r->call_gone[i] ? 0 : then_ns - base.then_ns;
    r->back[i] = (struct time){then_ns, base.now_ns + own_ns};
    r->back_causes[i] = base.cause;
    r->is_back[i] = true;
    *thread = (struct last){r->back[i], {CALL_ENDS, i}};
    struct last *latest = &r->latest[rank_of(t, call->track)];
    if (latest->cause.item == LL_NO_PART || then_ns >= latest->time.then_ns)
        *latest = *thread;
}

static void event_begins(struct replay *r, uint32_t i)
{
    const struct ll_device_timeline *t = r->timeline;
    const struct ll_timeline_event *event = &t->events[i];
    struct last *stream = &r->tracks[event->track];
    struct base base = {.cause.item = LL_NO_PART};
    bool dropped = r->factors[i] < 0;
    if (stream->cause.item != LL_NO_PART)
        follow(&base, stream->time, stream->cause);
    for (uint32_t w = r->first_wait[i]; w < r->first_wait[i + 1]; w++)
        if (r->over[r->waits[w]])
            follow(&base, r->ends[r->waits[w]], (struct cause){EVENT_ENDS, r->waits[w]});
    if (event->call != LL_NO_PART && (!dropped || !base.any)) {
        struct time launched = r->called[event->call];
        launched.then_ns += r->launch_ns;
        launched.now_ns += r->launch_ns;
        follow(&base, launched, (struct cause){CALL_BEGINS, event->call});
    }
    double then_ns = (double)event->start_ns, later_ns = base.any && !dropped ? then_ns - base.then_ns : 0;
    r->begins[i] = (struct time){then_ns, base.any ? base.now_ns + later_ns : then_ns};
    r->event_causes[i] = base.cause;
    r->begun[i] = true;
    double time_ns = dropped ? 0 : (double)event->duration_ns * r->factors[i];
    r->ends[i] = (struct time){(double)end_of(event), r->begins[i].now_ns + time_ns};
    if (r->partner_first[i] == LL_NO_PART) {
        r->over[i] = true;
        *stream = (struct last){r->ends[i], {EVENT_ENDS, i}};
    }
}

/* An exchange of several ranks: over when the last has come and the transfer is done. */
static void event_ends(struct replay *r, uint32_t i)
{
    const struct ll_device_timeline *t = r->timeline;
    double then_ns = 0, now_ns = 0, transfer_ns = (double)t->events[i].duration_ns;
    bool any = false;
    uint32_t last = i;
    for (uint32_t p = r->partner_first[i]; p != LL_NO_PART; p = r->next_partner[p]) {
        if (!r->begun[p])
            continue;
        transfer_ns = fmin(transfer_ns, (double)t->events[p].duration_ns);
        then_ns = any ? fmax(then_ns, r->begins[p].then_ns) : r->begins[p].then_ns;
        if (!any || r->begins[p].now_ns > now_ns) {
            now_ns = r->begins[p].now_ns;
            last = p;
        }
        any = true;
    }
    double later_ns = r->ends[i].then_ns - (then_ns + transfer_ns);
    if (r->factors[i] >= 0)
        r->ends[i].now_ns = fmax(r->begins[i].now_ns, now_ns + transfer_ns * r->factors[i] + later_ns);
    if (last != i && r->factors[i] >= 0) /* it began in vain: the one that came last counts */
        r->event_causes[i] = (struct cause){EVENT_BEGINS, last};
    r->over[i] = true;
    r->tracks[t->events[i].track] = (struct last){r->ends[i], {EVENT_ENDS, i}};
}

/* The least time from the begin of a call to that of its event: what launching takes. Of calls that launch
 * several it is the first. */
static double least_launch_ns(const struct ll_device_timeline *t)
{
    double least_ns = INFINITY;
    for (uint64_t i = 0; i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        if (event->call == LL_NO_PART || event->start_ns < t->calls[event->call].start_ns)
            continue;
        least_ns = fmin(least_ns, (double)(event->start_ns - t->calls[event->call].start_ns));
    }
    return isfinite(least_ns) ? least_ns : 0;
}

static bool make_room(struct replay *r)
{
    const struct ll_device_timeline *t = r->timeline;
    const uint64_t events = t->event_count + 1, calls = t->call_count + 1;
    r->moments = ll_alloc(r->arena, 2 * events + 2 * calls, sizeof *r->moments);
    r->factors = ll_alloc(r->arena, events, sizeof *r->factors);
    r->call_gone = ll_alloc(r->arena, calls, sizeof *r->call_gone);
    r->begins = ll_alloc(r->arena, events, sizeof *r->begins);
    r->ends = ll_alloc(r->arena, events, sizeof *r->ends);
    r->called = ll_alloc(r->arena, calls, sizeof *r->called);
    r->back = ll_alloc(r->arena, calls, sizeof *r->back);
    r->begun = ll_alloc(r->arena, events, sizeof *r->begun);
    r->over = ll_alloc(r->arena, events, sizeof *r->over);
    r->is_back = ll_alloc(r->arena, calls, sizeof *r->is_back);
    r->event_causes = ll_alloc(r->arena, events, sizeof *r->event_causes);
    r->call_causes = ll_alloc(r->arena, calls, sizeof *r->call_causes);
    r->back_causes = ll_alloc(r->arena, calls, sizeof *r->back_causes);
    r->tracks = ll_alloc(r->arena, t->track_count + 1, sizeof *r->tracks);
    r->latest = ll_alloc(r->arena, t->rank_count + 1u, sizeof *r->latest);
    r->partner_first = ll_alloc(r->arena, events, sizeof *r->partner_first);
    r->next_partner = ll_alloc(r->arena, events, sizeof *r->next_partner);
    if (!r->moments || !r->factors || !r->call_gone || !r->begins || !r->ends || !r->called || !r->back ||
        !r->begun || !r->over || !r->is_back || !r->event_causes || !r->call_causes || !r->back_causes ||
        !r->tracks || !r->latest || !r->partner_first || !r->next_partner)
        return false;
    for (uint64_t i = 0; i < t->track_count; i++)
        r->tracks[i].cause.item = LL_NO_PART;
    for (uint32_t i = 0; i < t->rank_count; i++)
        r->latest[i].cause.item = LL_NO_PART;
    return true;
}

static void go_through(struct replay *r)
{
    for (uint64_t i = 0; i < r->moment_count; i++) {
        const struct moment *moment = &r->moments[i];
        if (moment->kind == CALL_BEGINS)
            call_begins(r, moment->item);
        else if (moment->kind == CALL_ENDS)
            call_ends(r, moment->item);
        else if (moment->kind == EVENT_BEGINS)
            event_begins(r, moment->item);
        else
            event_ends(r, moment->item);
    }
}

/* --- sums --- */

/* Of a rank, from the times that `now` picks. */
static bool sum_rank(const struct replay *r, uint32_t rank, bool now, struct ll_timeline_times *times)
{
    const struct ll_device_timeline *t = r->timeline;
    enum { ALL, COMPUTING, EXCHANGING, COPYING, COVER, LISTS };
    struct ll_stretch_ns *lists[LISTS] = {NULL};
    uint64_t counts[LISTS] = {0};
    double begin_ns = INFINITY, end_ns = -INFINITY;
    bool fine = true;
    for (unsigned i = 0; i < LISTS; i++)
        fine = (lists[i] = calloc(t->event_count + 1, sizeof *lists[i])) && fine;
    *times = (struct ll_timeline_times){.event_count = 0};
    for (uint64_t i = 0; fine && i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        if (rank_of(t, event->track) != rank)
            continue;
        if (!ll_event_counts(t, event)) {
            times->unlaunched_count++;
            times->unlaunched_s += (double)event->duration_ns * 1e-9;
            continue;
        }
        if (now && r->factors[i] < 0)
            continue;
        struct ll_stretch_ns stretch = {now ? r->begins[i].now_ns : r->begins[i].then_ns,
                                        now ? r->ends[i].now_ns : r->ends[i].then_ns};
        unsigned list = event->kind == LL_EVENT_COPY       ? COPYING
                        : event->kind == LL_EVENT_EXCHANGE ? EXCHANGING
                                                           : COMPUTING;
        lists[ALL][counts[ALL]++] = stretch;
        lists[list][counts[list]++] = stretch;
        if (list != COPYING)
            lists[COVER][counts[COVER]++] = stretch;
        begin_ns = fmin(begin_ns, stretch.begin);
        end_ns = fmax(end_ns, stretch.end);
        times->event_count++;
    }
    if (fine && times->event_count) {
        times->span_s = (end_ns - begin_ns) * 1e-9;
        times->exposed_exchange_s =
            1e-9 * ll_union_ns(lists[EXCHANGING], counts[EXCHANGING], lists[COMPUTING], counts[COMPUTING]);
        times->exposed_copy_s =
            1e-9 * ll_union_ns(lists[COPYING], counts[COPYING], lists[COVER], counts[COVER]);
        times->busy_s = 1e-9 * ll_union_ns(lists[ALL], counts[ALL], NULL, 0);
        times->computation_s = 1e-9 * ll_union_ns(lists[COMPUTING], counts[COMPUTING], NULL, 0);
        times->exchange_s = 1e-9 * ll_union_ns(lists[EXCHANGING], counts[EXCHANGING], NULL, 0);
        times->copy_s = 1e-9 * ll_union_ns(lists[COPYING], counts[COPYING], NULL, 0);
        times->idle_s = fmax(0, times->span_s - times->busy_s);
    }
    for (unsigned i = 0; i < LISTS; i++)
        free(lists[i]);
    return fine;
}

static int by_row_time(const void *a, const void *b)
{
    const struct ll_timeline_row *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s > y->time_s ? -1 : 1;
    if (x->recorded_s != y->recorded_s)
        return x->recorded_s > y->recorded_s ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool sum_rows(const struct replay *r, struct ll_timeline_replay *replay)
{
    const struct ll_device_timeline *t = r->timeline;
    struct ll_timeline_row *rows = ll_alloc(r->arena, t->name_count + 1, sizeof *rows);
    uint64_t count = 0;
    for (uint64_t i = 0; rows && i < t->event_count; i++) {
        const struct ll_timeline_event *event = &t->events[i];
        struct ll_timeline_row *row = &rows[event->name];
        if (!ll_event_counts(t, event))
            continue;
        row->name = t->names[event->name];
        row->kind = event->kind;
        row->order = event->name;
        row->count++;
        row->recorded_s += (double)event->duration_ns * 1e-9;
        row->time_s += r->factors[i] < 0 ? 0 : (r->ends[i].now_ns - r->begins[i].now_ns) * 1e-9;
    }
    for (uint64_t i = 0; rows && i < t->name_count; i++)
        if (rows[i].count)
            rows[count++] = rows[i];
    if (rows && count)
        qsort(rows, count, sizeof *rows, by_row_time);
    replay->rows = rows;
    replay->row_count = count;
    return rows != NULL;
}

/* --- the critical path --- */

struct path {
    struct ll_map words;
    struct ll_timeline_piece *pieces;
    uint64_t capacity, count;
    double from_ns; /* what is before counts not */
    double upto_ns; /* what is behind is told already */
};

/* What holds back from then until what is told already. */
static bool add_piece(struct path *path, const char *what, const char *name, double begin_ns)
{
    const double end_ns = path->upto_ns;
    const char *const key[] = {what, name};
    bool is_new = false;
    begin_ns = fmax(begin_ns, path->from_ns);
    if (end_ns <= begin_ns)
        return true;
    path->upto_ns = begin_ns;
    uint32_t at = ll_map_intern(&path->words, key, sizeof key, &is_new);
    if (at == LL_NO_ID || !ll_grow(&path->pieces, &path->capacity, (uint64_t)at + 1, sizeof *path->pieces))
        return false;
    if (is_new) {
        path->pieces[at] = (struct ll_timeline_piece){.what = what, .name = name, .order = at};
        path->count++;
    }
    path->pieces[at].count++;
    path->pieces[at].time_s += (end_ns - begin_ns) * 1e-9;
    return true;
}

static double time_of(const struct replay *r, struct cause cause)
{
    switch (cause.kind) {
    case CALL_BEGINS:
        return r->called[cause.item].now_ns;
    case CALL_ENDS:
        return r->back[cause.item].now_ns;
    case EVENT_BEGINS:
        return r->begins[cause.item].now_ns;
    default:
        return r->ends[cause.item].now_ns;
    }
}

/* What lies between a moment and its cause, and that cause. False when memory ran out. */
static bool step_back(const struct replay *r, struct path *path, struct cause *at)
{
    const struct ll_device_timeline *t = r->timeline;
    const uint32_t i = at->item;
    struct cause before = {.item = LL_NO_PART};
    const char *what = "", *name = "";
    if (at->kind == EVENT_ENDS || at->kind == EVENT_BEGINS) {
        const struct ll_timeline_event *event = &t->events[i];
        bool joined = r->event_causes[i].kind == EVENT_BEGINS && r->event_causes[i].item != LL_NO_PART;
        name = t->names[event->name];
        if (at->kind == EVENT_ENDS) {
            before = joined ? r->event_causes[i] : (struct cause){EVENT_BEGINS, i};
            what = ll_event_name(event->kind);
        } else {
            before = joined ? (struct cause){.item = LL_NO_PART} : r->event_causes[i];
            what = before.kind == CALL_BEGINS ? "launch" : "gap";
            name = "";
        }
    } else if (at->kind == CALL_BEGINS) {
        before = r->call_causes[i];
        bool within = before.item != LL_NO_PART && before.kind == CALL_BEGINS; /* of a call around it */
        what = within ? "call" : "host";
        name = within ? t->names[t->calls[before.item].name] : "";
    } else {
        before = r->back_causes[i];
        bool waited = before.kind == EVENT_ENDS;
        what = waited ? "wait" : "call";
        name = t->names[t->calls[i].name];
    }
    double begin_ns = before.item == LL_NO_PART ? path->from_ns : time_of(r, before);
    if (before.item == LL_NO_PART)
        what = "before";
    bool fine = add_piece(path, what, name, begin_ns);
    *at = path->upto_ns <= path->from_ns ? (struct cause){.item = LL_NO_PART} : before;
    return fine;
}

static int by_piece_time(const void *a, const void *b)
{
    const struct ll_timeline_piece *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s > y->time_s ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool find_path(const struct replay *r, struct ll_timeline_replay *replay, double begin_ns)
{
    const struct ll_device_timeline *t = r->timeline;
    struct path path = {.from_ns = begin_ns};
    struct cause at = {EVENT_ENDS, LL_NO_PART};
    bool fine = true;
    for (uint32_t i = 0; i < t->event_count; i++)
        if (ll_event_counts(t, &t->events[i]) && r->factors[i] >= 0 &&
            (at.item == LL_NO_PART || r->ends[i].now_ns > r->ends[at.item].now_ns))
            at.item = i;
    path.upto_ns = at.item == LL_NO_PART ? begin_ns : time_of(r, at);
    for (uint64_t steps = 0; fine && at.item != LL_NO_PART && steps <= 2 * r->moment_count; steps++)
        fine = step_back(r, &path, &at);
    if (fine && path.count)
        qsort(path.pieces, path.count, sizeof *path.pieces, by_piece_time);
    replay->path =
        fine ? ll_copy(r->arena, path.count ? (void *)path.pieces : "", path.count * sizeof *path.pieces)
             : NULL;
    replay->piece_count = path.count;
    ll_map_release(&path.words);
    free(path.pieces);
    return replay->path != NULL;
}

static bool sum_up(const struct replay *r, struct ll_timeline_replay *replay)
{
    const struct ll_device_timeline *t = r->timeline;
    struct ll_timeline_times *recorded = ll_alloc(r->arena, t->rank_count, sizeof *recorded),
                             *replayed = ll_alloc(r->arena, t->rank_count, sizeof *replayed);
    double *start_s = ll_alloc(r->arena, t->event_count + 1, sizeof *start_s),
           *end_s = ll_alloc(r->arena, t->event_count + 1, sizeof *end_s);
    struct time begin = {INFINITY, INFINITY}, end = {-INFINITY, -INFINITY};
    bool fine = recorded && replayed && start_s && end_s;
    for (uint32_t rank = 0; fine && rank < t->rank_count; rank++)
        fine = sum_rank(r, rank, false, &recorded[rank]) && sum_rank(r, rank, true, &replayed[rank]);
    for (uint64_t i = 0; fine && i < t->event_count; i++) {
        if (!ll_event_counts(t, &t->events[i]))
            continue;
        begin.then_ns = fmin(begin.then_ns, r->begins[i].then_ns);
        end.then_ns = fmax(end.then_ns, r->ends[i].then_ns);
        if (r->factors[i] < 0)
            continue;
        begin.now_ns = fmin(begin.now_ns, r->begins[i].now_ns);
        end.now_ns = fmax(end.now_ns, r->ends[i].now_ns);
    }
    for (uint64_t i = 0; fine && i < t->event_count; i++) {
        start_s[i] = (r->begins[i].now_ns - begin.now_ns) * 1e-9;
        end_s[i] = (r->ends[i].now_ns - begin.now_ns) * 1e-9;
    }
    replay->recorded = recorded;
    replay->replayed = replayed;
    replay->recorded_span_s = (end.then_ns - begin.then_ns) * 1e-9;
    replay->span_s = isfinite(begin.now_ns) ? (end.now_ns - begin.now_ns) * 1e-9 : 0;
    replay->start_s = start_s;
    replay->end_s = end_s;
    return fine && find_path(r, replay, begin.now_ns);
}

const struct ll_timeline_replay *ll_timeline_replay(const struct ll_device_timeline *timeline,
                                                    struct ll_timeline_change *changes, uint64_t change_count,
                                                    struct ll_arena *arena)
{
    struct ll_arena scratch = {0};
    struct replay r = {
        .timeline = timeline, .changes = changes, .change_count = change_count, .arena = &scratch};
    struct ll_timeline_replay *replay = ll_alloc(arena, 1, sizeof *replay);
    bool fine = replay && make_room(&r) && list_waits(&r) && list_partners(&r) && apply_changes(&r);
    if (fine) {
        *replay = (struct ll_timeline_replay){.timeline = timeline};
        r.launch_ns = least_launch_ns(timeline);
        replay->launch_s = r.launch_ns * 1e-9;
        list_moments(&r);
        go_through(&r);
        r.arena = arena;
        fine = sum_up(&r, replay) && sum_rows(&r, replay);
    }
    ll_arena_release(&scratch);
    return fine ? replay : NULL;
}
