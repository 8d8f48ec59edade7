/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "sim/network/network.h"
#include "sim/network/steps.h"
#include "toy_net.h"

#include <math.h>
#include <stdlib.h>

/* Expected times are closed forms of the literature, worked out beside each test: n devices, M bytes, links
 * of B bytes a second, latency a. */

static const double B = 1e9, a = 1e-6, M = 1 << 20;

static double time_among(const struct ll_net *net, enum ll_collective collective, enum ll_algorithm algorithm,
                         uint64_t size)
{
    uint64_t *members = calloc(size, sizeof *members);
    struct ll_exchanged done;
    for (uint64_t i = 0; i < size; i++)
        members[i] = i;
    struct ll_exchange exchange = {.collective = collective,
                                   .algorithm = algorithm,
                                   .bytes = M,
                                   .members = members,
                                   .size = size,
                                   .groups = 1};
    enum ll_exchange_trouble trouble = ll_exchange(net, &exchange, &done);
    free(members);
    assert_int_equal(trouble, LL_EXCHANGE_DONE);
    return done.time_s;
}

static void assert_time(double actual_s, double tuner_time_s)
{
    if (fabs(actual_s - tuner_time_s) > 1e-9 * tuner_time_s)
        fail_msg("%.12g s, expected %.12g s", actual_s, tuner_time_s);
}

static void expect_all_reduce(const char *network, enum ll_algorithm algorithm, uint64_t n,
                              double tuner_time_s)
{
    struct ll_toy_net f = ll_toy_net(network);
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, algorithm, n), tuner_time_s);
    ll_toy_net_free(&f);
}

static const char *const ring6 =
    "  - {name: r, topology: ring, devices: 6, bandwidth: 1GB/s, latency: 1us}\n";
static const char *const both6 =
    "  - {name: r, topology: bidirectional_ring, devices: 6, bandwidth: 1GB/s, latency: 1us}\n";
static const char *const both8 =
    "  - {name: r, topology: bidirectional_ring, devices: 8, bandwidth: 1GB/s, latency: 1us}\n";
static const char *const full6 =
    "  - {name: f, topology: full, devices: 6, bandwidth: 1GB/s, latency: 1us}\n";
static const char *const switch8 =
    "  - {name: s, topology: switch, devices: 8, bandwidth: 1GB/s, latency: 500ns}\n";

/* 2 (n - 1) (a + M / (n B)) */
static void a_ring_takes_its_closed_form(void **state)
{
    (void)state;
    double tuner_time_s = 2 * 5 * (a + M / (6 * B));
    expect_all_reduce(ring6, LL_ALGORITHM_RING, 6, tuner_time_s);
    expect_all_reduce(full6, LL_ALGORITHM_RING, 6, tuner_time_s);
    /* through a switch a message crosses two links of half the latency */
    expect_all_reduce(switch8, LL_ALGORITHM_RING, 8, 2 * 7 * (a + M / (8 * B)));
}

static void both_directions_of_a_ring_halve_what_each_carries(void **state)
{
    (void)state;
    expect_all_reduce(both6, LL_ALGORITHM_BIDIRECTIONAL_RING, 6, 2 * 5 * (a + M / (2 * 6 * B)));
    expect_all_reduce(both6, LL_ALGORITHM_RING, 6, 2 * 5 * (a + M / (6 * B)));
}

/* 2 log2(n) a + 2 (n - 1) / n M / B; on a ring of both directions partners at distance d cross d links, each
 * of which d messages share: M / 2 at distance 1, M / 4 at 2, M / 8 at 4, of which two share a link
 * (both ways around are as long: every other one goes back). */
static void halving_and_doubling_shares_the_links_of_a_ring(void **state)
{
    (void)state;
    expect_all_reduce(switch8, LL_ALGORITHM_HALVING_DOUBLING, 8, 2 * 3 * a + 2 * 7.0 / 8 * M / B);
    double there = a * (1 + 2 + 4) + M / B * (1 * 1.0 / 2 + 2 * 1.0 / 4 + 2 * 1.0 / 8);
    expect_all_reduce(both8, LL_ALGORITHM_HALVING_DOUBLING, 8, 2 * there);
}

