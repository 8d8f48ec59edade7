/* SPDX-License-Identifier: Apache-2.0 */
/* sim/scalesim against its dumb twin, and laws, on random layers and configurations. */
#include "check.h"
#include "scalesim_twin.h"

enum { ROUNDS = 1000 };

static uint64_t first_seed;

static uint64_t roll(uint64_t *state, uint64_t least, uint64_t most)
{
    return least + ll_random_below(state, most - least + 1);
}

/* Buffers of 1 kB, sometimes 2: half of one is 512 words, which most operands here exceed. */
static struct ll_scalesim_config random_config(uint64_t *state)
{
    static const uint64_t widths[] = {1, 2, 3, 4, 7, 10, 16, 64, 700};
    struct ll_scalesim_config config = {.rows = roll(state, 1, 9), .columns = roll(state, 1, 9)};
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        config.buffer_kB[i] = roll(state, 0, 3) ? 1 : 2;
    config.dataflow = (enum ll_dataflow)roll(state, 0, 2);
    config.user_bandwidth = roll(state, 0, 1);
    config.words_per_cycle = widths[roll(state, 0, sizeof widths / sizeof widths[0] - 1)];
    return config;
}

/* Products, and convolutions whose windows overlap, touch, leave gaps or reach outside the image. */
static struct ll_scalesim_layer random_layer(uint64_t *state)
{
    struct ll_scalesim_layer layer = {"", 1, 1, 1, 1, 1, 1, 1, 1, 1, .line = 0};
    layer.filters = roll(state, 1, 60);
    if (roll(state, 0, 2) == 0) {
        layer.in_h = roll(state, 1, 70);
        layer.in_w = layer.filter_w = roll(state, 1, 90);
        return layer;
    }
    layer.filter_h = roll(state, 1, 4);
    layer.filter_w = roll(state, 1, 4);
    layer.in_h = layer.filter_h + roll(state, 0, 9);
    layer.in_w = layer.filter_w + roll(state, 0, 9);
    layer.channels = roll(state, 1, 16);
    layer.stride_h = roll(state, 1, 4);
    layer.stride_w = roll(state, 0, 1) ? layer.stride_h : roll(state, 1, 9);
    return layer;
}

static void compare_port(uint64_t seed, const char *name, const struct ll_scalesim_port *port,
                         const struct ll_scalesim_port *expected)
{
    if (port->start_cycle != expected->start_cycle || port->stop_cycle != expected->stop_cycle ||
        port->words != expected->words)
        fail_msg("seed %llu: %s %lld to %lld, %llu words; the twin has %lld to %lld, %llu",
                 (unsigned long long)seed, name, (long long)port->start_cycle, (long long)port->stop_cycle,
                 (unsigned long long)port->words, (long long)expected->start_cycle,
                 (long long)expected->stop_cycle, (unsigned long long)expected->words);
}

static void the_twin_counts_the_same(void **state)
{
    (void)state;
    static const char *const names[2][3] = {{"sram ifmap", "sram filter", "sram ofmap"},
                                            {"dram ifmap", "dram filter", "dram ofmap"}};
    int stalled = 0, changed = 0;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        uint64_t dice = seed;
        struct ll_scalesim_config config = random_config(&dice);
        struct ll_scalesim_layer layer = random_layer(&dice);
        struct ll_scalesim_result result, twin = twin_run(&config, &layer);
        assert_true(ll_scalesim_run(&config, &layer, NULL, &result));
        if (result.total_cycles != twin.total_cycles || result.stall_cycles != twin.stall_cycles)
            fail_msg("seed %llu: %lld cycles, %lld stalls; the twin has %lld, %lld", (unsigned long long)seed,
                     (long long)result.total_cycles, (long long)result.stall_cycles,
                     (long long)twin.total_cycles, (long long)twin.stall_cycles);
        for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
            twin.sram[i].words = result.sram[i].words;
            compare_port(seed, names[0][i], &result.sram[i], &twin.sram[i]);
            compare_port(seed, names[1][i], &result.dram[i], &twin.dram[i]);
        }
        stalled += result.stall_cycles > 0;
        changed += !config.user_bandwidth && result.dram[0].stop_cycle >= 0;
    }
    assert_true(stalled > ROUNDS / 10);
    assert_true(changed > ROUNDS / 10);
}

/* Not so for buffers: SCALE-Sim can take longer with larger ones. */
static void more_bandwidth_is_never_slower(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        uint64_t dice = seed;
        struct ll_scalesim_config config = random_config(&dice);
        struct ll_scalesim_layer layer = random_layer(&dice);
        struct ll_scalesim_result slow, fast;
        config.user_bandwidth = true;
        assert_true(ll_scalesim_run(&config, &layer, NULL, &slow));
        config.words_per_cycle *= 2;
        assert_true(ll_scalesim_run(&config, &layer, NULL, &fast));
        if (fast.total_cycles > slow.total_cycles)
            fail_msg("seed %llu: %lld cycles, %lld with twice the bandwidth", (unsigned long long)seed,
                     (long long)slow.total_cycles, (long long)fast.total_cycles);
    }
}

int main(void)
{
    first_seed = ll_seed(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_twin_counts_the_same),
        cmocka_unit_test(more_bandwidth_is_never_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
