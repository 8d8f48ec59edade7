/* SPDX-License-Identifier: Apache-2.0 */
/* From one to all and from all to one: M bytes among n devices, links of B bytes a second, latency a; closed
 * forms beside each test. */
#include "check.h"
#include "sim/network/network.h"
#include "toy_net.h"

static const double B = 1e9, a = 1e-6, M = 1 << 20;
enum { MOST = 16 };

/* Among the first devices, of which there are MOST at most. */
static double time_among(const struct ll_net *net, enum ll_collective collective, enum ll_algorithm algorithm,
                         uint64_t size)
{
    uint64_t members[MOST];
    struct ll_exchanged done;
    for (uint64_t i = 0; i < size; i++)
        members[i] = i;
    struct ll_exchange exchange = {.collective = collective,
                                   .algorithm = algorithm,
                                   .bytes = M,
                                   .members = members,
                                   .size = size,
                                   .groups = 1};
    assert_int_equal(ll_exchange(net, &exchange, &done), LL_EXCHANGE_DONE);
    return done.time_s;
}

/* On a ring of one direction what is reduced goes on to the first, not the long way back. */
static void a_reduction_takes_as_long_as_a_broadcast(void **state)
{
    (void)state;
    struct ll_toy_net f =
        ll_toy_net("  - {name: r, topology: ring, devices: 6, bandwidth: 1GB/s, latency: 1us}\n");
    assert_near(time_among(f.net, LL_COLLECTIVE_BROADCAST, LL_ALGORITHM_RING, 6), 5 * a + M / B, 1e-9);
    assert_near(time_among(f.net, LL_COLLECTIVE_REDUCE, LL_ALGORITHM_RING, 6), 5 * a + M / B, 1e-9);
    ll_toy_net_free(&f);
}

/* Four nodes of four devices with a card each, of 2 * 2.5 us between them: each card carries a fourth. */
static void a_stream_between_nodes_takes_all_cards(void **state)
{
    (void)state;
    struct ll_toy_net f =
        ll_toy_net("  - {name: in, topology: switch, devices: 4, bandwidth: 100GB/s, latency: 500ns}\n"
                   "  - {name: out, topology: switch, devices: 4, bandwidth: 1GB/s, latency: 2500ns}\n");
    assert_near(time_among(f.net, LL_COLLECTIVE_BROADCAST, LL_ALGORITHM_RING, 16), 15 * 5e-6 + M / (4 * B),
                1e-9);
    assert_near(time_among(f.net, LL_COLLECTIVE_REDUCE, LL_ALGORITHM_RING, 16), 15 * 5e-6 + M / (4 * B),
                1e-9);
    ll_toy_net_free(&f);
}

/* A part to each, who passes it on: 2 (a + M / (n B)) over links to each other, and through ports twice
 * (n - 1) of them. */
static void parts_of_a_broadcast_go_different_ways(void **state)
{
    (void)state;
    static const enum ll_collective both[] = {LL_COLLECTIVE_BROADCAST, LL_COLLECTIVE_REDUCE};
    struct ll_toy_net full =
        ll_toy_net("  - {name: f, topology: full, devices: 6, bandwidth: 1GB/s, latency: 1us}\n");
    struct ll_toy_net ports =
        ll_toy_net("  - {name: s, topology: switch, devices: 8, bandwidth: 1GB/s, latency: 500ns}\n");
    for (int i = 0; i < 2; i++) {
        double part_s = 2 * (a + M / (6 * B));
        assert_near(time_among(full.net, both[i], LL_ALGORITHM_SCATTERED, 6), part_s, 1e-9);
        assert_near(time_among(full.net, both[i], LL_ALGORITHM_COUNT, 6), part_s, 1e-9);
        assert_near(time_among(ports.net, both[i], LL_ALGORITHM_SCATTERED, 8), 2 * (a + 7.0 / 8 * M / B),
                    1e-9);
    }
    ll_toy_net_free(&full);
    ll_toy_net_free(&ports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_takes_as_long_as_a_broadcast),
        cmocka_unit_test(a_stream_between_nodes_takes_all_cards),
        cmocka_unit_test(parts_of_a_broadcast_go_different_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
