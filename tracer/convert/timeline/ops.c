/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a timeline: each op where it ran, recorded or simulated.
 *
 *   tracks     steps; launches by the host; what ops run on: units, levels of the network, host, or threads
 *   slices     ops, without the time in which they wait for their launch
 *   flows      dependencies (-p flows=all|cross|none: all, those between tracks, none), launches of ops,
 *              messages from send to receive
 *   counters   memory in use, in all and by class; bandwidth of each level, and its share of the peak; power
 *
 * Numbers of flows: those of dependencies are their places in struct ll_deps, then come launches, then
 * messages, by op. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/convert/timeline/timeline.h"

/* What begins at a time: an op, its launch, or a step. */
enum item_kind { ITEM_STEP, ITEM_LAUNCH, ITEM_OP };
struct item {
    uint64_t begin_ns;
    uint32_t index; /* of the op, or of the step among those of the process */
    enum item_kind kind;
};

struct marker {
    uint32_t step;
    uint64_t begin_ns, end_ns;
};

/* A dependency that an op leaves behind. */
struct leaving {
    uint64_t place; /* in deps->ops */
    uint32_t reader;
};

/* Tracks of a process before those of the schedule. */
enum { TRACK_STEPS, TRACK_LAUNCHES, TRACKS_BEFORE };

struct exporting {
    struct ll_export *export;
    struct ll_timeline_file *timeline;
    const struct ll_trace *trace;
    const struct ll_op_schedule *schedule;
    const struct ll_deps *deps;
    struct ll_timeline_ops texts;
    enum ll_timeline_flows flows;
    /* By op from schedule->first_op on. */
    uint64_t *begin_ns;
    uint32_t *place;     /* the track, counted through all processes */
    uint32_t *in_order;  /* the ops of each process in turn, in recorded order */
    uint64_t *out_first; /* op_count + 1 offsets into `out`: flows that leave an op */
    struct leaving *out;
    uint32_t *meets;    /* the other end of a message, LL_NONE: none; NULL: the trace has none */
    uint32_t *first_op; /* by process, and the end: into in_order */
    /* Storages that an op is the first, or the last, to touch: lists through `next`, ended by LL_NONE. */
    const struct ll_liveness *lives;
    uint32_t *born, *born_next, *dead, *dead_next;
    /* Of the process under way. */
    struct item *items;
    uint64_t item_count, item_capacity;
    struct marker *markers;
    uint64_t marker_count, marker_capacity;
    struct ll_timeline_flow *ends; /* of the slice under way */
    uint64_t end_count, end_capacity;
    uint32_t memory, classes, rates; /* the first counter of each kind */
};

static bool is_placed(const struct exporting *e, uint32_t op)
{
    return op >= e->schedule->first_op && op - e->schedule->first_op < e->schedule->op_count;
}

static struct ll_scheduled at(const struct exporting *e, uint32_t op)
{
    struct ll_scheduled scheduled = {.energy_j = NAN};
    e->schedule->at(e->schedule, op, &scheduled);
    assert(scheduled.process < e->schedule->process_count && scheduled.track < e->schedule->track_count);
    assert(scheduled.active_s <= scheduled.time_s);
    return scheduled;
}

static uint64_t begin_ns(const struct ll_scheduled *at)
{
    return ll_timeline_ns(at->start_s + (at->time_s - at->active_s));
}

static uint64_t end_ns(const struct ll_scheduled *at)
{
    return ll_timeline_ns(at->start_s + at->time_s);
}

/* --- what does not depend on the process --- */

/* Where ops are; the ops of each process together. */
static void place_ops(struct exporting *e)
{
    const struct ll_op_schedule *schedule = e->schedule;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        struct ll_scheduled here = at(e, schedule->first_op + i);
        e->begin_ns[i] = begin_ns(&here);
        e->place[i] = here.process * schedule->track_count + here.track;
        e->first_op[here.process + 1]++;
    }
    for (uint32_t p = 0; p < schedule->process_count; p++)
        e->first_op[p + 1] += e->first_op[p];
    for (uint32_t i = 0; i < schedule->op_count; i++)
        e->in_order[e->first_op[e->place[i] / schedule->track_count]++] = schedule->first_op + i;
    for (uint32_t p = schedule->process_count; p > 0; p--)
        e->first_op[p] = e->first_op[p - 1];
    e->first_op[0] = 0;
}

