/* SPDX-License-Identifier: Apache-2.0 */
/* Switches that add up, and devices that all do: n devices, M bytes, links of B bytes a second, 2 a = 1 us
 * through the switch. */
#include "check.h"
#include "sim/network/network.h"
#include "toy_net.h"

#include <math.h>
#include <stdlib.h>

static const double B = 1e9, a = 5e-7, M = 1 << 20;

static struct ll_exchanged all_reduce(const char *network, enum ll_algorithm algorithm, uint64_t devices,
                                      uint64_t stride)
{
    struct ll_exchanged done;
    uint64_t members[64];
    for (uint64_t i = 0; i < devices; i++)
        members[i] = i * stride;
    struct ll_toy_net toy = ll_toy_net(network);
    struct ll_exchange e = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                            .algorithm = algorithm,
                            .bytes = M,
                            .members = members,
                            .size = devices,
                            .groups = 1};
    if (ll_exchange(toy.net, &e, &done) != LL_EXCHANGE_DONE)
        done.time_s = INFINITY;
    ll_toy_net_free(&toy);
    return done;
}

static void expect(const char *network, enum ll_algorithm algorithm, uint64_t devices, double expected_s)
{
    struct ll_exchanged done = all_reduce(network, algorithm, devices, 1);
    assert_near(done.time_s, expected_s, 1e-12);
}

static const char streams[] = "  - {name: s, topology: switch, devices: 8, bandwidth: 1GB/s, "
                              "latency: 500ns, in_network: 0.5}\n";

/* A device sends what it has and an n-th of the sum, and takes in as much. */
static void each_sends_what_it_has_and_its_part_of_the_sum(void **state)
{
    (void)state;
    expect(streams, LL_ALGORITHM_IN_NETWORK, 8, 2 * 2 * a + M * (1 + 1.0 / 8) / (0.5 * B));
    expect(streams, LL_ALGORITHM_IN_NETWORK, 4, 2 * 2 * a + M * (1 + 1.0 / 4) / (0.5 * B));
    struct ll_exchanged done = all_reduce(streams, LL_ALGORITHM_IN_NETWORK, 8, 1);
    assert_near(done.sent_bytes, 9 * M, 1e-12);
    assert_near(done.rounds, 2, 1e-12);
}

/* One chunk is added up before copies go out: of each device's part 50 kB, of the sum of eight 400 kB; where
 * there is less than a chunk, everything. Passing it on takes 3 us each way beside the latency. */
static void copies_go_out_when_a_chunk_is_added_up(void **state)
{
    static const char level[] = "  - {name: s, topology: switch, devices: 8, bandwidth: 1GB/s, "
                                "latency: 500ns, chunk: 100MB, chunk_latency: 3us, in_network: 0.5, "
                                "in_network_chunk: %s}\n";
    char text[512];
    (void)state;
    snprintf(text, sizeof text, level, "50kB");
    expect(text, LL_ALGORITHM_IN_NETWORK, 8, 2 * (2 * a + 3e-6) + (M + 4e5) * (1 + 1.0 / 8) / (0.5 * B));
    snprintf(text, sizeof text, level, "1MB");
    expect(text, LL_ALGORITHM_IN_NETWORK, 8, 2 * (2 * a + 3e-6) + 2 * M * (1 + 1.0 / 8) / (0.5 * B));
}

/* Twice the bytes but two latencies for fourteen; of two devices a ring sends less, M for 1.5 M. */
static void the_fastest_way_is_taken(void **state)
{
    static const char full[] = "  - {name: s, topology: switch, devices: 8, bandwidth: 1GB/s, "
                               "latency: 500ns, in_network: 1}\n";
    (void)state;
    assert_int_equal(all_reduce(full, LL_ALGORITHM_COUNT, 8, 1).algorithm, LL_ALGORITHM_IN_NETWORK);
    assert_int_equal(all_reduce(full, LL_ALGORITHM_TUNED, 8, 1).algorithm, LL_ALGORITHM_IN_NETWORK);
    assert_int_equal(all_reduce(full, LL_ALGORITHM_TUNED, 2, 1).algorithm, LL_ALGORITHM_RING);
}

/* A group that lies in several levels has no one switch; one that has a place in each node has the outer. */
static void the_switch_must_join_them_all(void **state)
{
    static const char nodes[] =
        "  - {name: in, topology: switch, devices: 4, bandwidth: 4GB/s, latency: 1us, in_network: 1}\n"
        "  - {name: out, topology: switch, devices: 4, bandwidth: 1GB/s, latency: 500ns, in_network: 0.5}\n";
    static const char passes_on[] =
        "  - {name: s, topology: switch, devices: 8, bandwidth: 1GB/s, latency: 500ns}\n";
    (void)state;
    assert_true(isinf(all_reduce(nodes, LL_ALGORITHM_IN_NETWORK, 8, 1).time_s));
    assert_true(isinf(all_reduce(passes_on, LL_ALGORITHM_IN_NETWORK, 8, 1).time_s));
    assert_near(all_reduce(nodes, LL_ALGORITHM_IN_NETWORK, 4, 4).time_s,
                2 * 2 * a + M * (1 + 1.0 / 4) / (0.5 * B), 1e-12);
}

/* One latency, and all that the others have through the port: the least for what is small. */
static void everyone_may_add_up_by_itself(void **state)
{
    static const char level[] =
        "  - {name: s, topology: switch, devices: 8, bandwidth: 1000GB/s, latency: %s}\n";
    char text[256];
    (void)state;
    snprintf(text, sizeof text, level, "500ns");
    expect(text, LL_ALGORITHM_ONE_SHOT, 8, 2 * a + 7 * M / (1000 * B));
    assert_near(all_reduce(text, LL_ALGORITHM_ONE_SHOT, 8, 1).sent_bytes, 8 * 7 * M, 1e-12);
    snprintf(text, sizeof text, level, "1ms");
    assert_int_equal(all_reduce(text, LL_ALGORITHM_COUNT, 8, 1).algorithm, LL_ALGORITHM_ONE_SHOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sends_what_it_has_and_its_part_of_the_sum),
        cmocka_unit_test(copies_go_out_when_a_chunk_is_added_up),
        cmocka_unit_test(the_fastest_way_is_taken),
        cmocka_unit_test(the_switch_must_join_them_all),
        cmocka_unit_test(everyone_may_add_up_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
