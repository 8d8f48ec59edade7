/* SPDX-License-Identifier: Apache-2.0 */
/* What exchanges take of the links that they cross, by hand: n devices, M bytes, 10 pJ a byte and link. */
#include "check.h"
#include "scene.h"
#include "sim/network/network.h"
#include "toy_net.h"
#include "toy_trace.h"

#include <stdlib.h>

static const double M = 1 << 20, J = 10e-12;

static double links_j(const char *network, enum ll_collective collective, enum ll_algorithm algorithm,
                      uint64_t size)
{
    struct ll_toy_net f = ll_toy_net(network);
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
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
    free(members);
    ll_toy_net_free(&f);
    return done.links_j;
}

static double all_reduce_j(const char *network, enum ll_algorithm algorithm, uint64_t size)
{
    return links_j(network, LL_COLLECTIVE_ALL_REDUCE, algorithm, size);
}

#define NET(topology, devices)                                                                               \
    "  - {name: n, topology: " topology ", devices: " devices ", bandwidth: 1GB/s, latency: 1us"
#define DRAWING ", pj_per_byte: 10}\n"

/* All devices of a ring together send 2 (n - 1) M, over one link each, or over two where there is a switch.
 * */
static void a_ring_takes_what_its_devices_send(void **state)
{
    (void)state;
    assert_near(all_reduce_j(NET("ring", "6") DRAWING, LL_ALGORITHM_RING, 6), 2 * 5 * M * J, 1e-12);
    assert_near(all_reduce_j(NET("bidirectional_ring", "6") DRAWING, LL_ALGORITHM_BIDIRECTIONAL_RING, 6),
                2 * 5 * M * J, 1e-12);
    assert_near(all_reduce_j(NET("switch", "8") DRAWING, LL_ALGORITHM_RING, 8), 2 * 2 * 7 * M * J, 1e-12);
    assert_near(all_reduce_j(NET("switch", "1000") DRAWING, LL_ALGORITHM_RING, 1000), 2 * 2 * 999 * M * J,
                1e-12);
    assert_near(all_reduce_j(NET("ring", "6") "}\n", LL_ALGORITHM_RING, 6), 0, 0);
}

/* From one corner of a mesh to the other, three links each way; by a ring of 8 every other device is 1, 2,
 * 3 or 4 away: 2 (1 + 2 + 3) + 4 links. */
static void far_messages_take_more(void **state)
{
    (void)state;
    const uint64_t corners[] = {0, 15};
    struct ll_toy_net f = ll_toy_net(NET("mesh", "16") ", shape: 4x4" DRAWING);
    struct ll_exchange exchange = {.collective = LL_COLLECTIVE_SEND_RECEIVE,
                                   .algorithm = LL_ALGORITHM_DIRECT,
                                   .bytes = M,
                                   .members = corners,
                                   .size = 2,
                                   .groups = 1};
    struct ll_exchanged done;
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
    assert_near(done.links_j, 6 * M * J, 1e-12);
    ll_toy_net_free(&f);
    assert_near(
        links_j(NET("bidirectional_ring", "8") DRAWING, LL_COLLECTIVE_ALL_TO_ALL, LL_ALGORITHM_DIRECT, 8),
        8 * M / 8 * 16 * J, 1e-12);
}

/* Two groups of four: in each a reduce-scatter and an all-gather, 3 M each; between them four pairs sum up a
 * quarter, 2 M / 4 each. */
static void each_level_takes_its_own(void **state)
{
    (void)state;
    const char *two_levels =
        "  - {name: in, topology: ring, devices: 4, bandwidth: 4GB/s, latency: 1us, pj_per_byte: 10}\n"
        "  - {name: out, topology: ring, devices: 2, bandwidth: 1GB/s, latency: 5us, pj_per_byte: 100}\n";
    assert_near(all_reduce_j(two_levels, LL_ALGORITHM_HIERARCHICAL, 8), 2 * 6 * M * J + 2 * M * 10 * J,
                1e-12);
}

/* Groups of three among eight devices, four to a group of the inner level: {0, 1, 2} stay inside, {3, 4, 5}
 * cross two of three times. */
static void groups_that_lie_otherwise_count_in_the_mean(void **state)
{
    (void)state;
    const uint64_t members[] = {0, 1, 2, 3, 4, 5};
    struct ll_toy_net f =
        ll_toy_net("  - {name: in, topology: full, devices: 4, bandwidth: 4GB/s, pj_per_byte: 10}\n"
                   "  - {name: out, topology: full, devices: 2, bandwidth: 1GB/s, pj_per_byte: 100}\n");
    struct ll_exchange exchange = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                   .algorithm = LL_ALGORITHM_RING,
                                   .bytes = M,
                                   .members = members,
                                   .size = 3,
                                   .groups = 2};
    struct ll_exchanged done;
    assert_int_equal(ll_exchange(f.net, &exchange, &done), LL_EXCHANGE_DONE);
    /* 3 to 4 across, as neighbours' places differ with a hop inside; 4 to 5 inside; 5 to 3 across with one */
    double inside = 3 * 10, across = (100 + 10) + 10 + (100 + 10);
    assert_near(done.links_j, 4 * M / 3 * (inside + across) / 2 * 1e-12, 1e-12);
    ll_toy_net_free(&f);
}

static struct ll_trace *record_all_reduce(uint64_t side)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t weight = toy_bring(toy, toy_matrix(side, side), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    const struct ll_attr devices = {.key = LL_ATTR_DEVICES, .count = 8};
    toy_op(toy, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, &weight, 1, &devices, 1, LL_GRADIENT, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* A step's energy is that of one device. */
static void a_device_has_its_share_of_the_links(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    struct scene scene =
        open_scene(record_all_reduce(SIDE), LL_TOY_MACHINE "network:\n" NET("switch", "8") DRAWING
                   "software: {collectives: ring}\nenergy: {mac_pj: {f32: 1}, static_w: 2}\n");
    play(&scene);
    const struct ll_result *r = scene.result;
    assert_near(r->energy.network_j, 2 * 2 * 7.0 / 8 * (4 * SIDE * SIDE) * J, 1e-12);
    assert_near(r->energy_j, r->energy.network_j + 2 * r->time_s, 1e-12);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_takes_what_its_devices_send),
        cmocka_unit_test(far_messages_take_more),
        cmocka_unit_test(each_level_takes_its_own),
        cmocka_unit_test(groups_that_lie_otherwise_count_in_the_mean),
        cmocka_unit_test(a_device_has_its_share_of_the_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
