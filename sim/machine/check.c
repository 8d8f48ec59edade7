/* SPDX-License-Identifier: Apache-2.0 */
/* What no single key can say of a machine: the first section finds keys that would change nothing, the second
 * checks networks, the third names, memory levels, units and what depends on several of them. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/machine/dram.h"
#include "sim/machine/edge.h"
#include "sim/machine/path.h"
#include "sim/machine/steps.h"
#include "tracer/base/str.h"

/* Keys that are given and would change nothing, since what they are about is not there: whoever wrote them
 * takes them for simulated. What a sweep may turn on and off as it explores is left alone. */

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

/* The clock sinks by what GEMMs take. */
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
                       "`mac_pj` or energy of a memory: GEMMs take no power");
}

static bool check_price(struct ll_reading *reading)
{
    const struct ll_pricing *pricing = &reading->machine->pricing;
    bool wafer = pricing->wafer_usd > 0;
    const struct need needs[] = {{"defects_per_cm2", pricing->defects_per_cm2 > 0, wafer},
                                 {"clustering", pricing->clustering > 0, wafer},
                                 {"dies", pricing->dies > 1, wafer}};
    const bool bought = pricing->purchase_usd > 0;
    const struct need buying[] = {{"lifetime_years", pricing->lifetime_years > 0, bought},
                                  {"usd_per_kwh", pricing->usd_per_kwh > 0, bought}};
    const struct need lasting[] = {{"purchase_usd", bought, pricing->lifetime_years > 0}};
    const struct ll_node *section = ll_node_get(reading->root, "price");
    bool right = CHECK_NEEDS(reading, section, needs, "`wafer_usd`: no silicon is paid for");
    if (bought && pricing->usd_per_hour > 0)
        ll_remark(reading->diags, section ? section->place : (struct ll_place){0},
                  "`usd_per_hour` does not count beside `purchase_usd`: the device is bought, not rented");
    right = CHECK_NEEDS(reading, section, buying, "`purchase_usd`: rent has all in it") && right;
    return CHECK_NEEDS(reading, section, lasting, "`lifetime_years`, over which it is spread") && right;
}

/* Where a key of an item stands, or the item itself. */
static struct ll_place place_of(const struct ll_node *item, const char *key)
{
    const struct ll_node *node = ll_node_get(item, key);
    return node ? node->place : item->place;
}

