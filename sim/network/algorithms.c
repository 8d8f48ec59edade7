/* SPDX-License-Identifier: Apache-2.0 */
/* The collective algorithms of a single network level: rings, trees, recursive doubling and halving, direct
 * sends, in-switch reduction. Each says who sends how much to whom.
 *
 * There are n devices and M bytes. The closed forms hold on a network where each device can send and receive
 * B bytes per second at the same time, whoever its peer is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/network/steps.h"
#include "tracer/base/num.h"

enum { MOST_DIRECT = 2048 }; /* devices that all talk to all: their messages grow with the square */

static uint64_t rounds_of(uint64_t size)
{
    uint64_t rounds = 0;
    while (((uint64_t)1 << rounds) < size)
        rounds++;
    return rounds;
}

/* --- rings --- */

/* Where ring r enters block b: at place r - b, so that each place once leads to the next block. */
static uint64_t entry_of(const struct ll_blocks *blocks, uint64_t b, uint64_t ring)
{
    uint64_t places = ll_blocks_places(blocks, b);
    return (ll_blocks_entry(blocks, places, ring) + places - b % places) % places;
}

/* The rank that follows in ring r. */
static uint64_t follower(uint64_t rank, const struct ll_blocks *blocks, uint64_t ring)
{
    uint64_t b = rank < blocks->first ? 0 : 1 + (rank - blocks->first) / blocks->width;
    uint64_t begin = ll_blocks_begin(blocks, b), next = (rank - begin + 1) % ll_blocks_places(blocks, b);
    if (next != entry_of(blocks, b, ring))
        return begin + next;
    uint64_t next_block = (b + 1) % ll_blocks_count(blocks);
    return ll_blocks_begin(blocks, next_block) + entry_of(blocks, next_block, ring);
}

/* On the rings of one group, or of each; n: the first devices alone, where they tell all. */
static void send_rings(struct ll_steps *steps, uint64_t group, struct ll_blocks blocks, uint64_t n,
                       double forward_bytes, double back_bytes)
{
    bool whole = blocks.width == blocks.size;
    blocks.first = whole ? n : blocks.first;
    blocks.width = whole ? n : blocks.width;
    blocks.size = n;
    for (uint64_t ring = 0; ring < blocks.rings; ring++)
        for (uint64_t i = 0; i < n; i++) {
            uint64_t next = follower(i, &blocks, ring);
            if (forward_bytes > 0)
                ll_steps_send_in(steps, group, i, next, forward_bytes / (double)blocks.rings);
            if (back_bytes > 0)
                ll_steps_send_in(steps, group, next, i, back_bytes / (double)blocks.rings);
        }
}

static void send_around(struct ll_steps *steps, double forward_bytes, double back_bytes)
{
    uint64_t kinds = ll_steps_kinds(steps), all = steps->exchange.size, n = all;
    for (uint64_t g = 0; g < kinds; g++) {
        struct ll_blocks blocks = ll_steps_blocks(steps, g);
        n = kinds == 1 ? ll_short_ring(steps, &blocks) : all;
        if (kinds == 1 &&
            !ll_steps_are_worth(steps, n * blocks.rings * ((forward_bytes > 0) + (back_bytes > 0))))
            return;
        send_rings(steps, ll_steps_sender(kinds, g), blocks, n, forward_bytes, back_bytes);
    }
    steps->step_bytes *= (double)all / (double)n;
    steps->step_j *= (double)all / (double)n;
}

/* How often pieces move on along a ring: (n - 1) times for each half of an all-reduce. 0: not by a ring. */
static double turns_of_ring(const struct ll_exchange *e)
{
    switch (e->collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        return 2 * (double)(e->size - 1);
    case LL_COLLECTIVE_REDUCE_SCATTER:
    case LL_COLLECTIVE_ALL_GATHER:
        return (double)(e->size - 1);
    default:
        return 0;
    }
}

/* The most links that a message between neighbours of the first ring crosses, the one between the first and
 * the last or the second left out: a stream ends there. */
