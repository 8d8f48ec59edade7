/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes leave each memory level (and come back) for a task. All functions are pure. */
#ifndef LL_SIM_COST_TRAFFIC_H
#define LL_SIM_COST_TRAFFIC_H

#include "sim/cost/mapping.h"
#include "sim/cost/stage.h"
#include "sim/cost/unit_model.h"

/* Bytes between each level and what lies further in, all instances together: both directions, and of these
 * what comes back, results and partial sums. The price is what takes the level's bandwidth as long: more than
 * the bytes where a port is slower (sim/cost/tiling.h). */
struct ll_traffic {
    double bytes[LL_MAX_LEVELS], written[LL_MAX_LEVELS], price[LL_MAX_LEVELS];
    double of[LL_MAX_LEVELS][LL_OPERAND_COUNT]; /* of a product's bytes, each operand's; of other work 0 */
    bool nested;                   /* a search has found the tiles that pass out of the outermost level: */
    struct ll_mapping_loops tiles; /* these */
};

/* What a search chooses by: how long a byte out of each level takes, what else its stage has, how long the
 * arithmetic takes meanwhile, and the share of the other stages that does not overlap with the slowest. */
struct ll_paces {
    double s_per_byte[LL_MAX_LEVELS];
    struct ll_intake intake[LL_MAX_LEVELS];
    struct ll_stage computing;
    double dropping_s; /* ll_dropping_s */
    double serial;
    double budget[LL_MAX_LEVELS]; /* of a level's price, within which the fewest bytes are best; 0: none */
    bool any_of_equals;           /* how long it takes is all that is asked */
    bool apart; /* nothing is searched: each level is blocked for alone, which bounds all that nests */
};

/* What bytes of a level are charged by: its ports. */
struct ll_toll ll_level_toll(const struct ll_level *level);

/* What of it a block may take: half, since the next one loads meanwhile, or all. In bytes. */
double ll_level_room(const struct ll_level *level);

/* Bytes of the operands that a level holds, each once. */
double ll_held_bytes(const struct ll_level *level, const struct ll_work *work);

/* Traffic out of the near levels for one way of doing the task; fills [0..ll_near_levels). What a search
 * chooses depends on the rest of *traffic, of which levels that are not known yet move nothing. */
void ll_near_traffic(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                     const struct ll_paces *paces, struct ll_traffic *traffic, struct ll_explain *why);

/* Traffic out of the other levels, whichever way; fills [ll_near_levels..level_count). The same of
 * searches. */
void ll_far_traffic(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_paces *paces, struct ll_traffic *traffic, struct ll_explain *why);

#endif
