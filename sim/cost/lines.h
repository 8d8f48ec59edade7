/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for operands whose lines run along k.
 *
 * Each step of a tile reads a piece of every such line, and the next line is as far away in memory as a line
 * is long. Two things make that slow:
 *
 * - Lines longer than `reach` are not all at hand: addresses are translated anew, rows of the memory opened
 *   anew.
 * - Memory is dealt to `channels` in pieces of `interleave` bytes. Lines as long as a multiple of all of
 *   these begin in one channel, and their pieces come one after the other (partition camping: Ruetsch
 *   and Micikevicius, 2009):
 *
 *       met = channels / gcd(line / interleave, channels); all channels where that leaves a rest
 *       crowded = (channels / met - 1) / (channels - 1), 1 without `channels`
 *
 * Tiles that begin together ask for the same lines at the same time and wait once; they drift apart as random
 * walks do, with the root of what each unit has done:
 *
 *       apart = 1 - 1 / sqrt(1 + steps * depth * tiles / units / drift), 1 without `drift`
 *       waits of a step = lines of the tile * line cycles * max(0, 1 - reach / line) * crowded * apart */
#ifndef LL_SIM_COST_LINES_H
#define LL_SIM_COST_LINES_H

#include "sim/cost/explain.h"
#include "sim/machine/machine.h"

struct ll_tile_lines {
    uint64_t count; /* of a tile, that run along k */
    uint64_t bytes; /* of one, at least 1 */
    /* Products along k that a unit computes: the steps of a tile, how deep each is, all tiles, units. */
    uint64_t steps, depth, units;
    double tiles;
};

/* Cycles that a step waits for its lines, told to `why` where there are any. Pure. */
double ll_line_waits(const struct ll_matrix *matrix, const struct ll_tile_lines *lines,
                     struct ll_explain *why);

#endif
