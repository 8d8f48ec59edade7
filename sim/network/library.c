/* SPDX-License-Identifier: Apache-2.0 */
/* What software does that chooses for itself: a library of collectives (NCCL), whose tuner takes the
 * algorithm and protocol that it expects to be the fastest, and kernels of a stack's own, which serve small
 * messages.
 *
 *     between nodes    rings or chained trees                  times by levels, chunks and LL, as in steps.c
 *     within a node    rings in LL, LL128 or Simple, NVLS      times of the protocol taken
 *     a stack's own    one-shot, two-shot, in the switches     times of the kernel */
#include <assert.h>
#include <math.h>

#include "sim/network/steps.h"
#include "tracer/base/num.h"

/* The choice between rings and trees that NCCL makes between nodes, which is not always the better one.
 *
 * It expects time = latency + bytes / bandwidth of each of its ways, an algorithm in one of its protocols,
 * and takes the least. Figures are the stack's (sim/machine/tuners.def); among
 * n devices on m nodes its formulas are (NCCL 2.20, src/graph/tuning.cc)
 *
 *       ring    start + (2 (n - 1) - 2 m) hop + 2 m node_hop        B n / (2 (n - 1))
 *       trees   start + 2 ((floor(n / m) - 1) hop + floor(log2 m) node_hop)   B / 2 by_size
 *
 * where B is a share of what the links of a node carry together: so trees come and go while a message grows.
 * Not followed: what it expects of a channel, and that small messages have no plateau, of which it makes no
 * difference.
 */

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

enum { MOST_TUNED_SIZES = 32 };

/* An algorithm and a protocol that a library has, and what its tuner expects of them
 * (sim/machine/tuners.def). */
struct tuned {
    const char *name; /* NULL: the list has ended */
    enum ll_algorithm algorithm;
    double start_s, hop_s, node_hop_s; /* before the first message; of a message within and between nodes */
    double plateau;                    /* all these take that many times as long */
    double efficiency, efficiency_of_two; /* share of a node's links' bandwidth; between two nodes */
    double limit_Bps;                     /* the most bandwidth; 0: any */
    double by_size[MOST_TUNED_SIZES];     /* share of it left for 64 bytes, 128, ...; 0: all */
};

