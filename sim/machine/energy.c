/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation and a byte take, and how large the parts of a machine are: from its figures, and where it
 * has none of its own. */
#include "sim/machine/machine.h"
#include "tracer/transform/dtype.h"

#include <math.h>

/* The figure of the listed type that is as large or the next larger one, or of the largest; 0 when none is
 * listed. */
static double nearest_j(const double listed_j[LL_DTYPE_COUNT], uint64_t wanted_bits, bool floating_only)
{
    double best_j = 0;
    uint64_t best_bits = UINT64_MAX, largest = 0;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        uint64_t bits = ll_dtype_bits((enum ll_dtype)i);
        bool closer = bits >= wanted_bits ? bits < best_bits : best_bits == UINT64_MAX && bits > largest;
        if (listed_j[i] <= 0 || !closer || (floating_only && !ll_dtype_is_floating((enum ll_dtype)i)))
            continue;
        best_j = listed_j[i];
        largest = ll_max(largest, bits);
        best_bits = bits >= wanted_bits ? bits : best_bits;
    }
    return best_j;
}

/* A type that the machine leaves out costs what another does. An integer addition costs no more than a
 * floating one of its size, but not the other way round. */
static double of_dtype(const double listed_j[LL_DTYPE_COUNT], enum ll_dtype dtype)
{
    if (listed_j[dtype] > 0)
        return listed_j[dtype];
    bool floating = ll_dtype_is_floating(dtype);
    double nearest = nearest_j(listed_j, ll_dtype_bits(dtype), floating);
    return nearest > 0 ? nearest : nearest_j(listed_j, ll_dtype_bits(dtype), false);
}

double ll_machine_mac_j(const struct ll_machine *machine, enum ll_dtype dtype)
{
    return of_dtype(machine->energy.mac_j, dtype);
}

double ll_machine_compute_j(const struct ll_machine *machine, const struct ll_work *work, enum ll_dtype dtype)
{
    const struct ll_energy *energy = &machine->energy;
    double op_j = of_dtype(energy->op_j, dtype), of_mac_j = ll_machine_mac_j(machine, dtype) / 2;
    double lanes_j = op_j > 0 ? op_j : of_mac_j;
    return (double)work->flops * (ll_is_product(work) ? of_mac_j : lanes_j) + (double)work->between * lanes_j;
}

/* A figure of the level's own comes first. A larger memory has longer lines, as long as it is not cut into
 * banks: read energies of CACTI 7 grow with the square root of the size. */
double ll_machine_level_j(const struct ll_machine *machine, uint64_t l)
{
    const struct ll_energy *energy = &machine->energy;
    if (energy->level_j_per_byte[l] > 0)
        return energy->level_j_per_byte[l];
    if (!ll_level_is_on_chip(machine, l))
        return energy->off_chip_j_per_byte;
    uint64_t size = machine->levels[l].size_bytes, bank = energy->on_chip_bank_bytes;
    return energy->on_chip_j_per_byte * sqrt((double)(bank ? ll_min(size, bank) : size) / 1024);
}

double ll_machine_inside_j(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    int catcher = ll_catcher(machine, level, operand);
    return catcher == LL_CATCHER_UNIT ? 0 : ll_machine_level_j(machine, (uint64_t)catcher);
}

/* The arithmetic of a unit is as large as its largest type needs: the types share multipliers. */
double ll_machine_unit_area_m2(const struct ll_machine *machine, uint64_t u)
{
    const struct ll_unit *unit = &machine->units[u];
    struct ll_arithmetic arithmetic = ll_unit_arithmetic(unit);
    double macs = arithmetic.elements * arithmetic.flops / 2, largest_m2 = 0;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        largest_m2 = fmax(largest_m2, machine->area.pe_m2[i] * arithmetic.rates[i]);
    return largest_m2 * macs * (double)unit->count;
}

double ll_machine_level_area_m2(const struct ll_machine *machine, uint64_t l)
{
    if (!ll_level_is_on_chip(machine, l))
        return 0;
    double instances = (double)ll_machine_instances(machine, l);
    return (double)machine->levels[l].size_bytes * instances * machine->area.sram_m2_per_byte;
}

double ll_machine_area_m2(const struct ll_machine *machine)
{
    if (!machine->area_given)
        return NAN;
    double total_m2 = machine->area.fixed_m2;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        total_m2 += ll_machine_unit_area_m2(machine, u);
    for (uint64_t l = 0; l < machine->level_count; l++)
        total_m2 += ll_machine_level_area_m2(machine, l);
    return total_m2;
}

double ll_machine_static_w(const struct ll_machine *machine)
{
    const struct ll_energy *energy = &machine->energy;
    if (energy->static_w > 0 || energy->leakage_w_per_mm2 == 0 || !machine->area_given)
        return energy->static_w;
    return energy->leakage_w_per_mm2 * ll_machine_area_m2(machine) * 1e6;
}
