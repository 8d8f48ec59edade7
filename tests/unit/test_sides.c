/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives along all sides of a torus at once: M bytes, links of B bytes a second, latency a. */
#include "check.h"
#include "sim/network/network.h"
#include "toy_net.h"

#include <math.h>
#include <stdlib.h>

static const double B = 1e9, a = 1e-6, M = 1 << 20;

/* Among the first so many devices of a torus. */
static double time_on(const char *shape, enum ll_collective collective, uint64_t devices, uint64_t size)
{
    char network[512];
    snprintf(network, sizeof network,
             "  - {name: t, topology: torus, shape: %s, devices: %llu, bandwidth: 1GB/s, latency: 1us}\n",
             shape, (unsigned long long)devices);
    struct ll_toy_net toy = ll_toy_net(network);
    uint64_t *members = calloc(size, sizeof *members);
    for (uint64_t i = 0; i < size; i++)
        members[i] = i;
    struct ll_exchange exchange = {.collective = collective,
                                   .algorithm = LL_ALGORITHM_SIDES,
                                   .bytes = M,
                                   .members = members,
                                   .size = size,
                                   .groups = 1};
    struct ll_exchanged done;
    assert_int_equal(ll_exchange(toy.net, &exchange, &done), LL_EXCHANGE_DONE);
    free(members);
    ll_toy_net_free(&toy);
    return done.time_s;
}

/* n = 4^3 devices have 6 links each, 2 (n - 1) / n M / (6 B), in 2 * 3 phases of 3 turns; a plane of 16 of
 * its devices uses 4; a gathering takes half the time. */
static void all_links_of_a_torus_work(void **state)
{
    (void)state;
    double all_s = 2 * 63.0 / 64 * M / (6 * B);
    assert_near(time_on("4x4x4", LL_COLLECTIVE_ALL_REDUCE, 64, 64), all_s + 18 * a, 1e-9);
    assert_near(time_on("4x4x4", LL_COLLECTIVE_ALL_GATHER, 64, 64), all_s / 2 + 9 * a, 1e-9);
    assert_near(time_on("4x4x4", LL_COLLECTIVE_ALL_REDUCE, 64, 16), 2 * 15.0 / 16 * M / (4 * B) + 12 * a,
                1e-9);
}

/* Sides of seven: six turns each, and the last has the first beside it. */
static void odd_sides_close_too(void **state)
{
    (void)state;
    assert_near(time_on("7x7", LL_COLLECTIVE_ALL_REDUCE, 49, 49), 2 * 48.0 / 49 * M / (4 * B) + 24 * a, 1e-9);
}

/* Of 2 x 4 devices each side starts with M / 2. Along the short one go M / 4, over one link, since both
 * neighbours are the same device; beside it 3 / 4 of M / 2 along the long one, half each way. Then 3 / 4
 * of the M / 4 that is left along the long side, beside M / 16. Both phases take the turns of the
 * long side, 3. */
static void a_short_side_keeps_pace_with_a_long_one(void **state)
{
    (void)state;
    double first_s = fmax(M / 4, 3.0 / 4 * M / 2 / 2) / B, second_s = fmax(3.0 / 4 * M / 4 / 2, M / 16) / B;
    assert_near(time_on("2x4", LL_COLLECTIVE_REDUCE_SCATTER, 8, 8), first_s + second_s + 6 * a, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_links_of_a_torus_work),
        cmocka_unit_test(odd_sides_close_too),
        cmocka_unit_test(a_short_side_keeps_pace_with_a_long_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
