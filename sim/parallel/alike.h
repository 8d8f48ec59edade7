/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a workload that do the same, one behind the other, as most of those of a transformer do: what is
 * found out about one of them holds for all. */
#ifndef LL_SIM_PARALLEL_ALIKE_H
#define LL_SIM_PARALLEL_ALIKE_H

#include "sim/parallel/layers.h"

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
