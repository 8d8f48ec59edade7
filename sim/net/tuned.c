/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between rings and trees that NCCL makes, which is not always the better one; and within a node
 * between rings and switches that add up, which is.
 *
 * It expects time = latency + bytes / bandwidth of each of its ways, an algorithm in one of its protocols,
 * and takes the least. Figures are the stack's (software.expected of hwconfigs/stacks/nccl_2_20.yaml); among
 * n devices on m nodes its formulas are (NCCL 2.20, src/graph/tuning.cc)
 *
 *       ring    start + (2 (n - 1) - 2 m) hop + 2 m node_hop        B n / (2 (n - 1))
 *       trees   start + 2 ((floor(n / m) - 1) hop + floor(log2 m) node_hop)   B / 2 by_size
 *
 * where B is a share of what the links of a node carry together: so trees come and go while a message grows.
 * Not followed: what it expects of a channel, and that small messages have no plateau, of which it makes no
 * difference.
 */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <math.h>

struct situation {
    double devices, nodes, cards, links_Bps;
    const struct ll_network *level; /* between nodes */
};

/* The outermost level in which a group's members have different places. */
static uint64_t level_between(const struct ll_steps *steps, uint64_t group)
{
    const struct ll_exchange *e = &steps->exchange;
    const uint64_t *members = e->members + group * e->size;
    uint64_t level = ll_net_levels(steps->net) - 1;
    for (; level > 0; level--)
        for (uint64_t i = 1; i < e->size; i++)
            if (members[i] / ll_net_group(steps->net, level) != members[0] / ll_net_group(steps->net, level))
                return level;
    return level;
}

/* Those that the devices of the smallest node use, the last or the first. */
static double cards_of(const struct ll_steps *steps, uint64_t group, uint64_t level,
                       const struct ll_blocks *nodes)
{
    const uint64_t *members = steps->exchange.members + group * nodes->size;
    uint64_t cards = 1, begin = nodes->first == nodes->rings ? 0 : nodes->size - nodes->rings;
    for (uint64_t i = begin + 1; i < begin + nodes->rings; i++)
        cards += ll_net_rail(steps->net, level, members[i]) != ll_net_rail(steps->net, level, members[i - 1]);
    return (double)cards;
}

/* Of groups that lie differently the one on most nodes is asked, for all. */
static uint64_t asked_group(const struct ll_steps *steps)
{
    uint64_t kinds = ll_steps_kinds(steps), asked = 0, most = 0;
    for (uint64_t g = 0; g < kinds; g++) {
        struct ll_blocks nodes = ll_steps_blocks(steps, g);
        asked = ll_blocks_count(&nodes) > most ? g : asked;
        most = ll_max(most, ll_blocks_count(&nodes));
    }
    return asked;
}

/* What these carry by their data sheets. */
static double links_Bps(const struct ll_network *level, double cards)
{
    double Bps = cards * level->bandwidth_Bps;
    return level->group_port_Bps > 0 ? fmin(Bps, level->group_port_Bps) : Bps;
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
    double within = floor(at->devices / at->nodes) - 1, between = floor(log2(at->nodes));
    double latency_s = way->start_s + 2 * (within * way->hop_s + between * way->node_hop_s);
    return latency_s * way->plateau + bytes * 2 / (bandwidth_Bps(way, at) * left_of(way, bytes));
}

/* The figures are of networks in which any node reaches any other through switches. */
static bool is_switched(const struct ll_net *net, uint64_t level)
{
    enum ll_topology topology = ll_net_machine(net)->networks[level].topology;
    return topology == LL_TOPOLOGY_SWITCH || topology == LL_TOPOLOGY_FULL || topology == LL_TOPOLOGY_FAT_TREE;
}

/* False where there is nothing to choose. */
static bool find_situation(const struct ll_steps *steps, struct situation *at)
{
    const struct ll_exchange *e = &steps->exchange;
    if (e->collective != LL_COLLECTIVE_ALL_REDUCE || e->size < 2)
        return false;
    uint64_t group = asked_group(steps);
    struct ll_blocks nodes = ll_steps_blocks(steps, group);
    uint64_t level = level_between(steps, group), count = ll_blocks_count(&nodes);
    if (level == 0 || !is_switched(steps->net, level))
        return false;
    const struct ll_network *spec = &ll_net_machine(steps->net)->networks[level];
    *at = (struct situation){.devices = (double)e->size,
                             .nodes = (double)(count > 1 ? count : e->size),
                             .cards = cards_of(steps, group, level, &nodes),
                             .level = spec};
    at->links_Bps = links_Bps(spec, at->cards);
    return true;
}

