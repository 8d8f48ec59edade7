/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges in two: within nodes of two devices at 4 B and 1 us, and between these at B and 5 us; and
 * groups that lie in nodes each in its own way. */
#include "check.h"
#include "sim/network/network.h"
#include "toy_net.h"

static const double B = 1e9, M = 1 << 20, near_s = 1e-6, far_s = 5e-6;

/* `words`: more of the level between nodes. */
static struct ll_toy_net open_nodes(int count, const char *words)
{
    char network[512];
    snprintf(network, sizeof network,
             "  - {name: in, topology: full, devices: 2, bandwidth: 4GB/s, latency: 1us}\n"
             "  - {name: out, topology: full, devices: %d, bandwidth: 1GB/s, latency: 5us%s}\n",
             count, words);
    return ll_toy_net(network);
}

static enum ll_exchange_trouble exchange(const struct ll_toy_net *f, enum ll_collective collective,
                                         const uint64_t *members, uint64_t size, struct ll_exchanged *done)
{
    return ll_exchange(f->net,
                       &(struct ll_exchange){.collective = collective,
                                             .algorithm = LL_ALGORITHM_HIERARCHICAL,
                                             .bytes = M,
                                             .members = members,
                                             .size = size,
                                             .groups = 1},
                       done);
}

/* What two devices do takes one message of half of M each way (all to all too), a broadcast or a reduction
 * one of all M. Between two nodes, which have a card each, each of the two devices has its half of M to share
 * with its like, which for a sum of both goes across at once, and of an all to all the half of M that goes to
 * the other node; a broadcast or a reduction crosses from one device alone. */
static void each_collective_has_its_parts_within_and_between(void **state)
{
    (void)state;
    static const uint64_t members[] = {0, 1, 2, 3};
    const double half_s = near_s + M / 2 / (4 * B), all_s = near_s + M / (4 * B);
    const struct {
        enum ll_collective collective;
        double expected_s;
    } cases[] = {
        {LL_COLLECTIVE_ALL_REDUCE, 2 * half_s + far_s + 2 * M / 2 / B},
        {LL_COLLECTIVE_REDUCE_SCATTER, half_s + far_s + 2 * M / 4 / B},
        {LL_COLLECTIVE_ALL_GATHER, half_s + far_s + 2 * M / 4 / B},
        {LL_COLLECTIVE_BROADCAST, all_s + far_s + M / B},
        {LL_COLLECTIVE_REDUCE, all_s + far_s + M / B},
        {LL_COLLECTIVE_ALL_TO_ALL, half_s + far_s + 2 * M / 2 / B},
    };
    struct ll_toy_net f = open_nodes(2, ", links: 1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_exchanged done;
        assert_int_equal(exchange(&f, cases[i].collective, members, 4, &done), LL_EXCHANGE_DONE);
        assert_near(done.time_s, cases[i].expected_s, 1e-9);
    }
    ll_toy_net_free(&f);
}

/* Blocks are as long as each other, and their devices have the same places in them; they lie in different
 * nodes. */
static void only_equal_blocks_are_parts(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, members[6];
        bool parts;
    } cases[] = {
        {4, {0, 1, 2, 3}, true},        {4, {4, 5, 0, 1}, true},  {6, {0, 1, 2, 3, 4, 5}, true},
        {3, {0, 1, 2}, false},          {2, {0, 1}, false},       {2, {0, 2}, false},
        {4, {0, 2, 1, 3}, false},       {4, {0, 1, 3, 2}, false}, {4, {0, 1, 2, 4}, false},
        {6, {0, 1, 2, 3, 5, 4}, false},
    };
    struct ll_toy_net f = open_nodes(3, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_exchanged done;
        enum ll_exchange_trouble trouble =
            exchange(&f, LL_COLLECTIVE_ALL_GATHER, cases[i].members, cases[i].size, &done);
        assert_int_equal(trouble == LL_EXCHANGE_DONE, cases[i].parts);
    }
    ll_toy_net_free(&f);
}

/* Three groups of ten one behind the other on nodes of eight, which cut them into 8 and 2, 6 and 4, 4 and 6:
 * two rings for the first, four for the others. A message comes into a node on the rail on which it was sent:
 * from place 3 of the first node one of two rings, and from place 3 of the third one of four, both into the
 * second. */
static void groups_that_nodes_cut_differently_have_rings_of_their_own(void **state)
{
    (void)state;
    const double a = 1e-6; /* through the switch of a node */
    struct ll_toy_net f =
        ll_toy_net("  - {name: in, topology: switch, devices: 8, bandwidth: 100GB/s, latency: 500ns}\n"
                   "  - {name: out, topology: switch, devices: 4, bandwidth: 1GB/s, latency: 1us}\n");
    uint64_t members[30];
    for (uint64_t i = 0; i < 30; i++)
        members[i] = i;
    struct ll_exchanged done;
    struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                   .algorithm = LL_ALGORITHM_RING,
                                   .bytes = M,
                                   .members = members,
                                   .size = 10,
                                   .groups = 3};
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
    assert_near(done.time_s, 2 * 9 * (3 * a + (M / 10 / 2 + M / 10 / 4) / B), 1e-9);
    assert_near(done.sent_bytes, 2 * 9 * M, 1e-12);
    exchange.algorithm = LL_ALGORITHM_CHAINED_TREES;
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
    /* Of ten trees one keeps to its rail, 2 us; the others have one hop of 1 us more within a node. */
    assert_near(done.time_s, 2 * 7 * a + 2 * (2e-6 + 9 * 1e-6 / 10) + (M / 2 + M / 4) / B, 1e-9);
    exchange.algorithm = LL_ALGORITHM_RING; /* the second alone: of a part of a node and a part of another */
    exchange.members = members + 10;
    exchange.groups = 1;
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
    assert_near(done.time_s, 2 * 9 * (3 * a + M / 10 / 4 / B), 1e-9);
    exchange.algorithm = LL_ALGORITHM_HIERARCHICAL;
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_NO_WAY);
    ll_toy_net_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_collective_has_its_parts_within_and_between),
        cmocka_unit_test(only_equal_blocks_are_parts),
        cmocka_unit_test(groups_that_nodes_cut_differently_have_rings_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
