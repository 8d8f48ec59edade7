/* SPDX-License-Identifier: Apache-2.0 */
/* The three buffers that answer the array: two ways to read, one to write; for the files of this room
 * alone. */
#ifndef LL_SIM_SCALESIM_BUFFERS_H
#define LL_SIM_SCALESIM_BUFFERS_H

#include "sim/scalesim/demand.h"

/* Where a layout puts the addresses of an operand: by address its set and its bank, -1 outside of the image.
 * *words is the length of the fetch order, with the padding of factors that do not divide. The number of
 * sets, with the last, possibly empty one; 0 when memory ran out. */
uint32_t ll_scalesim_lay_out(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                             enum ll_scalesim_operand operand, const struct ll_scalesim_demand *demand,
                             struct ll_arena *arena, uint32_t *set, uint16_t *bank, uint64_t *words);

/* A read buffer in USER mode: words come in a fixed order at a fixed bandwidth, wanted or not.
 *
 * The fetch order walks the whole operand: of a moving one, folds stacked along time and read along their
 * anti-diagonals, as the skewed wavefront will ask for them; of a stationary one, row by row. Slots of edge
 * folds that hold nothing are fetched as empty words. The order is cut into sets of ceil(buffer / 100) words
 * (empty ones not counted); the active half of the buffer holds so many consecutive sets, cyclically.
 * A request that misses advances by the other half's sets, again and again until it hits; each advance takes
 * half / bandwidth + 1 cycles behind the one before, whenever that was. */

struct ll_scalesim_prefetch {
    const struct ll_scalesim_demand *demand;
    bool computed;    /* sets follow from the order, so that no list below is there */
    uint32_t *set;    /* by address: a set that holds it, when possible an active one */
    uint64_t *first;  /* by address, and one more: where its sets begin in `sets`; NULL when each has one */
    uint32_t *sets;   /* each address's sets, ascending */
    uint64_t *walked; /* by fold: advances so far when it was last walked from its beginning, plus 1 */
    uint64_t set_words;
    uint32_t set_count, active, step; /* sets in all, in the active half, of an advance */
    uint32_t start;                   /* the first active set */
    uint64_t advances, words_per_cycle;
    uint64_t fill_lines, advance_lines; /* memory cycles of the first fill, of an advance */
    bool all_hit;                       /* in the fold at hand */
    /* Lines of the fold at hand before this one, from the one that was asked for on, that miss nothing while
     * there are so many advances. */
    uint64_t quiet_from, quiet_until, quiet_advances;
    int64_t down,
        right;     /* where `computed`: how far off lay the window that held an element found elsewhere */
    bool version3; /* waits are counted as version 3 does, on the line at hand */
    /* With a layout of its own: the bank of each address, and of each bank the sets that a line has asked of it,
     * `width` places each; ports of a bank. NULL: no layout. */
    uint16_t *bank;
    uint32_t *asked, *asked_count;
    uint64_t banks, ports, line_width;
};

/* False when memory ran out. */
bool ll_scalesim_prefetch_open(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_config *config,
                               const struct ll_scalesim_layer *layer, enum ll_scalesim_operand operand,
                               const struct ll_scalesim_demand *demand, const struct ll_scalesim_folds *folds,
                               struct ll_arena *arena);

/* Before the first line of each fold, in order. */
void ll_scalesim_prefetch_fold(struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                               uint64_t column_fold);

/* The first line from t on, before `end`, that may find something missing; `end` where none does. Where sets
 * are not computed every line may. */
uint64_t ll_scalesim_prefetch_next(struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                                   uint64_t column_fold, uint64_t t, uint64_t end);

/* Serves one line, which asks for something in this cycle; the cycle in which it is served. */
int64_t ll_scalesim_prefetch_read(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line,
                                  int64_t cycle);

/* After the last line: what went on at the memory's side. */
struct ll_scalesim_port ll_scalesim_prefetch_close(const struct ll_scalesim_prefetch *prefetch);

/* Words per cycle of a read operand's channel to memory in USER mode. */
static inline uint64_t read_bandwidth(const struct ll_scalesim_config *config,
                                      enum ll_scalesim_operand operand)
{
    return config->version3 ? config->read_words[operand] : config->words_per_cycle;
}

