/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of fused attention on random kernels and shapes: its steps are those that a walk over all tiles
 * counts, more to do is never faster, and more of a resource is never slower. Left out are kernels whose
 * library says otherwise: FlashAttention's rules for splits and packed heads, which look at wave
 * efficiency. */
#include "check.h"
#include "samples.h"

#include "sim/cost/attention.h"

enum { CASES = 4000 };

/* A GPU of a few multiprocessors with one kernel of each pass. */
static void random_gpu(struct dice *dice, struct ll_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->unit_count = 2;
    machine->units[0] = (struct ll_unit){.name = "tensor",
                                         .model = LL_UNIT_MATRIX,
                                         .count = roll_between(dice, 1, 160),
                                         .clock_hz = 1e9,
                                         .efficiency = 1,
                                         .matrix = {.macs = {[LL_BF16] = 1024, [LL_F8] = 2048}}};
    machine->units[1] =
        (struct ll_unit){.name = "simd",
                         .model = LL_UNIT_VECTOR,
                         .count = machine->units[0].count,
                         .clock_hz = 1e9,
                         .efficiency = 1,
                         .vector = {.lanes = 128, .specials = 0.125, .flops = {[LL_F32] = 2}}};
    machine->level_count = 2;
    machine->levels[0] = (struct ll_level){.name = "l2", .bandwidth_Bps = 4e12, .efficiency = 1};
    machine->levels[1] =
        (struct ll_level){.name = "dram", .bandwidth_Bps = roll_real(dice, 1e11, 8e12), .efficiency = 1};
    machine->software.attention_count = LL_ATTENTION_PASS_COUNT;
    for (unsigned pass = 0; pass < LL_ATTENTION_PASS_COUNT; pass++) {
        struct ll_attention_kernel *k = &machine->software.attention[pass];
        *k = (struct ll_attention_kernel){.name = "kernel",
                                          .pass = pass,
                                          .traits = roll_between(dice, 0, 1) ? LL_TRAIT_NARROW_CACHE : 0,
                                          .tile_count = 2,
                                          .launch_s = roll_real(dice, 0, 1e-5),
                                          .write_unit_Bps = roll_real(dice, 1e9, 2e10),
                                          .write_block_s = roll_real(dice, 0, 1e-5),
                                          .block_s = roll_real(dice, 0, 5e-6),
                                          .head_s = roll_real(dice, 0, 1e-7),
                                          .tail = roll_real(dice, 0, 1),
                                          .combine_s = roll_real(dice, 2e-6, 1e-5),
                                          .softmax_time = roll_real(dice, 0, 1),
                                          .skipped_step_s =
                                              roll_between(dice, 0, 1) ? roll_real(dice, 0, 5e-6) : 0,
                                          .max_group = roll_between(dice, 0, 1) ? roll_size(dice, 32) : 0,
                                          .single_block_s = roll_real(dice, 0, 5e-6),
                                          .unit_Bps = roll_real(dice, 1e10, 1e11),
                                          .dram_efficiency = {[LL_BF16] = 0.8}};
        k->gemm_time[LL_BF16] = roll_real(dice, 1, 2);
        k->tiles[0] = (struct ll_tile){64u << roll_between(dice, 0, 1), 32u << roll_between(dice, 0, 2), 576};
        k->tiles[1] = (struct ll_tile){32u << roll_between(dice, 0, 3), 16 * roll_between(dice, 1, 16), 576};
        bool decodes = pass == LL_ATTENTION_DECODE || pass == LL_ATTENTION_LATENT_DECODE;
        k->splits = decodes && roll_between(dice, 0, 1) ? LL_SPLITS_FILL : LL_SPLITS_NONE;
    }
}

static struct ll_attention random_shape(struct dice *dice)
{
    struct ll_attention a = {.batch = roll_size(dice, 64),
                             .queries = roll_size(dice, 5000),
                             .kv_heads = roll_size(dice, 16),
                             .head_qk = 64 * roll_between(dice, 1, 4),
                             .causal = roll_between(dice, 0, 3) > 0,
                             .pass = (uint8_t)roll_between(dice, 0, LL_ATTENTION_PASS_COUNT - 1),
                             .cache = roll_between(dice, 0, 1) ? LL_F8 : LL_BF16,
                             .cached = (uint8_t)roll_between(dice, 0, 1)};
    bool decodes = a.pass == LL_ATTENTION_DECODE || a.pass == LL_ATTENTION_LATENT_DECODE;
    a.queries = decodes ? 1 : a.queries;
    a.heads = a.kv_heads * roll_size(dice, 16);
    a.head_v = a.head_qk;
    a.keys = a.queries + (decodes || roll_between(dice, 0, 1) ? roll_size(dice, 20000) : 0);
    a.window = a.causal && roll_between(dice, 0, 2) == 0 ? roll_size(dice, 4096) : 0;
    return a;
}

