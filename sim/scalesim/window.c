/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "sim/scalesim/buffers.h"
#include "tracer/base/num.h"

/* Three observations save most of the looking, without changing a count:
 *
 * - What was walked from beginning to end since the window began is all in it: a second walk only hits.
 * - Where each address occurs once and comes back only after more words than a window holds, it is never
 *   there any more: all miss, and a line needs counting only.
 * - Addresses outside the image carry a mark larger than any window's and so never miss. */

enum { SETS = 50, WORDS_PER_CYCLE = 10, OUTSIDE = UINT16_MAX };

bool ll_scalesim_window_open(struct ll_scalesim_window *window, const struct ll_scalesim_demand *demand,
                             const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                             struct ll_arena *arena)
{
    uint64_t set_words = buffer_words / 100;
    assert(set_words > 0);
    *window = (struct ll_scalesim_window){
        .demand = demand,
        .seen = ll_alloc(arena, (size_t)demand->addresses, sizeof *window->seen),
        .walked = ll_alloc(arena, (size_t)(folds->row_folds + folds->column_folds), sizeof *window->walked),
        .set_words = set_words,
        .words = SETS * set_words,
        .number = 1,
        .mark = 1,
        .first_cycle = -1,
        .change_cycle = -1,
    };
    if (!window->seen || !window->walked)
        return false;
    for (uint64_t a = 0; demand->padded && a < demand->addresses; a++)
        window->seen[a] = outside(demand, a) ? OUTSIDE : 0;
    return true;
}

/* How many words are asked between two requests of one address: a fold of the array's columns is walked again
 * and again before the next, folds of its rows take turns; what is stationary never comes back. */
static uint64_t period(const struct ll_scalesim_demand *demand, uint64_t column_fold)
{
    if (demand->across_rows)
        return demand->across_count * demand->along_count;
    return ll_min(demand->width, demand->across_count - column_fold * demand->width) * demand->along_count;
}

void ll_scalesim_window_fold(struct ll_scalesim_window *window, uint64_t row_fold, uint64_t column_fold)
{
    const struct ll_scalesim_demand *demand = window->demand;
    uint64_t *walked = &window->walked[demand->across_rows ? row_fold : column_fold];
    if (demand->once && (demand->stationary || period(demand, column_fold) >= window->words))
        window->look = ALL_MISS;
    else if (!demand->stationary && *walked == window->number)
        window->look = ALL_HIT;
    else
        window->look = EACH;
    *walked = window->number;
}

static void begin_window(struct ll_scalesim_window *window, int64_t cycle)
{
    window->number++;
    window->held = 0;
    window->change_cycle = cycle;
    if (++window->mark < OUTSIDE)
        return;
    window->mark = 1;
    for (uint64_t a = 0; a < window->demand->addresses; a++)
        window->seen[a] = window->seen[a] == OUTSIDE ? OUTSIDE : 0;
}

static void look_at_each(struct ll_scalesim_window *window, const struct ll_scalesim_line *line,
                         int64_t cycle)
{
    uint16_t *seen = window->seen;
    for (uint64_t i = 0; i < line->count; i++) {
        uint32_t address = line_address(line, i);
        if (seen[address] >= window->mark)
            continue;
        seen[address] = window->mark;
        window->fetched++;
        if (++window->held == window->words)
            begin_window(window, cycle);
    }
}

void ll_scalesim_window_read(struct ll_scalesim_window *window, const struct ll_scalesim_line *line,
                             int64_t cycle)
{
    if (window->first_cycle < 0)
        window->first_cycle = cycle;
    if (window->look == EACH)
        look_at_each(window, line, cycle);
    if (window->look != ALL_MISS)
        return;
    window->fetched += line->count;
    window->held += line->count;
    while (window->held >= window->words) {
        uint64_t rest = window->held - window->words;
        begin_window(window, cycle);
        window->held = rest;
    }
    assert(window->held < window->words && window->held <= window->fetched);
}

/* The first window is thought filled in advance at 10 words a cycle, up to two cycles before the first
 * request; a window that never filled, so far as whole sets go, up to cycle -1. Responses come a cycle later.
 */
struct ll_scalesim_port ll_scalesim_window_close(const struct ll_scalesim_window *window)
{
    bool changed = window->change_cycle >= 0;
    uint64_t words =
        changed ? window->words : ll_ceil_div(window->fetched, window->set_words) * window->set_words;
    int64_t cycles = (int64_t)ll_ceil_div(words, WORDS_PER_CYCLE);
    return (struct ll_scalesim_port){
        .start_cycle = changed ? window->first_cycle - cycles : -cycles,
        .stop_cycle = changed ? window->change_cycle + 1 : -1,
        .words = window->fetched,
    };
}
