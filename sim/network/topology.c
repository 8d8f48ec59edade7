/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies of a network level and the network that joins all levels.
 *
 * Each row of sim/machine/topologies.def binds three functions here: `prepare` counts the links, `width`
 * gives the share of a link's bandwidth, `route` the links that a message crosses. The last section numbers
 * the links of all levels, with their rails and ports, and routes messages through them. */
#include "sim/network/network.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/machine/edge.h"
#include "tracer/base/arena.h"
#include "tracer/base/num.h"

static const struct topology {
    const char *(*prepare)(struct ll_fabric *fabric);
    double (*width)(const struct ll_fabric *fabric, uint64_t link);
    void (*route)(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path);
} topologies[] = {
#define LL_TOPOLOGY(word, ...) {ll_prepare_##word, ll_width_##word, ll_route_##word},
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
};

static void route_add(struct ll_route *path, uint64_t link)
{
    if (!ll_grow(&path->links, &path->capacity, path->count + 1, sizeof *path->links)) {
        path->failed = true;
        return;
    }
    path->links[path->count++] = link;
}

/* Binds the topology of a level. NULL, or what is wrong with it as a static sentence (memory that ran out, a
 * listed network with devices out of reach). The level outlives the fabric. */
static const char *fabric_open(const struct ll_network *level, struct ll_fabric *fabric)
{
    *fabric = (struct ll_fabric){.level = level, .devices = level->devices};
    return topologies[level->topology].prepare(fabric);
}

static void fabric_close(struct ll_fabric *fabric)
{
    free(fabric->link_from);
    free(fabric->link_to);
    free(fabric->link_width);
    free(fabric->next);
}

/* What a link carries, in multiples of the level's bandwidth. Pure. */
static double fabric_width(const struct ll_fabric *fabric, uint64_t link)
{
    assert(link < fabric->links);
    return topologies[fabric->level->topology].width(fabric, link);
}

/* Adds the links from one device to another one to the path. */
static void fabric_route(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    assert(from < fabric->devices && to < fabric->devices);
    if (from != to)
        topologies[fabric->level->topology].route(fabric, from, to, path);
}

/* Devices behind switches. */

/* --- one switch: links 2 i and 2 i + 1 lead from device i up and down to it --- */

const char *ll_prepare_SWITCH(struct ll_fabric *fabric)
{
    fabric->links = 2 * fabric->devices;
    return NULL;
}

double ll_width_SWITCH(const struct ll_fabric *fabric, uint64_t link)
{
    (void)fabric;
    (void)link;
    return 1;
}

void ll_route_SWITCH(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    (void)fabric;
    route_add(path, 2 * from);
    route_add(path, 2 * to + 1);
}

/* --- a fat tree: floor 0 are the devices, floor f the switches of `shape[f - 1]` members of the floor below.
 * Member i of a floor has the links 2 i and 2 i + 1 behind those of the floors below, up and down. The many
 * paths of a real one count as one link as wide as they are together --- */

static uint64_t members_of(const struct ll_fabric *fabric, uint64_t floor)
{
    uint64_t members = fabric->devices;
    for (uint64_t f = 0; f < floor; f++)
        members /= fabric->level->shape.at[f];
    return members;
}

const char *ll_prepare_FAT_TREE(struct ll_fabric *fabric)
{
    for (uint64_t floor = 0; floor < fabric->level->shape.count; floor++)
        fabric->links += 2 * members_of(fabric, floor);
    return NULL;
}

double ll_width_FAT_TREE(const struct ll_fabric *fabric, uint64_t link)
{
    uint64_t floor = 0;
    while (link >= 2 * members_of(fabric, floor))
        link -= 2 * members_of(fabric, floor++);
    double below = (double)fabric->devices / (double)members_of(fabric, floor);
    return below / pow(fabric->level->oversubscription, (double)floor);
}

void ll_route_FAT_TREE(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    uint64_t first = 0, floor = 0, up = from, down = to, downs[LL_MAX_EXTENTS];
    for (; up != down; floor++) {
        route_add(path, first + 2 * up);
        downs[floor] = first + 2 * down + 1;
        first += 2 * members_of(fabric, floor);
        up /= fabric->level->shape.at[floor];
        down /= fabric->level->shape.at[floor];
    }
    while (floor-- > 0)
        route_add(path, downs[floor]);
}

