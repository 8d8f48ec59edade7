/* SPDX-License-Identifier: Apache-2.0 */
/* Where tiles are searched for (`mapping: search`), more of anything is never slower either: of memories that
 * hold one block or two, with ports of their own, next to what earlier ops left, under kernels whose stages
 * overlap in part. Products on random machines of two to four memories around their units. */
#include "gains.h"
#include "random_machine.h"
#include "samples.h"
#include "scene.h"
#include "toy_trace.h"

#include "sim/cost/cost.h"

enum { CASES = 2000 / ONE_IN, REPLAYS = 40 / ONE_IN };

struct sample {
    struct ll_machine machine;
    struct ll_work work;
    struct ll_warm_bytes found;
};

/* On an outer memory all lie; of the others the first may be each unit's own. */
static void random_levels(struct dice *dice, struct ll_machine *machine)
{
    static const char *const names[] = {"l0", "l1", "l2", "l3", "l4"};
    uint64_t room = 1024 + roll_size(dice, 1 << 18), private_levels = roll_between(dice, 0, 1);
    double bandwidth_Bps = roll_real(dice, 1e11, 1e13);
    machine->level_count = 3 + private_levels + roll_between(dice, 0, 1);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        struct ll_level *level = &machine->levels[l];
        *level =
            (struct ll_level){.name = names[l],
                              .size_bytes = l + 1 < machine->level_count ? room : UINT64_C(1) << 40,
                              .bandwidth_Bps = bandwidth_Bps,
                              .efficiency = 1,
                              .latency_s = roll_between(dice, 0, 1) ? roll_real(dice, 0, 1e-6) : 0,
                              .buffering = roll_between(dice, 0, 1) ? LL_BUFFER_DOUBLE : LL_BUFFER_SINGLE,
                              .scope = l < private_levels ? LL_SCOPE_UNIT : LL_SCOPE_DEVICE};
        if (roll_between(dice, 0, 3) == 0) {
            level->read_Bps = bandwidth_Bps * roll_real(dice, 0.3, 1);
            level->write_Bps = bandwidth_Bps * roll_real(dice, 0.3, 1);
        }
        room *= roll_between(dice, 2, 16);
        bandwidth_Bps *= roll_real(dice, 0.1, 0.8);
    }
}

static struct ll_machine random_searched(struct dice *dice, const char *kernel)
{
    struct ll_machine machine = {.name = "random", .unit_count = 1, .clock_hz = 1e9};
    struct ll_unit *unit = &machine.units[0];
    *unit =
        (struct ll_unit){.name = "products", .count = roll_size(dice, 16), .clock_hz = 1e9, .efficiency = 1};
    random_products(dice, unit);
    random_levels(dice, &machine);
    machine.software.mapping = LL_MAPPED_SEARCH;
    machine.software.kernel_count = roll_between(dice, 0, 1);
    machine.software.kernels[0] = (struct ll_kernel){.name = kernel,
                                                     .ops = {[LL_OP_MATMUL] = true},
                                                     .compute_efficiency = 1,
                                                     .bandwidth_efficiency = 1,
                                                     .serial = roll_real(dice, 0, 1)};
    return machine;
}

/* What is left in a shared memory saves as much of all further out. */
static struct sample sample_of(uint64_t seed, struct dice *dice)
{
    *dice = (struct dice){seed};
    struct sample s = {.machine = random_searched(dice, "kernel")};
    s.work = gemm_work(LL_F32, roll_between(dice, 1, 2), roll_size(dice, 1000), roll_size(dice, 1000),
                       roll_size(dice, 1000));
    double operands = (double)s.work.a_bytes + (double)s.work.b_bytes + (double)s.work.c_bytes,
           most = roll_between(dice, 0, 1) ? operands : 0, saved = 0;
    for (uint64_t l = 1; l < s.machine.level_count; l++) {
        saved = s.machine.levels[l - 1].scope == LL_SCOPE_DEVICE ? fmax(saved, roll_real(dice, 0, most)) : 0;
        s.found.saved_bytes[l] = saved;
    }
    return s;
}

