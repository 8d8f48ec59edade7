/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-rank replay: tasks of several ranks that wait for one another. The last sections find the rank with
 * the largest footprint and replay a trace of several ranks.
 *
 * Times are the longest ways through a graph: from what a task comes after, from the task before it on its
 * stream, from a send to its receive. A task is done when all before it are (Kahn, 1962); the members of an
 * exchange are done together, when the last of them is ready. What is never ready is a deadlock.
 *
 * By readiness, a stream is no part of that graph: tasks are taken in the order of the times at which they
 * become ready, and each begins when its stream is free. An exchange takes its members' streams when all have
 * come. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/replay/communication.h"
#include "tracer/base/arena.h"
#include "tracer/base/map.h"

struct state {
    struct ll_rank_task task;
    double start_s, end_s; /* start: when all before it have ended */
    uint64_t first_edge;   /* of those that it comes after */
    uint32_t edge_count;
    uint32_t waiting;    /* for so many tasks more */
    uint32_t waited_for; /* the last of them to end */
    uint32_t partner;    /* the send of a receive; of a join the exchange */
    uint32_t stream;     /* by readiness: the number of its stream; else LL_NO_STREAM */
};

/* Joins that meet. */
struct meeting {
    uint32_t first, expected, come, ready; /* `first` task of a chain through `next` */
    double start_s, time_s;
    uint32_t last;
};

struct ll_ranks {
    struct state *states;
    uint64_t capacity;
    uint32_t *edges; /* tasks that come before */
    uint64_t edge_count, edge_capacity;
    uint32_t count;
    struct ll_map streams; /* of (rank, stream): the last task on it */
    uint32_t *stream_last;
    uint64_t stream_capacity;
    bool by_readiness, failed;

    uint64_t *first_next; /* by task: its followers in `next` */
    uint32_t *next;
    uint32_t *next_member; /* by task: the next join of the same meeting, or send of the same line */
    struct meeting *meetings;
    uint32_t meeting_count, done;
    uint64_t meeting_capacity;
    double time_s;
};

struct ll_ranks *ll_ranks_new(void)
{
    return calloc(1, sizeof(struct ll_ranks));
}

void ll_ranks_by_readiness(struct ll_ranks *ranks)
{
    assert(ranks->count == 0);
    ranks->by_readiness = true;
}

void ll_ranks_free(struct ll_ranks *ranks)
{
    if (!ranks)
        return;
    ll_map_release(&ranks->streams);
    free(ranks->states);
    free(ranks->edges);
    free(ranks->stream_last);
    free(ranks->first_next);
    free(ranks->next);
    free(ranks->next_member);
    free(ranks->meetings);
    free(ranks);
}

/* --- tasks --- */

static bool add_edge(struct ll_ranks *ranks, struct state *state, uint32_t before)
{
    if (before == LL_NO_TASK)
        return true;
    assert(before < ranks->count);
    if (!ll_grow(&ranks->edges, &ranks->edge_capacity, ranks->edge_count + 1, sizeof *ranks->edges))
        return false;
    ranks->edges[ranks->edge_count++] = before;
    state->edge_count++;
    return true;
}

/* The last task on the stream, whose place this one takes; by readiness nobody is on it yet. False when
 * memory ran out. */
static bool take_stream(struct ll_ranks *ranks, struct state *state, uint32_t number)
{
    const uint32_t key[2] = {state->task.rank, state->task.stream};
    bool is_new;
    if (state->task.stream == LL_NO_STREAM)
        return true;
    uint32_t id = ll_map_intern(&ranks->streams, key, sizeof key, &is_new);
    if (id == LL_NO_ID ||
        !ll_grow(&ranks->stream_last, &ranks->stream_capacity, (uint64_t)id + 1, sizeof *ranks->stream_last))
        return false;
    bool done = is_new || ranks->by_readiness || add_edge(ranks, state, ranks->stream_last[id]);
    ranks->stream_last[id] = ranks->by_readiness ? LL_NO_TASK : number;
    state->stream = ranks->by_readiness ? id : LL_NO_STREAM;
    return done;
}

uint32_t ll_ranks_add(struct ll_ranks *ranks, const struct ll_rank_task *task, const uint32_t *after,
                      uint32_t count)
{
    assert(task->kind <= LL_TASK_JOIN && (task->kind == LL_TASK_RECEIVE || task->time_s >= 0));
    if (ranks->failed || ranks->count == LL_NO_TASK - 1 ||
        !ll_grow(&ranks->states, &ranks->capacity, (uint64_t)ranks->count + 1, sizeof *ranks->states)) {
        ranks->failed = true;
        return LL_NO_TASK;
    }
    struct state *state = &ranks->states[ranks->count];
    *state = (struct state){.task = *task,
                            .first_edge = ranks->edge_count,
                            .waited_for = LL_NO_TASK,
                            .partner = LL_NO_TASK,
                            .stream = LL_NO_STREAM};
    for (uint32_t i = 0; i < count; i++)
        ranks->failed |= !add_edge(ranks, state, after[i]);
    ranks->failed |= !take_stream(ranks, state, ranks->count);
    return ranks->count++;
}

