/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of layers (`fusion: layers`): a convolution core hands its results to element-wise ops, pooling
 * and normalisation, which work on them as they come, as NVDLA's data and planar processors do.
 *
 * What an op of a pipeline hands on, and the next one alone reads, is not moved. The first op moves all
 * that is left: its own operands, the operands that the others read beside it, and the last one's result.
 * So it takes
 *
 *       time = max(bytes of all over bandwidth, computing of each unit)
 *
 * and the others take no time of their own. */
#include "sim/replay/replay_parts.h"

#include <math.h>

/* Whether the op is part of a pipeline whose first op is another one. */
static bool is_inside(const struct ll_prepared *prepared, uint32_t seq)
{
    struct ll_fused fused = ll_fused_as(prepared, LL_FUSION_LAYERS, seq);
    return fused.follows && ll_fused_as(prepared, LL_FUSION_LAYERS, fused.leader).next == seq;
}

/* False where the machine runs no such op, which the replay has refused. */
static bool cost_of(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                    struct ll_cost *cost)
{
    const char *trouble;
    uint32_t signature = prepared->trace->ops[seq].signature;
    return ll_cost_op(machine, prepared->trace->signatures[signature].view.kind, &prepared->works[signature],
                      cost, &trouble);
}

void ll_pipeline_moves(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                       struct ll_warm_bytes *found)
{
    struct ll_cost cost;
    if (machine->software.fusion != LL_FUSION_LAYERS)
        return;
    if (is_inside(prepared, seq)) {
        for (uint64_t l = 0; cost_of(prepared, machine, seq, &cost) && l < machine->level_count; l++)
            found->saved_bytes[l] = cost.level_bytes[l];
        return;
    }
    for (uint32_t at = ll_fused_as(prepared, LL_FUSION_LAYERS, seq).next; at > 0;
         at = ll_fused_as(prepared, LL_FUSION_LAYERS, at).next) {
        struct ll_warm_bytes its;
        if (!cost_of(prepared, machine, at, &cost))
            continue;
        ll_residency_saved(prepared->residency, machine, at, ll_fused_as(prepared, LL_FUSION_LAYERS, at).held,
                           (struct ll_so_far){0}, &its);
        for (uint64_t l = 0; l < machine->level_count; l++)
            found->saved_bytes[l] -= fmax(0, cost.level_bytes[l] - its.saved_bytes[l]);
    }
}

/* The first op computes as long as the slowest unit of all, the others no time. */
static void compute_at_once(const struct ll_prepared *prepared, const struct ll_machine *machine,
                            uint32_t seq, struct ll_cost *cost)
{
    double unit_s[LL_MAX_UNITS] = {[0] = 0};
    struct ll_cost next;
    if (is_inside(prepared, seq)) {
        cost->compute_s = cost->compute_first_s = 0;
        return;
    }
    if (cost->unit != LL_NO_UNIT)
        unit_s[cost->unit] = cost->compute_s;
    for (uint32_t at = ll_fused_as(prepared, LL_FUSION_LAYERS, seq).next; at > 0;
         at = ll_fused_as(prepared, LL_FUSION_LAYERS, at).next)
        if (cost_of(prepared, machine, at, &next) && next.unit != LL_NO_UNIT) {
            unit_s[next.unit] += next.compute_s;
            cost->compute_s = fmax(cost->compute_s, unit_s[next.unit]);
        }
}

const struct ll_cost *ll_pipeline_cost(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                       uint32_t seq, const struct ll_cost *cost, struct ll_cost *room)
{
    bool follows = ll_fused_as(prepared, machine->software.fusion, seq).follows,
         layers = machine->software.fusion == LL_FUSION_LAYERS;
    if (!layers && (!follows || cost->gap_s == 0))
        return cost;
    *room = *cost;
    room->gap_s = follows ? 0 : cost->gap_s;
    if (layers)
        compute_at_once(prepared, machine, seq, room);
    return room;
}
