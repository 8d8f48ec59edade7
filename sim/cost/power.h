/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that a board's power leaves to products.
 *
 * A board keeps its power in the mean over many milliseconds, so it is the energy of the products made in a
 * second that counts, with that of the bytes that all memories move for them. Where the arithmetic of a
 * product takes full_s at the full clock,
 *
 *       asked = (multiply-accumulates * energy of one + energy of memories) / full_s
 *       share = ((limit - static power) / asked)^(1 / power_per_clock), at most 1
 *       time  = full_s / share
 *
 * With the clock go the products per second, with share^(power_per_clock - 1) the energy of each: the
 * exponent is above 1 where the voltage follows the clock, for the part of the way that is left above its
 * least. At 1 the product takes no less than its energy over the power (the power caps of Choi and Vuduc, "A
 * roofline model of energy", GT-CSE-2012-01, section 5.2). What waits or idles draws nothing, and leaves its
 * power to the rest.
 *
 * Put together, time = full_s^(1 - 1 / power_per_clock) * (energy / power)^(1 / power_per_clock): a shorter
 * full_s, whatever made it shorter, never lengthens it, for the energy follows from the work and how the unit
 * does it: what a memory is asked for beyond that, by blocks of its own, is not counted. Stages that overlap
 * with the arithmetic change nothing: a slower one hides it at a lower clock as well. Where the exponent is
 * above 1 memories are counted as if their energy sank with the clock too. That latencies leave power to the
 * rest is not counted. Other work waits for memory and is not asked.
 */
#ifndef LL_SIM_COST_POWER_H
#define LL_SIM_COST_POWER_H

#include "sim/cost/unit_model.h"

/* What draws power for a product: multiply-accumulates in this type, and what memories take meanwhile. */
struct ll_draw {
    enum ll_dtype dtype;
    double macs, memory_j;
};

/* What memories take for a product done this way, whatever is kept where: each operand once out of every
 * level that holds it, out of those that feed the unit as often as it asks; in that level and in the one
 * further in to which it goes. `why` gets the sum term by term, NULL for none. Pure but for that. */
double ll_memory_j(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                   struct ll_explain *why);

/* How long the arithmetic takes, in seconds, that would take full_s at the full clock; as long without a
 * limit, without multiply-accumulates, and where power suffices. More of a limit is never longer, and fewer
 * bytes are not either. Pure. */
double ll_power_s(const struct ll_machine *machine, const struct ll_draw *draw, double full_s,
                  struct ll_explain *why);

#endif
