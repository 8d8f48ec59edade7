/* SPDX-License-Identifier: Apache-2.0 */
/* Cores: which units and memories each has, and what joins them. First what others ask, then what no
 * single key can say of them. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/steps.h"

uint64_t ll_machine_core_count(const struct ll_machine *machine)
{
    uint64_t count = 0;
    for (uint64_t t = 0; t < machine->core_type_count; t++)
        count = ll_add(count, machine->cores[t].count);
    return count;
}

uint64_t ll_machine_unit_named(const struct ll_machine *machine, const char *name)
{
    uint64_t u = 0;
    while (u < machine->unit_count && (!machine->units[u].name || strcmp(machine->units[u].name, name) != 0))
        u++;
    return u;
}

uint64_t ll_machine_level_named(const struct ll_machine *machine, const char *name)
{
    uint64_t l = 0;
    while (l < machine->level_count &&
           (!machine->levels[l].name || strcmp(machine->levels[l].name, name) != 0))
        l++;
    return l;
}

struct ll_core_ends ll_core_ends_of(const struct ll_machine *machine, const char *word)
{
    uint64_t first = 0;
    for (uint64_t t = 0; t < machine->core_type_count; first += machine->cores[t++].count) {
        const struct ll_core *core = &machine->cores[t];
        size_t length = core->name ? strlen(core->name) : 0;
        if (length == 0 || strncmp(word, core->name, length) != 0)
            continue;
        if (word[length] == '\0')
            return (struct ll_core_ends){first, core->count};
        char *end;
        if (word[length] != '.' || word[length + 1] < '0' || word[length + 1] > '9')
            continue;
        uint64_t i = strtoull(word + length + 1, &end, 10);
        if (*end == '\0' && i < core->count)
            return (struct ll_core_ends){first + i, 1};
    }
    bool outermost = machine->level_count > 0 && machine->levels[machine->level_count - 1].name &&
                     strcmp(word, machine->levels[machine->level_count - 1].name) == 0;
    return (struct ll_core_ends){first, outermost ? 1 : 0};
}

uint64_t ll_core_link_ends(const struct ll_machine *machine, const struct ll_core_link *link,
                           uint16_t ends[LL_MOST_CORE_ENDS])
{
    bool there[LL_MOST_CORE_ENDS] = {false};
    uint64_t count = 0;
    for (uint64_t j = 0; j < link->join_count; j++) {
        struct ll_core_ends named = ll_core_ends_of(machine, link->joins[j]);
        for (uint64_t i = 0; i < named.count && named.first + i < LL_MOST_CORE_ENDS; i++)
            if (!there[named.first + i]) {
                there[named.first + i] = true;
                ends[count++] = (uint16_t)(named.first + i);
            }
    }
    return count;
}

void ll_core_link_pairs(const struct ll_core_link *link, const uint16_t *ends, uint64_t count,
                        ll_core_link_found *found, void *context)
{
    uint64_t columns = link->shape.count > 1 ? link->shape.at[1] : count;
    for (uint64_t i = 0; i < count; i++)
        switch (link->topology) {
        case LL_CORES_MESH:
            if ((i + 1) % columns != 0 && i + 1 < count)
                found(context, ends[i], ends[i + 1]);
            if (i + columns < count)
                found(context, ends[i], ends[i + columns]);
            break;
        case LL_CORES_RING:
            if (i + 1 < count || count > 2)
                found(context, ends[i], ends[(i + 1) % count]);
            break;
        case LL_CORES_STAR:
            if (i > 0)
                found(context, ends[0], ends[i]);
            break;
        default:
            break;
        }
}

static void take_level(struct ll_one_core *core, const struct ll_machine *machine, uint64_t l)
{
    uint64_t at = core->machine.level_count++;
    core->machine.levels[at] = machine->levels[l];
    core->machine.energy.level_j_per_byte[at] = ll_machine_level_j(machine, l);
    core->level_of[at] = l;
}

void ll_machine_one_core(const struct ll_machine *machine, uint64_t type, struct ll_one_core *core)
{
    const struct ll_core *kind = &machine->cores[type];
    assert(type < machine->core_type_count);
    memset(core, 0, sizeof *core);
    core->machine = *machine;
    core->machine.core_type_count = core->machine.core_link_count = 0;
    core->machine.unit_count = core->machine.level_count = 0;
    for (uint64_t i = 0; i < machine->unit_count; i++)
        for (uint64_t u = 0; u < kind->unit_count; u++)
            if (machine->units[i].name && strcmp(kind->units[u], machine->units[i].name) == 0) {
                core->unit_of[core->machine.unit_count] = i;
                core->machine.units[core->machine.unit_count++] = machine->units[i];
                break;
            }
    for (uint64_t l = 0; l + 1 < machine->level_count; l++)
        for (uint64_t m = 0; m < kind->memory_count; m++)
            if (machine->levels[l].name && strcmp(kind->memory[m], machine->levels[l].name) == 0) {
                take_level(core, machine, l);
                break;
            }
    take_level(core, machine, machine->level_count - 1);
}

static bool has_level(const struct ll_machine *machine, uint64_t type, uint64_t l)
{
    const struct ll_core *core = &machine->cores[type];
    for (uint64_t m = 0; m < core->memory_count; m++)
        if (machine->levels[l].name && strcmp(core->memory[m], machine->levels[l].name) == 0)
            return true;
    return false;
}

static bool has_unit(const struct ll_machine *machine, uint64_t type, uint64_t u)
{
    const struct ll_core *core = &machine->cores[type];
    for (uint64_t i = 0; i < core->unit_count; i++)
        if (machine->units[u].name && strcmp(core->units[i], machine->units[u].name) == 0)
            return true;
    return false;
}

uint64_t ll_machine_cores_with(const struct ll_machine *machine, uint64_t unit)
{
    uint64_t count = 0;
    for (uint64_t t = 0; t < machine->core_type_count; t++)
        count += has_unit(machine, t, unit) ? machine->cores[t].count : 0;
    return machine->core_type_count > 0 ? count : 1;
}

bool ll_levels_meet(const struct ll_machine *machine, uint64_t one, uint64_t other)
{
    bool meet =
        machine->core_type_count == 0 || one + 1 >= machine->level_count || other + 1 >= machine->level_count;
    for (uint64_t t = 0; t < machine->core_type_count; t++)
        meet = meet || (has_level(machine, t, one) && has_level(machine, t, other));
    return meet;
}

/* Where a key of an item stands, or the item itself. */
static struct ll_place place_in(const struct ll_reading *reading, const char *list, uint64_t index,
                                const char *key)
{
    const struct ll_node *item = ll_item_node(reading, list, index), *node = ll_node_get(item, key);
    return node ? node->place : item ? item->place : (struct ll_place){0};
}

