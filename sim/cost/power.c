/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/power.h"

#include <math.h>

double ll_power_s(const struct ll_machine *machine, const struct ll_draw *draw, double full_s,
                  struct ll_explain *why)
{
    const struct ll_energy *energy = &machine->energy;
    double mac_j = ll_machine_mac_j(machine, draw->dtype);
    double byte_j = ll_machine_level_j(machine, machine->level_count - 1);
    double asked_j = draw->macs * mac_j + draw->bytes * byte_j;
    if (energy->limit_w == 0 || draw->macs == 0)
        return full_s;
    double static_w = ll_machine_static_w(machine), left_w = energy->limit_w - static_w;
    if (asked_j <= left_w * full_s)
        return full_s;
    double exponent = fmax(1, energy->power_per_clock), asked_w = asked_j / full_s;
    double share = pow(left_w / asked_w, 1 / exponent), time_s = full_s / share;
    ll_say(why,
           "power that arithmetic and memory ask for at the full clock: (%.10g * %.10g + %.10g * %.10g) / "
           "%.10g = %.10g W",
           draw->macs, mac_j, draw->bytes, byte_j, full_s, asked_w);
    ll_say(why, "power that is left, of that: (%.10g - %.10g) / %.10g = %.10g", energy->limit_w, static_w,
           asked_w, left_w / asked_w);
    if (exponent > 1)
        ll_say(why, "share of the clock that it sustains: %.10g^(1 / %.10g) = %.10g", left_w / asked_w,
               exponent, share);
    ll_say(why, "compute, at that share: %.10g / %.10g = %.10g s", full_s, share, time_s);
    return time_s;
}
