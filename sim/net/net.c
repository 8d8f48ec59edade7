/* SPDX-License-Identifier: Apache-2.0 */
/* Links are numbered level by level; within a level network by network (rails of the first group of groups,
 * then of the next); within a network those of its topology, then a port into and one out of it for each of
 * its devices. After the networks of a group of groups come the ports that its groups have into all of
 * them. */
#include "sim/net/net.h"

#include "tracer/base/num.h"

#include <assert.h>
#include <stdlib.h>

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
    const char *trouble = ll_fabric_open(spec, &level->fabric);
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
        ll_fabric_close(&net->levels[i].fabric);
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
        return spec->bandwidth_Bps * ll_fabric_width(&level->fabric, place_of(level, link) % level->stride) *
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
    ll_fabric_route(&level->fabric, here, there, path);
    for (uint64_t i = begin; i < path->count; i++)
        path->links[i] += first;
    double latency_s = (double)(path->count - begin) * spec->latency_s;
    if (spec->port_Bps > 0 && here != there) {
        ll_route_add(path, ports + 2 * here);
        ll_route_add(path, ports + 2 * there + 1);
    }
    if (spec->group_port_Bps > 0 && here != there) {
        ll_route_add(path, group_ports + 2 * here);
        ll_route_add(path, group_ports + 2 * there + 1);
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
    return latency_s;
}

double ll_net_path_j(const struct ll_net *net, const struct ll_route *path)
{
    double each_j = 0;
    for (uint64_t l = 0; l < path->count; l++)
        if (ll_net_link_kind(net, path->links[l]) == LL_LINK)
            each_j += ll_net_link_spec(net, path->links[l])->j_per_byte;
    return each_j;
}