/* Work that is divided evenly has no tiles that are loaded step by step. */
static bool check_tiled(struct ll_reading *reading, const struct ll_unit *unit, const struct ll_node *item)
{
    const struct ll_matrix *m = &unit->matrix;
    bool tiles = m->tile_count > 0;
    const struct need needs[] = {{"feed", m->feed > 0, tiles},
                                 {"few_rows_tiles", m->few_rows_tile_count > 0, tiles},
                                 {"strided_rate", m->strided_rate_hz > 0, tiles},
                                 {"split_k_reduce_cycles", m->split_k_reduce_cycles > 0, tiles}};
    const struct need strided[] = {{"strided_reach", m->strided_reach_bytes > 0, m->strided_rate_hz > 0},
                                   {"strided_drift", m->strided_drift > 0, m->strided_rate_hz > 0}};
    if (unit->model != LL_UNIT_MATRIX)
        return true;
    bool right = CHECK_NEEDS(reading, item, needs, "`tiles`: work is divided evenly among the units");
    right = CHECK_NEEDS(reading, item, strided, "`strided_rate`: no row is waited for") && right;
    for (uint64_t i = 1; i < m->few_rows_tile_count; i++)
        if (m->few_rows_tiles[i].m < m->few_rows_tiles[i - 1].m)
            right = ll_complain(reading->diags, place_of(item, "few_rows_tiles"),
                                "a tile of %" PRIu64 " rows behind one of %" PRIu64
                                "; expected them by their rows",
                                m->few_rows_tiles[i].m, m->few_rows_tiles[i - 1].m);
    return right;
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

/* What a converter takes follows from its bits and the node. */
static bool check_converters(struct ll_reading *reading, const struct ll_unit *unit,
                             const struct ll_node *item)
{
    const struct ll_machine *machine = reading->machine;
    bool noded = machine->energy.node_nm > 0 || machine->energy.figures_nm > 0;
    return unit->model != LL_UNIT_IN_MEMORY || unit->in_memory.adc_bits == 0 || noded ||
           ll_complain(reading->diags, place_of(item, "adc_bits"),
                       "`adc_bits` say nothing without the node: give `node_nm` in `energy`");
}

static bool check_what_stays(struct ll_reading *reading)
{
    bool right = true;
    for (uint64_t i = 0; i < reading->machine->level_count; i++) {
        const struct ll_level *level = &reading->machine->levels[i];
        bool keeps =
            i + 1 < reading->machine->level_count && !level->cache_given && level->scope == LL_SCOPE_DEVICE;
        if (level->keeps_weights && !keeps)
            right = ll_complain(
                reading->diags, place_of(ll_item_node(reading, "memory", i), "keeps_weights"),
                "`%s` cannot keep weights: expected a level inside the outermost one, of scope device, "
                "that is no `cache`",
                level->name);
        if (level->rest != LL_DRAM_STANDBY && !level->dram)
            right = ll_complain(reading->diags, place_of(ll_item_node(reading, "memory", i), "rest"),
                                "`rest` is of channels of a `dram`, and `%s` is none", level->name);
    }
    return right;
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
        for (uint64_t i = 0; i < machine->unit_count; i++) {
            right &= check_tiled(reading, &machine->units[i], ll_item_node(reading, "units", i));
            right &= check_converters(reading, &machine->units[i], ll_item_node(reading, "units", i));
        }
    if (ll_read_well(reading, "memory"))
        right &= check_what_stays(reading);
    if (ll_read_well(reading, "network"))
        for (uint64_t i = 0; i < machine->network_count; i++)
            right &= check_link(reading, i, ll_item_node(reading, "network", i));
    return right;
}

/* How the keys of a network level fit together: a shape has as many places as there are devices, edges are
 * listed where edges count and name devices that are there. */

static const bool has_shape[] = {
#define LL_TOPOLOGY(word, name, shape, ...) shape,
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
};

static bool check_shape(const struct ll_network *net, const struct ll_node *item, struct ll_reading *reading)
{
    struct ll_place place = place_of(item, "shape");
    uint64_t places = 1;
    if (has_shape[net->topology] != (net->shape.count > 0))
        return ll_complain(reading->diags, place,
                           net->shape.count > 0 ? "this topology has no `shape`"
                                                : "this topology needs a `shape`");
    if (!has_shape[net->topology])
        return true;
    if (net->topology == LL_TOPOLOGY_DRAGONFLY && net->shape.count != 3)
        return ll_complain(reading->diags, place,
                           "expected devices a router, routers a group and groups, as 4x8x33");
    for (uint64_t i = 0; i < net->shape.count; i++)
        places = ll_mul(places, net->shape.at[i]);
    return places == net->devices ||
           ll_complain(reading->diags, place,
                       "this shape has %" PRIu64 " places, there are %" PRIu64 " devices", places,
                       net->devices);
}

static bool check_edges(const struct ll_network *net, const struct ll_node *item, struct ll_reading *reading)
{
    bool listed = net->topology == LL_TOPOLOGY_EDGES, right = true;
    if (listed != (net->edge_count > 0))
        return ll_complain(reading->diags, place_of(item, "edges"),
                           listed ? "this topology needs `edges`" : "only topology `edges` has `edges`");
    for (uint64_t i = 0; i < net->edge_count; i++) {
        struct ll_network_edge edge;
        if (!ll_edge_parse(net->edges[i], &edge))
            right = ll_complain(reading->diags, place_of(item, "edges"),
                                "`%s`: expected two devices, as 0-1, 0>1 or 0-1x2", net->edges[i]);
        else if (edge.from >= net->devices || edge.to >= net->devices)
            right = ll_complain(reading->diags, place_of(item, "edges"),
                                "`%s`: the devices are 0 to %" PRIu64, net->edges[i], net->devices - 1);
    }
    return right;
}

static bool check_in_network(const struct ll_network *net, const struct ll_node *item,
                             struct ll_reading *reading)
{
    if (net->in_network > 0 && net->topology != LL_TOPOLOGY_SWITCH)
        return ll_complain(reading->diags, place_of(item, "in_network"), "only topology `switch` adds up");
    return net->in_network > 0 || net->in_network_chunk_bytes == 0 ||
           ll_complain(reading->diags, place_of(item, "in_network_chunk"),
                       "there is no `in_network` that it would be of");
}

static bool check_tree(const struct ll_network *net, const struct ll_node *item, struct ll_reading *reading)
{
    if (net->oversubscription != 1 && net->topology != LL_TOPOLOGY_FAT_TREE)
        return ll_complain(reading->diags, place_of(item, "oversubscription"),
                           "only topology `fat_tree` has `oversubscription`");
    return true;
}

/* Who takes the fastest by a table of costs must name the table. */
static bool check_tuner(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    if (software->collectives != LL_ALGORITHM_TUNED || software->tuner != LL_TUNER_NONE)
        return true;
    return ll_complain(reading->diags, place_of(ll_node_get(reading->root, "software"), "collectives"),
                       "`tuned` takes the fastest algorithm by the cost table that `tuner` names; expected "
                       "`tuner: nccl_2_20` or another one");
}

bool ll_check_networks(struct ll_reading *reading)
{
    const struct ll_node *list = ll_node_get(reading->root, "network");
    const struct ll_node *item = list ? list->first : NULL;
    bool right = check_tuner(reading);
    for (uint64_t i = 0; item && i < reading->machine->network_count; i++, item = item->next) {
        const struct ll_network *net = &reading->machine->networks[i];
        right &= check_shape(net, item, reading);
        right &= check_edges(net, item, reading);
        right &= check_in_network(net, item, reading);
        right &= check_tree(net, item, reading);
    }
    return right;
}

/* What no single row of the schema can say: how the parts of a machine fit together.
 *
 * A part that could not be read was complained of already; then only the checks that do not need it run. */

const struct ll_node *ll_item_node(const struct ll_reading *reading, const char *list, uint64_t index)
{
    const struct ll_node *node = ll_node_get(reading->root, list);
    node = node && node->type == LL_NODE_LIST ? node->first : NULL;
    while (node && index-- > 0)
        node = node->next;
    return node;
}

/* Where a member of an item stands, or the item itself. */
static struct ll_place place_of_item(const struct ll_node *item, const char *key)
{
    const struct ll_node *node = ll_node_get(item, key);
    return node ? node->place : item ? item->place : (struct ll_place){0};
}

/* --- names --- */

struct named {
    const char *name, *list;
    uint64_t index;
};

static size_t collect_names(const struct ll_machine *machine, struct named *all)
{
    size_t count = 0;
    for (uint64_t i = 0; i < machine->unit_count; i++)
        all[count++] = (struct named){machine->units[i].name, "units", i};
    for (uint64_t i = 0; i < machine->level_count; i++)
        all[count++] = (struct named){machine->levels[i].name, "memory", i};
    for (uint64_t i = 0; i < machine->network_count; i++)
        all[count++] = (struct named){machine->networks[i].name, "network", i};
    for (uint64_t i = 0; i < machine->core_type_count; i++)
        all[count++] = (struct named){machine->cores[i].name, "cores", i};
    for (uint64_t i = 0; i < machine->core_link_count; i++)
        all[count++] = (struct named){machine->core_links[i].name, "core_links", i};
    return count;
}

/* Units, levels and networks share one space of names, so that a path may leave the list out. */
static bool check_names(struct ll_reading *reading)
{
    struct named all[LL_MAX_UNITS + LL_MAX_LEVELS + LL_MAX_LINKS + LL_MAX_CORE_TYPES + LL_MAX_CORE_LINKS];
    size_t count = collect_names(reading->machine, all);
    bool right = true;
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            if (!all[i].name || !all[j].name || strcmp(all[i].name, all[j].name))
                continue;
            struct ll_place first = place_of_item(ll_item_node(reading, all[j].list, all[j].index), "name");
            char where[40] = "by --set";
            if (first.line)
                snprintf(where, sizeof where, "in line %" PRIu64, first.line);
            right = ll_complain(reading->diags,
                                place_of_item(ll_item_node(reading, all[i].list, all[i].index), "name"),
                                "the name `%s` is taken by one of `%s` %s", all[i].name, all[j].list, where);
            break;
        }
    return right;
}

