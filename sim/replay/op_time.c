/* SPDX-License-Identifier: Apache-2.0 */
/* How long an op takes on the device's stream: alone, and while exchanges keep some of the units busy.
 *
 * The levels of the network fall still one after the other, so the share u that is taken goes down in steps.
 * Of an op that takes T alone, and S(u) with the units that are left, V seconds do what takes V T / S(u)
 * alone:
 *
 *       u  |u1------+                    V1 (1 - T / S(u1)) + V2 (1 - T / S(u2))  is added to T
 *          |        |u2-------+
 *          +--------+---------+------
 *           V1       V2        the rest at full speed
 *
 * Calculon slows the computing that goes on beside messages by 1 / (1 - u) likewise, its `processor_usage`
 * (Isaev et al., "Calculon: a Methodology and Tool for High-Level Codesign of Systems and Large Language
 * Models", SC 2023). Of exchanges over different levels that go on at once the largest share counts, not the
 * sum: one that passes several levels is one kernel for all of them, and that is what is common. */
#include "sim/replay/replay_parts.h"

#include <math.h>

/* What residency and fusion take off the op's traffic. */
void ll_save_traffic(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                     struct ll_so_far so_far, struct ll_leftovers *found)
{
    struct ll_fused fused = ll_fused_as(prepared, machine->software.fusion, seq);
    ll_residency_saved(prepared->residency, machine, seq, fused.held, so_far, found);
}

/* Whether the op takes as long as it was recorded to take. */
static bool takes_recorded(const struct ll_prepared *prepared, uint32_t seq)
{
    return prepared->as_recorded && prepared->trace->ops[seq].duration_ns > 0;
}

/* The machine is asked what holds the op back, not how long it takes. */
static void take_recorded(const struct ll_prepared *prepared, uint32_t seq, struct ll_timing *timing,
                          struct ll_explain *why)
{
    double recorded_s = (double)prepared->trace->ops[seq].duration_ns * 1e-9;
    if (!takes_recorded(prepared, seq))
        return;
    ll_say(why, "as recorded, its start included, in place of %.10g + %.10g s: %.10g s", timing->time_s,
           timing->overhead_s, recorded_s);
    timing->exposed_s = fmin(timing->exposed_s, recorded_s);
    timing->time_s = recorded_s;
    timing->overhead_s = timing->behind_s = timing->more_s = 0;
}

/* An op that is joined to the one before it leaves no gap. */
static struct ll_cost cost_here(const struct ll_cost *cost, bool follows)
{
    struct ll_cost here = *cost;
    here.gap_s = follows ? 0 : cost->gap_s;
    return here;
}

/* The op's time on an empty stream: residency and fusion, which `found` tells, take traffic off its cost. */
void ll_time_op(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                const struct ll_cost *cost, const struct ll_leftovers *found, struct ll_timing *timing,
                struct ll_explain *why)
{
    bool follows = ll_fused_as(prepared, machine->software.fusion, seq).follows;
    struct ll_cost whole = cost_here(cost, follows);
    ll_cost_time(machine, &whole, found, timing, why);
    if (follows) {
        timing->overhead_s = timing->behind_s = timing->more_s = 0;
        ll_say(why, "fused with the op before it, its start costs nothing: %.10g + 0 = %.10g s",
               timing->time_s, timing->time_s);
    }
    take_recorded(prepared, seq, timing, why);
}

/* --- beside exchanges --- */

/* The level that keeps most of the units busy at this time, of those that keep any, the first of equals. */
static bool most_taken(const struct ll_machine *machine, const double *level_end_s, double at_s,
                       uint32_t *level)
{
    double most = 0;
    for (uint32_t l = 0; l < machine->network_count; l++)
        if (level_end_s[l] > at_s && machine->networks[l].units_taken > most) {
            most = machine->networks[l].units_taken;
            *level = l;
        }
    return most > 0;
}

/* What the op takes with that level's share of the units gone from end to end. */
static double without_units_s(const struct ll_slowed *slowed, const struct ll_network *level,
                              struct ll_explain *why)
{
    bool follows = ll_fused_as(slowed->prepared, slowed->machine->software.fusion, slowed->seq).follows;
    struct ll_cost less = cost_here(slowed->cost, follows);
    struct ll_timing timing;
    double left = 1 - level->units_taken;
    less.compute_s /= left;
    less.compute_first_s /= left;
    ll_say(why,
           "compute, while exchanges over %s keep %.10g of the units busy: %.10g / (1 - %.10g) = %.10g s",
           level->name, level->units_taken, slowed->cost->compute_s, level->units_taken, less.compute_s);
    if (less.compute_first_s > 0)
        ll_say(why, "compute, first piece: %.10g / (1 - %.10g) = %.10g s", slowed->cost->compute_first_s,
               level->units_taken, less.compute_first_s);
    ll_cost_time(slowed->machine, &less, slowed->found, &timing, why);
    return timing.time_s;
}

/* Of the op's time, how long a level's share of the units is gone, and what that adds. */
struct stretch {
    double time_s, added_s;
};

/* It goes on for for_s at most; left_s of the op are still to be done, `added` is of stretches before. */
static struct stretch stretch_of(const struct ll_slowed *slowed, const struct ll_network *level, double for_s,
                                 double left_s, double added, struct ll_explain *why)
{
    double alone_s = slowed->alone_s, less_s = fmax(alone_s, without_units_s(slowed, level, why));
    double time_s = fmin(for_s, left_s * (less_s / alone_s)), added_s = time_s * (1 - alone_s / less_s);
    ll_say(why, "time, some of it beside exchanges over %s: %.10g + %.10g * (1 - %.10g / %.10g) = %.10g s",
           level->name, alone_s + added, time_s, alone_s, less_s, alone_s + (added + added_s));
    return (struct stretch){time_s, added_s};
}

double ll_taken_s(const struct ll_slowed *slowed, const double *level_end_s, double begin_s, uint32_t *level,
                  struct ll_explain *why)
{
    double left_s = slowed->alone_s, at_s = begin_s, added_s = 0;
    uint32_t now;
    if (takes_recorded(slowed->prepared, slowed->seq))
        return 0;
    while (left_s > 0 && most_taken(slowed->machine, level_end_s, at_s, &now)) {
        struct stretch stretch = stretch_of(slowed, &slowed->machine->networks[now], level_end_s[now] - at_s,
                                            left_s, added_s, why);
        *level = added_s == 0 ? now : *level;
        added_s += stretch.added_s;
        left_s -= stretch.time_s - stretch.added_s;
        at_s = level_end_s[now];
    }
    return added_s;
}