static struct ll_cost cost_of_shape(const struct ll_machine *machine, const struct ll_attention *a)
{
    struct ll_work work = {.kind = LL_WORK_ATTENTION, .dtype = LL_BF16, .attention = *a};
    struct ll_cost cost;
    bool launches;
    assert_true(ll_attention_cost(machine, LL_OP_CAUSAL_ATTENTION, &work, &cost, &launches));
    return cost;
}

static double time_of(const struct ll_machine *machine, const struct ll_attention *a)
{
    const struct ll_cost cost = cost_of_shape(machine, a);
    return cost.gap_s + cost.apart_s + fmax(cost.compute_s, cost.level_s[1]);
}

/* Tiles that have a score which is seen, of all row blocks of one head. */
static uint64_t walked(const struct ll_attention *a, const struct ll_tile *tile)
{
    uint64_t steps = 0, before = a->keys - a->queries;
    for (uint64_t row = 0; row < a->queries; row += tile->m)
        for (uint64_t key = 0; key < a->keys; key += tile->n) {
            uint64_t last = before + (row + tile->m < a->queries ? row + tile->m : a->queries) - 1;
            uint64_t first = a->window > 0 && before + row > a->window ? before + row - a->window : 0;
            steps += !a->causal || (key <= last && key + tile->n > first);
        }
    return steps;
}

/* Heads lie along a side of an array in each GEMM of a step: 128 on 256 rows are half of its peak. Four
 * arrays beside one vector unit have a quarter of its operations each. */
static void an_array_waits_for_heads_and_for_its_vector_unit(void **state)
{
    (void)state;
    struct dice dice = {3};
    struct ll_machine machine;
    random_gpu(&dice, &machine);
    machine.units[0] = (struct ll_unit){.name = "mxu",
                                        .model = LL_UNIT_SYSTOLIC,
                                        .count = 4,
                                        .clock_hz = 1e9,
                                        .efficiency = 1,
                                        .systolic = {.rows = 256, .cols = 256, .macs = {[LL_BF16] = 1}}};
    machine.units[1].count = 1;
    machine.units[1].vector.specials = 0;
    struct ll_attention_kernel *k = &machine.software.attention[LL_ATTENTION_PREFILL];
    *k = (struct ll_attention_kernel){.name = "splash",
                                      .pass = LL_ATTENTION_PREFILL,
                                      .tile_count = 1,
                                      .tiles = {{1024, 1024, 256}},
                                      .gemm_time = {[LL_BF16] = 1},
                                      .softmax_time = 6};
    for (uint64_t head = 128; head <= 256; head += 128) {
        const struct ll_attention a = {.batch = 1,
                                       .queries = 4096,
                                       .keys = 4096,
                                       .heads = 8,
                                       .kv_heads = 8,
                                       .head_qk = head,
                                       .head_v = head,
                                       .pass = LL_ATTENTION_PREFILL,
                                       .cache = LL_BF16};
        const double gemms_s = 2 * 2 * 256.0 / (2 * 256 * 256), softmax_s = 6.0 * 4 / (128 * 2);
        const double expected_s = 8 * 4096.0 * 4096 * (gemms_s + softmax_s) / 4 * 1e-9;
        assert_true(fabs(cost_of_shape(&machine, &a).compute_s / expected_s - 1) < 1e-9);
    }
}

/* On one unit without anything beside its steps, the time is as many steps as there are. */
static void steps_are_those_of_a_walk_over_all_tiles(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 4; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        random_gpu(&dice, &machine);
        machine.units[0].count = machine.units[1].count = 1;
        struct ll_attention a = random_shape(&dice);
        a.pass = LL_ATTENTION_PREFILL;
        struct ll_attention_kernel *k = &machine.software.attention[LL_ATTENTION_PREFILL];
        k->tail = k->block_s = k->skipped_step_s = 0;
        k->traits = 0;
        k->tile_count = 1;
        double step_s = (k->gemm_time[LL_BF16] * 2 * 2 * (double)a.head_qk / 2048 + k->softmax_time / 16) *
                        1e-9 * (double)(k->tiles[0].m * k->tiles[0].n);
        double steps = (double)walked(&a, &k->tiles[0]) * (double)(a.batch * a.heads);
        claim(fabs(cost_of_shape(&machine, &a).compute_s / (steps * step_s) - 1) < 1e-9, seed,
              "another number of steps than a walk counts");
    }
}

/* Whatever is on chip already. */
static void without_a_graph_no_call_is_faster_than_its_launch(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 4; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        random_gpu(&dice, &machine);
        const struct ll_attention a = random_shape(&dice);
        struct ll_attention_kernel *k = &machine.software.attention[a.pass];
        k->traits |= LL_TRAIT_IN_STREAM;
        k->launch_s = roll_real(&dice, 1e-5, 1e-3);
        const struct ll_cost cost = cost_of_shape(&machine, &a);
        struct ll_warm_bytes warm = {.saved_bytes = {0, roll_real(&dice, 0, 1) * cost.level_bytes[1]}};
        struct ll_timing cold, found;
        ll_cost_time(&machine, &cost, NULL, &cold);
        ll_cost_time(&machine, &cost, &warm, &found);
        claim(found.time_s >= k->launch_s * (1 - 1e-12) && found.time_s <= cold.time_s * (1 + 1e-12), seed,
              "a warm cache is faster than the host, or slower than a cold one");
        claim(fabs(cold.time_s - fmax(k->launch_s, time_of(&machine, &a))) <= 1e-12 * cold.time_s, seed,
              "the launch is no floor");
    }
}