static uint64_t longest_hop(struct ll_steps *steps, const struct ll_blocks *blocks, bool back)
{
    const struct ll_exchange *e = &steps->exchange;
    struct ll_route path = {0};
    uint64_t longest = 0, at = back ? 0 : follower(0, blocks, 0);
    for (uint64_t i = 0; i + 1 < e->size; i++) {
        uint64_t next = follower(at, blocks, 0);
        path.count = 0;
        ll_net_route(steps->net, e->members[back ? next : at], e->members[back ? at : next], &path);
        longest = ll_max(longest, path.count);
        at = next;
    }
    steps->failed |= path.failed;
    free(path.links);
    return longest;
}

enum stream { AWAY, BACK, AROUND }; /* from the first; against that to it; on from the second to it */

static void send_stream(struct ll_steps *steps, const struct ll_blocks *blocks, uint64_t ring,
                        enum stream stream, double bytes)
{
    uint64_t n = steps->exchange.size, at = stream == AROUND ? follower(0, blocks, ring) : 0;
    for (uint64_t i = 0; i + 1 < n; i++) {
        uint64_t next = follower(at, blocks, ring);
        ll_steps_send(steps, stream == BACK ? next : at, stream == BACK ? at : next, bytes);
        at = next;
    }
}

/* From the first along the ring to the last, in a stream: (n - 1) latency + M / B, and an equal share of M on
 * each ring where there are several. A reduction runs back, or on to the first where links lead that way
 * alone. */
static bool send_along(struct ll_steps *steps)
{
    struct ll_blocks blocks = ll_steps_blocks(steps, 0);
    enum stream stream = AWAY;
    if (ll_steps_kinds(steps) > 1) /* each in one ring, as the ranks stand */
        blocks = (struct ll_blocks){blocks.size, blocks.size, blocks.size, 1};
    if (steps->exchange.collective == LL_COLLECTIVE_REDUCE)
        stream = longest_hop(steps, &blocks, true) <= longest_hop(steps, &blocks, false) ? BACK : AROUND;
    else if (steps->exchange.collective != LL_COLLECTIVE_BROADCAST)
        return false;
    for (uint64_t ring = 0; ring < blocks.rings; ring++)
        send_stream(steps, &blocks, ring, stream, steps->exchange.bytes / (double)blocks.rings);
    ll_steps_end_stream(steps, (double)(blocks.size - 1));
    return true;
}

/* 2 (n - 1) (latency + M / (n B)) */
bool ll_send_RING(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    double turns = turns_of_ring(e);
    if (turns == 0)
        return send_along(steps);
    send_around(steps, e->bytes / (double)e->size, 0);
    ll_steps_end(steps, turns);
    return true;
}

/* 2 (n - 1) (latency + M / (2 n B)) on a ring of links both ways */
bool ll_send_BIDIRECTIONAL_RING(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    double turns = turns_of_ring(e), half = e->bytes / (double)e->size / 2;
    if (turns == 0)
        return false;
    send_around(steps, half, half);
    ll_steps_end(steps, turns);
    return true;
}

/* --- trees: rank i of a tree has the parent (i - 1) / 2 --- */

/* Where a rank of a tree stands in the other one: there the last is the root, so that leaves are inside. */
static uint64_t mirrored(const struct ll_steps *steps, uint64_t rank, bool mirror)
{
    return mirror ? steps->exchange.size - 1 - rank : rank;
}

static void send_tree(struct ll_steps *steps, bool mirror, double bytes)
{
    enum ll_collective what = steps->exchange.collective;
    for (uint64_t i = 1; i < steps->exchange.size; i++) {
        uint64_t child = mirrored(steps, i, mirror), parent = mirrored(steps, (i - 1) / 2, mirror);
        if (what != LL_COLLECTIVE_BROADCAST)
            ll_steps_send(steps, child, parent, bytes);
        if (what != LL_COLLECTIVE_REDUCE)
            ll_steps_send(steps, parent, child, bytes);
    }
}

