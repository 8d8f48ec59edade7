/* SPDX-License-Identifier: Apache-2.0 */
/* Times are the longest ways through a graph: from what a task comes after, from the task before it on its
 * stream, from a send to its receive. A task is done when all before it are (Kahn, 1962); the members of an
 * exchange are done together, when the last of them is ready. What is never ready is a deadlock.
 *
 * By readiness, a stream is no part of that graph: tasks are taken in the order of the times at which they
 * become ready, and each begins when its stream is free. An exchange takes its members' streams when all have
 * come. */
#include "sim/parallel/ranks.h"

#include "tracer/base/arena.h"
#include "tracer/base/map.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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
    for (uint32_t told = 0; told < MOST_TOLD; told++) {
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
    return ranks->states[task].start_s;
}

double ll_ranks_end_s(const struct ll_ranks *ranks, uint32_t task)
{
    return ranks->states[task].end_s;
}

uint32_t ll_ranks_waited_for(const struct ll_ranks *ranks, uint32_t task)
{
    return ranks->states[task].waited_for;
}

double ll_ranks_time_s(const struct ll_ranks *ranks)
{
    return ranks->time_s;
}
