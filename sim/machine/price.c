/* SPDX-License-Identifier: Apache-2.0 */
/* What a device costs to make, to first order: good dies of a wafer, memory, and what is fixed. */
#include "sim/machine/machine.h"

#include <math.h>

/* Dies beside each other on a round wafer, the cut ones at its edge left out. */
static double dies_on(double wafer_mm, double die_mm2)
{
    double pi = acos(-1), radius_mm = wafer_mm / 2;
    return fmax(0, floor(pi * radius_mm * radius_mm / die_mm2 - pi * wafer_mm / sqrt(2 * die_mm2)));
}

static double yield_of(const struct ll_pricing *pricing, double die_mm2)
{
    double defects = pricing->defects_per_cm2 * die_mm2 / 100, clustering = pricing->clustering;
    return clustering > 0 ? pow(1 + defects / clustering, -clustering) : exp(-defects);
}

bool ll_machine_price(const struct ll_machine *machine, struct ll_priced *priced)
{
    const struct ll_pricing *pricing = &machine->pricing;
    uint64_t outermost = machine->level_count - 1;
    double dies = (double)pricing->dies, die_mm2 = ll_machine_area_m2(machine) * 1e6 / dies;
    *priced = (struct ll_priced){0};
    if (!machine->pricing_given || machine->level_count == 0 || (pricing->wafer_usd > 0 && !(die_mm2 > 0)))
        return false;
    if (pricing->wafer_usd > 0) {
        priced->dies_per_wafer = dies_on(pricing->wafer_mm, die_mm2);
        priced->yield = yield_of(pricing, die_mm2);
        priced->dies_usd = dies * pricing->wafer_usd / (priced->dies_per_wafer * priced->yield);
    }
    if (!ll_level_is_on_chip(machine, outermost))
        priced->memory_usd =
            pricing->memory_usd_per_GiB * (double)machine->levels[outermost].size_bytes / 0x1p30;
    priced->fixed_usd = pricing->fixed_usd;
    priced->all_usd = priced->dies_usd + priced->memory_usd + priced->fixed_usd;
    return priced->dies_per_wafer >= 1 || pricing->wafer_usd == 0;
}