/* Floors of the tree that a byte passes; 0 where a tree is of no use. */
static double floors_of(const struct ll_exchange *e)
{
    double depth = floor(log2((double)e->size));
    switch (e->collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        return 2 * depth;
    case LL_COLLECTIVE_BROADCAST:
    case LL_COLLECTIVE_REDUCE:
        return depth;
    default:
        return 0;
    }
}

/* (2 d - 1 + c) (latency + 3 M / (c B)) with d = floor(log2 n) and the best number of chunks c: an inner
 * device takes in M from two children and M from above. */
bool ll_send_TREE(struct ll_steps *steps)
{
    double floors = floors_of(&steps->exchange);
    if (floors == 0)
        return false;
    send_tree(steps, false, steps->exchange.bytes);
    ll_steps_end_chunks(steps, floors);
    return true;
}

/* 2 d latency + 2 M / B: each tree carries M / 2. A device that is inside one is a leaf of the other, but for
 * the middle one of an odd number. */
bool ll_send_DOUBLE_TREE(struct ll_steps *steps)
{
    double floors = floors_of(&steps->exchange);
    if (floors == 0 || steps->exchange.collective != LL_COLLECTIVE_ALL_REDUCE)
        return false;
    send_tree(steps, false, steps->exchange.bytes / 2);
    send_tree(steps, true, steps->exchange.bytes / 2);
    ll_steps_end_stream(steps, floors);
    return true;
}

/* --- partners at distances that double --- */

/* One half of it: exchanges of M / 2, M / 4, ... . Back they are the same in the other order. */
static void send_halves(struct ll_steps *steps, uint64_t size, double bytes, double times)
{
    for (uint64_t distance = 1; distance < size && ll_steps_are_worth(steps, size); distance *= 2) {
        bytes /= 2;
        for (uint64_t i = 0; i < size; i++)
            ll_steps_send(steps, i, i ^ distance, bytes);
        ll_steps_end(steps, times);
    }
}

/* Devices beyond a power of two hand their part to one within, and get the result from it. */
static void send_extra(struct ll_steps *steps, uint64_t within, bool in)
{
    for (uint64_t i = within; i < steps->exchange.size; i++)
        ll_steps_send(steps, in ? i : i - within, in ? i - within : i, steps->exchange.bytes);
    ll_steps_end(steps, 1);
}

/* 2 log2(n) latency + 2 (n - 1) / n M / B; for other than powers of two, 2 (latency + M / B) more. */
bool ll_send_HALVING_DOUBLING(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t within = (uint64_t)1 << (rounds_of(e->size + 1) - 1);
    double turns = turns_of_ring(e);
    bool all = e->collective == LL_COLLECTIVE_ALL_REDUCE;
    if (turns == 0 || (within != e->size && !all))
        return false;
    if (within != e->size)
        send_extra(steps, within, true);
    send_halves(steps, within, e->bytes, all ? 2 : 1);
    if (within != e->size)
        send_extra(steps, within, false);
    return true;
}

/* --- all at once --- */

static void send_to_all(struct ll_steps *steps, double bytes)
{
    uint64_t n = steps->exchange.size;
    if (!ll_steps_are_worth(steps, n * (n - 1)))
        return;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 1; j < n; j++)
            ll_steps_send(steps, i, (i + j) % n, bytes);
}

/* Rows that go to k devices each, anywhere, cross the network once for each node that has any of these: of N
 * nodes N (1 - (1 - 1/N)^k) on average. There they are passed on, so that what a node's devices send to each
 * other is what comes from all nodes. */
static void send_once_a_node(struct ll_steps *steps, double bytes)
{
    const struct ll_exchange *e = &steps->exchange;
    const uint64_t node = ll_net_group(steps->net, 1);
    uint64_t nodes = 1;
    for (uint64_t i = 1; i < e->size; i++)
        nodes += e->members[i] / node != e->members[i - 1] / node;
    const double all = (double)nodes, k = (double)e->copies, hit = all * (1 - pow(1 - 1 / all, k)) / k;
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 1; j < e->size; j++) {
            uint64_t to = (i + j) % e->size;
            bool within = e->members[i] / node == e->members[to] / node;
            ll_steps_send(steps, i, to, bytes * (within ? all : hit));
        }
}

