/* SPDX-License-Identifier: Apache-2.0 */
/* Collective algorithms of networks with several levels: NCCL's chained double binary trees, and exchanges in
 * two phases, within blocks of devices and between them. */
#include <math.h>
#include <stdlib.h>

#include "sim/network/steps.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"

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

static uint64_t messages_of(const struct shape *shape, unsigned parts)
{
    uint64_t messages = parts & TREES ? 4 * (shape->looked_at - 1) * shape->nodes.rings : 0;
    for (uint64_t node = 0; parts & CHAINS && node < shape->looked_at; node++)
        messages += 2 * (ll_blocks_places(&shape->nodes, node) - 1) * shape->nodes.rings;
    return messages;
}

static void send_parts(struct ll_steps *steps, unsigned parts)
{
    uint64_t kinds = ll_steps_kinds(steps);
    for (uint64_t g = 0; g < kinds; g++) {
        struct shape shape = shape_of(steps, kinds, g);
        double bytes = steps->exchange.bytes / (double)shape.nodes.rings;
        if (kinds == 1 && !ll_steps_are_worth(steps, messages_of(&shape, parts)))
            return;
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
    struct ll_tree_hops hops = {.places = chain,
                                .nodes = nodes,
                                .within = 2 * (double)(chain - 1),
                                .between = 2 * floor(log2((double)nodes))};
    double within = hops.within, between = hops.between;
    send_parts(steps, CHAINS);
    hops.chain = ll_steps_end_hop(steps, within + between);
    send_parts(steps, TREES);
    hops.tree = ll_steps_end_hop(steps, within + between);
    hops.all = (struct ll_steps_hop){
        .latency_s = within * hops.chain.latency_s + between * hops.tree.latency_s,
        .pass_s = within * hops.chain.pass_s + between * hops.tree.pass_s,
    };
    ll_steps_record_add(steps->record, &(struct ll_ended){.ending = LL_ENDED_TREES, .trees = hops});
    send_parts(steps, CHAINS | TREES);
    /* One edge less than devices, each way. */
    steps->step_bytes = 2 * (double)(e->size - 1) * e->bytes;
    ll_steps_end_hops(steps, &hops.all, within + between);
    return true;
}

/* An exchange in two: within blocks of devices that an inner level of the network joins, and between the
 * devices that have the same place in their blocks, who only exchange what the blocks left them:
 *
 *       all-reduce of M  =  reduce-scatter of M within, all-reduce of M / s between, all-gather of M within
 *
 * Either part is done as fast as can be, the outer one perhaps again in two. */

struct split {
    uint64_t block;       /* devices of one */
    uint64_t *between;    /* members of the groups between blocks: first those in the first places, ... */
    const uint64_t *held; /* the same, as the solver holds them */
};

uint64_t ll_blocks_count(const struct ll_blocks *blocks)
{
    return 1 + ll_ceil_div(blocks->size - blocks->first, blocks->width);
}

uint64_t ll_blocks_begin(const struct ll_blocks *blocks, uint64_t block)
{
    return block == 0 ? 0 : blocks->first + (block - 1) * blocks->width;
}

uint64_t ll_blocks_places(const struct ll_blocks *blocks, uint64_t block)
{
    return block == 0 ? blocks->first : ll_min(blocks->width, blocks->size - ll_blocks_begin(blocks, block));
}

uint64_t ll_blocks_entry(const struct ll_blocks *blocks, uint64_t places, uint64_t ring)
{
    return ring * places / blocks->rings;
}

/* How many ranks from this one on share a block of `width` devices. */
static uint64_t run_of(const uint64_t *members, uint64_t size, uint64_t rank, uint64_t width)
{
    uint64_t run = 1;
    while (rank + run < size && members[rank + run] / width == members[rank] / width)
        run++;
    return run;
}

static bool are_equal(const struct ll_blocks *blocks)
{
    return blocks->first == blocks->width && blocks->size % blocks->width == 0;
}

/* Whether each run lies in a block of `width` devices, another one each time, and in equal places: equal
 * blocks all, else those behind the first. */
static bool lies_in_blocks(const uint64_t *members, const struct ll_blocks *blocks, uint64_t width)
{
    uint64_t whole = are_equal(blocks) ? 0 : blocks->first;
    for (uint64_t b = 0; b < ll_blocks_count(blocks); b++) {
        uint64_t begin = ll_blocks_begin(blocks, b), places = ll_blocks_places(blocks, b);
        if (b > 0 && members[begin] / width == members[begin - 1] / width)
            return false;
        for (uint64_t i = 0; i < places; i++)
            if (members[begin + i] / width != members[begin] / width ||
                (begin >= whole && members[begin + i] % width != members[whole + i] % width))
                return false;
    }
    return true;
}

/* The innermost level that cuts the group evenly is taken, else the one that leaves the most rings. */
static struct ll_blocks find_blocks(const struct ll_steps *steps, uint64_t group)
{
    const struct ll_exchange *e = &steps->exchange;
    const uint64_t *members = e->members + group * e->size;
    struct ll_blocks best = {e->size, e->size, e->size, 0};
    for (uint64_t level = 1; level < ll_net_levels(steps->net); level++) {
        uint64_t width = ll_net_group(steps->net, level), first = run_of(members, e->size, 0, width);
        if (first == e->size)
            continue;
        uint64_t most = ll_max(first, run_of(members, e->size, first, width));
        struct ll_blocks here = {e->size, first, most, 0};
        uint64_t last = ll_blocks_places(&here, ll_blocks_count(&here) - 1);
        here.rings = ll_min(first, last);
        if (most == 1 || !lies_in_blocks(members, &here, width))
            continue;
        if (are_equal(&here))
            return here;
        best = here.rings > best.rings ? here : best;
    }
    best.rings = ll_max(1, best.rings);
    return best;
}

struct ll_blocks ll_steps_blocks(const struct ll_steps *steps, uint64_t group)
{
    struct ll_grouping *known = group == 0 ? ll_solver_grouping(steps->solver, &steps->exchange) : NULL;
    if (!known)
        return find_blocks(steps, group);
    if (known->blocks.size == 0)
        known->blocks = find_blocks(steps, group);
    return known->blocks;
}

static uint64_t find_kinds(const struct ll_steps *steps)
{
    const struct ll_blocks first = ll_steps_blocks(steps, 0);
    for (uint64_t g = 1; g < steps->exchange.groups; g++) {
        const struct ll_blocks other = ll_steps_blocks(steps, g);
        if (other.first != first.first || other.width != first.width || other.rings != first.rings)
            return steps->exchange.groups;
    }
    return 1;
}

uint64_t ll_steps_kinds(const struct ll_steps *steps)
{
    struct ll_grouping *known = ll_solver_grouping(steps->solver, &steps->exchange);
    if (!known)
        return find_kinds(steps);
    if (known->kinds == 0)
        known->kinds = find_kinds(steps);
    return known->kinds;
}

uint64_t ll_steps_sender(uint64_t kinds, uint64_t group)
{
    return kinds == 1 ? LL_EACH_GROUP : group;
}

static void gather_between(const struct ll_exchange *e, struct split *split)
{
    uint64_t blocks = e->size / split->block, at = 0;
    for (uint64_t place = 0; place < split->block; place++)
        for (uint64_t g = 0; g < e->groups; g++)
            for (uint64_t b = 0; b < blocks; b++)
                split->between[at++] = e->members[g * e->size + b * split->block + place];
}

static void nest_within(struct ll_steps *steps, const struct split *split, enum ll_collective collective)
{
    const struct ll_exchange *e = &steps->exchange;
    ll_steps_nest(steps, &(struct ll_exchange){.collective = collective,
                                               .algorithm = LL_ALGORITHM_COUNT,
                                               .bytes = e->bytes,
                                               .members = e->members,
                                               .size = split->block,
                                               .groups = e->groups * (e->size / split->block)});
}

/* `places`: how many of a block's devices take part. */
static void nest_between(struct ll_steps *steps, const struct split *split, enum ll_collective collective,
                         double bytes, uint64_t places)
{
    const struct ll_exchange *e = &steps->exchange;
    ll_steps_nest(steps, &(struct ll_exchange){.collective = collective,
                                               .algorithm = LL_ALGORITHM_COUNT,
                                               .bytes = bytes,
                                               .members = split->held,
                                               .size = e->size / split->block,
                                               .groups = e->groups * places});
}

static bool nest_parts(struct ll_steps *steps, const struct split *split)
{
    double all = steps->exchange.bytes, part = all / (double)split->block;
    switch (steps->exchange.collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        nest_within(steps, split, LL_COLLECTIVE_REDUCE_SCATTER);
        nest_between(steps, split, LL_COLLECTIVE_ALL_REDUCE, part, split->block);
        nest_within(steps, split, LL_COLLECTIVE_ALL_GATHER);
        return true;
    case LL_COLLECTIVE_REDUCE_SCATTER:
        nest_within(steps, split, LL_COLLECTIVE_REDUCE_SCATTER);
        nest_between(steps, split, LL_COLLECTIVE_REDUCE_SCATTER, part, split->block);
        return true;
    case LL_COLLECTIVE_ALL_GATHER:
        nest_between(steps, split, LL_COLLECTIVE_ALL_GATHER, part, split->block);
        nest_within(steps, split, LL_COLLECTIVE_ALL_GATHER);
        return true;
    case LL_COLLECTIVE_BROADCAST:
        nest_between(steps, split, LL_COLLECTIVE_BROADCAST, all, 1);
        nest_within(steps, split, LL_COLLECTIVE_BROADCAST);
        return true;
    case LL_COLLECTIVE_REDUCE:
        nest_within(steps, split, LL_COLLECTIVE_REDUCE);
        nest_between(steps, split, LL_COLLECTIVE_REDUCE, all, 1);
        return true;
    case LL_COLLECTIVE_ALL_TO_ALL:
        nest_within(steps, split, LL_COLLECTIVE_ALL_TO_ALL);
        nest_between(steps, split, LL_COLLECTIVE_ALL_TO_ALL, all, split->block);
        return true;
    default:
        return false;
    }
}

/* The members of the groups between blocks, which the solver holds; NULL when memory ran out. */
static const uint64_t *find_between(struct ll_steps *steps, uint64_t block)
{
    const struct ll_exchange *e = &steps->exchange;
    struct ll_grouping *known = ll_solver_grouping(steps->solver, e);
    if (known && known->between)
        return known->between;
    struct split split = {.block = block, .between = malloc(e->size * e->groups * sizeof *split.between)};
    if (!split.between)
        return NULL;
    gather_between(e, &split);
    struct ll_exchange between = {
        .members = split.between, .size = e->size / block, .groups = e->groups * block};
    const bool held = ll_solver_groups(steps->solver, &between) != LL_NO_ID;
    free(split.between);
    known = held ? ll_solver_grouping(steps->solver, e) : NULL; /* which may have moved */
    if (known)
        known->between = between.members;
    return held ? between.members : NULL;
}

bool ll_send_HIERARCHICAL(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    struct ll_blocks blocks = ll_steps_blocks(steps, 0);
    if (blocks.width == e->size || !are_equal(&blocks) || ll_steps_kinds(steps) > 1)
        return false;
    const uint64_t *between = find_between(steps, blocks.width);
    if (!between) {
        steps->failed = true;
        return true;
    }
    return nest_parts(steps, &(struct split){.block = blocks.width, .held = between});
}