/* Six devices: two hand over M, four halve and double, two get M back. */
static void other_than_powers_of_two_cost_two_messages_more(void **state)
{
    (void)state;
    expect_all_reduce(full6, LL_ALGORITHM_HALVING_DOUBLING, 6,
                      2 * (a + M / B) + 2 * 2 * a + 2 * 3.0 / 4 * M / B);
}

/* A link to each: 2 (a + M / (n B)). Through a port all n - 1 messages share it: 2 a + 2 (n - 1) / n M / B.
 */
static void direct_messages_are_charged_for_the_port(void **state)
{
    (void)state;
    expect_all_reduce(full6, LL_ALGORITHM_DIRECT, 6, 2 * (a + M / (6 * B)));
    expect_all_reduce(switch8, LL_ALGORITHM_DIRECT, 8, 2 * (a + 7.0 / 8 * M / B));
    expect_all_reduce(
        "  - {name: f, topology: full, devices: 6, bandwidth: 1GB/s, latency: 1us, port: 2GB/s}\n",
        LL_ALGORITHM_DIRECT, 6, 2 * (a + 5.0 / 6 * M / (2 * B)));
}

/* 2 d a + 2 M / B, d = floor(log2 8) = 3: who is inside one tree takes in two halves from below and one from
 * above, and one half as a leaf of the other. */
static void two_trees_carry_half_each(void **state)
{
    (void)state;
    expect_all_reduce(switch8, LL_ALGORITHM_DOUBLE_TREE, 8, 2 * 3 * a + 2 * M / B);
}

/* (2 d - 1 + c) (a + 3 M / (c B)), the best whole c. */
static void one_tree_runs_in_the_best_number_of_chunks(void **state)
{
    (void)state;
    double best_s = INFINITY;
    for (int c = 1; c < 10000; c++) {
        double time_s = (2 * 3 - 1 + c) * (a + 3 * M / (c * B));
        if (time_s < best_s)
            best_s = time_s;
    }
    expect_all_reduce(switch8, LL_ALGORITHM_TREE, 8, best_s);
}

/* From corner to corner of 3 x 5 devices: a mesh goes 2 + 4 steps, a torus one back around each side; from
 * (0, 1) to (2, 3), which are 3 and 11, the mesh goes 2 + 2, the torus 1 + 2. */
static void meshes_go_straight_and_tori_around(void **state)
{
    (void)state;
    static const struct {
        const char *network;
        double corner_hops, hops;
    } cases[] = {
        {"  - {name: m, topology: mesh, shape: 3x5, devices: 15, bandwidth: 1GB/s, latency: 1us}\n", 6, 4},
        {"  - {name: t, topology: torus, shape: 3x5, devices: 15, bandwidth: 1GB/s, latency: 1us}\n", 2, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_toy_net f = ll_toy_net(cases[i].network);
        for (int corner = 0; corner < 2; corner++) {
            const uint64_t members[] = {corner ? 0 : 3, corner ? 14 : 11};
            struct ll_exchanged done;
            struct ll_exchange exchange = {.collective = LL_COLLECTIVE_SEND_RECEIVE,
                                           .algorithm = LL_ALGORITHM_DIRECT,
                                           .bytes = M,
                                           .members = members,
                                           .size = 2,
                                           .groups = 1};
            assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
            assert_time(done.time_s, (corner ? cases[i].corner_hops : cases[i].hops) * a + M / B);
        }
        ll_toy_net_free(&f);
    }
}

/* Each of n (n - 1) messages of M / n; a ring of an odd number both ways: a link carries 1 + 2 + ... + (n -
 * 1) / 2 of them, (n^2 - 1) / 8. A torus of 3 x 5: along a side of length s each link carries (s^2 - 1) / 8 *
 * n / s. Of an even number half of the messages to the device across go each way: n^2 / 8. */
static void all_to_all_loads_rings_and_tori(void **state)
{
    (void)state;
    struct ll_toy_net f = ll_toy_net(
        "  - {name: r, topology: bidirectional_ring, devices: 7, bandwidth: 1GB/s, latency: 1us}\n");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_TO_ALL, LL_ALGORITHM_DIRECT, 7), 3 * a + 6 * M / (7 * B));
    ll_toy_net_free(&f);
    f = ll_toy_net(
        "  - {name: t, topology: torus, shape: 3x5, devices: 15, bandwidth: 1GB/s, latency: 0s}\n");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_TO_ALL, LL_ALGORITHM_DIRECT, 15),
                3 * 15 / 5 * M / (15 * B));
    ll_toy_net_free(&f);
    f = ll_toy_net(
        "  - {name: r, topology: bidirectional_ring, devices: 8, bandwidth: 1GB/s, latency: 1us}\n");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_TO_ALL, LL_ALGORITHM_DIRECT, 8), 4 * a + M / B);
    ll_toy_net_free(&f);
    f = ll_toy_net(
        "  - {name: t, topology: torus, shape: 4x4x4, devices: 64, bandwidth: 1GB/s, latency: 0s}\n");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_TO_ALL, LL_ALGORITHM_DIRECT, 64), 2 * 16 * M / (64 * B));
    ll_toy_net_free(&f);
}

