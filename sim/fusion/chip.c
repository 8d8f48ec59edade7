/* SPDX-License-Identifier: Apache-2.0 */
/* The chip: cores, the memories in which tiles wait, links and the shortest ways over them, and what a
 * tile costs on a kind of core. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/fusion_parts.h"

/* Behind a core's own memories all comes at once: what comes from there is a transfer of its own. */
static void open_type(struct ll_one_core *type, const struct ll_machine *machine, uint64_t t)
{
    ll_machine_one_core(machine, t, type);
    struct ll_level *outermost = &type->machine.levels[type->machine.level_count - 1];
    outermost->bandwidth_Bps = 1e24;
    outermost->read_Bps = outermost->write_Bps = outermost->unit_Bps = outermost->latency_s = 0;
    outermost->efficiency = 1;
    outermost->dram = NULL;
    outermost->access_bytes = outermost->channels = 0;
    outermost->numa_given = outermost->cache_given = false;
    type->machine.energy.level_j_per_byte[type->machine.level_count - 1] = 0;
    type->machine.energy.off_chip_j_per_byte = 0;
}

/* The outermost memory of a core that holds an operand: there its tiles wait. */
static uint32_t waiting_level(const struct ll_one_core *type, enum ll_operand operand)
{
    uint64_t found = 0;
    for (uint64_t l = 0; l + 1 < type->machine.level_count; l++)
        if (ll_level_holds(&type->machine.levels[l], operand))
            found = l;
    return (uint32_t)type->level_of[found];
}

/* The memory of the i-th core of a kind; that of another kind which has the same level is the same one. */
static uint16_t pool_at(struct chip *chip, uint32_t core, uint32_t level)
{
    uint32_t i = core - chip->first_of[chip->type_of[core]];
    for (uint16_t p = 0; p < chip->pool_count; p++) {
        uint16_t end = chip->pools[p].end;
        if (chip->pools[p].level == level && (uint32_t)(end - chip->first_of[chip->type_of[end]]) == i)
            return p;
    }
    chip->pools[chip->pool_count] =
        (struct pool){(double)chip->machine->levels[level].size_bytes, level, (uint16_t)core};
    return (uint16_t)chip->pool_count++;
}

static void open_cores(struct chip *chip)
{
    for (uint32_t t = 0; t < chip->type_count; t++) {
        chip->first_of[t] = (uint16_t)chip->core_count;
        for (uint64_t i = 0; i < chip->machine->cores[t].count; i++)
            chip->type_of[chip->core_count++] = (uint16_t)t;
    }
    for (uint32_t c = 0; c < chip->core_count; c++) {
        chip->domain_of[c] = (uint16_t)c;
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
            uint16_t pool = pool_at(chip, c, waiting_level(&chip->types[chip->type_of[c]], o));
            chip->pool_of[c][o] = pool;
            if (chip->domain_of[chip->pools[pool].end] < chip->domain_of[c])
                chip->domain_of[c] = chip->domain_of[chip->pools[pool].end];
        }
    }
}

/* A link that leads from an end to an end. */
struct hop {
    uint16_t from, to, link;
};

struct hops {
    struct chip *chip;
    struct hop *at;
    uint64_t count, room, link_room;
    uint32_t spec;
    bool failed;
};

static void add_hop(struct hops *hops, uint64_t from, uint64_t to, uint16_t link)
{
    if (!ll_grow(&hops->at, &hops->room, hops->count + 1, sizeof *hops->at)) {
        hops->failed = true;
        return;
    }
    hops->at[hops->count++] = (struct hop){(uint16_t)from, (uint16_t)to, link};
}

static uint16_t add_link(struct hops *hops, struct link link)
{
    struct chip *chip = hops->chip;
    if (chip->link_count == UINT16_MAX ||
        !ll_grow(&chip->links, &hops->link_room, chip->link_count + 1, sizeof *chip->links)) {
        hops->failed = true;
        return 0;
    }
    chip->links[chip->link_count] = link;
    return (uint16_t)chip->link_count++;
}

static struct link link_of(const struct hops *hops)
{
    const struct ll_core_link *spec = &hops->chip->machine->core_links[hops->spec];
    return (struct link){spec->bandwidth_Bps, spec->latency_s,
                         ll_machine_core_link_j(hops->chip->machine, spec), hops->spec};
}

static void add_pair(void *context, uint64_t from, uint64_t to)
{
    struct hops *hops = context;
    add_hop(hops, from, to, add_link(hops, link_of(hops)));
    add_hop(hops, to, from, add_link(hops, link_of(hops)));
}