/* An item of a list of the software section, NULL where --set made it. */
static const struct ll_node *software_node(const struct ll_reading *reading, const char *list, uint64_t index)
{
    const struct ll_node *items = ll_node_get(ll_node_get(reading->root, "software"), list);
    const struct ll_node *node = items && items->type == LL_NODE_LIST ? items->first : NULL;
    while (node && index-- > 0)
        node = node->next;
    return node;
}

/* Names of a list's items, of which each is there once. */
struct named_items {
    const char *list, *what;
    const char *names[LL_MAX_KERNELS];
    uint64_t count;
};

static bool check_distinct(struct ll_reading *reading, const struct named_items *items)
{
    bool right = true;
    for (uint64_t i = 1; i < items->count; i++)
        for (uint64_t j = 0; j < i; j++)
            if (items->names[i] && items->names[j] && !strcmp(items->names[i], items->names[j]))
                right =
                    ll_complain(reading->diags, place_of_item(software_node(reading, items->list, i), "name"),
                                "the name `%s` is taken by another %s", items->names[i], items->what);
    return right;
}

static bool check_software_names(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    struct named_items kernels = {"kernels", "kernel", {0}, software->kernel_count},
                       transforms = {"transforms", "transform", {0}, software->transform_count},
                       attention = {"attention", "attention kernel", {0}, software->attention_count},
                       experts = {"experts", "grouped GEMM", {0}, software->expert_count},
                       linear = {"linear", "linear layer", {0}, software->linear_count},
                       collectives = {
                           "collective_kernels", "collective kernel", {0}, software->collective_kernel_count};
    for (uint64_t i = 0; i < kernels.count; i++)
        kernels.names[i] = software->kernels[i].name;
    for (uint64_t i = 0; i < transforms.count; i++)
        transforms.names[i] = software->transforms[i].name;
    for (uint64_t i = 0; i < attention.count; i++)
        attention.names[i] = software->attention[i].name;
    for (uint64_t i = 0; i < experts.count; i++)
        experts.names[i] = software->experts[i].name;
    for (uint64_t i = 0; i < linear.count; i++)
        linear.names[i] = software->linear[i].name;
    for (uint64_t i = 0; i < collectives.count; i++)
        collectives.names[i] = software->collective_kernels[i].name;
    bool right = check_distinct(reading, &kernels) && check_distinct(reading, &collectives);
    right = check_distinct(reading, &linear) && right;
    right = check_distinct(reading, &experts) && right;
    right = check_distinct(reading, &attention) && right;
    return check_distinct(reading, &transforms) && right;
}

