/* SPDX-License-Identifier: Apache-2.0 */
/* What software chooses for itself within a node: NCCL's protocols, and kernels of a stack's own. Links of B
 * bytes a second as H100 have them, 2 a = 0.82 us through the switch, NCCL starts in s. */
#include "check.h"
#include "sim/network/network.h"
#include "toy_net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double KiB = 1 << 10, MiB = 1 << 20, B = 450e9 * 0.824, a = 410e-9, s = 4.3e-6;

static const char node[] =
    "  - {name: nvlink, topology: switch, devices: 8, bandwidth: 450GB/s, efficiency: 0.824, "
    "latency: 410ns, chunk: 48MiB, ll_efficiency: 0.5, ll128_efficiency: 0.9, "
    "in_network: 0.85, in_network_chunk: 2MiB}\n"
    "software:\n"
    "  collectives: tuned\n"
    "  tuner: nccl_2_27\n"
    "  collective_overhead: 4.3us\n";

/* Two kernels, of the figures that a server's have. */
static const char kernels[] =
    "  collective_dispatch: 1us\n"
    "  eager_collective: 50us\n"
    "  collective_kernels:\n"
    "    - {name: once, algorithm: one_shot, start: 3us, peer: 1us, efficiency: 0.5, limits_KiB: [4096, "
    "512]}\n"
    "    - {name: twice, algorithm: direct, start: 4us, peer: 2us, efficiency: 0.8, limits_KiB: [0, 4096, "
    "4096]}\n"
    "    - {name: experts, runs: all_to_all, algorithm: direct, start: 40us, limits_KiB: [0, 0, 1024]}\n";

struct asked {
    enum ll_collective collective;
    uint64_t devices;
    double bytes;
    bool integers, by_library, eager;
};

