/* SPDX-License-Identifier: Apache-2.0 */
/* A read buffer in USER mode: words come in a fixed order at a fixed bandwidth, wanted or not.
 *
 * The fetch order walks the whole operand: of a moving one, folds stacked along time and read along their
 * anti-diagonals, as the skewed wavefront will ask for them; of a stationary one, row by row. Slots of edge
 * folds that hold nothing are fetched as empty words. The order is cut into sets of ceil(buffer / 100) words
 * (empty ones not counted); the active half of the buffer holds so many consecutive sets, cyclically.
 * A request that misses advances by the other half's sets, again and again until it hits; each advance takes
 * half / bandwidth + 1 cycles behind the one before, whenever that was. This header is the room's own. */
#ifndef LL_SIM_SCALESIM_PREFETCH_H
#define LL_SIM_SCALESIM_PREFETCH_H

#include "sim/scalesim/demand.h"

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

#endif