/* Which collectives an algorithm serves (algorithms.def). */
#define LL_ONLY(word) (1u << LL_COLLECTIVE_##word)
#define LL_SUMS (LL_ONLY(ALL_REDUCE) | LL_ONLY(REDUCE_SCATTER) | LL_ONLY(ALL_GATHER))
#define LL_ROOTED (LL_ONLY(BROADCAST) | LL_ONLY(REDUCE))
static const struct algorithm {
    const char *name;
    uint32_t serves;
} algorithms[] = {
#define LL_ALGORITHM(word, name, serves, ...) {name, serves},
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM
    {"fastest", UINT32_MAX},
};
#undef LL_ROOTED
#undef LL_SUMS
#undef LL_ONLY

bool ll_algorithm_serves(enum ll_algorithm algorithm, enum ll_collective collective)
{
    assert(algorithm <= LL_ALGORITHM_COUNT && collective < LL_COLLECTIVE_COUNT);
    return algorithms[algorithm].serves >> collective & 1;
}

static const char *const collectives[] = {
#define LL_COLLECTIVE(word, name, ...) name,
#include "sim/machine/collectives.def"
#undef LL_COLLECTIVE
};

enum { COLLECTIVE_LIMITS = 4 }; /* among 2, 3 or 4, 5 to 8, more devices */

static bool complain_of_algorithm(struct ll_reading *reading, const struct ll_collective_kernel *kernel,
                                  struct ll_place place)
{
    struct ll_str others = {0};
    for (enum ll_algorithm a = 0; a < LL_ALGORITHM_COUNT; a++)
        if (ll_algorithm_serves(a, kernel->runs))
            ll_str_addf(&others, "%s%s", others.length > 0 ? ", " : "", algorithms[a].name);
    ll_complain(reading->diags, place, "`%s` cannot carry out `%s`; expected one of %s",
                algorithms[kernel->algorithm].name, collectives[kernel->runs],
                others.failed ? "another one" : others.text);
    ll_str_release(&others);
    return false;
}

/* Kernels of a stack's own for collectives: sizes for so many numbers of devices, an algorithm that can. */
static bool check_collective_kernels(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    bool right = true;
    for (uint64_t i = 0; i < software->collective_kernel_count; i++) {
        const struct ll_collective_kernel *kernel = &software->collective_kernels[i];
        const struct ll_node *item = software_node(reading, "collective_kernels", i);
        if (kernel->limit_count > COLLECTIVE_LIMITS)
            right = ll_complain(reading->diags, place_of_item(item, "limits_KiB"),
                                "%" PRIu64 " sizes; expected %d at most, among 2, among 3 or 4, among 5 to 8 "
                                "devices and among more",
                                kernel->limit_count, COLLECTIVE_LIMITS);
        if (!ll_algorithm_serves(kernel->algorithm, kernel->runs))
            right = complain_of_algorithm(reading, kernel, place_of_item(item, "algorithm"));
    }
    return right;
}

/* Tiles for a narrow n need a width, and tiles beyond it. */
static bool check_linear_tiles(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    bool right = true;
    for (uint64_t i = 0; i < software->linear_count; i++) {
        const struct ll_linear_kernel *linear = &software->linear[i];
        const struct ll_node *item = software_node(reading, "linear", i);
        if (linear->narrow_tile_count > 0 && linear->narrow_n == 0)
            right = ll_complain(reading->diags, place_of_item(item, "narrow_tiles"),
                                "expected `narrow_n` beside them, the largest n that they are for");
        if (linear->narrow_tile_count == 0 && linear->narrow_n > 0)
            right = ll_complain(reading->diags, place_of_item(item, "narrow_n"),
                                "expected `narrow_tiles` beside it, the tiles for an n of at most that");
        if (linear->narrow_tile_count > 0 && linear->tile_count == 0)
            right = ll_complain(reading->diags, place_of_item(item, "narrow_tiles"),
                                "expected `tiles` beside them, for a larger n");
    }
    return right;
}

/* A kernel of a list, and its item in the file. */
struct listed {
    struct ll_reading *reading;
    const char *list, *name;
    uint64_t index;
};

static bool complain_of(const struct listed *kernel, const char *key, const char *wrong)
{
    struct ll_place place = place_of_item(software_node(kernel->reading, kernel->list, kernel->index), key);
    return ll_complain(kernel->reading->diags, place, "`%s` of `%s`: %s", key,
                       kernel->name ? kernel->name : "", wrong);
}

/* Whatever goes over tiles needs some; one query does not. */
static bool check_attention(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    bool right = true;
    for (uint64_t i = 0; i < software->attention_count; i++) {
        const struct ll_attention_kernel *k = &software->attention[i];
        bool decodes = k->pass == LL_ATTENTION_DECODE || k->pass == LL_ATTENTION_LATENT_DECODE;
        if (!decodes && k->tile_count == 0)
            right = complain_of(&(struct listed){reading, "attention", k->name, i}, "tiles",
                                "its pass goes over tiles; give at least one, as 128x64x128");
    }
    return right;
}

static bool is_power_of_two(double number)
{
    return exp2(floor(log2(number))) == number;
}