/* A broadcast: a stream along the ring, (n - 1) a + M / B. A barrier: ceil(log2 n) rounds of nothing. One
 * message. */
static void other_collectives_take_their_closed_forms(void **state)
{
    (void)state;
    struct ll_toy_net f = ll_toy_net(switch8);
    assert_time(time_among(f.net, LL_COLLECTIVE_BROADCAST, LL_ALGORITHM_RING, 8), 7 * a + M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_REDUCE, LL_ALGORITHM_RING, 8), 7 * a + M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_BROADCAST, LL_ALGORITHM_DIRECT, 8), a + 7 * M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_COLLECT, LL_ALGORITHM_DIRECT, 8), a + 7.0 / 8 * M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_DISTRIBUTE, LL_ALGORITHM_DIRECT, 8), a + 7.0 / 8 * M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_GATHER, LL_ALGORITHM_RING, 8), 7 * (a + M / (8 * B)));
    assert_time(time_among(f.net, LL_COLLECTIVE_REDUCE_SCATTER, LL_ALGORITHM_HALVING_DOUBLING, 8),
                3 * a + 7.0 / 8 * M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_SEND_RECEIVE, LL_ALGORITHM_DIRECT, 2), a + M / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_BARRIER, LL_ALGORITHM_DISSEMINATION, 5), 3 * a);
    ll_toy_net_free(&f);
}

/* Nodes of 4 devices at 4 GB/s, 2 nodes joined at 1 GB/s a device: within 2 * 3 / 4 M / 4B, between (M / 4)
 * / B at once, when each device has its card; with one card a node the four share it. Latencies: 3 + 3 within
 * at 1 us, 1 between. */
static void levels_of_a_network_work_one_after_the_other(void **state)
{
    (void)state;
    char text[512];
    for (uint64_t cards = 1; cards <= 4; cards *= 4) {
        snprintf(text, sizeof text,
                 "  - {name: in, topology: ring, devices: 4, bandwidth: 4GB/s, latency: 1us}\n"
                 "  - {name: out, topology: ring, devices: 2, bandwidth: 1GB/s, latency: 5us, links: %d}\n",
                 (int)cards);
        struct ll_toy_net f = ll_toy_net(text);
        assert_int_equal(ll_net_devices(f.net), 8);
        double within_s = 2 * 3 * (a + M / 4 / (4 * B));
        double between_s = 5e-6 + M / 4 / (B * (double)cards / 4);
        assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_HIERARCHICAL, 8),
                    within_s + between_s);
        ll_toy_net_free(&f);
    }
}

