/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between rings and trees that NCCL makes, which is not always the better one; and within a node
 * between rings and switches that add up, which is.
 *
 * It expects time = latency + bytes / bandwidth of each of its ways, an algorithm in one of its protocols,
 * and takes the least. Figures are the stack's (software.expected of hwconfigs/stacks/nccl_2_20.yaml); among
 * n devices on m nodes its formulas are (NCCL 2.20, src/graph/tuning.cc)
 *
 *       ring    start + (2 (n - 1) - 2 m) hop + 2 m node_hop        B n / (2 (n - 1))
 *       trees   start + 2 ((n / m - 1) hop + floor(log2 m) node_hop)   B / 2 by_size
 *
 * where B is a share of what the links of a node carry together: so trees come and go while a message grows.
 * Not followed: what it expects of a channel, and that small messages have no plateau, of which it makes no
 * difference.
 */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <math.h>

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

/* Of its bandwidth, what a size leaves. */
static double left_of(const struct ll_expected_way *way, double bytes)
{
    double power = floor(log2(fmax(64, bytes) / 64));
    return power < (double)way->size_count ? way->by_size[(uint64_t)power] : 1;
}

static double bandwidth_Bps(const struct ll_expected_way *way, const struct situation *at)
{
    bool two = at->nodes <= 2 && way->efficiency_of_two > 0;
    double Bps = at->links_Bps * (two ? way->efficiency_of_two : way->efficiency);
    return way->limit_Bps > 0 ? fmin(Bps, way->limit_Bps) : Bps;
}

static double ring_s(const struct ll_expected_way *way, const struct situation *at, double bytes)
{
    double turns = 2 * (at->devices - 1), between = 2 * at->nodes;
    double latency_s = way->start_s + (turns - between) * way->hop_s + between * way->node_hop_s;
    return latency_s * way->plateau +
           bytes * turns / (bandwidth_Bps(way, at) * left_of(way, bytes) * at->devices);
}

static double chained_trees_s(const struct ll_expected_way *way, const struct situation *at, double bytes)
{
    double within = at->devices / at->nodes - 1, between = floor(log2(at->nodes));
    double latency_s = way->start_s + 2 * (within * way->hop_s + between * way->node_hop_s);
    return latency_s * way->plateau + bytes * 2 / (bandwidth_Bps(way, at) * left_of(way, bytes));
}

/* The figures are of networks in which any node reaches any other through switches. */
static bool is_switched(const struct ll_net *net, uint64_t level)
{
    enum ll_topology topology = ll_net_machine(net)->networks[level].topology;
    return topology == LL_TOPOLOGY_SWITCH || topology == LL_TOPOLOGY_FULL || topology == LL_TOPOLOGY_FAT_TREE;
}

static bool expects_trees(const struct ll_steps *steps)
{
    static double (*const formulas[])(const struct ll_expected_way *, const struct situation *, double) = {
        [LL_EXPECTED_RING] = ring_s, [LL_EXPECTED_CHAINED_TREES] = chained_trees_s};
    const struct ll_software *software = &ll_net_machine(steps->net)->software;
    uint64_t block = ll_steps_block(steps), chain = block ? block : 1, level = level_between(steps);
    double least[LL_EXPECTED_ALGORITHM_COUNT] = {INFINITY, INFINITY};
    if (level == 0 || !is_switched(steps->net, level))
        return false;
    struct situation at = {.devices = (double)steps->exchange.size,
                           .nodes = (double)steps->exchange.size / (double)chain,
                           .links_Bps = links_Bps(steps, level, chain)};
    for (uint64_t i = 0; i < software->expected_count; i++) {
        const struct ll_expected_way *way = &software->expected[i];
        double time_s = formulas[way->algorithm](way, &at, steps->exchange.bytes);
        least[way->algorithm] = fmin(least[way->algorithm], time_s);
    }
    return least[LL_EXPECTED_CHAINED_TREES] < least[LL_EXPECTED_RING];
}

/* In rings, or by a switch that adds up by itself where it is faster. */
static bool send_around_or_through(struct ll_steps *steps)
{
    struct ll_steps through = *steps;
    steps->exchange.algorithm = LL_ALGORITHM_RING;
    bool around = ll_send_RING(steps);
    through.exchange.algorithm = LL_ALGORITHM_IN_NETWORK;
    if (around && ll_send_IN_NETWORK(&through) && through.time_s < steps->time_s)
        *steps = through;
    return around;
}

bool ll_send_TUNED(struct ll_steps *steps)
{
    if (steps->exchange.collective == LL_COLLECTIVE_ALL_REDUCE && steps->exchange.size > 1 &&
        expects_trees(steps) && ll_send_CHAINED_TREES(steps)) {
        steps->exchange.algorithm = LL_ALGORITHM_CHAINED_TREES;
        return true;
    }
    return send_around_or_through(steps);
}