/* A read buffer in CALC mode: it never stalls and finds out which traffic that takes.
 *
 * An address that was read since the window began is a hit; any other is read from memory and kept. When
 * 50 sets of floor(buffer / 100) words have come together, half the buffer, all is dropped and a new window
 * begins. */

/* How the fold at hand has to be looked at. */
enum look { EACH, ALL_HIT, ALL_MISS };

struct ll_scalesim_window {
    const struct ll_scalesim_demand *demand;
    uint64_t *seen, *outside; /* a bit each address: read in this window; outside the image, NULL: none is */
    uint32_t *touched;        /* words of `seen` that hold more than `outside` does */
    uint64_t touched_count;
    bool streams;              /* what the array asks comes back too late, in each fold */
    uint64_t *walked;          /* by fold: the window in which it was last walked from its beginning */
    uint64_t set_words, words; /* of a set, of a window */
    enum look look;
    uint64_t number;                   /* of the window at hand, from 1 */
    uint64_t held;                     /* words in it */
    uint64_t fetched;                  /* all words so far */
    int64_t first_cycle, change_cycle; /* of the first request, of the newest window's begin; -1 before */
};

/* False when memory ran out. */
bool ll_scalesim_window_open(struct ll_scalesim_window *window, const struct ll_scalesim_demand *demand,
                             const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                             struct ll_arena *arena);

/* Before the first line of each fold, in order. */
void ll_scalesim_window_fold(struct ll_scalesim_window *window, uint64_t row_fold, uint64_t column_fold);

/* Serves one line, which asks for something, in this cycle. */
void ll_scalesim_window_read(struct ll_scalesim_window *window, const struct ll_scalesim_line *line,
                             int64_t cycle);

/* Whether ll_scalesim_window_pass can serve the folds of this demand. */
bool ll_scalesim_window_passes(const struct ll_scalesim_window *window);

/* Serves all lines of a fold, behind ll_scalesim_window_fold; its line 0 lies in first_cycle, and each line a
 * cycle behind the one before. */
void ll_scalesim_window_pass(struct ll_scalesim_window *window, uint64_t row_fold, uint64_t column_fold,
                             int64_t first_cycle);

/* After the last line: what went on at the memory's side. */
struct ll_scalesim_port ll_scalesim_window_close(const struct ll_scalesim_window *window);

/* The write buffer, the same in both modes.
 *
 * Words written fill lines as wide as the channel to memory. When less than half of the buffer is free and
 * nothing drains, the line at hand is closed as it is and half a buffer of lines drains, one a cycle from now
 * on. A word that finds the buffer full while it drains waits for the end. A line that was closed early
 * counts as full, unless it drains last. */

/* A line that was closed before it was full. */
struct short_line {
    uint64_t index, words;
};

/* Starts as the buffer's sizes and zeros; its heap memory is freed with drain_release. */
struct ll_scalesim_drain {
    int64_t buffer_words;
    uint64_t line_words;
    int64_t used_words;      /* negative when short lines drained as full ones */
    uint64_t open_words;     /* in the line at hand */
    uint64_t lines, drained; /* closed, and of these drained */
    int64_t first_cycle;     /* of the oldest drain */
    int64_t end_cycle;       /* of the last line of the newest drain */
    int64_t latest_cycle;    /* of the last line of any drain */
    uint64_t words;          /* written to memory */
    bool began;
    struct short_line *short_lines; /* not yet drained, from the oldest_short-th on */
    uint64_t short_count, oldest_short, short_capacity;
    bool failed; /* memory ran out */
};

/* Takes so many words in this cycle; returns the cycle in which the last one was taken. */
int64_t ll_scalesim_drain_write(struct ll_scalesim_drain *drain, uint64_t words, int64_t cycle);

/* Takes the words of lines [t, end) of a fold, whose line 0 lies in first_cycle, each line a cycle behind
 * the one before. The first line that would wait, of which nothing is taken; `end` where none does. */
uint64_t ll_scalesim_drain_pass(struct ll_scalesim_drain *drain, const struct ll_scalesim_ramp *ramp,
                                uint64_t t, uint64_t end, int64_t first_cycle);

/* After the last line, whose cycle this is: the rest drains. */
void ll_scalesim_drain_all(struct ll_scalesim_drain *drain, int64_t cycle);

/* Frees its memory. */
void ll_scalesim_drain_release(struct ll_scalesim_drain *drain);

#endif
