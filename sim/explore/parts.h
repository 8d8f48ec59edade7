/* SPDX-License-Identifier: Apache-2.0 */
/* The databases of processes that sweep together: R.db is in parts R.part0.db, R.part1.db, ... while they
 * work, and what a process that was killed leaves behind is a part that the next run joins. */
#ifndef LL_SIM_EXPLORE_PARTS_H
#define LL_SIM_EXPLORE_PARTS_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

enum { LL_MOST_PARTS = 4096 };

/* Where a process keeps its part; in the arena, NULL when memory ran out. */
const char *ll_part_path(const char *output, unsigned rank, struct ll_arena *arena);

/* Begins a part as a copy of the output; of nothing, when that is not there. False after a complaint. */
bool ll_part_begin(const char *output, const char *part, struct ll_diags *diags);

/* Joins all parts that there are with the output, which takes their place; fresh: all of them are thrown away
 * instead. False after complaints; then what there was is still there. */
bool ll_parts_join(const char *output, bool fresh, struct ll_arena *arena, struct ll_diags *diags);

#endif