/* A fat tree of 4 devices a leaf, two leaves, 2 : 1: a leaf passes upwards 4 / 2 = 2 links' worth, so that
 * four messages across share it. A dragonfly's two groups are joined by one link each way. */
static void trees_and_dragonflies_narrow_where_they_should(void **state)
{
    (void)state;
    struct ll_flow_times times;
    struct ll_toy_net f =
        ll_toy_net("  - {name: t, topology: fat_tree, shape: 4x2, devices: 8, oversubscription: 2, "
                   "bandwidth: 1GB/s, latency: 1us}\n");
    struct ll_flows *flows = ll_flows_new(f.net);
    for (uint64_t i = 0; i < 4; i++)
        ll_flows_add(flows, i, i + 4, M);
    assert_true(ll_flows_run(flows, &times));
    assert_time(times.done_s, 4 * a + 4 * M / (2 * B));
    ll_flows_free(flows);
    ll_toy_net_free(&f);
    f = ll_toy_net(
        "  - {name: d, topology: dragonfly, shape: 2x2x2, devices: 8, bandwidth: 1GB/s, latency: 1us}\n");
    flows = ll_flows_new(f.net);
    for (uint64_t i = 0; i < 4; i++)
        ll_flows_add(flows, i, i + 4, M);
    assert_true(ll_flows_run(flows, &times));
    /* device 3 goes up, to the router with the gate, across, to its partner's router, down: 5 links */
    assert_time(times.done_s, 5 * a + 4 * M / B);
    ll_flows_free(flows);
    ll_toy_net_free(&f);
}

/* Two messages from one device, one twice as long: they share its port, then the longer has it alone. */
static void who_is_done_leaves_its_share_to_others(void **state)
{
    (void)state;
    struct ll_flow_times times;
    struct ll_toy_net f = ll_toy_net(switch8);
    struct ll_flows *flows = ll_flows_new(f.net);
    ll_flows_add(flows, 0, 1, M);
    ll_flows_add(flows, 0, 2, 2 * M);
    ll_flows_add(flows, 3, 2, M);
    assert_true(ll_flows_run(flows, &times));
    /* until 2 M / B: the port of 0 gives M / B s each half; the port into 2 has room for 3's half too. Then 1
     * M of the longer is left, alone: done at 3 M / B. */
    assert_time(times.sent_s, 3 * M / B);
    ll_flows_free(flows);
    ll_toy_net_free(&f);
}

/* The hybrid cube mesh of eight: device 0 reaches 1 to 3 and 4 directly, 5 by two links. */
static void listed_edges_lead_the_shortest_way(void **state)
{
    (void)state;
    struct ll_toy_net f =
        ll_toy_net("  - {name: e, topology: edges, devices: 8, bandwidth: 25GB/s, edges: [0-1, 0-2, 0-3x2, "
                   "0-4x2, 1-2x2, 1-3, 1-5x2, 2-3, 2-6x2, 3-7x2, 4-5, 4-6, 4-7x2, 5-6x2, 5-7, 6-7]}\n");
    struct ll_route path = {0};
    ll_net_route(f.net, 0, 4, &path);
    assert_int_equal(path.count, 1);
    assert_true(ll_net_link_Bps(f.net, path.links[0]) == 50e9);
    path.count = 0;
    ll_net_route(f.net, 0, 5, &path);
    assert_int_equal(path.count, 2);
    free(path.links);
    ll_toy_net_free(&f);
}

/* 2 (n - 1) (a + M / (n r B)): how many rings r go side by side. Of K5 there are 4, of K4 only 2 (Tillson,
 * 1980); the six links of each device of the hybrid cube mesh carry 6. Devices 0 and 3 share two links, 0 and
 * 1 one, 0 and 5 none. */