#define LL_TUNED(text, word, start, hop, node_hop, plateau, share, of_two, limit, ...)                       \
    {text, LL_ALGORITHM_##word, start, hop, node_hop, plateau, share, of_two, limit, __VA_ARGS__},
#define LL_TUNER(word, text, within, ...)                                                                    \
    static const struct tuned ways_##word[] = {__VA_ARGS__{.name = NULL}};
#include "sim/machine/tuners.def"
#undef LL_TUNER
#undef LL_TUNED
static const struct tuned *const tuners[] = {
#define LL_TUNER(word, ...) [LL_TUNER_##word] = ways_##word,
#include "sim/machine/tuners.def"
#undef LL_TUNER
};

/* Whether the tables within a node hold. */
static const bool knows_nodes[] = {
#define LL_TUNER(word, name, within, ...) [LL_TUNER_##word] = within,
#include "sim/machine/tuners.def"
#undef LL_TUNER
};

/* Of its bandwidth, what a size leaves. */
static double left_of(const struct tuned *way, double bytes)
{
    double power = floor(log2(fmax(64, bytes) / 64));
    double left = power < MOST_TUNED_SIZES ? way->by_size[(uint64_t)power] : 0;
    return left > 0 ? left : 1; /* sizes beyond the list have all */
}

static double bandwidth_Bps(const struct tuned *way, const struct situation *at)
{
    bool two = at->nodes <= 2;
    double Bps = at->links_Bps * (two ? way->efficiency_of_two : way->efficiency);
    return way->limit_Bps > 0 ? fmin(Bps, way->limit_Bps) : Bps;
}

static double ring_s(const struct tuned *way, const struct situation *at, double bytes)
{
    double turns = 2 * (at->devices - 1), between = 2 * at->nodes;
    double latency_s = way->start_s + (turns - between) * way->hop_s + between * way->node_hop_s;
    return latency_s * way->plateau +
           bytes * turns / (bandwidth_Bps(way, at) * left_of(way, bytes) * at->devices);
}

static double chained_trees_s(const struct tuned *way, const struct situation *at, double bytes)
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

static double tuner_time_s(const struct tuned *way, const struct situation *at, double bytes)
{
    return way->algorithm == LL_ALGORITHM_RING ? ring_s(way, at, bytes) : chained_trees_s(way, at, bytes);
}

static bool tuner_prefers_trees(const struct ll_steps *steps)
{
    const struct ll_software *software = &ll_net_machine(steps->net)->software;
    double least[] = {[false] = INFINITY, [true] = INFINITY}; /* of rings, of trees */
    struct situation at;
    if (!find_situation(steps, &at))
        return false;
    for (const struct tuned *way = tuners[software->tuner]; way && way->name; way++) {
        double *so_far = &least[way->algorithm == LL_ALGORITHM_CHAINED_TREES];
        *so_far = fmin(*so_far, tuner_time_s(way, &at, steps->exchange.bytes));
    }
    return least[true] < least[false];
}

/* --- within a node --- */

/* What the tuner expects of an algorithm in a protocol, and what it takes (sim/machine/tuners.def). */
enum protocol { LL, LL128, SIMPLE, NVLS };

static const struct within {
    enum protocol protocol;
    const char *name;
    enum ll_algorithm algorithm;
    double start_s, hop_s, share;                  /* expected */
    double taken_starts, taken_steps, taken_share; /* taken; starts in multiples of collective_overhead */
    double fill;
} withins[] = {
#define LL_WITHIN(protocol, name, word, ...) {protocol, name, LL_ALGORITHM_##word, __VA_ARGS__},
#include "sim/machine/tuners.def"
#undef LL_WITHIN
};
enum { WITHINS = sizeof withins / sizeof *withins };

struct peers {
    double start_s, peer_s, peer_Bps, blocks_s, channel_Bps, share;
};
#define LL_PEERS(...) static const struct peers peers = {__VA_ARGS__};
#include "sim/machine/tuners.def"
#undef LL_PEERS

struct channel {
    double rank_bytes, share;
};
#define LL_CHANNEL(...) static const struct channel ll_channel = {__VA_ARGS__};
#include "sim/machine/tuners.def"
#undef LL_CHANNEL

/* Half of a channel's buffer of 4 MiB is a chunk. NVLS serves five devices or more, as readings of 2 to 8
 * GPUs show. */
enum { CHANNEL_CHUNK = 2 << 20, FEWEST_CHANNELS = 2, FEWEST_NVLS = 5 };

static double channels_of(const struct ll_network *level)
{
    return fmax(FEWEST_CHANNELS, floor((double)level->chunk_bytes / CHANNEL_CHUNK));
}

/* Steps of M / n that rings take; 0: the library has none within a node. */
static double ring_steps(const struct ll_exchange *e)
{
    switch (e->collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        return 2 * (double)(e->size - 1);
    case LL_COLLECTIVE_ALL_GATHER:
    case LL_COLLECTIVE_REDUCE_SCATTER:
    case LL_COLLECTIVE_BROADCAST:
    case LL_COLLECTIVE_REDUCE:
        return (double)(e->size - 1);
    default:
        return 0;
    }
}

/* The level that all of the exchange lies in, where the library's figures hold: the innermost one, switched.
 * NULL elsewhere. */
static const struct ll_network *node_level(const struct ll_steps *steps)
{
    const struct ll_machine *machine = ll_net_machine(steps->net);
    bool alone = knows_nodes[machine->software.tuner] && steps->exchange.size > 1 &&
                 ll_steps_common_level(steps) == 0 && is_switched(steps->net, 0);
    return alone ? &machine->networks[0] : NULL;
}

static bool is_offered(const struct within *way, const struct ll_network *level, const struct ll_exchange *e)
{
    if (way->protocol == LL128)
        return level->ll128_efficiency > 0;
    return way->protocol != NVLS || (level->in_network > 0 && e->collective == LL_COLLECTIVE_ALL_REDUCE &&
                                     !e->integers && e->size >= FEWEST_NVLS);
}

/* What the tuner takes a way to carry. */
static double expected_Bps(const struct within *way, const struct ll_network *level)
{
    double link_Bps = level->bandwidth_Bps * level->efficiency;
    return link_Bps * way->share * (way->protocol == NVLS ? level->in_network : 1);
}

static double expected_s(const struct within *way, const struct ll_network *level,
                         const struct ll_exchange *e)
{
    double steps = ring_steps(e), bytes = e->bytes * (way->protocol == NVLS ? 1 : steps / (double)e->size);
    return way->start_s + steps * way->hop_s + bytes / expected_Bps(way, level);
}

static const struct within *expected_fastest(const struct ll_network *level, const struct ll_exchange *e)
{
    const struct within *best = NULL;
    for (size_t i = 0; i < WITHINS; i++)
        if (is_offered(&withins[i], level, e) &&
            (!best || expected_s(&withins[i], level, e) < expected_s(best, level, e)))
            best = &withins[i];
    return best;
}

/* What LL reaches of the links by as many channels as messages of this size are given. */
static double ll_share(const struct ll_network *level, const struct ll_exchange *e)
{
    double all = channels_of(level), used = e->bytes / (ll_channel.rank_bytes * (double)e->size);
    double together = level->ll_efficiency > 0 ? level->ll_efficiency : 0.5;
    return fmin(together, fmin(all, fmax(1, used)) / all * ll_channel.share);
}

static struct ll_protocol protocol_of(const struct within *way, const struct ll_steps *steps,
                                      const struct ll_network *level)
{
    double start_s = ll_net_machine(steps->net)->software.collective_overhead_s;
    double share = way->taken_share;
    if (way->protocol == LL)
        share *= ll_share(level, &steps->exchange);
    if (way->protocol == LL128)
        share *= level->ll128_efficiency;
    return (struct ll_protocol){.name = way->name,
                                .start_s = way->taken_starts * start_s,
                                .latencies = 1,
                                .steps = way->taken_steps,
                                .share = share,
                                .fill = way->fill};
}

/* Sends to all peers at once: the faster of few channels a peer and of all channels, which take as long as
 * the slower of links and copying blocks. */
static bool send_to_peers(struct ll_steps *steps, const struct ll_network *level)
{
    const struct ll_exchange *e = &steps->exchange;
    double n = (double)e->size, part = e->bytes / n;
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 1; j < e->size; j++)
            ll_steps_send(steps, i, (i + j) % e->size, part);
    struct ll_peers p = {.n = n,
                         .sent_s = ll_steps_end_sent(steps) / peers.share,
                         .share = peers.share,
                         .start_s = peers.start_s,
                         .peer_s = peers.peer_s,
                         .all_starts_s = peers.start_s + (n - 1) * peers.peer_s,
                         .part_bytes = part,
                         .peer_Bps = peers.peer_Bps,
                         .blocks_s = peers.blocks_s,
                         .bytes = e->bytes,
                         .channels = channels_of(level),
                         .channel_Bps = peers.channel_Bps};
    p.few_s = p.all_starts_s + part / p.peer_Bps + p.sent_s;
    p.many_s = p.all_starts_s + p.blocks_s + fmax(p.sent_s, e->bytes / (p.channels * p.channel_Bps));
    double time_s = fmin(p.few_s, p.many_s);
    ll_steps_record_add(steps->record,
                        &(struct ll_ended){.ending = LL_ENDED_PEERS, .peers = p, .time_s = time_s});
    ll_steps_add(steps, time_s, 1);
    return true;
}