/* Whether the dependency on `from` is drawn: no arrow goes back in time, as recorded clocks may have it. */
static bool is_drawn(const struct exporting *e, uint32_t op, uint32_t from)
{
    if (e->flows == LL_FLOWS_NONE || !is_placed(e, from))
        return false;
    uint32_t i = op - e->schedule->first_op, k = from - e->schedule->first_op;
    bool forward = e->begin_ns[k] < e->begin_ns[i] || (e->begin_ns[k] == e->begin_ns[i] && from < op);
    return forward && (e->flows == LL_FLOWS_ALL || e->place[i] != e->place[k]);
}

/* Fills out and out_first. False when memory ran out. */
static bool find_leaving(struct exporting *e)
{
    const struct ll_op_schedule *schedule = e->schedule;
    uint64_t *next = ll_alloc(&e->export->arena, schedule->op_count + 1u, sizeof *next);
    for (int pass = 0; next && pass < 2; pass++) {
        for (uint32_t op = schedule->first_op; is_placed(e, op); op++)
            for (uint64_t i = e->deps->first[op]; i < e->deps->first[op + 1]; i++) {
                uint32_t from = e->deps->ops[i];
                if (!is_drawn(e, op, from))
                    continue;
                if (pass == 0)
                    e->out_first[from - schedule->first_op + 1]++;
                else
                    e->out[next[from - schedule->first_op]++] = (struct leaving){i, op};
            }
        for (uint32_t i = 0; pass == 0 && i < schedule->op_count; i++)
            e->out_first[i + 1] += e->out_first[i];
        if (pass == 0) {
            memcpy(next, e->out_first, (schedule->op_count + 1u) * sizeof *next);
            e->out = ll_alloc(&e->export->arena, e->out_first[schedule->op_count] + 1, sizeof *e->out);
            if (!e->out)
                return false;
        }
    }
    return next;
}

/* One end of a message. */
struct message_end {
    uint64_t from, to, tag; /* ranks */
    uint32_t op;
    bool receives;
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_message(const void *left, const void *right)
{
    const struct message_end *a = left, *b = right;
    int order = compare(a->from, b->from);
    order = order ? order : compare(a->to, b->to);
    order = order ? order : compare(a->tag, b->tag);
    order = order ? order : compare(a->receives, b->receives);
    return order ? order : compare(a->op, b->op);
}

static bool same_way(const struct message_end *a, const struct message_end *b)
{
    return a->from == b->from && a->to == b->to && a->tag == b->tag;
}

/* Ends of messages of one way: sends before receives. The n-th of both meet, as in sim/parallel/ranks.c. A
 * receive that is drawn for as long as its message takes begins with its send; it is moved by a nanosecond,
 * for what begins at one time on two devices has no order. */
static void meet(struct exporting *e, const struct message_end *ends, uint64_t count)
{
    uint64_t sends = 0;
    while (sends < count && !ends[sends].receives)
        sends++;
    for (uint64_t i = 0; i < sends && sends + i < count; i++) {
        uint32_t send = ends[i].op - e->schedule->first_op,
                 receive = ends[sends + i].op - e->schedule->first_op;
        struct ll_scheduled here = at(e, ends[sends + i].op);
        if (e->begin_ns[send] == e->begin_ns[receive] && end_ns(&here) > e->begin_ns[receive])
            e->begin_ns[receive]++;
        if (e->begin_ns[send] >= e->begin_ns[receive])
            continue;
        e->meets[send] = ends[sends + i].op;
        e->meets[receive] = ends[i].op;
    }
}

/* Of ranks, messages in `ends`; their number. With NULL, only the number. */
static uint64_t list_messages(const struct exporting *e, struct message_end *ends)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < e->schedule->op_count; i++) {
        uint32_t op = e->schedule->first_op + i;
        const struct ll_op_view *view = &e->trace->signatures[e->trace->ops[op].signature].view;
        bool receives = view->kind == LL_OP_RECEIVE;
        if (view->kind != LL_OP_SEND && !receives)
            continue;
        uint64_t rank = e->trace->ops[op].thread, tag = (uint64_t)ll_attr_count(view, LL_ATTR_TAG, 0),
                 other = rank + (uint64_t)ll_attr_count(view, LL_ATTR_PEER, 0);
        if (ends)
            ends[count] =
                (struct message_end){receives ? other : rank, receives ? rank : other, tag, op, receives};
        count++;
    }
    return count;
}

