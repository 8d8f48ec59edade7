/* SPDX-License-Identifier: Apache-2.0 */
/* What each layer of a program costs, and the estimate of a plan's step time and memory that is put together
 * from these costs. */
#ifndef LL_SIM_PARALLEL_ESTIMATE_H
#define LL_SIM_PARALLEL_ESTIMATE_H

#include "sim/parallel/plan.h"
#include "sim/parallel/schedule.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

/* What replicas can share out. */
struct ll_state_bytes {
    double weight, optimizer, gradient; /* of gradients that an update reads */
};

struct ll_layer_cost {
    double forward_s, backward_s, update_s; /* of the device, with what it waits for inside of the layer */
    double forward_units_s,
        backward_units_s;  /* of these, of ops that units hold back: exchanges may slow them */
    double again_s;        /* of forward_s, what comes twice where the layer is computed again */
    double update_start_s; /* of update_s, what starting ops takes, however little they then do */
    struct ll_state_bytes state, of_experts; /* of_experts: of the state, what ll_spread_experts divides */
    double forward_read_bytes, backward_read_bytes; /* of weights, also those that other layers read */
    double carried_bytes; /* that a micro-batch has from the step before: keys and values of its sentences */
    double kept_bytes;    /* from the forward to the backward pass */
    double held_bytes;    /* of kept_bytes, what is kept even where the layer is computed again */
    double peak_bytes;    /* the most that its ops have at once of what it keeps, and of what is not kept */
    double again_peak_bytes;     /* the same where it is computed again */
    double handed_bytes;         /* that ops of later layers read of it, going forward */
    uint64_t flops, named_flops; /* as struct ll_layers has them */
};

struct ll_layer_costs {
    struct ll_layer_cost *at;
    uint32_t count;
};

/* Of a replayed program of one device: times are the mean of its steps, bytes those of the first. Lists live
 * in the arena. False when memory ran out. */
bool ll_layer_costs(const struct ll_result *result, struct ll_arena *arena, struct ll_layer_costs *costs);

/* What a plan takes, put together from what layers take (sim/parallel/estimate.h), without its programs.
 *
 * A pass of a micro-batch comes from going along a stage's layers with a clock for the device and one for the
 * network (sim/parallel/schedule.h), the step from stages that take turns (sim/parallel/schedule.h); exchange
 * and update come behind, less what the last backward pass hides. */

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