static void rings_go_side_by_side_over_links_of_their_own(void **state)
{
    (void)state;
    static const char *const mesh =
        "  - {name: e, topology: edges, devices: 8, bandwidth: 1GB/s, latency: 1us, edges: [0-1, 0-2, 0-3x2, "
        "0-4x2, "
        "1-2x2, 1-3, 1-5x2, 2-3x2, 2-6, 3-7, 4-5, 4-6, 4-7x2, 5-6x2, 5-7, 6-7x2]}\n";
    expect_all_reduce(full6, LL_ALGORITHM_RINGS, 5, 2 * 4 * (a + M / (5 * 4 * B)));
    expect_all_reduce(full6, LL_ALGORITHM_RINGS, 4, 2 * 3 * (a + M / (4 * 2 * B)));
    expect_all_reduce(mesh, LL_ALGORITHM_RINGS, 8, 2 * 7 * (a + M / (8 * 6 * B)));
    struct ll_toy_net f = ll_toy_net(mesh);
    static const struct pair {
        uint64_t members[2];
        double rings;
    } pairs[] = {{{0, 3}, 2}, {{0, 1}, 1}, {{0, 5}, 0}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct ll_exchanged done;
        struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                       .algorithm = LL_ALGORITHM_RINGS,
                                       .bytes = M,
                                       .members = pairs[i].members,
                                       .size = 2,
                                       .groups = 1};
        enum ll_exchange_trouble trouble = ll_exchange(f.net, &exchange, &done);
        assert_int_equal(trouble, pairs[i].rings > 0 ? LL_EXCHANGE_DONE : LL_EXCHANGE_NO_WAY);
        if (pairs[i].rings > 0)
            assert_time(done.time_s, 2 * (a + M / (2 * pairs[i].rings * B)));
    }
    ll_toy_net_free(&f);
}

/* Chunks of 200 kB a device in two halves: of the third of M that goes around, one whole chunk and a rest of
 * M / 3 - 200 kB, each 2 (n - 1) times two halves and one more. A message alone is a stream. */
static void pieces_go_around_in_halves_of_chunks(void **state)
{
    double chunk = 200e3, pass = 3e-6, halves = 2 * 4 + 1;
    (void)state;
    struct ll_toy_net f =
        ll_toy_net("  - {name: s, topology: switch, devices: 4, bandwidth: 1GB/s, latency: 500ns, "
                   "chunk: 200kB, chunk_latency: 3us}\n");
    assert_true(M / 3 > chunk && M / 3 < 2 * chunk);
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_RING, 3),
                halves * ((chunk + (M / 3 - chunk)) / 2 / B + 2 * (a + pass)));
    assert_time(time_among(f.net, LL_COLLECTIVE_SEND_RECEIVE, LL_ALGORITHM_DIRECT, 2), a + M / B);
    ll_toy_net_free(&f);
}

/* At half the bandwidth, but without waiting: the faster of the two. */
static void small_pieces_bring_their_flags_along(void **state)
{
    static const char level[] =
        "  - {name: s, topology: switch, devices: 4, bandwidth: 1GB/s, latency: 500ns, "
        "chunk: 10MB, chunk_latency: %s, ll_efficiency: 0.5}\n";
    char text[256];
    (void)state;
    snprintf(text, sizeof text, level, "1s");
    struct ll_toy_net f = ll_toy_net(text);
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_RING, 4),
                6 * (a + M / 4 / (0.5 * B)));
    ll_toy_net_free(&f);
    snprintf(text, sizeof text, level, "0s");
    f = ll_toy_net(text);
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_RING, 4), 13 * (a + M / 8 / B));
    ll_toy_net_free(&f);
}

/* Nodes of two devices, 2 a' = 2 us between them. Each device heads a chain for half of M, so that its card
 * has two trees of M / 4 each. Of two nodes each takes M / 4 in from the other in both trees. Of four, one is
 * above two others in one tree and a leaf in the other: three times M / 4; of many, one takes in from above
 * as well. Hops: one a chain, floor(log2 n) a tree, up and down. */
static const char nodes_of_two[] =
    "  - {name: in, topology: switch, devices: 2, bandwidth: 100GB/s, latency: 500ns}\n"
    "  - {name: out, topology: switch, devices: %d, bandwidth: 1GB/s, latency: 1us%s}\n";

