/* SPDX-License-Identifier: Apache-2.0 */
/* From a machine to its array. */
#include "sim/array/machine.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/num.h"

static const uint8_t all_ways[LL_OPERAND_COUNT] = {1u << LL_ARRAY_READ | 1u << LL_ARRAY_FILL,
                                                   1u << LL_ARRAY_READ | 1u << LL_ARRAY_FILL,
                                                   (1u << LL_ARRAY_WAYS) - 1};

static void take_accesses(const struct ll_accesses *accesses, struct ll_array_store *store)
{
    store->width_bits = accesses->width_bits;
    store->min_bits = accesses->min_bits > 0 ? accesses->min_bits : accesses->width_bits;
    store->read_j = accesses->read_j;
    store->write_j = accesses->write_j;
    store->update_j = accesses->update_j > 0 ? accesses->update_j : accesses->write_j;
    store->leak_j = accesses->leak_j;
    store->cluster = (double)accesses->cluster;
    store->coalesces = accesses->by_line;
    store->ports = (uint8_t)accesses->port_count;
    memcpy(store->port, accesses->port, sizeof store->port);
}

/* A port of so many bytes a second. */
static void add_port(struct ll_array_store *store, double Bps, double clock_hz, unsigned ways)
{
    double bits = 8 * Bps / clock_hz;
    struct ll_array_port *port = &store->port[store->ports++];
    *port = (struct ll_array_port){.width_bits = bits, .min_bits = bits};
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        port->serves[o] = all_ways[o] & (uint8_t)ways;
}

/* Of a level that is described by its bandwidth and by the energy of a byte. */
static void take_bandwidth(const struct ll_machine *machine, uint64_t l, double clock_hz,
                           struct ll_array_store *store)
{
    const struct ll_level *level = &machine->levels[l];
    const unsigned out = 1u << LL_ARRAY_READ | 1u << LL_ARRAY_DRAIN,
                   in = 1u << LL_ARRAY_FILL | 1u << LL_ARRAY_UPDATE;
    if (level->read_Bps > 0 || level->write_Bps > 0) {
        add_port(store, level->efficiency * (level->read_Bps > 0 ? level->read_Bps : level->bandwidth_Bps),
                 clock_hz, out);
        add_port(store, level->efficiency * (level->write_Bps > 0 ? level->write_Bps : level->bandwidth_Bps),
                 clock_hz, in);
    } else {
        add_port(store, level->efficiency * level->bandwidth_Bps, clock_hz, out | in);
    }
    store->width_bits = store->min_bits = 8;
    store->read_j = store->write_j = store->update_j = ll_machine_level_j(machine, l);
    store->coalesces = true;
}

static void cost_all_ways(struct ll_array_store *store, double access_j)
{
    store->read_j = store->write_j = store->update_j = access_j;
}

/* Memories whose accesses are described without figures of energy: the width that these are of, a byte
 * where it is not known either. */
static void take_width(struct ll_array_store *store)
{
    if (store->width_bits == 0)
        store->width_bits = store->ports > 0 ? store->port[0].width_bits : 8;
    store->min_bits = store->min_bits > 0 ? store->min_bits : store->width_bits;
}

static double instances_of(const struct ll_array *array, uint32_t serves)
{
    double many = 1;
    for (int a = 0; a < array->axes; a++)
        many *= serves >> a & 1 ? 1 : (double)array->axis[a];
    return many;
}

struct ll_array ll_array_of(const struct ll_machine *machine, uint64_t u, enum ll_dtype dtype)
{
    static const struct ll_array_rules *const rules[] = {&ll_array_rules_leadline, &ll_array_rules_timeloop,
                                                         &ll_array_rules_zigzag};
    const struct ll_unit *unit = &machine->units[u];
    const struct ll_array_unit *described = &unit->array;
    struct ll_array array = {.axes = (uint8_t)described->axes.count,
                             .mac_j = ll_machine_mac_j(machine, dtype),
                             .hop_j = ll_machine_hop_j(machine, u),
                             .macs_per_cycle = described->macs[dtype],
                             .rules = *rules[described->counting]};
    assert(unit->model == LL_UNIT_ARRAY &&
           machine->level_count + described->register_count <= LL_ARRAY_STORES);
    array.rules.gated |= described->gated;
    for (int a = 0; a < array.axes; a++)
        array.axis[a] = described->axes.at[a];
    uint32_t of_units = unit->count > 1 ? 1u << array.axes : 0;
    if (of_units)
        array.axis[array.axes++] = unit->count;
    for (uint64_t i = 0; i < described->register_count; i++) {
        const struct ll_register *r = &described->registers[i];
        struct ll_array_store *store = &array.store[array.stores++];
        *store = (struct ll_array_store){
            .name = r->name, .size_bits = 8 * (double)r->size_bytes, .serves = (uint32_t)r->serves};
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            store->holds[o] = !r->holds_given || r->holds[o];
        store->instances = instances_of(&array, store->serves);
        take_accesses(&r->accesses, store);
        if (r->accesses.read_j == 0 && r->accesses.write_j == 0) {
            take_width(store);
            cost_all_ways(store, ll_machine_register_j(machine, r, store->width_bits));
        }
    }
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        struct ll_array_store *store = &array.store[array.stores++];
        *store = (struct ll_array_store){.name = level->name,
                                         .size_bits = 8 * (double)level->size_bytes,
                                         .serves = (1u << array.axes) - 1};
        if (level->scope == LL_SCOPE_UNIT)
            store->serves &= ~of_units;
        store->instances = instances_of(&array, store->serves);
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            store->holds[o] = l + 1 == machine->level_count || ll_level_holds(level, o);
        if (level->accesses_given)
            take_accesses(&level->accesses, store);
        if (level->accesses_given && store->read_j == 0 && store->write_j == 0) {
            take_width(store);
            cost_all_ways(store, ll_machine_level_j(machine, l) * store->width_bits / 8);
        }
        if (!level->accesses_given)
            take_bandwidth(machine, l, unit->clock_hz, store);
    }
    return array;
}

uint64_t ll_array_find(const struct ll_machine *machine)
{
    uint64_t u = 0;
    while (u < machine->unit_count && machine->units[u].model != LL_UNIT_ARRAY)
        u++;
    return u;
}

enum ll_dtype ll_array_dtype(const struct ll_unit *unit)
{
    enum ll_dtype narrowest = LL_DTYPE_COUNT;
    assert(unit->model == LL_UNIT_ARRAY);
    for (enum ll_dtype d = 0; d < LL_DTYPE_COUNT; d++)
        if (unit->array.macs[d] > 0 &&
            (narrowest == LL_DTYPE_COUNT || ll_dtype_bits(d) < ll_dtype_bits(narrowest)))
            narrowest = d;
    return narrowest;
}
