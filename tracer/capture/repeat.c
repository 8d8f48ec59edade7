/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates first: each call proposes the distance to where its look came last. Of a step, the calls that it
 * makes once all propose the step's length, the others something shorter. The distances that most propose are
 * tried one after the other; each trial is one pass. */
#include "tracer/capture/repeat.h"

#include "tracer/base/map.h"
#include "tracer/ir/trace.h"

#include <stdlib.h>

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

bool ll_find_repetition(const struct ll_repeat_call *calls, uint64_t count, struct ll_repetition *repetition)
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
