/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/power.h"

#include "sim/cost/cost.h"
#include "sim/cost/task.h"

#include <math.h>

/* An operand of a product in one level. */
struct flow {
    double once, asked; /* bytes; asked: by the unit, 0 where another memory catches it */
    double level_j, inside_j;
};

static struct flow flow_of(const struct ll_machine *machine, const struct ll_task *task,
                           const struct ll_way *way, uint64_t l, enum ll_operand i)
{
    const struct ll_work *work = task->work;
    const double once[] = {(double)work->a_bytes, (double)work->b_bytes, (double)work->c_bytes};
    bool feeds = ll_catcher(machine, l, i) == LL_CATCHER_UNIT;
    return (struct flow){.once = once[i],
                         .asked = feeds ? (double)task->steps * way->asked_bytes[i] : 0,
                         .level_j = ll_machine_level_j(machine, l),
                         .inside_j = ll_machine_inside_j(machine, l, i)};
}

double ll_memory_j(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                   struct ll_explain *why)
{
    double sum_j = 0;
    for (uint64_t l = 0; l < machine->level_count; l++)
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
            if (!ll_level_holds(&machine->levels[l], i))
                continue;
            struct flow flow = flow_of(machine, task, way, l, i);
            double each_j = flow.level_j + flow.inside_j, before_j = sum_j;
            sum_j += fmax(flow.once, flow.asked) * each_j;
            if (each_j > 0)
                ll_say(
                    why,
                    "energy of memories, and %s of %s: %.10g + max(%.10g, %.10g) * (%.10g + %.10g) = %.10g J",
                    ll_operand_name(i), machine->levels[l].name, before_j, flow.once, flow.asked,
                    flow.level_j, flow.inside_j, sum_j);
        }
    return sum_j;
}

double ll_power_s(const struct ll_machine *machine, const struct ll_draw *draw, double full_s,
                  struct ll_explain *why)
{
    const struct ll_energy *energy = &machine->energy;
    double mac_j = ll_machine_mac_j(machine, draw->dtype);
    double asked_j = draw->macs * mac_j + draw->memory_j;
    if (energy->limit_w == 0 || draw->macs == 0)
        return full_s;
    double static_w = ll_machine_static_w(machine), left_w = energy->limit_w - static_w;
    if (asked_j <= left_w * full_s)
        return full_s;
    double exponent = fmax(1, energy->power_per_clock), asked_w = asked_j / full_s;
    double share = pow(left_w / asked_w, 1 / exponent), time_s = full_s / share;
    ll_say(why,
           "power that arithmetic and memories ask for at the full clock: (%.10g * %.10g + %.10g) / %.10g = "
           "%.10g W",
           draw->macs, mac_j, draw->memory_j, full_s, asked_w);
    ll_say(why, "power that is left, of that: (%.10g - %.10g) / %.10g = %.10g", energy->limit_w, static_w,
           asked_w, left_w / asked_w);
    if (exponent > 1)
        ll_say(why, "share of the clock that it sustains: %.10g^(1 / %.10g) = %.10g", left_w / asked_w,
               exponent, share);
    ll_say(why, "compute, at that share: %.10g / %.10g = %.10g s", full_s, share, time_s);
    return time_s;
}

/* In the type in which the unit computes, which may be wider than what is stored. */
double ll_cost_compute_j(const struct ll_machine *machine, const struct ll_work *work,
                         const struct ll_cost *cost)
{
    enum ll_dtype dtype = (enum ll_dtype)work->dtype;
    if (cost->unit == LL_NO_UNIT)
        return ll_machine_compute_j(machine, work, dtype);
    return cost->made * (1 + cost->zeros) *
           ll_machine_compute_j(machine, work, ll_computed_on(&machine->units[cost->unit], dtype));
}

double ll_cost_moving_j(const struct ll_machine *machine, const struct ll_cost *cost,
                        const struct ll_leftovers *found)
{
    double sum_j = cost->apart_bytes * ll_machine_level_j(machine, machine->level_count - 1);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double left = fmax(0, cost->level_bytes[l] - (found ? found->saved_bytes[l] : 0));
        if (left == 0)
            continue;
        sum_j += left * ll_machine_level_j(machine, l);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            sum_j += left / cost->level_bytes[l] * cost->level_of[l][i] * ll_machine_inside_j(machine, l, i);
    }
    return sum_j;
}

struct ll_merit ll_cost_merit(const struct ll_machine *machine, const struct ll_work *work,
                              const struct ll_cost *cost, const struct ll_leftovers *found, double time_s)
{
    if (!machine->energy_given)
        return (struct ll_merit){time_s, 0};
    double energy_j = ll_cost_compute_j(machine, work, cost) + ll_cost_moving_j(machine, cost, found);
    double all_j = energy_j + ll_machine_static_w(machine) * time_s;
    switch (machine->software.objective) {
    case LL_OBJECTIVE_ENERGY:
        return (struct ll_merit){all_j, time_s};
    case LL_OBJECTIVE_EDP:
        return (struct ll_merit){all_j * time_s, time_s};
    default:
        return (struct ll_merit){time_s, energy_j};
    }
}
