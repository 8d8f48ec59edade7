/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as NCCL builds them (Jeaugey, Massively scale your deep learning training with NCCL 2.4, 2019):
 * within a node the devices are a chain, whose head is a place in two binary trees of nodes, each for half of
 * the data. A chain and its trees are a channel, and each device of a node heads one for its share:
 *
 *       node 0:  0 - 1 - 2 - 3        channel 0 of four, up
 *                |
 *       node 1:  4 - 5 - 6 - 7
 *
 * All goes up and down again as one stream of small pieces: 2 (k - 1) hops along a chain of k, 2 floor(log2
 * n) between n nodes. */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <inttypes.h>
#include <math.h>

/* The nodes of a tree that are looked at: enough for one that takes from two and hands to a third. Between
 * further ones it goes the same way where a switch joins them. */
enum { FEW_NODES = 8 };

/* Of a group, or of each. */
struct shape {
    uint64_t group;
    struct ll_blocks nodes; /* of one device each where no level joins some of them */
    uint64_t count, looked_at;
};

/* No device is shared by nodes, so that all of them are as busy as the busiest. */
static struct shape shape_of(const struct ll_steps *steps, uint64_t kinds, uint64_t group)
{
    struct ll_blocks nodes = ll_steps_blocks(steps, group);
    bool few = kinds == 1 && ll_short_ring(steps, &nodes) < nodes.size;
    if (nodes.width == nodes.size)
        nodes.first = nodes.width = 1;
    uint64_t count = ll_blocks_count(&nodes);
    return (struct shape){.group = ll_steps_sender(kinds, group),
                          .nodes = nodes,
                          .count = count,
                          .looked_at = few ? ll_min(count, FEW_NODES) : count};
}

static void send_both_ways(struct ll_steps *steps, uint64_t group, uint64_t child, uint64_t parent,
                           double bytes)
{
    ll_steps_send_in(steps, group, child, parent, bytes);
    ll_steps_send_in(steps, group, parent, child, bytes);
}

static void send_chains(struct ll_steps *steps, const struct shape *shape, double bytes)
{
    for (uint64_t node = 0; node < shape->looked_at; node++)
        for (uint64_t channel = 0; channel < shape->nodes.rings; channel++) {
            uint64_t k = ll_blocks_places(&shape->nodes, node), first = ll_blocks_begin(&shape->nodes, node);
            uint64_t head = ll_blocks_entry(&shape->nodes, k, channel);
            for (uint64_t i = 1; i < k; i++)
                send_both_ways(steps, shape->group, first + (head + i) % k, first + (head + i - 1) % k,
                               bytes);
        }
}

static uint64_t head_of(const struct shape *shape, uint64_t node, uint64_t channel)
{
    uint64_t places = ll_blocks_places(&shape->nodes, node);
    return ll_blocks_begin(&shape->nodes, node) + ll_blocks_entry(&shape->nodes, places, channel);
}

/* Node i has the parent (i - 1) / 2; in the other tree the nodes are counted from the last, so that leaves
 * are inside. */
static void send_trees(struct ll_steps *steps, const struct shape *shape, double bytes)
{
    uint64_t last = shape->looked_at - 1;
    for (uint64_t i = 1; i <= last; i++)
        for (uint64_t channel = 0; channel < shape->nodes.rings; channel++) {
            uint64_t parent = (i - 1) / 2;
            send_both_ways(steps, shape->group, head_of(shape, i, channel), head_of(shape, parent, channel),
                           bytes / 2);
            send_both_ways(steps, shape->group, head_of(shape, last - i, channel),
                           head_of(shape, last - parent, channel), bytes / 2);
        }
}

enum part { CHAINS = 1, TREES = 2 };

static void send_parts(struct ll_steps *steps, unsigned parts)
{
    uint64_t kinds = ll_steps_kinds(steps);
    for (uint64_t g = 0; g < kinds; g++) {
        struct shape shape = shape_of(steps, kinds, g);
        double bytes = steps->exchange.bytes / (double)shape.nodes.rings;
        if (parts & CHAINS)
            send_chains(steps, &shape, bytes);
        if (parts & TREES)
            send_trees(steps, &shape, bytes);
    }
}

/* The longest chain and the most nodes of any group. */
static void find_longest(const struct ll_steps *steps, uint64_t *chain, uint64_t *nodes)
{
    uint64_t kinds = ll_steps_kinds(steps);
    *chain = *nodes = 0;
    for (uint64_t g = 0; g < kinds; g++) {
        struct shape shape = shape_of(steps, kinds, g);
        *chain = ll_max(*chain, shape.nodes.width);
        *nodes = ll_max(*nodes, shape.count);
    }
}

/* 2 (k - 1) a + 2 floor(log2 n) a' + the larger of 2 M / B within and 2 M / (k B') between, or of M / (k B')
 * with two nodes. */
bool ll_send_CHAINED_TREES(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t chain, nodes;
    find_longest(steps, &chain, &nodes);
    if (e->collective != LL_COLLECTIVE_ALL_REDUCE || nodes < 2)
        return false;
    double within = 2 * (double)(chain - 1), between = 2 * floor(log2((double)nodes));
    ll_told_say(steps->told, "hops along a chain of %" PRIu64 ", up and down: 2 * (%" PRIu64 " - 1) = %.10g",
                chain, chain, within);
    ll_told_say(steps->told, "hops between %" PRIu64 " nodes, halved so often: 2 * %.10g = %.10g", nodes,
                between / 2, between);
    send_parts(steps, CHAINS);
    struct ll_steps_hop chain_hop = ll_steps_end_hop(steps, within + between);
    send_parts(steps, TREES);
    struct ll_steps_hop tree_hop = ll_steps_end_hop(steps, within + between);
    struct ll_steps_hop all = {
        .latency_s = within * chain_hop.latency_s + between * tree_hop.latency_s,
        .pass_s = within * chain_hop.pass_s + between * tree_hop.pass_s,
    };
    ll_told_say(steps->told, "all hops, until pieces are complete: %.10g * %.10g + %.10g * %.10g = %.10g s",
                within, chain_hop.pass_s, between, tree_hop.pass_s, all.pass_s);
    ll_told_say(steps->told, "all hops, latencies alone: %.10g * %.10g + %.10g * %.10g = %.10g s", within,
                chain_hop.latency_s, between, tree_hop.latency_s, all.latency_s);
    send_parts(steps, CHAINS | TREES);
    /* One edge less than devices, each way. */
    steps->step_bytes = 2 * (double)(e->size - 1) * e->bytes;
    ll_steps_end_hops(steps, &all, within + between);
    return true;
}
