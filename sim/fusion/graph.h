/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a prepared trace (graph.c). Private to sim/fusion. */
#ifndef LL_SIM_FUSION_GRAPH_H
#define LL_SIM_FUSION_GRAPH_H

#include "sim/fusion/fusion_parts.h"

/* All ops of the replay that take time, in the arena. False when memory ran out, or after complaining of
 * an op that needs other devices or the host. */
bool graph_build(struct graph *graph, const struct ll_prepared *prepared, struct ll_arena *arena,
                 struct ll_diags *diags);

#endif
