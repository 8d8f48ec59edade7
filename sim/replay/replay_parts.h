/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a replay that come after the ops have their times. Private to sim/replay. */
#ifndef LL_SIM_REPLAY_REPLAY_PARTS_H
#define LL_SIM_REPLAY_REPLAY_PARTS_H

#include "sim/replay/replay.h"

/* What an op's time is made of, beside the work that its bound names, and the op whose end let it start. */
struct ll_op_parts {
    double overhead_s, exposed_s;
    uint32_t waited_for; /* op, LL_NONE when it could start at once */
};

/* What element-wise fusion would do to each op of the trace; works and range are there. In the arena, NULL
 * when memory ran out. */
const struct ll_fused *ll_find_fusion(const struct ll_prepared *prepared, struct ll_arena *arena);

/* Fills shares, level_share, flop_utilization and fits; time_s and ops are there. parts as long as ops. */
void ll_find_bottlenecks(struct ll_result *result, const struct ll_op_parts *parts);

/* Fills energy_j and area_m2. */
void ll_sum_energy(struct ll_result *result);

/* Fills kinds. False when memory ran out. */
bool ll_sum_kinds(struct ll_result *result, struct ll_arena *arena);

#endif
