/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan takes, put together from what layers take (sim/parallel/profile.h), without its programs.
 *
 * A pass of a micro-batch comes from going along a stage's layers with a clock for the device and one for the
 * network (sim/parallel/beside.h), the step from stages that take turns (sim/parallel/turns.h); exchange and
 * update come behind, less what the last backward pass hides. */
#ifndef LL_SIM_PARALLEL_ESTIMATE_H
#define LL_SIM_PARALLEL_ESTIMATE_H

#include "sim/parallel/plan.h"
#include "sim/parallel/profile.h"
#include "sim/parallel/schedule.h"
#include "sim/replay/communication.h"

/* One after the other for many plans; what it needs lives in an arena. */
struct ll_estimator {
    const struct ll_machine *machine;
    struct ll_exchanges *exchanges;
    struct ll_estimated_stage *stages;
    struct ll_piece_times *pieces;
    double *message_s;        /* by piece: of what it hands on */
    uint32_t *part_of;        /* by layer: its piece */
    uint64_t *loads, *totals; /* by layer */
    bool failed;              /* memory ran out, at some time */
};

/* For so many layers and stages at most. False when memory ran out. */
bool ll_estimator_open(struct ll_estimator *e, const struct ll_machine *machine,
                       struct ll_exchanges *exchanges, uint64_t layers, uint64_t stages,
                       struct ll_arena *arena);

/* Divides the layers among as many pieces, as ll_cut does. */
void ll_estimate_divide(struct ll_estimator *e, const struct ll_layer_costs *costs, uint64_t pieces);

/* Counts what the stages hold, of layers that are divided; again for each recomputation. */
void ll_estimate_count(struct ll_estimator *e, const struct ll_layer_costs *costs,
                       const struct ll_parallel *plan);

/* A step, and the fullest device, of a plan whose stages are counted. */
double ll_estimate_s(struct ll_estimator *e, const struct ll_layer_costs *costs,
                     const struct ll_parallel *plan);
double ll_estimate_bytes(const struct ll_estimator *e, const struct ll_layer_costs *costs,
                         const struct ll_parallel *plan);

#endif
