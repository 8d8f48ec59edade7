/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/nested.h"

#include "sim/cost/traffic.h"

#include <inttypes.h>
#include <math.h>

/* The room of the largest memory of the span's scope in front of a level. */
static double room_before(const struct ll_span *span, uint64_t level)
{
    double room = 0;
    for (uint64_t l = 0; l < level; l++)
        if (span->machine->levels[l].scope == span->inside)
            room = fmax(room, ll_level_room(&span->machine->levels[l]));
    return room;
}

bool ll_span_is_searched(const struct ll_span *span)
{
    const struct ll_machine *machine = span->machine;
    if (machine->software.mapping != LL_MAPPED_SEARCH || span->first >= span->end || span->task->steps > 1)
        return false;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        if (level->scope == LL_SCOPE_CLUSTER)
            return false;
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            if (!ll_level_holds(level, i))
                return false;
    }
    return room_before(span, span->first) > 0;
}

static struct ll_problem problem_of(const struct ll_span *span)
{
    struct ll_problem problem = span->task->problem;
    problem.dims = span->dims;
    return problem;
}

/* What a byte out of this level takes: of all bytes, of those read and of those written. */
static struct ll_boundary boundary_of(const struct ll_span *span, uint64_t l)
{
    const struct ll_level *level = &span->machine->levels[l];
    double instances = (double)ll_level_instances(level, span->units), share = level->efficiency * instances;
    return (struct ll_boundary){
        .capacity_bytes = room_before(span, l),
        .both_s_per_byte = span->shares / (level->bandwidth_Bps * share),
        .read_s_per_byte = level->read_Bps > 0 ? span->shares / (level->read_Bps * share) : 0,
        .write_s_per_byte = level->write_Bps > 0 ? span->shares / (level->write_Bps * share) : 0,
        .j_per_byte = span->shares * ll_machine_level_j(span->machine, l)};
}

struct ll_mapping ll_span_search(const struct ll_span *span)
{
    const struct ll_machine *machine = span->machine;
    struct ll_hierarchy h = {.problem = problem_of(span),
                             .count = span->end - span->first,
                             .objective = machine->software.objective,
                             .fixed_s = span->compute_s,
                             .fixed_j = ll_machine_compute_j(machine, span->task->work)};
    for (uint64_t i = 0; i < h.count; i++)
        h.boundaries[i] = boundary_of(span, span->first + i);
    return ll_mapping_search(&h);
}

void ll_span_bytes(const struct ll_span *span, const struct ll_mapping *mapping, uint64_t level,
                   double *bytes, double *written, struct ll_explain *why)
{
    uint64_t i = level - span->first;
    struct ll_problem problem = problem_of(span);
    const struct ll_nest *nest = &mapping->nests[i];
    const double *passes = mapping->passes[i];
    double a = ll_operand_bytes(&problem, LL_OPERAND_A), b = ll_operand_bytes(&problem, LL_OPERAND_B),
           c = ll_operand_bytes(&problem, LL_OPERAND_C);
    *bytes = span->shares * (mapping->reads[i] + mapping->writes[i]);
    *written = span->shares * mapping->writes[i];
    double back = c > 0 ? (mapping->reads[i] - passes[LL_OPERAND_A] * a - passes[LL_OPERAND_B] * b) / c : 0;
    ll_say(why,
           "out of %s, tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64
           " in the order %s, %s, %s: %.10g * (%.10g * %.10g + %.10g * %.10g + (%.10g + %.10g) * %.10g) = "
           "%.10g B",
           span->machine->levels[level].name, nest->tile[LL_DIM_M], nest->tile[LL_DIM_N],
           nest->tile[LL_DIM_K], ll_dim_name(nest->order[0]), ll_dim_name(nest->order[1]),
           ll_dim_name(nest->order[2]), span->shares, passes[LL_OPERAND_A], a, passes[LL_OPERAND_B], b,
           fmax(0, back), passes[LL_OPERAND_C], c, *bytes);
}