/* All links of the machine; link 0 is the outermost memory, which reads and writes in turn. */
static bool open_links(struct hops *hops)
{
    const struct ll_machine *machine = hops->chip->machine;
    double Bps = ll_machine_memory_Bps(machine);
    double latency_s = machine->levels[machine->level_count - 1].latency_s;
    uint16_t ends[LL_MOST_CORE_ENDS];
    add_link(hops, (struct link){Bps, latency_s, 0, UINT32_MAX});
    for (hops->spec = 0; hops->spec < machine->core_link_count; hops->spec++) {
        const struct ll_core_link *spec = &machine->core_links[hops->spec];
        uint64_t count = ll_core_link_ends(machine, spec, ends);
        ll_core_link_pairs(spec, ends, count, add_pair, hops);
        if (spec->topology != LL_CORES_BUS)
            continue;
        uint16_t bus = add_link(hops, link_of(hops));
        for (uint64_t i = 0; i < count; i++)
            for (uint64_t j = 0; j < count; j++)
                if (i != j)
                    add_hop(hops, ends[i], ends[j], bus);
    }
    return !hops->failed;
}

/* Ways from one end to all others of the fewest links, of equal ones those first in the file; as a tree,
 * so that what goes to several ends parts as late as it can. */
static bool find_routes(const struct hops *hops, uint16_t from, struct ll_arena *arena)
{
    struct chip *chip = hops->chip;
    uint16_t queue[LL_MOST_CORE_ENDS], head = 0, tail = 0;
    bool seen[LL_MOST_CORE_ENDS] = {false};
    struct route *routes = &chip->routes[(size_t)from * chip->ends];
    uint16_t memory = chip_memory(chip);
    seen[from] = true;
    queue[tail++] = from;
    routes[from] = (struct route){NULL, 0};
    while (head < tail) {
        uint16_t at = queue[head++];
        for (uint64_t h = 0; h < hops->count; h++) {
            const struct hop *hop = &hops->at[h];
            if (hop->from != at || seen[hop->to] || (at == memory && from != memory))
                continue;
            seen[hop->to] = true;
            queue[tail++] = hop->to;
            struct route *there = &routes[hop->to];
            const struct route *here = &routes[at];
            bool outside = (at == memory && from == memory) || hop->to == memory;
            there->links = ll_alloc(arena, here->count + 2u, sizeof *there->links);
            if (!there->links)
                return false;
            if (here->count)
                memcpy(there->links, here->links, here->count * sizeof *there->links);
            there->count = here->count;
            if (outside)
                there->links[there->count++] = 0;
            there->links[there->count++] = hop->link;
        }
    }
    return true;
}

bool chip_open(struct chip *chip, const struct ll_machine *machine, struct ll_arena *arena)
{
    memset(chip, 0, sizeof *chip);
    chip->machine = machine;
    chip->type_count = (uint32_t)machine->core_type_count;
    chip->types = ll_alloc(arena, chip->type_count, sizeof *chip->types);
    chip->ends = (uint16_t)(ll_machine_core_count(machine) + 1);
    chip->routes = ll_alloc(arena, (size_t)chip->ends * chip->ends, sizeof *chip->routes);
    if (!chip->types || !chip->routes)
        return false;
    for (uint32_t t = 0; t < chip->type_count; t++)
        open_type(&chip->types[t], machine, t);
    open_cores(chip);
    struct hops hops = {.chip = chip};
    bool good = open_links(&hops);
    for (uint16_t e = 0; good && e < chip->ends; e++)
        good = find_routes(&hops, e, arena);
    free(hops.at);
    return good;
}

void chip_close(struct chip *chip)
{
    ll_map_release(&chip->keys);
    free(chip->costs);
    free(chip->links);
    chip->costs = NULL;
    chip->links = NULL;
}

const struct tile_cost *chip_cost(struct chip *chip, uint32_t type, enum ll_op_kind kind,
                                  const struct ll_work *work)
{
    struct key {
        struct ll_work work;
        uint64_t type, kind;
    } key;
    bool is_new;
    const struct ll_machine *machine = &chip->types[type].machine;
    memset(&key, 0, sizeof key);
    key.work = *work;
    key.type = type;
    key.kind = kind;
    uint32_t id = ll_map_intern(&chip->keys, &key, sizeof key, &is_new);
    if (id == LL_NO_ID || !ll_grow(&chip->costs, &chip->cost_capacity, (uint64_t)id + 1, sizeof *chip->costs))
        return NULL;
    struct tile_cost *cost = &chip->costs[id];
    if (is_new) {
        const char *trouble;
        struct ll_timing timing;
        struct ll_cost found;
        memset(cost, 0, sizeof *cost);
        if (!ll_cost_op(machine, kind, work, &found, &trouble)) {
            cost->time_s = -1;
            return NULL;
        }
        ll_cost_time(machine, &found, NULL, &timing);
        cost->time_s = timing.time_s;
        cost->overhead_s = timing.overhead_s;
        if (machine->energy_given) {
            cost->compute_j = ll_cost_compute_j(machine, work, &found);
            cost->moving_j = ll_cost_moving_j(machine, &found, NULL);
        }
    }
    return cost->time_s < 0 ? NULL : cost;
}