/* Sends what the exchange asks by one of the ways, in its protocol. */
static bool send_by(const struct within *way, struct ll_steps *steps, const struct ll_network *level)
{
    struct ll_protocol protocol = protocol_of(way, steps, level);
    steps->exchange.algorithm = way->algorithm;
    steps->protocol = &protocol;
    bool done = way->algorithm == LL_ALGORITHM_RING ? ll_send_RING(steps) : ll_send_IN_NETWORK(steps);
    steps->protocol = NULL;
    return done;
}

/* The bytes from which on the tuner leaves a way for another one; infinite where it never does. */
static double last_bytes(const struct within *way, const struct ll_network *level,
                         const struct ll_exchange *e)
{
    struct ll_exchange none = *e, one = *e;
    double last = INFINITY;
    none.bytes = 0;
    one.bytes = 1;
    for (size_t i = 0; i < WITHINS; i++) {
        double behind_s = expected_s(&withins[i], level, &none) - expected_s(way, level, &none);
        double gained_s = expected_s(way, level, &one) - expected_s(way, level, &none) -
                          (expected_s(&withins[i], level, &one) - expected_s(&withins[i], level, &none));
        if (is_offered(&withins[i], level, e) && gained_s > 0)
            last = fmin(last, fmax(0, behind_s) / gained_s);
    }
    return last;
}