static void more_to_do_is_never_faster(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        random_gpu(&dice, &machine);
        const struct ll_attention a = random_shape(&dice);
        struct ll_attention more = a;
        uint64_t by = roll_size(&dice, 500);
        switch (roll_between(&dice, 0, 4)) {
        case 0:
            more.batch += by;
            break;
        case 1:
            more.heads += by * more.kv_heads;
            break;
        case 2:
            more.keys += by;
            break;
        case 3:
            more.kv_heads += by;
            more.heads = a.heads / a.kv_heads * more.kv_heads;
            break;
        default:
            if (a.queries > 1) {
                more.queries += by;
                more.keys += by;
            }
        }
        claim(time_of(&machine, &a) <= time_of(&machine, &more) * (1 + 1e-12), seed, "more is faster");
    }
}

/* Also by a kernel that walks over what it does not compute. */
static void a_window_is_never_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        random_gpu(&dice, &machine);
        struct ll_attention a = random_shape(&dice), all;
        a.causal = 1;
        a.window = roll_size(&dice, 4096);
        all = a;
        all.window = 0;
        claim(time_of(&machine, &a) <= time_of(&machine, &all) * (1 + 1e-12), seed, "a window is slower");
    }
}

static void more_of_a_resource_is_never_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        random_gpu(&dice, &machine);
        const struct ll_attention a = random_shape(&dice);
        double before_s = time_of(&machine, &a);
        switch (roll_between(&dice, 0, 4)) {
        case 0:
            machine.units[0].count += roll_size(&dice, 50);
            break;
        case 1:
            machine.units[0].clock_hz *= 1.3;
            break;
        case 2:
            machine.levels[1].bandwidth_Bps *= 1.7;
            break;
        case 3:
            machine.units[1].vector.specials *= 2;
            break;
        default:
            machine.levels[0].bandwidth_Bps *= 2;
        }
        claim(time_of(&machine, &a) <= before_s * (1 + 1e-12), seed, "more of it is slower");
    }
}

/* A stack's kernels stand behind those of the library that it lies over. */
static void the_last_kernel_for_what_is_asked_runs_it(void **state)
{
    (void)state;
    struct dice dice = {1};
    struct ll_machine machine;
    random_gpu(&dice, &machine);
    struct ll_attention a = random_shape(&dice);
    struct ll_attention_kernel *kernels = machine.software.attention,
                               *last = &kernels[LL_ATTENTION_PASS_COUNT];
    a.backend = LL_BACKEND_ANY;
    *last = kernels[a.pass];
    last->launch_s = 2 * kernels[a.pass].launch_s + 1;
    machine.software.attention_count++;
    assert_near(cost_of_shape(&machine, &a).gap_s, last->launch_s, 0);
    last->backend = LL_BACKEND_TRITON;
    assert_near(cost_of_shape(&machine, &a).gap_s, kernels[a.pass].launch_s, 0);
    a.backend = LL_BACKEND_TRITON;
    assert_near(cost_of_shape(&machine, &a).gap_s, last->launch_s, 0);
    a.backend = LL_BACKEND_FLASHINFER;
    assert_near(cost_of_shape(&machine, &a).gap_s, kernels[a.pass].launch_s, 0);
}

static void wider_types_are_no_business_of_such_kernels(void **state)
{
    (void)state;
    struct dice dice = {2};
    struct ll_machine machine;
    struct ll_cost cost;
    bool launches;
    random_gpu(&dice, &machine);
    machine.units[0].matrix.macs[LL_F32] = 128;
    struct ll_work work = {.kind = LL_WORK_ATTENTION, .dtype = LL_F32, .attention = random_shape(&dice)};
    assert_false(ll_attention_cost(&machine, LL_OP_CAUSAL_ATTENTION, &work, &cost, &launches));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_those_of_a_walk_over_all_tiles),
        cmocka_unit_test(an_array_waits_for_heads_and_for_its_vector_unit),
        cmocka_unit_test(without_a_graph_no_call_is_faster_than_its_launch),
        cmocka_unit_test(more_to_do_is_never_faster),
        cmocka_unit_test(a_window_is_never_slower),
        cmocka_unit_test(more_of_a_resource_is_never_slower),
        cmocka_unit_test(the_last_kernel_for_what_is_asked_runs_it),
        cmocka_unit_test(wider_types_are_no_business_of_such_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
