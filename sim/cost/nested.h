/* SPDX-License-Identifier: Apache-2.0 */
/* Which levels of a machine a search nests tiles for, and the search with all else that goes on
 * (mapping.h). */
#ifndef LL_SIM_COST_NESTED_H
#define LL_SIM_COST_NESTED_H

#include "sim/cost/mapping.h"
#include "sim/cost/traffic.h"

/* A problem that is done so many times, and the tiling of all memories of a scope that hold its operands: of
 * those behind levels [first, end). */
struct ll_nested {
    uint64_t first, end; /* the same when nothing is searched */
    struct ll_problem problem;
    double times; /* shares and steps */
    struct ll_mapping mapping;
};

/* The levels of a scope, unit or device, that `mapping: search` nests tiles for; the rest is zero. Pure. */
struct ll_nested ll_to_nest(const struct ll_machine *machine, enum ll_scope scope);

/* Whether such a search has a choice, which more than one boundary leaves it. Pure. */
bool ll_nest_chooses(const struct ll_machine *machine, enum ll_scope scope);

/* Fills the mapping of a problem. *traffic: what the other levels move; limits: by level, of those that are
 * searched. Pure. */
void ll_nest(const struct ll_machine *machine, const struct ll_task *task, const struct ll_paces *paces,
             const struct ll_traffic *traffic, const struct ll_limits *limits, struct ll_nested *nested);

#endif