/* --- who meets whom --- */

struct message_key {
    uint64_t tag;
    uint32_t from, to;
};

static struct message_key key_of(const struct ll_rank_task *task)
{
    bool sends = task->kind == LL_TASK_SEND;
    return (struct message_key){task->tag, sends ? task->rank : task->other,
                                sends ? task->other : task->rank};
}

static void complain_alone(const struct state *state, struct ll_diags *diags)
{
    bool sends = state->task.kind == LL_TASK_SEND;
    ll_complain(diags, (struct ll_place){0},
                sends ? "rank %" PRIu32 ": `%.100s` sends to rank %" PRIu32 ", which never receives it"
                      : "rank %" PRIu32 ": `%.100s` receives from rank %" PRIu32 ", which never sends it",
                state->task.rank, state->task.name, state->task.other);
}

/* Sends from one rank to another with one tag, in their order: a chain through `next_member`. */
struct line {
    uint32_t first, last;
};

static bool line_up(struct ll_ranks *ranks, struct ll_map *keys, struct line **lines)
{
    uint64_t capacity = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        struct message_key key = key_of(&ranks->states[i].task);
        bool is_new;
        if (ranks->states[i].task.kind != LL_TASK_SEND)
            continue;
        uint32_t id = ll_map_intern(keys, &key, sizeof key, &is_new);
        if (id == LL_NO_ID || !ll_grow(lines, &capacity, (uint64_t)id + 1, sizeof **lines))
            return false;
        struct line *line = &(*lines)[id];
        ranks->next_member[i] = LL_NO_TASK;
        if (is_new)
            line->first = i;
        else
            ranks->next_member[line->last] = i;
        line->last = i;
    }
    return true;
}

/* Each receive takes the first send of its line. */
static void take_in_turn(struct ll_ranks *ranks, const struct ll_map *keys, struct line *lines,
                         struct ll_diags *diags)
{
    assert(ranks->next_member);
    for (uint32_t i = 0; i < ranks->count; i++) {
        struct state *state = &ranks->states[i];
        struct message_key key = key_of(&state->task);
        if (state->task.kind != LL_TASK_RECEIVE)
            continue;
        uint32_t id = ll_map_find(keys, &key, sizeof key);
        if (id == LL_NO_ID || lines[id].first == LL_NO_TASK) {
            complain_alone(state, diags);
            continue;
        }
        state->partner = lines[id].first;
        lines[id].first = ranks->next_member[state->partner];
        ranks->states[state->partner].partner = i;
    }
    for (uint32_t i = 0; i < ranks->count; i++)
        if (ranks->states[i].task.kind == LL_TASK_SEND && ranks->states[i].partner == LL_NO_TASK)
            complain_alone(&ranks->states[i], diags);
}

static bool match_messages(struct ll_ranks *ranks, struct ll_diags *diags)
{
    struct ll_map keys = {0};
    struct line *lines = NULL;
    bool done = line_up(ranks, &keys, &lines);
    if (done)
        take_in_turn(ranks, &keys, lines, diags);
    ll_map_release(&keys);
    free(lines);
    return done;
}

/* The meeting of the join's group that its rank has not come to yet; `times` counts its rank's joins. */
static struct meeting *meeting_of(struct ll_ranks *ranks, struct ll_map *ids, const struct ll_rank_task *task,
                                  uint32_t time)
{
    const uint64_t key[2] = {task->tag, time};
    bool is_new;
    uint32_t id = ll_map_intern(ids, key, sizeof key, &is_new);
    if (id == LL_NO_ID ||
        !ll_grow(&ranks->meetings, &ranks->meeting_capacity, (uint64_t)id + 1, sizeof *ranks->meetings))
        return NULL;
    if (is_new) {
        ranks->meetings[id] =
            (struct meeting){.first = LL_NO_TASK, .expected = task->other, .last = LL_NO_TASK};
        ranks->meeting_count = id + 1;
    }
    return &ranks->meetings[id];
}

/* Finds which joins of different ranks are the same exchange: the n-th of a rank with a tag meets the n-th
 * of the others. A meeting takes as long as the longest of its members says. False when memory ran out. */
