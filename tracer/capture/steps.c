/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates first: each call proposes the distance to where its look came last. Of a step, the calls that it
 * makes once all propose the step's length, the others something shorter. The distances that most propose are
 * tried one after the other; each trial is one pass. */
#include "tracer/capture/steps.h"

#include <stdlib.h>

#include "tracer/base/map.h"
#include "tracer/ir/trace.h"

enum {
    TRIALS = 16,
    GRAM = 4 /* a look is that of so many calls in a row: rarer than that of one */
};

struct vote {
    uint64_t distance, votes;
};

struct gram {
    uint32_t looks[GRAM];
};

static int by_votes(const void *a, const void *b)
{
    const struct vote *left = a, *right = b;
    if (left->votes != right->votes)
        return left->votes < right->votes ? 1 : -1;
    return left->distance < right->distance ? -1 : left->distance > right->distance;
}

/* votes[d] for each distance d < count; false when memory ran out. */
static bool count_votes(const struct ll_repeat_call *calls, uint64_t count, struct vote *votes)
{
    struct ll_map grams = {0};
    uint32_t *last = calloc(count + 1, sizeof *last);
    bool room = last != NULL;
    for (uint64_t i = 0; i < count; i++)
        votes[i] = (struct vote){.distance = i};
    for (uint64_t i = GRAM; room && i <= count; i++) {
        struct gram gram;
        bool is_new;
        for (int k = 0; k < GRAM; k++)
            gram.looks[k] = calls[i - GRAM + (uint64_t)k].look;
        uint32_t number = ll_map_intern(&grams, &gram, sizeof gram, &is_new);
        room = number != LL_NO_ID;
        if (room && !is_new)
            votes[i - last[number]].votes++;
        if (room)
            last[number] = (uint32_t)i;
    }
    ll_map_release(&grams);
    free(last);
    return room;
}

static bool alike(const struct ll_repeat_call *calls, uint64_t i, uint64_t period)
{
    return calls[i].look == calls[i - period].look;
}

/* Whether both read the same tensor that the program brought, and `all` or nobody has updated it. */
static bool share(const struct ll_repeat_call *a, const struct ll_repeat_call *b, bool all)
{
    for (int i = 0; i < LL_REPEAT_BROUGHT; i++)
        for (int j = 0; j < LL_REPEAT_BROUGHT; j++)
            if (a->brought[i] != LL_NONE && a->brought[i] == b->brought[j] &&
                (all || (!a->updated[i] && !b->updated[j])))
                return true;
    return false;
}

/* Whether it reads what the program brought and nobody has updated. */
static bool reads_as_brought(const struct ll_repeat_call *call)
{
    for (int i = 0; i < LL_REPEAT_BROUGHT; i++)
        if (call->brought[i] != LL_NONE && !call->updated[i])
            return true;
    return false;
}

/* A stretch of calls, each alike the one a period before: its end, its length with the first period, and how
 * many of its calls share a tensor with the one before, and how many have another one instead. */
struct stretch {
    uint64_t length, end, sharing, others;
};

static struct stretch longest(const struct ll_repeat_call *calls, uint64_t count, uint64_t period, bool all)
{
    struct stretch best = {0}, run = {0};
    for (uint64_t i = period; i < count; i++) {
        const struct ll_repeat_call *call = &calls[i], *before = &calls[i - period];
        if (!alike(calls, i, period)) {
            run = (struct stretch){0};
            continue;
        }
        run.length++;
        run.end = i + 1;
        run.sharing += share(call, before, all);
        run.others += reads_as_brought(call) && reads_as_brought(before) && !share(call, before, false);
        if (run.length > best.length)
            best = run;
    }
    best.length += best.length ? period : 0;
    return best;
}

/* Steps: often enough, most of the program, and reading again what the step before has read; where that may
 * have been updated, not mostly something else as well. */
static bool is_step(const struct stretch *stretch, uint64_t period, uint64_t count, bool all)
{
    uint64_t again = stretch->length - period;
    return period >= LL_REPEAT_LEAST_CALLS && stretch->length >= LL_REPEAT_LEAST_TIMES * period &&
           2 * stretch->length >= count && stretch->sharing * period >= again &&
           (!all || 2 * stretch->others <= again);
}

/* The best of the distances that most propose; false when none is a step. */
static bool try_votes(const struct ll_repeat_call *calls, uint64_t count, const struct vote *votes, bool all,
                      struct ll_repetition *repetition)
{
    uint64_t best = 0;
    for (uint64_t i = 0; i < count && i < TRIALS && votes[i].votes > 0; i++) {
        uint64_t period = votes[i].distance;
        struct stretch stretch = longest(calls, count, period, all);
        if (stretch.length < best || (stretch.length == best && period >= repetition->period) ||
            !is_step(&stretch, period, count, all))
            continue;
        best = stretch.length;
        *repetition = (struct ll_repetition){stretch.end - stretch.length, period, stretch.length / period};
    }
    return best > 0;
}