static struct ll_exchanged exchange(const char *network, const struct asked *asked)
{
    struct ll_exchanged done = {0};
    static const uint64_t members[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct ll_toy_net toy = ll_toy_net(network);
    struct ll_solver *solver = ll_solver_new(toy.net);
    struct ll_exchange e = {.collective = asked->collective,
                            .bytes = asked->bytes,
                            .members = members,
                            .size = asked->devices,
                            .groups = 1,
                            .integers = asked->integers,
                            .by_library = asked->by_library,
                            .eager = asked->eager};
    assert_int_equal(ll_exchange_by_software(solver, &e, &done), LL_EXCHANGE_DONE);
    if (done.kernel) /* of the machine, which goes */
        done.kernel = !strcmp(done.kernel->name, "once")    ? (const void *)"once"
                      : !strcmp(done.kernel->name, "twice") ? (const void *)"twice"
                                                            : (const void *)"experts";
    ll_solver_free(solver);
    ll_toy_net_free(&toy);
    return done;
}

static double time_of(enum ll_collective collective, uint64_t devices, double bytes, bool integers)
{
    return exchange(node,
                    &(struct asked){
                        .collective = collective, .devices = devices, .bytes = bytes, .integers = integers})
        .time_s;
}

/* 1 KiB among eight: pieces of 128 B, one of 24 channels; a step and a half fill the ring. */
static void small_messages_go_in_ll_by_few_channels(void **state)
{
    (void)state;
    double channel = B * 0.7 / 24;
    assert_near(time_of(LL_COLLECTIVE_ALL_REDUCE, 8, KiB, false), s + 14 * 2 * a + 15.5 * 128 / channel,
                1e-12);
    assert_near(time_of(LL_COLLECTIVE_ALL_GATHER, 8, KiB, false), s + 7 * 2 * a + 8.5 * 128 / channel, 1e-12);
    assert_near(time_of(LL_COLLECTIVE_REDUCE_SCATTER, 4, KiB, false), s + 3 * 2 * a + 4.5 * 256 / channel,
                1e-12);
    /* 128 KiB are two channels of 512 threads that move 8 B for each of eight ranks, twice. */
    assert_near(time_of(LL_COLLECTIVE_ALL_REDUCE, 8, 128 * KiB, true),
                s + 14 * 2 * a + 15.5 * 16 * KiB / (4 * channel), 1e-12);
    /* All channels, of whose bytes half are flags, are no faster than the links. */
    assert_near(time_of(LL_COLLECTIVE_ALL_REDUCE, 8, MiB, true),
                s + 14 * 2 * a + 15.5 * 128 * KiB / (0.5 * B), 1e-12);
}

/* 4 MiB of integers among eight: LL128 is expected in 14 + 14 x 1.9 us + 7 MiB / 0.92 B = 62 us, LL in 67,
 * Simple in 76 us. */
static void integers_of_middle_size_go_in_ll128(void **state)
{
    (void)state;
    assert_near(time_of(LL_COLLECTIVE_ALL_REDUCE, 8, 4 * MiB, true),
                (1 + 2.87) * s + 14 * 2 * a + (14 + 0.62) * 512 * KiB / (0.9 * B), 1e-12);
}

/* Between two a slot of each of 24 channels, 12 MiB, has to be full before it goes on. */
static void large_messages_go_in_simple(void **state)
{
    (void)state;
    double M = 64 * MiB, sent_s = M / 2 / (0.966 * B);
    assert_near(time_of(LL_COLLECTIVE_ALL_REDUCE, 2, M, false),
                (1 + 2.65) * s + 2 * 2 * a + (2 + 0.41 + 0.33 * 12 / 32) * sent_s, 1e-12);
}

static void switches_add_up_what_they_can(void **state)
{
    static const struct {
        uint64_t devices;
        double bytes;
        bool integers;
        enum ll_algorithm algorithm;
    } cases[] = {{8, 64 << 20, false, LL_ALGORITHM_IN_NETWORK},
                 {8, 64 << 20, true, LL_ALGORITHM_RING},
                 {4, 64 << 20, false, LL_ALGORITHM_RING},
                 {8, 64 << 10, false, LL_ALGORITHM_RING}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_exchanged done = exchange(node, &(struct asked){.collective = LL_COLLECTIVE_ALL_REDUCE,
                                                                  .devices = cases[i].devices,
                                                                  .bytes = cases[i].bytes,
                                                                  .integers = cases[i].integers});
        assert_int_equal(done.algorithm, cases[i].algorithm);
    }
    double M = 64 * MiB, first = 16 / 64.0;
    assert_near(time_of(LL_COLLECTIVE_ALL_REDUCE, 8, M, false),
                (1 + 4.4) * s + 2 * 2 * a + (1 + 0.5 * first) * M * (1 + 1.0 / 8) / (0.85 * 0.887 * B),
                1e-12);
}

/* nccl-tests on H100 (ai-dynamo/aiconfigurator; bus bandwidths: 2 (n - 1) / n M / time). */
static void times_are_those_of_nccl_tests(void **state)
{
    static const struct {
        enum ll_collective collective;
        uint64_t devices;
        double bytes, time_s;
    } cases[] = {
        {LL_COLLECTIVE_ALL_REDUCE, 2, 1 << 10, 5.8e-6},
        {LL_COLLECTIVE_ALL_REDUCE, 8, 1 << 10, 15.6e-6},
        {LL_COLLECTIVE_ALL_REDUCE, 8, 512 << 20, 2 * 7 / 8.0 * (512 << 20) / 445e9},
        {LL_COLLECTIVE_ALL_GATHER, 8, 512, 10.4e-6},
        {LL_COLLECTIVE_ALL_GATHER, 8, 64 << 20, 7 / 8.0 * (64 << 20) / 282e9},
        {LL_COLLECTIVE_ALL_TO_ALL, 2, 1 << 10, 6.5e-6},
        {LL_COLLECTIVE_ALL_TO_ALL, 2, 512 << 20, 1 / 2.0 * (512 << 20) / 280e9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(time_of(cases[i].collective, cases[i].devices, cases[i].bytes, false), cases[i].time_s,
                    0.1);
}

static void a_stack_has_kernels_of_its_own_up_to_a_size(void **state)
{
    static const struct {
        struct asked asked;
        const char *kernel; /* NULL: the library */
    } cases[] = {
        {{LL_COLLECTIVE_ALL_REDUCE, 2, 4 << 20, false, false, false}, "once"},
        {{LL_COLLECTIVE_ALL_REDUCE, 2, (4 << 20) + 1, false, false, false}, NULL},
        {{LL_COLLECTIVE_ALL_REDUCE, 3, 256 << 10, false, false, false}, "once"},
        {{LL_COLLECTIVE_ALL_REDUCE, 3, 512 << 10, false, false, false}, "twice"}, /* 10.4 us, not 10.7 */
        {{LL_COLLECTIVE_ALL_REDUCE, 4, 1 << 20, false, false, false}, "twice"},
        {{LL_COLLECTIVE_ALL_REDUCE, 8, 1 << 20, false, false, false}, "twice"},
        {{LL_COLLECTIVE_ALL_REDUCE, 8, 1 << 10, false, false, false}, NULL}, /* LL takes 9 us, not 19 */
        {{LL_COLLECTIVE_ALL_REDUCE, 8, 1 << 10, false, true, false}, NULL},
        {{LL_COLLECTIVE_ALL_GATHER, 8, 1 << 10, false, false, false}, NULL},
        {{LL_COLLECTIVE_ALL_TO_ALL, 8, 1 << 20, false, false, false}, "experts"},
        {{LL_COLLECTIVE_ALL_TO_ALL, 4, 1 << 20, false, false, false}, NULL},
    };
    char text[2048];
    (void)state;
    snprintf(text, sizeof text, "%s%s", node, kernels);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kernel = (const void *)exchange(text, &cases[i].asked).kernel;
        assert_int_equal(!kernel, !cases[i].kernel);
        if (kernel)
            assert_string_equal(kernel, cases[i].kernel);
    }
}

/* Everyone reads all of three others, or a quarter of them twice; the framework's microsecond is in each. */
static void a_kernel_takes_its_start_its_peers_and_the_bytes(void **state)
{
    char text[2048];
    (void)state;
    snprintf(text, sizeof text, "%s%s", node, kernels);
    struct asked asked = {.collective = LL_COLLECTIVE_ALL_REDUCE, .devices = 4, .bytes = 256 * KiB};
    assert_near(exchange(text, &asked).time_s, 1e-6 + 3e-6 + 3 * 1e-6 + 3 * 256 * KiB / (0.5 * B), 1e-12);
    asked.bytes = MiB;
    assert_near(exchange(text, &asked).time_s, 1e-6 + 4e-6 + 3 * 2e-6 + 2 * 3 * MiB / 4 / (0.8 * B), 1e-12);
    asked.by_library = true;
    assert_near(exchange(text, &asked).time_s, 1e-6 + time_of(LL_COLLECTIVE_ALL_REDUCE, 4, MiB, false),
                1e-12);
}

/* The host's time is a floor; data are read and written once more, at the toy's 10 GB/s. */
static void outside_of_a_graph_the_host_starts_it_and_data_are_copied(void **state)
{
    char text[2048];
    (void)state;
    snprintf(text, sizeof text, "%s%s", node, kernels);
    struct asked asked = {.collective = LL_COLLECTIVE_ALL_REDUCE, .devices = 4, .bytes = KiB};
    double graph_s = exchange(text, &asked).time_s;
    asked.eager = true;
    assert_near(exchange(text, &asked).time_s, 50e-6, 1e-12);
    asked.bytes = 256 * KiB;
    graph_s += 3 * 255 * KiB / (0.5 * B);
    assert_near(exchange(text, &asked).time_s, graph_s + s + 2 * asked.bytes / 10e9, 1e-12);
}

/* Whatever the tuner and the stack choose, from 512 B to 1 GiB in steps of a twentieth. */
static void no_all_reduce_is_faster_than_a_smaller_one(void **state)
{
    char text[2048];
    (void)state;
    snprintf(text, sizeof text, "%s%s", node, kernels);
    for (uint64_t devices = 2; devices <= 8; devices *= 2)
        for (int integers = 0; integers < 2; integers++) {
            double library_s = 0, stack_s = 0;
            for (double bytes = 512; bytes < 1 << 30; bytes = ceil(1.05 * bytes)) {
                struct asked asked = {LL_COLLECTIVE_ALL_REDUCE, devices, bytes, integers, false, false};
                double by_library_s = time_of(asked.collective, devices, bytes, integers);
                double by_stack_s = exchange(text, &asked).time_s;
                assert_true(by_library_s >= library_s * (1 - 1e-12));
                assert_true(by_stack_s >= stack_s * (1 - 1e-12));
                library_s = by_library_s;
                stack_s = by_stack_s;
            }
        }
}

/* A kernel's own law, as of every way to send: no choice is made between two of them here. */
static void a_kernel_is_never_slower_by_more_bandwidth_nor_faster_for_more_bytes(void **state)
{
    static const char *const bandwidths[] = {"450GB/s", "451GB/s", "900GB/s"};
    enum { SIZES = 20 };
    double before_s[SIZES];
    (void)state;
    for (size_t b = 0; b < sizeof bandwidths / sizeof *bandwidths; b++) {
        double last_s = 0;
        char text[2048];
        int at = snprintf(text, sizeof text,
                          "  - {name: nvlink, topology: switch, devices: 8, bandwidth: %s, latency: 1us}\n",
                          bandwidths[b]);
        snprintf(text + at, sizeof text - (size_t)at, "software:\n%s", kernels);
        for (int i = 0; i < SIZES; i++) {
            struct asked asked = {.collective = LL_COLLECTIVE_ALL_REDUCE, .devices = 8, .bytes = 8 << i};
            double time_s = exchange(text, &asked).time_s;
            assert_true(time_s > last_s);
            assert_true(b == 0 || time_s <= before_s[i]);
            last_s = before_s[i] = time_s;
        }
    }
}

/* DeepEP's low-latency kernels on H800: 128 tokens of 7168, each to 8 experts, out in FP8 with a scale of 4 B
 * for each 128, back in bf16 (deepseek-ai/DeepEP, docs/legacy.md). */
static void experts_exchange_as_fast_as_deepep_says(void **state)
{
    enum { TOKENS = 128, EXPERTS = 8, WIDTH = 7168, MOST = 256 };
    static const struct {
        uint64_t devices;
        double dispatch_s, combine_s;
    } cases[] = {{8, 77e-6, 114e-6},   {16, 118e-6, 195e-6},  {32, 155e-6, 273e-6},
                 {64, 173e-6, 314e-6}, {128, 192e-6, 369e-6}, {256, 194e-6, 360e-6}};
    static const char *const folders[] = {"hwconfigs", NULL};
    const double out = TOKENS * EXPERTS * (WIDTH + WIDTH / 128.0 * 4), back = TOKENS * EXPERTS * WIDTH * 2;
    uint64_t members[MOST];
    const char *trouble;
    struct ll_diags *diags = calloc(1, sizeof *diags);
    (void)state;
    struct ll_machine *machine = ll_machine_read("hgx_h800+kernels+deepep", folders, NULL, 0, diags);
    assert_non_null(machine);
    struct ll_net *net = ll_net_new(machine, &trouble);
    struct ll_solver *solver = ll_solver_new(net);
    for (uint64_t i = 0; i < MOST; i++)
        members[i] = i;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_exchanged done;
        struct ll_exchange e = {.collective = LL_COLLECTIVE_ALL_TO_ALL,
                                .bytes = out,
                                .members = members,
                                .size = cases[i].devices,
                                .groups = 1};
        assert_int_equal(ll_exchange_by_software(solver, &e, &done), LL_EXCHANGE_DONE);
        assert_near(done.time_s, cases[i].dispatch_s, 0.09);
        e.bytes = back;
        assert_int_equal(ll_exchange_by_software(solver, &e, &done), LL_EXCHANGE_DONE);
        assert_near(done.time_s, cases[i].combine_s, 0.09);
    }
    ll_solver_free(solver);
    ll_net_free(net);
    ll_machine_free(machine);
    ll_diags_release(diags);
    free(diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_messages_go_in_ll_by_few_channels),
        cmocka_unit_test(integers_of_middle_size_go_in_ll128),
        cmocka_unit_test(large_messages_go_in_simple),
        cmocka_unit_test(switches_add_up_what_they_can),
        cmocka_unit_test(times_are_those_of_nccl_tests),
        cmocka_unit_test(a_stack_has_kernels_of_its_own_up_to_a_size),
        cmocka_unit_test(no_all_reduce_is_faster_than_a_smaller_one),
        cmocka_unit_test(a_kernel_takes_its_start_its_peers_and_the_bytes),
        cmocka_unit_test(outside_of_a_graph_the_host_starts_it_and_data_are_copied),
        cmocka_unit_test(a_kernel_is_never_slower_by_more_bandwidth_nor_faster_for_more_bytes),
        cmocka_unit_test(experts_exchange_as_fast_as_deepep_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