/* Fills meets, in a trace of several ranks. False when memory ran out. */
static bool find_messages(struct exporting *e)
{
    uint64_t count = ll_trace_ranks(e->trace) > 1 && e->flows != LL_FLOWS_NONE ? list_messages(e, NULL) : 0;
    if (count == 0)
        return true;
    struct message_end *ends = ll_alloc(&e->export->arena, count, sizeof *ends);
    e->meets = ll_alloc(&e->export->arena, e->schedule->op_count, sizeof *e->meets);
    if (!ends || !e->meets)
        return false;
    for (uint32_t i = 0; i < e->schedule->op_count; i++)
        e->meets[i] = LL_NONE;
    list_messages(e, ends);
    qsort(ends, count, sizeof *ends, by_message);
    for (uint64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && same_way(&ends[i], &ends[end]);)
            end++;
        meet(e, ends + i, end - i);
    }
    return true;
}

/* Puts a storage at the head of an op's list. */
static void link(uint32_t *head, uint32_t *next, uint32_t storage)
{
    next[storage] = *head;
    *head = storage;
}

/* Which storages each op is the first or the last to touch. False when memory ran out. */
static bool find_lives(struct exporting *e)
{
    const struct ll_trace *trace = e->trace;
    struct ll_arena *arena = &e->export->arena;
    uint32_t **lists[] = {&e->born, &e->dead, &e->born_next, &e->dead_next};
    e->lives = ll_trace_liveness(trace, arena);
    for (int i = 0; i < 4; i++)
        if (!(*lists[i] =
                  ll_alloc(arena, i < 2 ? trace->op_count : trace->storage_count + 1, sizeof **lists[i])))
            return false;
    for (uint64_t op = 0; op < trace->op_count; op++)
        e->born[op] = e->dead[op] = LL_NONE;
    for (uint64_t s = trace->storage_count; e->lives && s-- > 0;)
        if (e->lives[s].first != LL_NONE) {
            link(&e->born[e->lives[s].first], e->born_next, (uint32_t)s);
            link(&e->dead[e->lives[s].last], e->dead_next, (uint32_t)s);
        }
    return e->lives;
}

/* --- a process --- */

/* Signed steps of a counter of bytes. */
static int64_t as_steps(uint64_t bytes)
{
    return (int64_t)ll_min(bytes, INT64_MAX >> 20);
}

static void add_bytes(struct exporting *e, uint32_t storage, uint64_t at_ns, bool born)
{
    int64_t steps = as_steps(e->lives[storage].bytes) * (born ? 1 : -1);
    ll_timeline_add(e->timeline, e->memory, at_ns, steps);
    ll_timeline_add(e->timeline, e->classes + e->lives[storage].memory, at_ns, steps);
}

static void declare_counters(struct exporting *e)
{
    const struct ll_op_schedule *schedule = e->schedule;
    struct ll_timeline_counter counter = {"memory in use", "bytes", 1, NULL};
    e->memory = ll_timeline_counter(e->timeline, &counter);
    counter.group = "memory by class";
    e->classes = e->memory + 1;
    for (int i = 0; i < LL_MEMORY_COUNT; i++) {
        counter.name = ll_memory_name((enum ll_memory_class)i);
        ll_timeline_counter(e->timeline, &counter);
    }
    e->rates = ll_timeline_rates(e->timeline, schedule);
}

uint32_t ll_timeline_rates(struct ll_timeline_file *t, const struct ll_op_schedule *schedule)
{
    uint32_t first = 0;
    struct ll_str name = {0};
    for (uint32_t l = 0; l < schedule->level_count; l++)
        for (int share = 0; share < 1 + (schedule->level_peaks_Bps != NULL); share++) {
            name.length = 0;
            ll_str_addf(&name, "%s bandwidth%s", schedule->levels[l], share ? " utilization" : "");
            const struct ll_timeline_counter counter = {name.failed ? "bandwidth" : name.text,
                                                        share ? "%" : "GB/s", share ? 1e-2 : 1e-3, NULL};
            uint32_t number = ll_timeline_counter(t, &counter);
            first = l + (uint32_t)share == 0 ? number : first;
        }
    ll_str_release(&name);
    uint32_t power = ll_timeline_counter(t, &(struct ll_timeline_counter){"power", "W", 1e-3, NULL});
    if (!isnan(schedule->static_w))
        ll_timeline_add(t, power, 0, llround(1e3 * schedule->static_w));
    return schedule->level_count > 0 ? first : power;
}

