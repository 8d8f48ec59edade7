/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/chains.h"

#include <string.h>

bool ll_chain(const struct ll_trace *trace, const struct ll_life *lives, bool deaths,
              struct ll_chains *chains, struct ll_arena *arena)
{
    chains->first = ll_alloc(arena, trace->op_count + 1, sizeof *chains->first);
    chains->next = ll_alloc(arena, trace->storage_count + 1, sizeof *chains->next);
    if (!chains->first || !chains->next)
        return false;
    memset(chains->first, 0xff, trace->op_count * sizeof *chains->first);
    for (uint64_t s = trace->storage_count; s-- > 0;) {
        if (lives[s].first == LL_NONE)
            continue;
        uint32_t op = deaths ? lives[s].last : lives[s].first;
        chains->next[s] = chains->first[op];
        chains->first[op] = (uint32_t)s;
    }
    return true;
}
