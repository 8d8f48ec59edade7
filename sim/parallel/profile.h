/* SPDX-License-Identifier: Apache-2.0 */
/* What each layer of a program costs: the parts of which times of other plans are put together. */
#ifndef LL_SIM_PARALLEL_PROFILE_H
#define LL_SIM_PARALLEL_PROFILE_H

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

#endif
