/* SPDX-License-Identifier: Apache-2.0 */
/* What can be doubled, to see what it would gain: rates, bandwidths and sizes; and what starting ops costs,
 * and what exchanges take from the units, both of which can be done without. */
#include "sim/machine/machine.h"
#include "sim/machine/steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KNOBS = 2 * LL_MAX_UNITS + 3 * LL_MAX_LEVELS + 4 * LL_MAX_LINKS + 3 };

/* Where a knob's value is in the machine, and how it is called. */
struct slot {
    const char *list, *name, *key; /* "memory", "hbm", "bandwidth"; name NULL: list.key */
    const char *label;             /* behind the name: "hbm" and "bandwidth" */
    size_t offset;
    bool whole; /* uint64_t, else double */
    double factor;
};

static size_t offset_in(const struct ll_machine *machine, const void *member)
{
    return (size_t)((const char *)member - (const char *)machine);
}

static size_t unit_slots(const struct ll_machine *machine, struct slot *slots)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        slots[i] = (struct slot){"units", unit->name, "clock", "rate", offset_in(machine, &unit->clock_hz),
                                 false,   2};
    }
    size_t count = machine->unit_count;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if (unit->model == LL_UNIT_VECTOR && unit->vector.specials > 0)
            slots[count++] = (struct slot){"units",
                                           unit->name,
                                           "special_functions",
                                           "special functions",
                                           offset_in(machine, &unit->vector.specials),
                                           false,
                                           2};
    }
    return count;
}

static size_t level_slots(const struct ll_machine *machine, struct slot *slots)
{
    size_t count = 0;
    for (uint64_t i = 0; i < machine->level_count; i++) {
        const struct ll_level *level = &machine->levels[i];
        bool others = level->read_Bps > 0 || level->write_Bps > 0 || level->unit_Bps > 0;
        slots[count++] =
            (struct slot){"memory",
                          level->name,
                          others ? "bandwidth (read, write and unit bandwidth too)" : "bandwidth",
                          "bandwidth",
                          offset_in(machine, &level->bandwidth_Bps),
                          false,
                          2};
    }
    for (uint64_t i = 0; i < machine->level_count; i++) {
        const struct ll_level *level = &machine->levels[i];
        if (level->numa_given)
            slots[count++] = (struct slot){"memory",
                                           level->name,
                                           "numa.bandwidth",
                                           "bandwidth between nodes",
                                           offset_in(machine, &level->numa.link_Bps),
                                           false,
                                           2};
    }
    for (uint64_t i = 0; i + 1 < machine->level_count; i++) {
        const struct ll_level *level = &machine->levels[i];
        slots[count++] = (struct slot){
            "memory", level->name, "size", "size", offset_in(machine, &level->size_bytes), true, 2};
    }
    return count;
}

