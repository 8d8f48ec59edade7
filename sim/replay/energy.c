/* SPDX-License-Identifier: Apache-2.0 */
/* Energy to first order: so much for each multiply-accumulate, so much for each byte out of a memory level,
 * and the static power over the whole step (the accounting of Accelergy: Wu, Emer and Sze, ICCAD 2019).
 * Area: arithmetic by the number of multiply-accumulators, on-chip memory by the byte, and what is fixed.
 * Both are NaN when the machine does not describe them. */
#include "sim/replay/replay_parts.h"

#include <math.h>

/* A type that the machine leaves out costs what the next larger listed type costs (an integer addition costs
 * no more than a floating one of its size), or the largest listed one. */
static double mac_energy_j(const struct ll_energy *energy, enum ll_dtype dtype)
{
    if (energy->mac_j[dtype] > 0)
        return energy->mac_j[dtype];
    double best_j = 0;
    uint64_t best_bytes = UINT64_MAX, wanted = ll_dtype_bytes(dtype), largest = 0;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        uint64_t bytes = ll_dtype_bytes((enum ll_dtype)i);
        bool closer = bytes >= wanted ? bytes < best_bytes : best_bytes == UINT64_MAX && bytes > largest;
        if (energy->mac_j[i] <= 0 || !closer)
            continue;
        best_j = energy->mac_j[i];
        largest = ll_max(largest, bytes);
        best_bytes = bytes >= wanted ? bytes : best_bytes;
    }
    return best_j;
}

static double energy_j(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    double total_j = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
        const struct ll_work *work = &prepared->works[prepared->trace->ops[seq].form];
        total_j += (double)work->flops / 2 * mac_energy_j(&machine->energy, (enum ll_dtype)work->dtype);
        for (uint64_t l = 0; l < machine->level_count; l++)
            total_j += op->traffic_bytes[l] * machine->energy.level_j_per_byte[l];
    }
    return total_j / (double)prepared->steps + machine->energy.static_w * result->time_s;
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
    uint64_t instances = 1;
    for (uint64_t u = 0; machine->levels[l].scope == LL_SCOPE_UNIT && u < machine->unit_count; u++)
        instances = ll_max(instances, machine->units[u].count);
    return (double)machine->levels[l].size_bytes * (double)instances * machine->area.sram_m2_per_byte;
}

static double area_m2(const struct ll_machine *machine)
{
    double total_m2 = machine->area.fixed_m2;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        total_m2 += unit_area_m2(&machine->units[u], &machine->area);
    for (uint64_t l = 0; l + 1 < machine->level_count; l++)
        total_m2 += level_area_m2(machine, l);
    return total_m2;
}

void ll_sum_energy(struct ll_result *result)
{
    result->energy_j = result->machine->energy_given ? energy_j(result) : NAN;
    result->area_m2 = result->machine->area_given ? area_m2(result->machine) : NAN;
}
