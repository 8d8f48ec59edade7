/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas exchange beside the passes of a stage, layer by layer: the network takes one exchange after
 * the other, in the order in which layers come to ask (sim/parallel/exchange.h), and shows where a layer
 * waits for its weights, or where it is busy still when all layers are done.
 *
 * While the network is busy, what units hold back of a layer is slowed by the largest share of them that an
 * exchange so far keeps busy (`units_taken`).
 *
 * Assumed: devices that share a product do not use the same links meanwhile. */
#ifndef LL_SIM_PARALLEL_BESIDE_H
#define LL_SIM_PARALLEL_BESIDE_H

#include "sim/parallel/plan.h"
#include "sim/parallel/profile.h"
#include "sim/replay/communication.h"

struct ll_beside {
    const struct ll_layer_costs *costs; /* of one replica, at the plan's micro-batch */
    const uint32_t *part_of;            /* by layer: its piece, of pipeline x chunks; a stage has every
                                           pipeline-th */
    const struct ll_parallel *plan;
    struct ll_exchanges *exchanges;
    bool gathers;                     /* weights lie in parts */
    bool sums;                        /* gradients are exchanged */
    const struct ll_machine *machine; /* of the exchanges */
};

/* What a micro-batch takes the stage both ways, until the network is done as well. False when memory ran out.
 */
bool ll_beside_s(const struct ll_beside *beside, uint64_t stage, double *time_s);

/* An exchange of so many bytes among the replicas of a stage, of parts among those that share; sums that come
 * out in parts are added up with those of the others. 0 without other replicas. False when memory ran out. */
bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s);

#endif
