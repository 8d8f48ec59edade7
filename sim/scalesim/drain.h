/* SPDX-License-Identifier: Apache-2.0 */
/* The write buffer, the same in both modes.
 *
 * Words written fill lines as wide as the channel to memory. When less than half of the buffer is free and
 * nothing drains, the line at hand is closed as it is and half a buffer of lines drains, one a cycle from now
 * on. A word that finds the buffer full while it drains waits for the end. A line that was closed early
 * counts as full, unless it drains last. This header is the room's own. */
#ifndef LL_SIM_SCALESIM_DRAIN_H
#define LL_SIM_SCALESIM_DRAIN_H

#include "sim/scalesim/scalesim.h"

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
