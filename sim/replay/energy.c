/* SPDX-License-Identifier: Apache-2.0 */
/* Energy to first order: so much for each multiply-accumulate or operation, so much for each byte out of a
 * memory level, from the host or over a link between devices, and the power that flows all the time over
 * the whole step. As in Accelergy (Wu, Emer and Sze, ICCAD 2019) a byte is charged in both memories between
 * which it goes; between the innermost one and the units once, between the outermost one and the host in that
 * one too. Area: arithmetic by the number of multiply-accumulators,
 * on-chip memory by the byte, and what is fixed. Both are NaN when the machine does not describe them. */
#include "sim/cost/cost.h"
#include "sim/replay/replay_parts.h"

#include <math.h>
#include <string.h>

void ll_energy_add(struct ll_energy_parts *sum, const struct ll_energy_parts *term, double times)
{
    sum->compute_j += times * term->compute_j;
    sum->host_j += times * term->host_j;
    sum->network_j += times * term->network_j;
    sum->static_j += times * term->static_j;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        sum->level_j[l] += times * term->level_j[l];
}

double ll_energy_sum(const struct ll_energy_parts *parts)
{
    double sum_j = 0;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        sum_j += parts->level_j[l];
    return sum_j + parts->compute_j + parts->host_j + parts->network_j + parts->static_j;
}

/* That an op brings from the host, or takes there. */
static double host_bytes(const struct ll_work *work)
{
    if (work->kind == LL_WORK_HOST)
        return (double)work->c_bytes;
    return work->kind == LL_WORK_SWAP ? (double)ll_max(work->a_bytes, work->c_bytes) : 0;
}

/* Arithmetic, and bytes of the host, of all replayed steps together. */
static void sum_ops(struct ll_result *result, const bool *idle)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        uint32_t form = prepared->trace->ops[seq].form;
        const struct ll_work *work = &prepared->works[form];
        if (idle && idle[form])
            continue;
        result->energy.compute_j += ll_cost_compute_j(machine, work, ll_replay_cost(result, seq));
        result->host_bytes += host_bytes(work);
    }
}

/* Of what an op moves out of a level and back, each operand's bytes; of other work than products, what it
 * reads and writes share them. */
static void split_bytes(const struct ll_level *level, const struct ll_work *work,
                        const struct ll_op_detail *detail, uint64_t l, double of[LL_OPERAND_COUNT])
{
    if (ll_is_product(work)) {
        memcpy(of, detail->operand_bytes[l], sizeof detail->operand_bytes[l]);
        return;
    }
    double read = ll_level_holds(level, LL_OPERAND_A) ? (double)work->a_bytes : 0;
    double written = ll_level_holds(level, LL_OPERAND_C) ? (double)work->c_bytes : 0;
    double each = read + written > 0 ? detail->traffic_bytes[l] / (read + written) : 0;
    of[LL_OPERAND_A] = read * each;
    of[LL_OPERAND_B] = 0;
    of[LL_OPERAND_C] = written * each;
}

void ll_count_accesses(const struct ll_machine *machine, const struct ll_work *work,
                       const struct ll_op_detail *detail, double accessed_bytes[LL_MAX_LEVELS])
{
    if (machine->energy_given)
        accessed_bytes[machine->level_count - 1] += host_bytes(work);
    for (uint64_t l = 0; machine->energy_given && l < machine->level_count; l++) {
        double of[LL_OPERAND_COUNT];
        accessed_bytes[l] += detail->traffic_bytes[l];
        split_bytes(&machine->levels[l], work, detail, l, of);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
            int inside = ll_catcher(machine, l, i);
            if (inside != LL_CATCHER_UNIT)
                accessed_bytes[inside] += of[i];
        }
    }
}

/* Fills the parts of a step and returns their sum. */
static double sum_energy(struct ll_result *result, const bool *idle, const double *accessed_bytes)
{
    struct ll_energy_parts *parts = &result->energy;
    double steps = (double)result->prepared->steps;
    sum_ops(result, idle);
    parts->compute_j /= steps;
    result->host_bytes /= steps;
    parts->host_j = result->host_bytes * result->machine->energy.host_j_per_byte;
    parts->network_j = result->network.links_j;
    for (uint64_t l = 0; l < result->machine->level_count; l++)
        parts->level_j[l] = accessed_bytes[l] / steps * ll_machine_level_j(result->machine, l);
    parts->static_j = ll_machine_static_w(result->machine) * result->time_s;
    return ll_energy_sum(parts);
}

void ll_sum_energy(struct ll_result *result, const bool *idle, const double *accessed_bytes)
{
    const struct ll_machine *machine = result->machine;
    result->area_m2 = ll_machine_area_m2(machine);
    result->energy_j = machine->energy_given ? sum_energy(result, idle, accessed_bytes) : NAN;
}