/* False when these calls do not repeat, or memory ran out. Pure. */
static bool find_repetition(const struct ll_repeat_call *calls, uint64_t count,
                            struct ll_repetition *repetition)
{
    struct vote *votes = calloc(count + 1, sizeof *votes);
    bool found = votes && count_votes(calls, count, votes);
    if (found) {
        qsort(votes, count, sizeof *votes, by_votes);
        found = try_votes(calls, count, votes, false, repetition) ||
                try_votes(calls, count, votes, true, repetition);
    }
    free(votes);
    return found;
}

struct ll_cut_call {
    struct ll_repeat_call call;
    uint64_t start_ns;
};

bool ll_cuts_prepare(struct ll_cuts *cuts)
{
    return ll_grow((void **)&cuts->calls, &cuts->call_capacity, LL_REPEAT_WINDOW, sizeof *cuts->calls);
}

void ll_cuts_release(struct ll_cuts *cuts)
{
    free(cuts->marks);
    free(cuts->calls);
    *cuts = (struct ll_cuts){0};
}

void ll_cuts_call(struct ll_cuts *cuts, const struct ll_repeat_call *call, uint64_t start_ns)
{
    cuts->calls[cuts->call_count++ % LL_REPEAT_WINDOW] =
        (struct ll_cut_call){.call = *call, .start_ns = start_ns};
}

bool ll_cuts_mark(struct ll_cuts *cuts, uint32_t op, uint64_t ns)
{
    if (!ll_grow((void **)&cuts->marks, &cuts->mark_capacity, cuts->mark_count + 2, sizeof *cuts->marks))
        return false;
    if (cuts->mark_count == 0)
        cuts->marks[cuts->mark_count++] = (struct ll_step){.complete = false};
    if (cuts->mark_count == 1 || cuts->calls_marked < cuts->call_count)
        cuts->mark_count++;
    cuts->marks[cuts->mark_count - 1] = (struct ll_step){.first_op = op, .start_ns = ns, .complete = true};
    cuts->calls_marked = cuts->call_count;
    return true;
}

/* Each step ends where the next one begins. */
static void cut_at(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end,
                   struct ll_step *made, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        uint64_t end_ns = last ? end->ns : made[i + 1].start_ns;
        uint32_t end_op = last ? end->op : made[i + 1].first_op;
        made[i].op_count = end_op - made[i].first_op;
        made[i].wall_ns = end_ns > made[i].start_ns ? end_ns - made[i].start_ns : 0;
        cuts->whole += made[i].complete;
    }
    ll_recorder_cut(recorder, made, count);
}

static void cut_at_marks(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end)
{
    uint64_t first = cuts->marks[1].first_op > 0 ? 0 : 1;
    cuts->marks[cuts->mark_count - 1].complete = false;
    cut_at(cuts, recorder, end, cuts->marks + first, cuts->mark_count - first);
}

/* The last calls in their order, and what comes behind them. */
static void unroll(const struct ll_cuts *cuts, const struct ll_cuts_end *end, uint64_t count,
                   struct ll_repeat_call *calls, uint64_t *starts)
{
    uint64_t first = cuts->call_count - count;
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_cut_call *from = &cuts->calls[(first + i) % LL_REPEAT_WINDOW];
        calls[i] = from->call;
        starts[i] = from->start_ns;
    }
    calls[count].op = end->calls_op;
    starts[count] = end->calls_ns;
}

static void cut_at_repetitions(struct ll_cuts *cuts, struct ll_recorder *recorder,
                               const struct ll_cuts_end *end, const struct ll_repetition *found,
                               const struct ll_repeat_call *calls, const uint64_t *starts)
{
    struct ll_step *made = calloc(found->count + 2, sizeof *made);
    uint64_t count = 0;
    if (!made)
        return;
    if (calls[found->first].op > 0)
        made[count++] = (struct ll_step){.complete = false};
    for (uint64_t i = 0; i <= found->count; i++) {
        uint64_t at = found->first + i * found->period;
        if (calls[at].op < end->op)
            made[count++] = (struct ll_step){
                .first_op = calls[at].op, .start_ns = starts[at], .complete = i < found->count};
    }
    cut_at(cuts, recorder, end, made, count);
    cuts->period = found->period;
    free(made);
}

static void find_repetitions(struct ll_cuts *cuts, struct ll_recorder *recorder,
                             const struct ll_cuts_end *end)
{
    uint64_t count = ll_min(cuts->call_count, LL_REPEAT_WINDOW);
    struct ll_repeat_call *calls = calloc(count + 1, sizeof *calls);
    uint64_t *starts = calloc(count + 1, sizeof *starts);
    struct ll_repetition found;
    if (calls && starts) {
        unroll(cuts, end, count, calls, starts);
        if (find_repetition(calls, count, &found))
            cut_at_repetitions(cuts, recorder, end, &found, calls, starts);
    }
    free(calls);
    free(starts);
}

void ll_cuts_cut(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end)
{
    if (cuts->mark_count > 0)
        cut_at_marks(cuts, recorder, end);
    else if (cuts->call_count > 0)
        find_repetitions(cuts, recorder, end);
}
