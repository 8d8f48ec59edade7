/* SPDX-License-Identifier: Apache-2.0 */
/* What the array asks a buffer for, line by line.
 *
 * The address of an operand's element is a sum of two table entries, across[i] + along[j]. `across` lies on a
 * side of the array, cut into folds of its width; `along` passes in time. In line t of a fold the array asks
 *
 *     moving operand:      across[c] and along[t - delay - c] for each column c: a skewed wavefront
 *     stationary operand:  across[c] and along[last of this fold - t] for t < height: bottom row first
 *
 * and the columns of a line are asked from left to right. This header is the room's own. */
#ifndef LL_SIM_SCALESIM_BUFFERS_H
#define LL_SIM_SCALESIM_BUFFERS_H

#include "sim/scalesim/scalesim.h"

/* Skew alone: which columns of a line hold something, when each of `width` columns has `length` elements and
 * starts one line after its left neighbour. */
struct ll_scalesim_skew {
    uint64_t first, count;
};
static inline struct ll_scalesim_skew ll_scalesim_skew(uint64_t line, uint64_t delay, uint64_t width,
                                                       uint64_t length)
{
    if (line < delay || line - delay >= length + width - 1)
        return (struct ll_scalesim_skew){0, 0};
    uint64_t step = line - delay, first = step < length ? 0 : step - length + 1;
    return (struct ll_scalesim_skew){first, (step < width ? step : width - 1) - first + 1};
}

struct ll_scalesim_demand {
    uint32_t *across, *along;
    uint64_t across_count, along_count;
    uint64_t width;     /* of a fold of `across` */
    uint64_t height;    /* of a fold of `along`, of a stationary operand */
    uint64_t delay;     /* line of a fold in which column 0 of a moving operand begins */
    bool stationary;    /* folds of `across` are column folds, of `along` row folds */
    bool across_rows;   /* of a moving operand: its folds are the array's row folds, not column folds */
    bool once;          /* across x along holds each address once */
    bool padded;        /* some addresses lie outside the image: nothing is asked for there */
    uint64_t addresses; /* all addresses are below */
    uint64_t image_h, image_w, plane_w, channels; /* of the ifmap; its padded image is plane_w wide */
};

/* The elements asked in one line: across[i] + *(along - i * back) for i < count. */
struct ll_scalesim_line {
    const uint32_t *across, *along;
    uint64_t count, back;
};

/* Builds the demand of the ifmap or of the filter. False when memory ran out. */
bool ll_scalesim_demand(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                        enum ll_scalesim_operand operand, struct ll_arena *arena,
                        struct ll_scalesim_demand *demand);

/* Does this address lie outside the image? Only of a padded ifmap. */
static inline bool ll_scalesim_outside(const struct ll_scalesim_demand *demand, uint64_t address)
{
    uint64_t pixel = address / demand->channels;
    return pixel / demand->plane_w >= demand->image_h || pixel % demand->plane_w >= demand->image_w;
}

/* What line t of a fold asks for. */
static inline struct ll_scalesim_line ll_scalesim_line(const struct ll_scalesim_demand *demand,
                                                       uint64_t row_fold, uint64_t column_fold, uint64_t t)
{
    bool by_rows = !demand->stationary && demand->across_rows;
    uint64_t begin = (by_rows ? row_fold : column_fold) * demand->width, left = demand->across_count - begin;
    uint64_t used = left < demand->width ? left : demand->width;
    if (!demand->stationary) {
        struct ll_scalesim_skew skew = ll_scalesim_skew(t, demand->delay, used, demand->along_count);
        if (!skew.count)
            return (struct ll_scalesim_line){0};
        return (struct ll_scalesim_line){demand->across + begin + skew.first,
                                         demand->along + (t - demand->delay - skew.first), skew.count, 1};
    }
    uint64_t along = (row_fold + 1) * demand->height - 1 - t;
    if (t >= demand->height || along >= demand->along_count)
        return (struct ll_scalesim_line){0};
    return (struct ll_scalesim_line){demand->across + begin, demand->along + along, used, 0};
}

/* Whether anything in the line lies inside the image. */
bool ll_scalesim_line_asks(const struct ll_scalesim_demand *demand, const struct ll_scalesim_line *line);

/* A read buffer in USER mode: words come in a fixed order at a fixed bandwidth, wanted or not.
 *
 * The fetch order walks the whole operand: of a moving one, folds stacked along time and read along their
 * anti-diagonals, as the skewed wavefront will ask for them; of a stationary one, row by row. Slots of edge
 * folds that hold nothing are fetched as empty words. The order is cut into sets of ceil(buffer / 100) words
 * (empty ones not counted); the active half of the buffer holds so many consecutive sets, cyclically.
 * A request that misses advances by the other half's sets, again and again until it hits; each advance takes
 * half / bandwidth + 1 cycles behind the one before, whenever that was. This header is the room's own. */