/* What the tuner expects and what a way takes cross at different sizes, so that a message could be faster
 * than a smaller one, which was left to another way too long. The time is taken to be no less than that of
 * the largest message of any way that the tuner has left by then. */
static void bound_below(const struct ll_steps *start, const struct within *taken,
                        const struct ll_network *level, struct ll_steps *steps)
{
    struct ll_ended least = {.ending = LL_ENDED_SMALLER};
    for (size_t i = 0; i < WITHINS; i++) {
        struct ll_steps smaller = *start;
        struct ll_exchange *e = &smaller.exchange;
        if (&withins[i] == taken || !is_offered(&withins[i], level, e))
            continue;
        e->bytes = last_bytes(&withins[i], level, e);
        if (e->bytes <= 0 || e->bytes > steps->exchange.bytes ||
            expected_s(expected_fastest(level, e), level, e) < expected_s(&withins[i], level, e) * (1 - 1e-9))
            continue;
        smaller.record = NULL;
        smaller.path = NULL;
        double time_s = send_by(&withins[i], &smaller, level) ? smaller.time_s - start->time_s : 0;
        if (time_s > steps->time_s - start->time_s + least.time_s) {
            least.time_s = time_s - (steps->time_s - start->time_s);
            least.bytes = e->bytes;
            least.protocol.name = withins[i].name;
        }
    }
    if (least.time_s == 0)
        return;
    ll_steps_record_add(steps->record, &least);
    ll_steps_add(steps, least.time_s, 0);
}

/* By the way that the tuner expects to be the fastest, in its protocol. */
static bool send_within(struct ll_steps *steps, const struct ll_network *level)
{
    steps->in_protocol = true;
    if (steps->exchange.collective == LL_COLLECTIVE_ALL_TO_ALL) {
        steps->exchange.algorithm = LL_ALGORITHM_DIRECT;
        return send_to_peers(steps, level);
    }
    if (ring_steps(&steps->exchange) == 0)
        return false;
    const struct ll_steps start = *steps;
    const struct within *way = expected_fastest(level, &steps->exchange);
    bool done = send_by(way, steps, level);
    if (done)
        bound_below(&start, way, level, steps);
    return done;
}

/* --- a library and its tuner, or the faster of rings and switches where it has none --- */

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
    const struct ll_network *level = node_level(steps);
    if (level)
        return send_within(steps, level);
    if (tuner_prefers_trees(steps) && ll_send_CHAINED_TREES(steps)) {
        steps->exchange.algorithm = LL_ALGORITHM_CHAINED_TREES;
        return true;
    }
    return send_around_or_through(steps);
}

/* --- kernels of the stack's own --- */

/* The most bytes of an exchange among so many devices; 0: it does not serve them. */
static double kernel_limit(const struct ll_collective_kernel *kernel, uint64_t devices)
{
    uint64_t row = devices <= 2 ? 0 : devices <= 4 ? 1 : devices <= 8 ? 2 : 3;
    return row < kernel->limit_count ? kernel->limits_bytes[row] : 0;
}

const struct ll_collective_kernel *ll_library_kernel(const struct ll_net *net, const struct ll_exchange *e,
                                                     const struct ll_collective_kernel *after)
{
    const struct ll_software *software = &ll_net_machine(net)->software;
    uint64_t i = after ? (uint64_t)(after - software->collective_kernels) + 1 : 0;
    for (; !e->by_library && e->size > 1 && i < software->collective_kernel_count; i++) {
        const struct ll_collective_kernel *kernel = &software->collective_kernels[i];
        double limit = kernel_limit(kernel, e->size);
        if (kernel->runs == e->collective && limit > 0 && e->bytes <= limit)
            return kernel;
    }
    return NULL;
}

struct ll_protocol ll_library_kernel_protocol(const struct ll_collective_kernel *kernel, uint64_t devices)
{
    return (struct ll_protocol){
        .name = kernel->name, .start_s = (double)(devices - 1) * kernel->peer_s, .share = kernel->efficiency};
}

/* --- explain --- */

