/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with one level before its memory, for tests of what levels keep. */
#ifndef LL_TESTS_TWO_LEVELS_H
#define LL_TESTS_TWO_LEVELS_H

#include "sim/memory/residency.h"

static const struct ll_so_far timeless = {NULL, 0, NULL};

static inline struct ll_machine two_levels(uint64_t size_bytes, enum ll_scope scope, uint64_t units)
{
    struct ll_machine machine = {.unit_count = 1, .level_count = 2};
    machine.units[0].count = units;
    machine.levels[0] = (struct ll_level){.size_bytes = size_bytes, .scope = scope};
    machine.levels[1] = (struct ll_level){.size_bytes = UINT64_C(1) << 40, .scope = LL_SCOPE_DEVICE};
    return machine;
}

/* What there was before each of so many ops, when no time passes. */
static inline struct ll_so_far met_by(const struct ll_residency *residency, const struct ll_machine *machine,
                                      uint32_t ops, struct ll_arena *arena)
{
    struct ll_history *history = ll_history_new(residency, machine, 0, ops, arena);
    for (uint32_t op = 0; history && op < ops; op++)
        ll_history_add(history, op, timeless);
    return (struct ll_so_far){NULL, 0, history};
}

#endif