/* A rate while an op runs. */
static void add_rate(struct ll_timeline_file *t, uint32_t counter, const struct ll_timeline_slice *slice,
                     double steps)
{
    int64_t whole = llround(fmin(steps, 0x1p53));
    ll_timeline_add(t, counter, slice->begin_ns, whole);
    ll_timeline_add(t, counter, slice->end_ns, -whole);
}

void ll_timeline_add_rates(struct ll_timeline_file *t, uint32_t first, const struct ll_op_schedule *schedule,
                           const struct ll_scheduled *here, const struct ll_timeline_slice *slice)
{
    uint32_t counter = first;
    if (slice->begin_ns == slice->end_ns)
        return;
    for (uint32_t l = 0; l < schedule->level_count; l++) {
        double Bps = here->level_bytes[l] / here->active_s;
        add_rate(t, counter++, slice, Bps * 1e-6);
        if (schedule->level_peaks_Bps)
            add_rate(t, counter++, slice, 1e4 * Bps / schedule->level_peaks_Bps[l]);
    }
    if (!isnan(schedule->static_w) && !isnan(here->energy_j))
        add_rate(t, counter, slice, 1e3 * here->energy_j / here->active_s);
}

static void declare_tracks(struct exporting *e)
{
    const struct ll_op_schedule *schedule = e->schedule;
    ll_timeline_track(e->timeline, "steps");
    ll_timeline_track(e->timeline, "kernel launches");
    for (uint32_t i = 0; i < schedule->track_count; i++)
        ll_timeline_track(e->timeline, schedule->tracks[i]);
    declare_counters(e);
}

static bool add_item(struct exporting *e, uint64_t begin_ns, uint32_t index, enum item_kind kind)
{
    if (!ll_grow(&e->items, &e->item_capacity, e->item_count + 1, sizeof *e->items))
        return false;
    e->items[e->item_count++] = (struct item){begin_ns, index, kind};
    return true;
}

/* A step begins where the ones before it have ended, or where its first op begins if that is later. */
static bool mark_step(struct exporting *e, uint32_t op, const struct ll_scheduled *here)
{
    struct marker *last = e->marker_count ? &e->markers[e->marker_count - 1] : NULL;
    uint64_t begin = ll_timeline_ns(here->start_s), end = end_ns(here);
    if (last && last->step == e->trace->ops[op].step) {
        last->begin_ns = e->marker_count == 1 ? ll_min(last->begin_ns, begin) : last->begin_ns;
        last->end_ns = ll_max(last->end_ns, end);
        return true;
    }
    if (!ll_grow(&e->markers, &e->marker_capacity, e->marker_count + 1, sizeof *e->markers))
        return false;
    begin = e->marker_count ? ll_max(begin, e->markers[e->marker_count - 1].end_ns) : begin;
    e->markers[e->marker_count++] =
        (struct marker){.step = e->trace->ops[op].step, .begin_ns = begin, .end_ns = ll_max(begin, end)};
    return true;
}

static int by_begin(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = compare(a->begin_ns, b->begin_ns);
    order = order ? order : compare(a->kind, b->kind);
    return order ? order : compare(a->index, b->index);
}

/* All that begins in a process, in order. False when memory ran out. */
static bool find_items(struct exporting *e, uint32_t process)
{
    e->item_count = e->marker_count = 0;
    bool done = true;
    for (uint32_t i = e->first_op[process]; done && i < e->first_op[process + 1]; i++) {
        uint32_t op = e->in_order[i];
        struct ll_scheduled here = at(e, op);
        done = mark_step(e, op, &here) && add_item(e, e->begin_ns[op - e->schedule->first_op], op, ITEM_OP) &&
               (here.launch_s <= 0 || add_item(e, ll_timeline_ns(here.launch_start_s), op, ITEM_LAUNCH));
    }
    for (uint64_t i = 0; done && i < e->marker_count; i++)
        done = add_item(e, e->markers[i].begin_ns, (uint32_t)i, ITEM_STEP);
    qsort(e->items, e->item_count, sizeof *e->items, by_begin);
    return done;
}

static bool put_step(struct exporting *e, const struct marker *marker)
{
    struct ll_str name = {0};
    ll_str_addf(&name, "step %u", marker->step);
    struct ll_timeline_slice slice = {
        .track = TRACK_STEPS,
        .begin_ns = marker->begin_ns,
        .end_ns = marker->end_ns,
        .name = name.failed ? "step" : name.text,
        .category = "step",
        .args = {{.name = "step", .kind = LL_TIMELINE_COUNT, .count = marker->step}},
        .arg_count = 1};
    bool goes_on = ll_timeline_slice(e->timeline, &slice);
    ll_str_release(&name);
    return goes_on;
}