/* Names of units or levels that a kind of core lists. */
static bool check_listed(struct ll_reading *reading, uint64_t type, const char *key, const char *const *names,
                         uint64_t count)
{
    const struct ll_machine *machine = reading->machine;
    bool units = strcmp(key, "units") == 0, right = true;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at =
            units ? ll_machine_unit_named(machine, names[i]) : ll_machine_level_named(machine, names[i]);
        struct ll_near_words near = {.count = 0};
        if (at < (units ? machine->unit_count : machine->level_count - 1))
            continue;
        for (uint64_t j = 0; j < (units ? machine->unit_count : machine->level_count - 1); j++)
            ll_near_words_add(&near, units ? machine->units[j].name : machine->levels[j].name);
        right =
            ll_complain(reading->diags, place_in(reading, "cores", type, key), "`%s` is no %s%s", names[i],
                        units ? "unit of this machine"
                              : "memory level that a core can have of its own (the outermost one is common)",
                        ll_suggest(reading->diags, names[i], &near));
    }
    return right;
}

/* Every unit and every level but the outermost is some core's, and each core has memory for all operands. */
static bool check_owners(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    bool right = true;
    for (uint64_t u = 0; u < machine->unit_count; u++) {
        bool owned = false;
        for (uint64_t t = 0; t < machine->core_type_count; t++)
            owned = owned || has_unit(machine, t, u);
        if (!owned)
            right = ll_complain(reading->diags, place_in(reading, "units", u, "name"),
                                "no core has the unit `%s`; expected it in `units` of one of `cores`",
                                machine->units[u].name ? machine->units[u].name : "");
    }
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        bool owned = false;
        for (uint64_t t = 0; t < machine->core_type_count; t++)
            owned = owned || has_level(machine, t, l);
        if (!owned)
            right = ll_complain(reading->diags, place_in(reading, "memory", l, "name"),
                                "no core has the memory `%s`; expected it in `memory` of one of `cores`",
                                machine->levels[l].name ? machine->levels[l].name : "");
    }
    for (uint64_t t = 0; t < machine->core_type_count; t++)
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
            bool held = false;
            for (uint64_t l = 0; l + 1 < machine->level_count; l++)
                held = held || (has_level(machine, t, l) && ll_level_holds(&machine->levels[l], o));
            if (!held)
                right = ll_complain(reading->diags, place_in(reading, "cores", t, "memory"),
                                    "no memory of the core `%s` holds operand %s; tiles wait there",
                                    machine->cores[t].name ? machine->cores[t].name : "", ll_operand_name(o));
        }
    return right;
}