static bool check_experts(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    bool right = true;
    for (uint64_t i = 0; i < software->expert_count; i++) {
        const struct ll_expert_kernel *k = &software->experts[i];
        const struct listed kernel = {reading, "experts", k->name, i};
        if (k->formats == 0)
            right = complain_of(&kernel, "formats", "expected at least one, as bf16");
        bool powers = k->tile_count > 0;
        for (uint64_t t = 0; t < k->tile_count; t++)
            powers = powers && is_power_of_two(k->tiles[t]);
        if (!powers)
            right = complain_of(&kernel, "tiles", "expected powers of two, as [16, 64]");
    }
    for (uint64_t i = 0; i < software->linear_count; i++)
        if (software->linear[i].formats == 0)
            right = complain_of(&(struct listed){reading, "linear", software->linear[i].name, i}, "formats",
                                "expected at least one, as fp8");
    return right;
}

/* The least energy cannot be looked for where nothing has any. */
static bool check_objective(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    struct ll_place place = place_of_item(ll_node_get(reading->root, "software"), "objective");
    if (machine->software.objective == LL_OBJECTIVE_TIME)
        return true;
    return machine->energy_given || ll_complain(reading->diags, place,
                                                "energy cannot be made least without figures; give the "
                                                "machine an `energy` section");
}

/* A wafer is divided into dies. */
static bool check_pricing(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    struct ll_priced priced;
    struct ll_place place = place_of_item(ll_node_get(reading->root, "price"), "wafer_usd");
    if (machine->pricing.wafer_usd == 0 || ll_machine_price(machine, &priced))
        return true;
    double area_mm2 = ll_machine_area_m2(machine) * 1e6;
    if (!(area_mm2 > 0))
        return ll_complain(reading->diags, place,
                           "dies cannot be counted without an area; give the machine an `area` section");
    return ll_complain(reading->diags, place, "no wafer of %.10g mm holds a die of %.10g mm2",
                       (double)LL_WAFER_MM, area_mm2 / (double)machine->pricing.dies);
}

/* Nothing would ever end where standing still takes all power. */
static bool check_power(struct ll_reading *reading)
{
    double limit_w = reading->machine->energy.limit_w, static_w = ll_machine_static_w(reading->machine);
    if (limit_w == 0 || limit_w > static_w)
        return true;
    return ll_complain(reading->diags, place_of_item(ll_node_get(reading->root, "energy"), "limit_w"),
                       "a limit of %.10g W leaves nothing to work with beside %s of %.10g W; give more",
                       limit_w, reading->machine->energy.static_w > 0 ? "static_w" : "leakage", static_w);
}

/* False after a complaint: the name is one of these, beside which reports list what has it. */
static bool name_is_free(struct ll_reading *reading, const char *list, uint64_t index, const char *name,
                         const char *const *reserved, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (name && !strcmp(name, reserved[i]))
            return ll_complain(reading->diags, place_of_item(ll_item_node(reading, list, index), "name"),
                               "`%s` means something else in reports; give this %s another name", name,
                               strcmp(list, "units") == 0 ? "unit" : "memory level");
    return true;
}

/* Reports list memory levels beside other things that can hold an op back, and that take energy; and units
 * and levels beside what else has area. */
static bool check_reported_names(struct ll_reading *reading)
{
    static const char *const beside_levels[] = {"compute",    "network", "host", "overhead",
                                                "dependency", "static",  "fixed"};
    static const char *const beside_units[] = {"fixed"};
    const struct ll_machine *machine = reading->machine;
    bool right = true;
    for (uint64_t i = 0; i < machine->unit_count; i++)
        right &= name_is_free(reading, "units", i, machine->units[i].name, beside_units,
                              sizeof beside_units / sizeof *beside_units);
    for (uint64_t i = 0; i < machine->level_count; i++)
        right &= name_is_free(reading, "memory", i, machine->levels[i].name, beside_levels,
                              sizeof beside_levels / sizeof *beside_levels);
    return right;
}

/* --- memory --- */

/* The bandwidth of both directions together, where only the ports are given; with both of them it is no more
 * than theirs. */
static bool settle_bandwidth(struct ll_reading *reading, uint64_t index)
{
    struct ll_level *level = &reading->machine->levels[index];
    const struct ll_node *item = ll_item_node(reading, "memory", index);
    if (level->bandwidth_Bps == 0 && (level->read_Bps == 0 || level->write_Bps == 0))
        return ll_complain(reading->diags, item ? item->place : (struct ll_place){0},
                           "`%s` has no bandwidth; give it `bandwidth`, `dram`, or `read_bandwidth` and "
                           "`write_bandwidth`",
                           level->name);
    if (level->unit_Bps > 0 && ll_level_has_ports(level))
        return ll_complain(
            reading->diags, item ? item->place : (struct ll_place){0},
            "`%s` has `unit_bandwidth` and ports of its own (`read_bandwidth`, `write_bandwidth`); "
            "expected one or the other",
            level->name);
    double ports_Bps = level->read_Bps + level->write_Bps;
    bool both = level->read_Bps > 0 && level->write_Bps > 0;
    if (level->bandwidth_Bps == 0 || (both && level->bandwidth_Bps > ports_Bps))
        level->bandwidth_Bps = ports_Bps;
    return true;
}