static size_t network_slots(const struct ll_machine *machine, const struct ll_network *network,
                            struct slot *slots)
{
    const struct {
        const char *key, *label;
        const double *Bps;
    } rates[] = {{"bandwidth", "bandwidth", &network->bandwidth_Bps},
                 {"port", "port", &network->port_Bps},
                 {"group_port", "port of a group", &network->group_port_Bps}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (*rates[i].Bps > 0)
            slots[count++] = (struct slot){"network",
                                           network->name,
                                           rates[i].key,
                                           rates[i].label,
                                           offset_in(machine, rates[i].Bps),
                                           false,
                                           2};
    if (network->units_taken > 0)
        slots[count++] = (struct slot){"network",
                                       network->name,
                                       "units_taken",
                                       "taking no units",
                                       offset_in(machine, &network->units_taken),
                                       false,
                                       0};
    return count;
}

/* Whether anything has a cost of being started. */
static bool starts_cost(const struct ll_software *software)
{
    bool any = software->op_overhead_s > 0 || software->step_overhead_s > 0;
    for (uint64_t i = 0; i < software->kernel_count; i++)
        any = any || software->kernels[i].launch_overhead_s > 0;
    for (uint64_t i = 0; i < software->transform_count; i++)
        any = any || software->transforms[i].overhead_s > 0;
    for (uint64_t i = 0; i < software->attention_count; i++)
        any = any || software->attention[i].launch_s > 0;
    for (uint64_t i = 0; i < software->expert_count; i++)
        any = any || software->experts[i].launch_s > 0;
    return any;
}

static size_t other_slots(const struct ll_machine *machine, struct slot *slots)
{
    size_t count = 0;
    for (uint64_t i = 0; i < machine->network_count; i++)
        count += network_slots(machine, &machine->networks[i], slots + count);
    if (machine->host.bandwidth_Bps > 0)
        slots[count++] = (struct slot){
            "host", NULL, "bandwidth", "host bandwidth", offset_in(machine, &machine->host.bandwidth_Bps),
            false,  2};
    if (machine->host.prepare_Bps > 0)
        slots[count++] = (struct slot){"host",
                                       NULL,
                                       "prepare_bandwidth",
                                       "rate of preparing input",
                                       offset_in(machine, &machine->host.prepare_Bps),
                                       false,
                                       2};
    if (machine->energy.limit_w > 0)
        slots[count++] = (struct slot){
            "energy", NULL, "limit_w", "power limit", offset_in(machine, &machine->energy.limit_w), false, 2};
    if (starts_cost(&machine->software))
        slots[count++] = (struct slot){"software",
                                       NULL,
                                       "op_overhead (kernels, steps, barriers too)",
                                       "zero launch overhead",
                                       offset_in(machine, &machine->software.op_overhead_s),
                                       false,
                                       0};
    return count;
}

static size_t all_slots(const struct ll_machine *machine, struct slot slots[MOST_KNOBS])
{
    size_t count = unit_slots(machine, slots);
    count += level_slots(machine, slots + count);
    return count + other_slots(machine, slots + count);
}

const struct ll_knob *ll_machine_knobs(const struct ll_machine *machine, struct ll_arena *arena,
                                       size_t *count)
{
    struct slot slots[MOST_KNOBS];
    *count = all_slots(machine, slots);
    struct ll_knob *knobs = ll_alloc(arena, *count, sizeof *knobs);
    for (size_t i = 0; knobs && i < *count; i++) {
        const struct slot *slot = &slots[i];
        const char *dot = slot->name ? "." : "", *name = slot->name ? slot->name : "";
        knobs[i].path = ll_format(arena, "%s%s%s.%s", slot->list, dot, name, slot->key);
        knobs[i].label = ll_format(arena, "%s%s%s", name, slot->name ? " " : "", slot->label);
        knobs[i].factor = slot->factor;
        if (!knobs[i].path || !knobs[i].label)
            return NULL;
    }
    return knobs;
}

static void turn(struct ll_machine *copy, const struct slot *slot)
{
    void *value = (char *)copy + slot->offset;
    if (slot->whole)
        *(uint64_t *)value *= (uint64_t)slot->factor; /* sizes are below 2^50 */
    else
        *(double *)value *= slot->factor;
    for (uint64_t i = 0; i < copy->level_count; i++)
        if (value == &copy->levels[i].bandwidth_Bps) {
            copy->levels[i].read_Bps *= slot->factor;
            copy->levels[i].write_Bps *= slot->factor;
            copy->levels[i].unit_Bps *= slot->factor;
        }
    if (value != &copy->software.op_overhead_s)
        return;
    copy->software.step_overhead_s *= slot->factor;
    for (uint64_t i = 0; i < copy->software.kernel_count; i++)
        copy->software.kernels[i].launch_overhead_s *= slot->factor;
    for (uint64_t i = 0; i < copy->software.transform_count; i++)
        copy->software.transforms[i].overhead_s *= slot->factor;
    for (uint64_t i = 0; i < copy->software.attention_count; i++)
        copy->software.attention[i].launch_s *= slot->factor;
    for (uint64_t i = 0; i < copy->software.expert_count; i++)
        copy->software.experts[i].launch_s *= slot->factor;
}

struct ll_machine *ll_machine_turn(const struct ll_machine *machine, size_t knob)
{
    struct slot slots[MOST_KNOBS];
    size_t count = all_slots(machine, slots);
    assert(knob < count);
    struct ll_machine *copy = knob < count ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    *copy = *machine;
    copy->arena = (struct ll_arena){0};
    copy->config_hash = 0;
    copy->pools = NULL; /* the other one's */
    copy->pool_count = 0;
    turn(copy, &slots[knob]);
    return copy;
}
