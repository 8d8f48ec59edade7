/* SPDX-License-Identifier: Apache-2.0 */
/* How the keys of a network level fit together: a shape has as many places as there are devices, edges are
 * listed where edges count and name devices that are there. */
#include "sim/machine/edge.h"
#include "sim/machine/steps.h"

#include <inttypes.h>

static const bool has_shape[] = {
#define LL_TOPOLOGY(word, name, shape, ...) shape,
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
};

/* Where a key of the level stands, or the level itself. */
static struct ll_place place_of(const struct ll_node *item, const char *key)
{
    const struct ll_node *node = ll_node_get(item, key);
    return node ? node->place : item->place;
}

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

static bool check_samples(const struct ll_network *net, const struct ll_node *item,
                          struct ll_reading *reading)
{
    for (uint64_t i = 0; i < net->sample_count; i++)
        if (i > 0 && net->samples[i].devices <= net->samples[i - 1].devices)
            return ll_complain(reading->diags, place_of(item, "samples"),
                               "samples must be sorted by their number of devices, each once");
    return true;
}

/* Who takes what it expects to be the fastest must expect something. */
static bool check_expected(struct ll_reading *reading)
{
    const struct ll_software *software = &reading->machine->software;
    if (software->collectives != LL_ALGORITHM_TUNED || software->expected_count > 0)
        return true;
    return ll_complain(
        reading->diags, place_of(ll_node_get(reading->root, "software"), "collectives"),
        "`tuned` takes the fastest way by what `expected` lists; there is nothing. Let the machine "
        "inherit stacks/nccl_2_20, or list it");
}

bool ll_check_networks(struct ll_reading *reading)
{
    const struct ll_node *list = ll_node_get(reading->root, "network");
    const struct ll_node *item = list ? list->first : NULL;
    bool right = check_expected(reading);
    for (uint64_t i = 0; item && i < reading->machine->network_count; i++, item = item->next) {
        const struct ll_network *net = &reading->machine->networks[i];
        right &= check_shape(net, item, reading);
        right &= check_edges(net, item, reading);
        right &= check_samples(net, item, reading);
        right &= check_in_network(net, item, reading);
        right &= check_tree(net, item, reading);
    }
    return right;
}