/* Each level by itself: its ports, and how many units share it. */
static bool check_level(struct ll_reading *reading, uint64_t index)
{
    const struct ll_level *level = &reading->machine->levels[index];
    const struct ll_node *item = ll_item_node(reading, "memory", index);
    bool right = settle_bandwidth(reading, index);
    if (level->scope == LL_SCOPE_CLUSTER && level->share == 0)
        right = ll_complain(reading->diags, place_of_item(item, "scope"),
                            "`%s` is of a cluster: `share` must say of how many units", level->name);
    if (level->numa_given && ll_level_has_ports(level))
        right = ll_complain(reading->diags, place_of_item(item, "numa"),
                            "`%s` has `numa` and ports of its own (`read_bandwidth`, `write_bandwidth`); "
                            "expected one or the other",
                            level->name);
    if (level->scope != LL_SCOPE_DEVICE && level->numa_given)
        right = ll_complain(reading->diags, place_of_item(item, "numa"),
                            "`%s` has `numa`, but there are several of it: its scope must be device",
                            level->name);
    if (level->scope != LL_SCOPE_CLUSTER && level->share > 0)
        right = ll_complain(reading->diags, place_of_item(item, "share"),
                            "`%s` is not of a cluster: `share` means nothing here", level->name);
    return right;
}

/* Whether a search nests tiles for the level. */
static bool is_nested(const struct ll_machine *machine, uint64_t index)
{
    enum ll_scope scope = machine->levels[index].scope;
    struct ll_levels levels = ll_nested_levels(machine, scope);
    return scope != LL_SCOPE_CLUSTER && index + 1 >= levels.first && index + 1 < levels.end;
}

static bool check_tiles(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    bool right = true;
    for (uint64_t i = 0; i < machine->level_count; i++) {
        const struct ll_level *level = &machine->levels[i];
        const char *key = level->tile.m > 0 ? "tile" : "loops";
        struct ll_place place = place_of_item(ll_item_node(reading, "memory", i), key);
        if (level->tile.m == 0 && !level->loops)
            continue;
        if (machine->software.mapping != LL_MAPPED_SEARCH)
            right = ll_complain(reading->diags, place,
                                "`%s` means nothing without the software's `mapping: search`", key);
        else if (!is_nested(machine, i))
            right = ll_complain(
                reading->diags, place,
                "`%s`: no search nests tiles in `%s`; expected a memory of the device or of a unit "
                "with another one outside of it, and all operands in `holds` of both",
                key, level->name);
    }
    return right;
}

/* How widely a level is shared: by one unit, a cluster, the device. */
static int width_of(const struct ll_level *level)
{
    return level->scope == LL_SCOPE_UNIT ? 0 : level->scope == LL_SCOPE_CLUSTER ? 1 : 2;
}

static const char *whose(const struct ll_level *level)
{
    static const char *const owners[] = {"each unit", "a cluster", "the device"};
    return owners[width_of(level)];
}

/* Of the levels further in that this one feeds, each with some operand, the largest; NULL: it feeds none. */
static const struct ll_level *largest_fed(const struct ll_machine *machine, uint64_t index)
{
    const struct ll_level *levels = machine->levels, *largest = NULL;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        int fed = ll_destination_level(machine, index, o);
        if (fed != LL_CATCHER_UNIT && ll_level_holds(&levels[index], o) &&
            (!largest || levels[fed].size_bytes > largest->size_bytes))
            largest = &levels[fed];
    }
    return largest;
}

static bool check_levels(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    const struct ll_level *levels = machine->levels, *outermost = &levels[machine->level_count - 1];
    bool right = true;
    if (outermost->scope != LL_SCOPE_DEVICE)
        right = ll_complain(
            reading->diags, place_of_item(ll_item_node(reading, "memory", machine->level_count - 1), "scope"),
            "`%s` is the outermost level and holds all tensors: its scope must be device", outermost->name);
    if (!ll_level_holds_all(outermost))
        right = ll_complain(
            reading->diags, place_of_item(ll_item_node(reading, "memory", machine->level_count - 1), "holds"),
            "`%s` is the outermost level and holds all tensors: nothing can pass by it", outermost->name);
    for (uint64_t i = 0; i < machine->level_count; i++)
        right &= check_level(reading, i);
    for (uint64_t i = 1; i < machine->level_count; i++) {
        const struct ll_node *item = ll_item_node(reading, "memory", i);
        const struct ll_level *fed = largest_fed(machine, i);
        if (fed && levels[i].size_bytes < fed->size_bytes &&
            ll_levels_meet(machine, i, (uint64_t)(fed - levels)))
            right = ll_complain(
                reading->diags, place_of_item(item, "size"),
                "`%s` is smaller than `%s`, which it feeds: levels stand innermost first and grow",
                levels[i].name, fed->name);
        if (width_of(&levels[i]) < width_of(&levels[i - 1]))
            right = ll_complain(reading->diags, place_of_item(item, "scope"),
                                "`%s` is of %s, but `%s` further in is of %s", levels[i].name,
                                whose(&levels[i]), levels[i - 1].name, whose(&levels[i - 1]));
        if (levels[i].scope == LL_SCOPE_CLUSTER && levels[i - 1].scope == LL_SCOPE_CLUSTER &&
            levels[i].share % ll_max(levels[i - 1].share, 1))
            right = ll_complain(reading->diags, place_of_item(item, "share"),
                                "`%s` must be shared by whole clusters of `%s` further in", levels[i].name,
                                levels[i - 1].name);
    }
    return right;
}

