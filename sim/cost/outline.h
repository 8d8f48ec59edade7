/* SPDX-License-Identifier: Apache-2.0 */
/* What of a cost does not depend on clocks, bandwidths and latencies: the cycles of each kernel configuration
 * and what it moves out of each level. A sweep that varies no more than those works it out once; what a
 * machine makes of it in seconds is a few multiplications (ll_outline_cost), the same to the last bit as
 * those of ll_cost_op.
 *
 * Outlines are kept of work that one kernel does on a unit with configurations, on plain machines
 * (ll_outline_serves). An outline belongs to one thread. */
#ifndef LL_SIM_COST_OUTLINE_H
#define LL_SIM_COST_OUTLINE_H

#include "sim/cost/cost_parts.h"

/* Out of a level by one configuration, as of ll_cost and of ll_level_feed (kernel_parts.h). */
struct ll_outline_level {
    double bytes, written, of[LL_OPERAND_COUNT];
    double crossing_bytes; /* which take both directions' bandwidth as long */
    double share, instances, pieces, first_bytes, waits;
};

struct ll_candidate {
    uint32_t index; /* the unit's way */
    uint64_t units_used;
    double cycles, first_cycles, unit_bytes;
    struct ll_outline_level *levels; /* of the machine; NULL until they are asked for */
    double energy_j;                 /* beside static power, on machines of this turn */
    uint64_t turn;                   /* 0: it was not asked for */
};

struct ll_outline {
    bool served; /* false: there is none of such work, and the rest is nothing */
    uint32_t unit;
    uint64_t near_levels;
    double efficiency, unit_count, serial, made, zeros, launch_overhead_s, launch_overlap;
    struct ll_candidate *candidates;
    uint32_t count, ways;   /* candidates; ways of the unit, of which some may make no sense */
    struct ll_traffic *far; /* whichever candidate; NULL until it is asked for, and of a single one */
};

/* All of a machine on which outlines depend: a copy, to which others are compared. */
struct ll_outline_key {
    struct ll_unit *units;
    struct ll_level *levels;
    struct ll_software *software;
    uint64_t unit_count, level_count;
    const struct ll_dram **dram; /* by level; NULL without */
};
/* In the arena; false when memory ran out. */
bool ll_outline_key(const struct ll_machine *machine, struct ll_arena *arena, struct ll_outline_key *key);

/* Whether a machine has the same outlines: it differs in no more than clocks, bandwidths, latencies,
 * energies, what starting an op takes, and what is not on the device. Pure. */
bool ll_outline_is_same(const struct ll_outline_key *key, const struct ll_machine *machine);

/* Whether there are outlines for such machines: their tiles are in closed form, time is what the software
 * wants least, and all that a level moves overlaps with all else. Pure. */
bool ll_outline_serves(const struct ll_machine *machine);

/* Candidates of work, without their levels. False when memory ran out. */
bool ll_outline_new(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                    struct ll_arena *arena, struct ll_outline *outline);

/* What is taken of an outline, and how long it takes on an empty machine. */
struct ll_outline_choice {
    uint32_t candidate;
    struct ll_timing timing;
};

/* The cost of the work on a machine with the same key: what ll_cost_op says but for `utilization` and
 * `reuse_sensitivity`. cost: all zero but for what earlier calls for machines with as many levels have left.
 * turn: above 0, another one for machines with other energies. Returns false when memory ran out, and with
 * `served` gone where it turns out that there is no outline. */
bool ll_outline_cost(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_outline *outline, uint64_t turn, struct ll_arena *arena, struct ll_cost *cost,
                     struct ll_outline_choice *taken);

/* The cost of one candidate, whose levels are there; cost as above. Pure. */
void ll_outline_fill(const struct ll_machine *machine, const struct ll_outline *outline, uint32_t candidate,
                     struct ll_cost *cost);

/* kernel_model.c and cost.c for outline.c */

/* What ll_cost_op would time: asks with the timing of work that a single variant does in configurations of a
 * unit. False of other work, or as `ask` says. */
typedef bool ll_timing_ask(const struct ll_kernel_timing *timing, void *context);
bool ll_cost_ask_timing(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        ll_timing_ask *ask, void *context);

/* Whether cycles and bytes of the work follow from an outline. Pure. */
bool ll_kernel_has_outline(const struct ll_kernel_timing *timing);

/* The candidates. False when memory ran out. */
bool ll_kernel_outline(const struct ll_kernel_timing *timing, struct ll_arena *arena,
                       struct ll_outline *outline);

/* The levels of one of them. False when memory ran out; of several whose kernel reads rows again, `served` is
 * false afterwards. */
bool ll_kernel_outline_levels(const struct ll_kernel_timing *timing, struct ll_arena *arena,
                              struct ll_outline *outline, uint32_t candidate);

#endif