static void explain_links(const struct situation *at, struct ll_str *lines)
{
    const struct ll_network *level = at->level;
    if (level->group_port_Bps > 0)
        ll_explain_line(lines,
                        "links of a node into %s, by their data sheet: min(%.10g * %.10g, %.10g) = %.10g B/s",
                        level->name, at->cards, level->bandwidth_Bps, level->group_port_Bps, at->links_Bps);
    else
        ll_explain_line(lines, "links of a node into %s, by their data sheet: %.10g * %.10g = %.10g B/s",
                        level->name, at->cards, level->bandwidth_Bps, at->links_Bps);
}

static void explain_bandwidth(const struct tuned *way, const struct situation *at, double bytes,
                              struct ll_str *lines)
{
    bool two = at->nodes <= 2;
    double share = two ? way->efficiency_of_two : way->efficiency, left = left_of(way, bytes);
    double Bps = bandwidth_Bps(way, at) * left;
    if (way->limit_Bps > 0)
        ll_explain_line(
            lines,
            "%s, bandwidth that the library expects at this size: min(%.10g * %.10g, %.10g) * %.10g "
            "= %.10g B/s",
            way->name, at->links_Bps, share, way->limit_Bps, left, Bps);
    else
        ll_explain_line(
            lines, "%s, bandwidth that the library expects at this size: %.10g * %.10g * %.10g = %.10g B/s",
            way->name, at->links_Bps, share, left, Bps);
}

static void explain_way(const struct tuned *way, const struct situation *at, double bytes,
                        struct ll_str *lines)
{
    double Bps = bandwidth_Bps(way, at) * left_of(way, bytes), n = at->devices, nodes = at->nodes;
    double time_s = tuner_time_s(way, at, bytes);
    explain_bandwidth(way, at, bytes, lines);
    if (way->algorithm == LL_ALGORITHM_RING)
        ll_explain_line(
            lines,
            "%s, time that it expects: (%.10g + (2 * (%.10g - 1) - 2 * %.10g) * %.10g + 2 * %.10g * "
            "%.10g) * %.10g + "
            "%.10g * 2 * (%.10g - 1) / (%.10g * %.10g) = %.10g s",
            way->name, way->start_s, n, nodes, way->hop_s, nodes, way->node_hop_s, way->plateau, bytes, n,
            Bps, n, time_s);
    else
        ll_explain_line(
            lines,
            "%s, time that it expects: (%.10g + 2 * ((floor(%.10g / %.10g) - 1) * %.10g + %.10g * "
            "%.10g)) * %.10g + "
            "%.10g * 2 / %.10g = %.10g s",
            way->name, way->start_s, n, nodes, way->hop_s, floor(log2(nodes)), way->node_hop_s, way->plateau,
            bytes, Bps, time_s);
}

/* What the software expects of each of its algorithms, as drawn above. False where it has no choice. */
static bool explain_tuner(const struct ll_steps *steps, struct ll_str *lines)
{
    const struct ll_software *software = &ll_net_machine(steps->net)->software;
    struct situation at;
    if (software->tuner == LL_TUNER_NONE || !find_situation(steps, &at))
        return false;
    explain_links(&at, lines);
    for (const struct tuned *way = tuners[software->tuner]; way && way->name; way++)
        explain_way(way, &at, steps->exchange.bytes, lines);
    ll_explain_line(lines, "the library takes what it expects to be the fastest, %s",
                    tuner_prefers_trees(steps) ? "chained trees" : "rings");
    return true;
}

static void explain_within(const struct ll_steps *steps, const struct ll_network *level, struct ll_str *lines)
{
    const struct ll_exchange *e = &steps->exchange;
    double ring = ring_steps(e);
    for (size_t i = 0; ring > 0 && i < WITHINS; i++) {
        const struct within *way = &withins[i];
        double bytes = e->bytes * (way->protocol == NVLS ? 1 : ring / (double)e->size);
        if (is_offered(way, level, e))
            ll_explain_line(lines,
                            "%s, time that the library expects: %.10g + %.10g * %.10g + %.10g / %.10g = "
                            "%.10g s",
                            way->name, way->start_s, ring, way->hop_s, bytes, expected_Bps(way, level),
                            expected_s(way, level, e));
    }
    if (ring > 0)
        ll_explain_line(lines, "the library takes what it expects to be the fastest, %s",
                        expected_fastest(level, e)->name);
}

bool ll_library_explain(const struct ll_steps *steps, struct ll_str *lines)
{
    const struct ll_network *level = node_level(steps);
    if (level)
        explain_within(steps, level, lines);
    return level || explain_tuner(steps, lines);
}
