/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges between nodes and groups of them: their trees, rings, links and gates. */
#include "check.h"
#include "sim/network/network.h"
#include "toy_net.h"

#include <stdlib.h>

static const double B = 1e9, M = 1 << 20;

static struct ll_exchanged all_reduced(const struct ll_toy_net *f, enum ll_algorithm algorithm, uint64_t size)
{
    uint64_t members[32];
    struct ll_exchanged done;
    for (uint64_t i = 0; i < size; i++)
        members[i] = i;
    const struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                         .algorithm = algorithm,
                                         .bytes = M,
                                         .members = members,
                                         .size = size,
                                         .groups = 1};
    assert_int_equal(ll_exchange(f->net, &exchange, &done), LL_EXCHANGE_DONE);
    return done;
}

/* Chains of one device leave two trees with half of the data each, on whatever network; where hops are alike
 * their latencies are, too. */
static void nodes_of_one_device_make_two_plain_trees(void **state)
{
    static const char *const networks[] = {
        "  - {name: r, topology: ring, devices: 16, bandwidth: 1GB/s, latency: 0s}\n",
        "  - {name: m, topology: mesh, devices: 16, shape: 4x4, bandwidth: 1GB/s, latency: 0s}\n",
        "  - {name: s, topology: switch, devices: 16, bandwidth: 1GB/s, latency: 1us}\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        struct ll_toy_net f = ll_toy_net(networks[i]);
        struct ll_exchanged chained = all_reduced(&f, LL_ALGORITHM_CHAINED_TREES, 16),
                            plain = all_reduced(&f, LL_ALGORITHM_DOUBLE_TREE, 16);
        assert_near(chained.time_s, plain.time_s, 1e-9);
        assert_near(chained.sent_bytes, 2 * 15 * M, 1e-12);
        ll_toy_net_free(&f);
    }
}

/* Half of each piece goes around each way, in as many rings as a node has devices. */
static void both_directions_send_what_one_does(void **state)
{
    struct ll_toy_net f =
        ll_toy_net("  - {name: in, topology: full, devices: 2, bandwidth: 100GB/s, latency: 1us}\n"
                   "  - {name: out, topology: full, devices: 3, bandwidth: 1GB/s, latency: 5us}\n");
    (void)state;
    struct ll_exchanged one = all_reduced(&f, LL_ALGORITHM_RING, 6),
                        both = all_reduced(&f, LL_ALGORITHM_BIDIRECTIONAL_RING, 6);
    assert_near(one.sent_bytes, 2 * 5 * M, 1e-12);
    assert_near(both.sent_bytes, one.sent_bytes, 1e-12);
    assert_true(both.time_s < one.time_s);
    ll_toy_net_free(&f);
}

static double pairs_s(const struct ll_toy_net *f, const uint64_t *members, uint64_t pairs)
{
    const struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                         .algorithm = LL_ALGORITHM_RING,
                                         .bytes = M,
                                         .members = members,
                                         .size = 2,
                                         .groups = pairs};
    struct ll_exchanged done;
    assert_int_equal(ll_exchange(f->net, &exchange, &done), LL_EXCHANGE_DONE);
    return done.time_s;
}

/* Pairs between nodes of four devices, which have two links. Two pairs that keep to links of their own take
 * as long as one alone. Two that meet at a link of the second node have half of it each; one of them goes
 * through the switch of its node to get there, in each of two turns. Of two and two on either link those
 * between the same nodes meet. */
static void pairs_that_meet_at_a_link_share_it(void **state)
{
    static const uint64_t apart[] = {0, 4, 2, 6}, meeting[] = {2, 6, 0, 7}, other_first[] = {0, 7, 2, 6},
                          two_of_four[] = {0, 4, 8, 12, 2, 6, 3, 7};
    struct ll_toy_net f = ll_toy_net(
        "  - {name: in, topology: switch, devices: 4, bandwidth: 100GB/s, latency: 1us}\n"
        "  - {name: out, topology: switch, devices: 4, bandwidth: 1GB/s, latency: 1us, links: 2}\n");
    (void)state;
    const double one_s = 2 * (2e-6 + M / 2 / B), moved_s = 2 * M / 2 / B, aside_s = 2 * 2e-6;
    assert_near(pairs_s(&f, apart, 1), one_s, 1e-9);
    assert_near(pairs_s(&f, apart, 2), one_s, 1e-9);
    assert_near(pairs_s(&f, meeting, 2), one_s + aside_s + moved_s, 1e-9);
    assert_near(pairs_s(&f, other_first, 2), one_s + aside_s + moved_s, 1e-9);
    assert_near(pairs_s(&f, two_of_four, 4), one_s + moved_s, 1e-9);
    ll_toy_net_free(&f);
}

/* Nodes that are all wired to each other are reached like those behind a switch, so that a tuner is asked;
 * those of a ring are not, and keep to rings. */
static void a_tuner_is_asked_where_any_node_reaches_any_other(void **state)
{
    static const char *const topologies[] = {"switch", "full", "ring"};
    enum ll_algorithm taken[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "  - {name: in, topology: switch, devices: 2, bandwidth: 100GB/s, latency: 1us}\n"
                 "  - {name: out, topology: %s, devices: 2, bandwidth: 1GB/s, latency: 1us, links: 1}\n"
                 "software: {collectives: tuned, tuner: nccl_2_20}\n",
                 topologies[i]);
        struct ll_toy_net f = ll_toy_net(text);
        const uint64_t members[] = {0, 1, 2, 3};
        struct ll_exchanged done;
        const struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                             .algorithm = LL_ALGORITHM_TUNED,
                                             .bytes = 8 * M,
                                             .members = members,
                                             .size = 4,
                                             .groups = 1};
        assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
        taken[i] = done.algorithm;
        ll_toy_net_free(&f);
    }
    assert_int_equal(taken[0], LL_ALGORITHM_CHAINED_TREES); /* as test_net.c has it */
    assert_int_equal(taken[1], LL_ALGORITHM_CHAINED_TREES);
    assert_int_equal(taken[2], LL_ALGORITHM_RING);
}

/* A dragonfly of four groups of three routers, with a device each: every router has the link to one other
 * group, and so reaches one device in it without passing another router. */
static void every_router_leads_to_one_other_group(void **state)
{
    struct ll_toy_net f = ll_toy_net("  - {name: d, topology: dragonfly, shape: 1x3x4, devices: 12, "
                                     "bandwidth: 1GB/s, latency: 1us}\n");
    (void)state;
    for (uint64_t from = 0; from < 12; from++) {
        unsigned straight = 0;
        for (uint64_t to = 0; to < 12; to++) {
            struct ll_route path = {0};
            ll_net_route(f.net, from, to, &path);
            straight += to / 3 != from / 3 && path.count == 3;
            free(path.links);
        }
        assert_int_equal(straight, 1);
    }
    ll_toy_net_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_one_device_make_two_plain_trees),
        cmocka_unit_test(both_directions_send_what_one_does),
        cmocka_unit_test(pairs_that_meet_at_a_link_share_it),
        cmocka_unit_test(a_tuner_is_asked_where_any_node_reaches_any_other),
        cmocka_unit_test(every_router_leads_to_one_other_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