/* What a preset says and the file does not. */
static void settle_dram(struct ll_level *level, const struct ll_dram *dram, const struct ll_node *item)
{
    double channel_Bps = ll_dram_channel_Bps(dram);
    level->dram = dram->name;
    if (level->channels == 0)
        level->channels = (uint64_t)fmax(1, round(level->bandwidth_Bps / channel_Bps));
    if (level->bandwidth_Bps == 0)
        level->bandwidth_Bps = channel_Bps * (double)level->channels;
    if (!ll_node_get(item, "efficiency"))
        level->efficiency = ll_dram_stream_efficiency(dram);
}

static bool settle_drams(struct ll_reading *reading)
{
    bool right = true;
    for (uint64_t i = 0; i < reading->machine->level_count; i++) {
        struct ll_level *level = &reading->machine->levels[i];
        const struct ll_node *item = ll_item_node(reading, "memory", i);
        if (level->dram)
            settle_dram(level, ll_dram_find(level->dram), item);
        else if (level->channels > 0 && !ll_node_get(item, "dram"))
            right = ll_complain(reading->diags, place_of_item(item, "channels"),
                                "`channels` are those of a `dram`, and `%s` is none", level->name);
    }
    return right;
}

static bool check_cache(struct ll_reading *reading, uint64_t index)
{
    const struct ll_level *level = &reading->machine->levels[index];
    struct ll_cache_level cache = ll_machine_cache(level);
    struct ll_place place = place_of_item(ll_item_node(reading, "memory", index), "cache");
    if (index + 1 == reading->machine->level_count)
        return ll_complain(reading->diags, place,
                           "`%s` is the outermost level and holds all tensors: it is no cache", level->name);
    if (level->size_bytes % cache.line_bytes)
        return ll_complain(reading->diags, place,
                           "%" PRIu64 " B are no whole number of lines of %" PRIu64 " B", level->size_bytes,
                           cache.line_bytes);
    if (cache.non_overlapping &&
        (!ll_level_waits(reading->machine, index) || reading->machine->software.mapping == LL_MAPPED_SEARCH))
        return ll_complain(
            reading->diags, place,
            "`%s` has `non_overlapping`: expected `double_buffer: true`, all operands in `holds`, no "
            "ports of its own here nor in `%s`, and no `mapping: search`",
            level->name, reading->machine->levels[index + 1].name);
    if (cache.sets * cache.ways * cache.line_bytes != level->size_bytes)
        return ll_complain(reading->diags, place,
                           "%" PRIu64 " B are no whole number of sets of %" PRIu64 " ways of %" PRIu64 " B",
                           level->size_bytes, cache.ways, cache.line_bytes);
    return true;
}

/* Each cache by itself, then all of them together. */
static bool check_caches(struct ll_reading *reading)
{
    struct ll_cache_level caches[LL_MAX_LEVELS];
    uint64_t indices[LL_MAX_LEVELS];
    size_t count = 0, which;
    bool right = true;
    for (uint64_t i = 0; i < reading->machine->level_count; i++) {
        if (!reading->machine->levels[i].cache_given)
            continue;
        right &= check_cache(reading, i);
        indices[count] = i;
        caches[count++] = ll_machine_cache(&reading->machine->levels[i]);
    }
    const char *trouble = right ? ll_cache_trouble(caches, count, &which) : NULL;
    if (trouble)
        right = ll_complain(reading->diags,
                            place_of_item(ll_item_node(reading, "memory", indices[which]), "cache"), "%s",
                            trouble);
    return right;
}

/* --- units --- */

/* What an array in memory does at full use, and what its converters take. */
static void settle_array(const struct ll_machine *machine, struct ll_unit *unit)
{
    struct ll_in_memory *array = &unit->in_memory;
    array->conversion_j = ll_machine_convert_j(machine, unit);
    array->driving_j = ll_machine_drive_j(machine, unit);
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        double rows = (double)array->rows;
        double weights = ll_in_memory_steps(array, (enum ll_dtype)i, rows, 1).weights;
        double cycles = ll_in_memory_steps(array, (enum ll_dtype)i, rows, weights).cycles;
        array->macs[i] = cycles > 0 ? rows * weights / cycles : 0;
    }
}

static bool settle_clocks(struct ll_reading *reading)
{
    struct ll_machine *machine = reading->machine;
    bool right = true;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        struct ll_unit *unit = &machine->units[i];
        if (unit->clock_hz == 0)
            unit->clock_hz = machine->clock_hz;
        if (unit->model == LL_UNIT_IN_MEMORY)
            settle_array(machine, unit);
        const struct ll_node *item = ll_item_node(reading, "units", i);
        if (unit->clock_hz == 0 && !ll_node_get(reading->root, "clock") && !ll_node_get(item, "clock"))
            right = ll_complain(reading->diags, item ? item->place : (struct ll_place){0},
                                "unit `%s` has no clock; give it one, or the machine",
                                unit->name ? unit->name : "");
    }
    return right;
}