static bool match_joins(struct ll_ranks *ranks)
{
    struct ll_map ids = {0}, members = {0};
    uint32_t *times = NULL;
    uint64_t capacity = 0;
    bool done = true;
    for (uint32_t i = 0; done && i < ranks->count; i++) {
        struct state *state = &ranks->states[i];
        const uint64_t key[2] = {state->task.tag, state->task.rank};
        bool is_new;
        if (state->task.kind != LL_TASK_JOIN)
            continue;
        uint32_t member = ll_map_intern(&members, key, sizeof key, &is_new);
        done = member != LL_NO_ID && ll_grow(&times, &capacity, (uint64_t)member + 1, sizeof *times);
        if (done && is_new)
            times[member] = 0;
        struct meeting *meeting = done ? meeting_of(ranks, &ids, &state->task, times[member]++) : NULL;
        done = meeting != NULL;
        if (!done)
            break;
        state->partner = (uint32_t)(meeting - ranks->meetings);
        ranks->next_member[i] = meeting->first;
        meeting->first = i;
        meeting->come++;
        meeting->time_s = fmax(meeting->time_s, state->task.time_s);
    }
    ll_map_release(&ids);
    ll_map_release(&members);
    free(times);
    return done;
}

static void complain_of_absence(const struct ll_ranks *ranks, const struct meeting *meeting,
                                struct ll_diags *diags)
{
    const struct ll_rank_task *task = &ranks->states[meeting->first].task;
    if (meeting->come < meeting->expected)
        ll_complain(diags, (struct ll_place){0},
                    "rank %" PRIu32 ": `%.100s` is waited for by %" PRIu32 " of the %" PRIu32
                    " ranks of its group; the others never come",
                    task->rank, task->name, meeting->come, meeting->expected);
    else if (meeting->come > meeting->expected)
        ll_complain(diags, (struct ll_place){0},
                    "rank %" PRIu32 ": %" PRIu32 " ranks come to `%.100s`, whose group has %" PRIu32,
                    task->rank, meeting->come, task->name, meeting->expected);
}

/* --- time --- */

static bool is_received(const struct state *state)
{
    return state->task.kind == LL_TASK_RECEIVE && state->partner != LL_NO_TASK;
}

/* Followers of each task, from those that each comes after: counted two places on, so that filling moves each
 * count to its place. */
static bool turn_edges(struct ll_ranks *ranks)
{
    uint64_t edges = 0;
    ranks->first_next = calloc((size_t)ranks->count + 2, sizeof *ranks->first_next);
    for (uint32_t i = 0; ranks->first_next && i < ranks->count; i++) {
        struct state *state = &ranks->states[i];
        state->waiting = state->edge_count + is_received(state);
        edges += state->waiting;
        for (uint32_t e = 0; e < state->edge_count; e++)
            ranks->first_next[ranks->edges[state->first_edge + e] + 2]++;
        if (is_received(state))
            ranks->first_next[state->partner + 2]++;
    }
    ranks->next = malloc((edges + 1) * sizeof *ranks->next);
    if (!ranks->first_next || !ranks->next)
        return false;
    for (uint32_t i = 1; i < ranks->count + 2; i++)
        ranks->first_next[i] += ranks->first_next[i - 1];
    for (uint32_t i = 0; i < ranks->count; i++) {
        const struct state *state = &ranks->states[i];
        for (uint32_t e = 0; e < state->edge_count; e++)
            ranks->next[ranks->first_next[ranks->edges[state->first_edge + e] + 1]++] = i;
        if (is_received(state))
            ranks->next[ranks->first_next[state->partner + 1]++] = i;
    }
    return true;
}

/* Tasks that are ready. By readiness a heap, whose root is the next to begin; else in any order. */
struct ready {
    uint32_t *at;
    uint32_t count;
};

static bool is_before(const struct ll_ranks *ranks, uint32_t a, uint32_t b)
{
    double a_s = ranks->states[a].start_s, b_s = ranks->states[b].start_s;
    return a_s < b_s || (a_s == b_s && a < b);
}

static void push(const struct ll_ranks *ranks, struct ready *ready, uint32_t task)
{
    uint32_t i = ready->count++;
    for (uint32_t parent; ranks->by_readiness && i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!is_before(ranks, task, ready->at[parent]))
            break;
        ready->at[i] = ready->at[parent];
    }
    ready->at[i] = task;
}

static uint32_t pop(const struct ll_ranks *ranks, struct ready *ready)
{
    uint32_t last = ready->at[--ready->count], first = ready->at[0], i = 0;
    if (!ranks->by_readiness)
        return last;
    for (uint32_t child; (child = 2 * i + 1) < ready->count; i = child) {
        if (child + 1 < ready->count && is_before(ranks, ready->at[child + 1], ready->at[child]))
            child++;
        if (!is_before(ranks, ready->at[child], last))
            break;
        ready->at[i] = ready->at[child];
    }
    ready->at[i] = last;
    return first;
}