/* --- a dragonfly of p devices a router, a routers a group, g groups: links of the devices as at a switch,
 * then router * a + router' of its group, then group * g + group'. The link to another group begins at a
 * router that follows from the two groups' numbers --- */

struct dragonfly {
    uint64_t p, a, g;
};

static struct dragonfly dragonfly_of(const struct ll_fabric *fabric)
{
    const uint64_t *at = fabric->level->shape.at;
    return (struct dragonfly){at[0], at[1], at[2]};
}

const char *ll_prepare_DRAGONFLY(struct ll_fabric *fabric)
{
    struct dragonfly d = dragonfly_of(fabric);
    fabric->links = 2 * fabric->devices + d.a * d.g * d.a + d.g * d.g;
    return NULL;
}

double ll_width_DRAGONFLY(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_SWITCH(fabric, link);
}

/* The router of a group that leads to another one. */
static uint64_t gate(const struct dragonfly *d, uint64_t group, uint64_t other)
{
    return group * d->a + (other < group ? other : other - 1) % d->a;
}

static void within_group(const struct ll_fabric *fabric, const struct dragonfly *d, uint64_t from,
                         uint64_t to, struct ll_route *path)
{
    if (from != to)
        route_add(path, 2 * fabric->devices + from * d->a + to % d->a);
}

void ll_route_DRAGONFLY(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    struct dragonfly d = dragonfly_of(fabric);
    uint64_t router = from / d.p, last = to / d.p, group = router / d.a, other = last / d.a;
    route_add(path, 2 * from);
    if (group != other) {
        within_group(fabric, &d, router, gate(&d, group, other), path);
        route_add(path, 2 * fabric->devices + d.a * d.g * d.a + group * d.g + other);
        router = gate(&d, other, group);
    }
    within_group(fabric, &d, router, last, path);
    route_add(path, 2 * to + 1);
}

/* Devices that are joined to devices: rings, all to all, meshes and tori. */

/* --- a ring in one direction: link i leads from device i to the next --- */

const char *ll_prepare_RING(struct ll_fabric *fabric)
{
    fabric->links = fabric->devices;
    return NULL;
}

double ll_width_RING(const struct ll_fabric *fabric, uint64_t link)
{
    (void)fabric;
    (void)link;
    return 1;
}

void ll_route_RING(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    for (uint64_t at = from; at != to; at = (at + 1) % fabric->devices)
        route_add(path, at);
}

/* --- in both: links 2 i and 2 i + 1 lead from device i to the next and to the one before --- */

const char *ll_prepare_BIDIRECTIONAL_RING(struct ll_fabric *fabric)
{
    fabric->links = 2 * fabric->devices;
    return NULL;
}

