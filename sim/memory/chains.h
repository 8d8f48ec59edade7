/* SPDX-License-Identifier: Apache-2.0 */
/* Storages by the op at which they are born or die. */
#ifndef LL_SIM_MEMORY_CHAINS_H
#define LL_SIM_MEMORY_CHAINS_H

#include "tracer/ir/trace.h"

/* From an op's first storage to the next, in their order, up to LL_NONE. */
struct ll_chains {
    uint32_t *first; /* by op */
    uint32_t *next;  /* by storage */
};

/* Lists live in the arena. False when memory ran out. */
bool ll_chain(const struct ll_trace *trace, const struct ll_life *lives, bool deaths,
              struct ll_chains *chains, struct ll_arena *arena);

#endif