static bool check_joins(struct ll_reading *reading, uint64_t index)
{
    const struct ll_machine *machine = reading->machine;
    const struct ll_core_link *link = &machine->core_links[index];
    uint16_t ends[LL_MOST_CORE_ENDS];
    bool right = true;
    for (uint64_t j = 0; j < link->join_count; j++)
        if (ll_core_ends_of(machine, link->joins[j]).count == 0)
            right = ll_complain(
                reading->diags, place_in(reading, "core_links", index, "joins"),
                "`%s` is neither a kind of core, nor a core as `name.0`, nor the outermost memory "
                "level",
                link->joins[j]);
    uint64_t count = ll_core_link_ends(machine, link, ends);
    if (right && count < 2)
        right = ll_complain(reading->diags, place_in(reading, "core_links", index, "joins"),
                            "`%s` joins %" PRIu64 " end; expected at least 2", link->name, count);
    bool mesh = link->topology == LL_CORES_MESH;
    if (mesh && (link->shape.count != 2 || ll_mul(link->shape.at[0], link->shape.at[1]) != count))
        right =
            ll_complain(reading->diags, place_in(reading, "core_links", index, "shape"),
                        "a mesh of %" PRIu64 " ends needs `shape`: rows x columns that make as many", count);
    if (!mesh && link->shape.count > 0)
        right = ll_complain(reading->diags, place_in(reading, "core_links", index, "shape"),
                            "`shape` means nothing here: `%s` is no mesh", link->name);
    return right;
}

struct joined {
    uint16_t group[LL_MOST_CORE_ENDS];
};

static void join(void *context, uint64_t from, uint64_t to)
{
    struct joined *joined = context;
    uint16_t old = joined->group[from], now = joined->group[to];
    for (unsigned i = 0; i < LL_MOST_CORE_ENDS; i++)
        if (joined->group[i] == old)
            joined->group[i] = now;
}

/* From every core there is a way to the outermost memory. Cores that share a memory are joined by it. */
static bool check_ways(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    uint64_t cores = ll_machine_core_count(machine), first = 0;
    struct joined joined;
    uint16_t ends[LL_MOST_CORE_ENDS];
    for (uint16_t i = 0; i < LL_MOST_CORE_ENDS; i++)
        joined.group[i] = i;
    for (uint64_t k = 0; k < machine->core_link_count; k++) {
        uint64_t count = ll_core_link_ends(machine, &machine->core_links[k], ends);
        ll_core_link_pairs(&machine->core_links[k], ends, count, join, &joined);
        for (uint64_t i = 1; machine->core_links[k].topology == LL_CORES_BUS && i < count; i++)
            join(&joined, ends[i - 1], ends[i]);
    }
    for (uint64_t t = 0; t < machine->core_type_count; first += machine->cores[t++].count)
        for (uint64_t i = 0; i < machine->cores[t].count; i++)
            if (joined.group[first + i] != joined.group[cores])
                return ll_complain(reading->diags, place_in(reading, "cores", t, "name"),
                                   "no links lead from the core `%s.%" PRIu64
                                   "` to the memory `%s`; expected "
                                   "`core_links` that join them",
                                   machine->cores[t].name, i, machine->levels[machine->level_count - 1].name);
    return true;
}

bool ll_check_cores(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    bool right = true;
    if (machine->core_type_count == 0)
        return machine->core_link_count == 0 ||
               ll_complain(reading->diags, place_in(reading, "core_links", 0, "name"),
                           "`core_links` mean nothing without `cores`");
    if (ll_machine_core_count(machine) > LL_MOST_CORES)
        return ll_complain(reading->diags, place_in(reading, "cores", 0, "count"),
                           "%" PRIu64 " cores in all; expected at most %d", ll_machine_core_count(machine),
                           LL_MOST_CORES);
    for (uint64_t t = 0; t < machine->core_type_count; t++) {
        const struct ll_core *core = &machine->cores[t];
        right &= check_listed(reading, t, "units", core->units, core->unit_count);
        right &= check_listed(reading, t, "memory", core->memory, core->memory_count);
    }
    right = right && check_owners(reading);
    for (uint64_t k = 0; k < machine->core_link_count; k++)
        right &= check_joins(reading, k);
    return right && check_ways(reading);
}