/* Collectives are the networks' work, input the host's. */
static bool needs_unit(enum ll_op_class op_class)
{
    return op_class != LL_CLASS_COMMUNICATION && op_class != LL_CLASS_INPUT;
}

static bool can_run(const struct ll_unit *unit, enum ll_op_kind kind)
{
    return ll_class_is_gemm(ll_op_class(kind)) || !ll_unit_keys(unit)->gemms_only;
}

/* A unit that lists what its way of computing cannot do. */
static bool check_runs(struct ll_reading *reading)
{
    const struct ll_machine *machine = reading->machine;
    bool right = true;
    for (uint64_t i = 0; i < machine->unit_count; i++)
        for (int k = 0; k < ll_op_count(); k++) {
            const struct ll_unit *unit = &machine->units[i];
            if (!unit->runs[k] || can_run(unit, (enum ll_op_kind)k))
                continue;
            right = ll_complain(reading->diags, place_of_item(ll_item_node(reading, "units", i), "runs"),
                                "`%s` is of class %s; a %s computes matrix and conv only",
                                ll_op_name((enum ll_op_kind)k),
                                ll_class_name(ll_op_class((enum ll_op_kind)k)), ll_unit_keys(unit)->what);
            break;
        }
    return right;
}

/* Loops side by side take an element for each iteration. */
static bool check_unrolls(struct ll_reading *reading)
{
    bool right = true;
    for (uint64_t i = 0; i < reading->machine->unit_count; i++) {
        const struct ll_unit *unit = &reading->machine->units[i];
        const struct ll_spatial *spatial = &unit->spatial;
        for (uint64_t u = 0; unit->model == LL_UNIT_SPATIAL && u < spatial->unroll_count; u++) {
            uint64_t all = 1;
            char text[LL_UNROLL_TEXT];
            for (int l = 0; l < LL_LOOP_COUNT; l++)
                all = ll_mul(all, spatial->unrolls[u].by[l]);
            ll_unroll_print(&spatial->unrolls[u], text);
            if (all > spatial->elements)
                right = ll_complain(
                    reading->diags, place_of_item(ll_item_node(reading, "units", i), "unroll"),
                    "`%s` runs %" PRIu64 " iterations side by side, but `%s` has %" PRIu64 " elements", text,
                    all, unit->name ? unit->name : "", spatial->elements);
        }
    }
    return right;
}

static bool anyone_runs(const struct ll_machine *machine, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if ((unit->runs[kind] || !unit->runs_listed) && can_run(unit, kind))
            return true;
    }
    return false;
}

static void add_class(char *list, size_t room, enum ll_op_class op_class)
{
    size_t used = strlen(list);
    snprintf(list + used, room - used, "%s%s", used ? ", " : "", ll_class_name(op_class));
}

/* Every op kind finds a unit. Those that find none are complained of together, by class. */
static bool check_coverage(struct ll_reading *reading)
{
    bool missing[LL_CLASS_COUNT] = {false};
    char list[32 * LL_CLASS_COUNT] = "";
    for (int k = 0; k < ll_op_count(); k++) {
        enum ll_op_class op_class = ll_op_class((enum ll_op_kind)k);
        if (missing[op_class] || !needs_unit(op_class) || anyone_runs(reading->machine, (enum ll_op_kind)k))
            continue;
        missing[op_class] = true;
        add_class(list, sizeof list, op_class);
    }
    const struct ll_node *units = ll_node_get(reading->root, "units");
    return !*list ||
           ll_complain(reading->diags, units ? units->place : (struct ll_place){0},
                       "no unit runs ops of class %s; add a vector unit without `runs`, or list them", list);
}

bool ll_machine_check(struct ll_reading *reading)
{
    bool right = check_names(reading);
    if (ll_read_well(reading, "software")) {
        right &= check_software_names(reading);
        right &= check_collective_kernels(reading);
        right &= check_linear_tiles(reading);
        right &= check_attention(reading);
        right &= check_experts(reading);
        right &= check_objective(reading);
    }
    right &= check_reported_names(reading);
    right &= settle_clocks(reading);
    if (ll_read_well(reading, "memory")) {
        right &= settle_drams(reading);
        right &= check_levels(reading);
        right &= check_caches(reading);
    }
    if (ll_read_well(reading, "memory") && ll_read_well(reading, "software"))
        right &= check_tiles(reading);
    if (ll_read_well(reading, "network"))
        right &= ll_check_networks(reading);
    if (ll_read_well(reading, "memory") && ll_read_well(reading, "units") && ll_read_well(reading, "cores") &&
        ll_read_well(reading, "core_links"))
        right &= ll_check_cores(reading);
    if (ll_read_well(reading, "units")) {
        right &= check_runs(reading);
        right &= check_unrolls(reading);
        right &= check_coverage(reading);
    }
    right &= ll_check_idle(reading);
    bool sized = right && ll_read_well(reading, "units") && ll_read_well(reading, "memory") &&
                 ll_read_well(reading, "area");
    if (sized && ll_read_well(reading, "energy"))
        right &= check_power(reading);
    if (sized && ll_read_well(reading, "price"))
        right &= check_pricing(reading);
    return right;
}