/* The task cannot start before another one has ended. */
static void wait_for(struct ll_ranks *ranks, struct state *state, uint32_t other)
{
    if (state->waited_for == LL_NO_TASK || ranks->states[other].end_s > state->start_s) {
        state->start_s = ranks->states[other].end_s;
        state->waited_for = other;
    }
}

static void finish(struct ll_ranks *ranks, uint32_t task, double end_s, struct ready *ready)
{
    assert(end_s >= ranks->states[task].start_s);
    struct state *state = &ranks->states[task];
    state->end_s = end_s;
    ranks->time_s = fmax(ranks->time_s, end_s);
    ranks->done++;
    if (state->stream != LL_NO_STREAM)
        ranks->stream_last[state->stream] = task;
    for (uint64_t i = ranks->first_next[task]; i < ranks->first_next[task + 1]; i++) {
        struct state *follower = &ranks->states[ranks->next[i]];
        wait_for(ranks, follower, task);
        if (--follower->waiting == 0)
            push(ranks, ready, ranks->next[i]);
    }
}

/* By readiness, it begins when its stream is free. */
static void take_turn(struct ll_ranks *ranks, struct state *state)
{
    uint32_t before = state->stream == LL_NO_STREAM ? LL_NO_TASK : ranks->stream_last[state->stream];
    if (before != LL_NO_TASK && ranks->states[before].end_s > state->start_s)
        wait_for(ranks, state, before);
}

/* A member of an exchange has come; with the last of them all begin, and end together. */
static void come(struct ll_ranks *ranks, uint32_t task, struct ready *ready)
{
    struct meeting *meeting = &ranks->meetings[ranks->states[task].partner];
    if (++meeting->ready < meeting->expected)
        return;
    for (uint32_t member = meeting->first; member != LL_NO_TASK; member = ranks->next_member[member]) {
        struct state *state = &ranks->states[member];
        take_turn(ranks, state);
        if (meeting->last == LL_NO_TASK || state->start_s > meeting->start_s) {
            meeting->start_s = state->start_s;
            meeting->last = member;
        }
    }
    for (uint32_t member = meeting->first; member != LL_NO_TASK; member = ranks->next_member[member]) {
        if (member != meeting->last && ranks->states[member].start_s < meeting->start_s)
            ranks->states[member].waited_for = meeting->last;
        finish(ranks, member, meeting->start_s + meeting->time_s, ready);
    }
}

static bool run_all(struct ll_ranks *ranks)
{
    struct ready ready = {.at = malloc(((size_t)ranks->count + 1) * sizeof *ready.at)};
    if (!ready.at)
        return false;
    for (uint32_t i = 0; i < ranks->count; i++)
        if (ranks->states[i].waiting == 0)
            push(ranks, &ready, i);
    while (ready.count > 0) {
        uint32_t task = pop(ranks, &ready);
        struct state *state = &ranks->states[task];
        if (state->task.kind == LL_TASK_JOIN) {
            come(ranks, task, &ready);
            continue;
        }
        take_turn(ranks, state);
        finish(ranks, task, state->start_s + (state->task.kind == LL_TASK_RECEIVE ? 0 : state->task.time_s),
               &ready);
    }
    free(ready.at);
    return true;
}

/* --- what never ends --- */

/* Something that this task waits for and that is not done; members of an exchange wait for the first of them
 * that has not come. */
static uint32_t obstacle_of(const struct ll_ranks *ranks, uint32_t task)
{
    const struct state *state = &ranks->states[task];
    for (uint32_t e = 0; e < state->edge_count; e++)
        if (isnan(ranks->states[ranks->edges[state->first_edge + e]].end_s))
            return ranks->edges[state->first_edge + e];
    if (is_received(state) && isnan(ranks->states[state->partner].end_s))
        return state->partner;
    if (state->task.kind == LL_TASK_JOIN)
        for (uint32_t m = ranks->meetings[state->partner].first; m != LL_NO_TASK; m = ranks->next_member[m])
            if (ranks->states[m].waiting > 0)
                return m;
    return LL_NO_TASK;
}

/* Walks from what is not done to what it waits for, until it comes round, and tells the round. */
static void complain_of_deadlock(const struct ll_ranks *ranks, struct ll_diags *diags)
{
    enum { MOST_TOLD = 8 };
    uint32_t task = 0;
    while (!isnan(ranks->states[task].end_s))
        task++;
    for (uint32_t i = 0; i < ranks->count; i++) /* by now it is on the round */
        task = obstacle_of(ranks, task);
    uint32_t first = task;
    for (uint32_t reported = 0; reported < MOST_TOLD; reported++) {
        uint32_t obstacle = obstacle_of(ranks, task);
        const struct ll_rank_task *a = &ranks->states[task].task, *b = &ranks->states[obstacle].task;
        ll_complain(diags, (struct ll_place){0},
                    "deadlock: rank %" PRIu32 ": `%.100s` waits for `%.100s` of rank %" PRIu32, a->rank,
                    a->name, b->name, b->rank);
        task = obstacle;
        if (task == first)
            break;
    }
}

