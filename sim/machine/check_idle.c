/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that are given and would change nothing, since what they are about is not there: whoever wrote them
 * takes them for simulated. What a sweep may turn on and off as it explores is left alone. */
#include "sim/machine/steps.h"

/* A key that is given, and whether what it needs is, too. */
struct need {
    const char *key;
    bool given, met;
};

/* Complains of the keys of a section, or of an item of a list, whose need is not met. */
static bool check_needs(struct ll_reading *reading, const struct ll_node *section, const struct need *needs,
                        size_t count, const char *need)
{
    bool right = true;
    for (size_t i = 0; i < count; i++) {
        const struct ll_node *node = ll_node_get(section, needs[i].key);
        struct ll_place place = node ? node->place : section ? section->place : (struct ll_place){0};
        if (needs[i].given && !needs[i].met)
            right = ll_complain(reading->diags, place, "`%s` means nothing without %s", needs[i].key, need);
    }
    return right;
}

#define CHECK_NEEDS(reading, section, needs, need)                                                           \
    check_needs(reading, section, needs, sizeof(needs) / sizeof *(needs), need)

static bool check_host(struct ll_reading *reading)
{
    const struct ll_host *host = &reading->machine->host;
    bool way = host->bandwidth_Bps > 0;
    const struct need needs[] = {{"latency", host->latency_s > 0, way},
                                 {"prepare_bandwidth", host->prepare_Bps > 0, way},
                                 {"encode_bandwidth", host->encode_Bps > 0, way},
                                 {"workers", host->workers > 1, way}};
    return CHECK_NEEDS(reading, ll_node_get(reading->root, "host"), needs,
                       "the host's `bandwidth`: input is on the device already");
}

/* The clock sinks by what products take. */
static bool check_limit(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    bool any = false;
    for (uint64_t l = 0; l < machine->level_count; l++)
        any = any || ll_machine_level_j(machine, l) > 0;
    for (int d = 0; d < LL_DTYPE_COUNT; d++)
        any = any || machine->energy.mac_j[d] > 0;
    const struct need needs[] = {{"limit_w", machine->energy.limit_w > 0, any}};
    return CHECK_NEEDS(reading, ll_node_get(reading->root, "energy"), needs,
                       "`mac_pj` or energy of a memory: products take no power");
}

static bool check_price(struct ll_reading *reading)
{
    const struct ll_pricing *pricing = &reading->machine->pricing;
    bool wafer = pricing->wafer_usd > 0;
    const struct need needs[] = {{"defects_per_cm2", pricing->defects_per_cm2 > 0, wafer},
                                 {"clustering", pricing->clustering > 0, wafer},
                                 {"dies", pricing->dies > 1, wafer}};
    return CHECK_NEEDS(reading, ll_node_get(reading->root, "price"), needs,
                       "`wafer_usd`: no silicon is paid for");
}

/* Work that is divided evenly has no tiles that are loaded step by step. */
static bool check_tiled(struct ll_reading *reading, const struct ll_unit *unit, const struct ll_node *item)
{
    const struct ll_matrix *m = &unit->matrix;
    bool tiles = m->tile_count > 0 || m->conv_tile_count > 0 || m->catalogue;
    const struct need needs[] = {
        {"feed", m->feed > 0, tiles},
        {"step_cycles", m->step_cycles > 0, tiles},
        {"resident", m->resident > 0, tiles},
        {"join_cycles", m->join_cycles > 0, tiles},
        {"line_cycles", m->line_cycles > 0, tiles},
    };
    return unit->model != LL_UNIT_MATRIX ||
           CHECK_NEEDS(reading, item, needs, "`tiles`: work is divided evenly among the units");
}

static bool check_link(struct ll_reading *reading, uint64_t level, const struct ll_node *item)
{
    const struct ll_network *net = &reading->machine->networks[level];
    const struct need chunks[] = {{"chunk_latency", net->chunk_latency_s > 0, net->chunk_bytes > 0}};
    const struct need groups[] = {{"group_port", net->group_port_Bps > 0, level > 0},
                                  {"links", net->links > 0, level > 0}};
    bool right = CHECK_NEEDS(reading, item, chunks, "`chunk`: bytes flow without gaps");
    return CHECK_NEEDS(reading, item, groups, "groups of devices, of which the innermost level has none") &&
           right;
}

bool ll_check_idle(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    bool right = !ll_read_well(reading, "host") || check_host(reading);
    if (ll_read_well(reading, "energy") && ll_read_well(reading, "memory") && machine->level_count > 0)
        right &= check_limit(reading);
    if (ll_read_well(reading, "price"))
        right &= check_price(reading);
    if (ll_read_well(reading, "units"))
        for (uint64_t i = 0; i < machine->unit_count; i++)
            right &= check_tiled(reading, &machine->units[i], ll_item_node(reading, "units", i));
    if (ll_read_well(reading, "network"))
        for (uint64_t i = 0; i < machine->network_count; i++)
            right &= check_link(reading, i, ll_item_node(reading, "network", i));
    return right;
}
