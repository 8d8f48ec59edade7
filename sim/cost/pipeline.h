/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles that are loaded, worked on and stored one after the other:
 *
 *       loaded[i] = max(loaded[i-1], worked[i-b]) + load[i]
 *       worked[i] = max(loaded[i], worked[i-1], stored[i-b]) + work[i]          b: buffers, 1 or 2
 *       stored[i] = max(worked[i], stored[i-1]) + store[i]
 *
 * With two buffers a tile loads into the one while the tile before it is worked on in the other. For n tiles
 * all alike, each stored, that gives load + work + store + (n - 1) max(load, work, store). Tiles at the edge
 * are smaller; the recurrence is followed exactly for all of them, however many there are. */
#ifndef LL_SIM_COST_PIPELINE_H
#define LL_SIM_COST_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

enum { LL_TILE_LOOPS = 4 };

/* A nest of loops over tiles, outermost first. Loop d runs whole[d] times over a full extent and then, where
 * edge[d] > 0, once over that share of one. A tile takes times in proportion to its extents; at least one
 * loop round in each. */
struct ll_tile_nest {
    uint64_t whole[LL_TILE_LOOPS];
    double edge[LL_TILE_LOOPS]; /* 0, or below 1 */
    bool gathers;               /* a result is stored once, behind the last round of the innermost loop */
    bool single;                /* one buffer of each kind, not two */
};

/* How many full tiles all tiles together are worth: fractional where there are edges. */
double ll_tile_volume(const struct ll_tile_nest *nest);

/* When the last result is stored, where loading, work and storing of all tiles take so long in sum, in
 * seconds. Never below the longest of the three, never above their sum. Takes time in the logarithm of the
 * number of tiles. Pure. */
double ll_pipeline_s(const struct ll_tile_nest *nest, double load_s, double work_s, double store_s);

#endif