bool ll_ranks_run(struct ll_ranks *ranks, struct ll_diags *diags)
{
    size_t before = diags->count;
    ranks->next_member = malloc(((size_t)ranks->count + 1) * sizeof *ranks->next_member);
    if (ranks->failed || !ranks->next_member || !match_messages(ranks, diags) || !match_joins(ranks))
        return false;
    for (uint32_t i = 0; i < ranks->meeting_count; i++)
        complain_of_absence(ranks, &ranks->meetings[i], diags);
    if (diags->count > before || !turn_edges(ranks))
        return false;
    for (uint32_t i = 0; i < ranks->count; i++)
        ranks->states[i].end_s = NAN;
    if (!run_all(ranks))
        return false;
    if (ranks->done < ranks->count)
        complain_of_deadlock(ranks, diags);
    return ranks->done == ranks->count;
}

double ll_ranks_start_s(const struct ll_ranks *ranks, uint32_t task)
{
    assert(task < ranks->count);
    return ranks->states[task].start_s;
}

double ll_ranks_end_s(const struct ll_ranks *ranks, uint32_t task)
{
    assert(task < ranks->count);
    return ranks->states[task].end_s;
}

uint32_t ll_ranks_waited_for(const struct ll_ranks *ranks, uint32_t task)
{
    assert(task < ranks->count);
    return ranks->states[task].waited_for;
}

double ll_ranks_time_s(const struct ll_ranks *ranks)
{
    return ranks->time_s;
}

/* The fullest of several ranks. One walk over the ops keeps the sum of live bytes of each rank; then follows
 * the footprint of the rank with the largest sum, as if no other rank had any storage. */

struct ranks {
    const struct ll_trace *trace;
    struct ll_liveness *lives;
    uint32_t *rank_of; /* by storage; LL_NONE where no op touches it */
    struct ll_chains births, deaths;
    uint64_t *live_bytes, *most_bytes; /* by rank */
};

static void claim(struct ranks *r, uint32_t tensor, uint32_t rank)
{
    uint32_t *owner = &r->rank_of[r->trace->tensors[tensor].storage];
    *owner = *owner == LL_NONE ? rank : *owner;
}

static void find_owners(struct ranks *r)
{
    const struct ll_trace *trace = r->trace;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
        for (uint32_t i = 0; i < view->input_count; i++)
            claim(r, ll_op_input(trace, op, i), trace->ops[op].thread);
        for (uint32_t i = 0; i < view->output_count; i++)
            claim(r, ll_op_output(trace, op, i), trace->ops[op].thread);
    }
}

static void sum_lives(struct ranks *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        for (uint32_t s = r->births.first[op]; s != LL_NONE; s = r->births.next[s]) {
            uint32_t rank = r->rank_of[s];
            if (rank == LL_NONE)
                continue;
            r->live_bytes[rank] = ll_add(r->live_bytes[rank], r->lives[s].bytes);
            r->most_bytes[rank] = ll_max(r->most_bytes[rank], r->live_bytes[rank]);
        }
        for (uint32_t s = r->deaths.first[op]; s != LL_NONE; s = r->deaths.next[s]) {
            uint32_t rank = r->rank_of[s];
            if (rank != LL_NONE)
                r->live_bytes[rank] = ll_sub(r->live_bytes[rank], r->lives[s].bytes);
        }
    }
}

static bool make_room(struct ranks *r, uint32_t ranks, struct ll_arena *arena)
{
    const struct ll_trace *trace = r->trace;
    r->lives = ll_trace_liveness(trace, arena);
    r->rank_of = ll_alloc(arena, trace->storage_count + 1, sizeof *r->rank_of);
    r->live_bytes = ll_alloc(arena, ranks, sizeof *r->live_bytes);
    r->most_bytes = ll_alloc(arena, ranks, sizeof *r->most_bytes);
    if (!r->lives || !r->rank_of || !r->live_bytes || !r->most_bytes)
        return false;
    memset(r->rank_of, 0xff, trace->storage_count * sizeof *r->rank_of);
    return ll_chain(trace, r->lives, false, &r->births, arena) &&
           ll_chain(trace, r->lives, true, &r->deaths, arena);
}

bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint)
{
    assert(ranks > 0);
    struct ll_arena arena = {0};
    struct ranks r = {.trace = trace};
    uint32_t fullest = 0;
    bool done = make_room(&r, ranks, &arena);
    if (done) {
        find_owners(&r);
        sum_lives(&r);
        for (uint32_t rank = 1; rank < ranks; rank++)
            fullest = r.most_bytes[rank] > r.most_bytes[fullest] ? rank : fullest;
        for (uint64_t s = 0; s < trace->storage_count; s++)
            r.lives[s].first = r.rank_of[s] == fullest ? r.lives[s].first : LL_NONE;
        done = ll_footprint_of_lives(trace, r.lives, footprint);
    }
    ll_arena_release(&arena);
    return done;
}

