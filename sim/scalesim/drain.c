/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "sim/scalesim/buffers.h"
#include "tracer/base/num.h"

static void close_line(struct ll_scalesim_drain *drain)
{
    if (drain->open_words == 0)
        return;
    drain->failed |= !ll_grow(&drain->short_lines, &drain->short_capacity, drain->short_count + 1,
                              sizeof *drain->short_lines);
    if (!drain->failed)
        drain->short_lines[drain->short_count++] = (struct short_line){drain->lines, drain->open_words};
    drain->lines++;
    drain->open_words = 0;
}

/* How many words less than a full line the line of this index holds; lines are asked in rising order. */
static uint64_t shortfall(struct ll_scalesim_drain *drain, uint64_t index)
{
    while (drain->oldest_short < drain->short_count && drain->short_lines[drain->oldest_short].index < index)
        drain->oldest_short++;
    if (drain->oldest_short == drain->short_count || drain->short_lines[drain->oldest_short].index != index)
        return 0;
    return drain->line_words - drain->short_lines[drain->oldest_short].words;
}

static void drain_half(struct ll_scalesim_drain *drain, int64_t cycle)
{
    uint64_t half_lines = ll_ceil_div((uint64_t)drain->buffer_words / 2, drain->line_words);
    assert(drain->drained <= drain->lines && drain->line_words > 0);
    uint64_t lines = ll_min(half_lines, drain->lines - drain->drained);
    drain->drained += lines;
    uint64_t words = lines * drain->line_words - shortfall(drain, drain->drained - 1);
    drain->words += words;
    drain->used_words -= (int64_t)words;
    drain->end_cycle = cycle + (int64_t)lines - 1;
    if (!drain->began || drain->end_cycle > drain->latest_cycle)
        drain->latest_cycle = drain->end_cycle;
    if (!drain->began)
        drain->first_cycle = cycle;
    drain->began = true;
}

static void store(struct ll_scalesim_drain *drain, uint64_t words)
{
    drain->used_words += (int64_t)words;
    drain->open_words += words;
    drain->lines += drain->open_words / drain->line_words;
    drain->open_words %= drain->line_words;
}

/* Word by word: somewhere among them the buffer fills or a drain begins. */
static int64_t write_each(struct ll_scalesim_drain *drain, uint64_t words, int64_t cycle)
{
    for (; words > 0; words--) {
        store(drain, 1);
        int64_t free_words = drain->buffer_words - drain->used_words;
        if (cycle < drain->end_cycle) {
            if (free_words <= 0)
                cycle = drain->end_cycle;
        } else if (free_words < drain->buffer_words - drain->buffer_words / 2) {
            close_line(drain);
            drain_half(drain, cycle);
        }
    }
    return cycle;
}

int64_t ll_scalesim_drain_write(struct ll_scalesim_drain *drain, uint64_t words, int64_t cycle)
{
    int64_t free_words = drain->buffer_words - drain->used_words - (int64_t)words;
    bool draining = cycle < drain->end_cycle;
    if (draining ? free_words <= 0 : free_words < drain->buffer_words - drain->buffer_words / 2)
        return write_each(drain, words, cycle);
    store(drain, words);
    return cycle;
}

/* Between two lines in which the buffer drains or is full, words only add up. The first line from t on in
 * which something happens: while it drains, when the buffer is full; else when more than half of it is. */
static uint64_t next_event(const struct ll_scalesim_drain *drain, const struct ll_scalesim_ramp *ramp,
                           uint64_t t, uint64_t taken, int64_t first_cycle)
{
    uint64_t all = ramp->width * ramp->length, last = ramp_last(ramp), never = last + 1;
    int64_t to_full = drain->buffer_words - drain->used_words;
    int64_t to_half = drain->buffer_words / 2 - drain->used_words + 1;
    int64_t free_line = drain->end_cycle - first_cycle; /* from this line on nothing drains */
    uint64_t drained = free_line > (int64_t)t ? (uint64_t)free_line : t, full = never, half = never;
    if (to_full <= 0)
        full = t;
    else if (taken + (uint64_t)to_full <= all)
        full = ll_max(t, ll_scalesim_ramp_line(ramp, taken + (uint64_t)to_full));
    if (to_half <= 0)
        half = t;
    else if (taken + (uint64_t)to_half <= all)
        half = ll_max(t, ll_scalesim_ramp_line(ramp, taken + (uint64_t)to_half));
    return full < drained ? full : ll_max(half, drained);
}

uint64_t ll_scalesim_drain_pass(struct ll_scalesim_drain *drain, const struct ll_scalesim_ramp *ramp,
                                uint64_t t, uint64_t end, int64_t first_cycle)
{
    uint64_t until = ll_min(end, ramp_last(ramp) + 1);
    uint64_t taken = t > 0 ? ll_scalesim_ramp_words(ramp, t - 1) : 0;
    for (t = ll_max(t, ramp->delay); t < until; t++) {
        uint64_t event = ll_min(next_event(drain, ramp, t, taken, first_cycle), until);
        uint64_t before = event > ramp->delay ? ll_scalesim_ramp_words(ramp, event - 1) : 0;
        store(drain, before - taken);
        taken = before;
        t = event;
        if (event == until)
            break;
        uint64_t words = ll_scalesim_ramp_words(ramp, event) - taken;
        int64_t cycle = first_cycle + (int64_t)event;
        const struct ll_scalesim_drain here = *drain;
        if (ll_scalesim_drain_write(drain, words, cycle) > cycle) {
            struct ll_scalesim_drain back = here; /* but for its memory, which has grown at most */
            back.short_lines = drain->short_lines;
            back.short_capacity = drain->short_capacity;
            back.failed = drain->failed;
            *drain = back;
            return event;
        }
        taken += words;
    }
    return end;
}

void ll_scalesim_drain_all(struct ll_scalesim_drain *drain, int64_t cycle)
{
    close_line(drain);
    while (drain->drained < drain->lines) {
        drain_half(drain, cycle);
        cycle = drain->end_cycle + 1;
    }
}

void ll_scalesim_drain_release(struct ll_scalesim_drain *drain)
{
    free(drain->short_lines);
    drain->short_lines = NULL;
}
