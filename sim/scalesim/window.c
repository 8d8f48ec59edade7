/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "sim/scalesim/buffers.h"
#include "tracer/base/num.h"

/* Words come by the billion, so most are not looked at one by one:
 *
 * - What was walked from beginning to end since the window began is all in it: a second walk only hits.
 * - Where each address occurs once and comes back only after more words than a window holds, it is never
 *   there any more: all miss, and a fold's words are counted by a formula.
 * - Else a bit of each address says whether the window has it. The lines of a fold are taken in blocks that
 *   cannot fill the window, runs of neighbouring addresses at a time; only where it fills, word by word.
 * - Addresses outside the image have a bit that is always set, and so never miss. */

enum { SETS = 50, WORDS_PER_CYCLE = 10, BITS = 64, SHORTEST_BLOCK = 4 };

/* Rows of k that move through an array ask for a word again only in another fold, for outputs nearby, where
 * no fold holds a channel twice. */
static bool comes_back_late(const struct ll_scalesim_window *window)
{
    const struct ll_scalesim_demand *demand = window->demand;
    uint64_t near = demand->reach + 2 * demand->width, rest = demand->across_count % demand->width;
    uint64_t narrowest = ll_min(rest ? rest : demand->width, demand->across_count);
    return demand->k_across && !demand->stationary && !demand->padded && !demand->words && demand->run > 1 &&
           demand->channels >= ll_min(demand->width, demand->across_count) && demand->along_count > near &&
           ll_mul(demand->along_count - near, narrowest) >= window->words;
}

static bool mark_outside(struct ll_scalesim_window *window, uint64_t words, struct ll_arena *arena)
{
    window->outside = ll_alloc(arena, (size_t)words, sizeof *window->outside);
    for (uint64_t a = 0; window->outside && a < window->demand->addresses; a++)
        if (outside(window->demand, a))
            window->seen[a / BITS] = window->outside[a / BITS] |= UINT64_C(1) << a % BITS;
    return window->outside != NULL;
}

bool ll_scalesim_window_open(struct ll_scalesim_window *window, const struct ll_scalesim_demand *demand,
                             const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                             struct ll_arena *arena)
{
    uint64_t set_words = buffer_words / 100, words = demand->addresses / BITS + 1;
    assert(set_words > 0);
    *window = (struct ll_scalesim_window){
        .demand = demand,
        .seen = ll_alloc(arena, (size_t)words, sizeof *window->seen),
        .touched = ll_alloc(arena, (size_t)ll_min(words, SETS * set_words), sizeof *window->touched),
        .walked = ll_alloc(arena, (size_t)(folds->row_folds + folds->column_folds), sizeof *window->walked),
        .set_words = set_words,
        .words = SETS * set_words,
        .number = 1,
        .first_cycle = -1,
        .change_cycle = -1,
    };
    if (!window->seen || !window->touched || !window->walked)
        return false;
    window->streams = comes_back_late(window);
    return !demand->padded || mark_outside(window, words, arena);
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
    if (window->streams ||
        (demand->once && (demand->stationary || period(demand, column_fold) >= window->words)))
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
    for (uint64_t i = 0; i < window->touched_count; i++) {
        uint32_t word = window->touched[i];
        window->seen[word] = window->outside ? window->outside[word] : 0;
    }
    window->touched_count = 0;
}

/* Bits of a word that are set: all, one, or whatever (Warren, Hacker's Delight, 2002, figure 5-2); no
 * builtin, which is a call where the processor may lack an instruction. */
static inline uint64_t count_bits(uint64_t bits)
{
    if (bits == ~UINT64_C(0))
        return BITS;
    if ((bits & (bits - 1)) == 0)
        return bits != 0;
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return bits * UINT64_C(0x0101010101010101) >> 56;
}

/* Sets these bits of a word; how many were not set. */
static inline uint64_t see(struct ll_scalesim_window *window, uint64_t word, uint64_t bits)
{
    uint64_t before = window->seen[word], fresh = bits & ~before;
    if (!fresh)
        return 0;
    if (before == (window->outside ? window->outside[word] : 0))
        window->touched[window->touched_count++] = (uint32_t)word;
    window->seen[word] = before | fresh;
    return count_bits(fresh);
}

static void look_at_each(struct ll_scalesim_window *window, const struct ll_scalesim_line *line,
                         int64_t cycle)
{
    for (uint64_t i = 0; i < line->count; i++) {
        uint32_t address = line_address(line, i);
        if (!see(window, address / BITS, UINT64_C(1) << address % BITS))
            continue;
        window->fetched++;
        if (++window->held == window->words)
            begin_window(window, cycle);
    }
}

/* Words [begin, end) of memory. */
static uint64_t see_range(struct ll_scalesim_window *window, uint64_t begin, uint64_t end)
{
    uint64_t fresh = 0, first = begin / BITS, last = (end - 1) / BITS;
    uint64_t head = ~UINT64_C(0) << begin % BITS, tail = ~UINT64_C(0) >> (BITS - 1 - (end - 1) % BITS);
    assert(begin < end && end <= window->demand->addresses);
    if (first == last)
        return see(window, first, head & tail);
    fresh = see(window, first, head);
    for (uint64_t word = first + 1; word < last; word++)
        fresh += see(window, word, ~UINT64_C(0));
    return fresh + see(window, last, tail);
}