/* By the way that ends first. */
static double time_of(const struct ll_machine *machine, const struct sample *s)
{
    struct ll_cost cost = {.ways = 1};
    struct ll_timing timing;
    double least_s = INFINITY;
    for (uint32_t way = 0; way < cost.ways; way++) {
        ll_cost_algorithm(machine, LL_OP_MATMUL, &s->work, way, &(struct ll_cache_context){&s->found, NULL},
                          &cost);
        ll_cost_time(machine, &cost, &s->found, &timing);
        least_s = fmin(least_s, ll_timing_alone_s(&timing));
    }
    return least_s;
}

static struct ll_level *any_level(struct ll_machine *machine, struct dice *dice)
{
    return &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
}

static void more_bandwidth(struct ll_machine *machine, struct dice *dice)
{
    any_level(machine, dice)->bandwidth_Bps *= roll_real(dice, 1, 4);
}

static void faster_ports(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = any_level(machine, dice);
    level->read_Bps *= roll_real(dice, 1, 4);
    level->write_Bps *= roll_real(dice, 1, 4);
}

static void larger_memory(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = any_level(machine, dice);
    level->size_bytes += roll_size(dice, 4 * level->size_bytes);
}

static void higher_clock(struct ll_machine *machine, struct dice *dice)
{
    machine->units[0].clock_hz *= roll_real(dice, 1, 3);
}

static void less_latency(struct ll_machine *machine, struct dice *dice)
{
    any_level(machine, dice)->latency_s *= roll_real(dice, 0, 1);
}

static void a_second_buffer(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = any_level(machine, dice);
    if (level->buffering == LL_BUFFER_SINGLE)
        level->size_bytes *= 2;
    level->buffering = LL_BUFFER_DOUBLE;
}

static void more_of_anything_is_never_slower_where_tiles_are_searched(void **state)
{
    (void)state;
    static const struct {
        void (*improve)(struct ll_machine *machine, struct dice *dice);
        const char *text;
    } ways[] = {{more_bandwidth, "more bandwidth"}, {faster_ports, "faster ports"},
                {larger_memory, "a larger memory"}, {higher_clock, "a higher clock"},
                {less_latency, "less latency"},     {a_second_buffer, "a second buffer as large"}};
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + CASES; seed++) {
        struct dice dice;
        struct sample s = sample_of(seed, &dice);
        double was_s = time_of(&s.machine, &s);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct ll_machine better = s.machine;
            ways[i].improve(&better, &dice);
            claim(time_of(&better, &s) <= was_s * (1 + 1e-12), seed, ways[i].text);
        }
    }
}

static const char *searching_machine(uint64_t *random, struct ll_arena *arena)
{
    static const char *const fusions[] = {"none", "elementwise", "chains"};
    char levels[512];
    double size = ll_epilogue(random, 4, 256), bandwidth = ll_epilogue(random, 500, 5000);
    int length = 0;
    for (int l = 0; l < 3; l++) {
        length += snprintf(levels + length, sizeof levels - (size_t)length,
                           "  - {name: l%d, size: %.0fKiB, bandwidth: %.0fGB/s, double_buffer: %s}\n", l,
                           size, bandwidth, ll_random_below(random, 2) ? "true" : "false");
        size *= ll_epilogue(random, 2, 16);
        bandwidth *= ll_epilogue(random, 0.1, 0.8);
    }
    return ll_format(arena,
                     "name: random\nclock: 1GHz\nunits:\n"
                     "  - {name: array, model: systolic, rows: %d, cols: %d, dataflow: os, macs: {f32: 1}, "
                     "runs: [matmul]}\n"
                     "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 1}}\n"
                     "memory:\n%s  - {name: dram, size: 64GiB, bandwidth: %.0fGB/s}\n"
                     "software: {mapping: search, fusion: %s}\n",
                     1 << ll_random_below(random, 8), 1 << ll_random_below(random, 8), levels, bandwidth,
                     fusions[ll_random_below(random, 3)]);
}

/* Next to what ops find of those before them. */
static void nor_in_a_replay(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + REPLAYS; seed++) {
        uint64_t random = seed;
        struct ll_arena texts = {0};
        const char *yaml = searching_machine(&random, &texts);
        struct scene scene = open_scene(toy_trace(seed), yaml);
        play(&scene);
        assert_non_null(scene.result);
        check_gains(scene.result, seed, yaml);
        close_scene(&scene);
        ll_arena_release(&texts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_of_anything_is_never_slower_where_tiles_are_searched),
        cmocka_unit_test(nor_in_a_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
