/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between rings and trees that NCCL makes, which is not always the better one.
 *
 * NCCL expects time = latency + bytes / bandwidth of each algorithm and protocol and takes the least. How
 * stands in its source (src/graph/tuning.cc, src/graph/search.cc): latencies of a start and of a hop within a
 * node and between nodes; the bandwidth that the links have together, of which a ring gets n / (2 (n - 1))
 * and a tree 0.46, and with two nodes up to twice that, because the search for trees may find links within
 * the node twice as fast; and a correction of trees by powers of two of the size. So trees come and go while
 * a message grows: the correction of the protocol for large messages falls from 0.8 to 0.7 at 16 MiB.
 *
 * The formulas, the corrections and the doubling are read there. Latencies differ from version to version:
 * those of about version 2.14 stand here, recalled, not re-checked, and so do the plateau and the shares of
 * the first protocol; with them all-reduces of 4 and 16 devices on two nodes change where vidur_network.csv
 * has it, of 8 they change at 8 MiB and not at 4.
 */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <math.h>

enum { CORRECTED = 23 }; /* powers of two from 64 bytes on; beyond, trees are as fast as expected */

struct protocol {
    /* start, hop within a node, hop between nodes */
    double ring_s[3], tree_s[3];
    double ring_share, tree_share; /* of the bandwidth */
    double plateau;                /* a ring between nodes has that many times its latency */
    double correction[CORRECTED];  /* of trees */
};

/* What each few bytes bring a flag along for, and what is passed on in chunks. The one between the two is not
 * counted: it serves where a node's cards are next to its devices. Hops of the first within a node take 1.8
 * times as long beside a network, as the source has it. */
static const struct protocol protocols[] = {
    {.ring_s = {6.6e-6, 1.8 * 0.6e-6, 2.7e-6},
     .tree_s = {6.8e-6, 1.8 * 0.6e-6, 5e-6},
     .ring_share = 0.5,
     .tree_share = 1 / 3.8,
     .plateau = 1,
     .correction = {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1}},
    {.ring_s = {8.4e-6, 3.4e-6, 14e-6},
     .tree_s = {0, 28e-6, 28e-6},
     .ring_share = 1,
     .tree_share = 1,
     .plateau = 1.4,
     .correction = {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
                    .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}},
};

struct situation {
    double devices, nodes, links_Bps;
};

/* The outermost level in which the members of the first group have different places. */
static uint64_t level_between(const struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t level = ll_net_levels(steps->net) - 1;
    for (; level > 0; level--)
        for (uint64_t i = 1; i < e->size; i++)
            if (e->members[i] / ll_net_group(steps->net, level) !=
                e->members[0] / ll_net_group(steps->net, level))
                return level;
    return level;
}

/* What a node's cards carry by their data sheets, of those that its devices use. */
static double links_Bps(const struct ll_steps *steps, uint64_t level, uint64_t chain)
{
    const struct ll_network *spec = &ll_net_machine(steps->net)->networks[level];
    uint64_t cards = 1;
    for (uint64_t i = 1; i < chain; i++)
        cards += ll_net_rail(steps->net, level, steps->exchange.members[i]) !=
                 ll_net_rail(steps->net, level, steps->exchange.members[i - 1]);
    double Bps = (double)cards * spec->bandwidth_Bps;
    return spec->group_port_Bps > 0 ? fmin(Bps, spec->group_port_Bps) : Bps;
}

static double correction_of(const struct protocol *protocol, double bytes)
{
    double power = floor(log2(fmax(64, bytes) / 64));
    return power < CORRECTED ? protocol->correction[(int)power] : 1;
}

static double ring_s(const struct protocol *p, const struct situation *at, double bytes)
{
    double turns = 2 * (at->devices - 1), between = 2 * (at->nodes - 1);
    double latency_s = p->ring_s[0] + (turns - between) * p->ring_s[1] + between * p->ring_s[2];
    return latency_s * p->plateau + bytes / (at->links_Bps * p->ring_share * at->devices / turns);
}

static double tree_s(const struct protocol *p, const struct situation *at, double bytes)
{
    double within = at->devices / at->nodes - 1, between = floor(log2(at->nodes));
    double share = 0.46 * (at->nodes > 2 ? 1 : 2) * p->tree_share * correction_of(p, bytes);
    return p->tree_s[0] + 2 * (within * p->tree_s[1] + between * p->tree_s[2]) +
           bytes / (at->links_Bps * share);
}

/* The figures are of networks in which any node reaches any other through switches. */
static bool is_switched(const struct ll_net *net, uint64_t level)
{
    enum ll_topology topology = ll_net_machine(net)->networks[level].topology;
    return topology == LL_TOPOLOGY_SWITCH || topology == LL_TOPOLOGY_FULL || topology == LL_TOPOLOGY_FAT_TREE;
}

static bool expects_trees(const struct ll_steps *steps)
{
    uint64_t block = ll_steps_block(steps), chain = block ? block : 1, level = level_between(steps);
    double ring = INFINITY, tree = INFINITY;
    if (level == 0 || !is_switched(steps->net, level))
        return false;
    struct situation at = {.devices = (double)steps->exchange.size,
                           .nodes = (double)steps->exchange.size / (double)chain,
                           .links_Bps = links_Bps(steps, level, chain)};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        ring = fmin(ring, ring_s(&protocols[i], &at, steps->exchange.bytes));
        tree = fmin(tree, tree_s(&protocols[i], &at, steps->exchange.bytes));
    }
    return tree < ring;
}

bool ll_send_TUNED(struct ll_steps *steps)
{
    if (steps->exchange.collective == LL_COLLECTIVE_ALL_REDUCE && steps->exchange.size > 1 &&
        expects_trees(steps) && ll_send_CHAINED_TREES(steps)) {
        steps->exchange.algorithm = LL_ALGORITHM_CHAINED_TREES;
        return true;
    }
    steps->exchange.algorithm = LL_ALGORITHM_RING;
    return ll_send_RING(steps);
}