/* An end of a flow; with to_ns it leaves. */
static bool add_end(struct exporting *e, uint64_t id, const char *name, const uint64_t *to_ns)
{
    if (!ll_grow(&e->ends, &e->end_capacity, e->end_count + 1, sizeof *e->ends)) {
        e->export->status = LL_NO_MEMORY;
        return false;
    }
    e->ends[e->end_count++] = (struct ll_timeline_flow){id, name, to_ns != NULL, to_ns ? *to_ns : 0};
    return true;
}

static uint64_t launch_id(const struct exporting *e, uint32_t op)
{
    return e->deps->first[e->trace->op_count] + 1 + op;
}

static bool is_launched(const struct exporting *e, uint32_t op, const struct ll_scheduled *here)
{
    return e->flows != LL_FLOWS_NONE && here->launch_s > 0 &&
           ll_timeline_ns(here->launch_start_s) <= e->begin_ns[op - e->schedule->first_op];
}

/* All flows that end at an op or leave it. */
static bool find_ends(struct exporting *e, uint32_t op, const struct ll_scheduled *here)
{
    uint32_t i = op - e->schedule->first_op;
    bool done = true;
    e->end_count = 0;
    for (uint64_t k = e->deps->first[op]; done && k < e->deps->first[op + 1]; k++)
        if (is_drawn(e, op, e->deps->ops[k]))
            done = add_end(e, k + 1, ll_edge_name(ll_edge_of(e->trace, op, e->deps->ops[k])), NULL);
    for (uint64_t k = e->out_first[i]; done && k < e->out_first[i + 1]; k++)
        done = add_end(e, e->out[k].place + 1, ll_edge_name(ll_edge_of(e->trace, e->out[k].reader, op)),
                       &e->begin_ns[e->out[k].reader - e->schedule->first_op]);
    if (done && is_launched(e, op, here))
        done = add_end(e, launch_id(e, op), "launch", NULL);
    if (done && e->meets && e->meets[i] != LL_NONE) {
        bool sends = e->trace->signatures[e->trace->ops[op].signature].view.kind == LL_OP_SEND;
        done = add_end(e, launch_id(e, (uint32_t)e->trace->op_count) + (sends ? op : e->meets[i]), "message",
                       sends ? &e->begin_ns[e->meets[i] - e->schedule->first_op] : NULL);
    }
    return done;
}

static bool put_launch(struct exporting *e, uint32_t op)
{
    struct ll_scheduled here = at(e, op);
    struct ll_timeline_slice slice = {.track = TRACK_LAUNCHES,
                                      .begin_ns = ll_timeline_ns(here.launch_start_s),
                                      .end_ns = ll_timeline_ns(here.launch_start_s + here.launch_s)};
    e->end_count = 0;
    if (!ll_timeline_describe(&e->texts, op, here.bound, &slice) ||
        (is_launched(e, op, &here) &&
         !add_end(e, launch_id(e, op), "launch", &e->begin_ns[op - e->schedule->first_op]))) {
        e->export->status = LL_NO_MEMORY;
        return false;
    }
    slice.category = "launch";
    slice.arg_count = 1; /* the op's number */
    slice.flows = e->ends;
    slice.flow_count = (uint32_t)e->end_count;
    return ll_timeline_slice(e->timeline, &slice);
}

static void put_counters(struct exporting *e, uint32_t op, const struct ll_scheduled *here,
                         const struct ll_timeline_slice *slice)
{
    for (uint32_t s = e->born[op]; s != LL_NONE; s = e->born_next[s])
        add_bytes(e, s, slice->begin_ns, true);
    for (uint32_t s = e->dead[op]; s != LL_NONE; s = e->dead_next[s])
        add_bytes(e, s, slice->end_ns, false);
    ll_timeline_add_rates(e->timeline, e->rates, e->schedule, here, slice);
}

static bool put_op(struct exporting *e, uint32_t op)
{
    struct ll_scheduled here = at(e, op);
    struct ll_timeline_slice slice = {.track = TRACKS_BEFORE + here.track,
                                      .begin_ns = e->begin_ns[op - e->schedule->first_op],
                                      .end_ns = end_ns(&here)};
    if (!ll_timeline_describe(&e->texts, op, here.bound, &slice) || !find_ends(e, op, &here)) {
        e->export->status = LL_NO_MEMORY;
        return false;
    }
    slice.flows = e->ends;
    slice.flow_count = (uint32_t)e->end_count;
    bool goes_on = ll_timeline_slice(e->timeline, &slice);
    if (goes_on)
        put_counters(e, op, &here, &slice);
    return goes_on;
}