/* Between the first and each of the others. */
static bool send_one_to_others(struct ll_steps *steps, bool out, double bytes)
{
    for (uint64_t i = 1; i < steps->exchange.size; i++)
        ll_steps_send(steps, out ? 0 : i, out ? i : 0, bytes);
    ll_steps_end(steps, 1);
    return true;
}

/* 2 latency + 2 (n - 1) / n M / B through a port; a link to each other: 2 (latency + M / (n B)) */
bool ll_send_DIRECT(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    if (e->size > MOST_DIRECT)
        return false;
    switch (e->collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
    case LL_COLLECTIVE_REDUCE_SCATTER:
    case LL_COLLECTIVE_ALL_GATHER:
    case LL_COLLECTIVE_ALL_TO_ALL:
        if (e->kernel && e->kernel->once_a_node && e->copies > 1)
            send_once_a_node(steps, e->bytes / (double)e->size);
        else
            send_to_all(steps, e->bytes / (double)e->size);
        ll_steps_end(steps, e->collective == LL_COLLECTIVE_ALL_REDUCE ? 2 : 1);
        return true;
    case LL_COLLECTIVE_SEND_RECEIVE:
        ll_steps_send(steps, 0, 1, e->bytes);
        ll_steps_end(steps, 1);
        return true;
    case LL_COLLECTIVE_BROADCAST:
    case LL_COLLECTIVE_REDUCE:
        return send_one_to_others(steps, e->collective == LL_COLLECTIVE_BROADCAST, e->bytes);
    case LL_COLLECTIVE_COLLECT:
    case LL_COLLECTIVE_DISTRIBUTE:
        return send_one_to_others(steps, e->collective == LL_COLLECTIVE_DISTRIBUTE,
                                  e->bytes / (double)e->size);
    default:
        return false;
    }
}

/* 2 latency + 2 (n - 1) / n M / B through a port; a link to each other: 2 (latency + M / (n B)). A part goes
 * to each, who passes it on to all but the first, which has it; a reduction is the same backwards. */
bool ll_send_SCATTERED(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    bool out = e->collective == LL_COLLECTIVE_BROADCAST;
    double part = e->bytes / (double)e->size;
    if ((!out && e->collective != LL_COLLECTIVE_REDUCE) || e->size > MOST_DIRECT)
        return false;
    if (out)
        send_one_to_others(steps, true, part);
    if (!ll_steps_are_worth(steps, (e->size - 1) * (e->size - 1)))
        return true;
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 1; j < e->size; j++) {
            uint64_t k = (i + j) % e->size;
            if ((out ? k : i) != 0)
                ll_steps_send(steps, i, k, part);
        }
    ll_steps_end(steps, 1);
    if (!out)
        send_one_to_others(steps, false, part);
    return true;
}

/* latency + (n - 1) M / B through a port: one latency less than DIRECT has, for small messages. */
bool ll_send_ONE_SHOT(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    if (e->collective != LL_COLLECTIVE_ALL_REDUCE || e->size > MOST_DIRECT)
        return false;
    send_to_all(steps, e->bytes);
    ll_steps_end(steps, 1);
    return true;
}

/* --- by the switch --- */

/* 2 latency + M (1 + 1/n) / B (NVLink SHARP; Graham et al., 2016, of switches that are sent to): each device
 * has an n-th of the sum worked out by reading it through the switch, which takes it from all, and writes it
 * to all. So a device sends M and its part, and takes in as much: the same as if it sent that to the next. */
bool ll_send_IN_NETWORK(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t place = ll_steps_common_level(steps);
    if (e->collective != LL_COLLECTIVE_ALL_REDUCE || place == LL_NO_LEVEL)
        return false;
    const struct ll_network *level = &ll_net_machine(steps->net)->networks[place];
    if (level->in_network == 0)
        return false;
    for (uint64_t i = 0; i < e->size; i++)
        ll_steps_send(steps, i, (i + 1) % e->size, e->bytes * (1 + 1 / (double)e->size));
    ll_steps_end_in_network(steps, level);
    return true;
}

