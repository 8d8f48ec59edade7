/* SPDX-License-Identifier: Apache-2.0 */
/* A read buffer in CALC mode: it never stalls and finds out which traffic that takes.
 *
 * An address that was read since the window began is a hit; any other is read from memory and kept. When
 * 50 sets of floor(buffer / 100) words have come together, half the buffer, all is dropped and a new window
 * begins. This header is the room's own. */
#ifndef LL_SIM_SCALESIM_WINDOW_H
#define LL_SIM_SCALESIM_WINDOW_H

#include "sim/scalesim/demand.h"

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

#endif