/* How long each op takes by itself a plain replay says; when it starts, the ranks. */

/* Streams of a rank; those of the network follow, one for each level. */
enum { STREAM_DEVICE, STREAM_HOST, STREAM_NETWORK };

struct building {
    const struct ll_result *plain;
    const struct ll_prepared *prepared;
    struct ll_ranks *ranks;
    uint32_t *after;
    uint64_t after_capacity;
    uint32_t rank_count;
};

bool ll_is_of_one_rank(const struct ll_trace *trace, struct ll_diags *diags)
{
    uint32_t ranks = ll_trace_ranks(trace);
    return ranks == 1 ||
           ll_complain(diags, (struct ll_place){.file = ll_trace_fact(trace, "model")},
                       "the trace is of %" PRIu32
                       " ranks, a device each, which cannot be spread over others; a trace of one rank can",
                       ranks);
}

static const struct ll_op_signature *signature_of(const struct building *b, uint32_t seq)
{
    return &b->prepared->trace->signatures[b->prepared->trace->ops[seq].signature];
}

static uint32_t stream_of(const struct building *b, uint32_t seq)
{
    uint32_t signature = b->prepared->trace->ops[seq].signature;
    switch (b->prepared->works[signature].kind) {
    case LL_WORK_WAIT:
        return LL_NO_STREAM;
    case LL_WORK_HOST:
    case LL_WORK_SWAP:
        return STREAM_HOST;
    case LL_WORK_COLLECTIVE:
        if (signature_of(b, seq)->view.kind == LL_OP_RECEIVE)
            return LL_NO_STREAM; /* it holds nothing back until its message is there, as in ASTRA-sim */
        return STREAM_NETWORK + b->plain->prices[signature].outermost;
    default:
        return STREAM_DEVICE;
    }
}

/* What an exchange waits for beside its own rank. */
static void meet_others(const struct building *b, uint32_t seq, struct ll_rank_task *task)
{
    const struct ll_op_view *view = &signature_of(b, seq)->view;
    uint32_t signature = b->prepared->trace->ops[seq].signature;
    int64_t other = (int64_t)task->rank + ll_attr_count(view, LL_ATTR_PEER, 0);
    if (view->kind == LL_OP_SEND || view->kind == LL_OP_RECEIVE) {
        task->kind = view->kind == LL_OP_SEND ? LL_TASK_SEND : LL_TASK_RECEIVE;
        task->other = other >= 0 && other < (int64_t)UINT32_MAX ? (uint32_t)other : UINT32_MAX;
        task->tag = (uint64_t)ll_attr_count(view, LL_ATTR_TAG, 0);
    } else if (b->prepared->works[signature].kind == LL_WORK_COLLECTIVE) {
        int64_t devices = ll_attr_count(view, LL_ATTR_DEVICES, b->rank_count);
        task->kind = LL_TASK_JOIN;
        task->tag = (uint64_t)ll_attr_count(view, LL_ATTR_GROUP, 0);
        task->other = (uint32_t)(devices > 0 && devices <= b->rank_count ? devices : b->rank_count);
    }
}

static bool add_op(struct building *b, uint32_t seq)
{
    const struct ll_deps *deps = b->prepared->deps;
    const struct ll_trace *trace = b->prepared->trace;
    uint32_t first = b->prepared->first_op, count = 0;
    struct ll_rank_task task = {.kind = LL_TASK_WORK,
                                .rank = trace->ops[seq].thread,
                                .stream = stream_of(b, seq),
                                .time_s = b->plain->ops[seq - first].time_s,
                                .name = trace->strings[signature_of(b, seq)->scope]};
    if (!ll_grow(&b->after, &b->after_capacity, deps->first[seq + 1] - deps->first[seq] + 1,
                 sizeof *b->after))
        return false;
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++)
        if (deps->ops[i] >= first)
            b->after[count++] = deps->ops[i] - first;
    meet_others(b, seq, &task);
    return ll_ranks_add(b->ranks, &task, b->after, count) != LL_NO_TASK;
}

/* What an exchange of the chain took held back the level that it reached. */
static void spend_on_network(const struct building *b, uint32_t task, double spent_s,
                             struct ll_result *result)
{
    uint32_t signature = b->prepared->trace->ops[b->prepared->first_op + task].signature;
    if (result->ops[task].bound == LL_BOUND_NETWORK)
        result->network.levels[result->prices[signature].outermost].share += spent_s;
}

/* Walks back along what was waited for; each link of the chain is spent on what bound the op. Members of an
 * exchange that waited for the last of them spend nothing. */
