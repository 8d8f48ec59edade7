/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a workload, and to which of them each op belongs.
 *
 * A layer is what models number in their scopes: all of `encoder/layer3/...` is one, of `stage2/unit1/...`
 * as well where a stage consists of units alone. Where nothing is numbered a layer is what repeats with other
 * weights of the same shapes, and where nothing does each op that reads a weight begins one. Layers count
 * from zero in the order in which they first compute.
 *
 * Ops between layers (embeddings, losses, the optimizer's) follow the data: to the layer that made what they
 * read, or that reads what they make. What depends on no weight and no layer, such as masks, labels and the
 * optimizer's powers, is nobody's: whoever needs it makes it for himself. */
#ifndef LL_SIM_PARALLEL_LAYERS_H
#define LL_SIM_PARALLEL_LAYERS_H

#include "tracer/ir/trace.h"

struct ll_layers {
    uint32_t count;
    const char **names;    /* scopes; "" where nothing is numbered */
    uint64_t *flops;       /* of all ops that belong to it */
    uint64_t *named_flops; /* of those whose scope says so */
    uint32_t *named;       /* by op: the layer that its scope names, LL_NONE for others */
    uint32_t *owner;       /* by op: the layer to which it belongs, LL_NONE for what is nobody's */
};

/* Fills *layers in time about linear in the trace; lists live in the arena. False when memory ran out. Pure
 * otherwise, thread-safe. */
bool ll_layers_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers);

#endif