struct ll_scalesim_prefetch {
    const struct ll_scalesim_demand *demand;
    uint32_t *set;    /* by address: a set that holds it, when possible an active one */
    uint64_t *first;  /* by address, and one more: where its sets begin in `sets`; NULL when each has one */
    uint32_t *sets;   /* each address's sets, ascending */
    uint64_t *walked; /* by fold: advances so far when it was last walked from its beginning, plus 1 */
    uint64_t set_words;
    uint32_t set_count, active, step; /* sets in all, in the active half, of an advance */
    uint32_t start;                   /* the first active set */
    uint64_t advances;
    uint64_t fill_lines, advance_lines; /* memory cycles of the first fill, of an advance */
    bool all_hit;                       /* in the fold at hand */
};

/* False when memory ran out. */
bool ll_scalesim_prefetch_open(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_demand *demand,
                               const struct ll_scalesim_folds *folds, uint64_t buffer_words,
                               uint64_t words_per_cycle, struct ll_arena *arena);

/* Before the first line of each fold, in order. */
void ll_scalesim_prefetch_fold(struct ll_scalesim_prefetch *prefetch, uint64_t row_fold,
                               uint64_t column_fold);

/* Serves one line; the cycle in which the newest advance has ended (the first fill ends in cycle -1). */
int64_t ll_scalesim_prefetch_read(struct ll_scalesim_prefetch *prefetch, const struct ll_scalesim_line *line);

/* After the last line: what went on at the memory's side. */
struct ll_scalesim_port ll_scalesim_prefetch_close(const struct ll_scalesim_prefetch *prefetch,
                                                   uint64_t words_per_cycle);

/* A read buffer in CALC mode: it never stalls and finds out which traffic that takes.
 *
 * An address that was read since the window began is a hit; any other is read from memory and kept. When
 * 50 sets of floor(buffer / 100) words have come together, half the buffer, all is dropped and a new window
 * begins. This header is the room's own. */

/* How the fold at hand has to be looked at. */
enum ll_scalesim_look { LL_SCALESIM_EACH, LL_SCALESIM_ALL_HIT, LL_SCALESIM_ALL_MISS };

struct ll_scalesim_window {
    const struct ll_scalesim_demand *demand;
    uint16_t *seen;            /* by address: the mark of the window in which it was read last */
    uint64_t *walked;          /* by fold: the window in which it was last walked from its beginning */
    uint64_t set_words, words; /* of a set, of a window */
    enum ll_scalesim_look look;
    uint64_t number;                   /* of the window at hand, from 1 */
    uint16_t mark;                     /* the same, small */
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

/* After the last line: what went on at the memory's side. */
struct ll_scalesim_port ll_scalesim_window_close(const struct ll_scalesim_window *window);

/* The write buffer, the same in both modes.
 *
 * Words written fill lines as wide as the channel to memory. When less than half of the buffer is free and
 * nothing drains, the line at hand is closed as it is and half a buffer of lines drains, one a cycle from now
 * on. A word that finds the buffer full while it drains waits for the end. A line that was closed early
 * counts as full, unless it drains last. This header is the room's own. */

/* A line that was closed before it was full. */
struct ll_scalesim_short_line {
    uint64_t index, words;
};

/* Starts as the buffer's sizes and zeros; its heap memory is freed with ll_scalesim_drain_release. */
struct ll_scalesim_drain {
    int64_t buffer_words;
    uint64_t line_words;
    int64_t used_words;      /* negative when short lines drained as full ones */
    uint64_t open_words;     /* in the line at hand */
    uint64_t lines, drained; /* closed, and of these drained */
    int64_t first_cycle;     /* of the oldest drain */
    int64_t end_cycle;       /* of the last line of the newest drain */
    uint64_t words;          /* written to memory */
    bool began;
    struct ll_scalesim_short_line *short_lines; /* not yet drained, from the oldest_short-th on */
    uint64_t short_count, oldest_short, short_capacity;
    bool failed; /* memory ran out */
};

/* Takes so many words in this cycle; returns the cycle in which the last one was taken. */
int64_t ll_scalesim_drain_write(struct ll_scalesim_drain *drain, uint64_t words, int64_t cycle);

/* After the last line, whose cycle this is: the rest drains. */
void ll_scalesim_drain_all(struct ll_scalesim_drain *drain, int64_t cycle);
void ll_scalesim_drain_release(struct ll_scalesim_drain *drain);

#endif
