/* SPDX-License-Identifier: Apache-2.0 */
/* More of anything is never slower where the host starts ops ahead of the device, and where a library has
 * several ways to do a convolution, each with more or less to start, and each with several tiles, which hide
 * more or less where a memory is not buffered twice: random convolutions, one after the other, on random
 * machines. */
#include "gains.h"
#include "scene.h"

#include "random_machine.h"
#include "toy_trace.h"

enum { CASES = 300, MOST_CONVOLUTIONS = 6 };

static uint64_t seed; /* of the first case */

static struct ll_shape of_four(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (struct ll_shape){.dtype = LL_F32, .rank = 4, .dim = {a, b, c, d}};
}

/* Each is as large as the one before, with as many channels as it likes. */
static struct ll_trace *convolutions(uint64_t *random)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    assert_non_null(toy);
    toy_open(toy, path);
    uint64_t side = 4 + ll_random_below(random, 60), channels = 1 + ll_random_below(random, 128);
    uint64_t batch = 1 + ll_random_below(random, 16),
             count = 2 + ll_random_below(random, MOST_CONVOLUTIONS - 1);
    ll_recorder_step_begin(toy->recorder);
    uint32_t image = toy_bring(toy, of_four(batch, side, side, channels), LL_WEIGHT);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t filters = 1 + ll_random_below(random, 128), taps = 1 + 2 * ll_random_below(random, 3);
        uint32_t filter = toy_bring(toy, of_four(taps, taps, channels, filters), LL_WEIGHT);
        int64_t pad = (int64_t)taps / 2;
        const struct ll_attr padded[] = {{.key = LL_ATTR_PAD_TOP, .count = pad},
                                         {.key = LL_ATTR_PAD_BOTTOM, .count = pad},
                                         {.key = LL_ATTR_PAD_LEFT, .count = pad},
                                         {.key = LL_ATTR_PAD_RIGHT, .count = pad}};
        image = toy_op(toy, LL_OP_CONV2D, LL_PHASE_FORWARD, (uint32_t[]){image, filter}, 2, padded, 4,
                       LL_ACTIVATION, NULL);
        channels = filters;
    }
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* A way through transforms that costs less or more to start than other convolutions. */
static const char *random_way(uint64_t *random, struct ll_arena *arena, const char *name, int size,
                              bool fused)
{
    return ll_format(arena,
                     "{name: %s, size: %d, most_filter: %d, rate: {f32: %.2g}, fused: %s, memory: %.2g, "
                     "overhead: %dus}",
                     name, size, size / 2 + 1, ll_epilogue(random, 0.3, 1), fused ? "true" : "false",
                     ll_epilogue(random, 0.3, 1), (int)ll_random_below(random, 40));
}

static const char *machine_of(uint64_t *random, struct ll_arena *arena)
{
    const char *fused = random_way(random, arena, "fused", 4, true),
               *passes = random_way(random, arena, "passes", 6, false),
               *fourier = random_way(random, arena, "fourier", 16, false);
    double bandwidth = ll_epilogue(random, 20, 2000), sram = ll_epilogue(random, 64, 16384);
    return ll_format(
        arena,
        "name: random\nclock: %.0fMHz\nunits:\n"
        "  - {name: array, model: matrix, tiles: [128x128x8, 64x32x8, 16x16x8], count: %d, macs: {f32: %d}, "
        "runs: [matrix, conv]}\n"
        "  - {name: simd, model: vector, lanes: 256, flops: {f32: 2}}\n"
        "memory:\n  - {name: near, size: %.0fKiB, bandwidth: %.0fGB/s}\n"
        "  - {name: sram, size: %.0fKiB, bandwidth: %.0fGB/s, double_buffer: %s}\n"
        "  - {name: dram, size: 64GiB, bandwidth: %.0fGB/s}\n"
        "software:\n  op_overhead: %dus\n  queue: %d\n"
        "  kernels:\n    - {name: convolve, ops: [conv], overhead: %dus, behind: %.2g}\n"
        "  transforms:\n    - %s\n    - %s\n    - %s\n",
        ll_epilogue(random, 500, 2000), 1 + (int)ll_random_below(random, 80),
        16 << ll_random_below(random, 4), sram / 8, ll_epilogue(random, 4, 16) * bandwidth, sram,
        ll_epilogue(random, 1, 4) * bandwidth, ll_random_below(random, 4) ? "true" : "false", bandwidth,
        (int)ll_random_below(random, 20), (int)ll_random_below(random, 64),
        1 + (int)ll_random_below(random, 20), (double)ll_random_below(random, 10) / 10, fused, passes,
        fourier);
}

static void check_case(uint64_t case_seed)
{
    uint64_t random = case_seed;
    struct ll_arena texts = {0};
    const char *yaml = machine_of(&random, &texts);
    struct scene scene = open_scene(convolutions(&random), yaml);
    play(&scene);
    assert_non_null(scene.result);
    check_gains(scene.result, case_seed, yaml);
    close_scene(&scene);
    ll_arena_release(&texts);
}

static void more_of_anything_is_never_slower_whatever_way_is_taken(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++)
        check_case(seed + i);
}

int main(void)
{
    seed = ll_seed(28000000);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_of_anything_is_never_slower_whatever_way_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