static void share_out(const struct building *b, struct ll_result *result, uint32_t last)
{
    double total_s = 0, gaps_s = 0, spent_s[LL_BOUND_COUNT] = {0};
    double from_s[LL_TIME_ORIGIN_COUNT] = {0};
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        result->network.levels[l].share = 0;
    for (uint32_t task = last; task != LL_NO_TASK;) {
        uint32_t before = ll_ranks_waited_for(b->ranks, task);
        double since_s = before == LL_NO_TASK ? 0 : ll_ranks_end_s(b->ranks, before);
        double here_s = fmax(0, ll_ranks_end_s(b->ranks, task) - since_s);
        spent_s[result->ops[task].bound] += here_s;
        from_s[result->ops[task].origin] += here_s;
        if (b->prepared->works[b->prepared->trace->ops[b->prepared->first_op + task].signature].kind ==
            LL_WORK_WAIT)
            gaps_s += here_s;
        spend_on_network(b, task, here_s, result);
        task = before;
    }
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        total_s += spent_s[i];
    for (unsigned i = 0; i < LL_BOUND_COUNT && total_s > 0; i++)
        result->shares[i] = spent_s[i] / total_s;
    result->gap_share = total_s > 0 ? gaps_s / total_s : 0;
    ll_share_origins(from_s, total_s, result);
    assert(total_s >= 0 && gaps_s <= total_s * (1 + 1e-9));
    for (unsigned l = 0; l < LL_MAX_LINKS && total_s > 0; l++)
        result->network.levels[l].share /= total_s;
}

/* Every op where it runs, its waiting for others left out. */
static void place_ops(const struct building *b, struct ll_op_result *ops)
{
    for (uint32_t i = 0; i < b->prepared->end_op - b->prepared->first_op; i++) {
        ops[i] = b->plain->ops[i];
        ops[i].start_s = ll_ranks_end_s(b->ranks, i) - ops[i].time_s;
    }
}

/* Times as the ranks have them, of which rank, and which op was the last. */
static uint32_t take_times(const struct building *b, struct ll_op_result *ops, struct ll_rank_use *uses)
{
    uint32_t count = b->prepared->end_op - b->prepared->first_op, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ll_rank_use *use = &uses[b->prepared->trace->ops[b->prepared->first_op + i].thread];
        double end_s = ll_ranks_end_s(b->ranks, i);
        ops[i] = b->plain->ops[i];
        ops[i].start_s = ll_ranks_start_s(b->ranks, i);
        if (stream_of(b, b->prepared->first_op + i) == STREAM_DEVICE)
            use->busy_s += ops[i].active_s;
        else
            ops[i].time_s = end_s - ops[i].start_s; /* with what it waits for others */
        use->end_s = fmax(use->end_s, end_s);
        last = end_s > ll_ranks_end_s(b->ranks, last) ? i : last;
    }
    return last;
}

/* What flows all the time does so in each device until the last is done. */
static void average_energy(double ranks, struct ll_result *result)
{
    struct ll_energy_parts all = result->energy;
    result->energy = (struct ll_energy_parts){0};
    ll_energy_add(&result->energy, &all, 1 / ranks);
    result->energy.static_j = ll_machine_static_w(result->machine) * result->time_s;
    result->energy_j = isnan(result->energy_j) ? NAN : ll_energy_sum(&result->energy);
}

/* What was summed over the ranks becomes that of a rank, on average; memory that of the fullest. False when
 * memory ran out. */
static bool average(double ranks, struct ll_arena *arena, struct ll_result *result)
{
    assert(ranks >= 1);
    struct ll_prepared *prepared = ll_alloc(arena, 1, sizeof *prepared);
    struct ll_kind_result *kinds = ll_alloc(arena, result->kind_count, sizeof *kinds);
    struct ll_footprint footprint;
    if (!prepared || !kinds || !ll_fullest_rank(result->prepared->trace, (uint32_t)ranks, &footprint))
        return false;
    *prepared = *result->prepared;
    prepared->footprint = footprint;
    prepared->flops /= ranks;
    prepared->bytes /= ranks;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        kinds[i] = result->kinds[i];
        kinds[i].count /= ranks;
        kinds[i].time_s /= ranks;
        kinds[i].bound_s /= ranks;
        kinds[i].flops /= ranks;
        kinds[i].bytes /= ranks;
    }
    result->prepared = prepared;
    result->footprint = &prepared->footprint;
    result->fits =
        ll_footprint_fits(&footprint, result->machine->levels[result->machine->level_count - 1].size_bytes);
    result->kinds = kinds;
    result->device_active_s /= ranks;
    result->starting_s /= ranks;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        result->level_bytes[l] /= ranks;
    result->network.links_j /= ranks;
    result->network.busy_s /= ranks;
    result->network.exposed_s /= ranks;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++) {
        result->network.levels[l].busy_s /= ranks;
        result->network.levels[l].exposed_s /= ranks;
        result->network.levels[l].sent_bytes /= ranks;
    }
    return true;
}