/* ceil(log2 n) latency (Hensgen, Finkel, Manber, 1988) */
bool ll_send_DISSEMINATION(struct ll_steps *steps)
{
    uint64_t n = steps->exchange.size;
    if (steps->exchange.collective != LL_COLLECTIVE_BARRIER)
        return false;
    for (uint64_t distance = 1; distance < n; distance *= 2) {
        for (uint64_t i = 0; i < n; i++)
            ll_steps_send(steps, i, (i + distance) % n, 0);
        ll_steps_end(steps, 1);
    }
    return true;
}

/* As many rings at once as the links between the devices allow, each over links of its own.
 *
 * Where devices are joined one by one, as in a cube mesh, a single ring uses few of the links. Here each link
 * between two of the devices has as many lanes as it is times as wide as the narrowest, a ring takes a lane
 * from each device to the next, and as many rings as can be found side by side share the data: n - 1 of them
 * where all are joined to all, but for 4 and 6 devices (Tillson, A Hamiltonian decomposition of K*2m, 1980).
 *
 * Looked for are the most rings, by trying: those of many lanes first, in a fixed order, up to so many
 * trials. */

enum { MOST_MEMBERS = 16, MOST_RINGS = 64, MOST_TRIALS = 200000 };

struct ring {
    uint8_t next[MOST_MEMBERS];
};

struct search {
    uint64_t size;
    uint32_t lanes[MOST_MEMBERS][MOST_MEMBERS]; /* free ones */
    struct ring taken[MOST_RINGS], best[MOST_RINGS];
    uint64_t count, best_count, most; /* most: there cannot be more */
    uint64_t trials;
};

/* What a message may carry from one device to the other over one link alone; 0: there is none. */
static double direct_Bps(const struct ll_net *net, uint64_t from, uint64_t to, bool *failed)
{
    struct ll_route path = {0};
    ll_net_route(net, from, to, &path);
    double rate_Bps = path.count == 1 ? ll_net_link_Bps(net, path.links[0]) : 0;
    *failed |= path.failed;
    free(path.links);
    return rate_Bps;
}

/* Lanes between the members of the first group. False when no two of them are joined. */
static bool count_lanes(struct ll_steps *steps, struct search *search)
{
    const struct ll_exchange *e = &steps->exchange;
    double rate_Bps[MOST_MEMBERS][MOST_MEMBERS], narrowest_Bps = INFINITY;
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 0; j < e->size; j++) {
            rate_Bps[i][j] =
                i == j ? 0 : direct_Bps(steps->net, e->members[i], e->members[j], &steps->failed);
            if (rate_Bps[i][j] > 0)
                narrowest_Bps = fmin(narrowest_Bps, rate_Bps[i][j]);
        }
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 0; j < e->size; j++)
            search->lanes[i][j] = (uint32_t)fmin(MOST_RINGS, floor(rate_Bps[i][j] / narrowest_Bps + 1e-9));
    return isfinite(narrowest_Bps);
}

/* No more rings than the fewest lanes into or out of a device. */
static uint64_t most_rings(const struct search *search)
{
    uint64_t most = MOST_RINGS;
    for (uint64_t i = 0; i < search->size; i++) {
        uint64_t out = 0, in = 0;
        for (uint64_t j = 0; j < search->size; j++) {
            out += search->lanes[i][j];
            in += search->lanes[j][i];
        }
        most = ll_min(most, ll_min(out, in));
    }
    return most;
}

static void take_rings(struct search *search);

static void keep_best(struct search *search)
{
    if (search->count <= search->best_count)
        return;
    search->best_count = search->count;
    memcpy(search->best, search->taken, search->count * sizeof *search->taken);
}

/* Goes on from `at`, having been to the devices of `been`; a ring that closes is taken, and others are looked
 * for beside it. */
