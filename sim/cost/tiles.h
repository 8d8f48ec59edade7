/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles in which work passes from the outermost memory to the level inside it, and how long it takes tile
 * by tile. */
#ifndef LL_SIM_COST_TILES_H
#define LL_SIM_COST_TILES_H

#include "sim/cost/cost.h"
#include "sim/cost/mapping.h"
#include "sim/cost/pipeline.h"
#include "sim/cost/unit_model.h"

/* The tiles of a task done in a way, one unit after the other where the level belongs to units: of a
 * product those that a search has found, or, where nothing was searched (NULL), the blocks of
 * sim/cost/tiling.h, cut along the operands that stream past into pieces that fill the rest of the room.
 * False when there is one level only; then nothing is cut. Pure. */
bool ll_outer_tiles(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                    const struct ll_mapping_loops *searched, struct ll_tile_nest *nest,
                    struct ll_explain *why);

/* The time of a cost tile by tile, latencies included: loading from the outermost memory,
 * what happens further in, and storing overlap as its tiles allow. Never below what ll_cost_time says of an
 * empty machine. In seconds. Pure. */
double ll_tiled_s(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_tile_nest *nest, struct ll_explain *why);

#endif