static struct ll_toy_net open_nodes(int nodes, const char *more)
{
    char text[512];
    snprintf(text, sizeof text, nodes_of_two, nodes, more);
    return ll_toy_net(text);
}

static void chained_trees_stream_up_and_down(void **state)
{
    (void)state;
    struct ll_toy_net f = open_nodes(2, "");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_CHAINED_TREES, 4),
                2 * a + 2 * 2e-6 + M / 2 / B);
    ll_toy_net_free(&f);
    f = open_nodes(4, "");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_CHAINED_TREES, 8),
                2 * a + 4 * 2e-6 + 3 * M / 4 / B);
    ll_toy_net_free(&f);
    f = open_nodes(2, ", group_port: 500MB/s");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_CHAINED_TREES, 4),
                2 * a + 2 * 2e-6 + M / (B / 2));
    ll_toy_net_free(&f);
}

static void many_nodes_of_trees_are_no_slower_but_for_hops(void **state)
{
    (void)state;
    struct ll_toy_net f = open_nodes(16384, "");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_CHAINED_TREES, 32768),
                2 * a + 2 * 14 * 2e-6 + 4 * M / 4 / B);
    ll_toy_net_free(&f);
}

/* Six devices on nodes of four: two rings or trees, as the two of the last node can hold, enter and leave
 * nodes at other places, each by links of its own. */
static void a_smaller_last_node_holds_as_many_rings_as_it_has_devices(void **state)
{
    (void)state;
    struct ll_toy_net f =
        ll_toy_net("  - {name: in, topology: switch, devices: 4, bandwidth: 100GB/s, latency: 500ns}\n"
                   "  - {name: out, topology: switch, devices: 2, bandwidth: 1GB/s, latency: 1us}\n");
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_RING, 6),
                2 * 5 * (3 * a + M / 6 / 2 / B));
    assert_time(time_among(f.net, LL_COLLECTIVE_BROADCAST, LL_ALGORITHM_RING, 6), 5 * 3 * a + M / 2 / B);
    assert_time(time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_CHAINED_TREES, 6),
                6 * a + 2 * 2.5e-6 + M / 2 / B);
    ll_toy_net_free(&f);
}

static enum ll_algorithm tuned_choice(const struct ll_net *net, uint64_t size, double bytes)
{
    uint64_t members[16];
    struct ll_exchanged done;
    for (uint64_t i = 0; i < size; i++)
        members[i] = i;
    struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                   .algorithm = LL_ALGORITHM_TUNED,
                                   .bytes = bytes,
                                   .members = members,
                                   .size = size,
                                   .groups = 1};
    assert_int_equal(ll_exchange(net, &exchange, &done), LL_EXCHANGE_DONE);
    return done.algorithm;
}

/* Of four devices on two nodes, at B: 20 us + 3 ns/B or 30 us + 1 ns/B, until M = 5 kB. Of eight on four:
 * 32 us + 3.5 ns/B or 50 us + 2 ns/B, until 12 kB. */
#define RING "{name: r, algorithm: ring, start: 10us, hop: 1us, node_hop: 2us, efficiency: 0.5"
#define TREES                                                                                                \
    "{name: t, algorithm: chained_trees, start: 0s, hop: 5us, node_hop: 10us, efficiency: 1, "               \
    "efficiency_of_two: 2"