static void extend_ring(struct search *search, uint64_t at, uint32_t been)
{
    struct ring *ring = &search->taken[search->count];
    bool all = been == (UINT32_C(1) << search->size) - 1;
    for (uint32_t wide = MOST_RINGS; wide > 0 && search->best_count < search->most; wide--)
        for (uint64_t to = 0; to < search->size; to++) {
            if (search->lanes[at][to] != wide || (all ? to != 0 : been >> to & 1))
                continue;
            if (++search->trials > MOST_TRIALS || search->best_count >= search->most)
                return;
            search->lanes[at][to]--;
            ring->next[at] = (uint8_t)to;
            if (all)
                take_rings(search);
            else
                extend_ring(search, to, been | UINT32_C(1) << to);
            search->lanes[at][to]++;
        }
}

/* The ring at hand is complete. */
static void take_rings(struct search *search)
{
    search->count++;
    keep_best(search);
    if (search->count < search->most)
        extend_ring(search, 0, 1);
    search->count--;
}

static void send_along_rings(struct ll_steps *steps, const struct search *search, double bytes)
{
    for (uint64_t r = 0; r < search->best_count; r++)
        for (uint64_t i = 0; i < search->size; i++)
            ll_steps_send(steps, i, search->best[r].next[i], bytes / (double)search->best_count);
}

/* 2 (n - 1) (latency + M / (n r B)) of r rings */
bool ll_send_RINGS(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    double turns = turns_of_ring(e);
    if (turns == 0 || e->size < 2 || e->size > MOST_MEMBERS)
        return false;
    struct search *search = calloc(1, sizeof *search);
    steps->failed |= !search;
    if (!search)
        return true;
    search->size = e->size;
    if (count_lanes(steps, search)) {
        search->most = most_rings(search);
        if (search->most > 0)
            extend_ring(search, 0, 1);
    }
    bool found = search->best_count > 0;
    if (found) {
        send_along_rings(steps, search, e->bytes / (double)e->size);
        ll_steps_end(steps, turns);
    }
    free(search);
    return found;
}

/* Along the sides of a mesh or torus, one side after the other, all sides at once.
 *
 * A single ring through all devices uses two of the links of each. Here the data has as many parts as the box
 * of devices has sides. Each part is reduced and scattered along one side, what is left of it along the next,
 * and gathered the same way back; each begins with another side, so that all links are in use:
 *
 *       part 0    x y z | z y x
 *       part 1    y z x | x z y          of 4 x 4 x 4 devices: 2 (n - 1) / n M / (6 B)
 *       part 2    z x y | y x z
 *
 * Along a side half of each piece goes around each way. Where sides are not as long as each other, the
 * shorter ones take as many turns as the longest, with smaller pieces. */

/* The members of the first group in their places: of each side those coordinates that members have, in order.
 * The other groups exchange as it does. */
struct box {
    uint64_t sides;                  /* along which members differ */
    uint64_t extent[LL_MAX_EXTENTS]; /* of these */
    uint64_t *place;                 /* of each rank: `sides` numbers */
    uint64_t *rank;                  /* by place, the first side the fastest */
};

static uint64_t coordinate_of(const struct ll_network *level, uint64_t place, uint64_t side)
{
    for (uint64_t i = 0; i < side; i++)
        place /= level->shape.at[i];
    return place % level->shape.at[side];
}

/* How many of the coordinates along a side that the group's members have are smaller than that one. */
static uint64_t rank_along(const bool *used, uint64_t coordinate)
{
    uint64_t smaller = 0;
    for (uint64_t i = 0; i < coordinate; i++)
        smaller += used[i];
    return smaller;
}

/* Places of a group's members along one side, which is left out if all have the same. False when memory ran
 * out. */
