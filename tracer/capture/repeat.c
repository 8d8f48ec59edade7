/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates first: each call proposes the distance to where its look came last. Of a step, the calls that it
 * makes once all propose the step's length, the others something shorter. The distances that most propose are
 * tried one after the other; each trial is one pass. */
#include "tracer/capture/repeat.h"

#include "tracer/base/map.h"
#include "tracer/trace.h"

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

/* Whether both read the same tensor that no call made. */
static bool share(const struct ll_repeat_call *a, const struct ll_repeat_call *b)
{
    for (int i = 0; i < LL_REPEAT_BROUGHT; i++)
        for (int j = 0; j < LL_REPEAT_BROUGHT; j++)
            if (a->brought[i] != LL_NONE && a->brought[i] == b->brought[j])
                return true;
    return false;
}

/* The longest stretch in which each call is the one `period` before; its end, and its length with the first
 * period. Of the calls in it, `sharing` read a tensor that the one before also read. */
static uint64_t longest(const struct ll_repeat_call *calls, uint64_t count, uint64_t period, uint64_t *end,
                        uint64_t *sharing)
{
    uint64_t best = 0, run = 0, shared = 0;
    for (uint64_t i = period; i < count; i++) {
        bool same = alike(calls, i, period);
        shared = same ? shared : 0;
        run = same ? run + 1 : 0;
        shared += same && share(&calls[i], &calls[i - period]);
        if (run > best) {
            best = run;
            *end = i + 1;
            *sharing = shared;
        }
    }
    return best ? best + period : 0;
}

/* Steps: often enough, most of the program, and reading again what the step before has read. */
static bool is_step(uint64_t length, uint64_t period, uint64_t sharing, uint64_t count)
{
    return period >= LL_REPEAT_LEAST_CALLS && length >= LL_REPEAT_LEAST_TIMES * period &&
           2 * length >= count && sharing * period >= length - period;
}

bool ll_find_repetition(const struct ll_repeat_call *calls, uint64_t count, struct ll_repetition *repetition)
{
    struct vote *votes = calloc(count + 1, sizeof *votes);
    uint64_t best = 0;
    if (!votes || !count_votes(calls, count, votes)) {
        free(votes);
        return false;
    }
    qsort(votes, count, sizeof *votes, by_votes);
    for (uint64_t i = 0; i < count && i < TRIALS && votes[i].votes > 0; i++) {
        uint64_t period = votes[i].distance, end = 0, sharing = 0;
        uint64_t length = longest(calls, count, period, &end, &sharing);
        if (!is_step(length, period, sharing, count) || length < best ||
            (length == best && period >= repetition->period))
            continue;
        best = length;
        *repetition = (struct ll_repetition){end - length, period, length / period};
    }
    free(votes);
    return best > 0;
}
