/* SPDX-License-Identifier: Apache-2.0 */
/* Energy to first order: so much for each multiply-accumulate or operation, so much for each byte out of a
 * memory level or from the host, and the power that flows all the time over the whole step (the accounting of
 * Accelergy: Wu, Emer and Sze, ICCAD 2019). Area: arithmetic by the number of multiply-accumulators, on-chip
 * memory by the byte, and what is fixed. Both are NaN when the machine does not describe them. */
#include "sim/replay/replay_parts.h"

#include <math.h>

/* Arithmetic and the host's bytes, of all replayed steps together. */
static void sum_ops(const struct ll_result *result, struct ll_energy_parts *parts)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_work *work = &prepared->works[prepared->trace->ops[seq].form];
        parts->compute_j += ll_machine_compute_j(machine, work);
        if (work->kind == LL_WORK_HOST)
            parts->host_j += (double)work->c_bytes * machine->energy.host_j_per_byte;
        if (work->kind == LL_WORK_SWAP)
            parts->host_j += (double)ll_max(work->a_bytes, work->c_bytes) * machine->energy.host_j_per_byte;
    }
}

/* Fills the parts of a step and returns their sum. */
static double sum_energy(const struct ll_result *result, double area_mm2, struct ll_energy_parts *parts)
{
    const struct ll_energy *energy = &result->machine->energy;
    double steps = (double)result->prepared->steps, total_j = 0;
    sum_ops(result, parts);
    parts->compute_j /= steps;
    parts->host_j /= steps;
    for (uint64_t l = 0; l < result->machine->level_count; l++) {
        parts->level_j[l] = result->level_bytes[l] * ll_machine_level_j(result->machine, l);
        total_j += parts->level_j[l];
    }
    parts->static_j =
        (energy->static_w > 0 ? energy->static_w : energy->leakage_w_per_mm2 * area_mm2) * result->time_s;
    return total_j + parts->compute_j + parts->host_j + parts->static_j;
}

static const double *unit_macs(const struct ll_unit *unit, double *per_count)
{
    switch (unit->model) {
    case LL_UNIT_SYSTOLIC:
        *per_count = (double)unit->systolic.rows * (double)unit->systolic.cols;
        return unit->systolic.macs;
    case LL_UNIT_MATRIX:
        *per_count = 1;
        return unit->matrix.macs;
    default:
        *per_count = (double)unit->vector.lanes / 2; /* a multiply-accumulator gives two operations */
        return unit->vector.flops;
    }
}

/* The arithmetic of a unit is as large as its largest type needs: the types share multipliers. */
static double unit_area_m2(const struct ll_unit *unit, const struct ll_area *area)
{
    double per_count, largest_m2 = 0;
    const double *macs = unit_macs(unit, &per_count);
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        largest_m2 = fmax(largest_m2, area->pe_m2[i] * macs[i]);
    return largest_m2 * per_count * (double)unit->count;
}

static double level_area_m2(const struct ll_machine *machine, uint64_t l)
{
    double instances = (double)ll_machine_instances(machine, l);
    return (double)machine->levels[l].size_bytes * instances * machine->area.sram_m2_per_byte;
}

double ll_area_m2(const struct ll_machine *machine)
{
    if (!machine->area_given)
        return NAN;
    double total_m2 = machine->area.fixed_m2;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        total_m2 += unit_area_m2(&machine->units[u], &machine->area);
    for (uint64_t l = 0; l + 1 < machine->level_count; l++)
        total_m2 += level_area_m2(machine, l);
    return total_m2;
}

void ll_sum_energy(struct ll_result *result)
{
    const struct ll_machine *machine = result->machine;
    result->area_m2 = ll_area_m2(machine);
    double area_mm2 = machine->area_given ? result->area_m2 * 1e6 : 0;
    result->energy_j = machine->energy_given ? sum_energy(result, area_mm2, &result->energy) : NAN;
}
