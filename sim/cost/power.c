/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/power.h"

#include "sim/cost/unit_model.h"

#include <math.h>

double ll_power_share(const struct ll_machine *machine, const struct ll_unit *unit, enum ll_dtype dtype,
                      struct ll_explain *why)
{
    const struct ll_energy *energy = &machine->energy;
    double rate = ll_unit_flops_per_cycle(unit, dtype) * (double)unit->count * unit->clock_hz;
    double asked_w = rate / 2 * ll_machine_mac_j(machine, dtype);
    if (energy->limit_w == 0)
        return 1;
    double static_w = ll_machine_static_w(machine), left_w = energy->limit_w - static_w;
    if (asked_w <= left_w)
        return 1;
    double share = pow(left_w / asked_w, 1 / fmax(1, energy->power_per_clock));
    ll_say(why, "%s, power asked for at the full clock: %.10g / 2 * %.10g = %.10g W", unit->name, rate,
           ll_machine_mac_j(machine, dtype), asked_w);
    ll_say(why, "%s, power left of what the full clock asks for: (%.10g - %.10g) / %.10g = %.10g", unit->name,
           energy->limit_w, static_w, asked_w, left_w / asked_w);
    ll_say(why, "%s sustains %.10g of its clock with that: power goes with the clock to the power of %.10g",
           unit->name, share, fmax(1, energy->power_per_clock));
    return share;
}