/* What lives already. */
static void put_beginning(struct exporting *e, uint32_t process)
{
    const struct ll_op_schedule *schedule = e->schedule;
    bool alone = schedule->process_count == 1;
    for (uint64_t s = 0; s < e->trace->storage_count; s++) {
        const struct ll_liveness *life = &e->lives[s];
        if (life->first == LL_NONE || life->first >= schedule->first_op || life->last < schedule->first_op)
            continue;
        if (alone || e->trace->ops[life->last].thread == process)
            add_bytes(e, (uint32_t)s, 0, true);
    }
}

static bool put_process(struct exporting *e, uint32_t process)
{
    const char *model = ll_trace_fact(e->trace, "model"),
               *own = e->schedule->processes ? e->schedule->processes[process] : NULL;
    const char *name =
        ll_format(&e->export->arena, "%s%s%s%s%s", own ? own : "", own ? ": " : "", model ? model : "trace",
                  e->schedule->name ? " on " : ", as recorded", e->schedule->name ? e->schedule->name : "");
    if (!name || !find_items(e, process)) {
        e->export->status = LL_NO_MEMORY;
        return false;
    }
    ll_timeline_process(e->timeline, name);
    declare_tracks(e);
    put_beginning(e, process);
    bool goes_on = true;
    for (uint64_t i = 0; goes_on && i < e->item_count; i++) {
        const struct item *item = &e->items[i];
        goes_on = item->kind == ITEM_STEP     ? put_step(e, &e->markers[item->index])
                  : item->kind == ITEM_LAUNCH ? put_launch(e, item->index)
                                              : put_op(e, item->index);
    }
    return goes_on;
}

/* --- the whole --- */

bool ll_timeline_choose_flows(struct ll_export *export, enum ll_timeline_flows otherwise,
                              enum ll_timeline_flows *flows)
{
    static const char *const names[] = {"all", "cross", "none"};
    const char *given = ll_export_choice(export, "flows");
    *flows = otherwise;
    for (size_t i = 0; given && i < sizeof names / sizeof *names; i++)
        if (strcmp(given, names[i]) == 0) {
            *flows = (enum ll_timeline_flows)i;
            return true;
        }
    return !given || ll_complain(export->diags, (struct ll_place){0},
                                 "-p flows=%s: expected `all`, `cross` or `none`", given);
}

/* False when memory ran out. */
static bool prepare(struct exporting *e)
{
    struct ll_arena *arena = &e->export->arena;
    uint64_t ops = e->schedule->op_count;
    e->texts = (struct ll_timeline_ops){.trace = e->trace, .arena = arena};
    e->deps = ll_trace_deps(e->trace, arena);
    e->begin_ns = ll_alloc(arena, ops, sizeof *e->begin_ns);
    e->place = ll_alloc(arena, ops, sizeof *e->place);
    e->in_order = ll_alloc(arena, ops, sizeof *e->in_order);
    e->out_first = ll_alloc(arena, ops + 1, sizeof *e->out_first);
    e->first_op = ll_alloc(arena, e->schedule->process_count + 1u, sizeof *e->first_op);
    if (!e->deps || !e->begin_ns || !e->place || !e->in_order || !e->out_first || !e->first_op)
        return false;
    place_ops(e);
    return find_messages(e) && find_leaving(e) && (e->trace->op_count == 0 || find_lives(e));
}

static bool write_all(struct exporting *e)
{
    if (!ll_timeline_choose_flows(e->export, LL_FLOWS_ALL, &e->flows) || !ll_export_ready(e->export))
        return false;
    e->schedule = ll_export_schedule(e->export);
    if (!e->schedule)
        return false;
    if (!prepare(e)) {
        e->export->status = LL_NO_MEMORY;
        return false;
    }
    bool goes_on = true;
    for (uint32_t p = 0; goes_on && p < e->schedule->process_count; p++)
        goes_on = put_process(e, p);
    return goes_on;
}

bool ll_export_TIMELINE(struct ll_export *export)
{
    struct exporting e = {.export = export, .trace = export->trace, .timeline = ll_timeline_open(export)};
    bool done = e.timeline && write_all(&e);
    done = ll_timeline_close(e.timeline) && done;
    free(e.items);
    free(e.markers);
    free(e.ends);
    return done;
}
