/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that a board's power leaves to products.
 *
 * Products keep all lanes of a unit busy. Where that, beside what flows all the time, would draw more power
 * than the board gives, clocks sink until it does not:
 *
 *       (clock / full clock)^power_per_clock = (limit - static power) / (products per second * energy of one)
 *
 * at most 1. The exponent is above 1 where the voltage follows the clock, for the part of the way that is
 * left above its least. Other work waits for memory and is not asked. */
#ifndef LL_SIM_COST_POWER_H
#define LL_SIM_COST_POWER_H

#include "sim/cost/explain.h"
#include "sim/machine/machine.h"

/* The share of the full clock, more than 0 to 1, that unit->count instances sustain with products of this
 * type; 1 without a limit. More of a clock, and more of a limit, is never less of a clock times its share.
 * Pure. */
double ll_power_share(const struct ll_machine *machine, const struct ll_unit *unit, enum ll_dtype dtype,
                      struct ll_explain *why);

#endif