static double expected_s(const struct ll_expected_way *way, const struct situation *at, double bytes)
{
    static double (*const formulas[])(const struct ll_expected_way *, const struct situation *, double) = {
        [LL_EXPECTED_RING] = ring_s, [LL_EXPECTED_CHAINED_TREES] = chained_trees_s};
    return formulas[way->algorithm](way, at, bytes);
}

static bool expects_trees(const struct ll_steps *steps)
{
    const struct ll_software *software = &ll_net_machine(steps->net)->software;
    double least[LL_EXPECTED_ALGORITHM_COUNT] = {INFINITY, INFINITY};
    struct situation at;
    if (!find_situation(steps, &at))
        return false;
    for (uint64_t i = 0; i < software->expected_count; i++) {
        const struct ll_expected_way *way = &software->expected[i];
        least[way->algorithm] = fmin(least[way->algorithm], expected_s(way, &at, steps->exchange.bytes));
    }
    return least[LL_EXPECTED_CHAINED_TREES] < least[LL_EXPECTED_RING];
}

static void tell_links(const struct situation *at, struct ll_told *told)
{
    const struct ll_network *level = at->level;
    if (level->group_port_Bps > 0)
        ll_told_say(told,
                    "links of a node into %s, by their data sheet: min(%.10g * %.10g, %.10g) = %.10g B/s",
                    level->name, at->cards, level->bandwidth_Bps, level->group_port_Bps, at->links_Bps);
    else
        ll_told_say(told, "links of a node into %s, by their data sheet: %.10g * %.10g = %.10g B/s",
                    level->name, at->cards, level->bandwidth_Bps, at->links_Bps);
}

static void tell_bandwidth(const struct ll_expected_way *way, const struct situation *at, double bytes,
                           struct ll_told *told)
{
    bool two = at->nodes <= 2 && way->efficiency_of_two > 0;
    double share = two ? way->efficiency_of_two : way->efficiency, left = left_of(way, bytes);
    double Bps = bandwidth_Bps(way, at) * left;
    if (way->limit_Bps > 0)
        ll_told_say(told,
                    "%s, bandwidth that the library expects at this size: min(%.10g * %.10g, %.10g) * %.10g "
                    "= %.10g B/s",
                    way->name, at->links_Bps, share, way->limit_Bps, left, Bps);
    else
        ll_told_say(told,
                    "%s, bandwidth that the library expects at this size: %.10g * %.10g * %.10g = %.10g B/s",
                    way->name, at->links_Bps, share, left, Bps);
}

static void tell_way(const struct ll_expected_way *way, const struct situation *at, double bytes,
                     struct ll_told *told)
{
    double Bps = bandwidth_Bps(way, at) * left_of(way, bytes), n = at->devices, nodes = at->nodes;
    double time_s = expected_s(way, at, bytes);
    tell_bandwidth(way, at, bytes, told);
    if (way->algorithm == LL_EXPECTED_RING)
        ll_told_say(told,
                    "%s, time that it expects: (%.10g + (2 * (%.10g - 1) - 2 * %.10g) * %.10g + 2 * %.10g * "
                    "%.10g) * %.10g + "
                    "%.10g * 2 * (%.10g - 1) / (%.10g * %.10g) = %.10g s",
                    way->name, way->start_s, n, nodes, way->hop_s, nodes, way->node_hop_s, way->plateau,
                    bytes, n, Bps, n, time_s);
    else
        ll_told_say(told,
                    "%s, time that it expects: (%.10g + 2 * ((floor(%.10g / %.10g) - 1) * %.10g + %.10g * "
                    "%.10g)) * %.10g + "
                    "%.10g * 2 / %.10g = %.10g s",
                    way->name, way->start_s, n, nodes, way->hop_s, floor(log2(nodes)), way->node_hop_s,
                    way->plateau, bytes, Bps, time_s);
}

bool ll_tell_expected(const struct ll_steps *steps)
{
    const struct ll_software *software = &ll_net_machine(steps->net)->software;
    struct situation at;
    if (software->expected_count == 0 || !find_situation(steps, &at))
        return false;
    tell_links(&at, steps->told);
    for (uint64_t i = 0; i < software->expected_count; i++)
        tell_way(&software->expected[i], &at, steps->exchange.bytes, steps->told);
    ll_told_say(steps->told, "the library takes what it expects to be the fastest, %s",
                expects_trees(steps) ? "chained trees" : "rings");
    return true;
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
    if (expects_trees(steps) && ll_send_CHAINED_TREES(steps)) {
        steps->exchange.algorithm = LL_ALGORITHM_CHAINED_TREES;
        return true;
    }
    return send_around_or_through(steps);
}