double ll_width_BIDIRECTIONAL_RING(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

/* Along one side of `length` devices from `from` to `to`: how many steps, and whether backwards. The shorter
 * way; when both are as long, every other device goes backwards, so that links both ways carry as much when
 * all send to all. */
struct way {
    uint64_t steps;
    bool back;
};

static struct way way_around(uint64_t from, uint64_t to, uint64_t length)
{
    uint64_t forward = (to + length - from) % length, back = length - forward;
    bool backwards = back < forward || (back == forward && from % 2 == 1);
    return backwards ? (struct way){back, true} : (struct way){forward, false};
}

void ll_route_BIDIRECTIONAL_RING(const struct ll_fabric *fabric, uint64_t from, uint64_t to,
                                 struct ll_route *path)
{
    struct way way = way_around(from, to, fabric->devices);
    for (uint64_t i = 0, at = from; i < way.steps; i++) {
        route_add(path, 2 * at + way.back);
        at = (at + (way.back ? fabric->devices - 1 : 1)) % fabric->devices;
    }
}

/* --- all to all: link from * n + to --- */

const char *ll_prepare_FULL(struct ll_fabric *fabric)
{
    fabric->links = fabric->devices * fabric->devices;
    return fabric->devices > 1u << 16 ? "so many devices have no link to every other" : NULL;
}

double ll_width_FULL(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

void ll_route_FULL(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    route_add(path, from * fabric->devices + to);
}

/* --- meshes and tori: links 2 (i sides + side) and the next lead from device i forwards and back along a
 * side. A message goes along the first side, then the second, ...: dimension-ordered routing, which cannot
 * deadlock --- */

const char *ll_prepare_TORUS(struct ll_fabric *fabric)
{
    fabric->links = 2 * fabric->devices * fabric->level->shape.count;
    return NULL;
}

double ll_width_TORUS(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

static void route_sides(const struct ll_fabric *fabric, uint64_t from, uint64_t to, bool around,
                        struct ll_route *path)
{
    const struct ll_extents *shape = &fabric->level->shape;
    uint64_t at = from, stride = 1;
    for (uint64_t side = 0; side < shape->count; stride *= shape->at[side++]) {
        uint64_t length = shape->at[side], here = at / stride % length, there = to / stride % length;
        struct way way = around         ? way_around(here, there, length)
                         : there > here ? (struct way){there - here, false}
                                        : (struct way){here - there, true};
        for (uint64_t i = 0; i < way.steps; i++) {
            route_add(path, 2 * (at * shape->count + side) + way.back);
            uint64_t next = (here + (way.back ? length - 1 : 1)) % length;
            at = at - here * stride + next * stride;
            here = next;
        }
    }
}

void ll_route_TORUS(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    route_sides(fabric, from, to, true, path);
}

const char *ll_prepare_MESH(struct ll_fabric *fabric)
{
    return ll_prepare_TORUS(fabric);
}

double ll_width_MESH(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

void ll_route_MESH(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    route_sides(fabric, from, to, false, path);
}

/* A network whose links are listed. Messages take the fewest links; of several such ways the one whose first
 * link was listed first. */

enum { MOST_LISTED = 4096 }; /* devices: the table of first links has a square of them */

static const uint64_t NOWHERE = UINT64_MAX;

static bool allocate(struct ll_fabric *fabric)
{
    uint64_t most = 2 * fabric->level->edge_count + 1;
    fabric->link_from = calloc(most, sizeof *fabric->link_from);
    fabric->link_to = calloc(most, sizeof *fabric->link_to);
    fabric->link_width = calloc(most, sizeof *fabric->link_width);
    fabric->next = malloc(fabric->devices * fabric->devices * sizeof *fabric->next);
    return fabric->link_from && fabric->link_to && fabric->link_width && fabric->next;
}

static void add_link(struct ll_fabric *fabric, uint64_t from, uint64_t to, double width)
{
    fabric->link_from[fabric->links] = from;
    fabric->link_to[fabric->links] = to;
    fabric->link_width[fabric->links++] = width;
}

static const char *list_links(struct ll_fabric *fabric)
{
    for (uint64_t i = 0; i < fabric->level->edge_count; i++) {
        struct ll_network_edge edge;
        if (!ll_edge_parse(fabric->level->edges[i], &edge) || edge.from >= fabric->devices ||
            edge.to >= fabric->devices)
            return "an edge must name two of its devices";
        add_link(fabric, edge.from, edge.to, edge.links);
        if (edge.both_ways)
            add_link(fabric, edge.to, edge.from, edge.links);
    }
    return NULL;
}

/* For each device the first link of the shortest way to `to`: the distances grow from there, a round a link.
 */
static bool reach(struct ll_fabric *fabric, uint64_t to, uint64_t *distance)
{
    uint64_t reached = 1;
    for (uint64_t i = 0; i < fabric->devices; i++)
        distance[i] = i == to ? 0 : NOWHERE;
    for (uint64_t round = 1; round < fabric->devices && reached < fabric->devices; round++)
        for (uint64_t l = 0; l < fabric->links; l++) {
            uint64_t from = fabric->link_from[l];
            if (distance[from] != NOWHERE || distance[fabric->link_to[l]] != round - 1)
                continue;
            distance[from] = round;
            fabric->next[from * fabric->devices + to] = l;
            reached++;
        }
    return reached == fabric->devices;
}

const char *ll_prepare_EDGES(struct ll_fabric *fabric)
{
    if (fabric->devices > MOST_LISTED)
        return "a listed network joins at most 4096 devices";
    uint64_t *distance = malloc(fabric->devices * sizeof *distance);
    const char *trouble = distance && allocate(fabric) ? list_links(fabric) : "memory ran out";
    for (uint64_t to = 0; !trouble && to < fabric->devices; to++)
        if (!reach(fabric, to, distance))
            trouble = "its edges do not lead from every device to every other";
    free(distance);
    return trouble;
}

double ll_width_EDGES(const struct ll_fabric *fabric, uint64_t link)
{
    return fabric->link_width[link];
}

void ll_route_EDGES(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    for (uint64_t at = from; at != to;) {
        uint64_t link = fabric->next[at * fabric->devices + to];
        route_add(path, link);
        at = fabric->link_to[link];
    }
}

/* Links are numbered level by level; within a level network by network (rails of the first group of groups,
 * then of the next); within a network those of its topology, then a port into and one out of it for each of
 * its devices. After the networks of a group of groups come the ports that its groups have into all of
 * them. */

enum { MOST_LINKS = 1 << 28 };

struct level {
    struct ll_fabric fabric;
    uint64_t inner;  /* devices of a group that it joins */
    uint64_t rails;  /* links of a group into it */
    uint64_t stride; /* links of one of its networks, ports included */
    uint64_t block;  /* links of all the networks of a group of groups, and the groups' ports */
    uint64_t first;  /* its first link */
};

struct ll_net {
    const struct ll_machine *machine;
    struct level levels[LL_MAX_LINKS];
    uint64_t count, devices, links;
};

static const char *open_level(struct ll_net *net, const struct ll_network *spec)
{
    struct level *level = &net->levels[net->count];
    const char *trouble = fabric_open(spec, &level->fabric);
    net->count++;
    if (trouble)
        return trouble;
    level->inner = net->devices;
    level->rails = spec->links ? ll_min(spec->links, level->inner) : level->inner;
    level->stride = level->fabric.links + (spec->port_Bps > 0 ? 2 * spec->devices : 0);
    level->block =
        ll_add(ll_mul(level->rails, level->stride), spec->group_port_Bps > 0 ? 2 * spec->devices : 0);
    net->devices = ll_mul(net->devices, spec->devices);
    return ll_fits(net->devices) && net->devices <= UINT32_MAX ? NULL : "these are too many devices";
}

static const char *number_links(struct ll_net *net)
{
    for (uint64_t i = 0; i < net->count; i++) {
        struct level *level = &net->levels[i];
        uint64_t groups = net->devices / (level->inner * level->fabric.devices);
        level->first = net->links;
        net->links = ll_add(net->links, ll_mul(groups, level->block));
    }
    return ll_fits(net->links) && net->links <= MOST_LINKS ? NULL : "these are too many links";
}

struct ll_net *ll_net_new(const struct ll_machine *machine, const char **trouble)
{
    struct ll_net *net = calloc(1, sizeof *net);
    *trouble = net ? NULL : "memory ran out";
    if (!net)
        return NULL;
    *net = (struct ll_net){.machine = machine, .devices = 1};
    if (machine->network_count == 0)
        *trouble = "the machine has no network";
    for (uint64_t i = 0; !*trouble && i < machine->network_count; i++)
        *trouble = open_level(net, &machine->networks[i]);
    if (!*trouble)
        *trouble = number_links(net);
    if (!*trouble)
        return net;
    ll_net_free(net);
    return NULL;
}

void ll_net_free(struct ll_net *net)
{
    for (uint64_t i = 0; net && i < net->count; i++)
        fabric_close(&net->levels[i].fabric);
    free(net);
}

uint64_t ll_net_devices(const struct ll_net *net)
{
    return net->devices;
}

uint64_t ll_net_links(const struct ll_net *net)
{
    return net->links;
}

uint64_t ll_net_levels(const struct ll_net *net)
{
    return net->count;
}

const struct ll_machine *ll_net_machine(const struct ll_net *net)
{
    return net->machine;
}

uint64_t ll_net_group(const struct ll_net *net, uint64_t level)
{
    assert(level <= net->count);
    return level < net->count ? net->levels[level].inner : net->devices;
}

uint64_t ll_net_rails(const struct ll_net *net, uint64_t level)
{
    assert(level < net->count);
    return net->levels[level].rails;
}

static uint64_t rail_of(const struct level *level, uint64_t device)
{
    return device % level->inner * level->rails / level->inner;
}

uint64_t ll_net_rail(const struct ll_net *net, uint64_t level, uint64_t device)
{
    assert(level < net->count && device < net->devices);
    return rail_of(&net->levels[level], device);
}

uint64_t ll_net_level_between(const struct ll_net *net, uint64_t from, uint64_t to)
{
    uint64_t level = net->count - 1;
    while (level > 0 && from / net->levels[level].inner == to / net->levels[level].inner)
        level--;
    return level;
}

static const struct level *level_of(const struct ll_net *net, uint64_t link)
{
    uint64_t i = net->count - 1;
    assert(link < net->links);
    while (link < net->levels[i].first)
        i--;
    return &net->levels[i];
}

const struct ll_network *ll_net_link_spec(const struct ll_net *net, uint64_t link)
{
    return level_of(net, link)->fabric.level;
}

/* Among the links of a group of groups, and of one of its networks. */
static uint64_t place_of(const struct level *level, uint64_t link)
{
    return (link - level->first) % level->block;
}

enum ll_link_kind ll_net_link_kind(const struct ll_net *net, uint64_t link)
{
    const struct level *level = level_of(net, link);
    uint64_t within = place_of(level, link);
    if (within >= level->rails * level->stride)
        return LL_LINK_GROUP_PORT;
    return within % level->stride < level->fabric.links ? LL_LINK : LL_LINK_PORT;
}

double ll_net_link_Bps(const struct ll_net *net, uint64_t link)
{
    const struct level *level = level_of(net, link);
    const struct ll_network *spec = level->fabric.level;
    switch (ll_net_link_kind(net, link)) {
    case LL_LINK_GROUP_PORT:
        return spec->group_port_Bps * spec->efficiency;
    case LL_LINK_PORT:
        return spec->port_Bps * spec->efficiency;
    default:
        return spec->bandwidth_Bps * fabric_width(&level->fabric, place_of(level, link) % level->stride) *
               spec->efficiency;
    }
}

/* From the device's place in its group of groups to another such place; its place within the group stays. */
static double route_level(const struct level *level, uint64_t from, uint64_t to, struct ll_route *path)
{
    const struct ll_network *spec = level->fabric.level;
    uint64_t here = from / level->inner % spec->devices, there = to / level->inner % spec->devices;
    uint64_t block = level->first + from / (level->inner * spec->devices) * level->block;
    uint64_t first = block + rail_of(level, from) * level->stride, ports = first + level->fabric.links;
    uint64_t group_ports = block + level->rails * level->stride;
    uint64_t begin = path->count;
    fabric_route(&level->fabric, here, there, path);
    for (uint64_t i = begin; i < path->count; i++)
        path->links[i] += first;
    double latency_s = (double)(path->count - begin) * spec->latency_s;
    if (spec->port_Bps > 0 && here != there) {
        route_add(path, ports + 2 * here);
        route_add(path, ports + 2 * there + 1);
    }
    if (spec->group_port_Bps > 0 && here != there) {
        route_add(path, group_ports + 2 * here);
        route_add(path, group_ports + 2 * there + 1);
    }
    return latency_s;
}

double ll_net_route(const struct ll_net *net, uint64_t from, uint64_t to, struct ll_route *path)
{
    double latency_s = 0;
    assert(from < net->devices && to < net->devices);
    for (uint64_t i = net->count; i-- > 0;) {
        const struct level *level = &net->levels[i];
        uint64_t whole = level->inner * level->fabric.devices;
        latency_s += route_level(level, from, to, path);
        from = from / whole * whole + to / level->inner % level->fabric.devices * level->inner +
               from % level->inner;
    }
    assert(latency_s >= 0 && from == to);
    return latency_s;
}

double ll_net_path_j(const struct ll_net *net, const struct ll_route *path)
{
    double each_j = 0;
    for (uint64_t l = 0; l < path->count; l++)
        if (ll_net_link_kind(net, path->links[l]) == LL_LINK)
            each_j += ll_net_link_spec(net, path->links[l])->j_per_byte;
    assert(each_j >= 0);
    return each_j;
}