static bool place_along(const struct ll_steps *steps, const struct ll_network *level, uint64_t inner,
                        const uint64_t *members, uint64_t side, struct box *box)
{
    uint64_t size = steps->exchange.size;
    bool *used = calloc(level->shape.at[side], sizeof *used);
    if (!used)
        return false;
    for (uint64_t i = 0; i < size; i++)
        used[coordinate_of(level, members[i] / inner % level->devices, side)] = true;
    uint64_t extent = rank_along(used, level->shape.at[side]);
    for (uint64_t i = 0; extent > 1 && i < size; i++)
        box->place[i * LL_MAX_EXTENTS + box->sides] =
            rank_along(used, coordinate_of(level, members[i] / inner % level->devices, side));
    if (extent > 1)
        box->extent[box->sides++] = extent;
    free(used);
    return true;
}

static uint64_t index_of(const struct box *box, const uint64_t *place)
{
    uint64_t index = 0;
    for (uint64_t side = box->sides; side-- > 0;)
        index = index * box->extent[side] + place[side];
    return index;
}

/* The first group as a box. False when it is none, or when memory ran out. */
static bool find_box(struct ll_steps *steps, uint64_t place, struct box *box)
{
    const struct ll_exchange *e = &steps->exchange;
    const struct ll_network *level = &ll_net_machine(steps->net)->networks[place];
    uint64_t inner = ll_net_group(steps->net, place), devices = 1;
    for (uint64_t side = 0; side < level->shape.count; side++)
        if (!place_along(steps, level, inner, e->members, side, box))
            return !(steps->failed = true);
    for (uint64_t side = 0; side < box->sides; side++)
        devices = ll_mul(devices, box->extent[side]);
    if (devices != e->size || box->sides < 2)
        return false;
    for (uint64_t i = 0; i < e->size; i++)
        box->rank[index_of(box, &box->place[i * LL_MAX_EXTENTS])] = i;
    return true;
}

/* Everyone to both neighbours along a side, half of `bytes` each way. */
static void send_along_side(struct ll_steps *steps, const struct box *box, uint64_t side, double bytes)
{
    for (uint64_t i = 0; i < steps->exchange.size; i++) {
        uint64_t next[LL_MAX_EXTENTS];
        for (uint64_t s = 0; s < box->sides; s++)
            next[s] = box->place[i * LL_MAX_EXTENTS + s];
        next[side] = (next[side] + 1) % box->extent[side];
        ll_steps_send(steps, i, box->rank[index_of(box, next)], bytes / 2);
        ll_steps_send(steps, box->rank[index_of(box, next)], i, bytes / 2);
    }
}

static void send_all(struct ll_steps *steps, const struct box *box, double times)
{
    double left[LL_MAX_EXTENTS];
    uint64_t longest = 2;
    for (uint64_t part = 0; part < box->sides; part++) {
        left[part] = steps->exchange.bytes / (double)box->sides;
        longest = ll_max(longest, box->extent[part]);
    }
    double turns = (double)(longest - 1);
    for (uint64_t phase = 0; phase < box->sides; phase++) {
        for (uint64_t part = 0; part < box->sides; part++) {
            uint64_t side = (part + phase) % box->sides;
            double pieces = (double)box->extent[side];
            left[part] /= pieces;
            send_along_side(steps, box, side, left[part] * (pieces - 1) / turns);
        }
        ll_steps_end(steps, times * turns);
    }
}

/* 2 d (a - 1) latency + 2 (n - 1) / n M / (2 d B) on a torus of d sides of a devices each, n = a^d */
bool ll_send_SIDES(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t place = ll_steps_common_level(steps);
    if (turns_of_ring(e) == 0 || place == LL_NO_LEVEL)
        return false;
    enum ll_topology topology = ll_net_machine(steps->net)->networks[place].topology;
    if (topology != LL_TOPOLOGY_TORUS && topology != LL_TOPOLOGY_MESH)
        return false;
    struct box box = {.place = calloc(e->size * LL_MAX_EXTENTS, sizeof *box.place),
                      .rank = calloc(e->size, sizeof *box.rank)};
    steps->failed |= !box.place || !box.rank;
    bool found = !steps->failed && find_box(steps, place, &box);
    if (found)
        send_all(steps, &box, e->collective == LL_COLLECTIVE_ALL_REDUCE ? 2 : 1);
    free(box.place);
    free(box.rank);
    return found || steps->failed;
}