/* One result of all ranks: times and energy are means over ranks, utilizations are over the time of the
 * slowest, and bottlenecks follow the critical path across ranks. NULL when memory ran out. */
static const struct ll_multi_rank_result *sum_up(const struct building *b, struct ll_arena *arena)
{
    const struct ll_prepared *prepared = b->prepared;
    struct ll_multi_rank_result *multi_rank = ll_alloc(arena, 1, sizeof *multi_rank);
    struct ll_result *result = ll_alloc(arena, 1, sizeof *result);
    struct ll_op_result *ops = ll_alloc(arena, prepared->end_op - prepared->first_op, sizeof *ops);
    struct ll_rank_use *uses = ll_alloc(arena, b->rank_count, sizeof *uses);
    if (!multi_rank || !result || !ops || !uses)
        return NULL;
    *result = *b->plain;
    result->ops = ops;
    place_ops(b, ops);
    if (!ll_find_exposure_of_ranks(result, b->rank_count))
        return NULL;
    uint32_t last = take_times(b, ops, uses);
    double ranks = b->rank_count, plain_s = result->time_s;
    if (!average(ranks, arena, result))
        return NULL;
    result->time_s = ll_ranks_time_s(b->ranks) / (double)prepared->steps;
    average_energy(ranks, result);
    result->flop_utilization *= result->time_s > 0 ? plain_s / ranks / result->time_s : 0;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        result->level_share[l] *= result->time_s > 0 ? plain_s / ranks / result->time_s : 0;
    share_out(b, result, last);
    *multi_rank =
        (struct ll_multi_rank_result){.result = result,
                                      .ranks = uses,
                                      .rank_count = b->rank_count,
                                      .last = prepared->trace->ops[prepared->first_op + last].thread};
    return multi_rank;
}

/* All ranks' ops one behind the other: how long each takes by itself. They are on the machine's first
 * devices, and no others exchange beside them. */
static const struct ll_result *replay_apart(const struct ll_prepared *prepared,
                                            const struct ll_machine *machine,
                                            struct ll_remembered *remembered, struct ll_arena *arena,
                                            struct ll_diags *diags)
{
    const uint32_t ranks = ll_trace_ranks(prepared->trace);
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, ranks > 1 ? ranks : 0, &remembered->prices);
    const struct ll_among among = {.exchanges = exchanges, .memo = &remembered->costs, .apart = true};
    ll_memo_turn(&remembered->costs, machine);
    const struct ll_result *result =
        exchanges ? ll_replay_among(prepared, machine, &among, arena, diags) : NULL;
    ll_exchanges_free(exchanges);
    return result;
}

const struct ll_multi_rank_result *ll_multi_rank_replay(const struct ll_prepared *prepared,
                                                        const struct ll_machine *machine,
                                                        struct ll_remembered *remembered,
                                                        struct ll_arena *arena, struct ll_diags *diags)
{
    struct building b = {.prepared = prepared,
                         .plain = replay_apart(prepared, machine, remembered, arena, diags),
                         .ranks = ll_ranks_new(),
                         .rank_count = ll_trace_ranks(prepared->trace)};
    bool done = b.plain && b.ranks;
    if (done && ll_trace_fact(prepared->trace, "ranks.order"))
        ll_ranks_by_readiness(b.ranks);
    for (uint32_t seq = prepared->first_op; done && seq < prepared->end_op; seq++)
        done = add_op(&b, seq);
    done = done && ll_ranks_run(b.ranks, diags);
    const struct ll_multi_rank_result *multi_rank = done ? sum_up(&b, arena) : NULL;
    ll_ranks_free(b.ranks);
    free(b.after);
    return multi_rank;
}

struct again {
    const struct ll_prepared *prepared;
    struct ll_remembered *remembered;
};

static double multi_rank_s(const struct ll_machine *machine, void *context)
{
    const struct again *again = context;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    const struct ll_multi_rank_result *multi_rank =
        ll_multi_rank_replay(again->prepared, machine, again->remembered, &scratch, &diags);
    double time_s = multi_rank ? multi_rank->result->time_s : -1;
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return time_s;
}

const struct ll_gain *ll_multi_rank_what_if(const struct ll_multi_rank_result *multi_rank,
                                            struct ll_remembered *remembered, struct ll_arena *arena,
                                            size_t *count)
{
    const struct ll_result *result = multi_rank->result;
    struct again again = {result->prepared, remembered};
    return ll_turn_knobs(result->machine, result->time_s, multi_rank_s, &again, arena, count);
}
