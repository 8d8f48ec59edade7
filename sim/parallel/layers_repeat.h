/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a workload whose scopes tell of none: what repeats. Private to sim/parallel/layers*.c. */
#ifndef LL_SIM_PARALLEL_LAYERS_REPEAT_H
#define LL_SIM_PARALLEL_LAYERS_REPEAT_H

#include "sim/parallel/layers.h"

/* Joins layers of single weights, as far as a row of them comes several times with other weights of the same
 * shapes: each time is a layer, what is before and behind are two more. Nothing changes when less than half
 * repeats. False when memory ran out. */
bool ll_layers_repeat(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers);

#endif
