/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper's scope: of which memory levels the tilings nest, and by what objective the search compares
 * them.
 *
 * A unit's private levels are searched for the unit's share of the work, the shared levels for the whole. All
 * stages that the tiling does not change are part of the time that is minimized. */
#include <math.h>

#include "sim/cost/cost_parts.h"

struct ll_levels ll_to_nest(const struct ll_machine *machine, enum ll_scope scope)
{
    if (machine->software.mapping != LL_MAPPED_SEARCH)
        return (struct ll_levels){0};
    return ll_nested_levels(machine, scope);
}

bool ll_nest_chooses(const struct ll_machine *machine, enum ll_scope scope)
{
    const struct ll_levels levels = ll_to_nest(machine, scope);
    return levels.end > levels.first + 1;
}

/* All stages that the tiling does not decide on. */
static struct ll_elsewhere find_elsewhere(const struct ll_machine *machine, const struct ll_paces *paces,
                                          const struct ll_traffic *traffic, const struct ll_nested *nested)
{
    double rest_s = ll_stage_rest_s(&paces->computing);
    struct ll_elsewhere all = {.computing_s = rest_s,
                               .dropping_s = paces->dropping_s,
                               .apart_s = paces->computing.first_s + paces->serial * rest_s};
    for (uint64_t l = 0; l < machine->level_count; l++) {
        if (l >= nested->first && l < nested->end)
            continue;
        struct ll_stage stage =
            ll_stage_of(&paces->intake[l], traffic->bytes[l], paces->s_per_byte[l] * traffic->price[l]);
        uint32_t group = ll_stage_group(machine, l);
        rest_s = ll_stage_rest_s(&stage);
        all.pace_s[group] = fmax(all.pace_s[group], rest_s);
        all.others_s = group == 0 ? fmax(all.others_s, stage.others_s) : all.others_s;
        all.apart_s += stage.first_s + stage.wait_s + paces->serial * rest_s;
    }
    return all;
}

/* What computing takes, and what moves across other boundaries. */
static double fixed_j(const struct ll_machine *machine, const struct ll_task *task,
                      const struct ll_traffic *traffic, const struct ll_nested *nested)
{
    double fixed_j = (1 + task->zeros) * ll_machine_compute_j(machine, task->work, task->dtype);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        if (l >= nested->first && l < nested->end)
            continue;
        fixed_j += traffic->bytes[l] * ll_machine_level_j(machine, l);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            fixed_j += traffic->of[l][i] * ll_machine_inside_j(machine, l, i);
    }
    return fixed_j;
}

/* "nmk" as dimensions; NULL: nothing is given. */
static const enum ll_dim *loops_of(const struct ll_level *level, enum ll_dim order[LL_DIM_COUNT])
{
    for (int i = 0; level->loops && i < LL_DIM_COUNT; i++)
        for (enum ll_dim d = 0; d < LL_DIM_COUNT; d++)
            order[i] = level->loops[i] == *ll_dim_name(d) ? d : order[i];
    return level->loops ? order : NULL;
}

void ll_nest(const struct ll_machine *machine, const struct ll_task *task, const struct ll_paces *paces,
             const struct ll_traffic *traffic, const struct ll_limits *limits, struct ll_nested *nested)
{
    struct ll_hierarchy h = {.problem = nested->problem,
                             .times = nested->times,
                             .count = nested->end - nested->first,
                             .objective = machine->software.objective,
                             .any_of_equals = paces->any_of_equals && !machine->energy_given,
                             .groups = 1 + ll_stage_group(machine, machine->level_count),
                             .serial = paces->serial,
                             .elsewhere = find_elsewhere(machine, paces, traffic, nested),
                             .fixed_j = fixed_j(machine, task, traffic, nested),
                             .static_w = ll_machine_static_w(machine)};
    enum ll_dim orders[LL_MAX_LEVELS][LL_DIM_COUNT] = {0};
    for (uint64_t i = 0; i < h.count; i++) {
        uint64_t l = nested->first + i;
        const struct ll_level *inside = &machine->levels[l - 1];
        h.boundaries[i] = (struct ll_boundary){.capacity_bytes = ll_level_room(inside),
                                               .tile = inside->tile,
                                               .loops = loops_of(inside, orders[i]),
                                               .toll = ll_level_port_cost(&machine->levels[l]),
                                               .s_per_byte = paces->s_per_byte[l],
                                               .intake = paces->intake[l],
                                               .group = ll_stage_group(machine, l),
                                               .j_per_byte = ll_machine_level_j(machine, l) +
                                                             ll_machine_inside_j(machine, l, LL_OPERAND_A),
                                               .limits = limits[l]};
    }
    nested->mapping = ll_mapping_search(&h);
}
