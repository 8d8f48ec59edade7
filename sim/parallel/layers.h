/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a workload, and runs of layers that do the same.
 *
 * The layers of a workload, and to which of them each op belongs.
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

/* Layers of a workload whose scopes tell of none: what repeats. Private to sim/parallel/layers*.c. */

/* Layers of a workload that do the same, one behind the other, as most of those of a transformer do: what is
 * found out about one of them holds for all. */

struct ll_alike {
    uint32_t first, count; /* layers first ... first + count - 1 do the same; count 0: no two neighbours do */
    uint32_t *place;       /* by op: its place among those of its layer; LL_NONE for nobody's */
    uint32_t *ops;         /* layer after layer, each in order */
    const uint64_t *begin; /* by layer: where its ops begin; layers.count + 1 of them */
    struct ll_layers layers;
};

/* The longest run of layers that have equal ops, which read equal ones of themselves. Lists live in the
 * arena. False when memory ran out. */
bool ll_alike_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_alike *alike);

/* The same workload with fewer such layers, two at the beginning and two at the end of the run: what read one
 * that was left out reads one of these. The trace has one step. Free with ll_trace_free; NULL and *trouble
 * (NULL itself when the run is too short for that to save anything). */
struct ll_trace *ll_thin(const struct ll_trace *trace, const struct ll_alike *alike, const char **trouble);

/* How many layers that leaves out. */
uint32_t ll_thinned(const struct ll_alike *alike);

#endif