/* Where measured all-reduces of four devices on two nodes change (vidur_network.csv): at 8, 16 and 64 MiB. */
static void trees_come_and_go_as_nccl_expects_them_to(void **state)
{
    static const double MiB = 1 << 20;
    (void)state;
    char text[512];
    int length = snprintf(text, sizeof text, nodes_of_two, 2, ", links: 1");
    snprintf(text + length, sizeof text - (size_t)length,
             "software: {collectives: tuned, tuner: nccl_2_20}\n");
    struct ll_toy_net f = ll_toy_net(text);
    assert_int_equal(tuned_choice(f.net, 4, 4 * MiB), LL_ALGORITHM_RING);
    assert_int_equal(tuned_choice(f.net, 4, 8 * MiB - 1), LL_ALGORITHM_RING);
    assert_int_equal(tuned_choice(f.net, 4, 8 * MiB), LL_ALGORITHM_CHAINED_TREES);
    assert_int_equal(tuned_choice(f.net, 4, 16 * MiB - 1), LL_ALGORITHM_CHAINED_TREES);
    assert_int_equal(tuned_choice(f.net, 4, 16 * MiB), LL_ALGORITHM_RING);
    assert_int_equal(tuned_choice(f.net, 4, 64 * MiB - 1), LL_ALGORITHM_RING);
    assert_int_equal(tuned_choice(f.net, 4, 64 * MiB), LL_ALGORITHM_CHAINED_TREES);
    assert_int_equal(tuned_choice(f.net, 2, 64 * MiB), LL_ALGORITHM_RING); /* one node */
    ll_toy_net_free(&f);
}

#define BOXES "  - {name: in, topology: switch, devices: 8, bandwidth: 300GB/s, latency: 1us}\n"
#define OF_BOXES ", devices: 12500, bandwidth: 25GB/s, latency: 2us}\n"

/* The fastest all-reduce among 100,000 devices, at least what leaves a box and comes into it. */
static double among_all_s(const struct ll_net *net)
{
    double time_s = time_among(net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_COUNT, 100000);
    assert_true(time_s >= 2 * M / 8 * (12499.0 / 12500) / 25e9);
    return time_s;
}

static void a_hundred_thousand_devices_are_no_trouble(void **state)
{
    (void)state;
    struct ll_toy_net f = ll_toy_net(BOXES "  - {name: out, topology: switch" OF_BOXES);
    among_all_s(f.net);
    ll_toy_net_free(&f);
}

/* Messages to far devices of such a ring cross thousands of links: nobody waits for what they would take. */
static void nor_is_a_ring_of_thousands(void **state)
{
    (void)state;
    struct ll_toy_net f = ll_toy_net(BOXES "  - {name: out, topology: ring" OF_BOXES);
    double ring_s = time_among(f.net, LL_COLLECTIVE_ALL_REDUCE, LL_ALGORITHM_RING, 100000);
    assert_true(among_all_s(f.net) <= ring_s * (1 + 1e-9));
    ll_toy_net_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_takes_its_closed_form),
        cmocka_unit_test(both_directions_of_a_ring_halve_what_each_carries),
        cmocka_unit_test(halving_and_doubling_shares_the_links_of_a_ring),
        cmocka_unit_test(other_than_powers_of_two_cost_two_messages_more),
        cmocka_unit_test(direct_messages_are_charged_for_the_port),
        cmocka_unit_test(two_trees_carry_half_each),
        cmocka_unit_test(one_tree_runs_in_the_best_number_of_chunks),
        cmocka_unit_test(meshes_go_straight_and_tori_around),
        cmocka_unit_test(all_to_all_loads_rings_and_tori),
        cmocka_unit_test(other_collectives_take_their_closed_forms),
        cmocka_unit_test(levels_of_a_network_work_one_after_the_other),
        cmocka_unit_test(trees_and_dragonflies_narrow_where_they_should),
        cmocka_unit_test(who_is_done_leaves_its_share_to_others),
        cmocka_unit_test(listed_edges_lead_the_shortest_way),
        cmocka_unit_test(rings_go_side_by_side_over_links_of_their_own),
        cmocka_unit_test(pieces_go_around_in_halves_of_chunks),
        cmocka_unit_test(small_pieces_bring_their_flags_along),
        cmocka_unit_test(chained_trees_stream_up_and_down),
        cmocka_unit_test(many_nodes_of_trees_are_no_slower_but_for_hops),
        cmocka_unit_test(a_smaller_last_node_holds_as_many_rings_as_it_has_devices),
        cmocka_unit_test(trees_come_and_go_as_nccl_expects_them_to),
        cmocka_unit_test(a_hundred_thousand_devices_are_no_trouble),
        cmocka_unit_test(nor_is_a_ring_of_thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
