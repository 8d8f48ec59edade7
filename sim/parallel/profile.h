/* SPDX-License-Identifier: Apache-2.0 */
/* What each layer of a program costs: the parts of which times of other plans are put together. */
#ifndef LL_SIM_PARALLEL_PROFILE_H
#define LL_SIM_PARALLEL_PROFILE_H

#include "sim/replay/replay.h"

struct ll_layer_cost {
    double forward_s, backward_s, update_s; /* of the device, with what it waits for inside of the layer */
    double update_start_s; /* of update_s, what starting ops takes, however little they then do */
    double weight_bytes, optimizer_bytes, gradient_bytes; /* of gradients that an update reads */
    double forward_read_bytes, backward_read_bytes;       /* of weights, also those that other layers read */
    double kept_bytes;                                    /* from the forward to the backward pass */
    double handed_bytes;         /* that ops of later layers read of it, going forward */
    uint64_t flops, named_flops; /* as struct ll_layers has them */
};

struct ll_layer_costs {
    struct ll_layer_cost *at;
    uint32_t count;
    double passing_bytes; /* of the memory's peak, what neither lasts nor is kept */
};

/* Of a replayed program of one device, a step. Lists live in the arena. False when memory ran out. */
bool ll_layer_costs(const struct ll_result *result, struct ll_arena *arena, struct ll_layer_costs *costs);

#endif