/* Lines of a fold: column c of `columns` asks for k from low - c to high - c where skewed, else from low to
 * high, cut to what there is. */
struct block {
    uint64_t begin, columns; /* of `across` */
    int64_t low, high;
    bool skewed;
};

/* Takes the block, runs of neighbouring addresses joined where they meet; words that were not there yet.
 * Where `looks` is false nothing is taken: no more words than these are new. */
static uint64_t take_block(struct ll_scalesim_window *window, const struct block *block, bool looks)
{
    const struct ll_scalesim_demand *demand = window->demand;
    const int64_t run = (int64_t)demand->run, count = (int64_t)demand->along_count;
    int64_t least = block->low - (block->skewed ? (int64_t)block->columns - 1 : 0);
    uint64_t words = 0, begin = 0, end = 0;
    for (int64_t k = least > 0 ? least / run * run : 0; k < count && k < block->high; k += run)
        for (uint64_t c = 0; c < block->columns; c++) {
            int64_t late = block->skewed ? (int64_t)c : 0;
            int64_t from = block->low - late > k ? block->low - late : k;
            int64_t to = block->high - late < k + run ? block->high - late : k + run;
            to = to < count ? to : count;
            if (from >= to)
                continue;
            uint64_t at = demand->across[block->begin + c] + demand->along[from],
                     length = (uint64_t)(to - from);
            if (at >= begin && at <= end && end > begin) {
                end = ll_max(end, at + length);
                continue;
            }
            if (end > begin)
                words += looks ? see_range(window, begin, end) : end - begin;
            begin = at;
            end = at + length;
        }
    if (end > begin)
        words += looks ? see_range(window, begin, end) : end - begin;
    return words;
}

/* Lines [t, end) of a fold as a block. */
static struct block block_of(const struct ll_scalesim_demand *demand, uint64_t row_fold, uint64_t column_fold,
                             uint64_t t, uint64_t end)
{
    struct ll_scalesim_ramp ramp = ask_ramp(demand, row_fold, column_fold);
    bool by_rows = !demand->stationary && demand->across_rows;
    struct block block = {.begin = (by_rows ? row_fold : column_fold) * demand->width, .columns = ramp.width};
    if (demand->stationary) {
        block.low = (int64_t)((row_fold + 1) * demand->height - end);
        block.high = (int64_t)((row_fold + 1) * demand->height - t);
        return block;
    }
    block.skewed = true;
    block.low = (int64_t)t - (int64_t)demand->delay;
    block.high = (int64_t)end - (int64_t)demand->delay;
    return block;
}

static void pass_each(struct ll_scalesim_window *window, uint64_t row_fold, uint64_t column_fold,
                      const struct ll_scalesim_ramp *ramp, int64_t first_cycle)
{
    const struct ll_scalesim_demand *demand = window->demand;
    uint64_t t = ramp->delay, end = ramp_last(ramp) + 1;
    while (t < end) {
        struct block rest = block_of(demand, row_fold, column_fold, t, end);
        uint64_t room = window->words - window->held, lines = (room - 1) / ramp->width;
        bool all = lines >= end - t || (lines >= SHORTEST_BLOCK && take_block(window, &rest, false) < room);
        if (!all && lines < SHORTEST_BLOCK) {
            struct ll_scalesim_line line = asked_line(demand, row_fold, column_fold, t);
            look_at_each(window, &line, first_cycle + (int64_t)t++);
            continue;
        }
        uint64_t until = all ? end : t + lines;
        struct block block = block_of(demand, row_fold, column_fold, t, until);
        uint64_t fresh = take_block(window, &block, true);
        assert(fresh < room);
        window->fetched += fresh;
        window->held += fresh;
        t = until;
    }
}

static void pass_misses(struct ll_scalesim_window *window, const struct ll_scalesim_ramp *ramp,
                        int64_t first_cycle)
{
    uint64_t words = ramp->width * ramp->length, filled = (window->held + words) / window->words;
    window->fetched += words;
    if (filled > 0) {
        uint64_t line = ll_scalesim_ramp_line(ramp, filled * window->words - window->held);
        words -= filled * window->words - window->held;
        begin_window(window, first_cycle + (int64_t)line);
        window->number += filled - 1;
    }
    window->held += words;
}

bool ll_scalesim_window_passes(const struct ll_scalesim_window *window)
{
    const struct ll_scalesim_demand *demand = window->demand;
    return !demand->padded && !demand->words &&
           (window->look != EACH || (!demand->k_across && demand->run > 1));
}

void ll_scalesim_window_pass(struct ll_scalesim_window *window, uint64_t row_fold, uint64_t column_fold,
                             int64_t first_cycle)
{
    struct ll_scalesim_ramp ramp = ask_ramp(window->demand, row_fold, column_fold);
    assert(ll_scalesim_window_passes(window));
    if (window->first_cycle < 0)
        window->first_cycle = first_cycle + (int64_t)ramp.delay;
    if (window->look == EACH)
        pass_each(window, row_fold, column_fold, &ramp, first_cycle);
    else if (window->look == ALL_MISS)
        pass_misses(window, &ramp, first_cycle);
    assert(window->held < window->words && window->held <= window->fetched);
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
